// SPDX-License-Identifier: MIT
/*
 * The profiles that need no tables: pazdera and alternate.
 *
 * pazdera ages one directory as in Pazdera's thesis: files are created with a probability of 0.8
 * and deleted with 0.2 until the requested number exists. With --ops or --until the probabilities
 * are then reversed until a quarter of the files is left, and so on. With several directories
 * their inodes interleave.
 *
 * alternate writes files of two sizes in turn until the free space is used, then deletes those of
 * the second size, so that used and free runs alternate.
 */
#include "config.h"

#include "age/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* ---- pazdera ---- */

struct pazdera {
	struct xw_age_rng rng;
	uint64_t files, ops, done, next;
	uint64_t dirs;
	bool endless, shrinking;
	uint64_t size_min, size_max;
	struct xw_diag *diag;
	XW_VEC(uint64_t) live;
	char path[64];
};

static void pazdera_close(void *state)
{
	struct pazdera *p = state;

	xw_vec_free(&p->live);
	free(p);
}

static int pazdera_next(void *state, struct xw_age_op *op)
{
	struct pazdera *p = state;
	bool create;
	uint64_t id, k;

	if (p->ops ? p->done == p->ops : !p->endless && p->live.n == p->files)
		return 0;
	if (p->live.n == p->files)
		p->shrinking = true;
	else if (p->live.n <= p->files / 4)
		p->shrinking = false;
	create = !p->live.n || (xw_age_below(&p->rng, 10) < 8) != p->shrinking;
	create &= p->live.n < p->files;
	p->done++;
	if (create) {
		id = p->next++;
		if (xw_vec_push(&p->live, id))
			return xw_fail_nomem(p->diag, "files");
	} else {
		k = xw_age_below(&p->rng, p->live.n);
		id = p->live.v[k];
		p->live.v[k] = p->live.v[--p->live.n];
	}
	if (p->dirs > 1)
		snprintf(p->path, sizeof(p->path), "dir-%04" PRIu64 "/file-%010" PRIu64,
			 id % p->dirs, id);
	else
		snprintf(p->path, sizeof(p->path), "file-%010" PRIu64, id);
	*op = (struct xw_age_op){.what = create ? XW_AGE_CREATE : XW_AGE_DELETE, .path = p->path};
	if (create)
		op->bytes = xw_age_log_uniform(&p->rng, p->size_min, p->size_max);
	return 1;
}

int xw_age_pazdera(const struct xw_age_opts *o, struct xw_diag *diag, struct xw_age_source *src)
{
	struct pazdera *p = calloc(1, sizeof(*p));

	if (!p)
		return xw_fail_nomem(diag, "files");
	p->rng.state = o->seed;
	p->ops = o->ops;
	p->dirs = o->dirs;
	p->endless = xw_age_until_any(&o->until);
	p->files = o->files ? o->files : UINT64_MAX;
	p->size_min = o->size_min;
	p->size_max = XW_MAX(o->size_max, o->size_min);
	p->diag = diag;
	*src = (struct xw_age_source){p, pazdera_next, NULL, pazdera_close};
	return 0;
}

/* ---- alternate ---- */

#define PER_DIR 2000 /* files */

struct alternate {
	uint64_t used, free, pairs, done, ops;
	char path[48];
};

static void alternate_close(void *state)
{
	free(state);
}

static int alternate_next(void *state, struct xw_age_op *op)
{
	struct alternate *a = state;
	const bool second = a->done >= 2 * a->pairs; /* deletions */
	const uint64_t pair = second ? a->done - 2 * a->pairs : a->done / 2;
	const bool gap = second || a->done % 2;

	if (a->done == 3 * a->pairs || (a->ops && a->done == a->ops))
		return 0;
	snprintf(a->path, sizeof(a->path), "%06" PRIu64 "/%s-%010" PRIu64, pair / PER_DIR,
		 gap ? "gap" : "file", pair);
	*op = (struct xw_age_op){.what = second ? XW_AGE_DELETE : XW_AGE_CREATE, .path = a->path};
	op->bytes = second ? 0 : gap ? a->free : a->used;
	a->done++;
	return 1;
}

int xw_age_alternate(const struct xw_age_opts *o, const struct xw_age_base *base,
		     struct xw_diag *diag, struct xw_age_source *src)
{
	struct alternate *a;
	const uint64_t bs = base->block_size;
	/* 1/64 of the blocks is reserved for directories and extent trees. */
	const uint64_t room = base->free - base->free / 64;

	a = calloc(1, sizeof(*a));
	if (!a)
		return xw_fail_nomem(diag, "files");
	a->used = o->used;
	a->free = o->free;
	a->ops = o->ops;
	a->pairs = room / (xw_div_up(o->used, bs) + xw_div_up(o->free, bs));
	*src = (struct xw_age_source){a, alternate_next, NULL, alternate_close};
	return 0;
}
