// SPDX-License-Identifier: MIT
/*
 * The sweep over extended attributes: checksums of xattr blocks, and hashes of values in EA inodes,
 * which depend on the checksum seed. Such a hash is stored in the EA inode, is part of the hash of
 * each entry that refers to it, and thereby of the hash of the xattr block.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/search.h"
#include "read/file.h"
#include "tune/sweep.h"
#include "walk/xattr.h"

/* ---- values ---- */

static int hash_value(void *arg, xw_ino ino, struct xw_inode *in, const uint8_t *raw)
{
	struct xw_sweep *s = arg;
	struct xw_image *img = s->img;
	struct xw_tune_value v = {.ino = ino, .old_hash = xw_inode_ea_hash(in)};
	auto_free uint8_t *value = NULL;
	size_t got = 0;
	int rc;

	(void)raw;
	if (!in->links || !(in->flags & XW_FL_EA_INODE))
		return 0;
	if (in->size > XW_XATTR_SIZE_MAX)
		return xw_fail(img->diag, XW_ERR_CORRUPT,
			       "%s: inode %" PRIu32 ": xattr value of %" PRIu64
			       " bytes is too large",
			       img->dev->name, ino, in->size);
	value = malloc(in->size + 1);
	if (!value)
		return xw_fail_nomem(img->diag, "xattr value");
	rc = xw_file_pread(img, ino, in, NULL, 0, value, in->size, &got);
	if (rc)
		return rc;
	v.hash = xw_xattr_value_hash(s->seed, value, got);
	/* an invalid hash must not become valid */
	if (v.old_hash != xw_xattr_value_hash(img->csum_seed, value, got))
		v.hash = v.old_hash;
	return xw_vec_push(&s->values, v) ? xw_fail_nomem(img->diag, "xattr values") : 0;
}

int xw_sweep_values(struct xw_sweep *s)
{
	return xw_tune_each_inode(s->img, hash_value, s);
}

static const struct xw_tune_value *find(const struct xw_sweep *s, xw_ino ino)
{
	const size_t i = XW_LOWER_BOUND(k, s->values.n, s->values.v[k].ino >= ino);

	return i < s->values.n && s->values.v[i].ino == ino ? &s->values.v[i] : NULL;
}

void xw_sweep_value(struct xw_sweep *s, xw_ino ino, struct xw_inode *in, uint8_t *raw)
{
	const struct xw_tune_value *v = find(s, ino);

	if (!v)
		return;
	xw_inode_set_ea_hash(in, v->hash);
	xw_inode_encode(in, &s->img->sb, raw);
}

/* ---- entries ---- */

/*
 * Update the hashes of the entries in `area`, over which `it` iterates, and store them in `hashes`
 * unless that is NULL. Returns the number of entries, or a negative code.
 */
static int rehash_entries(struct xw_sweep *s, uint8_t *area, struct xw_walk_xattr *it,
			  uint32_t *hashes)
{
	struct xw_walk_xattr_item item;
	int n = 0;

	while (xw_walk_xattr_next(it, &item)) {
		struct xw_xattr_entry *e = &item.e;
		const struct xw_tune_value *v;

		if (item.rule == XW_XATTR_BAD_ENTRY || item.rule == XW_XATTR_BAD_VALUE ||
		    item.rule == XW_XATTR_BAD_SIZE)
			return XW_ERR_CORRUPT;
		v = e->value_inum ? find(s, e->value_inum) : NULL;
		if (v && xw_xattr_entry_hash_inum_ok(e->hash, e->name, e->name_len, v->old_hash)) {
			e->hash = xw_xattr_entry_hash_inum(e->name, e->name_len, v->hash);
			poke32(area + item.off + 12, e->hash);
		}
		if (hashes)
			hashes[n] = e->hash;
		n++;
	}
	return n;
}

int xw_sweep_ibody(struct xw_sweep *s, const struct xw_inode *in, uint8_t *raw)
{
	const unsigned off = xw_inode_xattr_off(in, &s->img->sb);
	struct xw_walk_xattr it;
	int n;

	if (!off || xw_xattr_magic(raw + off) != XW_XATTR_MAGIC)
		return 0;
	xw_walk_xattr_inode(&it, raw + off, s->img->inode_size - off);
	n = rehash_entries(s, raw + off, &it, NULL);
	return n < 0 ? xw_fail(s->img->diag, n,
			       "%s: damaged attributes in an inode; run xw-fsck -f",
			       s->img->dev->name)
		     : 0;
}

/* ---- blocks ---- */

static int rehash_block(struct xw_sweep *s, struct xw_xattr_bhdr *h)
{
	const uint32_t bs = s->img->block_size;
	auto_free uint32_t *hashes = malloc(bs / XW_XATTR_ENTRY * sizeof(*hashes));
	struct xw_walk_xattr it;
	int n;

	if (!hashes)
		return XW_ERR_NOMEM;
	xw_walk_xattr_block(&it, s->buf, bs);
	n = rehash_entries(s, s->buf, &it, hashes);
	if (n < 0)
		return n;
	h->hash = xw_xattr_block_hash(hashes, (size_t)n);
	xw_xattr_bhdr_encode(s->buf, h);
	return 0;
}

static int sweep_block(struct xw_sweep *s, xw_blk blk)
{
	struct xw_image *img = s->img;
	const uint32_t bs = img->block_size;
	struct xw_xattr_bhdr h;
	int rc = xw_image_has_blocks(img, blk, 1) ? xw_sweep_get(s, blk) : XW_ERR_CORRUPT;

	if (!rc)
		rc = xw_xattr_bhdr_decode(s->buf, &h);
	if (!rc && s->old_csum)
		rc = xw_xattr_block_verify(s->buf, bs, img->csum_seed, blk);
	if (!rc && s->rehash)
		rc = rehash_block(s, &h);
	if (rc)
		return xw_fail(img->diag, rc, "%s: xattr block %" PRIu64 ": %s; run xw-fsck -f",
			       img->dev->name, blk, xw_err_text(rc));
	if (s->new_csum)
		xw_xattr_block_set_csum(s->buf, bs, s->seed, blk);
	return xw_sweep_put(s, blk);
}

int xw_sweep_xattr_blocks(struct xw_sweep *s)
{
	int rc = 0;

	if (s->xattr_blocks.n)
		qsort(s->xattr_blocks.v, s->xattr_blocks.n, sizeof(xw_blk), xw_by_u64);
	for (size_t i = 0; i < s->xattr_blocks.n && !rc; i++)
		if (!i || s->xattr_blocks.v[i] != s->xattr_blocks.v[i - 1])
			rc = sweep_block(s, s->xattr_blocks.v[i]);
	return rc;
}
