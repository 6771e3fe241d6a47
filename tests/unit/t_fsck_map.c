// SPDX-License-Identifier: MIT
/*
 * The map of an inode as xw-fsck judges it: extents, nodes and pointers in; findings, and the map
 * that is left, out.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "fsck_look.h"

enum { NODE = BLOCK + 100, NODES = 8, META = 130 /* a bitmap */ };

static void header(uint8_t *node, unsigned n, unsigned max, unsigned depth)
{
	const struct xw_extent_hdr h = {
		.entries = (uint16_t)n, .max = (uint16_t)max, .depth = (uint16_t)depth};

	xw_extent_hdr_encode(node, &h);
}

/* Extents "LBLK+LEN@PBLK", with a "u" behind unwritten ones. */
static void fill(uint8_t *node, const char *text, unsigned max)
{
	unsigned n = 0;

	for (int used = 0; *text; text += used, n++) {
		struct xw_extent e = {0};

		ck_assert_int_eq(
			sscanf(text, "%u+%u@%" SCNu64 "%n", &e.lblk, &e.len, &e.pblk, &used), 3);
		e.unwritten = text[used] == 'u';
		used += e.unwritten;
		used += text[used] == ' ';
		xw_extent_leaf_encode(node, n, &e);
	}
	header(node, n, max, 0);
}

static uint64_t blocks_of(const char *text)
{
	uint64_t n = 0;

	for (; (text = strchr(text, '+')); text++)
		n += strtoul(text + 1, NULL, 10);
	return n;
}

static void seal_and_put(uint8_t *node, xw_blk blk)
{
	xw_extent_block_set_csum(node, BS, xw_image_inode_seed(f.ses.img, INO, &l.in));
	put(blk, node, BS);
}

static void index_at(unsigned i, uint32_t lblk, xw_blk blk)
{
	const struct xw_extent_idx e = {lblk, blk};

	xw_extent_idx_encode(l.in.block, i, &e);
}

/* The root has these extents, and no more. */
static void expect_root(const char *text)
{
	char got[200] = "";
	struct xw_extent_hdr h;

	ck_assert_int_eq(xw_extent_hdr_decode(l.in.block, sizeof(l.in.block), &h), 0);
	ck_assert(!h.depth && h.max == 4);
	for (unsigned i = 0; i < h.entries; i++) {
		const size_t at = strlen(got);
		struct xw_extent x;

		xw_extent_leaf_decode(l.in.block, i, &x);
		snprintf(got + at, sizeof(got) - at, "%s%u+%u@%" PRIu64 "%s", i ? " " : "", x.lblk,
			 x.len, x.pblk, x.unwritten ? "u" : "");
	}
	ck_assert_str_eq(got, text);
}

/* ---- extents in the record ---- */

