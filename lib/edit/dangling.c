// SPDX-License-Identifier: MIT
/*
 * Detects directory entries left dangling when a link count was too low. An inode is freed when its
 * link count says that its last name was removed; if the count was too low, another entry still
 * refers to the inode, and later to any inode that reuses its number.
 *
 * Detected: all names in directories that the change has read or removes; they are compared with
 * the link count (tree/image.c, remove.c). Other directories would have to be read to find further
 * names, and an import that replaces one file would then read the whole image. So other directories
 * are read only if they are few: in a small image, or if so many inodes are freed that reading
 * costs little in comparison.
 *
 * Not detected: an entry in a directory of a large image that a small change does not access. Linux
 * would leave the same state.
 */
#include "config.h"

#include "edit/edit.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/auto.h"
#include "disk/dirent.h"
#include "read/dirs.h"
#include "edit/edit_internal.h"

/*
 * Budget of blocks and directories to read: LOOKS_ALWAYS, and one more for every INODES_A_LOOK
 * inodes that are freed. Reading them takes 2 to 3 % of the time that replacing those inodes takes
 * (extrapolated from a run with four times the budget, which took 10 % more).
 */
#define LOOKS_ALWAYS 64u
#define INODES_A_LOOK 32u

struct look {
	struct xw_update *u;
	const struct xw_update_inos *died; /* freed inodes, ascending */
	uint64_t budget;
	uint8_t *raw; /* scratch: an inode's record */
	struct xw_update_inos dirs, next; /* level by level */
};

static int push(struct look *l, xw_ino ino)
{
	return xw_vec_push(&l->next.a, ino) ? xw_fail_nomem(l->u->diag, "directories") : 0;
}

static int check_entry(struct look *l, const struct xw_dirent *e)
{
	if (xw_name_is_dots(e->name, e->name_len))
		return 0;
	if (bsearch(&e->ino, l->died->a.v, l->died->a.n, sizeof(e->ino), xw_update_by_ino))
		return xw_update_bad(l->u, e->ino, "has more names than links");
	return e->ftype == XW_FT_DIR || e->ftype == XW_FT_UNKNOWN ? push(l, e->ino) : 0;
}

/* A directory larger than the remaining budget ends the search by setting the budget to 0. */
static int read_directory(struct look *l, xw_ino ino)
{
	struct xw_image *img = l->u->img;
	auto_end(xw_dir_end) struct xw_dir_iter it = {0};
	struct xw_dirent e;
	struct xw_inode in;
	int rc = xw_image_inode(img, ino, &in, l->raw);
	const bool dir = !rc && (in.mode & XW_S_IFMT) == XW_S_IFDIR;
	const uint64_t cost = dir ? 1 + in.size / img->block_size : 1;

	if (rc || cost > l->budget)
		l->budget = 0;
	l->budget -= XW_MIN(cost, l->budget);
	if (rc || !dir || !l->budget)
		return rc;
	rc = xw_dir_begin(img, ino, &in, l->raw, &it);
	while (!rc && (rc = xw_dir_next(&it, &e, NULL)) == 1)
		rc = check_entry(l, &e);
	return rc;
}

/*
 * Collect unread directories in l->next, except those below them. If their total size exceeds the
 * budget, none is read: the budget is then 0.
 */
static int roots(struct look *l, const struct xw_tree *t, uint64_t gone)
{
	uint64_t read = gone;
	int rc = 0;

	for (const struct xw_binode *n = t->first; n && !rc; n = n->next) {
		if (!xw_binode_is(n, XW_S_IFDIR) || !(n->flags & XW_BN_OLD) ||
		    n->flags & XW_BN_DEAD)
			continue;
		if (n->flags & XW_BN_LAZY)
			rc = push(l, n->ino);
		else
			read++;
	}
	if (!rc && l->u->dirs > read && l->u->dirs - read > l->budget)
		l->budget = 0;
	return rc;
}

int xw_update_find_dangling(struct xw_update *u, const struct xw_tree *t, struct xw_removal *g)
{
	auto_free uint8_t *raw = malloc(u->img->inode_size);
	struct look l = {.u = u, .died = &g->died, .raw = raw};
	int rc = raw ? 0 : xw_fail_nomem(u->diag, "directories");

	if (rc || !g->died.a.n)
		return rc;
	l.budget = LOOKS_ALWAYS + g->died.a.n / INODES_A_LOOK;
	xw_update_sort_inos(&g->died);
	rc = roots(&l, t, g->seen.n);
	while (!rc && l.budget && l.next.a.n) {
		xw_vec_free(&l.dirs.a);
		l.dirs = l.next;
		l.next = (struct xw_update_inos){0};
		xw_update_sort_inos(&l.dirs);
		for (size_t i = 0; i < l.dirs.a.n && l.budget && !rc; i++)
			rc = read_directory(&l, l.dirs.a.v[i]);
	}
	xw_vec_free(&l.dirs.a);
	xw_vec_free(&l.next.a);
	return rc;
}
