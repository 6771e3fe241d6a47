/* SPDX-License-Identifier: MIT */
/*
 * A small image with a journal, a change to it, and a redo store in memory, all on devices that
 * lose power together: what the tests of lib/commit work on.
 */
#ifndef XW_TESTS_COMMIT_WORLD_H
#define XW_TESTS_COMMIT_WORLD_H

#include "commit/store.h"
#include "crashdev.h"
#include "disk/super.h"

#define WORLD_BLOCKS 260u
#define WORLD_LOG_FIRST 140u /* blocks of the journal */
#define WORLD_LOG_BLOCKS 80u

struct world_spec {
	uint32_t block_size;
	bool csum, bit64;
	uint32_t log_incompat;
	int64_t grow; /* of the device, by the change; redo only */
	bool lost; /* the old superblock is garbage; redo only */
};

struct world {
	struct world_spec spec;
	struct crash crash;
	struct xw_diag diag;
	struct xw_dev *img;
	struct xw_dev *tmp, *pub; /* redo files */
	struct xw_redo_store store;
	size_t old_size, new_size;
	unsigned char *old_img, *new_img; /* what the image may be; made by world_change() */
};

/* An image in its old state, flushed. */
void world_open(struct world *w, const struct world_spec *spec);
void world_close(struct world *w);
/* The change, on an overlay over w->img (which it owns a handle of). */
struct xw_dev *world_change(struct world *w);
/* Power is back; nothing is planned any more. */
void world_revive(struct world *w);
/* 'o'ld or 'n'ew, else '?'. log: the journal's own blocks do not count. */
char world_state(const struct world *w, struct xw_dev *d, bool log);

#endif
