/* SPDX-License-Identifier: MIT */
/*
 * Aging: an image gets the fragmentation that years of use would have given it, as a function of
 * the image and the options alone. The same input gives the same image, byte for byte.
 *
 * A profile is a stream of operations (source.h). The run applies them in steps of bounded size
 * (run.c); each step opens the image, changes it and commits, so a killed run leaves a clean image.
 * What a run needs to continue is in a file of the image, "/.xw-age", until the last step removes
 * it.
 *
 * Contents of files are not written: their blocks are allocated and keep what was in them.
 */
#ifndef XW_AGE_AGE_H
#define XW_AGE_AGE_H

#include "commit/commit.h"
#include "dir/itree_change.h"
#include "read/image.h"
#include "space/space.h"

#pragma GCC visibility push(default)

#define XW_AGE_STATE_NAME ".xw-age"
#define XW_AGE_ONE 10000u /* shares are in units of 1/10000 */
#define XW_AGE_ORDERS 32 /* classes of sizes: of 2^i blocks and more */

enum xw_age_profile {
	XW_AGE_PAZDERA,
	XW_AGE_GERIATRIX,
	XW_AGE_ALTERNATE,
	XW_AGE_TRACE,
	XW_AGE_GIT
};

/* When a run ends; 0: this is no reason. The first reason that is met ends it. */
struct xw_age_until {
	uint32_t util; /* so much of the blocks is in use */
	uint32_t layout; /* the layout score is so low */
	uint64_t no_run; /* bytes: no free run is so long */
	uint64_t ops;
	uint64_t overwrites; /* bytes written, in units of the image's size */
};

enum xw_age_reason {
	XW_AGE_END_PROFILE, /* the profile has no more operations */
	XW_AGE_END_UTIL,
	XW_AGE_END_LAYOUT,
	XW_AGE_END_NO_RUN,
	XW_AGE_END_OPS,
	XW_AGE_END_OVERWRITES,
};

struct xw_age_counts {
	uint64_t ops, created, removed, changed; /* operations */
	uint64_t skipped; /* operations on what is missing, or without room */
	uint64_t shortened; /* files that got fewer blocks than they should */
	uint64_t written; /* bytes */
	uint64_t steps;
};

#define XW_AGE_ROWS 32

/* A requested distribution beside the one that the files reached; shares in 1/10000. */
struct xw_age_shares {
	size_t n; /* rows; 0: the profile has no such distribution */
	struct {
		uint64_t value; /* up to this */
		uint32_t asked, achieved;
	} row[XW_AGE_ROWS];
};

struct xw_age_result {
	struct xw_age_counts total; /* since the aging began */
	/* By bytes, by depth, by thousandths of the oldest file's age. */
	struct xw_age_shares sizes, depths, ages;
	uint64_t resumed; /* operations that an earlier run had done */
	enum xw_age_reason reason;
	struct xw_space_stats space; /* of this run's allocations */
	struct xw_itree_stats itree; /* of this run's changes to directories */
};

struct xw_age_opts {
	uint64_t seed;
	enum xw_age_profile profile;
	const char *dir; /* below the root, where files are made; NULL: "age" */
	uint64_t ops; /* operations of the profile; 0: its own end */
	uint64_t files; /* pazdera: at most so many at once; 0: any number */
	uint64_t dirs; /* pazdera: directories that files are made in, in turn; 0: one */
	uint64_t size_min, size_max; /* pazdera: bytes of a file */
	uint64_t used, free; /* alternate: bytes */
	uint32_t util; /* geriatrix: how full it keeps the image; 0: 80 % */
	const char *ages, *sizes, *depths; /* geriatrix: distribution files; NULL: the model's */
	const char *model; /* geriatrix: agrawal, douceur or dayal; NULL: agrawal */
	const char *trace; /* file of operations; git: list of trees */
	struct xw_age_until until;
	bool resume;
	bool fast; /* alternate: bitmaps and maps in bulk, without a history */
	uint64_t step; /* operations of a step; 0: 8192; with fast files, 0: of 16,384 groups */
	const char *redo_file; /* as in xw_edit_opts */
	uint64_t offset;
	int64_t now; /* first time that is used; < 0: when the image was made */
	unsigned jobs; /* 0: processors */
	const struct xw_commit_watch *watch; /* as in xw_edit_opts */
	/* After each commit; what is not 0 ends the run. May be NULL. */
	int (*progress)(void *arg, const struct xw_age_result *r);
	void *arg;
};

/* How an image looks; blocks unless it says otherwise. */
struct xw_age_measure {
	uint64_t blocks, used, longest_free;
	uint64_t files, extents; /* regular files with blocks */
	uint64_t joints, joined; /* blocks behind another of their file; right behind it on disk */
	/* The same over all files in the order in which a walk over the tree reads them. */
	uint64_t walk_joints, walk_joined;
	uint64_t free_runs[XW_AGE_ORDERS], free_blocks[XW_AGE_ORDERS]; /* by size of the run */
	uint64_t buddies[XW_SPACE_ORDERS]; /* free buddies of 2^i blocks */
	uint64_t files_of[XW_AGE_ORDERS]; /* by extents of the file */
	uint64_t itrees, indexes; /* directories with one */
	uint32_t *group_longest; /* by group; owned */
	uint64_t groups;
	uint32_t block_size;
};

/*
 * Age the image at path. XW_ERR_STATE: another aging is under way, or with `resume` none is;
 * XW_ERR_USAGE: options that do not go together; XW_ERR_UNSUPPORTED: bigalloc; and what opening and
 * changing report. After a failure the image is what the last step made it.
 */
int xw_age_run(const char *path, const struct xw_age_opts *opts, struct xw_diag *diag,
	       struct xw_age_result *res);

/* Measure an image; reads it only. End with xw_age_measure_free() in any case. */
int xw_age_measure(const char *path, const struct xw_age_opts *opts, struct xw_diag *diag,
		   struct xw_age_measure *m);
void xw_age_measure_free(struct xw_age_measure *m);
/* Smith and Seltzer's layout score, and the same over the walk, in 1/10000; none: 10000. */
uint32_t xw_age_layout(const struct xw_age_measure *m);
uint32_t xw_age_walk_layout(const struct xw_age_measure *m);
const char *xw_age_reason_text(enum xw_age_reason reason);

#pragma GCC visibility pop

#endif
