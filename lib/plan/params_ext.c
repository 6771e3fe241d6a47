/* SPDX-License-Identifier: MIT */
/*
 * The comma lists of -E and -J: a table of keys, each with its setter, or none when the key is
 * known to mke2fs but not to this version. Keys and values are those of mke2fs(8); mb_* are
 * specific to this suite.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "base/auto.h"
#include "disk/super.h"
#include "plan/parse.h"

enum key_arg { ARG_NONE, ARG_MAY, ARG_MUST };

struct key {
	const char *name;
	enum key_arg arg;
	/* name is the full "-E key"; value NULL when omitted */
	xw_key_setter *set;
};

static int bad(struct xw_diag *diag, const char *name, const char *value, const char *why)
{
	return xw_fail(diag, XW_ERR_USAGE, "%s=%.80s: %s", name, value, why);
}

/* "key" alone switches it on; 0 and 1 are explicit. */
static int flag(const char *name, const char *value, int *out, struct xw_diag *diag)
{
	uint64_t n = 1;

	if (value && (xw_parse_u64(value, &n) || n > 1))
		return bad(diag, name, value, "must be 0 or 1");
	*out = (int)n;
	return 0;
}

static int number(const char *name, const char *value, uint64_t max, uint64_t *out,
		  struct xw_diag *diag)
{
	return xw_parse_ranged(name, value, 0, max, out, diag);
}

static int number32(const char *name, const char *value, uint64_t max, uint32_t *out,
		    struct xw_diag *diag)
{
	uint64_t n;
	int err = number(name, value, max, &n, diag);

	if (!err)
		*out = (uint32_t)n;
	return err;
}

static int number_int(const char *name, const char *value, int max, int *out, struct xw_diag *diag)
{
	uint64_t n;
	int err = number(name, value, (uint64_t)max, &n, diag);

	if (!err)
		*out = (int)n;
	return err;
}

#define SETTER(key)                                                                                \
	static int set_##key(struct xw_mkfs_params *p, const char *name, const char *value,        \
			     struct xw_diag *diag)

SETTER(root_owner)
{
	uint64_t uid = getuid(), gid = getgid();

	if (value) {
		auto_free char *text = strdup(value);
		char *colon = text ? strchr(text, ':') : NULL;

		if (!text)
			return xw_fail_nomem(diag, "option value");
		if (!colon)
			return bad(diag, name, value, "must be UID:GID");
		*colon = '\0';
		if (xw_parse_u64(text, &uid) || xw_parse_u64(colon + 1, &gid) ||
		    uid > UINT32_MAX - 1 || gid > UINT32_MAX - 1)
			return bad(diag, name, value, "must be UID:GID, both numbers");
	}
	p->root_uid = (uint32_t)uid;
	p->root_gid = (uint32_t)gid;
	p->root_owner_set = true;
	return 0;
}

SETTER(root_perms)
{
	uint32_t mode = 0;

	for (const char *c = value; *c; c++) {
		if (*c < '0' || *c > '7' || mode > 07777)
			return bad(diag, name, value, "must be an octal mode up to 7777");
		mode = mode << 3 | (uint32_t)(*c - '0');
	}
	if (!*value || mode > 07777)
		return bad(diag, name, value, "must be an octal mode up to 7777");
	p->root_perms = mode;
	return 0;
}

SETTER(root_selinux)
{
	char *copy;

	if (!*value)
		return bad(diag, name, value, "must be a context");
	copy = strdup(value);
	if (!copy)
		return xw_fail_nomem(diag, "option value");
	free(p->root_selinux);
	p->root_selinux = copy;
	return 0;
}

SETTER(root_from_source)
{
	(void)name;
	(void)value;
	(void)diag;
	p->root_from_source = true;
	return 0;
}

SETTER(hash_seed)
{
	if (!strcmp(value, "null")) {
		memset(p->hash_seed, 0, sizeof(p->hash_seed));
		p->hash_seed_set = true;
		return 0;
	}
	if (uuid_parse(value, p->hash_seed))
		return bad(diag, name, value, "must be a UUID, or null");
	p->hash_seed_set = true;
	return 0;
}

