// SPDX-License-Identifier: MIT
/*
 * Inline data: small contents are stored in the inode and need no block. The first 60 bytes are in
 * i_block; the rest is the value of the attribute system.data, which is placed after the other
 * attributes. It exists even if its value is empty, since the kernel recognizes inline data by it.
 *
 * If the other attributes leave no room for the entry of system.data (20 bytes), the contents are
 * stored in blocks. So are contents that begin like the root of an extent tree: e2fsck(8) would
 * assume an extent-mapped file without its flag, and clear it.
 *
 * A directory stores the inode number of its parent in the first 4 bytes. Two areas of entries
 * follow, which rec_len fills to their ends: the other 56 bytes of i_block, and the value. "." and
 * ".." are not stored.
 *
 * Source: kernel documentation "ext4 Data Structures", Inline Data; inodes written by Linux 6.18.
 */
#include "config.h"

#include "encode/encode.h"

#include <string.h>

#include "disk/dirent.h"
#include "disk/extent.h"
#include "disk/xattrblk.h"

#define IN_BLOCK 60u
#define DOTS 4u
#define DIR_IN_BLOCK (IN_BLOCK - DOTS)
#define AREA_MAX 4096u /* inodes with a larger area for attributes get no inline data */
#define NAME "data"
#define NAME_LEN 4u

/* Free space in an attribute area: from the end of the entries to the start of the values. */
struct gap {
	size_t entries_end, values;
};

static struct gap find_gap(const uint8_t *area, size_t size)
{
	struct gap g = {XW_XATTR_IHDR, size};
	struct xw_xattr_entry e;
	size_t next;

	if (xw_xattr_magic(area) != XW_XATTR_MAGIC)
		return g;
	while (!xw_xattr_entry_decode(area, size, g.entries_end, XW_XATTR_IHDR, &e, &next) &&
	       next) {
		if (e.value_size && !e.value_inum)
			g.values = XW_MIN(g.values, (size_t)e.value_offs + XW_XATTR_IHDR);
		g.entries_end = next;
	}
	return g;
}

int64_t xw_inline_room(const struct xw_encoder *enc, const struct xw_binode *n)
{
	const uint32_t extra = XW_MIN(enc->inode_size - XW_INODE_BODY, XW_INODE_EXTRA_WANTED);
	const size_t size = enc->inode_size - XW_INODE_BODY - extra;
	uint8_t area[AREA_MAX] = {0};
	struct gap g;
	int64_t room;

	if (!xw_has_incompat(&enc->features, XW_INCOMPAT_INLINE_DATA) || n->flags & XW_BN_OLD ||
	    size > sizeof(area) || size <= XW_XATTR_IHDR)
		return -1;
	if (n->xattrs && n->xattrs->ibody_len)
		memcpy(area, n->xattrs->ibody, n->xattrs->ibody_len);
	g = find_gap(area, size);
	room = (int64_t)g.values - (int64_t)g.entries_end - (int64_t)xw_xattr_entry_len(NAME_LEN) -
	       4;
	return room < 0 ? -1 : (int64_t)IN_BLOCK + (room & ~INT64_C(3));
}

/* Write system.data with this value into an area that has room for it. */
static void put_value(uint8_t *area, size_t size, const void *value, uint32_t len)
{
	const struct gap g = find_gap(area, size);
	const size_t at = g.values - ((len + 3) & ~3u);
	const struct xw_xattr_entry e = {
		.name_len = NAME_LEN,
		.name_index = XW_XI_SYSTEM,
		.value_offs = (uint16_t)(len ? at - XW_XATTR_IHDR : 0),
		.value_size = len,
		.name = NAME,
	};

	poke32(area, XW_XATTR_MAGIC);
	xw_xattr_entry_encode(area, g.entries_end, &e);
	if (len)
		memcpy(area + at, value, len);
}

/* ---- directories ---- */

