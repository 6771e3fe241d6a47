/* SPDX-License-Identifier: MIT */
/*
 * Filling from a scripted source: what the tree says and what the device holds afterwards. Every
 * byte of every mapped block is checked, so stale device content would show.
 */
#include <stdio.h>
#include <string.h>

#include "disk/inode.h"
#include "import/fill.h"
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

static int script_next(struct xw_source *s, const struct xw_entry **e)
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

static int script_read(struct xw_source *s, const void **buf, size_t *len, uint64_t *off)
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

static int all_free(void *arg, uint32_t group, struct xw_group_summary *s, bool *known)
{
	(void)arg;
	(void)group;
	(void)s;
	*known = false;
	return 0;
}

static int blank_bitmap(void *arg, uint32_t group, uint8_t *bits)
{
	(void)arg;
	(void)group;
	memset(bits, 0, 1024);
	return 0;
}

static void setup(void)
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
	xw_fill_listen(&fill);
}

static void teardown(void)
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

static int run(const struct step *steps, size_t n, size_t cut)
{
	struct script sc = {
		.src = {.ops = &script_ops, .name = "script"}, .steps = steps, .n = n, .cut = cut};
	int ret = xw_fill_source(&fill, &sc.src);

	if (!ret)
		ck_assert_int_eq(xw_batch_drain(out.batch), 0);
	return ret;
}

static struct xw_binode *must(const char *path)
{
	struct xw_binode *n = NULL;

	if (xw_tree_lookup(&tree, tree.root, path, strlen(path), &n) || !n)
		ck_abort_msg("%s is not there", path);
	return n;
}

/* The mapped blocks of n hold `want` (size bytes, holes as zeros) and zeros behind it. */
static void check_content(const char *path, const char *want, uint64_t size, uint64_t blocks)
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

static char *pattern(size_t n)
{
	char *p = malloc(n + 1);

	for (size_t i = 0; p && i < n; i++)
		p[i] = (char)('a' + i % 23);
	if (p)
		p[n] = 0;
	return p;
}

static const size_t cuts[] = {1, 7, 1000, 1024, 1 << 20};

START_TEST(data_lands_once_and_whole)
{
	char *big = pattern(3000);

	ck_assert_int_eq(run(STEPS({XW_ET_REG, "d/f", NULL, big, 0640},
				   {XW_ET_REG, "empty", NULL, NULL, 0600},
				   {XW_ET_REG, "one", NULL, "x", 0600},
				   {XW_ET_REG, "grown", NULL, big, 0600, XW_SIZE_UNKNOWN}),
			     cuts[_i]),
			 0);
	check_content("d/f", big, 3000, 3);
	check_content("empty", "", 0, 0);
	check_content("one", "x", 1, 1);
	check_content("grown", big, 3000, 3);
	ck_assert_uint_eq(must("grown")->n_ext, 1);
	ck_assert_uint_eq(must("d/f")->mode, XW_S_IFREG | 0640);
	ck_assert_uint_eq(must("d/f")->mtime_ns, 1);
	free(big);
}
END_TEST

START_TEST(holes_stay_holes)
{
	static const char data[] = "0123456789ABCDEFGHIJ";
	char *want = calloc(1, 100000);
	struct step s = {XW_ET_REG, "sparse", NULL,  data,
			 0600,      0,        false, {{100, 5}, {3000, 5}, {9000, 10}},
			 100000};

	memcpy(want + 100, data, 5);
	memcpy(want + 3000, data + 5, 5);
	memcpy(want + 9000, data + 10, 10);
	ck_assert_int_eq(run(&s, 1, cuts[_i]), 0);
	check_content("sparse", want, 100000, 3);
	ck_assert_uint_eq(must("sparse")->n_ext, 3);
	free(want);
}
END_TEST

