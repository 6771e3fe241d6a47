// SPDX-License-Identifier: MIT
/* The end of a round, and the end of all repairs. */
#include "config.h"

#include <stdlib.h>

#include "facts/usage.h"
#include "facts/xattrs.h"

void fsck_facts_free(struct fsck *f)
{
	for (uint64_t g = 0; f->groups && g < f->img->groups; g++)
		free(f->groups[g]);
	free(f->groups);
	f->groups = NULL;
	fsck_owners_free(&f->owners);
	for (size_t i = 0; i < f->rebuilds.n; i++) {
		free(f->rebuilds.v[i].runs);
		free(f->rebuilds.v[i].nodes);
	}
	xw_vec_free(&f->rebuilds);
	xw_vec_free(&f->misplaced);
	xw_vec_free(&f->dirs);
	xw_vec_free(&f->dirblocks);
	xw_vec_free(&f->itrees);
	fsck_xattrs_free(f);
	fsck_quota_free(f);
	xw_table_free(&f->policies);
	f->counts = (struct fsck_counts){0};
	f->dir_runs = 0;
	f->dirs_cut = false;
	f->lost_found = 0;
	f->names_known = false;
}

void fsck_leave(struct fsck *f)
{
	if (f->opts.mode == FSCK_NO)
		return;
	f->leave = true;
	f->opts.mode = FSCK_NO;
}
