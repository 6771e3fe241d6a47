/* SPDX-License-Identifier: MIT */
/* Verbs about allocation: testing single blocks and inodes, and finding free ones. */
#include "config.h"

#include "bits.h"
#include "cli/env.h"
#include "print.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/auto.h"

/* ---- bitmaps ---- */

int dbg_bits_group(struct dbg_bits *b, uint64_t group)
{
	struct xw_image *img = b->d->img;
	struct xw_group_desc gd;
	int rc = 0;

	if (b->bits && b->group == group)
		return 0;
	if (!b->bits) {
		/* room for a whole block, since the bitmap's block is read completely */
		b->bits = malloc(XW_MAX(img->block_size, img->sb.inodes_per_group / 8 + 8));
		if (!b->bits)
			return xw_fail_nomem(&b->d->diag, "bitmap");
		if (!b->inodes && xw_sysmap_new(img, &b->sysmap))
			dbg_complain_diag(b->d, XW_ERR_CORRUPT);
	}
	b->group = UINT64_MAX;
	if (b->inodes)
		rc = xw_image_inode_bitmap(img, group, b->bits);
	else if (b->sysmap)
		rc = xw_image_block_bitmap(img, b->sysmap, group, b->bits);
	if (rc == XW_ERR_NOMEM)
		return rc;
	if (rc)
		dbg_complain_diag(b->d, rc);
	if (rc || (!b->inodes && !b->sysmap)) {
		rc = xw_image_group(img, group, &gd);
		if (!rc)
			rc = xw_image_meta(img, b->inodes ? gd.inode_bitmap : gd.block_bitmap, 0,
					   b->bits, img->block_size);
	}
	if (!rc)
		b->group = group;
	return rc;
}

int dbg_bits_test(struct dbg_bits *b, uint64_t n, bool *used)
{
	const struct xw_super *sb = &b->d->img->sb;
	const uint64_t at = n - (b->inodes ? 1 : sb->first_data_block);
	const uint32_t per_group = b->inodes ? sb->inodes_per_group : sb->blocks_per_group;
	uint64_t bit = at % per_group;
	int rc = dbg_bits_group(b, at / per_group);

	if (rc)
		return rc;
	if (!b->inodes)
		bit >>= xw_image_cluster_bits(b->d->img);
	*used = b->bits[bit / 8] >> bit % 8 & 1;
	return 0;
}

void dbg_bits_end(struct dbg_bits *b)
{
	xw_sysmap_free(b->sysmap);
	free(b->bits);
	b->sysmap = NULL;
	b->bits = NULL;
}

/* ---- testb, testi ---- */

static void print_use(struct dbg *d, bool inode, uint64_t n, bool used)
{
	if (d->json) {
		xw_json_object(&d->js, NULL);
		xw_json_u64(&d->js, inode ? "inode" : "block", n);
		xw_json_bool(&d->js, "in_use", used);
		xw_json_end(&d->js, '}');
	} else {
		fprintf(d->out, "%s%" PRIu64 "%s %s\n", inode ? "Inode " : "Block ", n,
			inode ? " is" : "", used ? "marked in use" : "not in use");
	}
}

static int verb_testb(struct dbg *d, int argc, char **argv)
{
	auto_end(dbg_bits_end) struct dbg_bits b = {.d = d};
	uint64_t n;
	xw_blk blk;
	bool used;
	int rc;

	if (argc != 2 && argc != 3)
		return DBG_USAGE;
	rc = dbg_block(d, argv[1], &blk);
	if (!rc)
		rc = dbg_count(d, argc, argv, 2, &n);
	if (rc)
		return rc;
	dbg_list_begin(d);
	for (; n && blk < d->img->sb.blocks_count && !rc && !cli_interrupted(); n--, blk++) {
		rc = dbg_bits_test(&b, blk, &used);
		if (!rc)
			print_use(d, false, blk, used);
	}
	dbg_list_end(d);
	if (rc || !n)
		return rc;
	return xw_fail(&d->diag, XW_ERR_USAGE, "the filesystem ends before block %" PRIu64, blk);
}

static int verb_testi(struct dbg *d, int argc, char **argv)
{
	auto_end(dbg_bits_end) struct dbg_bits b = {.d = d, .inodes = true};
	bool used;
	xw_ino ino;
	int rc;

	if (argc != 2)
		return DBG_USAGE;
	rc = dbg_inode_number(d, argv[1], &ino);
	if (!rc)
		rc = dbg_bits_test(&b, ino, &used);
	if (!rc)
		print_use(d, true, ino, used);
	return rc;
}

/* ---- ffb, ffi ---- */

