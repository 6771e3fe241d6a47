// SPDX-License-Identifier: MIT
/*
 * Areas of attributes as xw-fsck judges them: entries in, findings and the rebuilt area out. An
 * area is written "INDEX:NAME@OFFSET+SIZE ...", with a "!" behind entries of a wrong hash; every
 * value repeats the first letter of its name.
 */
#include "config.h"

#include <stdio.h>

#include "fsck_bytes.h"
#include "phases/xattrs.h"
#include "walk/xattr.h"

enum { ROOM = 96, OWNER = 20, GENERATION = 77, VALUE = 13, REFS = 5, INCOMPAT_AT = 0x60 };

static uint8_t area[BS];
static struct fsck_xattr_area a;

static void start(bool agree)
{
	open_bytes();
	agreed = agree;
	f.facts.xattrs = calloc(1, sizeof(*f.facts.xattrs));
	ck_assert_ptr_nonnull(f.facts.xattrs);
}

/* ---- areas as text ---- */

static void load(bool in_block)
{
	memset(area, 0, sizeof(area));
	a = (struct fsck_xattr_area){.ino = OWNER,
				     .generation = GENERATION,
				     .blk = in_block ? BLOCK : 0,
				     .p = area,
				     .size = in_block ? BS : ROOM};
	poke32(area, XW_XATTR_MAGIC);
	if (in_block)
		xw_xattr_bhdr_encode(area, &(struct xw_xattr_bhdr){.refcount = REFS, .blocks = 1});
}

static void write_area(const char *text, bool in_block)
{
	const size_t base = in_block ? 0 : 4;
	size_t off = in_block ? 32 : 4;

	load(in_block);
	while (*text) {
		unsigned index, offs, size;
		struct xw_xattr_entry e = {0};
		char name[32] = "";
		uint8_t value[BS];
		int used;

		if (text[2] == '@')
			ck_assert_int_eq(sscanf(text, "%u:@%u+%u%n", &index, &offs, &size, &used),
					 3);
		else
			ck_assert_int_eq(sscanf(text, "%u:%31[^@]@%u+%u%n", &index, name, &offs,
						&size, &used),
					 4);
		text += used;
		memset(value, name[0], sizeof(value));
		e.name = name;
		e.name_len = (uint8_t)strlen(name);
		e.name_index = (uint8_t)index;
		e.value_offs = (uint16_t)offs;
		e.value_size = size;
		e.hash = xw_xattr_entry_hash(name, e.name_len, value, XW_MIN(size, (unsigned)BS));
		e.hash += *text == '!';
		text += *text == '!';
		text += *text == ' ';
		xw_xattr_entry_encode(area, off, &e);
		off += xw_xattr_entry_len(e.name_len);
		if (base + offs >= off && base + offs + size <= a.size)
			memset(area + base + offs, name[0], size);
	}
}

/* "INDEX:NAME+SIZE ...", of a sound area with sound values */
static const char *read_area(void)
{
	static char text[200];
	struct xw_walk_xattr_item item;
	struct xw_walk_xattr it;
	size_t n = 0;
	int kind;

	text[0] = '\0';
	if (a.blk)
		xw_walk_xattr_block(&it, area, a.size);
	else
		xw_walk_xattr_inode(&it, area, a.size);
	while ((kind = xw_walk_xattr_next(&it, &item)) != 0) {
		if (kind != 1)
			return "damaged";
		for (uint32_t i = 0; item.value && i < item.e.value_size; i++)
			if (item.value[i] != (uint8_t)item.e.name[0])
				return "another value";
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u:%.*s+%u", n ? " " : "",
				      item.e.name_index, item.e.name_len, item.e.name,
				      item.e.value_size);
	}
	return text;
}

/* ---- values in the area ---- */

