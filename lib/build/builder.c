// SPDX-License-Identifier: MIT
/*
 * The builder's frame: set-up, numbering, placing. Numbers are given at the end of the stream, not
 * on arrival, so that entries that a later one replaced leave no hole in the inode tables.
 */
#include "config.h"

#include "build/builder.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* A gap in the data shorter than this is not worth a backward seek for metadata. */
#define LARGE_BYTES (10u << 20) /* from here on missing room is told in MiB */
#define GAP_WORTH_FILLING 256u

static void init_formats(struct xw_builder *b)
{
	const struct xw_features *f = &b->geo.features;

	b->csum_seed = xw_super_csum_seed(&b->sb);
	b->dirfmt = (struct xw_dir_format){
		.block_size = b->geo.block_size,
		.filetype = xw_has_incompat(f, XW_INCOMPAT_FILETYPE),
		.csum = xw_has_ro(f, XW_RO_METADATA_CSUM),
		.dir_index = xw_has_compat(f, XW_COMPAT_DIR_INDEX),
		.large_dir = xw_has_incompat(f, XW_INCOMPAT_LARGEDIR),
		.itree = xw_has_ro(f, XW_RO_ITREE),
		.hash_version = xw_dx_version(&b->sb, b->sb.def_hash_version),
	};
	xw_dx_seed(&b->sb, b->dirfmt.hash_seed);
}

void xw_build_init_image(struct xw_builder *b, const struct xw_super *sb)
{
	b->sb = *sb;
	b->image = true;
	init_formats(b);
}

int xw_build_init(struct xw_builder *b)
{
	xw_plan_super(b->params, &b->geo, &b->sb);
	init_formats(b);
	b->journal.mode = XW_S_IFREG | 0600;
	b->journal.mtime = b->journal.atime = b->params->now;
	b->journal.ino = XW_INO_JOURNAL;
	b->journal.links = 1;
	return 0;
}

void xw_build_free_map(struct xw_binode *n)
{
	if (n->n_ext > 1)
		free(n->exts);
	if (n->map)
		free(n->map->runs);
	free(n->map);
}

void xw_build_free(struct xw_builder *b)
{
	xw_dirs_free(b);
	free(b->by_ino);
	for (uint32_t i = 0; i < b->n_ea && b->ea; i++)
		xw_build_free_map(&b->ea[i].node);
	free(b->ea);
	free(b->block_csum);
	free(b->inode_csum);
	xw_vec_free(&b->items);
	xw_ispace_free(b->inodes);
	xw_build_free_map(&b->journal);
	xw_hidden_free(b);
	xw_geo_free(&b->geo);
}

uint32_t xw_build_generation(const struct xw_builder *b, const struct xw_binode *n)
{
	if (n->flags & XW_BN_OLD)
		return xw_binode_is(n, XW_S_IFDIR) ? n->dir->generation : n->generation;
	if (n->ino < XW_INO_FIRST && n->ino != XW_INO_ROOT)
		return 0;
	return (uint32_t)xw_hash64(b->sb.hash_seed, sizeof(b->sb.hash_seed), n->ino);
}

uint32_t xw_build_inode_seed(const struct xw_builder *b, const struct xw_binode *n)
{
	return xw_inode_seed(b->csum_seed, n->ino, xw_build_generation(b, n));
}

int xw_build_item(struct xw_builder *b, enum xw_item_kind kind, xw_blk blk, uint64_t ref)
{
	struct xw_item it = {.blk = blk, .ref = ref, .kind = kind};

	return xw_vec_push(&b->items, it) ? xw_fail_nomem(b->diag, "metadata list") : 0;
}

int xw_build_write(struct xw_builder *b, xw_blk blk, const void *buf, size_t len)
{
	return xw_out_write(b->out, blk * b->geo.block_size, buf, len);
}

/*
 * The first gap that holds len blocks: 1, 0 when none does, or an error. A gap is given up once it
 * does not hold a request and little is left of it, so that what belongs together stays together.
 */
static int alloc_in_gap(struct xw_builder *b, uint64_t len, struct xw_run *run)
{
	xw_blk at = b->gap = xw_space_next_free(b->space, b->gap);

	for (; at < b->gaps_end; at = xw_space_next_free(b->space, at)) {
		uint64_t have = xw_space_run_at(b->space, at, XW_MAX(len, GAP_WORTH_FILLING));
		int ret;

		if (have >= len) {
			ret = xw_space_claim(b->space, at, len);
			*run = (struct xw_run){at, len};
			return ret ? ret : 1;
		}
		if (at == b->gap && have < GAP_WORTH_FILLING)
			b->gap = at + have;
		at += have;
	}
	return 0;
}

