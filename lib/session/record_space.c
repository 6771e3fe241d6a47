/* SPDX-License-Identifier: MIT */
/*
 * The search goes from the end of the filesystem down: free blocks there have most likely never
 * been used, while those at the beginning may contain files deleted just now, which a user may want
 * to restore.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/search.h"
#include "base/types.h"
#include "commit/super.h"
#include "read/bitmaps.h"
#include "session/record_space.h"

/* A search over the groups of the new state. */
struct search {
	const struct xw_record_space *room;
	struct xw_runs *out;
	struct xw_image *img; /* of the new state */
	const struct xw_sysmap *sys;
	struct xw_sysmap *own_sys; /* sys, unless that is the old state's */
	struct xw_run *written; /* runs written by the change, sorted */
	size_t n_written;
	uint8_t *bits; /* bitmap of a group */
	XW_VEC(struct xw_run) in_group; /* free blocks of a group, ascending */
	uint64_t bytes; /* size of the record */
	uint64_t found; /* number of blocks found */
};

static uint64_t needed(const struct search *s)
{
	return xw_inside_blocks(s->img->block_size, s->bytes, s->out->list.n);
}

static bool is_enough(const struct search *s)
{
	return s->found >= needed(s);
}

static int sort_written(struct search *s)
{
	const size_t n = s->room->n_written;

	s->written = calloc(n + 1, sizeof(*s->written));
	if (!s->written)
		return XW_ERR_NOMEM;
	for (size_t i = 0; i < n; i++)
		s->written[i] = s->room->written[i];
	qsort(s->written, n, sizeof(*s->written), xw_by_u64);
	for (size_t i = 0; i < n; i++) { /* merge overlapping runs */
		struct xw_run *last = s->n_written ? &s->written[s->n_written - 1] : NULL;
		const struct xw_run r = s->written[i];

		if (last && r.start <= last->start + last->len)
			last->len = XW_MAX(last->len, r.start + r.len - last->start);
		else
			s->written[s->n_written++] = r;
	}
	return 0;
}

static bool was_written(const struct search *s, uint64_t at)
{
	const struct xw_run *v = s->written;
	const size_t i = XW_LOWER_BOUND(k, s->n_written, v[k].start + v[k].len > at);

	return i < s->n_written && v[i].start <= at;
}

/* Does the change itself write to the block? Then the record may not use it. */
static bool is_dirty(const struct search *s, xw_blk blk)
{
	const uint32_t unit = xw_overlay_block_size(s->room->overlay);
	const uint64_t from = blk * s->img->block_size / unit;
	const uint64_t end = xw_div_up((blk + 1) * s->img->block_size, unit);
	const void *data;

	for (uint64_t at = from; at < end; at++)
		if (xw_overlay_block(s->room->overlay, at, &data) || was_written(s, at))
			return true;
	return false;
}

/* Add free blocks of r to the result, from the last one down, until there are enough. */
static int add_blocks(struct search *s, const struct xw_run *r)
{
	for (xw_blk blk = r->start + r->len; blk-- > r->start && !is_enough(s);) {
		struct xw_run *last = s->out->list.n ? &s->out->list.v[s->out->list.n - 1] : NULL;

		/*
		 * The last block of the filesystem is not used: if another process truncated the
		 * file, the record would extend it to its former size, and hide the truncation.
		 */
		if (blk + 1 == s->img->sb.blocks_count || is_dirty(s, blk))
			continue;
		s->found++;
		if (last && blk + 1 == last->start) {
			last->start--;
			last->len++;
		} else if (xw_vec_push(&s->out->list, ((struct xw_run){blk, 1}))) {
			return xw_fail_nomem(s->img->diag, "a redo record");
		}
	}
	return 0;
}

/* Number of blocks, at most n, that are equally free or in use for checker and bitmaps. */
static uint64_t query_both(const struct xw_record_space *room, xw_blk blk, uint64_t n,
			   bool *is_free)
{
	bool claimed_free = true;

	*is_free = true;
	if (room->claims)
		n = room->claims(room->claims_arg, blk, n, &claimed_free);
	if (room->fn && !room->alone)
		n = room->fn(room->arg, blk, n, is_free);
	*is_free = *is_free && claimed_free;
	return n;
}

