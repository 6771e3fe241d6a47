// SPDX-License-Identifier: MIT
/*
 * Checks whether the files of -z and --redo-file can be created. They are written at the very end,
 * and a failure then would make all answers to questions useless.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "commit/store.h"
#include "open/open.h"

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
		return 0; /* reported when the file is created */
	if (!stat(dir, &st) && !access(dir, W_OK | X_OK))
		return 0;
	return xw_fail_errno(&f->ses.diag, errno == ENOENT ? XW_ERR_NOTFOUND : XW_ERR_IO, errno,
			     "%s %s: cannot create it in %s", option, path, dir);
}

bool fsck_can_make_in(const char *dir)
{
	auto_free char *path = strdup(dir);
	struct stat st;
	char *slash;

	while (path && stat(path, &st) && errno == ENOENT) {
		for (slash = path + strlen(path); slash > path && slash[-1] == '/'; slash--)
			slash[-1] = '\0';
		slash = strrchr(path, '/');
		if (!slash)
			return !access(".", W_OK | X_OK);
		slash[slash == path] = '\0';
	}
	return path && !access(path, W_OK | X_OK);
}

/* --redo-file DIR, or DIR/ */
static int check_redo_dir(struct fsck *f)
{
	const char *dir = f->opts.redo_file;

	if (fsck_can_make_in(dir))
		return 0;
	return xw_fail_errno(&f->ses.diag, errno == ENOENT ? XW_ERR_NOTFOUND : XW_ERR_IO, errno,
			     "--redo-file %s: cannot create files in it", dir);
}

static bool is_dir(const char *path)
{
	const size_t n = strlen(path);
	struct stat st;

	return (n && path[n - 1] == '/') || (!stat(path, &st) && S_ISDIR(st.st_mode));
}

/* An existing file may be overwritten only if it is empty or of the same kind. */
static int check_place(struct fsck *f, const char *option, const char *path, const char *magic)
{
	auto_fd int fd = -1;
	char head[MAGIC_LEN];
	struct stat st;
	ssize_t n;

	if (lstat(path, &st))
		return check_dir(f, option, path);
	if (stat(path, &st))
		return 0; /* reported when the file is opened */
	if (!S_ISREG(st.st_mode))
		return xw_fail(&f->ses.diag, XW_ERR_EXISTS,
			       "%s %s: exists and is not a regular file", option, path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	n = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);
	if (n <= 0 || (n == sizeof(head) && !memcmp(head, magic, sizeof(head))))
		return check_dir(f, option, path);
	return xw_fail(&f->ses.diag, XW_ERR_EXISTS, "%s %s: exists and is another kind of file",
		       option, path);
}

int fsck_check_places(struct fsck *f)
{
	int rc = 0;

	if (f->opts.mode == FSCK_NO)
		return 0;
	if (f->opts.undo_file)
		rc = check_place(f, "-z", f->opts.undo_file, "E2UNDO02");
	/* A redo file that was damaged while a change is pending is set aside. */
	if (!rc && f->opts.redo_file && is_dir(f->opts.redo_file))
		return check_redo_dir(f);
	if (!rc && f->opts.redo_file && !xw_edit_recovered(f->ses.edit)->stuck)
		rc = check_place(f, "--redo-file", f->opts.redo_file, XW_REDO_MAGIC);
	return rc;
}
