// SPDX-License-Identifier: MIT
#include "config.h"

#include "age/linux.h"

#include <stdlib.h>

#include "base/auto.h"
#include "edit/edit.h"
#include "space/linux.h"
#include "update/inode.h"
#include "update/map.h"

#define SMALL 16 /* in blocks: larger files use no common runs; mb_stream_req */
#define POOL 512 /* in blocks: mb_group_prealloc */
#define REQUEST 2048 /* in blocks: the most that is allocated at once */
#define WRITE (UINT64_C(1) << 20) /* in bytes: programs write in pieces of this size */
#define RESERVED 16 /* in blocks: for maps */
#define FLEX_MIN 4 /* flex groups of so many groups keep their first one for directories */
#define CLASS_MAX 8 /* runs of a class of sizes; if there are more, CLASS_KEEP remain */
#define CLASS_KEEP 5

/* ---- files whose blocks are not allocated yet ---- */

struct slot {
	xw_ino ino;
	size_t at; /* 1 + position in `dirty`; 0: none */
};

static bool slot_used(const void *slot)
{
	return ((const struct slot *)slot)->ino != 0;
}

static bool slot_same(const void *arg, const void *slot, const void *key)
{
	(void)arg;
	return ((const struct slot *)slot)->ino == *(const xw_ino *)key;
}

static uint64_t slot_hash(const void *arg, const void *slot)
{
	(void)arg;
	return xw_table_number(((const struct slot *)slot)->ino);
}

static const struct xw_table_kind slots = {sizeof(struct slot), slot_used, slot_same, slot_hash};

static struct slot *find(const struct xw_age_linux *l, xw_ino ino)
{
	return l->at.size ? xw_table_slot(&l->at, &slots, NULL, xw_table_number(ino), &ino) : NULL;
}

static int remember(struct xw_age_linux *l, xw_ino ino)
{
	struct slot *s;

	if (xw_table_room(&l->at, &slots, NULL) || xw_vec_reserve(&l->dirty, l->dirty.n + 1))
		return xw_fail_nomem(l->u->diag, "delayed allocation");
	s = find(l, ino);
	if (!s->ino)
		l->at.n++;
	s->ino = ino;
	if (s->at)
		return 0;
	l->dirty.v[l->dirty.n++] = ino;
	s->at = l->dirty.n;
	return 0;
}

static bool is_dirty(const struct xw_age_linux *l, xw_ino ino)
{
	const struct slot *s = find(l, ino);

	return s && s->ino && s->at;
}

static void clean(struct xw_age_linux *l, xw_ino ino)
{
	struct slot *s = find(l, ino);

	if (!s || !s->ino || !s->at)
		return;
	l->dirty.v[s->at - 1] = 0;
	s->at = 0;
}

/* ---- runs that small files share ---- */

static unsigned class_of(const struct xw_run *r)
{
	return 63 - (unsigned)__builtin_clzll(r->len);
}

static void forget_pool(struct xw_age_pools *p, uint32_t i)
{
	p->n--;
	for (; i < p->n; i++)
		p->run[i] = p->run[i + 1];
}

static int drop_pool(struct xw_age_linux *l, struct xw_age_pools *p, uint32_t i)
{
	const struct xw_run run = p->run[i];

	forget_pool(p, i);
	return xw_space_release(l->u->space, run.start, run.len);
}

static int drop_pools(struct xw_age_linux *l)
{
	int rc = 0;

	for (unsigned c = 0; c < XW_AGE_CPUS && !rc; c++)
		while (l->mem->pools[c].n && !rc)
			rc = drop_pool(l, &l->mem->pools[c], 0);
	return rc;
}

/* The last run changed its class, or is new: not too many of its class remain. */
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

/* Use the beginning of the run closest to the goal that is long enough: 1, 0 if there is none. */
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
	forget_pool(p, best);
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

/* ---- a step ---- */

