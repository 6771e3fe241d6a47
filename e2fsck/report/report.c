// SPDX-License-Identifier: MIT
/*
 * Reports passes and progress. The passes have the same shares of the total as in e2fsck, for
 * scripts that parse the output of -C.
 */
#include "config.h"

#include "report/report.h"

static void cancel(struct fsck *f, bool canceled)
{
	if (canceled)
		f->ses.findings.canceled = f->ses.stop = true;
}

void fsck_progress(struct fsck *f, uint64_t done, uint64_t of)
{
	if (f->ses.to && f->ses.to->progress)
		cancel(f, f->ses.to->progress(f->ses.to_arg, f, done, of));
}

void fsck_progress_end(struct fsck *f)
{
	if (f->ses.to && f->ses.to->progress_end)
		f->ses.to->progress_end(f->ses.to_arg, f);
}

void fsck_heading(struct fsck *f, const char *text)
{
	fsck_findings_flush(f);
	if (f->ses.to && f->ses.to->heading)
		f->ses.to->heading(f->ses.to_arg, f, text);
}

void fsck_pass(struct fsck *f, unsigned pass)
{
	if (f->round.pass == pass)
		return;
	fsck_findings_flush(f);
	f->round.pass = pass;
	if (f->ses.to && f->ses.to->pass)
		cancel(f, f->ses.to->pass(f->ses.to_arg, f, pass));
	if (pass)
		fsck_progress(f, 0, 1);
}

void fsck_pass_end(struct fsck *f)
{
	fsck_findings_flush(f);
	f->round.pass = 0;
	if (f->ses.to && f->ses.to->pass_end)
		cancel(f, f->ses.to->pass_end(f->ses.to_arg, f));
}

void fsck_forced(struct fsck *f)
{
	if (f->ses.to && f->ses.to->forced)
		f->ses.to->forced(f->ses.to_arg, f);
}

double xw_fsck_share(unsigned pass, double part)
{
	static const double ends[FSCK_PASSES + 1] = {0, 70, 90, 92, 95, 100};

	return pass ? ends[pass - 1] + (ends[pass] - ends[pass - 1]) * part : 0;
}