START_TEST(later_entries_win)
{
	uint64_t before = xw_space_free_blocks(space);

	ck_assert_int_eq(
		run(STEPS({XW_ET_REG, "a", NULL, "first", 0600},
			  {XW_ET_REG, "a", NULL, "second", 0644},
			  {XW_ET_REG, "b", NULL, "file", 0600}, {XW_ET_DIR, "b/", NULL, NULL, 0700},
			  {XW_ET_REG, "b/c", NULL, "in", 0600}, {XW_ET_DIR, "d", NULL, NULL, 0700},
			  {XW_ET_REG, "d/x/y", NULL, "gone", 0600},
			  {XW_ET_LNK, "d", "b", NULL, 0777}, {XW_ET_DIR, "b", NULL, NULL, 0711}),
		    100),
		0);
	check_content("a", "second", 6, 1);
	check_content("b/c", "in", 2, 1);
	ck_assert_uint_eq(must("b")->mode, XW_S_IFDIR | 0711);
	ck_assert(xw_binode_is(must("d"), XW_S_IFLNK));
	ck_assert_uint_eq(before - xw_space_free_blocks(space), 2);
	ck_assert_uint_eq(sink.data_blocks, 2);
}
END_TEST

START_TEST(hard_links)
{
	ck_assert_int_eq(
		run(STEPS({XW_ET_REG, "a", NULL, "body", 0600},
			  {XW_ET_HARDLINK, "b", "./a", NULL, 0},
			  {XW_ET_HARDLINK, "b", "a", NULL, 0}, {XW_ET_HARDLINK, "a", "a", NULL, 0},
			  {XW_ET_REG, "a", NULL, "new", 0600}, {XW_ET_REG, "c", NULL, NULL, 0600},
			  {XW_ET_HARDLINK, "d", "c", "late data", 0, 0, true}),
		    100),
		0);
	check_content("b", "body", 4, 1);
	check_content("a", "new", 3, 1);
	ck_assert_uint_eq(must("b")->links, 1);
	ck_assert_ptr_eq(must("c"), must("d"));
	ck_assert_uint_eq(must("c")->links, 2);
	check_content("c", "late data", 9, 1);
}
END_TEST

static const struct {
	struct step steps[2];
	size_t n;
	const char *says;
} bad[] = {
	{{{XW_ET_HARDLINK, "x", "nothing", NULL, 0}}, 1, "hard link"},
	{{{XW_ET_DIR, "d", NULL, NULL, 0}, {XW_ET_HARDLINK, "x", "d", NULL, 0}}, 2, "directory"},
	{{{XW_ET_REG, "d/f", NULL, "x", 0}, {XW_ET_HARDLINK, "d", "d/f", NULL, 0}}, 2, "replaces"},
	{{{XW_ET_LNK, "l", "", NULL, 0}}, 1, "target"},
	{{{XW_ET_REG, "/", NULL, "x", 0}}, 1, "names a directory"},
	{{{XW_ET_REG, "f", NULL, "longer than said", 0, 3}}, 1, "leaves its size"},
};

START_TEST(bad_entries_are_named)
{
	ck_assert_int_lt(run(bad[_i].steps, bad[_i].n, 100), 0);
	ck_assert_msg(strstr(diag.text, bad[_i].says) != NULL, "%s", diag.text);
	ck_assert_ptr_nonnull(strstr(diag.text, "script"));
}
END_TEST

START_TEST(full_image_counts_what_is_missing)
{
	struct step s = {XW_ET_REG, "big", NULL, NULL, 0600, (uint64_t)40000 * BS};

	ck_assert_int_eq(run(&s, 1, 100), 0);
	ck_assert_uint_eq(missing, 40000 - DEVICE_BLOCKS * 8);
	s.path = "more";
	s.size = 5 * BS + 1;
	ck_assert_int_eq(run(&s, 1, 100), 0);
	ck_assert_uint_eq(missing, 40000 - DEVICE_BLOCKS * 8 + 6);
	ck_assert_int_eq(diag.code, 0);
}
END_TEST

