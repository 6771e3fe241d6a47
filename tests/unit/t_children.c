/* SPDX-License-Identifier: MIT */
/*
 * A directory with an itree, as the export takes it: held or streamed, the names are those of its
 * own blocks, each once and in order, whatever the tree says; and where its blocks are damaged, the
 * tree has what they have lost.
 */
#include "config.h"

#include "base/endian.h"
#include "disk/dirent.h"
#include "disk/itree.h"
#include "export/children.h"
#include "import_world.h"
#include "read/dirs.h"
#include "memdev.h"
#include "unit.h"

#define NAMES 800u
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

static void put_many(struct tm_tar *t)
{
	char name[64];

	tm_file(t, '5', "many", "", NULL, 0);
	for (unsigned i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "many/name-%u-of-many", i);
		tm_file(t, '0', name, "", NULL, 0);
	}
	tm_end(t);
}

/* ---- ways to be wrong ---- */

/* The n-th node of that level in the image. */
static uint8_t *node(unsigned level, unsigned n)
{
	for (size_t at = 0; at < iw.image_size; at += BS) {
		uint8_t *b = iw.image + at;

		if (peek32(b) == XW_ITREE_MAGIC && b[5] == level && !n--)
			return b;
	}
	ck_abort_msg("no such node");
}

static void healthy(void)
{
}

static void entry_gone(void)
{
	uint8_t *b = node(0, 5);
	uint32_t off = 0, last = 0;
	const uint32_t used = peek16(b + 8);

	for (; off < used; off += peek16(b + XW_ITREE_HDR + off + 8))
		last = off;
	memset(b + XW_ITREE_HDR + last, 0, used - last);
	poke16(b + 6, (uint16_t)(peek16(b + 6) - 1));
	poke16(b + 8, (uint16_t)last);
}

static void name_differs(void)
{
	node(0, 7)[XW_ITREE_HDR + XW_ITREE_REC_HDR] = 'N';
}

/* Two entries have the same name, in the directory and in its itree. */
static void name_twice(void)
{
	unsigned found = 0;

	for (size_t at = 0; at + 32 < iw.image_size; at++)
		if (!memcmp(iw.image + at, "name-12-of-many", 15)) {
			iw.image[at + 6] = '3';
			found++;
		}
	ck_assert_uint_eq(found, 2);
}

/* A name that leads out of the directory. Its checksum, where it has one, is right. */
static void leads_up(void)
{
	uint8_t *b = node(0, 7);
	const uint32_t rec_len = peek16(b + XW_ITREE_HDR + 8);
	struct xw_itree_hdr h;
	struct xw_super sb;

	b[XW_ITREE_HDR + 10] = 2;
	poke16(b + XW_ITREE_HDR + 8, 16);
	memset(b + XW_ITREE_HDR + XW_ITREE_REC_HDR, 0, rec_len - XW_ITREE_REC_HDR);
	memcpy(b + XW_ITREE_HDR + XW_ITREE_REC_HDR, "..", 2);
	memmove(b + XW_ITREE_HDR + 16, b + XW_ITREE_HDR + rec_len,
		BS - XW_ITREE_TAIL - XW_ITREE_HDR - rec_len);
	memset(b + BS - XW_ITREE_TAIL - (rec_len - 16), 0, rec_len - 16);
	poke16(b + 8, (uint16_t)(peek16(b + 8) - (rec_len - 16)));
	xw_super_decode(iw.image + 1024, &sb);
	ck_assert_int_eq(xw_itree_hdr_decode(b, BS, &h, NULL), 0);
	xw_itree_set_csum(b, BS, xw_super_has_csum(&sb),
			  xw_inode_seed(xw_super_csum_seed(&sb), h.dir, h.generation));
}

static void leaf_damaged(void)
{
	node(0, 9)[0] ^= 1;
}

static void root_damaged(void)
{
	node(1, 0)[0] ^= 1;
}

/* The directory's own leaf that begins with a name of ours and is the third of them. */
static void own_leaf_damaged(void)
{
	unsigned n = 0;

	for (size_t at = 0; at < iw.image_size; at += BS) {
		uint8_t *b = iw.image + at;

		if (!memcmp(b + 8, "name-", 5) && ++n == 3) {
			poke16(b + 4, 3);
			return;
		}
	}
	ck_abort_msg("no such leaf");
}

