/* SPDX-License-Identifier: MIT */
/*
 * A check from its options to its exit status, without a word on standard output: what xw-fsck and
 * the public handle stand on.
 */
#ifndef XW_FSCK_CHECK_H
#define XW_FSCK_CHECK_H

#include "base/json.h"
#include "report/report.h"

/* ---- opts.c, extended.c: options by their names on the command line of xw-fsck(8) ---- */

/*
 * "-n" NULL, "-b" "32768", "-E" "offset=1048576,discard", ... and "--redo-dir" DIR, "now" SECONDS.
 * Strings are borrowed until the end of the check. 0, or the exit status that e2fsck has for it,
 * with a message in diag; XW_ERR_NOTFOUND, without one: there is no such option, or it is one for
 * the tool alone. A warning is logged for a value that is ignored.
 */
int xw_fsck_set(struct fsck_opts *o, const char *option, const char *value, struct xw_diag *diag);
/* The words of -E, for a hint. */
const char *xw_fsck_extended_words(void);
/* When all are set: those that contradict each other, and what follows from others. The same. */
int xw_fsck_settle(struct fsck_opts *o, struct xw_diag *diag);
/* Is the undo file another file than the image? The same. */
int xw_fsck_check_undo(const struct fsck_opts *o, struct xw_diag *diag);
/* One list of -E; of xw_fsck_set(). */
int fsck_opts_extended(struct fsck_opts *o, const char *list, struct xw_diag *diag);

/* ---- summary.c ---- */

/* Data about an image for the final report, when the image is closed already. */
struct fsck_summary {
	uint64_t inodes, inodes_count, blocks, blocks_count;
	uint32_t block_size;
	uint32_t mounts_left; /* until a check is due; 0: no maximum, or due */
	struct fsck_counts counts;
	bool valid;
};
void fsck_summary_take(struct fsck *f, struct fsck_summary *s);

/* ---- check.c ---- */

struct fsck_outcome {
	struct fsck_summary summary;
	int rc; /* why the check could not be completed; 0: it was, or was canceled or ended */
	int status; /* FSCK_EXIT_* */
	bool skipped; /* nothing was checked: clean, or only the journal was to be replayed */
	bool committed;
	bool pending; /* -n: an interrupted change was looked at as if it were complete */
	bool completed; /* opening completed it */
	/* opening completed an interrupted change of the root filesystem, which is mounted */
	bool root_completed;
	bool recounted; /* a replay had to correct the free counts of the superblock */
};

/*
 * Check the image of f->opts, as its mode says. The caller has set opts, diag's log, watch, to and
 * to_arg; nothing else is set. Ends with xw_fsck_end().
 */
void xw_fsck_check(struct fsck *f, struct fsck_outcome *o);
/* The reason for o->rc, or NULL: for a message. */
const char *xw_fsck_why(const struct fsck *f, const struct fsck_outcome *o);
void xw_fsck_end(struct fsck *f);

/* rounds.c: all rounds. 0, or the failure that prevented the check from completing. */
int fsck_run(struct fsck *f);

/* mounted.c: may it be checked? *root: it is the root filesystem, which is in use. XW_ERR_BUSY. */
int fsck_check_mounted(struct fsck *f, bool *root);
void fsck_drop_caches(const struct fsck *f);

/* ---- json.c: the result as an object ---- */

/* What of the findings holds for the image as it is now: repairs that were not written do not. */
struct fsck_tally {
	bool clean, modified;
	uint64_t found, repaired, left, later, notes, rounds;
};
struct fsck_tally xw_fsck_tally(const struct fsck *f, const struct fsck_outcome *o);
void xw_fsck_json(const struct fsck *f, const struct fsck_outcome *o, struct xw_json *j);

#endif
