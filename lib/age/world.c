// SPDX-License-Identifier: MIT
/*
 * Directory entries: directories are looked up, created and kept open; files are created, renamed
 * and deleted.
 *
 * Invariant: the inode of an open directory is changed only through its handle, and written when
 * the handle is closed.
 */
#include "config.h"

#include "age/world.h"

#include <stdlib.h>
#include <string.h>

#include "age/place.h"
#include "age/world_internal.h"
#include "base/auto.h"
#include "update/inode.h"

/* ---- open directories ---- */

static int put(struct xw_age_world *w, struct xw_age_dir *d)
{
	const int rc = xw_update_dir_put(&d->ud);
	const struct xw_itree_stats *st = &d->ud.d.tree.stats;

	w->itree->appends += st->appends;
	w->itree->splits += st->splits;
	w->itree->merges += st->merges;
	w->itree->freed += st->freed;
	xw_update_dir_end(&d->ud);
	free(d->path);
	*d = (struct xw_age_dir){0};
	return rc;
}

int xw_age_world_end(struct xw_age_world *w)
{
	int rc = 0;

	for (size_t i = 0; i < XW_AGE_DIRS && !rc; i++)
		if (w->dirs[i].path)
			rc = put(w, &w->dirs[i]);
	return rc;
}

void xw_age_world_close(struct xw_age_world *w)
{
	for (size_t i = 0; i < XW_AGE_DIRS; i++) {
		if (!w->dirs[i].path)
			continue;
		xw_update_dir_end(&w->dirs[i].ud);
		free(w->dirs[i].path);
		w->dirs[i] = (struct xw_age_dir){0};
	}
	free(w->path);
	w->path = NULL;
	w->path_room = 0;
}

static struct xw_age_dir *find_open(struct xw_age_world *w, const char *path, size_t len)
{
	for (size_t i = 0; i < XW_AGE_DIRS; i++) {
		struct xw_age_dir *d = &w->dirs[i];

		if (d->path && !strncmp(d->path, path, len) && !d->path[len]) {
			d->used = ++w->clock;
			return d;
		}
	}
	return NULL;
}

/* Find a free slot; if there is none, close the least recently used directory. */
static int make_room(struct xw_age_world *w, struct xw_age_dir **out)
{
	struct xw_age_dir *oldest = &w->dirs[0];

	for (size_t i = 0; i < XW_AGE_DIRS; i++) {
		struct xw_age_dir *d = &w->dirs[i];

		if (!d->path) {
			*out = d;
			return 0;
		}
		if (d->used < oldest->used)
			oldest = d;
	}
	*out = oldest;
	return put(w, oldest);
}

static int open_dir(struct xw_age_world *w, const char *path, size_t len, xw_ino ino,
		    struct xw_age_dir **out)
{
	auto_free char *copy = strndup(path, len);
	int rc = copy ? make_room(w, out) : xw_fail_nomem(w->u->diag, "directory");

	if (!rc)
		rc = xw_update_uninline(w->u, ino);
	if (rc)
		return rc;
	/* drop cached blocks: the directory may have changed since they were read */
	xw_image_drop_cache(w->u->img);
	rc = xw_update_dir_begin(w->u, ino, &(*out)->ud);
	if (rc) {
		xw_update_dir_end(&(*out)->ud);
		return rc;
	}
	(*out)->path = steal(copy);
	(*out)->ino = ino;
	(*out)->used = ++w->clock;
	return 0;
}

int xw_age_world_root(struct xw_age_world *w, struct xw_age_dir **out)
{
	*out = find_open(w, "", 0);
	return *out ? 0 : open_dir(w, "", 0, XW_INO_ROOT, out);
}

static void touch(struct xw_age_world *w, struct xw_age_dir *d)
{
	d->ud.in.mtime = d->ud.in.ctime = (struct xw_time){.sec = w->u->now};
}

/* Update the link count of a directory when a subdirectory is added or removed. */
static void count_subdir(struct xw_age_world *w, struct xw_age_dir *d, int delta)
{
	const bool many = w->u->img->sb.feature_ro_compat & XW_RO_DIR_NLINK;
	struct xw_inode *in = &d->ud.in;

	if (many && in->links == 1)
		return;
	in->links =
		many && in->links + delta > (int)XW_LINK_MAX ? 1 : (uint16_t)(in->links + delta);
}

static bool no_more_subdirs(const struct xw_age_world *w, const struct xw_age_dir *d)
{
	return !(w->u->img->sb.feature_ro_compat & XW_RO_DIR_NLINK) &&
	       d->ud.in.links >= XW_LINK_MAX;
}

static int make_dir(struct xw_age_world *w, struct xw_age_dir *parent, const char *name, size_t len,
		    xw_ino *ino)
{
	const struct xw_update_new n = {
		.mode = XW_S_IFDIR | 0755,
		.parent = parent->ino,
		.goal = xw_age_place_dir(w->u, parent->ino, name, len),
	};
	int rc = xw_update_create(w->u, &n, ino);

	if (!rc)
		rc = xw_dir_insert(&parent->ud.d, name, len, *ino, XW_FT_DIR);
	if (rc)
		return rc;
	w->u->dirs++;
	count_subdir(w, parent, 1);
	touch(w, parent);
	return 0;
}

