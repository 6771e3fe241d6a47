// SPDX-License-Identifier: MIT
/*
 * Inode records to be written. They are collected, at most one for an inode, and written once, in
 * order, block by block, when all blocks are allocated.
 *
 * The unused end of a table, according to its descriptor, may contain anything: these blocks are
 * not read, and records that are not written are zeroed. Whether inode bitmaps and descriptors
 * agree was checked when the bitmaps were read; with unchecked, inodes in use according to the
 * bitmap are kept instead.
 *
 * Reads of an inode through u->img return the collected record (xw_update_pending()), not the older
 * record in the table.
 */
#include "config.h"

#include "update/update.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "update/inode.h"
#include "update/update_internal.h"

/* ---- records by number ---- */

struct slot {
	xw_ino ino;
	uint32_t at; /* index in recs */
};

static const struct xw_table_kind by_number = XW_TABLE_BY_U32(struct slot);

static struct xw_update_rec *find(const struct xw_update *u, xw_ino ino)
{
	const struct slot *s =
		xw_table_get(&u->rec_of, &by_number, NULL, xw_table_number(&u->rec_of, ino), &ino);

	return s ? &u->recs.v[s->at] : NULL;
}

/* Set the record of ino; takes ownership of raw, even on failure. */
static int set(struct xw_update *u, struct xw_update_rec rec)
{
	struct xw_update_rec *old = find(u, rec.ino);
	struct slot *s;

	if (old) {
		free(old->raw);
		*old = rec;
		return 0;
	}
	if (xw_table_room(&u->rec_of, &by_number, NULL) || xw_vec_push(&u->recs, rec)) {
		free(rec.raw);
		return xw_fail_nomem(u->diag, "inode");
	}
	s = xw_table_slot(&u->rec_of, &by_number, NULL, xw_table_number(&u->rec_of, rec.ino),
			  &rec.ino);
	*s = (struct slot){rec.ino, (uint32_t)u->recs.n - 1};
	u->rec_of.n++;
	return 0;
}

static int encode(struct xw_update *u, const struct xw_update_rec *rec, uint8_t *out)
{
	if (rec->raw) {
		memcpy(out, rec->raw, u->img->inode_size);
		return 0;
	}
	memset(out, 0, u->img->inode_size);
	return xw_itable_record(&u->place.enc, rec->node, out);
}

int xw_update_pending(void *arg, xw_ino ino, uint8_t *raw, bool *found)
{
	struct xw_update *u = arg;
	const struct xw_update_rec *rec = find(u, ino);

	*found = rec != NULL;
	return rec ? encode(u, rec, raw) : 0;
}

int xw_update_get(struct xw_update *u, xw_ino ino, struct xw_inode *in, uint8_t **raw)
{
	auto_free uint8_t *buf = malloc(u->img->inode_size);
	int rc;

	if (!buf)
		return xw_fail_nomem(u->diag, "inode");
	rc = xw_image_inode(u->img, ino, in, buf);
	if (!rc)
		*raw = steal(buf);
	return rc;
}

int xw_update_put(struct xw_update *u, xw_ino ino, const struct xw_inode *in, uint8_t *raw)
{
	xw_inode_encode(in, &u->img->sb, raw);
	return set(u, (struct xw_update_rec){.ino = ino, .raw = raw});
}

int xw_update_put_node(struct xw_update *u, const struct xw_binode *node)
{
	return set(u, (struct xw_update_rec){.ino = node->ino, .node = node});
}

void xw_update_forget_recs(struct xw_update *u)
{
	for (size_t i = 0; i < u->recs.n; i++)
		free(u->recs.v[i].raw);
	u->recs.n = 0;
	xw_table_free(&u->rec_of);
}

/* ---- writing ---- */

struct table {
	struct xw_update *u;
	uint32_t group;
	xw_blk start;
	uint32_t was_used; /* number of records in use before, from the start of the table */
	size_t next, end; /* the group's records in u->recs */
};

