// SPDX-License-Identifier: MIT
/*
 * The space phase of xw-fsck: bitmaps, counts and flags of several kinds of images are damaged, and
 * repaired from facts that were gathered before. The strict readers must accept the result, and so
 * must an update that allocates by it.
 */
#include "config.h"

#include "dev/overlay.h"
#include "repairs/space.h"
#include "steps_world.h"

/* ---- what is not under test ---- */

static unsigned found[FSCK_IDS];

bool fsck_found(struct fsck *f, const struct fsck_about *a)
{
	found[a->id]++;
	return f->opts.mode == FSCK_YES;
}

int fsck_check_readable(struct fsck *f)
{
	(void)f;
	return 0;
}

/* ---- the world ---- */

static struct fsck f;

static unsigned all_found(void)
{
	unsigned n = 0;

	for (size_t i = 0; i < FSCK_IDS; i++)
		n += found[i];
	memset(found, 0, sizeof(found));
	return n;
}

static bool bit(const uint8_t *bits, uint64_t i)
{
	return bits[i / 8] >> i % 8 & 1;
}

/* As the bitmaps of a healthy image have it. */
static void gather(void)
{
	struct xw_image *img = f.ses.img;
	const uint32_t per = xw_image_group_bits(img), ratio = xw_image_cluster_bits(img);
	struct xw_sysmap *sys;

	ok(fsck_claim_metadata(&f));
	ok(xw_sysmap_new(img, &sys));
	for (uint64_t g = 0; g < img->groups; g++) {
		uint8_t bits[8192];

		ok(xw_image_block_bitmap(img, sys, g, bits));
		for (uint32_t i = 0; i < per; i++) {
			const xw_blk blk = img->sb.first_data_block + ((g * per + i) << ratio);

			if (blk < img->sb.blocks_count && bit(bits, i) && !fsck_is_claimed(&f, blk))
				ok(fsck_claim(&f, FSCK_O_DIR, blk, 1, NULL));
		}
		ok(xw_image_inode_bitmap(img, g, bits));
		for (uint32_t i = 0; i < img->sb.inodes_per_group; i++) {
			const xw_ino ino = (xw_ino)(g * img->sb.inodes_per_group + i + 1);
			struct fsck_inode *facts;
			struct xw_inode in;

			if (!bit(bits, i))
				continue;
			ok(xw_image_inode(img, ino, &in, NULL));
			ok(fsck_inode_make(&f, ino, &facts));
			facts->flags = FSCK_I_USED;
			facts->ftype = (uint8_t)xw_ftype_of_mode(in.mode);
		}
	}
	xw_sysmap_free(sys);
	f.facts.owners.complete = true;
	memset(&diag, 0, sizeof(diag));
}

static void open_world(int kind)
{
	struct xw_dev *base;

	make(kind);
	memset(&f, 0, sizeof(f));
	f.opts = (struct fsck_opts){.mode = FSCK_YES, .now = 1700000000};
	ok(xw_dev_open_file(path, 0, &diag, &base));
	ok(xw_overlay_open(base, 1024, &diag, &f.ses.dev));
	ok(xw_image_open(f.ses.dev,
			 XW_IMAGE_NOCSUM | XW_IMAGE_ANY_FEATURES | XW_IMAGE_SHORT |
				 XW_IMAGE_LENIENT,
			 &f.ses.diag, &f.ses.img));
	gather();
}

static void close_world(void)
{
	fsck_facts_free(&f);
	xw_image_close(f.ses.img);
	xw_dev_close(f.ses.dev);
}

static uint64_t seed;

