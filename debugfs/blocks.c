/* SPDX-License-Identifier: MIT */
/* Verbs about the blocks of a file: their numbers and contents. */
#include "config.h"

#include "poke.h"
#include "print.h"
#include "read/map.h"
#include "walk.h"
#include "xattr.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"

/* ---- blocks ---- */

static int on_block(void *arg, const struct dbg_piece *p)
{
	struct dbg *d = arg;
	const uint64_t n = p->kind == DBG_DATA ? p->len : 1;

	for (uint64_t i = 0; i < n; i++) {
		if (d->json)
			xw_json_u64(&d->js, NULL, p->pblk + i);
		else
			fprintf(d->out, "%" PRIu64 " ", p->pblk + i);
	}
	return 0;
}

static int verb_blocks(struct dbg *d, int argc, char **argv)
{
	struct xw_inode in;
	xw_ino ino;
	int rc;

	if (argc != 2)
		return DBG_USAGE;
	rc = dbg_inode(d, argv[1], &ino, &in, NULL);
	if (rc)
		return rc;
	dbg_list_begin(d);
	rc = dbg_walk(d, ino, &in, on_block, d);
	if (!dbg_list_end(d))
		fputc('\n', d->out);
	return rc;
}

/* ---- bmap ---- */

/* Find the physical block `number` of a file. */
static int lookup(struct dbg *d, const char *file, const char *number, struct xw_map_run *run)
{
	struct xw_inode in;
	uint64_t lblk;
	xw_ino ino;
	int rc = dbg_inode(d, file, &ino, &in, NULL);

	if (!rc)
		rc = dbg_number(d, number, "logical block", &lblk);
	if (rc)
		return rc;
	if (!xw_inode_has_map(&in))
		return xw_fail(&d->diag, XW_ERR_INPUT, "%s: has no blocks", file);
	rc = dbg_logical_fits(d, &in, lblk);
	return rc ? rc : xw_map_lookup(d->img, ino, &in, lblk, run);
}

static int verb_bmap(struct dbg *d, int argc, char **argv)
{
	struct xw_map_run run = {0};
	int rc;

	if (argc == 4)
		return dbg_change_bmap(d, argv);
	if (argc != 3)
		return DBG_USAGE;
	rc = lookup(d, argv[1], argv[2], &run);
	if (rc)
		return rc;
	if (d->json) {
		xw_json_object(&d->js, NULL);
		xw_json_u64(&d->js, "physical", run.pblk);
		xw_json_bool(&d->js, "unwritten", run.unwritten);
		xw_json_end(&d->js, '}');
	} else {
		fprintf(d->out, "%" PRIu64 "%s\n", run.pblk, run.unwritten ? " (uninit)" : "");
	}
	return 0;
}

/* ---- dump_extents ---- */

struct extents {
	struct dbg *d;
	bool no_inner, no_leaves;
	int lwidth, pwidth;
};

static void extent_json(struct dbg *d, const struct dbg_piece *p)
{
	struct xw_json *j = &d->js;

	xw_json_object(j, NULL);
	xw_json_u64(j, "level", p->level);
	xw_json_u64(j, "depth", p->depth);
	xw_json_bool(j, "leaf", p->kind == DBG_DATA);
	xw_json_u64(j, "logical", p->lblk);
	xw_json_u64(j, "physical", p->pblk);
	xw_json_u64(j, "length_blocks", p->len);
	xw_json_bool(j, "unwritten", p->unwritten);
	xw_json_end(j, '}');
}

