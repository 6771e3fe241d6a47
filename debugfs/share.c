/* SPDX-License-Identifier: MIT */
/*
 * xattr_share: counts xattr blocks, references to them, and different contents: the number of
 * blocks if all equal blocks were shared.
 *
 * One pass over the inode tables collects a block number for each reference; then each block is
 * read once, in ascending order.
 */
#include "config.h"

#include "walk.h"
#include "xattr.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/hash.h"
#include "base/search.h"
#include "base/vec.h"
#include "disk/xattrblk.h"

struct share {
	struct dbg *d;
	XW_VEC(uint64_t) refs; /* a block number for each reference */
	XW_VEC(uint64_t) contents; /* a hash for each block */
	struct xw_hash_key key; /* of contents: equal hashes are counted as equal contents */
	uint64_t blocks, stored, wrong, damaged, ea_inodes;
	/* number of different contents; maximum of references to one block */
	uint64_t distinct, most;
};

static int collect(void *arg, xw_ino ino, const struct xw_inode *in, const uint8_t *raw)
{
	struct share *s = arg;

	(void)raw;
	if (!in->links)
		return 0;
	if (in->flags & XW_FL_EA_INODE)
		s->ea_inodes++;
	if (!in->file_acl)
		return 0;
	if (!xw_image_has_blocks(s->d->img, in->file_acl, 1))
		dbg_complain(s->d,
			     "inode %" PRIu32 ": attributes in block %" PRIu64
			     ", outside the filesystem",
			     ino, in->file_acl);
	else if (xw_vec_push(&s->refs, in->file_acl))
		return xw_fail_nomem(&s->d->diag, "references");
	return 0;
}

static int one_block(struct share *s, uint8_t *buf, xw_blk blk, uint64_t refs)
{
	struct xw_xattr_bhdr h;
	int rc = xw_image_meta(s->d->img, blk, 0, buf, s->d->img->block_size);

	s->blocks++;
	s->most = XW_MAX(s->most, refs);
	if (rc || xw_xattr_bhdr_decode(buf, &h)) {
		if (rc)
			dbg_complain_diag(s->d, rc);
		else
			dbg_complain(s->d, "block %" PRIu64 " holds no attributes", blk);
		s->damaged++;
		return 0;
	}
	s->stored += h.refcount;
	s->wrong += h.refcount != refs;
	if (xw_vec_push(&s->contents, xw_hash_secret(&s->key, 0, buf + XW_XATTR_BHDR,
						     s->d->img->block_size - XW_XATTR_BHDR)))
		return xw_fail_nomem(&s->d->diag, "contents");
	return 0;
}

static int read_blocks(struct share *s)
{
	auto_free uint8_t *buf = malloc(s->d->img->block_size);
	int rc = 0;

	if (!buf)
		return xw_fail_nomem(&s->d->diag, "block");
	if (s->refs.n)
		qsort(s->refs.v, s->refs.n, sizeof(*s->refs.v), xw_by_u64);
	for (size_t i = 0, end; i < s->refs.n && !rc; i = end) {
		for (end = i; end < s->refs.n && s->refs.v[end] == s->refs.v[i];)
			end++;
		rc = one_block(s, buf, s->refs.v[i], end - i);
	}
	if (s->contents.n)
		qsort(s->contents.v, s->contents.n, sizeof(*s->contents.v), xw_by_u64);
	for (size_t i = 0; i < s->contents.n; i++)
		s->distinct += !i || s->contents.v[i] != s->contents.v[i - 1];
	return rc;
}

static void report(const struct share *s)
{
	const struct {
		const char *name;
		uint64_t n;
	} rows[] = {
		{"blocks", s->blocks},
		{"references", s->refs.n},
		{"distinct_contents", s->distinct},
		{"most_references", s->most},
		{"stored_refcounts", s->stored},
		{"wrong_refcounts", s->wrong},
		{"damaged_blocks", s->damaged},
		{"ea_inodes", s->ea_inodes},
	};

	if (s->d->json)
		xw_json_object(&s->d->js, NULL);
	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		if (s->d->json)
			xw_json_u64(&s->d->js, rows[i].name, rows[i].n);
		else
			fprintf(s->d->out, "%s: %" PRIu64 "\n", rows[i].name, rows[i].n);
	}
	if (s->d->json)
		xw_json_end(&s->d->js, '}');
}

int dbg_verb_xattr_share(struct dbg *d, int argc, char **argv)
{
	struct share s = {.d = d, .key = xw_hash_process_key()};
	int rc;

	(void)argv;
	if (argc > 1)
		return DBG_USAGE;
	rc = dbg_each_inode(d, collect, &s);
	if (!rc)
		rc = read_blocks(&s);
	if (!rc)
		report(&s);
	xw_vec_free(&s.refs);
	xw_vec_free(&s.contents);
	return rc;
}
