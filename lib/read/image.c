/* SPDX-License-Identifier: MIT */
/*
 * Opening an image; reading its metadata blocks, group descriptors and inodes.
 *
 * Metadata is read through a direct-mapped cache of whole blocks, which is bounded for any image,
 * needs no eviction policy, and is effective for neighbors (inodes of a table block, descriptors of
 * a block) that are requested one by one.
 */
#include "read/image.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "plan/features.h"
#include "read/copies.h"

#define CACHE_BYTES (2u << 20)
#define CACHE_MIN_SLOTS 32u
#define NO_BLOCK UINT64_MAX
#define FLEX_LOG_MAX 16u /* larger values do not occur in practice */

#define INCOMPAT_KNOWN                                                                             \
	(XW_INCOMPAT_FILETYPE | XW_INCOMPAT_RECOVER | XW_INCOMPAT_META_BG | XW_INCOMPAT_EXTENTS |  \
	 XW_INCOMPAT_64BIT | XW_INCOMPAT_MMP | XW_INCOMPAT_FLEX_BG | XW_INCOMPAT_EA_INODE |        \
	 XW_INCOMPAT_CSUM_SEED | XW_INCOMPAT_LARGEDIR | XW_INCOMPAT_INLINE_DATA |                  \
	 XW_INCOMPAT_ENCRYPT | XW_INCOMPAT_CASEFOLD)

struct xw_meta_cache {
	unsigned slots;
	struct {
		xw_blk blk;
		uint8_t *data; /* allocated on first use */
	} slot[];
};

/* A slot per 16 blocks is sufficient for a small filesystem: less than that is metadata. */
static struct xw_meta_cache *cache_new(uint32_t block_size, uint64_t blocks)
{
	const uint64_t most = CACHE_BYTES / block_size;
	const unsigned slots = (unsigned)XW_MAX(XW_MIN(most, blocks / 16), CACHE_MIN_SLOTS);
	struct xw_meta_cache *c = calloc(1, sizeof(*c) + slots * sizeof(c->slot[0]));

	if (!c)
		return NULL;
	c->slots = slots;
	for (unsigned i = 0; i < slots; i++)
		c->slot[i].blk = NO_BLOCK;
	return c;
}

static void cache_free(struct xw_meta_cache *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < c->slots; i++)
		free(c->slot[i].data);
	free(c);
}

void xw_image_drop_cache(struct xw_image *img)
{
	for (unsigned i = 0; i < img->cache->slots; i++)
		img->cache->slot[i].blk = NO_BLOCK;
}

int xw_image_meta(struct xw_image *img, xw_blk blk, uint32_t off, void *buf, size_t len)
{
	struct xw_meta_cache *c = img->cache;
	unsigned i = (unsigned)(blk % c->slots);
	int rc;

	if (blk >= img->sb.blocks_count)
		return xw_fail(img->diag, XW_ERR_CORRUPT,
			       "%s: block %" PRIu64 " is beyond the filesystem's end",
			       img->dev->name, blk);
	if (off > img->block_size || len > img->block_size - off)
		return xw_fail(img->diag, XW_ERR_INTERNAL, "%s: read across block %" PRIu64,
			       img->dev->name, blk);
	if (c->slot[i].blk != blk) {
		if (!c->slot[i].data)
			c->slot[i].data = malloc(img->block_size);
		if (!c->slot[i].data)
			return xw_fail_nomem(img->diag, "metadata cache");
		c->slot[i].blk = NO_BLOCK;
		rc = xw_dev_pread(img->dev, c->slot[i].data, img->block_size,
				  blk * img->block_size);
		if (rc)
			return xw_fail(img->diag, rc, "%s: cannot read block %" PRIu64,
				       img->dev->name, blk);
		c->slot[i].blk = blk;
	}
	memcpy(buf, c->slot[i].data + off, len);
	return 0;
}

