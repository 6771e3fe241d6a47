// SPDX-License-Identifier: MIT
/*
 * Converts between the blocks of callers and the clusters of the allocator. With bigalloc a bit of
 * a bitmap represents a cluster. Requests are served in whole clusters, but the result has as many
 * blocks as requested: the last cluster may be partly used. Without bigalloc a cluster is a block.
 */
#include "config.h"

#include "plan/params.h"
#include "space/priv.h"

static uint64_t clusters_up(const struct xw_space *s, uint64_t blocks)
{
	return (blocks + ((UINT64_C(1) << s->cluster_bits) - 1)) >> s->cluster_bits;
}

/* Convert clusters to blocks; the total length becomes the requested length. */
static void to_blocks(const struct xw_space *s, struct xw_run *runs, size_t n, uint64_t len)
{
	for (size_t i = 0; i < n && s->cluster_bits; i++) {
		runs[i].start <<= s->cluster_bits;
		runs[i].len = XW_MIN(runs[i].len << s->cluster_bits, len);
		len -= runs[i].len;
	}
}

void xw_space_params_tune(struct xw_space_params *p, const struct xw_alloc_tunables *mb)
{
	static const struct xw_alloc_tunables defaults = {-1, -1, -1, -1, -1, -1};

	if (!mb)
		mb = &defaults;
	p->optimize_scan = mb->optimize_scan;
	p->linear_limit = mb->linear_limit;
	p->order2_req = mb->order2_req;
	p->stream_req = mb->stream_req;
	p->min_to_scan = -1;
	p->max_to_scan = mb->max_to_scan;
	p->best_avail_max_trim_order = mb->best_avail_max_trim_order;
}

int xw_space_new(const struct xw_space_params *p, const struct xw_space_source *src,
		 struct xw_diag *diag, struct xw_space **out)
{
	struct xw_space_params c = *p;
	int rc;

	c.blocks >>= p->cluster_bits;
	c.blocks_per_group >>= p->cluster_bits;
	rc = xw_cl_space_new(&c, src, diag, out);
	if (!rc)
		(*out)->cluster_bits = p->cluster_bits;
	return rc;
}

int xw_space_alloc(struct xw_space *s, const struct xw_alloc_req *req, struct xw_run *out)
{
	struct xw_alloc_req c = *req;
	int rc;

	c.goal >>= s->cluster_bits;
	c.len = clusters_up(s, req->len);
	rc = xw_cl_space_alloc(s, &c, out);
	if (!rc)
		to_blocks(s, out, 1, req->len);
	return rc;
}

int xw_space_alloc_all(struct xw_space *s, const struct xw_alloc_req *req, struct xw_run **runs,
		       size_t *n)
{
	struct xw_alloc_req c = *req;
	int rc;

	c.goal = clusters_up(s, req->goal);
	c.len = clusters_up(s, req->len);
	rc = xw_cl_space_alloc_all(s, &c, runs, n);
	if (!rc)
		to_blocks(s, *runs, *n, req->len);
	return rc;
}

static struct xw_stream stream_in(const struct xw_space *s, const struct xw_stream *st)
{
	return (struct xw_stream){
		.pos = clusters_up(s, st->pos),
		.end = clusters_up(s, st->end),
		.gap_keep = clusters_up(s, st->gap_keep),
	};
}

static void stream_out(const struct xw_space *s, const struct xw_stream *c, struct xw_stream *st)
{
	st->pos = c->pos << s->cluster_bits;
	st->end = c->end << s->cluster_bits;
}

int xw_stream_alloc(struct xw_space *s, struct xw_stream *st, uint64_t len, struct xw_run **runs,
		    size_t *n)
{
	struct xw_stream c;
	int rc;

	if (!s->cluster_bits)
		return xw_cl_stream_alloc(s, st, len, runs, n);
	c = stream_in(s, st);
	rc = xw_cl_stream_alloc(s, &c, clusters_up(s, len), runs, n);
	stream_out(s, &c, st);
	if (!rc)
		to_blocks(s, *runs, *n, len);
	return rc;
}

int xw_stream_alloc_one(struct xw_space *s, struct xw_stream *st, uint64_t len, struct xw_run *one)
{
	struct xw_stream c;
	int rc;

	if (!s->cluster_bits)
		return xw_cl_stream_alloc_one(s, st, len, one);
	c = stream_in(s, st);
	rc = xw_cl_stream_alloc_one(s, &c, clusters_up(s, len), one);
	stream_out(s, &c, st);
	if (rc == 1)
		to_blocks(s, one, 1, len);
	return rc;
}

/* The clusters that contain any of these blocks. */
static uint64_t span(const struct xw_space *s, xw_blk start, uint64_t len)
{
	return len ? clusters_up(s, start + len) - (start >> s->cluster_bits) : 0;
}

int xw_space_claim(struct xw_space *s, xw_blk start, uint64_t len)
{
	return xw_cl_space_claim(s, start >> s->cluster_bits, span(s, start, len));
}

int xw_space_release(struct xw_space *s, xw_blk start, uint64_t len)
{
	return xw_cl_space_release(s, start >> s->cluster_bits, span(s, start, len));
}

uint64_t xw_space_run_at(struct xw_space *s, xw_blk start, uint64_t max)
{
	const uint64_t n = xw_cl_space_run_at(s, start >> s->cluster_bits, clusters_up(s, max));

	return s->cluster_bits ? XW_MIN(n << s->cluster_bits, max) : n;
}

xw_blk xw_space_next_free(struct xw_space *s, xw_blk from)
{
	const xw_blk c = xw_cl_space_next_free(s, clusters_up(s, from));

	return c == XW_BLK_MAX ? c : c << s->cluster_bits;
}

uint64_t xw_space_free_blocks(const struct xw_space *s)
{
	return xw_cl_space_free_blocks(s) << s->cluster_bits;
}

int xw_space_truncate(struct xw_space *s, uint64_t blocks)
{
	return xw_cl_space_truncate(s, clusters_up(s, blocks));
}
