/* SPDX-License-Identifier: MIT */
/*
 * The comma-separated lists of -E and -J: a table of keys. Keys and values are those of mke2fs(8);
 * mb_* are specific to this suite.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "base/auto.h"
#include "base/mode.h"
#include "disk/super.h"
#include "plan/parse.h"

enum key_arg { ARG_NONE, ARG_MAY, ARG_MUST };

struct key {
	const char *name;
	enum key_arg arg;
	/* name is the full "-E key"; value is NULL when omitted */
	xw_key_setter *set;
	/* without a setter: a number up to `max` (`omitted` without a value) for a 32-bit field */
	size_t field;
	uint32_t max, omitted;
};

static int set_number(struct xw_mkfs_params *p, const struct key *key, const char *name,
		      const char *value, struct xw_diag *diag)
{
	uint64_t n = key->omitted;
	uint32_t n32;

	if (value && key->max == 1) {
		if (xw_parse_u64(value, &n) || n > 1)
			return xw_bad_value(diag, name, value, "must be 0 or 1");
	} else if (value) {
		int rc = xw_parse_ranged(name, value, 0, key->max, &n, diag);

		if (rc)
			return rc;
	}
	n32 = (uint32_t)n;
	memcpy((char *)p + key->field, &n32, sizeof(n32));
	return 0;
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
			return xw_bad_value(diag, name, value, "must be UID:GID");
		*colon = '\0';
		if (xw_parse_u64(text, &uid) || xw_parse_u64(colon + 1, &gid) ||
		    uid > UINT32_MAX - 1 || gid > UINT32_MAX - 1)
			return xw_bad_value(diag, name, value, "must be UID:GID, both numbers");
	}
	p->root_uid = (uint32_t)uid;
	p->root_gid = (uint32_t)gid;
	p->root_owner_set = true;
	return 0;
}

SETTER(root_perms)
{
	return xw_mode_octal(value, &p->root_perms)
		       ? 0
		       : xw_bad_value(diag, name, value, "must be an octal mode up to 7777");
}

SETTER(root_selinux)
{
	return *value ? xw_set_text(&p->root_selinux, value, diag)
		      : xw_bad_value(diag, name, value, "must be a context");
}

SETTER(hash_seed)
{
	if (!strcmp(value, "null"))
		uuid_clear(p->hash_seed);
	else if (uuid_parse(value, p->hash_seed))
		return xw_bad_value(diag, name, value, "must be a UUID, or null");
	p->hash_seed_set = true;
	return 0;
}

SETTER(desc_size)
{
	uint64_t n;
	int rc = xw_parse_ranged(name, value, 0, XW_DESC_SIZE_MAX, &n, diag);

	if (rc)
		return rc;
	if (n < 32 || n & (n - 1))
		return xw_bad_value(diag, name, value, "must be a power of two from 32 to 1024");
	p->desc_size = (uint32_t)n;
	return 0;
}

SETTER(offset)
{
	(void)name;
	return xw_parse_offset(value, &p->offset, diag);
}

int xw_set_num_backup_sb(struct xw_mkfs_params *p, const char *name, const char *value,
			 struct xw_diag *diag)
{
	uint64_t n;
	int rc = xw_parse_ranged(name, value, 0, 2, &n, diag);

	if (!rc)
		p->num_backup_sb = (int)n;
	return rc;
}

SETTER(resize)
{
	uint64_t n;

	if (xw_parse_size(value, 1, &n) || !n)
		return xw_bad_value(diag, name, value,
				    "must be a number of blocks, or a size with K M G T");
	p->resize_bytes = xw_size_has_suffix(value) ? n : 0;
	p->resize_blocks = xw_size_has_suffix(value) ? 0 : n;
	return 0;
}

#define FIELD(name, max_, omitted_)                                                                \
	.field = offsetof(struct xw_mkfs_params, name), .max = (max_), .omitted = (omitted_)