/* Write block k of the table, with its changed records. */
static int write_block(struct table *t, uint32_t k, uint8_t *buf)
{
	struct xw_update *u = t->u;
	const uint32_t bs = u->img->block_size, size = u->img->inode_size, per = bs / size;
	const uint32_t first = k * per;
	const xw_ino base = t->group * u->img->sb.inodes_per_group + 1;
	int rc = 0;

	memset(buf, 0, bs);
	if (first < t->was_used)
		rc = xw_image_meta(u->img, t->start + k, 0, buf,
				   (size_t)XW_MIN(per, t->was_used - first) * size);
	while (!rc && t->next < t->end && u->recs.v[t->next].ino - base < first + per) {
		const struct xw_update_rec *rec = &u->recs.v[t->next++];
		uint8_t *out = buf + (size_t)(rec->ino - base - first) * size;

		rc = encode(u, rec, out);
		if (!rc)
			xw_inode_set_csum(out, &u->img->sb, u->img->csum_seed, rec->ino);
	}
	return rc ? rc : xw_out_write(&u->out, (t->start + k) * bs, buf, bs);
}

static int write_group(struct table *t, uint8_t *buf)
{
	struct xw_update *u = t->u;
	const uint32_t per = u->img->block_size / u->img->inode_size;
	const xw_ino base = t->group * u->img->sb.inodes_per_group + 1;
	uint32_t fresh = (uint32_t)xw_div_up(t->was_used, per);
	int rc = 0;

	while (!rc && t->next < t->end) {
		const uint32_t k = (u->recs.v[t->next].ino - base) / per;

		/* Records between those in use before and this one are in use from now on. */
		while (!rc && fresh < k)
			rc = write_block(t, fresh++, buf);
		if (!rc)
			rc = write_block(t, k, buf);
		fresh = XW_MAX(fresh, k + 1);
	}
	return rc;
}

int xw_update_by_ino(const void *x, const void *y)
{
	const xw_ino a = *(const xw_ino *)x, b = *(const xw_ino *)y;

	return (a > b) - (a < b);
}

static int open_table(struct xw_update *u, uint32_t group, struct table *t)
{
	const uint32_t per_group = u->img->sb.inodes_per_group;
	const bool tracks_use = xw_super_has_group_csum(&u->img->sb);
	struct xw_group_desc gd;
	uint32_t used_end;
	int rc = xw_image_group(u->img, group, &gd);

	*t = (struct table){.u = u, .group = group, .start = gd.inode_table};
	t->was_used = per_group;
	if (rc || !tracks_use)
		return rc;
	t->was_used = gd.flags & XW_BG_INODE_UNINIT ? 0 : per_group - gd.itable_unused;
	if (u->unchecked) {
		rc = xw_unchecked_end(u, group, &used_end);
		t->was_used = XW_MAX(t->was_used, used_end);
	}
	return rc;
}

int xw_update_write_recs(struct xw_update *u)
{
	auto_free uint8_t *buf = malloc(u->img->block_size);
	int rc = 0;

	if (!buf)
		return xw_fail_nomem(u->diag, "inode table");
	xw_table_free(&u->rec_of); /* the positions are stale */
	if (u->recs.n)
		qsort(u->recs.v, u->recs.n, sizeof(*u->recs.v), xw_update_by_ino);
	for (size_t i = 0; i < u->recs.n && !rc;) {
		const uint32_t per = u->img->sb.inodes_per_group;
		const uint32_t group = (u->recs.v[i].ino - 1) / per;
		struct table t;

		rc = open_table(u, group, &t);
		t.next = i;
		while (i < u->recs.n && (u->recs.v[i].ino - 1) / per == group)
			i++;
		t.end = i;
		if (!rc)
			rc = write_group(&t, buf);
	}
	return rc;
}

int xw_update_flush_recs(struct xw_update *u)
{
	int rc = xw_update_write_recs(u);

	if (!rc)
		rc = xw_batch_drain(u->out.batch);
	xw_update_forget_recs(u);
	xw_image_drop_cache(u->img);
	return rc;
}
