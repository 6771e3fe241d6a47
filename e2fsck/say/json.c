// SPDX-License-Identifier: MIT
/* --json: one finding per line, and a closing object on a line of its own. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#include "say/say.h"

static void print_line(struct xw_json *j)
{
	const char *text = xw_json_text(j);

	puts(text ? text : "{\"error\": \"out of memory\"}");
	xw_json_free(j);
}

static void put_number(struct xw_json *j, const char *key, const struct fsck_about *a, char letter)
{
	uint64_t n;

	if (xw_fsck_number(a, letter, &n))
		xw_json_u64(j, key, n);
}

static void put_path(struct xw_json *j, const char *key, const char *path)
{
	if (path)
		xw_json_str(j, key, path, strlen(path));
}

static const char *severity_name(enum fsck_severity severity)
{
	static const char *const names[] = {"note", "minor", "error", "fatal"};

	return names[severity];
}

static const char *done_name(enum fsck_done done)
{
	static const char *const names[] = {
		[FSCK_DONE_REPAIRED] = "repaired", [FSCK_DONE_ACCEPTED] = "accepted",
		[FSCK_DONE_DECLINED] = "declined", [FSCK_DONE_REPORTED] = "reported",
		[FSCK_DONE_ENDED] = "ended",
	};

	return names[done];
}

void say_json_finding(const struct fsck *f, const struct fsck_told *t)
{
	const struct fsck_about *const a = t->about;
	const struct fsck_row *const row = t->row;
	const char *const done = done_name(t->done);
	char *const text = xw_fsck_text_made(a);
	struct xw_json j = {0};

	xw_json_object(&j, NULL);
	xw_json_str(&j, "id", row->name, strlen(row->name));
	xw_json_str(&j, "severity", severity_name(row->severity),
		    strlen(severity_name(row->severity)));
	put_number(&j, "inode", a, 'i');
	if (xw_fsck_count(a) > 1) {
		xw_json_u64(&j, "inode_last", a->last);
		xw_json_u64(&j, "count", xw_fsck_count(a));
	}
	put_path(&j, "path", a->path);
	put_path(&j, "from", a->from);
	put_number(&j, "directory", a, 'd');
	put_path(&j, "directory_path", a->dir_path);
	if (a->other)
		xw_json_u64(&j, "other_inode", a->other);
	put_path(&j, "other_path", a->other_path);
	put_number(&j, "group", a, 'g');
	put_number(&j, "block", a, 'b');
	put_number(&j, "logical_block", a, 'l');
	put_number(&j, "number", a, 'n');
	put_number(&j, "number2", a, 'm');
	if (a->name)
		xw_json_str(&j, "name", a->name, a->name_len ? a->name_len : strlen(a->name));
	if (text)
		xw_json_str(&j, "text", text, strlen(text));
	if (row->offer)
		xw_json_str(&j, "offer", row->offer, strlen(row->offer));
	xw_json_u64(&j, "round", f->round.number + 1);
	if (t->follows)
		xw_json_bool(&j, "follows", true);
	xw_json_str(&j, "done", done, strlen(done));
	xw_json_end(&j, '}');
	print_line(&j);
	free(text);
}

void say_json_end(const struct fsck *f, const struct fsck_outcome *o)
{
	struct xw_json j = {0};

	xw_fsck_json(f, o, &j);
	print_line(&j);
}
