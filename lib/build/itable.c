// SPDX-License-Identifier: MIT
/* Inode tables: each used one is encoded straight into the write buffer, once, in inode order. */
#include "config.h"

#include "build/builder.h"

#include <string.h>

#include "disk/indirect.h"

static int encode_links(const struct xw_builder *b, const struct xw_binode *n, struct xw_inode *in)
{
	char path[XW_BUILD_PATH_MAX];
	uint32_t links = n->links;

	if (xw_binode_is(n, XW_S_IFDIR))
		links = n->dir->subdirs + 2;
	if (links > XW_LINK_MAX) {
		if (!xw_binode_is(n, XW_S_IFDIR) || !xw_has_ro(&b->geo.features, XW_RO_DIR_NLINK))
			return xw_fail(b->diag, XW_ERR_LIMIT,
				       "%s: %s: %u links are over the limit of %u",
				       xw_build_origin(b, n),
				       xw_build_path(b, n, path, sizeof(path)), links, XW_LINK_MAX);
		links = 1;
	}
	in->links = (uint16_t)links;
	return 0;
}

/* Clusters; extents that share one count it once. */
static uint64_t held_by_extents(const struct xw_builder *b, const struct xw_binode *n)
{
	const struct xw_extent *e = xw_binode_extents(n);
	const uint32_t bits = b->geo.cluster_bits;
	uint64_t held = 0, next = 0;

	for (uint32_t i = 0; i < n->n_ext; i++) {
		const uint64_t from = XW_MAX((uint64_t)e[i].lblk >> bits, next);

		next = (((uint64_t)e[i].lblk + e[i].len - 1) >> bits) + 1;
		held += next > from ? next - from : 0;
	}
	return held;
}

uint64_t xw_itable_held(const struct xw_builder *b, const struct xw_binode *n)
{
	uint64_t held = held_by_extents(b, n) + (n->map ? n->map->blocks : 0);

	held += xw_binode_is(n, XW_S_IFDIR) ? xw_build_itree_blocks(n) : 0;
	return held << b->geo.cluster_bits;
}

uint64_t xw_itable_held_xattrs(const struct xw_builder *b, const struct xw_binode *n)
{
	const uint64_t held = (n->xblock != NULL) + (n->xattrs ? n->xattrs->ea_clusters : 0);

	return held << b->geo.cluster_bits;
}

static void encode_payload(const struct xw_builder *b, const struct xw_binode *n,
			   struct xw_inode *in)
{
	if (n->flags & XW_BN_INLINE) {
		in->flags |= XW_FL_INLINE_DATA; /* the rest: xw_inline_encode */
		return;
	}
	switch (n->mode & XW_S_IFMT) {
	case XW_S_IFLNK:
		if (n->size < 60) {
			memcpy(in->block, n->bytes, n->size);
			break;
		}
		xw_map_encode_inode(b, n, in);
		break;
	case 0: /* the list of bad blocks */
	case XW_S_IFREG:
	case XW_S_IFDIR:
		xw_map_encode_inode(b, n, in);
		break;
	case XW_S_IFCHR:
	case XW_S_IFBLK:
		xw_inode_put_rdev(in, n->dev.major, n->dev.minor);
		break;
	default:
		break;
	}
}

