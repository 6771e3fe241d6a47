// SPDX-License-Identifier: MIT
/* The order of the phases in a round, and the number of rounds. */
#include "config.h"

#include <assert.h>

#include "phases/phases.h"
#include "check/check.h"

enum { ROUNDS_MAX = 8 };

/*
 * The phases, and what they provide for later ones. Until the owner map is complete, repairs write
 * only superblock, descriptors and inode records: see fsck_write(). The journal was replayed and
 * orphans were processed before, as Linux does.
 */
static const struct phase {
	int (*run)(struct fsck *f);
	unsigned pass; /* pass of e2fsck(8) to which its work belongs */
	bool names; /* the phase does nothing until the names are known */
} phases[] = {
	/* superblock, descriptors, journal inode, orphans; provides locations of group metadata */
	{fsck_check_super, 0},
	/* inode records, maps, attributes; provides claims of blocks, and directories */
	{fsck_check_inodes, 1},
	{fsck_claim_itrees, 1}, /* nodes of itrees: the last claims */
	{fsck_relocate, 1}, /* new places for lost bitmaps and tables, in unclaimed blocks */
	{fsck_find_values, 1}, /* attribute values whose EA inode number is wrong */
	{fsck_finish_claims, 1}, /* completes the owner map: writes rebuilt maps, and kept blocks */
	{fsck_check_contested, 1}, /* copies of blocks with two owners */
	{fsck_make_root, 1}, /* a lost root directory, when blocks have one owner */
	{fsck_check_special, 1}, /* blocks of resize inode, orphan file and MMP */
	{fsck_check_xattrs, 1}, /* reference counts of attribute blocks and EA inodes */
	/* directory blocks; provides names, parents, and entries for itrees */
	{fsck_check_dirs, 2, true},
	{fsck_check_tree, 3, true}, /* unattached directories: lost+found */
	{fsck_check_links, 4, true}, /* link counts; unattached inodes: lost+found */
	{fsck_recreate, 4}, /* a lost journal */
	{fsck_check_space, 5}, /* bitmaps, free counts, quota */
	{fsck_set_bad, 5},
	{fsck_rewrite_maps, 5},
};

static_assert(XW_ARRAY_SIZE(phases) <= FSCK_PART_SPACE, "a part for each phase");

static int run_round(struct fsck *f)
{
	for (unsigned i = 0; i < XW_ARRAY_SIZE(phases) && !f->ses.stop && !f->round.again; i++) {
		int rc;

		fsck_pass(f, phases[i].pass);
		if (f->ses.stop)
			return 0;
		f->round.part = i;
		rc = phases[i].run(f);
		if (rc)
			return rc;
		if (f->facts.names_known || !phases[i].names)
			fsck_looked(f, i);
	}
	return 0;
}

static int one_round(struct fsck *f)
{
	struct fsck_findings *const all = &f->ses.findings;
	const uint64_t fixed = all->fixed, accepted = all->accepted;
	const enum fsck_mode mode = f->opts.mode;
	int rc;

	fsck_unused_note(f);
	fsck_findings_round(all);
	fsck_facts_free(f);
	f->round = (struct fsck_round){.number = f->round.number, .pass = f->round.pass};
	if (f->ses.report_only)
		f->opts.mode = FSCK_NO;
	rc = run_round(f);
	f->opts.mode = mode;
	all->modified |= f->round.changed;
	if (!f->ses.stop && !f->round.changed) { /* none of the accepted repairs was possible */
		all->left += all->accepted - accepted;
		all->fixed = fixed;
	}
	return rc;
}

/* Something was not repaired or not checked, so the filesystem is not marked clean. */
static void count_left(struct fsck *f)
{
	f->ses.findings.left += !f->ses.findings.left;
}

int fsck_run(struct fsck *f)
{
	f->ses.full = true;
	f->ses.findings.modified = f->round.changed; /* by opening */
	for (f->round.number = 0; f->round.number < ROUNDS_MAX; f->round.number++) {
		const int rc = one_round(f);

		if (rc)
			return rc;
		if (f->ses.report_only || (f->round.again && !f->round.changed))
			count_left(f);
		if (f->ses.report_only || f->ses.stop || !f->round.changed)
			return 0;
		/* -n: changes in memory are not checked and reported a second time */
		if (f->opts.mode == FSCK_NO && !f->round.again)
			return 0;
	}
	/*
	 * The rounds do not converge: report the rest as with -n, and keep the repairs made so far.
	 */
	f->ses.report_only = true;
	count_left(f);
	return one_round(f);
}
