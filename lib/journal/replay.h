/* SPDX-License-Identifier: MIT */
/*
 * Computes what a log would change in an image; session/journal.h uses it to recover an image.
 * Planning only reads the log; applying writes. So a damaged log changes nothing, and the effect of
 * a log can be queried.
 *
 * Damage is defined as in Linux: a transaction exists if its commit block does; blocks after the
 * last commit, and old blocks left by lazy initialization, are no damage. A wrong checksum inside a
 * committed transaction is damage: Linux replays up to there, then refuses to mount. Here the plan
 * fails with XW_ERR_CHECKSUM, unless XW_REPLAY_SALVAGE requests what Linux would have written.
 */
#ifndef XW_JOURNAL_REPLAY_H
#define XW_JOURNAL_REPLAY_H

#include "journal/log.h"

/* Damage ends the plan, or excludes a block, but is no failure; fast commits are then dropped. */
#define XW_REPLAY_SALVAGE 0x1
/*
 * With SALVAGE: also include transactions after the damage whose blocks verify. Transactions that
 * they depend on may be missing, so the caller must judge the result.
 */
#define XW_REPLAY_BEYOND 0x20
/* With BEYOND: only the transaction with the first damaged block, and those after it. */
#define XW_REPLAY_REST 0x80

struct xw_replay_block {
	xw_blk blk; /* home location */
	uint32_t at; /* block of the log that holds the copy */
	bool escaped;
};

struct xw_replay {
	uint32_t end_sequence; /* the first sequence number that is not in the log */
	uint32_t end_at; /* the block of the log where that transaction would begin */
	uint32_t transactions;
	uint64_t tags, revoked; /* copies in the log, and how many of them are revoked */
	uint64_t bad; /* copies skipped because of a wrong checksum or block number */
	bool outside; /* a copy is for a block beyond the limit */
	xw_blk outside_blk; /* the first such block */
	bool damaged; /* the log ends unexpectedly, or bad is not 0 */
	bool headers; /* damaged: a tag or a descriptor, revoke or commit block, not only data */
	bool revokes_lost; /* BEYOND: revokes of blocks in the plan may be in a damaged block */
	uint8_t *fast; /* complete fast commits after the last transaction (disk/fast.h) */
	size_t fast_blocks;
	/* ascending by home location; the latest copy of each block */
	XW_VEC(struct xw_replay_block) blocks;
};

/*
 * Plan the replay of `log` onto a target of `limit` blocks. An empty log (start 0) gives an empty
 * plan. XW_ERR_UNSUPPORTED: there are unknown kinds of fast commits, or too many. *r is valid, and
 * must be freed, even after a failure.
 */
int xw_replay_plan(struct xw_log *log, unsigned flags, uint64_t limit, struct xw_replay *r);
/* Index in r->blocks of the copy of block blk; false when there is none. */
bool xw_replay_find(const struct xw_replay *r, xw_blk blk, size_t *i);
/* The contents of r->blocks.v[i]: block_size bytes. */
int xw_replay_read(struct xw_log *log, const struct xw_replay *r, size_t i, void *buf);
/*
 * Write all blocks in ascending order, merging adjacent ones and dropping those past the end of the
 * device. `skip` (a block, or UINT64_MAX) is not written. Does not flush.
 */
int xw_replay_apply(struct xw_log *log, const struct xw_replay *r, xw_blk skip,
		    struct xw_dev *onto);
void xw_replay_free(struct xw_replay *r);

/* Mark the log as empty: start 0, and a sequence number that no block in it has. Does not flush. */
int xw_replay_finish(struct xw_log *log, const struct xw_replay *r);

#endif
