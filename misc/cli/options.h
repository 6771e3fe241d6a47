/* SPDX-License-Identifier: MIT */
/*
 * Command lines from a table with one row per option. Most options are passed to the library by
 * name, in the given order, because a later one may override an earlier one.
 *
 * Tools that fill images share the rows for filling and for verbosity.
 */
#ifndef XW_CLI_OPTIONS_H
#define XW_CLI_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

enum cli_action {
	CLI_TO_LIBRARY, /* passed on under its own name */
	CLI_REFUSED, /* supported by stock tools, but not by this version */
	CLI_ALWAYS, /* an option of tar(1) for behavior that is the default here */
	CLI_OURS, /* handled by the tool, or one of CLI_TALK_ROWS */
	CLI_HELP, /* prints the help */
	CLI_ALIAS, /* the long name of a letter */
};

struct cli_row {
	int key; /* the letter, or a number above the letters for long-only options */
	int has_arg;
	const char *name; /* the name used by the library and in messages */
	enum cli_action action;
	const char *why; /* REFUSED: the reason, one phrase; ALIAS: the letter */
};

enum {
	CLI_KEY_ACLS = 256,
	CLI_KEY_ALL_ROOT,
	CLI_KEY_CLAMP,
	CLI_KEY_DEVICES,
	CLI_KEY_DIRECTORY,
	CLI_KEY_EXCLUDE,
	CLI_KEY_FILE_CONTEXTS,
	CLI_KEY_FORCE,
	CLI_KEY_FS_CONFIG,
	CLI_KEY_GROUP,
	CLI_KEY_GROUP_MAP,
	CLI_KEY_HELP,
	CLI_KEY_IGNORE,
	CLI_KEY_JOBS,
	CLI_KEY_JSON,
	CLI_KEY_LABEL,
	CLI_KEY_MODE,
	CLI_KEY_MOUNT_POINT,
	CLI_KEY_MTIME,
	CLI_KEY_NEWER,
	CLI_KEY_NEWER_MTIME,
	CLI_KEY_NO_OCI,
	CLI_KEY_NUMERIC,
	CLI_KEY_OCI_CONFIG,
	CLI_KEY_ONE_FS,
	CLI_KEY_OWNER,
	CLI_KEY_OWNER_MAP,
	CLI_KEY_PARTITION,
	CLI_KEY_PLATFORM,
	CLI_KEY_QUIET,
	CLI_KEY_SELINUX,
	CLI_KEY_SPOOL_LIMIT,
	CLI_KEY_STRIP,
	CLI_KEY_TMPDIR,
	CLI_KEY_TRANSFORM,
	CLI_KEY_UUID,
	CLI_KEY_VERBOSE,
	CLI_KEY_WHITEOUTS,
	CLI_KEY_XATTRS,
	CLI_KEY_XATTRS_EXCLUDE,
	CLI_KEY_OWN, /* the keys of the tool start here */
};

