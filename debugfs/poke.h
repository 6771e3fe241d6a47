/* SPDX-License-Identifier: MIT */
/* Reads and writes structures as bytes, without checking them. */
#ifndef XW_DEBUGFS_POKE_H
#define XW_DEBUGFS_POKE_H

#include "debugfs.h"

/* The record of an inode; free with poke_inode_free(). */
struct poke_inode {
	xw_ino ino;
	uint64_t off; /* offset on the device */
	uint8_t *raw; /* malloc'd */
	bool csum_ok; /* the checksum was correct when it was read */
};
void poke_inode_free(struct poke_inode *p);
int poke_inode_read(struct dbg *d, const char *spec, struct poke_inode *p);
/* The checksum is updated if it was correct before; otherwise it is not changed. */
int poke_inode_write(struct dbg *d, struct poke_inode *p);
/* The forms of bmap that change the map: "-a FILE LOGICAL", "FILE LOGICAL PHYSICAL". */
int dbg_change_bmap(struct dbg *d, char **argv);
/* *pblk: the physical block for logical block lblk of an inode; 0: allocate one and return it. */
int poke_map_block(struct dbg *d, xw_ino ino, xw_lblk lblk, xw_blk *pblk);
/* Read or write bytes of the image. A write may create references to blocks that are free. */
int poke_read(struct dbg *d, uint64_t off, void *buf, size_t len);
int poke_write(struct dbg *d, uint64_t off, const void *buf, size_t len);

#endif