int xw_age_linux_begin(struct xw_age_linux *l, uint64_t step)
{
	struct xw_space *space = l->u->space;

	l->cpu = (unsigned)(step % XW_AGE_CPUS);
	l->full = false;
	for (unsigned c = 0; c < XW_AGE_CPUS; c++) {
		struct xw_age_pools *p = &l->mem->pools[c];

		for (uint32_t i = 0; i < p->n;) {
			const struct xw_run *run = &p->run[i];
			const int rc = xw_space_run_at(space, run->start, run->len) < run->len
					       ? XW_ERR_CORRUPT
					       : xw_space_claim(space, run->start, run->len);

			if (rc && rc != XW_ERR_CORRUPT)
				return rc;
			if (rc) /* the image was changed since the last step */
				forget_pool(p, i);
			else
				i++;
		}
	}
	return 0;
}

int xw_age_linux_end(struct xw_age_linux *l)
{
	int rc = 0;

	for (unsigned c = 0; c < XW_AGE_CPUS; c++)
		for (uint32_t i = 0; i < l->mem->pools[c].n && !rc; i++)
			rc = xw_space_release(l->u->space, l->mem->pools[c].run[i].start,
					      l->mem->pools[c].run[i].len);
	return rc;
}

void xw_age_linux_free(struct xw_age_linux *l)
{
	xw_vec_free(&l->dirty);
	xw_table_free(&l->at);
}

static uint64_t will_be_free(const struct xw_age_linux *l)
{
	const uint64_t free = xw_space_free_blocks(l->u->space) + l->u->stats.freed_blocks;

	return free - XW_MIN(l->delayed, free);
}

uint64_t xw_age_linux_room(struct xw_age_linux *l, uint64_t want)
{
	if (will_be_free(l) < want)
		drop_pools(l);
	return will_be_free(l);
}

/* ---- a file's requests ---- */

struct file {
	xw_ino ino;
	struct xw_inode in;
	struct xw_update_map m;
	uint64_t from, pos, end; /* blocks to allocate: those behind pos are left */
	bool open;
	struct xw_run rest; /* of an extended request */
};

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

/* Behind the last block; else in the inode's group, or the second one of its flex group. */
static xw_blk goal_of(const struct xw_update *u, const struct file *f)
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

static uint64_t blocks_of(const struct xw_update *u, uint64_t bytes)
{
	return XW_MAX(bytes / u->img->block_size, 1);
}

