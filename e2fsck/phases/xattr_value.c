// SPDX-License-Identifier: MIT
/*
 * Finds values of attributes whose EA inode maps wrong blocks. The hash in an EA inode identifies
 * its value. A value is lost if its EA inode maps other contents. At first only doubtful values are
 * read: blocks of the map are free, missing or have another owner. If one of these is lost, all
 * values are read. For a lost value one of its extents, or the whole value in one piece, is
 * searched for in blocks that are in use and unclaimed, or claimed only by EA inodes with lost
 * values.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/extent.h"
#include "read/bitmaps.h"
#include "phases/xattrs.h"

enum { GROUPS_MAX = 64, TRIES_MAX = 4096 }; /* of one value */
enum { TAILS = 1 << 16 };

/*
 * The length of a block up to its last byte that is not 0. A value is followed by zeros, so nearly
 * all blocks that cannot be its last one are recognized without reading the blocks before them.
 */
struct tail {
	xw_blk blk; /* 0: unknown */
	uint32_t len;
};

/* How well a location fits; the best are tried first. The value may end with zeros. */
enum fit { EXACT, ZEROS_AT_END, FITS };

struct value {
	struct fsck *f;
	xw_ino ino; /* the EA inode, */
	struct xw_inode in; /* and its record; during the search with the map that is tried */
	unsigned index; /* the extent of that map that is searched for, */
	uint64_t len; /* and its length in blocks */
	uint8_t *bits; /* block bitmap of the group; all zeros if it cannot be read */
	uint64_t group; /* of `bits` */
	unsigned tries; /* locations read for this value */
	uint32_t rest; /* bytes of the value in the last block of the extent; 0: not the last one */
	XW_VEC(xw_ino) lost; /* EA inodes with lost values */
	struct xw_blockset *mapped, *owned; /* clusters of these, and of all other EA inodes */
	/* for each group, a bitmap of clusters where values can be; NULL: not computed yet */
	uint8_t **unowned;
	struct tail *tails; /* by block number modulo TAILS */
	uint8_t *block; /* buffer */
};

static void load_bitmap(struct value *v, uint64_t group)
{
	struct fsck *f = v->f;
	struct xw_group_desc gd;

	if (group == v->group)
		return;
	v->group = group;
	if (xw_image_group(f->ses.img, group, &gd) || xw_image_block_uninit(f->ses.img, &gd) ||
	    !xw_image_has_blocks(f->ses.img, gd.block_bitmap, 1) ||
	    fsck_read(f, gd.block_bitmap, 1, v->bits)) {
		xw_diag_clear(&f->ses.diag);
		memset(v->bits, 0, f->ses.img->block_size);
	}
}

/* Is the block in use according to the block bitmap? */
static bool is_marked(struct value *v, xw_blk blk)
{
	const uint64_t n =
		(blk - v->f->ses.img->sb.first_data_block) >> xw_image_cluster_bits(v->f->ses.img);
	const uint32_t per_group = xw_image_group_bits(v->f->ses.img);

	load_bitmap(v, n / per_group);
	return v->bits[n % per_group / 8] >> n % 8 & 1;
}

/* May these blocks not belong to the EA inode: outside, free, or with another owner? */
static bool is_doubtful(struct value *v, xw_blk blk, uint64_t len)
{
	if (!xw_image_has_blocks(v->f->ses.img, blk, len))
		return true;
	for (uint64_t i = 0; i < len; i++)
		if (fsck_is_contested(v->f, blk + i) || !is_marked(v, blk + i))
			return true;
	return false;
}

/* Is the value found if the missing extent begins at blk? */
static bool is_at(struct value *v, xw_blk blk)
{
	struct xw_extent e;

	xw_extent_leaf_decode(v->in.block, v->index, &e);
	e.pblk = blk;
	xw_extent_leaf_encode(v->in.block, v->index, &e);
	v->tries++;
	return fsck_is_ea_inode(v->f, v->ino, &v->in);
}

/* The first block of cluster n of the group. */
static xw_blk block_of(const struct value *v, uint64_t group, uint32_t n)
{
	const struct xw_image *img = v->f->ses.img;

	return img->sb.first_data_block +
	       ((group * xw_image_group_bits(img) + n) << xw_image_cluster_bits(img));
}

