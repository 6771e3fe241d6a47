// SPDX-License-Identifier: MIT
/*
 * lib/walk/htree: bytes of index blocks in, every member of every item out: "LBLK:LEVEL.ENTRY
 * LOWER-UPPER", with "leaf" or "RULE(found/wanted)" before it.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/endian.h"
#include "base/err.h"
#include "unit.h"
#include "walk/htree.h"

enum { SEED = 5, BS = 1024, BLOCKS = 10, MEMBERS = 4 };

static const char *const htree_rules[] = {
	"OK",    "HASH_VERSION", "INFO",  "FLAGS",      "DEPTH", "LIMIT", "COUNT",        "ORDER",
	"RANGE", "LBLK",         "TWICE", "NOT A NODE", "CSUM",  "READ",  "UNREFERENCED",
};

/* An index block; block 0 is the root. Limits are right unless said otherwise. */
struct index {
	uint32_t lblk;
	unsigned count;
	struct {
		uint32_t hash, lblk;
	} m[MEMBERS];
	enum { SOUND, HURT_CSUM, NO_NODE, HURT_LIMIT, UNREADABLE, NO_MEMORY } flaw;
};

static const struct tree {
	const char *what;
	unsigned levels; /* stated by the root */
	struct index index[5];
	const char *want;
	struct xw_dx_info info; /* info_length 0: a sound one */
	unsigned levels_max; /* 0: 1 */
	bool siphash, plain;
	uint32_t blocks; /* 0: BLOCKS */
} trees[] = {
	{"leaves",
	 0,
	 {{0, 3, {{0, 1}, {100, 2}, {200, 3}}}},
	 "0:0.0 0-4294967294; leaf1:1.0 0-100; leaf2:1.1 100-200; leaf3:1.2 200-4294967294",
	 .blocks = 4},
	{"leaves without checksums",
	 0,
	 {{0, 3, {{0, 1}, {100, 2}, {200, 3}}}},
	 "0:0.0 0-4294967294; leaf1:1.0 0-100; leaf2:1.1 100-200; leaf3:1.2 200-4294967294",
	 .blocks = 4,
	 .plain = true},
	{"a name's hash goes on in the next leaf",
	 0,
	 {{0, 3, {{0, 1}, {100, 2}, {101, 3}}}},
	 "0:0.0 0-4294967294; leaf1:1.0 0-100; leaf2:1.1 100-101; leaf3:1.2 101-4294967294",
	 .blocks = 4},
	{"two levels",
	 1,
	 {{0, 2, {{0, 1}, {100, 2}}}, {1, 2, {{0, 3}, {50, 4}}}, {2, 2, {{0, 5}, {150, 6}}}},
	 "0:0.0 0-4294967294; 1:1.0 0-100; leaf3:2.0 0-50; leaf4:2.1 50-100; 2:1.1 100-4294967294; "
	 "leaf5:2.0 100-150; leaf6:2.1 150-4294967294",
	 .blocks = 7},
	{"three levels",
	 2,
	 {{0, 1, {{0, 1}}}, {1, 2, {{0, 2}, {60, 3}}}, {2, 1, {{0, 4}}}, {3, 2, {{0, 5}, {70, 6}}}},
	 "0:0.0 0-4294967294; 1:1.0 0-4294967294; 2:2.0 0-60; leaf4:3.0 0-60; 3:2.1 60-4294967294; "
	 "leaf5:3.0 60-70; leaf6:3.1 70-4294967294",
	 .levels_max = 2,
	 .blocks = 7},
	{"blocks that nothing refers to",
	 0,
	 {{0, 1, {{0, 3}}}},
	 "0:0.0 0-4294967294; leaf3:1.0 0-4294967294; UNREFERENCED(0/0)1:0.0 0-0; "
	 "UNREFERENCED(0/0)2:0.0 0-0; UNREFERENCED(0/0)4:0.0 0-0; UNREFERENCED(0/0)5:0.0 0-0",
	 .blocks = 6},
	{"no blocks",
	 0,
	 {{0, 1, {{0, 3}}, .flaw = UNREADABLE}},
	 "0:0.0 0-4294967294; READ(3/0)0:0.0 0-4294967294",
	 .blocks = 0xFFFFFFFF},

	{"hash versions",
	 0,
	 {{0, 1, {{0, 1}}}},
	 "0:0.0 0-4294967294; HASH_VERSION(3/0)0:0.0 0-4294967294; leaf1:1.0 0-4294967294",
	 {3, 8, 0, 0, 0},
	 .blocks = 2},
	{"the last hash version",
	 0,
	 {{0, 1, {{0, 1}}}},
	 "0:0.0 0-4294967294; leaf1:1.0 0-4294967294",
	 {2, 8, 0, 0, 0},
	 .blocks = 2},
	{"siphash",
	 0,
	 {{0, 1, {{0, 1}}}},
	 "0:0.0 0-4294967294; leaf1:1.0 0-4294967294",
	 {6, 8, 0, 0, 0},
	 .blocks = 2,
	 .siphash = true},
	{"siphash is due",
	 0,
	 {{0, 1, {{0, 1}}}},
	 "0:0.0 0-4294967294; HASH_VERSION(1/0)0:0.0 0-4294967294; leaf1:1.0 0-4294967294",
	 {1, 8, 0, 0, 0},
	 .blocks = 2,
	 .siphash = true},
	{"info length",
	 0,
	 {{0, 1, {{0, 1}}}},
	 "0:0.0 0-4294967294; INFO(9/8)0:0.0 0-4294967294; leaf1:1.0 0-4294967294",
	 {1, 9, 0, 0, 0},
	 .blocks = 2},
	{"flags",
	 0,
	 {{0, 1, {{0, 1}}}},
	 "0:0.0 0-4294967294; FLAGS(1/0)0:0.0 0-4294967294; leaf1:1.0 0-4294967294",
	 {1, 8, 0, 1, 0},
	 .blocks = 2},
	{"other flags",
	 0,
	 {{0, 1, {{0, 1}}}},
	 "0:0.0 0-4294967294; leaf1:1.0 0-4294967294",
	 {1, 8, 0, 2, 0},
	 .blocks = 2},
	{"the reserved word",
	 0,
	 {{0, 1, {{0, 1}}}},
	 "0:0.0 0-4294967294; FLAGS(0/0)0:0.0 0-4294967294; leaf1:1.0 0-4294967294",
	 {1, 8, 0, 0, 5},
	 .blocks = 2},
	{"too deep",
	 0,
	 {{0, 1, {{0, 1}}}},
	 "0:0.0 0-4294967294; DEPTH(2/1)0:0.0 0-4294967294; UNREFERENCED(0/0)1:0.0 0-0",
	 {1, 8, 2, 0, 0},
	 .blocks = 2},
	{"too deep for all",
	 0,
	 {{0, 1, {{0, 1}}}},
	 "0:0.0 0-4294967294; DEPTH(3/3)0:0.0 0-4294967294; UNREFERENCED(0/0)1:0.0 0-0",
	 {1, 8, 3, 0, 0},
	 .levels_max = 3,
	 .blocks = 2},

	{"another limit",
	 0,
	 {{0, 1, {{0, 1}}, .flaw = HURT_LIMIT}},
	 "0:0.0 0-4294967294; LIMIT(122/123)0:0.0 0-4294967294; leaf1:1.0 0-4294967294",
	 .blocks = 2},
	{"count 0",
	 0,
	 {{0, 0, {{0, 1}}}},
	 "0:0.0 0-4294967294; COUNT(0/123)0:0.0 0-4294967294; UNREFERENCED(0/0)1:0.0 0-0",
	 .blocks = 2},
	{"a count above the limit",
	 0,
	 {{0, 124, {{0, 1}}}},
	 "0:0.0 0-4294967294; COUNT(124/123)0:0.0 0-4294967294; UNREFERENCED(0/0)1:0.0 0-0",
	 .blocks = 2},
	{"a checksum",
	 0,
	 {{0, 1, {{0, 1}}, .flaw = HURT_CSUM}},
	 "0:0.0 0-4294967294; CSUM(0/0)0:0.0 0-4294967294; leaf1:1.0 0-4294967294",
	 .blocks = 2},
	{"a checksum where there is none",
	 0,
	 {{0, 1, {{0, 1}}, .flaw = HURT_CSUM}},
	 "0:0.0 0-4294967294; leaf1:1.0 0-4294967294",
	 .blocks = 2,
	 .plain = true},
	{"unreadable",
	 0,
	 {{0, 1, {{0, 1}}, .flaw = UNREADABLE}},
	 "0:0.0 0-4294967294; READ(3/0)0:0.0 0-4294967294; UNREFERENCED(0/0)1:0.0 0-0",
	 .blocks = 2},
	{"no memory", 0, {{0, 1, {{0, 1}}, .flaw = NO_MEMORY}}, "error 1", .blocks = 2},
	{"no node",
	 1,
	 {{0, 2, {{0, 1}, {100, 2}}}, {1, 1, {{0, 3}}, .flaw = NO_NODE}, {2, 1, {{0, 4}}}},
	 "0:0.0 0-4294967294; 1:1.0 0-100; NOT A NODE(0/0)1:1.0 0-100; 2:1.1 100-4294967294; "
	 "leaf4:2.0 100-4294967294; UNREFERENCED(0/0)3:0.0 0-0",
	 .blocks = 5},
	{"an unreadable node",
	 1,
	 {{0, 2, {{0, 1}, {100, 2}}}, {1, 1, {{0, 3}}, .flaw = UNREADABLE}, {2, 1, {{0, 4}}}},
	 "0:0.0 0-4294967294; 1:1.0 0-100; READ(3/0)1:1.0 0-100; 2:1.1 100-4294967294; leaf4:2.0 "
	 "100-4294967294; UNREFERENCED(0/0)3:0.0 0-0",
	 .blocks = 5},
	{"no memory for a node",
	 1,
	 {{0, 2, {{0, 1}, {100, 2}}}, {1, 1, {{0, 3}}, .flaw = NO_MEMORY}, {2, 1, {{0, 4}}}},
	 "0:0.0 0-4294967294; error 1",
	 .blocks = 5},
	{"a node's checksum",
	 1,
	 {{0, 2, {{0, 1}, {100, 2}}}, {1, 1, {{0, 3}}}, {2, 1, {{0, 4}}, .flaw = HURT_CSUM}},
	 "0:0.0 0-4294967294; 1:1.0 0-100; leaf3:2.0 0-100; 2:1.1 100-4294967294; CSUM(0/0)2:1.1 "
	 "100-4294967294; leaf4:2.0 100-4294967294",
	 .blocks = 5},
	{"a node's limit",
	 1,
	 {{0, 2, {{0, 1}, {100, 2}}}, {1, 1, {{0, 3}}}, {2, 1, {{0, 4}}, .flaw = HURT_LIMIT}},
	 "0:0.0 0-4294967294; 1:1.0 0-100; leaf3:2.0 0-100; 2:1.1 100-4294967294; "
	 "LIMIT(125/126)2:1.1 100-4294967294; leaf4:2.0 100-4294967294",
	 .blocks = 5},

	{"order",
	 0,
	 {{0, 4, {{0, 1}, {100, 2}, {90, 3}, {200, 4}}}},
	 "0:0.0 0-4294967294; leaf1:1.0 0-100; leaf2:1.1 100-90; ORDER(90/100)0:0.2 0-0; leaf3:1.2 "
	 "90-200; leaf4:1.3 200-4294967294",
	 .blocks = 5},
	{"equal hashes",
	 0,
	 {{0, 4, {{0, 1}, {100, 2}, {100, 3}, {101, 4}}}},
	 "0:0.0 0-4294967294; leaf1:1.0 0-100; leaf2:1.1 100-100; leaf3:1.2 100-101; leaf4:1.3 "
	 "101-4294967294",
	 .blocks = 5},
	{"range",
	 1,
	 {{0, 2, {{0, 1}, {100, 2}}},
	  {1, 3, {{0, 3}, {100, 4}, {102, 5}}},
	  {2, 2, {{0, 6}, {98, 7}}}},
	 "0:0.0 0-4294967294; 1:1.0 0-100; leaf3:2.0 0-100; leaf4:2.1 100-102; RANGE(102/100)1:0.2 "
	 "0-0; leaf5:2.2 102-100; 2:1.1 100-4294967294; leaf6:2.0 100-98; ORDER(98/100)2:0.1 0-0; "
	 "leaf7:2.1 98-4294967294",
	 .blocks = 8},
	{"outside",
	 0,
	 {{0, 4, {{0, 0}, {100, 5}, {200, 4}, {300, 6}}}},
	 "0:0.0 0-4294967294; LBLK(0/5)0:0.0 0-0; LBLK(5/5)0:0.1 0-0; leaf4:1.2 200-300; "
	 "LBLK(6/5)0:0.3 0-0; UNREFERENCED(0/0)1:0.0 0-0; UNREFERENCED(0/0)2:0.0 0-0; "
	 "UNREFERENCED(0/0)3:0.0 0-0",
	 .blocks = 5},
	{"twice",
	 0,
	 {{0, 3, {{0, 1}, {100, 2}, {200, 1}}}},
	 "0:0.0 0-4294967294; leaf1:1.0 0-100; leaf2:1.1 100-200; TWICE(0/0)1:1.2 0-0",
	 .blocks = 3},
	{"itself",
	 1,
	 {{0, 2, {{0, 1}, {100, 2}}}, {1, 2, {{0, 1}, {50, 3}}}, {2, 1, {{0, 4}}}},
	 "0:0.0 0-4294967294; 1:1.0 0-100; TWICE(0/0)1:2.0 0-0; leaf3:2.1 50-100; 2:1.1 "
	 "100-4294967294; leaf4:2.0 100-4294967294",
	 .blocks = 5},
};

