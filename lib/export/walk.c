/* SPDX-License-Identifier: MIT */
/*
 * The walk keeps one frame a directory on the way down: the names of this directory still to be
 * visited. An image can hold cycles and directories with several names; each directory is entered
 * once, whatever leads to it, which bounds the walk by the number of entries.
 *
 * An empty lost+found in the root is left out: it belongs to the filesystem, not to what was put
 * into it.
 */
#include "export/walk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "read/dirs.h"


struct child {
	xw_ino ino;
	uint32_t name_off; /* into the frame's names */
	uint8_t name_len;
};

struct frame {
	XW_VEC(struct child) children;
	XW_VEC(char) names;
	size_t next;
	size_t path_len; /* of the directory */
	/* A block could not be read: told after the directory itself was given. */
	int code;
	char *line; /* owned */
};

struct xw_walk {
	struct xw_image *img;
	bool (*prune)(void *arg, const char *path, size_t len);
	void *arg;
	XW_VEC(struct frame) frames;
	XW_VEC(char) path;
	XW_VEC(xw_ino)
	seen; /* open-addressed set of directories entered; 0 = free; n is its size */
	size_t seen_used;
	uint8_t *raw;
	xw_ino top;
	bool begin; /* the top was not given yet */
};

/* ---- the set of directories ---- */

static size_t seen_slot(const struct xw_walk *w, xw_ino ino)
{
	size_t i = (ino * 2654435761u) & (w->seen.n - 1);

	while (w->seen.v[i] && w->seen.v[i] != ino)
		i = (i + 1) & (w->seen.n - 1);
	return i;
}

static int seen_grow(struct xw_walk *w)
{
	xw_ino *old = w->seen.v;
	const size_t old_n = w->seen.n, n = old_n ? old_n * 2 : 64;
	xw_ino *v = calloc(n, sizeof(*v));

	if (!v)
		return xw_fail_nomem(w->img->diag, "set of directories");
	w->seen.v = v;
	w->seen.n = w->seen.cap = n;
	for (size_t i = 0; i < old_n; i++) {
		if (old[i])
			v[seen_slot(w, old[i])] = old[i];
	}
	free(old);
	return 0;
}

/* 1: ino was not in the set and is now; 0: it was. */
static int seen_add(struct xw_walk *w, xw_ino ino)
{
	size_t i;
	int rc;

	if (w->seen_used * 2 >= w->seen.n) {
		rc = seen_grow(w);
		if (rc)
			return rc;
	}
	i = seen_slot(w, ino);
	if (w->seen.v[i])
		return 0;
	w->seen.v[i] = ino;
	w->seen_used++;
	return 1;
}

/* ---- frames ---- */

static void frame_free(struct frame *f)
{
	xw_vec_free(&f->children);
	xw_vec_free(&f->names);
	free(f->line);
}

static int frame_add(struct xw_walk *w, struct frame *f, const struct xw_dirent *e)
{
	const struct child c = {
		.ino = e->ino, .name_off = (uint32_t)f->names.n, .name_len = e->name_len};

	if (f->names.n + e->name_len > UINT32_MAX)
		return xw_fail(w->img->diag, XW_ERR_LIMIT, "%s: too many names in a directory",
			       w->img->dev->name);
	if (xw_vec_reserve(&f->names, f->names.n + e->name_len) || xw_vec_push(&f->children, c))
		return xw_fail_nomem(w->img->diag, "directory");
	memcpy(f->names.v + f->names.n, e->name, e->name_len);
	f->names.n += e->name_len;
	return 0;
}

static int by_ino(const void *a, const void *b)
{
	const struct child *x = a, *y = b;

	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return x->name_off < y->name_off ? -1 : x->name_off > y->name_off;
}

static bool is_dots(const struct xw_dirent *e)
{
	return e->name[0] == '.' && (e->name_len == 1 || (e->name_len == 2 && e->name[1] == '.'));
}

/* Move the line about what was just found from diag to the frame. */
static void keep_line(struct xw_walk *w, struct frame *f)
{
	if (!w->img->diag)
		return;
	f->line = strdup(w->img->diag->text);
	xw_diag_clear(w->img->diag);
}

/* Read directory ino into a new frame. Damage is kept in the frame; only running out of memory
 * fails. */
static int frame_push(struct xw_walk *w, xw_ino ino, const struct xw_inode *inode)
{
	struct frame f = {.path_len = w->path.n};
	struct xw_dir_iter it;
	struct xw_dirent e;
	int rc = xw_dir_begin(w->img, ino, inode, w->raw, &it);

	f.code = rc;
	while (rc != XW_ERR_NOMEM && (rc = xw_dir_next(&it, &e, NULL))) {
		if (rc > 0)
			rc = is_dots(&e) ? 0 : frame_add(w, &f, &e);
		if (rc < 0 && !f.code)
			f.code = rc;
	}
	xw_dir_end(&it);
	if (rc != XW_ERR_NOMEM) {
		if (f.children.n)
			qsort(f.children.v, f.children.n, sizeof(*f.children.v), by_ino);
		if (f.code)
			keep_line(w, &f);
		if (!xw_vec_push(&w->frames, f))
			return 0;
		xw_fail_nomem(w->img->diag, "directory");
	}
	frame_free(&f);
	return XW_ERR_NOMEM;
}

static void frame_pop(struct xw_walk *w)
{
	frame_free(&w->frames.v[--w->frames.n]);
}

/* ---- items ---- */

