/* SPDX-License-Identifier: MIT */
/*
 * The file is opened first, then compared, and truncated last, so that the file behind the name
 * cannot change in between. A protected name that does not exist yet (a redo file) is compared with
 * the file just created, which is removed again.
 */
#include "config.h"

#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/same.h"

static bool is_same(const struct stat *a, const char *path)
{
	struct stat b;

	return path && !stat(path, &b) && xw_same_file(a, &b);
}

int cli_output_open(const char *path, const char *const keep[], size_t n, bool *created,
		    const char **kept)
{
	int err = 0, fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	const bool made = fd >= 0;
	struct stat st;

	*kept = NULL;
	if (created)
		*created = made;
	if (fd < 0 && errno == EEXIST) /* O_CREAT again, for a dangling symbolic link */
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st))
		err = errno;
	for (size_t i = 0; i < n && !err && !*kept; i++) {
		if (is_same(&st, keep[i]))
			*kept = keep[i];
	}
	if (!err && !*kept && S_ISREG(st.st_mode) && ftruncate(fd, 0))
		err = errno;
	if (!err && !*kept)
		return fd;
	close(fd);
	if (made)
		unlink(path);
	errno = err;
	return -1;
}

int cli_drawing_open(const char *path, const char *image, struct xw_diag *diag, FILE **out)
{
	const char *kept;
	auto_fd int fd = cli_output_open(path, &image, 1, NULL, &kept);

	if (kept)
		return xw_fail(diag, XW_ERR_USAGE, "%s: the drawing would overwrite the image",
			       path);
	*out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!*out)
		return xw_fail_errno(diag, XW_ERR_IO, errno, "%s", path);
	fd = -1;
	return 0;
}

int cli_drawing_close(FILE *f, int rc, const char *path, struct xw_diag *diag)
{
	if (!fclose(f) && !rc)
		return 0;
	return xw_fail_errno(diag, XW_ERR_IO, errno, "%s: cannot be written", path);
}
