/* SPDX-License-Identifier: MIT */
/*
 * One setter per option letter. A setter checks its value alone; xw_params_finish() checks options
 * against each other (block size, features, filesystem size), so that their order is irrelevant.
 */
#include "plan/params.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <uuid/uuid.h>

#include "plan/mntopts.h"
#include "plan/parse.h"
#include "plan/profile.h"

typedef int setter(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag);

void xw_params_init(struct xw_mkfs_params *p)
{
	memset(p, 0, sizeof(*p));
	p->reserved_percent = -1;
	p->revision = -1;
	p->creator_os = XW_OS_DEFAULT;
	p->mount_opts = XW_MNTOPT_XATTR_USER | XW_MNTOPT_ACL;
	p->lazy_itable_init = p->lazy_journal_init = -1;
	p->packed_meta_blocks = p->discard = -1;
	p->num_backup_sb = -1;
	p->root_perms = ~0u;
	p->hash_version = 1;
	p->mb = (struct xw_alloc_tunables){-1, -1, -1, -1, -1, -1};
}

void xw_params_free(struct xw_mkfs_params *p)
{
	free(p->root_selinux);
	free(p->journal_device);
	free(p->feature_list);
	free(p->usage_list);
	free(p->extended_list);
	xw_vec_free(&p->bad);
	xw_profile_free(p->profile);
	p->root_selinux = p->feature_list = p->usage_list = p->journal_device = NULL;
	p->extended_list = NULL;
	p->profile = NULL;
}

static int set_size(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	uint64_t n;

	if (xw_parse_size(value, 1, &n) || !n)
		return xw_fail(diag, XW_ERR_USAGE,
			       "invalid size '%.80s': a number, or one with s K M G T", value);
	p->size_set = true;
	p->size_bytes = xw_size_has_suffix(value) ? n : 0;
	p->size_number = xw_size_has_suffix(value) ? 0 : n;
	return 0;
}

static int set_block_size(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	bool at_least = *value == '-';
	uint64_t n;

	if (xw_parse_size(value + at_least, 1, &n) || n < 1024 || n > XW_BLOCK_SIZE_MAX ||
	    (n & (n - 1)))
		return xw_bad_value(diag, "-b", value,
				    "block sizes are powers of two from 1024 to 65536");
	p->block_size = at_least ? 0 : (uint32_t)n;
	p->min_block_size = at_least ? (uint32_t)n : 0;
	return 0;
}

static int set_cluster_size(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	uint64_t n;

	if (xw_parse_size(value, 1, &n) || n < 2048 || n > 256u << 20 || (n & (n - 1)))
		return xw_bad_value(diag, "-C", value,
				    "cluster sizes are powers of two from 2048 to 256M");
	p->cluster_size = (uint32_t)n;
	return 0;
}

static int set_blocks_per_group(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	uint64_t n;
	int rc =
		xw_parse_ranged("-g", value, 256, xw_group_blocks_max(XW_BLOCK_SIZE_MAX), &n, diag);

	if (rc)
		return rc;
	if (n % 8)
		return xw_fail(diag, XW_ERR_USAGE, "-g %s: must be a multiple of 8", value);
	p->blocks_per_group = (uint32_t)n;
	return 0;
}

static int set_flex_size(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	uint64_t n;

	if (xw_parse_u64(value, &n) || !n || n > 1ull << 31 || (n & (n - 1)))
		return xw_bad_value(diag, "-G", value, "must be a power of two, at most 2^31");
	p->flex_size = (uint32_t)n;
	return 0;
}

static int set_bytes_per_inode(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	uint64_t n;

	if (xw_parse_size(value, 1, &n) || n < 1024 || n > 64u << 20)
		return xw_bad_value(diag, "-i", value, "must be 1024 to 67108864 bytes");
	p->bytes_per_inode = n;
	return 0;
}

static int set_inode_size(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	uint64_t n;

	if (xw_parse_u64(value, &n) || n < 128 || n > 32768 || (n & (n - 1)))
		return xw_bad_value(
			diag, "-I", value,
			"must be a power of two from 128 to the block size, at most 32768");
	p->inode_size = (uint32_t)n;
	return 0;
}

static int set_inodes(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	return xw_parse_ranged("-N", value, 0, UINT32_MAX, &p->inodes, diag);
}

