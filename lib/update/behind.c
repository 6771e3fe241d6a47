// SPDX-License-Identifier: MIT
/*
 * Names that the links of an inode do not count. An inode goes when its links say that the last
 * name went. Where they count too few, another name is left, which leads nowhere, or to what gets
 * the number next.
 *
 * What is noticed: all names in directories that the change has read, or that go with it; those
 * are counted against the links (tree/image.c, remove.c). No number says whether there are others,
 * so all that could be done is to read all other directories: an import that replaces one file
 * would pay for all that the image holds. So these are read where they are few: in a small image,
 * or where so many inodes go that it costs little beside that.
 *
 * What is not noticed: a name in a directory of a large image that a small change does not touch.
 * It is then what it would be had Linux removed the other one.
 */
#include "config.h"

#include "update/edit.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/auto.h"
#include "disk/dirent.h"
#include "read/dirs.h"
#include "update/update_internal.h"

/*
 * Blocks and directories together: so many in any case, and one for so many inodes that go. That is
 * two or three hundredths of what it takes to replace them (worked out from a run with four times
 * as many, which took a tenth more).
 */
#define LOOKS_ALWAYS 64u
#define INODES_A_LOOK 32u

struct look {
	struct xw_update *u;
	const struct xw_update_inos *died; /* ascending */
	uint64_t budget;
	uint8_t *raw; /* scratch: an inode's record */
	struct xw_update_inos dirs, next; /* level by level */
};

static int by_number(const void *x, const void *y)
{
	const xw_ino *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

static int push(struct look *l, xw_ino ino)
{
	return xw_vec_push(&l->next.a, ino) ? xw_fail_nomem(l->u->diag, "directories") : 0;
}

static int look_at(struct look *l, const struct xw_dirent *e)
{
	if (xw_name_is_dots(e->name, e->name_len))
		return 0;
	if (bsearch(&e->ino, l->died->a.v, l->died->a.n, sizeof(e->ino), by_number))
		return xw_fail(l->u->diag, XW_ERR_CORRUPT,
			       "%s: inode %" PRIu32 ": has more names than links; run xw-fsck -f",
			       l->u->img->dev->name, e->ino);
	return e->ftype == XW_FT_DIR || e->ftype == XW_FT_UNKNOWN ? push(l, e->ino) : 0;
}

/* A directory that is too large for what is left ends it all: the budget is 0 then. */
static int look_into(struct look *l, xw_ino ino)
{
	struct xw_image *img = l->u->img;
	struct xw_dir_iter it;
	struct xw_dirent e;
	struct xw_inode in;
	int more, ret = xw_image_inode(img, ino, &in, l->raw);
	const bool dir = !ret && (in.mode & XW_S_IFMT) == XW_S_IFDIR;
	const uint64_t cost = dir ? 1 + in.size / img->block_size : 1;

	if (ret || cost > l->budget)
		l->budget = 0;
	l->budget -= XW_MIN(cost, l->budget);
	if (ret || !dir || !l->budget)
		return ret;
	ret = xw_dir_begin(img, ino, &in, l->raw, &it);
	while (!ret && (more = xw_dir_next(&it, &e, NULL)) != 0)
		ret = more < 0 ? more : look_at(l, &e);
	xw_dir_end(&it);
	return ret;
}

/* Directories that nobody has read, into l->next, but for those below them. Where all together are
 * too many, nothing is begun: the budget is 0 then. */
static int roots(struct look *l, const struct xw_tree *t, uint64_t gone)
{
	uint64_t read = gone;
	int ret = 0;

	for (const struct xw_binode *n = t->first; n && !ret; n = n->next) {
		if (!xw_binode_is(n, XW_S_IFDIR) || !(n->flags & XW_BN_OLD) ||
		    n->flags & XW_BN_DEAD)
			continue;
		if (n->flags & XW_BN_LAZY)
			ret = push(l, n->ino);
		else
			read++;
	}
	if (!ret && l->u->dirs > read && l->u->dirs - read > l->budget)
		l->budget = 0;
	return ret;
}

int xw_update_look_behind(struct xw_update *u, const struct xw_tree *t, struct xw_update_gone *g)
{
	auto_free uint8_t *raw = malloc(u->img->inode_size);
	struct look l = {.u = u, .died = &g->died, .raw = raw};
	int ret = raw ? 0 : xw_fail_nomem(u->diag, "directories");

	if (ret || !g->died.a.n)
		return ret;
	l.budget = LOOKS_ALWAYS + g->died.a.n / INODES_A_LOOK;
	qsort(g->died.a.v, g->died.a.n, sizeof(*g->died.a.v), by_number);
	ret = roots(&l, t, g->seen.n);
	while (!ret && l.budget && l.next.a.n) {
		xw_vec_free(&l.dirs.a);
		l.dirs = l.next;
		l.next = (struct xw_update_inos){0};
		qsort(l.dirs.a.v, l.dirs.a.n, sizeof(*l.dirs.a.v), by_number);
		for (size_t i = 0; i < l.dirs.a.n && l.budget && !ret; i++)
			ret = look_into(&l, l.dirs.a.v[i]);
	}
	xw_vec_free(&l.dirs.a);
	xw_vec_free(&l.next.a);
	return ret;
}
