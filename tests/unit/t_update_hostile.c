/* SPDX-License-Identifier: MIT */
/*
 * Imports into images that contradict themselves, with every checksum right: each contradiction
 * that an import meets is named, and what the image has in use stays as it was. The contradictions
 * are made by edits (edit/edit.h), which refuse none.
 */
#include "config.h"

#include "disk/itree.h"
#include "disk/xattrblk.h"
#include "import_world.h"
#include "read/dirs.h"
#include "unit.h"
#include "edit/edit.h"

#define BS 1024u

static struct import_world iw;

static void setup(void)
{
	import_world_open(&iw);
}

static void teardown(void)
{
	import_world_close(&iw);
}

/* ---- ways to be wrong ---- */

static xw_ino at(struct xw_update *u, const char *path)
{
	xw_ino ino;

	ck_assert_int_eq(xw_path_resolve(u->img, XW_INO_ROOT, path, false, &ino), 0);
	return ino;
}

static int link_to(struct xw_update *u, const char *dir, const char *name, xw_ino ino, uint8_t type)
{
	return xw_update_link(u, at(u, dir), name, strlen(name), ino, type);
}

static int directory_twice(struct xw_update *u)
{
	return link_to(u, "/", "again", at(u, "/a"), XW_FT_DIR);
}

static int types_differ(struct xw_update *u)
{
	return link_to(u, "/a", "liar", at(u, "/a/old-5"), XW_FT_LNK);
}

static int type_is_another(struct xw_update *u)
{
	const xw_ino ino = at(u, "/a/old-5");
	int rc = xw_update_unlink(u, at(u, "/a"), "old-5", 5);

	return rc ? rc : link_to(u, "/a", "old-5", ino, XW_FT_CHR);
}

static int reserved_named(struct xw_update *u)
{
	return link_to(u, "/", "journal", XW_INO_JOURNAL, XW_FT_REG);
}

static int too_few_links(struct xw_update *u)
{
	return link_to(u, "/a", "third", at(u, "/a/old-1"), XW_FT_REG);
}

static int named_and_deleted(struct xw_update *u)
{
	const xw_ino ino = at(u, "/a/old-5");
	uint8_t *raw;
	struct xw_inode in;
	int rc = xw_update_get(u, ino, &in, &raw);

	in.links = 0;
	return rc ? rc : xw_update_put(u, ino, &in, raw);
}

/* The first block of a/old-5 is what `blk` says. */
static int map_to(struct xw_update *u, xw_blk blk)
{
	return xw_update_map_block(u, at(u, "/a/old-5"), 0, &blk);
}

static int maps_metadata(struct xw_update *u)
{
	struct xw_group_desc gd;
	const int rc = xw_image_group(u->img, 0, &gd);

	return rc ? rc : map_to(u, gd.inode_table);
}

static int maps_another(struct xw_update *u)
{
	const xw_ino ino = at(u, "/a/old-10");
	struct xw_map_run run;
	struct xw_inode in;
	int rc = xw_image_inode(u->img, ino, &in, NULL);

	if (!rc)
		rc = xw_map_lookup(u->img, ino, &in, 0, &run);
	return rc ? rc : map_to(u, run.pblk);
}

static int too_few_references(struct xw_update *u)
{
	const xw_ino ino = at(u, "/a/old-55"); /* which shares its block with gone/old-0 */
	struct xw_xattr_bhdr h;
	struct xw_inode in;
	uint8_t block[1024];
	int rc = xw_image_inode(u->img, ino, &in, NULL);

	ck_assert(!rc && in.file_acl);
	rc = xw_dev_pread(u->img->dev, block, sizeof(block), in.file_acl * sizeof(block));
	ck_assert(!rc && !xw_xattr_bhdr_decode(block, &h) && h.refcount > 2);
	h.refcount = 1;
	xw_xattr_bhdr_encode(block, &h);
	xw_xattr_block_set_csum(block, sizeof(block), u->img->csum_seed, in.file_acl);
	return xw_dev_pwrite(u->img->dev, block, sizeof(block), in.file_acl * sizeof(block));
}

static int orphan(struct xw_update *u, xw_ino ino, xw_ino next, unsigned links)
{
	uint8_t *raw;
	struct xw_inode in;
	int rc = xw_update_get(u, ino, &in, &raw);

	u->img->sb.last_orphan = ino;
	in.dtime = next;
	in.links = (uint16_t)links;
	return rc ? rc : xw_update_put(u, ino, &in, raw);
}

