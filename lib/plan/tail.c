/* SPDX-License-Identifier: MIT */
/*
 * Lays out the metadata after the data of a stream: inode tables, block bitmaps, inode bitmaps and
 * the journal, contiguous except for superblock copies, in the smallest filesystem possible.
 *
 * The size of this tail depends on the number of groups, and the number of groups on the size of
 * the tail. The smallest number of groups that holds its own layout is used. (Because of rounding,
 * a larger number may need fewer blocks, but never by a whole group.) For each candidate, the
 * journal starts with the size for the filesystem without it, and grows until it has the size that
 * mke2fs(8) chooses for the resulting filesystem: a larger journal never makes the filesystem
 * smaller, and there are only eight journal sizes. Groups beyond the tail (for many inodes, or
 * --free) are a hole in the host file.
 *
 * Without flex_bg, bitmaps and tables of all groups but the last are in the reserves at the ends of
 * their groups (place_own); the journal, and the metadata of the last group, follow the data. A
 * table is then limited to the size of the smallest reserve that has data on both sides; there is
 * none while all data is in group 0.
 *
 * Groups have the usual size unless that makes the image much larger (try_smaller_groups).
 *
 * t_tail checks the result on random input: nothing overlaps or lies outside, no table crosses a
 * superblock copy, and a last group with a superblock copy is large enough for it.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/map.h"

#define RESERVED_INODES 10
#define SMALL_GROUP 2048u /* in blocks; with smaller groups most metadata would be descriptors */
/* Linux reserves a 50th of the blocks, but at most 4096: see kept_back(). */
#define KEPT_BACK_PART 50
#define KEPT_BACK_MOST 4096u

struct tail {
	const struct xw_geo *stream;
	const struct xw_mkfs_params *p;
	struct xw_tail_req req;
	struct xw_diag *diag;
	uint64_t inodes; /* inodes wanted, including free ones */
	uint32_t data_group; /* the last group with data */
};

/* Inodes per group must be a multiple of this: whole inode table blocks, and a multiple of 8. */
static uint64_t inode_step(const struct xw_geo *geo)
{
	return XW_MAX(geo->block_size / geo->inode_size, 8);
}

/* Maximum result of in_proportion(), which is best effort and must not cause a failure. */
#define MOST_IN_PROPORTION (UINT32_MAX / 2)

/*
 * Number of free inodes for --free: the ratio of inodes to blocks in use is applied to the free
 * blocks. If there are more inodes than blocks (empty or inline files), the result is at most the
 * number of existing inodes.
 */
static uint64_t in_proportion(const struct tail *t)
{
	const struct xw_mkfs_params *p = t->p;
	const double bs = t->stream->block_size, used = (double)XW_MAX(t->req.used_blocks, 1);
	const double inodes = (double)(t->req.inodes - XW_MIN(t->req.inodes, RESERVED_INODES));
	const double tables = inodes * t->stream->inode_size / bs;
	double room, more; /* blocks */

	if (p->free_percent > 0) {
		room = p->free_percent / (100 - p->free_percent);
		more = room * inodes;
		room *= used + tables;
	} else {
		room = (double)p->free_bytes / bs;
		more = room / used * inodes;
	}
	more = XW_MIN(XW_MIN(more, XW_MAX(room, inodes)), MOST_IN_PROPORTION);
	return (uint64_t)more + (more > (double)(uint64_t)more);
}

/*
 * Raise t->inodes to the number of inodes wanted: at least the existing ones plus --free-inodes; or
 * more by -N, else by the ratio -i, else by --free.
 */
static int needed_inodes(struct tail *t, uint64_t blocks)
{
	const struct xw_mkfs_params *p = t->p;
	uint64_t used = t->req.inodes, want = used + p->free_inodes;

	if (p->inodes && p->inodes < used)
		return xw_fail(t->diag, XW_ERR_USAGE, "-N %llu: the source needs %llu inodes",
			       (unsigned long long)p->inodes, (unsigned long long)used);
	/* with free space it must be possible to add a file to each directory */
	if (!p->inodes && (p->free_percent > 0 || p->free_bytes))
		want = XW_MAX(want, used + t->req.directories);
	if (p->inodes)
		want = XW_MAX(want, p->inodes);
	else if (p->bytes_per_inode)
		want = XW_MAX(want, XW_MIN(blocks * t->stream->block_size / p->bytes_per_inode,
					   UINT32_MAX));
	else if (p->free_percent > 0 || p->free_bytes)
		want = XW_MAX(want, used + in_proportion(t));
	want = XW_MAX(want, 16);
	if (want > UINT32_MAX - 64)
		return xw_fail(t->diag, XW_ERR_LIMIT, "%llu inodes: the format has at most 2^32-1",
			       (unsigned long long)want);
	t->inodes = XW_MAX(t->inodes, want);
	return 0;
}