/* ---- layers ---- */

static bool there(const char *path)
{
	struct xw_binode *n;

	return !xw_tree_lookup(&tree, tree.root, path, strlen(path), &n);
}

static void lower_layer(void)
{
	ck_assert_int_eq(run(STEPS({XW_ET_DIR, "d", NULL, NULL, 0755},
				   {XW_ET_REG, "d/low", NULL, "low", 0644},
				   {XW_ET_REG, "d/sub/low", NULL, "low", 0644},
				   {XW_ET_REG, "d/sub/deep/low", NULL, "low", 0644},
				   {XW_ET_REG, "gone", NULL, "gone", 0644},
				   {XW_ET_REG, "kept", NULL, "kept", 0644}),
			     100),
			 0);
}

START_TEST(whiteouts_act_on_lower_layers_only)
{
	uint64_t before = xw_space_free_blocks(space);

	fill.whiteouts = XW_WHITEOUTS_APPLY;
	lower_layer();
	ck_assert_int_eq(run(STEPS({XW_ET_REG, "new", NULL, "new", 0644},
				   {XW_ET_REG, ".wh.new", NULL, NULL, 0},
				   {XW_ET_REG, "d/sub/up", NULL, "up", 0644},
				   {XW_ET_REG, "d/.wh.sub", NULL, NULL, 0},
				   {XW_ET_REG, ".wh.gone", NULL, NULL, 0},
				   {XW_ET_REG, "no/such/.wh.dir", NULL, NULL, 0},
				   {XW_ET_REG, ".wh..wh.aufs", NULL, NULL, 0}),
			     100),
			 0);
	ck_assert(there("new") && there("kept") && there("d/low"));
	ck_assert(there("d/sub/up") && !there("d/sub/low") && !there("d/sub/deep"));
	ck_assert(!there("gone") && !there("no") && !there(".wh..wh.aufs"));
	ck_assert_uint_eq(before - xw_space_free_blocks(space), 4);
	ck_assert_uint_eq(sink.replaced_blocks, 3);
}
END_TEST

/* The marker first, in the middle, last: the result is the same. */
START_TEST(opaque_in_any_place)
{
	struct step steps[] = {{XW_ET_DIR, "d", NULL, NULL, 0700},
			       {XW_ET_REG, "d/up", NULL, "up", 0644},
			       {XW_ET_REG, "d/sub/up", NULL, "up", 0644},
			       {XW_ET_REG, "d/.wh..wh..opq", NULL, NULL, 0}};
	struct step marker = steps[3];

	memmove(&steps[_i + 1], &steps[_i], (3 - (size_t)_i) * sizeof(steps[0]));
	steps[_i] = marker;
	fill.whiteouts = XW_WHITEOUTS_APPLY;
	lower_layer();
	ck_assert_int_eq(run(steps, 4, 100), 0);
	ck_assert(there("d/up") && there("d/sub/up"));
	ck_assert(!there("d/low") && !there("d/sub/low") && !there("d/.wh..wh..opq"));
	ck_assert(there("kept") && there("gone"));
}
END_TEST

/* Markers that look into a directory before an entry of their layer goes there. */
START_TEST(a_marker_before_the_entry)
{
	fill.whiteouts = XW_WHITEOUTS_APPLY;
	lower_layer();
	ck_assert_int_eq(run(STEPS({XW_ET_REG, "d/.wh.nothing", NULL, NULL, 0},
				   {XW_ET_REG, "d/y", NULL, "y", 0644},
				   {XW_ET_REG, ".wh..wh..opq", NULL, NULL, 0}),
			     100),
			 0);
	ck_assert(there("d/y") && !there("d/low") && !there("d/sub") && !there("kept"));
}
END_TEST