static const struct {
	uint16_t type;
	uint64_t blocks; /* i_size in blocks */
	const char *have;
	enum fsck_id id;
	const char *left;
} leaves[] = {
	{XW_S_IFREG, 5, "0+5@500", FSCK_IDS, "0+5@500"},
	{XW_S_IFREG, 9, "0+5@500 5+4@700u", FSCK_IDS, "0+5@500 5+4@700u"},
	{XW_S_IFREG, 5, "0+5@500 8+2@16384", FSCK_BLOCK_RANGE, "0+5@500"},
	{XW_S_IFREG, 5, "0+5@500 8+2@1", FSCK_IDS, "0+5@500 8+2@1"}, /* contested */
	/* the part of it that i_size needs is kept */
	{XW_S_IFREG, 4, "0+10@16380", FSCK_BLOCK_RANGE, "0+4@16380"},
	{XW_S_IFREG, 5, "0+10@16380", FSCK_BLOCK_RANGE, ""},
	{XW_S_IFREG, 0, "0+10@16380", FSCK_BLOCK_RANGE, ""},
	{XW_S_IFREG, 7, "0+4@500 4+9@16380", FSCK_BLOCK_RANGE, "0+4@500 4+3@16380"},
	{XW_S_IFREG, 4, "0+4@500 4+9@16380", FSCK_BLOCK_RANGE, "0+4@500"},
	{XW_S_IFREG, 4, "0+30000@128", FSCK_BLOCK_RANGE, ""},
	/* order */
	{XW_S_IFREG, 9, "0+5@500 7+0@600", FSCK_EXTENT_LENGTH, "0+5@500"},
	{XW_S_IFREG, 10, "5+3@500 2+1@600", FSCK_EXTENT_ORDER, "5+3@500"},
	{XW_S_IFREG, 9, "5+3@500 2+1@600", FSCK_EXTENT_PLACE,
	 "5+3@500 8+1@600"}, /* up to the end */
	{XW_S_IFREG, 9, "0+5@500 3+5@503 8+1@700", FSCK_EXTENT_LONG, "0+3@500 3+5@503 8+1@700"},
	{XW_S_IFREG, 9, "0+5@500 3+5@600 8+1@700", FSCK_EXTENT_LONG, "0+3@500 3+5@600 8+1@700"},
	{XW_S_IFREG, 9, "0+5@500 3+4@600 8+1@700", FSCK_EXTENT_ORDER, "0+5@500 8+1@700"},
	{XW_S_IFREG, 4294967294, "4294967294+5@500", FSCK_BLOCK_WRAP, ""},
	{XW_S_IFREG, 4294967295, "4294967294+1@500", FSCK_IDS, "4294967294+1@500"},
	/* far behind the size: up to that */
	{XW_S_IFREG, 9, "4294967294+5@500", FSCK_EXTENT_PLACE, "0+5@500"},
	{XW_S_IFREG, 9, "4294967294+1@500u", FSCK_IDS, "4294967294+1@500u"},
	/* a single one of the right length, behind the file */
	{XW_S_IFREG, 3, "7+3@500", FSCK_EXTENT_PLACE, "0+3@500"},
	{XW_S_IFREG, 3, "3+3@500", FSCK_EXTENT_PLACE, "0+3@500"},
	{XW_S_IFREG, 3, "2+3@500", FSCK_IDS, "2+3@500"},
	{XW_S_IFREG, 4, "7+3@500", FSCK_IDS, "7+3@500"},
	{XW_S_IFREG, 3, "7+3@500u", FSCK_IDS, "7+3@500u"},
	{XW_S_IFREG, 3, "7+3@500 10+1@600", FSCK_IDS, "7+3@500 10+1@600"},
	{XW_S_IFREG, 3, "7+3@16382", FSCK_BLOCK_RANGE, ""},
	/* directories are written, and of 2 GiB */
	{XW_S_IFDIR, 5, "0+5@500u", FSCK_DIR_UNWRITTEN, "0+5@500"},
	{XW_S_IFDIR, 1, "0+1@500 2097151+1@600", FSCK_IDS, "0+1@500 2097151+1@600"},
	{XW_S_IFDIR, 1, "0+1@500 2097152+1@600", FSCK_DIR_TOO_BIG, "0+1@500"},
	/* there is room for it up to the size, and a directory has no holes */
	{XW_S_IFDIR, 9, "0+1@500 2097151+1@600", FSCK_EXTENT_PLACE, "0+1@500 1+1@600"},
	{XW_S_IFREG, 2097153, "0+1@500 2097152+1@600", FSCK_IDS, "0+1@500 2097152+1@600"},
	{XW_S_IFREG, 9, "0+1@500 2097152+1@600", FSCK_EXTENT_PLACE, "0+1@500 8+1@600"},
};