static void set_inodes(const struct tail *t, struct xw_geo *geo)
{
	const uint64_t least = xw_geo_inodes_to_grow(geo, t->p);
	uint64_t n = XW_MAX(xw_div_up(t->inodes, geo->groups), least);

	n = xw_round_up(n, inode_step(geo));
	geo->inodes_per_group = (uint32_t)n;
	geo->itable_blocks = (uint32_t)(n * geo->inode_size / geo->block_size);
}

/*
 * A range of whole clusters that the tail must not use: a group's head, or a reserve. from is
 * XW_BLK_MAX if there is none.
 */
struct obstacle {
	xw_blk from, to;
};

static struct obstacle head_of(const struct xw_geo *geo, uint32_t group)
{
	const xw_blk start = xw_geo_group_start(geo, group);

	return (struct obstacle){start, start + xw_geo_clusters_up(geo, xw_geo_head(geo, group))};
}

static struct obstacle next_obstacle(const struct xw_geo *geo, xw_blk at)
{
	const uint64_t inside = (UINT64_C(1) << geo->cluster_bits) - 1;
	uint64_t group = (at - geo->first_data_block) / geo->blocks_per_group;
	struct obstacle head;

	if (group >= geo->groups)
		return (struct obstacle){XW_BLK_MAX, XW_BLK_MAX};
	head = head_of(geo, (uint32_t)group);
	if (at < head.to)
		return head;
	if (group + 1 == geo->groups)
		return (struct obstacle){XW_BLK_MAX, XW_BLK_MAX};
	if (xw_geo_own(geo)) {
		const xw_blk end = head.from + geo->blocks_per_group;

		return (struct obstacle){(end - 2 - geo->itable_blocks) & ~inside, end};
	}
	group = xw_geo_next_head(geo, (uint32_t)group + 1);
	if (group >= geo->groups)
		return (struct obstacle){XW_BLK_MAX, XW_BLK_MAX};
	return head_of(geo, (uint32_t)group);
}

/* First block >= at where `len` blocks are free; *room is the distance to the next obstacle. */
static xw_blk step_over(const struct xw_geo *geo, xw_blk at, uint64_t len, uint64_t *room)
{
	for (;;) {
		struct obstacle o = next_obstacle(geo, at);

		*room = o.from > at ? o.from - at : 0;
		if (*room >= len)
			return at;
		at = o.to;
	}
}

/* Place one object per group from *at on, and advance *at; map may be NULL to measure only. */
static int place_objects(const struct xw_geo *geo, struct xw_geo_map *map, enum xw_meta_kind kind,
			 xw_blk *at)
{
	uint64_t unit = kind == XW_META_INODE_TABLE ? geo->itable_blocks : 1;

	for (uint32_t g = 0; g < geo->groups;) {
		uint64_t room, n;

		*at = step_over(geo, *at, unit, &room);
		n = XW_MIN(room / unit, geo->groups - g);
		if (map && xw_map_add(map, kind, g, (uint32_t)n, *at - geo->first_data_block))
			return XW_ERR_NOMEM;
		*at += n * unit;
		g += (uint32_t)n;
	}
	return 0;
}

/* Place `left` blocks between obstacles. Runs are counted, and stored if `runs` is not NULL. */
static xw_blk place_runs(const struct xw_geo *geo, uint64_t left, struct xw_run *runs, size_t *n,
			 xw_blk at)
{
	for (*n = 0; left; (*n)++) {
		uint64_t room, len;

		at = step_over(geo, at, 1, &room);
		len = XW_MIN(room, left);
		if (runs)
			runs[*n] = (struct xw_run){at, len};
		at += len;
		left -= len;
	}
	return at;
}

