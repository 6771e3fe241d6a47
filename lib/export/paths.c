/* SPDX-License-Identifier: MIT */
/*
 * Paths are looked up one component at a time without following symbolic links: a path through a
 * link would be extracted below the link, not below a directory.
 */
#include "config.h"

#include "export/paths.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "read/dirs.h"

struct finder {
	struct xw_image *img;
	enum xw_export_order order;
	struct xw_children *roots;
	size_t found; /* matches of the current path */
	bool all;
	XW_VEC(char) path; /* path so far, not terminated */
};

/* The next component of p; length 0 at the end. "." is skipped. */
static const char *component(const char *p, size_t *len)
{
	for (;; p += *len) {
		p += strspn(p, "/");
		*len = strcspn(p, "/");
		if (*len != 1 || *p != '.')
			return p;
	}
}

static int push(struct finder *f, const char *name, size_t len)
{
	if (xw_vec_reserve(&f->path, f->path.n + len + 1))
		return xw_fail_nomem(f->img->diag, "path");
	if (f->path.n)
		f->path.v[f->path.n++] = '/';
	memcpy(f->path.v + f->path.n, name, len);
	f->path.n += len;
	return 0;
}

/* f->path leads to inode ino: add it to the roots. */
static int add_match(struct finder *f, xw_ino ino)
{
	f->found++;
	if (!f->path.n) {
		f->all = true;
		return 0;
	}
	return xw_children_add(f->roots, ino, false, f->path.v, f->path.n);
}

/* Ignore a failed lookup: unreadable paths count as missing. Only XW_ERR_NOMEM is returned. */
static int ignore(struct finder *f, int rc)
{
	if (rc == XW_ERR_NOMEM)
		return rc;
	if (f->img->diag)
		xw_diag_clear(f->img->diag);
	return 0;
}

static int find_literal(struct finder *f, xw_ino ino, const char *rest)
{
	size_t len;

	f->path.n = 0;
	while (rest = component(rest, &len), len) {
		const xw_ino dir = ino;
		int rc;

		if (len == 2 && !memcmp(rest, "..", 2))
			return 0;
		rc = xw_dir_lookup(f->img, dir, rest, len, &ino, NULL);
		ignore(f, rc); /* also clears damage that a successful lookup came across */
		if (rc)
			return rc == XW_ERR_NOMEM ? rc : 0;
		rc = push(f, rest, len);
		if (rc)
			return rc;
		rest += len;
	}
	return add_match(f, ino);
}

/* One directory in which a component of the pattern is searched. */
struct level {
	char *pattern; /* the component */
	const char *rest; /* what follows it */
	size_t path_len; /* of the directory's path */
	struct xw_children children;
};

struct levels {
	XW_VEC(struct level *) a;
};

static void leave(struct levels *ls)
{
	struct level *l = ls->a.v[--ls->a.n];

	xw_children_free(&l->children);
	free(l->pattern);
	free(l);
}

/* f->path leads to `dir`: it matches if nothing of the pattern is left, else search in it. */
static int enter(struct finder *f, struct levels *ls, xw_ino dir, const char *rest)
{
	size_t len;
	const char *first = component(rest, &len);
	auto_free uint8_t *raw = NULL;
	struct xw_inode inode;
	struct level *l;
	int rc;

	if (!len)
		return add_match(f, dir);
	raw = malloc(f->img->inode_size);
	if (!raw)
		return xw_fail_nomem(f->img->diag, "path");
	rc = xw_image_inode(f->img, dir, &inode, raw);
	if (rc || (inode.mode & XW_S_IFMT) != XW_S_IFDIR || inode.flags & XW_FL_ENCRYPT)
		return ignore(f, rc);
	l = calloc(1, sizeof(*l));
	if (!l || xw_vec_push(&ls->a, l)) {
		free(l);
		return xw_fail_nomem(f->img->diag, "path");
	}
	l->pattern = strndup(first, len);
	l->rest = first + len;
	l->path_len = f->path.n;
	if (!l->pattern)
		return xw_fail_nomem(f->img->diag, "path");
	return ignore(f,
		      xw_children_open(f->img, f->order, SIZE_MAX, dir, &inode, raw, &l->children));
}

