/* SPDX-License-Identifier: MIT */
/* Shared by replay.c (operations), map.c (blocks) and inode.c (records). */
#ifndef XW_FASTCOMMIT_FASTCOMMIT_INTERNAL_H
#define XW_FASTCOMMIT_FASTCOMMIT_INTERNAL_H

#include "disk/fast.h"
#include "edit/dir.h"
#include "edit/edit.h"
#include "update/inode.h"

/* A range that a file gained or lost; later ones take precedence. */
struct xw_fast_range {
	struct xw_extent e; /* len may be up to 2^32 - 1 in a lost range */
	bool gone;
};

/* The current state of an inode in a fast commit. */
struct xw_fast_inode {
	xw_ino ino;
	bool used; /* in the bitmap */
	bool fresh; /* created by these fast commits: no block of the image belongs to it */
	bool dir;
	uint32_t names;
	const uint8_t *rec; /* the last record, rec_len bytes; NULL: none since its creation */
	uint32_t rec_len;
	XW_VEC(struct xw_fast_range) ranges;
};

typedef XW_VEC(struct xw_run) xw_fast_runs;

struct xw_fast {
	struct xw_update *u;
	struct xw_table of; /* index in inodes by number: see replay.c */
	XW_VEC(struct xw_fast_inode) inodes;
	xw_fast_runs claimed; /* blocks of ADD_RANGE that were free, in clusters: allocated */
	xw_fast_runs added; /* the part of `claimed` that is in the final maps of files */
};

/* map.c: returns XW_ERR_CORRUPT, with a message about the inode (0: none). */
__attribute__((format(printf, 3, 4))) int xw_fast_bad(struct xw_fast *f, xw_ino ino,
						      const char *fmt, ...);

/* ---- map.c ---- */

/* Record a range that a file gains; after all of them and before any allocation, claim them. */
int xw_fast_note(struct xw_fast *f, const struct xw_extent *e);
int xw_fast_claim(struct xw_fast *f);
/*
 * Apply the ranges to the extents of m. New blocks are recorded in `added`; lost blocks are freed.
 */
int xw_fast_remap(struct xw_fast *f, const struct xw_fast_inode *i, struct xw_update_map *m);
/*
 * At the end: check that no block was added twice or belongs to other inodes; free blocks that were
 * claimed but not used.
 */
int xw_fast_release_unused(struct xw_fast *f);

/* ---- inode.c ---- */

/* The type in a record, as in i_mode. */
uint16_t xw_fast_type(const struct xw_fast_inode *i);
/* Create a directory: its block, and its record, so that names can be added. */
int xw_fast_make_dir(struct xw_fast *f, const struct xw_fast_inode *i, xw_ino parent);
/* Write the final record of an inode in use. */
int xw_fast_finish(struct xw_fast *f, const struct xw_fast_inode *i);

#endif
