/* SPDX-License-Identifier: MIT */
/*
 * The directory source: a depth-first walk in byte order of names, each directory before its
 * contents; the root is the entry ".".
 *
 * Every file is opened by one component relative to the descriptor of its directory and never
 * through a symlink, so that paths of any length work and a name replaced during the walk cannot
 * lead out of the tree. Memory is one sorted list of names for each level of the current path.
 *
 * Invariants:
 * 1. levels[0 .. n) are the directories from the root to the current one. The deepest OPEN_LEVELS
 *    have an open descriptor; a higher one is reopened through ".." of its child when the walk
 *    returns to it, and must then be the same directory.
 * 2. path is that of the current entry; its first path_len bytes are those of the level.
 * 3. A regular file is open (file >= 0) from its entry until the next one. Its size is that of the
 *    entry: a shorter file is a failure, additional bytes are ignored with a warning.
 * 4. After a failure every call returns the same code.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/vec.h"
#include "import/dir.h"
#include "tree/model.h"

#define OPEN_LEVELS 32
#define READ_BYTES ((size_t)1 << 20)
#define SHOWN 400 /* maximum length of a path in a message, in bytes */

struct level {
	int fd; /* -1: currently closed */
	dev_t dev;
	ino_t ino;
	XW_VEC(const char *) names;
	struct xw_arena text;
	size_t next;
	size_t path_len;
};

struct dir {
	struct xw_source src;
	struct xw_source_opts o;
	int root; /* -1 once it was visited */
	dev_t root_dev;
	int failed;
	bool warned_proc;
	XW_VEC(struct level) levels;
	XW_VEC(char) path;
	XW_VEC(char) link;
	struct xw_entry e;
	struct xw_dir_xattrs xattrs;
	struct xw_dir_links *links;

	int file;
	uint64_t off; /* offset in the file, or within segment seg */
	size_t seg;
	bool checked; /* the file size was compared after reading */
	XW_VEC(struct xw_segment) segs;
	unsigned char *buf;
	uint64_t consumed;
};

static struct xw_slice path_of(const struct dir *d)
{
	return (struct xw_slice){d->path.v, d->path.n};
}

/* The current path for a message, or the end of a long one. */
static struct xw_slice shown(const struct dir *d)
{
	size_t n = XW_MIN(d->path.n, SHOWN);

	return (struct xw_slice){d->path.n ? d->path.v + d->path.n - n : "", n};
}

static int dir_fail(struct dir *d, int err, const char *what)
{
	struct xw_slice p = shown(d);
	const char *cut = p.len < d->path.n ? "..." : "";

	d->failed = err == ENOMEM ? XW_ERR_NOMEM : XW_ERR_IO;
	if (err) /* xw_fail_errno() keeps the reason, however long the path is */
		return xw_fail_errno(d->src.diag, d->failed, err, "%s/%s%.*s: %s", d->src.name, cut,
				     (int)p.len, p.p, what);
	return xw_fail(d->src.diag, d->failed, "%s/%s%.*s: %s", d->src.name, cut, (int)p.len, p.p,
		       what);
}

static void dir_warn(struct dir *d, const char *what)
{
	struct xw_slice p = shown(d);

	xw_log(d->src.diag, XW_LOG_WARN, "%s/%s%.*s: %s", d->src.name,
	       p.len < d->path.n ? "..." : "", (int)p.len, p.p, what);
}