static const struct {
	bool in_block;
	const char *was, *is; /* is NULL: as it was */
	enum fsck_id id;
} rows[] = {
	{true, "1:a@1000+8 1:b@992+4", NULL, FSCK_IDS},
	{true, "1:a@1000+8! 1:b@992+4", "1:a+8 1:b+4", FSCK_XATTR_HASH},
	{true, "1:a@1000+8 1:b@992+4!", "1:a+8 1:b+4", FSCK_XATTR_HASH},
	{true, "1:a@1000+8!", "1:a+8", FSCK_XATTR_HASH},
	{true, "1:a@1020+8 1:b@992+4", "1:b+4", FSCK_XATTR_SIZE},
	{true, "1:a@40+8 1:b@992+4", "1:b+4", FSCK_XATTR_VALUE},
	{true, "1:a@2000+8 1:b@992+4", "1:b+4", FSCK_XATTR_VALUE},
	{true, "1:a@1000+8 1:ab@1004+4", "1:a+8", FSCK_XATTR_OVERLAP},
	{true, "1:a@1000+8 1:b@1024+0", NULL, FSCK_IDS},
	{true, "1:a@1000+8 1:b@0+0", NULL, FSCK_IDS},
	{true, "1:a@1000+8 1:b@1025+0", "1:a+8", FSCK_XATTR_VALUE},
	{true, "0:@1000+8 1:b@992+4", "1:b+4", FSCK_XATTR_NAME},
	{true, "1:a@1000+8 1:a@992+4 1:c@900+4!", "1:a+8 1:c+4", FSCK_XATTR_HASH}, /* the first */
	{true, "1:a@1000+8 6:a@992+4 1:c@900+4!", "1:a+8 1:c+4 6:a+4", FSCK_XATTR_HASH},
	{false, "1:a@80+8 1:b@72+4", NULL, FSCK_IDS},
	{false, "1:a@80+8! 1:b@72+4", "1:a+8 1:b+4", FSCK_XATTR_HASH},
	{false, "1:a@88+8 1:b@72+4", "1:b+4", FSCK_XATTR_SIZE},
	{false, "1:a@84+8 1:b@72+4", NULL, FSCK_IDS},
	{false, "1:a@92+0 1:b@72+4", NULL, FSCK_IDS},
	{false, "1:a@93+0 1:b@72+4", "1:b+4", FSCK_XATTR_VALUE},
	{false, "1:a@80+8!", "1:a+8", FSCK_XATTR_HASH},
};

START_TEST(values)
{
	start(_i);
	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		const bool wrong = rows[i].id != FSCK_IDS;
		struct xw_xattr_bhdr h;
		uint8_t was[BS];

		write_area(rows[i].was, rows[i].in_block);
		memcpy(was, area, BS);
		ok(fsck_xattr_area(&f, &a));
		expect(rows[i].id);
		ck_assert_int_eq(a.changed, agreed && wrong);
		ck_assert_int_eq(a.empty, agreed && wrong && !*rows[i].is);
		ck_assert(!a.has_data && !a.n_ea && !a.ea_blocks);
		if (!agreed || !wrong) {
			ck_assert_mem_eq(area, was, BS);
			continue;
		}
		ck_assert(!wrong || (last.ino == OWNER && last.blk == a.blk));
		if (a.blk && a.empty) /* it is to be freed */
			continue;
		if (strcmp(read_area(), rows[i].is))
			ck_abort_msg("row %zu: %s", i, read_area());
		ck_assert(a.empty || peek32(area) == XW_XATTR_MAGIC);
		if (a.blk)
			ck_assert_int_eq(xw_xattr_bhdr_decode(area, &h), 0);
		ck_assert(!a.blk || h.refcount == REFS);
	}
	close_bytes();
}
END_TEST

/* An entry whose name leaves the area: what stands before it is kept. */
START_TEST(broken_entry)
{
	start(_i);
	write_area("1:a@80+8 1:b@72+4", false);
	area[4 + 20] = 200;
	ok(fsck_xattr_area(&f, &a));
	expect(FSCK_XATTR_ENTRY);
	if (agreed)
		ck_assert_str_eq(read_area(), "1:a+8");
	ck_assert_int_eq(a.changed, agreed);
	close_bytes();
}
END_TEST

