/* SPDX-License-Identifier: MIT */
/*
 * For fuzz targets over whole images: the input is a list of edits (four bytes each: where, where,
 * where, what) to the image of tests/unit/read_fix.h, which holds every kind of map, directory and
 * attribute.
 */
#ifndef XW_TESTS_EDITS_H
#define XW_TESTS_EDITS_H

#include <stdint.h>

#include "../unit/read_fix.h"

#define EDITS_MAX 64
#define TABLE_END (TABLE * BS + 44 * INODE_SIZE)

struct edit {
	uint64_t off;
	uint8_t old;
};

/* Where the metadata is, so that edits do not go into empty blocks. */
static inline uint64_t place(uint32_t where, uint64_t mapped_end)
{
	const uint32_t at = where >> 4;

	switch (where & 15) {
	case 0: /* seldom the superblock: little is seen behind a broken one */
		if (at % 16 == 0)
			return XW_SUPER_OFFSET + at / 16 % XW_SUPER_SIZE;
		return 2 * BS + at % 64;
	case 1:
	case 2:
	case 3:
		return 4010 * BS + at % BS;
	case 4:
	case 5:
	case 6:
	case 7:
	case 8:
		return TABLE * BS + at % (TABLE_END - TABLE * BS);
	default:
		return DATA * BS + at % (mapped_end - DATA * BS);
	}
}

/* Make the edits; returns how many. The image is made when it is not there. */
static inline unsigned apply_edits(struct fixture *fx, const uint8_t *data, size_t size,
				   struct edit edits[EDITS_MAX])
{
	unsigned n = 0;

	if (!fx->dev)
		make_rich_image(fx, true);
	for (size_t i = 0; i + 4 <= size && n < EDITS_MAX; i += 4, n++) {
		uint32_t where = data[i] | (uint32_t)data[i + 1] << 8 | (uint32_t)data[i + 2] << 16;

		edits[n].off = place(where, fx->next * BS);
		FIX_MUST(!xw_dev_pread(fx->dev, &edits[n].old, 1, edits[n].off));
		FIX_MUST(!xw_dev_pwrite(fx->dev, data + i + 3, 1, edits[n].off));
	}
	return n;
}

static inline void undo_edits(struct fixture *fx, const struct edit *edits, unsigned n)
{
	while (n--)
		FIX_MUST(!xw_dev_pwrite(fx->dev, &edits[n].old, 1, edits[n].off));
}

#endif
