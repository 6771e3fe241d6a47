/* SPDX-License-Identifier: MIT */
/*
 * Sets parameters from the relations of usage types. An invalid value is reported as an error, with
 * file and line, even where mke2fs silently uses another value.
 */
#include <string.h>

#include "disk/super.h"
#include "plan/mntopts.h"
#include "plan/parse.h"
#include "plan/usage.h"

/* Defaults of mke2fs without a relation in mke2fs.conf. */
#define PLAIN_BLOCK_SIZE 4096u
#define PLAIN_INODE_SIZE 128u
#define PLAIN_INODE_RATIO 8192u

/* As xw_usage_find(), but only in types named with -T, and without the defaults. */
static const struct xw_relation *find_named(const struct xw_usage *u, const char *tag)
{
	const struct xw_relation *r = NULL;

	for (size_t i = u->types.n; i-- > 0 && !r;) {
		if (u->types.v[i].stanza && u->types.v[i].named)
			r = xw_profile_find(u->profile, "fs_types", u->types.v[i].stanza, tag);
	}
	return r;
}

static int set_block_size(const struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag)
{
	const struct xw_usage_type *last = &u->types.v[u->types.n - 1];
	uint32_t at_least = p->min_block_size;
	const struct xw_relation *r = NULL;
	int rc = 0;

	if (p->block_size)
		return 0;
	if (!u->builtin || !last->by_size)
		r = xw_usage_find(u, "blocksize");
	if (r && strcmp(r->value, "-1")) /* -1: the page size, which is the default here */
		rc = xw_usage_set(u, r, p, XW_MKFS_BLOCK_SIZE, diag);
	if (!p->block_size)
		p->block_size = PLAIN_BLOCK_SIZE;
	p->block_size = XW_MAX(p->block_size, XW_MAX(p->min_block_size, at_least));
	return rc;
}

/* Relations that correspond to a command line option of another name. */
static int set_options(const struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag)
{
	const struct {
		const char *tag;
		bool given;
		enum xw_mkfs_option opt;
	} rows[] = {
		{"inode_size", p->inode_size, XW_MKFS_INODE_SIZE},
		{"flex_bg_size",
		 p->flex_size || !xw_has_incompat(&p->features, XW_INCOMPAT_FLEX_BG),
		 XW_MKFS_FLEX_SIZE},
		{"cluster_size", p->cluster_size || !xw_has_ro(&p->features, XW_RO_BIGALLOC),
		 XW_MKFS_CLUSTER_SIZE},
		{"errors", p->errors, XW_MKFS_ERRORS},
	};
	int rc = 0;

	for (size_t i = 0; i < XW_ARRAY_SIZE(rows) && !rc; i++) {
		const struct xw_relation *r = rows[i].given ? NULL : xw_usage_find(u, rows[i].tag);

		if (r)
			rc = xw_usage_set(u, r, p, rows[i].opt, diag);
	}
	return rc;
}

static int set_ratios(const struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag)
{
	const bool sized = xw_params_planned_bytes(p);
	const struct xw_relation *r;
	int rc = 0;

	r = sized ? xw_usage_find(u, "inode_ratio") : find_named(u, "inode_ratio");
	if (!p->bytes_per_inode && (r || sized)) {
		if (r)
			rc = xw_usage_set(u, r, p, XW_MKFS_BYTES_PER_INODE, diag);
		else
			p->bytes_per_inode = PLAIN_INODE_RATIO;
		p->bytes_per_inode = XW_MAX(p->bytes_per_inode, p->block_size);
	}
	r = p->size_bytes ? xw_usage_find(u, "reserved_ratio") : find_named(u, "reserved_ratio");
	if (!rc && p->reserved_percent < 0 && r)
		rc = xw_usage_set(u, r, p, XW_MKFS_RESERVED_PERCENT, diag);
	return rc;
}

static int set_hash(const struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag)
{
	static const char *const names[] = {"legacy", "half_md4", "tea"};
	const struct xw_relation *r = xw_usage_find(u, "hash_alg");

	if (!r)
		return 0;
	for (uint8_t i = 0; i < XW_ARRAY_SIZE(names); i++) {
		if (!strcmp(r->value, names[i])) {
			p->hash_version = i;
			return 0;
		}
	}
	return xw_usage_blame(u, r, XW_ERR_USAGE, "must be legacy, half_md4 or tea", diag);
}

