// SPDX-License-Identifier: MIT
/* Reads of the overlay, and writes that are kept in memory until the owner map is complete. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "facts/facts.h"

static const struct xw_table_kind kept_kind = XW_TABLE_BY_U64(struct fsck_kept);

int fsck_keep(struct fsck *f, enum fsck_owner owner, xw_blk blk, const uint8_t *data)
{
	struct xw_table *t = &f->facts.owners.kept;
	struct fsck_kept *slot;

	if (xw_table_room(t, &kept_kind, NULL))
		return xw_fail_nomem(&f->ses.diag, "repaired blocks");
	slot = xw_table_slot(t, &kept_kind, NULL, xw_table_number(t, blk), &blk);
	if (!slot->blk) {
		slot->data = malloc(f->ses.img->block_size);
		if (!slot->data)
			return xw_fail_nomem(&f->ses.diag, "repaired blocks");
		slot->blk = blk;
		t->n++;
	}
	slot->owner = owner;
	memcpy(slot->data, data, f->ses.img->block_size);
	return 0;
}

void fsck_kept_free(struct fsck_owners *o)
{
	for (size_t i = 0; i < o->kept.size; i++)
		free(((struct fsck_kept *)xw_table_at(&o->kept, &kept_kind, i))->data);
	xw_table_free(&o->kept);
}

int fsck_kept_list(struct fsck *f, struct fsck_kept **v, size_t *n)
{
	const struct xw_table *t = &f->facts.owners.kept;

	*n = 0;
	*v = malloc((t->n + 1) * sizeof(**v));
	if (!*v)
		return xw_fail_nomem(&f->ses.diag, "repaired blocks");
	for (size_t i = 0; i < t->size; i++) {
		const struct fsck_kept *k = xw_table_at(t, &kept_kind, i);

		if (k->blk)
			(*v)[(*n)++] = *k;
	}
	if (*n)
		qsort(*v, *n, sizeof(**v), xw_by_u64);
	return 0;
}

int fsck_read(struct fsck *f, xw_blk blk, uint64_t n, void *buf)
{
	const uint32_t bs = f->ses.img->block_size;
	int rc = xw_dev_pread(f->ses.dev, buf, n * bs, blk * bs);

	for (uint64_t i = 0; i < n && !rc && f->facts.owners.kept.n; i++) {
		const xw_blk key = blk + i;
		const struct fsck_kept *slot =
			xw_table_get(&f->facts.owners.kept, &kept_kind, NULL,
				     xw_table_number(&f->facts.owners.kept, key), &key);

		if (slot)
			memcpy((uint8_t *)buf + i * bs, slot->data, bs);
	}
	return rc;
}

int fsck_inode_read(struct fsck *f, xw_ino ino, struct xw_inode *in, uint8_t *raw)
{
	const int rc = xw_image_inode(f->ses.img, ino, in, raw);

	xw_diag_clear(&f->ses.diag);
	return rc == XW_ERR_CORRUPT || rc == XW_ERR_CHECKSUM ? 0 : rc;
}

int fsck_inode_load(struct fsck *f, xw_ino ino, struct xw_inode *in, uint8_t **raw)
{
	*raw = malloc(f->ses.img->inode_size);
	return *raw ? fsck_inode_read(f, ino, in, *raw) : xw_fail_nomem(&f->ses.diag, "inode");
}
