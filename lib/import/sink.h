/* SPDX-License-Identifier: MIT */
/*
 * The data sink: file payload is written directly to its final place, once, sequentially. Space is
 * allocated for the whole size before the first byte; a file of unknown size grows in place at the
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
	xw_blk goal; /* without a stream: after the last file */
	struct xw_out *out;
	struct xw_diag *diag;
	uint64_t *missing; /* blocks that did not fit; when > 0 payload is only counted */
	uint32_t block_size;
	uint32_t cluster_bits; /* bigalloc: log2 of the number of blocks in a cluster */
	uint64_t last_cluster; /* last logical cluster of the current file, and its place */
	xw_blk last_place;
	uint64_t max_lblk; /* maximum number of logical blocks of a file */
	/*
	 * Bytes of contents that n's inode can hold; -1: none. NULL: inline data is not used. Such
	 * contents are stored in the arena as n's `bytes`.
	 */
	int64_t (*inline_room)(void *arg, const struct xw_binode *n);
	void *inline_arg;
	struct xw_arena *arena;
	/* Called between pieces; non-zero ends the run. */
	int (*tick)(void *arg);
	void *tick_arg;
	uint64_t replaced_blocks; /* allocated, written and freed again */
	uint64_t data_blocks; /* allocated and not freed */
	/* scratch of the file being written */
	XW_VEC(struct xw_extent) ext;
	size_t cursor; /* index of the extent that contains the last offset written */
};

/*
 * Allocate and write the payload of the source's current entry as the contents of n (which has
 * none). Sets size and extents.
 */
int xw_sink_file(struct xw_sink *k, struct xw_source *s, const struct xw_entry *e,
		 struct xw_binode *n);
/* Free the blocks of n's contents. */
int xw_sink_release(struct xw_sink *k, struct xw_binode *n);
void xw_sink_free(struct xw_sink *k);

#endif