/* Selection of sources, and how the work is done. */
/* clang-format off */
#define CLI_FILL_ROWS \
	{CLI_KEY_ALL_ROOT, no_argument, "--all-root", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_CLAMP, no_argument, "--clamp-mtime", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_DEVICES, required_argument, "--device-table", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_DIRECTORY, required_argument, "--directory", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_EXCLUDE, required_argument, "--exclude", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_FILE_CONTEXTS, required_argument, "--file-contexts", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_FS_CONFIG, required_argument, "--fs-config", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_GROUP, required_argument, "--group", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_GROUP_MAP, required_argument, "--group-map", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_IGNORE, no_argument, "--ignore-unreadable", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_JOBS, required_argument, "--jobs", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_MODE, required_argument, "--mode", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_MOUNT_POINT, required_argument, "--mount-point", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_MTIME, required_argument, "--mtime", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_NEWER, required_argument, "--newer", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_NEWER_MTIME, required_argument, "--newer-mtime", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_NO_OCI, no_argument, "--no-oci", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_OCI_CONFIG, required_argument, "--oci-config", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_ONE_FS, no_argument, "--one-file-system", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_OWNER, required_argument, "--owner", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_OWNER_MAP, required_argument, "--owner-map", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_PLATFORM, required_argument, "--platform", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_SPOOL_LIMIT, required_argument, "--spool-limit", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_STRIP, required_argument, "--strip-components", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_TMPDIR, required_argument, "--tmpdir", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_TRANSFORM, required_argument, "--transform", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_WHITEOUTS, required_argument, "--whiteouts", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_XATTRS_EXCLUDE, required_argument, "--xattrs-exclude", CLI_TO_LIBRARY, NULL}, \
	{CLI_KEY_ACLS, no_argument, "--acls", CLI_ALWAYS, NULL}, \
	{CLI_KEY_NUMERIC, no_argument, "--numeric-owner", CLI_ALWAYS, NULL}, \
	{CLI_KEY_SELINUX, no_argument, "--selinux", CLI_ALWAYS, NULL}, \
	{CLI_KEY_XATTRS, no_argument, "--xattrs", CLI_ALWAYS, NULL}, \
	{'X', required_argument, "--exclude-from", CLI_TO_LIBRARY, NULL}

/* Handled here: help, version, verbosity. */
#define CLI_TALK_ROWS \
	{'h', no_argument, "--help", CLI_HELP, NULL}, \
	CLI_SAY_ROWS

/* The same where -h has another meaning. */
#define CLI_SAY_ROWS \
	{'q', no_argument, "-q", CLI_OURS, NULL}, \
	{'v', no_argument, "-v", CLI_OURS, NULL}, \
	{CLI_KEY_QUIET, no_argument, "--quiet", CLI_ALIAS, "q"}, \
	{CLI_KEY_VERBOSE, no_argument, "--verbose", CLI_ALIAS, "v"}, \
	{'V', no_argument, "--version", CLI_OURS, NULL}, \
	{CLI_KEY_JSON, no_argument, "--json", CLI_OURS, NULL}

/* Long names of letters that several tools have. */
#define CLI_LABEL_ROWS \
	{CLI_KEY_LABEL, required_argument, "--label", CLI_ALIAS, "L"}, \
	{CLI_KEY_UUID, required_argument, "--uuid", CLI_ALIAS, "U"}

/* --partition N. The other way to say where the filesystem begins, -E offset=, differs by tool. */
#define CLI_PARTITION_ROW \
	{CLI_KEY_PARTITION, required_argument, "--partition", CLI_OURS, NULL}

/* The same as paragraphs of --help. */
#define CLI_FILL_HELP \
	"      --directory DIR       put the content below DIR in the image\n" \
	"      --strip-components N  drop N leading components of every name\n" \
	"      --exclude PATTERN     leave out what matches (more than once)\n" \
	"  -X, --exclude-from FILE   the same for each line of FILE\n" \
	"      --newer DATE|FILE     leave out files that did not change since\n" \
	"      --newer-mtime DATE|FILE  the same by time of modification alone\n" \
	"      --transform EXPR      change names by s/REGEXP/REPLACEMENT/, as tar does\n" \
	"      --xattrs-exclude PATTERN  leave out extended attributes whose name matches\n" \
	"      --one-file-system     of a directory: do not descend into mounts\n" \
	"      --ignore-unreadable   of a directory: leave out what may not be read\n" \
	"      --platform OS/ARCH[/VARIANT]  of a container image (default: this machine's)\n" \
	"      --oci-config FILE     write the configuration of a container image to FILE\n" \
	"      --no-oci              store container images as the files that they are\n" \
	"      --tmpdir DIR          for the temporary file that a piped image needs (TMPDIR)\n" \
	"      --spool-limit SIZE    the largest size of that file\n" \
	"      --whiteouts WHAT      of OCI layers: apply, keep, or overlay (for overlayfs)\n" \
	"      --owner USER[:GROUP]  owner of everything; --group GROUP; --mode MODE likewise\n" \
	"      --all-root            everything is root's\n" \
	"      --owner-map FILE      owners by a table of OLD NEW; --group-map FILE likewise\n" \
	"      --device-table FILE   devices, owners and modes by a table of genext2fs\n" \
	"      --fs-config FILE      owners, modes and capabilities by a table of Android\n" \
	"      --file-contexts FILE  SELinux labels by a file of selinux\n" \
	"      --mount-point DIR     what names in these two begin with\n" \
	"      --mtime DATE|FILE     the time of everything\n" \
	"      --clamp-mtime         no time later than that, or SOURCE_DATE_EPOCH\n" \
	"      --acls, --numeric-owner, --selinux, --xattrs  always on; taken for tar's sake\n"
