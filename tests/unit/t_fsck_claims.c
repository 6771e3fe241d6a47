// SPDX-License-Identifier: MIT
/* Block maps, of which single pointers are cleared, and the claims of any map. */
#include "config.h"

#include "fsck_look.h"

enum { NODE = BLOCK + 100, META = 130 /* a bitmap */ };

/* ---- block maps ---- */

static const struct {
	unsigned slot; /* of i_block */
	xw_blk to;
	int entry; /* wrong one in the indirect block; -1: none */
	enum fsck_id id;
} pointers[] = {
	{0, BLOCKS, -1, FSCK_BLOCK_RANGE},
	{11, BLOCKS, -1, FSCK_BLOCK_RANGE},
	{11, BLOCKS - 1, -1, FSCK_IDS},
	{12, BLOCKS, -1, FSCK_MAP_BLOCK_RANGE},
	{12, META, -1, FSCK_MAP_BLOCK_METADATA},
	{12, NODE, -1, FSCK_IDS},
	{12, NODE, 0, FSCK_BLOCK_RANGE},
	{12, NODE, 255, FSCK_BLOCK_RANGE},
	{12, NODE + 1, -1, FSCK_MAP_BLOCK_FOREIGN},
};

START_TEST(block_map)
{
	uint8_t node[BS], foreign[BS];

	begin(_i);
	for (unsigned i = 0; i < BS; i += 4)
		poke32(foreign + i, 0x12345678);
	put(NODE + 1, foreign, BS);
	for (size_t i = 0; i < XW_ARRAY_SIZE(pointers); i++) {
		const bool inside = pointers[i].entry >= 0, wrong = pointers[i].id != FSCK_IDS;
		uint8_t got[BS];

		load(XW_S_IFREG, 0, 20 * BS);
		memset(node, 0, sizeof(node));
		poke32(node + 8, 605);
		if (inside)
			poke32(node + 4 * pointers[i].entry, BLOCKS + 3);
		put(NODE, node, BS);
		poke32(l.in.block + 4, 600);
		poke32(l.in.block + 4 * pointers[i].slot, (uint32_t)pointers[i].to);
		ok(fsck_look_map(&l));
		expect(pointers[i].id);
		ck_assert_int_eq(l.dirty, agreed && wrong && !inside);
		ck_assert_uint_eq(peek32(l.in.block + 4), 600);
		ck_assert_uint_eq(peek32(l.in.block + 4 * pointers[i].slot),
				  agreed && wrong && !inside ? 0 : pointers[i].to);
		ok(fsck_read(&f, NODE, 1, got));
		ck_assert_uint_eq(peek32(got + 8), 605);
		if (inside)
			ck_assert_uint_eq(peek32(got + 4 * pointers[i].entry),
					  agreed ? 0 : BLOCKS + 3);
		fsck_kept_free(&f.facts.owners);
		memset(&f.facts.owners.kept, 0, sizeof(f.facts.owners.kept));
	}
	end();
}
END_TEST

/* ---- claims ---- */

static const struct {
	xw_ino ino;
	uint16_t type;
	enum fsck_owner owner;
} owners[] = {
	{INO, XW_S_IFREG, FSCK_O_DATA},
	{11, XW_S_IFREG, FSCK_O_DATA},
	{INO, XW_S_IFLNK, FSCK_O_DATA},
	{INO, XW_S_IFDIR, FSCK_O_DIR},
	{XW_INO_ROOT, XW_S_IFDIR, FSCK_O_DIR},
	{XW_INO_BAD, XW_S_IFREG, FSCK_O_BAD},
	{XW_INO_JOURNAL, XW_S_IFREG, FSCK_O_SYSTEM},
	{INO + 1, XW_S_IFREG, FSCK_O_SYSTEM},
};

