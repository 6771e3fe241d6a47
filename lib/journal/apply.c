/* SPDX-License-Identifier: MIT */
/* Applies a planned replay. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/types.h"
#include "journal/replay.h"

#define CHUNK (1u << 20)

int xw_replay_read(struct xw_log *log, const struct xw_replay *r, size_t i, void *buf)
{
	const struct xw_replay_block *b = &r->blocks.v[i];
	int rc = xw_log_read(log, b->at, buf);

	if (!rc && b->escaped)
		xw_jdata_unescape(buf);
	return rc;
}

/*
 * Number of blocks from i on in the plan that are consecutive on the target, at most max, excluding
 * `skip`.
 */
static size_t run_from(const struct xw_replay *r, size_t i, size_t max, xw_blk skip)
{
	size_t n = 1;

	while (n < max && i + n < r->blocks.n && r->blocks.v[i + n].blk != skip &&
	       r->blocks.v[i + n].blk == r->blocks.v[i].blk + n)
		n++;
	return n;
}

int xw_replay_apply(struct xw_log *log, const struct xw_replay *r, xw_blk skip, struct xw_dev *onto)
{
	const uint64_t bs = log->block_size;
	auto_free uint8_t *buf = malloc(CHUNK);
	size_t n;
	int rc = 0;

	if (!buf)
		return xw_fail_nomem(log->diag, "a journal");
	for (size_t i = 0; i < r->blocks.n && !rc; i += n) {
		const uint64_t off = r->blocks.v[i].blk * bs;
		uint64_t len;

		n = 1;
		if (r->blocks.v[i].blk == skip || off >= onto->size)
			continue;
		n = run_from(r, i, CHUNK / bs, skip);
		for (size_t k = 0; k < n && !rc; k++)
			rc = xw_replay_read(log, r, i + k, buf + k * bs);
		len = XW_MIN(n * bs, onto->size - off);
		if (!rc)
			rc = xw_dev_pwrite(onto, buf, len, off);
	}
	return rc;
}

int xw_replay_finish(struct xw_log *log, const struct xw_replay *r)
{
	/*
	 * One sequence number is skipped, as Linux does, so that the remains of a torn commit
	 * cannot be continued. Where the log went on after damage, the numbers of all possible
	 * transactions are skipped.
	 */
	const uint32_t skip = r->damaged ? log->last - log->first : 1;

	return xw_log_set_start(log, 0, r->end_sequence + skip);
}
