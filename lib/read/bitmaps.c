/* SPDX-License-Identifier: MIT */
/*
 * Block and inode bitmaps. All checks that are possible without reading inodes are made, since a
 * block wrongly marked free could be allocated and overwritten.
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/popcount.h"
#include "read/bitmaps.h"
#include "space/bits.h"

static bool bigalloc(const struct xw_image *img)
{
	return img->sb.feature_ro_compat & XW_RO_BIGALLOC;
}

uint32_t xw_image_cluster_bits(const struct xw_image *img)
{
	/* without bigalloc the field is ignored */
	return bigalloc(img) ? img->sb.log_cluster_size - img->sb.log_block_size : 0;
}

uint32_t xw_image_group_bits(const struct xw_image *img)
{
	return bigalloc(img) ? img->sb.clusters_per_group : img->sb.blocks_per_group;
}

bool xw_image_block_uninit(const struct xw_image *img, const struct xw_group_desc *gd)
{
	return xw_super_has_group_csum(&img->sb) && gd->flags & XW_BG_BLOCK_UNINIT;
}

bool xw_image_inode_uninit(const struct xw_image *img, const struct xw_group_desc *gd)
{
	return xw_super_has_group_csum(&img->sb) && gd->flags & XW_BG_INODE_UNINIT;
}

static int fail(struct xw_image *img, int code, uint64_t group, const char *which, const char *what)
{
	return xw_fail(img->diag, code, "%s: group %" PRIu64 ": %s bitmap: %s", img->dev->name,
		       group, which, what);
}

static bool get_bit(const uint8_t *bits, uint64_t i)
{
	return bits[i / 8] >> (i % 8) & 1;
}

static int check_csum(struct xw_image *img, uint64_t group, uint32_t csum, const char *which,
		      const uint8_t *bits, uint32_t bytes)
{
	const struct xw_super *sb = &img->sb;

	if (img->flags & XW_IMAGE_NOCSUM || !(sb->feature_ro_compat & XW_RO_METADATA_CSUM) ||
	    xw_bitmap_csum(sb, img->csum_seed, bits, bytes) == csum)
		return 0;
	return fail(img, XW_ERR_CHECKSUM, group, which, "checksum mismatch");
}

static int read_bits(struct xw_image *img, uint64_t group, xw_blk blk, uint32_t csum,
		     const char *which, uint8_t *bits, uint32_t bytes)
{
	int rc;

	if (!xw_image_has_blocks(img, blk, 1))
		return fail(img, XW_ERR_CORRUPT, group, which, "outside the filesystem");
	rc = xw_image_meta(img, blk, 0, bits, bytes);
	return rc ? rc : check_csum(img, group, csum, which, bits, bytes);
}

/* Set the bits of clusters with metadata (`set`), or test whether all of them are set. */
static bool each_meta(struct xw_image *img, const struct xw_sysmap *m, xw_blk start, uint64_t len,
		      bool set, uint8_t *bits)
{
	const uint32_t ratio = xw_image_cluster_bits(img);
	uint64_t n;

	for (uint64_t at = 0; at < len; at += n) {
		bool meta;

		n = xw_sysmap_at(m, start + at, len - at, &meta);
		if (!meta)
			continue;
		if (set)
			xw_set_bits(bits, at >> ratio, ((at + n - 1) >> ratio) + 1);
		for (uint64_t i = at >> ratio; i <= (at + n - 1) >> ratio; i++)
			if (!get_bit(bits, i))
				return false;
	}
	return true;
}

/* Record the result of a further check; the first failure is kept. */
static void also(int *rc, int next)
{
	if (!*rc)
		*rc = next;
}

/*
 * Check the size of block bitmaps and read the descriptor: 0, a failure, or XW_ERR_CHECKSUM, after
 * which the caller still examines the bitmap.
 */