START_TEST(leaf)
{
	static const char far[] = "7+3@500", big[] = "0+1@500 2097152+1@600";

	begin(_i);
	for (size_t i = 0; i < XW_ARRAY_SIZE(leaves); i++) {
		const bool wrong = leaves[i].id != FSCK_IDS;

		row = i;
		load(leaves[i].type, XW_FL_EXTENTS, leaves[i].blocks * BS);
		fill(l.in.block, leaves[i].have, 4);
		l.in.blocks = blocks_of(leaves[i].have) * (BS / 512);
		ok(fsck_look_map(&l));
		expect(leaves[i].id);
		ck_assert_int_eq(l.dirty, wrong && agreed);
		ck_assert(agreed || !l.map.damaged);
		ck_assert_int_eq(l.map.lost, wrong && leaves[i].id != FSCK_EXTENT_PLACE &&
						     leaves[i].id != FSCK_EXTENT_LONG &&
						     leaves[i].id != FSCK_DIR_UNWRITTEN);
		expect_root(agreed ? leaves[i].left : leaves[i].have);
	}
	/* what the tables cannot say */
	f.ses.img->sb.feature_incompat |= XW_INCOMPAT_LARGEDIR;
	load(XW_S_IFDIR, XW_FL_EXTENTS, BS);
	l.in.blocks = 2 * (BS / 512);
	fill(l.in.block, big, 4);
	ok(fsck_look_map(&l));
	expect(FSCK_IDS);
	load(XW_S_IFREG, XW_FL_EXTENTS, 3 * BS);
	l.in.blocks = 3 * (BS / 512);
	fill(l.in.block, far, 4);
	l.ino = 10; /* a reserved one, too */
	ok(fsck_look_map(&l));
	expect(FSCK_EXTENT_PLACE);
	l.has_map = false;
	l.in.block[0] = 0;
	ok(fsck_look_map(&l));
	expect(FSCK_IDS);
	ck_assert_uint_eq(l.map.runs.n, 0);
	end();
}
END_TEST

/* Headers of the root. */
static const struct {
	unsigned n, max, depth;
	bool magic;
	enum fsck_id id, id2;
} roots[] = {
	{2, 4, 0, true, FSCK_IDS, FSCK_IDS},
	{2, 4, 0, false, FSCK_EXTENT_HEADER, FSCK_IDS},
	{2, 1, 0, true, FSCK_EXTENT_ENTRIES, FSCK_IDS},
	{2, 5, 0, true, FSCK_EXTENT_ENTRIES, FSCK_IDS},
	{9, 4, 0, true, FSCK_EXTENT_ENTRIES, FSCK_IDS},
	{2, 0, 0, true, FSCK_EXTENT_ENTRIES, FSCK_IDS},
	{2, 4, 7, true, FSCK_EXTENT_DEPTH, FSCK_IDS},
	{2, 4, 1, true, FSCK_MAP_BLOCK_RANGE, FSCK_MAP_BLOCK_RANGE}, /* leaves as indexes */
};

START_TEST(root_header)
{
	static const char have[] = "0+5@500 5+3@600";

	begin(_i);
	for (size_t i = 0; i < XW_ARRAY_SIZE(roots); i++) {
		load(XW_S_IFREG, XW_FL_EXTENTS, 8 * BS);
		fill(l.in.block, have, 4);
		header(l.in.block, roots[i].n, roots[i].max, roots[i].depth);
		if (!roots[i].magic)
			poke16(l.in.block, 0);
		ok(fsck_look_map(&l));
		if (roots[i].id2 != FSCK_IDS) {
			ck_assert_uint_eq(found[roots[i].id], 2);
			found[roots[i].id] = 1;
		}
		expect(roots[i].id);
		ck_assert_int_eq(l.dirty, agreed && i);
		if (agreed)
			expect_root(have);
	}
	end();
}
END_TEST

/* ---- nodes ---- */

