/* SPDX-License-Identifier: MIT */
/*
 * Lookup of names through the htree, on a hand-made image: what is found, in how many blocks of the
 * directory, and that no damage to the index hides a name.
 */
#include "unit.h"

#include "colliding.h"
#include "disk/dx_hash.h"
#include "read_fix.h"

#define DIR 2u
#define MANY 9000u /* names that need index blocks below the root */
#define FEW 1000u

/* ---- counting ---- */

static struct {
	struct xw_dev_ops ops;
	const struct xw_dev_ops *under;
	uint64_t from, to; /* bytes of the directory */
	unsigned blocks; /* of it that were read */
} counter;

static int counting_pread(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	if (off >= counter.from && off < counter.to)
		counter.blocks += (unsigned)xw_div_up(len, BS);
	return counter.under->pread(d, buf, len, off);
}

static void count_reads(struct fixture *fx, xw_blk from, xw_blk to)
{
	counter.under = fx->dev->ops;
	counter.ops = *fx->dev->ops;
	counter.ops.pread = counting_pread;
	counter.from = from * BS;
	counter.to = to * BS;
	fx->dev->ops = &counter.ops;
}

/* ---- directories ---- */

struct world {
	struct fixture fx;
	xw_blk first; /* of the directory, whose blocks follow each other */
	uint32_t blocks;
	char (*name)[16];
	unsigned n;
};

/* Every third name is beyond ASCII. */
static void make_names(struct world *w, unsigned n)
{
	w->n = n;
	w->name = calloc(n, sizeof(*w->name));
	ck_assert_ptr_nonnull(w->name);
	for (unsigned i = 0; i < n; i++)
		snprintf(w->name[i], sizeof(*w->name), i % 3 ? "name%u" : "n\xC3\xA4me%u", i);
}

static void make_dir_of(struct world *w, const char *const *names, unsigned n)
{
	w->first = w->fx.next;
	put_super(&w->fx);
	make_dir(&w->fx, DIR, DIR, n, names, NULL, true);
	w->blocks = (uint32_t)(w->fx.next - w->first);
}

static void make_world(struct world *w, unsigned n, bool csum, unsigned version, uint32_t flags)
{
	const char **names = calloc(n, sizeof(*names));

	ck_assert_ptr_nonnull(names);
	memset(w, 0, sizeof(*w));
	make_image(&w->fx, csum);
	w->fx.sb.def_hash_version = (uint8_t)version;
	w->fx.sb.flags = flags;
	for (unsigned i = 0; i < 16; i++)
		w->fx.sb.hash_seed[i] = (uint8_t)(i * 37 + version);
	make_names(w, n);
	for (unsigned i = 0; i < n; i++)
		names[i] = w->name[i];
	make_dir_of(w, names, n);
	free(names);
}

static void open_world(struct world *w)
{
	open_it(&w->fx, 0);
	count_reads(&w->fx, w->first, w->first + w->blocks);
}

static void drop_world(struct world *w)
{
	drop(&w->fx);
	free(w->name);
}

/* Blocks of the directory that a lookup read; its result must be `expect`. */
static unsigned reads_of(struct fixture *fx, const char *name, int expect)
{
	xw_ino ino = 0;
	uint8_t ftype = 99;
	int rc;

	counter.blocks = 0;
	xw_diag_clear(&fx->diag);
	rc = xw_dir_lookup(fx->img, DIR, name, strlen(name), &ino, &ftype);
	ck_assert_msg(rc == expect, "'%s': %d, not %d: %s", name, rc, expect, fx->diag.text);
	if (!rc) {
		ck_assert_uint_eq(ino, 11);
		ck_assert_uint_eq(ftype, XW_FT_REG);
	}
	if (rc == XW_ERR_NOTFOUND)
		ck_assert_int_eq(fx->diag.code, 0);
	return counter.blocks;
}

static void patch(struct world *w, uint32_t lblk, uint32_t off, const void *bytes, size_t len)
{
	ck_assert_int_eq(
		xw_dev_pwrite(w->fx.dev, bytes, len, (w->first + lblk) * (uint64_t)BS + off), 0);
}

static void patch32(struct world *w, uint32_t lblk, uint32_t off, uint32_t value)
{
	const le32 v = put32(value);

	patch(w, lblk, off, &v, sizeof(v));
}

