/* SPDX-License-Identifier: MIT */
/* Hash table of the files with several links. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/table.h"
#include "import/dir.h"

struct link {
	uint64_t id[2];
	struct xw_slice path; /* p NULL: unused slot */
};

struct xw_dir_links {
	struct xw_table table;
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
	xw_table_free(&l->table);
	xw_arena_free(&l->paths);
	free(l);
}

static bool link_used(const void *slot)
{
	return ((const struct link *)slot)->path.p != NULL;
}

static bool link_same(const void *arg, const void *slot, const void *id)
{
	(void)arg;
	return !memcmp(((const struct link *)slot)->id, id, sizeof(uint64_t[2]));
}

static uint64_t link_hash(const struct xw_table *t, const void *arg, const void *slot)
{
	(void)arg;
	return xw_table_bytes(t, ((const struct link *)slot)->id, sizeof(uint64_t[2]));
}

static const struct xw_table_kind by_id = {sizeof(struct link), link_used, link_same, link_hash};

int xw_dir_links_add(struct xw_dir_links *l, uint64_t dev, uint64_t ino, struct xw_slice path,
		     struct xw_slice *first)
{
	const uint64_t id[2] = {dev, ino};
	struct link *at;
	char *p;

	if (xw_table_room(&l->table, &by_id, NULL))
		return XW_ERR_NOMEM;
	at = xw_table_slot(&l->table, &by_id, NULL, xw_table_bytes(&l->table, id, sizeof(id)), id);
	if (at->path.p) {
		*first = at->path;
		return 1;
	}
	p = xw_arena_dup(&l->paths, path.p, path.len);
	if (!p)
		return XW_ERR_NOMEM;
	*at = (struct link){{dev, ino}, {p, path.len}};
	l->table.n++;
	return 0;
}
