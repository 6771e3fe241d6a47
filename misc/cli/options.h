/* SPDX-License-Identifier: MIT */
/*
 * Command lines from tables with one row per option. Parsing and --help are driven by the rows; the
 * completions of shells are made from --help, and the manual is compared with it.
 */
#ifndef XW_CLI_OPTIONS_H
#define XW_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct cli_line;
struct cli_option;

/* Handles an option: -1, or the exit status after a message. */
typedef int cli_option_fn(struct cli_line *l, const struct cli_option *o, const char *value);

struct cli_option {
	const char *letter, *name; /* "-x", "--extract"; NULL: none */
	/* Name of the value; NULL: none. Completions offer the words a and b of "a|b|NAME". */
	const char *value;
	const char *help; /* text of a heading without letter and name; NULL ends the table */
	cli_option_fn *handle; /* NULL: cli_tool's */
	size_t at; /* of cli_flag() and the like: offset of the member */
	const char *as; /* the name in the library; NULL: `name`, else `letter` */
};

/* ---- handlers ---- */

/* Pass the option to the library, in the given order: a later one may override an earlier one. */
cli_option_fn cli_pass, cli_pass_owner, cli_pass_group, cli_pass_date;
/*
 * Set a member of the tool's structure, which begins with struct cli_line: a bool, an unsigned that
 * counts, a const char *.
 */
cli_option_fn cli_flag, cli_increment, cli_text;
cli_option_fn cli_always; /* an option of tar(1) or e2fsprogs for the default behavior */
cli_option_fn cli_refused; /* `help` is what this version does not support; not listed */
cli_option_fn cli_help, cli_version;

/* Rows that most tools have. */
/* clang-format off */
#define CLI_LINE_MEMBER(member) offsetof(struct cli_line, member)
#define CLI_QUIET(help) {"-q", "--quiet", NULL, help, cli_flag, CLI_LINE_MEMBER(quiet)}
#define CLI_VERBOSE(help) {"-v", "--verbose", NULL, help, cli_increment, CLI_LINE_MEMBER(verbose)}
#define CLI_JSON(help) {NULL, "--json", NULL, help, cli_flag, CLI_LINE_MEMBER(json)}
#define CLI_PARTITION \
	{NULL, "--partition", "N", "the filesystem is in partition N of IMAGE", cli_text, \
	 CLI_LINE_MEMBER(partition)}
#define CLI_VERSION {"-V", "--version", NULL, "print the version", cli_version}
#define CLI_HELP {"-h", "--help", NULL, "print this help", cli_help}
/* Several rows: -q, -v, --json, -V. */
#define CLI_OUTPUT(verbose, json) \
	CLI_QUIET("print only warnings and errors"), CLI_VERBOSE(verbose), CLI_JSON(json), \
	CLI_VERSION
#define CLI_HEADING(text) {.help = (text)}
#define CLI_END {NULL}
/* clang-format on */

/* Selection and attributes of the files that an image is filled with (fill.c). */
extern const struct cli_option cli_fill_options[];
/* --commit and --redo-file of tools that change an image. */
extern const struct cli_option cli_commit_options[];

struct cli_tool {
	const char *name;
	const char *usage; /* the synopsis behind the name */
	const char *about, *notes; /* paragraphs of --help before and after the options */
	const struct cli_option *tables[6]; /* in the order of --help */
	cli_option_fn *handle; /* the handler of rows without one */
};

/* ---- a command line ---- */

struct cli_setting {
	const char *name, *value; /* as passed to the library; pointers into argv or constants */
	char *made; /* owned, if value is neither of these */
};

