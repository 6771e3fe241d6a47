/* SPDX-License-Identifier: MIT */
/*
 * The entries of one directory block, or of one part of an inline directory: a pull iterator that
 * yields entries and findings and never stops at damage.
 *
 *	xw_dirblock_begin(&it, &area);
 *	while ((kind = xw_dirblock_next(&it, &item)) != 0)
 *		kind == 1: an entry; kind == 2: a finding, which may come with an entry
 *
 * After a damaged rec_len the walk continues at the first offset from which undamaged entries fill
 * the rest of the area exactly, so all entries after the damage are salvaged. The damaged entry
 * itself is yielded if its inode number and name are plausible.
 */
#ifndef XW_WALK_DIRBLOCK_H
#define XW_WALK_DIRBLOCK_H

#include "base/types.h"
#include "disk/dirent.h"

/* Findings; the numbers are permanent. */
enum xw_dirblock_rule {
	XW_DIRBLOCK_OK,
	XW_DIRBLOCK_REC_LEN = 1, /* found: rec_len; the rest of the area is resynchronized */
	XW_DIRBLOCK_NAME_LEN = 2, /* found: name_len, wanted: its maximum; rec_len is usable */
	XW_DIRBLOCK_INO = 3, /* found: inode number above the maximum */
	XW_DIRBLOCK_NAME_EMPTY = 4, /* an entry in use without a name */
	XW_DIRBLOCK_NAME_BYTES = 5, /* '/' or NUL in the name */
	XW_DIRBLOCK_NO_TAIL = 6, /* no room for the checksum */
	XW_DIRBLOCK_CSUM = 7, /* checksum mismatch */
};

struct xw_dirblock_area {
	const void *data;
	uint32_t size; /* in bytes, including the tail; up to 65536 */
	uint32_t seed; /* seed of the directory's checksums */
	xw_ino inodes_count;
	bool csum; /* a leaf of a filesystem with metadata_csum: has a tail */
	bool filetype; /* the feature is set; otherwise the type is reported as XW_FT_UNKNOWN */
	bool any_names; /* encrypted: names are arbitrary bytes */
	bool removed; /* also yield removed entries found in the slack of others */
};

struct xw_dirblock_item {
	struct xw_dirent e; /* name_len 0 and ino 0: the finding has no entry */
	uint32_t off; /* offset in the area */
	bool unused; /* ino 0 */
	bool removed; /* found in slack */
	bool salvaged; /* has a damaged rec_len, or was found after one */
	/* only for findings */
	enum xw_dirblock_rule rule;
	bool keep; /* the entry is usable except for its rec_len */
	uint64_t found, wanted;
};

#define XW_DIRBLOCK_MAX 65536u

struct xw_dirblock {
	struct xw_dirblock_area area;
	uint32_t off, end; /* offset of the next entry; end of the entries */
	uint32_t slack, slack_end; /* range to search for removed entries */
	bool tail_done, csum_done, salvaging;
	bool mapped; /* `tiles` is computed */
	/* one bit for each multiple of 4: entries fill the area exactly from there on */
	uint8_t tiles[XW_DIRBLOCK_MAX / 32];
};

/* The caller owns area->data, which must not change during the walk. */
void xw_dirblock_begin(struct xw_dirblock *it, const struct xw_dirblock_area *area);
/*
 * 1: an entry (also unused ones), 2: a finding, 0: end. Findings about the tail come first. A
 * finding with an entry replaces the item of that entry.
 */
int xw_dirblock_next(struct xw_dirblock *it, struct xw_dirblock_item *out);

/*
 * The kind of a block of an indexed directory: dx_root is block 0, a dx_node starts with an unused
 * entry that spans the block.
 */
bool xw_dirblock_is_node(const void *block, uint32_t block_size);

#endif
