// SPDX-License-Identifier: MIT
/*
 * Tells findings. One about a record of an inode table, or about names of unused inodes, is held
 * back: if the next ones are the same about the next inodes of the table block, all have one cause,
 * and are told as one.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "report/report.h"

struct fsck_held {
	struct fsck_told told; /* its `about` is the next member */
	struct fsck_about about;
	unsigned round;
	char *strings[5]; /* name, path, dir_path, other_path, from */
};

void fsck_held_free(struct fsck *f)
{
	struct fsck_held *h = f->ses.findings.held;

	for (size_t i = 0; h && i < XW_ARRAY_SIZE(h->strings); i++)
		free(h->strings[i]);
	free(h);
	f->ses.findings.held = NULL;
}

static void tell(struct fsck *f, const struct fsck_told *t)
{
	if (f->ses.to && f->ses.to->finding)
		f->ses.to->finding(f->ses.to_arg, f, t);
}

void fsck_findings_flush(struct fsck *f)
{
	if (f->ses.findings.held)
		tell(f, &f->ses.findings.held->told);
	fsck_held_free(f);
}

/* May findings of this kind be told as one? */
static bool is_collective(enum fsck_id id)
{
	return id == FSCK_GARBAGE || id == FSCK_INODE_MISPLACED || id == FSCK_INODE_CSUM ||
	       id == FSCK_DTIME_ZERO || id == FSCK_DIR_UNUSED_INODE;
}

static bool in_one_block(const struct fsck *f, xw_ino a, xw_ino b)
{
	const struct xw_image *img = f->ses.img;
	const uint32_t n = img->block_size / img->inode_size, per_group = img->sb.inodes_per_group;

	return (a - 1) / per_group == (b - 1) / per_group &&
	       (a - 1) % per_group / n == (b - 1) % per_group / n;
}

/* Is *t the finding that is held back, about the next inode? */
static bool extends(const struct fsck *f, const struct fsck_told *t)
{
	const struct fsck_held *h = f->ses.findings.held;
	const struct fsck_about *a = t->about, *b = &h->about;
	const xw_ino last = b->last ? b->last : b->ino;

	return a->id == b->id && a->ino == last + 1 && in_one_block(f, b->ino, a->ino) &&
	       a->dir == b->dir && a->num == b->num && a->num2 == b->num2 &&
	       t->done == h->told.done && t->agreed == h->told.agreed &&
	       t->follows == h->told.follows && f->round.number == h->round;
}

/* Copy a string; len 0: terminated. */
static const char *keep(const char *s, size_t len, char **own)
{
	if (s)
		*own = strndup(s, len ? len : strlen(s));
	return *own;
}

/* Hold *t back. Returns false without memory. */
static bool hold(struct fsck *f, const struct fsck_told *t)
{
	struct fsck_held *h = calloc(1, sizeof(*h));
	const struct fsck_about *a = t->about;
	struct fsck_about *b;

	if (!h)
		return false;
	h->told = *t;
	h->about = *a;
	h->told.about = b = &h->about;
	h->round = f->round.number;
	b->name = keep(a->name, a->name_len, &h->strings[0]);
	b->path = keep(a->path, 0, &h->strings[1]);
	b->dir_path = keep(a->dir_path, 0, &h->strings[2]);
	b->other_path = keep(a->other_path, 0, &h->strings[3]);
	b->from = keep(a->from, 0, &h->strings[4]);
	f->ses.findings.held = h;
	return true;
}

void fsck_findings_tell(struct fsck *f, const struct fsck_told *t)
{
	struct fsck_about described = *t->about;
	struct fsck_told told = *t;

	told.about = &described;
	if (f->ses.describe)
		f->ses.describe(f->ses.describe_arg, f, &described, &told);
	if (f->ses.findings.held && extends(f, &told)) {
		f->ses.findings.held->about.last = described.last ? described.last : described.ino;
		return;
	}
	fsck_findings_flush(f);
	if (told.asked || f->opts.each_told || !f->ses.img || !is_collective(described.id) ||
	    !hold(f, &told))
		tell(f, &told);
}
