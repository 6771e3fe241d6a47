/* SPDX-License-Identifier: MIT */
/*
 * Options that belong to one feature: quota types, the MMP interval, the encoding of names, the
 * sizes and locations of journal and orphan file. As in mke2fs 1.47.0 (observed), an option without
 * its feature has no effect, with a warning here; -E encoding sets the feature casefold.
 */
#include <stdlib.h>
#include <string.h>

#include "disk/mmp.h"
#include "disk/quota.h"
#include "plan/geometry.h"
#include "plan/parse.h"

#define ENCODING_UTF8_12_1 1
#define ENCODING_STRICT 0x0001u
#define FAST_COMMIT_KIB_MAX (1ull << 32)
/* the maximum of mke2fs for a journal, including fast commits */
#define JOURNAL_BLOCKS_MAX 10240000u
/* Linux 6.18 refuses a larger one as "orphan file too big" (observed with 1 and 4 KiB blocks). */
#define ORPHAN_BLOCKS_MOUNTED 512u

/* ---- setters ---- */

int xw_set_quotatype(struct xw_mkfs_params *p, const char *name, const char *value,
		     struct xw_diag *diag)
{
	static const char *const names[XW_QUOTA_TYPES] = {
		[XW_QUOTA_USER] = "usrquota",
		[XW_QUOTA_GROUP] = "grpquota",
		[XW_QUOTA_PROJECT] = "prjquota",
	};
	unsigned types = 0;

	for (const char *s = value; *s;) {
		size_t len = strcspn(s, ":"), i = 0;

		while (i < XW_QUOTA_TYPES && (strlen(names[i]) != len || strncmp(names[i], s, len)))
			i++;
		if (i == XW_QUOTA_TYPES)
			return xw_bad_value(
				diag, name, value,
				"must be usrquota, grpquota, prjquota, or several with : "
				"between");
		types |= 1u << i;
		s += len + (s[len] == ':');
	}
	p->quota_types = types;
	p->quota_types_set = true;
	return 0;
}

int xw_set_mmp_update_interval(struct xw_mkfs_params *p, const char *name, const char *value,
			       struct xw_diag *diag)
{
	uint64_t n;
	int rc = xw_parse_ranged(name, value, 0, XW_MMP_INTERVAL_MAX, &n, diag);

	if (!rc)
		p->mmp_interval = (uint32_t)n;
	return rc;
}

int xw_set_encoding(struct xw_mkfs_params *p, const char *name, const char *value,
		    struct xw_diag *diag)
{
	if (strcmp(value, "utf8") && strcmp(value, "utf8-12.1"))
		return xw_bad_value(diag, name, value, "the encodings are utf8 and utf8-12.1");
	p->encoding = ENCODING_UTF8_12_1;
	return 0;
}

int xw_set_encoding_flags(struct xw_mkfs_params *p, const char *name, const char *value,
			  struct xw_diag *diag)
{
	if (!strcmp(value, "strict"))
		p->encoding_flags |= ENCODING_STRICT;
	else if (!strcmp(value, "nostrict"))
		p->encoding_flags &= (uint16_t)~ENCODING_STRICT;
	else
		return xw_bad_value(diag, name, value, "the flags are strict and nostrict");
	p->encoding_flags_set = true;
	return 0;
}

/* Parse a number of blocks or, with a suffix, of bytes; *bytes or *blocks becomes 0. */
static int blocks_or_bytes(const char *name, const char *value, uint64_t *blocks, uint64_t *bytes,
			   struct xw_diag *diag)
{
	uint64_t n;

	if (xw_parse_size(value, 1, &n))
		return xw_bad_value(diag, name, value,
				    "must be a number of blocks, or a size with K M G T");
	*blocks = xw_size_has_suffix(value) ? 0 : n;
	*bytes = xw_size_has_suffix(value) ? n : 0;
	return 0;
}

int xw_set_orphan_file_size(struct xw_mkfs_params *p, const char *name, const char *value,
			    struct xw_diag *diag)
{
	return blocks_or_bytes(name, value, &p->orphan_blocks, &p->orphan_bytes, diag);
}

int xw_set_journal_location(struct xw_mkfs_params *p, const char *name, const char *value,
			    struct xw_diag *diag)
{
	return blocks_or_bytes(name, value, &p->journal_at, &p->journal_at_bytes, diag);
}

int xw_set_fast_commit_size(struct xw_mkfs_params *p, const char *name, const char *value,
			    struct xw_diag *diag)
{
	return xw_parse_ranged(name, value, 0, FAST_COMMIT_KIB_MAX, &p->fast_commit_kib, diag);
}

int xw_set_journal_device(struct xw_mkfs_params *p, const char *name, const char *value,
			  struct xw_diag *diag)
{
	return *value ? xw_set_text(&p->journal_device, value, diag)
		      : xw_bad_value(diag, name, value,
				     "must be a device, UUID=UUID or LABEL=LABEL");
}

/* ---- options and features ---- */

