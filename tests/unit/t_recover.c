/* SPDX-License-Identifier: MIT */
/* The cases of recovery on open, one by one. */
#include "config.h"

#include <string.h>

#include "base/crc.h"
#include "base/endian.h"
#include "base/types.h"
#include "session/edit.h"
#include "commit/super.h"
#include "commit_world.h"
#include "journal/txn.h"
#include "unit.h"

static int try_recover(struct world *w, unsigned flags, struct xw_recover_info *info)
{
	struct xw_dev *d = crash_dev_dup(w->img);
	int rc = xw_recover_dev(&d, &w->store, flags, &w->diag, info);

	xw_dev_close(d);
	return rc;
}

START_TEST(half_state_is_refused)
{
	uint8_t super[XW_SUPER_SIZE];
	struct xw_super sb;
	struct world w;

	world_half_done(&w, &world_specs[_i]);
	ck_assert_int_eq(world_state(&w, w.img, false), '?');
	world_get_super(&w, super);
	ck_assert(xw_super_bytes_valid(super));
	ck_assert_int_eq(xw_super_decode(super, &sb), 0);
	ck_assert_uint_eq(sb.feature_incompat & 0x40000000, 0x40000000);
	ck_assert_uint_eq(sb.xw_nonce, 0x1234567890ABCDEF);
	world_close(&w);
}
END_TEST

START_TEST(bit_without_file)
{
	struct xw_recover_info info;
	uint8_t super[XW_SUPER_SIZE];
	struct xw_super sb;
	struct world w;

	world_half_done(&w, &world_specs[_i]);
	xw_dev_close(w.pub);
	w.pub = NULL;
	for (unsigned ro = 0; ro < 2; ro++) {
		ck_assert_int_eq(try_recover(&w, ro ? XW_RECOVER_RDONLY : 0, &info), XW_ERR_STATE);
		ck_assert_ptr_nonnull(strstr(w.diag.text, "missing"));
		ck_assert_ptr_nonnull(strstr(w.diag.text, "clear_pending"));
		xw_diag_clear(&w.diag);
	}
	ck_assert_int_eq(try_recover(&w, XW_RECOVER_FORCE, &info), 0);
	ck_assert(info.stuck);
	ck_assert_int_eq(xw_recover_abandon(w.img, &w.diag), 0);
	ck_assert_int_eq(try_recover(&w, 0, &info), 0);
	world_get_super(&w, super);
	ck_assert(xw_super_bytes_valid(super));
	ck_assert(!xw_super_bytes_nonce(super));
	ck_assert_int_eq(xw_super_decode(super, &sb), 0);
	ck_assert(sb.state & XW_STATE_ERROR);
	world_close(&w);
}
END_TEST

START_TEST(file_of_another_change)
{
	struct xw_recover_info info;
	uint8_t super[XW_SUPER_SIZE];
	struct world w;

	world_half_done(&w, &world_specs[0]);
	world_get_super(&w, super);
	xw_super_bytes_pend(super, 4711, 0, super);
	world_put_super(&w, super);
	ck_assert_int_eq(try_recover(&w, 0, &info), XW_ERR_STATE);
	ck_assert_ptr_nonnull(strstr(w.diag.text, "of another image"));
	ck_assert_ptr_nonnull(w.pub);
	world_close(&w);
}
END_TEST

