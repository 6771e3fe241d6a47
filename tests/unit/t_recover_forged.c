/* SPDX-License-Identifier: MIT */
/*
 * Redo records that somebody made to write where no change of this filesystem writes. All checksums
 * are valid. Such a record is refused before the first write, in a file and in the image.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/endian.h"
#include "base/types.h"
#include "commit/inside.h"
#include "commit/super.h"
#include "commit_world.h"
#include "journal/log.h"
#include "unit.h"

#define AT_BLOCK_SIZE 0x0C
#define AT_LOG_OFFSET 0x40
#define LIST_BYTES 0x28 /* in a list of blocks of a record in the image */
#define LIST_SIZE 0x40
#define LIST_RUNS 0x50

/* Let the i-th tag of the record on d be for block blk; false: its first descriptor has fewer. */
static bool forge_tag(struct xw_dev *d, unsigned i, xw_blk blk)
{
	uint8_t header[4096], block[65536], *at;
	struct xw_log *log;
	struct xw_jtag tag;
	struct xw_jtag_iter it;
	uint64_t offset;
	uint32_t bs;

	ck_assert_int_eq(xw_dev_pread(d, header, sizeof(header), 0), 0);
	bs = peek32(header + AT_BLOCK_SIZE);
	offset = peek64(header + AT_LOG_OFFSET);
	ck_assert_int_eq(xw_log_open_flat(d, offset, bs, (d->size - offset) / bs, NULL, &log), 0);
	ck_assert_int_eq(xw_log_read(log, 1, block), 0);
	it = (struct xw_jtag_iter){.f = &log->fmt, .blk = block};
	for (at = block + XW_JBD2_HDR; i; i--) {
		if (xw_jtag_next(&it, &tag) != 1 || it.done)
			break;
		at = block + it.off;
	}
	if (!i) {
		*(be32 *)at = putbe32((uint32_t)blk);
		*(be32 *)(at + 8) = putbe32((uint32_t)(blk >> 32));
		xw_jblock_set_tail(&log->fmt, block);
		ck_assert_int_eq(xw_dev_pwrite(d, block, bs, offset + bs), 0);
	}
	xw_log_close(log);
	return !i;
}

static int try_recover(struct world *w, unsigned flags, struct xw_recover_info *info)
{
	struct xw_dev *d = crash_dev_dup(w->img);
	int rc = xw_recover_dev(&d, &w->store, flags, &w->diag, info);

	xw_dev_close(d);
	return rc;
}

static uint8_t *contents(struct world *w)
{
	uint8_t *all = malloc(w->img->size);

	ck_assert_ptr_nonnull(all);
	ck_assert_int_eq(xw_dev_pread(w->img, all, w->img->size, 0), 0);
	return all;
}

/* A reader and a writer fail, and a checker goes on without the record; nobody writes. */
static void refused(struct world *w, int code, const char *text)
{
	const uint64_t size = w->img->size;
	struct xw_recover_info info;
	uint8_t *before = contents(w), *after;

	for (unsigned ro = 0; ro < 2; ro++) {
		ck_assert_int_eq(try_recover(w, ro ? XW_RECOVER_RDONLY : 0, &info), code);
		if (!strstr(w->diag.text, text))
			ck_abort_msg("%s: not in: %s", text, w->diag.text);
		xw_diag_clear(&w->diag);
	}
	ck_assert_int_eq(try_recover(w, XW_RECOVER_FORCE, &info), 0);
	ck_assert(info.stuck && !info.redo_applied);
	ck_assert_uint_eq(w->img->size, size);
	after = contents(w);
	ck_assert(!memcmp(before, after, size));
	free(before);
	free(after);
}

static const uint64_t wild[] = {
	0, 1, 100, UINT64_C(1) << 20, UINT64_C(1) << 32, UINT64_C(1) << 51, UINT64_MAX / 2};

