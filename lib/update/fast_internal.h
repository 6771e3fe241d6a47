/* SPDX-License-Identifier: MIT */
/* Between fast.c (what happens), fast_map.c (blocks) and fast_inode.c (records). */
#ifndef XW_UPDATE_FAST_INTERNAL_H
#define XW_UPDATE_FAST_INTERNAL_H

#include "disk/fast.h"
#include "update/update_internal.h"

/* A range that a file gained or lost; later ones count more. */
struct xw_fast_range {
	struct xw_extent e; /* len may be up to 2^32 - 1 where it is gone */
	bool gone;
};

/* An inode that a fast commit names, as it is at that point. */
struct xw_fast_inode {
	xw_ino ino;
	bool used; /* in the bitmap */
	bool fresh; /* made by these fast commits: nothing on the image is its own */
	bool dir;
	uint32_t names;
	const uint8_t *rec; /* the last record, rec_len bytes; NULL: none since it is this inode */
	uint32_t rec_len;
	XW_VEC(struct xw_fast_range) ranges;
};

typedef XW_VEC(struct xw_run) xw_fast_runs;

struct xw_fast {
	struct xw_update *u;
	struct xw_table of; /* by number: positions in inodes, plus one */
	XW_VEC(struct xw_fast_inode) inodes;
	xw_fast_runs taken; /* what ADD_RANGE names and was free, in clusters: claimed */
	xw_fast_runs added; /* what the files have of it in the end */
};

__attribute__((format(printf, 3, 4))) int xw_fast_bad(struct xw_fast *f, xw_ino ino,
						      const char *fmt, ...);

/* ---- fast_map.c ---- */

/* A range that some file gains, before anything is allocated: remember, then claim them all. */
int xw_fast_note(struct xw_fast *f, const struct xw_extent *e);
int xw_fast_claim(struct xw_fast *f);
/*
 * The extents of m with the ranges over them. What of it is new is noted in `added`; what it had
 * and has no longer is freed.
 */
int xw_fast_remap(struct xw_fast *f, const struct xw_fast_inode *i, struct xw_update_map *m);
/* At the end: nothing was added twice, or is of others; what was claimed for nobody is free. */
int xw_fast_settle(struct xw_fast *f);

/* ---- fast_inode.c ---- */

/* The type in a record, as in i_mode. */
uint16_t xw_fast_type(const struct xw_fast_inode *i);
/* A new directory: its block, and its record, so that names can go into it. */
int xw_fast_make_dir(struct xw_fast *f, const struct xw_fast_inode *i, xw_ino parent);
/* The record of an inode that is in use, at the end. */
int xw_fast_finish(struct xw_fast *f, const struct xw_fast_inode *i);

#endif
