/* SPDX-License-Identifier: MIT */
/* Interned sets: encoded once, told apart, shared; EA values by id. */
#include "unit.h"

#include "disk/xattrblk.h"
#include "xattr/ea_inode.h"
#include "xattr/intern.h"
#include "xattr/layout.h"

#include <stdio.h>
#include <string.h>

#define BS 4096u
#define IBODY 96u

static struct xw_xintern *new_interner(bool ea_inode)
{
	struct xw_xintern_opts o = {
		.ibody = IBODY, .block_size = BS, .ea_inode = ea_inode, .csum_seed = 0x12345678};
	struct xw_xintern *x = NULL;

	ck_assert_int_eq(xw_xintern_new(&o, &x), 0);
	return x;
}

static void put(struct xw_xattr_set *s, const char *name, const void *value, size_t len)
{
	ck_assert_int_eq(xw_xattr_set_put(s, name, strlen(name), value, len, NULL), 0);
}

static const struct xw_xplaced *get(struct xw_xintern *x, const struct xw_xattr_set *s)
{
	const struct xw_xplaced *p = NULL;

	ck_assert_int_eq(xw_xintern_get(x, s, NULL, &p), 0);
	return p;
}

static uint64_t sets(struct xw_xintern *x)
{
	struct xw_xintern_stats st;

	xw_xintern_stats(x, &st);
	return st.sets;
}

START_TEST(once)
{
	struct xw_xintern *x = new_interner(false);
	const struct xw_xplaced *seen[50];
	struct xw_xattr_set s = {0};

	ck_assert_ptr_null(get(x, &s));
	for (int i = 0; i < 5000; i++) {
		char label[60];

		snprintf(label, sizeof(label), "system_u:object_r:some_%d_t:s0", i % 50);
		xw_xattr_set_clear(&s);
		/* other bytes before, other order: the same set */
		if (i % 2)
			put(&s, "security.selinux", "junk that is replaced", 10 + (size_t)i % 9);
		put(&s, "user.a", "x", 1);
		put(&s, "security.selinux", label, strlen(label));
		if (i < 50)
			seen[i] = get(x, &s);
		else
			ck_assert_ptr_eq(get(x, &s), seen[i % 50]);
	}
	ck_assert_uint_eq(sets(x), 50);
	xw_xattr_set_free(&s);
	xw_xintern_free(x);
}
END_TEST

/* Sets that differ in one respect each are told apart. */
START_TEST(apart)
{
	static const struct {
		const char *name[2], *value[2];
	} pairs[] = {
		{{"user.a", NULL}, {"x", NULL}},   {{"user.a", NULL}, {"y", NULL}},
		{{"user.a", NULL}, {"", NULL}},    {{"user.a", NULL}, {"xx", NULL}},
		{{"user.b", NULL}, {"x", NULL}},   {{"trusted.a", NULL}, {"x", NULL}},
		{{"user.ax", NULL}, {"", NULL}},   {{"user.a", "user.b"}, {"x", ""}},
		{{"user.a", "user.b"}, {"", "x"}}, {{"user.a", "user.b"}, {"x", "x"}},
		{{"user.a", "user.bx"}, {"", ""}}, {{"user.a", "user.b"}, {"", ""}},
	};
	struct xw_xintern *x = new_interner(false);
	const struct xw_xplaced *p[XW_ARRAY_SIZE(pairs)];
	struct xw_xattr_set s = {0};

	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < XW_ARRAY_SIZE(pairs); i++) {
			xw_xattr_set_clear(&s);
			for (int k = 0; k < 2 && pairs[i].name[k]; k++)
				put(&s, pairs[i].name[k], pairs[i].value[k],
				    strlen(pairs[i].value[k]));
			if (round)
				ck_assert_ptr_eq(get(x, &s), p[i]);
			else
				p[i] = get(x, &s);
			for (size_t k = 0; k < i; k++)
				ck_assert_ptr_ne(p[i], p[k]);
		}
	xw_xattr_set_free(&s);
	xw_xintern_free(x);
}
END_TEST