static int set_reserved_percent(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	const size_t len = strlen(value);
	double n;

	if (xw_parse_decimal(value, len - (len && value[len - 1] == '%'), &n) || n > 50)
		return xw_bad_value(diag, "-m", value, "must be a percentage from 0 to 50");
	p->reserved_percent = n;
	return 0;
}

static int set_revision(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	uint64_t n;
	int rc = xw_parse_ranged("-r", value, 0, 1, &n, diag);

	if (!rc)
		p->revision = (int)n;
	return rc;
}

static int set_label(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	size_t len = strlen(value);

	if (len > 16)
		xw_log(diag, XW_LOG_WARN, "-L %.80s: over 16 bytes, truncated to '%.16s'", value,
		       value);
	memset(p->label, 0, sizeof(p->label));
	memcpy(p->label, value, XW_MIN(len, 16));
	return 0;
}

static int set_uuid(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	if (!strcasecmp(value, "clear") || !strcasecmp(value, "null"))
		uuid_clear(p->uuid);
	else if (!strcasecmp(value, "random"))
		uuid_generate_random(p->uuid);
	else if (!strcasecmp(value, "time"))
		uuid_generate_time(p->uuid);
	else if (uuid_parse(value, p->uuid))
		return xw_bad_value(diag, "-U", value, "must be a UUID, clear, random or time");
	p->uuid_set = true;
	return 0;
}

static int set_last_mounted(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	size_t len = strlen(value);

	if (len > 64)
		return xw_fail(diag, XW_ERR_USAGE, "-M %.80s...: over 64 bytes", value);
	memset(p->last_mounted, 0, sizeof(p->last_mounted));
	memcpy(p->last_mounted, value, len);
	return 0;
}

static int set_errors(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	static const char *const names[] = {"continue", "remount-ro", "panic"};

	for (uint16_t i = 0; i < XW_ARRAY_SIZE(names); i++) {
		if (!strcmp(value, names[i])) {
			p->errors = (uint16_t)(i + 1);
			return 0;
		}
	}
	return xw_bad_value(diag, "-e", value, "must be continue, remount-ro or panic");
}

static int set_creator_os(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	static const struct {
		const char *name;
		uint32_t os;
	} names[] = {{"linux", 0}, {"gnu", 1},     {"hurd", 1},
		     {"masix", 2}, {"freebsd", 3}, {"lites", 4}};
	uint64_t n;

	for (size_t i = 0; i < XW_ARRAY_SIZE(names); i++) {
		if (!strcasecmp(value, names[i].name)) {
			p->creator_os = names[i].os;
			return 0;
		}
	}
	if (xw_parse_u64(value, &n) || n > 4)
		return xw_bad_value(
			diag, "-o", value,
			"must be Linux, GNU (Hurd), MASIX, FreeBSD, Lites or a number to 4");
	p->creator_os = (uint32_t)n;
	return 0;
}

/* Join repeated options: "-O a -O b" is the same as "-O a,b". */
static int list_append(char **list, const char *value, struct xw_diag *diag)
{
	size_t old = *list ? strlen(*list) : 0, add = strlen(value);
	char *joined = realloc(*list, old + add + 2);

	if (!joined)
		return xw_fail_nomem(diag, "option list");
	if (old)
		joined[old++] = ',';
	memcpy(joined + old, value, add + 1);
	*list = joined;
	return 0;
}

static int set_features(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	struct xw_features trial = {{0}};
	int rc = xw_features_apply(&trial, value, diag); /* only to check the names */

	return rc ? rc : list_append(&p->feature_list, value, diag);
}

static int set_type(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	/* xw_usage_open() checks it against the types of the profile */
	if (!*value || strlen(value) >= sizeof(p->fs_type))
		return xw_bad_value(diag, "-t", value, "no such filesystem type");
	memcpy(p->fs_type, value, strlen(value) + 1);
	return 0;
}

static int set_usage(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	return list_append(&p->usage_list, value, diag);
}

/* Keep the text as well: it is applied again after the "options" of usage types. */
static int set_extended(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	int rc = xw_params_set_extended(p, value, diag);

	return rc ? rc : list_append(&p->extended_list, value, diag);
}

static int set_add_journal(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	(void)value;
	(void)diag;
	p->add_journal = true;
	return 0;
}

