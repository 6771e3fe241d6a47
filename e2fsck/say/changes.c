// SPDX-License-Identifier: MIT
/* What the repairs have changed, at the end of a check. */
#include "config.h"

#include <inttypes.h>

#include "cli/escape.h"
#include "check/changes.h"
#include "say/say.h"

enum { SHOWN = 20 };

static const struct {
	const char *done, *forecast; /* headings */
	const char *brief; /* for -p */
} texts[FSCK_CHANGE_KINDS] = {
	[FSCK_CHANGE_CONNECTED] = {"Connected to /lost+found", "Would be connected to /lost+found",
				   "connected to /lost+found"},
	[FSCK_CHANGE_CLEARED] = {"Inodes cleared", "Inodes that would be cleared",
				 "inodes cleared"},
	[FSCK_CHANGE_SHORTENED] = {"Shortened, or blocks may be lost",
				   "Would be shortened, or blocks may be lost", "shortened"},
	[FSCK_CHANGE_COPIED] = {"Shared blocks copied", "Shared blocks would be copied",
				"with shared blocks copied"},
	[FSCK_CHANGE_UNNAMED] = {"Names removed", "Names that would be removed", "names removed"},
	[FSCK_CHANGE_RENAMED] = {"Names changed", "Names that would be changed", "names changed"},
	[FSCK_CHANGE_ATTRIBUTE] = {"Extended attributes removed",
				   "Extended attributes that would be removed",
				   "with extended attributes removed"},
	[FSCK_CHANGE_SETTING] = {"Settings changed", "Settings that would be changed",
				 "settings changed"},
};

static void put(const char *before, const char *path, const char *after)
{
	fputs(before, stdout);
	xw_fsck_put_path(stdout, path);
	fputs(after, stdout);
}

static void say_change(const struct fsck_change *c)
{
	fputs("  ", stdout);
	if (c->text) {
		xw_fsck_put_path(stdout, c->text);
	} else if (c->kind == FSCK_CHANGE_CONNECTED) {
		printf("#%" PRIu32, c->ino);
		if (c->from)
			put(" (from ", c->from, ")");
	} else if (c->path) {
		put("", c->path, "");
		if (c->ino)
			printf(" (%" PRIu32 ")", c->ino);
	} else {
		printf("inode %" PRIu32, c->ino);
	}
	if (c->other_path)
		put(", also in ", c->other_path, "");
	if (c->other)
		printf(c->other_path ? " (%" PRIu32 ")" : ", also in inode %" PRIu32, c->other);
	putchar('\n');
}

static void say_kind(const struct say *s, const struct fsck_changes *all,
		     enum fsck_change_kind kind, bool forecast)
{
	uint64_t n = 0;

	if (!all->n[kind])
		return;
	printf("%s (%" PRIu64 "):\n", forecast ? texts[kind].forecast : texts[kind].done,
	       all->n[kind]);
	for (size_t i = 0; i < all->v.n && (n < SHOWN || s->verbose); i++) {
		if (all->v.v[i].kind != kind || all->v.v[i].undone)
			continue;
		say_change(&all->v.v[i]);
		n++;
	}
	if (n < all->n[kind])
		printf("  and %" PRIu64 " more (-v lists all)\n", all->n[kind] - n);
}

/* -p: one line, and none if nothing was lost. */
static void say_brief(const struct fsck *f, const struct fsck_changes *all)
{
	const char *comma = "";

	if (!xw_fsck_is_loss(all))
		return;
	cli_printf(stdout, "%s: ", xw_fsck_name(f));
	for (int kind = 0; kind < FSCK_CHANGE_KINDS; kind++)
		if (all->n[kind]) {
			printf("%s%" PRIu64 " %s", comma, all->n[kind], texts[kind].brief);
			comma = ", ";
		}
	printf(".\n");
}

void say_changes(const struct say *s, const struct fsck *f)
{
	const struct fsck_changes *const all = xw_fsck_changes(f);
	const bool forecast = f->opts.mode == FSCK_NO;

	if (f->opts.mode == FSCK_PREEN) {
		say_brief(f, all);
		return;
	}
	putchar('\n');
	for (int kind = 0; kind < FSCK_CHANGE_KINDS; kind++)
		say_kind(s, all, (enum fsck_change_kind)kind, forecast);
	if (!xw_fsck_is_loss(all))
		printf("No file, name or attribute %s lost.\n", forecast ? "would be" : "was");
}