/* Open the subdirectory path[0 .. len) of `parent`, which is path[0 .. at). As get_dir(). */
static int get_subdir(struct xw_age_world *w, struct xw_age_dir *parent, const char *path,
		      size_t at, size_t len, bool make, struct xw_age_dir **out)
{
	uint8_t ftype;
	xw_ino ino;
	int rc;

	at += path[at] == '/';
	rc = xw_dir_find(&parent->ud.d, path + at, len - at, &ino, &ftype);
	if (rc == XW_ERR_NOTFOUND) {
		if (!make || no_more_subdirs(w, parent))
			return 1;
		rc = make_dir(w, parent, path + at, len - at, &ino);
	} else if (!rc && !xw_age_is_dir(w, ino)) {
		return 1;
	}
	return rc ? rc : open_dir(w, path, len, ino, out);
}

/*
 * Open the directory path[0 .. len); with `make`, create missing directories. 1: it is missing, or
 * not a directory. Starts at the deepest directory on the path that is open.
 */
static int get_dir(struct xw_age_world *w, const char *path, size_t len, bool make,
		   struct xw_age_dir **out)
{
	size_t at = len;
	int rc = 0;

	while (at && !(*out = find_open(w, path, at))) {
		const char *slash = memrchr(path, '/', at);

		at = slash ? (size_t)(slash - path) : 0;
	}
	if (!at)
		rc = xw_age_world_root(w, out);
	while (!rc && at < len) {
		const size_t from = at + (path[at] == '/');
		const char *slash = memchr(path + from, '/', len - from);
		const size_t to = slash ? (size_t)(slash - path) : len;

		rc = get_subdir(w, *out, path, at, to, make, out);
		at = to;
	}
	return rc;
}

bool xw_age_is_dir(struct xw_age_world *w, xw_ino ino)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;

	if (xw_update_get(w->u, ino, &in, &raw)) {
		xw_diag_clear(w->u->diag);
		return false;
	}
	return (in.mode & XW_S_IFMT) == XW_S_IFDIR;
}

/* ---- the place of an operation ---- */

/* Set w->path to "top/path". */
static int full_path(struct xw_age_world *w, const char *path)
{
	const size_t room = strlen(w->top) + strlen(path) + 2;

	if (room > w->path_room) {
		char *more = realloc(w->path, room);

		if (!more)
			return xw_fail_nomem(w->u->diag, "path");
		w->path = more;
		w->path_room = room;
	}
	memcpy(w->path, w->top, strlen(w->top));
	w->path[strlen(w->top)] = '/';
	memcpy(w->path + strlen(w->top) + 1, path, strlen(path) + 1);
	return 0;
}

int xw_age_world_find(struct xw_age_world *w, const char *path, bool make, struct xw_age_place *p)
{
	const char *slash;
	int rc;

	*p = (struct xw_age_place){0};
	if (!xw_age_path_ok(path))
		return 1;
	rc = full_path(w, path);
	if (rc)
		return rc;
	slash = strrchr(w->path, '/');
	rc = get_dir(w, w->path, (size_t)(slash - w->path), make, &p->dir);
	if (rc)
		return rc;
	p->len = strlen(slash + 1);
	memcpy(p->name, slash + 1, p->len);
	rc = xw_dir_find(&p->dir->ud.d, p->name, p->len, &p->ino, NULL);
	return rc == XW_ERR_NOTFOUND ? 0 : rc;
}

int xw_age_world_make_file(struct xw_age_world *w, struct xw_age_place *p)
{
	const struct xw_update_new n = {
		.mode = XW_S_IFREG | 0644,
		.parent = p->dir->ino,
		.goal = xw_age_place_file(w->u, p->dir->ino),
	};
	int rc = xw_update_create(w->u, &n, &p->ino);

	if (!rc)
		rc = xw_dir_insert(&p->dir->ud.d, p->name, p->len, p->ino, XW_FT_REG);
	if (!rc)
		touch(w, p->dir);
	return rc;
}

int xw_age_world_make_dir(struct xw_age_world *w, struct xw_age_place *p)
{
	return make_dir(w, p->dir, p->name, p->len, &p->ino);
}

int xw_age_world_link(struct xw_age_world *w, struct xw_age_place *p, xw_ino ino, uint8_t ftype)
{
	const int rc = xw_dir_insert(&p->dir->ud.d, p->name, p->len, ino, ftype);

	touch(w, p->dir);
	return rc;
}

int xw_age_world_unlink(struct xw_age_world *w, struct xw_age_place *p)
{
	const int rc = xw_dir_delete(&p->dir->ud.d, p->name, p->len, NULL);

	touch(w, p->dir);
	return rc;
}

int xw_age_world_remove_dir(struct xw_age_world *w, struct xw_age_place *p)
{
	struct xw_age_dir *gone = find_open(w, w->path, strlen(w->path));
	int rc = gone ? put(w, gone) : 0;

	xw_image_drop_cache(w->u->img);
	if (!rc)
		rc = xw_update_check_empty(w->u, p->ino);
	if (rc == XW_ERR_STATE) {
		xw_diag_clear(w->u->diag);
		return 1;
	}
	if (!rc)
		rc = xw_age_world_unlink(w, p);
	if (!rc)
		rc = xw_update_drop(w->u, p->ino);
	if (rc)
		return rc;
	w->u->dirs -= w->u->dirs > 0;
	count_subdir(w, p->dir, -1);
	return 0;
}
