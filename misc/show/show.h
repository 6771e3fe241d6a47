/* SPDX-License-Identifier: MIT */
/*
 * The metadata of an image as text or JSON: superblock, journal, groups, free space. Shared by
 * xw-dump, xw-freefrag and xw-debugfs; the text is identical to that of the stock tools where they
 * print the same information.
 *
 * Damage never ends the output: each problem is reported once, and the rest is shown.
 */
#ifndef XW_SHOW_H
#define XW_SHOW_H

#include <stdio.h>

#include "base/json.h"
#include "cli/options.h"
#include "read/bitmaps.h"
#include "read/image.h"

struct xw_show {
	FILE *out; /* text output; NULL: add to json, inside an object that is open there */
	struct xw_json *json;
	bool hex; /* block and inode numbers in hexadecimal */
	bool no_csum; /* checksums are not verified */
	/* May be NULL. Called with a message without newline for each problem of the image. */
	void (*problem)(void *arg, const char *line);
	void *arg;
	unsigned problems; /* number of problems */
	/* From here on internal; initially zero. */
	struct xw_sysmap *sysmap;
	uint64_t base; /* first number of a list */
	bool any; /* the list has items already */
};

/* Frees what the following functions keep between calls. */
void xw_show_end(struct xw_show *s);

/*
 * All of these return 0, or a failure that does not concern the image (XW_ERR_NOMEM, XW_ERR_IO on
 * out). img->diag must not be NULL.
 */

/*
 * For struct xw_diag: prints warnings, unless the command line (struct cli_line, arg) has -q, and
 * with -v more.
 */
void xw_show_log(void *arg, enum xw_log_level level, const char *line);

/* The complete superblock: as dumpe2fs -h without journal, and stats of debugfs. */
int xw_show_super(struct xw_show *s, struct xw_image *img);
/*
 * The superblock of an image that cannot be opened, from the bytes at its location; *sb is the
 * decoded superblock.
 */
int xw_show_raw_super(struct xw_show *s, struct xw_dev *dev, struct xw_super *sb);
/* Name of a bit of the journal's feature words (0 compat, 1 incompat, 2 ro_compat); or NULL. */
const char *xw_show_journal_feature(unsigned word, unsigned bit);
/* The journal superblock; nothing without an internal journal. */
int xw_show_journal(struct xw_show *s, struct xw_image *img);
/* The MMP block; nothing without the feature. */
int xw_show_mmp(struct xw_show *s, struct xw_image *img);
/* A line "Bad blocks: ...", empty if there are none; with `list` one number per line. */
int xw_show_bad_blocks(struct xw_show *s, struct xw_image *img, bool list);
/* Every group with its free blocks and inodes: as dumpe2fs. */
int xw_show_groups(struct xw_show *s, struct xw_image *img);
/* One line of locations per group: dumpe2fs -g. */
int xw_show_places(struct xw_show *s, struct xw_image *img);
/*
 * The number of directories, and three lines per group, as stats of debugfs prints them after the
 * superblock.
 */
int xw_show_group_stats(struct xw_show *s, struct xw_image *img, bool groups);
/* The superblock of an external journal on img's device. */
int xw_show_external(struct xw_show *s, struct xw_dev *dev, struct xw_diag *diag);

struct xw_show_text {
	char s[48];
};
/* "Sat Nov 21 07:25:24 2026", in local time. */
struct xw_show_text xw_show_when(int64_t sec);

#define XW_FREEFRAG_SIZES 48

/* Free space by the size of its runs. */
struct xw_freefrag {
	uint64_t chunk; /* in blocks, a power of two; 0: chunks are not counted */
	/* results */
	uint64_t chunks, free_chunks;
	uint64_t extents, shortest, longest, blocks; /* free runs, across group boundaries */
	uint64_t in_blocks; /* free blocks according to the superblock */
	uint64_t count[XW_FREEFRAG_SIZES], sum[XW_FREEFRAG_SIZES]; /* runs of 2^i blocks and more */
	uint32_t *group_longest; /* by group; owned, if group_map was requested */
	uint64_t groups;
	bool group_map;
};

/* ff->chunk and ff->group_map are set, the other members must be zero. */
int xw_freefrag_measure(struct xw_show *s, struct xw_image *img, struct xw_freefrag *ff);
void xw_freefrag_free(struct xw_freefrag *ff);
/* As e2freefrag(8); starts at the line with the block size if name is NULL. */
int xw_show_freefrag(struct xw_show *s, struct xw_image *img, const char *name,
		     const struct xw_freefrag *ff);
/* A drawing: groups by their longest free run, and the histogram. Requires the map of groups. */
int xw_freefrag_svg(FILE *out, struct xw_image *img, const char *name,
		    const struct xw_freefrag *ff);

/* ---- opening (sources.c, e2image.c) ---- */

/*
 * Open dev leniently: a wrong checksum, a short device and, with `any_features`, an unknown feature
 * are reported (s->problem) and do not end the tool.
 */
int xw_show_open(struct xw_show *s, struct xw_dev *dev, bool any_features, struct xw_diag *diag,
		 struct xw_image **out);
/*
 * The metadata file of e2image(8), read as the image that it was made from. Owns `under`. data: a
 * file or device with the blocks that the file does not hold; NULL: they cannot be read.
 */
int xw_show_e2image(struct xw_dev *under, const char *data, struct xw_diag *diag,
		    struct xw_dev **out);

/* An image by name, and how to open it. */
struct xw_show_source {
	const char *path, *redo_file; /* redo_file may be NULL */
	uint64_t offset; /* offset of the filesystem in bytes */
	uint64_t super; /* for xw_backup_view(), if `super` or `block_size` is not 0 */
	uint32_t block_size;
	bool e2image;
	bool or_image; /* with e2image: a filesystem is accepted as well */
};
/*
 * Handles "-o superblock=BLOCK,blocksize=BYTES" and "-E offset=BYTES"; `at` of the row is the
 * offset of a struct xw_show_source.
 */
cli_option_fn xw_show_set_source;
/* Rows of a tool whose structure T has the member `source`. */
/* clang-format off */
#define SHOW_SOURCE_ROWS(T) \
	{"-i", NULL, NULL, "IMAGE is a file made by e2image(8)", cli_flag, \
	 offsetof(T, source.e2image)}, \
	{"-E", NULL, "offset=BYTES", "where in IMAGE the filesystem begins", \
	 xw_show_set_source, offsetof(T, source)}, \
	CLI_PARTITION, \
	{NULL, "--redo-file", "FILE", "redo file of an interrupted change", cli_text, \
	 offsetof(T, source.redo_file)}
/* clang-format on */
/* The only operand: the image. -1, or the exit status. */
int xw_show_source_path(struct cli_line *l, struct xw_show_source *src);
/*
 * The device: an interrupted change of an xw tool is completed in memory, the journal is not
 * replayed. *pending, which may be NULL: was there such a change?
 */
int xw_show_device(const struct xw_show_source *src, struct xw_diag *diag, struct xw_dev **out,
		   bool *pending);
/* Add the member pending_change to the current object if there was such a change. */
void xw_show_pending(struct xw_json *json, bool pending);
/* Is dev an external journal? Then use xw_show_external(). */
bool xw_show_is_journal(struct xw_dev *dev);

#endif