/* Allocate `len` blocks from the next cluster boundary on. */
static int keep_runs(const struct xw_geo *geo, uint64_t len, struct xw_run **runs, size_t *n,
		     xw_blk *at)
{
	*at = xw_geo_clusters_up(geo, *at);
	place_runs(geo, len, NULL, n, *at);
	*runs = calloc(*n + 1, sizeof(**runs));
	if (!*runs)
		return XW_ERR_NOMEM;
	*at = place_runs(geo, len, *runs, n, *at);
	return 0;
}

/* Place the journal, and after it the blocks that map it. */
static int place_journal(struct xw_geo *geo, xw_blk *at)
{
	int rc;

	free(geo->journal_runs);
	free(geo->journal_map_runs);
	geo->journal_map_runs = NULL;
	rc = keep_runs(geo, geo->journal_blocks, &geo->journal_runs, &geo->n_journal_runs, at);
	if (rc)
		return rc;
	geo->journal_map_blocks = xw_journal_map_blocks(geo, geo->journal_runs, geo->n_journal_runs,
							geo->journal_blocks);
	return keep_runs(geo, geo->journal_map_blocks << geo->cluster_bits, &geo->journal_map_runs,
			 &geo->n_journal_map_runs, at);
}

/* Place everything after `at`; map may be NULL to measure only. */
static int place_tail(struct xw_geo *geo, struct xw_geo_map *map, xw_blk at)
{
	static const enum xw_meta_kind order[] = {XW_META_INODE_TABLE, XW_META_BLOCK_BITMAP,
						  XW_META_INODE_BITMAP};
	uint32_t last = geo->groups - 1;
	int rc = 0;

	for (size_t i = 0; i < XW_ARRAY_SIZE(order) && !xw_geo_own(geo) && !rc; i++)
		rc = place_objects(geo, map, order[i], &at);
	if (!rc)
		rc = place_journal(geo, &at);
	if (xw_geo_own(geo)) {
		geo->own_last = XW_MAX(xw_geo_clusters_up(geo, at), head_of(geo, last).to);
		at = geo->own_last + 2 + geo->itable_blocks;
	}
	geo->tail_end = xw_geo_clusters_up(geo, at);
	return rc;
}

/*
 * The journal size: -J size=, else that of mke2fs for a filesystem of `blocks`. If a journal was
 * requested explicitly, a filesystem too small for one gets the smallest journal, and grows.
 */
static uint64_t journal_for(const struct tail *t, uint64_t blocks)
{
	uint64_t journal;

	if (!xw_has_compat(&t->stream->features, XW_COMPAT_HAS_JOURNAL) || t->p->journal_device)
		return 0;
	if (t->p->journal_asked)
		blocks = XW_MAX(blocks, XW_JOURNAL_FS_BLOCKS);
	journal = xw_geo_log_blocks(t->p, blocks);
	return journal ? journal + xw_geo_fast_commit_blocks(t->stream, t->p, blocks) : 0;
}

/*
 * With extents, Linux reserves this many free blocks that not even root can use for data
 * (observed; see /sys/fs/ext4/DEVICE/reserved_clusters).
 */
static uint64_t kept_back(const struct tail *t, uint64_t blocks)
{
	return xw_has_incompat(&t->stream->features, XW_INCOMPAT_EXTENTS)
		       ? XW_MIN(blocks / KEPT_BACK_PART, KEPT_BACK_MOST)
		       : 0;
}

/*
 * Is enough space free: the amount requested with --free, and at least the space for a small file
 * in each directory?
 */
static bool free_enough(const struct tail *t, uint64_t used, uint64_t blocks)
{
	double part = t->p->free_percent / 100;
	uint64_t have = blocks - used, kept = kept_back(t, blocks), want;

	want = XW_MAX(xw_div_up(t->p->free_bytes, t->stream->block_size),
		      (t->req.directories + t->req.growth) << t->stream->cluster_bits);
	return have >= kept + want && (double)(have - kept) >= part * (double)blocks;
}

/* The smallest filesystem with enough free space beside `used` blocks. */
static uint64_t with_free(const struct tail *t, uint64_t used)
{
	uint64_t low = used, step = 1;

	if (!(t->p->free_percent > 0) && !t->p->free_bytes)
		return used;
	while (!free_enough(t, used, low + step)) {
		low += step;
		step *= 2;
	}
	while (step > 1) { /* low is too small, low + step is large enough */
		step /= 2;
		if (!free_enough(t, used, low + step))
			low += step;
	}
	return low + 1;
}

