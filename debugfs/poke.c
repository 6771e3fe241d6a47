/* SPDX-License-Identifier: MIT */
/*
 * Verbs that modify a single structure and nothing else: a bit, a record, a byte of a block. Counts
 * are not updated, so that images can be damaged, or repaired by hand.
 */
#include "config.h"

#include "poke.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/bytes.h"
#include "cli/term.h"
#include "session/edit.h"
#include "read/map.h"
#include "edit/edit.h"

/* ---- bytes ---- */

int poke_read(struct dbg *d, uint64_t off, void *buf, size_t len)
{
	return xw_dev_pread(xw_edit_dev(d->edit), buf, len, off);
}

static int put(struct dbg *d, uint64_t off, const void *buf, size_t len)
{
	const int rc = xw_dev_pwrite(xw_edit_dev(d->edit), buf, len, off);

	d->spoiled |= rc != 0;
	dbg_wrote(d);
	return rc;
}

int poke_write(struct dbg *d, uint64_t off, const void *buf, size_t len)
{
	if (off != XW_SUPER_OFFSET)
		xw_edit_doubt(d->edit);
	return put(d, off, buf, len);
}

/* ---- records ---- */

void poke_inode_free(struct poke_inode *p)
{
	free(p->raw);
}

int poke_inode_read(struct dbg *d, const char *spec, struct poke_inode *p)
{
	const uint32_t size = d->img->inode_size;
	struct dbg_record r;
	int rc;

	*p = (struct poke_inode){0};
	rc = dbg_inode_number(d, spec, &p->ino);
	if (!rc)
		rc = dbg_find_record(d, p->ino, &r);
	if (rc)
		return rc;
	if (!xw_image_has_blocks(d->img, r.table, r.blk - r.table + 1))
		return xw_fail(&d->diag, XW_ERR_CORRUPT,
			       "inode %" PRIu32 ": its table is outside the filesystem", p->ino);
	p->off = r.blk * d->img->block_size + r.off;
	p->raw = malloc(size);
	if (!p->raw)
		return xw_fail_nomem(&d->diag, "inode");
	rc = poke_read(d, p->off, p->raw, size);
	p->csum_ok = !rc && !xw_inode_verify(p->raw, &d->img->sb, d->img->csum_seed, p->ino);
	return rc;
}

/*
 * Does the record refer to other blocks than the record on disk? A cleared record, as written by
 * clri, refers to none.
 */
static bool changes_blocks(struct dbg *d, const struct poke_inode *p)
{
	/* i_flags, i_block, i_file_acl_lo, i_file_acl_high */
	static const struct {
		unsigned at, len;
		bool block;
	} fields[] = {
		{0x20, 4, false}, {XW_INODE_IBLOCK, 60, true}, {0x68, 4, true}, {0x76, 2, true}};
	bool differs = false, any = false;
	uint8_t was[XW_INODE_BODY];

	if (poke_read(d, p->off, was, sizeof(was)))
		return true;
	for (size_t i = 0; i < XW_ARRAY_SIZE(fields); i++) {
		const uint8_t *now = p->raw + fields[i].at;

		differs |= memcmp(was + fields[i].at, now, fields[i].len) != 0;
		any |= fields[i].block && !xw_all_zero(now, fields[i].len);
	}
	return differs && any;
}

int poke_inode_write(struct dbg *d, struct poke_inode *p)
{
	if (p->csum_ok)
		xw_inode_set_csum(p->raw, &d->img->sb, d->img->csum_seed, p->ino);
	if (changes_blocks(d, p))
		xw_edit_doubt(d->edit);
	return put(d, p->off, p->raw, d->img->inode_size);
}

/* Clears the first 128 bytes; extra fields and attributes are kept. */
static int verb_clri(struct dbg *d, int argc, char **argv)
{
	auto_end(poke_inode_free) struct poke_inode p = {0};
	int rc = argc == 2 ? poke_inode_read(d, argv[1], &p) : DBG_USAGE;

	if (rc)
		return rc;
	memset(p.raw, 0, XW_INODE_BODY);
	return poke_inode_write(d, &p);
}

static int verb_copy_inode(struct dbg *d, int argc, char **argv)
{
	auto_end(poke_inode_free) struct poke_inode from = {0}, to = {0};
	int rc = argc == 3 ? poke_inode_read(d, argv[1], &from) : DBG_USAGE;

	if (!rc)
		rc = poke_inode_read(d, argv[2], &to);
	if (rc)
		return rc;
	to.csum_ok = from.csum_ok;
	memcpy(to.raw, from.raw, d->img->inode_size);
	return poke_inode_write(d, &to);
}

