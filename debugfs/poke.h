/* SPDX-License-Identifier: MIT */
/* Structures read and written as bytes, whatever they say. */
#ifndef XW_DEBUGFS_POKE_H
#define XW_DEBUGFS_POKE_H

#include "debugfs.h"

/* The record of an inode, malloc'd, and whether its checksum is right. */
struct poke_inode {
	xw_ino ino;
	uint64_t off; /* on the device */
	uint8_t *raw;
	bool csum_ok;
};
int poke_inode_read(struct dbg *d, const char *spec, struct poke_inode *p);
/* A checksum that was right is made right again; one that was not stays as it is. */
int poke_inode_write(struct dbg *d, struct poke_inode *p);
/* bmap that changes: "-a FILE LOGICAL", "FILE LOGICAL PHYSICAL" */
int dbg_change_bmap(struct dbg *d, char **argv);
/* *pblk: where logical block lblk of an inode is to be; 0: somewhere, and it says where. */
int poke_map_block(struct dbg *d, xw_ino ino, xw_lblk lblk, xw_blk *pblk);
/* Bytes of the image. */
int poke_read(struct dbg *d, uint64_t off, void *buf, size_t len);
int poke_write(struct dbg *d, uint64_t off, const void *buf, size_t len);

#endif
