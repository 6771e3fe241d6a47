/* SPDX-License-Identifier: MIT */
/*
 * A filesystem of a few bytes for the tests of xw-fsck's judgments: superblock and descriptors in
 * memory, and what a test puts there. Findings are recorded, and all agreed to or all declined.
 */
#ifndef XW_TESTS_FSCK_BYTES_H
#define XW_TESTS_FSCK_BYTES_H

#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "dev/overlay.h"
#include "disk_fix.h"
#include "repairs/repairs.h"
#include "memdev.h"
#include "unit.h"

enum {
	BS = 1024,
	BLOCKS = 16384,
	INO = 12, /* an inode of users */
	SIZE = 256, /* of a record */
	TABLE = 150, /* of group 0, as in the fixture */
	BLOCK = 500, /* free blocks from here on */
};

static struct fsck f;

/* ---- findings ---- */

static bool agreed;
static enum fsck_id refused = FSCK_IDS; /* not agreed to in any case */
static unsigned found[FSCK_IDS], n_found;
static struct fsck_about last;

bool fsck_found(struct fsck *of, const struct fsck_about *a)
{
	(void)of;
	found[a->id]++;
	n_found++;
	last = *a;
	return agreed && a->id != refused;
}

int fsck_check_readable(struct fsck *of)
{
	(void)of;
	return 0;
}

static inline void forget_findings(void)
{
	memset(found, 0, sizeof(found));
	n_found = 0;
}

static size_t row; /* of the table that is gone through, for messages */

/* Nothing but one finding of this kind, or none: FSCK_IDS. */
static inline void expect(enum fsck_id id)
{
	for (int i = 0; i < FSCK_IDS; i++)
		ck_assert_msg(found[i] == (i == (int)id), "row %zu, finding %d: %u, wanted %d", row,
			      i, found[i], (int)id);
	forget_findings();
}

/* ---- the device ---- */

static inline void ok(int rc)
{
	ck_assert_msg(!rc, "%d: %s", rc, f.ses.diag.text);
}

static inline void put(xw_blk blk, const void *data, size_t len)
{
	ok(xw_dev_pwrite(f.ses.dev, data, len, blk * BS));
	xw_image_drop_cache(f.ses.img);
}

static inline const uint8_t *at(xw_blk blk)
{
	static uint8_t buf[BS];

	ok(xw_dev_pread(f.ses.dev, buf, BS, blk * BS));
	return buf;
}

static inline void put_inode(xw_ino ino, const struct xw_inode *in)
{
	uint8_t raw[SIZE] = {0};
	struct xw_group_desc gd;

	xw_inode_encode(in, &f.ses.img->sb, raw);
	xw_inode_set_csum(raw, &f.ses.img->sb, f.ses.img->csum_seed, ino);
	ok(xw_image_group(f.ses.img, (ino - 1) / f.ses.img->sb.inodes_per_group, &gd));
	ok(xw_dev_pwrite(f.ses.dev, raw, SIZE,
			 gd.inode_table * BS + (ino - 1) % f.ses.img->sb.inodes_per_group * SIZE));
	xw_image_drop_cache(f.ses.img);
}

/* Bitmaps and tables as mke2fs places them with flex_bg. */
static inline struct xw_group_desc group_of_bytes(uint64_t group)
{
	return (struct xw_group_desc){.block_bitmap = 130 + group,
				      .inode_bitmap = 140 + group,
				      .inode_table = TABLE + 16 * group,
				      .free_blocks = 7000,
				      .free_inodes = 50};
}

static inline void put_group(uint64_t group, const struct xw_group_desc *gd)
{
	uint8_t raw[64] = {0};

	xw_group_encode(gd, &f.ses.img->sb, f.ses.img->csum_seed, (uint32_t)group, raw);
	ok(xw_dev_pwrite(f.ses.dev, raw, sizeof(raw), 2 * BS + group * sizeof(raw)));
	xw_image_drop_cache(f.ses.img);
}

/* 16 MiB, two groups, metadata_csum, 64bit, flex_bg, records of 256 bytes. */
static inline void open_bytes(void)
{
	uint8_t super[XW_SUPER_SIZE];
	struct xw_dev *base;

	FIX(super_csum, super);
	memset(&f, 0, sizeof(f));
	ok(xw_dev_open_mem((uint64_t)BLOCKS * BS, &f.ses.diag, &base));
	ok(xw_overlay_open(base, BS, &f.ses.diag, &f.ses.dev));
	ok(xw_dev_pwrite(f.ses.dev, super, sizeof(super), XW_SUPER_OFFSET));
	ok(xw_image_open(f.ses.dev, XW_IMAGE_NOCSUM | XW_IMAGE_LENIENT, &f.ses.diag, &f.ses.img));
	for (uint64_t g = 0; g < f.ses.img->groups; g++) {
		const struct xw_group_desc gd = group_of_bytes(g);

		put_group(g, &gd);
	}
	agreed = true;
	refused = FSCK_IDS;
	forget_findings();
}

static inline void close_bytes(void)
{
	fsck_facts_free(&f);
	xw_image_close(f.ses.img);
	xw_dev_close(f.ses.dev);
}

#endif
