/* SPDX-License-Identifier: MIT */
/*
 * The redo file as a file.
 *
 *   create:  NAME.tmp, with the image's permissions: it holds pieces of the image
 *   publish: rename to NAME, fsync of the directory
 *   remove:  unlink of both, fsync of the directory
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "commit/newfile.h"
#include "commit/store.h"

#define SUFFIX ".xw-redo"

struct file_store {
	struct xw_redo_store store;
	struct xw_newfile file;
	struct xw_diag *diag;
};

static struct file_store *fs(struct xw_redo_store *s)
{
	return (struct file_store *)s;
}

/* Is it absent, or a redo file of ours (or one that never got its first bytes)? */
static int check_ours(struct file_store *f, const char *path)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char magic[XW_REDO_MAGIC_LEN];
	struct stat st;
	ssize_t n;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode)) {
		n = pread(fd, magic, sizeof(magic), 0);
		if (n == 0 || (n == sizeof(magic) && !memcmp(magic, XW_REDO_MAGIC, sizeof(magic))))
			return 0;
		/* space was reserved, contents never arrived */
		if (n > 0 && path == f->file.tmp)
			return 0;
	}
	return xw_fail(f->diag, XW_ERR_EXISTS, "%s: is in the way, and no redo file", path);
}

static int file_create(struct xw_redo_store *s, struct xw_dev **out)
{
	struct file_store *f = fs(s);
	int rc = check_ours(f, f->file.path);

	if (!rc)
		rc = check_ours(f, f->file.tmp);
	return rc ? rc : xw_newfile_create(&f->file, out);
}

static int file_publish(struct xw_redo_store *s)
{
	return xw_newfile_publish(&fs(s)->file);
}

static int file_open(struct xw_redo_store *s, struct xw_dev **out)
{
	struct file_store *f = fs(s);

	if (access(f->file.path, F_OK) && errno == ENOENT)
		return XW_ERR_NOTFOUND;
	return xw_dev_open_file(f->file.path, XW_DEV_RDONLY, f->diag, out);
}

static int remove_one(struct file_store *f, const char *path, bool *removed)
{
	int rc = check_ours(f, path);

	if (rc)
		return rc;
	if (!unlink(path))
		*removed = true;
	else if (errno != ENOENT)
		return xw_fail_errno(f->diag, XW_ERR_IO, errno, "%s: cannot remove", path);
	return 0;
}

static int file_remove(struct xw_redo_store *s)
{
	struct file_store *f = fs(s);
	bool removed = false;
	int rc = remove_one(f, f->file.tmp, &removed);

	if (!rc)
		rc = remove_one(f, f->file.path, &removed);
	return rc || !removed ? rc : xw_newfile_sync_dir(&f->file);
}

static void file_close(struct xw_redo_store *s)
{
	struct file_store *f = fs(s);

	xw_newfile_free(&f->file);
	free(f);
}

static const struct xw_redo_store_ops file_ops = {
	.create = file_create,
	.publish = file_publish,
	.open = file_open,
	.remove = file_remove,
	.close = file_close,
};

/* Filesystems in one file (a disk with partitions) have a redo file each. */
static char *beside(const char *real, uint64_t offset)
{
	char at[24] = "", *s;

	if (offset)
		snprintf(at, sizeof(at), "@%" PRIu64, offset);
	return asprintf(&s, "%s%s" SUFFIX, real, at) < 0 ? NULL : s;
}

int xw_redo_store_open(const char *image, const char *redo_file, uint64_t offset,
		       struct xw_diag *diag, struct xw_redo_store **out)
{
	auto_free char *real = NULL, *path = NULL;
	struct file_store *f;
	struct stat st;
	int rc;

	*out = NULL;
	if (stat(image, &st))
		return xw_fail_errno(diag, errno == ENOENT ? XW_ERR_NOTFOUND : XW_ERR_IO, errno,
				     "%s: cannot open", image);
	if (!redo_file && S_ISBLK(st.st_mode))
		return xw_fail(diag, XW_ERR_USAGE,
			       "%s: is a block device: --redo-file must say where its redo file is",
			       image);
	real = redo_file ? NULL : realpath(image, NULL);
	if (!redo_file && !real)
		return xw_fail_errno(diag, XW_ERR_IO, errno, "%s: cannot resolve the path", image);
	f = calloc(1, sizeof(*f));
	path = redo_file ? strdup(redo_file) : beside(real, offset);
	if (!f || !path) {
		free(f);
		return xw_fail_nomem(diag, "a redo file's name");
	}
	f->store.ops = &file_ops;
	f->diag = diag;
	rc = xw_newfile_init(&f->file, path, st.st_mode & 0777, diag);
	if (rc) {
		free(f);
		return rc;
	}
	f->store.name = f->file.path;
	*out = &f->store;
	return 0;
}
