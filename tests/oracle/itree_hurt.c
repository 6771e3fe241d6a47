/* SPDX-License-Identifier: MIT */
/*
 * For itree_hostile.sh:  o_itree_hurt IMAGE SEED
 *
 * One to three changes to nodes of itrees in the image, each to a field that leads somewhere: a
 * pointer, a count, a level, an entry. Checksums are made right again, but for every fourth seed.
 * What was done goes to stdout.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "base/vec.h"
#include "disk/itree.h"
#include "read/image.h"

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                    \
			exit(2);                                                                   \
		}                                                                                  \
	} while (0)

struct hurt {
	struct xw_image *img;
	XW_VEC(xw_blk) nodes;
	uint64_t rnd;
	uint8_t *block;
	xw_blk blk;
	struct xw_itree_hdr h;
};

static uint32_t dice(struct hurt *t, uint32_t below)
{
	t->rnd = t->rnd * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((t->rnd >> 33) % below);
}

static void read_block(struct hurt *t, xw_blk blk, uint8_t *block)
{
	MUST(!xw_dev_pread(t->img->dev, block, t->img->block_size, blk * t->img->block_size));
}

static void find_nodes(struct hurt *t)
{
	for (xw_blk b = 1; b < t->img->sb.blocks_count; b++) {
		read_block(t, b, t->block);
		if (!xw_itree_hdr_decode(t->block, t->img->block_size, &t->h, NULL) &&
		    t->h.self == b)
			MUST(!xw_vec_push(&t->nodes, b));
	}
	MUST(t->nodes.n);
}

static xw_blk any_node(struct hurt *t)
{
	return t->nodes.v[dice(t, (uint32_t)t->nodes.n)];
}

/*
 * A child pointer to a block of any kind: this one, another node, none at all; and those between
 * the first node and the last, which are mostly in use.
 */
static void redirect(struct hurt *t)
{
	const uint32_t blocks = (uint32_t)t->img->sb.blocks_count;
	const xw_blk first = t->nodes.v[0], last = t->nodes.v[t->nodes.n - 1];
	const xw_blk used = first + dice(t, (uint32_t)(last - first) + 20);
	const xw_blk to[] = {used, used, used, any_node(t), t->blk, dice(t, 2) ? 0 : blocks + 5u};
	struct xw_itree_idx e;
	const unsigned i = dice(t, t->h.count);

	(void)xw_itree_idx_decode(t->block, i, &e);
	e.blk = to[dice(t, XW_ARRAY_SIZE(to))];
	xw_itree_idx_encode(t->block, i, &e);
	printf("child %u is %" PRIu64, i, e.blk);
}

static void index_node(struct hurt *t)
{
	uint8_t *e = t->block + XW_ITREE_HDR + XW_ITREE_IDX * dice(t, t->h.count),
		keep[XW_ITREE_IDX];

	switch (dice(t, 4)) {
	case 0:
		printf("another separator");
		poke32(e, dice(t, 1000));
		break;
	case 1:
		printf("another fullness");
		e[14] ^= (uint8_t)(1 + dice(t, 3));
		break;
	case 2:
		printf("two entries swapped");
		memcpy(keep, e, sizeof(keep));
		memcpy(e, t->block + XW_ITREE_HDR, sizeof(keep));
		memcpy(t->block + XW_ITREE_HDR, keep, sizeof(keep));
		break;
	default:
		redirect(t);
	}
}

static void leaf(struct hurt *t)
{
	uint32_t off = 0;
	struct xw_itree_entry e;

	for (uint32_t i = dice(t, t->h.count); i; i--)
		MUST(!xw_itree_leaf_decode(t->block, t->h.used, off, &e, &off));
	switch (dice(t, 5)) {
	case 0:
		printf("another inode");
		poke32(t->block + XW_ITREE_HDR + off, dice(t, t->img->sb.inodes_count + 5));
		break;
	case 1:
		printf("another hash");
		poke32(t->block + XW_ITREE_HDR + off + 4, dice(t, UINT32_MAX));
		break;
	case 2:
		printf("another name");
		t->block[XW_ITREE_HDR + off + XW_ITREE_REC_HDR] ^= 1;
		break;
	case 3:
		printf("another length");
		t->block[XW_ITREE_HDR + off + 8 + dice(t, 3)] ^= (uint8_t)(1 << dice(t, 8));
		break;
	default:
		printf("the rest is gone");
		t->h.count = (uint16_t)dice(t, 3);
		t->h.used = (uint16_t)off;
		memset(t->block + XW_ITREE_HDR + off, 0, t->img->block_size - XW_ITREE_HDR - off);
		xw_itree_hdr_encode(t->block, t->img->block_size, &t->h);
	}
}

static void whole_node(struct hurt *t)
{
	switch (dice(t, 4)) {
	case 0:
		printf("another count");
		poke16(t->block + 6, (uint16_t)(t->h.count + dice(t, 5) - 2));
		break;
	case 1:
		printf("another level");
		t->block[5] = (uint8_t)dice(t, 7);
		break;
	case 2:
		printf("a copy of another node");
		read_block(t, any_node(t), t->block);
		poke64(t->block + 24, t->blk);
		break;
	default:
		printf("a byte");
		t->block[dice(t, t->img->block_size)] ^= (uint8_t)(1 << dice(t, 8));
	}
}

static void change(struct hurt *t, bool csum)
{
	const uint32_t bs = t->img->block_size;
	struct xw_inode in;

	/* those that lead elsewhere are few */
	do {
		t->blk = any_node(t);
		read_block(t, t->blk, t->block);
		MUST(!xw_itree_hdr_decode(t->block, bs, &t->h, NULL));
	} while (!t->h.level && dice(t, 4));
	printf("block %" PRIu64 ", level %u: ", t->blk, t->h.level);
	if (!t->h.count || !dice(t, 3))
		whole_node(t);
	else if (t->h.level)
		index_node(t);
	else
		leaf(t);
	putchar('\n');
	MUST(!xw_image_inode(t->img, t->h.dir, &in, NULL));
	if (csum)
		xw_itree_set_csum(t->block, bs, xw_super_has_csum(&t->img->sb),
				  xw_image_inode_seed(t->img, t->h.dir, &in));
	MUST(!xw_dev_pwrite(t->img->dev, t->block, bs, t->blk * bs));
}

int main(int argc, char **argv)
{
	struct xw_diag diag = {0};
	struct hurt t = {0};
	struct xw_dev *dev;
	uint32_t changes;

	MUST(argc == 3);
	t.rnd = strtoull(argv[2], NULL, 10);
	MUST(!xw_dev_open_file(argv[1], 0, &diag, &dev));
	MUST(!xw_image_open(dev, 0, &diag, &t.img));
	t.block = malloc(t.img->block_size);
	MUST(t.block);
	find_nodes(&t);
	changes = 1 + dice(&t, 3);
	for (uint32_t i = 0; i < changes; i++) {
		change(&t, strtoull(argv[2], NULL, 10) % 4 != 0);
		/* the next one begins with nodes that are some */
		t.nodes.n = 0;
		find_nodes(&t);
	}
	xw_image_close(t.img);
	xw_dev_close(dev);
	xw_vec_free(&t.nodes);
	free(t.block);
	return 0;
}