static const struct wrong {
	void (*hurt)(void);
	const char *said; /* NULL: nothing */
	bool csum; /* an itree that is believed as long as its checksums are right */
} wrongs[] = {
	{healthy, NULL},
	{entry_gone, "its itree does not list what it holds"},
	{name_differs, "its itree does not list what it holds"},
	{leaf_damaged, "itree block"},
	{root_damaged, "itree block"},
	{own_leaf_damaged, "damaged entry"},
	{leads_up, "impossible name"},
	{name_twice, "has the same name: \"name-13-of-many\""},
	{healthy, NULL, true},
	{leads_up, "impossible name", true},
	{entry_gone, "itree block", true},
	{leaf_damaged, "itree block", true},
	{root_damaged, "itree block", true},
};

/* ---- the list ---- */

static void check_list(struct xw_children *c, enum xw_export_order order, const char *said)
{
	static bool seen[NAMES];
	char last[64] = "", text[64];
	unsigned n = 0, told = 0, i;
	const char *name;
	xw_ino ino, last_ino = 0;
	size_t len;
	int rc;

	memset(seen, 0, sizeof(seen));
	while ((rc = xw_children_next(c, &ino, &name, &len))) {
		if (rc < 0) {
			ck_assert_ptr_nonnull(said);
			ck_assert_msg(strstr(c->img->diag->text, said), "%s", c->img->diag->text);
			xw_diag_clear(c->img->diag);
			told++;
			continue;
		}
		snprintf(text, sizeof(text), "%.*s", (int)len, name);
		ck_assert_msg(sscanf(text, "name-%u-of-many", &i) == 1 && i < NAMES, "%s", text);
		ck_assert_msg(!seen[i], "%s twice", text);
		seen[i] = true;
		if (order == XW_ORDER_NAME)
			ck_assert_str_lt(last, text);
		else
			ck_assert_uint_gt(ino, last_ino);
		strcpy(last, text);
		last_ino = ino;
		n++;
	}
	ck_assert_uint_eq(n, NAMES - (said && strstr(said, "same name")));
	ck_assert_uint_eq(told, said != NULL);
}

static void list_all(struct xw_image *img, const char *said)
{
	static const size_t holds[] = {SIZE_MAX, 5000, 0};
	static const enum xw_export_order orders[] = {XW_ORDER_INODE, XW_ORDER_NAME};
	uint8_t raw[1024];
	struct xw_inode in;
	xw_ino dir;

	ck_assert_int_eq(xw_path_resolve(img, XW_INO_ROOT, "/many", false, &dir), 0);
	ck_assert_int_eq(xw_image_inode(img, dir, &in, raw), 0);
	ck_assert(in.flags & XW_FL_ITREE);
	for (size_t i = 0; i < XW_ARRAY_SIZE(holds); i++) {
		for (size_t k = 0; k < XW_ARRAY_SIZE(orders); k++) {
			/* by name the itree is asked for its root only */
			const bool blocks = orders[k] == XW_ORDER_NAME && said &&
					    strcmp(said, "damaged entry") != 0;
			struct xw_children c;

			if (blocks)
				continue;
			ck_assert_int_eq(
				xw_children_open(img, orders[k], holds[i], dir, &in, raw, &c), 0);
			ck_assert_int_eq(c.itree != NULL, !said && !k && i);
			check_list(&c, orders[k], said);
			xw_children_free(&c);
		}
	}
}

START_TEST(names_of_the_directory)
{
	const struct wrong *w = &wrongs[_i];
	struct xw_diag diag = {0};
	struct xw_image *img;
	struct xw_dev *dev;

	import_world_image(&iw, "ext4",
			   w->csum ? "itree,metadata_csum,^has_journal"
				   : "itree,^metadata_csum,^has_journal",
			   put_many);
	w->hurt();
	ck_assert_int_eq(xw_dev_open_mem(iw.image_size, &diag, &dev), 0);
	ck_assert_int_eq(xw_dev_pwrite(dev, iw.image, iw.image_size, 0), 0);
	ck_assert_int_eq(xw_image_open(dev, 0, &diag, &img), 0);
	list_all(img, w->said);
	xw_image_close(img);
	xw_dev_close(dev);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("children");
	TCase *t = tcase_create("children");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	unit_add_rows(t, names_of_the_directory, wrongs, said);
	suite_add_tcase(s, t);
	return unit_main(s);
}
