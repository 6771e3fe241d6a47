/* SPDX-License-Identifier: MIT */
/*
 * The open directories are some of the ancestors of the last path. When a new one needs a slot, the
 * one is closed whose neighbors are closest to each other in relation to their distance from the
 * new one: those left are dense near it and sparse near the top. A walk back to the top, one level
 * at a time, as when directories get their final attributes, so opens each level a few times at
 * most, with a bounded number of descriptors and without "..", which another process could move.
 *
 * Files are extracted in the order of their data, and consecutive ones may be far apart in a deep
 * tree. The last few directories that were looked up stay open as well.
 */
#include "config.h"

#include "read/extract_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/bytes.h"
#include "disk/dirent.h"

#define DIRECTORY (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define FAR 8u /* levels */

bool xw_extract_dirs_acl(struct xw_extract_dirs *p)
{
	char proc[40];

	if (!p->acl_known) {
		snprintf(proc, sizeof(proc), "/proc/self/fd/%d", p->last);
		p->acl = getxattr(proc, "system.posix_acl_default", NULL, 0) > 0;
		p->acl_known = true;
	}
	return p->acl;
}

/* How many directories may be open: a part of the descriptors that this process may have. */
static unsigned levels_allowed(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur / 4 >= XW_EXTRACT_LEVELS)
		return XW_EXTRACT_LEVELS;
	return limit.rlim_cur < 8 ? 2 : (unsigned)limit.rlim_cur / 4;
}

int xw_extract_dirs_open(struct xw_extract_dirs *p, const char *dir)
{
	*p = (struct xw_extract_dirs){.top = -1, .last = -1, .max = levels_allowed()};
	if (mkdir(dir, 0777) && errno != EEXIST)
		return -errno;
	p->top = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return p->top < 0 ? -errno : 0;
}

static void forget_recent(struct xw_extract_dirs *p, unsigned i)
{
	close(p->recent[i].fd);
	xw_vec_free(&p->recent[i].path);
	p->recent[i] = p->recent[--p->n_recent];
}

void xw_extract_dirs_close(struct xw_extract_dirs *p)
{
	while (p->n)
		close(p->at[--p->n].fd);
	while (p->n_recent)
		forget_recent(p, p->n_recent - 1);
	if (p->top >= 0)
		close(p->top);
	p->top = -1;
	xw_vec_free(&p->path);
}

