// SPDX-License-Identifier: MIT
/*
 * The last steps of a build: final geometry, sweep, descriptors, superblock.
 *
 * The order of writes is essential. Everything but the first 1,024 bytes of the filesystem is
 * written and flushed before the primary superblock: an interrupted build leaves no filesystem
 * rather than a partial one.
 */
#include "config.h"

#include "fill/builder.h"

#include "base/auto.h"
#include "plan/bad.h"

#include <stdlib.h>
#include <string.h>

/* Descriptors are encoded once and written to all copies, this many bytes at a time. */
#define DESC_CHUNK (1u << 20)

/* ---- close ---- */

int xw_build_close(struct xw_builder *b)
{
	int rc = b->geo.kind == XW_GEO_STREAM ? xw_tail_plan(b) : 0;

	if (rc)
		return rc;
	rc = xw_ispace_new(b->geo.groups, b->geo.inodes_per_group, NULL, NULL, &b->inodes);
	if (rc)
		return xw_fail_nomem(b->place.enc.diag, "inode bitmaps");
	for (xw_ino i = 1; i <= b->place.last_ino && !rc; i++) {
		if (i >= XW_INO_FIRST && !b->place.by_ino[i])
			continue; /* an orphan file that was not created */
		rc = xw_ispace_claim(b->inodes, i,
				     b->place.by_ino[i] &&
					     xw_binode_is(b->place.by_ino[i], XW_S_IFDIR));
	}
	if (rc == XW_ERR_NOMEM)
		return xw_fail_nomem(b->place.enc.diag, "inode bitmaps");
	if (rc)
		return xw_fail(b->place.enc.diag, rc, "inode numbers do not fit the geometry");
	return 0;
}

/* ---- sweep ---- */

static int write_item(struct xw_builder *b, const struct xw_item *it)
{
	switch (it->kind) {
	case XW_ITEM_BLOCK_BITMAP:
	case XW_ITEM_INODE_BITMAP:
		return xw_groups_bitmap(b, (uint32_t)it->ref, it->kind == XW_ITEM_INODE_BITMAP);
	case XW_ITEM_ITABLE:
		return xw_itable_write(b, (uint32_t)it->ref);
	case XW_ITEM_JOURNAL:
		return xw_journal_write(
			&b->place, &b->journal,
			(uint32_t)xw_geo_fast_commit_blocks(&b->geo, b->params, b->geo.blocks),
			!xw_build_on_zeros(b) && b->params->lazy_journal_init != 1);
	case XW_ITEM_QUOTA:
		return xw_quota_write(&b->place, (enum xw_quota_type)it->ref,
				      &b->hidden.quota[it->ref]);
	case XW_ITEM_ORPHAN:
		return xw_orphan_write(&b->place, &b->hidden.orphan);
	case XW_ITEM_MMP:
		return xw_mmp_write(&b->place, b->hidden.mmp_block, b->params->mmp_interval);
	default:
		return xw_place_write_item(&b->place, it);
	}
}

int xw_build_sweep(struct xw_builder *b)
{
	int rc = xw_special_items(b);

	if (!rc)
		rc = xw_groups_items(b);
	if (rc)
		return rc;
	xw_place_sort(&b->place);
	for (size_t i = 0; i < b->place.items.n && !rc; i++)
		rc = write_item(b, &b->place.items.v[i]);
	return rc;
}

/* ---- finish ---- */

static void encode_super(struct xw_builder *b, uint32_t group, uint8_t *buf)
{
	struct xw_super sb = b->place.enc.sb;

	sb.block_group_nr = (uint16_t)group;
	xw_super_encode(&sb, buf);
}

/* Write a superblock copy and the descriptors after it, if any, in one request. */
static int write_head(struct xw_builder *b, uint32_t group, const uint8_t *desc, size_t bytes)
{
	uint32_t bs = b->geo.block_size;
	struct xw_group_place p;
	auto_free uint8_t *buf = NULL;
	int rc;

	xw_geo_group(&b->geo, group, &p);
	if (group && xw_geo_bad_in(&b->geo, p.start, p.head))
		return 0; /* no backup in this group */
	if (!p.has_super)
		return bytes ? xw_place_write(&b->place, p.start, desc, bytes) : 0;
	if (!group) /* the primary superblock is written last */
		return xw_place_write(&b->place, xw_geo_super_at(&b->geo, 0) + 1, desc, bytes);
	buf = calloc(1, bs);
	if (!buf)
		return xw_fail_nomem(b->place.enc.diag, "superblock");
	encode_super(b, group, buf);
	rc = xw_place_write(&b->place, p.start, buf, bs);
	return rc || !bytes ? rc : xw_place_write(&b->place, p.start + 1, desc, bytes);
}

/* Descriptors of groups from `first` on, `blocks` blocks. */
static void encode_descriptors(struct xw_builder *b, uint64_t first, uint32_t blocks, uint8_t *buf)
{
	uint64_t last = XW_MIN(first + (uint64_t)blocks * b->geo.desc_per_block, b->geo.groups);

	memset(buf, 0, (size_t)blocks * b->geo.block_size);
	for (uint64_t g = first; g < last; g++) {
		struct xw_group_desc gd;

		xw_groups_describe(b, (uint32_t)g, &gd);
		xw_group_encode(&gd, &b->place.enc.sb, b->place.enc.csum_seed, (uint32_t)g,
				buf + (g - first) * b->geo.desc_size);
	}
}