/* Every byte of the redo file: with the bit set a damaged one is refused, and writes nothing. */
START_TEST(damaged_file)
{
	struct xw_recover_info info;
	unsigned char *before, c, bad;
	uint64_t size, tried = 0, refused = 0;
	struct world w;

	world_half_done(&w, &world_specs[_i]);
	before = malloc(w.img->size);
	size = w.pub->size;
	for (uint64_t at = 0; at < size; at += at < 5000 ? 131 : 3989) {
		struct xw_dev *d = crash_dev_dup(w.img);
		int rc;

		tried++;
		ck_assert_int_eq(xw_dev_pread(w.img, before, w.img->size, 0), 0);
		ck_assert_int_eq(xw_dev_pread(w.pub, &c, 1, at), 0);
		bad = c ^ 0x40;
		ck_assert_int_eq(xw_dev_pwrite(w.pub, &bad, 1, at), 0);
		rc = xw_recover_dev(&d, &w.store, XW_RECOVER_RDONLY, &w.diag, &info);
		/* padding of the table and of the journal superblock's block has no meaning */
		if (!rc)
			ck_assert_int_eq(world_state(&w, d, false), 'n');
		else
			ck_assert_str_ne(w.diag.text, "");
		refused += rc != 0;
		xw_dev_close(d);
		xw_diag_clear(&w.diag);
		if (rc) {
			ck_assert_int_ne(try_recover(&w, 0, &info), 0);
			ck_assert_ptr_nonnull(w.pub);
		}
		xw_diag_clear(&w.diag);
		if (rc) { /* a checker goes on, and a message that is none of its own is dropped */
			ck_assert_int_eq(try_recover(&w, XW_RECOVER_FORCE, &info), 0);
			ck_assert(info.stuck && !info.redo_applied);
			ck_assert_str_eq(w.diag.text, "");
			ck_assert_ptr_nonnull(w.pub);
		}
		ck_assert_int_eq(xw_dev_pwrite(w.pub, &c, 1, at), 0);
		ck_assert_int_eq(world_state(&w, w.img, false), '?');
	}
	ck_assert_uint_gt(refused, tried * 8 / 10);
	/* too short */
	ck_assert_int_eq(xw_dev_set_size(w.pub, size - 1), 0);
	ck_assert_int_eq(try_recover(&w, 0, &info), XW_ERR_CORRUPT);
	free(before);
	world_close(&w);
}
END_TEST

/* Every part of a record in the image, its list first: the same. */
START_TEST(damaged_record)
{
	const uint64_t from = (uint64_t)WORLD_LOG_FIRST * world_specs[_i].block_size;
	const uint64_t len = (uint64_t)WORLD_LOG_BLOCKS * world_specs[_i].block_size;
	unsigned refused = 0, tried = 0;
	struct xw_recover_info info;
	struct world w;

	world_half_inside(&w, &world_specs[_i]);
	for (uint64_t at = 0; at < len; at += at < 512 ? 1 : at < 8192 ? 67 : 3989) {
		struct xw_dev *d = crash_dev_dup(w.img);
		unsigned char c, bad;
		int rc;

		ck_assert_int_eq(xw_dev_pread(w.img, &c, 1, from + at), 0);
		bad = c ^ 0x40;
		ck_assert_int_eq(xw_dev_pwrite(w.img, &bad, 1, from + at), 0);
		rc = xw_recover_dev(&d, &w.store, XW_RECOVER_RDONLY, &w.diag, &info);
		if (!rc)
			ck_assert_int_eq(world_state(&w, d, true), 'n');
		else
			ck_assert_str_ne(w.diag.text, "");
		tried++;
		refused += rc != 0;
		xw_dev_close(d);
		xw_diag_clear(&w.diag);
		if (rc) {
			ck_assert_int_ne(try_recover(&w, 0, &info), 0);
			xw_diag_clear(&w.diag);
			ck_assert_int_eq(try_recover(&w, XW_RECOVER_FORCE, &info), 0);
			ck_assert(info.stuck && !info.redo_applied);
			ck_assert_str_eq(w.diag.text, "");
		}
		ck_assert_int_eq(xw_dev_pwrite(w.img, &c, 1, from + at), 0);
		ck_assert_int_eq(world_state(&w, w.img, true), '?');
	}
	ck_assert_uint_gt(refused, tried / 2);
	world_close(&w);
}
END_TEST