static const struct key extended_keys[] = {
	{"root_owner", ARG_MAY, .set = set_root_owner},
	{"root_perms", ARG_MUST, .set = set_root_perms},
	{"root_selinux", ARG_MUST, .set = set_root_selinux},
	{"root_from_source", ARG_NONE, FIELD(root_from_source, 1, 1)},
	{"hash_seed", ARG_MUST, .set = set_hash_seed},
	{"offset", ARG_MUST, .set = set_offset},
	{"stride", ARG_MUST, FIELD(stride, UINT16_MAX, 0)},
	{"stripe_width", ARG_MUST, FIELD(stripe_width, UINT32_MAX, 0)},
	{"stripe-width", ARG_MUST, FIELD(stripe_width, UINT32_MAX, 0)},
	{"lazy_itable_init", ARG_MAY, FIELD(lazy_itable_init, 1, 1)},
	{"lazy_journal_init", ARG_MAY, FIELD(lazy_journal_init, 1, 1)},
	{"packed_meta_blocks", ARG_MAY, FIELD(packed_meta_blocks, 1, 1)},
	{"num_backup_sb", ARG_MUST, .set = xw_set_num_backup_sb},
	{"discard", ARG_NONE, FIELD(discard, 1, 1)},
	{"nodiscard", ARG_NONE, FIELD(discard, 1, 0)},
	{"resize", ARG_MUST, .set = set_resize},
	{"mb_optimize_scan", ARG_MUST, FIELD(mb.optimize_scan, 1, 0)},
	{"mb_linear_limit", ARG_MUST, FIELD(mb.linear_limit, INT32_MAX, 0)},
	{"mb_order2_req", ARG_MUST, FIELD(mb.order2_req, 16, 0)},
	{"mb_stream_req", ARG_MUST, FIELD(mb.stream_req, INT32_MAX, 0)},
	{"mb_max_to_scan", ARG_MUST, FIELD(mb.max_to_scan, INT32_MAX, 0)},
	{"mb_best_avail_max_trim_order", ARG_MUST, FIELD(mb.best_avail_max_trim_order, 16, 0)},
	{"encoding", ARG_MUST, .set = xw_set_encoding},
	{"encoding_flags", ARG_MUST, .set = xw_set_encoding_flags},
	{"mmp_update_interval", ARG_MUST, .set = xw_set_mmp_update_interval},
	{"orphan_file_size", ARG_MUST, .set = xw_set_orphan_file_size},
	{"quotatype", ARG_MUST, .set = xw_set_quotatype},
	{"no_copy_xattrs", ARG_NONE, FIELD(no_copy_xattrs, 1, 1)},
	{"test_fs", ARG_NONE, FIELD(test_fs, 1, 1)},
	{"desc_size", ARG_MUST, .set = set_desc_size},
	{"revision", ARG_MUST, FIELD(revision, 1, 0)},
	{"assume_storage_prezeroed", ARG_MAY, FIELD(prezeroed, 1, 1)},
	{0},
};

SETTER(journal_size)
{
	uint64_t n;

	if (xw_parse_size(value, 1u << 20, &n) || n > 1ull << 48)
		return xw_bad_value(diag, name, value,
				    "must be a number of MiB, or a size with K M G");
	if (n % 1024)
		return xw_bad_value(diag, name, value, "must be a multiple of 1 KiB");
	p->journal_bytes = n;
	return 0;
}

static const struct key journal_keys[] = {
	{"size", ARG_MUST, .set = set_journal_size},
	{"location", ARG_MUST, .set = xw_set_journal_location},
	{"device", ARG_MUST, .set = xw_set_journal_device},
	{"fast_commit_size", ARG_MUST, .set = xw_set_fast_commit_size},
	{0},
};

/* Set one "key[=value]"; text is modified. */
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
		if (value && keys->arg == ARG_NONE)
			return xw_bad_value(diag, name, value, "takes no value");
		if (!value && keys->arg == ARG_MUST)
			return xw_fail(diag, XW_ERR_USAGE, "%s: needs a value", name);
		return keys->set ? keys->set(p, name, value, diag)
				 : set_number(p, keys, name, value, diag);
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
		int rc = set_key(p, letter, keys, item, diag);

		if (rc)
			return rc;
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
