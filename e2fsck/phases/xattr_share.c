// SPDX-License-Identifier: MIT
/*
 * -E share_xattrs: merges xattr blocks with equal contents. Up to 1024 inodes, Linux's limit, refer
 * to the first of them; the other blocks are freed. i_blocks does not change: that of each owner
 * includes a shared block.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/hash.h"
#include "phases/xattrs.h"

/* A block to be merged with others. */
struct same {
	uint64_t hash; /* of the block without its header; secret, so it groups equal blocks only */
	struct fsck_xattr_block *b;
	struct fsck_xattr_block *to; /* the block that its owners shall refer to; NULL: itself */
};

static int by_block(const void *a, const void *b)
{
	const struct same *x = a, *y = b;

	return (x->b->blk > y->b->blk) - (x->b->blk < y->b->blk);
}

static int by_hash(const void *a, const void *b)
{
	const struct same *x = a, *y = b;

	return x->hash != y->hash ? (x->hash > y->hash ? 1 : -1) : by_block(a, b);
}

static int hash_all(struct fsck *f, struct fsck_xattr_block *blocks, size_t n, struct same *v,
		    size_t *out)
{
	const struct xw_hash_key key = xw_hash_process_key();
	const uint32_t bs = f->ses.img->block_size;
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		uint8_t *p = f->facts.xattrs->buf;

		if (!blocks[i].refs || blocks[i].bad || blocks[i].n_ea)
			continue;
		rc = fsck_read(f, blocks[i].blk, 1, p);
		if (!rc)
			v[(*out)++] = (struct same){
				xw_hash_secret(&key, 0, p + XW_XATTR_BHDR, bs - XW_XATTR_BHDR),
				&blocks[i], NULL};
	}
	return rc;
}

static int same_contents(struct fsck *f, xw_blk a, xw_blk b, bool *same)
{
	const uint32_t bs = f->ses.img->block_size;
	uint8_t *p = f->facts.xattrs->buf;
	int rc = fsck_read(f, a, 1, p);

	if (!rc)
		rc = fsck_read(f, b, 1, p + bs);
	*same = !rc && !memcmp(p + XW_XATTR_BHDR, p + bs + XW_XATTR_BHDR, bs - XW_XATTR_BHDR);
	return rc;
}

/* Find for each block an earlier one that has room for its references. */
static int join(struct fsck *f, struct same *v, size_t n, uint64_t *saved)
{
	int rc = 0;

	for (size_t i = 1, first = 0; i < n && !rc; i++) {
		struct fsck_xattr_block *to = v[first].b;
		bool same = false;

		if (v[i].hash == v[first].hash && to->refs + v[i].b->refs <= XW_XATTR_REFCOUNT_MAX)
			rc = same_contents(f, to->blk, v[i].b->blk, &same);
		if (!same) {
			first = i;
			continue;
		}
		to->refs += v[i].b->refs;
		v[i].to = to;
		++*saved;
	}
	return rc;
}

static int move_user(struct fsck *f, const struct fsck_xattr_user *user, const struct same *v,
		     size_t n, uint8_t *raw)
{
	struct fsck_xattr_block key_block = {.blk = user->blk};
	const struct same key = {.b = &key_block};
	const struct same *s = bsearch(&key, v, n, sizeof(*v), by_block);
	struct xw_inode in;
	int rc;

	if (!s || !s->to)
		return 0;
	rc = fsck_inode_read(f, user->ino, &in, raw);
	if (rc || in.file_acl != user->blk)
		return rc;
	in.file_acl = s->to->blk;
	return fsck_inode_write(f, user->ino, &in, raw);
}

static int put_refcount(struct fsck *f, const struct fsck_xattr_block *b)
{
	uint8_t *p = f->facts.xattrs->buf;
	struct xw_xattr_bhdr h;
	int rc = fsck_read(f, b->blk, 1, p);

	if (rc || xw_xattr_bhdr_decode(p, &h) || h.refcount == b->refs)
		return rc;
	h.refcount = b->refs;
	xw_xattr_bhdr_encode(p, &h);
	if (xw_super_has_csum(&f->ses.img->sb))
		xw_xattr_block_set_csum(p, f->ses.img->block_size, f->ses.img->csum_seed, b->blk);
	return fsck_try_write(f, FSCK_O_XATTR, b->blk, p);
}

static int apply(struct fsck *f, struct same *v, size_t n)
{
	auto_free uint8_t *raw = malloc(f->ses.img->inode_size);
	int rc = raw ? 0 : xw_fail_nomem(&f->ses.diag, "extended attributes");

	qsort(v, n, sizeof(*v), by_block);
	for (size_t i = 0; i < f->facts.xattrs->users.n && !rc; i++)
		rc = move_user(f, &f->facts.xattrs->users.v[i], v, n, raw);
	for (size_t i = 0; i < n && !rc; i++) {
		if (v[i].to)
			fsck_unclaim(f, FSCK_O_XATTR, v[i].b->blk, 1);
		else
			rc = put_refcount(f, v[i].b);
	}
	return rc;
}

int fsck_xattr_share(struct fsck *f, struct fsck_xattr_block *blocks, size_t n)
{
	auto_free struct same *v = malloc((n + 1) * sizeof(*v));
	uint64_t saved = 0;
	size_t n_same = 0;
	int rc = v ? hash_all(f, blocks, n, v, &n_same)
		   : xw_fail_nomem(&f->ses.diag, "extended attributes");

	/* The cluster of an xattr block may have another owner: do nothing. */
	if (rc || f->facts.owners.contested || n_same < 2)
		return rc;
	qsort(v, n_same, sizeof(*v), by_hash);
	rc = join(f, v, n_same, &saved);
	if (!rc && saved && FSCK_FOUND(f, XATTR_SHARE, .num = saved))
		rc = apply(f, v, n_same);
	return rc;
}