static int on_extent(void *arg, const struct dbg_piece *p)
{
	const struct extents *x = arg;
	FILE *out = x->d->out;

	if (p->kind == DBG_DATA ? x->no_leaves : x->no_inner)
		return 0;
	if (x->d->json) {
		extent_json(x->d, p);
		return 0;
	}
	fprintf(out, "%2u/%2u %3u/%3u %*" PRIu64 " - %*" PRIu64 " %*" PRIu64, p->level, p->depth,
		p->index + 1, p->count, x->lwidth, p->lblk, x->lwidth, p->lblk + p->len - 1,
		x->pwidth, p->pblk);
	if (p->kind == DBG_DATA)
		fprintf(out, " - %*" PRIu64 " %6" PRIu64 " %s\n", x->pwidth, p->pblk + p->len - 1,
			p->len, p->unwritten ? "Uninit" : "");
	else
		fprintf(out, "%*s %6" PRIu64 "\n", x->pwidth + 3, "", p->len);
	return 0;
}

static int verb_extents(struct dbg *d, int argc, char **argv)
{
	enum { INNER = 1, LEAVES = 2 };
	struct extents x = {.d = d};
	struct xw_inode in;
	unsigned only;
	xw_ino ino;
	int rc;

	if (dbg_flags(argc, argv, "nl", &only) || optind + 1 != argc)
		return DBG_USAGE;
	rc = dbg_inode(d, argv[optind], &ino, &in, NULL);
	if (rc)
		return rc;
	if (!(in.flags & XW_FL_EXTENTS))
		return xw_fail(&d->diag, XW_ERR_INPUT, "%s: has no extents", argv[optind]);
	x.no_inner = only == LEAVES;
	x.no_leaves = only == INNER;
	x.lwidth = dbg_width(xw_div_up(in.size, d->img->block_size), 5);
	x.pwidth = dbg_width(d->img->sb.blocks_count, 5);
	if (!dbg_list_begin(d))
		fprintf(d->out, "Level Entries %*s %*s Length Flags\n", x.lwidth * 2 + 3, "Logical",
			x.pwidth * 2 + 3, "Physical");
	rc = dbg_walk(d, ino, &in, on_extent, &x);
	dbg_list_end(d);
	return rc;
}

/* ---- block_dump ---- */

static int verb_block_dump(struct dbg *d, int argc, char **argv)
{
	auto_free uint8_t *buf = malloc(d->img->block_size);
	const char *file = NULL;
	bool xattrs = false;
	const struct dbg_option options[] = {{'f', .text = &file}, {'x', .given = &xattrs}, {0}};
	struct xw_map_run run = {0};
	int rc = dbg_options(d, argc, argv, options);

	if (rc || optind + 1 != argc)
		return DBG_USAGE;
	if (!buf)
		return xw_fail_nomem(&d->diag, "block");
	rc = file ? lookup(d, file, argv[optind], &run)
		  : dbg_number(d, argv[optind], "block number", &run.pblk);
	if (!rc)
		rc = xw_image_meta(d->img, run.pblk, 0, buf, d->img->block_size);
	if (rc)
		return rc;
	if (xattrs)
		dbg_dump_xattr_block(d, buf);
	else
		dbg_print_bytes(d, buf, d->img->block_size);
	return 0;
}

static const struct dbg_verb verbs[] = {
	{"blocks", DBG_OPEN, verb_blocks, "FILE",
	 "all blocks of a file, including those of its map"},
	{"bmap", DBG_OPEN, verb_bmap, "[-a] FILE LOGICAL [PHYSICAL]",
	 "physical block of a logical one (0: a hole); -a allocates it, PHYSICAL sets it"},
	{"dump_extents, extents, ex", DBG_OPEN, verb_extents, "[-n] [-l] FILE",
	 "the extent tree: inner nodes, leaves, or both"},
	{"block_dump, bdump, bd", DBG_OPEN, verb_block_dump, "[-x] [-f FILE] BLOCK",
	 "the bytes of a block; -x: decoded as extended attributes"},
	{"filefrag", DBG_OPEN, dbg_verb_filefrag, "[-d] [-v] [-r] [FILE]",
	 "number of extents of files"},
};

const struct dbg_family dbg_block_verbs = {"Blocks of files", verbs, XW_ARRAY_SIZE(verbs)};
