/* SPDX-License-Identifier: MIT */
/*
 * Opens files below a directory by openat2(2). Linux before 5.6 does not have this call, and
 * seccomp filters of older container engines block it, so xw_walk_beneath() resolves a path itself:
 * each component is opened with O_NOFOLLOW, and a symlink is replaced by its target.
 */
#include "config.h"

#include "import/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/vec.h"

#define LINKS_MAX 40u /* the kernel's limit (MAXSYMLINKS) */

struct walk {
	/* descriptors from the base, which is not owned, to the current directory */
	XW_VEC(int) dirs;
	char *rest; /* the unresolved rest of the path; owned */
	unsigned links;
};

static int current(const struct walk *w)
{
	return w->dirs.v[w->dirs.n - 1];
}

static int fail(int err)
{
	errno = err;
	return -1;
}

/* Follow a symlink: the unresolved path becomes TARGET/`rest`. */
static int follow(struct walk *w, const char *name, const char *rest)
{
	char target[PATH_MAX], *joined;
	const ssize_t n = readlinkat(current(w), name, target, sizeof(target));

	if (n < 0)
		return -1;
	if ((size_t)n == sizeof(target))
		return fail(ENAMETOOLONG);
	if (++w->links > LINKS_MAX)
		return fail(ELOOP);
	if (!n || target[0] == '/')
		return fail(n ? EXDEV : ENOENT);
	if (asprintf(&joined, "%.*s/%s", (int)n, target, rest) < 0)
		return fail(ENOMEM);
	free(w->rest);
	w->rest = joined;
	return 0;
}

static int leave(struct walk *w)
{
	if (w->dirs.n == 1)
		return fail(EXDEV);
	close(w->dirs.v[--w->dirs.n]);
	return 0;
}

static int enter(struct walk *w, const char *name)
{
	const int fd = openat(current(w), name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (xw_vec_push(&w->dirs, fd)) {
		close(fd);
		return fail(ENOMEM);
	}
	return 0;
}

/* Did openat() with O_NOFOLLOW fail because `name` is a symlink? Preserves errno. */
static bool is_link(const struct walk *w, const char *name)
{
	const int err = errno;
	char c;
	const bool is = (err == ELOOP || err == ENOTDIR) && readlinkat(current(w), name, &c, 1) > 0;

	errno = err;
	return is;
}

/* Resolve the next component: 1 to continue, 0 if *fd was opened, or -1 with errno. */
static int step(struct walk *w, int flags, int *fd)
{
	auto_free char *name = NULL;
	const char *at = w->rest + strspn(w->rest, "/");
	const size_t len = strcspn(at, "/");
	const char *rest = at + len + strspn(at + len, "/");
	int rc;

	name = strndup(*at ? at : ".", *at ? len : 1);
	if (!name)
		return fail(ENOMEM);
	if (!strcmp(name, ".."))
		rc = leave(w);
	else if (*rest)
		rc = enter(w, name);
	else
		rc = *fd = openat(current(w), name, flags | O_NOFOLLOW);
	if (rc < 0 && is_link(w, name))
		return follow(w, name, rest) ? -1 : 1;
	if (rc < 0)
		return -1;
	if (*fd >= 0)
		return 0;
	memmove(w->rest, rest, strlen(rest) + 1);
	return 1;
}

int xw_walk_beneath(int dir, const char *path, int flags)
{
	struct walk w = {.rest = strdup(path)};
	int more = w.rest && !xw_vec_push(&w.dirs, dir) ? 1 : fail(ENOMEM), fd = -1, err;

	if (more > 0 && *path == '/')
		more = fail(EXDEV);
	while (more > 0)
		more = step(&w, flags, &fd);
	err = errno;
	while (w.dirs.n > 1)
		close(w.dirs.v[--w.dirs.n]);
	xw_vec_free(&w.dirs);
	free(w.rest);
	errno = err;
	return fd;
}

int xw_open_beneath(int dir, const char *path, int flags)
{
	struct open_how how = {.flags = (unsigned)flags, .resolve = RESOLVE_BENEATH};
	const int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));

	/* EPERM: blocked by a seccomp filter; EAGAIN: a concurrent rename */
	if (fd >= 0 || (errno != ENOSYS && errno != EPERM && errno != EAGAIN))
		return fd;
	return xw_walk_beneath(dir, path, flags);
}