int poke_map_block(struct dbg *d, xw_ino ino, xw_lblk lblk, xw_blk *pblk)
{
	struct xw_update *u;
	struct xw_inode in;
	int rc = dbg_read_inode(d, ino, &in, NULL);

	if (!rc)
		rc = dbg_logical_fits(d, &in, lblk);
	/* inline data would have to be converted to blocks first */
	if (!rc && *pblk && in.flags & XW_FL_INLINE_DATA)
		rc = xw_fail(&d->diag, XW_ERR_INPUT,
			     "inode %" PRIu32 ": its contents are inline: it has no map", ino);
	if (*pblk)
		xw_edit_doubt(d->edit);
	if (rc || (rc = dbg_step_begin(d, &u)))
		return rc;
	return dbg_step_end(d, xw_update_map_block(u, ino, lblk, pblk));
}

int dbg_change_bmap(struct dbg *d, char **argv)
{
	const bool alloc = !strcmp(argv[1], "-a");
	uint64_t lblk, pblk = 0;
	xw_ino ino;
	int rc;

	if (!d->edit)
		return xw_fail(&d->diag, XW_ERR_STATE, "%s", dbg_read_only(d));
	rc = dbg_inode_number(d, argv[1 + alloc], &ino);
	if (!rc)
		rc = dbg_logical(d, argv[2 + alloc], &lblk);
	if (!rc && !alloc)
		rc = dbg_block(d, argv[3], &pblk);
	if (!rc)
		rc = poke_map_block(d, ino, (xw_lblk)lblk, &pblk);
	if (rc)
		return rc;
	d->dirty = true;
	fprintf(d->out, "%" PRIu64 "\n", pblk);
	return 0;
}

/* ---- bits ---- */

/* The operands are "FILE [COUNT]" or "BLOCK [COUNT]". */
static int mark(struct dbg *d, int argc, char **argv, bool inodes, bool used)
{
	const struct xw_super *sb = &d->img->sb;
	const uint64_t end = inodes ? (uint64_t)sb->inodes_count + 1 : sb->blocks_count;
	const char *what = inodes ? "inode" : "block", *state = used ? "set" : "clear";
	struct xw_update *u;
	uint64_t n, count;
	xw_ino ino = 0;
	int rc;

	if (argc < 2 || argc > 3)
		return DBG_USAGE;
	rc = inodes ? dbg_inode_number(d, argv[1], &ino) : dbg_block(d, argv[1], &n);
	if (!rc)
		rc = dbg_count(d, argc, argv, 2, &count);
	if (rc)
		return rc;
	n = inodes ? ino : n;
	if (count > end - n)
		return xw_fail(&d->diag, XW_ERR_USAGE,
			       "%" PRIu64 " %ss from %" PRIu64
			       " on: past the end of the filesystem",
			       count, what, n);
	rc = dbg_step_begin(d, &u);
	if (rc)
		return rc;
	for (; count && !rc; count--, n++) {
		rc = inodes ? xw_update_mark_inode(u, (xw_ino)n, used)
			    : xw_update_mark_block(u, n, used);
		if (rc != XW_ERR_EXISTS)
			continue;
		rc = 0;
		if (d->stock)
			cli_note("%s: Warning: %s %" PRIu64 " already %s", d->verb, what, n, state);
		else
			cli_warning("%s: %s %" PRIu64 " already %s", d->verb, what, n, state);
	}
	return dbg_step_end(d, rc);
}

static int verb_setb(struct dbg *d, int argc, char **argv)
{
	return mark(d, argc, argv, false, true);
}

static int verb_freeb(struct dbg *d, int argc, char **argv)
{
	return mark(d, argc, argv, false, false);
}

static int verb_seti(struct dbg *d, int argc, char **argv)
{
	return mark(d, argc, argv, true, true);
}

static int verb_freei(struct dbg *d, int argc, char **argv)
{
	return mark(d, argc, argv, true, false);
}

/* ---- blocks ---- */

struct zap {
	const char *file;
	uint64_t off, len, pattern, bit;
	bool has_len, has_bit, has_pattern;
};

