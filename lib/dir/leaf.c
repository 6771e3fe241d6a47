/* SPDX-License-Identifier: MIT */
/*
 * One block of directory entries, modified in place. Entries always tile the block; new entries are
 * inserted into the slack of entries that are larger than needed.
 */
#include "config.h"

#include "dir/leaf.h"

#include <string.h>

#include "base/endian.h"

/* The inner loop of every change: the block was verified, so there are no checks here. */
void xw_leaf_find(const void *block, uint32_t room, const char *name, uint8_t len, uint32_t need,
		  struct xw_leaf_spot *out)
{
	uint32_t before = XW_LEAF_NONE, rec_len;

	*out = (struct xw_leaf_spot){XW_LEAF_NONE, XW_LEAF_NONE, XW_LEAF_NONE};
	xw_prefetch(block, room); /* names are scattered: usually the block is in no cache */
	for (uint32_t off = 0; off < room; before = off, off += rec_len) {
		const uint8_t *p = (const uint8_t *)block + off;
		const bool used = peek32(p);

		rec_len = peek16(p + 4);
		if (!rec_len || rec_len > room - off)
			rec_len = room - off; /* 65536 does not fit the field */
		/* Names of one directory often differ only at their end. */
		if (p[6] == len && used && p[XW_DIRENT_HDR + len - 1] == (uint8_t)name[len - 1] &&
		    !memcmp(p + XW_DIRENT_HDR, name, len)) {
			out->at = off;
			out->before = before;
			return;
		}
		if (need && out->space == XW_LEAF_NONE &&
		    rec_len >= (used ? xw_dirent_size(p[6]) : 0) + need)
			out->space = off;
	}
}

void xw_leaf_put(void *block, uint32_t room, uint32_t space, const struct xw_dirent *e)
{
	struct xw_dirent here, fresh = *e;

	if (xw_dirent_decode(block, room, space, &here))
		return;
	fresh.rec_len = here.rec_len;
	if (here.ino) {
		here.rec_len = xw_dirent_size(here.name_len);
		fresh.rec_len -= here.rec_len;
		xw_dirent_encode(block, room, space, &here);
		space += here.rec_len;
	}
	xw_dirent_encode(block, room, space, &fresh);
}

uint32_t xw_leaf_reach(const void *block, uint32_t space, const struct xw_dirent *e)
{
	const uint8_t *p = (const uint8_t *)block + space;

	return (peek32(p) ? xw_dirent_size(p[6]) : 0) + XW_DIRENT_HDR + e->name_len;
}

void xw_leaf_remove(void *block, uint32_t room, const struct xw_leaf_spot *s)
{
	struct xw_dirent e, before;

	if (xw_dirent_decode(block, room, s->at, &e))
		return;
	memset((uint8_t *)block + s->at, 0, XW_DIRENT_HDR + e.name_len);
	if (s->before == XW_LEAF_NONE) {
		e = (struct xw_dirent){.rec_len = e.rec_len};
		xw_dirent_encode(block, room, s->at, &e);
		return;
	}
	if (xw_dirent_decode(block, room, s->before, &before))
		return;
	before.rec_len += e.rec_len;
	xw_dirent_encode(block, room, s->before, &before);
}

void xw_leaf_fill(void *block, uint32_t room, uint32_t used, const struct xw_dirent *e, size_t n)
{
	const struct xw_dirent none = {.rec_len = room - used};

	memset((uint8_t *)block + used, 0, room - used);
	if (!n && used < room)
		xw_dirent_encode(block, room, used, &none);
	for (size_t i = 0; i < n; i++) {
		struct xw_dirent d = e[i];

		d.rec_len = i + 1 == n ? room - used : xw_dirent_size(d.name_len);
		xw_dirent_encode(block, room, used, &d);
		used += d.rec_len;
	}
}
