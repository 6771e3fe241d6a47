// SPDX-License-Identifier: MIT
/* The result of a check as one JSON object. */
#include "config.h"

#include <string.h>

#include "check/changes.h"
#include "check/check.h"

struct fsck_tally xw_fsck_tally(const struct fsck *f, const struct fsck_outcome *o)
{
	const struct fsck_findings *all = &f->ses.findings;
	const bool failed = o->status & FSCK_EXIT_ERROR || all->ended || all->canceled;

	return (struct fsck_tally){
		.clean = !o->rc && !all->left && !all->ended && !all->canceled,
		.modified = f->start.replayed_on_disk ||
			    (all->modified && !failed && f->opts.mode != FSCK_NO),
		.found = all->found,
		/* Repairs that were not written do not count. */
		.repaired = failed ? 0 : all->fixed,
		.left = all->left + (failed ? all->fixed : 0),
		.later = all->followed,
		.notes = all->notes,
		.rounds = f->round.number + 1,
	};
}

bool xw_fsck_tells_changes(const struct fsck *f, const struct fsck_outcome *o)
{
	const struct fsck_findings *all = &f->ses.findings;

	return !o->rc && !all->ended && !all->canceled && (all->found || all->followed) &&
	       (o->committed || f->opts.mode == FSCK_NO);
}

void xw_fsck_json(const struct fsck *f, const struct fsck_outcome *o, struct xw_json *j)
{
	const struct fsck_tally t = xw_fsck_tally(f, o);
	const char *const error = xw_fsck_why(f, o);

	xw_json_object(j, NULL);
	xw_json_str(j, "image", f->opts.image, strlen(f->opts.image));
	if (error)
		xw_json_str(j, "error", error, strlen(error));
	xw_json_bool(j, "clean", t.clean);
	xw_json_bool(j, "modified", t.modified);
	if (o->pending)
		xw_json_bool(j, "pending_change", true);
	if (o->completed)
		xw_json_bool(j, "completed_change", true);
	xw_json_u64(j, "found", t.found);
	xw_json_u64(j, "repaired", t.repaired);
	xw_json_u64(j, "left", t.left);
	xw_json_u64(j, "later", t.later);
	xw_json_u64(j, "notes", t.notes);
	xw_json_u64(j, "rounds", t.rounds);
	xw_json_u64(j, "exit_status", (uint64_t)o->status);
	if (xw_fsck_tells_changes(f, o))
		xw_fsck_changes_json(xw_fsck_changes(f), j, "changes");
	if (f->ses.steps.space.requests) /* repairs have allocated blocks */
		xw_space_stats_json(&f->ses.steps.space, j, "mballoc");
	xw_json_end(j, '}');
}
