/* SPDX-License-Identifier: MIT */
/*
 * A small image with a journal, a change to it, and a redo store in memory, all on devices that
 * lose power together: what the tests of lib/commit work on.
 */
#ifndef XW_TESTS_COMMIT_WORLD_H
#define XW_TESTS_COMMIT_WORLD_H

#include "commit/commit.h"
#include "session/recover.h"
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
	bool behind; /* a record in the image is behind its end, not in blocks of the journal */
};

/* Block sizes, checksums, and formats of the log. */
#define WORLD_SPECS 5
extern const struct world_spec world_specs[WORLD_SPECS];

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
/* Around an image from elsewhere: there is no world_change() and no world_state() of it. */
void world_around(struct world *w, const void *img, size_t size);
void world_close(struct world *w);
/* The change, on an overlay over w->img (which it owns a handle of). */
struct xw_dev *world_change(struct world *w);
/* Power is back; nothing is planned any more. */
void world_revive(struct world *w);
/* May the journal's own blocks have any contents after such a commit? */
bool world_ignores_log(const struct world_spec *spec, enum xw_commit_how how);
/* 'o'ld or 'n'ew, else '?'. log: the journal's own blocks do not count. */
char world_state(const struct world *w, struct xw_dev *d, bool log);

int world_commit(struct world *w, struct xw_dev *o, enum xw_commit_how how,
		 struct xw_commit_info *info);
/* Recover through a second handle, and close it: the state found. */
char world_recover(struct world *w, unsigned flags, bool log, struct xw_recover_info *info);
/* Nothing is left to do: neither for a reader nor for a writer. */
void world_check_settled(struct world *w, bool log, char state);
/* Open a world, and cut a redo commit between its commit point and its end. */
void world_half_done(struct world *w, const struct world_spec *spec);
/* The same with the record in blocks of the journal, the first of which has its list. */
void world_half_inside(struct world *w, const struct world_spec *spec);
void world_get_super(struct world *w, uint8_t super[XW_SUPER_SIZE]);
void world_put_super(struct world *w, const uint8_t *super);
/* Flip bits of one byte of the superblock; its checksum follows. */
void world_edit_super(struct xw_dev *d, unsigned off, uint8_t flip);

#endif
