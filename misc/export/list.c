/* SPDX-License-Identifier: MIT */
/*
 * The listing: one name per line as printed by tar -t, with -v like ls -l, or JSON: an object with
 * an array of files.
 */
#include "cli/env.h"
#include "cli/escape.h"
#include "export/tool.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

struct listing {
	const struct export_args *args;
	uint64_t n; /* number printed */
};

static void print_mode(uint32_t mode)
{
	static const char letters[] = "?pc?d?b?-?l?s???";
	char text[11] = "?rwxrwxrwx";

	text[0] = letters[mode >> 12 & 15];
	for (unsigned i = 0; i < 9; i++) {
		if (!(mode >> (8 - i) & 1))
			text[i + 1] = '-';
	}
	if (mode & S_ISUID)
		text[3] = text[3] == 'x' ? 's' : 'S';
	if (mode & S_ISGID)
		text[6] = text[6] == 'x' ? 's' : 'S';
	if (mode & S_ISVTX)
		text[9] = text[9] == 'x' ? 't' : 'T';
	fputs(text, stdout);
}

static void print_long(const struct xw_export_entry *e)
{
	time_t when = (time_t)e->mtime;
	char owner[32], size[32], date[32] = "?";
	struct tm tm;

	print_mode(e->mode);
	snprintf(owner, sizeof(owner), "%" PRIu32 "/%" PRIu32, e->uid, e->gid);
	if (S_ISCHR(e->mode) || S_ISBLK(e->mode))
		snprintf(size, sizeof(size), "%" PRIu32 ",%" PRIu32, e->dev_major, e->dev_minor);
	else
		snprintf(size, sizeof(size), "%" PRIu64, S_ISDIR(e->mode) ? 0 : e->size);
	if (localtime_r(&when, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm);
	printf(" %-9s %12s %s ", owner, size, date);
}

static void print_json(struct listing *l, const struct xw_export_entry *e)
{
	const bool device = S_ISCHR(e->mode) || S_ISBLK(e->mode);
	static const char *const types[16] = {
		[S_IFIFO >> 12] = "fifo",      [S_IFCHR >> 12] = "character device",
		[S_IFDIR >> 12] = "directory", [S_IFBLK >> 12] = "block device",
		[S_IFREG >> 12] = "file",      [S_IFLNK >> 12] = "symlink",
		[S_IFSOCK >> 12] = "socket",
	};
	const char *type = types[e->mode >> 12 & 15];

	fputs(l->n++ ? ",\n {" : "\n {", stdout);
	cli_json_text(stdout, "path", *e->path ? e->path : ".");
	printf(",\"type\":\"%s\",\"inode\":%" PRIu32 ",\"mode\":%" PRIu32 ",\"uid\":%" PRIu32
	       ",\"gid\":%" PRIu32 ",\"links\":%" PRIu32 ",\"size_bytes\":%" PRIu64
	       ",\"mtime\":%" PRId64 ",\"mtime_nsec\":%" PRIu32,
	       type ? type : "unknown", e->ino, e->mode & 07777, e->uid, e->gid, e->links, e->size,
	       e->mtime, e->mtime_nsec);
	if (device)
		printf(",\"major\":%" PRIu32 ",\"minor\":%" PRIu32, e->dev_major, e->dev_minor);
	if (e->link) {
		putchar(',');
		cli_json_text(stdout, e->hardlink ? "hard_link_to" : "target", e->link);
	}
	putchar('}');
}

static int print_entry(void *arg, const struct xw_export_entry *e)
{
	struct listing *l = arg;
	const struct export_args *args = l->args;

	if (args->line.json) {
		print_json(l, e);
		return ferror(stdout) || cli_interrupted() ? XW_E_IO : 0;
	}
	if (args->line.verbose)
		print_long(e);
	export_print_name(e);
	if (args->line.verbose && e->link) {
		fputs(e->hardlink ? " link to " : " -> ", stdout);
		cli_escape(stdout, CLI_TEXT_BACK, e->link, strlen(e->link));
	}
	putchar('\n');
	return ferror(stdout) || cli_interrupted() ? XW_E_IO : 0;
}

int export_listing(const struct export_args *args, struct xw_export *x)
{
	struct cli_run run = {.line = &args->line};
	struct listing l = {.args = args};
	bool whole;
	int rc;

	xw_export_on_log(x, cli_run_log, &run);
	if (args->line.json)
		fputs("{\"files\":[", stdout);
	rc = xw_export_list(x, args->image, print_entry, &l);
	if (args->line.json) {
		const char *why = cli_interrupted() ? "interrupted" : xw_export_error(x);

		putchar('\n');
		putchar(']');
		if (xw_export_result(x)->pending)
			fputs(",\"pending_change\":true", stdout);
		if (rc && *why) {
			putchar(',');
			cli_json_text(stdout, "error", why);
		}
		puts("}");
	}
	cli_run_end(&run);
	/* a failing stdout is reported by cli_close_stdout() */
	if (rc && cli_interrupted())
		cli_error("%s: interrupted", args->image);
	else if (rc && *xw_export_error(x))
		cli_line_error(&args->line, xw_export_error(x));
	return export_status(x, rc, &whole);
}