static int check_features(struct xw_image *img)
{
	uint32_t unknown = img->sb.feature_incompat & ~INCOMPAT_KNOWN;

	if (img->sb.feature_incompat & XW_INCOMPAT_JOURNAL_DEV)
		return xw_fail(img->diag, XW_ERR_UNSUPPORTED,
			       "%s: this is an external journal, not a filesystem", img->dev->name);
	if (unknown & XW_INCOMPAT_PENDING && !(img->flags & XW_IMAGE_ANY_FEATURES))
		return xw_fail(img->diag, XW_ERR_UNSUPPORTED,
			       "%s: a change was interrupted, and the redo record or file that "
			       "completes it is not found; if it is lost: xw-tune -f -E "
			       "clear_pending, then xw-fsck -f",
			       img->dev->name);
	if (unknown && !(img->flags & XW_IMAGE_ANY_FEATURES))
		return xw_features_refuse(img->dev->name,
					  &(struct xw_features){.w[XW_FW_INCOMPAT] = unknown},
					  img->diag);
	return 0;
}

static int load_super(struct xw_image *img)
{
	uint8_t buf[XW_SUPER_SIZE];
	int rc;

	if (img->dev->size < XW_SUPER_OFFSET + XW_SUPER_SIZE)
		return xw_fail(img->diag, XW_ERR_INPUT,
			       "%s: too small to hold an ext2, ext3 or ext4 filesystem",
			       img->dev->name);
	rc = xw_dev_pread(img->dev, buf, sizeof(buf), XW_SUPER_OFFSET);
	if (rc)
		return xw_fail(img->diag, rc, "%s: cannot read the superblock", img->dev->name);
	rc = xw_super_decode(buf, &img->sb);
	if (rc == XW_ERR_INPUT)
		return xw_fail(img->diag, rc, "%s: not an ext2, ext3 or ext4 filesystem%s",
			       img->dev->name, xw_super_copy_hint(img->dev).s);
	if (rc)
		return xw_fail(img->diag, rc, "%s: superblock: %s%s", img->dev->name,
			       xw_err_text(rc), xw_super_copy_hint(img->dev).s);
	if (!(img->flags & XW_IMAGE_NOCSUM) && xw_super_verify(buf))
		return xw_fail(img->diag, XW_ERR_CHECKSUM, "%s: superblock: checksum mismatch%s",
			       img->dev->name, xw_super_copy_hint(img->dev).s);
	return check_features(img);
}

int xw_image_fits(const struct xw_dev *dev, const struct xw_super *sb, struct xw_diag *diag)
{
	const uint32_t bs = xw_super_block_size(sb);

	if (sb->blocks_count <= dev->size / bs)
		return 0;
	return xw_fail(diag, XW_ERR_TRUNCATED,
		       "%s: the filesystem has %" PRIu64 " blocks of %" PRIu32 " bytes, the %s "
		       "holds %" PRIu64 "; if the file was cut, get the whole file%s, else run "
		       "xw-fsck -f",
		       dev->name, sb->blocks_count, bs,
		       dev->fixed ? "partition or device" : "image", dev->size / bs,
		       dev->fixed ? " or enlarge the partition" : "");
}

/* Checks of the superblock beyond those of xw_super_decode(). */
static int check_geometry(struct xw_image *img)
{
	const struct xw_super *sb = &img->sb;
	int rc;

	if (sb->blocks_count > XW_BLK_MAX || sb->first_data_block >= sb->blocks_count)
		return xw_fail(img->diag, XW_ERR_CORRUPT,
			       "%s: superblock: impossible size of %" PRIu64 " blocks",
			       img->dev->name, sb->blocks_count);
	img->block_size = xw_super_block_size(sb);
	rc = img->flags & XW_IMAGE_SHORT ? 0 : xw_image_fits(img->dev, sb, img->diag);
	if (rc)
		return rc;
	img->inode_size = sb->inode_size;
	img->desc_size = xw_super_desc_size(sb);
	img->csum_seed = xw_super_csum_seed(sb);
	img->groups = xw_super_groups(sb);
	img->itable_blocks = (uint32_t)xw_div_up((uint64_t)sb->inodes_per_group * img->inode_size,
						 img->block_size);
	if (img->desc_size > img->block_size || img->inode_size > img->block_size)
		return xw_fail(img->diag, XW_ERR_CORRUPT,
			       "%s: superblock: inode or descriptor size exceeds the block size",
			       img->dev->name);
	return 0;
}

