/* SPDX-License-Identifier: MIT */
/*
 * Output of a tool on a terminal and elsewhere: messages with the tool's name, color if supported,
 * a progress bar, the question before overwriting.
 */
#ifndef XW_CLI_TERM_H
#define XW_CLI_TERM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum cli_style { CLI_PLAIN, CLI_BOLD, CLI_ERROR, CLI_WARNING, CLI_GOOD, CLI_DIM };

/* Use color? On a terminal that is not "dumb", if NO_COLOR is unset or empty. */
bool cli_color(FILE *out);
/* The escape sequence that starts a style, "" without color; CLI_PLAIN ends it. */
const char *cli_style(FILE *out, enum cli_style style);

/* The name that the tool was called by; it lasts as long as the program. */
const char *cli_tool_name(void);
/*
 * "NAME: LINE" on stderr, NAME being the tool's; escaped as CLI_TEXT (escape.h). A bar being drawn
 * must be wiped first.
 */
void cli_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void cli_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Only the line, for -v. */
void cli_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A continuation of the previous line, indented. */
void cli_hint(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Are standard input and output terminals, so that the user can answer? */
bool cli_can_ask(void);

/*
 * Ask on stdout, read a line from stdin. Returns false without asking unless both are terminals;
 * only an answer that starts with y or Y is a yes.
 */
bool cli_confirm(const char *question);

/*
 * A bar on stderr: share done, bytes, rate, files, time left. Drawn at most ten times a second, and
 * only if `wanted` and stderr is a terminal; otherwise all calls are cheap and safe.
 */
struct cli_progress {
	bool on;
	double drawn, rate_at; /* seconds, monotonic clock */
	uint64_t rate_done; /* bytes done at rate_at */
	double rate; /* bytes per second, smoothed */
};

void cli_progress_init(struct cli_progress *p, bool wanted);
void cli_progress_draw(struct cli_progress *p, const char *phase, uint64_t done, uint64_t total,
		       uint64_t files);
/* Wipe the bar, so that other lines can be printed; the next draw restores it. */
void cli_progress_wipe(struct cli_progress *p);

/*
 * The last call of main(): failing to write a result (a full disk behind >file) is a failure, too.
 * Returns `status`, or 1 with a message.
 */
int cli_close_stdout(int status);
/*
 * The same for a run whose work is complete (`done`: "the image is made") even if its report cannot
 * be written.
 */
int cli_close_account(int status, const char *done);

/* Seconds of a monotonic clock. */
double cli_clock(void);

#endif
