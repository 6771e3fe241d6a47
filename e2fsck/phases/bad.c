// SPDX-License-Identifier: MIT
/*
 * -c, -l, -L, -k: bad blocks. The list becomes the map of the bad-block inode when a round knows
 * which blocks are in use; in the next round that inode claims them, and files that contain some of
 * them are moved.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/endian.h"
#include "dev/scan.h"
#include "disk/indirect.h"
#include "walk/map.h"

#include "phases/super.h"

/* ---- the list ---- */

static bool is_wanted(const struct fsck_opts *o)
{
	return o->bad_test || o->bad_file;
}

static int add(struct fsck *f, uint64_t blk)
{
	const struct xw_super *sb = &f->img->sb;

	if (blk < XW_MAX(sb->first_data_block, 1u) || blk >= sb->blocks_count) {
		xw_log(&f->diag, XW_LOG_WARN,
		       "bad block %llu is outside of the filesystem: ignored",
		       (unsigned long long)blk);
		return 0;
	}
	if (blk > UINT32_MAX) {
		xw_log(&f->diag, XW_LOG_WARN,
		       "bad block %llu cannot be marked: block numbers of the bad-block inode have "
		       "32 bits",
		       (unsigned long long)blk);
		return 0;
	}
	return xw_vec_push(&f->bad, (uint32_t)blk) ? xw_fail_nomem(&f->diag, "bad blocks") : 0;
}

/* One number per line, as badblocks(8) prints them; lines without one are skipped, as in e2fsck. */
static int read_list(struct fsck *f)
{
	FILE *in = fopen(f->opts.bad_file, "re");
	char line[256];
	int rc = 0;

	if (!in)
		return xw_fail_errno(&f->diag, XW_ERR_IO, errno, "%s: cannot open",
				     f->opts.bad_file);
	while (!rc && fgets(line, sizeof(line), in)) {
		char *end;
		unsigned long long blk;

		errno = 0;
		blk = strtoull(line, &end, 10);
		if (end != line && !strchr(line, '-') && !errno)
			rc = add(f, blk);
	}
	if (!rc && ferror(in))
		rc = xw_fail_errno(&f->diag, XW_ERR_IO, errno, "%s: cannot read", f->opts.bad_file);
	fclose(in);
	return rc;
}

static int scan_tick(void *arg, uint64_t done, uint64_t total)
{
	struct fsck *f = arg;

	fsck_progress(f, done >> 20, total >> 20);
	return fsck_is_ended(f) || f->stop ? XW_ERR_CANCELED : 0;
}

static int scan_bad(void *arg, uint64_t blk)
{
	struct fsck *f = arg;

	f->bad_found++;
	return add(f, blk);
}

/* Scan the device below the overlay, not the blocks held in memory. */
static int scan(struct fsck *f)
{
	const struct xw_scan s = {
		.block_size = f->img->block_size,
		.blocks = f->img->sb.blocks_count,
		.rewrite = f->opts.bad_test > 1,
		.tick = scan_tick,
		.bad = scan_bad,
		.arg = f,
	};
	int rc;

	fsck_heading(f, s.rewrite ? "Checking for bad blocks (non-destructive read-write test)"
				  : "Checking for bad blocks (read-only test)");
	rc = xw_dev_scan(xw_overlay_base(f->dev), &s);
	fsck_progress_end(f);
	if (rc == XW_ERR_CANCELED) {
		f->findings.canceled = f->stop = true;
		return 0;
	}
	if (!rc && f->bad_found)
		xw_log(&f->diag, XW_LOG_WARN, "%s: %llu bad block%s found", f->opts.image,
		       (unsigned long long)f->bad_found, f->bad_found == 1 ? "" : "s");
	return rc;
}

int fsck_find_bad(struct fsck *f)
{
	int rc;

	if (!is_wanted(&f->opts))
		return 0;
	if (f->img->sb.feature_ro_compat & XW_RO_BIGALLOC)
		return xw_fail(&f->diag, XW_ERR_UNSUPPORTED,
			       "%s: -c, -l and -L are not supported with bigalloc", f->opts.image);
	rc = f->opts.bad_file ? read_list(f) : scan(f);
	f->bad_pending = !rc && !f->stop;
	return rc;
}

/* ---- the inode ---- */

/*
 * Adds the blocks of the old list to the new one. All blocks of the old list and of its map stay
 * claimed in this round, since files or metadata may claim them, too; the next round frees those
 * that are no longer in use.
 */
