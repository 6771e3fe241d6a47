/* SPDX-License-Identifier: MIT */
/*
 * A device that fails where a test wants it, and remembers what reached it.
 *
 * "Changes" are writes, zero() and set_size(), counted together from 1. A test sets the plan
 * fields at any time between calls; the counters say what has happened.
 */
#ifndef XW_TESTS_FAULTDEV_H
#define XW_TESTS_FAULTDEV_H

#include "base/vec.h"
#include "dev/dev.h"

enum fault_mode {
	FAULT_ONCE, /* the change fails and does nothing; later ones work */
	FAULT_CUT, /* power goes before it: it and everything later, reads too, fails */
	FAULT_TEAR, /* as CUT, but its first `tear` bytes reach the device */
};

enum fault_kind { FAULT_WRITE, FAULT_ZERO, FAULT_SIZE, FAULT_FLUSH };

struct fault_event {
	enum fault_kind kind;
	uint64_t off; /* the new size for FAULT_SIZE */
	uint64_t len;
	unsigned char *data; /* of FAULT_WRITE */
};

struct faultdev {
	struct xw_dev dev;
	struct xw_dev *under;

	/* the plan; 0 = never */
	uint64_t fail_change, fail_read, fail_flush;
	enum fault_mode mode;
	int code; /* XW_ERR_IO unless set, e.g. XW_ERR_HOSTFULL */
	size_t tear; /* bytes */
	bool record; /* keep events with their data */

	uint64_t changes, writes, reads, flushes; /* asked for, failed ones included */
	uint64_t sent_back; /* bytes of writeback hints */
	bool dead;
	XW_VEC(struct fault_event) events; /* what was done, in order */
};

/* Wraps `under`, owns it. Aborts the test when out of memory. Close as a device: &f->ses.dev. */
struct faultdev *faultdev_open(struct xw_dev *under);
/* A memory device of `size` bytes, wrapped. */
struct faultdev *faultdev_open_mem(uint64_t size, struct xw_diag *diag);
/* Do the first n recorded events on another device: 0 or its error. */
int faultdev_replay(const struct faultdev *f, size_t n, struct xw_dev *onto);
/* Back to life and without a plan, as after the next boot. Counters and events stay. */
void faultdev_revive(struct faultdev *f);

#endif
