/* SPDX-License-Identifier: MIT */
/* For tests of itrees: blocks in memory, and a checker's environment over them. */
#ifndef XW_TESTS_ITREE_MEM_H
#define XW_TESTS_ITREE_MEM_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "dir/itree_check.h"
#include "disk/inode.h"

#define MEM_SEED 0x12345678u
#define MEM_DIR 77u
#define MEM_GEN 5u

/* Blocks 1 .. n - 1; used[] counts owners. */
struct mem {
	uint32_t bs;
	size_t n;
	uint8_t *data, *used;
	uint64_t reads, writes;
	uint32_t free; /* blocks with used 0 */
	size_t hint;
};

static inline void mem_init(struct mem *m, uint32_t bs, size_t n)
{
	*m = (struct mem){.bs = bs, .n = n, .free = (uint32_t)n - 1, .hint = 1};
	m->data = calloc(n, bs);
	m->used = calloc(n, 1);
	ck_assert(m->data && m->used);
	m->used[0] = 1;
}

static inline void mem_free(struct mem *m)
{
	free(m->data);
	free(m->used);
}

static inline uint8_t *mem_at(struct mem *m, xw_blk blk)
{
	ck_assert_uint_lt(blk, m->n);
	return m->data + blk * m->bs;
}

/* What the checker said. */
struct findings {
	struct mem *m;
	unsigned rules; /* bit r: rule r was broken */
	unsigned n;
	enum xw_itree_repair repair; /* of the last one */
	bool mend;
	xw_blk taken, meta; /* blocks that are somebody else's; 0 = none */
	char text[256];
};

static inline int findings_read(void *arg, xw_blk blk, void *buf)
{
	struct findings *f = arg;

	memcpy(buf, mem_at(f->m, blk), f->m->bs);
	return 0;
}

static inline int findings_write(void *arg, xw_blk blk, const void *buf)
{
	struct findings *f = arg;

	memcpy(mem_at(f->m, blk), buf, f->m->bs);
	return 0;
}

static inline int findings_claim(void *arg, xw_blk blk)
{
	struct findings *f = arg;

	return blk == f->taken  ? XW_ITREE_CLAIM_TAKEN
	       : blk == f->meta ? XW_ITREE_CLAIM_META
				: XW_ITREE_CLAIM_OK;
}

static inline int findings_in_use(void *arg, xw_blk blk)
{
	struct findings *f = arg;

	return f->m->used[blk] != 0;
}

static inline int findings_report(void *arg, const struct xw_itree_finding *x)
{
	struct findings *f = arg;

	f->rules |= 1u << x->rule;
	f->repair = x->repair;
	if (!f->n++)
		snprintf(f->text, sizeof(f->text),
			 "rule %u, block %llu, level %u, entry %u: %s (%llu, %llu)", x->rule,
			 (unsigned long long)x->blk, x->level, x->entry, x->what,
			 (unsigned long long)x->found, (unsigned long long)x->wanted);
	return f->mend;
}

static inline struct xw_itree_env findings_env(struct findings *f, bool csum)
{
	return (struct xw_itree_env){
		.block_size = f->m->bs,
		.csum = csum,
		.feature = true,
		.first_data_block = 0,
		.blocks_count = f->m->n,
		.arg = f,
		.read = findings_read,
		.write = findings_write,
		.claim = findings_claim,
		.in_use = findings_in_use,
		.report = findings_report,
	};
}

#endif