SETTER(test_fs)
{
	(void)name;
	(void)value;
	(void)diag;
	p->test_fs = true;
	return 0;
}

SETTER(no_copy_xattrs)
{
	(void)name;
	(void)value;
	(void)diag;
	p->no_copy_xattrs = true;
	return 0;
}

SETTER(revision)
{
	return number_int(name, value, 1, &p->revision, diag);
}

SETTER(desc_size)
{
	uint64_t n;
	int err = number(name, value, XW_DESC_SIZE_MAX, &n, diag);

	if (!err && (n < 32 || n & (n - 1)))
		err = bad(diag, name, value, "must be a power of two from 32 to 1024");
	p->desc_size = (uint32_t)n;
	return err;
}

SETTER(offset)
{
	if (xw_parse_size(value, 1, &p->offset) || p->offset > INT64_MAX / 2)
		return bad(diag, name, value, "must be bytes, or a number with s K M G T");
	return 0;
}

SETTER(stride)
{
	return number32(name, value, UINT16_MAX, &p->stride, diag);
}

SETTER(stripe_width)
{
	return number32(name, value, UINT32_MAX, &p->stripe_width, diag);
}

SETTER(lazy_itable_init)
{
	return flag(name, value, &p->lazy_itable_init, diag);
}

SETTER(lazy_journal_init)
{
	return flag(name, value, &p->lazy_journal_init, diag);
}

SETTER(assume_storage_prezeroed)
{
	return flag(name, value, &p->prezeroed, diag);
}

SETTER(packed_meta_blocks)
{
	return flag(name, value, &p->packed_meta_blocks, diag);
}

SETTER(discard)
{
	return flag(name, value, &p->discard, diag);
}

SETTER(nodiscard)
{
	(void)name;
	(void)value;
	(void)diag;
	p->discard = 0;
	return 0;
}

int xw_set_num_backup_sb(struct xw_mkfs_params *p, const char *name, const char *value,
			 struct xw_diag *diag)
{
	return number_int(name, value, 2, &p->num_backup_sb, diag);
}

SETTER(resize)
{
	uint64_t n;

	if (xw_parse_size(value, 1, &n) || !n)
		return bad(diag, name, value, "must be a number of blocks, or a size with K M G T");
	p->resize_bytes = xw_size_has_suffix(value) ? n : 0;
	p->resize_blocks = xw_size_has_suffix(value) ? 0 : n;
	return 0;
}

SETTER(mb_optimize_scan)
{
	return flag(name, value, &p->mb.optimize_scan, diag);
}

SETTER(mb_linear_limit)
{
	return number_int(name, value, INT32_MAX, &p->mb.linear_limit, diag);
}

SETTER(mb_order2_req)
{
	return number_int(name, value, 16, &p->mb.order2_req, diag);
}

SETTER(mb_stream_req)
{
	return number_int(name, value, INT32_MAX, &p->mb.stream_req, diag);
}

SETTER(mb_max_to_scan)
{
	return number_int(name, value, INT32_MAX, &p->mb.max_to_scan, diag);
}

SETTER(mb_best_avail_max_trim_order)
{
	return number_int(name, value, 16, &p->mb.best_avail_max_trim_order, diag);
}

