/* SPDX-License-Identifier: MIT */
/*
 * A check from its options to its exit status, without any output; used by xw-fsck and by the
 * public handle.
 */
#ifndef XW_FSCK_CHECK_H
#define XW_FSCK_CHECK_H

#include "base/json.h"
#include "report/report.h"

/* ---- opts.c, extended.c: options by their names on the command line of xw-fsck(8) ---- */

/*
 * Set an option: ("-n", NULL), ("-b", "32768"), ("-E", "offset=1048576,discard"), also ("--redo-
 * dir", DIR) and ("now", SECONDS). Strings are borrowed until the end of the check. Returns 0, or
 * the exit status of e2fsck for an invalid option, with a message in diag. XW_ERR_NOTFOUND, without
 * a message: there is no such option, or it concerns the tool only. A value that is ignored causes
 * a warning.
 */
int xw_fsck_set(struct fsck_opts *o, const char *option, const char *value, struct xw_diag *diag);
/* The names of all extended options (-E), for a hint after an unknown one. */
const char *xw_fsck_extended_words(void);
/*
 * Called when all options are set: refuses contradictory options, and sets implied ones. Returns as
 * xw_fsck_set().
 */
int xw_fsck_check_options(struct fsck_opts *o, struct xw_diag *diag);
/* Refuse an undo file that is the image. Returns as xw_fsck_set(). */
int xw_fsck_check_undo(const struct fsck_opts *o, struct xw_diag *diag);
/* A value of -E, for xw_fsck_set(). */
int fsck_opts_extended(struct fsck_opts *o, const char *list, struct xw_diag *diag);
/* Put a message about an invalid option in diag; the value is the exit status. */
#define FSCK_REFUSE(status, diag, ...) ((void)xw_fail((diag), XW_ERR_USAGE, __VA_ARGS__), (status))

/* ---- summary.c ---- */

/* Data for the final report, which is printed when the image is closed already. */
struct fsck_summary {
	uint64_t inodes, inodes_count, blocks, blocks_count;
	uint32_t block_size;
	uint32_t mounts_left; /* until a check is due; 0: no maximum, or due */
	struct fsck_counts counts;
	bool valid;
};
void fsck_summary_fill(struct fsck *f, struct fsck_summary *s);

/* ---- check.c ---- */

struct fsck_outcome {
	struct fsck_summary summary;
	int rc; /* failure of the check; 0: completed, canceled, or ended by -p */
	int status; /* FSCK_EXIT_* */
	bool skipped; /* nothing was checked: the filesystem is clean, or -E journal_only */
	bool committed;
	bool pending; /* -n: an interrupted change was completed in memory only */
	bool completed; /* opening completed an interrupted change */
	/* opening completed an interrupted change of the root filesystem, which is mounted */
	bool root_completed;
	bool recounted; /* a replay had to correct the free counts of the superblock */
};

/*
 * Check the image of f->opts. The caller has set opts, diag.log, watch, to and to_arg, has zeroed
 * everything else, and calls xw_fsck_end() afterwards.
 */
void xw_fsck_check(struct fsck *f, struct fsck_outcome *o);
/* The message about o->rc; NULL if that is 0. */
const char *xw_fsck_why(const struct fsck *f, const struct fsck_outcome *o);
void xw_fsck_end(struct fsck *f);

/* rounds.c: run all rounds. Returns 0, or the failure that prevented the check from completing. */
int fsck_run(struct fsck *f);

/* mounted.c: may the image be checked? *root: it is the mounted root filesystem. XW_ERR_BUSY. */
int fsck_check_mounted(struct fsck *f, bool *root);
void fsck_drop_caches(const struct fsck *f);

/* ---- json.c: the result as an object ---- */

/*
 * Findings with regard to the final state of the image: repairs that were not written do not count.
 */
struct fsck_tally {
	bool clean, modified;
	uint64_t found, repaired, left, later, notes, rounds;
};
struct fsck_tally xw_fsck_tally(const struct fsck *f, const struct fsck_outcome *o);
/*
 * Are the changes listed? Only if something was found, and the changes were written, or with -n
 * would be.
 */
bool xw_fsck_tells_changes(const struct fsck *f, const struct fsck_outcome *o);
void xw_fsck_json(const struct fsck *f, const struct fsck_outcome *o, struct xw_json *j);

#endif
