/* SPDX-License-Identifier: MIT */
/*
 * The redo file as a file.
 *
 *   create:  NAME.tmp, with the image's owner and permissions: it contains parts of the image
 *   publish: rename to NAME, fsync of the directory
 *   remove:  unlink both, fsync of the directory
 *
 * Several images may use the same NAME (--redo-file), and be changed at the same time. The process
 * that creates a file locks it for as long as it exists, and replaces or removes a name only if it
 * holds the lock of the file with that name. So a change fails if another change uses the name, and
 * never loses its redo file to another change.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
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
#define ASIDE ".other"

struct file_store {
	struct xw_redo_store store;
	struct xw_diag *diag;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	char *path, *tmp;
	int fd; /* file from create(), locked; -1: none */
	struct stat known; /* the published file as found by open(); st_nlink 0: none */
};

static char *join(const char *a, const char *b)
{
	char *s;

	return asprintf(&s, "%s%s", a, b) < 0 ? NULL : s;
}

static struct file_store *fs(struct xw_redo_store *s)
{
	return (struct file_store *)s;
}

/* Is the file missing, or a redo file of ours (or a file whose first bytes were never written)? */
static int check_existing(struct file_store *f, const char *path)
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
		/* the space was allocated, but the contents were never written */
		if (n > 0 && path == f->tmp)
			return 0;
	}
	return xw_fail(f->diag, XW_ERR_EXISTS,
		       "%s: exists and is not a redo file: remove it or use --redo-file", path);
}

static bool has_name(const struct stat *file, const char *path)
{
	struct stat st;

	return !lstat(path, &st) && xw_same_file(&st, file);
}

/* Does `path` still refer to the file created by create()? */
static bool is_made(const struct file_store *f, const char *path)
{
	struct stat st;

	return f->fd >= 0 && !fstat(f->fd, &st) && has_name(&st, path);
}

static int fail_busy(const struct file_store *f, const char *path)
{
	return xw_fail(f->diag, XW_ERR_BUSY, "%s: in use by another process", path);
}

/*
 * Is the file locked by another process? As lock_fd() of devices: hosts without locks are accepted.
 */
static bool is_locked(int fd)
{
	int r;

	do
		r = flock(fd, LOCK_EX | LOCK_NB);
	while (r && errno == EINTR);
	return r && errno == EWOULDBLOCK;
}

/* Lock the file `path`; *fd is -1 if it does not exist. XW_ERR_BUSY */
static int lock_name(const struct file_store *f, const char *path, int *fd)
{
	struct stat st;

	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (*fd < 0)
		return errno == ENOENT ? 0 : xw_dev_fail_open(f->diag, path, errno);
	if (!is_locked(*fd) && !fstat(*fd, &st) && has_name(&st, path))
		return 0;
	close(*fd);
	*fd = -1;
	return fail_busy(f, path);
}

/*
 * Create an empty file NAME.tmp, and lock it. A file of an earlier run is never reused, since any
 * user could own it.
 */
static int make_tmp(struct file_store *f)
{
	auto_fd int fd = -1, left = -1;
	struct stat st;
	int rc = lock_name(f, f->tmp, &left);

	if (rc)
		return rc;
	if (left >= 0 && unlink(f->tmp) && errno != ENOENT)
		return xw_fail_errno(f->diag, XW_ERR_IO, errno, "%s: cannot remove", f->tmp);
	fd = open(f->tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 && errno == EEXIST)
		return fail_busy(f, f->tmp);
	if (fd < 0)
		return xw_fail_errno(f->diag, xw_err_of_errno(errno), errno, "%s: cannot create",
				     f->tmp);
	if (is_locked(fd) || fstat(fd, &st) || !has_name(&st, f->tmp))
		return fail_busy(f, f->tmp);
	f->fd = fd;
	fd = -1;
	return 0;
}

