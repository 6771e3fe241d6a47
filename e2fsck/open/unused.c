// SPDX-License-Identifier: MIT
/*
 * Free blocks according to the claims of the check: for the redo record of the repairs, and for -E
 * discard after these are committed.
 *
 * A cluster without claims in the last round is free in the repaired filesystem; if anything
 * differed from these claims, a finding would be left. A cluster without claims in any round is
 * also free in the state that is still on the image. Parts of inode tables that were never used are
 * not discarded: a later repair reads them.
 */
#include "config.h"

#include "base/auto.h"
#include "open/open.h"

/* The next free range, in bytes; false: there is none. */
static bool next_free(void *arg, uint64_t *off, uint64_t *len)
{
	struct fsck_unused *u = arg;
	uint64_t used = u->limit, n = 0, end;

	while (u->at < u->limit) {
		const uint64_t from = u->at;

		if (!xw_blockset_next_in(u->claims, from, u->limit, &used, &n)) {
			used = u->limit;
			n = 0;
		}
		u->at = used + n;
		if (used == from)
			continue;
		*off = (u->first + (from << u->cluster_bits)) * u->bytes;
		end = XW_MIN((u->first + (used << u->cluster_bits)) * u->bytes, u->end);
		*len = end - *off;
		return true;
	}
	return false;
}

/* Add all numbers in `from` to `to`, whose limit must not be lower. */
static int add_all(struct xw_blockset *to, const struct xw_blockset *from)
{
	uint64_t start, len, at = 0;
	int rc = 0;

	for (; !rc && xw_blockset_next(from, at, &start, &len); at = start + len)
		rc = xw_blockset_add(to, start, len, NULL);
	return rc;
}

static void measure(struct fsck_unused *u, const struct fsck *f)
{
	u->first = f->ses.img->sb.first_data_block;
	u->limit = fsck_clusters(f);
	u->cluster_bits = xw_image_cluster_bits(f->ses.img);
}

static void forget(struct fsck_unused *u)
{
	xw_blockset_free(u->claims);
	xw_blockset_free(u->ever);
	u->claims = u->ever = NULL;
}

/*
 * Do the clusters have the same size and origin as in earlier rounds? Otherwise these cannot be
 * compared, and no block counts as free.
 */
static bool is_same(const struct fsck_unused *u, const struct fsck *f)
{
	return u->first == f->ses.img->sb.first_data_block && u->limit == fsck_clusters(f) &&
	       u->cluster_bits == xw_image_cluster_bits(f->ses.img);
}

void fsck_unused_note(struct fsck *f)
{
	struct fsck_unused *u = &f->ses.unused;

	if (!f->facts.owners.claims || f->opts.mode == FSCK_NO || u->spoiled)
		return;
	if (!u->ever) {
		measure(u, f);
		u->ever = steal(f->facts.owners.claims);
		return;
	}
	if (!is_same(u, f) || add_all(u->ever, f->facts.owners.claims)) {
		forget(u);
		u->spoiled = true;
	}
}

bool fsck_unused_before(const struct fsck *f, xw_blk blk)
{
	const struct fsck_unused *u = &f->ses.unused;

	return !u->spoiled &&
	       (!u->ever || (is_same(u, f) && blk >= u->first &&
			     !xw_blockset_has(u->ever, (blk - u->first) >> u->cluster_bits)));
}

void fsck_unused_collect(struct fsck *f)
{
	struct fsck_unused *u = &f->ses.unused;

	if (f->opts.mode == FSCK_NO || f->ses.stop || !f->facts.owners.claims || u->spoiled ||
	    (u->ever && !is_same(u, f))) {
		forget(u);
		return;
	}
	measure(u, f);
	u->bytes = f->ses.img->block_size;
	u->end = f->ses.img->sb.blocks_count * u->bytes;
	u->complete = !f->ses.findings.left;
	u->claims = steal(f->facts.owners.claims);
}

static uint64_t is_free(void *arg, uint64_t blk, uint64_t n, bool *free_now)
{
	const struct fsck_unused *u = arg;
	const uint64_t cluster = (blk - u->first) >> u->cluster_bits;

	*free_now = blk >= u->first && cluster < u->limit && !xw_blockset_has(u->claims, cluster) &&
		    !(u->ever && xw_blockset_has(u->ever, cluster));
	return XW_MIN(n, ((cluster + 1) << u->cluster_bits) - (blk - u->first));
}

void fsck_unused_offer(struct fsck *f)
{
	if (f->ses.unused.claims)
		xw_edit_set_record_space(f->ses.edit, is_free, &f->ses.unused,
					 f->ses.unused.complete);
}

void fsck_unused_free(struct fsck *f)
{
	forget(&f->ses.unused);
}

void fsck_unused_discard(struct fsck *f)
{
	const bool wanted = f->opts.discard && !f->opts.undo_file && f->ses.unused.complete;
	const int rc = wanted && f->ses.unused.claims
			       ? xw_edit_discard(f->ses.edit, next_free, &f->ses.unused)
			       : 0;

	if (rc)
		xw_log(&f->ses.diag, XW_LOG_WARN, "%s",
		       f->ses.diag.code ? f->ses.diag.text : "the host cannot discard free blocks");
	xw_diag_clear(&f->ses.diag);
}