START_TEST(a_link_that_is_there_belongs_to_the_layer_that_names_it)
{
	fill.whiteouts = XW_WHITEOUTS_APPLY;
	ck_assert_int_eq(
		run(STEPS({XW_ET_REG, "a", NULL, "a", 0644}, {XW_ET_HARDLINK, "b", "a", NULL, 0}),
		    100),
		0);
	ck_assert_int_eq(
		run(STEPS({XW_ET_HARDLINK, "b", "a", NULL, 0}, {XW_ET_HARDLINK, "c", "a", NULL, 0},
			  {XW_ET_REG, ".wh..wh..opq", NULL, NULL, 0}),
		    100),
		0);
	ck_assert(!there("a") && there("b") && there("c"));
	ck_assert_uint_eq(must("c")->links, 2);
}
END_TEST

static const struct step dotted[] = {
	{XW_ET_REG, "d/.wh..", NULL, NULL, 0},
	{XW_ET_REG, "d/.wh...", NULL, NULL, 0},
	{XW_ET_REG, "d/.wh.", NULL, NULL, 0},
};

/* ".wh." in front of nothing, of "." and "..": in an image these would be names that no directory survives. */
START_TEST(markers_of_the_dots_are_refused)
{
	fill.whiteouts = _i < 3 ? XW_WHITEOUTS_APPLY : XW_WHITEOUTS_OVERLAY;
	lower_layer();
	ck_assert_int_eq(run(&dotted[_i % 3], 1, 100), XW_ERR_INPUT);
	ck_assert_msg(strstr(diag.text, dotted[_i % 3].path) != NULL, "%s", diag.text);
	ck_assert(there("d/low"));
}
END_TEST

static void make_lost_found(void)
{
	struct xw_binode *lf = xw_tree_node(&tree, XW_S_IFDIR | 0700);

	lf->dir->min_blocks = 16;
	ck_assert_int_eq(xw_tree_link(&tree, tree.root, "lost+found", 10, lf), 0);
}

START_TEST(lost_found_stays)
{
	static const char *const markers[] = {".wh..wh..opq", ".wh.lost+found"};

	make_lost_found();
	fill.whiteouts = _i < 2 ? XW_WHITEOUTS_APPLY : XW_WHITEOUTS_OVERLAY;
	ck_assert_int_eq(run(STEPS({XW_ET_DIR, "lost+found", NULL, NULL, 0755},
				   {XW_ET_REG, "lost+found/x", NULL, "x", 0600},
				   {XW_ET_REG, "d/lost+found/x", NULL, "x", 0600}),
			     100),
			 0);
	ck_assert_int_eq(run(&(struct step){XW_ET_REG, markers[_i % 2], NULL, NULL, 0}, 1, 100), 0);
	ck_assert(xw_binode_is(must("lost+found"), XW_S_IFDIR) && !there("lost+found/x"));
	ck_assert_uint_eq(must("lost+found")->dir->min_blocks, 16);
	ck_assert_int_eq(run(STEPS({XW_ET_REG, "d/.wh.lost+found", NULL, NULL, 0}), 100), 0);
	ck_assert(!there("d/lost+found/x")); /* only the root's is the filesystem's */
}
END_TEST

static bool opaque(const char *path)
{
	const struct xw_binode *n = must(path);

	ck_assert(!(n->flags & XW_BN_OPAQUE) == !n->xattrs);
	return n->flags & XW_BN_OPAQUE;
}

/* The marker of a name, and what the same layer brings under it: `d` itself only if `_i & 2`. */
START_TEST(overlay_directory_and_its_whiteout)
{
	struct step steps[] = {{XW_ET_REG, ".wh.d", NULL, NULL, 0},
			       {XW_ET_DIR, "d", NULL, NULL, 0700},
			       {XW_ET_REG, "d/up", NULL, "up", 0644},
			       {XW_ET_REG, "d/sub/up", NULL, "up", 0644}};
	const struct step marker = steps[0];

	fill.whiteouts = XW_WHITEOUTS_OVERLAY;
	lower_layer();
	if (!(_i & 2))
		steps[1] = steps[2];
	if (_i & 1) {
		memmove(&steps[0], &steps[1], 3 * sizeof(steps[0]));
		steps[3] = marker;
	}
	ck_assert_int_eq(run(steps, 4, 100), 0);
	ck_assert(opaque("d") && !opaque("d/sub"));
	ck_assert(there("d/up") && there("d/sub/up"));
	ck_assert(!there("d/low") && !there("d/sub/low")); /* of a lower source, in this image */
}
END_TEST