static int zap_options(struct dbg *d, int argc, char **argv, struct zap *z)
{
	const struct dbg_option options[] = {
		{'b', .given = &z->has_bit, .number = &z->bit, .what = "bit"},
		{'f', .text = &z->file},
		{'l', .given = &z->has_len, .number = &z->len, .what = "length"},
		{'o', .number = &z->off, .what = "offset"},
		{'p', .given = &z->has_pattern, .number = &z->pattern, .what = "pattern"},
		{0},
	};
	int rc = dbg_options(d, argc, argv, options);

	if (!rc && (optind + 1 != argc || (z->has_bit && (z->has_len || z->off || z->has_pattern))))
		rc = DBG_USAGE;
	return rc;
}

static int zap_check(struct dbg *d, struct zap *z)
{
	const uint32_t bs = d->img->block_size;

	if (z->off >= bs)
		return xw_fail(&d->diag, XW_ERR_USAGE, "offset %" PRIu64 ": a block has %u bytes",
			       z->off, bs);
	if (!z->has_len || !z->len)
		z->len = bs - z->off;
	if (z->len > bs - z->off)
		return xw_fail(&d->diag, XW_ERR_USAGE,
			       "%" PRIu64 " bytes from %" PRIu64 " on: a block has %u", z->len,
			       z->off, bs);
	if (z->pattern > 255)
		return xw_fail(&d->diag, XW_ERR_USAGE, "pattern %" PRIu64 ": not a byte",
			       z->pattern);
	if (z->bit >= 8ull * bs)
		return xw_fail(&d->diag, XW_ERR_USAGE, "bit %" PRIu64 ": a block has %u", z->bit,
			       8 * bs);
	return 0;
}

static int zap_where(struct dbg *d, const struct zap *z, const char *text, xw_blk *blk)
{
	struct xw_map_run run;
	struct xw_inode in;
	uint64_t lblk;
	xw_ino ino;
	int rc;

	if (!z->file) {
		rc = dbg_number(d, text, "block number", blk);
		if (!rc && *blk >= d->img->sb.blocks_count)
			rc = dbg_block(d, text, blk); /* reports the reason */
		return rc;
	}
	rc = dbg_logical(d, text, &lblk);
	if (!rc)
		rc = dbg_inode(d, z->file, &ino, &in, NULL);
	if (!rc)
		rc = xw_map_lookup(d->img, ino, &in, (xw_lblk)lblk, &run);
	if (rc)
		return rc;
	*blk = run.pblk;
	return run.pblk ? 0
			: xw_fail(&d->diag, XW_ERR_NOTFOUND, "%s has no block %s", z->file, text);
}

static int verb_zap(struct dbg *d, int argc, char **argv)
{
	const uint32_t bs = d->img->block_size;
	auto_free uint8_t *buf = malloc(bs);
	struct zap z = {0};
	xw_blk blk;
	int rc = buf ? zap_options(d, argc, argv, &z) : xw_fail_nomem(&d->diag, "block");

	if (!rc)
		rc = zap_check(d, &z);
	if (!rc)
		rc = zap_where(d, &z, argv[optind], &blk);
	if (!rc)
		rc = poke_read(d, blk * bs, buf, bs);
	if (rc)
		return rc;
	if (z.has_bit)
		buf[z.bit / 8] ^= (uint8_t)(1u << z.bit % 8);
	else
		memset(buf + z.off, (int)z.pattern, z.len);
	return poke_write(d, blk * bs, buf, bs);
}

static const struct dbg_verb verbs[] = {
	{"clri", DBG_WRITE, verb_clri, "FILE", "clear an inode"},
	{"copy_inode", DBG_WRITE, verb_copy_inode, "FILE FILE", "copy one inode over another"},
	{"seti", DBG_WRITE, verb_seti, "FILE [COUNT]", "mark inodes as in use"},
	{"freei", DBG_WRITE, verb_freei, "FILE [COUNT]", "mark inodes as free"},
	{"setb", DBG_WRITE, verb_setb, "BLOCK [COUNT]", "mark blocks as in use"},
	{"freeb", DBG_WRITE, verb_freeb, "BLOCK [COUNT]", "mark blocks as free"},
	{"zap_block, zap", DBG_WRITE, verb_zap,
	 "[-f FILE] [-o OFFSET] [-l LENGTH] [-p BYTE | -b BIT] BLOCK",
	 "overwrite a block, or flip a bit in it"},
};

const struct dbg_family dbg_poke_verbs = {"Bits and bytes", verbs, XW_ARRAY_SIZE(verbs)};
