/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target over lib/update, lib/edit and lib/tree/image.c: an import into an image with damage.
 * The first byte of the input says which image, each four behind it are an edit: where, where,
 * where, what.
 * Properties, besides no crash: an import that fails says why, in one line, and leaves all blocks
 * that the image has in use as they were; one that succeeds leaves an image that opens.
 *
 * Images without checksums, but for one: behind a checksum little is to be found.
 */
#include "config.h"

#include "import_world.h"
#include "read/bitmaps.h"
#include "read/itree.h"
#include "read/map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define EDITS_MAX 32
#define BS 1024u

static const char *const specs[][2] = {
	{"ext4", "^metadata_csum"},
	{"ext2", "ext_attr"},
	{"ext3", "^dir_index"},
	{"ext4", "^metadata_csum,itree"},
	{"ext4", "^metadata_csum,inline_data,ea_inode,quota,project"},
	{"ext4", "^metadata_csum,^has_journal,meta_bg,^resize_inode"},
	{"ext4", "quota,orphan_file"},
	{"ext4", "^metadata_csum,bigalloc"},
};

enum { SUPER, GROUPS, RECORDS, DIRS, NODES, KINDS };

struct place {
	uint64_t off;
	uint32_t len;
};

struct target {
	struct import_world iw;
	bool *used; /* by block; not the superblock's and the log's: those recovery may change */
	XW_VEC(struct place) at[KINDS];
};

/* ---- what there is to damage ---- */

static void add(struct target *t, unsigned kind, uint64_t off, uint32_t len)
{
	ck_assert_int_eq(xw_vec_push(&t->at[kind], ((struct place){off, len})), 0);
}

static int add_node(void *arg, xw_blk blk, unsigned depth)
{
	(void)depth;
	add(arg, NODES, blk * BS, BS);
	return 0;
}

static void add_tree(struct target *t, struct xw_image *img, xw_ino ino, const struct xw_inode *in)
{
	struct xw_itree_iter it;
	struct xw_itree_entry e;

	if (!xw_itree_begin(img, ino, in, &it)) {
		add_node(t, it.root, 0);
		it.on_node = add_node;
		it.arg = t;
		while (xw_itree_next(&it, &e) == 1)
			;
	}
	xw_itree_end(&it);
}

/* Of plain files only the map is metadata. */
static void add_map(struct target *t, struct xw_image *img, xw_ino ino, const struct xw_inode *in)
{
	const bool file = (in->mode & XW_S_IFMT) == XW_S_IFREG && ino >= XW_INO_FIRST;
	struct xw_map_iter it;
	struct xw_map_run run;

	ck_assert_int_eq(xw_map_begin(img, ino, in, 0, &it), 0);
	it.on_node = add_node;
	it.arg = t;
	while (xw_map_next(&it, &run) == 1) {
		for (uint64_t i = 0; i < run.len; i++) {
			if (ino == XW_INO_JOURNAL)
				t->used[run.pblk + i] = false;
			else if (!file)
				add(t, DIRS, (run.pblk + i) * BS, BS);
		}
	}
	xw_map_end(&it);
}

static void add_inodes(struct target *t, struct xw_image *img)
{
	const uint32_t per_group = img->sb.inodes_per_group;
	struct xw_inode_scan s;
	struct xw_group_desc gd;
	struct xw_inode in;
	const uint8_t *raw;
	xw_ino ino;

	ck_assert_int_eq(xw_inode_scan_begin(img, 0, img->groups, &s), 0);
	while (xw_inode_scan_next(&s, &ino, &raw) == 1) {
		if (xw_inode_decode(raw, &img->sb, &in) || !in.mode)
			continue;
		ck_assert_int_eq(xw_image_group(img, (ino - 1) / per_group, &gd), 0);
		add(t, RECORDS,
		    gd.inode_table * BS + (uint64_t)((ino - 1) % per_group) * img->inode_size,
		    img->inode_size);
		if (in.file_acl)
			add_node(t, in.file_acl, 0);
		if (xw_inode_has_map(&in))
			add_map(t, img, ino, &in);
		add_tree(t, img, ino, &in);
	}
	xw_inode_scan_end(&s);
}

