/* SPDX-License-Identifier: MIT */
/*
 * Attribute values in EA inodes (feature ea_inode), as Linux 6.18 creates and e2fsck 1.47 checks
 * them (observed).
 *
 * The EA inode: mode 0100600, links 1, EA_INODE_FL and EXTENTS_FL, the value as its contents; uid
 * and gid of the first owner, project 0; no xattrs, no directory entry; its blocks are data blocks.
 *
 *   i_atime     seconds = value hash (xw_xattr_value_hash) as an unsigned number, nanoseconds 0
 *   i_ctime     seconds = high half of the reference count, nanoseconds 0
 *   i_version   low half of the reference count
 *   i_mtime     creation time, also in i_crtime
 *
 * References: one for each entry in an inode's own area and one for each entry in an xattr *block*,
 * however many inodes share that block.
 *
 * The entry: value_inum is the number of the EA inode, value_offs 0, value_size the length; e_hash
 * covers the name and the value hash (also in the inode, where other entries have e_hash 0).
 *
 * The owner: i_blocks includes the value's size rounded up to clusters, once for each entry. An
 * entry in a shared block is charged to each owner.
 *
 * Equal values share an EA inode, whatever their names.
 */
#ifndef XW_XATTR_EA_INODE_H
#define XW_XATTR_EA_INODE_H

#include "base/types.h"
#include "disk/inode.h"

#define XW_EA_MODE (XW_S_IFREG | 0600u)

/*
 * Set the fields specific to EA inodes; the caller sets size, map, blocks, owner, mtime and crtime.
 */
static inline void xw_ea_inode_set(struct xw_inode *in, uint32_t value_hash, uint64_t refs)
{
	in->mode = XW_EA_MODE;
	in->links = 1;
	in->flags |= XW_FL_EA_INODE;
	in->version = 0;
	xw_inode_set_ea_hash(in, value_hash);
	xw_inode_set_ea_refs(in, refs);
}

#endif
