// SPDX-License-Identifier: MIT
/*
 * Policy: what becomes of a finding.
 *
 *	-n	declined
 *	-y	repaired
 *	-p	as its row says: repaired, or the check ends
 *	else	the user is asked
 *
 * A finding that was not repaired in a round is neither repaired nor reported again in later ones.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "report/report.h"

/*
 * The kind of a finding, and its subject, as a number other than 0. A secret one: a name that was
 * crafted to have the number of another finding would not be reported.
 */
static uint64_t hash_of(const struct fsck_about *a)
{
	const uint64_t parts[] = {(uint64_t)a->id + 1, a->ino, a->dir, a->group, a->blk, a->lblk};
	const size_t len = !a->name ? 0 : a->name_len ? a->name_len : strlen(a->name);
	const struct xw_hash_key key = xw_hash_process_key();
	/* several names may lead to ino */
	const uint64_t name = xw_hash_secret(&key, 0, len ? a->name : "", len);
	const uint64_t hash = xw_hash_secret(&key, name, parts, sizeof(parts));

	return hash ? hash : 1;
}

static bool was_left(const struct fsck *f, const struct fsck_about *a)
{
	static const struct xw_table_kind numbers = XW_TABLE_BY_U64(uint64_t);
	const uint64_t n = hash_of(a);

	return xw_table_get(&f->ses.findings.left_before, &numbers, NULL,
			    xw_table_number(&f->ses.findings.left_before, n), &n) != NULL;
}

void fsck_findings_round(struct fsck_findings *all)
{
	all->left -= all->unsolved;
	all->unsolved = 0;
}

void fsck_findings_free(struct fsck *f)
{
	fsck_held_free(f);
	xw_table_free(&f->ses.findings.left_before);
}

uint64_t fsck_repaired(const struct fsck_findings *all)
{
	const uint64_t told = all->found + all->followed;

	return told > all->left ? told - all->left : 0;
}

static unsigned part_of(const struct fsck *f, const struct fsck_about *a)
{
	if (a->id >= FSCK_BLOCK_BITMAP && a->id <= FSCK_FREE_INODES)
		return FSCK_PART_SPACE;
	if (a->id == FSCK_QUOTA_DAMAGED || a->id == FSCK_QUOTA_USAGE)
		return FSCK_PART_QUOTA;
	return f->round.part;
}

/* Does the finding follow from a repair? Otherwise the image had that damage when it was opened. */
static bool follows(const struct fsck *f, const struct fsck_about *a)
{
	const unsigned round = f->ses.looked[part_of(f, a)];

	return round && round <= f->round.number;
}

/* Is it a lack of space that the repairs of a later round may end? Each round tries again. */
static bool is_unsolved(const struct fsck_about *a)
{
	return a->id == FSCK_LPF_FULL || a->id == FSCK_DIR_NO_SPACE;
}

static void count(struct fsck *f, const struct fsck_about *a, bool repaired)
{
	struct fsck_findings *all = &f->ses.findings;
	const bool came = !follows(f, a);
	const uint64_t n = xw_fsck_count(a);

	if (xw_fsck_row(a->id)->severity == FSCK_NOTE) {
		all->notes++;
		return;
	}
	all->found += came ? n : 0;
	all->followed += came ? 0 : n;
	all->fixed += came && repaired ? n : 0;
	all->left += repaired ? 0 : n;
	all->accepted += repaired ? n : 0;
	all->unsolved += is_unsolved(a) ? n : 0;
}

/* Count a finding that was left in an earlier round and is not reported again. */
static void count_again(struct fsck_findings *all, const struct fsck_about *a)
{
	if (is_unsolved(a)) {
		all->left++;
		all->unsolved++;
	}
}

static bool ask(struct fsck *f, const struct fsck_about *a)
{
	struct fsck_about described = *a;

	if (was_left(f, a) || !f->ses.to || !f->ses.to->ask)
		return false;
	fsck_findings_flush(f);
	if (f->ses.describe)
		f->ses.describe(f->ses.describe_arg, f, &described, NULL);
	switch (f->ses.to->ask(f->ses.to_arg, f, &described)) {
	case FSCK_ANSWER_ALL:
		f->ses.findings.yes_to_all = true;
		return true;
	case FSCK_ANSWER_YES:
		return true;
	case FSCK_ANSWER_END:
		f->ses.findings.canceled = f->ses.stop = true;
		return false;
	default:
		return false;
	}
}