/* A list whose checksum is right and whose fields are anything: no harm, and no image changed. */
START_TEST(hostile_list)
{
	const uint32_t bs = world_specs[_i].block_size;
	const uint64_t off = (uint64_t)WORLD_LOG_FIRST * bs;
	static const unsigned fields[] = {8, 0x28, 0x30, 0x38, 0x3C, 0x40, 0x50, 0x58};
	static const uint8_t zero[4];
	struct xw_recover_info info;
	unsigned char *good = malloc(bs), *bad = malloc(bs);
	uint32_t x = 12345;
	unsigned refused = 0;
	struct world w;

	world_half_inside(&w, &world_specs[_i]);
	ck_assert_int_eq(xw_dev_pread(w.img, good, bs, off), 0);
	for (int i = 0; i < 400; i++) {
		memcpy(bad, good, bs);
		x = x * 1664525u + 1013904223u;
		memset(bad + fields[x >> 8 & 7], (int)(x >> 16), x >> 28 & 1 ? 1 : 8);
		memcpy(bad + 0x0C, zero, sizeof(zero));
		*(le32 *)(void *)(bad + 0x0C) = put32(xw_crc32c(~0u, bad, bs));
		ck_assert_int_eq(xw_dev_pwrite(w.img, bad, bs, off), 0);
		refused += try_recover(&w, XW_RECOVER_RDONLY, &info) != 0;
		xw_diag_clear(&w.diag);
	}
	ck_assert_uint_gt(refused, 200);
	ck_assert_int_eq(xw_dev_pwrite(w.img, good, bs, off), 0);
	ck_assert_int_eq(world_recover(&w, 0, true, &info), 'n');
	free(good);
	free(bad);
	world_close(&w);
}
END_TEST

/* A header whose checksum is right and whose fields are anything: no harm, and no image changed. */
START_TEST(hostile_header)
{
	static const uint8_t zero[4];
	struct xw_recover_info info;
	unsigned char good[4096], bad[4096];
	uint32_t x = 12345;
	unsigned refused = 0;
	struct world w;

	world_half_done(&w, &world_specs[_i]);
	ck_assert_int_eq(xw_dev_pread(w.pub, good, sizeof(good), 0), 0);
	for (unsigned i = 0; i < 4000; i++) {
		struct xw_dev *d = crash_dev_dup(w.img);

		memcpy(bad, good, sizeof(bad));
		for (unsigned k = 0; k <= i % 3; k++) {
			x = x * 1664525u + 1013904223u;
			bad[8 + (x >> 8) % 0x4C] = (unsigned char)(i % 5 ? x >> 24 : 0);
		}
		memcpy(bad + 0x3FC, zero, 4);
		poke32(bad + 0x3FC, xw_crc32c(~0u, bad, sizeof(bad)));
		ck_assert_int_eq(xw_dev_pwrite(w.pub, bad, sizeof(bad), 0), 0);
		if (xw_recover_dev(&d, &w.store, XW_RECOVER_RDONLY, &w.diag, &info)) {
			ck_assert_str_ne(w.diag.text, "");
			refused++;
		}
		xw_diag_clear(&w.diag);
		xw_dev_close(d);
		ck_assert_int_eq(world_state(&w, w.img, false), '?');
	}
	ck_assert_uint_gt(refused, 2000);
	ck_assert_int_eq(xw_dev_pwrite(w.pub, good, sizeof(good), 0), 0);
	ck_assert_int_eq(world_recover(&w, 0, false, &info), 'n');
	world_close(&w);
}
END_TEST

/* ---- sizes that a redo file says ---- */

#define AT_OLD_SIZE 0x28
#define AT_NEW_SIZE 0x30
#define AT_BLOCKS 0x38
#define AT_LOG_OFFSET 0x40
#define AT_LOG_BLOCKS 0x48
#define AT_NEW_SUPER 0xC00

/* Store a 64-bit value in the header of the redo file; its checksum follows. */
static void set_header(struct world *w, unsigned at, uint64_t value)
{
	unsigned char header[4096];

	ck_assert_int_eq(xw_dev_pread(w->pub, header, sizeof(header), 0), 0);
	poke64(header + at, value);
	xw_super_bytes_incompat(header + AT_NEW_SUPER, 0, 0);
	poke32(header + 0x3FC, 0);
	poke32(header + 0x3FC, xw_crc32c(~0u, header, sizeof(header)));
	ck_assert_int_eq(xw_dev_pwrite(w->pub, header, sizeof(header), 0), 0);
}