static int set_free(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	size_t len = strlen(value);
	double percent = 0;
	uint64_t bytes = 0;

	if (len && value[len - 1] == '%') {
		if (xw_parse_decimal(value, len - 1, &percent) || percent > 99)
			return xw_bad_value(diag, "--free", value,
					    "must be a percentage from 0 to 99");
	} else if (xw_parse_size(value, 1, &bytes) || bytes > 1ull << 60) {
		return xw_bad_value(diag, "--free", value,
				    "must be bytes, or a number with s K M G T %");
	}
	p->free_set = true;
	p->free_percent = percent;
	p->free_bytes = bytes;
	return 0;
}

static int set_grow_ratio(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	if (xw_parse_size(value, 1, &p->grow_ratio) || p->grow_ratio < 1024 ||
	    p->grow_ratio > 64u << 20)
		return xw_bad_value(diag, "--grow-ratio", value, "must be 1024 to 67108864 bytes");
	return 0;
}

static int set_grow_to(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	if (xw_parse_size(value, 1, &p->grow_bytes) || p->grow_bytes < 1u << 20 ||
	    p->grow_bytes > 1ull << 60)
		return xw_bad_value(diag, "--grow-to", value,
				    "must be a number of bytes, or one with K M G T (or k m g t); "
				    "1M to 2^60 bytes");
	return 0;
}

static int set_free_inodes(struct xw_mkfs_params *p, const char *value, struct xw_diag *diag)
{
	return xw_parse_ranged("--free-inodes", value, 0, UINT32_MAX, &p->free_inodes, diag);
}

static setter *const setters[XW_MKFS_OPTION_COUNT] = {
	[XW_MKFS_SIZE] = set_size,
	[XW_MKFS_BLOCK_SIZE] = set_block_size,
	[XW_MKFS_CLUSTER_SIZE] = set_cluster_size,
	[XW_MKFS_BLOCKS_PER_GROUP] = set_blocks_per_group,
	[XW_MKFS_FLEX_SIZE] = set_flex_size,
	[XW_MKFS_BYTES_PER_INODE] = set_bytes_per_inode,
	[XW_MKFS_INODE_SIZE] = set_inode_size,
	[XW_MKFS_INODES] = set_inodes,
	[XW_MKFS_RESERVED_PERCENT] = set_reserved_percent,
	[XW_MKFS_REVISION] = set_revision,
	[XW_MKFS_LABEL] = set_label,
	[XW_MKFS_UUID] = set_uuid,
	[XW_MKFS_LAST_MOUNTED] = set_last_mounted,
	[XW_MKFS_ERRORS] = set_errors,
	[XW_MKFS_CREATOR_OS] = set_creator_os,
	[XW_MKFS_FEATURES] = set_features,
	[XW_MKFS_TYPE] = set_type,
	[XW_MKFS_USAGE] = set_usage,
	[XW_MKFS_JOURNAL] = xw_params_set_journal,
	[XW_MKFS_ADD_JOURNAL] = set_add_journal,
	[XW_MKFS_EXTENDED] = set_extended,
	[XW_MKFS_FREE] = set_free,
	[XW_MKFS_MIN_FREE_INODES] = set_free_inodes,
	[XW_MKFS_GROW_RATIO] = set_grow_ratio,
	[XW_MKFS_GROW_TO] = set_grow_to,
};

static const char *const option_names[XW_MKFS_OPTION_COUNT] = {
#define X(name, text) [XW_MKFS_##name] = text,
	XW_MKFS_OPTIONS(X)
#undef X
};

int xw_params_set(struct xw_mkfs_params *p, enum xw_mkfs_option opt, const char *value,
		  struct xw_diag *diag)
{
	if ((unsigned)opt >= XW_MKFS_OPTION_COUNT || !setters[opt])
		return xw_fail(diag, XW_ERR_INTERNAL, "no such mkfs option: %d", (int)opt);
	if (!value && opt != XW_MKFS_ADD_JOURNAL)
		return xw_fail(diag, XW_ERR_USAGE, "%s: needs a value", option_names[opt]);
	return setters[opt](p, value, diag);
}

int xw_params_set_config(struct xw_mkfs_params *p, const char *name, const char *text, size_t len,
			 struct xw_diag *diag)
{
	struct xw_profile *profile;
	int rc = xw_profile_parse(name, text, len, diag, &profile);

	if (rc)
		return rc;
	xw_profile_free(p->profile);
	p->profile = profile;
	return 0;
}
