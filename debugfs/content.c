/* SPDX-License-Identifier: MIT */
/* Verbs that read contents from the image: cat, dump, rdump. */
#include "config.h"

#include "cli/env.h"
#include "disk/indirect.h"
#include "read/file.h"
#include "read/map.h"
#include "walk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/blockset.h"
#include "base/vec.h"
#include "read/extract_dir.h"

enum { CHUNK = 1 << 20 };

/*
 * Consumes the bytes of a file in order: 0 or a failure. buf is NULL for a hole, which is passed as
 * a whole, so that a hole of exabytes costs nothing in a sink that can seek.
 */
typedef int sink_fn(void *arg, const uint8_t *buf, uint64_t len);

struct source {
	struct dbg *d;
	xw_ino ino;
	uint64_t size; /* size of the file, truncated at the maximum that the map can address */
	sink_fn *put;
	void *arg;
	uint8_t *buf; /* CHUNK */
	uint64_t done; /* bytes of the file passed so far */
};

static int interrupted(struct dbg *d)
{
	return cli_interrupted() ? xw_fail(&d->diag, XW_ERR_CANCELED, "interrupted") : 0;
}

static int put_zeros(struct source *s, uint64_t end)
{
	const uint64_t n = end > s->done ? end - s->done : 0;

	s->done += n;
	return n ? s->put(s->arg, NULL, n) : 0;
}

static int put_piece(void *arg, const struct dbg_piece *p)
{
	struct source *s = arg;
	struct xw_dev *dev = s->d->img->dev;
	const uint32_t bs = s->d->img->block_size;
	const uint64_t end = XW_MIN((p->lblk + p->len) * bs, s->size);
	uint64_t from;
	int rc;

	if (p->kind != DBG_DATA || p->unwritten || p->lblk * bs >= s->size)
		return 0;
	if (p->lblk * bs < s->done) {
		dbg_complain(s->d, "inode %" PRIu32 ": block %" PRIu64 " is mapped twice", s->ino,
			     p->lblk);
		return 0;
	}
	rc = put_zeros(s, p->lblk * bs);
	from = p->pblk * bs;
	while (!rc && s->done < end) {
		const size_t n = (size_t)XW_MIN(end - s->done, (uint64_t)CHUNK);

		rc = interrupted(s->d);
		if (rc)
			return rc;
		rc = xw_dev_pread(dev, s->buf, n, from);
		if (rc) { /* read as a hole, so that later data keeps its offset */
			dbg_complain_diag(s->d, rc);
			return put_zeros(s, end);
		}
		rc = s->put(s->arg, s->buf, n);
		s->done += n;
		from += n;
	}
	return rc;
}

/* The size, limited to what block numbers can address. */
static uint64_t limited_size(struct dbg *d, xw_ino ino, const struct xw_inode *in)
{
	const uint32_t bs = d->img->block_size;
	/* Linux does not use the last block number */
	const uint64_t blocks = dbg_map_end(d, in);

	if (in->size <= blocks * bs)
		return in->size;
	dbg_complain(d,
		     "inode %" PRIu32 ": its size %" PRIu64
		     " is more than its map can reach, %" PRIu64,
		     ino, in->size, blocks * bs);
	return blocks * bs;
}

/* Pass all bytes of an inode to `put`. Damaged ranges are reported and read as holes. */
static int contents(struct dbg *d, xw_ino ino, const struct xw_inode *in, const uint8_t *raw,
		    sink_fn *put, void *arg)
{
	auto_free uint8_t *buf = malloc(CHUNK);
	struct source s = {.d = d, .ino = ino, .put = put, .arg = arg, .buf = buf};
	size_t got;
	int rc;

	if (!buf)
		return xw_fail_nomem(&d->diag, "contents");
	if (in->flags & XW_FL_INLINE_DATA) {
		rc = xw_file_pread(d->img, ino, in, raw, 0, buf, CHUNK, &got);
		return rc ? rc : put(arg, buf, got);
	}
	if ((in->mode & XW_S_IFMT) == XW_S_IFLNK && !xw_inode_has_map(in))
		return put(arg, in->block, (size_t)XW_MIN(in->size, sizeof(in->block)));
	if (!xw_inode_has_map(in))
		return 0;
	s.size = limited_size(d, ino, in);
	rc = dbg_walk(d, ino, in, put_piece, &s);
	return rc ? rc : put_zeros(&s, s.size);
}

