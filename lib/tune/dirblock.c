// SPDX-License-Identifier: MIT
/*
 * Conversion of directory blocks between formats. An entry that cannot be decoded ends the block,
 * as for other readers (read/dirs.c), and is not reported: the callers have read the directory
 * before.
 */
#include "config.h"

#include "tune/dirblock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/endian.h"
#include "base/vec.h"
#include "dir/leaf.h"
#include "walk/dirblock.h"
#include "walk/htree.h"

/* ---- blocks of the index ---- */

static int bad(struct xw_image *img, xw_ino ino, const char *why)
{
	return xw_fail(img->diag, XW_ERR_CORRUPT,
		       "%s: directory inode %" PRIu32 ": %s; run xw-fsck -f", img->dev->name, ino,
		       why);
}

struct index {
	struct xw_image *img;
	const struct xw_tune_dirmap *m;
};

static int read_block(void *arg, uint32_t lblk, void *buf)
{
	const struct index *x = arg;
	const uint32_t bs = x->img->block_size;

	return xw_dev_pread(x->img->dev, buf, bs, xw_dir_runs_at(&x->m->runs, lblk) * bs);
}

/* Mark the blocks of the index. Invalid checksums are reported when the blocks are converted. */
static int mark(struct xw_image *img, xw_ino ino, const struct xw_inode *in,
		struct xw_tune_dirmap *m)
{
	struct index x = {img, m};
	const struct xw_htree_env env = {
		.block_size = img->block_size,
		.blocks = (uint32_t)XW_MIN(m->blocks, (uint64_t)UINT32_MAX),
		.seed = xw_image_inode_seed(img, ino, in),
		.levels_max = XW_HTREE_DEPTH_MAX - 1,
		.csum = xw_super_has_csum(&img->sb),
		.siphash = (in->flags & (XW_FL_ENCRYPT | XW_FL_CASEFOLD)) ==
			   (XW_FL_ENCRYPT | XW_FL_CASEFOLD),
		.read = read_block,
		.arg = &x,
	};
	struct xw_htree_item item;
	struct xw_htree it;
	int more, rc = xw_htree_begin(&it, &env);

	while (!rc && (more = xw_htree_next(&it, &item)) != 0) {
		if (more < 0)
			rc = more;
		else if (item.rule == XW_HTREE_UNREFERENCED)
			break;
		else if (more == 2 && item.rule == XW_HTREE_LIMIT && item.found < item.wanted)
			continue; /* room for a checksum was made */
		else if (more == 2 && item.rule != XW_HTREE_CSUM)
			rc = bad(img, ino, "damaged index");
		else if (!item.leaf)
			m->kinds[item.lblk] = item.lblk ? XW_TUNE_NODE : XW_TUNE_ROOT;
	}
	xw_htree_end(&it);
	return rc == XW_ERR_NOMEM ? xw_fail_nomem(img->diag, "directory") : rc;
}

int xw_tune_dirmap_read(struct xw_image *img, xw_ino ino, const struct xw_inode *in,
			struct xw_tune_dirmap *m)
{
	int rc;

	*m = (struct xw_tune_dirmap){.blocks = xw_div_up(in->size, img->block_size)};
	rc = xw_dir_runs_read(img, ino, in, &m->runs);
	if (rc || !(in->flags & XW_FL_INDEX) || !m->blocks)
		return rc;
	m->kinds = calloc(m->blocks, 1);
	return m->kinds ? mark(img, ino, in, m) : xw_fail_nomem(img->diag, "directory");
}

void xw_tune_dirmap_free(struct xw_tune_dirmap *m)
{
	xw_dir_runs_free(&m->runs);
	free(m->kinds);
	m->kinds = NULL;
}

int xw_tune_dirmap_each(const struct xw_tune_dirmap *m, xw_tune_block_fn *fn, void *arg)
{
	int rc = 0;

	for (size_t i = 0; i < m->runs.a.n; i++) {
		const struct xw_map_run *r = &m->runs.a.v[i];

		for (uint64_t k = 0; k < r->len && !rc; k++)
			rc = fn(arg, r->pblk + k,
				m->kinds ? (enum xw_tune_kind)m->kinds[r->lblk + k] : XW_TUNE_LEAF);
	}
	return rc;
}

/* ---- blocks ---- */

static unsigned entries_of(enum xw_tune_kind kind)
{
	return kind == XW_TUNE_ROOT ? XW_DX_ROOT_ENTRIES : XW_DX_NODE_ENTRIES;
}

void xw_tune_block_unindex(uint8_t *block, uint32_t bs, bool csum, enum xw_tune_kind kind)
{
	const uint32_t room = bs - (csum ? XW_DIR_TAIL : 0);
	struct xw_dirent dots[2] = {{0}};
	char names[] = "...";

	if (kind == XW_TUNE_LEAF)
		return;
	if (kind == XW_TUNE_ROOT) {
		(void)xw_dirent_decode(block, bs, 0, &dots[0]);
		(void)xw_dirent_decode(block, bs, dots[0].rec_len, &dots[1]);
		dots[0].name_len = 1;
		dots[1].name_len = 2;
		dots[0].name = names;
		dots[1].name = names + 1;
	}
	memset(block, 0, bs);
	xw_leaf_fill(block, room, 0, dots, kind == XW_TUNE_ROOT ? 2 : 0);
	if (csum)
		xw_dir_tail_init(block, bs);
}

