/* SPDX-License-Identifier: MIT */
/*
 * Lists are short in practice, so a sorted array is sufficient. As in mke2fs (observed), blocks out
 * of range are ignored with a message, and a bad block in a backup superblock or its descriptors
 * causes a warning. Two differences: mke2fs skips lines that are not a number, which are an error
 * here; and it includes bad blocks in s_reserved_gdt_blocks, about which e2fsck complains, while
 * here the reserved descriptors end before the first bad block.
 */
#include "plan/bad.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "plan/map.h"
#include "plan/parse.h"

#define LINE_MAX_LEN 32 /* a number with surrounding blanks */

static int parse_line(const char *name, unsigned line, const char *s, size_t len,
		      struct xw_mkfs_params *p, struct xw_diag *diag)
{
	char text[LINE_MAX_LEN];
	uint64_t blk;

	while (len && (s[len - 1] == ' ' || s[len - 1] == '\t' || s[len - 1] == '\r'))
		len--;
	for (; len && (*s == ' ' || *s == '\t'); s++)
		len--;
	if (!len || *s == '#')
		return 0;
	if (len < sizeof(text)) {
		memcpy(text, s, len);
		text[len] = '\0';
	}
	if (len >= sizeof(text) || strlen(text) != len || xw_parse_u64(text, &blk))
		return xw_fail(diag, XW_ERR_USAGE, "%s:%u: not a block number: %.*s", name, line,
			       (int)XW_MIN(len, 40), s);
	return xw_vec_push(&p->bad, blk) ? xw_fail_nomem(diag, "bad blocks") : 0;
}

int xw_bad_parse(const char *name, const char *text, size_t len, struct xw_mkfs_params *p,
		 struct xw_diag *diag)
{
	const char *end = text + len;

	for (unsigned line = 1; text < end; line++) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		int rc;

		if (!eol)
			eol = end;
		rc = parse_line(name, line, text, (size_t)(eol - text), p, diag);
		if (rc)
			return rc;
		text = eol + 1;
	}
	return 0;
}

int xw_bad_finish(struct xw_mkfs_params *p, struct xw_diag *diag)
{
	xw_blk first = p->block_size == 1024, end = p->size_bytes / p->block_size;
	size_t out = 0;

	if (!p->bad.n)
		return 0;
	if (xw_has_ro(&p->features, XW_RO_BIGALLOC))
		return xw_fail(diag, XW_ERR_UNSUPPORTED,
			       "bad blocks are not supported with bigalloc");
	qsort(p->bad.v, p->bad.n, sizeof(*p->bad.v), xw_by_u64);
	for (size_t i = 0; i < p->bad.n; i++) {
		xw_blk blk = p->bad.v[i];

		if (out && p->bad.v[out - 1] == blk)
			continue;
		if (blk < first || blk >= end)
			xw_log(diag, XW_LOG_WARN,
			       "bad block %llu is outside of the filesystem: ignored",
			       (unsigned long long)blk);
		else
			p->bad.v[out++] = blk;
	}
	p->bad.n = out;
	if (out && p->bad.v[out - 1] > UINT32_MAX)
		return xw_fail(diag, XW_ERR_LIMIT,
			       "bad block %llu: the list of bad blocks holds 32-bit numbers",
			       (unsigned long long)p->bad.v[out - 1]);
	return 0;
}

xw_blk xw_geo_next_bad(const struct xw_geo *geo, xw_blk blk)
{
	const size_t i = XW_LOWER_BOUND(k, geo->n_bad, geo->bad[k] >= blk);

	return i < geo->n_bad ? geo->bad[i] : XW_BLK_MAX;
}

bool xw_geo_bad_in(const struct xw_geo *geo, xw_blk start, uint64_t len)
{
	xw_blk next = geo->n_bad ? xw_geo_next_bad(geo, start) : XW_BLK_MAX;

	return next != XW_BLK_MAX && next - start < len;
}

uint32_t xw_geo_good_after_desc(const struct xw_geo *geo)
{
	uint64_t good = UINT32_MAX;

	for (size_t i = 0; i < geo->n_bad; i++) {
		uint32_t group = xw_geo_group_of(geo, geo->bad[i]);
		uint64_t at = geo->bad[i] - xw_geo_group_start(geo, group);

		if (at > geo->desc_blocks && xw_geo_has_super(geo, group))
			good = XW_MIN(good, at - geo->desc_blocks - 1);
	}
	return (uint32_t)good;
}

/* Does another group hold a copy of block `at` of this group's superblock and descriptors? */
static bool is_copy(const struct xw_geo *geo, uint32_t group, uint64_t at)
{
	if (xw_geo_meta_bg(geo) && at == xw_geo_has_super(geo, group))
		return group % geo->desc_per_block != 0;
	return group != 0;
}

int xw_geo_check_bad(const struct xw_geo *geo, struct xw_diag *diag)
{
	uint32_t warned = 0;

	for (size_t i = 0; i < geo->n_bad && geo->bad[i] < geo->blocks; i++) {
		unsigned long long blk = geo->bad[i];
		uint32_t group = xw_geo_group_of(geo, blk);
		uint64_t at = blk - xw_geo_group_start(geo, group);

		if (at >= xw_geo_head(geo, group))
			continue;
		if (!is_copy(geo, group, at))
			return xw_fail(diag, XW_ERR_LIMIT,
				       "block %llu is bad, and the superblock and descriptors "
				       "cannot be moved",
				       blk);
		if (group != warned)
			xw_log(diag, XW_LOG_WARN,
			       "block %llu is bad: group %u gets no backup of superblock and "
			       "descriptors",
			       blk, group);
		warned = group;
	}
	return 0;
}