static int set_switches(const struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag)
{
	const struct {
		const char *tag;
		int missing;
		int *value;
	} rows[] = {
		{"lazy_itable_init", -1, &p->lazy_itable_init},
		{"lazy_journal_init", -1, &p->lazy_journal_init},
		{"packed_meta_blocks", 0, &p->packed_meta_blocks},
		{"discard", 1, &p->discard},
	};
	int on, rc = 0;

	for (size_t i = 0; i < XW_ARRAY_SIZE(rows) && !rc; i++) {
		if (*rows[i].value < 0)
			rc = xw_usage_bool(u, rows[i].tag, rows[i].missing, rows[i].value, diag);
	}
	if (!rc)
		rc = xw_usage_bool(u, "enable_periodic_fsck", 0, &on, diag);
	if (rc)
		return rc;
	p->periodic_fsck = on;
	rc = xw_usage_bool(u, "auto_64-bit_support", 0, &on, diag);
	if (!rc && on && xw_params_planned_bytes(p) / p->block_size > UINT32_MAX) {
		p->features.w[XW_FW_INCOMPAT] |= XW_INCOMPAT_64BIT;
		p->features.w[XW_FW_COMPAT] &= ~XW_COMPAT_RESIZE_INODE;
	}
	return rc ? rc : xw_usage_hugefiles(u, p, diag);
}

static int set_key(const struct xw_usage *u, struct xw_mkfs_params *p, const char *tag,
		   xw_key_setter *setter, struct xw_diag *diag)
{
	const struct xw_relation *r = xw_usage_find(u, tag);
	struct xw_diag quiet = {0};
	int rc = r ? setter(p, tag, r->value, &quiet) : 0;

	return rc ? xw_usage_blame(u, r, rc, quiet.text, diag) : 0;
}

/* Relations that correspond to keys of -E and -J. */
static int set_keys(const struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag)
{
	bool fold = xw_has_incompat(&p->features, XW_INCOMPAT_CASEFOLD);
	bool own_log = xw_has_compat(&p->features, XW_COMPAT_HAS_JOURNAL) && !p->journal_device;
	int rc = 0;

	if (p->num_backup_sb < 0 && xw_has_compat(&p->features, XW_COMPAT_SPARSE_SUPER2))
		rc = set_key(u, p, "num_backup_sb", xw_set_num_backup_sb, diag);
	if (!rc && own_log && p->size_bytes && !p->journal_at && !p->journal_at_bytes)
		rc = set_key(u, p, "journal_location", xw_set_journal_location, diag);
	if (!rc && fold)
		rc = set_key(u, p, "encoding", xw_set_encoding, diag);
	if (!rc && fold && !p->encoding_flags_set)
		rc = set_key(u, p, "encoding_flags", xw_set_encoding_flags, diag);
	return rc;
}

static int set_mount_options(const struct xw_usage *u, struct xw_mkfs_params *p,
			     struct xw_diag *diag)
{
	const struct xw_relation *r = xw_usage_find(u, "default_mntopts");
	struct xw_diag quiet = {0};
	uint32_t opts = 0;
	int rc;

	if (!r)
		return 0;
	rc = xw_mntopts_apply(&opts, r->tag, r->value, &quiet);
	if (rc)
		return xw_usage_blame(u, r, rc, quiet.text, diag);
	p->mount_opts = opts;
	return 0;
}

int xw_usage_values(const struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag)
{
	static int (*const steps[])(const struct xw_usage *u, struct xw_mkfs_params *p,
				    struct xw_diag *diag) = {
		set_block_size, set_options, set_ratios,        set_hash,
		set_switches,   set_keys,    set_mount_options,
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(steps); i++) {
		int rc = steps[i](u, p, diag);

		if (rc)
			return rc;
	}
	if (!p->errors)
		p->errors = 1;
	if (!p->inode_size)
		p->inode_size = PLAIN_INODE_SIZE;
	return 0;
}
