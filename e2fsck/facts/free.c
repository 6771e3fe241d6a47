// SPDX-License-Identifier: MIT
/* Clusters that nobody claims. */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "facts/facts.h"

struct span {
	uint64_t first, end; /* clusters */
};

/* Looks for clusters in [first, end) of one group; bits: its bitmap, or NULL. */
static bool find_in(const struct fsck *f, struct span group, uint64_t from, const uint8_t *bits,
		    uint64_t *out)
{
	const struct xw_blockset *claims = f->owners.claims;

	for (uint64_t n = from, start, len; n < group.end; n++) {
		const uint64_t bit = n - group.first;

		if (bits && bits[bit / 8] == 0xFF && bit % 8 == 0 && n + 8 <= group.end) {
			n += 7;
			continue;
		}
		if (xw_blockset_has(claims, n)) {
			if (xw_blockset_next_in(claims, n, group.end, &start, &len))
				n = start + len - 1;
			continue;
		}
		if (!bits || !(bits[bit / 8] >> bit % 8 & 1)) {
			*out = n;
			return true;
		}
	}
	return false;
}

/* Reads the bitmap of a group as it is. false: everything in it counts as free. */
static bool read_bitmap(struct fsck *f, uint64_t group, uint8_t *bits)
{
	struct xw_group_desc gd;

	if (xw_image_group(f->img, group, &gd)) {
		xw_diag_clear(&f->diag);
		return false;
	}
	return !xw_image_block_uninit(f->img, &gd) &&
	       xw_image_has_blocks(f->img, gd.block_bitmap, 1) &&
	       !fsck_read(f, gd.block_bitmap, 1, bits);
}

static bool find_free(struct fsck *f, uint64_t goal, uint8_t *bits, uint64_t *out)
{
	const uint32_t per_group = xw_image_group_bits(f->img);
	const uint64_t all = fsck_clusters(f), groups = f->img->groups, first = goal / per_group;

	for (uint64_t i = 0; i <= groups; i++) {
		const uint64_t g = (first + i) % groups;
		const struct span s = {g * per_group, XW_MIN((g + 1) * per_group, all)};
		const uint64_t from = i ? s.first : goal;

		if (xw_blockset_count(f->owners.claims, s.first, s.end - s.first) ==
		    s.end - s.first)
			continue;
		if (find_in(f, s, from, bits && read_bitmap(f, g, bits) ? bits : NULL, out))
			return true;
	}
	return false;
}

int fsck_claim_free(struct fsck *f, enum fsck_owner owner, xw_blk goal, xw_blk *blk)
{
	const unsigned shift = xw_image_cluster_bits(f->img);
	const uint64_t at = xw_image_has_blocks(f->img, goal, 1) ? fsck_cluster(f, goal) : 0;
	auto_free uint8_t *bits = malloc(f->img->block_size);
	uint64_t n = 0;

	if (!bits)
		return xw_fail_nomem(&f->diag, "the blocks in use");
	if (!find_free(f, at, bits, &n) && !find_free(f, at, NULL, &n))
		return XW_ERR_NOSPC;
	*blk = f->img->sb.first_data_block + (n << shift);
	return fsck_claim(f, owner, *blk, 1, NULL);
}
