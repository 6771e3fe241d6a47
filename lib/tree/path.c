// SPDX-License-Identifier: MIT
/*
 * Path resolution inside the image. A path is untrusted: absolute names, "..", symlinked parents
 * and loops all resolve to a place below the start of the walk, or to an error, never outside.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "disk/dirent.h"
#include "disk/inode.h"
#include "tree/tree.h"

#define MAX_SYMLINKS 40

struct walk {
	struct xw_tree *t;
	struct xw_binode *root; /* no path leads out of it */
	enum xw_path_walk how;
	struct xw_binode *dir;
	int symlinks;
	bool dots;
};

static int component(const char **p, const char *end, const char **name, size_t *len)
{
	while (*p < end && **p == '/')
		(*p)++;
	*name = *p;
	while (*p < end && **p != '/')
		(*p)++;
	*len = (size_t)(*p - *name);
	return *len != 0;
}

static bool last_component(const char *p, const char *end)
{
	while (p < end) {
		if (*p == '/') {
			p++;
		} else if (*p == '.' && (p + 1 == end || p[1] == '/')) {
			p++;
		} else {
			return false;
		}
	}
	return true;
}

static int check_name(struct xw_tree *t, const char *name, size_t len)
{
	if (len > XW_NAME_MAX)
		return xw_fail(t->diag, XW_ERR_INPUT, "a name of %zu bytes is over the limit of %d",
			       len, XW_NAME_MAX);
	if (memchr(name, 0, len))
		return xw_fail(t->diag, XW_ERR_INPUT, "name holds a NUL byte: %.*s", (int)len,
			       name);
	return 0;
}

/* Create a directory of that name; it replaces `old`, if not NULL. */
static int make_dir(struct walk *w, const char *name, size_t len, struct xw_blink *old)
{
	struct xw_tree *t = w->t;
	struct xw_binode *d = xw_tree_node(t, XW_S_IFDIR | 0755);
	const uint16_t layer = t->layer;
	int rc;

	if (!d)
		return xw_fail_nomem(t->diag, "directory");
	rc = t->implied ? t->implied(t->implied_arg, d, w->dir, old) : 0;
	if (!rc && old)
		rc = xw_tree_unlink(t, old);
	if (rc)
		return rc;
	if (w->how != XW_WALK_OWN)
		t->layer = 0;
	rc = xw_tree_link(t, w->dir, name, len, d);
	t->layer = layer;
	w->dir = d;
	return rc;
}

static int walk_dirs(struct walk *w, const char *path, size_t len);

/* Step from w->dir into one component that must be a directory. */
static int step(struct walk *w, const char *name, size_t len)
{
	struct xw_blink *l;
	int rc = check_name(w->t, name, len);

	if (rc)
		return rc;
	w->dots |= xw_name_is_dots(name, len);
	if (len == 1 && name[0] == '.')
		return 0;
	if (len == 2 && name[0] == '.' && name[1] == '.') {
		if (w->dir != w->root)
			w->dir = w->dir->dir->parent;
		return 0;
	}
	l = xw_tree_find(w->t, w->dir, name, len);
	if (!l && w->how == XW_WALK_ADD && xw_tree_covered(w->t, w->dir))
		return XW_ERR_NOTFOUND;
	if (!l)
		return w->how == XW_WALK_FIND ? XW_ERR_NOTFOUND : make_dir(w, name, len, NULL);
	rc = xw_tree_need(w->t, l->node);
	if (rc)
		return rc;
	if (xw_binode_is(l->node, XW_S_IFDIR)) {
		if (w->how == XW_WALK_OWN)
			l->layer = w->t->layer; /* this source contains a name below it */
		w->dir = l->node;
		return 0;
	}
	if (xw_binode_is(l->node, XW_S_IFLNK)) {
		const struct xw_binode *s = l->node;

		if (++w->symlinks > MAX_SYMLINKS)
			return xw_fail(w->t->diag, XW_ERR_INPUT,
				       "more than %d symlinks on the way through %.*s",
				       MAX_SYMLINKS, (int)len, name);
		if (!s->bytes)
			return xw_fail(w->t->diag, XW_ERR_UNSUPPORTED,
				       "%.*s is an encrypted symlink: its target is not known",
				       (int)len, name);
		if (s->size && s->bytes[0] == '/')
			w->dir = w->root;
		return walk_dirs(w, s->bytes, s->size);
	}
	return w->how == XW_WALK_OWN ? make_dir(w, name, len, l) : XW_ERR_NOTFOUND;
}

