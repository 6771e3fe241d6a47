/* SPDX-License-Identifier: MIT */
/* What the command line asks for. */
#ifndef XW_FSCK_OPTIONS_H
#define XW_FSCK_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum fsck_mode { FSCK_ASK, FSCK_NO, FSCK_YES, FSCK_PREEN };
enum fsck_itree_want { FSCK_ITREE_KEEP, FSCK_ITREE_BUILD, FSCK_ITREE_DROP };

struct fsck_opts {
	const char *image;
	enum fsck_mode mode;
	bool force; /* -f */
	bool debug; /* -d */
	bool flush; /* -F */
	unsigned verbose; /* -v */
	unsigned times; /* -t; 2: by pass */
	bool json, quiet;
	bool optimize_dirs; /* -D */
	uint64_t backup; /* -b: block of the superblock to use, 0: the primary */
	uint32_t block_size; /* -B; 0: as the superblock says */
	unsigned bad_test; /* -c; 2: also what is written is read again */
	const char *bad_file; /* -l, -L: a list of bad blocks */
	bool bad_keep; /* those that are known are still bad: -l, or -c with -k */
	const char *journal; /* -j: the external journal */
	const char *undo_file, *redo_file; /* -z, --redo-file */
	int progress_fd; /* -C; -1: none. 0: a bar on the terminal */
	bool progress_late; /* -C -FD: nothing is reported before SIGUSR1 */
	unsigned jobs; /* 0: processors */
	uint64_t offset; /* bytes; where in the file the image begins */
	int64_t now; /* for times written; seconds since 1970 */
	int64_t latest; /* that a time may be: the clock, or `now` where that is later */
	/* -E */
	bool journal_only, share_xattrs, fixes_only;
	bool bmap2extent, optimize_extents; /* maps are written anew */
	bool check_encoding; /* of names in casefolded directories, also without "strict" */
	bool fragcheck; /* print where blocks of files are not consecutive */
	bool unshare_blocks; /* files share no blocks any more, and RO_SHARED_BLOCKS goes */
	enum fsck_itree_want itree;
};

#endif
