// SPDX-License-Identifier: MIT
/* Compares space and quota with the facts: as a phase, and before anything is allocated. */
#include "config.h"

#include "repairs/space.h"

/* Once per round: after an update the collected usage is stale. */
static int examine_quota(struct fsck *f)
{
	if (f->round.quota_checked)
		return 0;
	f->round.quota_checked = true;
	fsck_looked(f, FSCK_PART_QUOTA);
	return fsck_check_quota(f);
}

int fsck_check_space(struct fsck *f)
{
	int rc;

	/*
	 * Without claims nothing was checked; after an update the bitmaps are newer than the facts.
	 */
	if (f->round.allocated || !f->facts.owners.claims)
		return 0;
	rc = fsck_bitmaps_repair(f);
	if (!rc && !f->ses.stop)
		rc = examine_quota(f);
	if (f->ses.freed_in <= f->round.number)
		f->ses.freed_in = 0;
	return rc;
}

/* Repair bitmaps, counts and quota, which an update changes. */
static int repair_space(struct fsck *f)
{
	int rc;

	if (!f->facts.owners.claims)
		return 0;
	rc = fsck_bitmaps_force(f);
	/* names tell which inode may be a quota file */
	if (!rc && !f->ses.stop && f->facts.names_known)
		rc = examine_quota(f);
	if (!rc && f->ses.stop && !f->ses.findings.canceled)
		rc = fsck_check_readable(f);
	return rc;
}

int fsck_update(struct fsck *f, struct xw_update **out)
{
	const int rc = f->ses.steps.u || f->round.allocated ? 0 : repair_space(f);

	*out = NULL;
	return rc ? rc : fsck_update_begin(f, out);
}