/* Where a directory hides everything, nothing is left for devices to hide. */
START_TEST(overlay_marker_under_an_opaque_directory)
{
	struct step steps[] = {{XW_ET_REG, "d/.wh.low", NULL, NULL, 0},
			       {XW_ET_REG, "d/.wh..wh..opq", NULL, NULL, 0},
			       {XW_ET_DIR, "d/sub", NULL, NULL, 0700},
			       {XW_ET_REG, "d/new/.wh.low", NULL, NULL, 0}};
	const struct step marker = steps[1];

	steps[1] = steps[_i];
	steps[_i] = marker;
	fill.whiteouts = XW_WHITEOUTS_OVERLAY;
	lower_layer();
	ck_assert_int_eq(run(steps, 4, 100), 0);
	ck_assert(opaque("d") && there("d/sub"));
	ck_assert(!there("d/low") && !there("d/sub/low") && !there("d/new"));
}
END_TEST

/* overlayfs merges roots whatever they say: there, single names must stay hidden. */
START_TEST(overlay_root_is_never_opaque)
{
	fill.whiteouts = XW_WHITEOUTS_OVERLAY;
	lower_layer();
	ck_assert_int_eq(run(STEPS({XW_ET_REG, ".wh.d", NULL, NULL, 0},
				   {XW_ET_REG, ".wh..wh..opq", NULL, NULL, 0},
				   {XW_ET_REG, ".wh.gone", NULL, NULL, 0}),
			     100),
			 0);
	ck_assert_uint_eq(diag.warnings, 1);
	ck_assert(!(tree.root->flags & XW_BN_OPAQUE) && !there("kept"));
	ck_assert(xw_binode_is(must("d"), XW_S_IFCHR) && xw_binode_is(must("gone"), XW_S_IFCHR));
}
END_TEST

/* What several layers hide together stays hidden. */
START_TEST(overlay_over_three_layers)
{
	fill.whiteouts = XW_WHITEOUTS_OVERLAY;
	lower_layer();
	ck_assert_int_eq(run(STEPS({XW_ET_REG, ".wh.d", NULL, NULL, 0},
				   {XW_ET_REG, "gone/.wh.x", NULL, NULL, 0},
				   {XW_ET_REG, "new/.wh.x", NULL, NULL, 0},
				   {XW_ET_REG, ".wh.new", NULL, NULL, 0}),
			     100),
			 0);
	ck_assert(xw_binode_is(must("d"), XW_S_IFCHR) && xw_binode_is(must("new"), XW_S_IFCHR));
	ck_assert(xw_binode_is(must("gone"), XW_S_IFREG)); /* a marker makes no way through files */
	ck_assert_int_eq(run(STEPS({XW_ET_REG, "d/third", NULL, "3", 0644},
				   {XW_ET_DIR, "gone", NULL, NULL, 0755},
				   {XW_ET_REG, "kept/x", NULL, "x", 0644}),
			     100),
			 0);
	/* A device or file of the layers between hid what is below; the directory still has to. */
	ck_assert(opaque("d") && opaque("gone") && opaque("kept"));
	ck_assert_int_eq(run(STEPS({XW_ET_DIR, "plain", NULL, NULL, 0755}), 100), 0);
	ck_assert(!opaque("plain"));
}
END_TEST

