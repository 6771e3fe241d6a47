// SPDX-License-Identifier: MIT
/*
 * xattrs of the model: shared blocks and EA inodes. Encoded xattrs name EA values by the interner's
 * ids; here the ids that something still refers to become inodes, and the numbers are put in as
 * areas are written.
 */
#include "config.h"

#include "build/builder.h"

#include <stdlib.h>
#include <string.h>

#include "disk/xattrblk.h"
#include "xattr/ea_inode.h"
#include "xattr/layout.h"

struct count {
	struct xw_builder *b;
	const struct xw_binode *owner;
};

static xw_ino count_ref(void *arg, xw_ino id)
{
	const struct count *c = arg;

	if (id && id <= c->b->n_ea) {
		struct xw_build_ea *ea = &c->b->ea[id - 1];

		if (!ea->refs++ && c->owner) {
			ea->node.uid = c->owner->uid;
			ea->node.gid = c->owner->gid;
		}
	}
	return id;
}

static xw_ino put_number(void *arg, xw_ino id)
{
	const struct xw_builder *b = arg;

	return id && id <= b->n_ea ? b->ea[id - 1].node.ino : 0;
}

/* Count who refers to which value; the builder numbers those that somebody does. */
int xw_attrs_count_ea(struct xw_builder *b)
{
	uint8_t *buf;
	struct count c = {.b = b};

	b->n_ea = xw_xintern_ea_count(b->intern);
	if (!b->n_ea)
		return 0;
	b->ea = calloc(b->n_ea, sizeof(*b->ea));
	buf = malloc(b->geo.block_size);
	if (!b->ea || !buf) {
		free(buf);
		return xw_fail_nomem(b->diag, "EA inodes");
	}
	for (uint32_t i = 0; i < b->n_ea; i++) {
		const struct xw_ea_value *v = xw_xintern_ea(b->intern, i + 1);

		b->ea[i].node = (struct xw_binode){
			.mode = XW_EA_MODE,
			.links = 1,
			.size = v->len,
			.bytes = (const char *)v->value,
			.flags = XW_BN_EA,
			.mtime = b->params->now,
		};
	}
	for (const struct xw_binode *n = b->first; n; n = n->next) {
		if (n->flags & XW_BN_DEAD || !n->xattrs || !n->xattrs->n_ea ||
		    !n->xattrs->ibody_len)
			continue;
		c.owner = n;
		memcpy(buf, n->xattrs->ibody, n->xattrs->ibody_len);
		memset(buf + n->xattrs->ibody_len, 0, b->geo.inode_size - n->xattrs->ibody_len);
		xw_xattr_map_inums(buf, b->geo.inode_size, XW_XATTR_IBODY_OFFS, count_ref, &c);
	}
	c.owner = NULL;
	for (size_t i = 0; i < xw_share_count(b->share); i++) {
		const struct xw_share_block *s = xw_share_at(b->share, i);

		if (!s->refcount)
			continue;
		xw_share_expand(b->share, s, buf);
		xw_xattr_map_inums(buf, b->geo.block_size, XW_XATTR_BLOCK_OFFS, count_ref, &c);
	}
	free(buf);
	return 0;
}

int xw_attrs_place(struct xw_builder *b)
{
	int ret = 0;

	for (size_t i = 0; i < xw_share_count(b->share) && !ret; i++) {
		struct xw_share_block *s = xw_share_at(b->share, i);
		struct xw_run *runs;
		size_t n;

		if (!s->refcount || s->blk) /* nobody's, or there already */
			continue;
		ret = xw_build_alloc(b, 1, &runs, &n);
		if (!ret && n) {
			s->blk = runs[0].start;
			b->counts.xattr_blocks++;
			b->counts.xattr_refs += s->refcount;
			ret = xw_build_item(b, XW_ITEM_XATTR, s->blk, i);
		}
		free(runs);
	}
	for (uint32_t i = 0; i < b->n_ea && !ret; i++) {
		struct xw_binode *n = &b->ea[i].node;

		if (!n->ino)
			continue;
		ret = xw_build_alloc_node(b, n, xw_div_up(n->size, b->geo.block_size));
		if (!ret && n->n_ext) {
			b->counts.ea_inodes++;
			ret = xw_build_item(b, XW_ITEM_EA_VALUE, xw_binode_extents(n)[0].pblk,
					    (uintptr_t)n);
		}
	}
	return ret;
}

int xw_attrs_write_block(struct xw_builder *b, size_t index)
{
	struct xw_share_block *s = xw_share_at(b->share, index);
	uint32_t bs = b->geo.block_size;
	void *buf;
	int ret = xw_out_reserve(b->out, s->blk * bs, bs, &buf);

	if (ret)
		return ret;
	xw_share_expand(b->share, s, buf);
	if (b->n_ea)
		xw_xattr_map_inums(buf, bs, XW_XATTR_BLOCK_OFFS, put_number, b);
	if (b->dirfmt.csum)
		xw_xattr_block_set_csum(buf, bs, b->csum_seed, s->blk);
	return 0;
}

int xw_attrs_write_value(struct xw_builder *b, const struct xw_binode *ea)
{
	const struct xw_extent *e = xw_binode_extents(ea);
	uint64_t bs = b->geo.block_size, done = 0;
	int ret = 0;

	for (uint32_t i = 0; i < ea->n_ext && !ret; i++) {
		uint64_t room = e[i].len * bs, part = XW_MIN(room, ea->size - done);

		ret = xw_out_write(b->out, e[i].pblk * bs, ea->bytes + done, part);
		if (!ret && part < room)
			ret = xw_out_zeros(b->out, e[i].pblk * bs + part, room - part);
		done += part;
	}
	return ret;
}

void xw_attrs_encode_ea(const struct xw_builder *b, const struct xw_binode *ea, struct xw_inode *in)
{
	const struct xw_build_ea *v = (const struct xw_build_ea *)ea; /* node is its first member */

	xw_ea_inode_set(in, xw_xintern_ea(b->intern, (uint32_t)(v - b->ea) + 1)->hash, v->refs);
}

void xw_attrs_encode_ibody(const struct xw_builder *b, const struct xw_binode *n, uint8_t *area,
			   size_t size)
{
	const struct xw_xplaced *x = n->xattrs;

	if (!x->ibody_len)
		return;
	memcpy(area, x->ibody, x->ibody_len);
	if (x->n_ea)
		xw_xattr_map_inums(area, size, XW_XATTR_IBODY_OFFS, put_number,
				   (void *)(uintptr_t)b);
}
