/* SPDX-License-Identifier: MIT */
/* Examines the blocks of an inode that may be the orphan file. */
#ifndef XW_FSCK_ORPHAN_BLOCKS_H
#define XW_FSCK_ORPHAN_BLOCKS_H

#include "facts/facts.h"

struct fsck_orphan_file {
	XW_VEC(struct xw_map_run) runs;
	uint32_t seed; /* seed of the blocks' checksums */
	bool csum; /* the blocks have checksums */
	bool valid; /* a regular file without holes, and with as many blocks as its size says */
	uint64_t blocks; /* mapped blocks */
	uint64_t known; /* mapped blocks with the magic number */
	uint64_t good; /* known blocks whose checksum is correct, or not used */
	uint64_t
		in_use; /* logical number of the first good block with an entry; UINT64_MAX: none */
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
bool fsck_orphan_file_is_valid(const struct fsck_orphan_file *o);
/* Are the slots of this block all free? */
bool fsck_orphan_is_clean(const uint8_t *buf, uint32_t slots);

#endif
