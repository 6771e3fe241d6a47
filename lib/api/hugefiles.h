/* SPDX-License-Identifier: MIT */
/* The files of make_hugefiles. */
#ifndef XW_API_HUGEFILES_H
#define XW_API_HUGEFILES_H

#include "place/place.h"
#include "plan/hugefiles.h"
#include "tree/tree.h"

struct xw_huge_place {
	struct xw_tree *tree;
	struct xw_placer *place;
	struct xw_dev *dev;
	uint32_t block_size, cluster_bits;
	bool fresh; /* unwritten ranges of the device are known to read as zeros */
	uint64_t disk_offset; /* start of the filesystem on its disk in bytes */
	bool *large_file; /* set if a file has 2 GiB or more */
	uint64_t *data_blocks; /* increased */
};

/*
 * Create the files. XW_ERR_NOSPC: not enough free space beside the slack; XW_ERR_EXISTS: a file of
 * that name exists, or a file in place of the directory.
 */
int xw_hugefiles_make(const struct xw_huge_place *at, const struct xw_hugefiles *h);

#endif
