// SPDX-License-Identifier: MIT
/*
 * xattrs of the model: shared blocks and EA inodes. Values that are still referenced by the
 * interner's ids become inodes, and all blocks are placed.
 */
#include "config.h"

#include "place/place.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/xattrblk.h"
#include "xattr/ea_inode.h"
#include "xattr/layout.h"

struct count {
	struct xw_placer *p;
	const struct xw_binode *owner;
};

static xw_ino count_ref(void *arg, xw_ino id)
{
	const struct count *c = arg;

	if (id && id <= c->p->enc.n_ea) {
		struct xw_encode_ea *ea = &c->p->enc.ea[id - 1];

		if (!ea->refs++ && c->owner) {
			ea->node.uid = c->owner->uid;
			ea->node.gid = c->owner->gid;
		}
	}
	return id;
}

/* Count the references to each value; values with references get inode numbers. */
int xw_attrs_count_ea(struct xw_placer *p)
{
	auto_free uint8_t *buf = NULL;
	struct count c = {.p = p};

	p->enc.n_ea = xw_xintern_ea_count(p->enc.intern);
	if (!p->enc.n_ea)
		return 0;
	p->enc.ea = calloc(p->enc.n_ea, sizeof(*p->enc.ea));
	buf = malloc(p->enc.block_size);
	if (!p->enc.ea || !buf)
		return xw_fail_nomem(p->enc.diag, "EA inodes");
	for (uint32_t i = 0; i < p->enc.n_ea; i++) {
		const struct xw_ea_value *v = xw_xintern_ea(p->enc.intern, i + 1);

		p->enc.ea[i].node = (struct xw_binode){
			.mode = XW_EA_MODE,
			.links = 1,
			.size = v->len,
			.bytes = (const char *)v->value,
			.flags = XW_BN_EA,
			.mtime = p->enc.now,
		};
	}
	for (const struct xw_binode *n = p->enc.first; n; n = n->next) {
		if (n->flags & XW_BN_DEAD || !n->xattrs || !n->xattrs->n_ea ||
		    !n->xattrs->ibody_len)
			continue;
		c.owner = n;
		memcpy(buf, n->xattrs->ibody, n->xattrs->ibody_len);
		memset(buf + n->xattrs->ibody_len, 0, p->enc.inode_size - n->xattrs->ibody_len);
		xw_xattr_map_inums(buf, p->enc.inode_size, XW_XATTR_IBODY_OFFS, count_ref, &c);
	}
	c.owner = NULL;
	for (size_t i = 0; i < xw_share_count(p->share); i++) {
		const struct xw_share_block *s = xw_share_at(p->share, i);

		if (!s->refcount)
			continue;
		xw_share_expand(p->share, s, buf);
		xw_xattr_map_inums(buf, p->enc.block_size, XW_XATTR_BLOCK_OFFS, count_ref, &c);
	}
	return 0;
}

int xw_attrs_place(struct xw_placer *p)
{
	for (size_t i = 0; i < xw_share_count(p->share); i++) {
		struct xw_share_block *s = xw_share_at(p->share, i);
		auto_free struct xw_run *runs = NULL;
		size_t n;
		int rc;

		if (!s->refcount || s->blk) /* unreferenced, or a block of the existing image */
			continue;
		rc = xw_place_alloc(p, 1, &runs, &n);
		if (!rc && n) {
			s->blk = runs[0].start;
			p->counts.xattr_blocks++;
			p->counts.xattr_refs += s->refcount;
			rc = xw_place_item(p, XW_ITEM_XATTR, s->blk, i);
		}
		if (rc)
			return rc;
	}
	for (uint32_t i = 0; i < p->enc.n_ea; i++) {
		struct xw_binode *n = &p->enc.ea[i].node;
		int rc = n->ino ? xw_place_alloc_node(p, n, xw_div_up(n->size, p->enc.block_size))
				: 0;

		if (!rc && n->ino && n->n_ext) {
			p->counts.ea_inodes++;
			rc = xw_place_item(p, XW_ITEM_EA_VALUE, xw_binode_extents(n)[0].pblk,
					   (uintptr_t)n);
		}
		if (rc)
			return rc;
	}
	return 0;
}

int xw_attrs_write_block(struct xw_placer *p, size_t index)
{
	struct xw_share_block *s = xw_share_at(p->share, index);
	uint32_t bs = p->enc.block_size;
	void *buf;
	int rc = xw_out_reserve(p->out, s->blk * bs, bs, &buf);

	if (rc)
		return rc;
	xw_attrs_encode_block(&p->enc, p->share, s, buf);
	return 0;
}

int xw_attrs_write_value(struct xw_placer *p, const struct xw_binode *ea)
{
	const struct xw_extent *e = xw_binode_extents(ea);
	uint64_t bs = p->enc.block_size, done = 0;
	int rc = 0;

	for (uint32_t i = 0; i < ea->n_ext && !rc; i++) {
		uint64_t room = e[i].len * bs, part = XW_MIN(room, ea->size - done);

		rc = xw_out_write(p->out, e[i].pblk * bs, ea->bytes + done, part);
		if (!rc && part < room)
			rc = xw_out_zeros(p->out, e[i].pblk * bs + part, room - part);
		done += part;
	}
	return rc;
}
