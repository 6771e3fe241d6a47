/* SPDX-License-Identifier: MIT */
#ifndef XW_DEV_RUNS_H
#define XW_DEV_RUNS_H

#include "base/types.h"
#include "dev/dev.h"

/*
 * A device whose contents are n runs of `under`, concatenated, in units of `unit` bytes. It starts
 * with size 0 and grows to at most the length of all runs (XW_ERR_NOSPC). No run may be empty or
 * end past 2^63 bytes. `under` is borrowed, `list` is copied; a flush flushes all of `under`.
 */
int xw_dev_open_runs(struct xw_dev *under, const struct xw_run *list, size_t n, uint32_t unit,
		     struct xw_dev **out);

#endif
