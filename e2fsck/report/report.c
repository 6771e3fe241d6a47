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
		f->findings.canceled = f->stop = true;
}

void fsck_progress(struct fsck *f, uint64_t done, uint64_t of)
{
	if (f->to && f->to->progress)
		cancel(f, f->to->progress(f->to_arg, f, done, of));
}

void fsck_progress_end(struct fsck *f)
{
	if (f->to && f->to->progress_end)
		f->to->progress_end(f->to_arg, f);
}

void fsck_heading(struct fsck *f, const char *text)
{
	if (f->to && f->to->heading)
		f->to->heading(f->to_arg, f, text);
}

void fsck_pass(struct fsck *f, unsigned pass)
{
	if (f->pass == pass)
		return;
	f->pass = pass;
	if (f->to && f->to->pass)
		cancel(f, f->to->pass(f->to_arg, f, pass));
	if (pass)
		fsck_progress(f, 0, 1);
}

void fsck_pass_end(struct fsck *f)
{
	f->pass = 0;
	if (f->to && f->to->pass_end)
		cancel(f, f->to->pass_end(f->to_arg, f));
}

void fsck_forced(struct fsck *f)
{
	if (f->to && f->to->forced)
		f->to->forced(f->to_arg, f);
}

double xw_fsck_share(unsigned pass, double part)
{
	static const double ends[FSCK_PASSES + 1] = {0, 70, 90, 92, 95, 100};

	return pass ? ends[pass - 1] + (ends[pass] - ends[pass - 1]) * part : 0;
}