/* ---- inline contents ---- */

START_TEST(inline_value)
{
	start(_i);
	write_area("7:data@80+8", false);
	ok(fsck_xattr_area(&f, &a));
	expect(FSCK_IDS);
	ck_assert(a.has_data && !a.changed);
	write_area("7:data@80+8!", false); /* contents stay in any case */
	ok(fsck_xattr_area(&f, &a));
	expect(FSCK_INLINE_HASH);
	ck_assert(a.has_data);
	ck_assert_int_eq(a.changed, agreed);
	ck_assert_str_eq(read_area(), agreed ? "7:data+8" : "damaged");
	write_area("7:data@88+8", false);
	ok(fsck_xattr_area(&f, &a));
	expect(FSCK_XATTR_SIZE);
	ck_assert_int_eq(a.has_data, !agreed);
	write_area("7:data@1000+8", true); /* in a block it is any attribute */
	ok(fsck_xattr_area(&f, &a));
	expect(FSCK_IDS);
	ck_assert(!a.has_data);
	write_area("7:data@1000+8!", true);
	ok(fsck_xattr_area(&f, &a));
	expect(FSCK_XATTR_HASH);
	write_area("1:data@80+8 7:date@72+4 7:dat@64+4", false);
	ok(fsck_xattr_area(&f, &a));
	expect(FSCK_IDS);
	ck_assert(!a.has_data);
	close_bytes();
}
END_TEST

START_TEST(add_inline_value)
{
	start(true);
	write_area("1:a@80+8", false);
	ok(fsck_xattr_add_data(&f, &a));
	ck_assert(a.changed);
	ck_assert(!strcmp(read_area(), "1:a+8 7:data+0") || !strcmp(read_area(), "7:data+0 1:a+8"));
	load(false);
	memset(area, 'x', ROOM); /* no attributes */
	ok(fsck_xattr_add_data(&f, &a));
	ck_assert_str_eq(read_area(), "7:data+0");
	load(false);
	a.size = 27;
	ok(fsck_xattr_add_data(&f, &a));
	ck_assert(!a.changed);
	a.size = 28;
	ok(fsck_xattr_add_data(&f, &a));
	ck_assert_str_eq(read_area(), "7:data+0");
	close_bytes();
}
END_TEST

/* ---- values in inodes ---- */

static const char text[] = "the value";
enum { LEN = sizeof(text) - 1 };

/* An EA inode, of which a row spoils something. */
static struct xw_inode ea_inode(uint32_t hash_of)
{
	struct xw_inode in = {.mode = XW_S_IFREG | 0600,
			      .links = 1,
			      .extra_isize = 32,
			      .size = LEN,
			      .flags = XW_FL_EA_INODE};

	poke32(in.block, BLOCK + 10);
	xw_inode_set_ea_hash(&in, xw_xattr_value_hash(f.ses.img->csum_seed, text, hash_of));
	return in;
}

static void write_entry(xw_ino value, uint32_t size, uint32_t hash_of)
{
	struct xw_xattr_entry e = {.name_len = 1,
				   .name_index = 1,
				   .value_inum = value,
				   .value_size = size,
				   .name = "e"};

	load(false);
	e.hash = xw_xattr_entry_hash_inum("e", 1,
					  xw_xattr_value_hash(f.ses.img->csum_seed, text, hash_of));
	xw_xattr_entry_encode(area, 4, &e);
}