/* Has the cluster no owner, or only EA inodes whose values are lost? */
static bool is_unowned(const struct value *v, xw_blk blk)
{
	const uint64_t n = fsck_cluster(v->f, blk);

	return !fsck_is_claimed(v->f, blk) ||
	       (xw_blockset_has(v->mapped, n) && !xw_blockset_has(v->owned, n));
}

/* The unowned clusters in use of a group; claims do not change during a search. NULL: no memory. */
static uint8_t *unowned_in(struct value *v, uint64_t group)
{
	const uint32_t bits = xw_image_group_bits(v->f->ses.img);
	uint8_t *set = v->unowned[group];

	if (set)
		return set;
	set = v->unowned[group] = calloc(1, bits / 8 + 1);
	load_bitmap(v, group);
	for (uint32_t n = 0; set && n < bits; n++)
		if (v->bits[n / 8] >> n % 8 & 1 && is_unowned(v, block_of(v, group, n)))
			set[n / 8] |= (uint8_t)(1u << n % 8);
	return set;
}

static uint32_t tail_of(struct value *v, xw_blk blk)
{
	struct tail *t = &v->tails[blk % TAILS];
	uint32_t len = v->f->ses.img->block_size;

	if (t->blk == blk)
		return t->len;
	if (fsck_read(v->f, blk, 1, v->block)) {
		xw_diag_clear(&v->f->ses.diag);
		return len;
	}
	while (len && !v->block[len - 1])
		len--;
	*t = (struct tail){blk, len};
	return len;
}

/* FITS: no match, as other bytes follow the value. */
static enum fit fit_at(struct value *v, xw_blk blk)
{
	const uint32_t len = v->rest ? tail_of(v, blk + v->len - 1) : 0;

	if (len > v->rest)
		return FITS;
	return len == v->rest ? EXACT : ZEROS_AT_END;
}

/* Look for the extent in blocks of one group that are in use without an owner. */
static bool find_in(struct value *v, uint64_t group, enum fit fit, xw_blk *blk)
{
	const struct fsck *f = v->f;
	const unsigned bits = xw_image_cluster_bits(f->ses.img);
	const uint32_t per_group = xw_image_group_bits(f->ses.img);
	const uint64_t need = xw_div_up(v->len, UINT64_C(1) << bits);
	const uint8_t *const set = unowned_in(v, group);
	uint64_t have = 0;

	for (uint32_t n = 0; set && n < per_group && v->tries < TRIES_MAX; n++) {
		const xw_blk at = block_of(v, group, n);

		if (n % 8 == 0 && !set[n / 8]) {
			have = 0;
			n += 7;
			continue;
		}
		have = set[n / 8] >> n % 8 & 1 ? have + 1 : 0;
		*blk = at - (xw_blk)((need - 1) << bits);
		if (have >= need && xw_image_has_blocks(f->ses.img, *blk, v->len) &&
		    fit_at(v, *blk) == fit && is_at(v, *blk))
			return true;
	}
	return false;
}

static bool find_extent(struct value *v, xw_blk *blk)
{
	const uint64_t groups = xw_image_groups_here(v->f->ses.img);
	const uint64_t first = (v->ino - 1) / v->f->ses.img->sb.inodes_per_group;

	v->tries = 0;
	for (unsigned fit = EXACT; fit < (v->rest ? FITS : ZEROS_AT_END); fit++)
		for (uint64_t i = 0; i < XW_MIN(groups, (uint64_t)GROUPS_MAX); i++)
			if (find_in(v, (first + i) % groups, (enum fit)fit, blk))
				return true;
	return false;
}

/* Bytes of the value in its last block. */
static uint32_t rest_of(const struct value *v)
{
	return (uint32_t)((v->in.size - 1) % v->f->ses.img->block_size + 1);
}

