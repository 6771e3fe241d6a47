// SPDX-License-Identifier: MIT
/* The order of the phases in a round, and the number of rounds. */
#include "config.h"

#include "phases/phases.h"
#include "tool.h"

enum { ROUNDS_MAX = 8 };

/*
 * What the phases need, and what they give. Until the owner map is settled repairs write nothing
 * but superblock, descriptors and inode records: see fsck_write(). A journal is replayed and
 * orphans are put away before, as Linux does.
 */
static const struct phase {
	int (*run)(struct fsck *f);
	unsigned pass; /* pass of e2fsck(8) to which its work belongs */
} phases[] = {
	/* superblock, descriptors, journal inode, orphans; gives the places of group metadata */
	{fsck_check_super, 0},
	/* every record, its map and attributes: who claims which blocks, which are directories */
	{fsck_check_inodes, 1},
	{fsck_claim_itrees, 1}, /* nodes of itrees: the last claims */
	{fsck_relocate, 1}, /* new places for lost bitmaps and tables, in unclaimed blocks */
	{fsck_find_values, 1}, /* attribute values whose EA inode leads elsewhere */
	{fsck_settle, 1}, /* the owner map is settled: rebuilt maps, and writes that were kept */
	{fsck_check_contested, 1}, /* copies of blocks with two owners */
	{fsck_check_special, 1}, /* blocks of resize inode, orphan file and MMP */
	{fsck_check_xattrs, 1}, /* reference counts of attribute blocks and EA inodes */
	{fsck_check_dirs, 2}, /* every directory block; gives names, parents, itrees' entries */
	{fsck_check_tree, 3}, /* directories that nobody names: lost+found */
	{fsck_check_links, 4}, /* link counts; inodes without a name: lost+found */
	{fsck_recreate, 4}, /* a lost journal */
	{fsck_check_space, 5}, /* bitmaps, free counts, quota */
	{fsck_set_bad, 5},
	{fsck_rewrite_maps, 5},
};

/*
 * The first time that a phase gets to see everything, what it finds was wrong with the image; later
 * it follows from a repair.
 */
static int run_phase(struct fsck *f, size_t i)
{
	const unsigned bit = 1u << i;
	int rc;

	f->first_look = !(f->looked & bit);
	rc = phases[i].run(f);
	f->first_look = false;
	if (!rc && !f->stop && !f->hidden)
		f->looked |= bit;
	return rc;
}

static int run_round(struct fsck *f)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(phases) && !f->stop && !f->again; i++) {
		int rc;

		fsck_pass(f, phases[i].pass);
		if (f->stop)
			return 0;
		rc = run_phase(f, i);
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

static int one_round(struct fsck *f)
{
	const enum fsck_mode mode = f->opts.mode;
	int rc;

	fsck_unused_note(f);
	fsck_facts_free(f);
	f->changed = f->allocated = f->again = f->hidden = f->quota_checked = false;
	f->findings.promised = f->findings.promised_fixed = 0;
	if (f->leave)
		f->opts.mode = FSCK_NO;
	rc = run_round(f);
	f->opts.mode = mode;
	f->findings.modified |= f->changed;
	return rc;
}

/* Not everything was repaired, or looked at: the filesystem is marked as not clean. */
static void count_left(struct fsck *f)
{
	f->findings.left += !f->findings.left;
}

int fsck_run(struct fsck *f)
{
	f->full = true;
	f->findings.modified = f->changed; /* by opening */
	for (f->round = 0; f->round < ROUNDS_MAX; f->round++) {
		const int rc = one_round(f);

		if (rc)
			return rc;
		if (!f->stop && !f->changed)
			take_back(&f->findings);
		if (f->leave || (f->again && !f->changed))
			count_left(f);
		if (f->leave || f->stop || !f->changed)
			return 0;
		/* -n: what was changed in memory only is not checked and reported a second time */
		if (f->opts.mode == FSCK_NO && !f->again && !f->hidden)
			return 0;
	}
	/* It does not converge: report the rest as with -n, and keep the repairs made so far. */
	f->leave = true;
	count_left(f);
	return one_round(f);
}
