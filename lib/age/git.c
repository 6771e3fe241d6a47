// SPDX-License-Identifier: MIT
/*
 * Replays the checkouts of a repository's history: from one tree to the next, removed files are
 * deleted, new ones created, and changed ones deleted and created again.
 *
 * Each line of the list names a tree: a directory or an uncompressed tar archive, whose regular
 * files are hashed to detect changes, or a file with the output of "git ls-tree -r -l COMMIT".
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "age/git.h"
#include "age/source.h"
#include "base/auto.h"
#include "base/hash.h"
#include "base/vec.h"

struct entry {
	char *path; /* owned */
	uint64_t size;
	uint64_t hash; /* of contents: secret, so nobody can hide a change of them */
	size_t no; /* position in its tree */
};

struct tree {
	XW_VEC(struct entry) a; /* sorted by path */
};

struct git {
	FILE *list;
	const char *name;
	struct xw_diag *diag;
	const struct xw_commit_watch *watch;
	struct tree old, new;
	enum { GIT_DELETE, GIT_CREATE, GIT_NEXT } phase;
	size_t at_old, at_new;
	uint64_t ops, done;
	char *line;
	size_t room;
};

static void free_tree(struct tree *t)
{
	for (size_t i = 0; i < t->a.n; i++)
		free(t->a.v[i].path);
	xw_vec_free(&t->a);
}

static void git_close(void *state)
{
	struct git *g = state;

	free_tree(&g->old);
	free_tree(&g->new);
	free(g->line);
	fclose(g->list);
	free(g);
}

static int add(struct git *g, const char *path, uint64_t size, uint64_t hash)
{
	const struct entry e = {strdup(path), size, hash, g->new.a.n};

	if (!e.path || xw_vec_push(&g->new.a, e)) {
		free(e.path);
		return xw_fail_nomem(g->diag, "tree");
	}
	return 0;
}

static int check_canceled(const struct git *g)
{
	return xw_commit_check_canceled(g->watch, g->name, g->diag);
}

/* ---- directories ---- */

static int hash_file(struct git *g, int dir, const char *name, uint64_t *hash)
{
	auto_fd int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	auto_free uint8_t *buf = malloc(1 << 16);
	const struct xw_hash_key key = xw_hash_process_key();
	ssize_t n = -1;

	if (!buf)
		return xw_fail_nomem(g->diag, "tree");
	*hash = 0;
	while (fd >= 0 && (n = read(fd, buf, 1 << 16)) > 0) {
		*hash = xw_hash_secret(&key, *hash + 1, buf, (size_t)n);
		if (check_canceled(g))
			return XW_ERR_CANCELED;
	}
	return fd < 0 || n < 0 ? xw_fail_errno(g->diag, XW_ERR_IO, errno, "%s", name) : 0;
}

struct level {
	DIR *d;
	char *path; /* owned */
};

/* The directories from the tree's top to the current one. */
struct walk {
	struct git *g;
	XW_VEC(struct level) levels;
};

static void end_walk(struct walk *w)
{
	for (size_t i = 0; i < w->levels.n; i++) {
		closedir(w->levels.v[i].d);
		free(w->levels.v[i].path);
	}
	xw_vec_free(&w->levels);
}

/* Enter a directory. Owns fd and path, also if it fails. */
static int enter(struct walk *w, int fd, char *path)
{
	struct level l = {.path = path};
	int rc = 0;

	if (w->levels.n >= XW_AGE_DEPTH_MAX)
		rc = xw_fail(w->g->diag, XW_ERR_LIMIT, "%s: directories too deep", path);
	else if (!path || !(l.d = fdopendir(fd)))
		rc = xw_fail_nomem(w->g->diag, "tree");
	else if (xw_vec_push(&w->levels, l))
		rc = xw_fail_nomem(w->g->diag, "tree");
	if (!rc)
		return 0;
	if (l.d)
		closedir(l.d);
	else
		close(fd);
	free(path);
	return rc;
}