/* Neither a reader nor a writer accepts the redo file; the image stays as it is. */
static void refused(struct world *w, int code, const char *text)
{
	const uint64_t size = w->img->size;
	struct xw_recover_info info;

	for (unsigned ro = 0; ro < 2; ro++) {
		ck_assert_int_eq(try_recover(w, ro ? XW_RECOVER_RDONLY : 0, &info), code);
		if (!strstr(w->diag.text, text))
			ck_abort_msg("%s: not in: %s", text, w->diag.text);
		xw_diag_clear(&w->diag);
	}
	ck_assert_uint_eq(w->img->size, size);
	ck_assert_ptr_nonnull(w->pub);
}

START_TEST(made_up_sizes)
{
	const uint64_t bs = world_specs[_i].block_size;
	struct world w;

	/* larger than the filesystem, and shorter than it */
	world_half_done(&w, &world_specs[_i]);
	set_header(&w, AT_NEW_SIZE, UINT64_C(1) << 62);
	refused(&w, XW_ERR_CORRUPT, "its sizes are not those of the filesystem");
	set_header(&w, AT_NEW_SIZE, w.old_size + 1000000);
	refused(&w, XW_ERR_CORRUPT, "its sizes are not those of the filesystem");
	set_header(&w, AT_NEW_SIZE, (uint64_t)WORLD_BLOCKS * bs - 1);
	refused(&w, XW_ERR_CORRUPT, "its sizes are not those of the filesystem");
	/* a new superblock says so, too, but no descriptors of its groups are there */
	set_header(&w, AT_NEW_SIZE, UINT64_C(1) << 52);
	set_header(&w, AT_NEW_SUPER, (UINT64_C(1) << 52) / bs << 32 | 32); /* and inodes */
	if (world_specs[_i].bit64)
		set_header(&w, AT_NEW_SUPER + 0x150, (UINT64_C(1) << 52) / bs >> 32);
	refused(&w, XW_ERR_CORRUPT, "its sizes are not those of the filesystem");
	world_close(&w);

	/* tables for more blocks than there are */
	world_half_done(&w, &world_specs[_i]);
	set_header(&w, AT_BLOCKS, 400000000);
	refused(&w, XW_ERR_STATE, "damaged");
	world_close(&w);
}
END_TEST

/* A header whose numbers agree with each other, for more blocks than there are. */
START_TEST(made_up_blocks)
{
	const struct xw_jsb like = {.blocksize = 1024,
				    .feature_incompat =
					    XW_JBD2_INCOMPAT_64BIT | XW_JBD2_INCOMPAT_CSUM_V3};
	const uint64_t blocks = 60000, offset = xw_round_up(4096 + blocks * 16, 1024);
	struct xw_log shape = {.block_size = 1024};
	struct xw_recover_info info;
	uint64_t log;
	struct world w;

	xw_jfmt_init(&like, &shape.fmt);
	log = 1 + xw_txn_blocks(&shape, blocks);
	world_half_done(&w, &world_specs[0]);
	set_header(&w, AT_BLOCKS, blocks);
	set_header(&w, AT_LOG_OFFSET, offset);
	set_header(&w, AT_LOG_BLOCKS, log + 1);
	ck_assert_int_eq(try_recover(&w, 0, &info), XW_ERR_STATE);
	ck_assert_ptr_nonnull(strstr(w.diag.text, "damaged or of another"));
	xw_diag_clear(&w.diag);
	set_header(&w, AT_LOG_BLOCKS, log);
	refused(&w, XW_ERR_CORRUPT, "length differs from the header");
	ck_assert_int_eq(xw_dev_set_size(w.pub, offset + log * 1024), 0);
	refused(&w, XW_ERR_CORRUPT, "more blocks than the image has");
	world_close(&w);
}
END_TEST

