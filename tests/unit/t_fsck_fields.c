// SPDX-License-Identifier: MIT
/*
 * Fields of a superblock that contradict each other, and link counts: numbers in, findings and
 * numbers out.
 */
#include "config.h"

#include <stddef.h>

#include "disk/orphan.h"
#include "disk/xattrblk.h"
#include "fsck_bytes.h"
#include "phases/dirs.h"
#include "phases/super.h"

enum { NOW = 1900000000, LATEST = 2000000000, DAY = 86400 };

static void start(bool agree)
{
	open_bytes();
	agreed = agree;
	f.opts = (struct fsck_opts){.mode = FSCK_ASK, .now = NOW, .latest = LATEST, .image = "img"};
}

/* ---- the superblock ---- */

#define FIELD(name) offsetof(struct xw_super, name), sizeof(((struct xw_super *)0)->name)

static const struct {
	uint32_t compat, incompat, ro; /* features that are changed before */
	size_t off, len;
	uint64_t value;
	enum fsck_id id;
	uint64_t want;
} rows[] = {
	{0, 0, 0, FIELD(r_blocks_count), BLOCKS / 2, FSCK_IDS, 0},
	{0, 0, 0, FIELD(r_blocks_count), BLOCKS / 2 + 1, FSCK_SUPER_RESERVED, BLOCKS / 20},
	{XW_COMPAT_RESIZE_INODE, 0, 0, FIELD(reserved_gdt_blocks), 0, FSCK_IDS, 0},
	{XW_COMPAT_RESIZE_INODE, 0, 0, FIELD(reserved_gdt_blocks), 1, FSCK_SUPER_GDT, 0},
	{0, 0, 0, FIELD(first_meta_bg), 2, FSCK_IDS, 0},
	{0, 0, 0, FIELD(want_extra_isize), 128, FSCK_IDS, 0},
	{0, 0, 0, FIELD(want_extra_isize), 129, FSCK_SUPER_EXTRA, 32},
	{0, 0, 0, FIELD(min_extra_isize), 129, FSCK_SUPER_EXTRA, 32},
	{0, 0, 0, FIELD(creator_os), 2, FSCK_IDS, 0},
	{0, 0, 0, FIELD(def_hash_version), 2, FSCK_IDS, 0},
	{0, 0, 0, FIELD(def_hash_version), 3, FSCK_SUPER_HASH, 1},
	{XW_COMPAT_DIR_INDEX, 0, 0, FIELD(def_hash_version), 3, FSCK_IDS, 0},
	{0, 0, 0, FIELD(flags), 0x42, FSCK_IDS, 0},
	{0, 0, 0, FIELD(flags), 0x41, FSCK_IDS, 0},
	{0, 0, 0, FIELD(flags), 0x40, FSCK_SUPER_HASH_SIGN, 0x41},
	{0, 0, 0, FIELD(flags), 0x43, FSCK_SUPER_HASH_SIGN, 0x41},
	{XW_COMPAT_DIR_INDEX, 0, 0, FIELD(flags), 0, FSCK_IDS, 0},
	{0, XW_INCOMPAT_64BIT, 0, FIELD(desc_size), 64, FSCK_IDS, 0},
	{0, XW_INCOMPAT_64BIT, 0, FIELD(desc_size), 1024, FSCK_IDS, 0},
	{0, XW_INCOMPAT_64BIT, 0, FIELD(desc_size), 2048, FSCK_SUPER_FIELD, 0},
	{0, XW_INCOMPAT_64BIT, 0, FIELD(desc_size), 65, FSCK_SUPER_FIELD, 0},
	{0, 0, 0, FIELD(mtime), LATEST + DAY, FSCK_IDS, 0},
	{0, 0, 0, FIELD(mtime), LATEST + DAY + 1, FSCK_SUPER_TIME, NOW},
	{0, 0, 0, FIELD(wtime), LATEST + DAY + 1, FSCK_SUPER_TIME, NOW},
	{0, 0, XW_RO_QUOTA, FIELD(usr_quota_inum), 3, FSCK_IDS, 0},
	{0, 0, XW_RO_QUOTA, FIELD(usr_quota_inum), 5, FSCK_SUPER_QUOTA, 3}, /* which is a file */
	{0, 0, XW_RO_QUOTA, FIELD(grp_quota_inum), 5, FSCK_SUPER_QUOTA, 0},
	{0, 0, 0, FIELD(grp_quota_inum), 5, FSCK_IDS, 0},
	{0, XW_INCOMPAT_MMP, 0, FIELD(mmp_block), 130, FSCK_IDS, 0},
	{0, XW_INCOMPAT_MMP, 0, FIELD(mmp_block), 129, FSCK_MMP_BLOCK, 0},
	{0, XW_INCOMPAT_MMP, 0, FIELD(mmp_block), 0, FSCK_MMP_BLOCK, 0},
	{0, XW_INCOMPAT_MMP, 0, FIELD(mmp_block), BLOCKS, FSCK_MMP_BLOCK, 0},
	{0, XW_INCOMPAT_MMP, 0, FIELD(mmp_block), BLOCKS - 1, FSCK_IDS, 0},
	{0, 0, 0, FIELD(mmp_block), 0, FSCK_IDS, 0},
};

