// SPDX-License-Identifier: MIT
/*
 * Clusters in use, and those claimed by more than one owner. Group metadata claims its places
 * first, so that it takes precedence over everything found later.
 */
#include "config.h"

#include "fsck.h"

int fsck_claim(struct fsck *f, xw_blk blk, uint64_t len, uint64_t *again)
{
	const xw_blk base = f->img->sb.first_data_block;
	const unsigned bits = xw_image_cluster_bits(f->img);
	uint64_t limit = ((f->img->sb.blocks_count - base - 1) >> bits) + 1;
	uint64_t first = (blk - base) >> bits, last = (blk + len - 1 - base) >> bits;
	uint64_t had = 0, at = first, start, n;
	int rc = f->claims ? 0 : xw_blockset_new(limit, &f->claims);

	if (!rc && xw_blockset_count(f->claims, first, last - first + 1)) {
		if (!f->contested)
			rc = xw_blockset_new(limit, &f->contested);
		while (!rc && xw_blockset_next_in(f->claims, at, last + 1, &start, &n)) {
			rc = xw_blockset_add(f->contested, start, n, NULL);
			at = start + n;
		}
	}
	if (!rc)
		rc = xw_blockset_add(f->claims, first, last - first + 1, &had);
	if (again)
		*again = had;
	return rc ? xw_fail_nomem(&f->diag, "the blocks in use") : 0;
}

void fsck_unclaim(struct fsck *f, xw_blk blk, uint64_t len)
{
	const xw_blk base = f->img->sb.first_data_block;
	const unsigned bits = xw_image_cluster_bits(f->img);
	const uint64_t first = (blk - base) >> bits, last = (blk + len - 1 - base) >> bits;

	if (f->claims)
		xw_blockset_remove(f->claims, first, last - first + 1);
}

bool fsck_is_claimed(const struct fsck *f, xw_blk blk)
{
	return f->claims && xw_blockset_has(f->claims, (blk - f->img->sb.first_data_block) >>
							       xw_image_cluster_bits(f->img));
}

bool fsck_is_metadata(const struct fsck *f, xw_blk blk, uint64_t len)
{
	const xw_blk end = blk + len;
	bool is_meta = false;

	while (f->sysmap && blk < end && !is_meta)
		blk += xw_sysmap_at(f->sysmap, blk, end - blk, &is_meta);
	return is_meta;
}

int fsck_claim_metadata(struct fsck *f)
{
	const xw_blk base = f->img->sb.first_data_block, end = f->img->sb.blocks_count;
	const unsigned bits = xw_image_cluster_bits(f->img);
	int rc = xw_sysmap_new(f->img, &f->sysmap);

	if (!rc && !f->claims && xw_blockset_new(((end - base - 1) >> bits) + 1, &f->claims))
		rc = xw_fail_nomem(&f->diag, "the blocks in use");
	for (xw_blk blk = base; !rc && blk < end;) {
		bool is_meta;
		const uint64_t n = xw_sysmap_at(f->sysmap, blk, end - blk, &is_meta);
		const uint64_t first = (blk - base) >> bits, last = (blk + n - 1 - base) >> bits;

		if (is_meta && xw_blockset_add(f->claims, first, last - first + 1, NULL))
			rc = xw_fail_nomem(&f->diag, "the blocks in use");
		blk += n;
	}
	return rc;
}
