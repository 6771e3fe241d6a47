/* SPDX-License-Identifier: MIT */
/* Open addressing, linear probing, over (device, inode); only files with several links get in. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "import/dir.h"

struct link {
	uint64_t id[2];
	struct xw_slice path; /* p NULL: a free place */
};

struct xw_dir_links {
	struct link *v;
	size_t n, cap; /* cap is a power of two, at most 3/4 of it used */
	struct xw_arena paths;
};

struct xw_dir_links *xw_dir_links_new(void)
{
	return calloc(1, sizeof(struct xw_dir_links));
}

void xw_dir_links_free(struct xw_dir_links *l)
{
	if (!l)
		return;
	free(l->v);
	xw_arena_free(&l->paths);
	free(l);
}

/* The place of id, or the free one where it belongs. */
static struct link *place(const struct xw_dir_links *l, const uint64_t id[2])
{
	size_t i = (size_t)xw_hash64(id, 2 * sizeof(id[0]), 0) & (l->cap - 1);

	while (l->v[i].path.p && memcmp(l->v[i].id, id, sizeof(l->v[i].id)) != 0)
		i = (i + 1) & (l->cap - 1);
	return &l->v[i];
}

static int grow(struct xw_dir_links *l)
{
	struct xw_dir_links old = *l;

	if (l->n < l->cap / 4 * 3)
		return 0;
	l->cap = old.cap ? old.cap * 2 : 64;
	l->v = calloc(l->cap, sizeof(*l->v));
	if (!l->v) {
		*l = old;
		return XW_ERR_NOMEM;
	}
	for (size_t i = 0; i < old.cap; i++)
		if (old.v[i].path.p)
			*place(l, old.v[i].id) = old.v[i];
	free(old.v);
	return 0;
}

int xw_dir_links_add(struct xw_dir_links *l, uint64_t dev, uint64_t ino, struct xw_slice path,
		     struct xw_slice *first)
{
	const uint64_t id[2] = {dev, ino};
	struct link *at;
	char *p;

	if (grow(l))
		return XW_ERR_NOMEM;
	at = place(l, id);
	if (at->path.p) {
		*first = at->path;
		return 1;
	}
	p = xw_arena_dup(&l->paths, path.p, path.len);
	if (!p)
		return XW_ERR_NOMEM;
	*at = (struct link){{dev, ino}, {p, path.len}};
	l->n++;
	return 0;
}