static int read_index(void *arg, uint32_t lblk, void *buf)
{
	const struct tree *t = arg;
	const unsigned off = lblk ? XW_DX_NODE_ENTRIES : XW_DX_ROOT_ENTRIES;
	const struct index *x = NULL;
	uint8_t *b = buf;
	unsigned limit;

	for (unsigned i = 0; i < 5; i++)
		if (t->index[i].lblk == lblk && (!i || lblk))
			x = &t->index[i];
	ck_assert_ptr_nonnull(x);
	if (x->flaw == UNREADABLE || x->flaw == NO_MEMORY)
		return x->flaw == NO_MEMORY ? XW_ERR_NOMEM : XW_ERR_IO;
	memset(b, 0, BS);
	poke16(b + 4, x->flaw == NO_NODE ? 12 : BS);
	if (!lblk) {
		struct xw_dx_info info = {.hash_version = 1, .info_length = 8};

		info.indirect_levels = (uint8_t)t->levels;
		xw_dx_info_encode(b, t->info.info_length ? &t->info : &info);
	}
	limit = lblk ? xw_dx_node_limit(BS, !t->plain) : xw_dx_root_limit(BS, !t->plain);
	for (unsigned i = 0; i < MEMBERS; i++)
		xw_dx_entry_encode(b, off, i, &(struct xw_dx_entry){x->m[i].hash, x->m[i].lblk});
	xw_dx_set_limit(b, off, limit - (x->flaw == HURT_LIMIT), x->count);
	xw_dx_block_set_csum(b, BS, off, SEED);
	if (x->flaw == HURT_CSUM)
		b[off + 8 * limit + 4] ^= 1;
	return 0;
}