static const struct key extended_keys[] = {
	{"root_owner", ARG_MAY, set_root_owner},
	{"root_perms", ARG_MUST, set_root_perms},
	{"root_selinux", ARG_MUST, set_root_selinux},
	{"root_from_source", ARG_NONE, set_root_from_source},
	{"hash_seed", ARG_MUST, set_hash_seed},
	{"offset", ARG_MUST, set_offset},
	{"stride", ARG_MUST, set_stride},
	{"stripe_width", ARG_MUST, set_stripe_width},
	{"stripe-width", ARG_MUST, set_stripe_width},
	{"lazy_itable_init", ARG_MAY, set_lazy_itable_init},
	{"lazy_journal_init", ARG_MAY, set_lazy_journal_init},
	{"packed_meta_blocks", ARG_MAY, set_packed_meta_blocks},
	{"num_backup_sb", ARG_MUST, xw_set_num_backup_sb},
	{"discard", ARG_NONE, set_discard},
	{"nodiscard", ARG_NONE, set_nodiscard},
	{"resize", ARG_MUST, set_resize},
	{"mb_optimize_scan", ARG_MUST, set_mb_optimize_scan},
	{"mb_linear_limit", ARG_MUST, set_mb_linear_limit},
	{"mb_order2_req", ARG_MUST, set_mb_order2_req},
	{"mb_stream_req", ARG_MUST, set_mb_stream_req},
	{"mb_max_to_scan", ARG_MUST, set_mb_max_to_scan},
	{"mb_best_avail_max_trim_order", ARG_MUST, set_mb_best_avail_max_trim_order},
	{"encoding", ARG_MUST, xw_set_encoding},
	{"encoding_flags", ARG_MUST, xw_set_encoding_flags},
	{"mmp_update_interval", ARG_MUST, xw_set_mmp_update_interval},
	{"orphan_file_size", ARG_MUST, xw_set_orphan_file_size},
	{"quotatype", ARG_MUST, xw_set_quotatype},
	{"no_copy_xattrs", ARG_NONE, set_no_copy_xattrs},
	{"test_fs", ARG_NONE, set_test_fs},
	{"desc_size", ARG_MUST, set_desc_size},
	{"revision", ARG_MUST, set_revision},
	{"assume_storage_prezeroed", ARG_MAY, set_assume_storage_prezeroed},
	{NULL, ARG_NONE, NULL},
};

SETTER(journal_size)
{
	uint64_t n;

	if (xw_parse_size(value, 1u << 20, &n) || n > 1ull << 48)
		return bad(diag, name, value, "must be a number of MiB, or a size with K M G");
	if (n % 1024)
		return bad(diag, name, value, "must be a multiple of 1 KiB");
	p->journal_bytes = n;
	return 0;
}

static const struct key journal_keys[] = {
	{"size", ARG_MUST, set_journal_size},
	{"location", ARG_MUST, xw_set_journal_location},
	{"device", ARG_MUST, xw_set_journal_device},
	{"fast_commit_size", ARG_MUST, xw_set_fast_commit_size},
	{NULL, ARG_NONE, NULL},
};

/* One "key[=value]"; text is the caller's scratch copy. */
static int set_key(struct xw_mkfs_params *p, const char *letter, const struct key *keys, char *text,
		   struct xw_diag *diag)
{
	char *value = strchr(text, '=');
	char name[64];

	if (value)
		*value++ = '\0';
	snprintf(name, sizeof(name), "%s %.48s", letter, text);
	for (; keys->name; keys++) {
		if (strcmp(keys->name, text))
			continue;
		if (!keys->set)
			return xw_fail(diag, XW_ERR_UNSUPPORTED,
				       "%s: not supported by this version", name);
		if (value && keys->arg == ARG_NONE)
			return bad(diag, name, value, "takes no value");
		if (!value && keys->arg == ARG_MUST)
			return xw_fail(diag, XW_ERR_USAGE, "%s: needs a value", name);
		return keys->set(p, name, value, diag);
	}
	return xw_fail(diag, XW_ERR_USAGE, "%s: no such option", name);
}

static int set_list(struct xw_mkfs_params *p, const char *letter, const struct key *keys,
		    const char *list, struct xw_diag *diag)
{
	auto_free char *copy = strdup(list);
	char *save = NULL;

	if (!copy)
		return xw_fail_nomem(diag, "option list");
	for (char *item = strtok_r(copy, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		int err = set_key(p, letter, keys, item, diag);

		if (err)
			return err;
	}
	return 0;
}

int xw_params_set_extended(struct xw_mkfs_params *p, const char *list, struct xw_diag *diag)
{
	return set_list(p, "-E", extended_keys, list, diag);
}

int xw_params_set_journal(struct xw_mkfs_params *p, const char *list, struct xw_diag *diag)
{
	return set_list(p, "-J", journal_keys, list, diag);
}