/* Open without changing the access time. O_NOATIME is permitted only to the owner and root. */
static int open_quiet(int at, const char *name, int flags)
{
	int fd;

	flags |= O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;
	fd = openat(at, name, flags | O_NOATIME);
	return fd < 0 && errno == EPERM ? openat(at, name, flags) : fd;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Read and sort all names of l->fd: 0 or an errno value. */
static int read_names(struct level *l)
{
	int fd = fcntl(l->fd, F_DUPFD_CLOEXEC, 0), err = 0;
	DIR *dp = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *de;

	if (!dp) {
		err = errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	rewinddir(dp); /* the descriptor of standard input may be at any offset */
	while (!err && (errno = 0, de = readdir(dp))) {
		const char *name;

		if (!strcmp(de->d_name, ".") || !strcmp(de->d_name, ".."))
			continue;
		name = xw_arena_dup(&l->text, de->d_name, strlen(de->d_name) + 1);
		if (!name || xw_vec_push(&l->names, name))
			err = ENOMEM;
	}
	if (!err)
		err = errno;
	closedir(dp);
	if (l->names.n)
		qsort(l->names.v, l->names.n, sizeof(*l->names.v), by_bytes);
	return err;
}

static void free_level(struct level *l)
{
	if (l->fd >= 0)
		close(l->fd);
	xw_vec_free(&l->names);
	xw_arena_free(&l->text);
}

/* Add the directory fd, with status st and path d->path, as the deepest level. Owns fd. */
static int push_level(struct dir *d, int fd, const struct stat *st)
{
	struct level l = {.fd = fd, .dev = st->st_dev, .ino = st->st_ino};
	int err = read_names(&l);

	if (!err && xw_vec_push(&d->levels, l))
		err = ENOMEM;
	if (err) {
		free_level(&l);
		return dir_fail(d, err, "cannot read the directory");
	}
	d->levels.v[d->levels.n - 1].path_len = d->levels.n > 1 ? d->path.n : 0;
	if (d->levels.n > OPEN_LEVELS) {
		struct level *up = &d->levels.v[d->levels.n - 1 - OPEN_LEVELS];

		if (up->fd >= 0)
			close(up->fd);
		up->fd = -1;
	}
	return 0;
}

static int pop_level(struct dir *d)
{
	struct level *l = &d->levels.v[d->levels.n - 1];
	struct level *up = d->levels.n > 1 ? l - 1 : NULL;
	struct stat st;

	d->path.n = l->path_len;
	if (up && up->fd < 0) {
		up->fd = open_quiet(l->fd, "..", O_DIRECTORY);
		if (up->fd < 0 || fstat(up->fd, &st) < 0)
			return dir_fail(d, errno, "cannot reopen the parent directory");
		if (st.st_dev != up->dev || st.st_ino != up->ino)
			return dir_fail(d, 0, "was moved while the tree was read");
	}
	free_level(l);
	d->levels.n--;
	return 0;
}

static int set_path(struct dir *d, size_t keep, const char *name)
{
	size_t n = strlen(name);

	if (xw_vec_reserve(&d->path, keep + n + 2))
		return dir_fail(d, ENOMEM, "path");
	if (keep)
		d->path.v[keep++] = '/';
	memcpy(d->path.v + keep, name, n + 1);
	d->path.n = keep + n;
	return 0;
}

static void set_stat(struct dir *d, const struct stat *st, enum xw_etype type)
{
	d->e.path = path_of(d);
	d->e.type = type;
	d->e.single = st->st_nlink < 2;
	d->e.mode = st->st_mode & 07777;
	d->e.uid = st->st_uid;
	d->e.gid = st->st_gid;
	d->e.mtime = (struct xw_time){st->st_mtim.tv_sec, (uint32_t)st->st_mtim.tv_nsec};
	d->e.atime = (struct xw_time){st->st_atim.tv_sec, (uint32_t)st->st_atim.tv_nsec};
	d->e.has_atime = !d->o.no_atime;
	d->e.ctime = (struct xw_time){st->st_ctim.tv_sec, (uint32_t)st->st_ctim.tv_nsec};
	d->e.has_ctime = true;
	d->e.size = type == XW_ET_REG ? (uint64_t)st->st_size : 0;
	if (xw_entry_is_device(&d->e)) {
		d->e.dev_major = major(st->st_rdev);
		d->e.dev_minor = minor(st->st_rdev);
	}
}

/*
 * The chattr(1) flags that every ext4 supports, if the host filesystem has flags. FS_IOC_GETFLAGS
 * returns them in the on-disk format.
 */
static void set_chattr(struct dir *d, int fd)
{
	static const struct {
		unsigned host;
		uint16_t node;
	} flags[] = {
		{FS_IMMUTABLE_FL, XW_BN_IMMUTABLE}, {FS_APPEND_FL, XW_BN_APPEND},
		{FS_NODUMP_FL, XW_BN_NODUMP},       {FS_NOATIME_FL, XW_BN_NOATIME},
		{FS_SYNC_FL, XW_BN_SYNC},
	};
	const bool dir = d->e.type == XW_ET_DIR;
	int host = 0; /* the kernel stores an int, not a long */

	if (ioctl(fd, FS_IOC_GETFLAGS, &host) < 0)
		return;
	for (size_t i = 0; i < XW_ARRAY_SIZE(flags); i++)
		d->e.chattr |= (unsigned)host & flags[i].host ? flags[i].node : 0;
	if ((unsigned)host & (dir ? FS_DIRSYNC_FL : FS_JOURNAL_DATA_FL))
		d->e.chattr |= XW_BN_BY_TYPE;
}

static int set_xattrs(struct dir *d, int fd, const char *name)
{
	const char *what;
	int err = xw_dir_xattrs_read(&d->xattrs, fd, name, &what);

	if (err == ENOENT && name && access("/proc/self/fd", F_OK) != 0) {
		if (!d->warned_proc)
			dir_warn(d, "no /proc: extended attributes of symlinks and devices are not "
				    "read");
		d->warned_proc = true;
		return 0;
	}
	if (err)
		return dir_fail(d, err,
				*what ? "cannot read an extended attribute"
				      : "cannot list extended attributes");
	d->e.xattrs = d->xattrs.v;
	d->e.n_xattrs = d->xattrs.n;
	return 0;
}

/* Find the data segments of a sparse file, if the host filesystem reports holes. */
static int map_holes(struct dir *d, const struct stat *st)
{
	off_t at = 0, hole;

	d->segs.n = 0;
	if (st->st_size / 512 <= st->st_blocks)
		return 0;
	for (; at < st->st_size; at = hole) {
		at = lseek(d->file, at, SEEK_DATA);
		if (at < 0 && errno == ENXIO)
			break;
		hole = at < 0 ? -1 : lseek(d->file, at, SEEK_HOLE);
		if (hole <= at)
			return 0;
		hole = XW_MIN(hole, st->st_size);
		if (at >= hole)
			break;
		if (xw_vec_push(&d->segs,
				((struct xw_segment){(uint64_t)at, (uint64_t)(hole - at)})))
			return dir_fail(d, ENOMEM, "sparse map");
	}
	d->e.sparse = true;
	d->e.segs = d->segs.v;
	d->e.n_segs = d->segs.n;
	return 0;
}

static int visit_file(struct dir *d, int at, const char *name)
{
	struct stat st;

	/* O_NONBLOCK: the file may have been replaced by a FIFO */
	d->file = open_quiet(at, name, O_NONBLOCK);
	if (d->file < 0 || fstat(d->file, &st) < 0)
		return dir_fail(d, errno, "cannot open");
	if (!S_ISREG(st.st_mode))
		return dir_fail(d, 0, "was replaced while the tree was read");
	set_stat(d, &st, XW_ET_REG);
	set_chattr(d, d->file);
	d->off = 0;
	d->seg = 0;
	d->checked = false;
	if (map_holes(d, &st) || set_xattrs(d, d->file, NULL))
		return d->failed;
	return 1;
}

/* Make fd, the directory at d->path, the entry and the deepest level. Owns fd. */
static int visit_dir(struct dir *d, int fd)
{
	struct stat st;
	bool is_mount;

	if (fstat(fd, &st) < 0) {
		dir_fail(d, errno, "cannot stat");
		close(fd);
		return d->failed;
	}
	set_stat(d, &st, XW_ET_DIR);
	set_chattr(d, fd);
	if (!d->levels.n)
		d->root_dev = st.st_dev;
	is_mount = d->o.one_file_system && st.st_dev != d->root_dev;
	if (!set_xattrs(d, fd, NULL) && !is_mount)
		return push_level(d, fd, &st) ? d->failed : 1;
	close(fd);
	return d->failed ? d->failed : 1;
}

static int read_link(struct dir *d, int at, const char *name, const struct stat *st)
{
	size_t room = (size_t)st->st_size + 1;

	for (;; room *= 2) {
		ssize_t n;

		if (xw_vec_reserve(&d->link, XW_MAX(room, 64)))
			return dir_fail(d, ENOMEM, "symlink");
		n = readlinkat(at, name, d->link.v, d->link.cap);
		if (n <= 0)
			return dir_fail(d, n ? errno : EINVAL, "cannot read the symlink");
		if ((size_t)n < d->link.cap) {
			d->e.link = (struct xw_slice){d->link.v, (size_t)n};
			return 0;
		}
	}
}

/* Is the file one that must not be read, like the image itself? */
static bool is_skipped(const struct dir *d, const struct stat *st)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(d->o.skip); i++)
		if (d->o.skip[i].ino && st->st_ino == d->o.skip[i].ino &&
		    st->st_dev == d->o.skip[i].dev)
			return true;
	return false;
}