START_TEST(whiteouts_for_overlayfs)
{
	fill.whiteouts = XW_WHITEOUTS_OVERLAY;
	lower_layer();
	ck_assert_int_eq(run(STEPS({XW_ET_REG, ".wh.gone", NULL, NULL, 0},
				   {XW_ET_REG, "x/.wh.never", NULL, NULL, 0}),
			     100),
			 0);
	ck_assert(xw_binode_is(must("gone"), XW_S_IFCHR) && must("gone")->dev.minor == 0);
	ck_assert(xw_binode_is(must("x/never"), XW_S_IFCHR));
	fill.whiteouts = XW_WHITEOUTS_KEEP;
	ck_assert_int_eq(run(STEPS({XW_ET_REG, ".wh.kept", NULL, "text", 0}), 100), 0);
	check_content(".wh.kept", "text", 4, 1);
	ck_assert(there("kept"));
}
END_TEST

START_TEST(directory_and_strip)
{
	ck_assert_int_eq(xw_select_set(&sel, "--directory", "/opt/x/", &diag), 0);
	ck_assert_int_eq(xw_select_set(&sel, "--strip-components", "1", &diag), 0);
	ck_assert_int_eq(xw_select_set(&sel, "--exclude", "skip", &diag), 0);
	ck_assert_int_eq(run(STEPS({XW_ET_DIR, "top", NULL, NULL, 0700},
				   {XW_ET_REG, "top/a", NULL, "x", 0600},
				   {XW_ET_REG, "top/skip/b", NULL, "x", 0600},
				   {XW_ET_HARDLINK, "top/h", "top/a", NULL, 0}),
			     100),
			 0);
	ck_assert_ptr_eq(must("opt/x/h"), must("opt/x/a"));
	ck_assert_uint_eq(must("opt/x")->dir->entries, 2);
	ck_assert_uint_eq(must("opt/x")->mode, XW_S_IFDIR | 0755);
}
END_TEST

static const struct {
	const char *path, *real;
} outward[] = {
	{"../../out", "opt/x/out"},
	{"a/../../../../out", "opt/x/out"},
	{"abs/out", "opt/x/srv/out"},
	{"rel/out", "opt/x/out"},
};

/* --directory is for the source what / is: links in the image and ".." lead nowhere else. */
START_TEST(directory_is_a_boundary)
{
	ck_assert_int_eq(run(STEPS({XW_ET_REG, "srv/x", NULL, "x", 0600},
				   {XW_ET_LNK, "opt/x/abs", "/srv", NULL, 0777},
				   {XW_ET_LNK, "opt/x/rel", "../..", NULL, 0777},
				   {XW_ET_LNK, "link", "/opt/../opt/x", NULL, 0777}),
			     100),
			 0);
	ck_assert_int_eq(xw_select_set(&sel, "--directory", "link", &diag), 0);
	ck_assert_int_eq(run(STEPS({XW_ET_REG, "f", NULL, "f", 0600},
				   {XW_ET_REG, outward[_i].path, NULL, "out", 0600},
				   {XW_ET_HARDLINK, "../hard", "../../f", NULL, 0}),
			     100),
			 0);
	check_content(outward[_i].real, "out", 3, 1);
	ck_assert_ptr_eq(must("opt/x/hard"), must("opt/x/f"));
	ck_assert_uint_eq(tree.root->dir->entries, 3);
	ck_assert_uint_eq(must("srv")->dir->entries, 1);
}
END_TEST

/* tar(1) gives up here; whoever goes on has to say so. */
START_TEST(a_file_in_the_way_goes_with_a_warning)
{
	ck_assert_int_eq(
		run(STEPS({XW_ET_REG, "f", NULL, "x", 0600}, {XW_ET_REG, "g", NULL, "x", 0600},
			  {XW_ET_DIR, "g", NULL, NULL, 0700}),
		    100),
		0);
	ck_assert_uint_eq(diag.warnings, 0);
	ck_assert_int_eq(run(STEPS({XW_ET_REG, "f/sub", NULL, "x", 0600}), 100), 0);
	ck_assert_uint_eq(diag.warnings, 1);
	check_content("f/sub", "x", 1, 1);
}
END_TEST

