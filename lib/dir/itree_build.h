/* SPDX-License-Identifier: MIT */
/*
 * Bulk builder of itrees. Two steps, as with directories: plan (how many nodes) before space is
 * allocated, then write when it is known where they go. Both are fed the directory's entries
 * without "." and "..", in the order of xw_itree_entry_cmp(), one at a time.
 */
#ifndef XW_DIR_ITREE_BUILD_H
#define XW_DIR_ITREE_BUILD_H

#include "base/vec.h"
#include "disk/itree.h"

#pragma GCC visibility push(default)

struct xw_itree_leaf {
	struct xw_itree_key first;
	uint32_t sep_hash; /* the separator before it: (first.ino, sep_hash) */
	uint16_t count, used;
};

struct xw_itree_plan {
	uint32_t block_size;
	unsigned levels; /* 1: the root is a leaf */
	uint32_t nodes[XW_ITREE_LEVELS]; /* by level, leaves first */
	uint32_t blocks; /* all of them */
	xw_ino last; /* of the entries so far */
	XW_VEC(struct xw_itree_leaf) leaves;
};

void xw_itree_plan_begin(struct xw_itree_plan *p, uint32_t block_size);
/* XW_ERR_NOMEM */
int xw_itree_plan_add(struct xw_itree_plan *p, const struct xw_itree_key *key, unsigned name_len);
/* XW_ERR_LIMIT: it would be too deep; the directory has no itree then. */
int xw_itree_plan_end(struct xw_itree_plan *p);
void xw_itree_plan_free(struct xw_itree_plan *p);

/* Receives whole blocks; its failure ends the run and is returned. */
typedef int xw_itree_put(void *arg, xw_blk blk, const void *block);

struct xw_itree_writer {
	/* set by the caller */
	const struct xw_itree_plan *plan;
	const struct xw_run *runs; /* plan->blocks blocks, used in their order */
	size_t n_runs;
	xw_ino dir;
	uint32_t generation, inode_seed;
	bool csum;
	xw_itree_put *put;
	void *arg;
	/* kept by the writer */
	uint8_t *block;
	size_t run; /* where the next block comes from */
	uint64_t at;
	uint32_t leaf, count, used; /* the leaf being filled, what it holds */
};

/* The root's block, known before anything is written. */
static inline xw_blk xw_itree_writer_root(const struct xw_itree_writer *w)
{
	return w->runs[0].start;
}

/*
 * Index nodes from the root down, then leaves in key order as entries arrive: blocks are put in the
 * order of the runs. XW_ERR_STATE: entries are not those of the plan. End it in any case.
 */
int xw_itree_write_begin(struct xw_itree_writer *w);
int xw_itree_write_add(struct xw_itree_writer *w, const struct xw_itree_entry *e);
int xw_itree_write_end(struct xw_itree_writer *w);

#pragma GCC visibility pop

#endif
