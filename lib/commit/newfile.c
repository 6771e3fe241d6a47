/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "commit/newfile.h"

static char *dir_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

int xw_newfile_init(struct xw_newfile *f, const char *path, mode_t mode, struct xw_diag *diag)
{
	*f = (struct xw_newfile){.diag = diag, .mode = mode};
	f->path = strdup(path);
	f->dir = dir_of(path);
	if (asprintf(&f->tmp, "%s.tmp", path) < 0)
		f->tmp = NULL;
	if (f->path && f->tmp && f->dir)
		return 0;
	xw_newfile_free(f);
	return xw_fail_nomem(diag, "the name of a file");
}

int xw_newfile_create(struct xw_newfile *f, struct xw_dev **out)
{
	int rc;

	if (unlink(f->tmp) && errno != ENOENT)
		return xw_fail_errno(f->diag, XW_ERR_IO, errno, "%s: cannot remove", f->tmp);
	rc = xw_dev_open_file(f->tmp, XW_DEV_CREATE | XW_DEV_EXCL, f->diag, out);
	if (!rc && chmod(f->tmp, f->mode)) {
		xw_dev_close(*out);
		rc = xw_fail_errno(f->diag, XW_ERR_IO, errno, "%s: cannot set permissions", f->tmp);
	}
	return rc;
}

int xw_newfile_sync_dir(struct xw_newfile *f)
{
	auto_fd int fd = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* EINVAL: a host filesystem that has no such thing */
	if (fd < 0 || (fsync(fd) && errno != EINVAL))
		return xw_fail_errno(f->diag, XW_ERR_IO, errno, "%s: cannot flush the directory",
				     f->dir);
	return 0;
}

int xw_newfile_publish(struct xw_newfile *f)
{
	if (rename(f->tmp, f->path))
		return xw_fail_errno(f->diag, XW_ERR_IO, errno, "%s: cannot rename to %s", f->tmp,
				     f->path);
	return xw_newfile_sync_dir(f);
}

void xw_newfile_free(struct xw_newfile *f)
{
	free(f->path);
	free(f->tmp);
	free(f->dir);
	*f = (struct xw_newfile){.path = NULL};
}
