// SPDX-License-Identifier: MIT
/*
 * Prints a finding with the action taken. Findings that follow from repairs are printed with -n and
 * -v only.
 */
#include "config.h"

#include "cli/escape.h"
#include "say/say.h"

/* The message, without the action taken. */
static void put_text(struct say *s, const struct fsck *f, const struct fsck_about *a)
{
	say_wipe(s);
	if (f->opts.mode == FSCK_PREEN)
		cli_printf(stdout, "%s: ", xw_fsck_name(f));
	xw_fsck_text(stdout, xw_fsck_row(a->id)->text, a);
	xw_fsck_put_more(stdout, a);
}

/* Is the finding shown? Notes that -p repairs silently are shown only with -v. */
static bool is_reported(const struct say *s, const struct fsck *f, const struct fsck_told *t)
{
	if (s->verbose)
		return true;
	if (t->row->preen == FSCK_P_QUIET &&
	    (t->row->severity == FSCK_NOTE || f->opts.mode == FSCK_PREEN))
		return false;
	return !t->follows || f->opts.mode == FSCK_NO;
}

/* The power of ten, from SAY_MAX on, that is above `before` and at most n; 0: there is none. */
static uint64_t power_of_ten(uint64_t before, uint64_t n)
{
	uint64_t power = SAY_MAX;

	while (power <= n / 10)
		power *= 10;
	return power > before && power <= n ? power : 0;
}

/* After SAY_MAX findings of a kind, a line at each power of ten replaces them. */
static bool is_shown(struct say *s, const struct fsck *f, const struct fsck_told *t)
{
	uint64_t *const told = &s->told[t->about->id];
	uint64_t before, n;

	if (!is_reported(s, f, t))
		return false;
	before = *told;
	*told += xw_fsck_count(t->about);
	if (s->verbose || before + 1 < SAY_MAX)
		return true;
	n = power_of_ten(before, *told);
	if (!n)
		return false;
	say_wipe(s);
	if (n == SAY_MAX)
		printf("%s: %llu times so far; more of these are counted, not shown (-v shows "
		       "all)\n\n",
		       t->row->name, (unsigned long long)n);
	else
		printf("%s: %llu times so far\n\n", t->row->name, (unsigned long long)n);
	return false;
}

void say_counted(const struct say *s)
{
	for (int id = 0; id < FSCK_IDS && !s->verbose; id++)
		if (s->told[id] >= SAY_MAX)
			printf("%s: %llu times\n", xw_fsck_row((enum fsck_id)id)->name,
			       (unsigned long long)s->told[id]);
}

static void say_ended(struct say *s, const struct fsck *f, const struct fsck_told *t)
{
	put_text(s, f, t->about);
	printf(".\n");
	fflush(stdout);
	/* the exact text of e2fsck, which boot scripts search for */
	cli_printf(stderr,
		   "\n\n%s: UNEXPECTED INCONSISTENCY; RUN fsck MANUALLY.\n"
		   "\t(i.e., without -a or -p options)\n",
		   xw_fsck_name(f));
}

static void say_text(struct say *s, const struct fsck *f, const struct fsck_told *t)
{
	const char *const offer = t->row->offer;

	if (!is_shown(s, f, t))
		return;
	put_text(s, f, t->about);
	if (!offer)
		printf(".\n");
	else if (!t->agreed)
		printf(".  %s? no\n\n", offer);
	else if (f->opts.mode == FSCK_PREEN)
		printf(".  %s.\n", xw_fsck_done_word(offer));
	else
		printf(".  %s? yes\n\n", offer);
}

void say_finding(void *arg, const struct fsck *f, const struct fsck_told *t)
{
	struct say *s = arg;

	if (s->json)
		say_json_finding(f, t);
	else if (t->done == FSCK_DONE_ENDED)
		say_ended(s, f, t);
	else if (!t->asked)
		say_text(s, f, t);
}

enum fsck_answer say_question(void *arg, const struct fsck *f, const struct fsck_about *a)
{
	char question[64];

	put_text(arg, f, a);
	snprintf(question, sizeof(question), ".  %s<y>? ", xw_fsck_row(a->id)->offer);
	return say_ask(question);
}
