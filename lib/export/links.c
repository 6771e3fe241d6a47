/* SPDX-License-Identifier: MIT */
/*
 * A hash table by inode number. Link counts may be wrong: a count that is too high keeps the path
 * until the end, a count that is too low creates a second copy of the file; both are harmless.
 *
 * After the last name of an inode its path is freed, but the slot is kept until the table grows, so
 * that probing needs no deletion.
 */
#include "export/links.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static struct xw_link *slot(const struct xw_links *l, xw_ino ino)
{
	size_t i = (ino * 2654435761u) & (l->size - 1);

	while (l->v[i].ino && l->v[i].ino != ino)
		i = (i + 1) & (l->size - 1);
	return &l->v[i];
}

/* Make room for one more entry and drop the completed entries. */
static int make_room(struct xw_links *l)
{
	struct xw_links next = {.size = 64};
	size_t live = 0;

	if ((l->used + 1) * 2 <= l->size)
		return 0;
	for (size_t i = 0; i < l->size; i++)
		live += l->v[i].left > 0;
	while ((live + 1) * 4 > next.size)
		next.size *= 2;
	next.v = calloc(next.size, sizeof(*next.v));
	if (!next.v)
		return XW_ERR_NOMEM;
	for (size_t i = 0; i < l->size; i++) {
		if (l->v[i].left) {
			*slot(&next, l->v[i].ino) = l->v[i];
			next.used++;
		}
	}
	free(l->v);
	*l = next;
	return 0;
}

const char *xw_links_visit(struct xw_links *l, xw_ino ino, uint32_t names, const char *path,
			   int *err)
{
	struct xw_link *e;

	free(l->last);
	l->last = NULL;
	*err = make_room(l);
	if (*err)
		return NULL;
	e = slot(l, ino);
	if (e->left) {
		if (--e->left)
			return e->path;
		l->last = e->path;
		e->path = NULL;
		return l->last;
	}
	path = strdup(path);
	if (!path) {
		*err = XW_ERR_NOMEM;
		return NULL;
	}
	l->used += !e->ino;
	*e = (struct xw_link){.ino = ino, .left = names - 1, .path = (char *)path};
	return NULL;
}

void xw_links_drop(struct xw_links *l, xw_ino ino)
{
	struct xw_link *e = l->size ? slot(l, ino) : NULL;

	if (!e || !e->left)
		return;
	free(e->path);
	e->path = NULL;
	e->left = 0;
}

void xw_links_free(struct xw_links *l)
{
	for (size_t i = 0; i < l->size; i++)
		free(l->v[i].path);
	free(l->v);
	free(l->last);
	*l = (struct xw_links){0};
}