static int orphan_twice(struct xw_update *u)
{
	const xw_ino ino = at(u, "/a/old-5");

	return orphan(u, ino, ino, 0);
}

static int orphan_reserved(struct xw_update *u)
{
	u->img->sb.last_orphan = XW_INO_ROOT;
	return 0;
}

static int orphan_directory(struct xw_update *u)
{
	return orphan(u, at(u, "/a/b"), 0, 2);
}

/* Its owner has no usage that could be taken from him. */
static int owner_unknown(struct xw_update *u)
{
	const xw_ino ino = at(u, "/a/old-5");
	uint8_t *raw;
	struct xw_inode in;
	int rc = xw_update_get(u, ino, &in, &raw);

	in.uid = 4242;
	return rc ? rc : xw_update_put(u, ino, &in, raw);
}

static int counts_too_little(struct xw_update *u)
{
	const xw_ino ino = at(u, "/a");
	uint8_t *raw;
	struct xw_inode in;
	int rc = xw_update_get(u, ino, &in, &raw);

	in.blocks = 0;
	return rc ? rc : xw_update_put(u, ino, &in, raw);
}

static int tree_of_another(struct xw_update *u)
{
	const xw_ino ino = at(u, "/many");
	const xw_blk wrong = u->img->sb.blocks_count - 1;
	uint8_t block[1024];
	struct xw_map_run run;
	struct xw_inode in;
	int rc = xw_image_inode(u->img, ino, &in, NULL);

	ck_assert(!rc && in.flags & XW_FL_ITREE);
	rc = xw_map_lookup(u->img, ino, &in, 0, &run);
	if (!rc)
		rc = xw_dev_pread(u->img->dev, block, sizeof(block), run.pblk * sizeof(block));
	xw_itree_slot_set(block, sizeof(block), xw_super_has_csum(&u->img->sb), wrong);
	return rc ? rc : xw_dev_pwrite(u->img->dev, block, sizeof(block), run.pblk * sizeof(block));
}

/* Nobody reads an inode that was never used: a new one would take its place. */
static int used_and_unused(struct xw_update *u)
{
	const uint32_t per_group = u->img->sb.inodes_per_group;
	const xw_ino many = at(u, "/many") - 1;
	struct xw_group_desc gd;
	const int rc = xw_image_group(u->img, many / per_group, &gd);

	gd.itable_unused = per_group - many % per_group + 20;
	put_group(u->img, many / per_group, &gd);
	return rc;
}

static const struct wrong {
	const char *features;
	int (*how)(struct xw_update *u);
	const char *said;
} wrongs[] = {
	{"ext_attr", directory_twice, "is a directory with more than one name"},
	{"ext_attr", types_differ, "its directory entries disagree about its type"},
	{"ext_attr", type_is_another, "has another type than its directory entry"},
	{"ext_attr", reserved_named, "inode 8: is reserved, and has a name"},
	{"ext_attr", too_few_links, "has more names than links"},
	{"ext_attr", named_and_deleted, "has a name and is deleted"},
	{"ext_attr", maps_metadata, "are metadata or outside the filesystem"},
	{"ext_attr", maps_another, "are claimed twice, or free in their bitmap"},
	{"^extent,^64bit,^flex_bg", maps_another, "are claimed twice, or free in their bitmap"},
	{"ext_attr", too_few_references, "are claimed twice, or free in their bitmap"},
	{"ext_attr", orphan_twice, "is free in its bitmap"},
	{"ext_attr", orphan_reserved, "orphan inode 2: no such inode"},
	{"ext_attr", orphan_directory, "is not a file with blocks to release"},
	{"quota", owner_unknown, "counts less than the actual usage"},
	{"ext_attr", counts_too_little, "has more blocks than its i_blocks"},
	{"itree", tree_of_another, "itree block 7167: "},
	{"ext_attr", used_and_unused, "in use is among the unused inodes of the descriptor"},
	{"uninit_bg,^metadata_csum", used_and_unused,
	 "is among the unused inodes of the descriptor"},
};

