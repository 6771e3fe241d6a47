// SPDX-License-Identifier: MIT
/* --json: one finding per line, and a closing object on a line of its own. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#include "report/report.h"

static void print_line(struct xw_json *j)
{
	const char *text = xw_json_text(j);

	puts(text ? text : "{\"error\": \"out of memory\"}");
	xw_json_free(j);
}

/* A member that is used in the text, or not zero. */
static void put_number(struct xw_json *j, const char *key, const char *text, char letter,
		       uint64_t n)
{
	const char place[] = {'%', letter, '\0'};

	if (n || strstr(text, place))
		xw_json_u64(j, key, n);
}

static const char *severity_name(enum fsck_severity severity)
{
	static const char *const names[] = {"note", "minor", "error", "fatal"};

	return names[severity];
}

void fsck_json_finding(const struct fsck *f, const struct fsck_about *a, bool follows,
		       const char *done)
{
	const struct fsck_row *row = fsck_row(a->id);
	char *const text = fsck_text_made(a);
	struct xw_json j = {0};

	xw_json_object(&j, NULL);
	xw_json_str(&j, "id", row->name, strlen(row->name));
	xw_json_str(&j, "severity", severity_name(row->severity),
		    strlen(severity_name(row->severity)));
	put_number(&j, "inode", row->text, 'i', a->ino);
	put_number(&j, "directory", row->text, 'd', a->dir);
	put_number(&j, "group", row->text, 'g', a->group);
	put_number(&j, "block", row->text, 'b', a->blk);
	put_number(&j, "logical_block", row->text, 'l', a->lblk);
	put_number(&j, "number", row->text, 'n', a->num);
	put_number(&j, "number2", row->text, 'm', a->num2);
	if (a->name)
		xw_json_str(&j, "name", a->name, a->name_len ? a->name_len : strlen(a->name));
	if (text)
		xw_json_str(&j, "text", text, strlen(text));
	if (row->offer)
		xw_json_str(&j, "offer", row->offer, strlen(row->offer));
	xw_json_u64(&j, "round", f->round + 1);
	if (follows)
		xw_json_bool(&j, "follows", true);
	xw_json_str(&j, "done", done, strlen(done));
	xw_json_end(&j, '}');
	print_line(&j);
	free(text);
}

void fsck_json_end(const struct fsck *f, const char *error, int status)
{
	const struct fsck_findings *all = &f->findings;
	const bool failed = status & FSCK_EXIT_ERROR || all->ended || all->canceled;
	struct xw_json j = {0};

	xw_json_object(&j, NULL);
	xw_json_str(&j, "image", f->opts.image, strlen(f->opts.image));
	if (error)
		xw_json_str(&j, "error", error, strlen(error));
	xw_json_bool(&j, "clean", !error && !all->left && !all->ended && !all->canceled);
	xw_json_bool(&j, "modified",
		     f->replayed_there || (all->modified && !failed && f->opts.mode != FSCK_NO));
	xw_json_u64(&j, "found", all->found);
	/* Repairs that were not written do not count. */
	xw_json_u64(&j, "repaired", failed ? 0 : all->fixed);
	xw_json_u64(&j, "left", all->left + (failed ? all->fixed : 0));
	xw_json_u64(&j, "later", all->followed);
	xw_json_u64(&j, "notes", all->notes);
	xw_json_u64(&j, "rounds", f->round + 1);
	xw_json_u64(&j, "exit_status", (uint64_t)status);
	if (f->steps.space.requests) /* repairs have taken blocks */
		xw_space_stats_json(&f->steps.space, &j, "mballoc");
	xw_json_end(&j, '}');
	print_line(&j);
}
