/* SPDX-License-Identifier: MIT */
/* Attribute blocks of an existing image: read, shared by contents, counted. */
#ifndef XW_UPDATE_XATTRS_H
#define XW_UPDATE_XATTRS_H

#include "disk/xattrblk.h"
#include "update/update.h"

/* The xattr blocks of existing inodes, a bounded number of them, ascending. */
struct xw_update_blks {
	XW_VEC(xw_blk) a;
};
int xw_update_list_xattrs(struct xw_update *u, struct xw_update_blks *out);
/* Read an xattr block that may be shared; false: unreadable, damaged, or metadata of groups. */
bool xw_update_read_xattrs(struct xw_update *u, xw_blk blk, uint8_t *buf, struct xw_xattr_bhdr *h);
/* Write it with that refcount. */
int xw_update_write_xattrs(struct xw_update *u, xw_blk blk, uint8_t *buf, uint32_t refcount);
/* Is the block in use according to its bitmap? */
bool xw_update_uses_block(struct xw_update *u, xw_blk blk);
/* Key of the entries in an xattr block. */
uint64_t xw_update_xattr_key(const struct xw_update *u, const uint8_t *block);
/*
 * Take a reference on an existing block with the entries of buf, and set *blk;
 * 0: there is none. Then buf may be written to a new block and added for later users.
 */
int xw_update_share_xattr(struct xw_update *u, const uint8_t *buf, xw_blk *blk);
int xw_update_share_add(struct xw_update *u, const uint8_t *buf, xw_blk blk);
/* The block with these contents lost a reference; it is freed with its last one. */
void xw_update_share_put(struct xw_update *u, const uint8_t *buf, xw_blk blk, uint32_t refcount);
/* Blocks were changed by other means: what is known is read again. */
void xw_update_share_forget(struct xw_update *u);

#endif
