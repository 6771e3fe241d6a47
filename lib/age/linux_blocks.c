// SPDX-License-Identifier: MIT
/* Block allocation of a file at writeback. */
#include "config.h"

#include "age/linux_internal.h"
#include "disk/indirect.h"
#include "space/linux.h"

#define SMALL 16 /* in blocks: larger files do not use locality groups; mb_stream_req */
#define POOL 512 /* in blocks: mb_group_prealloc */
#define REQUEST 2048 /* in blocks: the most that is allocated at once */
#define RESERVED 4 /* in blocks: for partly filled extent tree blocks */
/* flex groups of at least this many groups reserve their first group for directories */
#define FLEX_MIN 4
/* above CLASS_MAX preallocations of an order, all but CLASS_KEEP are released */
#define CLASS_MAX 8
#define CLASS_KEEP 5

/* ---- runs that small files share ---- */

static unsigned class_of(const struct xw_run *r)
{
	return 63 - (unsigned)__builtin_clzll(r->len);
}

void xw_age_linux_forget_pool(struct xw_age_pools *p, uint32_t i)
{
	p->n--;
	for (; i < p->n; i++)
		p->run[i] = p->run[i + 1];
}

static int drop_pool(struct xw_age_linux *l, struct xw_age_pools *p, uint32_t i)
{
	const struct xw_run run = p->run[i];

	xw_age_linux_forget_pool(p, i);
	return xw_space_release(l->u->space, run.start, run.len);
}

int xw_age_linux_drop_pools(struct xw_age_linux *l)
{
	int rc = 0;

	for (unsigned c = 0; c < XW_AGE_CPUS && !rc; c++)
		while (l->mem->pools[c].n && !rc)
			rc = drop_pool(l, &l->mem->pools[c], 0);
	return rc;
}

/* Called after a preallocation was added to an order: release some if there are too many. */
static int trim_class(struct xw_age_linux *l, struct xw_age_pools *p, unsigned class)
{
	uint32_t n = 0;
	int rc = 0;

	for (uint32_t i = 0; i < p->n; i++)
		n += class_of(&p->run[i]) == class;
	if (n <= CLASS_MAX)
		return 0;
	for (uint32_t i = 0; i < p->n && n > CLASS_KEEP && !rc;) {
		if (class_of(&p->run[i]) == class) {
			rc = drop_pool(l, p, i);
			n--;
		} else {
			i++;
		}
	}
	return rc;
}

static uint64_t distance(xw_blk a, xw_blk b)
{
	return a > b ? a - b : b - a;
}

/*
 * Allocate from the start of the preallocation closest to the goal that is long enough. 1; 0: none
 * is.
 */
static int from_pool(struct xw_age_linux *l, xw_blk goal, uint64_t len, struct xw_run *out)
{
	struct xw_age_pools *p = &l->mem->pools[l->cpu];
	struct xw_run run;
	uint32_t best = p->n;
	int rc = 0;

	for (uint32_t i = 0; i < p->n; i++)
		if (p->run[i].len >= len &&
		    (best == p->n ||
		     distance(p->run[i].start, goal) < distance(p->run[best].start, goal)))
			best = i;
	if (best == p->n)
		return 0;
	*out = (struct xw_run){p->run[best].start, len};
	run = (struct xw_run){out->start + len, p->run[best].len - len};
	if (run.len && class_of(&run) == class_of(&p->run[best])) {
		p->run[best] = run;
		return 1;
	}
	xw_age_linux_forget_pool(p, best);
	if (run.len) {
		p->run[p->n++] = run;
		rc = trim_class(l, p, class_of(&run));
	}
	return rc ? rc : 1;
}

static int add_pool(struct xw_age_linux *l, struct xw_run run)
{
	struct xw_age_pools *p = &l->mem->pools[l->cpu];
	int rc = p->n == XW_AGE_POOLS ? drop_pool(l, p, 0) : 0;

	if (rc)
		return rc;
	p->run[p->n++] = run;
	return trim_class(l, p, class_of(&run));
}