/*
 * Skip a file that the user cannot read, with a warning. Checked before a file is opened, since
 * additional hard links refer to the first name that was not skipped.
 */
static bool is_unreadable(struct dir *d, int at, const char *name, const struct stat *st)
{
	const int want = S_ISDIR(st->st_mode) ? R_OK | X_OK : R_OK;

	if (!d->o.ignore_unreadable || !(S_ISDIR(st->st_mode) || S_ISREG(st->st_mode)) ||
	    !faccessat(at, name, want, AT_EACCESS | AT_SYMLINK_NOFOLLOW) || errno != EACCES)
		return false;
	dir_warn(d, "permission denied; skipped");
	return true;
}

static int visit(struct dir *d, const char *name)
{
	const struct level *l = &d->levels.v[d->levels.n - 1];
	enum xw_etype type = XW_ET_SOCK;
	struct stat st;
	int at = l->fd, rc;

	memset(&d->e, 0, sizeof(d->e));
	if (set_path(d, l->path_len, name))
		return d->failed;
	rc = d->o.excluded ? d->o.excluded(d->o.excluded_arg, path_of(d)) : 0;
	if (rc)
		return rc < 0 ? dir_fail(d, ENOMEM, "cannot compare with --exclude") : 0;
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return dir_fail(d, errno, "cannot stat");
	if (is_skipped(d, &st)) {
		dir_warn(d, "is the image itself; skipped");
		return 0;
	}
	if (is_unreadable(d, at, name, &st))
		return 0;
	if (S_ISDIR(st.st_mode)) {
		int fd = open_quiet(at, name, O_DIRECTORY);

		return fd < 0 ? dir_fail(d, errno, "cannot open the directory") : visit_dir(d, fd);
	}
	if (d->o.one_file_system && st.st_dev != d->root_dev)
		return 0;
	if (st.st_nlink > 1) {
		rc = xw_dir_links_add(d->links, st.st_dev, st.st_ino, path_of(d), &d->e.link);
		if (rc < 0)
			return dir_fail(d, ENOMEM, "table of hard links");
		if (rc) {
			set_stat(d, &st, XW_ET_HARDLINK);
			return 1;
		}
	}
	if (S_ISREG(st.st_mode))
		return visit_file(d, at, name);
	if (S_ISLNK(st.st_mode)) {
		type = XW_ET_LNK;
		if (read_link(d, at, name, &st))
			return d->failed;
	} else if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)) {
		type = S_ISCHR(st.st_mode) ? XW_ET_CHR : XW_ET_BLK;
	} else if (S_ISFIFO(st.st_mode)) {
		type = XW_ET_FIFO;
	} else if (!S_ISSOCK(st.st_mode)) {
		return dir_fail(d, 0, "unknown file type");
	}
	set_stat(d, &st, type);
	return set_xattrs(d, at, name) ? d->failed : 1;
}

