/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target over disk/fast.h and lib/fastcommit. The first byte says what the rest is: blocks
 * of an area as they are, or eight bytes a field, which go with the image far enough to be carried
 * out. Properties, besides no crash: what scanning takes, decoding takes; fast commits that are
 * refused say why, in one line, and have changed nothing; those that are not leave an image in
 * which every block and inode is counted where it belongs.
 */
#include "config.h"

#include "../unit/memdev.h"
#include "fast_world.h"
#include "fastcommit/fastcommit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BS 1024u

static struct fast_image image;
static struct xw_dev *base;

static void make_image(void)
{
	if (base)
		return;
	setup();
	fast_image_make(&image, "1024", "fast_commit");
	teardown();
	ok(xw_dev_open_mem(image.size, &diag, &base));
	ok(xw_dev_pwrite(base, image.bytes, image.size, 0));
}

/* ---- an area as it is ---- */

static void scan(const uint8_t *data, size_t size)
{
	struct xw_fast_scan s = {.tid = data[0]};
	const size_t n = size / 64;
	struct xw_fast_field x;
	int more = 1;

	for (size_t i = 0; i < n && xw_fast_scan_block(&s, data + i * 64, 64); i++)
		;
	ck_assert_uint_le(s.good, n);
	for (size_t i = 0; i < s.good; i++) {
		struct xw_fast_iter it = {.blk = data + i * 64, .size = 64};

		while ((more = xw_fast_next(&it, &x)) == 1)
			ck_assert(!x.len || (x.bytes >= data && x.bytes + x.len <= data + size));
		ck_assert_int_eq(more, 0);
	}
}

/* ---- fields ---- */

static xw_ino some_ino(uint8_t b)
{
	const xw_ino some[] = {image.old,     image.keep,     image.sub,
			       image.sub + 1, image.next,     image.next + 1,
			       XW_INO_ROOT,   XW_INO_JOURNAL, image.next + 2};

	return b >= 250 ? b * 16777259u : some[b % XW_ARRAY_SIZE(some)];
}

static const char *some_name(uint8_t b)
{
	static const char *const some[] = {"old", "keep",        "sub", "inside", "a",  "b",
					   "c",   "a long name", ".",   "..",     "x/y"};

	return some[b < 250 ? b % 8 : b % XW_ARRAY_SIZE(some)];
}

static void some_record(struct fast_area *a, const uint8_t *p)
{
	static const uint16_t types[] = {XW_S_IFREG, XW_S_IFREG, XW_S_IFDIR, XW_S_IFDIR,
					 XW_S_IFLNK, XW_S_IFIFO, 0};
	struct xw_inode in = {
		.mode = types[p[2] % XW_ARRAY_SIZE(types)] | 0644,
		.size = (uint64_t)p[3] << p[4] % 16,
		.links = p[5],
		.flags = p[2] & 0x80 ? (uint32_t)p[6] << 12 : XW_FL_EXTENTS,
		.extra_isize = p[2] & 0x40 ? p[6] : XW_INODE_EXTRA_WANTED,
		.file_acl = p[7] == 255 ? FAST_FREE : 0,
	};

	if ((in.mode & XW_S_IFMT) == XW_S_IFREG && !(p[2] & 0x20))
		in.extra_isize = XW_INODE_EXTRA_WANTED;
	in.extra_isize = (uint16_t)XW_MIN(in.extra_isize, 96);
	fast_inode(a, &image, some_ino(p[1]), &in);
}

/* A file or directory, as Linux would tell of it. */
static void make_one(struct fast_area *a, const uint8_t *p)
{
	const bool file = p[2] & 1;
	const struct xw_inode in = {
		.mode = file ? XW_S_IFREG | 0644 : XW_S_IFDIR | 0755,
		.size = p[3] * BS / 8,
		.flags = XW_FL_EXTENTS,
		.generation = p[3],
		.extra_isize = XW_INODE_EXTRA_WANTED,
	};

	fast_inode(a, &image, some_ino(p[1]), &in);
	if (file)
		fast_range(a, XW_FAST_ADD_RANGE, some_ino(p[1]), p[4], 1 + p[5] % 16,
			   FAST_FREE + p[6] * 2);
	fast_name(a, XW_FAST_CREAT, p[7] & 1 ? XW_INO_ROOT : some_ino(p[6]), some_name(p[7]),
		  some_ino(p[1]));
}

static void put(struct fast_area *a, const uint8_t *p)
{
	switch (p[0] % 10) {
	case 8:
	case 9:
		make_one(a, p);
		break;
	case 0:
	case 1:
		fast_name(a, p[0] & 8 ? XW_FAST_CREAT : XW_FAST_LINK, some_ino(p[1]),
			  some_name(p[2]), some_ino(p[3]));
		break;
	case 2:
		fast_name(a, XW_FAST_UNLINK, some_ino(p[1]), some_name(p[2]), some_ino(p[3]));
		break;
	case 3: /* one that is there */
		if (p[1] & 1)
			fast_name(a, XW_FAST_UNLINK, XW_INO_ROOT, "old", image.old);
		else
			fast_name(a, XW_FAST_UNLINK, XW_INO_ROOT, "keep", image.keep);
		break;
	case 4:
	case 5:
		some_record(a, p);
		break;
	case 6:
		fast_range(a, XW_FAST_ADD_RANGE, some_ino(p[1]), p[2], 1 + p[3] % 32,
			   p[5] > 250 ? p[6] * 16777259u : FAST_FREE + p[4] % 64 * 4);
		break;
	default:
		fast_range(a, XW_FAST_DEL_RANGE, some_ino(p[1]), p[2] % 32,
			   p[5] > 128 ? UINT32_MAX - p[2] % 32 : 1u + p[3], 0);
		break;
	}
}

static void carry_out(const uint8_t *data, size_t size)
{
	static struct fast_area a;
	struct xw_dev *o;
	uint64_t *blocks;
	size_t n;
	int rc;

	make_image();
	fast_begin(&a, BS, 1);
	for (size_t i = 0; i + 8 <= size && a.n < FAST_MAX_BLOCKS - 1; i += 8)
		put(&a, data + i);
	fast_end(&a, 1);
	xw_diag_clear(&diag);
	ok(xw_overlay_open(base, BS, &diag, &o));
	rc = xw_update_fast(o, a.blk, a.n, &diag);
	if (rc) {
		ck_assert(diag.text[0]);
		ck_assert_ptr_null(strchr(diag.text, '\n'));
		ok(xw_overlay_dirty(o, &blocks, &n));
		ck_assert_uint_eq(n, 0);
		free(blocks);
		xw_diag_clear(&diag);
	} else {
		check_dev(o);
	}
	xw_overlay_detach(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 9)
		return 0;
	if (data[0] & 1)
		scan(data + 1, size - 1);
	else
		carry_out(data + 1, size - 1);
	return 0;
}