static uint64_t value_of(size_t off, size_t len)
{
	uint64_t v = 0;

	memcpy(&v, (const uint8_t *)&f.ses.img->sb + off, len);
	return v;
}

START_TEST(fields)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		const bool wrong = rows[i].id != FSCK_IDS, fixed = wrong && _i;
		struct xw_super *sb = (start(_i), &f.ses.img->sb);

		if (rows[i].ro & XW_RO_QUOTA) {
			put_inode(3, &(struct xw_inode){.mode = XW_S_IFREG, .links = 1});
			sb->usr_quota_inum = 3;
		}
		sb->feature_compat ^= rows[i].compat;
		sb->feature_incompat ^= rows[i].incompat;
		sb->feature_ro_compat ^= rows[i].ro;
		if (rows[i].compat & XW_COMPAT_RESIZE_INODE)
			sb->reserved_gdt_blocks = 0;
		if (rows[i].incompat & XW_INCOMPAT_MMP)
			sb->mmp_block = 200;
		memcpy((uint8_t *)sb + rows[i].off, &rows[i].value, rows[i].len);
		ok(fsck_super_write(&f));
		f.round.changed = false;
		ok(fsck_check_fields(&f));
		expect(rows[i].id);
		ck_assert_msg(value_of(rows[i].off, rows[i].len) ==
				      (fixed ? rows[i].want : rows[i].value),
			      "row %zu: %u", i, (unsigned)value_of(rows[i].off, rows[i].len));
		/* a wrong clock is no repair */
		ck_assert_msg(f.round.changed == (fixed && rows[i].id != FSCK_SUPER_TIME),
			      "row %zu", i);
		ck_assert_int_eq(f.ses.renew_backups, fixed && rows[i].id != FSCK_SUPER_TIME);
		if (rows[i].id == FSCK_MMP_BLOCK)
			ck_assert_int_eq(!(f.ses.img->sb.feature_incompat & XW_INCOMPAT_MMP),
					 fixed);
		if (fixed) { /* it was written, and that was all */
			ok(xw_super_decode(at(1), &f.ses.img->sb));
			ck_assert_uint_eq(value_of(rows[i].off, rows[i].len), rows[i].want);
			ok(fsck_check_fields(&f));
			expect(FSCK_IDS);
		}
		close_bytes();
	}
}
END_TEST