/* ---- a file's requests ---- */

static uint32_t flex_of(const struct xw_update *u)
{
	const unsigned bits = u->img->sb.feature_incompat & XW_INCOMPAT_FLEX_BG
				      ? u->img->sb.log_groups_per_flex
				      : 0;

	return bits < 16 && 1u << bits >= FLEX_MIN ? 1u << bits : 1;
}

static xw_blk group_start(const struct xw_update *u, uint64_t group)
{
	return u->img->sb.first_data_block + group * u->img->sb.blocks_per_group;
}

/*
 * The block after the file's last one; for an empty file the start of the inode's group, or of the
 * second group of its flex group.
 */
static xw_blk goal_of(const struct xw_update *u, const struct xw_age_writing *f)
{
	const struct xw_extent *last = f->m.e.n ? &f->m.e.v[f->m.e.n - 1] : NULL;
	const uint64_t group = (f->ino - 1) / u->img->sb.inodes_per_group;
	const uint32_t flex = flex_of(u);
	uint64_t to = group;

	if (last)
		return last->pblk + last->len;
	if (flex > 1)
		to = group - group % flex + 1;
	return group_start(u, to < u->img->groups ? to : group);
}

/* Size in blocks to which requests of a file of `end` blocks are normalized. */
static uint64_t window(const struct xw_update *u, uint64_t end)
{
	const uint64_t mib = xw_age_blocks_of(u, UINT64_C(1) << 20);
	uint64_t n = xw_age_blocks_of(u, UINT64_C(16) << 10);

	if (end > 8 * mib)
		return 8 * mib;
	if (end > 4 * mib)
		return 4 * mib;
	if (end > mib)
		return 2 * mib;
	while (n < end)
		n *= 2;
	return n;
}

static uint32_t max_order(const struct xw_update *u)
{
	return (uint32_t)__builtin_ctz(u->img->block_size) + 1;
}

/* Allocate for a small file: from a locality group. */
static int small(struct xw_age_linux *l, const struct xw_age_writing *f, uint64_t len,
		 struct xw_run *out)
{
	const xw_blk goal = goal_of(l->u, f);
	const struct xw_linux_req req = {.from = goal,
					 .len = POOL,
					 .least = len,
					 .then = len,
					 .max_order = max_order(l->u),
					 .flex = flex_of(l->u)};
	struct xw_run run;
	int rc = from_pool(l, goal, len, out);

	if (rc)
		return rc < 0 ? rc : 0;
	rc = xw_space_alloc_linux(l->u->space, &req, &run);
	if (rc)
		return rc;
	*out = (struct xw_run){run.start, XW_MIN(run.len, len)};
	if (run.len > out->len)
		rc = add_pool(l, (struct xw_run){run.start + out->len, run.len - out->len});
	return rc;
}

/* Allocate the tail of a closed file, without normalization. */
static int tail(struct xw_age_linux *l, const struct xw_age_writing *f, uint64_t len,
		struct xw_run *out)
{
	const struct xw_linux_req req = {.from = goal_of(l->u, f),
					 .len = len,
					 .least = len,
					 .then = len,
					 .max_order = max_order(l->u),
					 .flex = flex_of(l->u)};

	return xw_space_alloc_linux(l->u->space, &req, out);
}

/* Allocate a normalized request; f->rest gets the blocks beyond len. */
static int extended(struct xw_age_linux *l, struct xw_age_writing *f, uint64_t len,
		    struct xw_run *out)
{
	const uint64_t n = window(l->u, f->end);
	const uint64_t groups = l->u->img->groups;
	uint32_t *stream = &l->mem->stream[f->ino % XW_MAX(XW_MIN(groups / 4, XW_AGE_CPUS), 1)];
	const struct xw_linux_req req = {.goal = f->pos && f->pos % n == 0 ? goal_of(l->u, f) : 0,
					 .from = group_start(l->u, *stream),
					 .len = n - f->pos % n,
					 .least = XW_MIN(len, n - f->pos % n),
					 .then = n - f->pos % n,
					 .max_order = max_order(l->u),
					 .flex = flex_of(l->u)};
	int rc = xw_space_alloc_linux(l->u->space, &req, out);

