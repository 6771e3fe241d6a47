/* SPDX-License-Identifier: MIT */
/*
 * Findings: problems, their wording, and whether they are repaired. The table is findings.def, with
 * one row per finding and a permanent id.
 */
#ifndef XW_FSCK_FINDING_H
#define XW_FSCK_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/table.h"
#include "base/types.h"

enum fsck_id {
#define FINDING(id, name, severity, preen, offer, text) FSCK_##id,
#include "report/findings.def"
#undef FINDING
	FSCK_IDS
};

/*
 * Severity. Notes are changes that repair nothing (rebuilding an index, counts after a repair):
 * they are no errors and do not affect the exit status.
 */
enum fsck_severity { FSCK_NOTE, FSCK_MINOR, FSCK_ERROR, FSCK_FATAL };
/*
 * Action with -p: repaired; repaired silently; the check ends, an administrator must decide; the
 * same for damage that nobody can repair, where the offer is to end the check; never repaired, even
 * with -y (a report).
 */
enum fsck_preen { FSCK_P_FIX, FSCK_P_QUIET, FSCK_P_ABORT, FSCK_P_CANNOT, FSCK_P_REPORT };

/* A row of findings.def. */
struct fsck_row {
	const char *name, *offer, *text;
	enum fsck_severity severity;
	enum fsck_preen preen;
};

/* The subject of a finding. Members not used in its text are zero. */
struct fsck_about {
	enum fsck_id id;
	xw_ino ino; /* %i */
	xw_ino dir; /* %d: the directory in which it was found, or another inode */
	uint64_t group; /* %g */
	xw_blk blk; /* %b */
	uint64_t lblk; /* %l */
	uint64_t num, num2; /* %n %m: found and expected value, or as the text says */
	const char *name; /* %s: escaped when printed; name_len 0: terminated */
	size_t name_len;
	/* The same holds for all inodes from ino to this one, in one table block; 0: one inode */
	xw_ino last;
	xw_ino other; /* one of the inodes with which ino shares blocks; in no text */
	/* Paths of the inodes, filled in for reports; NULL: not known, or there is none. */
	const char *path, *dir_path, *other_path;
	const char *from; /* the name or directory that an inode without a name had */
};

/* The number of inodes that the finding is about; 1 if it is about something else. */
static inline uint64_t xw_fsck_count(const struct fsck_about *a)
{
	return a->last > a->ino ? (uint64_t)a->last - a->ino + 1 : 1;
}

/*
 * Parts of an image. Findings of the first examination of a part are damage that the image came
 * with, in whichever round that is. Findings of later rounds follow from repairs, since nothing
 * else has changed the part.
 */
enum fsck_part {
	/* from 0 on: the part that a phase examines, by its row in check/rounds.c */
	FSCK_PART_SPACE = 20, /* bitmaps and counts */
	FSCK_PART_QUOTA,
	FSCK_PARTS
};

struct fsck;

/* Report a finding. Returns true if the caller is to repair it now. */
bool fsck_found(struct fsck *f, const struct fsck_about *a);
#define FSCK_FOUND(f, ID, ...) fsck_found((f), &(struct fsck_about){.id = FSCK_##ID, __VA_ARGS__})

/* Policy and result; finding.c. */
struct fsck_findings {
	uint64_t found, fixed; /* damage that the image came with, without notes; repaired damage */
	uint64_t followed; /* findings that follow from repairs */
	uint64_t left; /* findings of both kinds that were not repaired */
	uint64_t accepted; /* findings of both kinds whose repair was accepted */
	/* of `left`, those of this round that cannot be repaired; a later round may solve them */
	uint64_t unsolved;
	uint64_t notes;
	bool recounted; /* free counts of the superblock were repaired: notes, yet exit status 1 */
	bool reboot; /* the mounted root filesystem was changed */
	bool modified; /* the overlay was written to in some round */
	bool yes_to_all; /* the answer was "a" */
	bool ended; /* with -p, by a finding that needs an administrator */
	bool canceled; /* by a signal, or at a question */
	struct xw_table left_before; /* findings not repaired: not told again in later rounds */
	struct fsck_held *held; /* the last finding, not told yet; NULL: none */
};

/* A round begins: what cannot be repaired is counted anew. */
void fsck_findings_round(struct fsck_findings *all);
void fsck_findings_free(struct fsck *f);
/*
 * held.c: tell the finding that is held back because others may extend it to a range. Called before
 * anything else is told.
 */
void fsck_findings_flush(struct fsck *f);
/* Number of repaired findings, including those that follow from repairs. */
uint64_t fsck_repaired(const struct fsck_findings *all);

/* findings_text.c, which unit tests link separately */
const struct fsck_row *xw_fsck_row(enum fsck_id id);
/*
 * Print a text of the table: %i and the like are replaced by the members of *a, names are escaped,
 * %% is a percent sign. An unknown placeholder is printed unchanged.
 */
void xw_fsck_text(FILE *out, const char *text, const struct fsck_about *a);
/* Print what follows the text: where the inode was, and to which other inodes it applies. */
void xw_fsck_put_more(FILE *out, const struct fsck_about *a);
/* Get the number that a letter of the text (not s) stands for. True: the finding uses it. */
bool xw_fsck_number(const struct fsck_about *a, char letter, uint64_t *n);
/* Print a path, or its beginning and end if it is long, escaped like names. */
void xw_fsck_put_path(FILE *out, const char *path);
/* The text of a finding, malloc'd; NULL: out of memory. */
char *xw_fsck_text_made(const struct fsck_about *a);
/* The word that -p prints after a repair: "FIXED", "CLEARED" ... for "Fix", "Clear" ... */
const char *xw_fsck_done_word(const char *offer);

#endif