static uint32_t get_at(struct world *w, uint32_t lblk, uint32_t off)
{
	le32 v;

	ck_assert_int_eq(
		xw_dev_pread(w->fx.dev, &v, sizeof(v), (w->first + lblk) * (uint64_t)BS + off), 0);
	return get32(v);
}

/* ---- healthy indexes ---- */

/*
 * Names and absent names: the root, an index block and a leaf each. Without checksums the leaves
 * beside it are looked at before a name is said to be absent, with the index blocks on the way.
 */
START_TEST(every_version)
{
	const uint32_t flags = _i & 2 ? XW_FLAG_UNSIGNED_HASH : XW_FLAG_SIGNED_HASH;
	struct world w;
	char absent[16];

	make_world(&w, MANY, _i & 1, (unsigned)_i / 4, flags);
	ck_assert_uint_gt(w.blocks, 130);
	open_world(&w);
	for (unsigned i = 0; i < MANY; i += 7)
		ck_assert_uint_eq(reads_of(&w.fx, w.name[i], 0), 3);
	for (unsigned i = 0; i < 300; i++) {
		snprintf(absent, sizeof(absent), i % 2 ? "\xC3\x9F%u" : "other%u", i);
		ck_assert_uint_le(reads_of(&w.fx, absent, XW_ERR_NOTFOUND), _i & 1 ? 3 : 9);
	}
	drop_world(&w);
}
END_TEST

/* The smallest index: one leaf or two below the root. */
START_TEST(small)
{
	struct world w;

	make_world(&w, 70, _i, XW_DX_HALF_MD4, XW_FLAG_SIGNED_HASH);
	open_world(&w);
	for (unsigned i = 0; i < w.n; i++)
		ck_assert_uint_eq(reads_of(&w.fx, w.name[i], 0), 2);
	ck_assert_uint_le(reads_of(&w.fx, "absent", XW_ERR_NOTFOUND), _i ? 2 : 4);
	drop_world(&w);
}
END_TEST

/* The dots are in block 0, which holds nothing else. */
START_TEST(dots)
{
	struct world w;
	xw_ino ino;

	make_world(&w, FEW, true, XW_DX_HALF_MD4, XW_FLAG_SIGNED_HASH);
	open_world(&w);
	for (size_t len = 1; len <= 2; len++) {
		counter.blocks = 0;
		ck_assert_int_eq(xw_dir_lookup(w.fx.img, DIR, "..", len, &ino, NULL), 0);
		ck_assert_uint_eq(ino, DIR);
		ck_assert_uint_eq(counter.blocks, 1);
	}
	drop_world(&w);
}
END_TEST

/* Names of one hash that fill a leaf and go on in the next, among 300 others; one is left out. */
START_TEST(collisions)
{
	const unsigned same = XW_ARRAY_SIZE(colliding_0) - 1, n = same + 300;
	const char *names[XW_ARRAY_SIZE(colliding_0) + 300];
	unsigned reads, most = 0;
	struct world w;

	memset(&w, 0, sizeof(w));
	make_image(&w.fx, _i & 1);
	w.fx.sb.def_hash_version = XW_DX_LEGACY;
	w.fx.sb.flags = XW_FLAG_SIGNED_HASH;
	make_names(&w, 300);
	for (unsigned i = 0; i < n; i++)
		names[i] = i < same ? colliding_0[i] : w.name[i - same];
	make_dir_of(&w, names, n);
	open_world(&w);
	for (unsigned i = 0; i < n; i++) {
		reads = reads_of(&w.fx, names[i], 0);
		ck_assert_uint_le(reads, 4);
		most = XW_MAX(most, reads);
	}
	ck_assert_uint_ge(most, 3);
	/* a name of the same hash is missing only when the last of their leaves has been seen */
	reads = reads_of(&w.fx, colliding_0[same], XW_ERR_NOTFOUND);
	if (_i & 1)
		ck_assert_uint_eq(reads, most);
	else
		ck_assert_uint_le(reads, most + 3);
	drop_world(&w);
}
END_TEST

/* ---- indexes that cannot be asked ---- */

static void change_inode(struct world *w, uint32_t flags)
{
	struct xw_inode inode;

	ck_assert_int_eq(xw_image_inode(w->fx.img, DIR, &inode, NULL), 0);
	inode.flags |= flags;
	put_inode(&w->fx, DIR, &inode, NULL, 0);
	xw_image_drop_cache(w->fx.img);
}

