/* SPDX-License-Identifier: MIT */
/* Reading and writing structures as bytes, whatever their contents. */
#ifndef XW_DEBUGFS_POKE_H
#define XW_DEBUGFS_POKE_H

#include "debugfs.h"

/* The record of an inode, malloc'd, and whether its checksum is correct. */
struct poke_inode {
	xw_ino ino;
	uint64_t off; /* offset on the device */
	uint8_t *raw;
	bool csum_ok;
};
int poke_inode_read(struct dbg *d, const char *spec, struct poke_inode *p);
/* The checksum is updated if it was correct before; otherwise it is not changed. */
int poke_inode_write(struct dbg *d, struct poke_inode *p);
/* bmap that changes: "-a FILE LOGICAL", "FILE LOGICAL PHYSICAL" */
int dbg_change_bmap(struct dbg *d, char **argv);
/* *pblk: the physical block for logical block lblk of an inode; 0: allocate one and return it. */
int poke_map_block(struct dbg *d, xw_ino ino, xw_lblk lblk, xw_blk *pblk);
/* Read bytes of the image. */
int poke_read(struct dbg *d, uint64_t off, void *buf, size_t len);
/* Those of a superblock, or any others: these may name blocks that the bitmaps call free. */
int poke_write(struct dbg *d, uint64_t off, const void *buf, size_t len);

#endif
