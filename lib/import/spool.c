/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "import/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/write.h"

#define PIECE ((size_t)256 << 10)
#define USUAL_DIR "/var/tmp"

/* O_TMPFILE where the filesystem has it. */
static int open_nameless(const char *dir)
{
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char *name;

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	if (asprintf(&name, "%s/xw-spool.XXXXXX", dir) < 0)
		return -1;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	free(name);
	return fd;
}

static int copy(struct xw_feed *f, int fd, const char *dir, const char *name, struct xw_diag *diag,
		uint64_t *size)
{
	char *buf = malloc(PIECE);
	ssize_t n;
	int err = 0;

	if (!buf)
		return xw_fail_nomem(diag, "read buffers");
	for (*size = 0; (n = xw_feed_read(f, buf, PIECE)) > 0 && !err; *size += (uint64_t)n)
		err = xw_write_all(fd, buf, (size_t)n);
	free(buf);
	if (err)
		return xw_fail_errno(diag, err == ENOSPC ? XW_ERR_HOSTFULL : XW_ERR_IO, err,
				     "%s: its layers must be kept in a temporary file in %s "
				     "(TMPDIR=DIR: elsewhere)",
				     name, dir);
	return n < 0 ? xw_fail(diag, (int)n, "%s: %s", name, f->err) : 0;
}

int xw_spool(struct xw_feed *f, const char *dir, const char *name, struct xw_diag *diag, int *fd,
	     uint64_t *size)
{
	int rc;

	dir = dir && *dir ? dir : USUAL_DIR;
	*fd = open_nameless(dir);
	if (*fd < 0)
		return xw_fail_errno(diag, XW_ERR_IO, errno,
				     "%s: cannot make a temporary file in %s (TMPDIR=DIR: "
				     "elsewhere)",
				     name, dir);
	rc = copy(f, *fd, dir, name, diag, size);
	if (rc) {
		close(*fd);
		*fd = -1;
	}
	return rc;
}