/* Search for the whole value in one piece, with a map of one extent. */
static int try_complete(struct value *v, uint64_t blocks, bool *found, xw_blk *blk)
{
	const struct xw_extent_hdr h = {.entries = 1, .max = XW_EXT_INODE_ENTRIES};
	const struct xw_extent e = {.len = (uint32_t)blocks};
	const uint64_t cluster = UINT64_C(1) << xw_image_cluster_bits(v->f->ses.img);

	memset(v->in.block, 0, sizeof(v->in.block));
	xw_extent_hdr_encode(v->in.block, &h);
	xw_extent_leaf_encode(v->in.block, 0, &e);
	v->index = 0;
	v->len = blocks;
	v->rest = rest_of(v);
	*found = find_extent(v, blk);
	return xw_inode_set_blocks(&v->in, &v->f->ses.img->sb, xw_round_up(blocks, cluster));
}

/* Search for one of the doubtful extents, or for one of the others. */
static bool try_extents(struct value *v, const struct xw_inode *was, uint64_t blocks, bool doubtful,
			xw_blk *blk)
{
	struct xw_extent_hdr h;
	struct xw_extent e;

	xw_extent_hdr_peek(was->block, &h);
	for (unsigned i = 0; i < h.entries; i++) {
		xw_extent_leaf_decode(was->block, i, &e);
		if (is_doubtful(v, e.pblk, e.len) != doubtful)
			continue;
		v->in = *was;
		v->index = i;
		v->len = e.len;
		v->rest = (uint64_t)e.lblk + e.len == blocks ? rest_of(v) : 0;
		if (find_extent(v, blk))
			return true;
	}
	return false;
}

static uint64_t mapped_blocks(const struct xw_inode *in)
{
	struct xw_extent_hdr h;
	struct xw_extent e;
	uint64_t mapped = 0;

	xw_extent_hdr_peek(in->block, &h);
	for (unsigned i = 0; i < h.entries; i++) {
		xw_extent_leaf_decode(in->block, i, &e);
		mapped += e.len;
	}
	return mapped;
}

/* *found: v->in maps the value, whose size is `blocks`. */
static int find_value(struct value *v, uint64_t blocks, bool *found, xw_blk *blk)
{
	const struct xw_inode was = v->in;

	*found =
		try_extents(v, &was, blocks, true, blk) || try_extents(v, &was, blocks, false, blk);
	return *found || mapped_blocks(&was) >= blocks ? 0 : try_complete(v, blocks, found, blk);
}

/* Use each location for one value only. */
static int claim_location(struct value *v, xw_blk blk)
{
	const uint32_t per_group = xw_image_group_bits(v->f->ses.img);
	const uint64_t first = fsck_cluster(v->f, blk), end = fsck_cluster(v->f, blk + v->len - 1);

	for (uint64_t n = first; n <= end; n++) {
		uint8_t *const set = v->unowned[n / per_group];

		if (set)
			set[n % per_group / 8] &= (uint8_t) ~(1u << n % 8);
	}
	return xw_blockset_add(v->owned, first, end - first + 1, NULL);
}

static int examine(struct value *v, xw_ino ino, uint8_t *raw)
{
	struct fsck *f = v->f;
	bool found = false;
	xw_blk blk = 0;
	int rc = fsck_inode_read(f, ino, &v->in, raw);

	v->ino = ino;
	if (!rc)
		rc = find_value(v, xw_div_up(v->in.size, f->ses.img->block_size), &found, &blk);
	if (rc || !found)
		return rc;
	if (claim_location(v, blk))
		return xw_fail_nomem(&f->ses.diag, "extended attributes");
	if (!FSCK_FOUND(f, EA_INODE_PLACE, .ino = ino, .blk = blk)) {
		struct fsck_ea *ea = fsck_ea_slot(f, ino);

		if (!ea)
			return XW_ERR_NOMEM;
		ea->lost = true;
		return 0;
	}
	f->round.again = f->ses.values_doubted = true; /* the claims have changed */
	return fsck_inode_write(f, ino, &v->in, raw);
}

/* Can the value be searched for: is the whole map in the record? */
static bool is_simple(const struct xw_inode *in)
{
	struct xw_extent_hdr h;

	return in->flags & XW_FL_EXTENTS && in->size && in->size <= XW_XATTR_SIZE_MAX &&
	       !xw_extent_hdr_decode(in->block, sizeof(in->block), &h) && !h.depth;
}

