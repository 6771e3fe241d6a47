// SPDX-License-Identifier: MIT
/*
 * Quota files with the usage of the finished image: computed from the model once all of its blocks
 * are allocated, so that the first mount need not compute it.
 *
 * Usage as defined by e2fsck and the kernel: i_blocks and one inode for each inode of the tree,
 * including root and lost+found. A value in an EA inode, whose blocks are in the owner's i_blocks
 * already, counts as one more inode for each owner. EA inodes themselves, quota files, the orphan
 * file and reserved inodes are not included.
 */
#include "config.h"

#include "place/place.h"

#include <stdlib.h>
#include <string.h>

#include "base/table.h"

/* ID 0 is valid, but an entry with usage has at least one inode. */
static bool entry_used(const void *slot)
{
	return ((const struct xw_quota_entry *)slot)->inodes != 0;
}

/* Usage by ID, which is the first member of an entry. */
static const struct xw_table_kind by_owner = {sizeof(struct xw_quota_entry), entry_used,
					      xw_u32_same, xw_u32_hash};

static int count(struct xw_table *t, uint32_t id, uint64_t inodes, uint64_t space)
{
	struct xw_quota_entry *e;

	if (xw_table_room(t, &by_owner, NULL))
		return XW_ERR_NOMEM;
	e = xw_table_slot(t, &by_owner, NULL, xw_table_number(t, id), &id);
	t->n += !e->inodes;
	e->id = id;
	e->inodes += inodes;
	e->space += space;
	return 0;
}

/* Convert the table to a sorted list; frees the table. */
static void sort(struct xw_table *t)
{
	struct xw_quota_entry *e = t->slots;
	size_t n = 0;

	for (size_t i = 0; i < t->size; i++) {
		if (e[i].inodes)
			e[n++] = e[i];
	}
	xw_quota_sort(e, n);
}

static int count_node(const struct xw_placer *p, const struct xw_binode *n, struct xw_table *tally,
		      unsigned types)
{
	const uint32_t id[XW_QUOTA_TYPES] = {
		[XW_QUOTA_USER] = n->uid, [XW_QUOTA_GROUP] = n->gid, [XW_QUOTA_PROJECT] = 0};
	uint64_t inodes = 1 + (n->xattrs ? n->xattrs->n_ea : 0);
	struct xw_inode in;
	int rc = xw_itable_encode(&p->enc, n, &in);

	if (rc)
		return rc;
	for (int t = 0; t < XW_QUOTA_TYPES; t++)
		if (types & 1u << t &&
		    count(&tally[t], id[t], inodes, 512 * xw_inode_fs_blocks_512(&in, &p->enc.sb)))
			return xw_fail_nomem(p->enc.diag, "quota usage");
	return 0;
}

static int place_file(struct xw_placer *p, struct xw_quota_file *q)
{
	uint64_t bytes;
	int rc = xw_quota_shape(q->entries, q->n, &q->shape);

	if (rc)
		return xw_fail(p->enc.diag, rc, "quota file: %zu owners are too many", q->n);
	bytes = (uint64_t)q->shape.blocks * XW_QUOTA_BLOCK;
	xw_hidden_node(&p->enc, &q->node, bytes, XW_BN_IMMUTABLE);
	rc = xw_place_alloc_node(p, &q->node, xw_div_up(bytes, p->enc.block_size));
	return rc || !q->node.n_ext || q->node.map ? rc : xw_place_map(p, &q->node);
}

int xw_quota_place(struct xw_placer *p, struct xw_quota_file files[XW_QUOTA_TYPES], unsigned types)
{
	struct xw_table tally[XW_QUOTA_TYPES] = {{0}};
	int rc = 0;

	if (!types)
		return 0;
	for (const struct xw_binode *n = p->enc.first; n && !rc; n = n->next) {
		if (!(n->flags & (XW_BN_DEAD | XW_BN_EA)))
			rc = count_node(p, n, tally, types);
	}
	for (int t = 0; t < XW_QUOTA_TYPES; t++) {
		sort(&tally[t]);
		files[t].entries = tally[t].slots;
		files[t].n = tally[t].n;
		if (!rc && types & 1u << t)
			rc = place_file(p, &files[t]);
	}
	return rc;
}

struct put {
	struct xw_placer *p;
	const struct xw_extent *e;
};

static int put_block(void *arg, uint32_t index, const uint8_t *block)
{
	struct put *t = arg;
	uint64_t bs = t->p->enc.block_size, off = (uint64_t)index * XW_QUOTA_BLOCK;
	uint64_t lblk = off / bs;

	while (lblk >= t->e->lblk + t->e->len)
		t->e++;
	return xw_out_write(t->p->out, (t->e->pblk + lblk - t->e->lblk) * bs + off % bs, block,
			    XW_QUOTA_BLOCK);
}

int xw_quota_write(struct xw_placer *p, enum xw_quota_type type, const struct xw_quota_file *q)
{
	static const uint8_t zeros[XW_QUOTA_BLOCK];
	struct put t = {p, xw_binode_extents(&q->node)};
	uint32_t per = p->enc.block_size / XW_QUOTA_BLOCK;
	int rc = xw_quota_emit(type, q->entries, q->n, &q->shape, put_block, &t);

	for (uint32_t i = q->shape.blocks; i % per && !rc; i++)
		rc = put_block(&t, i, zeros);
	return rc;
}
