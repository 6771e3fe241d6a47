// SPDX-License-Identifier: MIT
/* Searches for unclaimed clusters. */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "facts/facts.h"

struct span {
	uint64_t first, end; /* clusters */
};

/*
 * Find the first cluster of the group, from cluster `from` on, that is neither claimed nor in use
 * in the group's bitmap `bits`, which may be NULL.
 */
static bool find_in(const struct fsck *f, struct span group, uint64_t from, const uint8_t *bits,
		    uint64_t *out)
{
	const struct xw_blockset *claims = f->facts.owners.claims;

	for (uint64_t n = from, start, len; n < group.end; n++) {
		const uint64_t bit = n - group.first;

		if (bits && bits[bit / 8] == 0xFF && bit % 8 == 0) {
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

/*
 * Read the block bitmap of a group, damaged or not. false: unreadable; all of its blocks count as
 * free.
 */
static bool read_bitmap(struct fsck *f, uint64_t group, uint8_t *bits)
{
	struct xw_group_desc gd;

	if (xw_image_group(f->ses.img, group, &gd)) {
		xw_diag_clear(&f->ses.diag);
		return false;
	}
	return !xw_image_block_uninit(f->ses.img, &gd) &&
	       xw_image_has_blocks(f->ses.img, gd.block_bitmap, 1) &&
	       !fsck_read(f, gd.block_bitmap, 1, bits);
}

static bool find_in_group(struct fsck *f, uint64_t group, uint64_t from, uint8_t *bits,
			  uint64_t *out)
{
	const uint32_t per_group = xw_image_group_bits(f->ses.img);
	const struct span s = {group * per_group,
			       XW_MIN((group + 1) * per_group, fsck_clusters(f))};

	if (xw_blockset_count(f->facts.owners.claims, s.first, s.end - s.first) == s.end - s.first)
		return false;
	return find_in(f, s, XW_MAX(from, s.first),
		       bits && read_bitmap(f, group, bits) ? bits : NULL, out);
}

/*
 * Search the group of the goal, then the groups after it, or after the group where the last search
 * ended.
 */
static bool find_free(struct fsck *f, uint64_t goal, uint8_t *bits, uint64_t *out)
{
	const uint64_t groups = f->ses.img->groups, near = goal / xw_image_group_bits(f->ses.img);
	const uint64_t first = f->facts.owners.searched ? f->facts.owners.searched : near + 1;

	if (find_in_group(f, near, goal, bits, out))
		return true;
	for (uint64_t i = 0; i < groups; i++) {
		const uint64_t g = (first + i) % groups;

		if (!find_in_group(f, g, 0, bits, out))
			continue;
		f->facts.owners.searched = g;
		return true;
	}
	return false;
}

int fsck_claim_free(struct fsck *f, enum fsck_owner owner, xw_blk goal, xw_blk *blk)
{
	const unsigned shift = xw_image_cluster_bits(f->ses.img);
	const uint64_t at = xw_image_has_blocks(f->ses.img, goal, 1) ? fsck_cluster(f, goal) : 0;
	auto_free uint8_t *bits = malloc(f->ses.img->block_size);
	uint64_t n = 0;

	if (!bits)
		return xw_fail_nomem(&f->ses.diag, "the blocks in use");
	if (!find_free(f, at, bits, &n) && !find_free(f, at, NULL, &n))
		return XW_ERR_NOSPC;
	*blk = f->ses.img->sb.first_data_block + (n << shift);
	return fsck_claim(f, owner, *blk, 1, NULL);
}
