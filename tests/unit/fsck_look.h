/* SPDX-License-Identifier: MIT */
/* One inode with a map, as the phase `inodes` sees it, in the filesystem of fsck_bytes.h. */
#ifndef XW_TESTS_FSCK_LOOK_H
#define XW_TESTS_FSCK_LOOK_H

#include "fsck_bytes.h"
#include "phases/inodes.h"

static struct fsck_look l;
static uint8_t raw[SIZE];

static inline void begin(bool agree)
{
	open_bytes();
	ok(fsck_claim_metadata(&f));
	agreed = agree;
	l = (struct fsck_look){.f = &f, .raw = raw};
	xw_walk_map_init(&l.walk, f.ses.dev, &f.ses.img->sb);
	l.walk.full_room = l.walk.outvote = true; /* as inodes.c has it */
	ok(xw_blockset_new(BLOCKS, &l.met));
}

static inline void end(void)
{
	xw_walk_map_free(&l.walk);
	xw_blockset_free(l.met);
	fsck_map_free(&l.map);
	close_bytes();
}

static inline void load(uint16_t type, uint32_t flags, uint64_t size)
{
	l.ino = INO;
	l.type = type;
	l.in = (struct xw_inode){
		.mode = type, .links = 1, .flags = flags, .size = size, .generation = 7};
	l.has_map = true;
	l.dirty = false;
	l.blocks = 0;
}

#endif
