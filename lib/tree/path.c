// SPDX-License-Identifier: MIT
/*
 * Path resolution inside the image. A path is untrusted text: absolute names, "..", symlinked
 * parents and loops all end at a place below the root, or in an error, never outside.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "disk/dirent.h"
#include "disk/inode.h"
#include "tree/tree.h"

#define MAX_SYMLINKS 40

struct walk {
	struct xw_tree *t;
	struct xw_binode *dir;
	bool create;
	int symlinks;
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
		return xw_fail(t->diag, XW_ERR_INPUT,
			       "name of %zu bytes is over the limit of %d: %.40s...", len,
			       XW_NAME_MAX, name);
	if (memchr(name, 0, len))
		return xw_fail(t->diag, XW_ERR_INPUT, "name holds a NUL byte: %.*s", (int)len,
			       name);
	return 0;
}

static int make_dir(struct walk *w, const char *name, size_t len)
{
	struct xw_binode *d = xw_tree_node(w->t, XW_S_IFDIR | 0755);
	int ret;

	if (!d)
		return xw_fail_nomem(w->t->diag, "directory");
	ret = xw_tree_link(w->t, w->dir, name, len, d);
	if (!ret)
		w->dir = d;
	return ret;
}

static int walk_dirs(struct walk *w, const char *path, size_t len);

/* Step from w->dir into one component that must end up as a directory. */
static int step(struct walk *w, const char *name, size_t len)
{
	struct xw_blink *l;
	int ret = check_name(w->t, name, len);

	if (ret)
		return ret;
	if (len == 1 && name[0] == '.')
		return 0;
	if (len == 2 && name[0] == '.' && name[1] == '.') {
		w->dir = w->dir->dir->parent;
		return 0;
	}
	l = xw_tree_find(w->t, w->dir, name, len);
	if (!l)
		return w->create ? make_dir(w, name, len) : XW_ERR_NOTFOUND;
	ret = xw_tree_need(w->t, l->node);
	if (ret)
		return ret;
	if (xw_binode_is(l->node, XW_S_IFDIR)) {
		if (w->create)
			l->layer = w->t->layer; /* the source has something below it */
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
		if (s->size && s->bytes[0] == '/') {
			w->dir = w->t->root;
			ret = xw_tree_need(w->t, w->dir);
			if (ret)
				return ret;
		}
		return walk_dirs(w, s->bytes, s->size);
	}
	if (!w->create)
		return XW_ERR_NOTFOUND;
	ret = xw_tree_unlink(w->t, l);
	return ret ? ret : make_dir(w, name, len);
}

/* Recursion is bounded by MAX_SYMLINKS. */
static int walk_dirs(struct walk *w, const char *path, size_t len)
{
	const char *p = path, *end = path + len, *name;
	size_t n;

	while (component(&p, end, &name, &n)) {
		int ret = step(w, name, n);

		if (ret)
			return ret;
	}
	return 0;
}

static int remember(struct xw_tree *t, const char *dir, size_t len, struct xw_binode *parent)
{
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
	t->last_parent = parent;
	return 0;
}

/*
 * The last component of a path from the root, when the part before it is the same text as last
 * time.
 */
static bool same_parent(struct xw_tree *t, const char *path, size_t len, struct xw_path_at *at)
{
	size_t n = t->last_dir_len;
	const char *name = path + n;
	size_t rest = len - n;

	if (!t->last_parent || len <= n || (n && memcmp(path, t->last_dir, n)))
		return false;
	while (rest && name[rest - 1] == '/')
		rest--;
	if (!rest || rest > XW_NAME_MAX || memchr(name, '/', rest) || memchr(name, 0, rest) ||
	    name[0] == '.')
		return false;
	*at = (struct xw_path_at){t->last_parent, name, rest};
	return true;
}

int xw_tree_walk(struct xw_tree *t, struct xw_binode *from, const char *path, size_t len,
		 bool create, struct xw_path_at *at)
{
	struct walk w = {t, from, create, 0};
	const char *p = path, *end = path + len, *name;
	size_t n;
	int ret;

	if (from == t->root && same_parent(t, path, len, at))
		return 0;
	ret = xw_tree_need(t, from);
	if (ret)
		return ret;
	while (component(&p, end, &name, &n)) {
		bool dots = name[0] == '.' && (n == 1 || (n == 2 && name[1] == '.'));

		if (last_component(p, end) && !dots) {
			ret = check_name(t, name, n);
			if (ret)
				return ret;
			*at = (struct xw_path_at){w.dir, name, n};
			return from == t->root ? remember(t, path, (size_t)(name - path), w.dir)
					       : 0;
		}
		ret = step(&w, name, n);
		if (ret)
			return ret;
	}
	*at = (struct xw_path_at){w.dir, path + len, 0};
	return 0;
}

int xw_tree_lookup(struct xw_tree *t, const char *path, size_t len, struct xw_binode **out)
{
	struct xw_path_at at;
	struct xw_blink *l;
	int ret = xw_tree_walk(t, t->root, path, len, false, &at);

	if (ret)
		return ret;
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
