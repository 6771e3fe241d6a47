/* SPDX-License-Identifier: MIT */
/* Placement and encoding of attribute sets. */
#include "unit.h"

#include "base/endian.h"
#include "disk/xattrblk.h"
#include "xattr/layout.h"

#include <stdio.h>
#include <string.h>

#define IBODY 96u /* of 256-byte inodes */

static void put(struct xw_xattr_set *s, const char *full, size_t len)
{
	static uint8_t value[XW_XATTR_VALUE_MAX];

	memset(value, full[strlen(full) - 1], len);
	ck_assert_int_eq(xw_xattr_set_put(s, full, strlen(full), value, len, NULL), 0);
}

static void put_acl(struct xw_xattr_set *s, size_t named)
{
	char text[2048];
	size_t off =
		(size_t)snprintf(text, sizeof(text), "user::rwx,group::r--,mask::rwx,other::---");

	for (size_t i = 0; i < named; i++)
		off += (size_t)snprintf(text + off, sizeof(text) - off, ",user:%zu:r--", 1000 + i);
	ck_assert_int_eq(xw_xattr_set_put_acl_text(s, false, text, off, NULL, NULL), 0);
}

/*
 * name:value length, ... in put order; "A<n>" an ACL with n named entries. in: what is expected
 * in the inode.
 */
static const struct {
	uint32_t ibody, block;
	bool ea_inode;
	const char *attrs;
	const char *in; /* full names */
	const char *ea; /* names with a value in an EA inode */
	int code;
} cases[] = {
	/* all of it fits: 24 + 44 */
	{96, 4096, false, "security.selinux:43", "security.selinux", "", 0},
	/* exactly 88 bytes behind header and terminator, then one more */
	{96, 4096, false, "user.v:68", "user.v", "", 0},
	{96, 4096, false, "user.v:69", "", "", 0},
	{96, 4096, false, "user.v:0", "user.v", "", 0},
	/* a label and an ACL: the ACL is too large, the label stays */
	{96, 4096, false, "security.selinux:43 A17", "security.selinux", "", 0},
	/* a label and a comment: the comment is the file's own */
	{96, 4096, false, "security.selinux:43 user.comment:4", "user.comment", "", 0},
	{96, 4096, false, "security.selinux:28 user.comment:4", "security.selinux user.comment", "",
	 0},
	/* comment, label and ACL: only the comment is the file's own */
	{96, 4096, false, "security.selinux:43 user.comment:4 A17", "user.comment", "", 0},
	/* a large value of one's own leaves the inode to the label */
	{96, 4096, false, "security.selinux:43 user.blob:300", "security.selinux", "", 0},
	/* signatures before user.*, capability before labels */
	{96, 4096, false, "user.a:40 security.ima:40", "security.ima", "", 0},
	{96, 4096, false, "security.capability:20 security.selinux:43", "security.capability", "",
	 0},
	/* longer first within a class, then name order */
	{96, 4096, false, "user.a:20 user.b:60", "user.b", "", 0},
	{96, 4096, false, "user.a:40 user.b:40", "user.a", "", 0},
	/* small inodes have no room; the smallest room that holds an entry is 28 bytes */
	{0, 4096, false, "user.v:4", "", "", 0},
	{4, 4096, false, "user.v:4", "", "", 0},
	{27, 4096, false, "user.v:0", "", "", 0},
	{28, 4096, false, "user.v:0", "user.v", "", 0},
	{864, 4096, false, "security.selinux:43 user.comment:4 A17 user.blob:300",
	 "security.selinux user.comment system.posix_acl_access user.blob", "", 0},
	/* the block's own limit: 4096 - 32 - 4 - 20 */
	{0, 4096, false, "user.v:4040", "", "", 0},
	{0, 4096, false, "user.v:4041", "", "", XW_ERR_LIMIT},
	{0, 1024, false, "user.v:968", "", "", 0},
	{0, 1024, false, "user.v:969", "", "", XW_ERR_LIMIT},
	{96, 4096, false, "user.v:4040 user.w:68", "user.w", "", 0},
	/*
	 * rule 2 takes user.c (60) and leaves 88 + 928 outside; user.a and user.b are 88, and leave
	 * 988
	 */
	{96, 1024, false, "user.a:24 user.b:24 user.c:40 user.d:908", "user.a user.b", "", 0},
	{96, 1024, false, "user.a:24 user.b:24 user.c:40 user.d:909", "", "", XW_ERR_LIMIT},
	{96, 1024, true, "user.a:24 user.b:24 user.c:40 user.d:909", "user.c user.d", "user.d", 0},
	/* values in EA inodes: only when it does not fit, the longest first, as few as possible */
	{0, 4096, true, "user.v:4040", "", "", 0},
	{0, 4096, true, "user.v:4041", "", "user.v", 0},
	{96, 4096, true, "user.v:65536", "user.v", "user.v", 0},
	{96, 4096, true, "user.a:3000 user.b:2000 user.c:100", "user.a", "user.a", 0},
	{96, 4096, true, "user.a:5000 user.b:6000 user.c:100", "user.a user.b", "user.a user.b", 0},
};