/*
 * Write descriptor blocks [from, from + n) to every copy; the superblock of a backup precedes its
 * first block.
 */
static int write_copies(struct xw_builder *b, uint32_t from, const uint8_t *buf, size_t bytes)
{
	int rc = 0;

	for (uint32_t g = 0; g < b->geo.groups && !rc; g = xw_geo_next_super(&b->geo, g + 1)) {
		struct xw_group_place p;

		xw_geo_group(&b->geo, g, &p);
		if (from && g && xw_geo_bad_in(&b->geo, p.start, p.head))
			continue;
		rc = from ? xw_place_write(&b->place, xw_geo_super_at(&b->geo, g) + 1 + from, buf,
					   bytes)
			  : write_head(b, g, buf, bytes);
		if (!rc && !g && b->resize_dind &&
		    from + bytes / b->geo.block_size == b->geo.desc_blocks)
			rc = xw_resize_write(b);
	}
	return rc;
}

static int write_descriptors(struct xw_builder *b)
{
	uint32_t bs = b->geo.block_size;
	uint32_t step = XW_MIN(b->geo.desc_blocks, DESC_CHUNK / bs);
	auto_free uint8_t *buf = malloc((size_t)step * bs);
	int rc = 0;

	if (!buf)
		return xw_fail_nomem(b->place.enc.diag, "group descriptors");
	for (uint32_t from = 0; from < b->geo.desc_blocks && !rc; from += step) {
		uint32_t blocks = XW_MIN(step, b->geo.desc_blocks - from);

		encode_descriptors(b, (uint64_t)from * b->geo.desc_per_block, blocks, buf);
		rc = write_copies(b, from, buf, (size_t)blocks * bs);
	}
	return rc;
}

/* meta_bg: write one block per meta group, to its own groups; superblock copies on the way. */
static int write_meta_descriptors(struct xw_builder *b)
{
	uint32_t per = b->geo.desc_per_block;
	auto_free uint8_t *buf = malloc(b->geo.block_size);
	uint32_t encoded = UINT32_MAX;
	int rc = 0;

	if (!buf)
		return xw_fail_nomem(b->place.enc.diag, "group descriptors");
	for (uint32_t g = 0; g < b->geo.groups && !rc; g = xw_geo_next_head(&b->geo, g + 1)) {
		bool desc = xw_geo_has_desc(&b->geo, g);

		if (desc && encoded != g / per) {
			encoded = g / per;
			encode_descriptors(b, (uint64_t)encoded * per, 1, buf);
		}
		rc = write_head(b, g, buf, desc ? b->geo.block_size : 0);
	}
	return rc;
}

static void final_super(struct xw_builder *b)
{
	struct xw_batch_stats st;
	struct xw_inode in;

	xw_batch_stats(b->place.out->batch, &st);
	b->place.enc.sb.free_blocks_count = xw_space_free_blocks(b->place.space);
	b->place.enc.sb.free_inodes_count = (uint32_t)xw_ispace_free_count(b->inodes);
	b->place.enc.sb.kbytes_written = st.bytes >> 10;
	b->place.enc.sb.state = XW_STATE_VALID | (b->supers_only ? XW_STATE_ERROR : 0);
	xw_hidden_super(b);
	if (b->journal.n_ext && !xw_itable_encode(&b->place.enc, &b->journal, &in))
		xw_encode_journal_ref(&b->place.enc.sb, &in);
}

int xw_build_finish(struct xw_builder *b)
{
	uint64_t bytes = b->geo.blocks * b->geo.block_size;
	uint8_t super[XW_SUPER_SIZE];
	int rc;

	/*
	 * Drained first: the superblock contains the number of bytes written, which must not depend
	 * on timing.
	 */
	rc = xw_batch_drain(b->place.out->batch);
	if (rc)
		return rc;
	final_super(b);
	rc = xw_has_incompat(&b->geo.features, XW_INCOMPAT_META_BG) ? write_meta_descriptors(b)
								    : write_descriptors(b);
	if (!rc)
		rc = xw_batch_drain(b->place.out->batch);
	/* Never truncated: after a filesystem inside a disk image there may be other data. */
	if (!rc && !b->dev->is_block && b->dev->size < bytes)
		rc = xw_dev_set_size(b->dev, bytes);
	if (!rc)
		rc = xw_dev_flush(b->dev);
	if (rc)
		return rc;
	encode_super(b, 0, super);
	rc = xw_dev_pwrite(b->dev, super, sizeof(super), XW_SUPER_OFFSET);
	return rc ? rc : xw_dev_flush(b->dev);
}

int xw_build_supers(struct xw_builder *b)
{
	b->supers_only = true;
	b->block_csum = calloc(b->geo.groups, sizeof(*b->block_csum));
	b->inode_csum = calloc(b->geo.groups, sizeof(*b->inode_csum));
	b->place.last_ino = XW_INO_FIRST + xw_hidden_count(b);
	b->place.by_ino = calloc(b->place.last_ino + 1, sizeof(*b->place.by_ino));
	if (!b->block_csum || !b->inode_csum || !b->place.by_ino ||
	    xw_ispace_new(b->geo.groups, b->geo.inodes_per_group, NULL, NULL, &b->inodes))
		return xw_fail_nomem(b->place.enc.diag, "group descriptors");
	(void)xw_hidden_number(b, XW_INO_FIRST); /* the superblock refers to the hidden inodes */
	return xw_build_finish(b);
}
