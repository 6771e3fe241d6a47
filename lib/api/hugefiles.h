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
	bool fresh; /* unwritten ranges of the device read as zeros */
	uint64_t disk_offset; /* of the filesystem on its disk, in bytes */
	bool *large_file; /* set when a file has 2 GiB or more */
	uint64_t *data_blocks; /* increased */
};

/*
 * XW_ERR_NOSPC: free space, less the slack, does not hold them; XW_ERR_EXISTS: a file of that name
 * is there, or in place of the directory.
 */
int xw_hugefiles_make(const struct xw_huge_place *at, const struct xw_hugefiles *h);

#endif