static bool listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = list; (p = strstr(p, name)) != NULL; p += len)
		if ((p == list || p[-1] == ' ') && (p[len] == ' ' || p[len] == '\0'))
			return true;
	return false;
}

static void fill(struct xw_xattr_set *s, const char *attrs)
{
	char copy[256], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", attrs);
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		char *colon = strchr(w, ':');

		if (!colon) {
			put_acl(s, strtoul(w + 1, NULL, 10));
			continue;
		}
		*colon = '\0';
		put(s, w, strtoul(colon + 1, NULL, 10));
	}
}

START_TEST(placement)
{
	struct xw_xattr_set s = {0};
	struct xw_xattr_slot slots[8];
	struct xw_diag d = {0};

	fill(&s, cases[_i].attrs);
	ck_assert_int_eq(xw_xattr_layout(&s, cases[_i].ibody, cases[_i].block, cases[_i].ea_inode,
					 slots, &d),
			 cases[_i].code);
	ck_assert_int_eq(d.code, cases[_i].code);
	for (size_t i = 0; !cases[_i].code && i < s.a.n; i++) {
		char name[XW_XATTR_FULL_NAME_MAX];

		xw_xattr_full_name(s.a.v[i].index, s.a.v[i].name, s.a.v[i].name_len, name);
		ck_assert_msg(!slots[i].in_block == listed(cases[_i].in, name), "%s: %s",
			      cases[_i].attrs, name);
		ck_assert_msg(slots[i].ea == listed(cases[_i].ea, name), "%s: %s", cases[_i].attrs,
			      name);
	}
	xw_xattr_set_free(&s);
}
END_TEST

START_TEST(limit_message)
{
	struct xw_xattr_set s = {0};
	struct xw_xattr_slot slots[2];
	struct xw_diag d = {0};

	fill(&s, "user.big:5000 user.small:4");
	ck_assert_int_eq(xw_xattr_layout(&s, IBODY, 4096, false, slots, &d), XW_ERR_LIMIT);
	ck_assert_ptr_nonnull(strstr(d.text, "user.big, 5000 bytes"));
	ck_assert_ptr_nonnull(strstr(d.text, "by 960 bytes"));
	ck_assert_ptr_nonnull(strstr(d.text, "ea_inode"));
	xw_xattr_set_free(&s);
}
END_TEST

START_TEST(unfetched)
{
	struct xw_xattr_set s = {0};
	struct xw_xattr_slot slots[1];

	ck_assert_int_eq(xw_xattr_set_put_inum(&s, XW_XI_USER, "big", 3, 17, 20000, NULL), 0);
	ck_assert_int_eq(xw_xattr_layout(&s, IBODY, 4096, true, slots, NULL), XW_ERR_STATE);
	xw_xattr_set_free(&s);
}
END_TEST

