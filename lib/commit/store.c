/* SPDX-License-Identifier: MIT */
/*
 * The redo file as a file.
 *
 *   create:  NAME.tmp, with the image's owner and permissions: it holds pieces of the image
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
#include "base/same.h"
#include "commit/commit_internal.h"
#include "commit/store.h"
#include "dev/file.h"
#include "dev/newfile.h"

#define SUFFIX ".xw-redo"
#define TMP ".tmp"

struct file_store {
	struct xw_redo_store store;
	struct xw_diag *diag;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	char *path, *tmp;
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
		if (n > 0 && path == f->tmp)
			return 0;
	}
	return xw_fail(f->diag, XW_ERR_EXISTS,
		       "%s: is in the way, and no redo file: remove it or use --redo-file", path);
}

/*
 * By the descriptor: the name may be another file's by now, where others may write to the
 * directory. What cannot be the owner's is at least nobody else's.
 */
static int like_image(struct file_store *f, int fd)
{
	mode_t mode = f->mode;
	struct stat st;

	if (fchown(fd, f->uid, f->gid) && fchown(fd, (uid_t)-1, f->gid))
		mode &= ~(mode_t)(fstat(fd, &st) || st.st_gid != f->gid ? 070 : 0);
	if (fchmod(fd, mode))
		return xw_fail_errno(f->diag, XW_ERR_IO, errno, "%s: cannot set permissions",
				     f->tmp);
	return 0;
}

static int file_create(struct xw_redo_store *s, struct xw_dev **out)
{
	struct file_store *f = fs(s);
	auto_fd int fd = -1;
	int rc = check_ours(f, f->path);

	if (!rc)
		rc = check_ours(f, f->tmp);
	if (rc)
		return rc;
	if (unlink(f->tmp) && errno != ENOENT)
		return xw_fail_errno(f->diag, XW_ERR_IO, errno, "%s: cannot remove", f->tmp);
	fd = open(f->tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return xw_fail_errno(
			f->diag, errno == ENOSPC || errno == EDQUOT ? XW_ERR_HOSTFULL : XW_ERR_IO,
			errno, "%s: cannot create", f->tmp);
	rc = like_image(f, fd);
	if (!rc)
		rc = xw_dev_open_fd(fd, f->tmp, XW_DEV_CREATE | XW_DEV_EXCL, f->diag, out);
	if (!rc)
		fd = -1;
	return rc;
}

static int file_publish(struct xw_redo_store *s)
{
	struct file_store *f = fs(s);

	if (rename(f->tmp, f->path))
		return xw_fail_errno(f->diag, XW_ERR_IO, errno, "%s: cannot rename to %s", f->tmp,
				     f->path);
	return xw_newfile_sync_dir(f->path, f->diag);
}

static int file_open(struct xw_redo_store *s, struct xw_dev **out)
{
	struct file_store *f = fs(s);

	if (access(f->path, F_OK) && errno == ENOENT)
		return XW_ERR_NOTFOUND;
	return xw_dev_open_file(f->path, XW_DEV_RDONLY, f->diag, out);
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
	int rc = remove_one(f, f->tmp, &removed);

	if (!rc)
		rc = remove_one(f, f->path, &removed);
	return rc || !removed ? rc : xw_newfile_sync_dir(f->path, f->diag);
}

static void file_close(struct xw_redo_store *s)
{
	struct file_store *f = fs(s);

	free(f->path);
	free(f->tmp);
	free(f);
}

static const struct xw_redo_store_ops file_ops = {
	.create = file_create,
	.publish = file_publish,
	.open = file_open,
	.remove = file_remove,
	.close = file_close,
};

static char *join(const char *a, const char *b)
{
	char *s;

	return asprintf(&s, "%s%s", a, b) < 0 ? NULL : s;
}

/* Filesystems in one file (a disk with partitions) have a redo file each. */
static char *beside(const char *real, uint64_t offset)
{
	char *s;

	if (!offset)
		return join(real, SUFFIX);
	return asprintf(&s, "%s@%" PRIu64 SUFFIX, real, offset) < 0 ? NULL : s;
}

int xw_redo_store_open(const char *image, const char *redo_file, uint64_t offset,
		       struct xw_diag *diag, struct xw_redo_store **out)
{
	auto_free char *real = NULL;
	struct file_store *f;
	struct stat st, redo;

	*out = NULL;
	if (stat(image, &st))
		return xw_fail_errno(diag, errno == ENOENT ? XW_ERR_NOTFOUND : XW_ERR_IO, errno,
				     "%s: cannot open", image);
	if (redo_file && !stat(redo_file, &redo) && xw_same_file(&redo, &st))
		return xw_fail(diag, XW_ERR_INPUT, "--redo-file %s: is the image itself",
			       redo_file);
	if (!redo_file && S_ISBLK(st.st_mode))
		return xw_fail(diag, XW_ERR_USAGE,
			       "%s: is a block device: --redo-file must say where its redo file is",
			       image);
	real = redo_file ? NULL : realpath(image, NULL);
	if (!redo_file && !real)
		return xw_fail_errno(diag, XW_ERR_IO, errno, "%s: cannot resolve the path", image);
	f = calloc(1, sizeof(*f));
	if (!f)
		return xw_fail_nomem(diag, "a redo file's name");
	f->store.ops = &file_ops;
	f->diag = diag;
	f->mode = st.st_mode & 0777;
	f->uid = st.st_uid;
	f->gid = st.st_gid;
	f->path = redo_file ? strdup(redo_file) : beside(real, offset);
	f->tmp = f->path ? join(f->path, TMP) : NULL;
	f->store.name = f->path;
	if (!f->path || !f->tmp) {
		file_close(&f->store);
		return xw_fail_nomem(diag, "a redo file's name");
	}
	*out = &f->store;
	return 0;
}
