/* SPDX-License-Identifier: MIT */
/*
 * Unpacking. Directories are created with permissions for their owner only. They get their final
 * attributes at the end, when no new entry changes their times and no write permission is needed
 * any more. The last one created comes first, so that a directory can be opened while its parents
 * still have their initial permissions.
 */
#include "config.h"

#include "export/extract.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/bytes.h"
#include "export/extract_attr.h"
#include "read/extract_dir.h"

#define PIECE (256u << 10)

/*
 * The directories are finished in reverse order. So each has what is needed to go back to its path
 * from that of the next one: with whole paths, N levels would take N * N bytes.
 */
struct made_dir {
	size_t keep; /* bytes that its path has in common with the path of the next directory */
	size_t tail; /* the rest of its path is in `tails` from here to the next directory's tail */
	xw_ino ino;
	bool made; /* created by this run */
};

struct extract {
	struct xw_exporter x;
	const struct xw_extract_opts *o;
	struct xw_extract_dirs places;
	XW_VEC(struct made_dir) dirs;
	XW_VEC(char) path; /* of the last element of dirs; terminated while it is finished */
	XW_VEC(char) tails;
	struct xw_attr_notes notes;
	uint8_t *buf;
	int fd; /* the file being written */
	uint64_t written; /* end of the last piece written to fd */
};

/* The item could not be created: log the error. 1, or a code that ends the run. */
static int fail(struct extract *t, const char *path, int err, const char *what)
{
	struct xw_diag *d = t->x.img->diag;

	if (err == ENOMEM)
		return xw_fail_nomem(d, path);
	if (xw_err_of_errno(err) == XW_ERR_HOSTFULL)
		return xw_fail_errno(d, XW_ERR_HOSTFULL, err, "%s: %s", path, what);
	xw_fail_errno(d, XW_ERR_IO, err, "%s", what);
	xw_export_failed(&t->x, path, XW_ERR_IO);
	return 1;
}