/* Decode what a placed set stands for. */
static void decode(const struct xw_xplaced *p, struct xw_xattr_set *out)
{
	uint8_t body[IBODY] = {0}, block[BS] = {0};

	memcpy(body, p->ibody, p->ibody_len);
	ck_assert_int_eq(xw_xattr_decode_ibody(body, IBODY, out, NULL), 0);
	if (!p->block.bytes)
		return;
	memcpy(block, p->block.bytes, p->block.head_len);
	memcpy(block + BS - p->block.tail_len, p->block.bytes + p->block.head_len,
	       p->block.tail_len);
	ck_assert_uint_eq(p->block.key,
			  xw_share_key(p->block.bytes, p->block.head_len + p->block.tail_len));
	ck_assert_int_eq(xw_xattr_decode_block(block, BS, out, NULL), 0);
}

/* More sets, in turn, than the sharer's cache holds: each is encoded once and has one block. */
START_TEST(many)
{
	enum { SETS = 20000 };
	struct xw_xintern *x = new_interner(false);
	struct xw_share *share;
	struct xw_xintern_stats st;
	struct xw_xattr_set s = {0}, back = {0};

	ck_assert_int_eq(xw_share_new(BS, XW_CACHE_BUILD, &share), 0);
	for (int i = 0; i < 3 * SETS; i++) {
		const struct xw_xplaced *p;
		struct xw_share_block *b;
		char value[240];

		memset(value, 'a', sizeof(value));
		snprintf(value, sizeof(value), "%d", i % SETS);
		xw_xattr_set_clear(&s);
		put(&s, "user.v", value, 70 + (size_t)(i % 100));
		put(&s, "security.selinux", "label", 5);
		p = get(x, &s);
		ck_assert_int_eq(xw_share_get_packed(share, &p->block, &b), 0);
		ck_assert_ptr_eq(b, xw_share_at(share, (size_t)(i % SETS)));
		if (i % 97)
			continue;
		xw_xattr_set_clear(&back);
		decode(p, &back);
		ck_assert_uint_eq(back.a.n, 2);
		for (size_t k = 0; k < 2; k++) {
			ck_assert_uint_eq(back.a.v[k].value_len, s.a.v[k].value_len);
			ck_assert_mem_eq(back.a.v[k].value, s.a.v[k].value, s.a.v[k].value_len);
		}
	}
	xw_xintern_stats(x, &st);
	ck_assert_uint_eq(st.sets, SETS);
	ck_assert_uint_eq(st.lookups, 3 * SETS);
	ck_assert_uint_gt(st.bytes, 100 * SETS);
	ck_assert_uint_eq(xw_share_count(share), SETS);
	xw_xattr_set_free(&s);
	xw_xattr_set_free(&back);
	xw_share_free(share);
	xw_xintern_free(x);
}
END_TEST

START_TEST(blocks_meet_in_the_sharer)
{
	struct xw_xintern *x = new_interner(false);
	struct xw_share *share;
	struct xw_xattr_set s = {0};

	ck_assert_int_eq(xw_share_new(BS, XW_CACHE_BUILD, &share), 0);
	for (int i = 0; i < 3000; i++) {
		const struct xw_xplaced *p;
		struct xw_share_block *b;
		char label[40];
		char acl[400];
		size_t off = (size_t)snprintf(acl, sizeof(acl),
					      "user::rwx,group::r-x,mask::rwx,other::---");

		for (int u = 0; u < 16; u++)
			off += (size_t)snprintf(acl + off, sizeof(acl) - off, ",user:%d:r--",
						1000 * (i % 20) + u);
		xw_xattr_set_clear(&s);
		snprintf(label, sizeof(label), "system_u:object_r:t%02d", i % 50);
		put(&s, "security.selinux", label, strlen(label));
		ck_assert_int_eq(xw_xattr_set_put_acl_text(&s, false, acl, off, NULL, NULL), 0);
		p = get(x, &s);
		ck_assert_ptr_nonnull(p->ibody);
		ck_assert_ptr_nonnull(p->block.bytes);
		ck_assert_int_eq(xw_share_get_packed(share, &p->block, &b), 0);
	}
	ck_assert_uint_eq(sets(x), 100);
	/* labels are in the inodes: as many blocks as ACLs */
	ck_assert_uint_eq(xw_share_count(share), 20);
	xw_xattr_set_free(&s);
	xw_share_free(share);
	xw_xintern_free(x);
}
END_TEST

