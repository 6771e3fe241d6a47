/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target over the walkers of lib/walk: the input is a directory block, then an index. Besides
 * no crash: walks end, and what they yield lies where it may.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "walk/dirblock.h"
#include "walk/htree.h"
#include "walk/itree.h"
#include "walk/xattr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

#define BS 1024u
#define BLOCKS 16u

static void walk_block(const uint8_t *block, uint32_t size, unsigned how)
{
	const struct xw_dirblock_area area = {
		.data = block,
		.size = size,
		.inodes_count = 1u << 20,
		.csum = how & 1,
		.filetype = how & 2,
		.any_names = how & 4,
		.removed = how & 8,
	};
	struct xw_dirblock_item item;
	struct xw_dirblock it;
	unsigned steps = 0;
	int kind;

	xw_dirblock_begin(&it, &area);
	while ((kind = xw_dirblock_next(&it, &item)) != 0) {
		MUST(kind == 1 || kind == 2);
		MUST((kind == 2) == (item.rule != XW_DIRBLOCK_OK));
		MUST(steps++ <= 2 * size + 4);
		if (kind == 2 && !item.keep)
			continue;
		MUST(item.off + XW_DIRENT_HDR + item.e.name_len <= size);
		MUST(item.unused || item.removed ||
		     (item.e.ino && item.e.ino <= area.inodes_count && item.e.name_len));
	}
}

struct blocks {
	const uint8_t *data;
	size_t size;
};

static int read_block(void *arg, uint32_t lblk, void *buf)
{
	const struct blocks *b = arg;
	const size_t off = (size_t)lblk * BS;

	MUST(lblk < BLOCKS);
	memset(buf, 0, BS);
	if (off < b->size)
		memcpy(buf, b->data + off, b->size - off < BS ? b->size - off : BS);
	return lblk == 13 ? XW_ERR_IO : 0;
}

static void walk_index(const uint8_t *data, size_t size)
{
	struct blocks b = {data, size};
	const struct xw_htree_env env = {.block_size = BS,
					 .blocks = BLOCKS,
					 .levels_max = 2,
					 .csum = size & 1,
					 .read = read_block,
					 .arg = &b};
	struct xw_htree_item item;
	struct xw_htree it;
	unsigned steps = 0;
	int kind;

	MUST(!xw_htree_begin(&it, &env));
	while ((kind = xw_htree_next(&it, &item)) != 0) {
		MUST(kind == 1 || kind == 2);
		MUST(steps++ < 100000);
		MUST(item.lblk < BLOCKS);
	}
	xw_htree_end(&it);
}

static void walk_xattr(const uint8_t *area, size_t size, bool block)
{
	struct xw_walk_xattr_item item;
	struct xw_walk_xattr it;
	size_t steps = 0, last = 0;
	int kind;

	if (block)
		xw_walk_xattr_block(&it, area, size);
	else
		xw_walk_xattr_inode(&it, area, size);
	while ((kind = xw_walk_xattr_next(&it, &item)) != 0) {
		MUST(kind == 1 || kind == 2);
		MUST((kind == 2) == (item.rule != XW_XATTR_OK));
		MUST(steps++ <= size && item.off > last);
		last = item.off;
		if (item.rule == XW_XATTR_BAD_ENTRY)
			continue;
		MUST((const uint8_t *)item.e.name + item.e.name_len <= area + size);
		MUST(!item.value || (item.value >= area + it.entries_end &&
				     item.value + item.e.value_size <= area + size));
	}
	MUST(!xw_walk_xattr_next(&it, &item));
}

static int read_node(void *arg, xw_blk blk, void *buf)
{
	MUST(blk && blk < BLOCKS);
	return read_block(arg, (uint32_t)blk, buf);
}

