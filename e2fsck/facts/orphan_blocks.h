/* SPDX-License-Identifier: MIT */
/*
 * Examine the blocks of an inode that may be the orphan file: is it the orphan file, and is it
 * valid?
 */
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
 * Read the inode's blocks once. in: its record, or NULL; mode, size and link count affect `valid`
 * only. The caller frees o->runs. XW_ERR_NOMEM.
 */
int fsck_orphan_file_read(struct fsck *f, xw_ino ino, const struct xw_inode *in,
			  struct fsck_orphan_file *o);
/*
 * Is this the orphan file, damaged or not? One correct checksum proves it, as it depends on inode
 * and block. A magic does not: a file may contain an image of a filesystem.
 */
bool fsck_orphan_file_is(const struct fsck_orphan_file *o);
/* Is this a valid orphan file in which every block is valid? */
bool fsck_orphan_file_is_sound(const struct fsck_orphan_file *o);
/* Are the slots of this block all free? */
bool fsck_orphan_is_clean(const uint8_t *buf, uint32_t slots);

#endif