/* The number of entries that fit an index block, which is its limit. */
static unsigned limit_of(uint32_t bs, bool csum, enum xw_tune_kind kind)
{
	return kind == XW_TUNE_ROOT ? xw_dx_root_limit(bs, csum) : xw_dx_node_limit(bs, csum);
}

static unsigned count_of(const uint8_t *block, enum xw_tune_kind kind)
{
	return peek16(block + entries_of(kind) + 2);
}

static void begin_entries(struct xw_dirblock *it, const uint8_t *block, uint32_t size)
{
	xw_dirblock_begin(it, &(struct xw_dirblock_area){
				      .data = block,
				      .size = size,
				      .inodes_count = UINT32_MAX,
				      .filetype = true,
				      .any_names = true,
			      });
}

static int pack_leaf(uint8_t *block, uint32_t bs)
{
	const uint32_t room = bs - XW_DIR_TAIL;
	XW_VEC(struct xw_dirent) live = {0};
	auto_free uint8_t *copy = malloc(bs);
	struct xw_dirblock_item item;
	struct xw_dirblock it;
	uint32_t need = 0;
	int more, rc = 0;

	if (!copy)
		return XW_ERR_NOMEM;
	memcpy(copy, block, bs);
	begin_entries(&it, copy, bs);
	while (!rc && (more = xw_dirblock_next(&it, &item)) != 0) {
		if (more == 2)
			rc = XW_ERR_CORRUPT;
		else if (!item.unused) {
			need += xw_dirent_size(item.e.name_len);
			rc = xw_vec_push(&live, item.e);
		}
	}
	if (!rc && need > room)
		rc = XW_ERR_NOSPC;
	if (!rc) {
		xw_leaf_fill(block, room, 0, live.v, live.n);
		memset(block + room, 0, XW_DIR_TAIL);
		xw_dir_tail_init(block, bs);
	}
	xw_vec_free(&live);
	return rc;
}

int xw_tune_block_add_tail(uint8_t *block, uint32_t bs, enum xw_tune_kind kind)
{
	if (kind == XW_TUNE_LEAF)
		return xw_dir_has_tail(block, bs) ? 0 : pack_leaf(block, bs);
	if (count_of(block, kind) > limit_of(bs, true, kind))
		return XW_ERR_NOSPC;
	xw_dx_set_limit(block, entries_of(kind), limit_of(bs, true, kind), count_of(block, kind));
	memset(block + bs - 8, 0, 8);
	return 0;
}

void xw_tune_block_drop_tail(uint8_t *block, uint32_t bs, enum xw_tune_kind kind)
{
	struct xw_dirblock_item item, last = {0};
	struct xw_dirblock it;
	int more;

	if (kind != XW_TUNE_LEAF) {
		xw_dx_set_limit(block, entries_of(kind), limit_of(bs, false, kind),
				count_of(block, kind));
		memset(block + bs - 8, 0, 8);
		return;
	}
	if (!xw_dir_has_tail(block, bs))
		return;
	begin_entries(&it, block, bs - XW_DIR_TAIL);
	while ((more = xw_dirblock_next(&it, &item)) == 1)
		last = item;
	if (more)
		return;
	memset(block + bs - XW_DIR_TAIL, 0, XW_DIR_TAIL);
	last.e.rec_len += XW_DIR_TAIL;
	xw_dirent_encode(block, bs, last.off, &last.e);
}

void xw_tune_block_set_types(uint8_t *block, uint32_t bs, const uint8_t *types, xw_ino max)
{
	struct xw_dirblock_item item;
	struct xw_dirblock it;

	begin_entries(&it, block, bs);
	while (xw_dirblock_next(&it, &item) == 1) {
		if (item.unused || item.e.ino > max)
			continue;
		item.e.ftype = types ? types[item.e.ino] : 0;
		xw_dirent_encode(block, bs, item.off, &item.e);
	}
}

void xw_tune_block_seal(uint8_t *block, uint32_t bs, enum xw_tune_kind kind, uint32_t seed)
{
	if (kind == XW_TUNE_LEAF)
		xw_dir_block_set_csum(block, bs, seed);
	else
		xw_dx_block_set_csum(block, bs, entries_of(kind), seed);
}

int xw_tune_block_verify(const uint8_t *block, uint32_t bs, enum xw_tune_kind kind, uint32_t seed)
{
	return kind == XW_TUNE_LEAF ? xw_dir_block_verify(block, bs, seed)
				    : xw_dx_block_verify(block, bs, entries_of(kind), seed);
}