/* Two nodes of two extents each; a row spoils something. */
static void load_tree(void)
{
	static const char first[] = "0+5@600 5+3@610";
	static const char second[] = "9+1@620 12+2@630";
	uint8_t node[BS] = {0};

	load(XW_S_IFREG, XW_FL_EXTENTS, 14 * BS);
	header(l.in.block, 2, 4, 1);
	index_at(0, 0, NODE);
	index_at(1, 9, NODE + 1);
	fill(node, first, 84);
	seal_and_put(node, NODE);
	fill(node, second, 84);
	seal_and_put(node, NODE + 1);
}

enum spoil {
	MAGIC,
	ENTRIES,
	DEPTH,
	CSUM,
	EMPTY,
	START,
	PARENT_END,
	RANGE,
	METADATA,
	TWICE,
	HIGH,
	BIT,
	OTHER
};

static const struct {
	enum spoil what;
	enum fsck_id id;
	bool csum; /* the checksum of the node is made right */
	const char *left;
	size_t nodes; /* of the old blocks that are its own */
	bool lost;
} nodes[] = {
	{MAGIC, FSCK_EXTENT_HEADER, false, "0+5@600 5+3@610", 2, false},
	{ENTRIES, FSCK_EXTENT_ENTRIES, true, "0+5@600 5+3@610 9+1@620 12+2@630", 2, false},
	{DEPTH, FSCK_EXTENT_DEPTH, true, "0+5@600 5+3@610 9+1@620 12+2@630", 2, false},
	{CSUM, FSCK_EXTENT_CSUM, false, "0+5@600 5+3@610 9+1@620 12+2@630", 2, false},
	{EMPTY, FSCK_EXTENT_EMPTY, true, "0+5@600 5+3@610", 2, false},
	{START, FSCK_EXTENT_START, true, "0+5@600 5+3@610 10+1@620 12+2@630", 2, false},
	{PARENT_END, FSCK_EXTENT_END, true, "0+5@600 5+3@610 9+1@620 12+2@630", 2, false},
	{RANGE, FSCK_MAP_BLOCK_RANGE, false, "0+5@600 5+3@610", 1, true},
	{METADATA, FSCK_MAP_BLOCK_METADATA, false, "0+5@600 5+3@610", 1, true},
	{TWICE, FSCK_MAP_BLOCK_TWICE, false, "0+5@600 5+3@610", 1, true},
	{HIGH, FSCK_EXTENT_INDEX, false, "0+5@600 5+3@610 9+1@620 12+2@630", 2, false},
	{BIT, FSCK_EXTENT_INDEX, false, "0+5@600 5+3@610 9+1@620 12+2@630", 2, false},
	{OTHER, FSCK_EXTENT_INDEX, false, "0+5@600 5+3@610 9+1@620 12+2@630", 2, false},
};

static void spoil(enum spoil what, bool csum)
{
	uint8_t node[BS];

	memcpy(node, at(NODE + 1), BS);
	switch (what) {
	case MAGIC:
		memset(node, 0x55, 12);
		break;
	case ENTRIES:
		poke16(node + 4, 300); /* eh_max */
		break;
	case DEPTH:
		poke16(node + 6, 1);
		break;
	case CSUM:
		node[12 + 12 * 84] ^= 1;
		break;
	case EMPTY:
		poke16(node + 2, 0);
		break;
	case START:
		poke32(node + 12, 10);
		break;
	case PARENT_END:
		memcpy(node, at(NODE), BS);
		poke16(node + 28, 6); /* from 5 to 10, and the next node begins at 9 */
		seal_and_put(node, NODE);
		return;
	case RANGE:
		index_at(1, 9, BLOCKS);
		return;
	case METADATA:
		index_at(1, 9, META);
		return;
	case TWICE: /* and its own node is lost */
		index_at(1, 9, NODE);
		memset(node, 0, BS);
		break;
	case HIGH:
		index_at(1, 9, (UINT64_C(0x104) << 32) + NODE + 1);
		return;
	case BIT:
		index_at(1, 9, (NODE + 1) ^ 1 << 7);
		return;
	default: /* a node of this inode, but not that one */
		index_at(1, 9, NODE);
		return;
	}
	if (csum)
		seal_and_put(node, NODE + 1);
	else
		put(NODE + 1, node, BS);
}

