/* SPDX-License-Identifier: MIT */
/* The blocks of an inode that may be the orphan file: what tells whether it is, and is sound. */
#ifndef XW_FSCK_ORPHAN_BLOCKS_H
#define XW_FSCK_ORPHAN_BLOCKS_H

#include "facts/facts.h"

struct fsck_orphan_file {
	XW_VEC(struct xw_map_run) runs;
	uint32_t seed; /* of their checksums */
	bool csum; /* the blocks have some */
	bool valid; /* a file that can be one: blocks without a hole, as many as its size says */
	uint64_t blocks; /* mapped, */
	uint64_t known; /* of these with the magic, */
	uint64_t good; /* and with a right checksum as well, if the blocks have one */
	uint64_t in_use; /* the first good one with an entry, a logical block; UINT64_MAX: none */
};

/*
 * One pass over the inode; in: its record, or NULL. What it says of mode, size and links decides on
 * `valid` only. The caller frees o->runs. XW_ERR_NOMEM.
 */
int fsck_orphan_file_read(struct fsck *f, xw_ino ino, const struct xw_inode *in,
			  struct fsck_orphan_file *o);
/*
 * Is it the orphan file, damaged or not? One right checksum proves it, since that depends on inode
 * and block; a magic does not: a file may contain an image of a filesystem.
 */
bool fsck_orphan_file_is(const struct fsck_orphan_file *o);
/* Is it valid, and every block of it good? */
bool fsck_orphan_file_is_sound(const struct fsck_orphan_file *o);
/* Are the slots of this block all free? */
bool fsck_orphan_is_clean(const uint8_t *buf, uint32_t slots);

#endif
