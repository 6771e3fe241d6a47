/* SPDX-License-Identifier: MIT */
/*
 * Filling from a scripted source: a tree, a device full of dirt, and a source that brings what it
 * is told. What t_fill and t_whiteout work on.
 */
#ifndef XW_TESTS_FILL_WORLD_H
#define XW_TESTS_FILL_WORLD_H

#include <stdio.h>
#include <string.h>

#include "disk/inode.h"
#include "import/fill.h"
#include "memdev.h"
#include "unit.h"

#define BS 1024u
#define DEVICE_BLOCKS 4096u

/* One entry of the script; data NULL: none. pieces are cut at `cut` bytes. */
struct step {
	enum xw_etype type;
	const char *path, *link, *data;
	uint32_t mode;
	uint64_t size; /* XW_SIZE_UNKNOWN, or taken from data when 0 */
	bool link_data;
	struct xw_segment segs[4]; /* sparse when segs[0].len */
	uint64_t real; /* size of a sparse file */
};

struct script {
	struct xw_source src;
	const struct step *steps;
	size_t n, i;
	size_t cut, sent, seg, in_seg;
	struct xw_entry e;
};

static inline int script_next(struct xw_source *s, const struct xw_entry **e)
{
	struct script *sc = (struct script *)s;
	const struct step *st;

	if (sc->i == sc->n)
		return 0;
	st = &sc->steps[sc->i++];
	sc->sent = sc->seg = sc->in_seg = 0;
	sc->e = (struct xw_entry){
		.path = {st->path, strlen(st->path)},
		.link = {st->link ? st->link : "", st->link ? strlen(st->link) : 0},
		.type = st->type,
		.mode = st->mode,
		.size = st->size   ? st->size
			: st->real ? st->real
			: st->data ? strlen(st->data)
				   : 0,
		.mtime = {100, 1},
		.link_data = st->link_data,
		.sparse = st->segs[0].len != 0,
		.segs = st->segs,
	};
	while (sc->e.n_segs < 4 && st->segs[sc->e.n_segs].len)
		sc->e.n_segs++;
	*e = &sc->e;
	return 1;
}

static inline int script_read(struct xw_source *s, const void **buf, size_t *len, uint64_t *off)
{
	struct script *sc = (struct script *)s;
	const struct step *st = &sc->steps[sc->i - 1];
	size_t left = st->data ? strlen(st->data) - sc->sent : 0;

	if (!left)
		return 0;
	*len = XW_MIN(left, sc->cut);
	*off = sc->sent;
	if (sc->e.sparse) {
		*len = XW_MIN(*len, st->segs[sc->seg].len - sc->in_seg);
		*off = st->segs[sc->seg].off + sc->in_seg;
		sc->in_seg += *len;
		if (sc->in_seg == st->segs[sc->seg].len) {
			sc->seg++;
			sc->in_seg = 0;
		}
	}
	*buf = st->data + sc->sent;
	sc->sent += *len;
	return 1;
}

static const struct xw_source_ops script_ops = {.next = script_next, .read = script_read};

/* ---- fixture ---- */

static struct xw_diag diag;
static struct xw_dev *dev;
static struct xw_out out;
static struct xw_space *space;
static struct xw_stream stream;
static struct xw_tree tree;
static struct xw_sink sink;
static struct xw_select sel;
static struct xw_fill fill;
static struct xw_share *share;
static struct xw_xintern *intern;
static uint64_t missing;

static inline int all_free(void *arg, uint32_t group, struct xw_group_summary *s, bool *known)
{
	(void)arg;
	(void)group;
	(void)s;
	*known = false;
	return 0;
}

static inline int blank_bitmap(void *arg, uint32_t group, uint8_t *bits)
{
	(void)arg;
	(void)group;
	memset(bits, 0, 1024);
	return 0;
}

