// SPDX-License-Identifier: MIT
/* Attribute blocks and EA inodes, with their references: facts of the phase `xattrs`. */
#include "config.h"

#include <stdlib.h>

#include "facts/xattrs.h"

const struct xw_table_kind fsck_xattr_by_block = XW_TABLE_BY_U64(struct fsck_xattr_block);
const struct xw_table_kind fsck_ea_by_ino = XW_TABLE_BY_U32(struct fsck_ea);

void fsck_xattrs_free(struct fsck *f)
{
	if (!f->facts.xattrs)
		return;
	xw_table_free(&f->facts.xattrs->blocks);
	xw_table_free(&f->facts.xattrs->eas);
	xw_vec_free(&f->facts.xattrs->users);
	free(f->facts.xattrs->buf);
	free(f->facts.xattrs);
	f->facts.xattrs = NULL;
}

static void *slot_of(struct fsck *f, struct xw_table *t, const struct xw_table_kind *kind,
		     uint64_t n, const void *key)
{
	if (!xw_table_room(t, kind, NULL))
		return xw_table_slot(t, kind, NULL, xw_table_number(t, n), key);
	xw_fail_nomem(&f->ses.diag, "extended attributes");
	return NULL;
}

struct fsck_xattr_block *fsck_xattr_block_slot(struct fsck *f, xw_blk blk)
{
	struct xw_table *t = &f->facts.xattrs->blocks;
	struct fsck_xattr_block *slot = slot_of(f, t, &fsck_xattr_by_block, blk, &blk);

	if (!slot)
		return NULL;
	t->n += !slot->blk;
	slot->blk = blk;
	return slot;
}

struct fsck_ea *fsck_ea_slot(struct fsck *f, xw_ino ino)
{
	struct xw_table *t = &f->facts.xattrs->eas;
	struct fsck_ea *slot = slot_of(f, t, &fsck_ea_by_ino, ino, &ino);

	if (!slot)
		return NULL;
	t->n += !slot->ino;
	slot->ino = ino;
	return slot;
}

static int by_ino(const void *a, const void *b)
{
	const struct fsck_ea *x = a, *y = b;

	return (x->ino > y->ino) - (x->ino < y->ino);
}

int fsck_ea_list(struct fsck *f, struct fsck_ea **v, size_t *n)
{
	const struct xw_table *t = &f->facts.xattrs->eas;

	*n = 0;
	*v = malloc((t->n + 1) * sizeof(**v));
	if (!*v)
		return xw_fail_nomem(&f->ses.diag, "extended attributes");
	for (size_t i = 0; i < t->size; i++) {
		const struct fsck_ea *ea = xw_table_at(t, &fsck_ea_by_ino, i);

		if (ea->ino)
			(*v)[(*n)++] = *ea;
	}
	if (*n)
		qsort(*v, *n, sizeof(**v), by_ino);
	return 0;
}
