// SPDX-License-Identifier: MIT
/*
 * Quota files with the usage of the finished image: counted from the model when everything in it
 * has its blocks, so that the first mount need not count again.
 *
 * What counts, as e2fsck and the kernel have it: i_blocks and one inode for each inode of the tree,
 * root and lost+found included; for a value in an EA inode, whose blocks are in the owner's
 * i_blocks already, one inode more for each owner. The EA inodes themselves, the quota files, the
 * orphan file and the reserved inodes are nobody's.
 */
#include "config.h"

#include "build/builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* Usage by id: an open hash table, made a list in the end. */
struct tally {
	struct xw_quota_entry *slots; /* inodes 0: free */
	size_t n, size; /* size: a power of two, at least twice n */
};

static struct xw_quota_entry *slot_of(const struct tally *t, uint32_t id)
{
	size_t i = xw_hash64(&id, sizeof(id), 0) & (t->size - 1);

	while (t->slots[i].inodes && t->slots[i].id != id)
		i = (i + 1) & (t->size - 1);
	return &t->slots[i];
}

static int grow(struct tally *t)
{
	struct tally more = {.n = t->n, .size = t->size ? 2 * t->size : 64};

	if (t->size >= 2 * (t->n + 1))
		return 0;
	more.slots = calloc(more.size, sizeof(*more.slots));
	if (!more.slots)
		return XW_ERR_NOMEM;
	for (size_t i = 0; i < t->size; i++) {
		if (t->slots[i].inodes)
			*slot_of(&more, t->slots[i].id) = t->slots[i];
	}
	free(t->slots);
	*t = more;
	return 0;
}

static int count(struct tally *t, uint32_t id, uint64_t inodes, uint64_t space)
{
	struct xw_quota_entry *e;

	if (grow(t))
		return XW_ERR_NOMEM;
	e = slot_of(t, id);
	t->n += !e->inodes;
	e->id = id;
	e->inodes += inodes;
	e->space += space;
	return 0;
}

/* The table's entries in order; the table is used up. */
static void sort(struct tally *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->size; i++) {
		if (t->slots[i].inodes)
			t->slots[n++] = t->slots[i];
	}
	xw_quota_sort(t->slots, n);
}

bool xw_quota_wanted(const struct xw_builder *b, enum xw_quota_type type)
{
	return b->params->quota_types & 1u << type;
}

static int count_node(const struct xw_builder *b, const struct xw_binode *n, struct tally *tally)
{
	const uint32_t id[XW_QUOTA_TYPES] = {
		[XW_QUOTA_USER] = n->uid, [XW_QUOTA_GROUP] = n->gid, [XW_QUOTA_PROJECT] = 0};
	uint64_t inodes = 1 + (n->xattrs ? n->xattrs->n_ea : 0);
	struct xw_inode in;
	int ret = xw_itable_encode(b, n, &in);

	for (int t = 0; t < XW_QUOTA_TYPES && !ret; t++) {
		if (xw_quota_wanted(b, (enum xw_quota_type)t) &&
		    count(&tally[t], id[t], inodes, 512 * xw_inode_fs_blocks_512(&in, &b->sb)))
			ret = xw_fail_nomem(b->diag, "quota usage");
	}
	return ret;
}

static int place_file(struct xw_builder *b, struct xw_quota_file *q)
{
	uint64_t bytes;
	int ret = xw_quota_shape(q->entries, q->n, &q->shape);

	if (ret)
		return xw_fail(b->diag, ret, "quota file: %zu owners are too many", q->n);
	bytes = (uint64_t)q->shape.blocks * XW_QUOTA_BLOCK;
	xw_hidden_node(b, &q->node, bytes, XW_BN_IMMUTABLE);
	ret = xw_build_alloc_node(b, &q->node, xw_div_up(bytes, b->geo.block_size));
	return ret || !q->node.n_ext || q->node.map ? ret : xw_build_place_map(b, &q->node);
}

int xw_quota_place(struct xw_builder *b)
{
	struct tally tally[XW_QUOTA_TYPES] = {{0}};
	int ret = 0;

	if (!b->params->quota_types)
		return 0;
	for (const struct xw_binode *n = b->first; n && !ret; n = n->next) {
		if (!(n->flags & (XW_BN_DEAD | XW_BN_EA)))
			ret = count_node(b, n, tally);
	}
	for (int t = 0; t < XW_QUOTA_TYPES; t++) {
		sort(&tally[t]);
		b->hidden.quota[t].entries = tally[t].slots;
		b->hidden.quota[t].n = tally[t].n;
		if (!ret && xw_quota_wanted(b, (enum xw_quota_type)t))
			ret = place_file(b, &b->hidden.quota[t]);
	}
	return ret;
}

struct put {
	struct xw_builder *b;
	const struct xw_extent *e;
};

static int put_block(void *arg, uint32_t index, const uint8_t *block)
{
	struct put *p = arg;
	uint64_t bs = p->b->geo.block_size, off = (uint64_t)index * XW_QUOTA_BLOCK;
	uint64_t lblk = off / bs;

	while (lblk >= p->e->lblk + p->e->len)
		p->e++;
	return xw_out_write(p->b->out, (p->e->pblk + lblk - p->e->lblk) * bs + off % bs, block,
			    XW_QUOTA_BLOCK);
}

int xw_quota_write(struct xw_builder *b, enum xw_quota_type type)
{
	static const uint8_t zeros[XW_QUOTA_BLOCK];
	const struct xw_quota_file *q = &b->hidden.quota[type];
	struct put p = {b, xw_binode_extents(&q->node)};
	uint32_t per = b->geo.block_size / XW_QUOTA_BLOCK;
	int ret = xw_quota_emit(type, q->entries, q->n, &q->shape, put_block, &p);

	for (uint32_t i = q->shape.blocks; i % per && !ret; i++)
		ret = put_block(&p, i, zeros);
	return ret;
}