static const struct {
	uint32_t compat, incompat, ro, os; /* changed */
	enum fsck_id id;
	uint32_t compat_left, incompat_left, ro_left; /* changed by the repair */
} features[] = {
	{0, XW_INCOMPAT_META_BG, 0, 0, FSCK_SUPER_FEATURES, XW_COMPAT_RESIZE_INODE, 0, 0},
	{XW_COMPAT_RESIZE_INODE, XW_INCOMPAT_META_BG, 0, 0, FSCK_IDS, 0, 0, 0},
	{0, 0, XW_RO_GDT_CSUM, 0, FSCK_SUPER_FEATURES, 0, 0, XW_RO_GDT_CSUM},
	{0, 0, XW_RO_GDT_CSUM | XW_RO_METADATA_CSUM, 0, FSCK_IDS, 0, 0, 0},
	{0, XW_INCOMPAT_CSUM_SEED, 0, 0, FSCK_IDS, 0, 0, 0},
	{0, XW_INCOMPAT_CSUM_SEED, XW_RO_METADATA_CSUM, 0, FSCK_SUPER_SEED, 0,
	 XW_INCOMPAT_CSUM_SEED, 0},
	{0, 0, 0, 1, FSCK_SUPER_CREATOR, 0, 0, 0}, /* it has extents */
	{XW_COMPAT_HAS_JOURNAL, XW_INCOMPAT_EXTENTS, 0, 1, FSCK_SUPER_HURD, 0, XW_INCOMPAT_FILETYPE,
	 0},
	{0, XW_INCOMPAT_FILETYPE, 0, 1, FSCK_IDS, 0, 0, 0},
	{0, XW_INCOMPAT_EXTENTS, 0, 0, FSCK_IDS, 0, 0, 0}, /* 64bit, but not so large */
};

START_TEST(contradictions)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(features); i++) {
		struct xw_super *sb = (start(_i), &f.ses.img->sb);
		uint32_t compat, incompat, ro;

		sb->feature_compat ^= features[i].compat;
		sb->feature_incompat ^= features[i].incompat;
		sb->feature_ro_compat ^= features[i].ro;
		sb->creator_os = features[i].os;
		if (!(sb->feature_compat & XW_COMPAT_RESIZE_INODE))
			sb->reserved_gdt_blocks = 0;
		compat = sb->feature_compat ^ (agreed ? features[i].compat_left : 0);
		incompat = sb->feature_incompat ^ (agreed ? features[i].incompat_left : 0);
		ro = sb->feature_ro_compat ^ (agreed ? features[i].ro_left : 0);
		ok(fsck_check_fields(&f));
		expect(features[i].id);
		ck_assert_msg(f.ses.img->sb.feature_compat == compat, "row %zu", i);
		ck_assert_msg(f.ses.img->sb.feature_incompat == incompat, "row %zu", i);
		ck_assert_msg(f.ses.img->sb.feature_ro_compat == ro, "row %zu", i);
		close_bytes();
	}
}
END_TEST

START_TEST(first_meta_bg)
{
	for (uint32_t first = 0; first < 3; first++) {
		start(_i);
		f.ses.img->sb.feature_incompat |= XW_INCOMPAT_META_BG;
		f.ses.img->sb.feature_compat &= ~XW_COMPAT_RESIZE_INODE;
		f.ses.img->sb.reserved_gdt_blocks = 0;
		f.ses.img->sb.first_meta_bg = first; /* there is one block of descriptors */
		ok(fsck_check_fields(&f));
		expect(first > 1 ? FSCK_SUPER_META_BG : FSCK_IDS);
		ck_assert_uint_eq(f.ses.img->sb.first_meta_bg, agreed && first > 1 ? 1 : first);
		close_bytes();
	}
}
END_TEST

