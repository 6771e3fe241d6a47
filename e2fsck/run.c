// SPDX-License-Identifier: MIT
/* The order of a round, and how often it is repeated. */
#include "config.h"

#include "fsck.h"

enum { ROUNDS_MAX = 8 };

typedef int phase_fn(struct fsck *f);

static int run_round(struct fsck *f)
{
	static phase_fn *const phases[] = {
		fsck_check_super,     fsck_check_inodes, fsck_claim_itrees,
		fsck_check_contested, fsck_check_xattrs, fsck_check_dirs,
		fsck_check_tree,      fsck_check_links,  fsck_check_space,
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(phases) && !f->stop; i++) {
		const int rc = phases[i](f);

		if (rc)
			return rc;
	}
	return 0;
}

int fsck_run(struct fsck *f)
{
	f->full = true;
	for (f->round = 0; f->round < ROUNDS_MAX; f->round++) {
		int rc;

		fsck_facts_free(f);
		f->changed = f->allocated = false;
		rc = run_round(f);
		if (rc)
			return rc;
		if (f->stop || !f->changed)
			return 0;
	}
	return xw_fail(&f->diag, XW_ERR_INTERNAL, "%s: still not consistent after %d rounds",
		       f->opts.image, ROUNDS_MAX);
}
