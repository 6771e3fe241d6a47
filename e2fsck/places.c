// SPDX-License-Identifier: MIT
/*
 * Can there be files where -z and --redo-file want them? They are written when all is decided, and
 * that is late to learn that nobody can: every question was answered for nothing.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "commit/store.h"
#include "open.h"

enum { MAGIC_LEN = 8 };

static int check_dir(struct fsck *f, const char *option, const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	struct stat st;

	if (!slash)
		snprintf(dir, sizeof(dir), ".");
	else if (slash == path)
		snprintf(dir, sizeof(dir), "/");
	else if (snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path) >= PATH_MAX)
		return 0; /* whoever makes the file says so */
	if (!stat(dir, &st) && !access(dir, W_OK | X_OK))
		return 0;
	return xw_fail_errno(&f->diag, errno == ENOENT ? XW_ERR_NOTFOUND : XW_ERR_IO, errno,
			     "%s %s: cannot create it in %s", option, path, dir);
}

/* In what exists already, nothing but a file of the same kind, or an empty one, may be written. */
static int check_place(struct fsck *f, const char *option, const char *path, const char *magic)
{
	auto_fd int fd = -1;
	char head[MAGIC_LEN];
	struct stat st;
	ssize_t n;

	if (lstat(path, &st))
		return check_dir(f, option, path);
	if (stat(path, &st))
		return 0; /* as before: whoever opens it says what is wrong */
	if (!S_ISREG(st.st_mode))
		return xw_fail(&f->diag, XW_ERR_EXISTS, "%s %s: is in the way: no file", option,
			       path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	n = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);
	if (n <= 0 || (n == sizeof(head) && !memcmp(head, magic, sizeof(head))))
		return check_dir(f, option, path);
	return xw_fail(&f->diag, XW_ERR_EXISTS, "%s %s: is in the way: another file", option, path);
}

int fsck_check_places(struct fsck *f)
{
	int rc = 0;

	if (f->opts.mode == FSCK_NO)
		return 0;
	if (f->opts.undo_file)
		rc = check_place(f, "-z", f->opts.undo_file, "E2UNDO02");
	/* A redo file that was damaged while a change is pending is set aside. */
	if (!rc && f->opts.redo_file && !xw_edit_recovered(f->edit)->stuck)
		rc = check_place(f, "--redo-file", f->opts.redo_file, XW_REDO_MAGIC);
	return rc;
}