static int block_group(struct xw_image *img, uint64_t group, struct xw_group_desc *gd)
{
	const uint32_t per_group = xw_image_group_bits(img);

	if (per_group % 8 || per_group / 8 > img->block_size ||
	    (uint64_t)per_group << xw_image_cluster_bits(img) != img->sb.blocks_per_group)
		return fail(img, XW_ERR_CORRUPT, group, "block", "impossible size");
	return xw_image_group(img, group, gd);
}

static xw_blk group_start(const struct xw_image *img, uint64_t group)
{
	return img->sb.first_data_block + group * img->sb.blocks_per_group;
}

static uint64_t group_len(const struct xw_image *img, uint64_t group)
{
	return XW_MIN(img->sb.blocks_per_group, img->sb.blocks_count - group_start(img, group));
}

static int check_free(struct xw_image *img, uint64_t group, uint64_t counted, uint64_t expected,
		      const char *which)
{
	if (counted == expected)
		return 0;
	return fail(img, XW_ERR_CORRUPT, group, which, "free count differs from the descriptor");
}

/* Check the bits of a group, except for their checksum, and set bits past the end. */
static int check_block_bits(struct xw_image *img, const struct xw_sysmap *m, uint64_t group,
			    const struct xw_group_desc *gd, bool uninit, uint8_t *bits)
{
	const uint32_t per_group = xw_image_group_bits(img);
	const uint64_t len = group_len(img, group);
	int rc = 0;

	if (!each_meta(img, m, group_start(img, group), len, uninit, bits))
		rc = fail(img, XW_ERR_CORRUPT, group, "block", "metadata is marked free");
	xw_set_bits(bits, ((len - 1) >> xw_image_cluster_bits(img)) + 1, per_group);
	also(&rc, check_free(img, group, per_group - xw_popcount(bits, per_group / 8),
			     gd->free_blocks, "block"));
	return rc;
}

int xw_image_block_bits_check(struct xw_image *img, const struct xw_sysmap *m, uint64_t group,
			      const struct xw_group_desc *gd, uint8_t *bits)
{
	int rc = check_csum(img, group, gd->block_bitmap_csum, "block", bits,
			    xw_image_group_bits(img) / 8);

	also(&rc, check_block_bits(img, m, group, gd, false, bits));
	return rc;
}

int xw_image_block_bitmap(struct xw_image *img, const struct xw_sysmap *m, uint64_t group,
			  uint8_t *bits)
{
	const uint32_t bytes = xw_image_group_bits(img) / 8;
	struct xw_group_desc gd;
	bool uninit;
	int rc;

	memset(bits, 0xff, XW_MIN(bytes, img->block_size));
	rc = block_group(img, group, &gd);
	if (rc && rc != XW_ERR_CHECKSUM)
		return rc;
	uninit = xw_image_block_uninit(img, &gd);
	if (uninit)
		memset(bits, 0, bytes);
	else
		also(&rc, read_bits(img, group, gd.block_bitmap, gd.block_bitmap_csum, "block",
				    bits, bytes));
	also(&rc, check_block_bits(img, m, group, &gd, uninit, bits));
	return rc;
}

/* Scans skip the last bg_itable_unused inodes, so none of these may be in use. */
static int check_unused(struct xw_image *img, uint64_t group, const struct xw_group_desc *gd,
			const uint8_t *bits)
{
	const uint32_t per_group = img->sb.inodes_per_group;

	if (!xw_super_has_group_csum(&img->sb) || gd->flags & XW_BG_INODE_UNINIT)
		return 0;
	if (gd->itable_unused > per_group)
		return fail(img, XW_ERR_CORRUPT, group, "inode",
			    "the descriptor counts more unused inodes than exist");
	for (uint32_t i = per_group - gd->itable_unused; i < per_group; i++)
		if (get_bit(bits, i))
			return fail(img, XW_ERR_CORRUPT, group, "inode",
				    "an inode in use is among the unused inodes of the descriptor");
	return 0;
}

