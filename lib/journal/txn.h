/* SPDX-License-Identifier: MIT */
/* Writing one transaction into a log. */
#ifndef XW_JOURNAL_TXN_H
#define XW_JOURNAL_TXN_H

#include "journal/log.h"

/* Blocks to be logged, in ascending order, requested by index, possibly several times. */
struct xw_block_source {
	size_t n;
	void *arg;
	/* *data is block_size bytes (NULL: zeros), valid until the next call. */
	int (*get)(void *arg, size_t i, xw_blk *blk, const void **data);
};

/* Number of log blocks that a transaction of n blocks takes: descriptors, data, commit. */
uint64_t xw_txn_blocks(const struct xw_log *log, uint64_t n);
/*
 * Write transaction `sequence` from block `at` on: descriptors, data (escaped where necessary),
 * commit block with time sec/nsec. XW_ERR_LIMIT if it does not fit the log. Does not flush, and
 * does not update the journal superblock: the transaction is not in the log as long as `start` is 0
 * or elsewhere.
 */
int xw_txn_write(struct xw_log *log, uint32_t at, uint32_t sequence,
		 const struct xw_block_source *src, uint64_t sec, uint32_t nsec);

struct xw_txn {
	struct xw_block_source src; /* n may be 0 */
	const xw_blk *revoke;
	size_t n_revoke;
	uint64_t sec;
	uint32_t nsec;
	bool uncommitted; /* without a commit block: an incomplete transaction */
};
/* Like xw_txn_write(), with blocks to revoke; *at becomes the block after the transaction. */
int xw_txn_put(struct xw_log *log, uint32_t *at, uint32_t sequence, const struct xw_txn *t);

#endif