/*
 * Minimum end of a filesystem of geo->groups groups that holds `blocks`: the last group exists and
 * holds its head.
 */
static uint64_t pad_last(const struct xw_geo *geo, uint64_t blocks)
{
	const struct obstacle head = head_of(geo, geo->groups - 1);

	return xw_geo_clusters_up(geo, XW_MAX(XW_MAX(blocks, head.to), head.from + 1));
}

static void set_groups(const struct tail *t, struct xw_geo *geo, uint64_t groups)
{
	bool resize = xw_has_compat(&t->stream->features, XW_COMPAT_RESIZE_INODE);

	geo->groups = (uint32_t)groups;
	geo->features = t->stream->features;
	geo->desc_blocks = (uint32_t)xw_div_up(groups, geo->desc_per_block);
	geo->reserved_gdt = resize ? t->stream->desc_blocks - geo->desc_blocks : 0;
	if (!geo->reserved_gdt) /* a resize inode without blocks is useless */
		geo->features.w[XW_FW_COMPAT] &= ~XW_COMPAT_RESIZE_INODE;
	geo->head_blocks = xw_geo_meta_bg(geo) ? 2 : 1 + geo->desc_blocks + geo->reserved_gdt;
	geo->backup_bgs[0] = 0;
	geo->backup_bgs[1] = groups > 1 ? t->stream->backup_bgs[1] : 0;
	if (geo->backup_bgs[1] && t->p->num_backup_sb != 1 && groups > 2 &&
	    xw_geo_group_start(geo, geo->groups - 1) >= t->req.used_end) {
		geo->backup_bgs[0] = 1;
		geo->backup_bgs[1] = geo->groups - 1;
	}
	set_inodes(t, geo);
}

/* Was the second backup of sparse_super2 requested, but its place in the last group has data? */
static bool lacks_backup(const struct tail *t, const struct xw_geo *geo)
{
	return t->p->num_backup_sb == 2 && geo->backup_bgs[1] == 1 && geo->groups > 2;
}

/* Repeat the layout, and store the locations in a map. */
static int record(struct xw_geo *geo, xw_blk at)
{
	if (xw_geo_own(geo))
		return 0; /* place_own() computes them */
	geo->maps = calloc(1, sizeof(*geo->maps));
	if (!geo->maps)
		return XW_ERR_NOMEM;
	geo->n_maps = 1;
	xw_map_init(geo->maps, geo, 0);
	if (place_tail(geo, geo->maps, at) || xw_map_seal(geo->maps))
		return XW_ERR_NOMEM;
	return 0;
}

/* Compute geo->overhead, and the number of metadata blocks. */
static int count_overhead(const struct tail *t, struct xw_geo *geo, uint64_t *blocks)
{
	int rc;

	if (!geo->cluster_bits) {
		geo->overhead = xw_geo_overhead(geo);
		*blocks = geo->overhead + geo->journal_map_blocks;
		return 0;
	}
	geo->blocks = pad_last(geo, geo->tail_end);
	rc = record(geo, t->req.used_end);
	if (!rc)
		geo->overhead = xw_geo_overhead_clusters(geo);
	*blocks = (geo->overhead + geo->journal_map_blocks) << geo->cluster_bits;
	xw_geo_free_maps(geo);
	return rc;
}

/*
 * Lay out the tail for geo->groups groups. *need: the filesystem size in blocks, which may exceed
 * that many groups.
 */
static int fit(const struct tail *t, struct xw_geo *geo, uint64_t *need)
{
	geo->journal_blocks = journal_for(t, 0);
	for (;;) {
		uint64_t journal, used;

		if (place_tail(geo, NULL, t->req.used_end) || count_overhead(t, geo, &used))
			return xw_fail_nomem(t->diag, "journal layout");
		used += t->req.used_blocks;
		*need = pad_last(geo, XW_MAX(geo->tail_end, with_free(t, used)));
		journal = journal_for(t, *need);
		if (journal == geo->journal_blocks)
			return 0;
		geo->journal_blocks = journal;
	}
}

