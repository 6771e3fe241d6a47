/* SPDX-License-Identifier: MIT */
/*
 * What a log says that an image should become; session/journal.h recovers an image with it.
 * Planning reads the log only; applying writes. So a log that turns out to be damaged has changed
 * nothing, and what a log would do can be asked.
 *
 * Damage, as Linux sees it: a transaction is there when its commit block is; blocks behind the last
 * commit, and old blocks that lazy initialisation left, are no damage. A wrong checksum inside a
 * committed transaction is: Linux replays what it can up to there, then refuses to mount. Here the
 * plan fails with XW_ERR_CHECKSUM, unless XW_REPLAY_SALVAGE asks for what Linux would have written.
 */
#ifndef XW_JOURNAL_REPLAY_H
#define XW_JOURNAL_REPLAY_H

#include "journal/log.h"

#pragma GCC visibility push(default)

/* Damage ends the plan, or leaves a block out, but does not fail it; fast commits go with it. */
#define XW_REPLAY_SALVAGE 0x1

struct xw_replay_block {
	xw_blk blk; /* on the target */
	uint32_t at; /* block of the log */
	bool escaped;
};

struct xw_replay {
	uint32_t end_sequence; /* the first that is not in the log */
	uint32_t end_at; /* block of the log where it would begin */
	uint32_t transactions;
	uint64_t tags, revoked; /* copies in the log; of these, not to be written */
	uint64_t bad; /* left out: checksum or block number wrong */
	bool damaged; /* the log ends where it should not, or bad is not 0 */
	uint8_t *fast; /* fast commits behind the last transaction (disk/fast.h), whole ones only */
	size_t fast_blocks;
	XW_VEC(struct xw_replay_block) blocks; /* ascending, each once: its latest version */
};

/*
 * Plan the replay of `log` onto a target of `limit` blocks. An empty log (start 0) gives an empty
 * plan. XW_ERR_UNSUPPORTED: there are fast commits of a kind that nobody knows, or too many. *r is
 * valid, and must be freed, after failures too.
 */
int xw_replay_plan(struct xw_log *log, unsigned flags, uint64_t limit, struct xw_replay *r);
/* Index in r->blocks of the copy for block blk; false when there is none. */
bool xw_replay_find(const struct xw_replay *r, xw_blk blk, size_t *i);
/* The contents of r->blocks.v[i]: block_size bytes. */
int xw_replay_read(struct xw_log *log, const struct xw_replay *r, size_t i, void *buf);
/*
 * Write all blocks in ascending order, neighbours together, those beyond the device's end cut.
 * `skip` (a block, or UINT64_MAX) is left out. Not flushed.
 */
int xw_replay_apply(struct xw_log *log, const struct xw_replay *r, xw_blk skip,
		    struct xw_dev *onto);
void xw_replay_free(struct xw_replay *r);

/* The log holds nothing any more: start 0, and a sequence that no block in it has. Not flushed. */
int xw_replay_finish(struct xw_log *log, const struct xw_replay *r);

#pragma GCC visibility pop

#endif
