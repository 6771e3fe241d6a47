// SPDX-License-Identifier: MIT
/*
 * -c, -l, -L, -k: bad blocks. The list is written as the block map of the bad-block inode at the
 * end of a round, when it is known which blocks are in use. In the next round that inode claims the
 * blocks, and files that contain any of them are moved.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/endian.h"
#include "base/parse.h"
#include "base/search.h"
#include "dev/scan.h"
#include "disk/indirect.h"
#include "walk/map.h"

#include "phases/super.h"

/* ---- the list ---- */

static int add(struct fsck *f, uint64_t blk)
{
	const struct xw_super *sb = &f->ses.img->sb;

	if (blk < XW_MAX(sb->first_data_block, 1u) || blk >= sb->blocks_count) {
		xw_log(&f->ses.diag, XW_LOG_WARN,
		       "bad block %llu is outside of the filesystem: ignored",
		       (unsigned long long)blk);
		return 0;
	}
	if (blk > UINT32_MAX) {
		xw_log(&f->ses.diag, XW_LOG_WARN,
		       "bad block %llu cannot be marked: block numbers of the bad-block inode have "
		       "32 bits",
		       (unsigned long long)blk);
		return 0;
	}
	return xw_vec_push(&f->ses.bad, (uint32_t)blk) ? xw_fail_nomem(&f->ses.diag, "bad blocks")
						       : 0;
}

/* Read the output of badblocks(8), one number per line. Skip other lines, as e2fsck does. */
static int read_list(struct fsck *f)
{
	FILE *in = fopen(f->opts.bad_file, "re");
	char line[256];
	int rc = 0;

	if (!in)
		return xw_fail_errno(&f->ses.diag, XW_ERR_IO, errno, "%s: cannot open",
				     f->opts.bad_file);
	while (!rc && fgets(line, sizeof(line), in)) {
		const char *end;
		uint64_t blk;

		if (!xw_parse_digits(line + strspn(line, " \t"), 10, &blk, &end) &&
		    !strchr(line, '-'))
			rc = add(f, blk);
	}
	if (!rc && ferror(in))
		rc = xw_fail_errno(&f->ses.diag, XW_ERR_IO, errno, "%s: cannot read",
				   f->opts.bad_file);
	fclose(in);
	return rc;
}

static int scan_tick(void *arg, uint64_t done, uint64_t total)
{
	struct fsck *f = arg;

	fsck_progress(f, done >> 20, total >> 20);
	return fsck_is_ended(f) || f->ses.stop ? XW_ERR_CANCELED : 0;
}

static int scan_bad(void *arg, uint64_t blk)
{
	struct fsck *f = arg;

	f->ses.bad_found++;
	return add(f, blk);
}

/* Scan the device below the overlay: blocks that the overlay holds in memory prove nothing. */
static int scan(struct fsck *f)
{
	const struct xw_scan s = {
		.block_size = f->ses.img->block_size,
		.blocks = f->ses.img->sb.blocks_count,
		.rewrite = f->opts.bad_test > 1,
		.tick = scan_tick,
		.bad = scan_bad,
		.arg = f,
	};
	int rc;

	fsck_heading(f, s.rewrite ? "Checking for bad blocks (non-destructive read-write test)"
				  : "Checking for bad blocks (read-only test)");
	rc = xw_dev_scan(xw_overlay_base(f->ses.dev), &s);
	fsck_progress_end(f);
	if (rc == XW_ERR_CANCELED) {
		f->ses.findings.canceled = f->ses.stop = true;
		return 0;
	}
	if (!rc && f->ses.bad_found)
		xw_log(&f->ses.diag, XW_LOG_WARN, "%s: %llu bad block%s found", f->opts.image,
		       (unsigned long long)f->ses.bad_found, f->ses.bad_found == 1 ? "" : "s");
	return rc;
}

int fsck_find_bad(struct fsck *f)
{
	int rc;

	if (!f->opts.bad_test && !f->opts.bad_file)
		return 0;
	if (f->ses.img->sb.feature_ro_compat & XW_RO_BIGALLOC)
		return xw_fail(&f->ses.diag, XW_ERR_UNSUPPORTED,
			       "%s: -c, -l and -L are not supported with bigalloc", f->opts.image);
	rc = f->opts.bad_file ? read_list(f) : scan(f);
	f->ses.bad_pending = !rc && !f->ses.stop;
	return rc;
}

/* ---- the inode ---- */

/*
 * -k: add the blocks of the old list to the new one. All blocks of the old list and of its map
 * stay claimed in this round, since files or metadata may claim them as well; the next round frees
 * those that are no longer in use.
 */
static int add_old_list(struct fsck *f, const struct xw_inode *in)
{
	auto_end(xw_walk_map_free) struct xw_walk_map w;
	struct xw_walk_map_item item;
	int more = 0, rc;

	xw_walk_map_init(&w, f->ses.img->dev, &f->ses.img->sb);
	rc = xw_walk_map_begin(&w, XW_INO_BAD, in, -1);
	while (!rc && (more = xw_walk_map_next(&w, &item)) > 0) {
		if (more == 2 || item.kind != XW_WALK_RUN)
			continue;
		for (uint64_t i = 0; i < item.len && !rc; i++)
			rc = add(f, item.pblk + i);
	}
	return rc || more < 0 ? xw_fail_nomem(&f->ses.diag, "bad blocks") : 0;
}