static int too_large(const struct tail *t)
{
	return xw_fail(t->diag, XW_ERR_LIMIT,
		       "%sthe image needs more than the %u groups (%llu blocks of %u bytes) that "
		       "the reserved descriptor blocks can describe; give %sSIZE",
		       t->p->free_bytes ? "--free: " : "", t->stream->groups,
		       (unsigned long long)t->stream->blocks, t->stream->block_size,
		       xw_geo_meta_bg(t->stream) ? "" : "-E resize=BLOCKS or ");
}

static uint64_t groups_for(const struct xw_geo *geo, uint64_t blocks)
{
	return xw_div_up(blocks - geo->first_data_block, geo->blocks_per_group);
}

/*
 * Maximum number of inodes per group for this number of groups, limited by the bitmap and by the
 * room for the table. It never rises with the number of groups.
 */
static uint64_t most_inodes(const struct tail *t, uint64_t groups)
{
	const struct xw_geo *s = t->stream;
	uint64_t step = inode_step(s), room = s->blocks_per_group - xw_geo_head(s, 0);

	if (xw_geo_own(s)) {
		room -= 2;
		if (t->data_group)
			room = s->shrunk_groups ? s->shrunk_itable : s->itable_blocks;
		else if (groups > 1)
			room = xw_geo_group_start(s, 1) - t->req.used_end - 2;
	}
	room *= s->block_size / s->inode_size;
	return XW_MIN(xw_geo_inodes_max(s), room) / step * step;
}

/* Determine group count, sizes and journal. */
static int solve(struct tail *t, struct xw_geo *geo)
{
	uint64_t groups = groups_for(geo, XW_MAX(t->req.used_end, geo->first_data_block + 1ull));
	uint64_t need, blocks = 0;
	int rc = needed_inodes(t, t->req.used_end);

	while (!rc) {
		groups = XW_MAX(groups, xw_div_up(t->inodes, most_inodes(t, groups)));
		if (groups > t->stream->groups)
			return too_large(t);
		set_groups(t, geo, groups);
		if (geo->inodes_per_group > most_inodes(t, groups)) {
			groups++;
			continue;
		}
		rc = fit(t, geo, &blocks);
		if (rc)
			return rc;
		need = groups_for(geo, blocks);
		if (need > groups || lacks_backup(t, geo)) {
			groups = XW_MAX(need, groups + 1);
			continue;
		}
		/* -i applies to the resulting number of blocks */
		rc = needed_inodes(t, blocks);
		if (!rc && t->inodes <= (uint64_t)geo->inodes_per_group * geo->groups) {
			geo->blocks = blocks;
			return 0;
		}
	}
	return rc;
}

/*
 * Number of blocks before used_end that are neither heads nor reserves: the upper bound of the
 * caller's used_blocks.
 */
static uint64_t room_before(const struct tail *t)
{
	uint32_t n, longest, fragments, first, g;
	struct xw_group_place place;
	uint64_t room = 0;

	for (g = 0; g < t->data_group; g++) {
		xw_geo_group_summary(t->stream, g, &n, &longest, &fragments, &first);
		room += (uint64_t)n << t->stream->cluster_bits;
	}
	xw_geo_group(t->stream, g, &place);
	place.start += xw_geo_clusters_up(t->stream, place.head);
	return room + (t->req.used_end > place.start ? t->req.used_end - place.start : 0);
}

static int tail_start(struct tail *t, const struct xw_tail_req *req)
{
	const struct xw_geo *s = t->stream;

	if (req->used_end > s->blocks)
		return too_large(t);
	t->req = *req;
	if (req->used_end > s->first_data_block)
		t->data_group = xw_geo_group_of(s, req->used_end - 1);
	t->req.used_blocks = XW_MIN(req->used_blocks, room_before(t));
	return 0;
}

static int tail_of(const struct xw_geo *stream, const struct xw_mkfs_params *p,
		   const struct xw_tail_req *req, struct xw_geo *out, struct xw_diag *diag)
{
	struct tail t = {.stream = stream, .p = p, .diag = diag};
	int rc = tail_start(&t, req);

	*out = *stream;
	out->kind = XW_GEO_TAIL;
	out->maps = NULL;
	out->n_maps = 0;
	out->shrunk_groups = out->shrunk_itable = 0;
	if (!rc)
		rc = solve(&t, out);
	if (rc)
		xw_geo_free(out);
	return rc;
}