/* Add the clusters that the inode maps to the set. XW_ERR_NOMEM. */
static int add_clusters(struct value *v, const struct xw_inode *in, struct xw_blockset *set)
{
	struct xw_extent_hdr h;
	struct xw_extent e;
	int rc = 0;

	xw_extent_hdr_peek(in->block, &h);
	for (unsigned i = 0; i < h.entries && !rc; i++) {
		uint64_t first;

		xw_extent_leaf_decode(in->block, i, &e);
		if (!e.len || !xw_image_has_blocks(v->f->ses.img, e.pblk, e.len))
			continue;
		first = fsck_cluster(v->f, e.pblk);
		rc = xw_blockset_add(set, first, fsck_cluster(v->f, e.pblk + e.len - 1) - first + 1,
				     NULL);
	}
	return rc;
}

/* Does the EA inode not map its value? The value is read only if it is doubtful. */
static bool is_lost(struct value *v, xw_ino ino, const struct xw_inode *in, bool doubted)
{
	struct xw_extent_hdr h;
	struct xw_extent e;

	xw_extent_hdr_peek(in->block, &h);
	for (unsigned i = 0; i < h.entries && !doubted; i++) {
		xw_extent_leaf_decode(in->block, i, &e);
		doubted = is_doubtful(v, e.pblk, e.len);
	}
	return (doubted || mapped_blocks(in) < xw_div_up(in->size, v->f->ses.img->block_size)) &&
	       !fsck_is_ea_inode(v->f, ino, in);
}

/* List the EA inodes with lost values. Until one is found, only doubtful values are read. */
static int list_lost(struct value *v, bool doubted)
{
	auto_free struct fsck_ea *eas = NULL;
	struct xw_inode in;
	size_t n;
	int rc = fsck_ea_list(v->f, &eas, &n);

	v->lost.n = 0;
	for (size_t i = 0; !rc && i < n && !v->f->ses.stop; i++) {
		const struct fsck_ea *ea = &eas[i];
		bool lost;

		if (ea->old)
			continue;
		rc = fsck_inode_read(v->f, ea->ino, &in, NULL);
		if (rc || !is_simple(&in))
			continue;
		lost = is_lost(v, ea->ino, &in, doubted);
		if (lost && !doubted)
			return list_lost(v, true);
		if (lost)
			rc = xw_vec_push(&v->lost, ea->ino) ? XW_ERR_NOMEM : 0;
		if (!rc)
			rc = add_clusters(v, &in, lost ? v->mapped : v->owned);
		if (rc)
			rc = xw_fail_nomem(&v->f->ses.diag, "extended attributes");
	}
	return rc;
}

int fsck_find_values(struct fsck *f)
{
	const uint64_t groups = xw_image_groups_here(f->ses.img);
	const uint32_t bs = f->ses.img->block_size;
	auto_free uint8_t *raw = malloc(f->ses.img->inode_size), *bits = malloc(bs);
	auto_free uint8_t *block = malloc(bs);
	auto_free struct tail *tails = calloc(TAILS, sizeof(*tails));
	auto_free uint8_t **unowned = calloc(groups + 1, sizeof(*unowned));
	struct value v = {.f = f,
			  .bits = bits,
			  .group = UINT64_MAX,
			  .tails = tails,
			  .block = block,
			  .unowned = unowned};
	int rc = 0;

	if (!f->facts.xattrs || !f->facts.xattrs->eas.n)
		return 0;
	if (!raw || !bits || !block || !tails || !unowned ||
	    xw_blockset_new(fsck_clusters(f), &v.mapped) ||
	    xw_blockset_new(fsck_clusters(f), &v.owned))
		rc = xw_fail_nomem(&f->ses.diag, "extended attributes");
	if (!rc)
		rc = list_lost(&v, f->ses.values_doubted);
	for (size_t i = 0; i < v.lost.n && !rc && !f->ses.stop; i++)
		rc = examine(&v, v.lost.v[i], raw);
	for (uint64_t g = 0; unowned && g < groups; g++)
		free(unowned[g]);
	xw_vec_free(&v.lost);
	xw_blockset_free(v.mapped);
	xw_blockset_free(v.owned);
	return rc;
}
