/* SPDX-License-Identifier: MIT */
/*
 * Bulk builder of itrees. Two steps, as for directories: plan (number of nodes) before space is
 * allocated, then write once locations are known. Both take the entries of the directory without
 * "." and "..", in the order of xw_itree_entry_cmp(), one at a time.
 */
#ifndef XW_DIR_ITREE_BUILD_H
#define XW_DIR_ITREE_BUILD_H

#include "base/vec.h"
#include "disk/itree.h"

struct xw_itree_leaf {
	struct xw_itree_key first;
	uint32_t sep_hash; /* hash of the separator before it: (first.ino, sep_hash) */
	uint16_t count, used;
};

struct xw_itree_plan {
	uint32_t block_size;
	unsigned levels; /* 1: the root is a leaf */
	uint32_t nodes[XW_ITREE_LEVELS]; /* number of nodes by level, leaves first */
	uint32_t blocks; /* total number of nodes */
	xw_ino last; /* highest inode so far */
	XW_VEC(struct xw_itree_leaf) leaves;
};

void xw_itree_plan_begin(struct xw_itree_plan *p, uint32_t block_size);
/* XW_ERR_NOMEM */
int xw_itree_plan_add(struct xw_itree_plan *p, const struct xw_itree_key *key, unsigned name_len);
/* XW_ERR_LIMIT: it would be too deep; the directory gets no itree. */
int xw_itree_plan_end(struct xw_itree_plan *p);
void xw_itree_plan_free(struct xw_itree_plan *p);

/* Write one block. A failure ends the run and is returned. */
typedef int xw_itree_put(void *arg, xw_blk blk, const void *block);

struct xw_itree_writer {
	/* set by the caller */
	const struct xw_itree_plan *plan;
	const struct xw_run *runs; /* plan->blocks blocks, used in order */
	size_t n_runs;
	xw_ino dir;
	uint32_t generation, inode_seed;
	bool csum;
	xw_itree_put *put;
	void *arg;
	/* internal state of the writer */
	uint8_t *block;
	size_t run; /* source of the next block */
	uint64_t at;
	uint32_t leaf, count, used; /* the leaf being filled: its number, entries and bytes */
};

/* The block of the root, known before anything is written. */
static inline xw_blk xw_itree_writer_root(const struct xw_itree_writer *w)
{
	return w->runs[0].start;
}

/*
 * Index nodes from the root down, then leaves in key order as entries arrive: blocks are written in
 * the order of the runs. XW_ERR_INTERNAL: the entries differ from the plan. xw_itree_write_end()
 * must be called in any case.
 */
int xw_itree_write_begin(struct xw_itree_writer *w);
int xw_itree_write_add(struct xw_itree_writer *w, const struct xw_itree_entry *e);
int xw_itree_write_end(struct xw_itree_writer *w);

#endif