START_TEST(uuid)
{
	static const uint8_t none[16];

	start(_i);
	memset(f.ses.img->sb.uuid, 0, 16);
	ok(fsck_check_fields(&f));
	expect(FSCK_IDS); /* checksums depend on it */
	f.ses.img->sb.feature_ro_compat &= ~XW_RO_METADATA_CSUM;
	ok(fsck_check_fields(&f));
	expect(FSCK_SUPER_UUID);
	ck_assert_int_eq(!!memcmp(f.ses.img->sb.uuid, none, 16), agreed);
	ck_assert(!agreed || (f.ses.img->sb.uuid[6] >> 4 == 4 &&
			      f.ses.img->sb.uuid[8] >> 6 == 2)); /* random */
	close_bytes();
}
END_TEST

START_TEST(too_long)
{
	start(true);
	f.ses.img->sb.blocks_count = BLOCKS + 1;
	ck_assert_int_eq(fsck_check_fields(&f), XW_ERR_TRUNCATED);
	expect(FSCK_SUPER_SIZE);
	ck_assert(last.num == BLOCKS + 1 && last.num2 == BLOCKS);
	memset(&f.ses.diag, 0, sizeof(f.ses.diag));
	/* whoever goes on sees the rest, and nothing is repaired any more */
	refused = FSCK_SUPER_SIZE;
	ok(fsck_check_fields(&f));
	expect(FSCK_SUPER_SIZE);
	ck_assert_int_eq(f.opts.mode, FSCK_NO);
	ck_assert(f.ses.report_only && !f.round.again);
	ck_assert_uint_eq(f.ses.img->sb.blocks_count, BLOCKS + 1);
	/* in a round that only reports it ends there */
	ok(fsck_check_fields(&f));
	expect(FSCK_SUPER_SIZE);
	ck_assert(f.round.again);
	refused = FSCK_IDS;
	close_bytes();
}
END_TEST

/* ---- link counts ---- */

static const struct {
	xw_ino ino;
	uint8_t ftype, flags;
	uint16_t links, names;
	uint32_t subdirs; /* of a directory */
	bool parent, indexed;
	uint16_t want; /* 0: as it is */
} counts[] = {
	{INO, XW_FT_REG, FSCK_I_USED, 1, 1, 0, false, false, 0},
	{INO, XW_FT_REG, FSCK_I_USED, 2, 1, 0, false, false, 1},
	{INO, XW_FT_REG, FSCK_I_USED, 1, 3, 0, false, false, 3},
	{INO, XW_FT_FIFO, FSCK_I_USED, 5, 4, 0, false, false, 4},
	{INO, XW_FT_REG, 0, 1, 3, 0, false, false, 0},
	{INO, XW_FT_REG, FSCK_I_USED | FSCK_I_EA, 1, 3, 0, false, false, 0},
	{INO, XW_FT_REG, FSCK_I_USED | FSCK_I_SYSTEM, 1, 3, 0, false, false, 0},
	{INO, XW_FT_REG, FSCK_I_USED | FSCK_I_ORPHAN, 1, 3, 0, false, false, 0},
	{11, XW_FT_REG, FSCK_I_USED, 2, 1, 0, false, false, 1},
	{10, XW_FT_REG, FSCK_I_USED, 2, 1, 0, false, false, 0},
	{XW_INO_ROOT, XW_FT_DIR, FSCK_I_USED, 2, 0, 3, true, false, 5},
	{INO, XW_FT_DIR, FSCK_I_USED, 2, 1, 0, true, false, 0},
	{INO, XW_FT_DIR, FSCK_I_USED, 2, 1, 1, true, false, 3},
	{INO, XW_FT_DIR, FSCK_I_USED, 2, 1, 1, false, false, 0}, /* unconnected: unknown */
	{INO, XW_FT_DIR, FSCK_I_USED, 65000, 1, 64998, true, false, 0},
	{INO, XW_FT_DIR, FSCK_I_USED, 65000, 1, 64999, true, false, 1},
	{INO, XW_FT_DIR, FSCK_I_USED, 1, 1, 64999, true, false, 0},
	{INO, XW_FT_DIR, FSCK_I_USED, 1, 1, 5, true, true, 0}, /* once there were very many */
	{INO, XW_FT_DIR, FSCK_I_USED, 1, 1, 5, true, false, 7},
	{INO, XW_FT_DIR, FSCK_I_USED, 2, 1, 5, true, true, 7},
};