static uint32_t rnd(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

static void damage_group(uint64_t g)
{
	struct xw_image *img = f.ses.img;
	const uint32_t size = img->desc_size, per = img->block_size / size;
	const uint64_t off = xw_image_desc_block(img, g) * img->block_size + g % per * size;
	struct xw_group_desc gd;
	uint8_t raw[64], bits[8192];

	ok(xw_image_group(img, g, &gd));
	ok(xw_dev_pread(f.ses.dev, raw, size, off));
	for (int i = 0; i < 2; i++) {
		const xw_blk blk = i ? gd.inode_bitmap : gd.block_bitmap;

		ok(xw_dev_pread(f.ses.dev, bits, img->block_size, blk * img->block_size));
		for (uint32_t n = rnd(40); n; n--)
			bits[rnd(img->block_size)] ^= (uint8_t)(1u << rnd(8));
		ok(xw_dev_pwrite(f.ses.dev, bits, img->block_size, blk * img->block_size));
	}
	switch (rnd(4)) {
	case 0:
		gd.free_blocks += rnd(100);
		gd.free_inodes -= rnd(gd.free_inodes + 1);
		break;
	case 1:
		gd.used_dirs += 1 + rnd(3);
		gd.itable_unused = img->sb.inodes_per_group;
		break;
	case 2:
		gd.flags ^= XW_BG_BLOCK_UNINIT;
		gd.block_bitmap_csum++;
		break;
	case 3:
		gd.flags ^= XW_BG_INODE_UNINIT;
	}
	xw_group_encode(&gd, &img->sb, img->csum_seed, (uint32_t)g, raw);
	ok(xw_dev_pwrite(f.ses.dev, raw, size, off));
}

static void damage(void)
{
	for (uint64_t g = 0; g < f.ses.img->groups; g++)
		if (rnd(3))
			damage_group(g);
	f.ses.img->sb.free_blocks_count -= 7;
	f.ses.img->sb.free_inodes_count++;
	ok(fsck_super_write(&f));
	xw_image_drop_cache(f.ses.img);
}

/* What the overlay holds, to the file; stock e2fsck, where there is one, has nothing to say. */
static void check_stock(void)
{
	struct xw_dev *base = xw_overlay_base(f.ses.dev);
	char cmd[400];
	uint64_t *blocks;
	size_t n;

	ok(xw_overlay_dirty(f.ses.dev, &blocks, &n));
	for (size_t i = 0; i < n; i++) {
		static const uint8_t zeros[1024];
		const void *data;

		xw_overlay_block(f.ses.dev, blocks[i], &data);
		ok(xw_dev_pwrite(base, data ? data : zeros, 1024, blocks[i] * 1024));
	}
	free(blocks);
	if (f.ses.img->sb.feature_ro_compat & XW_RO_ITREE)
		return;
	snprintf(cmd, sizeof(cmd),
		 "PATH=$PATH:/sbin:/usr/sbin; command -v e2fsck >/dev/null || exit 0; "
		 "e2fsck -fn '%s' >'%s/out' 2>&1",
		 path, dir);
	if (system(cmd)) {
		snprintf(cmd, sizeof(cmd), "cat '%s/out'", dir);
		ck_assert_int_eq(system(cmd), 0);
		ck_abort_msg("e2fsck complains");
	}
}

/* ---- tests ---- */

START_TEST(healthy)
{
	open_world(_i);
	ok(fsck_check_space(&f));
	ck_assert_uint_eq(all_found(), 0);
	ck_assert(!f.round.changed);
	close_world();
}
END_TEST

START_TEST(repaired)
{
	open_world(_i);
	for (seed = 1; seed < 12; seed++) {
		const uint64_t this_seed = seed;

		damage();
		f.opts.mode = FSCK_NO;
		f.round.changed = false;
		ok(fsck_check_space(&f));
		ck_assert(!f.round.changed);
		ck_assert_uint_gt(all_found(), 0);
		f.opts.mode = FSCK_YES;
		ok(fsck_check_space(&f));
		ck_assert(f.round.changed);
		ck_assert_uint_gt(all_found(), 0);
		check_dev(f.ses.dev);
		ok(fsck_check_space(&f));
		ck_assert_uint_eq(all_found(), 0);
		seed = this_seed;
	}
	check_stock();
	close_world();
}
END_TEST

START_TEST(settled_for_an_update)
{
	const struct xw_update_new n = {.mode = XW_S_IFDIR | 0755, .parent = XW_INO_ROOT};
	struct xw_update *u;
	xw_ino ino;

	open_world(_i);
	seed = 77;
	damage();
	ok(fsck_update(&f, &u));
	ck_assert_uint_gt(all_found(), 0);
	ok(xw_update_create(u, &n, &ino));
	ok(xw_update_link(u, XW_INO_ROOT, "new", 3, ino, XW_FT_DIR));
	ok(xw_update_add_links(u, XW_INO_ROOT, 1));
	ok(fsck_update_keep(&f));
	ck_assert(f.round.allocated);
	ok(fsck_check_space(&f)); /* is for the next round */
	ck_assert_uint_eq(all_found(), 0);
	check_dev(f.ses.dev);
	check_stock();
	close_world();
}
END_TEST

START_TEST(dropped_update)
{
	const struct xw_update_new n = {.mode = XW_S_IFREG | 0644, .parent = XW_INO_ROOT};
	struct xw_update *u;
	xw_ino ino;

	open_world(_i);
	seed = 78;
	damage();
	ok(fsck_update(&f, &u));
	ok(xw_update_create(u, &n, &ino));
	fsck_update_drop(&f);
	check_dev(f.ses.dev);
	close_world();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_space");
	TCase *t = tcase_create("fsck_space");
	const int n = (int)XW_ARRAY_SIZE(kinds);

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, healthy, 0, n);
	tcase_add_loop_test(t, repaired, 0, n);
	tcase_add_loop_test(t, settled_for_an_update, 0, n);
	tcase_add_loop_test(t, dropped_update, 0, n);
	suite_add_tcase(s, t);
	return unit_main(s);
}
