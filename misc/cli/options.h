/* SPDX-License-Identifier: MIT */
/*
 * Command lines from a table: one row an option says what it does. Almost all are handed to the
 * library by name, in the order given, because a later one may undo an earlier.
 *
 * Tools that fill images share the rows for filling and for talking.
 */
#ifndef XW_CLI_OPTIONS_H
#define XW_CLI_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

enum cli_action {
	CLI_TO_LIBRARY, /* handed on under its own name */
	CLI_REFUSED, /* stock tools have it, this version does not */
	CLI_ALWAYS, /* tar(1) has to be told, here it is so anyway */
	CLI_OURS, /* the tool's, or one of CLI_TALK_ROWS */
	CLI_HELP, /* prints the help */
};

struct cli_row {
	int key; /* letter, or a number above the letters for long-only options */
	int has_arg;
	const char *name; /* what the library and messages call it */
	enum cli_action action;
	const char *why; /* REFUSED: one phrase */
};

enum {
	CLI_KEY_ACLS = 256,
	CLI_KEY_CLAMP,
	CLI_KEY_DIRECTORY,
	CLI_KEY_EXCLUDE,
	CLI_KEY_GROUP,
	CLI_KEY_HELP,
	CLI_KEY_JOBS,
	CLI_KEY_JSON,
	CLI_KEY_MODE,
	CLI_KEY_NUMERIC,
	CLI_KEY_ONE_FS,
	CLI_KEY_OWNER,
	CLI_KEY_SELINUX,
	CLI_KEY_STRIP,
	CLI_KEY_WHITEOUTS,
	CLI_KEY_XATTRS,
	CLI_KEY_XATTRS_EXCLUDE,
	CLI_KEY_OWN, /* the tool's own begin here */
};

/* What is taken of the sources, and how the work is done. */
/* clang-format off */
#define CLI_FILL_ROWS \
	{CLI_KEY_CLAMP, no_argument, "--clamp-mtime", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_DIRECTORY, required_argument, "--directory", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_EXCLUDE, required_argument, "--exclude", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_GROUP, required_argument, "--group", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_JOBS, required_argument, "--jobs", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_MODE, required_argument, "--mode", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_ONE_FS, no_argument, "--one-file-system", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_OWNER, required_argument, "--owner", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_STRIP, required_argument, "--strip-components", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_WHITEOUTS, required_argument, "--whiteouts", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_XATTRS_EXCLUDE, required_argument, "--xattrs-exclude", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_ACLS, no_argument, "--acls", CLI_ALWAYS, NULL}, \
	{CLI_KEY_NUMERIC, no_argument, "--numeric-owner", CLI_ALWAYS, NULL}, \
	{CLI_KEY_SELINUX, no_argument, "--selinux", CLI_ALWAYS, NULL}, \
	{CLI_KEY_XATTRS, no_argument, "--xattrs", CLI_ALWAYS, NULL}, \
	{'X', required_argument, "--exclude-from", CLI_REFUSED, "patterns in a file"}

/* Handled here: help, version, how much is said. */
#define CLI_TALK_ROWS \
	{'h', no_argument, "--help", CLI_HELP, NULL}, \
	CLI_SAY_ROWS

/* The same where -h is something else. */
#define CLI_SAY_ROWS \
	{'q', no_argument, "-q", CLI_OURS, NULL}, \
	{'v', no_argument, "-v", CLI_OURS, NULL}, \
	{'V', no_argument, "--version", CLI_OURS, NULL}, \
	{CLI_KEY_JSON, no_argument, "--json", CLI_OURS, NULL}

/* The same as paragraphs of --help. */
#define CLI_FILL_HELP \
	"      --directory DIR       put the content below DIR in the image\n" \
	"      --strip-components N  drop N leading components of every name\n" \
	"      --exclude PATTERN     leave out what matches (more than once)\n" \
	"      --xattrs-exclude PATTERN  leave out extended attributes whose name matches\n" \
	"      --one-file-system     of a directory: do not descend into mounts\n" \
	"      --whiteouts WHAT      of OCI layers: apply, keep, or overlay (for overlayfs)\n" \
	"      --owner USER[:GROUP]  owner of everything; --group GROUP; --mode MODE likewise\n" \
	"      --clamp-mtime         no time later than SOURCE_DATE_EPOCH\n"
/* clang-format on */

struct cli_setting {
	const char *name, *value; /* as the library takes them; pointers into argv or constant */
	char *made; /* owned, where value is none of these */
};

struct cli_line {
	/* the tool's */
	const char *tool, *usage; /* its name; the synopsis without "usage: " */
	const struct cli_row *rows;
	size_t n_rows;
	void (*help)(FILE *out);
	/* Of CLI_OURS, what is not in CLI_TALK_ROWS: -1, or the status to exit with. */
	int (*take)(struct cli_line *l, int key, const char *value);
	void *arg;
	/* as read; values are not judged: the library does, and names them */
	struct cli_setting *settings; /* owned */
	size_t count;
	unsigned verbose;
	bool quiet, json;
};

/*
 * Read the options, and SOURCE_DATE_EPOCH as "now". -1: go on with the operands, argv[optind] and
 * following; otherwise the status to exit with (help was printed, or an error).
 */
int cli_line_read(struct cli_line *l, int argc, char **argv);
void cli_line_free(struct cli_line *l);
/* One setting more: room for one a word of argv is there. */
void cli_line_push(struct cli_line *l, const char *name, const char *value);
/*
 * "IMAGE?offset=BYTES", which e2fsprogs take, where no file is called so: image is cut, and the
 * rest taken as a value of -E. -1, or the status to exit with.
 */
int cli_line_offset(struct cli_line *l, char *image);
/* The first operand, the image; -1, or the status to exit with. */
int cli_line_first(struct cli_line *l, int argc, char **argv, const char **image);
/* The one operand that a tool takes, the image; -1, or the status to exit with. */
int cli_line_image(struct cli_line *l, int argc, char **argv, const char **image);
/* Prints the synopsis; EXIT_USAGE. */
int cli_line_usage(const struct cli_line *l);

#endif
