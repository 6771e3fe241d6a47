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

#define RANGE (4u + sizeof(struct leaf))

/* An extent as it is stored in a leaf of an extent tree. */
struct leaf {
	uint8_t bytes[12];
};

static void get_range(const uint8_t *v, struct xw_extent *e)
{
	uint8_t node[XW_EXT_HDR + sizeof(struct leaf)] = {0};

	memcpy(node + XW_EXT_HDR, v, sizeof(struct leaf));
	xw_extent_leaf_decode(node, 0, e);
}

static void put_range(uint8_t *v, const struct xw_extent *e)
{
	uint8_t node[XW_EXT_HDR + sizeof(struct leaf)] = {0};

	xw_extent_leaf_encode(node, 0, e);
	memcpy(v, node + XW_EXT_HDR, sizeof(struct leaf));
}

/* Is this a valid length for a value of the tag? */
static bool good_length(uint32_t tag, uint32_t len)
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

static bool good_range(const struct xw_extent *e)
{
	return e->len && e->lblk <= UINT32_MAX - (e->len - 1);
}

static bool decode(const uint8_t *v, uint32_t len, struct xw_fast_field *f)
{
	switch (f->tag) {
	case XW_FAST_ADD_RANGE:
		f->ino = peek32(v);
		get_range(v + 4, &f->range);
		return good_range(&f->range);
	case XW_FAST_DEL_RANGE:
		f->ino = peek32(v);
		f->range.lblk = peek32(v + 4);
		f->range.len = peek32(v + 8);
		return good_range(&f->range);
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
	if (len > it->size - it->off - HDR || !good_length(tag, len))
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

bool xw_fast_put(void *blk, uint32_t size, uint32_t *off, const struct xw_fast_field *f)
{
	uint8_t *p = (uint8_t *)blk + *off, *v = p + HDR;
	uint32_t len = 0;

	switch (f->tag) {
	case XW_FAST_ADD_RANGE:
		len = RANGE;
		break;
	case XW_FAST_DEL_RANGE:
		len = 12;
		break;
	case XW_FAST_CREAT:
	case XW_FAST_LINK:
	case XW_FAST_UNLINK:
		len = DENTRY + f->len;
		break;
	case XW_FAST_INODE:
		len = 4 + f->len;
		break;
	case XW_FAST_HEAD:
		len = 8;
		break;
	case XW_FAST_TAIL:
	case XW_FAST_PAD:
		len = size - XW_MIN(*off + HDR, size);
		break;
	}
	if (*off > size || size - *off < HDR + len || (f->tag == XW_FAST_TAIL && len < 8))
		return false;
	memset(v, 0, len);
	poke16(p, (uint16_t)f->tag);
	poke16(p + 2, (uint16_t)len);
	if (f->tag == XW_FAST_HEAD || f->tag == XW_FAST_TAIL) {
		poke32(v, f->tag == XW_FAST_HEAD ? f->features : f->tid);
		poke32(v + 4, f->tag == XW_FAST_HEAD ? f->tid : f->csum);
	} else if (f->tag != XW_FAST_PAD) {
		const bool dentry = f->dir != 0;

		poke32(v, dentry ? f->dir : f->ino);
		if (dentry)
			poke32(v + 4, f->ino);
		if (f->tag == XW_FAST_ADD_RANGE)
			put_range(v + 4, &f->range);
		if (f->tag == XW_FAST_DEL_RANGE) {
			poke32(v + 4, f->range.lblk);
			poke32(v + 8, f->range.len);
		}
		if (f->len)
			memcpy(v + (dentry ? DENTRY : 4), f->bytes, f->len);
	}
	*off += HDR + len;
	return true;
}