static int dir_next(struct xw_source *s, const struct xw_entry **e)
{
	struct dir *d = (struct dir *)s;
	const int root = d->root;
	int rc = 0;

	if (d->file >= 0)
		close(d->file);
	d->file = -1;
	if (d->failed)
		return d->failed;
	if (root >= 0) {
		d->root = -1;
		rc = set_path(d, 0, ".");
		if (rc) {
			close(root);
			return rc;
		}
		rc = visit_dir(d, root);
	}
	while (!rc && d->levels.n) {
		struct level *l = &d->levels.v[d->levels.n - 1];

		rc = l->next < l->names.n ? visit(d, l->names.v[l->next++]) : pop_level(d);
	}
	if (rc == 1)
		*e = &d->e;
	return rc;
}

/* After the payload: does the file still have the size of its entry? */
static int check_size(struct dir *d)
{
	struct stat st;

	if (d->checked)
		return 0;
	d->checked = true;
	if (fstat(d->file, &st) < 0)
		return dir_fail(d, errno, "cannot stat");
	if ((uint64_t)st.st_size < d->e.size)
		return dir_fail(d, 0, "shrank while it was read");
	if ((uint64_t)st.st_size > d->e.size)
		dir_warn(d, "grew while it was read; the added data is ignored");
	return 0;
}

