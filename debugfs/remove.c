/* SPDX-License-Identifier: MIT */
/*
 * rm: removes names, patterns and directories, all operands of a request in one step. All names of
 * a directory are passed to edit/remove.c together, since removing them one by one would read the
 * directory each time.
 */
#include "config.h"

#include "path.h"
#include "read/dirs.h"
#include "edit/edit.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"

struct victim {
	xw_ino dir;
	char *name; /* owned */
};

struct removal {
	struct dbg *d;
	bool recursive, force;
	XW_VEC(struct victim) v;
};

static int add(struct removal *r, xw_ino dir, const char *name, size_t len)
{
	auto_free char *copy = strndup(name, len);

	if (len > XW_NAME_MAX)
		return xw_fail(&r->d->diag, XW_ERR_NOTFOUND, "a name of more than %d bytes",
			       XW_NAME_MAX);
	if (!copy || xw_vec_push(&r->v, ((struct victim){dir, copy})))
		return xw_fail_nomem(&r->d->diag, "names");
	copy = NULL;
	return 0;
}

/* Add all names that match the pattern; names with a leading dot only if the pattern has one. */
static int add_matching(struct removal *r, const struct dbg_path *p)
{
	struct xw_image *img = r->d->img;
	auto_free uint8_t *raw = malloc(img->inode_size);
	char name[XW_NAME_MAX + 1];
	struct xw_dir_iter it;
	struct xw_dirent e;
	struct xw_inode in;
	int rc;

	if (!raw)
		return xw_fail_nomem(&r->d->diag, "inode");
	rc = dbg_read_inode(r->d, p->dir, &in, raw);
	if (!rc)
		rc = xw_dir_begin(img, p->dir, &in, raw, &it);
	if (rc)
		return rc;
	while (!rc && (rc = xw_dir_next(&it, &e, NULL)) == 1) {
		rc = 0;
		memcpy(name, e.name, e.name_len);
		name[e.name_len] = '\0';
		if (strcmp(name, ".") && strcmp(name, "..") &&
		    !fnmatch(p->name, name, FNM_PERIOD | FNM_NOESCAPE))
			rc = add(r, p->dir, name, e.name_len);
	}
	xw_dir_end(&it);
	return rc;
}

/*
 * An existing name is used literally; otherwise it may be a pattern. Without -f, the removal itself
 * finds out whether a name without wildcards exists.
 */
static int add_operand(struct removal *r, const char *path)
{
	const size_t had = r->v.n;
	struct dbg_path p;
	xw_ino ino;
	bool pattern;
	int rc = dbg_split_path(r->d, path, &p);

	if (rc)
		return rc;
	pattern = strpbrk(p.name, "*?[");
	if (!pattern && !r->force)
		return add(r, p.dir, p.name, strlen(p.name));
	rc = xw_dir_lookup(r->d->img, p.dir, p.name, strlen(p.name), &ino, NULL);
	if (!rc)
		return add(r, p.dir, p.name, strlen(p.name));
	if (rc == XW_ERR_NOTFOUND && pattern)
		rc = add_matching(r, &p);
	if (rc && rc != XW_ERR_NOTFOUND)
		return rc;
	if (r->force || r->v.n > had)
		return 0;
	return xw_fail(&r->d->diag, XW_ERR_NOTFOUND, "%s" DBG_NO_FILE, path);
}

static int add_path(struct removal *r, const char *word)
{
	auto_free char *path = strdup(word);
	size_t len = strlen(word);
	int rc;

	if (!path)
		return xw_fail_nomem(&r->d->diag, "path");
	while (r->recursive && len && path[len - 1] == '/')
		path[--len] = '\0';
	if (!len)
		return xw_fail(&r->d->diag, XW_ERR_INPUT, "%s: cannot be removed",
			       *word ? word : "\"\"");
	rc = add_operand(r, path);
	if (rc != XW_ERR_NOTFOUND || !r->force)
		return rc;
	xw_diag_clear(&r->d->diag); /* with -f, the directory need not exist either */
	return 0;
}

/* ---- removing ---- */

static int by_place(const void *x, const void *y)
{
	const struct victim *a = x, *b = y;

	if (a->dir != b->dir)
		return a->dir < b->dir ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Sort by directory, and drop duplicates. */
static void sort(struct removal *r)
{
	size_t n = 0;

	if (r->v.n)
		qsort(r->v.v, r->v.n, sizeof(*r->v.v), by_place);
	for (size_t i = 0; i < r->v.n; i++) {
		if (n && !by_place(&r->v.v[n - 1], &r->v.v[i]))
			free(r->v.v[i].name);
		else
			r->v.v[n++] = r->v.v[i];
	}
	r->v.n = n;
}

static int remove_from(struct xw_removal *g, const struct victim *v, size_t n)
{
	auto_free struct xw_dir_victim *names = calloc(n, sizeof(*names));

	if (!names)
		return xw_fail_nomem(g->u->diag, "names");
	for (size_t i = 0; i < n; i++) {
		names[i].name = v[i].name;
		names[i].len = (uint8_t)strlen(v[i].name);
	}
	return xw_removal_from(g, v->dir, names, n);
}

static int remove_all(struct removal *r)
{
	struct xw_removal g = {
		.recursive = r->recursive,
		.keep_records = true,
		.keep = {r->d->root, r->d->cwd},
	};
	int rc = dbg_step_begin(r->d, &g.u);

	if (rc)
		return rc;
	for (size_t i = 0, end; i < r->v.n && !rc; i = end) {
		for (end = i + 1; end < r->v.n && r->v.v[end].dir == r->v.v[i].dir;)
			end++;
		rc = remove_from(&g, &r->v.v[i], end - i);
	}
	if (!rc)
		rc = xw_removal_run(&g);
	xw_removal_free(&g);
	return dbg_step_end(r->d, rc);
}

static int verb_rm(struct dbg *d, int argc, char **argv)
{
	enum { RECURSIVE = 1 | 2, FORCE = 4 };
	struct removal r = {.d = d};
	unsigned flags;
	int rc = 0;

	if (dbg_flags(argc, argv, "rRf", &flags) || optind == argc)
		return DBG_USAGE;
	r.recursive = flags & RECURSIVE;
	r.force = flags & FORCE;
	for (int i = optind; i < argc && !rc; i++)
		rc = add_path(&r, argv[i]);
	sort(&r);
	if (!rc && r.v.n)
		rc = remove_all(&r);
	for (size_t i = 0; i < r.v.n; i++)
		free(r.v.v[i].name);
	xw_vec_free(&r.v);
	return rc;
}

static const struct dbg_verb verbs[] = {
	{"rm", DBG_OPEN | DBG_WRITE, verb_rm, "[-rf] FILE...",
	 "remove names, and files with their last name; -r: directories with their contents"},
};

const struct dbg_family dbg_remove_verbs = {"Removing files", verbs, XW_ARRAY_SIZE(verbs)};