/* An inode's area and a block as Linux 6.18 wrote them, and our encoding of the same sets. */
START_TEST(bytes_in_inode)
{
	static const uint8_t want[] = {
		0, 0, 2, 0xea, 2, 1, 0x3c, 0, 0, 0, 0, 0, 0x1e, 0, 0, 0, 0, 0, 0, 0, 'b', '1',
	};
	struct xw_xattr_set s = {0};
	struct xw_xattr_slot slots[1];
	uint8_t area[IBODY];

	ck_assert_int_eq(
		xw_xattr_set_put(&s, "user.b1", 7, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 30, NULL), 0);
	ck_assert_int_eq(xw_xattr_layout(&s, IBODY, 4096, false, slots, NULL), 0);
	ck_assert_uint_eq(xw_xattr_encode_ibody(&s, slots, IBODY, area), 94);
	ck_assert_mem_eq(area, want, sizeof(want));
	for (size_t i = sizeof(want); i < IBODY; i++)
		ck_assert_uint_eq(area[i], i >= 64 && i < 94 ? 'x' : 0);
	xw_xattr_set_free(&s);
}
END_TEST

START_TEST(bytes_in_block)
{
	static const uint8_t header[32] = {0, 0, 2, 0xea, 1,    0,    0,    0,
					   1, 0, 0, 0,    0x6f, 0xc5, 0xb2, 0xa5};
	static const uint8_t entries[] = {
		5,    1,    0,   0,   0,   0,   0,    0,   0,    0,    0,    0,    0xf9,
		0x4e, 0x67, 6,   'e', 'm', 'p', 't',  'y', 0,    0,    0,    5,    1,
		0xc4, 0xf,  0,   0,   0,   0,   0x3c, 0,   0,    0,    0x3c, 0x6f, 0x85,
		0x54, 'f',  'i', 'l', 'l', 'l', 0,    0,   0,    6,    1,    0,    0,
		0,    0,    0,   0,   0,   0,   0,    0,   0x13, 0xdf, 0xe9, 0xcc, 'e',
		'm',  'p',  't', 'y', '3', 0,   0,    0,   0,    0,    0,
	};
	struct xw_xattr_set s = {0};
	struct xw_xattr_slot slots[3];
	struct xw_xattr_span span;
	uint8_t block[4096], value[60];

	memset(value, 'i', sizeof(value));
	ck_assert_int_eq(xw_xattr_set_put(&s, "user.empty3", 11, "", 0, NULL), 0);
	ck_assert_int_eq(xw_xattr_set_put(&s, "user.filll", 10, value, 60, NULL), 0);
	ck_assert_int_eq(xw_xattr_set_put(&s, "user.empty", 10, "", 0, NULL), 0);
	ck_assert_int_eq(xw_xattr_layout(&s, 0, 4096, false, slots, NULL), 0);
	ck_assert(xw_xattr_encode_block(&s, slots, 4096, block, &span));
	ck_assert_mem_eq(block, header, sizeof(header));
	ck_assert_mem_eq(block + 32, entries, sizeof(entries));
	ck_assert_uint_eq(span.head, 32 + sizeof(entries));
	ck_assert_uint_eq(span.tail, 60);
	for (size_t i = 32 + sizeof(entries); i < 4096; i++)
		ck_assert_uint_eq(block[i], i >= 4036 ? 'i' : 0);
	xw_xattr_set_free(&s);
}
END_TEST

static uint32_t rnd(uint64_t *s)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*s >> 33);
}

