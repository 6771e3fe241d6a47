/* SPDX-License-Identifier: MIT */
/*
 * Devices that lose power together, and forget what was not flushed.
 *
 * "Steps" are writes, zeros, size changes, flushes, and whatever else a test counts with
 * crash_step(), over all devices of one world, from 1. At step fail_at the power goes, or the step
 * fails. After a power cut each 512-byte sector that was written since the last flush of its device
 * may or may not have reached the medium.
 */
#ifndef XW_TESTS_CRASHDEV_H
#define XW_TESTS_CRASHDEV_H

#include "dev/dev.h"

enum crash_mode {
	CRASH_POWER, /* this step may have reached the medium, later ones all fail */
	CRASH_ONCE, /* it fails, others work */
	CRASH_FROM, /* it and all later changes fail, reads work */
	CRASH_FULL, /* from it on the host has no room for what was a hole and not reserved */
};

struct crash {
	uint64_t fail_at; /* 0 = never */
	enum crash_mode mode;
	int code; /* XW_ERR_IO unless set; FULL: XW_ERR_UNSUPPORTED, there is no reserving */
	uint32_t seed; /* which sectors survive; 0 none, 1 all */
	struct xw_diag *diag;

	uint64_t steps;
	bool dead;
};

/* 0, or the failure that is planned for this step. *lost: power went during it. */
int crash_step(struct crash *c, const char *what, bool *lost);
/* A coin for things that power loss leaves in either state. */
bool crash_coin(struct crash *c);

/* A device of `size` zero bytes. */
struct xw_dev *crash_dev_open(struct crash *c, uint64_t size);
/* What is there after the power came back. Also: everything is flushed. */
void crash_dev_settle(struct xw_dev *d);
/* What is zeros there is holes from now on: nothing of it was written or reserved. */
void crash_dev_punch(struct xw_dev *d);
/* A second handle on the same contents; closing one of them leaves the other. */
struct xw_dev *crash_dev_dup(struct xw_dev *d);

#endif
