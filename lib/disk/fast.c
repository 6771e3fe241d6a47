/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <string.h>

#include "base/crc.h"
#include "base/endian.h"
#include "base/err.h"
#include "base/types.h"
#include "disk/dirent.h"
#include "disk/fast.h"
#include "disk/inode.h"

#define HDR 4u /* le16 tag, le16 length of the value */
#define DENTRY 8u /* le32 directory, le32 inode; followed by the name */

#define RANGE (4u + EXTENT) /* le32 inode, and an extent as it is stored in a leaf */
#define EXTENT 12u

/* Is this a valid length for a value of the tag? */
static bool is_valid_length(uint32_t tag, uint32_t len)
{
	switch (tag) {
	case XW_FAST_ADD_RANGE:
		return len == RANGE;
	case XW_FAST_DEL_RANGE:
		return len == 12;
	case XW_FAST_CREAT:
	case XW_FAST_LINK:
	case XW_FAST_UNLINK:
		return len > DENTRY && len <= DENTRY + XW_NAME_MAX;
	case XW_FAST_INODE:
		return len >= 4 + XW_INODE_BODY;
	case XW_FAST_PAD:
		return true;
	case XW_FAST_TAIL:
	case XW_FAST_HEAD:
		return len >= 8;
	default:
		return false;
	}
}

static bool is_valid_range(const struct xw_extent *e)
{
	return e->len && e->lblk <= UINT32_MAX - (e->len - 1);
}

static bool decode(const uint8_t *v, uint32_t len, struct xw_fast_field *f)
{
	uint8_t node[XW_EXT_HDR + EXTENT] = {0};

	switch (f->tag) {
	case XW_FAST_ADD_RANGE:
		f->ino = peek32(v);
		memcpy(node + XW_EXT_HDR, v + 4, EXTENT);
		xw_extent_leaf_decode(node, 0, &f->range);
		return is_valid_range(&f->range);
	case XW_FAST_DEL_RANGE:
		f->ino = peek32(v);
		f->range.lblk = peek32(v + 4);
		f->range.len = peek32(v + 8);
		return is_valid_range(&f->range);
	case XW_FAST_CREAT:
	case XW_FAST_LINK:
	case XW_FAST_UNLINK:
		f->dir = peek32(v);
		f->ino = peek32(v + 4);
		f->bytes = v + DENTRY;
		f->len = len - DENTRY;
		return true;
	case XW_FAST_INODE:
		f->ino = peek32(v);
		f->bytes = v + 4;
		f->len = len - 4;
		return true;
	case XW_FAST_HEAD:
		f->features = peek32(v);
		f->tid = peek32(v + 4);
		return true;
	case XW_FAST_TAIL:
		f->tid = peek32(v);
		f->csum = peek32(v + 4);
		return true;
	case XW_FAST_PAD:
		return true;
	}
	return false;
}

int xw_fast_next(struct xw_fast_iter *it, struct xw_fast_field *out)
{
	const uint8_t *p = (const uint8_t *)it->blk + it->off;
	uint32_t tag, len;

	if (it->size - it->off < HDR)
		return 0;
	tag = peek16(p);
	len = peek16(p + 2);
	if (len > it->size - it->off - HDR || !is_valid_length(tag, len))
		return XW_ERR_CORRUPT;
	*out = (struct xw_fast_field){.tag = (enum xw_fast_tag)tag};
	if (!decode(p + HDR, len, out))
		return XW_ERR_CORRUPT;
	if (tag == XW_FAST_TAIL)
		out->at = it->off + HDR + 4;
	it->off = tag == XW_FAST_TAIL ? it->size : it->off + HDR + len;
	return 1;
}

bool xw_fast_scan_block(struct xw_fast_scan *s, const void *blk, uint32_t size)
{
	struct xw_fast_iter it = {.blk = blk, .size = size};
	struct xw_fast_field f;
	bool first = !s->seen;
	int more;

	s->seen++;
	while ((more = xw_fast_next(&it, &f)) == 1) {
		if (first != (f.tag == XW_FAST_HEAD) || (first && f.tid != s->tid))
			return false;
		if (first)
			s->features = f.features;
		if (s->features)
			return false;
		first = false;
		if (f.tag != XW_FAST_TAIL)
			continue;
		if (f.tid != s->tid || xw_crc32c(s->crc, blk, f.at) != f.csum)
			return false;
		s->good = s->seen;
		s->crc = 0;
		return true;
	}
	s->crc = xw_crc32c(s->crc, blk, size);
	return !more && !first;
}