int xw_itable_encode(const struct xw_builder *b, const struct xw_binode *n, struct xw_inode *in)
{
	char path[XW_BUILD_PATH_MAX];
	struct xw_time now = {b->params->now, 0};
	int ret;

	memset(in, 0, sizeof(*in));
	in->mode = n->mode;
	in->uid = n->uid;
	in->gid = n->gid;
	in->size = n->size;
	in->mtime = (struct xw_time){n->mtime, n->mtime_ns};
	in->atime = (struct xw_time){n->atime, n->atime_ns};
	in->ctime = in->crtime = now;
	in->extra_isize =
		(uint16_t)XW_MIN(b->geo.inode_size - XW_INODE_BODY, XW_INODE_EXTRA_WANTED);
	in->generation = xw_build_generation(b, n);
	if (xw_binode_is(n, XW_S_IFDIR) && n->dir->shape.indexed)
		in->flags |= XW_FL_INDEX | (n->dir->itree ? XW_FL_ITREE : 0);
	if (n->flags & XW_BN_IMMUTABLE)
		in->flags |= XW_FL_IMMUTABLE;
	if (n->inherit) {
		in->flags |= xw_inode_inherited(n->inherit->flags, n->mode);
		in->projid = n->inherit->projid;
	}
	if (n->xblock)
		in->file_acl = n->xblock->blk;
	encode_payload(b, n, in);
	if (n->flags & XW_BN_EA)
		xw_attrs_encode_ea(b, n, in);
	ret = encode_links(b, n, in);
	if (!ret &&
	    xw_inode_set_blocks(in, &b->sb, xw_itable_held(b, n) + xw_itable_held_xattrs(b, n)))
		ret = xw_fail(b->diag, XW_ERR_LIMIT,
			      "%s: %s: more blocks than the features allow a file",
			      xw_build_origin(b, n), xw_build_path(b, n, path, sizeof(path)));
	return ret;
}

int xw_itable_record(const struct xw_builder *b, const struct xw_binode *n, uint8_t *record)
{
	struct xw_inode in;
	int ret = xw_itable_encode(b, n, &in);

	if (ret)
		return ret;
	xw_inode_encode(&in, &b->sb, record);
	if (n->xattrs)
		xw_attrs_encode_ibody(b, n, record + XW_INODE_BODY + in.extra_isize,
				      b->geo.inode_size - XW_INODE_BODY - in.extra_isize);
	if (n->flags & XW_BN_INLINE)
		xw_inline_encode(b, n, record, in.extra_isize);
	return 0;
}

static int encode_at(struct xw_builder *b, xw_ino ino, uint8_t *buf)
{
	const struct xw_binode *n = ino <= b->last_ino ? b->by_ino[ino] : NULL;
	struct xw_inode in;
	int ret;

	if (ino == XW_INO_RESIZE && b->resize_dind) {
		xw_resize_encode(b, &in);
		xw_inode_encode(&in, &b->sb, buf);
	} else if (n) {
		ret = xw_itable_record(b, n, buf);
		if (ret)
			return ret;
	} else if (ino >= XW_INO_FIRST) {
		return 0; /* never used: stays zero, checksum included */
	}
	xw_inode_set_csum(buf, &b->sb, b->csum_seed, ino);
	return 0;
}

int xw_itable_write(struct xw_builder *b, uint32_t group)
{
	uint32_t isize = b->geo.inode_size, bs = b->geo.block_size, per_block = bs / isize;
	uint64_t first = (uint64_t)group * b->geo.inodes_per_group + 1;
	struct xw_group_place at;
	uint64_t used, blocks;

	xw_geo_group(&b->geo, group, &at);
	used = b->last_ino >= first
		       ? XW_MIN((uint64_t)b->last_ino - first + 1, b->geo.inodes_per_group)
		       : 0;
	blocks = xw_div_up(used, per_block);
	for (uint64_t k = 0; k < blocks; k++) {
		void *buf;
		int ret = xw_out_reserve(b->out, (at.inode_table + k) * bs, bs, &buf);

		for (uint32_t i = 0; i < per_block && !ret; i++) {
			uint64_t ino = first + k * per_block + i;

			if (ino <= b->last_ino)
				ret = encode_at(b, (xw_ino)ino, (uint8_t *)buf + i * isize);
		}
		if (ret)
			return ret;
	}
	/*
	 * The unused rest reads as zeros. On a fresh file it is a hole already, unless zeros are
	 * cheaper than a jump.
	 */
	if (b->dev->fresh && b->geo.kind != XW_GEO_TAIL)
		return 0;
	if (blocks == b->geo.itable_blocks)
		return 0;
	if (b->geo.kind == XW_GEO_TAIL)
		return xw_out_zeros(b->out, (at.inode_table + blocks) * bs,
				    (b->geo.itable_blocks - blocks) * bs);
	return b->params->lazy_itable_init == 1
		       ? 0
		       : xw_out_zeros(b->out, (at.inode_table + blocks) * bs,
				      (b->geo.itable_blocks - blocks) * bs);
}
