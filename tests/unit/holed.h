/* SPDX-License-Identifier: MIT */
/*
 * An image in memory whose block bitmaps are full of holes: made by xw-mkfs's library, then every
 * group's free blocks are taken at random, with counts and checksums put right. Groups that are
 * UNINIT stay so in part.
 */
#ifndef XW_TESTS_HOLED_H
#define XW_TESTS_HOLED_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/xw.h"
#include "read/space.h"
#include "tmp.h"
#include "unit.h"

struct holed {
	char path[64];
	struct xw_diag diag;
	struct xw_dev *dev;
	struct xw_image *img;
	struct xw_sysmap *map;
	uint8_t *bits; /* of all groups, group_bytes each, 1 = used */
	uint32_t group_bytes, group_bits;
};

static inline uint32_t holed_random(uint32_t *seed, uint32_t n)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % n;
}

static inline void holed_put_group(struct holed *h, uint64_t g, const uint8_t *bits)
{
	const uint64_t per = h->img->block_size / h->img->desc_size;
	const uint64_t at =
		xw_image_desc_block(h->img, g) * h->img->block_size + g % per * h->img->desc_size;
	struct xw_group_desc gd;
	uint8_t raw[64];

	ck_assert_int_eq(xw_image_group(h->img, g, &gd), 0);
	gd.flags &= (uint16_t)~XW_BG_BLOCK_UNINIT;
	gd.free_blocks = 0;
	for (uint32_t i = 0; i < h->group_bits; i++)
		gd.free_blocks += !(bits[i / 8] >> i % 8 & 1);
	gd.block_bitmap_csum = xw_bitmap_csum(&h->img->sb, h->img->csum_seed, bits, h->group_bytes);
	ck_assert_int_eq(xw_dev_pread(h->dev, raw, h->img->desc_size, at), 0);
	xw_group_encode(&gd, &h->img->sb, h->img->csum_seed, (uint32_t)g, raw);
	ck_assert_int_eq(xw_dev_pwrite(h->dev, raw, h->img->desc_size, at), 0);
	ck_assert_int_eq(
		xw_dev_pwrite(h->dev, bits, h->group_bytes, gd.block_bitmap * h->img->block_size),
		0);
}

/* Options are pairs of name and value, ended by NULL. */
static inline void holed_make(struct holed *h, const char *const *options, uint32_t seed)
{
	struct xw_mkfs *m;
	int fd;

	memset(h, 0, sizeof(*h));
	fd = mkstemp(tmp_template(h->path, sizeof(h->path), "xw-t-holed"));
	ck_assert_int_ge(fd, 0);
	close(fd);
	unlink(h->path);
	ck_assert_int_eq(xw_mkfs_new(&m), 0);
	for (; *options; options += 2)
		ck_assert_msg(!xw_mkfs_set(m, options[0], options[1]), "%s", xw_mkfs_error(m));
	ck_assert_msg(!xw_mkfs_run(m, h->path), "%s", xw_mkfs_error(m));
	xw_mkfs_free(m);
	ck_assert_int_eq(xw_dev_open_file(h->path, 0, &h->diag, &h->dev), 0);
	unlink(h->path);
	ck_assert_msg(!xw_image_open(h->dev, 0, &h->diag, &h->img), "%s", h->diag.text);
	ck_assert_int_eq(xw_sysmap_new(h->img, &h->map), 0);
	h->group_bits = xw_image_group_bits(h->img);
	h->group_bytes = h->group_bits / 8;
	h->bits = calloc(h->img->groups, h->group_bytes);
	for (uint64_t g = 0; g < h->img->groups; g++) {
		uint8_t *bits = h->bits + g * h->group_bytes;

		ck_assert_msg(!xw_image_block_bitmap(h->img, h->map, g, bits), "%s", h->diag.text);
		if (g % 3 == 2)
			continue;
		for (uint32_t at = 0; at < h->group_bits;) {
			uint32_t n = 1 + holed_random(&seed, g % 3 ? 40 : 900);

			for (; n && at < h->group_bits; n--, at++)
				bits[at / 8] |= (uint8_t)(1u << at % 8);
			at += 1 + holed_random(&seed, g % 3 ? 300 : 60);
		}
		holed_put_group(h, g, bits);
	}
	xw_image_drop_cache(h->img);
}

static inline void holed_free(struct holed *h)
{
	xw_sysmap_free(h->map);
	xw_image_close(h->img);
	xw_dev_close(h->dev);
	free(h->bits);
}

static inline bool holed_used(const struct holed *h, uint64_t g, uint32_t i)
{
	return h->bits[g * h->group_bytes + i / 8] >> i % 8 & 1;
}

#endif