static void random_set(struct xw_xattr_set *s, uint64_t *seed, uint32_t max_value)
{
	static const char *const prefixes[] = {"user.", "trusted.", "security.", "system."};
	uint32_t n = 1 + rnd(seed) % 12;

	for (uint32_t i = 0; i < n; i++) {
		char name[300];
		static uint8_t value[65536];
		uint32_t len = rnd(seed) % 3 ? rnd(seed) % 40 : rnd(seed) % max_value;
		int name_len =
			snprintf(name, sizeof(name), "%s%0*u", prefixes[rnd(seed) % 4],
				 rnd(seed) % 8 ? 1 + (int)(rnd(seed) % 12) : 255, rnd(seed) % 50);

		for (uint32_t b = 0; b < len; b++)
			value[b] = (uint8_t)rnd(seed);
		ck_assert_int_eq(xw_xattr_set_put(s, name, (size_t)name_len, value, len, NULL), 0);
	}
	if (rnd(seed) % 4 == 0)
		put_acl(s, rnd(seed) % 20);
}

/*
 * What Linux and e2fsck demand of an area: entries inside, values aligned, apart from each other
 * and from the entries.
 */
static void check_area(const uint8_t *area, size_t size, size_t off, size_t base, bool ordered)
{
	uint8_t *used = calloc(1, size);
	struct xw_xattr_entry e, last = {0};
	char last_name[256];
	bool first = true;
	size_t next;

	for (;; off = next) {
		ck_assert_int_eq(xw_xattr_entry_decode(area, size, off, base, &e, &next), 0);
		for (size_t i = off; i < (next ? next : off + 4); i++)
			ck_assert_uint_eq(used[i]++, 0);
		if (!next)
			break;
		if (!first && ordered)
			ck_assert_int_lt(xw_xattr_compare(last.name_index, last_name, last.name_len,
							  e.name_index, e.name, e.name_len),
					 0);
		first = false;
		last = e;
		memcpy(last_name, e.name, e.name_len);
		ck_assert(!e.value_inum || !e.value_offs);
		ck_assert(!e.value_size || e.value_inum || (base + e.value_offs) % 4 == 0);
		for (size_t i = 0; !e.value_inum && i < xw_round_up(e.value_size, 4); i++)
			ck_assert_uint_eq(used[base + e.value_offs + i]++, 0);
	}
	free(used);
}

static void check_equal(const struct xw_xattr_set *a, const struct xw_xattr_set *b,
			const struct xw_xattr_slot *slots)
{
	ck_assert_uint_eq(a->a.n, b->a.n);
	for (size_t i = 0; i < a->a.n; i++) {
		const struct xw_xattr *x = &a->a.v[i], *y = &b->a.v[i];

		ck_assert_int_eq(xw_xattr_compare(x->index, x->name, x->name_len, y->index, y->name,
						  y->name_len),
				 0);
		ck_assert_uint_eq(x->value_len, y->value_len);
		ck_assert_uint_eq(y->value_inum, slots[i].ea ? slots[i].value_inum : 0);
		if (!slots[i].ea)
			ck_assert_mem_eq(x->value, y->value, x->value_len);
	}
}

static xw_ino plus_1000(void *arg, xw_ino inum)
{
	++*(unsigned *)arg;
	return inum + 1000;
}