static void add_groups(struct target *t, struct xw_image *img)
{
	struct xw_sysmap *sys;
	uint8_t bits[BS];

	ck_assert_int_eq(xw_sysmap_new(img, &sys), 0);
	for (uint64_t g = 0; g < img->groups; g++) {
		const xw_blk start = img->sb.first_data_block + g * img->sb.blocks_per_group;
		struct xw_group_desc gd;

		ck_assert_int_eq(xw_image_group(img, g, &gd), 0);
		add(t, GROUPS,
		    xw_image_desc_block(img, g) * BS + g % (BS / img->desc_size) * img->desc_size,
		    img->desc_size);
		add(t, GROUPS, gd.block_bitmap * BS, BS);
		add(t, GROUPS, gd.inode_bitmap * BS, img->sb.inodes_per_group / 8);
		ck_assert_int_eq(xw_image_block_bitmap(img, sys, g, bits), 0);
		for (uint32_t i = 0; i < img->sb.blocks_per_group; i++) {
			const uint32_t at = i >> xw_image_cluster_bits(img);

			if (start + i < img->sb.blocks_count)
				t->used[start + i] = bits[at / 8] >> (at % 8) & 1;
		}
	}
	xw_sysmap_free(sys);
}

static void open_target(struct target *t, const char *const spec[2])
{
	struct xw_diag diag = {0};
	struct xw_image *img;
	struct world w;

	import_world_open(&t->iw);
	import_world_make(&t->iw, spec[0], spec[1]);
	world_around(&w, t->iw.image, t->iw.image_size);
	t->used = calloc(t->iw.image_size / BS, sizeof(*t->used));
	ck_assert_ptr_nonnull(t->used);
	ck_assert_int_eq(xw_image_open(w.img, 0, &diag, &img), 0);
	add(t, SUPER, XW_SUPER_OFFSET, XW_SUPER_SIZE);
	add_groups(t, img);
	add_inodes(t, img);
	t->used[XW_SUPER_OFFSET / BS] = false;
	xw_image_close(img);
	world_close(&w);
}

/* ---- one input ---- */

static uint64_t place(const struct target *t, uint32_t where)
{
	static const uint8_t kinds[] = {SUPER, GROUPS,  RECORDS, RECORDS, RECORDS, RECORDS, DIRS,
					DIRS,  RECORDS, DIRS,    DIRS,    NODES,   NODES,   NODES};
	const unsigned kind = kinds[where % sizeof(kinds)];
	const struct place *p;

	where /= sizeof(kinds);
	if (!t->at[kind].n)
		return XW_SUPER_OFFSET;
	p = &t->at[kind].v[where % t->at[kind].n];
	return p->off + where / t->at[kind].n % p->len;
}

static void damage(const struct target *t, struct world *w, const uint8_t *data, size_t size)
{
	for (unsigned n = 0; size >= 4 && n < EDITS_MAX; n++, data += 4, size -= 4) {
		const uint32_t where = data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16;

		if (where || data[3]) /* zeros are no edit: much of the driver's inputs is zero */
			ck_assert_int_eq(xw_dev_pwrite(w->img, data + 3, 1, place(t, where)), 0);
	}
	ck_assert_int_eq(xw_dev_flush(w->img), 0);
}

static void *contents(struct world *w, size_t size)
{
	void *p = malloc(size);

	ck_assert_ptr_nonnull(p);
	ck_assert_int_eq(xw_dev_pread(w->img, p, size, 0), 0);
	return p;
}

static void check_unchanged(const struct target *t, const uint8_t *before, const uint8_t *after)
{
	for (size_t blk = 0; blk < t->iw.image_size / BS; blk++)
		if (t->used[blk] && memcmp(before + blk * BS, after + blk * BS, BS))
			ck_abort_msg("block %zu has changed", blk);
}

static void one_import(const struct target *t, struct world *w)
{
	uint8_t *before = contents(w, t->iw.image_size), *after;
	char why[WHY];
	const int rc = import(&t->iw, w, XW_COMMIT_AUTO, why);

	after = contents(w, t->iw.image_size);
	if (rc) {
		ck_assert(*why && !strchr(why, '\n'));
		check_unchanged(t, before, after);
	} else {
		struct xw_edit *e;

		ck_assert_int_eq(import_begin(w, XW_COMMIT_AUTO, &e), 0);
		xw_edit_end(e);
	}
	free(before);
	free(after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct target targets[XW_ARRAY_SIZE(specs)];
	const unsigned which = size ? data[0] % XW_ARRAY_SIZE(specs) : 0;
	struct target *t = &targets[which];
	struct world w;

	if (!t->used)
		open_target(t, specs[which]);
	world_around(&w, t->iw.image, t->iw.image_size);
	if (size)
		damage(t, &w, data + 1, size - 1);
	one_import(t, &w);
	world_close(&w);
	return 0;
}
