/* SPDX-License-Identifier: MIT */
/*
 * The walk keeps one frame for each directory of the current path: the names still to be visited.
 * An image can contain cycles and directories with several names; each directory is entered once,
 * which bounds the walk by the number of entries.
 *
 * An empty lost+found in the root is skipped: it belongs to the filesystem, not to its contents.
 */
#include "export/walk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/table.h"
#include "read/dirs.h"

#define STREAMS_MAX 8u /* open itrees: each takes a few hundred KiB */
/* a directory with more bytes of names than this is read from its itree in batches */
#define HOLD ((size_t)256 << 20)

struct frame {
	struct xw_children children;
	size_t path_len; /* length of the directory's path */
	bool streams; /* its itree was left open */
};

struct xw_walk {
	struct xw_image *img;
	enum xw_export_order order;
	const struct xw_select *select;
	XW_VEC(struct frame) frames;
	unsigned streams; /* frames with an open itree */
	XW_VEC(char) path;
	struct xw_table seen; /* numbers of the directories entered: see xw_numbers_add() */
	uint8_t *raw;
	xw_ino top;
	bool whole; /* the walk covers everything from the root on */
	bool begin; /* the top was not returned yet */
};

/* ---- frames ---- */

/* Read directory ino into a new frame. Only running out of memory fails. */
static int frame_push(struct xw_walk *w, xw_ino ino, const struct xw_inode *inode)
{
	struct frame f = {.path_len = w->path.n};
	int rc = xw_children_open(w->img, w->order, w->streams < STREAMS_MAX ? HOLD : SIZE_MAX, ino,
				  inode, w->raw, &f.children);

	if (!rc && xw_vec_push(&w->frames, f))
		rc = xw_fail_nomem(w->img->diag, "directory");
	if (rc) {
		xw_children_free(&f.children);
		return rc;
	}
	w->frames.v[w->frames.n - 1].streams = f.children.itree;
	w->streams += f.children.itree != NULL;
	return 0;
}

static void frame_pop(struct xw_walk *w)
{
	struct frame *f = &w->frames.v[--w->frames.n];

	w->streams -= f->streams;
	xw_children_free(&f->children);
}

/* ---- items ---- */

static int damage(struct xw_walk *w, xw_ino ino, const char *what)
{
	return xw_fail(w->img->diag, XW_ERR_CORRUPT, "%s: inode %" PRIu32 " %s", w->img->dev->name,
		       ino, what);
}

/* Set w->path to the path of the directory plus a name, terminated. */
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

/*
 * Enter directory ino: its contents become the top frame. 1: the directory itself is skipped. An
 * encrypted directory is returned, but its names are ciphertext and reported as unreadable.
 */
static int enter(struct xw_walk *w, xw_ino ino, const struct xw_inode *inode)
{
	struct xw_children *c;
	int rc = xw_numbers_add(&w->seen, ino);

	if (rc < 0)
		return xw_fail_nomem(w->img->diag, "set of directories");
	if (!rc)
		return damage(w, ino, "is a directory with more than one name");
	rc = frame_push(w, ino, inode);
	if (rc)
		return rc;
	c = &w->frames.v[w->frames.n - 1].children;
	if (inode->flags & XW_FL_ENCRYPT)
		return xw_children_hide(c, "names and contents are encrypted");
	if (w->whole && w->frames.n == 2 && !strcmp(w->path.v, "lost+found") &&
	    xw_children_none(c)) {
		frame_pop(w);
		return 1;
	}
	return 0;
}

/*
 * 1: *e describes inode ino; 0: the inode is skipped. The contents of a directory become the top
 * frame.
 */