START_TEST(tree)
{
	begin(_i);
	load_tree();
	ok(fsck_look_map(&l));
	expect(FSCK_IDS);
	ck_assert_uint_eq(l.map.runs.n, 4);
	ck_assert_uint_eq(l.map.depth, 1);
	ck_assert_uint_eq(l.map.nodes.n, 2);
	for (size_t i = 0; i < XW_ARRAY_SIZE(nodes); i++) {
		uint8_t was[60];

		load_tree();
		spoil(nodes[i].what, nodes[i].csum);
		memcpy(was, l.in.block, sizeof(was));
		ok(fsck_look_map(&l));
		if (nodes[i].what == PARENT_END) {
			/* and the next one is behind what it reaches to */
			ck_assert_uint_eq(found[FSCK_EXTENT_END], 1);
			ck_assert_uint_eq(found[FSCK_EXTENT_PLACE], 1);
			forget_findings();
			continue;
		}
		expect(nodes[i].id);
		ck_assert_uint_eq(xw_blockset_count(l.met, 0, BLOCKS), 0); /* for the next inode */
		ck_assert_int_eq(l.map.lost, nodes[i].lost);
		ck_assert_int_eq(l.dirty, agreed);
		if (agreed) {
			expect_root(nodes[i].left);
			ck_assert_uint_eq(l.map.nodes.n, 0); /* none is needed any more */
			continue;
		}
		ck_assert_mem_eq(l.in.block, was, sizeof(was));
		ck_assert_uint_eq(l.map.nodes.n, nodes[i].nodes);
	}
	end();
}
END_TEST

/* A finding has the members that its text names, and no others: --json prints them. */
static const struct {
	const char *have;
	uint64_t blocks; /* i_size in blocks */
	struct fsck_about about;
} told[] = {
	{"0+5@500 8+2@16384", 5, {.id = FSCK_BLOCK_RANGE, .lblk = 8, .blk = 16384, .num = 2}},
	{"0+5@500 7+0@600", 9, {.id = FSCK_EXTENT_LENGTH, .lblk = 7}},
	{"5+3@500 2+1@600", 10, {.id = FSCK_EXTENT_ORDER, .lblk = 2, .num = 8}},
	{"0+5@500 3+5@503 8+1@700", 9, {.id = FSCK_EXTENT_LONG, .num = 3}},
	{"7+3@500", 3, {.id = FSCK_EXTENT_PLACE, .lblk = 7}},
	{"4294967294+5@500", 4294967294, {.id = FSCK_BLOCK_WRAP, .lblk = 4294967294, .num = 5}},
};

START_TEST(members)
{
	const struct fsck_about *a = &told[_i].about;

	begin(false);
	load(XW_S_IFREG, XW_FL_EXTENTS, told[_i].blocks * BS);
	fill(l.in.block, told[_i].have, 4);
	l.in.blocks = blocks_of(told[_i].have) * (BS / 512);
	ok(fsck_look_map(&l));
	ck_assert_msg(last.id == a->id && last.ino == INO && last.lblk == a->lblk &&
			      last.blk == a->blk && last.num == a->num && last.num2 == a->num2,
		      "%s: finding %d, lblk %llu, blk %llu, num %llu, num2 %llu", told[_i].have,
		      (int)last.id, (unsigned long long)last.lblk, (unsigned long long)last.blk,
		      (unsigned long long)last.num, (unsigned long long)last.num2);
	end();
}
END_TEST

