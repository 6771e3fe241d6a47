// SPDX-License-Identifier: MIT
/*
 * Lists the entries of a directory in inode order, through its itree: a caller that reads the inode
 * of each entry then reads the inode tables sequentially instead of one table block per entry.
 *
 * A tree is used only if it can be trusted to list the contents of the directory
 * (xw_itree_is_trusted). When a node is damaged, the rest is read from the directory's own blocks:
 * the entries that sort after the last one returned.
 */
#include "config.h"

#include <string.h>

#include "disk/dx_hash.h"
#include "read/itree.h"
#include "walk.h"

struct rest {
	struct xw_itree_entry last; /* last entry returned; its name is in `name` */
	char name[XW_NAME_MAX];
	bool any; /* some entries were returned through the tree */
	bool dots; /* return only "." and ".." */
	dbg_entry_fn *fn;
	void *arg;
	int ended; /* the code with which fn ended the walk */
};

static int pass(struct rest *r, const struct dbg_entry *e)
{
	r->ended = r->fn(r->arg, e);
	return r->ended;
}

/* Was this entry returned through the tree? */
static bool was_passed(const struct rest *r, const struct xw_dirent *e)
{
	if (!r->any || e->ino > r->last.key.ino)
		return false;
	return e->ino < r->last.key.ino ||
	       (e->name_len == r->last.name_len && !memcmp(e->name, r->name, e->name_len));
}

enum { PAST_DOTS = 1 };

static int on_rest(void *arg, const struct dbg_entry *e)
{
	struct rest *r = arg;

	if (r->dots && e->lblk)
		return PAST_DOTS;
	if (r->dots != e->dots || !e->e.ino || was_passed(r, &e->e))
		return 0;
	return pass(r, e);
}

static int through_tree(struct xw_itree_iter *it, struct rest *r)
{
	struct xw_itree_entry t;
	int rc;

	while (!r->ended && (rc = xw_itree_next(it, &t)) > 0) {
		const struct dbg_entry e = {
			.e = {.ino = t.key.ino,
			      .rec_len = xw_dirent_size(t.name_len),
			      .name_len = t.name_len,
			      .ftype = t.ftype,
			      .name = t.name},
		};

		r->last = t;
		r->any = true;
		memcpy(r->name, t.name, t.name_len);
		pass(r, &e);
	}
	return r->ended ? r->ended : rc;
}

int dbg_walk_dir_in_order(struct dbg *d, xw_ino ino, const struct xw_inode *in, const uint8_t *raw,
			  dbg_entry_fn *fn, void *arg)
{
	struct rest r = {.dots = true, .fn = fn, .arg = arg};
	/* a copy with the same cache that verifies checksums: only a valid tree is used */
	struct xw_image strict = *d->img;
	struct xw_itree_iter it;
	int rc;

	if (!d->how.no_csum)
		strict.flags &= ~XW_IMAGE_NOCSUM;
	if (!(in->flags & XW_FL_ITREE) || !xw_itree_is_trusted(&strict))
		return dbg_walk_dir(d, ino, in, raw, false, fn, arg);
	rc = xw_itree_begin(&strict, ino, in, &it);
	if (!rc)
		rc = dbg_walk_dir(d, ino, in, raw, false, on_rest, &r);
	if (rc == PAST_DOTS && !r.ended)
		rc = 0;
	r.dots = false;
	if (!rc)
		rc = through_tree(&it, &r);
	xw_itree_end(&it);
	if (!rc || r.ended)
		return rc;
	if (rc == XW_ERR_NOTFOUND)
		xw_diag_clear(&d->diag);
	else
		dbg_complain_diag(d, rc);
	/* if nothing was returned yet, the whole directory is listed, "." and ".." included */
	return dbg_walk_dir(d, ino, in, raw, false, r.any ? on_rest : fn, r.any ? (void *)&r : arg);
}