static int walk_entry(struct walk *w, int dir, const char *prefix, const char *name)
{
	struct git *g = w->g;
	auto_free char *path = NULL;
	struct stat st;
	uint64_t hash = 0;
	int rc, sub;

	if (!strcmp(name, ".") || !strcmp(name, "..") || (!*prefix && !strcmp(name, ".git")))
		return 0;
	if (check_canceled(g))
		return XW_ERR_CANCELED;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return xw_fail_errno(g->diag, XW_ERR_IO, errno, "%s", name);
	if (asprintf(&path, "%s%s%s", prefix, *prefix ? "/" : "", name) < 0) {
		path = NULL;
		return xw_fail_nomem(g->diag, "tree");
	}
	if (S_ISDIR(st.st_mode)) {
		sub = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		return sub < 0 ? xw_fail_errno(g->diag, XW_ERR_IO, errno, "%s", path)
			       : enter(w, sub, steal(path));
	}
	if (!S_ISREG(st.st_mode))
		return 0;
	rc = hash_file(g, dir, name, &hash);
	return rc ? rc : add(g, path, (uint64_t)st.st_size, hash);
}

/* Closes fd. */
static int walk_fd(struct git *g, int fd)
{
	struct walk w = {.g = g};
	int rc = enter(&w, fd, strdup(""));

	while (!rc && w.levels.n) {
		const struct level l = w.levels.v[w.levels.n - 1];
		const struct dirent *e = readdir(l.d);

		if (e) {
			rc = walk_entry(&w, dirfd(l.d), l.path, e->d_name);
			continue;
		}
		closedir(l.d);
		free(l.path);
		w.levels.n--;
	}
	end_walk(&w);
	return rc;
}

/* ---- listings ---- */

/* Parse "MODE TYPE HASH SIZE\tPATH". Only regular files are added. */
static int parse_row(struct git *g, const char *name, uint64_t no, char *line)
{
	const struct xw_hash_key key = xw_hash_process_key();
	char mode[16], type[16], hash[80];
	uint64_t size;
	int at = 0;

	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%15s %15s %79s", mode, type, hash) == 3 && strcmp(type, "blob"))
		return 0;
	if (sscanf(line, "%15s %15s %79s %" SCNu64 "%n", mode, type, hash, &size, &at) != 4 ||
	    line[at] != '\t' || size >> 44 || !xw_age_path_ok(line + at + 1))
		return xw_fail(g->diag, XW_ERR_INPUT,
			       "%s: line %" PRIu64 ": must be a line of git ls-tree -r -l", name,
			       no);
	return strncmp(mode, "100", 3)
		       ? 0
		       : add(g, line + at + 1, size, xw_hash_secret(&key, 0, hash, strlen(hash)));
}

static int read_listing(struct git *g, int fd, const char *name)
{
	FILE *f = fdopen(fd, "r");
	auto_free char *line = NULL;
	size_t room = 0;
	int rc = 0;

	if (!f) {
		close(fd);
		return xw_fail_nomem(g->diag, "tree");
	}
	for (uint64_t no = 1; !rc && getline(&line, &room, f) >= 0; no++) {
		rc = check_canceled(g);
		if (!rc)
			rc = parse_row(g, name, no, line);
	}
	if (!rc && ferror(f))
		rc = xw_fail_errno(g->diag, XW_ERR_IO, errno, "%s", name);
	fclose(f);
	return rc;
}

/* ---- archives ---- */

static int add_member(void *arg, const char *path, uint64_t size, uint64_t hash)
{
	struct git *g = arg;

	if (!xw_age_path_ok(path))
		return xw_fail(g->diag, XW_ERR_INPUT, "%s: not a relative path", path);
	return add(g, path, size, hash);
}

/* If an archive has several members of one name, the last one wins. */
static void drop_doubles(struct tree *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->a.n; i++) {
		if (i + 1 < t->a.n && !strcmp(t->a.v[i].path, t->a.v[i + 1].path)) {
			free(t->a.v[i].path);
			continue;
		}
		t->a.v[n++] = t->a.v[i];
	}
	t->a.n = n;
}

