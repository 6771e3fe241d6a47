// SPDX-License-Identifier: MIT
/*
 * The builder's frame: set-up, numbering, placing. Inodes are numbered at the end of the stream,
 * not on arrival, so that replaced entries leave no hole in the inode tables.
 */
#include "config.h"

#include "fill/builder.h"

#include <stdlib.h>
#include <string.h>

int xw_build_init(struct xw_builder *b)
{
	struct xw_encoder *enc = &b->place.enc;
	struct xw_super sb;

	enc->block_size = b->geo.block_size;
	enc->cluster_bits = b->geo.cluster_bits;
	enc->inode_size = b->geo.inode_size;
	enc->features = b->geo.features;
	enc->now = b->params->now;
	enc->name = b->dev->name;
	xw_plan_super(b->params, &b->geo, &sb);
	xw_encoder_set_super(enc, &sb);
	b->journal.mode = XW_S_IFREG | 0600;
	b->journal.mtime = b->journal.atime = b->place.enc.now;
	b->journal.ino = XW_INO_JOURNAL;
	b->journal.links = 1;
	return 0;
}

void xw_build_free(struct xw_builder *b)
{
	xw_placer_free(&b->place);
	free(b->block_csum);
	free(b->inode_csum);
	xw_ispace_free(b->inodes);
	xw_binode_free_map(&b->journal);
	xw_hidden_free(b);
	xw_geo_free(&b->geo);
}

int xw_build_reserve(struct xw_builder *b)
{
	const bool sized = b->geo.kind == XW_GEO_SIZED;
	int rc = xw_bad_reserve(b);

	if (rc)
		return rc;
	if (sized && b->geo.journal_blocks) {
		rc = b->params->journal_at
			     ? xw_journal_alloc_at(b)
			     : xw_place_alloc_node(&b->place, &b->journal, b->geo.journal_blocks);
		b->journal.size = b->geo.journal_blocks * b->geo.block_size;
		if (!rc)
			rc = xw_place_map(&b->place, &b->journal);
		if (rc)
			return rc;
	}
	if (xw_has_compat(&b->geo.features, XW_COMPAT_RESIZE_INODE)) {
		rc = xw_build_alloc_block(b, &b->resize_dind);
		if (rc)
			return rc;
	}
	return sized ? xw_hidden_reserve(b) : 0;
}

static bool numbered_in_order(const struct xw_builder *b, const struct xw_binode *n)
{
	return !(n->flags & XW_BN_DEAD) && n != b->root && n != b->lost_found;
}

static int check_inode_count(struct xw_builder *b, uint64_t count)
{
	uint64_t have = (uint64_t)b->geo.groups * b->geo.inodes_per_group;

	if (count > UINT32_MAX)
		return xw_fail(b->place.enc.diag, XW_ERR_LIMIT,
			       "%s: %llu files exceed the number of inodes of the format",
			       b->dev->name, (unsigned long long)count);
	if (b->geo.kind == XW_GEO_SIZED && count > have)
		return xw_fail(b->place.enc.diag, XW_ERR_NOINODES,
			       "%s: image too small: %llu inodes needed, %llu available (%llu "
			       "short); give -N or -i",
			       b->dev->name, (unsigned long long)count, (unsigned long long)have,
			       (unsigned long long)(count - have));
	return 0;
}

int xw_build_number(struct xw_builder *b)
{
	bool lost_found = !(b->lost_found->flags & XW_BN_DEAD);
	uint64_t count = lost_found ? XW_INO_FIRST : XW_INO_FIRST - 1, first = count;
	int rc = xw_attrs_count_ea(&b->place);

	count += xw_hidden_count(b);
	for (const struct xw_binode *n = b->place.enc.first; n; n = n->next)
		count += numbered_in_order(b, n);
	for (uint32_t i = 0; i < b->place.enc.n_ea && !rc; i++)
		count += b->place.enc.ea[i].refs != 0;
	if (!rc)
		rc = check_inode_count(b, count);
	if (rc)
		return rc;
	b->place.last_ino = (xw_ino)count;
	b->place.by_ino = calloc(count + 1, sizeof(*b->place.by_ino));
	if (!b->place.by_ino)
		return xw_fail_nomem(b->place.enc.diag, "inode list");
	xw_build_set_number(b, b->root, XW_INO_ROOT);
	if (lost_found)
		xw_build_set_number(b, b->lost_found, XW_INO_FIRST);
	if (b->journal.size || b->geo.kind == XW_GEO_STREAM)
		b->place.by_ino[XW_INO_JOURNAL] = &b->journal;
	count = xw_hidden_number(b, (xw_ino)first);
	for (struct xw_binode *n = b->place.enc.first; n; n = n->next) {
		if (numbered_in_order(b, n))
			xw_build_set_number(b, n, (xw_ino)++count);
		b->place.counts.xattr_in_inode +=
			!(n->flags & XW_BN_DEAD) && n->xattrs && n->xattrs->ibody_len;
	}
	for (uint32_t i = 0; i < b->place.enc.n_ea; i++) {
		if (b->place.enc.ea[i].refs)
			xw_build_set_number(b, &b->place.enc.ea[i].node, (xw_ino)++count);
	}
	return 0;
}

/* Metadata starts in a gap in the data that is large enough to matter, otherwise after the data. */
static void rewind_stream(struct xw_builder *b)
{
	uint64_t per = b->geo.blocks_per_group;
	uint32_t last;
	xw_blk pos;

	if (b->place.stream.end <= b->geo.first_data_block)
		return; /* no data: the stream is at its start */
	last = (uint32_t)((b->place.stream.end - b->geo.first_data_block) / per);
	for (uint32_t g = 0; g < last; g++) {
		struct xw_group_summary sum;

		xw_space_group(b->place.space, g, &sum);
		if ((uint64_t)sum.longest << b->geo.cluster_bits < XW_PLACE_GAP)
			continue;
		pos = xw_space_next_free(b->place.space, b->geo.first_data_block + g * per);
		if (pos < b->place.stream.end)
			b->place.stream.pos = pos;
		return;
	}
}

int xw_build_place(struct xw_builder *b)
{
	int rc = xw_tail_release_reserves(b);

	if (!b->place.gaps_end)
		rewind_stream(b);
	for (struct xw_binode *n = b->place.enc.first; n && !rc; n = n->next) {
		if (!(n->flags & XW_BN_DEAD) && xw_binode_is(n, XW_S_IFLNK))
			rc = xw_place_symlink(&b->place, n);
	}
	if (!rc)
		rc = xw_dirs_place(&b->place);
	if (!rc)
		rc = xw_attrs_place(&b->place);
	for (xw_ino i = XW_INO_FIRST; i <= b->place.last_ino && !rc; i++) {
		if (b->place.by_ino[i]->n_ext && !b->place.by_ino[i]->map)
			rc = xw_place_map(&b->place, b->place.by_ino[i]);
	}
	if (!rc)
		rc = xw_place_map(&b->place, b->root);
	if (!rc)
		rc = xw_hidden_place(b);
	return rc ? rc : xw_build_check_room(b);
}