START_TEST(links)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(counts); i++) {
		const uint16_t want = counts[i].want && _i ? counts[i].want : counts[i].links;
		struct fsck_inode *facts;
		struct xw_inode in = {.mode = XW_S_IFREG, .links = counts[i].links, .size = 5};

		start(_i);
		f.facts.names_known = true;
		put_inode(counts[i].ino, &in);
		ok(fsck_inode_make(&f, counts[i].ino, &facts));
		*facts = (struct fsck_inode){.links = counts[i].links,
					     .names = counts[i].names,
					     .ftype = counts[i].ftype,
					     .flags = counts[i].flags};
		if (counts[i].ftype == XW_FT_DIR)
			ck_assert(
				!xw_vec_push(&f.facts.dirs,
					     ((struct fsck_dir){.ino = counts[i].ino,
								.subdirs = counts[i].subdirs,
								.parent = counts[i].parent ? 2 : 0,
								.indexed = counts[i].indexed})));
		ok(fsck_check_links(&f));
		expect(counts[i].want ? FSCK_LINK_COUNT : FSCK_IDS);
		ok(fsck_inode_read(&f, counts[i].ino, &in, NULL));
		ck_assert_msg(in.links == want, "row %zu: %u", i, in.links);
		ck_assert_uint_eq(facts->links, want);
		close_bytes();
	}
}
END_TEST

/* A file of nothing is deleted, others go to lost+found, and directories wait for tree.c. */
static const struct {
	uint16_t type;
	uint64_t size, blocks;
	xw_blk acl;
	bool xattrs, entry; /* there is an area in the record, and something in it */
	enum fsck_id id;
} nameless[] = {
	{XW_S_IFREG, 0, 0, 0, false, false, FSCK_INODE_EMPTY},
	{XW_S_IFREG, 0, 0, 0, true, false, FSCK_INODE_EMPTY},
	{XW_S_IFREG, 0, 0, 0, false, true, FSCK_INODE_EMPTY},
	{XW_S_IFREG, 0, 0, 0, true, true, FSCK_INODE_UNATTACHED},
	{XW_S_IFREG, 1, 0, 0, false, false, FSCK_INODE_UNATTACHED},
	{XW_S_IFREG, 0, 2, 0, false, false, FSCK_INODE_UNATTACHED},
	{XW_S_IFREG, 0, 0, BLOCK, false, false, FSCK_INODE_UNATTACHED},
	{XW_S_IFIFO, 0, 0, 0, false, false, FSCK_INODE_UNATTACHED},
	{XW_S_IFDIR, 0, 0, 0, false, false, FSCK_IDS},
};

START_TEST(without_a_name)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(nameless); i++) {
		const bool empty = nameless[i].id == FSCK_INODE_EMPTY;
		struct fsck_inode *facts;
		struct xw_inode in = {.mode = nameless[i].type,
				      .links = 1,
				      .extra_isize = 32,
				      .size = nameless[i].size,
				      .blocks = nameless[i].blocks,
				      .file_acl = nameless[i].acl};
		uint8_t area[8] = {0};

		if (_i && nameless[i].id == FSCK_INODE_UNATTACHED)
			continue; /* allocates */
		start(_i);
		f.facts.names_known = true;
		f.facts.lost_found = 11;
		put_inode(INO, &in);
		poke32(area, nameless[i].xattrs ? XW_XATTR_MAGIC : 0);
		poke32(area + 4, nameless[i].entry);
		ok(xw_dev_pwrite(f.ses.dev, area, sizeof(area),
				 TABLE * BS + (INO - 1) * SIZE + 160));
		xw_image_drop_cache(f.ses.img);
		ok(fsck_inode_make(&f, INO, &facts));
		*facts = (struct fsck_inode){.links = 1,
					     .ftype = (uint8_t)xw_ftype_of_mode(nameless[i].type),
					     .flags = FSCK_I_USED};
		ok(fsck_check_links(&f));
		expect(nameless[i].id);
		ok(fsck_inode_read(&f, INO, &in, NULL));
		ck_assert_uint_eq(in.links, empty && agreed ? 0 : 1);
		f.facts.names_known = false; /* then nothing is known of links */
		facts->links = 7;
		ok(fsck_check_links(&f));
		expect(FSCK_IDS);
		close_bytes();
	}
}
END_TEST

