/* SPDX-License-Identifier: MIT */
/*
 * Prevents a debugger from allocating blocks and inodes that are free only in a damaged bitmap: the
 * groups' own metadata, and inodes whose record has links. They are hidden from the allocator,
 * while the written bitmaps keep their values: an image that was damaged on purpose stays damaged.
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/auto.h"
#include "update/inode.h"
#include "update/update_internal.h"
#include "update/xattrs.h"

int xw_update_check_bitmap(struct xw_update *u, uint32_t group, bool inodes, uint32_t csum,
			   const uint8_t *bits)
{
	const struct xw_super *sb = &u->img->sb;
	const uint32_t n = inodes ? sb->inodes_per_group : xw_image_group_bits(u->img);

	if (!u->protect || u->img->flags & XW_IMAGE_NOCSUM ||
	    !(sb->feature_ro_compat & XW_RO_METADATA_CSUM) ||
	    xw_bitmap_csum(sb, u->img->csum_seed, bits, n / 8) == csum)
		return 0;
	return xw_fail(u->diag, XW_ERR_CHECKSUM,
		       "%s: group %" PRIu32 ": %s bitmap: checksum mismatch; nothing is allocated "
		       "or freed there (-n ignores checksums)",
		       u->img->dev->name, group, inodes ? "inode" : "block");
}

static struct xw_update_exposed *find(struct xw_update *u, bool inode, uint32_t group, uint32_t bit)
{
	for (size_t i = 0; i < u->bias.exposed.n; i++) {
		struct xw_update_exposed *x = &u->bias.exposed.v[i];

		if (x->inode == inode && x->group == group && x->bit == bit)
			return x;
	}
	return NULL;
}

static int add(struct xw_update *u, bool inode, uint32_t group, uint32_t bit)
{
	const struct xw_update_exposed x = {.group = group, .bit = bit, .inode = inode};

	return xw_vec_push(&u->bias.exposed, x) ? xw_fail_nomem(u->diag, "bitmap") : 0;
}

static void drop(struct xw_update *u, struct xw_update_exposed *x)
{
	*x = u->bias.exposed.v[--u->bias.exposed.n];
}

static bool knows_blocks(const struct xw_update *u, uint32_t group)
{
	for (size_t i = 0; i < u->bias.exposed.n; i++)
		if (!u->bias.exposed.v[i].inode && u->bias.exposed.v[i].group == group)
			return true;
	return false;
}

int xw_update_hide_metadata(struct xw_update *u, uint32_t group, xw_blk start, uint64_t len,
			    uint8_t *bits)
{
	const unsigned ratio = xw_image_cluster_bits(u->img);
	const bool known = knows_blocks(u, group);
	uint64_t n;
	int rc = 0;

	for (uint64_t at = 0; u->protect && at < len && !rc; at += n) {
		bool meta;

		n = xw_sysmap_at(u->sysmap, start + at, len - at, &meta);
		for (uint64_t i = at >> ratio; meta && i <= (at + n - 1) >> ratio && !rc; i++) {
			if (bits[i / 8] >> i % 8 & 1)
				continue;
			bits[i / 8] |= (uint8_t)(1u << i % 8);
			if (!known)
				rc = add(u, false, group, (uint32_t)i);
		}
	}
	return rc;
}

void xw_update_expose(const struct xw_update *u, bool inode, uint32_t group, uint8_t *bits)
{
	for (size_t i = 0; i < u->bias.exposed.n; i++) {
		const struct xw_update_exposed *x = &u->bias.exposed.v[i];

		if (x->inode == inode && x->group == group)
			bits[x->bit / 8] &= (uint8_t) ~(1u << x->bit % 8);
	}
}

bool xw_update_is_metadata(const struct xw_update *u, xw_blk blk, uint64_t n, uint64_t *some)
{
	bool meta = false;

	*some = u->protect ? xw_sysmap_at(u->sysmap, blk, n, &meta) : n;
	return meta;
}

/* xw_update_mark_block() for metadata. */
static int mark_metadata(struct xw_update *u, xw_blk blk, bool used)
{
	const struct xw_super *sb = &u->img->sb;
	const uint64_t at = blk - sb->first_data_block;
	const uint32_t group = (uint32_t)(at / sb->blocks_per_group);
	const uint32_t bit = (uint32_t)(at % sb->blocks_per_group) >> xw_image_cluster_bits(u->img);
	struct xw_update_exposed *x;
	/* marks the bitmap to be written */
	int rc = xw_space_release(u->space, blk, 1);

	if (!rc)
		rc = xw_space_claim(u->space, blk, 1);
	if (rc)
		return rc;
	x = find(u, false, group, bit);
	if (used == !x)
		return XW_ERR_EXISTS;
	if (!used)
		return add(u, false, group, bit);
	drop(u, x);
	return 0;
}