/* An image that is not as long as it was is neither grown nor cut; a longer place is no matter. */
START_TEST(image_of_another_size)
{
	static const struct world_spec grows = {1024, true, true, 0x12, 100000, false};
	static const struct world_spec shrinks = {1024, true, true, 0x12, -30000, false};
	struct xw_recover_info info;
	unsigned char *got;
	struct xw_dev *part;
	struct world w;

	world_half_done(&w, &world_specs[0]);
	ck_assert_int_eq(xw_dev_set_size(w.img, w.old_size - 50000), 0);
	refused(&w, XW_ERR_STATE, "an image of");
	ck_assert_int_eq(xw_dev_set_size(w.img, w.old_size + 50000), 0);
	ck_assert_int_eq(try_recover(&w, 0, &info), 0);
	ck_assert(info.redo_applied);
	ck_assert_uint_eq(w.img->size, w.old_size + 50000);
	got = malloc(w.old_size);
	ck_assert_int_eq(xw_dev_pread(w.img, got, w.old_size - 50000, 0), 0);
	ck_assert_mem_eq(got, w.new_img, w.old_size - 50000);
	free(got);
	world_close(&w);

	/* a partition, in a record of an earlier version, ends with its disk */
	world_half_done(&w, &world_specs[0]);
	set_header(&w, AT_OLD_SIZE, w.old_size + 50000);
	set_header(&w, AT_NEW_SIZE, w.old_size + 50000);
	refused(&w, XW_ERR_STATE, "an image of");
	part = crash_dev_dup(w.img);
	part->is_window = part->fixed = true;
	ck_assert_int_eq(xw_recover_dev(&part, &w.store, 0, &w.diag, &info), XW_ERR_STATE);
	ck_assert_ptr_nonnull(strstr(w.diag.text, "as an earlier version records it"));
	xw_dev_close(part);
	world_close(&w);
	world_half_done(&w, &grows);
	ck_assert_int_eq(xw_dev_set_size(w.img, w.old_size + 5000), 0);
	refused(&w, XW_ERR_STATE, "an image of");
	world_close(&w);

	world_half_done(&w, &shrinks);
	ck_assert_int_eq(xw_dev_set_size(w.img, w.old_size + 5000), 0);
	refused(&w, XW_ERR_STATE, "an image of");
	world_close(&w);
}
END_TEST

START_TEST(file_without_bit)
{
	struct xw_recover_info info;
	struct xw_dev *o;
	struct world w, other;

	/* old state and new state: what the store has is dropped, but not by a reader */
	for (int i = 0; i < 3; i++) {
		world_half_done(&w, &world_specs[0]);
		if (i == 2) { /* a third state, as by another tool */
			w.new_img[XW_SUPER_OFFSET + 0x34] ^= 1;
			xw_super_bytes_incompat(w.new_img + XW_SUPER_OFFSET, 0, 0);
		}
		ck_assert_int_eq(xw_dev_pwrite(w.img, i ? w.new_img : w.old_img, w.old_size, 0), 0);
		ck_assert_int_eq(world_recover(&w, XW_RECOVER_RDONLY, false, &info), i ? 'n' : 'o');
		ck_assert_ptr_nonnull(w.pub);
		ck_assert_int_eq(world_recover(&w, 0, false, &info), i ? 'n' : 'o');
		ck_assert(info.redo_dropped);
		ck_assert_ptr_null(w.pub);
		world_close(&w);
	}
	/* another filesystem's: not touched, not used, and never replaced */
	world_half_done(&w, &world_specs[0]);
	world_open(&other, &world_specs[0]);
	other.old_img[XW_SUPER_OFFSET + 0x68] ^= 1;
	xw_super_bytes_incompat(other.old_img + XW_SUPER_OFFSET, 0, 0);
	ck_assert_int_eq(xw_dev_pwrite(w.img, other.old_img, w.old_size, 0), 0);
	ck_assert_int_eq(try_recover(&w, 0, &info), 0);
	ck_assert(!info.redo_applied && !info.redo_dropped);
	ck_assert_ptr_nonnull(w.pub);
	o = world_change(&w);
	world_edit_super(o, 0x68, 1);
	ck_assert_int_eq(world_commit(&w, o, XW_COMMIT_REDO, NULL), XW_ERR_EXISTS);
	xw_diag_clear(&w.diag);
	ck_assert_ptr_nonnull(w.pub);
	memcpy(w.old_img, other.old_img, w.old_size);
	ck_assert_int_eq(world_state(&w, w.img, false), 'o');
	xw_dev_close(o);
	world_close(&other);
	world_close(&w);
}
END_TEST