static void walk_itree(const uint8_t *data, size_t size, xw_blk root)
{
	struct blocks b = {data, size};
	const struct xw_walk_itree_env env = {
		.block_size = BS,
		.unverified = true,
		.dir = 11,
		.blocks_count = BLOCKS,
		.read = read_node,
		.arg = &b,
	};
	struct xw_walk_itree_item item;
	struct xw_walk_itree it;
	unsigned nodes = 0, done = 0;
	int kind;

	MUST(!xw_walk_itree_begin(&it, &env, root));
	while ((kind = xw_walk_itree_next(&it, &item)) != 0) {
		MUST(kind == 1 || kind == 2);
		MUST(item.level < XW_ITREE_LEVELS);
		MUST(kind == 2 || (item.blk && item.blk < BLOCKS));
		nodes += kind == 1 && item.kind == XW_WALK_ITREE_NODE;
		done += kind == 1 && item.kind == XW_WALK_ITREE_DONE;
		MUST(nodes < BLOCKS && done <= nodes);
	}
	MUST(nodes == done);
	xw_walk_itree_end(&it);
}

/* Two levels of index nodes and leaves without entries, all of the same directory. */
static void plain_itree(uint8_t *b)
{
	memset(b, 0, (size_t)BS * BLOCKS);
	for (unsigned i = 1; i < BLOCKS; i++) {
		const unsigned level = i == 1 ? 2 : i < 4 ? 1 : 0, n = i == 1 ? 2 : i < 4 ? 4 : 0;

		for (unsigned k = 0; k < n; k++)
			xw_itree_idx_encode(b + BS * i, k,
					    &(struct xw_itree_idx){.key = {(i - 2) * 100 + k, 0},
								   .blk = 2 * i + k});
		xw_itree_hdr_encode(b + BS * i, BS,
				    &(struct xw_itree_hdr){.level = (uint8_t)level,
							   .count = (uint16_t)n,
							   .used = (uint16_t)(n * XW_ITREE_IDX),
							   .dir = 11,
							   .self = i});
	}
}

/* The smallest index with something in it, for the input to be laid over. */
static void plain_index(uint8_t *b)
{
	const struct xw_dirent span = {.rec_len = BS};
	struct xw_dx_info info = {.hash_version = 1, .info_length = 8, .indirect_levels = 1};

	memset(b, 0, (size_t)BS * BLOCKS);
	xw_dx_info_encode(b, &info);
	xw_dx_set_limit(b, XW_DX_ROOT_ENTRIES, xw_dx_root_limit(BS, false), 2);
	xw_dirent_encode(b + BS, BS, 0, &span);
	xw_dirent_encode(b + 2 * BS, BS, 0, &span);
	for (unsigned i = 0; i < 2; i++) {
		xw_dx_set_limit(b + BS * (i + 1), XW_DX_NODE_ENTRIES, xw_dx_node_limit(BS, false),
				5);
		xw_dx_entry_encode(b, XW_DX_ROOT_ENTRIES, i, &(struct xw_dx_entry){i << 30, i + 1});
		for (unsigned k = 0; k < 5; k++)
			xw_dx_entry_encode(b + BS * (i + 1), XW_DX_NODE_ENTRIES, k,
					   &(struct xw_dx_entry){i << 30 | k << 8, 3 + 5 * i + k});
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned where[] = {28, 32, 36, 44, BS + 8, BS + 16, 2 * BS, 2 * BS + 12};
	uint8_t *b = malloc((size_t)BS * BLOCKS);

	MUST(b);
	for (unsigned how = 0; how < 16 && size; how++)
		walk_block(data, (uint32_t)(size & ~(size_t)3), how);
	walk_index(data, size);
	walk_xattr(data, size, false);
	walk_xattr(data, size, true);
	plain_index(b);
	for (size_t i = 0; i + 1 < size && i < 16; i += 2)
		b[where[data[i] % 8] + data[i] / 32] = data[i + 1];
	walk_index(b, (size_t)BS * BLOCKS & ~(size_t)1);
	plain_itree(b);
	walk_itree(b, (size_t)BS * BLOCKS, 1);
	for (size_t i = 0; i + 1 < size && i < 16; i += 2)
		b[BS * (1 + data[i] % 8) + data[i] / 8 * 3] = data[i + 1];
	walk_itree(b, (size_t)BS * BLOCKS, 1);
	free(b);
	return 0;
}
