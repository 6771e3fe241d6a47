// SPDX-License-Identifier: MIT
/*
 * Space for the contents of files.
 *
 * In steps (update/steps.h), blocks freed by one step are free for the next one, but until the
 * commit they contain the old state: the steps' device holds writes to them in memory. So contents
 * preferably go to blocks that were free in the old state, which the device writes through to the
 * image, and other blocks are used only as far as memory permits.
 *
 * If the allocator offers a block whose contents would be held in memory, that block and the
 * following ones like it are withheld ("fenced") until the file is complete, so that they are
 * offered only once.
 */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "dev/overlay.h"
#include "edit/edit_internal.h"

struct request {
	struct xw_update *u;
	XW_VEC(struct xw_run) got;
	uint64_t left; /* in blocks, whole clusters */
};

/*
 * Like xw_overlay_write_target(), in whole clusters: a cluster that is partly held in memory counts
 * as held.
 */
static uint64_t ask(const struct xw_update *u, xw_blk blk, uint64_t n, bool *through)
{
	const uint64_t size = UINT64_C(1) << u->place.enc.cluster_bits;
	const uint64_t k = xw_overlay_write_target(u->data, blk, n, through);

	if (*through && k >= size)
		return k & ~(size - 1);
	*through = false;
	return XW_MIN((k + size - 1) & ~(size - 1), n);
}

static int add_run(struct request *t, xw_blk start, uint64_t len)
{
	struct xw_run *last = t->got.n ? &t->got.v[t->got.n - 1] : NULL;

	t->left -= len;
	if (last && last->start + last->len == start) {
		last->len += len;
		return 0;
	}
	return xw_vec_push(&t->got, ((struct xw_run){start, len}))
		       ? xw_fail_nomem(t->u->diag, "extent list")
		       : 0;
}

static int fence_run(struct xw_update *u, xw_blk start, uint64_t len)
{
	return xw_vec_push(&u->fence, ((struct xw_run){start, len}))
		       ? xw_fail_nomem(u->diag, "extent list")
		       : 0;
}

/* Also fence the free blocks from `at` on whose contents would be held in memory. */
static int fence_more(struct xw_update *u, xw_blk at)
{
	const struct xw_super *sb = &u->img->sb;
	uint64_t room = 0, k;
	int rc = 0;

	if (at < sb->blocks_count)
		room = xw_space_run_at(u->space, at, sb->blocks_per_group);
	for (; room && !rc; room -= k, at += k) {
		bool through;

		k = ask(u, at, room, &through);
		if (through)
			break;
		rc = xw_space_claim(u->space, at, k);
		if (!rc)
			rc = fence_run(u, at, k);
	}
	return rc;
}

static int sort_out(struct request *t, const struct xw_run *run)
{
	bool through = true;
	uint64_t k;
	int rc = 0;

	for (uint64_t done = 0; done < run->len && !rc; done += k) {
		k = ask(t->u, run->start + done, run->len - done, &through);
		rc = through ? add_run(t, run->start + done, k)
			     : fence_run(t->u, run->start + done, k);
	}
	return rc || through ? rc : fence_more(t->u, run->start + run->len);
}

static int no_space(struct xw_update *u)
{
	return xw_fail(u->diag, XW_ERR_NOSPC, "%s: no space left for the file", u->img->dev->name);
}

/* No other space is left: use fenced blocks. */
static int use_fenced(struct request *t)
{
	struct xw_update *u = t->u;
	struct xw_overlay_stats st;
	uint64_t there = 0;
	int rc = 0;

	for (size_t i = 0; i < u->fence.n; i++)
		there += u->fence.v[i].len;
	if (there < t->left)
		return no_space(u);
	xw_overlay_stats(u->data, &st);
	if (st.memory + t->left * u->img->block_size > u->held_max)
		return xw_fail(
			u->diag, XW_ERR_NOSPC,
			"%s: no space left for the file but what was freed since the image was "
			"opened, which is used again after the commit: close and open it",
			u->img->dev->name);
	while (t->left && !rc) {
		struct xw_run *r = &u->fence.v[u->fence.n - 1];
		const uint64_t k = XW_MIN(r->len, t->left);

		rc = add_run(t, r->start, k);
		r->start += k;
		r->len -= k;
		u->fence.n -= !r->len;
	}
	return rc;
}

static int alloc_free(struct request *t, xw_blk goal, uint64_t len)
{
	const struct xw_alloc_req req = {.goal = goal, .len = len};
	auto_free struct xw_run *runs = NULL;
	size_t n;
	int rc = xw_space_alloc_all(t->u->space, &req, &runs, &n);

	if (rc == XW_ERR_NOSPC)
		return no_space(t->u);
	for (size_t i = 0; i < n && !rc; i++)
		rc = sort_out(t, &runs[i]);
	return rc;
}

int xw_update_alloc_contents(struct xw_update *u, const struct xw_alloc_req *req,
			     struct xw_run **runs, size_t *n)
{
	const uint64_t size = UINT64_C(1) << u->place.enc.cluster_bits;
	struct request t = {.u = u, .left = (req->len + size - 1) & ~(size - 1)};
	const uint64_t too_much = t.left - req->len;
	xw_blk goal = req->goal;
	int rc = 0;

	*runs = NULL;
	*n = 0;
	if (u->data == u->img->dev || xw_overlay_block_size(u->data) != u->img->block_size) {
		rc = xw_space_alloc_all(u->space, req, runs, n);
		return rc == XW_ERR_NOSPC ? no_space(u) : rc;
	}
	while (t.left && !rc) {
		const uint64_t most = xw_space_free_blocks(u->space);

		rc = most ? alloc_free(&t, goal, XW_MIN(t.left, most)) : use_fenced(&t);
		if (t.got.n)
			u->passed = t.got.v[t.got.n - 1].start + t.got.v[t.got.n - 1].len;
		goal = u->passed;
	}
	if (rc) {
		xw_vec_free(&t.got);
		return rc;
	}
	t.got.v[t.got.n - 1].len -= too_much;
	*runs = t.got.v;
	*n = t.got.n;
	return 0;
}

int xw_update_contents_done(struct xw_update *u)
{
	int rc = 0;

	for (size_t i = 0; i < u->fence.n && !rc; i++)
		rc = xw_space_release(u->space, u->fence.v[i].start, u->fence.v[i].len);
	u->fence.n = 0;
	return rc;
}
