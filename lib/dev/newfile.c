/* SPDX-License-Identifier: MIT */
/*
 * Files without a name.
 *
 * Where the host has O_TMPFILE, and /proc, through which such a file can be linked without
 * privilege, the file has no name until it is published. Elsewhere, and for the moment before a
 * rename, it has a hidden one in the same directory. A kill leaves that file behind: garbage, but
 * no tool reads it.
 *
 * Invariant: without `replace` every way to the final name fails when that name exists (link(2) and
 * RENAME_NOREPLACE do), so nothing is ever overwritten.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/types.h"
#include "dev/file.h"
#include "dev/newfile.h"

#define LINKS_MAX 40 /* symbolic links followed, as in the kernel */
#define TRIES 100
#define NAME_SHOWN 200 /* bytes of the name used for the hidden one */
#define PROC_ROOM 40

struct xw_newfile {
	int fd; /* the same open file as that of the device */
	char *path; /* the final name; not a symbolic link */
	char *temp; /* the current name; NULL = none */
};

static size_t dir_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Resolve a symbolic link, whether or not its target exists. */
static int resolve_links(const char *path, char **out)
{
	auto_free char *at = strdup(path);

	for (int i = 0; i < LINKS_MAX && at; i++) {
		char target[PATH_MAX], *next;
		ssize_t n = readlink(at, target, sizeof(target) - 1);

		if (n < 0) {
			*out = steal(at);
			return 0;
		}
		target[n] = 0;
		if (asprintf(&next, "%.*s%s", target[0] == '/' ? 0 : (int)dir_len(at), at, target) <
		    0)
			return ENOMEM;
		free(at);
		at = next;
	}
	return at ? ELOOP : ENOMEM;
}

static void proc_path(char *buf, int fd)
{
	snprintf(buf, PROC_ROOM, "/proc/self/fd/%d", fd);
}

static int open_unnamed(const char *path)
{
	auto_free char *dir = NULL;
	char proc[PROC_ROOM];
	int fd;

	if (asprintf(&dir, "%.*s.", (int)dir_len(path), path) < 0)
		return -1;
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
	if (fd < 0)
		return -1;
	proc_path(proc, fd);
	if (!access(proc, F_OK))
		return fd;
	close(fd);
	return -1;
}