/* Is the whole group in use according to its descriptor? */
static bool is_full(struct dbg *d, bool inodes, uint64_t group)
{
	struct xw_group_desc gd;

	if (xw_image_group(d->img, group, &gd)) {
		xw_diag_clear(&d->diag);
		return false;
	}
	return !(inodes ? gd.free_inodes : gd.free_blocks);
}

/*
 * Find the first free block or inode in [from, last]; *out is 0 if all are in use. Groups that are
 * full according to their descriptor are skipped.
 */
static int next_free(struct dbg_bits *b, uint64_t from, uint64_t last, uint64_t *out)
{
	const struct xw_super *sb = &b->d->img->sb;
	const uint64_t first = b->inodes ? 1 : sb->first_data_block;
	const uint32_t per_group = b->inodes ? sb->inodes_per_group : sb->blocks_per_group;
	bool used;
	int rc;

	*out = 0;
	while (from <= last) {
		const uint64_t group = (from - first) / per_group;

		if (cli_interrupted())
			return DBG_SAID;
		if ((from - first) % per_group == 0 && is_full(b->d, b->inodes, group)) {
			from += per_group;
			continue;
		}
		rc = dbg_bits_test(b, from, &used);
		if (rc)
			return rc;
		if (!used) {
			*out = from;
			return 0;
		}
		from++;
	}
	return 0;
}

static int verb_ffb(struct dbg *d, int argc, char **argv)
{
	const struct xw_super *sb = &d->img->sb;
	auto_end(dbg_bits_end) struct dbg_bits b = {.d = d};
	uint64_t n, left, blk = 0;
	xw_blk goal = sb->first_data_block;
	int rc;

	if (argc > 3)
		return DBG_USAGE;
	rc = dbg_count(d, argc, argv, 1, &n);
	if (!rc && argc > 2)
		rc = dbg_number(d, argv[2], "goal", &goal);
	if (rc)
		return rc;
	if (goal < sb->first_data_block || goal >= sb->blocks_count)
		goal = sb->first_data_block;
	if (!dbg_list_begin(d))
		fputs("Free blocks found: ", d->out);
	for (left = n; left; left--, goal = blk + 1) {
		rc = next_free(&b, goal, sb->blocks_count - 1, &blk);
		if (rc || !blk)
			break;
		if (d->json)
			xw_json_u64(&d->js, NULL, blk);
		else
			fprintf(d->out, "%" PRIu64 " ", blk);
	}
	if (!dbg_list_end(d))
		fputc('\n', d->out);
	if (rc || !left)
		return rc;
	return xw_fail(&d->diag, XW_ERR_NOSPC, "found %" PRIu64 " of %" PRIu64 " free blocks",
		       n - left, n);
}

static int verb_ffi(struct dbg *d, int argc, char **argv)
{
	const struct xw_super *sb = &d->img->sb;
	auto_end(dbg_bits_end) struct dbg_bits b = {.d = d, .inodes = true};
	uint64_t dir = XW_INO_ROOT, mode = 010755, ino = 0, from;
	int rc = 0;

	if (argc > 3)
		return DBG_USAGE;
	if (argc > 1)
		rc = dbg_number(d, argv[1], "directory", &dir);
	if (!rc && argc > 2)
		rc = dbg_number(d, argv[2], "mode", &mode);
	if (rc)
		return rc;
	if (!dir || dir > sb->inodes_count)
		return xw_fail(&d->diag, XW_ERR_USAGE, "bad directory '%s'", argv[1]);
	/* starts at the directory's group, then wraps around */
	from = (dir - 1) / sb->inodes_per_group * sb->inodes_per_group + 1;
	rc = next_free(&b, XW_MAX(from, sb->first_ino), sb->inodes_count, &ino);
	if (!rc && !ino)
		rc = next_free(&b, sb->first_ino, sb->inodes_count, &ino);
	if (rc)
		return rc;
	if (!ino)
		return xw_fail(&d->diag, XW_ERR_NOINODES, "no free inodes");
	if (d->json)
		xw_json_u64(&d->js, NULL, ino);
	else
		fprintf(d->out, "Free inode found: %" PRIu64 "\n", ino);
	return 0;
}

static const struct dbg_verb verbs[] = {
	{"testb", DBG_OPEN, verb_testb, "BLOCK [COUNT]",
	 "whether blocks are in use according to their bitmap"},
	{"testi", DBG_OPEN, verb_testi, "FILE",
	 "whether an inode is in use according to its bitmap"},
	{"find_free_block, ffb", DBG_OPEN, verb_ffb, "[COUNT [GOAL]]", "the next free blocks"},
	{"find_free_inode, ffi", DBG_OPEN, verb_ffi, "[DIR [MODE]]", "the next free inode"},
};

const struct dbg_family dbg_bit_verbs = {"Bitmaps", verbs, XW_ARRAY_SIZE(verbs)};
