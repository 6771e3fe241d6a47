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
#include "disk/age_state.h"
#include "read/image.h"
#include "space/space.h"

#define XW_AGE_STATE_NAME ".xw-age"
#define XW_AGE_ONE 10000u /* shares are in units of 1/10000 */
#define XW_AGE_ORDERS 32 /* size classes: 2^i blocks and more */

enum xw_age_profile {
	XW_AGE_PAZDERA,
	XW_AGE_GERIATRIX,
	XW_AGE_ALTERNATE,
	XW_AGE_TRACE,
	XW_AGE_GIT
};

/* Which block allocator files are written with. */
enum xw_age_allocator {
	XW_AGE_OWN, /* the allocator of the other xw tools */
	XW_AGE_LINUX, /* a model of Linux's mballoc (linux.h) */
};

/* Limits of a run, 0 if not set. The run ends at the first limit that is reached. */
struct xw_age_until {
	uint32_t util; /* this share of the blocks is in use */
	uint32_t layout; /* the layout score has dropped to this value */
	uint64_t no_run; /* in bytes: no free run of this length is left */
	uint64_t ops;
	uint64_t overwrites; /* bytes written, as a multiple of the image's size */
};

enum xw_age_reason {
	XW_AGE_END_PROFILE, /* the profile has no more operations */
	XW_AGE_END_UTIL,
	XW_AGE_END_LAYOUT,
	XW_AGE_END_NO_RUN,
	XW_AGE_END_OPS,
	XW_AGE_END_OVERWRITES,
	XW_AGE_END_STALLED, /* no progress towards any limit */
};

#define XW_AGE_ROWS 32
/* the ages of files count as distributed as requested up to this distance */
#define XW_AGE_CONVERGED 1000

/* A requested distribution, and the one of the files in the image. Shares are in 1/10000. */
struct xw_age_shares {
	size_t n; /* number of rows; 0: the profile has no such distribution */
	struct {
		uint64_t value; /* upper bound */
		uint32_t asked, achieved;
	} row[XW_AGE_ROWS];
};

struct xw_age_outcome {
	struct xw_age_counts total; /* since the aging began */
	/* Files by size in bytes, by depth, and by age in thousandths of the oldest file's age. */
	struct xw_age_shares sizes, depths, ages;
	uint64_t resumed; /* operations of earlier runs */
	uint64_t repeated; /* of these, those generated again so far, to find where to continue */
	bool missed; /* no limit of `until` was reached */
	uint32_t layout; /* layout score last measured for `until`, in 1/10000; 0: never measured */
	/* longest free run last measured, in bytes; UINT64_MAX: never measured */
	uint64_t longest_free;
	uint32_t age_distance; /* sum over `ages` of |asked - achieved|, in 1/10000 */
	enum xw_age_reason reason;
	struct xw_space_stats space; /* of the allocations of this run */
	struct xw_itree_stats itree; /* of the changes of this run to directories */
};

struct xw_age_opts {
	uint64_t seed;
	enum xw_age_profile profile;
	enum xw_age_allocator allocator; /* ignored with `fast` */
	const char *dir; /* directory below the root in which files are created; NULL: "age" */
	uint64_t ops; /* operations of the profile; 0: determined by the profile */
	uint64_t files; /* pazdera: maximum number of files at a time; 0: unlimited */
	uint64_t dirs; /* pazdera: directories in which files are created, in turn; 0: one */
	uint64_t size_min, size_max; /* pazdera: size of a file in bytes */
	uint64_t used, free; /* alternate: in bytes */
	uint32_t util; /* geriatrix: utilization that it maintains; 0: 80 % */
	/* geriatrix: distribution files; NULL: those of the model */
	const char *ages, *sizes, *depths;
	const char *model; /* geriatrix: agrawal, douceur or dayal; NULL: agrawal */
	const char *trace; /* trace: file of operations; git: file with a list of trees */
	struct xw_age_until until;
	bool resume;
	bool fast; /* alternate: create bitmaps and maps in bulk, without a history */
	/* operations per step; 0: 8192, or 512 with XW_AGE_LINUX; fast: files, 0: 16,384 groups */
	uint64_t step;
	const char *redo_file, *redo_dir; /* as in xw_edit_opts */
	enum xw_commit_how how; /* AUTO means REDO: a step rarely fits in a journal */
	uint64_t offset;
	int64_t now; /* latest timestamp to set; < 0: s_mkfs_time of the image */
	unsigned jobs; /* 0: one per processor */
	const struct xw_commit_watch *watch; /* as in xw_edit_opts */
	/*
	 * Called after each commit, and while operations of earlier runs are generated again;
	 * non-zero ends the run. May be NULL.
	 */
	int (*progress)(void *arg, const struct xw_age_outcome *r);
	void *arg;
};

/* Fragmentation of an image, in blocks unless noted. */
struct xw_age_measure {
	uint64_t blocks, used, longest_free;
	uint64_t files, extents; /* regular files with blocks */
	/*
	 * blocks that follow another block of their file, and those that are also adjacent on disk
	 */
	uint64_t joints, joined;
	/* The same counts over all files as one sequence, in the order of a directory tree walk. */
	uint64_t walk_joints, walk_joined;
	/* indexed by log2 of the run's length */
	uint64_t free_runs[XW_AGE_ORDERS], free_blocks[XW_AGE_ORDERS];
	uint64_t buddies[XW_SPACE_ORDERS]; /* free buddies of 2^i blocks */
	uint64_t files_of[XW_AGE_ORDERS]; /* indexed by log2 of the file's extent count */
	uint64_t itrees, indexes; /* directories with an itree, with an htree */
	uint32_t *group_longest; /* longest free run of each group; owned */
	uint64_t groups;
	uint32_t block_size;
	bool pending; /* an interrupted change was completed in memory before measuring */
};

/*
 * Age the image at path. XW_ERR_STATE: an interrupted aging run is pending, or none is and `resume`
 * is set; XW_ERR_USAGE: options contradict each other; XW_ERR_UNSUPPORTED: bigalloc without `fast`;
 * XW_ERR_MISSED: no limit of `until` was reached, *res has the values that were; otherwise errors
 * of opening and changing the image. After a failure the image is in the state of the last
 * committed step.
 */
int xw_age_image(const char *path, const struct xw_age_opts *opts, struct xw_diag *diag,
		 struct xw_age_outcome *res);

/*
 * Measure an image without changing it. *m must be freed with xw_age_measure_free(), also after a
 * failure.
 */
int xw_age_measure_image(const char *path, const struct xw_age_opts *opts, struct xw_diag *diag,
			 struct xw_age_measure *m);
void xw_age_measure_free(struct xw_age_measure *m);
/* Layout score and dynamic layout score (see measure.c) in 1/10000; 10000 without joints. */
uint32_t xw_age_layout(const struct xw_age_measure *m);
uint32_t xw_age_walk_layout(const struct xw_age_measure *m);
const char *xw_age_reason_text(enum xw_age_reason reason);
const char *xw_age_allocator_name(enum xw_age_allocator allocator);

#endif
