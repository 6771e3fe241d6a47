/* SPDX-License-Identifier: MIT */
/*
 * A directory of an image under change, one name at a time (dir/change.h), as part of the update:
 * blocks come from the update's space, the inode follows when the directory is put back.
 */
#ifndef XW_UPDATE_DIR_H
#define XW_UPDATE_DIR_H

#include "dir/change.h"
#include "read/dirs.h"
#include "update/update.h"

#pragma GCC visibility push(default)

struct xw_update_dir {
	struct xw_dir d; /* xw_dir_insert(&ud.d, ...) and so on */
	/* kept by these functions */
	struct xw_update *u;
	xw_ino ino;
	struct xw_inode in;
	uint8_t *raw;
	struct xw_dir_runs runs;
	int64_t blocks; /* what i_blocks gains */
	bool extended;
};

/*
 * XW_ERR_INPUT: not a directory; XW_ERR_UNSUPPORTED: inline data, casefolded; XW_ERR_CORRUPT: it
 * has holes, or is damaged. End it in any case.
 */
int xw_update_dir_begin(struct xw_update *u, xw_ino ino, struct xw_update_dir *ud);
/* Write blocks and record; the times are the caller's business, in ud->in. */
int xw_update_dir_put(struct xw_update_dir *ud);
void xw_update_dir_end(struct xw_update_dir *ud);

/*
 * A directory written anew, whatever its blocks hold: entries (without "." and "..", names unique)
 * are brought into the order of the index. Its itree is dropped. The links of nothing change.
 * XW_ERR_NOSPC; XW_ERR_UNSUPPORTED: encrypted and casefolded at once.
 */
struct xw_update_rebuild {
	xw_ino ino, parent; /* parent: what ".." says */
	struct xw_dir_entry *entries; /* borrowed */
	size_t n;
	uint32_t min_blocks;
};
int xw_update_rebuild_dir(struct xw_update *u, const struct xw_update_rebuild *o);

/*
 * Build an itree for every directory that can have one, and set the feature; or drop all of them,
 * and clear it. For tune: the journal was emptied when the update was opened, and the commit does
 * not go through it.
 */
int xw_update_itree_build(struct xw_update *u, uint64_t *built);
int xw_update_itree_drop(struct xw_update *u, uint64_t *dropped);

#pragma GCC visibility pop

#endif