int xw_image_inode_bitmap(struct xw_image *img, uint64_t group, uint8_t *bits)
{
	const struct xw_super *sb = &img->sb;
	const uint32_t per_group = sb->inodes_per_group, bytes = (per_group + 7) / 8;
	const uint64_t before = group * per_group;
	struct xw_group_desc gd;
	uint64_t valid;
	int rc;

	memset(bits, 0xff, XW_MIN(bytes, img->block_size));
	rc = xw_image_group(img, group, &gd);
	if (rc && rc != XW_ERR_CHECKSUM)
		return rc;
	if (bytes > img->block_size)
		return fail(img, XW_ERR_CORRUPT, group, "inode", "impossible size");
	if (xw_image_inode_uninit(img, &gd))
		memset(bits, 0, bytes);
	else
		also(&rc, read_bits(img, group, gd.inode_bitmap, gd.inode_bitmap_csum, "inode",
				    bits, bytes));
	also(&rc, check_unused(img, group, &gd, bits));
	valid = before < sb->inodes_count ? XW_MIN(per_group, sb->inodes_count - before) : 0;
	xw_set_bits(bits, valid, (uint64_t)bytes * 8);
	also(&rc, check_free(img, group, (uint64_t)bytes * 8 - xw_popcount(bits, bytes),
			     gd.free_inodes, "inode"));
	return rc;
}

/* ---- free runs ---- */

struct runs {
	xw_free_run_fn *fn;
	void *arg;
	uint64_t free; /* free clusters found so far */
	uint32_t at, len; /* the run to be reported */
};

static int put_run(struct runs *r)
{
	const uint32_t len = r->len;

	r->len = 0;
	r->free += len;
	return len ? r->fn(r->arg, r->at, len) : 0;
}

/* In an UNINIT group every cluster without metadata is free. */
static int runs_between_meta(struct xw_image *img, const struct xw_sysmap *m, uint64_t group,
			     struct runs *r)
{
	const uint32_t ratio = xw_image_cluster_bits(img);
	const xw_blk start = group_start(img, group);
	const uint64_t len = group_len(img, group), end = ((len - 1) >> ratio) + 1;
	uint64_t from = 0, n; /* from: end of the last cluster with metadata */
	int rc = 0;

	for (uint64_t at = 0; at < len && !rc; at += n) {
		bool meta;
		uint64_t to;

		n = xw_sysmap_at(m, start + at, len - at, &meta);
		to = at + n == len ? end : (at + n) >> ratio;
		if (meta) {
			from = ((at + n - 1) >> ratio) + 1;
		} else if (to > from) {
			r->at = (uint32_t)from;
			r->len = (uint32_t)(to - from);
			rc = put_run(r);
		}
	}
	return rc;
}

static int runs_of_bits(uint64_t *words, uint32_t nbits, struct runs *r)
{
	int rc = 0;

	xw_bits_from_le(words, (nbits + 63) / 64);
	for (uint32_t end = 0; end < nbits && !rc;) {
		r->at = xw_bits_next_free(words, end, nbits);
		end = xw_bits_next_used(words, r->at, nbits);
		r->len = end - r->at;
		rc = put_run(r);
	}
	return rc;
}

int xw_image_free_runs(struct xw_image *img, const struct xw_sysmap *m, uint64_t group,
		       void *scratch, xw_free_run_fn *fn, void *arg)
{
	struct runs r = {.fn = fn, .arg = arg};
	struct xw_group_desc gd;
	int rc = block_group(img, group, &gd), stop;

	if (rc && rc != XW_ERR_CHECKSUM)
		return rc;
	if (!xw_image_block_uninit(img, &gd)) {
		rc = xw_image_block_bitmap(img, m, group, scratch);
		stop = runs_of_bits(scratch, xw_image_group_bits(img), &r);
	} else {
		stop = runs_between_meta(img, m, group, &r);
		if (!stop)
			also(&rc, check_free(img, group, r.free, gd.free_blocks, "block"));
	}
	return stop ? stop : rc;
}