	if (rc)
		return rc;
	*stream = (uint32_t)((out->start - l->u->img->sb.first_data_block) /
			     l->u->img->sb.blocks_per_group);
	if (out->len > len) {
		f->rest = (struct xw_run){out->start + len, out->len - len};
		out->len = len;
	}
	return 0;
}

static int request(struct xw_age_linux *l, struct xw_age_writing *f, uint64_t len,
		   struct xw_run *out)
{
	if (f->rest.len) {
		*out = (struct xw_run){f->rest.start, XW_MIN(f->rest.len, len)};
		f->rest = (struct xw_run){out->start + out->len, f->rest.len - out->len};
		return 0;
	}
	if (f->end <= SMALL)
		return small(l, f, len, out);
	if (f->pos + len == f->end && !f->open)
		return tail(l, f, len, out);
	return extended(l, f, len, out);
}

/* End of the folio that contains block f->pos; f->pos if a folio starts there. */
static uint64_t folio_end(const struct xw_update *u, const struct xw_age_writing *f)
{
	const uint64_t piece = xw_age_blocks_of(u, XW_AGE_WRITE);
	uint64_t at = f->from + (f->pos - f->from) / piece * piece;
	const uint64_t end = XW_MIN(at + piece, f->end);

	while (at < f->pos) {
		unsigned k = 63 - (unsigned)__builtin_clzll(end - at);

		if (at)
			k = XW_MIN(k, (unsigned)__builtin_ctzll(at));
		at += UINT64_C(1) << k;
	}
	return at;
}

uint64_t xw_age_linux_map_blocks(const struct xw_age_linux *l, const struct xw_age_writing *f)
{
	const uint32_t bs = l->u->img->block_size;
	const uint64_t per = xw_indirect_per_block(bs);

	if (f->in.flags & XW_FL_EXTENTS)
		return f->m.e.n / (bs / 16) + RESERVED;
	if (f->end <= XW_NDIR_BLOCKS)
		return 0;
	return f->end / per + f->end / (per * per) + RESERVED;
}

/*
 * Blocks available for data, without those needed for extent trees, open directories and quota
 * files.
 */
static uint64_t available(const struct xw_age_linux *l, const struct xw_age_writing *f)
{
	const uint64_t kept = xw_age_linux_map_blocks(l, f) + l->reserved + l->quota;
	const uint64_t free = xw_space_free_blocks(l->u->space) + f->rest.len;

	return free - XW_MIN(free, kept);
}

int xw_age_linux_allocate(struct xw_age_linux *l, struct xw_age_writing *f)
{
	uint64_t len = XW_MIN(f->end - f->pos, REQUEST);

	while (f->pos < f->end) {
		const uint64_t most = XW_MIN(len, available(l, f));
		struct xw_run run;
		int rc = most ? request(l, f, most, &run) : XW_ERR_NOSPC;

		if (rc == XW_ERR_NOSPC && l->mem->pools[0].n + l->mem->pools[1].n) {
			rc = xw_age_linux_drop_pools(l);
			if (!rc)
				continue;
		}
		if (rc == XW_ERR_NOSPC && l->u->stats.freed_blocks)
			return 0;
		if (!rc)
			rc = xw_update_map_add(
				l->u, &f->m,
				(struct xw_map_run){(xw_lblk)f->pos, run.len, run.start, false});
		if (rc)
			return rc;
		f->pos += run.len;
		len = folio_end(l->u, f) - f->pos;
		if (!len)
			len = XW_MIN(f->end - f->pos, REQUEST);
	}
	return 0;
}