START_TEST(blocks_in_a_file)
{
	const struct world_spec *spec = &world_specs[_i];
	unsigned tag = 0;
	struct world w;

	do {
		for (unsigned k = 0; k < XW_ARRAY_SIZE(wild); k++) {
			const uint64_t more = spec->grow > 0 ? spec->grow / spec->block_size : 0;

			world_half_done(&w, spec);
			/* the device is larger, as a partition's window of a disk was */
			if (!spec->grow)
				ck_assert_int_eq(
					xw_dev_set_size(w.img, w.old_size + 2 * spec->block_size),
					0);
			if (!forge_tag(w.pub, tag, WORLD_BLOCKS + more + wild[k])) {
				ck_assert_uint_gt(tag, 3);
				world_close(&w);
				return;
			}
			if (!spec->grow)
				w.img->is_window = true;
			refused(&w, XW_ERR_CORRUPT, "forged redo record: it writes block");
			world_close(&w);
		}
		tag++;
	} while (true);
}
END_TEST

/* The store of the record in the image of w, opened: writes to *d go to the record. */
static struct xw_redo_store *open_inside(struct world *w, struct xw_dev **d)
{
	struct xw_redo_store *s;
	uint8_t super[XW_SUPER_SIZE];

	world_get_super(w, super);
	ck_assert_int_eq(
		xw_inside_at(w->img, xw_super_bytes_number(super, 0), UINT64_MAX, NULL, &s), 0);
	ck_assert_int_eq(s->ops->open(s, d), 0);
	return s;
}

START_TEST(blocks_in_the_image)
{
	const struct world_spec spec = {.block_size = 1024 << (_i & 2), .csum = _i & 1};
	struct xw_redo_store *s;
	struct xw_dev *d;
	struct world w;

	for (unsigned k = 0; k < XW_ARRAY_SIZE(wild); k++) {
		world_half_inside(&w, &spec);
		s = open_inside(&w, &d);
		ck_assert(forge_tag(d, k % 4, WORLD_BLOCKS + wild[k]));
		xw_dev_close(d);
		xw_redo_store_close(s);
		refused(&w, XW_ERR_CORRUPT, "forged redo record: it writes block");
		world_close(&w);
	}
	/* the block of its list, and its last block */
	for (unsigned k = 0; k < 2; k++) {
		world_half_inside(&w, &spec);
		s = open_inside(&w, &d);
		ck_assert(forge_tag(d, 1, WORLD_LOG_FIRST + k));
		xw_dev_close(d);
		xw_redo_store_close(s);
		refused(&w, XW_ERR_CORRUPT, "forged redo record: it overwrites itself");
		world_close(&w);
	}
}
END_TEST

/* Store a value in the list of the record in the image; its checksum follows. */
static void set_list(struct world *w, unsigned at, uint64_t value)
{
	const uint32_t bs = w->spec.block_size;
	uint8_t super[XW_SUPER_SIZE], list[65536];
	uint64_t off;

	world_get_super(w, super);
	off = xw_super_bytes_number(super, 0) * XW_SUPER_NUMBER_UNIT;
	ck_assert_int_eq(xw_dev_pread(w->img, list, bs, off), 0);
	poke64(list + at, value);
	poke32(list + 0x0C, 0);
	poke32(list + 0x0C, xw_crc32c(~0u, list, bs));
	ck_assert_int_eq(xw_dev_pwrite(w->img, list, bs, off), 0);
}

/* Removing a record overwrites its blocks, so that its list can be used to write as well. */
START_TEST(places_in_the_image)
{
	const struct world_spec spec = {.block_size = 1024 << (_i & 2), .csum = _i & 1};
	struct world w;

	for (unsigned k = 0; k < 4; k++) {
		const xw_blk to[] = {WORLD_BLOCKS, WORLD_BLOCKS - 1,
				     XW_SUPER_OFFSET / spec.block_size, 0};

		world_half_inside(&w, &spec);
		ck_assert_int_eq(xw_dev_set_size(w.img, w.old_size + 8 * spec.block_size), 0);
		w.img->is_window = true;
		set_list(&w, LIST_RUNS, to[k]);
		refused(&w, XW_ERR_STATE, "the redo record in the image");
		/* as if it were a record after the end */
		set_list(&w, LIST_SIZE, w.old_size);
		refused(&w, XW_ERR_STATE, "the redo record in the image");
		world_close(&w);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("forged redo records");
	TCase *tc = tcase_create("cases");

	tcase_set_timeout(tc, 0);
	tcase_add_loop_test(tc, blocks_in_a_file, 0, WORLD_SPECS);
	tcase_add_loop_test(tc, blocks_in_the_image, 0, 4);
	tcase_add_loop_test(tc, places_in_the_image, 0, 4);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