static const struct {
	xw_ino value;
	uint16_t mode, links;
	uint32_t flags;
	uint32_t size, entry_size; /* of the inode; of the entry */
	uint32_t hash_of, entry_hash_of; /* so many bytes of the value */
	bool feature;
	enum fsck_id id;
	bool gone;
	uint32_t counted; /* size of the value, by which a reference is counted; 0: it is none */
} refs[] = {
	{VALUE, XW_S_IFREG, 1, XW_FL_EA_INODE, LEN, LEN, LEN, LEN, true, FSCK_IDS, false, LEN},
	/* no such inode */
	{10, XW_S_IFREG, 1, XW_FL_EA_INODE, LEN, LEN, LEN, LEN, true, FSCK_EA_INODE_BAD, true, 0},
	{11, XW_S_IFREG, 1, XW_FL_EA_INODE, LEN, LEN, LEN, LEN, true, FSCK_IDS, false, LEN},
	{128, XW_S_IFREG, 1, XW_FL_EA_INODE, LEN, LEN, LEN, LEN, true, FSCK_IDS, false, LEN},
	{129, XW_S_IFREG, 1, XW_FL_EA_INODE, LEN, LEN, LEN, LEN, true, FSCK_EA_INODE_BAD, true, 0},
	{OWNER, XW_S_IFREG, 1, XW_FL_EA_INODE, LEN, LEN, LEN, LEN, true, FSCK_EA_INODE_BAD, true,
	 0},
	/* the hash of the contents proves one whose record is damaged */
	{VALUE, XW_S_IFDIR, 1, XW_FL_EA_INODE, LEN, LEN, LEN, LEN, true, FSCK_IDS, false, LEN},
	{VALUE, XW_S_IFREG, 0, XW_FL_EA_INODE, LEN, LEN, LEN, LEN, true, FSCK_IDS, false, LEN},
	{VALUE, XW_S_IFDIR, 1, XW_FL_EA_INODE, LEN, LEN, 5, 5, true, FSCK_EA_INODE_BAD, true, 0},
	{VALUE, XW_S_IFREG, 0, XW_FL_EA_INODE, LEN, LEN, 5, 5, true, FSCK_EA_INODE_BAD, true, 0},
	{VALUE, XW_S_IFDIR, 1, 0, LEN, LEN, LEN, LEN, true, FSCK_EA_INODE_BAD, true, 0},
	/* hashes */
	{VALUE, XW_S_IFREG, 1, XW_FL_EA_INODE, LEN, LEN, LEN, 5, true, FSCK_EA_INODE_BAD, true, 0},
	{VALUE, XW_S_IFREG, 1, 0, LEN, LEN, LEN, LEN, true, FSCK_EA_INODE_NO_FLAG, false, LEN},
	/* the feature */
	{VALUE, XW_S_IFREG, 1, XW_FL_EA_INODE, LEN, LEN, LEN, LEN, false, FSCK_EA_INODE_FEATURE,
	 false, LEN},
	{VALUE, XW_S_IFREG, 1, 0, LEN, LEN, LEN, LEN, false, FSCK_EA_INODE_BAD, true, 0},
	/* two sizes, of which the hash confirms one */
	{VALUE, XW_S_IFREG, 1, XW_FL_EA_INODE, 5, LEN, LEN, LEN, true, FSCK_IDS, false, LEN},
	{VALUE, XW_S_IFREG, 1, XW_FL_EA_INODE, LEN, 5, LEN, LEN, true, FSCK_EA_ENTRY_SIZE, false,
	 LEN},
	{VALUE, XW_S_IFREG, 1, XW_FL_EA_INODE, 4, 5, LEN, LEN, true, FSCK_EA_INODE_BAD, true, 0},
	{VALUE, XW_S_IFREG, 1, XW_FL_EA_INODE, 0, LEN, LEN, LEN, true, FSCK_IDS, false, LEN},
};