START_TEST(ea_values)
{
	static uint8_t big[65536];
	struct xw_xintern *x = new_interner(true);
	struct xw_xattr_set s = {0}, back = {0};
	const struct xw_xplaced *p;

	for (uint32_t i = 0; i < 300; i++) {
		const struct xw_ea_value *v;
		uint32_t n = i % 150;

		memset(big, (int)n, sizeof(big));
		xw_xattr_set_clear(&s);
		put(&s, "user.big", big, 5000 + n);
		put(&s, "user.fill", "1", 1);
		p = get(x, &s);
		ck_assert_uint_eq(p->n_ea, 1);
		ck_assert_uint_eq(p->ea_clusters, 2);
		xw_xattr_set_clear(&back);
		decode(p, &back);
		ck_assert_uint_eq(back.a.v[0].value_inum, n + 1);
		ck_assert_uint_eq(back.a.v[0].value_len, 5000 + n);
		v = xw_xintern_ea(x, n + 1);
		ck_assert_uint_eq(v->len, 5000 + n);
		ck_assert_mem_eq(v->value, big, v->len);
		ck_assert_uint_eq(v->hash, xw_xattr_value_hash(0x12345678, big, v->len));
	}
	ck_assert_uint_eq(xw_xintern_ea_count(x), 150);
	/* one value under two names is one EA inode, and two charges */
	xw_xattr_set_clear(&s);
	memset(big, 3, sizeof(big));
	put(&s, "user.one", big, 5003);
	put(&s, "user.two", big, 5003);
	p = get(x, &s);
	ck_assert_uint_eq(p->n_ea, 2);
	ck_assert_uint_eq(p->ea_clusters, 4);
	ck_assert_uint_eq(xw_xintern_ea_count(x), 150);
	xw_xattr_set_free(&s);
	xw_xattr_set_free(&back);
	xw_xintern_free(x);
}
END_TEST

START_TEST(too_large)
{
	static uint8_t big[5000];
	struct xw_xintern *x = new_interner(false);
	struct xw_xattr_set s = {0};
	const struct xw_xplaced *p;
	struct xw_diag d = {0};

	put(&s, "user.big", big, sizeof(big));
	ck_assert_int_eq(xw_xintern_get(x, &s, &d, &p), XW_ERR_LIMIT);
	ck_assert_ptr_null(p);
	ck_assert_ptr_nonnull(strstr(d.text, "user.big"));
	xw_xattr_set_free(&s);
	xw_xintern_free(x);
}
END_TEST

START_TEST(ea_inode_fields)
{
	struct xw_inode in = {.flags = XW_FL_EXTENTS};

	xw_ea_inode_set(&in, 0xb2f43d6a, 0x500000007);
	ck_assert_int_eq(in.atime.sec, 0xb2f43d6a);
	ck_assert_int_eq(in.ctime.sec, 5);
	ck_assert_uint_eq(in.version, 7);
	ck_assert_uint_eq(in.flags, 0x280000);
	ck_assert_uint_eq(in.mode, 0100600);
	ck_assert_uint_eq(xw_inode_ea_hash(&in), 0xb2f43d6a);
	ck_assert_uint_eq(xw_inode_ea_refs(&in), 0x500000007);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("intern");
	TCase *tc = tcase_create("intern");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, once);
	tcase_add_test(tc, apart);
	tcase_add_test(tc, many);
	tcase_add_test(tc, blocks_meet_in_the_sharer);
	tcase_add_test(tc, ea_values);
	tcase_add_test(tc, too_large);
	tcase_add_test(tc, ea_inode_fields);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