/* The first member of a tool's own structure. */
struct cli_line {
	const struct cli_tool *tool;
	struct cli_setting *settings; /* owned; the library validates them */
	size_t count;
	char **operands; /* those not consumed yet, NULL-terminated */
	const char *now; /* SOURCE_DATE_EPOCH or E2FSPROGS_FAKE_TIME; NULL: not set */
	unsigned verbose;
	bool quiet, json;
	bool placed; /* an offset was given */
	bool window; /* the offset is not 0: the filesystem is inside a larger file or device */
	const char *partition; /* --partition, until it is resolved to an offset */
	const char *image; /* for cli_line_failed(); may be NULL */
	char **words, *redo_dir, *undo_file, *offset; /* owned */
};

/*
 * Read the options and the environment; l is zero. -1: continue with l->operands; otherwise the
 * exit status (help or an error was printed). End with cli_line_free() in any case.
 */
int cli_line_read(struct cli_line *l, const struct cli_tool *tool, int argc, char **argv);
void cli_line_free(struct cli_line *l);
/* The name of an option in the library. */
const char *cli_option_name(const struct cli_option *o);
/* Append a setting: there is room for one per word of argv, and some more. */
void cli_line_push(struct cli_line *l, const char *name, const char *value);
/* The same; value is owned by the line. NULL: reports lack of memory. -1, or the exit status. */
int cli_line_push_made(struct cli_line *l, const char *name, char *value);
/* Append a value of -E, for tools that pass these to the library. */
void cli_line_extended(struct cli_line *l, const char *value);
/* The last setting of that name; NULL: there is none. */
const struct cli_setting *cli_line_setting(const struct cli_line *l, const char *name);

/* ---- operands ---- */

/* The first operand, the image; -1, or the exit status. */
int cli_line_first(struct cli_line *l, const char **image);
/* The only operand of a tool, the image, with cli_line_offset(). -1, or the exit status. */
int cli_line_image(struct cli_line *l, const char **image);
/*
 * Where in the image the filesystem begins. "IMAGE?offset=BYTES", as in e2fsprogs, if no file has
 * that name: image is truncated, and the rest used as a value of -E. --partition: so is the start
 * of that partition. -1, or the exit status.
 */
int cli_line_offset(struct cli_line *l, char *image);
/* --partition alone. */
int cli_line_partition(struct cli_line *l, const char *image);
/*
 * The value of -z: an empty *file stands for TOOL-IMAGE.e2undo in the directory that
 * E2FSPROGS_UNDO_DIR names (/var/lib/e2fsprogs if it is not set; "none": *file becomes NULL). -1,
 * or the exit status.
 */
int cli_line_undo(struct cli_line *l, const char *tool, const char *image, const char **file);

/* ---- messages ---- */

/*
 * A run failed, for the reason in text: a line on stderr, and with --json an object with it, as
 * "error", on stdout. If there is no filesystem because the image is a whole disk, a hint names its
 * partitions.
 */
void cli_line_failed(const struct cli_line *l, const char *text);
void cli_line_failf(const struct cli_line *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void cli_line_error(const struct cli_line *l, const char *text); /* only the line and the hint */
/* cli_line_failf() for a wrong command line; returns EXIT_USAGE. */
int cli_line_refuse(const struct cli_line *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Returns EXIT_FAILED. */
int cli_line_no_memory(const struct cli_line *l);
/*
 * The text of a failure: with --partition, "IMAGE: what" becomes "IMAGE: partition N: what". The
 * caller frees it; NULL: out of memory.
 */
char *cli_line_text(const struct cli_line *l, const char *text);
/* Does the text, about the image, say that no filesystem is where one was looked for? */
bool cli_text_no_filesystem(const char *image, const char *text);
/* Is this source "-", and standard input a terminal? Reports a failure in that case. */
bool cli_line_terminal(const struct cli_line *l, const char *source);
/* Print the synopsis; returns EXIT_USAGE. */
int cli_line_usage(const struct cli_line *l);
/*
 * The operands are wrong: print what is wrong, and the synopsis; under the name of a program of
 * e2fsprogs that prints only the synopsis, as that program does. Returns EXIT_USAGE.
 */
int cli_line_operands(const struct cli_line *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
