/* SPDX-License-Identifier: MIT */
/*
 * Where the redo file lives: beside the image as IMAGE.xw-redo, or where --redo-file says. A
 * vtable, so that tests can keep it in memory and cut it anywhere.
 *
 * A file is written under a temporary name and appears under its own complete, or not at all.
 */
#ifndef XW_COMMIT_STORE_H
#define XW_COMMIT_STORE_H

#include "dev/dev.h"

struct xw_redo_store;

struct xw_redo_store_ops {
	/* A new, empty, unpublished file; what was left of an earlier one is gone. The caller
	 * closes it. XW_ERR_EXISTS when something that is no redo file has its name, XW_ERR_BUSY
	 * when another process uses it. What a published one completes must be looked at before. */
	int (*create)(struct xw_redo_store *s, struct xw_dev **out);
	/* Give what create made, and the caller has flushed, its name, durably. XW_ERR_EXISTS when
	 * a file has it that open did not return, XW_ERR_BUSY when another process uses it. */
	int (*publish)(struct xw_redo_store *s);
	/* The published file, for reading. XW_ERR_NOTFOUND (not described): there is none. */
	int (*open)(struct xw_redo_store *s, struct xw_dev **out);
	/*
	 * Remove the file that create made or open returned, if neither was called whichever is
	 * there; absence is no failure. XW_ERR_BUSY when another process uses it.
	 */
	int (*remove)(struct xw_redo_store *s);
	/* Rename the published file durably, with a warning in the log. May be NULL. */
	int (*set_aside)(struct xw_redo_store *s);
	void (*close)(struct xw_redo_store *s); /* frees s, touches no file */
};

struct xw_redo_store {
	const struct xw_redo_store_ops *ops;
	const char *name; /* of the file, for messages */
};

/* First bytes of every redo file; a file without them is never overwritten or removed. */
#define XW_REDO_MAGIC "XW-REDO1"
#define XW_REDO_MAGIC_LEN 8

/*
 * The store of an image that begins `offset` bytes into its file. redo_file NULL: beside the file
 * (its real path, symbolic links followed; IMAGE.xw-redo, or IMAGE@OFFSET.xw-redo); for a block
 * device that is XW_ERR_USAGE, described with the option to use, and *out is NULL. Touches no file
 * yet.
 */
#pragma GCC visibility push(default)
int xw_redo_store_open(const char *image, const char *redo_file, uint64_t offset,
		       struct xw_diag *diag, struct xw_redo_store **out);
#pragma GCC visibility pop

static inline void xw_redo_store_close(struct xw_redo_store *s)
{
	if (s)
		s->ops->close(s);
}

#endif