int xw_build_alloc(struct xw_builder *b, uint64_t len, struct xw_run **runs, size_t *n)
{
	struct xw_run one;
	int ret;

	*runs = NULL;
	*n = 0;
	if (b->missing) {
		b->missing += len;
		return 0;
	}
	ret = b->gap < b->gaps_end ? alloc_in_gap(b, len, &one) : 0;
	if (ret > 0) {
		*runs = malloc(sizeof(**runs));
		if (!*runs)
			return xw_fail_nomem(b->diag, "metadata runs");
		**runs = one;
		*n = 1;
	}
	if (ret)
		return ret < 0 ? ret : 0;
	if (b->image) {
		const struct xw_alloc_req req = {.goal = b->goal, .len = len};

		ret = xw_space_alloc_all(b->space, &req, runs, n);
		if (!ret)
			b->goal = (*runs)[*n - 1].start + (*runs)[*n - 1].len;
	} else {
		ret = xw_stream_alloc(b->space, &b->stream, len, runs, n);
	}
	if (ret == XW_ERR_NOSPC) {
		uint64_t left = xw_space_free_blocks(b->space);

		b->missing = len > left ? len - left : 1;
		xw_diag_clear(b->diag);
		return 0;
	}
	return ret;
}

/* An extent is at most 32,768 blocks: longer runs become several. */
int xw_binode_set_runs(struct xw_binode *n, const struct xw_run *runs, size_t n_runs)
{
	struct xw_extent *e;
	uint64_t lblk = 0;
	size_t count = 0, k = 0;

	for (size_t i = 0; i < n_runs; i++)
		count += xw_div_up(runs[i].len, XW_EXT_MAX_LEN);
	n->n_ext = (uint32_t)count;
	e = &n->ext;
	if (count > 1) {
		e = n->exts = malloc(count * sizeof(*e));
		if (!e) {
			n->n_ext = 0;
			return XW_ERR_NOMEM;
		}
	}
	for (size_t i = 0; i < n_runs; i++) {
		for (uint64_t done = 0; done < runs[i].len; k++) {
			uint32_t len = (uint32_t)XW_MIN(runs[i].len - done, XW_EXT_MAX_LEN);

			e[k] = (struct xw_extent){(uint32_t)lblk, len, runs[i].start + done, false};
			lblk += len;
			done += len;
		}
	}
	return 0;
}

int xw_build_place_map(struct xw_builder *b, struct xw_binode *n)
{
	uint64_t blocks = xw_map_blocks(b, n);
	struct xw_bmap *map;
	int ret;

	if (!blocks)
		return 0;
	map = calloc(1, sizeof(*map));
	if (!map)
		return xw_fail_nomem(b->diag, "extent map");
	n->map = map;
	map->blocks = (uint32_t)blocks;
	ret = xw_build_alloc(b, blocks << b->geo.cluster_bits, &map->runs, &map->n_runs);
	if (ret || !map->n_runs)
		return ret;
	return xw_build_item(b, XW_ITEM_MAP, map->runs[0].start, (uintptr_t)n);
}

int xw_build_alloc_node(struct xw_builder *b, struct xw_binode *n, uint64_t len)
{
	struct xw_run *runs;
	size_t n_runs;
	int ret = xw_build_alloc(b, len, &runs, &n_runs);

	if (!ret && xw_binode_set_runs(n, runs, n_runs))
		ret = xw_fail_nomem(b->diag, "extent list");
	free(runs);
	return ret;
}

int xw_build_reserve(struct xw_builder *b)
{
	int ret = xw_bad_reserve(b);

	if (!ret && b->geo.kind == XW_GEO_SIZED && b->geo.journal_blocks) {
		ret = b->params->journal_at
			      ? xw_journal_alloc_at(b)
			      : xw_build_alloc_node(b, &b->journal, b->geo.journal_blocks);
		b->journal.size = b->geo.journal_blocks * b->geo.block_size;
		if (!ret)
			ret = xw_build_place_map(b, &b->journal);
	}
	if (!ret && xw_has_compat(&b->geo.features, XW_COMPAT_RESIZE_INODE)) {
		struct xw_run *runs;
		size_t n;

		ret = xw_build_alloc(b, 1, &runs, &n);
		if (!ret && n)
			b->resize_dind = runs[0].start;
		free(runs);
	}
	return ret || b->geo.kind != XW_GEO_SIZED ? ret : xw_hidden_reserve(b);
}

static void keep_number(struct xw_builder *b, struct xw_binode *n, xw_ino ino)
{
	n->ino = ino;
	b->by_ino[ino] = n;
}

static bool numbered_in_order(const struct xw_builder *b, const struct xw_binode *n)
{
	return !(n->flags & XW_BN_DEAD) && n != b->root && n != b->lost_found;
}

static int check_inode_count(struct xw_builder *b, uint64_t count)
{
	uint64_t have = (uint64_t)b->geo.groups * b->geo.inodes_per_group;

	if (count > UINT32_MAX)
		return xw_fail(b->diag, XW_ERR_LIMIT,
			       "%s: %llu files are more than inode numbers reach", b->dev->name,
			       (unsigned long long)count);
	if (b->geo.kind == XW_GEO_SIZED && count > have)
		return xw_fail(b->diag, XW_ERR_NOINODES,
			       "%s: image too small: %llu inodes needed, %llu there (%llu "
			       "missing); give -N or -i",
			       b->dev->name, (unsigned long long)count, (unsigned long long)have,
			       (unsigned long long)(count - have));
	return 0;
}

