/* SPDX-License-Identifier: MIT */
/* Attribute blocks of an existing image: read, shared by contents, reference-counted. */
#ifndef XW_UPDATE_XATTRS_H
#define XW_UPDATE_XATTRS_H

#include "disk/xattrblk.h"
#include "update/update.h"

/*
 * Searches for blocks to share are bounded by the possible savings: a number of inode records and
 * of blocks for the first set, and for each further set. 64 MiB of tables with inodes of 256 bytes,
 * and 64 MiB of blocks; then 16 KiB and 256 KiB.
 */
enum {
	XW_UPDATE_XATTR_INODES = 1 << 18,
	XW_UPDATE_XATTR_INODES_MORE = 64,
	XW_UPDATE_XATTR_READS = 1 << 14,
	XW_UPDATE_XATTR_READS_MORE = 64,
};

/* The xattr blocks of existing inodes, ascending; with this bit: freed since the list was made. */
#define XW_UPDATE_BLK_FREED (UINT64_C(1) << 63)
struct xw_update_blks {
	XW_VEC(xw_blk) a;
	size_t next; /* next block to be read */
	size_t ahead; /* end of the blocks requested from the device in advance */
};
/* List the xattr blocks of the first `inodes` records in use. */
int xw_update_list_xattrs(struct xw_update *u, uint64_t inodes, struct xw_update_blks *out);
/*
 * Read the next block of the list that may be shared; 0: none, or the next one may not be shared.
 */
xw_blk xw_update_next_xattrs(struct xw_update *u, struct xw_update_blks *list, uint8_t *buf,
			     struct xw_xattr_bhdr *h);
/* Read an xattr block that may be shared; false: unreadable, damaged, or metadata of groups. */
bool xw_update_read_xattrs(struct xw_update *u, xw_blk blk, uint8_t *buf, struct xw_xattr_bhdr *h);
/* Write the block with that refcount. */
int xw_update_write_xattrs(struct xw_update *u, xw_blk blk, uint8_t *buf, uint32_t refcount);
/* The same for a block that was read with a valid checksum. */
int xw_update_recount_xattrs(struct xw_update *u, xw_blk blk, uint8_t *buf, uint32_t refcount);
/* Is the block in use according to its bitmap? */
bool xw_update_uses_block(struct xw_update *u, xw_blk blk);
/* Key of the entries in an xattr block. */
uint64_t xw_update_xattr_key(const struct xw_update *u, const uint8_t *block);
/*
 * Take a reference to an existing block with the entries of buf, and set *blk; 0: there is none.
 * Then buf may be written to a new block and added for later users.
 */
int xw_update_share_xattr(struct xw_update *u, const uint8_t *buf, xw_blk *blk);
int xw_update_share_add(struct xw_update *u, const uint8_t *buf, xw_blk blk);
/* The block with these contents lost a reference, or was freed with its last one. */
void xw_update_share_put(struct xw_update *u, const uint8_t *buf, xw_blk blk, uint32_t refcount);
/* Blocks were changed by other code: read all of them again. */
void xw_update_share_forget(struct xw_update *u);

#endif