static inline void setup(void)
{
	struct xw_space_params p = {
		.blocks = DEVICE_BLOCKS * 8 + 1,
		.first_data_block = 1,
		.blocks_per_group = 8192,
		.groups = 4,
		.optimize_scan = -1,
		.linear_limit = -1,
		.order2_req = -1,
		.stream_req = -1,
		.min_to_scan = -1,
		.max_to_scan = -1,
		.best_avail_max_trim_order = -1,
	};
	struct xw_space_source src = {.summary = all_free, .bitmap = blank_bitmap};
	uint8_t dirt[BS];

	memset(&diag, 0, sizeof(diag));
	memset(&out, 0, sizeof(out));
	memset(&stream, 0, sizeof(stream));
	memset(&sel, 0, sizeof(sel));
	memset(&fill, 0, sizeof(fill));
	missing = 0;
	ck_assert_int_eq(xw_dev_open_mem(0, &diag, &dev), 0);
	memset(dirt, 0xa5, sizeof(dirt));
	for (unsigned i = 0; i < 256; i++)
		ck_assert_int_eq(xw_dev_pwrite(dev, dirt, BS, i * BS), 0);
	ck_assert_int_eq(xw_batch_new(dev, 0, false, &diag, &out.batch), 0);
	ck_assert_int_eq(xw_space_new(&p, &src, &diag, &space), 0);
	ck_assert_int_eq(xw_tree_init(&tree, 1, &diag), 0);
	ck_assert_int_eq(xw_share_new(BS, XW_CACHE_BUILD, &share), 0);
	ck_assert_int_eq(xw_xintern_new(&(struct xw_xintern_opts){.ibody = 96,
								  .block_size = BS,
								  .cluster_size = BS},
					&intern),
			 0);
	sink = (struct xw_sink){.space = space,
				.stream = &stream,
				.out = &out,
				.diag = &diag,
				.missing = &missing,
				.block_size = BS,
				.max_lblk = UINT32_MAX};
	fill.tree = &tree;
	fill.sink = &sink;
	fill.share = share;
	fill.intern = intern;
	fill.select = &sel;
	fill.diag = &diag;
	fill.whiteouts = XW_WHITEOUTS_KEEP;
	fill.xattrs_allowed = true;
	xw_fill_set_callbacks(&fill);
}

static inline void teardown(void)
{
	xw_fill_free(&fill);
	xw_sink_free(&sink);
	xw_select_free(&sel);
	xw_tree_free(&tree);
	xw_share_free(share);
	xw_xintern_free(intern);
	xw_space_free(space);
	xw_batch_free(out.batch);
	xw_dev_close(dev);
}

static inline int run(const struct step *steps, size_t n, size_t cut)
{
	struct script sc = {
		.src = {.ops = &script_ops, .name = "script"}, .steps = steps, .n = n, .cut = cut};
	int rc = xw_fill_source(&fill, &sc.src);

	if (!rc)
		ck_assert_int_eq(xw_batch_drain(out.batch), 0);
	return rc;
}

static inline struct xw_binode *must(const char *path)
{
	struct xw_binode *n = NULL;

	if (xw_tree_lookup(&tree, tree.root, path, strlen(path), &n) || !n)
		ck_abort_msg("%s is not there", path);
	return n;
}

/* The mapped blocks of n hold `want` (size bytes, holes as zeros) and zeros behind it. */
static inline void check_content(const char *path, const char *want, uint64_t size, uint64_t blocks)
{
	const struct xw_binode *n = must(path);
	const struct xw_extent *e = xw_binode_extents(n);
	uint64_t held = 0;

	ck_assert_uint_eq(n->size, size);
	for (uint32_t i = 0; i < n->n_ext; i++) {
		for (uint32_t k = 0; k < e[i].len; k++) {
			char got[BS], expect[BS] = {0};
			uint64_t at = (uint64_t)(e[i].lblk + k) * BS;

			if (at < size)
				memcpy(expect, want + at, XW_MIN(BS, size - at));
			ck_assert_int_eq(xw_dev_pread(dev, got, BS, (e[i].pblk + k) * BS), 0);
			ck_assert_msg(!memcmp(got, expect, BS), "%s: block %u", path,
				      e[i].lblk + k);
			held++;
		}
	}
	ck_assert_uint_eq(held, blocks);
}
#define STEPS(...)                                                                                 \
	(const struct step[]){__VA_ARGS__},                                                        \
		sizeof((const struct step[]){__VA_ARGS__}) / sizeof(struct step)

#endif
