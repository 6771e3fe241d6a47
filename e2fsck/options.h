/* SPDX-License-Identifier: MIT */
/* Settings of a check. check/opts.c sets them by the names of the command line. */
#ifndef XW_FSCK_OPTIONS_H
#define XW_FSCK_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "commit/commit.h"

enum fsck_mode { FSCK_ASK, FSCK_NO, FSCK_YES, FSCK_PREEN };
enum fsck_itree_want { FSCK_ITREE_KEEP, FSCK_ITREE_BUILD, FSCK_ITREE_DROP };

/* Strings are borrowed. */
struct fsck_opts {
	const char *image;
	const char *name; /* -N: what to call the filesystem; NULL: by its label, or the image */
	enum fsck_mode mode;
	bool force; /* -f */
	bool flush; /* -F */
	bool optimize_dirs; /* -D */
	uint64_t backup; /* -b: block of the superblock to use, 0: the primary */
	uint32_t block_size; /* -B; 0: from the superblock */
	unsigned bad_test; /* -c; 2: non-destructive read-write test */
	const char *bad_file; /* -l, -L: a list of bad blocks */
	bool bad_keep; /* known ones are still bad: -l, or -c with -k */
	const char *journal; /* -j: the external journal */
	const char *undo_file, *redo_file; /* -z, --redo-file */
	enum xw_commit_how how; /* --commit; AUTO: the journal only if nothing else is possible */
	const char *redo_dir; /* of a redo file that does not fit in the image; may be NULL */
	unsigned jobs; /* 0: processors */
	uint64_t offset; /* offset of the image in the file, in bytes */
	bool now_set;
	int64_t now; /* seconds since 1970, for times that are written */
	int64_t latest; /* maximum of a valid time: the clock, or `now` if that is later */
	/* -E */
	bool journal_only, share_xattrs, fixes_only;
	/* not an option: no terminal for questions, so only an interrupted change is completed */
	bool no_terminal;
	/* not by an option: the reporter shows findings that follow from repairs, too */
	bool all_told;
	/* not by an option: findings of one cause are not told as one */
	bool each_told;
	/* not by an option: the device is mounted read-only, and is checked nevertheless */
	bool mounted;
	bool discard; /* free blocks, after the repair */
	bool bmap2extent, optimize_extents; /* rewrite maps */
	bool check_encoding; /* of names in casefolded directories, even without "strict" */
	bool fragcheck; /* report where blocks of files are not consecutive */
	bool unshare_blocks; /* unshare blocks of files, and clear RO_SHARED_BLOCKS */
	enum fsck_itree_want itree;
	bool refused_word; /* xw_fsck_set() failed for a word that -E does not know */
};

#endif