/* *asked: the user decides. */
static bool decide(struct fsck *f, const struct fsck_row *row, const struct fsck_about *a,
		   bool *asked)
{
	const bool ends = row->preen == FSCK_P_ABORT || row->preen == FSCK_P_CANNOT;

	if (row->preen == FSCK_P_REPORT || f->opts.mode == FSCK_NO)
		return false;
	if (f->round.must)
		return true;
	if (f->opts.mode == FSCK_PREEN && ends) {
		f->ses.findings.ended = f->ses.stop = true;
		return false;
	}
	if (f->opts.mode != FSCK_ASK || f->ses.findings.yes_to_all || !row->offer)
		return true;
	*asked = true;
	return ask(f, a);
}

static enum fsck_done done_of(const struct fsck *f, const struct fsck_row *row, bool repaired)
{
	/* With -p a later finding may end the check, and then nothing is written. */
	if (repaired)
		return f->opts.mode == FSCK_PREEN ? FSCK_DONE_ACCEPTED : FSCK_DONE_REPAIRED;
	if (f->ses.findings.ended)
		return FSCK_DONE_ENDED;
	return row->preen == FSCK_P_REPORT || row->preen == FSCK_P_CANNOT || !row->offer
		       ? FSCK_DONE_REPORTED
		       : FSCK_DONE_DECLINED;
}

/*
 * Is this a difference in bitmaps, counts or quota that is caused by blocks which an option freed?
 * Then it is no damage.
 */
static bool is_wanted(const struct fsck *f, const struct fsck_about *a)
{
	return f->ses.freed_in && f->ses.freed_in <= f->round.number && f->opts.mode != FSCK_NO &&
	       follows(f, a) &&
	       (a->id == FSCK_BLOCK_BITMAP || a->id == FSCK_GROUP_FREE_BLOCKS ||
		a->id == FSCK_FREE_BLOCKS || a->id == FSCK_QUOTA_USAGE);
}

/*
 * Was a free count of the superblock wrong before anything was written? Then it is not a
 * consequence of repairs or of options that rewrite.
 */
static bool is_recount(const struct fsck *f, const struct fsck_about *a)
{
	const struct fsck_opts *o = &f->opts;

	return (a->id == FSCK_FREE_BLOCKS || a->id == FSCK_FREE_INODES) && !f->round.number &&
	       !o->optimize_dirs && !o->bmap2extent && !o->optimize_extents;
}

bool fsck_found(struct fsck *f, const struct fsck_about *a)
{
	const struct fsck_row *row = xw_fsck_row(a->id);
	struct fsck_told told = {.about = a, .row = row};

	/* Data that seems to be missing may only be unreadable. */
	f->ses.stop = f->ses.stop || (f->opts.mode != FSCK_NO && fsck_check_readable(f));
	if (f->ses.stop)
		return false;
	if (f->round.number && was_left(f, a)) {
		count_again(&f->ses.findings, a);
		return f->round.must && f->opts.mode != FSCK_NO;
	}
	if (is_wanted(f, a)) {
		f->ses.findings.notes++;
		return true;
	}
	told.agreed = decide(f, row, a, &told.asked);
	told.repaired = told.agreed && row->preen != FSCK_P_CANNOT;
	told.done = done_of(f, row, told.repaired);
	told.follows = follows(f, a);
	if (!told.repaired && f->opts.mode != FSCK_NO) /* out of memory: it is reported again */
		(void)xw_numbers_add(&f->ses.findings.left_before, hash_of(a));
	count(f, a, told.repaired);
	if (told.repaired && is_recount(f, a))
		f->ses.findings.recounted = true;
	fsck_findings_tell(f, &told);
	return told.agreed;
}

int fsck_check_readable(struct fsck *f)
{
	const uint64_t off = __atomic_load_n(&f->ses.unreadable, __ATOMIC_RELAXED);

	if (!off)
		return 0;
	xw_diag_clear(&f->ses.diag);
	return xw_fail_errno(&f->ses.diag, XW_ERR_IO, EIO,
			     "%s: the check is incomplete, and nothing was repaired: cannot read "
			     "block %" PRIu64,
			     f->opts.image, off / xw_overlay_block_size(f->ses.dev));
}