int xw_image_open(struct xw_dev *dev, unsigned flags, struct xw_diag *diag, struct xw_image **out)
{
	auto_free struct xw_image *img = calloc(1, sizeof(*img));
	int rc;

	if (!img)
		return xw_fail_nomem(diag, "image");
	img->dev = dev;
	img->diag = diag;
	img->flags = flags;
	rc = load_super(img);
	if (!rc)
		rc = check_geometry(img);
	if (rc)
		return rc;
	img->cache = cache_new(img->block_size, img->sb.blocks_count);
	if (!img->cache)
		return xw_fail_nomem(diag, "metadata cache");
	if (img->sb.feature_incompat & XW_INCOMPAT_RECOVER)
		xw_log(diag, XW_LOG_WARN,
		       "%s: the journal needs recovery; reading the state before it", dev->name);
	*out = steal(img);
	return 0;
}

void xw_image_close(struct xw_image *img)
{
	if (!img)
		return;
	cache_free(img->cache);
	free(img);
}

uint64_t xw_image_blocks_here(const struct xw_image *img)
{
	return XW_MIN(img->sb.blocks_count, img->dev->size / img->block_size);
}

uint64_t xw_image_groups_here(const struct xw_image *img)
{
	const struct xw_super *sb = &img->sb;
	const uint64_t blocks = xw_image_blocks_here(img);
	uint64_t n = 0;

	if (blocks > sb->first_data_block)
		n = xw_div_up(blocks - sb->first_data_block, sb->blocks_per_group);
	if (sb->feature_incompat & XW_INCOMPAT_FLEX_BG)
		n = xw_round_up(n, UINT64_C(1) << XW_MIN(sb->log_groups_per_flex, FLEX_LOG_MAX));
	return XW_MIN(n, img->groups);
}

static bool is_power_of(uint64_t n, unsigned base)
{
	uint64_t p = base;

	while (p < n)
		p *= base;
	return p == n;
}

bool xw_image_has_super(const struct xw_image *img, uint64_t group)
{
	if (group == 0)
		return true;
	if (img->sb.feature_compat & XW_COMPAT_SPARSE_SUPER2)
		return group == img->sb.backup_bgs[0] || group == img->sb.backup_bgs[1];
	if (!(img->sb.feature_ro_compat & XW_RO_SPARSE_SUPER))
		return true;
	return group == 1 || is_power_of(group, 3) || is_power_of(group, 5) ||
	       is_power_of(group, 7);
}

xw_blk xw_image_desc_block(const struct xw_image *img, uint64_t group)
{
	const uint64_t per_block = img->block_size / img->desc_size;
	const uint64_t meta_group = group / per_block;
	const xw_blk super = XW_SUPER_OFFSET / img->block_size;
	uint64_t first;
	xw_blk blk;

	if (!(img->sb.feature_incompat & XW_INCOMPAT_META_BG) || meta_group < img->sb.first_meta_bg)
		return super + 1 + meta_group;
	first = meta_group * per_block;
	blk = img->sb.first_data_block + first * img->sb.blocks_per_group;
	if (xw_image_has_super(img, first))
		blk++;
	/* bigalloc with 1 KiB blocks: group 0 starts at block 0, its superblock is in block 1 */
	if (first == 0 && super > img->sb.first_data_block)
		blk++;
	return blk;
}

void xw_image_group_head(const struct xw_image *img, uint64_t group, struct xw_group_head *out)
{
	const struct xw_super *sb = &img->sb;
	const uint64_t per_block = img->block_size / img->desc_size;
	const bool meta_bg = sb->feature_incompat & XW_INCOMPAT_META_BG;
	const uint64_t in = group % per_block;

	*out = (struct xw_group_head){
		.boot = !group && XW_SUPER_OFFSET / img->block_size > sb->first_data_block,
		.has_super = xw_image_has_super(img, group),
		.meta_bg = meta_bg && group / per_block >= sb->first_meta_bg,
	};
	out->super = sb->first_data_block + group * sb->blocks_per_group + out->boot;
	if (out->meta_bg) {
		out->desc_len = in == 0 || in == 1 || in == per_block - 1;
	} else if (out->has_super) {
		out->desc_len = meta_bg ? sb->first_meta_bg : xw_div_up(img->groups, per_block);
		out->reserved_len = sb->reserved_gdt_blocks;
	}
}