static int dir_read(struct xw_source *s, const void **buf, size_t *len, uint64_t *off)
{
	struct dir *d = (struct dir *)s;
	uint64_t left;
	ssize_t n;

	if (d->failed || d->file < 0)
		return d->failed;
	if (d->e.sparse) {
		if (d->seg == d->e.n_segs)
			return check_size(d);
		left = d->e.segs[d->seg].len - d->off;
		*off = d->e.segs[d->seg].off + d->off;
	} else {
		left = d->e.size - d->off;
		*off = d->off;
		if (!left)
			return check_size(d);
	}
	do
		n = pread(d->file, d->buf, (size_t)XW_MIN(left, READ_BYTES), (off_t)*off);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return dir_fail(d, n ? errno : 0, n ? "read error" : "shrank while it was read");
	d->off += (uint64_t)n;
	d->consumed += (uint64_t)n;
	if (d->e.sparse && (uint64_t)n == left) {
		d->seg++;
		d->off = 0;
	}
	*buf = d->buf;
	*len = (size_t)n;
	return 1;
}

static uint64_t dir_consumed(const struct xw_source *s)
{
	return ((const struct dir *)s)->consumed;
}

static void dir_close(struct xw_source *s)
{
	struct dir *d = (struct dir *)s;

	for (size_t i = 0; i < d->levels.n; i++)
		free_level(&d->levels.v[i]);
	if (d->file >= 0)
		close(d->file);
	if (d->root >= 0)
		close(d->root);
	xw_vec_free(&d->levels);
	xw_vec_free(&d->path);
	xw_vec_free(&d->link);
	xw_vec_free(&d->segs);
	xw_dir_xattrs_free(&d->xattrs);
	xw_dir_links_free(d->links);
	free(d->buf);
	free(d->src.name);
	free(d);
}

int xw_dir_open(int fd, bool own, const char *name, const struct xw_source_opts *o,
		struct xw_diag *diag, struct xw_source **out)
{
	static const struct xw_source_ops ops = {
		.next = dir_next, .read = dir_read, .close = dir_close, .consumed = dir_consumed};
	struct dir *d = calloc(1, sizeof(*d));

	if (!own)
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (!d || fd < 0) {
		if (fd >= 0)
			close(fd);
		free(d);
		return xw_fail_nomem(diag, "the directory walk");
	}
	d->src.ops = &ops;
	d->src.diag = diag;
	d->src.is_host_dir = true;
	d->src.name = strdup(name);
	d->links = xw_dir_links_new();
	d->buf = malloc(READ_BYTES);
	d->o = *o;
	d->root = fd;
	d->file = -1;
	if (!d->src.name || !d->links || !d->buf) {
		dir_close(&d->src);
		return xw_fail_nomem(diag, "the directory walk");
	}
	*out = &d->src;
	return 0;
}
