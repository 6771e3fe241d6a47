// SPDX-License-Identifier: MIT
/*
 * Backup superblocks: at the standard places of every block size. If the primary is lost and no
 * backup is found there, the whole device is searched for one.
 */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "open/open.h"
#include "read/copies.h"

enum { CHUNK = 1 << 20, MAGIC_AT = 56 };
#define SCAN_MAX (UINT64_C(64) << 30) /* bytes of the device that are searched */

/*
 * Is a copy at byte `at` where its geometry has the start of a group? The number of that group,
 * which nothing else needs, may be wrong in the copy; revision 0 does not store it.
 */
static bool is_in_place(struct fsck_copy *c)
{
	struct xw_super *sb = &c->sb;
	const uint32_t bs = xw_super_block_size(sb);
	const uint64_t blk = c->at / bs - sb->first_data_block, group = blk / sb->blocks_per_group;

	if (c->at % bs || c->at / bs < sb->first_data_block || blk % sb->blocks_per_group ||
	    !group || group > UINT16_MAX)
		return false;
	c->numbered = sb->block_group_nr == group || (!sb->block_group_nr && !sb->rev_level);
	sb->block_group_nr = (uint16_t)group;
	return c->numbered || group < xw_super_groups(sb);
}

/* Is there a valid copy at byte `at`, in a place that its own geometry gives it? */
static bool load_copy(struct xw_dev *dev, uint64_t at, struct fsck_copy *c)
{
	c->at = at;
	if (at > dev->size || dev->size - at < sizeof(c->raw) || at == XW_SUPER_OFFSET ||
	    xw_dev_pread(dev, c->raw, sizeof(c->raw), at) || xw_super_verify(c->raw))
		return false;
	(void)xw_super_decode(c->raw, &c->sb);
	c->sb.first_data_block = fsck_first_block(&c->sb); /* the only possible one */
	return fsck_super_usable(&c->sb) && is_in_place(c);
}

static void add_copy(struct fsck_copies *all, const struct fsck_copy *c)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].at == c->at)
			return;
	if (all->n < FSCK_COPIES_MAX)
		all->v[all->n++] = *c;
}

static void examine(struct xw_dev *dev, uint64_t at, struct fsck_copies *all)
{
	struct fsck_copy c;

	if (load_copy(dev, at, &c))
		add_copy(all, &c);
}

static void examine_groups(struct xw_dev *dev, uint64_t first, uint64_t per_group, uint32_t bs,
			   struct fsck_copies *all)
{
	static const uint8_t groups[] = {1, 3, 5, 7, 9, 25, 27, 49, 81, 125};

	for (size_t i = 0; i < XW_ARRAY_SIZE(groups); i++)
		examine(dev, (first + groups[i] * per_group) * bs, all);
}

void fsck_copies_usual(struct xw_dev *dev, const struct xw_super *sb, struct fsck_copies *all)
{
	auto_quiet quiet = fsck_quiet(&dev->diag); /* an unreadable block is no copy */

	if (sb && sb->feature_compat & XW_COMPAT_SPARSE_SUPER2) {
		for (int i = 0; i < 2; i++) {
			const uint64_t group = sb->backup_bgs[i];
			const xw_blk blk = sb->first_data_block + group * sb->blocks_per_group;

			if (group && group < xw_super_groups(sb))
				examine(dev, blk * xw_super_block_size(sb), all);
		}
	} else if (sb) {
		examine_groups(dev, sb->first_data_block, sb->blocks_per_group,
			       xw_super_block_size(sb), all);
	}
	for (uint32_t bs = 1024; !sb && bs <= 65536; bs *= 2)
		examine_groups(dev, bs == 1024, UINT64_C(8) * bs, bs, all);
}

void fsck_copies_search(struct xw_dev *dev, uint64_t end, struct fsck_copies *all)
{
	auto_quiet quiet = fsck_quiet(&dev->diag);
	auto_free uint8_t *buf = malloc(CHUNK);

	end = XW_MIN(end, XW_MIN(dev->size, SCAN_MAX));
	for (uint64_t at = 0; buf && at < end && all->n < FSCK_COPIES_MAX; at += CHUNK) {
		const size_t len = (size_t)XW_MIN((uint64_t)CHUNK, end - at);

		if (xw_dev_pread(dev, buf, len, at))
			continue;
		for (size_t i = 0; i + XW_SUPER_SIZE <= len; i += 1024)
			if (buf[i + MAGIC_AT] == 0x53 && buf[i + MAGIC_AT + 1] == 0xEF)
				examine(dev, at + i, all);
	}
}

int fsck_copies_named(struct fsck *f, struct fsck_copies *all)
{
	const uint64_t block = f->opts.backup;
	uint32_t bs = f->opts.block_size ? f->opts.block_size : 1024;
	const uint32_t last = f->opts.block_size ? f->opts.block_size : 65536;
	auto_quiet quiet = fsck_quiet(&f->ses.dev->diag);
	struct fsck_copy c = {.numbered = true};
	bool found = false;

	for (; bs <= last && !found; bs *= 2) {
		c.at = block * bs;
		found = c.at <= f->ses.dev->size && f->ses.dev->size - c.at >= sizeof(c.raw) &&
			!xw_dev_pread(f->ses.dev, c.raw, sizeof(c.raw), c.at) &&
			!xw_super_decode(c.raw, &c.sb) && xw_super_block_size(&c.sb) == bs &&
			fsck_super_usable(&c.sb);
	}
	if (!found)
		return xw_fail(&f->ses.diag, XW_ERR_INPUT, "%s: no valid superblock in block %llu",
			       f->opts.image, (unsigned long long)block);
	add_copy(all, &c);
	return 0;
}