/* Close the open directory that is missed least, except the last. False: there is none. */
static bool thin_out(struct xw_extract_dirs *p)
{
	double least = 0;
	unsigned best = p->n;

	for (unsigned i = 0; i + 1 < p->n; i++) {
		const size_t before = i ? p->at[i - 1].depth : 0, here = p->at[i].depth;
		const double gap = (double)(p->at[i + 1].depth - before) /
				   (double)(p->at[p->n - 1].depth - here + 1);

		if (best == p->n || gap < least) {
			least = gap;
			best = i;
		}
	}
	if (best == p->n)
		return false;
	close(p->at[best].fd);
	p->n--;
	memmove(&p->at[best], &p->at[best + 1], (p->n - best) * sizeof(*p->at));
	return true;
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

/*
 * Have the components from path[at] on, each with the slash or the end after it, names other than
 * "." and ".."?
 */
static bool leads_down(const char *path, size_t at, size_t end)
{
	for (size_t n; at < end; at += n + 1) {
		n = strcspn(path + at, "/");
		if (!n || xw_name_is_dots(path + at, n))
			return false;
	}
	return true;
}

/* The descriptor of the directory if it was looked up recently, else -1. */
static int find_recent(struct xw_extract_dirs *p, const char *dir, size_t len)
{
	for (unsigned i = 0; i < p->n_recent; i++) {
		const struct xw_extract_recent *r = &p->recent[i];

		if (r->path.n == len && !memcmp(r->path.v, dir, len))
			return r->fd;
	}
	return -1;
}

/*
 * Keep the directory of the last lookup, which is to be left for one that is far away. Only a
 * lookup from far away pays for a failure to do so.
 */
static void keep_recent(struct xw_extract_dirs *p)
{
	struct xw_extract_recent r = {.fd = -1};

	if (p->max < XW_EXTRACT_LEVELS || !p->n || p->at[p->n - 1].len != p->path.n ||
	    find_recent(p, p->path.v, p->path.n) >= 0 || xw_vec_reserve(&r.path, p->path.n))
		return;
	memcpy(r.path.v, p->path.v, p->path.n);
	r.path.n = p->path.n;
	r.fd = fcntl(p->at[p->n - 1].fd, F_DUPFD_CLOEXEC, 0);
	if (r.fd < 0) {
		xw_vec_free(&r.path);
		return;
	}
	if (p->n_recent == XW_EXTRACT_RECENT)
		forget_recent(p, p->turn++ % XW_EXTRACT_RECENT);
	p->recent[p->n_recent++] = r;
}

/* Open the next level, `name`, of the last open directory. Its path has len bytes. */
static int push(struct xw_extract_dirs *p, const char *name, size_t name_len, size_t len)
{
	const struct xw_extract_dir up =
		p->n ? p->at[p->n - 1] : (struct xw_extract_dir){.fd = p->top};
	int sub;

	while (p->n >= p->max && thin_out(p))
		;
	do
		sub = enter(up.fd, name, name_len);
	while ((sub == -EMFILE || sub == -ENFILE) && thin_out(p));
	if (sub >= 0)
		p->at[p->n++] = (struct xw_extract_dir){len, up.depth + 1, sub};
	return XW_MIN(sub, 0);
}

/* How many of the open directories are ancestors of the first len bytes of `path`, or that? */
static unsigned count_ancestors(const struct xw_extract_dirs *p, const char *path, size_t len)
{
	const size_t common = xw_same_start(path, p->path.v, XW_MIN(len, p->path.n));
	unsigned n = p->n;

	while (n && (p->at[n - 1].len > common ||
		     (p->at[n - 1].len < len && path[p->at[n - 1].len] != '/')))
		n--;
	return n;
}

/* Make the directory that the first len bytes of `path` name the last of the open ones. */
static int descend(struct xw_extract_dirs *p, const char *path, size_t len)
{
	const unsigned keep = count_ancestors(p, path, len);
	const struct xw_extract_dir from = keep ? p->at[keep - 1] : (struct xw_extract_dir){0};
	size_t at = keep ? from.len + 1 : 0;
	int err = 0;

	if (!leads_down(path, at, len ? len + 1 : 0))
		return -EINVAL;
	if (xw_vec_reserve(&p->path, len))
		return -ENOMEM;
	if (p->n && p->at[p->n - 1].depth > from.depth + FAR)
		keep_recent(p);
	p->acl_known &= p->n == keep && from.len == len;
	while (p->n > keep)
		close(p->at[--p->n].fd);
	memcpy(p->path.v + from.len, path + from.len, len - from.len);
	for (size_t n; at < len && !err; at += n + 1) {
		n = strcspn(path + at, "/");
		err = push(p, path + at, n, at + n);
	}
	p->path.n = p->n ? p->at[p->n - 1].len : 0;
	return err;
}

int xw_extract_dirs_parent(struct xw_extract_dirs *p, const char *path, size_t path_len, int *fd,
			   const char **name)
{
	const char *slash = memrchr(path, '/', path_len);
	const size_t len = slash ? (size_t)(slash - path) : 0;
	int rc, found;

	*name = slash ? slash + 1 : path;
	if (*path && (slash == path || !leads_down(*name, 0, strlen(*name) + 1)))
		return -EINVAL;
	found = len ? find_recent(p, path, len) : p->top;
	if (found < 0) {
		rc = descend(p, path, len);
		if (rc)
			return rc;
		found = p->n ? p->at[p->n - 1].fd : p->top;
	}
	p->acl_known &= found == p->last;
	*fd = p->last = found;
	return 0;
}