/* The superblock in every mixture of two neighbouring states. */
START_TEST(torn_super)
{
	uint8_t pending[XW_SUPER_SIZE], torn[XW_SUPER_SIZE];
	struct xw_recover_info info;
	struct world w;
	struct xw_dev *o;

	for (unsigned cut = 0; cut <= XW_SUPER_SIZE; cut += cut > 0x58 && cut < 0x70 ? 1 : 13) {
		const unsigned kind = cut % 4; /* old/pending, pending/new; front or back first */
		const uint8_t *from, *to;

		world_half_done(&w, &world_specs[_i]);
		world_get_super(&w, pending);
		from = kind & 1 ? pending : w.old_img + XW_SUPER_OFFSET;
		to = kind & 1 ? w.new_img + XW_SUPER_OFFSET : pending;
		memcpy(torn, kind & 2 ? to : from, XW_SUPER_SIZE);
		memcpy(torn, kind & 2 ? from : to, cut);
		/* blocks as they are then */
		ck_assert_int_eq(
			xw_dev_pwrite(w.img, kind & 1 ? w.new_img : w.old_img, w.old_size, 0), 0);
		world_put_super(&w, torn);
		ck_assert_int_ne(world_recover(&w, XW_RECOVER_RDONLY, false, &info), '?');
		ck_assert_int_ne(world_recover(&w, 0, false, &info), '?');
		world_check_settled(&w, false, world_state(&w, w.img, false));
		o = world_change(&w);
		ck_assert_int_eq(world_commit(&w, o, XW_COMMIT_REDO, NULL), 0);
		xw_dev_close(o);
		world_close(&w);
	}
}
END_TEST

/* Nothing is left of the superblock, or its checksum is wrong. */
START_TEST(lost_super)
{
	uint8_t super[XW_SUPER_SIZE];
	struct xw_recover_info info;
	struct world w;

	/* garbage: recognised by all its blocks */
	world_half_done(&w, &world_specs[_i]);
	memset(super, 0xAA, sizeof(super));
	world_put_super(&w, super);
	ck_assert_int_eq(world_recover(&w, XW_RECOVER_RDONLY, false, &info), 'n');
	ck_assert_int_eq(world_recover(&w, 0, false, &info), 'n');
	world_close(&w);

	/* garbage, and a block that has neither old nor new contents */
	world_half_done(&w, &world_specs[_i]);
	memset(super, 0xAA, sizeof(super));
	world_put_super(&w, super);
	ck_assert_int_eq(xw_dev_pwrite(w.img, "someone else's", 14,
				       (uint64_t)11 * world_specs[_i].block_size + 300),
			 0);
	ck_assert_int_eq(xw_dev_pwrite(w.img, "someone else's", 14, 0), 0);
	ck_assert_int_eq(xw_dev_pwrite(w.img, "someone else's", 14,
				       (uint64_t)(world_specs[_i].block_size == 1024 ? 2 : 1) *
						       world_specs[_i].block_size +
					       30),
			 0);
	ck_assert_int_eq(try_recover(&w, 0, &info), 0);
	ck_assert(!info.redo_applied);
	ck_assert_ptr_nonnull(w.pub);
	world_close(&w);

	/* a byte that belongs to no state, but the nonce is there */
	world_half_done(&w, &world_specs[_i]);
	world_get_super(&w, super);
	super[0x38] ^= 0xFF; /* magic */
	world_put_super(&w, super);
	ck_assert_int_eq(world_recover(&w, 0, false, &info), 'n');
	ck_assert(info.redo_applied);
	world_close(&w);
}
END_TEST