/* ---- inodes ---- */

static int has_links(struct xw_update *u, xw_ino ino, bool *live)
{
	const struct xw_super *sb = &u->img->sb;
	const uint32_t group = (ino - 1) / sb->inodes_per_group,
		       at = (ino - 1) % sb->inodes_per_group;
	struct xw_group_desc gd;
	uint8_t rec[XW_INODE_BODY];
	int rc = xw_image_group(u->img, group, &gd);

	*live = false;
	if (rc)
		return rc;
	/* the unwritten end of a table is undefined */
	if (xw_super_has_group_csum(sb) &&
	    (gd.flags & XW_BG_INODE_UNINIT ||
	     at >= sb->inodes_per_group - XW_MIN(gd.itable_unused, sb->inodes_per_group)))
		return 0;
	if (!xw_image_has_blocks(u->img, gd.inode_table, u->img->itable_blocks))
		return 0;
	rc = xw_dev_pread(u->img->dev, rec, sizeof(rec),
			  gd.inode_table * u->img->block_size + (uint64_t)at * u->img->inode_size);
	*live = !rc && xw_inode_raw_links(rec);
	return rc;
}

int xw_update_alloc_inode(struct xw_update *u, xw_ino goal, bool dir, xw_ino *ino)
{
	const uint32_t per = u->img->sb.inodes_per_group;
	bool live = true;
	int rc = 0;

	while (!rc && live) {
		rc = xw_ispace_alloc(u->inodes, goal, dir, ino);
		if (rc || !u->protect)
			return rc;
		rc = has_links(u, *ino, &live);
		if (rc || !live)
			continue;
		rc = xw_ispace_release(u->inodes, *ino, dir);
		if (!rc)
			rc = xw_update_mark_inode(u, *ino, true);
		if (!rc)
			rc = add(u, true, (*ino - 1) / per, (*ino - 1) % per);
	}
	return rc;
}

int xw_update_unhide_inode(struct xw_update *u, xw_ino ino)
{
	const uint32_t per = u->img->sb.inodes_per_group;
	struct xw_update_exposed *x = find(u, true, (ino - 1) / per, (ino - 1) % per);

	if (!x)
		return 0;
	drop(u, x);
	return xw_update_mark_inode(u, ino, false);
}

/*
 * xw_update_mark_block() and xw_update_mark_inode() allocate or free as usual, and record the
 * resulting difference of the counts as if it had existed before.
 */

int xw_update_mark_block(struct xw_update *u, xw_blk blk, bool used)
{
	const struct xw_super *sb = &u->img->sb;
	const uint32_t group = (uint32_t)((blk - sb->first_data_block) / sb->blocks_per_group);
	struct xw_update_bias *b;
	uint64_t some;
	int rc;

	xw_update_share_forget(u);
	if (xw_update_is_metadata(u, blk, 1, &some))
		return mark_metadata(u, blk, used);
	rc = used ? xw_space_claim(u->space, blk, 1) : xw_space_release(u->space, blk, 1);
	if (rc)
		return rc == XW_ERR_CORRUPT ? XW_ERR_EXISTS : rc;
	b = xw_update_bias_entry(u, group);
	if (!b)
		return XW_ERR_NOMEM;
	b->know_blocks = true;
	b->blocks += used ? 1 : -1;
	return 0;
}

int xw_update_mark_inode(struct xw_update *u, xw_ino ino, bool used)
{
	struct xw_update_bias *b;
	int rc = xw_update_unhide_inode(u, ino);

	if (!rc)
		rc = used ? xw_ispace_claim(u->inodes, ino, false)
			  : xw_ispace_release(u->inodes, ino, false);
	if (rc)
		return rc == XW_ERR_CORRUPT ? XW_ERR_EXISTS : rc;
	b = xw_update_bias_entry(u, (ino - 1) / u->img->sb.inodes_per_group);
	if (!b)
		return XW_ERR_NOMEM;
	b->know_inodes = true;
	b->inodes += used ? 1 : -1;
	u->bias.inodes += used ? 1 : -1;
	return 0;
}