/* Add those of n blocks, free in the new state, that were free in the old state, too. */
static int add_free_in_both(struct search *s, xw_blk blk, uint64_t n)
{
	bool is_free;
	uint64_t some;

	for (; n; blk += some, n -= some) {
		some = query_both(s->room, blk, n, &is_free);
		if (is_free && xw_vec_push(&s->in_group, ((struct xw_run){blk, some})))
			return xw_fail_nomem(s->img->diag, "a redo record");
	}
	return 0;
}

static int search_group(struct search *s, uint64_t group)
{
	const unsigned shift = xw_image_cluster_bits(s->img);
	const uint64_t first = s->img->sb.first_data_block + group * s->img->sb.blocks_per_group;
	const uint64_t blocks =
		XW_MIN(s->img->sb.blocks_per_group, s->img->sb.blocks_count - first);
	const uint64_t clusters = xw_div_up(blocks, UINT64_C(1) << shift);
	uint64_t from, to;
	int rc = 0;

	/*
	 * The free count may be wrong in an image of a debugger; fn knows the formerly free blocks.
	 */
	if (!s->room->alone)
		(void)xw_image_block_bitmap(s->img, s->sys, group, s->bits);
	s->in_group.n = 0;
	for (from = 0; from < clusters && !rc; from = to + 1) {
		for (to = from;
		     to < clusters && (s->room->alone || !(s->bits[to / 8] >> (to % 8) & 1));)
			to++;
		if (to > from)
			rc = add_free_in_both(s, first + (from << shift),
					      XW_MIN(to << shift, blocks) - (from << shift));
	}
	for (size_t i = s->in_group.n; i-- > 0 && !rc && !is_enough(s);)
		rc = add_blocks(s, &s->in_group.v[i]);
	return rc;
}

/*
 * Has the group so much free space that the record fits, or is half of it free? Then the record is
 * not scattered.
 */
static bool is_roomy(const struct search *s, const struct xw_group_desc *gd)
{
	const uint64_t n = (uint64_t)gd->free_blocks << xw_image_cluster_bits(s->img);

	return n >= XW_MIN(needed(s), s->img->sb.blocks_per_group / 2);
}

static int search_groups(struct search *s, bool roomy)
{
	struct xw_group_desc gd;
	int rc = 0;

	for (uint64_t g = s->img->groups; g-- > 0 && !rc && !is_enough(s);) {
		if (!s->room->alone && (xw_image_group(s->img, g, &gd) || !gd.free_blocks ||
					is_roomy(s, &gd) != roomy))
			continue;
		rc = search_group(s, g);
	}
	return rc;
}

/* ---- locations of metadata ---- */

static bool same_geometry(const struct xw_super *a, const struct xw_super *b)
{
	return a->blocks_count == b->blocks_count && a->first_data_block == b->first_data_block &&
	       a->log_block_size == b->log_block_size &&
	       a->blocks_per_group == b->blocks_per_group &&
	       a->inodes_per_group == b->inodes_per_group && a->inode_size == b->inode_size &&
	       a->desc_size == b->desc_size && a->reserved_gdt_blocks == b->reserved_gdt_blocks &&
	       a->first_meta_bg == b->first_meta_bg &&
	       !memcmp(a->backup_bgs, b->backup_bgs, sizeof(a->backup_bgs)) &&
	       a->feature_compat == b->feature_compat &&
	       a->feature_incompat == b->feature_incompat &&
	       a->feature_ro_compat == b->feature_ro_compat;
}

/* Does the descriptor have the same metadata locations as before the change? */
static bool same_descriptor(struct search *s, struct xw_image *old, uint64_t group)
{
	struct xw_group_desc a, b;

	return !xw_image_group(old, group, &a) && !xw_image_group(s->img, group, &b) &&
	       a.block_bitmap == b.block_bitmap && a.inode_bitmap == b.inode_bitmap &&
	       a.inode_table == b.inode_table;
}

/*
 * Is all metadata where it was before the change? Only descriptors written by the change are read.
 */
static bool same_places(struct search *s, struct xw_image *old)
{
	const uint64_t per_block = s->img->block_size / xw_super_desc_size(&s->img->sb);

	if (!same_geometry(&s->img->sb, &old->sb))
		return false;
	for (uint64_t g = 0, end; g < s->img->groups; g = end) {
		end = XW_MIN(g + per_block, s->img->groups);
		if (!is_dirty(s, xw_image_desc_block(s->img, g)))
			continue;
		for (uint64_t at = g; at < end; at++)
			if (!same_descriptor(s, old, at))
				return false;
	}
	return true;
}