/* Remove an existing file with this name. 0, 1 (skip the item), or -errno. */
static int make_way(struct extract *t, int dir, const char *name, const char *path)
{
	switch (t->o->existing) {
	case XW_EXISTING_KEEP:
		return -EEXIST;
	case XW_EXISTING_SKIP:
		xw_log(t->x.img->diag, XW_LOG_INFO, "%s: already exists, skipped", path);
		return 1;
	default:
		break;
	}
	if (!unlinkat(dir, name, 0) || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	return unlinkat(dir, name, AT_REMOVEDIR) ? -errno : 0;
}

/* How to create an item; make() is called again after an existing file was removed. */
struct maker {
	int (*make)(const struct maker *m, int dir, const char *name); /* 0, or errno is set */
	struct extract *t;
	const struct xw_export_item *item;
	int from; /* hard links: directory of the first name */
	const char *from_name;
};

/* Create an item; *dir and *name refer to it. 1: failed and logged, or skipped. */
static int make_item(const struct maker *m, int *dir, const char **name)
{
	const char *path = m->item->path;
	int rc = xw_extract_dirs_parent(&m->t->places, path, m->item->path_len, dir, name);

	if (rc)
		return fail(m->t, path, -rc, "cannot open the directory");
	for (unsigned tries = 0; m->make(m, *dir, *name); tries++) {
		if (errno != EEXIST || tries)
			return fail(m->t, path, errno, "cannot create");
		rc = make_way(m->t, *dir, *name, path);
		if (rc < 0)
			return fail(m->t, path, -rc, "cannot replace the existing file");
		if (rc)
			return 1;
	}
	return 0;
}

static int attributes(struct extract *t, const struct xw_export_item *item, int fd, bool by_path,
		      bool made)
{
	struct xw_attr_target a = {
		.x = &t->x,
		.o = t->o,
		.notes = &t->notes,
		.item = item,
		.fd = fd,
		.by_path = by_path,
		.inherits = made && xw_extract_dirs_acl(&t->places),
	};

	return xw_extract_attributes(&a);
}

/* ---- regular files ---- */

static int make_file(const struct maker *m, int dir, const char *name)
{
	/* no other user may read the file before it is complete and has its owner */
	m->t->fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return m->t->fd < 0 ? -1 : 0;
}

static int write_piece(void *arg, uint64_t off, const void *data, size_t len)
{
	struct extract *t = arg;
	const char *p = data;

	while (len) {
		ssize_t n = pwrite(t->fd, p, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -(n ? errno : EIO);
		p += n;
		off += (uint64_t)n;
		len -= (size_t)n;
		t->x.stats->bytes_out += (uint64_t)n;
	}
	t->written = off;
	if (!t->x.opts->tick)
		return 0;
	t->x.foreign = true; /* tick() returns codes of the caller */
	if (t->x.opts->tick(t->x.opts->tick_arg, t->x.stats))
		return 1;
	t->x.foreign = false;
	return 0;
}

/* 0, 1 if a failure was logged, or a code that ends the run. */
static int write_contents(struct extract *t, const struct xw_export_item *item,
			  const struct xw_payload *p)
{
	int damage, rc;

	t->written = 0;
	rc = xw_payload_each(p, t->buf, PIECE, write_piece, t, &damage);
	if (rc == 1)
		return t->x.img->diag && t->x.img->diag->code ? t->x.img->diag->code
							      : XW_ERR_CANCELED;
	if (!rc && t->written < p->inode->size && ftruncate(t->fd, (off_t)p->inode->size))
		rc = -errno;
	if (rc)
		return fail(t, item->path, -rc, "cannot write");
	t->x.stats->data_bytes += p->data;
	t->x.stats->sparse_files += p->sparse;
	return damage ? xw_export_damage(&t->x, item->at->path, damage) : 0;
}

static int put_file(struct extract *t, const struct xw_export_item *item)
{
	const struct xw_walk_item *e = item->at;
	const struct maker m = {.make = make_file, .t = t, .item = item};
	struct xw_payload p;
	const char *name;
	int dir, rc = xw_payload_plan(t->x.img, e->ino, &e->inode, e->raw, &p);

	if (!rc)
		rc = make_item(&m, &dir, &name);
	if (rc)
		return rc;
	rc = write_contents(t, item, &p);
	if (rc)
		unlinkat(dir, name, 0);
	else
		rc = attributes(t, item, t->fd, false, true);
	if (close(t->fd) && !rc)
		rc = fail(t, item->path, errno, "cannot write");
	t->fd = -1;
	return rc;
}

/* ---- everything else ---- */

static int make_node(const struct maker *m, int dir, const char *name)
{
	const struct xw_inode *inode = &m->item->at->inode;
	uint32_t major = 0, minor = 0;

	if ((inode->mode & XW_S_IFMT) == XW_S_IFLNK)
		return symlinkat(m->item->link, dir, name);
	xw_inode_get_rdev(inode, &major, &minor);
	return mknodat(dir, name, (inode->mode & XW_S_IFMT) | 0600, makedev(major, minor));
}

/* Symbolic links, devices, pipes and sockets. */
static int put_node(struct extract *t, const struct xw_export_item *item)
{
	const struct maker m = {.make = make_node, .t = t, .item = item};
	auto_fd int fd = -1;
	const char *name;
	int dir, rc = make_item(&m, &dir, &name);

	if (rc)
		return rc;
	fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? fail(t, item->path, errno, "cannot open")
		      : attributes(t, item, fd, true, true);
}

static int make_link(const struct maker *m, int dir, const char *name)
{
	return linkat(m->from, m->from_name, dir, name, 0);
}

static int put_link(struct extract *t, const struct xw_export_item *item)
{
	struct maker m = {.make = make_link, .t = t, .item = item};
	const char *name;
	int dir, rc = xw_extract_dirs_parent(&t->places, item->link, strlen(item->link), &dir,
					     &m.from_name);

	if (rc)
		return fail(t, item->path, -rc, "cannot open the directory of its first name");
	/* the next lookup may close dir */
	m.from = fcntl(dir, F_DUPFD_CLOEXEC, 0);
	if (m.from < 0)
		return fail(t, item->path, errno, "cannot link");
	rc = make_item(&m, &dir, &name);
	close(m.from);
	return rc;
}

static int make_dir(const struct maker *m, int dir, const char *name)
{
	struct stat st;

	if (!mkdirat(dir, name, 0700))
		return 0;
	if (errno != EEXIST)
		return -1;
	if (!fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode)) {
		m->t->dirs.v[m->t->dirs.n].made = false;
		return 0;
	}
	errno = EEXIST;
	return -1;
}

/* Complete the new last element of dirs: its path takes the place of that of the one before. */
static int note_dir(struct extract *t, const char *path, size_t len)
{
	const size_t keep = xw_same_start(path, t->path.v, XW_MIN(len, t->path.n));
	const size_t tail = t->path.n - keep;

	if (xw_vec_reserve(&t->tails, t->tails.n + tail) || xw_vec_reserve(&t->path, len + 1))
		return xw_fail_nomem(t->x.img->diag, "directory");
	if (t->dirs.n)
		t->dirs.v[t->dirs.n - 1].keep = keep;
	if (tail)
		memcpy(t->tails.v + t->tails.n, t->path.v + keep, tail);
	t->tails.n += tail;
	memcpy(t->path.v + keep, path + keep, len - keep);
	t->path.n = len;
	t->dirs.v[t->dirs.n++].tail = t->tails.n;
	return 0;
}

static int put_dir(struct extract *t, const struct xw_export_item *item)
{
	const struct maker m = {.make = make_dir, .t = t, .item = item};
	const char *name;
	int dir, rc = 0;

	if (xw_vec_reserve(&t->dirs, t->dirs.n + 1))
		return xw_fail_nomem(t->x.img->diag, "directory");
	t->dirs.v[t->dirs.n] = (struct made_dir){.ino = item->at->ino, .made = *item->path != 0};
	if (*item->path)
		rc = make_item(&m, &dir, &name);
	if (rc)
		return rc;
	return note_dir(t, item->path, item->path_len);
}

static int put_item(struct extract *t, const struct xw_export_item *item)
{
	if (item->hardlink)
		return put_link(t, item);
	switch (item->at->inode.mode & XW_S_IFMT) {
	case XW_S_IFREG:
		return put_file(t, item);
	case XW_S_IFDIR:
		return put_dir(t, item);
	default:
		return put_node(t, item);
	}
}

static int extract_put(void *to, const struct xw_export_item *item)
{
	struct extract *t = to;
	int rc = put_item(t, item);

	if (rc || !t->o->made)
		return rc;
	rc = t->o->made(t->o->made_arg, item);
	t->x.foreign |= rc != 0; /* made() returns codes of the caller */
	return rc;
}

/* ---- directories, at the end ---- */

static int open_dir(struct extract *t, const char *path, size_t len)
{
	const char *name;
	int dir, fd, rc = xw_extract_dirs_parent(&t->places, path, len, &dir, &name);

	if (rc)
		return rc;
	fd = openat(dir, *name ? name : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The path of d is that of t. */
static int finish_dir(struct extract *t, const struct made_dir *d)
{
	const char *path = t->path.v;
	auto_free uint8_t *raw = malloc(t->x.img->inode_size);
	struct xw_walk_item e = {.path = path, .path_len = t->path.n, .ino = d->ino, .raw = raw};
	const struct xw_export_item item = {.at = &e, .path = path, .path_len = t->path.n};
	auto_fd int fd = -1;
	int rc;

	if (!raw)
		return xw_fail_nomem(t->x.img->diag, "inode");
	rc = xw_image_inode(t->x.img, d->ino, &e.inode, raw);
	if (rc)
		return xw_export_damage(&t->x, path, rc);
	xw_export_select(&t->x, &e.inode);
	fd = open_dir(t, path, t->path.n);
	if (fd < 0) {
		rc = fail(t, path, -fd, "cannot open");
		return XW_MIN(rc, 0);
	}
	return attributes(t, &item, fd, false, d->made);
}

static int finish_dirs(struct extract *t)
{
	for (size_t i = t->dirs.n; i--;) {
		const struct made_dir *d = &t->dirs.v[i];
		int rc;

		t->path.v[t->path.n] = '\0';
		rc = finish_dir(t, d);
		if (rc)
			return rc;
		if (!i)
			break;
		/* there is room: the path was this long before */
		t->path.n = d[-1].keep + d->tail - d[-1].tail;
		if (d->tail > d[-1].tail)
			memcpy(t->path.v + d[-1].keep, t->tails.v + d[-1].tail,
			       d->tail - d[-1].tail);
	}
	return 0;
}

static int extract(struct extract *t, struct xw_image *img, const struct xw_export_opts *o)
{
	int rc = xw_export_begin(&t->x, img, o, t->x.stats);

	if (rc)
		return rc;
	if (!t->buf)
		return xw_fail_nomem(img->diag, "buffer");
	/* if nothing is to be written no directory is created */
	if (!o->paths.n || t->x.stats->missing < o->paths.n) {
		rc = xw_extract_dirs_open(&t->places, t->o->dir);
		if (rc)
			return xw_fail_errno(img->diag, XW_ERR_IO, -rc, "%s: cannot unpack there",
					     t->o->dir);
		rc = xw_export_items(&t->x);
	}
	if (!rc)
		rc = finish_dirs(t);
	if (!rc && t->notes.privileged)
		xw_log(img->diag, XW_LOG_WARN,
		       "%" PRIu64 " attribute%s left out: only root may set trusted.* and "
		       "security.*",
		       t->notes.privileged, t->notes.privileged == 1 ? " was" : "s were");
	return rc;
}

int xw_image_to_dir(struct xw_image *img, const struct xw_export_opts *o,
		    const struct xw_extract_opts *eo, struct xw_export_stats *stats)
{
	struct extract t = {
		.x = {.put = extract_put, .to = &t, .stats = stats, .sockets = true},
		.o = eo,
		.places = {.top = -1},
		.buf = malloc(PIECE),
		.fd = -1,
	};
	const int rc = extract(&t, img, o);

	xw_vec_free(&t.dirs);
	xw_vec_free(&t.path);
	xw_vec_free(&t.tails);
	xw_extract_dirs_close(&t.places);
	free(t.buf);
	return xw_export_finish(&t.x, rc);
}