START_TEST(claims)
{
	begin(true);
	f.ses.img->sb.feature_compat |= XW_COMPAT_ORPHAN_FILE;
	f.ses.img->sb.orphan_file_inum = INO + 1;
	for (size_t i = 0; i < XW_ARRAY_SIZE(owners); i++) {
		const xw_blk blk = 1000 + 10 * i;
		const struct fsck_inode *facts;

		load(owners[i].type, 0, 2 * BS);
		l.ino = owners[i].ino;
		l.blocks = 1;
		l.map.runs.n = l.map.nodes.n = 0;
		ck_assert(!xw_vec_push(&l.map.runs, ((struct xw_map_run){0, 2, blk, false})));
		ck_assert(!xw_vec_push(&l.map.nodes, ((struct xw_walk_map_item){.pblk = blk + 2})));
		l.map.wanted = 3;
		ok(fsck_look_claim(&l));
		ck_assert_uint_eq(l.blocks, 1 + 2 + 1 + 3);
		ck_assert(fsck_owns(&f, owners[i].owner, blk, 2));
		ck_assert(fsck_owns(&f, FSCK_O_MAP, blk + 2, 1));
		facts = fsck_inode(&f, l.ino);
		ck_assert(!facts || !(facts->flags & FSCK_I_CONTESTED));
		l.blocks = 0;
		l.map.nodes.n = i % 2; /* runs, or also a node */
		ok(fsck_look_claim(&l));
		ck_assert(fsck_inode(&f, l.ino)->flags & FSCK_I_CONTESTED);
		fsck_inode(&f, l.ino)->flags = 0;
	}
	l.map.runs.n = 0; /* the node alone */
	l.map.nodes.n = 1;
	ok(fsck_look_claim(&l));
	ck_assert(fsck_inode(&f, l.ino)->flags & FSCK_I_CONTESTED);
	expect(FSCK_IDS);
	end();
}
END_TEST

/* Clusters of 4 blocks: several runs may lie in one. */
static const struct {
	struct xw_map_run runs[3];
	uint64_t clusters;
	bool misplaced, contested;
} clusters[] = {
	{{{0, 4, 1000}}, 1, false, false},
	{{{0, 5, 1000}}, 2, false, false},
	{{{1, 2, 1001}}, 1, false, false},
	{{{3, 2, 1003}}, 2, false, false},
	{{{0, 1, 1000}, {2, 1, 1002}}, 1, false, false},
	{{{0, 1, 1000}, {2, 4, 1002}}, 2, false, false},
	{{{0, 1, 1000}, {1, 1, 1001, true}, {3, 1, 1003}}, 1, false, false},
	{{{0, 1, 1000}, {4, 1, 1004}}, 2, false, false},
	{{{0, 1, 1000}, {4, 1, 1000}}, 2, false, true}, /* another cluster of the file */
	{{{0, 1, 1001}}, 1, true, false},
	{{{0, 2, 1000}, {2, 1, 1006}}, 2, false, false},
};

START_TEST(shared_clusters)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(clusters); i++) {
		const struct fsck_inode *facts;

		begin(true);
		f.ses.img->sb.feature_ro_compat |= XW_RO_BIGALLOC;
		f.ses.img->sb.log_cluster_size = 2;
		f.ses.img->sb.clusters_per_group = f.ses.img->sb.blocks_per_group / 4;
		f.ses.img->sb.first_data_block = 0;
		fsck_owners_free(&f.facts.owners);
		memset(&f.facts.owners, 0, sizeof(f.facts.owners));
		ok(xw_blockset_new(BLOCKS, &f.facts.owners.claims));
		load(XW_S_IFREG, 0, 2 * BS);
		l.map.runs.n = l.map.nodes.n = 0;
		l.map.wanted = 0;
		for (int k = 0; k < 3 && clusters[i].runs[k].len; k++)
			ck_assert(!xw_vec_push(&l.map.runs, clusters[i].runs[k]));
		ok(fsck_look_claim(&l));
		expect(clusters[i].misplaced ? FSCK_CLUSTER : FSCK_IDS);
		ck_assert_uint_eq(f.facts.misplaced.n, clusters[i].misplaced);
		ck_assert_msg(l.blocks == 4 * clusters[i].clusters, "row %zu: %u blocks", i,
			      (unsigned)l.blocks);
		facts = fsck_inode(&f, l.ino);
		ck_assert_int_eq(facts && facts->flags & FSCK_I_CONTESTED, clusters[i].contested);
		end();
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_claims");
	TCase *t = tcase_create("fsck_claims");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, block_map, 0, 2);
	tcase_add_test(t, claims);
	tcase_add_test(t, shared_clusters);
	suite_add_tcase(s, t);
	return unit_main(s);
}