/* How much of the file is allocated together. */
static uint64_t window(const struct xw_update *u, uint64_t end)
{
	const uint64_t mib = blocks_of(u, UINT64_C(1) << 20);
	uint64_t n = blocks_of(u, UINT64_C(16) << 10);

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

/* A request of a small file. */
static int small(struct xw_age_linux *l, const struct file *f, uint64_t len, struct xw_run *out)
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

/* The end of a closed file. */
static int tail(struct xw_age_linux *l, const struct file *f, uint64_t len, struct xw_run *out)
{
	const struct xw_linux_req req = {.from = goal_of(l->u, f),
					 .len = len,
					 .least = len,
					 .then = len,
					 .max_order = max_order(l->u),
					 .flex = flex_of(l->u)};

	return xw_space_alloc_linux(l->u->space, &req, out);
}

/* A request extended to a window. */
static int extended(struct xw_age_linux *l, struct file *f, uint64_t len, struct xw_run *out)
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

static int request(struct xw_age_linux *l, struct file *f, uint64_t len, struct xw_run *out)
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

/* End of the folio that holds block pos; pos itself if one begins there. */
static uint64_t folio_end(const struct xw_update *u, const struct file *f)
{
	const uint64_t piece = blocks_of(u, WRITE);
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

/* Do the rest of the blocks remain for maps, and for those of open directories? */
static bool is_full(const struct xw_age_linux *l, const struct file *f)
{
	const uint64_t nodes = f->m.e.n / (l->u->img->block_size / 16) + RESERVED;

	return xw_space_free_blocks(l->u->space) <= nodes + l->reserved;
}

/* Allocate blocks from f->pos on; it stays below f->end when a commit is needed first. */
static int allocate(struct xw_age_linux *l, struct file *f)
{
	uint64_t len = XW_MIN(f->end - f->pos, REQUEST);

	while (f->pos < f->end) {
		struct xw_run run;
		int rc = is_full(l, f) && !f->rest.len ? XW_ERR_NOSPC : request(l, f, len, &run);

		if (rc == XW_ERR_NOSPC && l->mem->pools[0].n + l->mem->pools[1].n) {
			rc = drop_pools(l);
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

int xw_age_linux_write(struct xw_age_linux *l, xw_ino ino, bool open)
{
	struct xw_update *u = l->u;
	struct file f = {.ino = ino, .open = open};
	auto_free uint8_t *raw = NULL;
	int rc;

	if (!is_dirty(l, ino))
		return 0;
	if (ino == l->writer)
		f.rest = l->rest;
	rc = xw_update_get(u, ino, &f.in, &raw);
	if (!rc)
		rc = xw_update_map_read(u, ino, &f.in, &f.m);
	if (!rc && f.m.e.n)
		f.from = f.m.e.v[f.m.e.n - 1].lblk + (uint64_t)f.m.e.v[f.m.e.n - 1].len;
	f.pos = f.from;
	f.end = xw_div_up(f.in.size, u->img->block_size);
	if (!rc)
		rc = allocate(l, &f);
	l->delayed -= XW_MIN(l->delayed, f.pos - f.from);
	if (f.pos >= f.end)
		clean(l, ino);
	if (ino == l->writer)
		l->rest = f.rest;
	else if (!rc && f.rest.len)
		rc = xw_space_release(u->space, f.rest.start, f.rest.len);
	if (!rc)
		rc = xw_update_map_write(u, ino, &f.in, &f.m);
	if (!rc)
		rc = xw_update_put(u, ino, &f.in, steal(raw));
	xw_update_map_end(&f.m);
	return rc;
}

static int compare(const void *a, const void *b)
{
	const xw_ino x = *(const xw_ino *)a, y = *(const xw_ino *)b;

	return (x > y) - (x < y);
}

/* Only dirty files remain in the list, sorted. */
static void sort(struct xw_age_linux *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->dirty.n; i++)
		if (l->dirty.v[i])
			l->dirty.v[n++] = l->dirty.v[i];
	l->dirty.n = n;
	if (n)
		qsort(l->dirty.v, n, sizeof(*l->dirty.v), compare);
	for (size_t i = 0; i < n; i++)
		find(l, l->dirty.v[i])->at = i + 1;
}

int xw_age_linux_sync(struct xw_age_linux *l)
{
	int rc = 0;

	for (size_t i = 0; i < l->dirty.n && !rc; i++) {
		if (!l->dirty.v[i])
			continue;
		rc = xw_age_linux_write(l, l->dirty.v[i], l->dirty.v[i] == l->writer);
		l->full = l->dirty.v[i];
		if (l->full)
			break;
	}
	sort(l);
	return rc;
}

/* ---- sizes ---- */

/* Blocks that the file has, and, while it is dirty, that it will have. */
static uint64_t allocated(const struct xw_update_map *m)
{
	return m->e.n ? m->e.v[m->e.n - 1].lblk + (uint64_t)m->e.v[m->e.n - 1].len : 0;
}

/* *written: bytes that became dirty. *old: size before. */
static int set_size(struct xw_age_linux *l, xw_ino ino, uint64_t bytes, bool anew, uint64_t *old,
		    uint64_t *written)
{
	struct xw_update *u = l->u;
	const uint64_t bs = u->img->block_size, want = xw_div_up(bytes, bs);
	struct xw_update_map m = {0};
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	uint64_t have, will;
	int rc = xw_update_uninline(u, ino);

	*written = 0;
	if (!rc)
		rc = xw_update_get(u, ino, &in, &raw);
	if (!rc)
		rc = xw_update_map_read(u, ino, &in, &m);
	if (rc)
		goto out;
	have = allocated(&m);
	*old = in.size;
	will = is_dirty(l, ino) ? xw_div_up(in.size, bs) : have;
	l->delayed -= XW_MIN(l->delayed, will - XW_MIN(have, will));
	if (anew || want < have) {
		const uint64_t keep = anew ? 0 : want;

		rc = xw_update_map_punch(u, &m, keep, UINT32_MAX);
		have = XW_MIN(have, keep);
		will = XW_MIN(will, keep);
	}
	u->large_file |= bytes > INT32_MAX;
	in.size = bytes;
	in.mtime = in.ctime = (struct xw_time){.sec = u->now};
	if (!rc && (anew || want == have))
		rc = xw_update_map_write(u, ino, &in, &m);
	if (!rc)
		rc = xw_update_put(u, ino, &in, steal(raw));
	if (!rc && want > have) {
		l->delayed += want - have;
		*written = want > will ? (want - will) * bs : 0;
		rc = remember(l, ino);
	} else if (!rc) {
		clean(l, ino);
	}
out:
	xw_update_map_end(&m);
	return rc;
}

/* The kernel does not wait when dirty blocks amount to more than half of those that are free. */
static bool is_tight(const struct xw_age_linux *l, uint64_t want)
{
	const uint64_t free = xw_space_free_blocks(l->u->space) + l->u->stats.freed_blocks;

	return !l->full && l->delayed + want > free / 2;
}

/* Write the file in pieces, from `at` on; others, and what it has by then, are written back. */
static int grow_slowly(struct xw_age_linux *l, xw_ino ino, uint64_t at, uint64_t bytes,
		       uint64_t *written)
{
	int rc = 0;

	while (at < bytes && !rc) {
		uint64_t old, n;

		at += XW_MIN(WRITE, bytes - at);
		if (is_tight(l, blocks_of(l->u, WRITE)))
			rc = xw_age_linux_sync(l);
		if (!rc)
			rc = set_size(l, ino, at, false, &old, &n);
		*written += rc ? 0 : n;
	}
	return rc;
}

int xw_age_linux_resize(struct xw_age_linux *l, xw_ino ino, uint64_t bytes, bool anew,
			uint64_t *written)
{
	uint64_t old, size;
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc = xw_update_get(l->u, ino, &in, &raw);

	*written = 0;
	if (rc)
		return rc;
	old = in.size;
	size = anew ? 0 : old;
	l->writer = ino;
	if (bytes > size && is_tight(l, xw_div_up(bytes - size, l->u->img->block_size))) {
		if (anew)
			rc = set_size(l, ino, 0, true, &size, written);
		if (!rc)
			rc = grow_slowly(l, ino, anew ? 0 : size, bytes, written);
	} else {
		rc = set_size(l, ino, bytes, anew, &size, written);
	}
	if (!rc && anew && old)
		rc = xw_age_linux_write(l, ino, true);
	l->writer = 0;
	if (!rc && l->rest.len)
		rc = xw_space_release(l->u->space, l->rest.start, l->rest.len);
	l->rest = (struct xw_run){0};
	return rc;
}

/* Blocks that are not allocated, at the end of a file; other files have none. */
static int missing(struct xw_age_linux *l, xw_ino ino, uint64_t *n)
{
	struct xw_update_map m = {0};
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc = xw_update_get(l->u, ino, &in, &raw);

	*n = 0;
	if (rc || (in.mode & XW_S_IFMT) != XW_S_IFREG)
		return rc;
	rc = xw_update_map_read(l->u, ino, &in, &m);
	if (!rc) {
		const uint64_t end = xw_div_up(in.size, l->u->img->block_size);

		*n = end - XW_MIN(end, allocated(&m));
	}
	xw_update_map_end(&m);
	return rc;
}

int xw_age_linux_forget(struct xw_age_linux *l, xw_ino ino)
{
	uint64_t n;
	int rc;

	if (!is_dirty(l, ino))
		return 0;
	clean(l, ino);
	rc = missing(l, ino, &n);
	l->delayed -= XW_MIN(l->delayed, n);
	return rc;
}

int xw_age_linux_recall(struct xw_age_linux *l, xw_ino ino)
{
	uint64_t n;
	int rc = is_dirty(l, ino) ? 0 : missing(l, ino, &n);

	if (rc || is_dirty(l, ino) || !n)
		return rc;
	l->delayed += n;
	rc = remember(l, ino);
	sort(l);
	return rc;
}