static int find_metadata(struct search *s)
{
	const struct xw_freemap *before = s->room->before;
	struct xw_image *old = before ? xw_freemap_image(before, &s->sys) : NULL;
	int rc;

	if (old && !s->room->alone && same_places(s, old))
		return 0;
	rc = xw_sysmap_new(s->img, &s->own_sys);
	s->sys = s->own_sys;
	return rc;
}

/* First search groups with much free space, then the others. */
static int search(struct search *s)
{
	int rc;

	s->bits = malloc(s->img->block_size);
	rc = s->bits ? sort_written(s) : XW_ERR_NOMEM;
	if (!rc)
		rc = find_metadata(s);
	if (!rc && !s->room->alone)
		rc = search_groups(s, true);
	return rc || is_enough(s) ? rc : search_groups(s, false);
}

/* An xw_inside_room_fn; arg is a struct xw_record_space. */
static int find_space(void *arg, uint32_t block_size, uint64_t bytes, struct xw_runs *out)
{
	const struct xw_record_space *room = arg;
	struct xw_diag diag = {0}; /* damage of the new state is no failure of this search */
	struct search s = {.room = room, .out = out, .bytes = bytes};
	struct xw_diag *devs = room->overlay->diag;
	int rc;

	if (room->written_more)
		return XW_ERR_NOSPC;
	room->overlay->diag = NULL;
	rc = xw_image_open(room->overlay, room->alone ? XW_IMAGE_LENIENT : 0, &diag, &s.img);
	if (!rc)
		rc = s.img->block_size == block_size ? search(&s) : XW_ERR_NOSPC;
	if (rc != XW_ERR_NOMEM)
		rc = !rc && is_enough(&s) ? 0 : XW_ERR_NOSPC;
	free(s.written);
	xw_vec_free(&s.in_group);
	free(s.bits);
	xw_sysmap_free(s.own_sys);
	xw_image_close(s.img);
	room->overlay->diag = devs;
	return rc;
}

bool xw_record_space_is_trusted(const uint8_t super[XW_SUPER_SIZE], bool replayed)
{
	struct xw_super sb;

	return xw_super_bytes_valid(super) && !xw_super_decode(super, &sb) &&
	       sb.state & XW_STATE_VALID && !(sb.state & XW_STATE_ERROR) &&
	       (replayed || !(sb.feature_incompat & XW_INCOMPAT_RECOVER));
}

/*
 * With an undo file, free blocks are used only as a last resort, since e2undo does not restore
 * their contents; and never if the undo file contains an earlier change: blocks that are free now
 * may be in use in its oldest state.
 */
int xw_record_places_open(struct xw_record_places *p, const struct xw_record_space *room,
			  const struct xw_record_places_opts *opts, struct xw_diag *diag)
{
	struct xw_dev *base = xw_overlay_base(room->overlay);
	const uint32_t bs = xw_overlay_block_size(room->overlay);
	int rc = 0;

	memset(p, 0, sizeof(*p));
	p->why_not = opts->none ? opts->none
		     : opts->undo_old
			     ? "its free blocks may be in use in the oldest state of the undo file"
			     : "its bitmaps may be wrong: xw-fsck -f checks them";
	if (opts->none || bs < 1024)
		return 0;
	p->room = p->alone = *room;
	p->room.alone = false;
	if ((opts->trusted || room->claims) && !(opts->undo && (opts->at_end || opts->undo_old)))
		rc = xw_inside_new(base, bs, find_space, &p->room, diag, &p->stores[0]);
	if (!rc && opts->at_end)
		rc = xw_inside_new(base, bs, NULL, NULL, diag, &p->stores[1]);
	if (!rc && room->claims && room->alone && !opts->undo)
		rc = xw_inside_new(base, bs, find_space, &p->alone, diag, &p->stores[2]);
	return rc;
}

void xw_record_places_offer(const struct xw_record_places *p, struct xw_commit_opts *opts)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(p->stores); i++)
		opts->inside[i] = p->stores[i];
	if (!p->stores[0] && !p->stores[1] && !p->stores[2])
		opts->why_not_inside = p->why_not;
}

void xw_record_places_close(struct xw_record_places *p)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(p->stores); i++)
		xw_redo_store_close(p->stores[i]);
}