/* Nothing is left of the superblock: the copy in group 1 says whose image this is. */
START_TEST(lost_super_and_a_copy)
{
	enum { PER_GROUP = 229 };
	const struct world_spec *spec = &world_specs[0];
	const uint64_t at = (uint64_t)(1 + PER_GROUP) * spec->block_size;
	uint8_t garbage[XW_SUPER_SIZE], copy[XW_SUPER_SIZE];
	struct xw_recover_info info;
	struct xw_super sb;
	struct world w;

	ck_assert_uint_eq(spec->block_size, 1024);
	memset(garbage, 0xAA, sizeof(garbage));
	for (int i = 0; i < 3; i++) { /* its own copy, another image's, none */
		world_half_done(&w, spec);
		ck_assert_int_eq(xw_super_decode(w.new_img + XW_SUPER_OFFSET, &sb), 0);
		set_header(&w, AT_NEW_SUPER + 0x20, PER_GROUP | (uint64_t)PER_GROUP << 32);
		sb.uuid[0] ^= i == 1;
		xw_super_encode(&sb, copy);
		if (i == 2)
			memset(copy, 0, sizeof(copy));
		ck_assert_int_eq(xw_dev_pwrite(w.img, copy, sizeof(copy), at), 0);
		world_put_super(&w, garbage);
		if (try_recover(&w, 0, &info))
			ck_abort_msg("%d: %s", i, w.diag.text);
		ck_assert_int_eq(info.redo_applied, i != 1);
		ck_assert_int_eq(w.pub != NULL, i == 1);
		world_close(&w);
	}
}
END_TEST

/* A superblock whose RECOVER bit and checksum did not arrive together. */
START_TEST(torn_recover_bit)
{
	uint8_t super[XW_SUPER_SIZE], other[XW_SUPER_SIZE];
	struct xw_recover_info info;
	struct world w;

	for (int i = 0; i < 4; i++) {
		world_open(&w, &world_specs[0]);
		world_get_super(&w, super);
		memcpy(other, super, sizeof(other));
		xw_super_bytes_incompat(other, XW_INCOMPAT_RECOVER, 0);
		memcpy(i & 1 ? super : other, i & 1 ? other : super, 512);
		world_put_super(&w, i & 1 ? super : other);
		memcpy(w.new_img, w.old_img, w.old_size);
		ck_assert_int_eq(world_recover(&w, i & 2 ? XW_RECOVER_RDONLY : 0, false, &info),
				 'o');
		ck_assert(info.super_fixed);
		world_close(&w);
	}
}
END_TEST

/* ---- the counts behind a replay ---- */

/* What the only descriptor of a changed world says; its superblock says something else. */
#define COUNTED_BLOCKS 77u
#define COUNTED_INODES 7u

/* A world whose change is in its log, and not in its place. */
static void open_pending(struct world *w, const struct world_spec *spec)
{
	for (uint64_t k = 1;; k++) {
		struct xw_recover_info info;
		struct xw_dev *o;
		int rc;

		world_open(w, spec);
		o = world_change(w);
		w->crash.fail_at = k;
		rc = world_commit(w, o, XW_COMMIT_JOURNAL, NULL);
		xw_dev_close(o);
		ck_assert_int_ne(rc, 0);
		world_revive(w);
		w->crash.steps = 0;
		if (world_recover(w, XW_RECOVER_RDONLY, true, &info) == 'n' &&
		    info.journal.transactions == 1)
			return;
		world_close(w);
	}
}

