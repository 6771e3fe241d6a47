/* SPDX-License-Identifier: MIT */
/* Fields of fast commits, written. */
#ifndef XW_TESTS_FAST_PUT_H
#define XW_TESTS_FAST_PUT_H

#include <string.h>

#include "base/endian.h"
#include "base/types.h"
#include "disk/extent.h"
#include "disk/fast.h"

/* Write a field at byte *off of a block if it fits; TAIL fills the block, with csum as given. */
static inline bool xw_fast_put(void *blk, uint32_t size, uint32_t *off,
			       const struct xw_fast_field *f)
{
	uint8_t *p = (uint8_t *)blk + *off, *v = p + 4;
	uint8_t node[XW_EXT_HDR + 12] = {0};
	uint32_t len = 0;

	switch (f->tag) {
	case XW_FAST_ADD_RANGE:
		len = 16;
		break;
	case XW_FAST_DEL_RANGE:
		len = 12;
		break;
	case XW_FAST_CREAT:
	case XW_FAST_LINK:
	case XW_FAST_UNLINK:
		len = 8 + f->len;
		break;
	case XW_FAST_INODE:
		len = 4 + f->len;
		break;
	case XW_FAST_HEAD:
		len = 8;
		break;
	case XW_FAST_TAIL:
	case XW_FAST_PAD:
		len = size - XW_MIN(*off + 4, size);
		break;
	}
	if (*off > size || size - *off < 4 + len || (f->tag == XW_FAST_TAIL && len < 8))
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
		if (f->tag == XW_FAST_ADD_RANGE) {
			xw_extent_leaf_encode(node, 0, &f->range);
			memcpy(v + 4, node + XW_EXT_HDR, 12);
		}
		if (f->tag == XW_FAST_DEL_RANGE) {
			poke32(v + 4, f->range.lblk);
			poke32(v + 8, f->range.len);
		}
		if (f->len)
			memcpy(v + (dentry ? 8 : 4), f->bytes, f->len);
	}
	*off += 4 + len;
	return true;
}

#endif
