/* SPDX-License-Identifier: MIT */
/*
 * How a directory comes to be: N names one after the other; or, aged, names that are created with
 * a probability of 0.8 and deleted with 0.2, each new file taking the lowest inode that is free, as
 * ext4 does, until N are there.
 */
#ifndef XW_BENCH_AGER_H
#define XW_BENCH_AGER_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct ager {
	uint64_t n, n_live, next, state;
	bool aged;
	uint32_t *name; /* of the live files, by inode index; see live */
	uint32_t *live; /* inode indices in use, in no order */
	uint32_t *heap, n_heap, top; /* indices that were freed; the first that was never used */
};

struct ager_op {
	bool create;
	uint32_t name, index; /* of the inode, from 0 on: below n */
};

static inline void *ager_memory(uint64_t n)
{
	void *p = calloc(n + 1, sizeof(uint32_t));

	if (!p)
		abort();
	return p;
}

static inline void ager_init(struct ager *a, uint64_t n, bool aged)
{
	*a = (struct ager){.n = n, .aged = aged, .state = 1};
	a->name = ager_memory(n);
	a->live = ager_memory(n);
	a->heap = ager_memory(n);
}

static inline void ager_free(struct ager *a)
{
	free(a->name);
	free(a->live);
	free(a->heap);
}

static inline void ager_push(struct ager *a, uint32_t v)
{
	uint32_t i = a->n_heap++;

	for (; i && a->heap[(i - 1) / 2] > v; i = (i - 1) / 2)
		a->heap[i] = a->heap[(i - 1) / 2];
	a->heap[i] = v;
}

static inline uint32_t ager_pop(struct ager *a)
{
	const uint32_t least = a->heap[0], v = a->heap[--a->n_heap];
	uint32_t i = 0, k;

	while ((k = 2 * i + 1) < a->n_heap) {
		k += k + 1 < a->n_heap && a->heap[k + 1] < a->heap[k];
		if (a->heap[k] >= v)
			break;
		a->heap[i] = a->heap[k];
		i = k;
	}
	a->heap[i] = v;
	return least;
}

/* false: done. */
static inline bool ager_next(struct ager *a, struct ager_op *op)
{
	uint64_t dice, k;

	if (a->n_live == a->n)
		return false;
	a->state = a->state * 6364136223846793005u + 1442695040888963407u;
	dice = a->state >> 33;
	op->create = !a->aged || !a->n_live || dice % 10 < 8;
	if (op->create) {
		op->index = a->n_heap ? ager_pop(a) : a->top++;
		op->name = (uint32_t)a->next++;
		a->name[op->index] = op->name;
		a->live[a->n_live++] = op->index;
		return true;
	}
	k = dice / 10 % a->n_live;
	op->index = a->live[k];
	op->name = a->name[op->index];
	a->live[k] = a->live[--a->n_live];
	ager_push(a, op->index);
	return true;
}

static inline unsigned ager_name(char *buf, uint64_t i)
{
	return (unsigned)sprintf(buf, "file-of-the-bench-%08" PRIu64, i);
}

#endif
