// SPDX-License-Identifier: MIT
/*
 * Encodes complete inode records and xattr blocks from the model. The model's encoded attributes
 * refer to values in EA inodes by the interner's ids, which are replaced by inode numbers here.
 */
#include "config.h"

#include "encode/encode.h"

#include <string.h>

#include "base/hash.h"
#include "disk/indirect.h"
#include "disk/xattrblk.h"
#include "xattr/ea_inode.h"
#include "xattr/layout.h"

/* ---- attributes ---- */

static xw_ino put_number(void *arg, xw_ino id)
{
	const struct xw_encoder *enc = arg;

	return id && id <= enc->n_ea ? enc->ea[id - 1].node.ino : 0;
}

/* Set the fields of an EA inode: value hash, reference count. */
static void encode_ea(const struct xw_encoder *enc, const struct xw_binode *ea, struct xw_inode *in)
{
	/* ea is the first member of a struct xw_encode_ea */
	const struct xw_encode_ea *v = (const struct xw_encode_ea *)ea;

	xw_ea_inode_set(in, xw_xintern_ea(enc->intern, (uint32_t)(v - enc->ea) + 1)->hash, v->refs);
}

void xw_attrs_encode_ibody(const struct xw_encoder *enc, const struct xw_binode *n, uint8_t *area,
			   size_t size)
{
	const struct xw_xplaced *x = n->xattrs;

	if (!x->ibody_len)
		return;
	memcpy(area, x->ibody, x->ibody_len);
	if (x->n_ea)
		xw_xattr_map_inums(area, size, XW_XATTR_IBODY_OFFS, put_number,
				   (void *)(uintptr_t)enc);
}

void xw_attrs_encode_block(const struct xw_encoder *enc, struct xw_share *share,
			   const struct xw_share_block *s, void *buf)
{
	xw_share_expand(share, s, buf);
	if (enc->n_ea)
		xw_xattr_map_inums(buf, enc->block_size, XW_XATTR_BLOCK_OFFS, put_number,
				   (void *)(uintptr_t)enc);
	if (enc->dirfmt.csum)
		xw_xattr_block_set_csum(buf, enc->block_size, enc->csum_seed, s->blk);
}

/* ---- records ---- */

static int encode_links(const struct xw_encoder *enc, const struct xw_binode *n,
			struct xw_inode *in)
{
	char path[XW_ENCODE_PATH_MAX];
	uint32_t links = n->links;

	if (xw_binode_is(n, XW_S_IFDIR))
		links = n->dir->subdirs + 2;
	if (links > XW_LINK_MAX) {
		if (!xw_binode_is(n, XW_S_IFDIR) || !xw_has_ro(&enc->features, XW_RO_DIR_NLINK))
			return xw_fail(enc->diag, XW_ERR_LIMIT,
				       "%s: %s: %u links are over the limit of %u",
				       xw_encode_origin(enc, n),
				       xw_encode_path(enc, n, path, sizeof(path)), links,
				       XW_LINK_MAX);
		links = 1;
	}
	in->links = (uint16_t)links;
	return 0;
}

/* Number of clusters in n's extents; a cluster shared by several extents counts once. */
static uint64_t held_by_extents(const struct xw_encoder *enc, const struct xw_binode *n)
{
	const struct xw_extent *e = xw_binode_extents(n);
	const uint32_t bits = enc->cluster_bits;
	uint64_t held = 0, next = 0;

	for (uint32_t i = 0; i < n->n_ext; i++) {
		const uint64_t from = XW_MAX((uint64_t)e[i].lblk >> bits, next);

		next = (((uint64_t)e[i].lblk + e[i].len - 1) >> bits) + 1;
		held += next > from ? next - from : 0;
	}
	return held;
}

uint64_t xw_itable_held(const struct xw_encoder *enc, const struct xw_binode *n)
{
	uint64_t held = held_by_extents(enc, n) + (n->map ? n->map->blocks : 0);

	held += xw_binode_is(n, XW_S_IFDIR) ? xw_encode_itree_blocks(n) : 0;
	return held << enc->cluster_bits;
}

uint64_t xw_itable_held_xattrs(const struct xw_encoder *enc, const struct xw_binode *n)
{
	const uint64_t held = (n->xblock != NULL) + (n->xattrs ? n->xattrs->ea_clusters : 0);

	return held << enc->cluster_bits;
}

