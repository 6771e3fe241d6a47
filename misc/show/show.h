/* SPDX-License-Identifier: MIT */
/*
 * What an image says about itself, as text or JSON: superblock, journal, groups, free space. Shared
 * by xw-dump, xw-freefrag and xw-debugfs; the text is that of the stock tools, byte for byte where
 * they know what there is to say.
 *
 * Damage never ends anything: each problem is reported once, and what is left is shown.
 */
#ifndef XW_SHOW_H
#define XW_SHOW_H

#include <stdio.h>

#include "base/json.h"
#include "read/bitmaps.h"
#include "read/image.h"

struct xw_show {
	FILE *out; /* text; NULL: it goes into json, inside an object that is open there */
	struct xw_json *json;
	bool hex; /* numbers of blocks and inodes */
	bool no_csum; /* checksums are not looked at */
	/* May be NULL. Called with a line without newline for whatever is wrong in the image. */
	void (*problem)(void *arg, const char *line);
	void *arg;
	unsigned problems; /* how many there were */
	/* From here on, this room's own; zero at first. */
	struct xw_sysmap *sysmap;
	uint64_t base; /* first number of a list */
	bool any; /* in it already */
};

/* Frees what the functions below keep between calls. */
void xw_show_end(struct xw_show *s);

/*
 * All of these return 0, or a failure that is not about the image (XW_ERR_NOMEM, XW_ERR_IO on out).
 * img->diag must not be NULL.
 */

/* For struct xw_diag: warnings, unless the command line (struct cli_line, arg) says -q, and with -v
 * more. */
void xw_show_log(void *arg, enum xw_log_level level, const char *line);

/* The superblock, all of it: as dumpe2fs -h without journal, and debugfs's stats. */
int xw_show_super(struct xw_show *s, struct xw_image *img);
/*
 * The same of whatever is where the primary superblock should be: of an image that cannot be
 * opened. *sb is what it decodes to.
 */
int xw_show_raw_super(struct xw_show *s, struct xw_dev *dev, struct xw_super *sb);
/* Name of a bit of the journal's feature words (0 compat, 1 incompat, 2 ro_compat); or NULL. */
const char *xw_show_journal_feature(unsigned word, unsigned bit);
/* The journal's superblock; nothing without an internal journal. */
int xw_show_journal(struct xw_show *s, struct xw_image *img);
/* The multiple mount protection block; nothing without the feature. */
int xw_show_mmp(struct xw_show *s, struct xw_image *img);
/* A line "Bad blocks: ...", empty when there are none; with `list` a number a line. */
int xw_show_bad_blocks(struct xw_show *s, struct xw_image *img, bool list);
/* Every group with what is free in it: as dumpe2fs. */
int xw_show_groups(struct xw_show *s, struct xw_image *img);
/* A line of places a group: dumpe2fs -g. */
int xw_show_places(struct xw_show *s, struct xw_image *img);
/* Directories, and three lines a group: what stats adds to the superblock. */
int xw_show_group_stats(struct xw_show *s, struct xw_image *img, bool groups);
/* The superblock of an external journal, which img's device is. */
int xw_show_external(struct xw_show *s, struct xw_dev *dev, struct xw_diag *diag);

struct xw_show_text {
	char s[48];
};
/* "Sat Nov 21 07:25:24 2026", in local time. */
struct xw_show_text xw_show_when(int64_t sec);

#define XW_FREEFRAG_SIZES 48

/* Free space by the size of its runs. */
struct xw_freefrag {
	uint64_t chunk; /* blocks, a power of two; 0: chunks are not counted */
	/* filled */
	uint64_t chunks, free_chunks;
	uint64_t extents, shortest, longest, blocks; /* free runs, over group boundaries */
	uint64_t in_blocks; /* what the superblock says is free */
	uint64_t count[XW_FREEFRAG_SIZES], sum[XW_FREEFRAG_SIZES]; /* of 2^i blocks and more */
	uint32_t *group_longest; /* by group; owned when group_map was asked for */
	uint64_t groups;
	bool group_map;
};

/* ff->chunk and ff->group_map are set, the rest is zero. */
int xw_freefrag_measure(struct xw_show *s, struct xw_image *img, struct xw_freefrag *ff);
void xw_freefrag_free(struct xw_freefrag *ff);
/* As e2freefrag(8), from the line of the block size on when name is NULL. */
int xw_show_freefrag(struct xw_show *s, struct xw_image *img, const char *name,
		     const struct xw_freefrag *ff);
/* A drawing: groups by their longest free run, and the histogram. Needs the map of groups. */
int xw_freefrag_svg(FILE *out, struct xw_image *img, const char *name,
		    const struct xw_freefrag *ff);

/* ---- opening (sources.c, e2image.c) ---- */

/*
 * Open dev as a tool that looks does: a wrong checksum, a short device and, where `any_features`
 * is set, an unknown feature are said (s->problem) and no reason to stop.
 */
int xw_show_open(struct xw_show *s, struct xw_dev *dev, bool any_features, struct xw_diag *diag,
		 struct xw_image **out);
/*
 * Make the copy of superblock and descriptors at block `super` (in blocks of block_size; 0: found
 * out) the ones that are read. *dev is replaced by a device that owns it.
 */
int xw_show_backup(struct xw_dev **dev, uint64_t super, uint32_t block_size, struct xw_diag *diag);
/* The metadata file that e2image(8) makes, read as the image it was made of. Owns `under`. */
int xw_show_e2image(struct xw_dev *under, struct xw_diag *diag, struct xw_dev **out);

/* An image by name, and how to look at it. */
struct xw_show_source {
	const char *path, *redo_file; /* redo_file may be NULL */
	uint64_t offset; /* bytes in front of the filesystem */
	uint64_t super; /* xw_show_backup(), where either is not 0 */
	uint32_t block_size;
	bool e2image;
};
/*
 * "superblock=BLOCK,blocksize=BYTES" for option "-o", "offset=BYTES" for "-E". XW_ERR_USAGE with a
 * line.
 */
int xw_show_source_set(struct xw_show_source *src, const char *option, const char *list,
		       struct xw_diag *diag);
/*
 * The device: an interrupted change of an xw tool is completed in memory, the journal left as it
 * is.
 */
int xw_show_device(const struct xw_show_source *src, struct xw_diag *diag, struct xw_dev **out);
/* Whether dev is an external journal: xw_show_external(). */
bool xw_show_is_journal(struct xw_dev *dev);

#endif
