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
#include "base/vec.h"

enum { CHUNK = 1 << 20, DEPTH_MAX = 256 };

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
	const uint64_t blocks = in->flags & XW_FL_EXTENTS ? UINT32_MAX : xw_indirect_max_lblk(bs);

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
 * The levels are a stack of their own, since the image decides how many there are.
 */

/* A subdirectory that was created, its entries not yet. */
struct sub {
	char *name; /* owned */
	xw_ino ino;
};

struct level {
	int dir; /* owned */
	char *path; /* for messages; owned */
	xw_ino ino;
	struct xw_inode in;
	XW_VEC(struct sub) subs;
	size_t next; /* first one of subs to be entered */
};

struct tree {
	struct dbg *d;
	XW_VEC(struct level) levels; /* from the target directory to the current one */
	uint64_t left; /* number of entries that may still be visited */
};

static struct level *current(const struct tree *t)
{
	return &t->levels.v[t->levels.n - 1];
}

static int not_created(const struct tree *t, const char *name, const char *why)
{
	dbg_complain(t->d, "%s/%s: %s", current(t)->path, name, why);
	return 0;
}

static int make_file(const struct tree *t, const char *name, xw_ino ino, const struct xw_inode *in,
		     const uint8_t *raw)
{
	struct target f = {.d = t->d, .path = name};
	int rc;

	f.fd = openat(current(t)->dir, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC,
		      0600);
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
	const int dir = current(t)->dir;
	size_t len;
	int rc;

	if (!target)
		return xw_fail_nomem(&t->d->diag, "symbolic link");
	rc = xw_symlink_read(t->d->img, ino, in, raw, target, &len);
	if (rc)
		dbg_complain_diag(t->d, rc);
	else if (symlinkat(target, dir, name) ||
		 (fchownat(dir, name, in->uid, in->gid, AT_SYMLINK_NOFOLLOW) && errno != EPERM))
		not_created(t, name, strerror(errno));
	return 0;
}

/* Create a directory. Its entries follow when all of the current one were created. */
static int make_dir(struct tree *t, const char *name, xw_ino ino)
{
	struct level *l = current(t);
	struct sub sub = {NULL, ino};

	for (size_t i = 0; i < t->levels.n; i++) {
		if (t->levels.v[i].ino == ino)
			return not_created(t, name, "the directory is inside itself");
	}
	if (t->levels.n == DEPTH_MAX)
		return not_created(t, name, "too deep");
	if (mkdirat(l->dir, name, 0700))
		return not_created(t, name, strerror(errno));
	sub.name = strdup(name);
	if (!sub.name || xw_vec_push(&l->subs, sub)) {
		free(sub.name);
		return xw_fail_nomem(&t->d->diag, "path");
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
		return make_dir(t, name, ino);
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

static void free_subs(struct level *l)
{
	for (size_t i = 0; i < l->subs.n; i++)
		free(l->subs.v[i].name);
	xw_vec_free(&l->subs);
	l->next = 0;
}

static void free_level(struct level *l)
{
	free_subs(l);
	free(l->path);
	close(l->dir);
}

/* Enter a subdirectory of the current directory. */
static int enter(struct tree *t, const struct sub *sub)
{
	const struct level *up = current(t);
	auto_free uint8_t *raw = malloc(t->d->img->inode_size);
	struct level l = {.ino = sub->ino};
	int rc;

	if (!raw)
		return xw_fail_nomem(&t->d->diag, "inode");
	rc = dbg_read_inode(t->d, sub->ino, &l.in, raw);
	if (rc) {
		dbg_complain_diag(t->d, rc);
		return 0;
	}
	l.dir = openat(up->dir, sub->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (l.dir < 0)
		return not_created(t, sub->name, strerror(errno));
	if (asprintf(&l.path, "%s/%s", up->path, sub->name) < 0)
		l.path = NULL;
	if (!l.path || xw_vec_push(&t->levels, l)) {
		free_level(&l);
		return xw_fail_nomem(&t->d->diag, "path");
	}
	return dbg_walk_dir_in_order(t->d, l.ino, &l.in, raw, on_entry, t);
}

/* Attributes of a directory are set after its entries, since its mode may forbid creating them. */
static int set_attributes(const struct tree *t, const struct level *l)
{
	return put_attributes(&(struct target){t->d, l->path, l->dir, false}, &l->in);
}

static int enter_all(struct tree *t)
{
	int rc = 0;

	while (!rc) {
		struct level *l = current(t);

		if (l->next < l->subs.n) {
			const struct sub sub = l->subs.v[l->next++];

			rc = enter(t, &sub);
		} else if (t->levels.n == 1) {
			free_subs(l);
			break;
		} else {
			rc = set_attributes(t, l);
			free_level(l);
			t->levels.n--;
		}
	}
	return rc;
}

/* Copy one operand: the contents of the root directory, or another directory under its name. */
static int rdump_one(struct tree *t, const char *spec)
{
	auto_free char *copy = strdup(spec);
	auto_free uint8_t *raw = NULL;
	struct level *top = current(t);
	char *base;
	int rc;

	if (!copy)
		return xw_fail_nomem(&t->d->diag, "name");
	rc = dbg_inode(t->d, spec, &top->ino, &top->in, &raw);
	if (rc)
		return rc;
	for (size_t n = strlen(copy); n && copy[n - 1] == '/'; n--)
		copy[n - 1] = '\0';
	base = strrchr(copy, '/');
	base = base ? base + 1 : copy;
	if (*base && strcmp(base, ".") && strcmp(base, "..")) {
		const xw_ino ino = top->ino;

		top->ino = 0;
		rc = make_any(t, base, ino);
		return rc ? rc : enter_all(t);
	}
	rc = dbg_walk_dir_in_order(t->d, top->ino, &top->in, raw, on_entry, t);
	if (!rc)
		rc = enter_all(t);
	return rc ? rc : set_attributes(t, current(t));
}

static int verb_rdump(struct dbg *d, int argc, char **argv)
{
	struct tree t = {.d = d};
	struct level top = {0};
	int rc = 0;

	if (argc < 3)
		return DBG_USAGE;
	/* there may be more names than inodes, but a damaged tree must not be walked endlessly */
	t.left = (uint64_t)d->img->sb.inodes_count * 16 + 65536;
	top.dir = open(argv[argc - 1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top.dir < 0)
		return xw_fail_errno(&d->diag, XW_ERR_IO, errno, "%s", argv[argc - 1]);
	top.path = strdup(argv[argc - 1]);
	if (!top.path || xw_vec_push(&t.levels, top)) {
		free_level(&top);
		return xw_fail_nomem(&d->diag, "path");
	}
	for (int i = 1; i < argc - 1 && !rc; i++)
		rc = rdump_one(&t, argv[i]);
	while (t.levels.n)
		free_level(&t.levels.v[--t.levels.n]);
	xw_vec_free(&t.levels);
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