static int visit(struct xw_walk *w, xw_ino ino, struct xw_walk_item *e)
{
	int rc;

	if (ino != XW_INO_ROOT && ino < w->img->sb.first_ino)
		return damage(w, ino, "is reserved and cannot have a name");
	rc = xw_image_inode(w->img, ino, &e->inode, w->raw);
	if (rc)
		return rc;
	if (!e->inode.links || !is_file_type(e->inode.mode) || e->inode.flags & XW_FL_EA_INODE)
		return damage(w, ino, "has a name but is not a file");
	if (e->inode.flags & XW_FL_ENCRYPT && (e->inode.mode & XW_S_IFMT) != XW_S_IFDIR)
		return xw_fail(w->img->diag, XW_ERR_UNSUPPORTED,
			       "%s: inode %" PRIu32 ": its contents are encrypted",
			       w->img->dev->name, ino);
	e->ino = ino;
	e->raw = w->raw;
	if ((e->inode.mode & XW_S_IFMT) != XW_S_IFDIR)
		return 1;
	rc = enter(w, ino, &e->inode);
	return rc < 0 ? rc : !rc;
}

int xw_walk_next(struct xw_walk *w, struct xw_walk_item *e)
{
	const char *name;
	size_t len;
	int rc;

	e->path = w->path.v;
	e->path_len = w->path.n;
	e->depth = 0;
	if (w->begin) {
		w->begin = false;
		return visit(w, w->top, e);
	}
	while (w->frames.n) {
		struct frame *f = &w->frames.v[w->frames.n - 1];
		xw_ino ino;
		int found = xw_children_next(&f->children, &ino, &name, &len);

		if (!found) {
			frame_pop(w);
			continue;
		}
		rc = set_path(w, f->path_len, name, found == 1 ? len : 0);
		e->path = w->path.v;
		e->path_len = w->path.n;
		e->depth = w->frames.n;
		if (rc || found < 0)
			return rc ? rc : found;
		if (w->select)
			rc = xw_select_excluded(w->select, (struct xw_slice){e->path, e->path_len});
		if (rc < 0)
			return xw_fail_nomem(w->img->diag, "--exclude");
		if (rc)
			continue;
		rc = visit(w, ino, e);
		if (rc)
			return rc;
	}
	return 0;
}

int xw_walk_top(struct xw_image *img, const char *top, xw_ino *ino)
{
	struct xw_inode inode;
	int rc;

	*ino = XW_INO_ROOT;
	if (!top || !*top)
		return 0;
	rc = xw_path_resolve(img, XW_INO_ROOT, top, true, ino);
	if (rc == XW_ERR_NOTFOUND)
		return xw_fail(img->diag, rc, "%s: %s: no such directory in the image",
			       img->dev->name, top);
	if (rc)
		return rc;
	rc = xw_image_inode(img, *ino, &inode, NULL);
	if (!rc && (inode.mode & XW_S_IFMT) != XW_S_IFDIR)
		rc = xw_fail(img->diag, XW_ERR_INPUT, "%s: %s: not a directory", img->dev->name,
			     top);
	return rc;
}

static void free_walk(struct xw_walk **w)
{
	xw_walk_free(*w);
}

int xw_walk_new(struct xw_image *img, const struct xw_walk_opts *o, struct xw_walk **out)
{
	auto_end(free_walk) struct xw_walk *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return xw_fail_nomem(img->diag, "walk");
	*w = (struct xw_walk){.img = img, .order = o->order, .select = o->select, .begin = true};
	w->raw = malloc(img->inode_size);
	rc = w->raw ? set_path(w, 0, NULL, 0) : xw_fail_nomem(img->diag, "inode");
	if (rc)
		return rc;
	rc = xw_walk_top(img, o->top, &w->top);
	if (rc)
		return rc;
	w->whole = w->top == XW_INO_ROOT && !o->roots;
	if (o->roots) {
		/* the roots are returned as the entries of a virtual directory */
		const struct frame f = {.children = *o->roots};

		if (xw_vec_push(&w->frames, f))
			return xw_fail_nomem(img->diag, "walk");
		*o->roots = (struct xw_children){0};
		w->begin = false;
	}
	*out = steal(w);
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
	xw_table_free(&w->seen);
	free(w->raw);
	free(w);
}