static void encode_payload(const struct xw_encoder *enc, const struct xw_binode *n,
			   struct xw_inode *in)
{
	const uint32_t type = n->mode & XW_S_IFMT; /* 0: the bad blocks inode */

	if (n->flags & XW_BN_INLINE)
		in->flags |= XW_FL_INLINE_DATA; /* xw_inline_encode() encodes the contents */
	else if (type == XW_S_IFLNK && n->size < 60)
		memcpy(in->block, n->bytes, n->size);
	else if (type == XW_S_IFLNK || type == XW_S_IFREG || type == XW_S_IFDIR || !type)
		xw_map_encode_inode(enc, n, in);
	else if (type == XW_S_IFCHR || type == XW_S_IFBLK)
		xw_inode_put_rdev(in, n->dev.major, n->dev.minor);
}

static uint32_t chattr_flags(const struct xw_binode *n)
{
	uint32_t flags = (n->flags & XW_BN_IMMUTABLE ? XW_FL_IMMUTABLE : 0) |
			 (n->flags & XW_BN_APPEND ? XW_FL_APPEND : 0) |
			 (n->flags & XW_BN_NODUMP ? XW_FL_NODUMP : 0) |
			 (n->flags & XW_BN_NOATIME ? XW_FL_NOATIME : 0) |
			 (n->flags & XW_BN_SYNC ? XW_FL_SYNC : 0);

	if (n->flags & XW_BN_BY_TYPE)
		flags |= xw_binode_is(n, XW_S_IFDIR) ? XW_FL_DIRSYNC : XW_FL_JOURNAL_DATA;
	return flags;
}

int xw_itable_encode(const struct xw_encoder *enc, const struct xw_binode *n, struct xw_inode *in)
{
	char path[XW_ENCODE_PATH_MAX];
	struct xw_time now = {enc->now, 0};
	int rc;

	memset(in, 0, sizeof(*in));
	in->mode = n->mode;
	in->uid = n->uid;
	in->gid = n->gid;
	in->size = n->size;
	in->mtime = (struct xw_time){n->mtime, n->mtime_ns};
	in->atime = (struct xw_time){n->atime, n->atime_ns};
	in->ctime = in->crtime = now;
	in->extra_isize = (uint16_t)XW_MIN(enc->inode_size - XW_INODE_BODY, XW_INODE_EXTRA_WANTED);
	in->generation = xw_encode_generation(enc, n);
	if (xw_binode_is(n, XW_S_IFDIR) && n->dir->shape.indexed)
		in->flags |= XW_FL_INDEX | (n->dir->itree ? XW_FL_ITREE : 0);
	in->flags |= chattr_flags(n);
	if (n->inherit) {
		in->flags |= xw_inode_inherited(n->inherit->flags, n->mode);
		in->projid = n->inherit->projid;
	}
	if (n->xblock)
		in->file_acl = n->xblock->blk;
	encode_payload(enc, n, in);
	if (n->flags & XW_BN_EA)
		encode_ea(enc, n, in);
	rc = encode_links(enc, n, in);
	if (!rc && xw_inode_set_blocks(in, &enc->sb,
				       xw_itable_held(enc, n) + xw_itable_held_xattrs(enc, n)))
		rc = xw_fail(enc->diag, XW_ERR_LIMIT,
			     "%s: %s: more blocks than a file may have with these features",
			     xw_encode_origin(enc, n), xw_encode_path(enc, n, path, sizeof(path)));
	return rc;
}

int xw_itable_record(const struct xw_encoder *enc, const struct xw_binode *n, uint8_t *record)
{
	struct xw_inode in;
	int rc = xw_itable_encode(enc, n, &in);

	if (rc)
		return rc;
	xw_inode_encode(&in, &enc->sb, record);
	if (n->xattrs)
		xw_attrs_encode_ibody(enc, n, record + XW_INODE_BODY + in.extra_isize,
				      enc->inode_size - XW_INODE_BODY - in.extra_isize);
	if (n->flags & XW_BN_INLINE)
		xw_inline_encode(enc, n, record, in.extra_isize);
	return 0;
}
