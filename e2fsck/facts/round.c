// SPDX-License-Identifier: MIT
/* The end of a round, and the end of all repairs. */
#include "config.h"

#include <stdlib.h>

#include "facts/usage.h"
#include "facts/xattrs.h"

void fsck_facts_free(struct fsck *f)
{
	for (uint64_t g = 0; f->facts.groups && g < f->ses.img->groups; g++)
		free(f->facts.groups[g]);
	free(f->facts.groups);
	fsck_owners_free(&f->facts.owners);
	for (size_t i = 0; i < f->facts.rebuilds.n; i++) {
		free(f->facts.rebuilds.v[i].runs);
		free(f->facts.rebuilds.v[i].nodes);
	}
	xw_vec_free(&f->facts.rebuilds);
	xw_vec_free(&f->facts.misplaced);
	xw_vec_free(&f->facts.dirs);
	xw_vec_free(&f->facts.dirblocks);
	xw_vec_free(&f->facts.itrees);
	fsck_xattrs_free(f);
	fsck_quota_free(f);
	xw_table_free(&f->facts.policies);
	f->facts = (struct fsck_facts){0};
}

void fsck_report_only(struct fsck *f)
{
	if (f->opts.mode == FSCK_NO)
		return;
	f->ses.report_only = true;
	f->opts.mode = FSCK_NO;
}