static void hurt(struct world *w, int (*how)(struct xw_update *u))
{
	const struct xw_update_opts o = {
		.unchecked = true, .now = 1700000000, .jobs = 1, .mb = {-1, -1, -1, -1, -1, -1}};
	struct xw_update *u;
	int rc = xw_update_begin(w->img, &o, &w->diag, &u);

	if (!rc)
		rc = how(u);
	if (!rc)
		rc = xw_update_flush(u);
	if (rc)
		ck_abort_msg("%d: %s", rc, w->diag.text);
	xw_update_close(u);
	ck_assert_int_eq(xw_dev_flush(w->img), 0);
}

START_TEST(refused)
{
	const struct wrong *x = &wrongs[_i];
	struct world w;
	char why[WHY];
	uint64_t before;
	int rc;

	import_world_make(&iw, "ext4", x->features);
	world_around(&w, iw.image, iw.image_size);
	rc = import(&iw, &w, XW_COMMIT_AUTO, why);
	ck_assert_msg(!rc, "%s", why);
	world_close(&w);

	world_around(&w, iw.image, iw.image_size);
	hurt(&w, x->how);
	before = digest(w.img);
	rc = import(&iw, &w, XW_COMMIT_AUTO, why);
	ck_assert_msg(rc == XW_ERR_CORRUPT && strstr(why, x->said), "%d: %s", rc, why);
	ck_assert_uint_eq(digest(w.img), before);
	world_close(&w);
}
END_TEST

/* Two files were being cut when the power went: they are put away, and the import goes on. */
static int two_orphans(struct xw_update *u)
{
	const xw_ino first = at(u, "/a/old-5"), second = at(u, "/a/old-10");
	const int rc = orphan(u, second, 0, 1);

	return rc ? rc : orphan(u, first, second, 1);
}

START_TEST(orphans_before_names)
{
	struct world w;
	char why[WHY];
	int rc;

	import_world_make(&iw, "ext4", "ext_attr");
	world_around(&w, iw.image, iw.image_size);
	hurt(&w, two_orphans);
	rc = import(&iw, &w, XW_COMMIT_AUTO, why);
	ck_assert_msg(!rc, "%s", why);
	world_close(&w);
}
END_TEST

/* The last block of a file that was being cut and is encrypted. */
static xw_blk tail_block(struct xw_update *u)
{
	const xw_ino ino = at(u, "/a/old-5");
	struct xw_map_run run;
	struct xw_inode in;

	ck_assert_int_eq(xw_image_inode(u->img, ino, &in, NULL), 0);
	ck_assert_int_eq(xw_map_lookup(u->img, ino, &in, in.size / BS, &run), 0);
	ck_assert_uint_ne(in.size % BS, 0);
	return run.pblk;
}

static xw_blk tail_at;

static int orphan_encrypted(struct xw_update *u)
{
	const xw_ino ino = at(u, "/a/old-5");
	uint8_t *raw, block[BS];
	struct xw_inode in;
	int rc;

	tail_at = tail_block(u);
	memset(block, 'c', sizeof(block));
	rc = xw_dev_pwrite(u->img->dev, block, sizeof(block), tail_at * BS);
	if (!rc)
		rc = xw_update_get(u, ino, &in, &raw);
	if (rc)
		return rc;
	in.flags |= XW_FL_ENCRYPT;
	u->img->sb.feature_incompat |= XW_INCOMPAT_ENCRYPT;
	rc = xw_update_put(u, ino, &in, raw);
	return rc ? rc : orphan(u, ino, 0, 1);
}

/* Whose ciphertext may go beyond the size. */
START_TEST(ciphertext_stays)
{
	uint8_t want[BS], got[BS];
	struct world w;
	char why[WHY];
	int rc;

	import_world_make(&iw, "ext4", "ext_attr");
	world_around(&w, iw.image, iw.image_size);
	hurt(&w, orphan_encrypted);
	rc = import(&iw, &w, XW_COMMIT_AUTO, why);
	ck_assert_msg(!rc, "%s", why);
	ck_assert_int_eq(xw_dev_pread(w.img, got, sizeof(got), tail_at * BS), 0);
	ck_assert_mem_eq(got, memset(want, 'c', sizeof(want)), sizeof(got));
	world_close(&w);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("update_hostile");
	TCase *t = tcase_create("update_hostile");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	unit_add_rows(t, refused, wrongs, features);
	tcase_add_test(t, orphans_before_names);
	tcase_add_test(t, ciphertext_stays);
	suite_add_tcase(s, t);
	return unit_main(s);
}