START_TEST(round_trip)
{
	static const uint32_t blocks[] = {1024, 2048, 4096, 65536},
			      bodies[] = {0, 32, 96, 352, 864};
	uint64_t seed = (uint64_t)_i * 1000 + 1;
	size_t placed = 0;

	for (int k = 0; k < 300; k++) {
		uint32_t bs = blocks[rnd(&seed) % 4], ib = bodies[rnd(&seed) % 5];
		bool ea = rnd(&seed) % 2, has_block;
		struct xw_xattr_set s = {0}, back = {0};
		struct xw_xattr_slot slots[16];
		uint8_t *body = malloc(ib + 1), *block = malloc(bs);
		struct xw_xattr_span span;
		unsigned mapped = 0, n_ea = 0;
		uint32_t len;

		random_set(&s, &seed, bs);
		if (xw_xattr_layout(&s, ib, bs, ea, slots, NULL)) {
			size_t entries = 0;

			for (size_t i = 0; i < s.a.n; i++)
				entries += xw_xattr_entry_len(s.a.v[i].name_len);
			ck_assert(!ea || entries > bs - 36);
			goto next;
		}
		placed++;
		for (size_t i = 0; i < s.a.n; i++) {
			slots[i].value_inum = slots[i].ea ? (xw_ino)i + 1 : 0;
			slots[i].value_hash = slots[i].ea ? rnd(&seed) : 0;
			n_ea += slots[i].ea;
		}
		len = xw_xattr_encode_ibody(&s, slots, ib, body);
		ck_assert(len == 0 || body[len - 1]);
		for (uint32_t i = len; len && i < ib; i++)
			ck_assert_uint_eq(body[i], 0);
		has_block = xw_xattr_encode_block(&s, slots, bs, block, &span);
		if (len) {
			check_area(body, ib, XW_XATTR_IBODY_OFFS, true);
			ck_assert_int_eq(xw_xattr_map_inums(body, ib, XW_XATTR_IBODY_OFFS,
							    plus_1000, &mapped),
					 0);
			ck_assert_int_eq(xw_xattr_decode_ibody(body, ib, &back, NULL), 0);
		}
		if (has_block) {
			check_area(block, bs, XW_XATTR_BLOCK_OFFS, true);
			for (uint32_t i = span.head; i < bs - span.tail; i++)
				ck_assert_uint_eq(block[i], 0);
			ck_assert_int_eq(xw_xattr_map_inums(block, bs, XW_XATTR_BLOCK_OFFS,
							    plus_1000, &mapped),
					 0);
			ck_assert_int_eq(xw_xattr_decode_block(block, bs, &back, NULL), 0);
		}
		ck_assert_uint_eq(mapped, n_ea);
		for (size_t i = 0; i < s.a.n; i++)
			slots[i].value_inum += slots[i].ea ? 1000 : 0;
		check_equal(&s, &back, slots);
	next:
		xw_xattr_set_free(&s);
		xw_xattr_set_free(&back);
		free(body);
		free(block);
	}
	ck_assert_uint_gt(placed, 150);
}
END_TEST

/* Rule 3 leaves the least possible outside: against trying all subsets. */
START_TEST(exact)
{
	uint64_t seed = (uint64_t)_i + 9;
	size_t tight = 0;

	for (int k = 0; k < 100; k++) {
		struct xw_xattr_set s = {0};
		struct xw_xattr_slot slots[8];
		uint32_t size[8], total = 0, best = 0, n = 8;

		for (uint32_t i = 0; i < n; i++) {
			char name[16];

			snprintf(name, sizeof(name), "user.%u", i);
			put(&s, name, 1 + rnd(&seed) % 60);
			size[i] = 20 + (uint32_t)xw_round_up(s.a.v[i].value_len, 4);
			total += size[i];
		}
		for (uint32_t set = 0; set < 1u << n; set++) {
			uint32_t sum = 0;

			for (uint32_t i = 0; i < n; i++)
				sum += set >> i & 1 ? size[i] : 0;
			if (sum <= IBODY - 8)
				best = XW_MAX(best, sum);
		}
		/* a "block" of just the size that the best choice leaves, then 4 bytes less */
		ck_assert_int_eq(xw_xattr_layout(&s, IBODY, 36 + total - best, false, slots, NULL),
				 0);
		ck_assert_int_eq(
			xw_xattr_layout(&s, IBODY, 36 + total - best - 4, false, slots, NULL),
			XW_ERR_LIMIT);
		tight++;
		xw_xattr_set_free(&s);
	}
	ck_assert_uint_eq(tight, 100);
}
END_TEST