/*
 * Sort the list, remove duplicates and group metadata, which cannot be moved, and claim the rest.
 */
static int claim_bad_blocks(struct fsck *f)
{
	size_t n = 0;
	int rc = 0;

	if (f->ses.bad.n)
		qsort(f->ses.bad.v, f->ses.bad.n, sizeof(*f->ses.bad.v), xw_by_u32);
	for (size_t i = 0; i < f->ses.bad.n && !rc; i++) {
		const uint32_t blk = f->ses.bad.v[i];

		if (n && f->ses.bad.v[n - 1] == blk)
			continue;
		if (fsck_is_metadata(f, blk, 1)) {
			xw_log(&f->ses.diag, XW_LOG_WARN,
			       "bad block %u is filesystem metadata and cannot be moved", blk);
			continue;
		}
		f->ses.bad.v[n++] = blk;
		rc = fsck_claim(f, FSCK_O_BAD, blk, 1, NULL);
	}
	f->ses.bad.n = n;
	return rc;
}

/* The map under construction. */
struct map {
	struct fsck *f;
	size_t at; /* index of the next entry of f->ses.bad */
	xw_blk free; /* all blocks before this one are in use */
	uint64_t nodes; /* number of indirect blocks written so far */
};

/* Allocate the first block that is neither claimed nor metadata and whose number has 32 bits. */
static int allocate_map_block(struct map *m, xw_blk *blk)
{
	struct fsck *f = m->f;
	const xw_blk end = XW_MIN(f->ses.img->sb.blocks_count, UINT64_C(1) << 32);

	while (m->free < end && (fsck_is_claimed(f, m->free) || fsck_is_metadata(f, m->free, 1)))
		m->free++;
	if (m->free >= end)
		return xw_fail(&f->ses.diag, XW_ERR_NOSPC,
			       "%s: no space for the list of bad blocks", f->opts.image);
	*blk = m->free++;
	m->nodes++;
	return fsck_claim(f, FSCK_O_BAD, *blk, 1, NULL);
}

/* Write an indirect block of this level (1 to 3) and everything below it. */
static int write_node(struct map *m, unsigned level, uint32_t *where)
{
	const unsigned per_block = xw_indirect_per_block(m->f->ses.img->block_size);
	auto_free uint8_t *buf = calloc(1, m->f->ses.img->block_size);
	xw_blk blk = 0;
	int rc = buf ? allocate_map_block(m, &blk) : xw_fail_nomem(&m->f->ses.diag, "bad blocks");

	for (unsigned i = 0; i < per_block && m->at < m->f->ses.bad.n && !rc; i++) {
		uint32_t to = 0;

		if (level > 1)
			rc = write_node(m, level - 1, &to);
		else
			to = m->f->ses.bad.v[m->at++];
		poke32(buf + (size_t)4 * i, to);
	}
	if (rc)
		return rc;
	*where = (uint32_t)blk;
	return fsck_write(m->f, FSCK_O_BAD, blk, buf);
}

static int write_map(struct fsck *f, struct xw_inode *in)
{
	struct map m = {.f = f, .free = f->ses.img->sb.first_data_block + 1};
	int rc = 0;

	memset(in->block, 0, sizeof(in->block));
	for (unsigned i = 0; i < 15 && m.at < f->ses.bad.n && !rc; i++) {
		uint32_t to = 0;

		if (i < 12)
			to = f->ses.bad.v[m.at++];
		else
			rc = write_node(&m, i - 11, &to);
		poke32(in->block + (size_t)4 * i, to);
	}
	in->size = (uint64_t)f->ses.bad.n * f->ses.img->block_size;
	return rc ? rc : xw_inode_set_blocks(in, &f->ses.img->sb, f->ses.bad.n + m.nodes);
}

int fsck_set_bad(struct fsck *f)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc;

	/* After an update the claims are stale: wait for the next round. */
	if (!f->ses.bad_pending || f->round.allocated || f->opts.mode == FSCK_NO)
		return 0;
	f->ses.bad_pending = false;
	rc = fsck_inode_load(f, XW_INO_BAD, &in, &raw);
	if (!rc && f->opts.bad_keep)
		rc = add_old_list(f, &in);
	if (!rc)
		rc = claim_bad_blocks(f);
	if (!rc)
		rc = write_map(f, &in);
	if (rc)
		return rc;
	fsck_line(f, FSCK_LINE_ACTION, "%s: Updating bad block inode.", xw_fsck_name(f));
	in.atime.sec = in.mtime.sec = f->opts.now;
	f->ses.freed_in = f->round.number + 1;
	return fsck_inode_write(f, XW_INO_BAD, &in, raw);
}