/* Of these directories it is not the bytes of the name that were hashed. */
START_TEST(hashed_otherwise)
{
	struct world w;

	make_world(&w, FEW, true, XW_DX_HALF_MD4, XW_FLAG_SIGNED_HASH);
	open_world(&w);
	change_inode(&w, _i ? XW_FL_CASEFOLD : XW_FL_ENCRYPT);
	for (unsigned i = 0; i < FEW; i += 97)
		reads_of(&w.fx, w.name[i], 0);
	ck_assert_uint_eq(reads_of(&w.fx, "absent", XW_ERR_NOTFOUND), w.blocks);
	drop_world(&w);
}
END_TEST

/* s_flags of old images do not say how bytes beyond ASCII were hashed. */
START_TEST(signedness_unknown)
{
	struct world w;

	make_world(&w, FEW, true, XW_DX_HALF_MD4, XW_FLAG_UNSIGNED_HASH);
	w.fx.sb.flags = 0;
	put_super(&w.fx);
	open_world(&w);
	for (unsigned i = 0; i < FEW; i++) {
		const unsigned reads = reads_of(&w.fx, w.name[i], 0);

		if (i % 3)
			ck_assert_uint_eq(reads, 2);
	}
	drop_world(&w);
}
END_TEST

/* ---- damage ---- */

enum { ROOT_INFO = 24, ROOT_SLOTS = XW_DX_ROOT_ENTRIES, NODE_SLOTS = XW_DX_NODE_ENTRIES };

struct damage {
	const char *what;
	bool root; /* in the root, else in each index block below it */
	uint32_t off;
	uint32_t value; /* of a le32 */
	bool keep_csum; /* as it was: the damage makes it wrong */
	bool add; /* the value to what is there */
};

static const struct damage damages[] = {
	{"reserved word", true, ROOT_INFO, 1, false},
	{"other hash", true, ROOT_INFO + 4, 0x0802, false}, /* levels become 0, too */
	{"other hash, levels kept", true, ROOT_INFO + 4, 0x00010802, false},
	{"unknown hash", true, ROOT_INFO + 4, 0x00010809, false},
	{"info length", true, ROOT_INFO + 4, 0x00010901, false},
	{"too many levels", true, ROOT_INFO + 4, 0x00030801, false},
	{"one level too many", true, ROOT_INFO + 4, 0x00020801, false},
	{"a level missing", true, ROOT_INFO + 4, 0x00000801, false},
	{"flags", true, ROOT_INFO + 4, 0x01010801, false},
	{"count 0", true, ROOT_SLOTS, 123, true},
	{"checksum of the root", true, ROOT_SLOTS + 4, 2, true},
	{"child beyond the end", true, ROOT_SLOTS + 4, 5000, false},
	{"child is the root", true, ROOT_SLOTS + 4, 0, false},
	{"child is a leaf", true, ROOT_SLOTS + 4, 60, false},
	{"child is the other one", true, ROOT_SLOTS + 4, 2, false},
	{"bound of the second child", true, ROOT_SLOTS + 8, 0x10, true},
	{"bound of the second child", true, ROOT_SLOTS + 8, 0xFFFFFFF0, true},
	{"bound of the second child, moved", true, ROOT_SLOTS + 8, 0x800000, true, true},
	{"bound of the second child, moved", true, ROOT_SLOTS + 8, -0x800000u, true, true},
	{"checksum of an index block", false, NODE_SLOTS + 4, 60, true},
	{"leaf beyond the end", false, NODE_SLOTS + 4, 5000, false},
	{"leaf is the root", false, NODE_SLOTS + 4, 0, false},
	{"leaf is an index block", false, NODE_SLOTS + 4, 1, false},
	{"leaf is another one", false, NODE_SLOTS + 4, 60, false},
	{"bound of a leaf", false, NODE_SLOTS + 8 * 4, 0x10, false},
	{"bound of a leaf", false, NODE_SLOTS + 8 * 4, 0xFFFFFFF0, false},
	{"bound of a leaf, moved", false, NODE_SLOTS + 8 * 4, 0x800000, true, true},
	{"bound of a leaf, moved", false, NODE_SLOTS + 8 * 4, -0x800000u, true, true},
	{"not an index block", false, 0, 11, false},
};