START_TEST(hash_trees)
{
	const struct tree *t = &trees[_i];
	const struct xw_htree_env env = {.block_size = BS,
					 .seed = SEED,
					 .blocks = !t->blocks                ? BLOCKS
						   : t->blocks == UINT32_MAX ? 0
									     : t->blocks,
					 .levels_max = t->levels_max ? t->levels_max : 1,
					 .csum = !t->plain,
					 .siphash = t->siphash,
					 .read = read_index,
					 .arg = (void *)(uintptr_t)t};
	struct xw_htree_item i;
	struct xw_htree it;
	char got[2048] = "";
	size_t n = 0;
	int kind;

	ck_assert_int_eq(xw_htree_begin(&it, &env), 0);
	while ((kind = xw_htree_next(&it, &i)) > 0) {
		ck_assert_uint_lt(n, sizeof(got) - 200);
		if (kind == 2)
			n += (size_t)snprintf(got + n, sizeof(got) - n, "%s(%llu/%llu)",
					      htree_rules[i.rule], (unsigned long long)i.found,
					      (unsigned long long)i.wanted);
		n += (size_t)snprintf(got + n, sizeof(got) - n, "%s%u:%u.%u %u-%u; ",
				      i.leaf ? "leaf" : "", i.lblk, i.level, i.entry, i.lower,
				      i.upper);
	}
	if (kind)
		n += (size_t)snprintf(got + n, sizeof(got) - n, "error %d; ", -kind);
	got[n - (n ? 2 : 0)] = 0;
	xw_htree_end(&it);
	ck_assert_msg(!strcmp(got, t->want), "%s\n# got  %s\n# want %s", t->what, got, t->want);
}
END_TEST

START_TEST(ranges)
{
	const struct xw_htree_item leaf = {.lower = 101, .upper = 200};

	ck_assert(!xw_htree_in_range(&leaf, 99));
	ck_assert(xw_htree_in_range(&leaf, 100));
	ck_assert(xw_htree_in_range(&leaf, 200));
	ck_assert(!xw_htree_in_range(&leaf, 202));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("walk_htree");
	TCase *t = tcase_create("walk_htree");

	unit_add_rows(t, hash_trees, trees, what);
	tcase_add_test(t, ranges);
	suite_add_tcase(s, t);
	return unit_main(s);
}