/* Compare one directory entry with the component of the pattern, and follow it if it matches. */
static int try_entry(struct finder *f, struct levels *ls, xw_ino ino, const char *name, size_t len)
{
	const struct level *l = ls->a.v[ls->a.n - 1];
	auto_free char *text = strndup(name, len);
	int rc;

	if (!text)
		return xw_fail_nomem(f->img->diag, "path");
	if (fnmatch(l->pattern, text, 0))
		return 0;
	rc = push(f, name, len);
	return rc ? rc : enter(f, ls, ino, l->rest);
}

static int find_pattern(struct finder *f, xw_ino dir, const char *pattern)
{
	struct levels ls = {0};
	int rc = enter(f, &ls, dir, pattern);

	while (!rc && ls.a.n) {
		struct level *l = ls.a.v[ls.a.n - 1];
		const char *name;
		size_t len;
		xw_ino ino;
		const int more = xw_children_next(&l->children, &ino, &name, &len);

		f->path.n = l->path_len;
		if (more > 0)
			rc = try_entry(f, &ls, ino, name, len);
		else if (more < 0)
			rc = ignore(f, more);
		else
			leave(&ls);
	}
	while (ls.a.n)
		leave(&ls);
	xw_vec_free(&ls.a);
	return rc;
}

/* ---- paths below others ---- */

/* '/' sorts before every byte, so that paths below a directory directly follow its own path. */
static int compare_paths(const char *a, size_t a_len, const char *b, size_t b_len)
{
	for (size_t i = 0; i < a_len && i < b_len; i++) {
		const unsigned x = a[i] == '/' ? 0 : (unsigned char)a[i];
		const unsigned y = b[i] == '/' ? 0 : (unsigned char)b[i];

		if (x != y)
			return x < y ? -1 : 1;
	}
	return a_len < b_len ? -1 : a_len > b_len;
}

static int by_path(const void *a, const void *b, void *names)
{
	const struct xw_child *x = a, *y = b;
	const char *base = names;

	return compare_paths(base + x->name_off, x->name_len, base + y->name_off, y->name_len);
}

static int by_offset(const void *a, const void *b)
{
	const struct xw_child *x = a, *y = b;

	return x->name_off < y->name_off ? -1 : x->name_off > y->name_off;
}

static void drop_below(struct xw_children *roots)
{
	const char *names = roots->names.v;
	size_t n = 0;

	if (!roots->v.n)
		return;
	qsort_r(roots->v.v, roots->v.n, sizeof(*roots->v.v), by_path, roots->names.v);
	for (size_t i = 0; i < roots->v.n; i++) {
		const struct xw_child e = roots->v.v[i], *top = &roots->v.v[n ? n - 1 : 0];

		if (!n || !xw_path_is_below(names + e.name_off, e.name_len, names + top->name_off,
					    top->name_len))
			roots->v.v[n++] = e;
	}
	roots->v.n = n;
	/* names are stored in the order of the requests: restore it */
	qsort(roots->v.v, n, sizeof(*roots->v.v), by_offset);
}

int xw_paths_resolve(struct xw_image *img, xw_ino top, enum xw_export_order order,
		     const struct xw_path_list *paths, int (*missing)(void *arg, const char *path),
		     void *arg, struct xw_children *roots, bool *all)
{
	struct finder f = {.img = img, .order = order, .roots = roots};
	int rc = 0;

	*roots = (struct xw_children){.img = img, .order = order};
	for (size_t i = 0; i < paths->n && !rc; i++) {
		f.found = 0;
		rc = find_literal(&f, top, paths->v[i]);
		f.path.n = 0;
		if (!rc && !f.found && strpbrk(paths->v[i], "*?["))
			rc = find_pattern(&f, top, paths->v[i]);
		if (!rc && !f.found)
			rc = missing(arg, paths->v[i]);
	}
	drop_below(roots);
	*all = f.all;
	xw_vec_free(&f.path);
	return rc;
}
