/* SPDX-License-Identifier: MIT */
/*
 * A directory of an image under change, one name at a time (dir/change.h), as part of the update:
 * blocks are allocated from the update's space; xw_update_dir_put() writes the inode.
 */
#ifndef XW_EDIT_DIR_H
#define XW_EDIT_DIR_H

#include "dir/change.h"
#include "read/dirs.h"
#include "update/update.h"

struct xw_update_dir {
	struct xw_dir d; /* xw_dir_insert(&ud.d, ...) and so on */
	/* internal */
	struct xw_update *u;
	xw_ino ino;
	struct xw_inode in;
	uint8_t *raw;
	struct xw_dir_runs runs;
	int64_t blocks; /* change of i_blocks */
	bool extended;
};

/*
 * XW_ERR_INPUT: not a directory; XW_ERR_UNSUPPORTED: inline data, casefolded; XW_ERR_CORRUPT:
 * holes, or damaged. xw_update_dir_end() must be called in any case.
 */
int xw_update_dir_begin(struct xw_update *u, xw_ino ino, struct xw_update_dir *ud);
/* Write blocks and record; the caller sets the times in ud->in. */
int xw_update_dir_put(struct xw_update_dir *ud);
void xw_update_dir_end(struct xw_update_dir *ud);
#define auto_update_dir __attribute__((cleanup(xw_update_dir_end)))

/*
 * Rewrite a directory, ignoring the contents of its blocks: the entries (without "." and "..",
 * names unique) are sorted for the index. Its itree is dropped. Link counts do not change.
 * XW_ERR_NOSPC; XW_ERR_UNSUPPORTED: both encrypted and casefolded.
 */
struct xw_update_rebuild {
	xw_ino ino, parent; /* parent: inode number for ".." */
	struct xw_dir_entry *entries; /* borrowed */
	size_t n;
	uint32_t min_blocks;
	bool no_index; /* as few blocks as possible */
};
int xw_update_rebuild_dir(struct xw_update *u, const struct xw_update_rebuild *o);
/* *same: the directory's blocks are already as xw_update_rebuild_dir() would write them. */
int xw_update_dir_is_built(struct xw_update *u, const struct xw_update_rebuild *o, bool *same);

/*
 * Build an itree for every directory that can have one, and set the feature; or drop all itrees,
 * and clear the feature. For tune: the journal was emptied when the update was opened, and the
 * commit does not use it.
 */
int xw_update_itree_build(struct xw_update *u, uint64_t *built);
int xw_update_itree_drop(struct xw_update *u, uint64_t *dropped);

#endif