/*
 * Use smaller groups if that saves a quarter of the blocks: with many small files, the number of
 * groups is determined by inodes, and most of each group would be empty. This is possible while all
 * data is in the first group, since then no superblock copy would lie inside the data.
 */
static int try_smaller_groups(const struct xw_geo *stream, const struct xw_mkfs_params *p,
			      const struct xw_tail_req *req, struct xw_geo *best)
{
	struct xw_mkfs_params small = *p;
	struct xw_diag quiet = {0};
	int rc = 0;

	if (p->blocks_per_group || stream->cluster_bits || best->groups == 1)
		return 0;
	for (uint32_t n = stream->blocks_per_group / 2;
	     n >= SMALL_GROUP && stream->first_data_block + n >= req->used_end && !rc; n /= 2) {
		struct xw_geo s, out;

		small.blocks_per_group = n & ~7u;
		if (xw_geo_stream(&small, &s, &quiet) || s.head_blocks > stream->head_blocks)
			break; /* the data begins directly after the old head */
		rc = tail_of(&s, p, req, &out, &quiet);
		if (!rc && out.blocks < best->blocks / 4 * 3) {
			xw_geo_free(best);
			*best = out;
		} else if (!rc) {
			xw_geo_free(&out);
		}
	}
	return rc == XW_ERR_NOMEM ? rc : 0;
}

/* Is the image at most as large as --grow-to? */
static int check_growth(const struct xw_geo *out, const struct xw_mkfs_params *p,
			struct xw_diag *diag)
{
	const uint64_t bytes = out->blocks * out->block_size;

	if (!p->grow_bytes || bytes <= p->grow_bytes)
		return 0;
	return xw_fail(diag, XW_ERR_LIMIT,
		       "--grow-to: %llu bytes is less than the filesystem needs, %llu bytes",
		       (unsigned long long)p->grow_bytes, (unsigned long long)bytes);
}

int xw_geo_tail(const struct xw_geo *stream, const struct xw_mkfs_params *p,
		const struct xw_tail_req *req, struct xw_geo *out, struct xw_diag *diag)
{
	int rc = tail_of(stream, p, req, out, diag);

	if (rc)
		return rc;
	if (try_smaller_groups(stream, p, req, out))
		rc = xw_fail_nomem(diag, "group layout");
	if (!rc)
		rc = check_growth(out, p, diag);
	if (!rc)
		rc = xw_geo_drop_journal(out, p, diag);
	if (!rc && record(out, req->used_end))
		rc = xw_fail_nomem(diag, "group layout");
	if (rc) {
		xw_geo_free(out);
		return rc;
	}
	out->tail_start = req->used_end;
	out->reserved_blocks = (uint64_t)((double)out->blocks * p->reserved_percent / 100);
	xw_geo_warn_few_inodes(out, p, diag);
	return 0;
}

int xw_geo_shrink(const struct xw_geo *stream, const struct xw_mkfs_params *p,
		  const struct xw_tail_req *req, struct xw_geo *out, struct xw_diag *diag)
{
	struct tail t = {.stream = stream, .p = p, .diag = diag};
	uint64_t per_block = stream->block_size / stream->inode_size, inodes, room;
	int rc = tail_start(&t, req);

	*out = *stream;
	if (rc || !xw_geo_own(stream) || !t.data_group)
		return rc;
	rc = needed_inodes(&t, req->used_end);
	if (rc)
		return rc;
	/*
	 * The number of groups can only grow, so that each needs fewer inodes; those of -i depend
	 * only on the size of a group.
	 */
	inodes = xw_div_up(t.inodes, t.data_group + 1ull);
	if (p->bytes_per_inode) {
		room = (stream->blocks_per_group + (uint64_t)stream->first_data_block) *
		       stream->block_size;
		inodes = XW_MAX(inodes, xw_div_up(room, p->bytes_per_inode));
	}
	inodes = XW_MAX(inodes, xw_geo_inodes_to_grow(stream, p));
	inodes = xw_round_up(inodes, inode_step(stream));
	out->shrunk_groups = t.data_group;
	out->shrunk_itable = (uint32_t)XW_MIN(inodes / per_block, stream->itable_blocks);
	return 0;
}