/* Recursion is bounded by MAX_SYMLINKS. */
static int walk_dirs(struct walk *w, const char *path, size_t len)
{
	const char *p = path, *end = path + len, *name;
	size_t n;

	while (component(&p, end, &name, &n)) {
		int rc = step(w, name, n);

		if (rc)
			return rc;
	}
	return 0;
}

static int remember(const struct walk *w, const char *dir, size_t len)
{
	struct xw_tree *t = w->t;

	/* Walks of other kinds do not assign the names on the path to this layer. */
	if (w->how != XW_WALK_OWN)
		return 0;
	if (len > t->last_dir_cap) {
		char *p = realloc(t->last_dir, len * 2);

		if (!p)
			return xw_fail_nomem(t->diag, "path");
		t->last_dir = p;
		t->last_dir_cap = len * 2;
	}
	if (len)
		memcpy(t->last_dir, dir, len);
	t->last_dir_len = len;
	t->last_from = w->root;
	t->last_parent = w->dir;
	t->last_plain = !w->dots && !w->symlinks;
	return 0;
}

/* Set *at without a walk, if the parent of the path is textually that of the previous path. */
static bool same_parent(const struct xw_tree *t, const struct xw_binode *from, const char *path,
			size_t len, struct xw_path_at *at)
{
	size_t n = t->last_dir_len;
	const char *name = path + n;
	size_t rest = len - n;

	if (!t->last_parent || t->last_from != from || len <= n ||
	    (n && memcmp(path, t->last_dir, n)))
		return false;
	while (rest && name[rest - 1] == '/')
		rest--;
	if (!rest || rest > XW_NAME_MAX || memchr(name, '/', rest) || memchr(name, 0, rest) ||
	    name[0] == '.')
		return false;
	*at = (struct xw_path_at){t->last_parent, name, rest};
	return true;
}

/*
 * Start in the deepest directory that this path and the previous one have in common: a walk of each
 * path of a deep tree from the root on would take time quadratic in the depth. Returns how much of
 * the path leads there.
 */
static size_t start_nearby(struct walk *w, const char *path, size_t len)
{
	const struct xw_tree *t = w->t;
	size_t n = t->last_dir_len, common;

	if (w->how != XW_WALK_OWN || !t->last_parent || t->last_from != w->root || !t->last_plain)
		return 0;
	common = xw_same_start(path, t->last_dir, XW_MIN(len, n));
	if (n - common > common) /* the root is not farther away */
		return 0;
	w->dir = t->last_parent;
	while (n > common) {
		while (n && t->last_dir[n - 1] == '/')
			n--;
		if (n)
			w->dir = w->dir->dir->parent;
		while (n && t->last_dir[n - 1] != '/')
			n--;
	}
	return n;
}

int xw_tree_walk(struct xw_tree *t, struct xw_binode *from, const char *path, size_t len,
		 enum xw_path_walk how, struct xw_path_at *at)
{
	struct walk w = {.t = t, .root = from, .how = how, .dir = from};
	const char *p = path, *end = path + len, *name;
	size_t n;
	int rc;

	if (same_parent(t, from, path, len, at))
		return 0;
	rc = xw_tree_need(t, from);
	if (rc)
		return rc;
	p += start_nearby(&w, path, len);
	while (component(&p, end, &name, &n)) {
		bool dots = xw_name_is_dots(name, n);

		if (last_component(p, end) && !dots) {
			rc = check_name(t, name, n);
			if (rc)
				return rc;
			*at = (struct xw_path_at){w.dir, name, n};
			return remember(&w, path, (size_t)(name - path));
		}
		rc = step(&w, name, n);
		if (rc)
			return rc;
	}
	*at = (struct xw_path_at){w.dir, path + len, 0};
	return 0;
}

int xw_tree_enter(struct xw_tree *t, const char *path, size_t len, enum xw_path_walk how,
		  struct xw_binode **dir)
{
	struct walk w = {.t = t, .root = t->root, .how = how, .dir = t->root};
	int rc = xw_tree_need(t, t->root);

	if (!rc)
		rc = walk_dirs(&w, path, len);
	*dir = w.dir;
	return rc;
}

int xw_tree_lookup(struct xw_tree *t, struct xw_binode *from, const char *path, size_t len,
		   struct xw_binode **out)
{
	struct xw_path_at at;
	struct xw_blink *l;
	int rc = xw_tree_walk(t, from, path, len, XW_WALK_FIND, &at);

	if (rc)
		return rc;
	if (!at.len) {
		*out = at.dir;
		return 0;
	}
	l = xw_tree_find(t, at.dir, at.name, at.len);
	if (!l)
		return XW_ERR_NOTFOUND;
	*out = l->node;
	return 0;
}