START_TEST(references)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(refs); i++) {
		const bool gone = refs[i].gone && _i, sized = refs[i].id == FSCK_EA_ENTRY_SIZE;
		const uint32_t feature = refs[i].feature ? XW_INCOMPAT_EA_INODE : 0;
		struct xw_inode in;
		const struct fsck_ea *slot;

		start(_i);
		f.ses.img->sb.feature_incompat &= ~XW_INCOMPAT_EA_INODE;
		f.ses.img->sb.feature_incompat |= feature;
		ok(fsck_super_write(&f));
		put(BLOCK + 10, text, LEN);
		in = ea_inode(refs[i].hash_of);
		in.mode = refs[i].mode;
		in.links = refs[i].links;
		in.flags = refs[i].flags;
		in.size = refs[i].size;
		if (refs[i].value <= 128)
			put_inode(refs[i].value, &in);
		write_entry(refs[i].value, refs[i].entry_size, refs[i].entry_hash_of);
		ok(fsck_xattr_area(&f, &a));
		expect(refs[i].id);
		ck_assert_msg(!strcmp(read_area(), gone                                ? ""
						   : sized && !agreed                  ? "1:e+5"
						   : refs[i].entry_size == 5 && !sized ? "1:e+5"
										       : "1:e+9"),
			      "row %zu: %s", i, read_area());
		ck_assert_int_eq(a.changed, gone || (agreed && sized));
		ck_assert_int_eq(a.empty, gone);
		ck_assert_uint_eq(a.n_ea, !gone);
		ck_assert_uint_eq(a.ea_blocks, !gone);
		if (refs[i].counted) {
			slot = fsck_ea_slot(&f, refs[i].value);
			ck_assert(slot->refs == 1 && slot->size == refs[i].counted && !slot->old);
		} else if (refs[i].id == FSCK_EA_INODE_BAD) {
			ck_assert_uint_eq(f.facts.xattrs->eas.n, 0);
		}
		if (refs[i].value <= 128)
			ok(fsck_inode_read(&f, refs[i].value, &in, NULL));
		ck_assert(refs[i].id != FSCK_EA_INODE_NO_FLAG ||
			  !!(in.flags & XW_FL_EA_INODE) == agreed);
		ck_assert_int_eq(!!(peek32(at(1) + INCOMPAT_AT) & XW_INCOMPAT_EA_INODE),
				 refs[i].feature ||
					 (agreed && refs[i].id == FSCK_EA_INODE_FEATURE));
		close_bytes();
	}
}
END_TEST

/* The missing feature is told once; blocks of several values are added up. */
START_TEST(many_references)
{
	struct xw_inode in;

	start(_i);
	f.ses.img->sb.feature_incompat &= ~XW_INCOMPAT_EA_INODE;
	put(BLOCK + 10, text, LEN);
	in = ea_inode(LEN);
	put_inode(VALUE, &in);
	for (int k = 0; k < 2; k++) {
		write_entry(VALUE, LEN, LEN);
		ok(fsck_xattr_area(&f, &a));
	}
	expect(FSCK_EA_INODE_FEATURE);
	ck_assert_int_eq(f.ses.renew_backups, agreed);
	ck_assert_uint_eq(fsck_ea_slot(&f, VALUE)->refs, 2);
	/* Lustre's refer to their single owner, and cost no quota */
	in.mtime.sec = OWNER;
	in.generation = GENERATION;
	xw_inode_set_ea_hash(&in, 1);
	f.ses.img->sb.feature_incompat |= XW_INCOMPAT_EA_INODE;
	put_inode(VALUE + 1, &in);
	write_entry(VALUE + 1, LEN, 3);
	ok(fsck_xattr_area(&f, &a));
	expect(FSCK_IDS);
	ck_assert(fsck_ea_slot(&f, VALUE + 1)->old && !a.n_ea && !a.ea_blocks);
	a.generation++;
	ok(fsck_xattr_area(&f, &a));
	expect(FSCK_EA_INODE_BAD);
	close_bytes();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fsck_xattr");
	TCase *t = tcase_create("fsck_xattr");

	tcase_set_timeout(t, 60);
	unit_add_cases(t, values, "declined", "agreed");
	unit_add_cases(t, broken_entry, "declined", "agreed");
	unit_add_cases(t, inline_value, "declined", "agreed");
	tcase_add_test(t, add_inline_value);
	unit_add_cases(t, references, "declined", "agreed");
	unit_add_cases(t, many_references, "declined", "agreed");
	suite_add_tcase(s, t);
	return unit_main(s);
}