/* Choose a hidden name beside the final one: for a new file (*fd < 0) or for the open one. */
static int make_hidden_name(struct xw_newfile *f)
{
	const char *name = f->path + dir_len(f->path);

	for (int i = 0; i < TRIES; i++) {
		auto_free char *temp = NULL;
		char proc[PROC_ROOM];
		uint32_t salt;

		if (getrandom(&salt, sizeof(salt), 0) != sizeof(salt))
			return errno;
		if (asprintf(&temp, "%.*s.%.*s.%08x", (int)dir_len(f->path), f->path, NAME_SHOWN,
			     name, salt) < 0)
			return ENOMEM;
		if (f->fd >= 0) {
			proc_path(proc, f->fd);
			if (!linkat(AT_FDCWD, proc, AT_FDCWD, temp, AT_SYMLINK_FOLLOW)) {
				f->temp = steal(temp);
				return 0;
			}
		} else {
			f->fd = open(temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
			if (f->fd >= 0) {
				f->temp = steal(temp);
				return 0;
			}
		}
		if (errno != EEXIST)
			return errno;
	}
	return EEXIST;
}

static int open_file(struct xw_newfile *f, const char *path, unsigned flags, struct xw_diag *diag)
{
	int err = resolve_links(path, &f->path);

	if (err)
		return xw_dev_fail_open(diag, path, err);
	if (!f->path[dir_len(f->path)])
		return xw_dev_fail_open(diag, path, EISDIR);
	f->fd = open_unnamed(f->path);
	err = f->fd < 0 ? make_hidden_name(f) : 0;
	if (err)
		return xw_dev_fail_open(diag, path, err);
	if (flags & XW_DEV_DIRECT && fcntl(f->fd, F_SETFL, O_RDWR | O_DIRECT))
		return xw_fail(diag, XW_ERR_UNSUPPORTED, "%s: direct I/O is not supported", path);
	return 0;
}

int xw_newfile_open(const char *path, unsigned flags, struct xw_diag *diag, struct xw_dev **dev,
		    struct xw_newfile **out)
{
	struct xw_newfile *f = calloc(1, sizeof(*f));
	auto_fd int fd = -1;
	int rc;

	if (!f)
		return xw_fail_nomem(diag, "a new file");
	f->fd = -1;
	rc = open_file(f, path, flags, diag);
	if (!rc) {
		fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
		rc = fd < 0 ? xw_dev_fail_open(diag, path, errno)
			    : xw_dev_open_fd(fd, path, flags | XW_DEV_CREATE, diag, dev);
	}
	if (rc) {
		xw_newfile_close(f);
		return rc;
	}
	fd = -1;
	*out = f;
	return 0;
}

int xw_newfile_private(struct xw_newfile *f, struct xw_diag *diag)
{
	return fchmod(f->fd, 0600) ? xw_fail_errno(diag, XW_ERR_IO, errno,
						   "%s: cannot set permissions", f->path)
				   : 0;
}

/* Link to a name that must not exist. 0 or errno. */
static int link_name(struct xw_newfile *f)
{
	char proc[PROC_ROOM];

	if (!f->temp) {
		proc_path(proc, f->fd);
		return linkat(AT_FDCWD, proc, AT_FDCWD, f->path, AT_SYMLINK_FOLLOW) ? errno : 0;
	}
	if (renameat2(AT_FDCWD, f->temp, AT_FDCWD, f->path, RENAME_NOREPLACE)) {
		if (errno != EINVAL && errno != ENOSYS)
			return errno;
		if (link(f->temp, f->path))
			return errno;
		unlink(f->temp);
	}
	free(steal(f->temp));
	return 0;
}

/* Replace the existing file of that name. A mode with more than permission bits needs the owner. */
static int replace_existing(struct xw_newfile *f, const struct stat *old)
{
	bool owner;
	int err = 0;

	if (!S_ISREG(old->st_mode))
		return EEXIST;
	owner = !fchown(f->fd, old->st_uid, old->st_gid);
	if (fchmod(f->fd, old->st_mode & (owner ? 07777 : 0777)))
		return errno;
	if (!f->temp)
		err = make_hidden_name(f);
	if (!err && rename(f->temp, f->path))
		err = errno;
	if (!err)
		free(steal(f->temp));
	return err;
}

static int open_dir(const char *path, struct xw_diag *diag, int *fd)
{
	const char *slash = strrchr(path, '/');
	auto_free char *dir = strndup(slash ? path : ".", slash > path ? slash - path : 1);

	if (!dir)
		return xw_fail_nomem(diag, "the name of a directory");
	*fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *fd >= 0 ? 0
			: xw_fail_errno(diag, XW_ERR_IO, errno, "%s: cannot open the directory",
					dir);
}

static int flush_dir(int fd, const char *path, struct xw_diag *diag)
{
	/* EINVAL: a host filesystem that does not support it */
	if (fsync(fd) && errno != EINVAL)
		return xw_fail_errno(
			diag, XW_ERR_IO, errno,
			"%s: the file is complete, but its directory cannot be flushed", path);
	return 0;
}

int xw_newfile_sync_dir(const char *path, struct xw_diag *diag)
{
	auto_fd int fd = -1;
	int rc = open_dir(path, diag, &fd);

	return rc ? rc : flush_dir(fd, path, diag);
}

/* The directory is opened first: without a descriptor for it no file may appear. */
int xw_newfile_publish(struct xw_newfile *f, bool replace, struct xw_diag *diag)
{
	auto_fd int dir = -1;
	int err, rc = open_dir(f->path, diag, &dir);
	struct stat old;

	if (rc)
		return rc;
	err = replace && !lstat(f->path, &old) ? replace_existing(f, &old) : link_name(f);

	if (err == EEXIST)
		return xw_fail(diag, XW_ERR_IO,
			       "%s: created by another process in the meantime; left untouched",
			       f->path);
	if (err)
		return xw_fail_errno(diag, XW_ERR_IO, err,
				     "%s: cannot rename the file to its final name", f->path);
	return flush_dir(dir, f->path, diag);
}

const char *xw_newfile_name(const struct xw_newfile *f)
{
	return f->temp;
}

void xw_newfile_close(struct xw_newfile *f)
{
	if (!f)
		return;
	if (f->temp)
		unlink(f->temp);
	if (f->fd >= 0)
		close(f->fd);
	free(f->temp);
	free(f->path);
	free(f);
}