int xw_build_number(struct xw_builder *b)
{
	bool lost_found = !(b->lost_found->flags & XW_BN_DEAD);
	uint64_t count = lost_found ? XW_INO_FIRST : XW_INO_FIRST - 1, first = count;
	int ret = xw_attrs_count_ea(b);

	count += xw_hidden_count(b);
	for (const struct xw_binode *n = b->first; n; n = n->next)
		count += numbered_in_order(b, n);
	for (uint32_t i = 0; i < b->n_ea && !ret; i++)
		count += b->ea[i].refs != 0;
	if (!ret)
		ret = check_inode_count(b, count);
	if (ret)
		return ret;
	b->last_ino = (xw_ino)count;
	b->by_ino = calloc(count + 1, sizeof(*b->by_ino));
	if (!b->by_ino)
		return xw_fail_nomem(b->diag, "inode list");
	keep_number(b, b->root, XW_INO_ROOT);
	if (lost_found)
		keep_number(b, b->lost_found, XW_INO_FIRST);
	if (b->journal.size || b->geo.kind == XW_GEO_STREAM)
		b->by_ino[XW_INO_JOURNAL] = &b->journal;
	count = xw_hidden_number(b, (xw_ino)first);
	for (struct xw_binode *n = b->first; n; n = n->next) {
		if (numbered_in_order(b, n))
			keep_number(b, n, (xw_ino)++count);
		b->counts.xattr_in_inode +=
			!(n->flags & XW_BN_DEAD) && n->xattrs && n->xattrs->ibody_len;
	}
	for (uint32_t i = 0; i < b->n_ea; i++) {
		if (b->ea[i].refs)
			keep_number(b, &b->ea[i].node, (xw_ino)++count);
	}
	return 0;
}

/*
 * Where metadata starts: a gap that the data left when it is large enough to matter, else behind
 * the data.
 */
static void rewind_stream(struct xw_builder *b)
{
	uint64_t per = b->geo.blocks_per_group;
	uint32_t last;
	xw_blk pos;

	if (b->stream.end <= b->geo.first_data_block)
		return; /* no data at all: the stream stands at its beginning anyway */
	last = (uint32_t)((b->stream.end - b->geo.first_data_block) / per);
	for (uint32_t g = 0; g < last; g++) {
		struct xw_group_summary sum;

		xw_space_group(b->space, g, &sum);
		if ((uint64_t)sum.longest << b->geo.cluster_bits < GAP_WORTH_FILLING)
			continue;
		pos = xw_space_next_free(b->space, b->geo.first_data_block + g * per);
		if (pos < b->stream.end)
			b->stream.pos = pos;
		return;
	}
}

int xw_build_place_symlink(struct xw_builder *b, struct xw_binode *n)
{
	int ret;

	if (n->size < 60)
		return 0;
	ret = xw_build_alloc_node(b, n, 1);
	if (ret || !n->n_ext)
		return ret;
	return xw_build_item(b, XW_ITEM_SYMLINK, n->ext.pblk, (uintptr_t)n);
}

int xw_build_check_room(struct xw_builder *b)
{
	const uint64_t bytes = b->missing * b->geo.block_size;
	const bool large = bytes >= LARGE_BYTES;
	const uint64_t unit = large ? 1 << 20 : 1 << 10;
	const unsigned long long rounded = (bytes + unit - 1) / unit;
	const char *name = large ? "MiB" : "KiB";

	if (!b->missing)
		return 0;
	if (b->image)
		return xw_fail(b->diag, XW_ERR_NOSPC,
			       "%s: %llu more free blocks (%llu %s) are needed (what is replaced "
			       "gives its blocks back only afterwards); nothing was changed",
			       b->dev->name, (unsigned long long)b->missing, rounded, name);
	return xw_fail(b->diag, XW_ERR_NOSPC,
		       b->geo.kind == XW_GEO_STREAM
			       ? "%s: without SIZE an image ends at %llu blocks: %llu more "
				 "(%llu %s) are needed; give SIZE or -E resize="
			       : "%s: image too small: of %llu blocks, %llu more (%llu %s) are "
				 "needed",
		       b->dev->name, (unsigned long long)b->geo.blocks,
		       (unsigned long long)b->missing, rounded, name);
}

int xw_build_place(struct xw_builder *b)
{
	int ret = xw_settle_reserves(b);

	if (!b->gaps_end)
		rewind_stream(b);
	for (struct xw_binode *n = b->first; n && !ret; n = n->next) {
		if (!(n->flags & XW_BN_DEAD) && xw_binode_is(n, XW_S_IFLNK))
			ret = xw_build_place_symlink(b, n);
	}
	if (!ret)
		ret = xw_dirs_place(b);
	if (!ret)
		ret = xw_attrs_place(b);
	for (xw_ino i = XW_INO_FIRST; i <= b->last_ino && !ret; i++) {
		if (b->by_ino[i]->n_ext && !b->by_ino[i]->map)
			ret = xw_build_place_map(b, b->by_ino[i]);
	}
	if (!ret)
		ret = xw_build_place_map(b, b->root);
	if (!ret)
		ret = xw_hidden_place(b);
	return ret ? ret : xw_build_check_room(b);
}