static void forget_made(struct file_store *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

/*
 * Give the file the owner and mode of the image. Uses the descriptor: the name may refer to another
 * file, if other users may write to the directory. If the owner cannot be set, the file is at least
 * not accessible to others.
 */
static int copy_owner(struct file_store *f, int fd)
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

static int file_create(struct xw_redo_store *s, uint64_t bytes, struct xw_dev **out)
{
	struct file_store *f = fs(s);
	auto_fd int fd = -1;
	int rc = check_existing(f, f->path);

	(void)bytes;
	if (!rc)
		rc = check_existing(f, f->tmp);
	if (rc)
		return rc;
	forget_made(f);
	rc = make_tmp(f);
	if (rc)
		return rc;
	rc = copy_owner(f, f->fd);
	fd = rc ? -1 : fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
	if (!rc && fd < 0)
		rc = xw_dev_fail_open(f->diag, f->tmp, errno);
	if (!rc)
		rc = xw_dev_open_fd(fd, f->tmp, XW_DEV_CREATE | XW_DEV_EXCL, f->diag, out);
	if (!rc)
		fd = -1;
	return rc;
}

/* Publish; an earlier redo file is replaced only if open() has found it. */
static int file_publish(struct xw_redo_store *s)
{
	struct file_store *f = fs(s);
	auto_fd int old = -1;
	struct stat st;
	int rc = lock_name(f, f->path, &old);

	if (rc)
		return rc;
	if (!is_made(f, f->tmp))
		return fail_busy(f, f->tmp);
	if (old >= 0 && (fstat(old, &st) || !f->known.st_nlink || !xw_same_file(&st, &f->known)))
		return xw_fail(f->diag, XW_ERR_EXISTS,
			       "%s: created by another process in the meantime; nothing was "
			       "committed",
			       f->path);
	if (rename(f->tmp, f->path))
		return xw_fail_errno(f->diag, XW_ERR_IO, errno, "%s: cannot rename to %s", f->tmp,
				     f->path);
	return xw_newfile_sync_dir(f->path, f->diag);
}

void xw_redo_store_rename(struct xw_redo_store *s, const char *path)
{
	struct file_store *f = fs(s);
	char *copy = strdup(path);

	if (!copy || !is_made(f, f->path) || rename(f->path, copy)) {
		free(copy);
		return;
	}
	free(f->path);
	s->name = f->path = copy;
}

static int file_open(struct xw_redo_store *s, struct xw_dev **out)
{
	struct file_store *f = fs(s);
	int rc;

	f->known.st_nlink = 0;
	if (is_made(f, f->path)) /* its lock would conflict with that of the device */
		forget_made(f);
	if (access(f->path, F_OK) && errno == ENOENT)
		return XW_ERR_NOTFOUND;
	rc = xw_dev_open_file(f->path, XW_DEV_RDONLY, f->diag, out);
	if (!rc && lstat(f->path, &f->known))
		f->known.st_nlink = 0;
	return rc;
}

static int unlink_one(const struct file_store *f, const char *path, bool *removed)
{
	if (!unlink(path))
		*removed = true;
	else if (errno != ENOENT)
		return xw_fail_errno(f->diag, XW_ERR_IO, errno, "%s: cannot remove", path);
	return 0;
}

/* Remove NAME.tmp, unless another process has locked it. */
static int remove_tmp(struct file_store *f, bool *removed)
{
	const struct xw_diag before = f->diag ? *f->diag : (struct xw_diag){0};
	auto_fd int fd = -1;
	int rc;

	if (is_made(f, f->tmp))
		return unlink_one(f, f->tmp, removed);
	rc = check_existing(f, f->tmp);
	if (!rc)
		rc = lock_name(f, f->tmp, &fd);
	if (rc == XW_ERR_BUSY && f->diag)
		*f->diag = before;
	if (rc || fd < 0)
		return rc == XW_ERR_BUSY ? 0 : rc;
	return unlink_one(f, f->tmp, removed);
}

/* Remove the file that this store created or opened; if neither, any redo file. */
static int remove_published(struct file_store *f, bool *removed)
{
	auto_fd int fd = -1;
	struct stat st;
	int rc;

	if (is_made(f, f->path))
		return unlink_one(f, f->path, removed);
	rc = check_existing(f, f->path);
	if (!rc)
		rc = lock_name(f, f->path, &fd);
	if (rc || fd < 0)
		return rc;
	if (f->known.st_nlink ? fstat(fd, &st) || !xw_same_file(&st, &f->known) : f->fd >= 0)
		return 0;
	return unlink_one(f, f->path, removed);
}

static int file_remove(struct xw_redo_store *s)
{
	struct file_store *f = fs(s);
	bool removed = false;
	int rc = remove_tmp(f, &removed);

	if (!rc)
		rc = remove_published(f, &removed);
	if (!rc) {
		forget_made(f);
		f->known.st_nlink = 0;
	}
	return rc || !removed ? rc : xw_newfile_sync_dir(f->path, f->diag);
}

/* Rename the file of another image to a name that no tool looks for, keeping its contents. */
static int file_set_aside(struct xw_redo_store *s)
{
	struct file_store *f = fs(s);
	auto_free char *aside = join(f->path, ASIDE);
	auto_fd int fd = -1;
	int rc = aside ? lock_name(f, f->path, &fd) : xw_fail_nomem(f->diag, "a redo file's name");

	if (rc || fd < 0)
		return rc;
	/* link(): does not replace an existing file */
	if (link(f->path, aside) || unlink(f->path))
		return xw_fail_errno(f->diag, XW_ERR_IO, errno, "%s: cannot rename to %s", f->path,
				     aside);
	f->known.st_nlink = 0;
	rc = xw_newfile_sync_dir(f->path, f->diag);
	if (!rc)
		xw_log(f->diag, XW_LOG_WARN, "%s: redo file of another filesystem; renamed to %s",
		       f->path, aside);
	return rc;
}

static void file_close(struct xw_redo_store *s)
{
	struct file_store *f = fs(s);

	forget_made(f);
	free(f->path);
	free(f->tmp);
	free(f);
}

static const struct xw_redo_store_ops file_ops = {
	.create = file_create,
	.publish = file_publish,
	.open = file_open,
	.remove = file_remove,
	.set_aside = file_set_aside,
	.close = file_close,
};

/* Each filesystem of a file with several (a disk with partitions) has its own redo file. */
static char *path_beside(const char *real, uint64_t offset)
{
	char *s;

	if (!offset)
		return join(real, SUFFIX);
	return asprintf(&s, "%s@%" PRIu64 SUFFIX, real, offset) < 0 ? NULL : s;
}

int xw_redo_store_file(const char *image, const char *redo_file, uint64_t offset,
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
	f->fd = -1;
	f->diag = diag;
	f->mode = st.st_mode & 0777;
	f->uid = st.st_uid;
	f->gid = st.st_gid;
	f->path = redo_file ? strdup(redo_file) : path_beside(real, offset);
	f->tmp = f->path ? join(f->path, TMP) : NULL;
	f->store.name = f->path;
	if (!f->path || !f->tmp) {
		file_close(&f->store);
		return xw_fail_nomem(diag, "a redo file's name");
	}
	*out = &f->store;
	return 0;
}