/* eh_entries are too few, and i_blocks counts what the entries behind map. */
static const struct {
	bool root; /* its last entry is left out, else that of the first node */
	uint64_t blocks; /* i_blocks in blocks: the tree has 11, and 2 nodes */
	uint64_t file_acl;
	uint32_t flags;
	enum fsck_id id;
} few[] = {
	{true, 13, 0, 0, FSCK_EXTENT_ENTRIES},
	{false, 13, 0, 0, FSCK_EXTENT_ENTRIES},
	{false, 14, 300, 0, FSCK_EXTENT_ENTRIES},
	{false, 13, 300, 0, FSCK_IDS},
	{true, 12, 0, 0, FSCK_IDS},
	{false, 12, 0, 0, FSCK_IDS},
	{false, 14, 0, 0, FSCK_IDS},
	{false, 10, 0, 0, FSCK_IDS}, /* as many as the entries say */
	{false, 13, 0, XW_FL_ITREE, FSCK_IDS}, /* the others may be those of an itree */
};

START_TEST(few_entries)
{
	begin(_i);
	f.ses.img->sb.feature_incompat &= ~XW_INCOMPAT_EA_INODE;
	for (size_t i = 0; i < XW_ARRAY_SIZE(few); i++) {
		uint8_t node[BS];

		row = i;
		load_tree();
		l.in.flags |= few[i].flags;
		l.in.blocks = few[i].blocks * (BS / 512);
		l.in.file_acl = few[i].file_acl;
		if (few[i].root) {
			poke16(l.in.block + 2, 1);
		} else {
			memcpy(node, at(NODE), BS);
			poke16(node + 2, 1);
			seal_and_put(node, NODE);
		}
		ok(fsck_look_map(&l));
		expect(few[i].id);
		ck_assert_int_eq(l.dirty, agreed && few[i].id != FSCK_IDS);
		if (l.dirty)
			expect_root("0+5@600 5+3@610 9+1@620 12+2@630");
		else
			ck_assert_uint_eq(l.map.runs.n, few[i].root ? 2 : 3);
		ck_assert_uint_eq(xw_blockset_count(l.met, 0, BLOCKS), 0);
	}
	end();
}
END_TEST

/* Past the size, and not in i_blocks. */
static const struct {
	uint16_t type;
	uint64_t size, blocks; /* in blocks */
	const char *have;
	enum fsck_id id;
	const char *left;
} past[] = {
	{XW_S_IFREG, 5, 5, "0+5@500 7+2@600", FSCK_BLOCK_PAST_SIZE, "0+5@500"},
	{XW_S_IFREG, 5, 5, "0+5@500 7+2@600u", FSCK_BLOCK_PAST_SIZE, "0+5@500"},
	{XW_S_IFREG, 5, 5, "0+5@500 5+1@600 9+1@700", FSCK_BLOCK_PAST_SIZE, "0+5@500"},
	{XW_S_IFREG, 5, 5, "0+7@500", FSCK_EXTENT_LONG, "0+5@500"},
	{XW_S_IFREG, 5, 5, "0+7@500 9+1@700", FSCK_EXTENT_LONG, "0+5@500"},
	{XW_S_IFDIR, 5, 5, "0+5@500 5+2@600", FSCK_BLOCK_PAST_SIZE, "0+5@500"},
	/* counted */
	{XW_S_IFREG, 5, 7, "0+5@500 7+2@600", FSCK_IDS, "0+5@500 7+2@600"},
	{XW_S_IFREG, 5, 6, "0+5@500 7+2@600", FSCK_IDS, "0+5@500 7+2@600"},
	{XW_S_IFREG, 0, 0, "7+2@600", FSCK_IDS, "7+2@600"},
	{XW_S_IFLNK, 5, 5, "0+5@500 7+2@600", FSCK_IDS, "0+5@500 7+2@600"},
};