static int begin_edit(struct world *w)
{
	const struct xw_edit_opts opts = {.now = 1700000000};
	struct xw_dev *d = crash_dev_dup(w->img);
	struct xw_edit *e;
	int rc = xw_edit_begin_dev(d, &w->store, &opts, &w->diag, &e);

	if (rc)
		xw_dev_close(d);
	else
		xw_edit_end(e);
	return rc;
}

/* Whoever finds no reason to recover finds the counts right. */
static bool check_counts(struct world *w)
{
	uint8_t super[XW_SUPER_SIZE];
	struct xw_super sb;

	world_get_super(w, super);
	if (!xw_super_bytes_valid(super) ||
	    xw_super_bytes_has(super, XW_INCOMPAT_RECOVER | XW_INCOMPAT_PENDING))
		return false;
	ck_assert_int_eq(xw_super_decode(super, &sb), 0);
	ck_assert_str_eq(sb.volume_name, "new");
	ck_assert_uint_eq(sb.free_blocks_count, COUNTED_BLOCKS);
	ck_assert_uint_eq(sb.free_inodes_count, COUNTED_INODES);
	return true;
}

/* The log cannot be used for the counts: they go through the redo file. */
static void forbid_journal(struct world *w)
{
	world_edit_super(w->img, 0x67, XW_RO_ITREE >> 24);
	ck_assert_int_eq(xw_dev_flush(w->img), 0);
	w->crash.steps = 0;
}

/*
 * Cut at every step: RECOVER goes with the counts, or stays. An everyday run takes one seed a step,
 * in turn; XW_ALL=1, and a run that skips steps: each seed at each step.
 */
START_TEST(counts_cut_everywhere)
{
	static const uint32_t seeds[] = {0, 1, 123456};
	const bool all = unit_stride() > 1 || (getenv("XW_ALL") && *getenv("XW_ALL"));
	unsigned unsettled = 0;
	bool reached = true;

	for (uint64_t k = 1; reached; k += unit_stride()) {
		for (size_t i = 0; i < XW_ARRAY_SIZE(seeds); i++) {
			struct world w;

			if (!all && i != k % XW_ARRAY_SIZE(seeds))
				continue;
			open_pending(&w, &world_specs[_i % WORLD_SPECS]);
			if (_i >= WORLD_SPECS)
				forbid_journal(&w);
			w.crash.fail_at = k;
			w.crash.seed = seeds[i];
			(void)begin_edit(&w); /* without power it finds nothing to read, too */
			reached = w.crash.steps >= k;
			world_revive(&w);
			unsettled += !check_counts(&w);
			if (begin_edit(&w))
				ck_abort_msg("step %u: %s", (unsigned)k, w.diag.text);
			ck_assert(check_counts(&w));
			ck_assert_ptr_null(w.pub);
			world_close(&w);
		}
	}
	ck_assert_uint_gt(unsettled, 4);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("recover");
	TCase *tc = tcase_create("cases");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, half_state_is_refused, 0, WORLD_SPECS);
	tcase_add_loop_test(tc, bit_without_file, 0, WORLD_SPECS);
	tcase_add_test(tc, file_of_another_change);
	tcase_add_loop_test(tc, damaged_file, 0, 2);
	tcase_add_loop_test(tc, damaged_record, 0, WORLD_SPECS);
	tcase_add_loop_test(tc, hostile_list, 0, WORLD_SPECS);
	tcase_add_loop_test(tc, hostile_header, 0, 2);
	tcase_add_loop_test(tc, made_up_sizes, 0, WORLD_SPECS);
	tcase_add_test(tc, made_up_blocks);
	tcase_add_test(tc, image_of_another_size);
	tcase_add_test(tc, file_without_bit);
	tcase_add_loop_test(tc, torn_super, 0, 4);
	tcase_add_loop_test(tc, lost_super, 0, WORLD_SPECS);
	tcase_add_test(tc, lost_super_and_a_copy);
	tcase_add_test(tc, torn_recover_bit);
	tcase_add_loop_test(tc, counts_cut_everywhere, 0, 2 * WORLD_SPECS);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
