// SPDX-License-Identifier: MIT
/*
 * Reading and writing single objects of the overlay. Nothing is written to a block whose owner is
 * not known: see fsck_write().
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "fsck.h"

/* ---- blocks ---- */

/* A block whose write waits for the owner map to be settled. */
struct kept {
	xw_blk blk; /* 0: unused slot */
	enum fsck_owner owner;
	uint8_t *data; /* one block */
};

static bool kept_used(const void *slot)
{
	return ((const struct kept *)slot)->blk;
}

static bool kept_same(const void *arg, const void *slot, const void *key)
{
	(void)arg;
	return ((const struct kept *)slot)->blk == *(const xw_blk *)key;
}

static uint64_t kept_hash(const void *arg, const void *slot)
{
	(void)arg;
	return xw_table_number(((const struct kept *)slot)->blk);
}

static const struct xw_table_kind kept_kind = {sizeof(struct kept), kept_used, kept_same,
					       kept_hash};

static int keep(struct fsck *f, enum fsck_owner owner, xw_blk blk, const uint8_t *data)
{
	struct xw_table *t = &f->owners.kept;
	struct kept *slot;

	if (xw_table_room(t, &kept_kind, NULL))
		return xw_fail_nomem(&f->diag, "repaired blocks");
	slot = xw_table_slot(t, &kept_kind, NULL, xw_table_number(blk), &blk);
	if (!slot->blk) {
		slot->data = malloc(f->img->block_size);
		if (!slot->data)
			return xw_fail_nomem(&f->diag, "repaired blocks");
		slot->blk = blk;
		t->n++;
	}
	slot->owner = owner;
	memcpy(slot->data, data, f->img->block_size);
	return 0;
}

void fsck_kept_free(struct fsck_owners *o)
{
	for (size_t i = 0; i < o->kept.size; i++)
		free(((struct kept *)xw_table_at(&o->kept, &kept_kind, i))->data);
	xw_table_free(&o->kept);
}

int fsck_read(struct fsck *f, xw_blk blk, uint64_t n, void *buf)
{
	const uint32_t bs = f->img->block_size;
	int rc = xw_dev_pread(f->dev, buf, n * bs, blk * bs);

	for (uint64_t i = 0; i < n && !rc && f->owners.kept.n; i++) {
		const xw_blk key = blk + i;
		const struct kept *slot =
			xw_table_get(&f->owners.kept, &kept_kind, NULL, xw_table_number(key), &key);

		if (slot)
			memcpy((uint8_t *)buf + i * bs, slot->data, bs);
	}
	return rc;
}

static int put(struct fsck *f, xw_blk blk, const void *buf)
{
	const uint32_t bs = f->img->block_size;

	f->changed = true;
	xw_image_forget(f->img);
	return xw_dev_pwrite(f->dev, buf, bs, blk * bs);
}

int fsck_write(struct fsck *f, enum fsck_owner owner, xw_blk blk, const void *buf)
{
	if (f->owners.settled && fsck_owns(f, owner, blk, 1))
		return put(f, blk, buf);
	if (f->owners.settled || !blk)
		return xw_fail(
			&f->diag, XW_ERR_INTERNAL,
			"%s: refused to write block %llu as that of %s: it is not that alone",
			f->opts.image, (unsigned long long)blk, fsck_owner_name(owner));
	return keep(f, owner, blk, buf);
}

int fsck_try_write(struct fsck *f, enum fsck_owner owner, xw_blk blk, const void *buf)
{
	if (f->owners.settled && !fsck_owns(f, owner, blk, 1))
		return 0;
	return fsck_write(f, owner, blk, buf);
}

static int by_place(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	return (x->blk > y->blk) - (x->blk < y->blk);
}

/* Write what was kept, in disk order. */
static int put_kept(struct fsck *f)
{
	struct xw_table *t = &f->owners.kept;
	auto_free struct kept *v = malloc((t->n + 1) * sizeof(*v));
	size_t n = 0;
	int rc = v ? 0 : xw_fail_nomem(&f->diag, "repaired blocks");

	for (size_t i = 0; !rc && i < t->size; i++) {
		const struct kept *k = xw_table_at(t, &kept_kind, i);

		if (k->blk && fsck_owns(f, k->owner, k->blk, 1))
			v[n++] = *k;
	}
	if (n)
		qsort(v, n, sizeof(*v), by_place);
	for (size_t i = 0; i < n && !rc; i++)
		rc = put(f, v[i].blk, v[i].data);
	fsck_kept_free(&f->owners);
	return rc;
}

int fsck_settle(struct fsck *f)
{
	int rc;

	f->owners.settled = true;
	rc = fsck_rebuild_maps(f);
	return rc ? rc : put_kept(f);
}

/* ---- inodes ---- */

int fsck_inode_read(struct fsck *f, xw_ino ino, struct xw_inode *in, uint8_t *raw)
{
	const int rc = xw_image_inode(f->img, ino, in, raw);

	xw_diag_clear(&f->diag);
	return rc == XW_ERR_CORRUPT || rc == XW_ERR_CHECKSUM ? 0 : rc;
}

static int put_record(struct fsck *f, xw_ino ino, const uint8_t *raw)
{
	struct xw_image *img = f->img;
	const uint64_t group = (ino - 1) / img->sb.inodes_per_group;
	const uint64_t index = (ino - 1) % img->sb.inodes_per_group;
	struct xw_group_desc gd;
	int rc = xw_image_group(img, group, &gd);

	if (rc && rc != XW_ERR_CHECKSUM)
		return rc;
	f->changed = true;
	rc = xw_dev_pwrite(f->dev, raw, img->inode_size,
			   gd.inode_table * img->block_size + index * img->inode_size);
	xw_image_forget(img);
	return rc;
}

int fsck_inode_write(struct fsck *f, xw_ino ino, const struct xw_inode *in, uint8_t *raw)
{
	xw_inode_encode(in, &f->img->sb, raw);
	xw_inode_set_csum(raw, &f->img->sb, f->img->csum_seed, ino);
	return put_record(f, ino, raw);
}

int fsck_inode_clear(struct fsck *f, xw_ino ino)
{
	auto_free uint8_t *raw = calloc(1, f->img->inode_size);
	struct fsck_inode *facts = fsck_inode(f, ino);
	struct xw_inode in;
	uint32_t generation;
	int rc = raw ? fsck_inode_read(f, ino, &in, raw) : xw_fail_nomem(&f->diag, "inode");

	if (rc)
		return rc;
	generation = in.generation;
	memset(raw, 0, f->img->inode_size);
	in = (struct xw_inode){.generation = generation,
			       .dtime = xw_inode_dtime(f->opts.now, &f->img->sb)};
	if (facts)
		*facts = (struct fsck_inode){0};
	return fsck_inode_write(f, ino, &in, raw);
}