/* Closes fd. */
static int read_file(struct git *g, int fd, const char *name)
{
	uint8_t head[512];
	int rc;

	if (pread(fd, head, sizeof(head), 0) != sizeof(head) || !xw_age_is_tar(head))
		return read_listing(g, fd, name);
	rc = xw_age_read_tar(fd, name, g->watch, add_member, g, g->diag);
	close(fd);
	return rc;
}

/* ---- from tree to tree ---- */

static int by_path(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;

	return strcmp(a->path, b->path);
}

static int by_path_and_no(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;
	const int c = by_path(a, b);

	return c ? c : (a->no > b->no) - (a->no < b->no);
}

/* Move g->new to g->old, and load the next tree of the list. 0: end of the list. */
static int next_tree(struct git *g)
{
	struct stat st;
	int fd, rc;

	do {
		errno = 0;
		if (getline(&g->line, &g->room, g->list) < 0)
			return ferror(g->list)
				       ? xw_fail_errno(g->diag, XW_ERR_IO, errno, "%s", g->name)
				       : 0;
		g->line[strcspn(g->line, "\n")] = 0;
	} while (!*g->line || *g->line == '#');
	free_tree(&g->old);
	g->old = g->new;
	g->new = (struct tree){0};
	fd = open(g->line, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		rc = xw_fail_errno(g->diag, XW_ERR_NOTFOUND, errno, "%s", g->line);
		if (fd >= 0)
			close(fd);
		return rc;
	}
	rc = S_ISDIR(st.st_mode) ? walk_fd(g, fd) : read_file(g, fd, g->line);
	if (rc)
		return rc;
	if (g->new.a.n)
		qsort(g->new.a.v, g->new.a.n, sizeof(*g->new.a.v), by_path_and_no);
	drop_doubles(&g->new);
	g->phase = GIT_DELETE;
	g->at_old = g->at_new = 0;
	return 1;
}

/*
 * The next entry of `a` from *at on that is missing from `b` or differs there, or NULL. *at is
 * advanced past it.
 */
static const struct entry *differs(const struct tree *a, const struct tree *b, size_t *at)
{
	while (*at < a->a.n) {
		const struct entry *e = &a->a.v[(*at)++];
		const struct entry *same =
			b->a.n ? bsearch(e, b->a.v, b->a.n, sizeof(*e), by_path) : NULL;

		if (!same || same->size != e->size || same->hash != e->hash)
			return e;
	}
	return NULL;
}

static int git_next(void *state, struct xw_age_op *op)
{
	struct git *g = state;
	const struct entry *e = NULL;

	if (g->ops && g->done == g->ops)
		return 0;
	while (!e) {
		if (g->phase == GIT_NEXT) {
			const int rc = next_tree(g);

			if (rc <= 0)
				return rc;
		}
		if (g->phase == GIT_DELETE)
			e = differs(&g->old, &g->new, &g->at_old);
		else
			e = differs(&g->new, &g->old, &g->at_new);
		if (!e)
			g->phase++;
	}
	*op = (struct xw_age_op){.what = g->phase == GIT_DELETE ? XW_AGE_DELETE : XW_AGE_CREATE,
				 .path = e->path,
				 .bytes = g->phase == GIT_DELETE ? 0 : e->size};
	g->done++;
	return 1;
}

int xw_age_git(const struct xw_age_opts *o, struct xw_diag *diag, struct xw_age_source *src)
{
	struct git *g = calloc(1, sizeof(*g));
	int rc;

	if (!g)
		return xw_fail_nomem(diag, "tree");
	*g = (struct git){.name = o->trace,
			  .diag = diag,
			  .watch = o->watch,
			  .ops = o->ops,
			  .phase = GIT_NEXT};
	rc = xw_age_fopen(o->trace, diag, &g->list);
	if (rc) {
		free(g);
		return rc;
	}
	*src = (struct xw_age_source){g, git_next, NULL, git_close};
	return 0;
}