int xw_image_group(struct xw_image *img, uint64_t group, struct xw_group_desc *out)
{
	uint8_t buf[XW_DESC_SIZE_MAX];
	const uint64_t per_block = img->block_size / img->desc_size;
	int rc;

	if (group >= img->groups || group > UINT32_MAX || img->desc_size > sizeof(buf))
		return xw_fail(img->diag, XW_ERR_CORRUPT, "%s: there is no group %" PRIu64,
			       img->dev->name, group);
	rc = xw_image_meta(img, xw_image_desc_block(img, group),
			   (uint32_t)(group % per_block) * img->desc_size, buf, img->desc_size);
	if (rc)
		return rc;
	xw_group_decode(buf, img->desc_size, out);
	if (!(img->flags & XW_IMAGE_NOCSUM) &&
	    xw_group_verify(buf, &img->sb, img->csum_seed, (uint32_t)group))
		return xw_fail(img->diag, XW_ERR_CHECKSUM,
			       "%s: descriptor of group %" PRIu64 ": checksum mismatch",
			       img->dev->name, group);
	return 0;
}

/* Read the record of ino from its table. */
static int read_record(struct xw_image *img, xw_ino ino, uint8_t *raw)
{
	const uint64_t group = (ino - 1) / img->sb.inodes_per_group;
	const uint64_t off = (uint64_t)((ino - 1) % img->sb.inodes_per_group) * img->inode_size;
	struct xw_group_desc gd;
	int rc = xw_image_group(img, group, &gd);

	if (rc)
		return rc;
	if (!xw_image_has_blocks(img, gd.inode_table, img->itable_blocks))
		return xw_fail(img->diag, XW_ERR_CORRUPT,
			       "%s: group %" PRIu64 ": inode table at block %" PRIu64
			       " is outside the filesystem",
			       img->dev->name, group, gd.inode_table);
	return xw_image_meta(img, gd.inode_table + off / img->block_size,
			     (uint32_t)(off % img->block_size), raw, img->inode_size);
}

int xw_image_inode(struct xw_image *img, xw_ino ino, struct xw_inode *out, uint8_t *raw)
{
	auto_free uint8_t *own = NULL;
	bool pending = false;
	int rc = 0;

	memset(out, 0, sizeof(*out));
	if (!ino || ino > img->sb.inodes_count)
		return xw_fail(img->diag, XW_ERR_CORRUPT, "%s: there is no inode %" PRIu32,
			       img->dev->name, ino);
	if (!raw)
		raw = own = malloc(img->inode_size);
	if (!raw)
		return xw_fail_nomem(img->diag, "inode");
	if (img->pending.record)
		rc = img->pending.record(img->pending.arg, ino, raw, &pending);
	if (!rc && !pending)
		rc = read_record(img, ino, raw);
	if (rc)
		return rc;
	rc = xw_inode_decode(raw, &img->sb, out);
	if (rc)
		return xw_fail(img->diag, rc, "%s: inode %" PRIu32 ": cannot be decoded",
			       img->dev->name, ino);
	if (!pending && !(img->flags & XW_IMAGE_NOCSUM) &&
	    xw_inode_verify(raw, &img->sb, img->csum_seed, ino))
		return xw_fail(img->diag, XW_ERR_CHECKSUM,
			       "%s: inode %" PRIu32 ": checksum mismatch", img->dev->name, ino);
	return 0;
}

uint32_t xw_image_inode_seed(const struct xw_image *img, xw_ino ino, const struct xw_inode *inode)
{
	return xw_inode_seed(img->csum_seed, ino, inode->generation);
}
