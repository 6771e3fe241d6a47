/* SPDX-License-Identifier: MIT */
/*
 * The place of the redo file: beside the image as IMAGE.xw-redo, the argument of --redo-file, or a
 * directory with those of other images. A vtable, so that tests can keep the file in memory and
 * truncate it anywhere.
 *
 * A file is written under a temporary name, and renamed when it is complete.
 */
#ifndef XW_COMMIT_STORE_H
#define XW_COMMIT_STORE_H

#include "commit/location.h"
#include "dev/dev.h"

struct xw_redo_store;

struct xw_redo_store_ops {
	/*
	 * Create an empty, unpublished file for `bytes` bytes; the remains of an earlier one are
	 * removed. The caller closes it. XW_ERR_EXISTS: another kind of file has its name;
	 * XW_ERR_BUSY: another process uses it; XW_ERR_NOSPC (without a message): the image has no
	 * space for a record. A published file must be examined before it is replaced.
	 */
	int (*create)(struct xw_redo_store *s, uint64_t bytes, struct xw_dev **out);
	/*
	 * Durably rename the file from create(), which the caller has flushed. XW_ERR_EXISTS: the
	 * name belongs to a file that open() did not return; XW_ERR_BUSY: another process uses it.
	 */
	int (*publish)(struct xw_redo_store *s);
	/*
	 * Open the published file for reading. XW_ERR_NOTFOUND (without a message): there is none.
	 */
	int (*open)(struct xw_redo_store *s, struct xw_dev **out);
	/*
	 * Remove the file of create() or open(), or if neither was called any published one; a
	 * missing file is no failure. XW_ERR_BUSY: another process uses it.
	 */
	int (*remove)(struct xw_redo_store *s);
	/* Durably rename the published file, logging a warning. May be NULL. */
	int (*set_aside)(struct xw_redo_store *s);
	/*
	 * For stores in which each record has a name or place of its own; otherwise both are NULL.
	 * name_new: create() makes a record with a name for this filesystem and nonce. select: only
	 * for a directory; open() and remove() refer to the n-th file; XW_ERR_NOTFOUND (no
	 * message): there are not as many files.
	 */
	int (*select)(struct xw_redo_store *s, size_t n);
	int (*name_new)(struct xw_redo_store *s, const uint8_t uuid[16], uint64_t nonce);
	/*
	 * Only for a directory, otherwise NULL. decided: the image now has the superblock of the
	 * commit point. sweep: remove unpublished files that killed changes of a filesystem left.
	 */
	void (*decided)(struct xw_redo_store *s);
	void (*sweep)(struct xw_redo_store *s, const uint8_t uuid[16]);
	void (*close)(struct xw_redo_store *s); /* frees s, does not touch files */
};

#define XW_SUPER_NUMBER_UNIT 1024u /* bytes */

struct xw_redo_store {
	const struct xw_redo_store_ops *ops;
	const char *name; /* for messages: the file, or the directory if no file is chosen */
	/* A record in the image (inside.h): its location for the superblock; else 0. */
	uint64_t number; /* in units of XW_SUPER_NUMBER_UNIT */
	uint64_t size; /* likewise: size of the image in bytes without the record */
	uint64_t end; /* likewise: size of the image with a record after its end; else 0 */
	bool forged; /* likewise: open() failed because no change would place its record there */
	bool dry_run; /* likewise: create() only searches for space, and writes nothing */
	/* for a directory: */
	struct xw_redo_store *beside; /* store of a file beside the image; owned, or NULL */
	struct xw_redo_location place; /* place of the image, for the headers of its files */
	bool undecided; /* decided() was never called for the selected file */
};

/*
 * Create the store of an image that begins `offset` bytes into its file. redo_file NULL: beside the
 * file (its real path, symbolic links followed; IMAGE.xw-redo, or IMAGE@OFFSET.xw-redo); for a
 * block device that is XW_ERR_USAGE, described with the option to use, and *out is NULL. redo_file
 * may also be a directory, or end in a slash: a directory that is created for the first file. Does
 * not access files yet.
 */
int xw_redo_store_open(const char *image, const char *redo_file, uint64_t offset,
		       struct xw_diag *diag, struct xw_redo_store **out);
/* The same for a file, or none given: store.c. And for a directory: store_dir.c */
int xw_redo_store_file(const char *image, const char *redo_file, uint64_t offset,
		       struct xw_diag *diag, struct xw_redo_store **out);
int xw_redo_store_dir(const char *image, const char *dir, uint64_t offset, struct xw_diag *diag,
		      struct xw_redo_store **out);
/* Best effort, and not durable: give the file that s has published another name. */
void xw_redo_store_rename(struct xw_redo_store *s, const char *path);

/*
 * May the image be truncated after a change that gave it the size `left`? Not if its size differs:
 * then it is part of a larger file or device, or another process has extended it. Never if the file
 * may contain more than a filesystem.
 */
static inline bool xw_redo_may_cut(struct xw_dev *image, uint64_t left)
{
	struct xw_dev_stamp now;

	return !image->is_window && image->size == left && !xw_dev_stamp(image, &now) &&
	       now.size == left;
}

/*
 * Is the record after the end of an image of `size` bytes? Its removal then truncates the image to
 * that size if xw_redo_may_cut(), and zeroes the record otherwise.
 */
static inline bool xw_redo_is_after_end(const struct xw_redo_store *s, uint64_t size)
{
	return s->number && s->number * XW_SUPER_NUMBER_UNIT >= size;
}

static inline void xw_redo_store_close(struct xw_redo_store *s)
{
	if (s)
		s->ops->close(s);
}

#endif
