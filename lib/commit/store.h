/* SPDX-License-Identifier: MIT */
/*
 * Where the redo file lives: beside the image as IMAGE.xw-redo, where --redo-file says, or in a
 * directory with those of other images. A vtable, so that tests can keep it in memory and cut it
 * anywhere.
 *
 * A file is written under a temporary name and appears under its own complete, or not at all.
 */
#ifndef XW_COMMIT_STORE_H
#define XW_COMMIT_STORE_H

#include "commit/place.h"
#include "dev/dev.h"

struct xw_redo_store;

struct xw_redo_store_ops {
	/*
	 * Create an empty, unpublished file for `bytes` bytes; a left-over of an earlier one is
	 * removed. The caller closes it. XW_ERR_EXISTS when another kind of file has its name,
	 * XW_ERR_BUSY when another process uses it, XW_ERR_NOSPC (without a message) when the image
	 * has no room for a record. A published file must be examined before it is replaced.
	 */
	int (*create)(struct xw_redo_store *s, uint64_t bytes, struct xw_dev **out);
	/*
	 * Durably rename the file of create, which the caller has flushed. XW_ERR_EXISTS when the
	 * name belongs to a file that open did not return, XW_ERR_BUSY when another process uses
	 * it.
	 */
	int (*publish)(struct xw_redo_store *s);
	/*
	 * Open the published file for reading. XW_ERR_NOTFOUND (without a message): there is none.
	 */
	int (*open)(struct xw_redo_store *s, struct xw_dev **out);
	/*
	 * Remove the file of create or open, or if neither was called any published one; a missing
	 * file is no failure. XW_ERR_BUSY when another process uses it.
	 */
	int (*remove)(struct xw_redo_store *s);
	/* Durably rename the published file, logging a warning. May be NULL. */
	int (*set_aside)(struct xw_redo_store *s);
	/*
	 * Where each record has a name or place of its own; otherwise NULL, both. name_new:
	 * create() makes one for this filesystem and nonce. select: only of a directory; open() and
	 * remove() mean the n-th file; XW_ERR_NOTFOUND (not described): there are not so many.
	 */
	int (*select)(struct xw_redo_store *s, size_t n);
	int (*name_new)(struct xw_redo_store *s, const uint8_t uuid[16], uint64_t nonce);
	/*
	 * Only of a directory, otherwise NULL. decided: the image has the superblock of the commit
	 * point now. sweep: remove what killed changes of a filesystem never published.
	 */
	void (*decided)(struct xw_redo_store *s);
	void (*sweep)(struct xw_redo_store *s, const uint8_t uuid[16]);
	void (*close)(struct xw_redo_store *s); /* frees s, does not touch files */
};

#define XW_SUPER_NUMBER_UNIT 1024u /* bytes */

struct xw_redo_store {
	const struct xw_redo_store_ops *ops;
	const char *name; /* of the file, or of the directory while none is chosen; for messages */
	/* Of a record in the image (inside.h): where the superblock finds it; else 0. */
	uint64_t number; /* in units of XW_SUPER_NUMBER_UNIT */
	uint64_t size; /* likewise: size in bytes that the image has without the record */
	uint64_t end; /* likewise: the one that it has because of a record behind its end; else 0 */
	bool dry_run; /* likewise: create() only looks for room, and writes nothing */
	/* of a directory: */
	struct xw_redo_store *beside; /* another place to look at; owned, or NULL */
	struct xw_redo_place place; /* of the image, for the headers of its files */
	bool undecided; /* decided() was never called for the selected file */
};

/* First bytes of every redo file; a file without them is never overwritten or removed. */
#define XW_REDO_MAGIC "XW-REDO1"
#define XW_REDO_MAGIC_LEN 8

/*
 * The store of an image that begins `offset` bytes into its file. redo_file NULL: beside the file
 * (its real path, symbolic links followed; IMAGE.xw-redo, or IMAGE@OFFSET.xw-redo); for a block
 * device that is XW_ERR_USAGE, described with the option to use, and *out is NULL. redo_file may
 * also be a directory, or end in a slash: one that is made for the first file. Touches no file yet.
 */
int xw_redo_store_open(const char *image, const char *redo_file, uint64_t offset,
		       struct xw_diag *diag, struct xw_redo_store **out);
/* That of a directory: store_dir.c */
int xw_redo_store_dir(const char *image, const char *dir, uint64_t offset, struct xw_diag *diag,
		      struct xw_redo_store **out);
/* Best effort, and not durable: give the file that s has published another name. */
void xw_redo_store_rename(struct xw_redo_store *s, const char *path);

/*
 * May the image be made shorter, after a change that left it with `left` bytes? Not if it has any
 * other size: it is in a larger file or device then, or something was added to it. And never if
 * more than a filesystem can be in it.
 */
static inline bool xw_redo_may_cut(struct xw_dev *image, uint64_t left)
{
	struct xw_dev_stamp now;

	return !image->is_window && image->size == left && !xw_dev_stamp(image, &now) &&
	       now.size == left;
}

/*
 * Is the record behind the end of an image of `size` bytes? Its removal then sets that size, if
 * xw_redo_may_cut(), and overwrites the record with zeros otherwise.
 */
static inline bool xw_redo_is_behind(const struct xw_redo_store *s, uint64_t size)
{
	return s->number && s->number * XW_SUPER_NUMBER_UNIT >= size;
}

static inline void xw_redo_store_close(struct xw_redo_store *s)
{
	if (s)
		s->ops->close(s);
}

#endif