/* clang-format on */

struct cli_setting {
	const char *name, *value; /* as passed to the library; pointers into argv or constants */
	char *made; /* owned, if value is neither of these */
};

struct cli_line {
	/* set by the tool */
	const char *tool, *usage; /* its name; the synopsis without "usage: " */
	const struct cli_row *rows;
	size_t n_rows;
	void (*help)(FILE *out);
	/* Handles CLI_OURS options that are not in CLI_TALK_ROWS: -1, or the exit status. */
	int (*take)(struct cli_line *l, int key, const char *value);
	void *arg;
	/* as read; the library validates values, and names them */
	struct cli_setting *settings; /* owned */
	size_t count;
	unsigned verbose;
	bool quiet, json;
	bool placed; /* an offset was given */
	bool window; /* which is not 0: the filesystem is inside a larger file or device */
	const char *partition; /* --partition, until it is resolved to an offset */
	const char *image; /* for cli_line_failed(); may be NULL */
	char *redo_dir; /* owned: cli_line_redo_dir() */
};

/*
 * Read the options, and SOURCE_DATE_EPOCH as "now". -1: continue with the operands from
 * argv[optind] on; otherwise the exit status (help or an error was printed).
 */
int cli_line_read(struct cli_line *l, int argc, char **argv);
void cli_line_free(struct cli_line *l);
/* Append a value of -E, for tools that pass these to the library. */
void cli_line_extended(struct cli_line *l, const char *value);
/* Append a setting: there is room for one per word of argv. */
void cli_line_push(struct cli_line *l, const char *name, const char *value);
/*
 * Where in the image the filesystem begins. "IMAGE?offset=BYTES", as in e2fsprogs, if no file has
 * that name: image is truncated, and the rest used as a value of -E. --partition: so is the start
 * of that partition. -1, or the exit status.
 */
int cli_line_offset(struct cli_line *l, char *image);
/* --partition alone. */
int cli_line_partition(struct cli_line *l, const char *image);
/* The first operand, the image; -1, or the exit status. */
int cli_line_first(struct cli_line *l, int argc, char **argv, const char **image);
/* The only operand of a tool, the image; -1, or the exit status. */
int cli_line_image(struct cli_line *l, int argc, char **argv, const char **image);
/*
 * A run failed, for the reason in text: a line on stderr, and with --json an object with it, as
 * "error", on stdout. If the image is a whole disk, a hint names its partitions.
 */
void cli_line_failf(const struct cli_line *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void cli_line_error(const struct cli_line *l, const char *text); /* the line and the hint alone */
void cli_line_failed(const struct cli_line *l, const char *text);
/*
 * The text of a failure: with --partition, "IMAGE: what" becomes "IMAGE: partition N: what". The
 * caller frees it; NULL: out of memory.
 */
char *cli_line_text(const struct cli_line *l, const char *text);
/* Is this source "-", and standard input a terminal? Reports a failure in that case. */
bool cli_line_terminal(const struct cli_line *l, const char *source);
/* Print the synopsis, which begins with l->tool; returns EXIT_USAGE. */
int cli_line_usage(const struct cli_line *l);
/*
 * The operands are wrong: say what is, and the synopsis; under the name of a program of e2fsprogs
 * that prints only the synopsis, as that does. Returns EXIT_USAGE.
 */
int cli_line_operands(const struct cli_line *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
