/* SPDX-License-Identifier: MIT */
/* Shared by the two ways to open a log. */
#ifndef XW_JOURNAL_LOG_INTERNAL_H
#define XW_JOURNAL_LOG_INTERNAL_H

#include "journal/log.h"

/* Create an empty handle; next, add runs and load it. NULL: out of memory (recorded). */
struct xw_log *xw_log_new(struct xw_dev *dev, uint32_t block_size, struct xw_diag *diag);
/* Add `len` blocks at pblk; merges with the last run. */
int xw_log_add_run(struct xw_log *log, uint64_t lblk, uint64_t len, xw_blk pblk);
/* Read and check the journal superblock; `blocks` is the maximum length of the log. */
int xw_log_load(struct xw_log *log, uint64_t blocks);

#endif