START_TEST(past_the_size)
{
	begin(_i);
	for (row = 0; row < XW_ARRAY_SIZE(past); row++) {
		load(past[row].type, XW_FL_EXTENTS, past[row].size * BS);
		fill(l.in.block, past[row].have, 4);
		l.in.blocks = past[row].blocks * (BS / 512);
		ok(fsck_look_map(&l));
		expect(past[row].id);
		expect_root(agreed ? past[row].left : past[row].have);
	}
	/* pointers: within an indirect block; to an indirect block without pointers */
	for (row = 0; row < 5; row++) {
		uint8_t node[BS] = {0};

		load(XW_S_IFREG, 0, 14 * BS);
		for (uint32_t i = 0; i < 12; i++)
			poke32(l.in.block + 4 * i, 600 + i);
		poke32(l.in.block + 48, NODE);
		for (uint32_t i = 0; i < 2; i++)
			poke32(node + 4 * i, 620 + i);
		l.in.blocks = 15 * (BS / 512);
		if (row == 1 || row == 4)
			poke32(node + 4 * 9, 700);
		f.ses.img->sb.feature_compat |= XW_COMPAT_HAS_JOURNAL;
		if (row == 4) /* the node may be newer than the record */
			f.ses.img->sb.feature_compat &= ~XW_COMPAT_HAS_JOURNAL;
		if (row == 2)
			poke32(l.in.block + 52, NODE + 1);
		if (row == 3)
			l.in.size = 9 * BS; /* i_blocks counts what is behind it */
		put(NODE, node, BS);
		put(NODE + 1, at(5000), BS);
		ok(fsck_look_map(&l));
		expect(row == 1 || row == 2 ? FSCK_BLOCK_PAST_SIZE : FSCK_IDS);
		ck_assert_uint_eq(peek32(l.in.block + 52), row == 2 && !agreed ? NODE + 1 : 0);
		ck_assert_uint_eq(peek32(l.in.block + 48), NODE);
		ck_assert_uint_eq(l.map.bad.n, agreed && (row == 1 || row == 2));
	}
	end();
}
END_TEST

/* One entry in each node, and a root deeper than any may be. */
START_TEST(too_deep)
{
	static const char extents[] = "0+5@600";
	struct xw_extent_hdr h;
	struct xw_extent_idx e;
	uint8_t node[BS] = {0};

	begin(_i);
	load(XW_S_IFREG, XW_FL_EXTENTS, 5 * BS);
	header(l.in.block, 1, 4, 7);
	index_at(0, 0, NODE + 6);
	fill(node, extents, 84);
	seal_and_put(node, NODE);
	for (unsigned depth = 1; depth < 7; depth++) {
		header(node, 1, 84, depth);
		xw_extent_idx_encode(node, 0, &(struct xw_extent_idx){0, NODE + depth - 1});
		seal_and_put(node, NODE + depth);
	}
	ok(fsck_look_map(&l));
	ck_assert_uint_ge(found[FSCK_EXTENT_DEPTH], 1);
	if (!agreed)
		goto out;
	expect(FSCK_EXTENT_DEPTH);
	ck_assert(l.dirty && !l.map.damaged);
	ck_assert_int_eq(xw_extent_hdr_decode(l.in.block, sizeof(l.in.block), &h), 0);
	ck_assert_uint_eq(h.depth, 5);
	ck_assert_uint_eq(h.entries, 1);
	ck_assert_uint_eq(h.max, 4);
	xw_extent_idx_decode(l.in.block, 0, &e);
	ck_assert_uint_eq(e.pblk, NODE + 4);
	ck_assert_uint_eq(l.map.runs.n, 1);
	ck_assert_uint_eq(l.map.nodes.n, 5);
out:
	end();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_map");
	TCase *t = tcase_create("fsck_map");

	tcase_set_timeout(t, 60);
	unit_add_cases(t, leaf, "declined", "agreed");
	unit_add_table(t, members, told);
	unit_add_cases(t, root_header, "declined", "agreed");
	unit_add_cases(t, tree, "declined", "agreed");
	unit_add_cases(t, few_entries, "declined", "agreed");
	unit_add_cases(t, past_the_size, "declined", "agreed");
	unit_add_cases(t, too_deep, "declined", "agreed");
	suite_add_tcase(s, t);
	return unit_main(s);
}