START_TEST(directory_is_no_file)
{
	ck_assert_int_eq(run(STEPS({XW_ET_REG, "etc/passwd", NULL, "x", 0600}), 100), 0);
	ck_assert_int_eq(xw_select_set(&sel, "--directory", "etc/passwd", &diag), 0);
	ck_assert_int_eq(run(STEPS({XW_ET_REG, "f", NULL, "f", 0600}), 100), XW_ERR_INPUT);
	ck_assert_msg(strstr(diag.text, "--directory etc/passwd") != NULL, "%s", diag.text);
	check_content("etc/passwd", "x", 1, 1);
}
END_TEST

/* Nobody named them: mkdir(2) gives them the group of a setgid directory that was there. */
START_TEST(implied_directories_take_the_group)
{
	ck_assert_int_eq(xw_select_set(&sel, "--group", "50", &diag), 0);
	ck_assert_int_eq(run(STEPS({XW_ET_DIR, "s", NULL, NULL, 02775},
				   {XW_ET_DIR, "s/now/f", NULL, NULL, 0755}),
			     100),
			 0);
	ck_assert_uint_eq(must("s/now")->mode, XW_S_IFDIR | 0755); /* s gets its mode last */
	ck_assert_uint_eq(must("s/now")->gid, 0);
	ck_assert_int_eq(run(STEPS({XW_ET_DIR, "s/later/deep/f", NULL, NULL, 0700}), 100), 0);
	ck_assert_uint_eq(must("s/later")->mode, XW_S_IFDIR | 02755);
	ck_assert_uint_eq(must("s/later/deep")->mode, XW_S_IFDIR | 02755);
	ck_assert_uint_eq(must("s/later/deep")->gid, 50);
	ck_assert_uint_eq(must("s/later/deep/f")->mode, XW_S_IFDIR | 0700);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fill");
	TCase *t = tcase_create("fill");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, data_lands_once_and_whole, 0, XW_ARRAY_SIZE(cuts));
	tcase_add_loop_test(t, holes_stay_holes, 0, XW_ARRAY_SIZE(cuts));
	tcase_add_test(t, later_entries_win);
	tcase_add_test(t, hard_links);
	tcase_add_loop_test(t, bad_entries_are_named, 0, XW_ARRAY_SIZE(bad));
	tcase_add_test(t, full_image_counts_what_is_missing);
	tcase_add_test(t, whiteouts_act_on_lower_layers_only);
	tcase_add_loop_test(t, opaque_in_any_place, 0, 4);
	tcase_add_test(t, a_marker_before_the_entry);
	tcase_add_test(t, a_link_that_is_there_belongs_to_the_layer_that_names_it);
	tcase_add_loop_test(t, markers_of_the_dots_are_refused, 0, 6);
	tcase_add_loop_test(t, lost_found_stays, 0, 4);
	tcase_add_loop_test(t, overlay_directory_and_its_whiteout, 0, 4);
	tcase_add_loop_test(t, overlay_marker_under_an_opaque_directory, 0, 4);
	tcase_add_test(t, overlay_root_is_never_opaque);
	tcase_add_test(t, overlay_over_three_layers);
	tcase_add_test(t, whiteouts_for_overlayfs);
	tcase_add_test(t, directory_and_strip);
	tcase_add_loop_test(t, directory_is_a_boundary, 0, XW_ARRAY_SIZE(outward));
	tcase_add_test(t, a_file_in_the_way_goes_with_a_warning);
	tcase_add_test(t, directory_is_no_file);
	tcase_add_test(t, implied_directories_take_the_group);
	suite_add_tcase(s, t);
	return unit_main(s);
}
