/* SPDX-License-Identifier: MIT */
/*
 * Objects owned by an existing inode (blocks, xattrs, its number): listed, replaced and released.
 */
#ifndef XW_UPDATE_INODE_H
#define XW_UPDATE_INODE_H

#include "update/update.h"

/* Report a failure of an inode: IMAGE: inode N: why. Returns code. */
int xw_update_fail(struct xw_update *u, xw_ino ino, int code, const char *why);
/* The same for a directory: IMAGE: directory inode N: why. */
int xw_update_fail_dir(struct xw_update *u, xw_ino ino, int code, const char *why);
/* XW_ERR_CORRUPT: the inode is damaged; the message recommends xw-fsck -f. */
int xw_update_bad(struct xw_update *u, xw_ino ino, const char *what);
/* Compare two inode numbers, or structs that begin with one, for qsort() and bsearch(). */
int xw_update_by_ino(const void *x, const void *y);
/* Like xw_ispace_alloc(); with `protect` never an inode whose record has links. */
int xw_update_alloc_inode(struct xw_update *u, xw_ino goal, bool dir, xw_ino *ino);
/* Release a live inode that is hidden from the allocator (protect.c), as its bitmap says. */
int xw_update_unhide_inode(struct xw_update *u, xw_ino ino);

/* ---- lists ---- */

/*
 * Lists all clusters of an inode's contents, map and itree, each once, as runs of blocks; a
 * non-zero code ends the list.
 */
typedef int xw_update_cluster_fn(void *arg, xw_blk start, uint64_t len);
int xw_update_each_cluster(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
			   xw_update_cluster_fn *fn, void *arg);
/* List every node of a directory's itree, each once and verified. No itree: no calls. */
int xw_update_itree_nodes(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
			  int (*fn)(void *arg, xw_blk blk, unsigned level), void *arg);
/* Blocks in i_blocks besides map and contents: those of xattrs. */
int xw_update_other_blocks(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
			   uint64_t *other);

/* ---- replacing and releasing ---- */

/* Free all blocks of an inode's contents, map and itree. */
int xw_update_free_map(struct xw_update *u, xw_ino ino, const struct xw_inode *in);
/*
 * Drop the references of an inode to its xattr block and to EA inodes; *ea is the number of EA
 * inodes.
 */
int xw_update_free_xattrs(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
			  const uint8_t *raw, uint64_t *ea);
/* Count the attribute values in EA inodes, each of which quota counts as an inode. */
int xw_update_count_ea(struct xw_update *u, const struct xw_inode *in, const uint8_t *raw,
		       uint64_t *n_ea);
/* Add the attributes of an inode to *set, including all values. */
int xw_update_xattrs(struct xw_update *u, xw_ino ino, struct xw_xattr_set *set);
/*
 * Replace the contents of an existing inode by those of n: sets map and size in *in, and frees the
 * old blocks. The xattr part of i_blocks does not change.
 */
int xw_update_remap(struct xw_update *u, const struct xw_binode *n, struct xw_inode *in);
/*
 * Free everything that an inode owns: its blocks, attributes, number, and the usage charged to its
 * owners. The caller updates the record.
 */
int xw_update_empty(struct xw_update *u, xw_ino ino, const struct xw_inode *in, const uint8_t *raw);
/* Delete an inode that lost its last name, with everything it owns. */
int xw_update_drop(struct xw_update *u, xw_ino ino);
/*
 * Write the record of an inode that owns nothing any more (xw_update_empty()); takes ownership of
 * raw. keep: keep the contents of the record, so that the inode can be restored.
 */
int xw_update_write_freed(struct xw_update *u, xw_ino ino, struct xw_inode *in, uint8_t *raw,
			  bool keep);

/* The deletion time of an inode that this update deletes. */
static inline uint32_t xw_update_dtime(const struct xw_update *u)
{
	return xw_inode_dtime(u->now, &u->img->sb);
}

/* Inline contents were moved to blocks: remove the attribute in raw that held the end of them. */
int xw_update_drop_inline(struct xw_update *u, xw_ino ino, const struct xw_inode *in, uint8_t *raw);
/* Write the record of an existing inode if the tree changed it. */
int xw_update_existing(struct xw_update *u, const struct xw_binode *n);

#endif