/* Find the first of two areas with room for an entry. next: end of the entries in each area. */
static bool fit(uint32_t next[2], const uint32_t size[2], uint32_t len, unsigned *part)
{
	for (*part = 0; *part < 2; ++*part) {
		if (next[*part] + len <= size[*part])
			return true;
	}
	return false;
}

/* Do the inode numbers of the parent and of the first entry look like an extent header? */
static bool looks_like_extents(const struct xw_binode *dir, xw_ino first)
{
	uint8_t start[8];

	if (!first)
		return false;
	poke32(start, dir->dir->parent->ino);
	poke32(start + DOTS, first);
	return xw_extent_root_like(start, sizeof(start));
}

bool xw_inline_shape(const struct xw_encoder *enc, struct xw_binode *dir)
{
	const int64_t room = dir->dir->parent == dir ? -1 : xw_inline_room(enc, dir);
	const uint32_t size[2] = {DIR_IN_BLOCK, (uint32_t)(room - (int64_t)IN_BLOCK)};
	uint32_t next[2] = {0};
	xw_ino first = 0;
	unsigned part;

	if (room < 0 || dir->dir->min_blocks)
		return false;
	for (const struct xw_blink *l = dir->dir->first; l; l = l->next) {
		const uint32_t len = xw_dirent_size(l->len);

		if (!l->node)
			continue;
		if (!fit(next, size, len, &part))
			return false;
		if (!part && !next[0])
			first = l->node->ino;
		next[part] += len;
	}
	if (looks_like_extents(dir, first))
		return false;
	dir->dir->shape = (struct xw_dir_shape){0};
	dir->size = IN_BLOCK + next[1];
	dir->flags |= XW_BN_INLINE;
	return true;
}

/* Encode both areas of a directory that fits them. */
static void put_entries(const struct xw_encoder *enc, const struct xw_binode *dir, uint8_t *block,
			uint8_t *value)
{
	const uint32_t size[2] = {DIR_IN_BLOCK, (uint32_t)dir->size - IN_BLOCK};
	uint8_t *area[2] = {block + DOTS, value};
	uint32_t next[2] = {0}, last[2] = {0};
	unsigned part;

	poke32(block, dir->dir->parent->ino);
	for (const struct xw_blink *l = dir->dir->first; l; l = l->next) {
		struct xw_dirent e = {.name_len = l->len, .name = l->name};

		if (!l->node || !fit(next, size, xw_dirent_size(l->len), &part))
			continue;
		e.ino = l->node->ino;
		e.rec_len = xw_dirent_size(l->len);
		if (enc->dirfmt.filetype)
			e.ftype = (uint8_t)xw_ftype_of_mode(l->node->mode);
		xw_dirent_encode(area[part], size[part], next[part], &e);
		last[part] = next[part];
		next[part] += e.rec_len;
	}
	for (part = 0; part < 2; part++) {
		struct xw_dirent e = {0};

		if (next[part])
			(void)xw_dirent_decode(area[part], size[part], last[part], &e);
		e.rec_len = size[part] - last[part];
		if (size[part])
			xw_dirent_encode(area[part], size[part], last[part], &e);
	}
}

/* ---- records ---- */

void xw_inline_encode(const struct xw_encoder *enc, const struct xw_binode *n, uint8_t *record,
		      uint32_t extra_isize)
{
	uint8_t *block = record + XW_INODE_IBLOCK, *area = record + XW_INODE_BODY + extra_isize;
	const size_t size = enc->inode_size - XW_INODE_BODY - extra_isize;
	const uint32_t rest = n->size > IN_BLOCK ? (uint32_t)n->size - IN_BLOCK : 0;
	/* zeroed, since padding between entries is written to the image, too */
	uint8_t value[AREA_MAX] = {0};

	if (xw_binode_is(n, XW_S_IFDIR)) {
		put_entries(enc, n, block, value);
		put_value(area, size, value, rest);
		return;
	}
	memcpy(block, n->bytes, n->size - rest);
	put_value(area, size, n->bytes + IN_BLOCK, rest);
}
