/* SPDX-License-Identifier: MIT */
/*
 * The data sink: file payload goes straight to its final place, once, forward. Space is reserved
 * for the whole size before the first byte; a file whose size is not known grows in place at the
 * end of the data.
 */
#ifndef XW_IMPORT_SINK_H
#define XW_IMPORT_SINK_H

#include "base/arena.h"
#include "base/vec.h"
#include "tree/model.h"
#include "place/out.h"
#include "import/source.h"
#include "space/space.h"

struct xw_sink {
	struct xw_space *space;
	struct xw_stream *stream; /* NULL: an existing image, where the allocator finds space */
	xw_blk goal; /* without a stream: behind the last file */
	struct xw_out *out;
	struct xw_diag *diag;
	uint64_t *missing; /* blocks that did not fit; once > 0 payload is only counted */
	uint32_t block_size;
	uint32_t cluster_bits; /* bigalloc: log2 of the blocks of a cluster */
	uint64_t last_cluster; /* logical one that the current file got last; and where it is */
	xw_blk last_place;
	uint64_t max_lblk; /* logical blocks a file may have */
	/*
	 * Bytes of contents that n's inode takes; -1: none. NULL: no inode takes any. They are kept
	 * in the arena then, as n's `bytes`.
	 */
	int64_t (*inline_room)(void *arg, const struct xw_binode *n);
	void *inline_arg;
	struct xw_arena *arena;
	/* Called between pieces; non-zero ends the run. */
	int (*tick)(void *arg);
	void *tick_arg;
	uint64_t replaced_blocks; /* given back: they were written for nothing */
	uint64_t data_blocks; /* allocated and not given back */
	/* scratch of the file being written */
	XW_VEC(struct xw_extent) ext;
	size_t cursor; /* extent that holds the last offset written */
};

/*
 * Place and write the payload of the source's current entry as the content of n (which has none).
 * Sets size and extents.
 */
int xw_sink_file(struct xw_sink *k, struct xw_source *s, const struct xw_entry *e,
		 struct xw_binode *n);
/* Give back the blocks of n's content. */
int xw_sink_release(struct xw_sink *k, struct xw_binode *n);
void xw_sink_free(struct xw_sink *k);

#endif