int xw_params_imply_features(struct xw_mkfs_params *p, struct xw_diag *diag)
{
	struct xw_features *f = &p->features;

	if (p->encoding)
		f->w[XW_FW_INCOMPAT] |= XW_INCOMPAT_CASEFOLD;
	if (xw_has_incompat(f, XW_INCOMPAT_CASEFOLD))
		p->encoding = ENCODING_UTF8_12_1;
	else if (p->encoding_flags_set)
		return xw_fail(diag, XW_ERR_USAGE,
			       "-E encoding_flags: needs -E encoding or the feature casefold");
	if (!xw_has_ro(f, XW_RO_QUOTA)) {
		if (p->quota_types_set)
			xw_log(diag, XW_LOG_WARN,
			       "-E quotatype: no effect without the feature quota");
		p->quota_types = 0;
		return 0;
	}
	if (!p->quota_types_set)
		p->quota_types = 1u << XW_QUOTA_USER | 1u << XW_QUOTA_GROUP;
	if (p->quota_types & 1u << XW_QUOTA_PROJECT)
		f->w[XW_FW_RO_COMPAT] |= XW_RO_PROJECT;
	if (xw_has_ro(f, XW_RO_PROJECT))
		p->quota_types |= 1u << XW_QUOTA_PROJECT;
	return 0;
}

static void warn_without_feature(const struct xw_mkfs_params *p, struct xw_diag *diag)
{
	const struct xw_features *f = &p->features;
	bool journal = xw_has_compat(f, XW_COMPAT_HAS_JOURNAL) && !p->journal_device;
	const struct {
		bool given, has;
		const char *option, *wants;
	} rows[] = {
		{p->mmp_interval, xw_has_incompat(f, XW_INCOMPAT_MMP), "-E mmp_update_interval",
		 "the feature mmp"},
		{p->orphan_blocks || p->orphan_bytes, xw_has_compat(f, XW_COMPAT_ORPHAN_FILE),
		 "-E orphan_file_size", "the feature orphan_file"},
		{p->fast_commit_kib, xw_has_compat(f, XW_COMPAT_FAST_COMMIT), "-J fast_commit_size",
		 "the feature fast_commit"},
		{p->journal_at || p->journal_at_bytes, journal, "-J location",
		 "an internal journal"},
		{p->journal_bytes, journal, "-J size", "an internal journal"},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		if (rows[i].given && !rows[i].has)
			xw_log(diag, XW_LOG_WARN, "%s: no effect without %s", rows[i].option,
			       rows[i].wants);
	}
}

static int complete_location(struct xw_mkfs_params *p, struct xw_diag *diag)
{
	if (p->journal_at_bytes)
		p->journal_at = p->journal_at_bytes / p->block_size;
	if (!p->journal_at)
		return 0;
	if (!p->size_bytes)
		return xw_fail(diag, XW_ERR_USAGE, "-J location: needs SIZE");
	if (p->journal_at >= p->size_bytes / p->block_size)
		return xw_fail(diag, XW_ERR_USAGE,
			       "-J location=%llu: the filesystem has %llu blocks",
			       (unsigned long long)p->journal_at,
			       (unsigned long long)(p->size_bytes / p->block_size));
	return 0;
}

int xw_params_finish_features(struct xw_mkfs_params *p, struct xw_diag *diag)
{
	const struct xw_features *f = &p->features;

	if (xw_has_incompat(f, XW_INCOMPAT_JOURNAL_DEV)) {
		if (!p->journal_device && !p->journal_bytes)
			return 0;
		return xw_fail(diag, XW_ERR_USAGE, "-J: not for an external journal");
	}
	if (xw_has_incompat(f, XW_INCOMPAT_INLINE_DATA) && p->inode_size < 256)
		return xw_fail(diag, XW_ERR_USAGE,
			       "-O inline_data: inodes of %u bytes have no room for data; give -I "
			       "256 or more",
			       p->inode_size);
	if (xw_has_ro(f, XW_RO_PROJECT) && p->inode_size < 256)
		return xw_fail(diag, XW_ERR_USAGE,
			       "-I %u: the feature project needs inodes of 256 bytes or more",
			       p->inode_size);
	if (p->desc_size && (p->desc_size > 32) != xw_has_incompat(f, XW_INCOMPAT_64BIT))
		return xw_fail(diag, XW_ERR_USAGE,
			       "-E desc_size=%u: descriptors have 32 bytes without the feature "
			       "64bit, else 64 or more",
			       p->desc_size);
	warn_without_feature(p, diag);
	p->mmp_interval = p->mmp_interval ? p->mmp_interval : XW_MMP_INTERVAL;
	if (p->orphan_bytes)
		p->orphan_blocks = XW_MAX(p->orphan_bytes / p->block_size, 1);
	if (p->orphan_blocks > UINT32_MAX)
		return xw_fail(diag, XW_ERR_USAGE, "-E orphan_file_size: %llu blocks are too many",
			       (unsigned long long)p->orphan_blocks);
	if (p->orphan_blocks > ORPHAN_BLOCKS_MOUNTED)
		xw_log(diag, XW_LOG_WARN,
		       "-E orphan_file_size: Linux mounts no orphan file of more than %u blocks, "
		       "this has %llu",
		       ORPHAN_BLOCKS_MOUNTED, (unsigned long long)p->orphan_blocks);
	if (p->fast_commit_kib * 1024 / p->block_size > JOURNAL_BLOCKS_MAX)
		return xw_fail(diag, XW_ERR_USAGE, "-J fast_commit_size=%llu: at most %u blocks",
			       (unsigned long long)p->fast_commit_kib, JOURNAL_BLOCKS_MAX);
	return complete_location(p, diag);
}