/* ---- cat ---- */

static int to_stream(void *arg, const uint8_t *buf, uint64_t len)
{
	static const uint8_t zeros[65536];
	struct dbg *d = arg;
	int rc;

	for (size_t n; len; len -= n) {
		rc = interrupted(d);
		if (rc)
			return rc;
		n = (size_t)(buf ? len : XW_MIN(len, sizeof(zeros)));
		if (fwrite(buf ? buf : zeros, 1, n, d->out) != n)
			return xw_fail_errno(&d->diag, XW_ERR_IO, errno, "output");
	}
	return 0;
}

static int verb_cat(struct dbg *d, int argc, char **argv)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	xw_ino ino;
	int rc;

	if (argc != 2)
		return DBG_USAGE;
	rc = dbg_inode(d, argv[1], &ino, &in, &raw);
	return rc ? rc : contents(d, ino, &in, raw, to_stream, d);
}

/* ---- dump ---- */

struct target {
	struct dbg *d;
	const char *path; /* for messages */
	int fd;
	bool hole; /* the file ends with a hole: its size must still be set */
};

static int target_failed(const struct target *t)
{
	return xw_fail_errno(&t->d->diag, XW_ERR_IO, errno, "%s", t->path);
}

static int to_file(void *arg, const uint8_t *buf, uint64_t len)
{
	struct target *t = arg;

	t->hole = !buf;
	if (!buf)
		/* at most 2^32 blocks of 64 KiB */
		return lseek(t->fd, (off_t)len, SEEK_CUR) < 0 ? target_failed(t) : 0;
	while (len) {
		/* an interrupt may have ended a write to a full pipe */
		const int rc = interrupted(t->d);
		ssize_t n;

		if (rc)
			return rc;
		n = write(t->fd, buf, len);
		if (n < 0 && errno != EINTR)
			return target_failed(t);
		if (n > 0) {
			buf += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

/*
 * Set owner, permissions and times of the created file. Setting owners needs privilege: without it,
 * failures are ignored.
 */
static int put_attributes(const struct target *t, const struct xw_inode *in)
{
	const struct timespec times[2] = {
		{.tv_sec = (time_t)in->atime.sec, .tv_nsec = (long)in->atime.nsec},
		{.tv_sec = (time_t)in->mtime.sec, .tv_nsec = (long)in->mtime.nsec}};

	if (fchown(t->fd, in->uid, in->gid) && errno != EPERM)
		return target_failed(t);
	/* no set-id or sticky bits: the contents of an image must not grant privileges here */
	if (fchmod(t->fd, in->mode & 0777) || futimens(t->fd, times))
		return target_failed(t);
	return 0;
}

static int dump_to(struct target *t, xw_ino ino, const struct xw_inode *in, const uint8_t *raw,
		   bool attributes)
{
	int rc = contents(t->d, ino, in, raw, to_file, t);

	if (!rc && t->hole && ftruncate(t->fd, lseek(t->fd, 0, SEEK_CUR)))
		rc = target_failed(t);
	if (!rc && attributes)
		rc = put_attributes(t, in);
	return close(t->fd) && !rc ? target_failed(t) : rc;
}

static int verb_dump(struct dbg *d, int argc, char **argv)
{
	auto_free uint8_t *raw = NULL;
	struct target t = {.d = d};
	struct xw_inode in;
	unsigned attributes;
	xw_ino ino;
	int rc;

	if (dbg_flags(argc, argv, "p", &attributes) || optind + 2 != argc)
		return DBG_USAGE;
	rc = dbg_inode(d, argv[optind], &ino, &in, &raw);
	if (rc)
		return rc;
	t.path = argv[optind + 1];
	t.fd = dbg_output_open(d, t.path, NULL);
	return t.fd < 0 ? t.fd : dump_to(&t, ino, &in, raw, attributes);
}

/* ---- rdump ---- */

/*
 * Names come from the image and are not trusted: each is created relative to its directory's
 * descriptor, must not be a path itself, and existing files are neither followed nor overwritten.
 *
 * Directories wait on a stack, so that depth costs neither stack nor descriptors: the files of a
 * directory are made while it is read, its subdirectories later. A directory stays on the stack
 * until those are done, and gets its attributes then, since its mode may forbid creating them.
 */
struct waiting {
	char *name; /* owned; NULL: the top, where the contents of the operand go */
	size_t up; /* length of the path of the directory above it */
	xw_ino ino;
	bool made;
};

struct tree {
	struct dbg *d;
	const char *top;
	struct xw_extract_dirs places;
	XW_VEC(char) path; /* of the current directory below top, terminated */
	size_t len; /* its length */
	int dir; /* descriptor of the current directory */
	XW_VEC(struct waiting) dirs;
	struct xw_blockset *above; /* inode numbers of the current directory and those above it */
	uint64_t left; /* number of entries that may still be visited */
};

static int not_created(const struct tree *t, const char *name, const char *why)
{
	dbg_complain(t->d, "%s%s%s/%s: %s", t->top, t->len ? "/" : "", t->len ? t->path.v : "",
		     name, why);
	return 0;
}

static int make_file(const struct tree *t, const char *name, xw_ino ino, const struct xw_inode *in,
		     const uint8_t *raw)
{
	struct target f = {.d = t->d, .path = name};
	int rc;

	f.fd = openat(t->dir, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (f.fd < 0)
		return not_created(t, name, strerror(errno));
	rc = dump_to(&f, ino, in, raw, true);
	if (rc != XW_ERR_IO || cli_interrupted())
		return rc;
	/* the host may refuse only this file, for example because of its size */
	dbg_complain_diag(t->d, rc);
	return 0;
}

static int make_link(const struct tree *t, const char *name, xw_ino ino, const struct xw_inode *in,
		     const uint8_t *raw)
{
	auto_free char *target = malloc(t->d->img->block_size + 1);
	size_t len;
	int rc;

	if (!target)
		return xw_fail_nomem(&t->d->diag, "symbolic link");
	rc = xw_symlink_read(t->d->img, ino, in, raw, target, &len);
	if (rc)
		dbg_complain_diag(t->d, rc);
	else if (symlinkat(target, t->dir, name) ||
		 (fchownat(t->dir, name, in->uid, in->gid, AT_SYMLINK_NOFOLLOW) && errno != EPERM))
		not_created(t, name, strerror(errno));
	return 0;
}

static int wait_for(struct tree *t, const char *name, xw_ino ino)
{
	const struct waiting w = {.name = name ? strdup(name) : NULL, .up = t->len, .ino = ino};

	if ((name && !w.name) || xw_vec_push(&t->dirs, w)) {
		free(w.name);
		return xw_fail_nomem(&t->d->diag, "directories");
	}
	return 0;
}

static int make_any(struct tree *t, const char *name, xw_ino ino)
{
	auto_free uint8_t *raw = malloc(t->d->img->inode_size);
	struct xw_inode in;
	int rc;

	if (!raw)
		return xw_fail_nomem(&t->d->diag, "inode");
	rc = dbg_read_inode(t->d, ino, &in, raw);
	if (rc) {
		dbg_complain_diag(t->d, rc);
		return 0;
	}
	switch (in.mode & XW_S_IFMT) {
	case XW_S_IFREG:
		return make_file(t, name, ino, &in, raw);
	case XW_S_IFLNK:
		return make_link(t, name, ino, &in, raw);
	case XW_S_IFDIR:
		return wait_for(t, name, ino);
	default:
		return 0; /* devices and other special files are skipped */
	}
}

static int on_entry(void *arg, const struct dbg_entry *e)
{
	struct tree *t = arg;
	char name[XW_NAME_MAX + 1];

	if (!e->e.ino || e->dots)
		return 0;
	if (cli_interrupted() || !t->left--) {
		t->left = 0;
		return xw_fail(&t->d->diag, XW_ERR_CORRUPT,
			       cli_interrupted() ? "interrupted"
						 : "more entries than a valid image can have");
	}
	memcpy(name, e->e.name, e->e.name_len);
	name[e->e.name_len] = '\0';
	if (!*name || strlen(name) != e->e.name_len || strchr(name, '/') ||
	    xw_name_is_dots(name, e->e.name_len))
		return not_created(t, name, "impossible name");
	return make_any(t, name, e->e.ino);
}

/* Make the path of the waiting directory the current one. */
static int set_path(struct tree *t, const struct waiting *w)
{
	const size_t n = w->name ? strlen(w->name) : 0, slash = w->up && n;

	if (xw_vec_reserve(&t->path, w->up + slash + n + 1))
		return xw_fail_nomem(&t->d->diag, "path");
	if (slash)
		t->path.v[w->up] = '/';
	memcpy(t->path.v + w->up + slash, w->name ? w->name : "", n);
	t->len = w->up + slash + n;
	t->path.v[t->len] = '\0';
	return 0;
}

/* Return to a directory above the current one: the one whose path has len bytes. */
static void leave_path(struct tree *t, size_t len)
{
	t->len = len;
	if (len)
		t->path.v[len] = '\0';
}

/* Open the current directory, after creating it if `make`. 0 or -errno. */
static int open_current(struct tree *t, bool make, int *fd)
{
	const char *name;
	int dir, rc = xw_extract_dirs_parent(&t->places, t->path.v, t->len, &dir, &name);

	if (rc)
		return rc;
	if (make && t->len && mkdirat(dir, name, 0700))
		return -errno;
	*fd = openat(dir, t->len ? name : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *fd < 0 ? -errno : 0;
}

static int dir_attributes(struct tree *t, const struct xw_inode *in)
{
	const struct target of = {t->d, t->len ? t->path.v : t->top, t->dir, false};

	return put_attributes(&of, in);
}

/* The subdirectories that were put on the stack from `at` on: the first one goes to its end. */
static void turn_around(struct tree *t, size_t at)
{
	for (size_t end = t->dirs.n; at + 1 < end; at++, end--) {
		const struct waiting w = t->dirs.v[at];

		t->dirs.v[at] = t->dirs.v[end - 1];
		t->dirs.v[end - 1] = w;
	}
}

/* Create the last directory of the stack and its files. *done: it needs not wait any longer. */
static int enter_dir(struct tree *t, const struct xw_inode *in, const uint8_t *raw, bool *done)
{
	const struct waiting w = t->dirs.v[t->dirs.n - 1];
	const size_t n = t->dirs.n;
	int rc;

	*done = true;
	leave_path(t, w.up);
	if (xw_blockset_has(t->above, w.ino))
		return not_created(t, w.name, "the directory is inside itself");
	rc = set_path(t, &w);
	if (rc)
		return rc;
	rc = open_current(t, true, &t->dir);
	if (rc) {
		leave_path(t, w.up);
		return not_created(t, w.name ? w.name : ".", strerror(-rc));
	}
	t->dirs.v[n - 1].made = true;
	rc = dbg_walk_dir_in_order(t->d, w.ino, in, raw, on_entry, t);
	if (rc)
		return rc;
	if (t->dirs.n == n)
		return dir_attributes(t, in);
	*done = false;
	turn_around(t, n);
	return xw_blockset_add(t->above, w.ino, 1, NULL) ? xw_fail_nomem(&t->d->diag, "directories")
							 : 0;
}

/* All in the last directory of the stack is made. */
static int leave_dir(struct tree *t, const struct xw_inode *in)
{
	const struct waiting *w = &t->dirs.v[t->dirs.n - 1];
	int rc = set_path(t, w);

	if (!rc && xw_blockset_remove(t->above, w->ino, 1))
		rc = xw_fail_nomem(&t->d->diag, "directories");
	if (rc)
		return rc;
	rc = open_current(t, false, &t->dir);
	return rc ? not_created(t, ".", strerror(-rc)) : dir_attributes(t, in);
}

/* Create the directories on the stack, with all that is in them. */
static int make_dirs(struct tree *t)
{
	auto_free uint8_t *raw = malloc(t->d->img->inode_size);
	int rc = raw ? 0 : xw_fail_nomem(&t->d->diag, "inode");

	while (t->dirs.n && !rc) {
		const struct waiting w = t->dirs.v[t->dirs.n - 1];
		struct xw_inode in;
		bool done = true;

		rc = xw_image_inode(t->d->img, w.ino, &in, raw);
		if (!rc)
			rc = w.made ? leave_dir(t, &in) : enter_dir(t, &in, raw, &done);
		if (t->dir >= 0)
			close(t->dir);
		t->dir = -1;
		if (done && !rc) {
			free(w.name);
			t->dirs.n--;
		}
	}
	return rc;
}

/* Copy one operand: the contents of the root directory, or another directory under its name. */
static int rdump_one(struct tree *t, const char *spec)
{
	auto_free char *copy = strdup(spec);
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	char *base;
	xw_ino ino;
	int rc;

	if (!copy)
		return xw_fail_nomem(&t->d->diag, "name");
	rc = dbg_inode(t->d, spec, &ino, &in, &raw);
	if (rc)
		return rc;
	for (size_t n = strlen(copy); n && copy[n - 1] == '/'; n--)
		copy[n - 1] = '\0';
	base = strrchr(copy, '/');
	base = base ? base + 1 : copy;
	leave_path(t, 0);
	if (!*base || !strcmp(base, ".") || !strcmp(base, "..")) {
		rc = wait_for(t, NULL, ino);
	} else {
		t->dir = t->places.top;
		rc = make_any(t, base, ino);
		t->dir = -1;
	}
	return rc ? rc : make_dirs(t);
}

static void tree_free(struct tree *t)
{
	xw_extract_dirs_close(&t->places);
	for (size_t i = 0; i < t->dirs.n; i++)
		free(t->dirs.v[i].name);
	xw_vec_free(&t->dirs);
	xw_vec_free(&t->path);
	xw_blockset_free(t->above);
}

static int verb_rdump(struct dbg *d, int argc, char **argv)
{
	auto_end(tree_free) struct tree t = {.d = d, .places.top = -1, .dir = -1};
	struct stat st;
	int rc;

	if (argc < 3)
		return DBG_USAGE;
	t.top = argv[argc - 1];
	/* there may be more names than inodes, but a damaged tree must not be walked endlessly */
	t.left = (uint64_t)d->img->sb.inodes_count * 16 + 65536;
	if (stat(t.top, &st)) /* it is not created */
		return xw_fail_errno(&d->diag, XW_ERR_IO, errno, "%s", t.top);
	rc = xw_extract_dirs_open(&t.places, t.top);
	if (rc)
		return xw_fail_errno(&d->diag, XW_ERR_IO, -rc, "%s", t.top);
	if (xw_blockset_new((uint64_t)d->img->sb.inodes_count + 1, &t.above))
		return xw_fail_nomem(&d->diag, "directories");
	for (int i = 1; i < argc - 1 && !rc; i++)
		rc = rdump_one(&t, argv[i]);
	return rc;
}

static const struct dbg_verb verbs[] = {
	{"cat", DBG_OPEN | DBG_BYTES, verb_cat, "FILE", "the contents of a file"},
	{"dump_inode, dump", DBG_OPEN, verb_dump, "[-p] FILE OUTFILE",
	 "copy the contents to a file on the host; -p: set owner, permissions and times"},
	{"rdump", DBG_OPEN, verb_rdump, "FILE... DIR",
	 "copy directories with their contents to a directory on the host"},
};

const struct dbg_family dbg_content_verbs = {"Contents", verbs, XW_ARRAY_SIZE(verbs)};