/* More subdirectories than links. */
START_TEST(very_many_subdirectories)
{
	for (uint32_t n = 64997; n < 65000; n++) {
		const bool many = n + 2 > XW_LINK_MAX;
		struct fsck_inode *facts;

		start(_i);
		f.facts.names_known = true;
		f.ses.img->sb.feature_ro_compat &= ~XW_RO_DIR_NLINK;
		ok(fsck_super_write(&f));
		ok(fsck_inode_make(&f, INO, &facts));
		*facts = (struct fsck_inode){.links = many ? 1 : (uint16_t)(n + 2),
					     .names = 1,
					     .ftype = XW_FT_DIR,
					     .flags = FSCK_I_USED};
		ck_assert(!xw_vec_push(&f.facts.dirs,
				       ((struct fsck_dir){.ino = INO, .subdirs = n, .parent = 2})));
		ok(fsck_check_links(&f));
		expect(many ? FSCK_SUPER_FEATURES : FSCK_IDS);
		ck_assert_uint_eq(peek32(at(1) + 0x64) ^ 0x46B,
				  many && agreed ? 0 : XW_RO_DIR_NLINK);
		close_bytes();
	}
}
END_TEST

/* ---- the orphan file proves its feature ---- */

START_TEST(orphan_feature)
{
	for (int k = 0; k < 6; k++) {
		const bool is = k == 0;
		struct xw_inode in = {
			.mode = k == 1 ? XW_S_IFDIR : XW_S_IFREG, .links = 1, .generation = 3};
		const xw_ino ino = k == 2 ? 10 : 20;
		uint8_t block[BS] = {0};

		start(_i);
		f.ses.img->sb.orphan_file_inum = k == 3 ? 129 : ino;
		if (k == 4)
			f.ses.img->sb.feature_compat |= XW_COMPAT_ORPHAN_FILE;
		ok(fsck_super_write(&f));
		f.round.changed = false;
		poke32(in.block, BLOCK);
		put_inode(ino, &in);
		xw_orphan_seal(block, BS, true, xw_inode_seed(f.ses.img->csum_seed, ino, 3), BLOCK);
		block[BS - 1] ^= k == 5; /* its checksum */
		put(BLOCK, block, BS);
		ok(fsck_check_fields(&f));
		expect(is ? FSCK_ORPHAN_FEATURE : FSCK_IDS);
		ck_assert_uint_eq(peek32(at(1) + 0x5C) ^ 0x3C,
				  (is && agreed) || k == 4 ? XW_COMPAT_ORPHAN_FILE : 0);
		close_bytes();
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_fields");
	TCase *t = tcase_create("fsck_fields");

	tcase_set_timeout(t, 60);
	unit_add_cases(t, fields, "declined", "agreed");
	unit_add_cases(t, contradictions, "declined", "agreed");
	unit_add_cases(t, first_meta_bg, "declined", "agreed");
	unit_add_cases(t, uuid, "declined", "agreed");
	tcase_add_test(t, too_long);
	unit_add_cases(t, links, "declined", "agreed");
	unit_add_cases(t, without_a_name, "declined", "agreed");
	unit_add_cases(t, very_many_subdirectories, "declined", "agreed");
	unit_add_cases(t, orphan_feature, "declined", "agreed");
	suite_add_tcase(s, t);
	return unit_main(s);
}
