/* SPDX-License-Identifier: MIT */
/*
 * A change to the image of an import world that is cut, torn and failed at its steps: the image is
 * what it was, or what it should become. Where it is what it was, the same change does it then,
 * whatever the first one left in free space.
 */
#ifndef XW_TESTS_FAULT_WORLD_H
#define XW_TESTS_FAULT_WORLD_H

#include "import_world.h"
#include "unit.h"

struct fault {
	enum crash_mode mode;
	int code;
	uint32_t seed; /* from 2 on: another one at each step */
};

/* One run of the change on w, which is iw's image to begin with; why: what it says. */
typedef int fault_run(const struct import_world *iw, struct world *w, const void *what,
		      char why[WHY]);

struct fault_world {
	const struct import_world *iw;
	fault_run *run;
	const void *what;
	/* set by fault_undisturbed() */
	uint64_t old, new; /* digests */
	uint64_t steps;
	/* how often each was what there was afterwards */
	unsigned seen[2];
};

static inline void fault_undisturbed(struct fault_world *fw)
{
	struct world w;
	char why[WHY];

	world_around(&w, fw->iw->image, fw->iw->image_size);
	fw->old = world_reopen(&w);
	w.crash.steps = 0;
	if (fw->run(fw->iw, &w, fw->what, why))
		ck_abort_msg("%s", why);
	fw->steps = w.crash.steps;
	fw->new = world_reopen(&w);
	world_close(&w);
	ck_assert_uint_ne(fw->old, fw->new);
}

/* As it is, for others to read: there is no room for a recovery either. */
static inline void fault_check_full(const struct fault_world *fw, struct world *w, uint64_t k,
				    int rc)
{
	w->crash.fail_at = 0;
	if (digest(w->img) != (rc ? fw->old : fw->new))
		ck_abort_msg("step %llu: %d, and the image as it is has neither state",
			     (unsigned long long)k, rc);
}

static inline void fault_step(struct fault_world *fw, const struct fault *f, uint64_t k)
{
	struct world w;
	uint64_t sum;
	char why[WHY];
	int rc;

	world_around(&w, fw->iw->image, fw->iw->image_size);
	crash_dev_punch(w.img);
	w.crash.mode = f->mode;
	w.crash.code = f->code;
	w.crash.seed = f->seed < 2 ? f->seed : f->seed + (uint32_t)k * 2654435761u;
	w.crash.fail_at = k;
	rc = fw->run(fw->iw, &w, fw->what, why);
	if (f->mode == CRASH_FULL)
		fault_check_full(fw, &w, k, rc);
	sum = world_reopen(&w);
	if ((sum != fw->old && sum != fw->new) || (!rc && sum != fw->new))
		ck_abort_msg("step %llu: %d (%s), and the image is %s", (unsigned long long)k, rc,
			     why, sum == fw->old ? "old" : "neither old nor new");
	fw->seen[sum == fw->new]++;
	if (sum == fw->old) {
		if (fw->run(fw->iw, &w, fw->what, why))
			ck_abort_msg("step %llu, done again: %s", (unsigned long long)k, why);
		if (world_reopen(&w) != fw->new)
			ck_abort_msg("step %llu, done again: not the new state",
				     (unsigned long long)k);
	}
	world_close(&w);
}

/* At each of its steps, of which there are more than `least`. */
static inline void fault_every_step(const struct import_world *iw, fault_run *run, const void *what,
				    const struct fault *f, uint64_t least)
{
	struct fault_world fw = {.iw = iw, .run = run, .what = what};
	/* A host that is full stays so: what each step more shows is little. */
	const uint64_t stride = unit_stride() * (f->mode == CRASH_FULL ? 7 : 1);
	uint64_t k = 1;

	fault_undisturbed(&fw);
	ck_assert_uint_gt(fw.steps, least);
	for (; k <= fw.steps; k = k < fw.steps ? XW_MIN(k + stride, fw.steps) : k + 1)
		fault_step(&fw, f, k);
	/* Without reserving there are more of them. */
	if (f->code == XW_ERR_UNSUPPORTED)
		fault_step(&fw, f, 1000 * fw.steps);
	/* Before the commit point there are some, and behind it, too. */
	ck_assert_uint_gt(fw.seen[0], 0);
	ck_assert_uint_gt(fw.seen[1], 0);
}

#endif
