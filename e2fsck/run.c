// SPDX-License-Identifier: MIT
/* The order of the phases in a round, and the number of rounds. */
#include "config.h"

#include "fsck.h"

enum { ROUNDS_MAX = 8 };

static const struct phase {
	int (*run)(struct fsck *f);
	unsigned pass; /* pass of e2fsck(8) to which its work belongs */
} phases[] = {
	{fsck_check_super, 0},  {fsck_check_inodes, 1},    {fsck_claim_itrees, 1},
	{fsck_relocate, 1},     {fsck_check_contested, 1}, {fsck_check_xattrs, 1},
	{fsck_check_dirs, 2},   {fsck_check_tree, 3},      {fsck_check_links, 4},
	{fsck_recreate, 4},     {fsck_check_space, 5},     {fsck_set_bad, 5},
	{fsck_rewrite_maps, 5},
};

static int run_round(struct fsck *f)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(phases) && !f->stop && !f->again; i++) {
		int rc;

		fsck_pass(f, phases[i].pass);
		if (f->stop)
			return 0;
		rc = phases[i].run(f);
		if (rc)
			return rc;
	}
	return 0;
}

/* Repairs were agreed to, but the round has written nothing: none of them was possible. */
static void take_back(struct fsck_findings *all)
{
	all->left += all->promised;
	all->fixed -= all->promised_fixed;
}

int fsck_run(struct fsck *f)
{
	f->full = true;
	f->findings.modified = f->changed; /* by opening */
	for (f->round = 0; f->round < ROUNDS_MAX; f->round++) {
		int rc;

		fsck_facts_free(f);
		f->changed = f->allocated = f->again = f->quota_checked = false;
		f->findings.promised = f->findings.promised_fixed = 0;
		rc = run_round(f);
		f->findings.modified |= f->changed;
		if (rc)
			return rc;
		if (!f->stop && !f->changed)
			take_back(&f->findings);
		if (f->stop || !f->changed)
			return 0;
	}
	return xw_fail(&f->diag, XW_ERR_INTERNAL, "%s: still not consistent after %d rounds",
		       f->opts.image, ROUNDS_MAX);
}