/* One level below the root: blocks 1 and 2 are its children. */
static void do_damage(struct world *w, const struct damage *d)
{
	uint8_t buf[BS];

	for (uint32_t lblk = d->root ? 0 : 1; lblk <= (d->root ? 0u : 2u); lblk++) {
		patch32(w, lblk, d->off, d->value + (d->add ? get_at(w, lblk, d->off) : 0));
		if (d->keep_csum || !xw_super_has_csum(&w->fx.sb))
			continue;
		ck_assert_int_eq(xw_dev_pread(w->fx.dev, buf, BS, (w->first + lblk) * BS), 0);
		xw_dx_block_set_csum(buf, BS, lblk ? NODE_SLOTS : ROOT_SLOTS,
				     inode_seed(&w->fx, DIR));
		patch(w, lblk, 0, buf, BS);
	}
}

/* No name is hidden (each n-th is tried), and what is missing is missing. */
static void check_damaged(struct world *w, const char *what, unsigned n)
{
	xw_ino ino;
	int rc;

	open_world(w);
	for (unsigned i = 0; i < w->n; i += n) {
		xw_diag_clear(&w->fx.diag);
		rc = xw_dir_lookup(w->fx.img, DIR, w->name[i], strlen(w->name[i]), &ino, NULL);
		ck_assert_msg(!rc, "%s: '%s' is hidden: %d", what, w->name[i], rc);
	}
	for (unsigned i = 0; i < 20; i++) {
		char absent[16];

		snprintf(absent, sizeof(absent), "other%u", i);
		xw_diag_clear(&w->fx.diag);
		rc = xw_dir_lookup(w->fx.img, DIR, absent, strlen(absent), &ino, NULL);
		ck_assert_msg(rc < 0, "%s: '%s' is there", what, absent);
		ck_assert_msg((rc == XW_ERR_NOTFOUND) == !w->fx.diag.code, "%s: %d with '%s'", what,
			      rc, w->fx.diag.text);
	}
}

START_TEST(damaged_index)
{
	const struct damage *d = &damages[_i / 2];
	struct world w;

	make_world(&w, MANY, _i & 1, XW_DX_HALF_MD4, XW_FLAG_SIGNED_HASH);
	ck_assert_uint_eq(get_at(&w, 0, ROOT_INFO + 4), 0x00010801);
	ck_assert_uint_eq(get_at(&w, 0, ROOT_SLOTS + 4), 1);
	do_damage(&w, d);
	check_damaged(&w, d->what, d->add ? 1 : 151);
	drop_world(&w);
}
END_TEST

/* A superblock that hashes otherwise than the one that the directory was made with. */
START_TEST(other_super)
{
	struct world w;

	make_world(&w, MANY, true, XW_DX_HALF_MD4, XW_FLAG_SIGNED_HASH);
	w.fx.sb.hash_seed[3] ^= 1;
	put_super(&w.fx);
	check_damaged(&w, "seed", 151);
	drop_world(&w);
}
END_TEST

/* A damaged leaf hides its own names and no others, with the line that says so. */
START_TEST(damaged_leaf)
{
	const uint8_t byte = 0x55;
	unsigned hidden = 0;
	struct world w;
	xw_ino ino;

	make_world(&w, MANY, true, XW_DX_HALF_MD4, XW_FLAG_SIGNED_HASH);
	patch(&w, 70, 500, &byte, 1);
	open_world(&w);
	for (unsigned i = 0; i < MANY; i++) {
		int rc;

		xw_diag_clear(&w.fx.diag);
		rc = xw_dir_lookup(w.fx.img, DIR, w.name[i], strlen(w.name[i]), &ino, NULL);
		if (!rc)
			continue;
		ck_assert_int_eq(rc, XW_ERR_CHECKSUM);
		ck_assert_ptr_nonnull(strstr(w.fx.diag.text, "block 70: checksum mismatch"));
		hidden++;
	}
	ck_assert(hidden > 30 && hidden < 70);
	drop_world(&w);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("lookup");
	TCase *tc = tcase_create("lookup");

	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, every_version, 0, 12);
	unit_add_cases(tc, small, "no checksums", "checksums");
	tcase_add_test(tc, dots);
	tcase_add_loop_test(tc, collisions, 0, 2);
	unit_add_cases(tc, hashed_otherwise, "encrypted", "casefolded");
	tcase_add_test(tc, signedness_unknown);
	tcase_add_loop_test(tc, damaged_index, 0, (int)(2 * XW_ARRAY_SIZE(damages)));
	tcase_add_test(tc, other_super);
	tcase_add_test(tc, damaged_leaf);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