START_TEST(decode_damaged)
{
	uint64_t seed = (uint64_t)_i + 3;

	for (int k = 0; k < 2000; k++) {
		struct xw_xattr_set s = {0}, back = {0};
		struct xw_xattr_slot slots[16];
		struct xw_xattr_span span;
		uint8_t *block = malloc(1024), *body = malloc(IBODY);
		unsigned count = 0;

		random_set(&s, &seed, 100);
		if (!xw_xattr_layout(&s, IBODY, 1024, true, slots, NULL) &&
		    xw_xattr_encode_block(&s, slots, 1024, block, &span)) {
			xw_xattr_encode_ibody(&s, slots, IBODY, body);
			for (uint32_t hits = 1 + rnd(&seed) % 4; hits; hits--) {
				block[32 + rnd(&seed) % (span.head - 32)] = (uint8_t)rnd(&seed);
				body[4 + rnd(&seed) % (IBODY - 4)] = (uint8_t)rnd(&seed);
			}
			/*
			 * no demand but that sanitizers stay silent, and that errors are said to
			 * be corruption
			 */
			for (int which = 0; which < 2; which++) {
				int err = which ? xw_xattr_decode_block(block, 1024, &back, NULL)
						: xw_xattr_decode_ibody(body, IBODY, &back, NULL);

				ck_assert(err == 0 || err == XW_ERR_CORRUPT || err == XW_ERR_LIMIT);
			}
			xw_xattr_map_inums(block, 1024, XW_XATTR_BLOCK_OFFS, plus_1000, &count);
		}
		xw_xattr_set_free(&s);
		xw_xattr_set_free(&back);
		free(block);
		free(body);
	}
}
END_TEST

START_TEST(decode_edges)
{
	struct xw_xattr_set s = {0};
	uint8_t body[IBODY] = {0}, block[1024] = {0};

	/* no magic: no attributes; nothing but a magic: none either */
	ck_assert_int_eq(xw_xattr_decode_ibody(body, sizeof(body), &s, NULL), 0);
	poke32(body, XW_XATTR_MAGIC);
	for (size_t n = 0; n <= sizeof(body); n++)
		ck_assert_int_eq(xw_xattr_decode_ibody(body, n, &s, NULL), 0);
	ck_assert_uint_eq(s.a.n, 0);
	ck_assert_int_eq(xw_xattr_decode_block(block, sizeof(block), &s, NULL), XW_ERR_CORRUPT);
	/* what is in the inode hides the same name in the block */
	ck_assert_int_eq(xw_xattr_set_put(&s, "user.a", 6, "1", 1, NULL), 0);
	poke32(body + 4, 1 | XW_XI_USER << 8 | 88 << 16);
	poke32(body + 12, 1);
	body[20] = 'a';
	body[92] = '2';
	ck_assert_int_eq(xw_xattr_decode_ibody(body, sizeof(body), &s, NULL), 0);
	ck_assert_uint_eq(s.a.n, 1);
	ck_assert_uint_eq(s.a.v[0].value[0], '1');
	xw_xattr_set_clear(&s);
	ck_assert_int_eq(xw_xattr_decode_ibody(body, sizeof(body), &s, NULL), 0);
	ck_assert_uint_eq(s.a.v[0].value[0], '2');
	xw_xattr_set_free(&s);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("xattr_layout");
	TCase *tc = tcase_create("layout");

	tcase_set_timeout(tc, 120);
	unit_add_rows(tc, placement, cases, attrs);
	tcase_add_test(tc, limit_message);
	tcase_add_test(tc, unfetched);
	tcase_add_test(tc, bytes_in_inode);
	tcase_add_test(tc, bytes_in_block);
	tcase_add_loop_test(tc, round_trip, 0, 4);
	tcase_add_loop_test(tc, exact, 0, 2);
	tcase_add_loop_test(tc, decode_damaged, 0, 2);
	tcase_add_test(tc, decode_edges);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
