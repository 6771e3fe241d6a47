/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "export/extract_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "disk/dirent.h"
#include "export/paths.h"

#define DIRECTORY (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static bool has_default_acl(int fd)
{
	char proc[40];

	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	return getxattr(proc, "system.posix_acl_default", NULL, 0) > 0;
}

bool xw_extract_dirs_acl(const struct xw_extract_dirs *p)
{
	return p->n ? p->at[p->n - 1].acl : p->top_acl;
}

int xw_extract_dirs_open(struct xw_extract_dirs *p, const char *dir)
{
	*p = (struct xw_extract_dirs){.top = -1};
	if (mkdir(dir, 0777) && errno != EEXIST)
		return -errno;
	p->top = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (p->top < 0)
		return -errno;
	p->top_acl = has_default_acl(p->top);
	return 0;
}

static void leave(struct xw_extract_dirs *p)
{
	close(p->at[--p->n].fd);
	p->path.n = p->n ? p->at[p->n - 1].len : 0;
}

void xw_extract_dirs_close(struct xw_extract_dirs *p)
{
	while (p->n)
		leave(p);
	if (p->top >= 0)
		close(p->top);
	p->top = -1;
	xw_vec_free(&p->path);
}

/* Open the directory `name` (len bytes) of fd, creating it if necessary. */
static int enter(int fd, const char *name, size_t len)
{
	char text[256];
	int sub;

	if (len >= sizeof(text))
		return -ENAMETOOLONG;
	memcpy(text, name, len);
	text[len] = '\0';
	sub = openat(fd, text, DIRECTORY);
	if (sub < 0 && errno == ENOENT && (!mkdirat(fd, text, 0777) || errno == EEXIST))
		sub = openat(fd, text, DIRECTORY);
	return sub < 0 ? -errno : sub;
}

/* Push a level, which replaces the last level if there is no room. */
static int push(struct xw_extract_dirs *p, int fd, const char *path, size_t len)
{
	if (xw_vec_reserve(&p->path, len)) {
		close(fd);
		return -ENOMEM;
	}
	if (p->n == XW_EXTRACT_LEVELS)
		leave(p);
	memcpy(p->path.v, path, len);
	p->path.n = len;
	p->at[p->n++] = (struct xw_extract_dir){.len = len, .fd = fd, .acl = has_default_acl(fd)};
	return 0;
}

/* Has the path no empty, "." or ".." components? */
static bool leads_down(const char *path)
{
	for (size_t n;; path += n + 1) {
		n = strcspn(path, "/");
		if (!n || xw_name_is_dots(path, n))
			return false;
		if (!path[n])
			return true;
	}
}

int xw_extract_dirs_parent(struct xw_extract_dirs *p, const char *path, int *fd, const char **name)
{
	const char *slash = strrchr(path, '/');
	const size_t len = slash ? (size_t)(slash - path) : 0;

	if (*path && !leads_down(path))
		return -EINVAL;
	*name = slash ? slash + 1 : path;
	while (p->n && !xw_path_is_below(path, len, p->path.v, p->path.n))
		leave(p);
	*fd = p->n ? p->at[p->n - 1].fd : p->top;
	for (size_t at = p->path.n; at < len;) {
		const char *first = path + at + (at ? 1 : 0);
		const size_t n = strcspn(first, "/");
		int sub = enter(*fd, first, n), err;

		if (sub < 0)
			return sub;
		at = (size_t)(first - path) + n;
		err = push(p, sub, path, at);
		if (err)
			return err;
		*fd = sub;
	}
	return 0;
}