static int add_old_list(struct fsck *f, const struct xw_inode *in)
{
	struct xw_walk_map w;
	struct xw_walk_map_item item;
	int more = 0, rc;

	xw_walk_map_init(&w, f->img->dev, &f->img->sb);
	rc = xw_walk_map_begin(&w, XW_INO_BAD, in, -1);
	while (!rc && (more = xw_walk_map_next(&w, &item)) > 0) {
		if (more == 2 || item.kind != XW_WALK_RUN)
			continue;
		for (uint64_t i = 0; i < item.len && !rc; i++)
			rc = add(f, item.pblk + i);
	}
	xw_walk_map_free(&w);
	return rc || more < 0 ? xw_fail_nomem(&f->diag, "bad blocks") : 0;
}

static int compare(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Sort the list and remove duplicates and group metadata, which cannot be moved. */
static int claim_bad_blocks(struct fsck *f)
{
	size_t n = 0;
	int rc = 0;

	if (f->bad.n)
		qsort(f->bad.v, f->bad.n, sizeof(*f->bad.v), compare);
	for (size_t i = 0; i < f->bad.n && !rc; i++) {
		const uint32_t blk = f->bad.v[i];

		if (n && f->bad.v[n - 1] == blk)
			continue;
		if (fsck_is_metadata(f, blk, 1)) {
			xw_log(&f->diag, XW_LOG_WARN,
			       "bad block %u is filesystem metadata and cannot be moved", blk);
			continue;
		}
		f->bad.v[n++] = blk;
		rc = fsck_claim(f, FSCK_O_BAD, blk, 1, NULL);
	}
	f->bad.n = n;
	return rc;
}

/* The map under construction. */
struct map {
	struct fsck *f;
	size_t at; /* index of the next entry of f->bad */
	xw_blk free; /* blocks before it cannot be used for the map */
	uint64_t nodes;
};

/* The first block that is neither claimed nor metadata, and whose number has 32 bits. */
static int allocate_map_block(struct map *m, xw_blk *blk)
{
	struct fsck *f = m->f;
	const xw_blk end = XW_MIN(f->img->sb.blocks_count, UINT64_C(1) << 32);

	while (m->free < end && (fsck_is_claimed(f, m->free) || fsck_is_metadata(f, m->free, 1)))
		m->free++;
	if (m->free >= end)
		return xw_fail(&f->diag, XW_ERR_NOSPC, "%s: no space for the list of bad blocks",
			       f->opts.image);
	*blk = m->free++;
	m->nodes++;
	return fsck_claim(f, FSCK_O_BAD, *blk, 1, NULL);
}

/* Write an indirect block of this level (1 to 3) and everything below it. */
static int write_node(struct map *m, unsigned level, uint32_t *where)
{
	const unsigned per_block = xw_indirect_per_block(m->f->img->block_size);
	auto_free uint8_t *buf = calloc(1, m->f->img->block_size);
	xw_blk blk = 0;
	int rc = buf ? allocate_map_block(m, &blk) : xw_fail_nomem(&m->f->diag, "bad blocks");

	for (unsigned i = 0; i < per_block && m->at < m->f->bad.n && !rc; i++) {
		uint32_t to = 0;

		if (level > 1)
			rc = write_node(m, level - 1, &to);
		else
			to = m->f->bad.v[m->at++];
		poke32(buf + (size_t)4 * i, to);
	}
	if (rc)
		return rc;
	*where = (uint32_t)blk;
	return fsck_write(m->f, FSCK_O_BAD, blk, buf);
}

static int write_map(struct fsck *f, struct xw_inode *in)
{
	struct map m = {.f = f, .free = f->img->sb.first_data_block + 1};
	int rc = 0;

	memset(in->block, 0, sizeof(in->block));
	for (unsigned i = 0; i < 15 && m.at < f->bad.n && !rc; i++) {
		uint32_t to = 0;

		if (i < 12)
			to = f->bad.v[m.at++];
		else
			rc = write_node(&m, i - 11, &to);
		poke32(in->block + (size_t)4 * i, to);
	}
	in->size = (uint64_t)f->bad.n * f->img->block_size;
	return rc ? rc : xw_inode_set_blocks(in, &f->img->sb, f->bad.n + m.nodes);
}

int fsck_set_bad(struct fsck *f)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc;

	/* After an update the claims are stale: left to the next round. */
	if (!f->bad_pending || f->allocated || f->opts.mode == FSCK_NO)
		return 0;
	f->bad_pending = false;
	raw = malloc(f->img->inode_size);
	rc = raw ? fsck_inode_read(f, XW_INO_BAD, &in, raw) : xw_fail_nomem(&f->diag, "bad blocks");
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
	f->freed_in = f->round + 1;
	return fsck_inode_write(f, XW_INO_BAD, &in, raw);
}
