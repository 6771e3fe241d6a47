/* SPDX-License-Identifier: MIT */
/*
 * Callbacks through which a check reports findings and progress, and asks questions; the check
 * itself prints nothing. Those of xw-fsck are in say/, those of the public handle in
 * lib/api/check.c.
 */
#ifndef XW_FSCK_REPORT_H
#define XW_FSCK_REPORT_H

#include "fsck.h"

/* The exit status is the sum of these, as in e2fsck(8). */
enum {
	FSCK_EXIT_FIXED = 1,
	FSCK_EXIT_REBOOT = 2,
	FSCK_EXIT_LEFT = 4,
	FSCK_EXIT_ERROR = 8,
	FSCK_EXIT_USAGE = 16,
	FSCK_EXIT_CANCELED = 32,
};

enum { FSCK_PASSES = 5 }; /* numbered as in e2fsck(8) */

enum fsck_answer { FSCK_ANSWER_NO, FSCK_ANSWER_YES, FSCK_ANSWER_ALL, FSCK_ANSWER_END };

/* What became of a finding. ACCEPTED: -p repairs it, unless a later finding ends the check. */
enum fsck_done {
	FSCK_DONE_REPAIRED,
	FSCK_DONE_ACCEPTED,
	FSCK_DONE_DECLINED,
	FSCK_DONE_REPORTED,
	FSCK_DONE_ENDED,
};

struct fsck_told {
	const struct fsck_about *about;
	const struct fsck_row *row; /* its row of findings.def */
	enum fsck_done done;
	bool agreed; /* to the offer: a repair, or with FSCK_P_CANNOT the end of the check */
	bool repaired;
	bool follows; /* it follows from a repair */
	bool asked; /* the user was asked, and has seen it */
};

/* Lines other than findings: about an action, or requested by an option (-E fragcheck). */
enum fsck_line { FSCK_LINE_ACTION, FSCK_LINE_WANTED };

/*
 * All callbacks run on the thread of the check. Any may be NULL. A reporter does not change f; its
 * own state is at `arg`.
 */
struct fsck_reporter {
	void (*finding)(void *arg, const struct fsck *f, const struct fsck_told *t);
	/* Called without -n, -p and -y only. If it is NULL, the answer is no. */
	enum fsck_answer (*ask)(void *arg, const struct fsck *f, const struct fsck_about *a);
	/*
	 * A pass begins: 1 to FSCK_PASSES, or 0 for the work before pass 1. True cancels the check.
	 */
	bool (*pass)(void *arg, const struct fsck *f, unsigned pass);
	bool (*pass_end)(void *arg, const struct fsck *f); /* the last pass of the last round */
	/* `done` of `of` units of the pass are checked. */
	bool (*progress)(void *arg, const struct fsck *f, uint64_t done, uint64_t of);
	void (*progress_end)(void *arg, const struct fsck *f); /* of a scan before the passes */
	void (*heading)(void *arg, const struct fsck *f, const char *text);
	/* The journal was replayed; with -n, in memory. */
	void (*replayed)(void *arg, const struct fsck *f);
	/* A full check begins, for a reason that the superblock gives. */
	void (*forced)(void *arg, const struct fsck *f);
	void (*line)(void *arg, const struct fsck *f, enum fsck_line kind, const char *line);
	/*
	 * Find the device with this UUID: its name, malloc'd, or NULL. Without this callback -j is
	 * mandatory.
	 */
	char *(*find_device)(void *arg, const char *uuid);
};

/* ---- held.c ---- */

/* Tell a finding, or hold it back: see fsck_findings_flush(). */
void fsck_findings_tell(struct fsck *f, const struct fsck_told *t);
void fsck_held_free(struct fsck *f);

/* ---- name.c ---- */

/* The filesystem's name in messages, as in e2fsck: that of -N, else its label, else the image. */
const char *xw_fsck_name(const struct fsck *f);
/* Read the label, which xw_fsck_name() uses from here on. */
void fsck_name_read(struct fsck *f);

/*
 * finding.c: XW_ERR_IO, with a message that names the block, if a block could not be read. Apparent
 * damage may be intact on the medium, so nothing is repaired in that case: -n reports findings,
 * otherwise the check ends with the next finding (fsck_found()). Exceptions: the superblock, which
 * has copies, and -c, -l and -L, which repair the filesystem around bad blocks.
 */
int fsck_check_readable(struct fsck *f);

/* ---- report.c: calls of the reporter ---- */

/* Begin a pass, 0 to FSCK_PASSES, unless it is the current one. */
void fsck_pass(struct fsck *f, unsigned pass);
void fsck_pass_end(struct fsck *f);
/*
 * `done` of `of` units of the pass are checked. Cheap enough for loops over groups, but not over
 * inodes. Sets f->ses.stop when the check has been canceled.
 */
void fsck_progress(struct fsck *f, uint64_t done, uint64_t of);
void fsck_progress_end(struct fsck *f);
/* Percentage of the check that is done when `part` (0 to 1) of the pass is done, as in e2fsck. */
double xw_fsck_share(unsigned pass, double part);
/* A separate heading, such as "Pass 1B: ..."; shown like those of passes. */
void fsck_heading(struct fsck *f, const char *text);
void fsck_forced(struct fsck *f);

/* ---- line.c ---- */

void fsck_line(struct fsck *f, enum fsck_line kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static inline void fsck_tell_replayed(struct fsck *f)
{
	if (f->ses.to && f->ses.to->replayed)
		f->ses.to->replayed(f->ses.to_arg, f);
}

static inline bool fsck_is_ended(const struct fsck *f)
{
	return f->ses.watch && f->ses.watch->ended && f->ses.watch->ended(f->ses.watch->arg);
}

#endif
