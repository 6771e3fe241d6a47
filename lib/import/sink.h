/* SPDX-License-Identifier: MIT */
/*
 * The data sink: the payload of a file is written directly to its final place, once and
 * sequentially. Space for the whole file is allocated before the first write; a file of unknown
 * size grows in place at the end of the data.
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
	struct xw_stream *stream; /* NULL: an existing image, whose allocator finds space */
	xw_blk goal; /* without a stream: end of the last file */
	struct xw_out *out;
	struct xw_diag *diag;
	uint64_t *missing; /* number of blocks that did not fit; if not 0, data is only counted */
	uint32_t block_size;
	uint32_t cluster_bits; /* bigalloc: log2 of the number of blocks in a cluster */
	/* last logical cluster of the current file, and its physical start */
	uint64_t last_cluster;
	xw_blk last_place;
	uint64_t max_lblk; /* maximum number of logical blocks of a file */
	/*
	 * Returns the room for inline data in n's inode; -1: none. NULL: no inline data. Inline
	 * data is stored in the arena as n->bytes.
	 */
	int64_t (*inline_room)(void *arg, const struct xw_binode *n);
	void *inline_arg;
	struct xw_arena *arena;
	/* Called after each piece; non-zero ends the run. */
	int (*tick)(void *arg);
	void *tick_arg;
	uint64_t replaced_blocks; /* allocated, written, and freed again */
	uint64_t data_blocks; /* allocated and not freed */
	/* of the file being written */
	XW_VEC(struct xw_extent) ext;
	size_t cursor; /* index of the extent that contains the last offset written */
};

/*
 * Allocate blocks for the current entry of the source, write its payload, and set size and extents
 * of n, which has no contents.
 */
int xw_sink_file(struct xw_sink *k, struct xw_source *s, const struct xw_entry *e,
		 struct xw_binode *n);
/* Free the blocks of n's contents. */
int xw_sink_release(struct xw_sink *k, struct xw_binode *n);
void xw_sink_free(struct xw_sink *k);

#endif