static int damage(struct xw_walk *w, xw_ino ino, const char *what)
{
	return xw_fail(w->img->diag, XW_ERR_CORRUPT, "%s: inode %" PRIu32 " %s", w->img->dev->name,
		       ino, what);
}

/* Make w->path the directory's path plus a name, terminated. */
static int set_path(struct xw_walk *w, size_t dir_len, const char *name, size_t len)
{
	if (xw_vec_reserve(&w->path, dir_len + len + 2))
		return xw_fail_nomem(w->img->diag, "path");
	w->path.n = dir_len;
	if (dir_len && len)
		w->path.v[w->path.n++] = '/';
	if (len)
		memcpy(w->path.v + w->path.n, name, len);
	w->path.n += len;
	w->path.v[w->path.n] = '\0';
	return 0;
}

static bool is_file_type(uint32_t mode)
{
	switch (mode & XW_S_IFMT) {
	case XW_S_IFREG:
	case XW_S_IFDIR:
	case XW_S_IFLNK:
	case XW_S_IFCHR:
	case XW_S_IFBLK:
	case XW_S_IFIFO:
	case XW_S_IFSOCK:
		return true;
	default:
		return false;
	}
}

/* 1: *e describes ino; 0: it is left out. A directory's contents become the top frame. */
static int give(struct xw_walk *w, xw_ino ino, struct xw_walk_item *e)
{
	const bool is_top = w->frames.n == 0;
	int rc;

	if (ino != XW_INO_ROOT && ino < w->img->sb.first_ino)
		return damage(w, ino, "is reserved and cannot have a name");
	rc = xw_image_inode(w->img, ino, &e->inode, w->raw);
	if (rc)
		return rc;
	if (!e->inode.links || !is_file_type(e->inode.mode) || e->inode.flags & XW_FL_EA_INODE)
		return damage(w, ino, "has a name but is not a file");
	if (e->inode.flags & XW_FL_ENCRYPT)
		return xw_fail(w->img->diag, XW_ERR_UNSUPPORTED,
			       "%s: inode %" PRIu32 " is encrypted", w->img->dev->name, ino);
	if ((e->inode.mode & XW_S_IFMT) == XW_S_IFDIR) {
		rc = seen_add(w, ino);
		if (rc < 0)
			return rc;
		if (!rc)
			return damage(w, ino, "is a directory with a second name");
		rc = frame_push(w, ino, &e->inode);
		if (rc)
			return rc;
		if (!is_top && w->frames.n == 2 && w->top == XW_INO_ROOT &&
		    !strcmp(w->path.v, "lost+found") && !w->frames.v[1].children.n &&
		    !w->frames.v[1].code) {
			frame_pop(w);
			return 0;
		}
	}
	e->ino = ino;
	e->raw = w->raw;
	return 1;
}

int xw_walk_next(struct xw_walk *w, struct xw_walk_item *e)
{
	int rc;

	e->path = w->path.v;
	e->path_len = w->path.n;
	if (w->begin) {
		w->begin = false;
		return give(w, w->top, e);
	}
	while (w->frames.n) {
		struct frame *f = &w->frames.v[w->frames.n - 1];
		struct child c;

		if (f->code) {
			rc = set_path(w, f->path_len, NULL, 0);
			if (rc)
				return rc;
			e->path = w->path.v;
			e->path_len = w->path.n;
			rc = xw_fail(w->img->diag, f->code, "%s", f->line ? f->line : "");
			f->code = 0;
			return rc;
		}
		if (f->next == f->children.n) {
			frame_pop(w);
			continue;
		}
		c = f->children.v[f->next++];
		rc = set_path(w, f->path_len, f->names.v + c.name_off, c.name_len);
		if (rc)
			return rc;
		e->path = w->path.v;
		e->path_len = w->path.n;
		if (w->prune && w->prune(w->arg, w->path.v, w->path.n))
			continue;
		rc = give(w, c.ino, e);
		if (rc)
			return rc;
	}
	return 0;
}

int xw_walk_new(struct xw_image *img, const char *top,
		bool (*prune)(void *arg, const char *path, size_t len), void *arg,
		struct xw_walk **out)
{
	struct xw_walk *w = calloc(1, sizeof(*w));
	struct xw_inode inode;
	int rc;

	if (!w)
		return xw_fail_nomem(img->diag, "walk");
	*w = (struct xw_walk){
		.img = img, .prune = prune, .arg = arg, .begin = true, .top = XW_INO_ROOT};
	w->raw = malloc(img->inode_size);
	rc = w->raw ? set_path(w, 0, NULL, 0) : xw_fail_nomem(img->diag, "inode");
	if (!rc && top && *top) {
		rc = xw_path_resolve(img, XW_INO_ROOT, top, true, &w->top);
		if (rc == XW_ERR_NOTFOUND)
			xw_fail(img->diag, rc, "%s: %s: no such directory in the image",
				img->dev->name, top);
		if (!rc)
			rc = xw_image_inode(img, w->top, &inode, NULL);
		if (!rc && (inode.mode & XW_S_IFMT) != XW_S_IFDIR)
			rc = xw_fail(img->diag, XW_ERR_INPUT, "%s: %s: not a directory",
				     img->dev->name, top);
	}
	if (rc) {
		xw_walk_free(w);
		return rc;
	}
	*out = w;
	return 0;
}

void xw_walk_free(struct xw_walk *w)
{
	if (!w)
		return;
	while (w->frames.n)
		frame_pop(w);
	xw_vec_free(&w->frames);
	xw_vec_free(&w->path);
	xw_vec_free(&w->seen);
	free(w->raw);
	free(w);
}
