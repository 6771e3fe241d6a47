/* SPDX-License-Identifier: MIT */
/*
 * Writing a transaction: for each descriptor block first the tags (each holds a checksum of its
 * data), then the data, through a batcher, so that a contiguous journal is written sequentially in
 * large requests.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/crc.h"
#include "base/types.h"
#include "dev/batch.h"
#include "journal/txn.h"

struct writer {
	struct xw_log *log;
	const struct xw_block_source *src;
	struct xw_batch *batch;
	uint32_t at, sequence;
	uint32_t crc; /* v1 checksum */
	uint8_t *blk; /* buffer for a descriptor or commit block */
	uint8_t *data; /* buffer for a block as stored in the log */
	struct xw_jtag *tags; /* tags of one descriptor block */
};

uint64_t xw_txn_blocks(const struct xw_log *log, uint64_t n)
{
	return xw_jtxn_blocks(&log->fmt, n);
}

static int put_block(struct writer *w, const void *blk)
{
	uint64_t off;
	int rc = xw_log_where(w->log, w->at, &off);

	w->at = xw_log_next(w->log, w->at);
	return rc ? rc : xw_batch_write(w->batch, off, blk, w->log->block_size);
}

/* Load block i of the source into w->data, in the form that the log stores. */
static int load(struct writer *w, size_t i, struct xw_jtag *tag)
{
	const void *data;
	int rc;

	memset(tag, 0, sizeof(*tag));
	rc = w->src->get(w->src->arg, i, &tag->blk, &data);
	if (rc)
		return rc;
	if (!data) {
		memset(w->data, 0, w->log->block_size);
		return 0;
	}
	memcpy(w->data, data, w->log->block_size);
	if (xw_jdata_escape(w->data))
		tag->flags = XW_JTAG_ESCAPED;
	return 0;
}

static int put_group(struct writer *w, size_t first, uint32_t n)
{
	const struct xw_jfmt *f = &w->log->fmt;
	struct xw_jtag tag;
	int rc = 0;

	for (uint32_t i = 0; i < n && !rc; i++) {
		rc = load(w, first + i, &w->tags[i]);
		if (!rc)
			w->tags[i].csum = xw_jtag_csum(f, w->sequence, w->data);
	}
	if (rc)
		return rc;
	xw_jdesc_encode(f, w->sequence, w->tags, n, w->blk);
	if (f->csum1)
		w->crc = xw_crc32_be(w->crc, w->blk, f->block_size);
	rc = put_block(w, w->blk);
	for (uint32_t i = 0; i < n && !rc; i++) {
		rc = load(w, first + i, &tag);
		if (!rc && f->csum1)
			w->crc = xw_crc32_be(w->crc, w->data, f->block_size);
		if (!rc)
			rc = put_block(w, w->data);
	}
	return rc;
}

static int put_revokes(struct writer *w, const struct xw_txn *t)
{
	const uint32_t cap = xw_jrevoke_capacity(&w->log->fmt);
	int rc = 0;

	for (size_t i = 0; i < t->n_revoke && !rc; i += cap) {
		xw_jrevoke_encode(&w->log->fmt, w->sequence, t->revoke + i,
				  (uint32_t)XW_MIN(t->n_revoke - i, cap), w->blk);
		rc = put_block(w, w->blk);
	}
	return rc;
}

int xw_txn_put(struct xw_log *log, uint32_t *at, uint32_t sequence, const struct xw_txn *t)
{
	const uint32_t cap = xw_jdesc_capacity(&log->fmt);
	struct writer w = {.log = log, .src = &t->src, .at = *at, .sequence = sequence, .crc = ~0u};
	auto_free uint8_t *blk = malloc(log->block_size), *data = malloc(log->block_size);
	auto_free struct xw_jtag *tags = calloc(cap, sizeof(*tags));
	int rc;

	if (xw_txn_blocks(log, t->src.n) + xw_div_up(t->n_revoke, xw_jrevoke_capacity(&log->fmt)) >
	    log->last - log->first)
		return xw_fail(log->diag, XW_ERR_LIMIT,
			       "%s: journal: %zu blocks do not fit one transaction", log->dev->name,
			       t->src.n);
	if (!blk || !data || !tags)
		return xw_fail_nomem(log->diag, "a transaction");
	w.blk = blk;
	w.data = data;
	w.tags = tags;
	rc = xw_batch_new(log->dev, 0, false, log->diag, &w.batch);
	for (size_t i = 0; i < t->src.n && !rc; i += cap)
		rc = put_group(&w, i, (uint32_t)XW_MIN(t->src.n - i, cap));
	if (!rc)
		rc = put_revokes(&w, t);
	if (!rc && !t->uncommitted) {
		xw_jcommit_encode(
			&log->fmt, sequence,
			&(struct xw_jcommit){.sec = t->sec, .nsec = t->nsec, .csum = w.crc}, blk);
		rc = put_block(&w, blk);
	}
	if (!rc)
		rc = xw_batch_drain(w.batch);
	xw_batch_free(w.batch);
	*at = w.at;
	return rc;
}

int xw_txn_write(struct xw_log *log, uint32_t at, uint32_t sequence,
		 const struct xw_block_source *src, uint64_t sec, uint32_t nsec)
{
	const struct xw_txn t = {.src = *src, .sec = sec, .nsec = nsec};

	return xw_txn_put(log, &at, sequence, &t);
}
