/* SPDX-License-Identifier: MIT */
/*
 * What a tool says on a terminal and elsewhere: messages with the tool's name, colour where it is
 * wanted, a progress bar, the question before overwriting.
 */
#ifndef XW_CLI_TERM_H
#define XW_CLI_TERM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum cli_style { CLI_PLAIN, CLI_BOLD, CLI_ERROR, CLI_WARNING, CLI_GOOD, CLI_DIM };

/* Is colour welcome there? A terminal that is not "dumb", and NO_COLOR is unset or empty. */
bool cli_colour(FILE *out);
/* The escape sequence that starts a style, "" where colour is not welcome; CLI_PLAIN ends it. */
const char *cli_style(FILE *out, enum cli_style style);

/* "NAME: LINE" on stderr, NAME being the tool's; as CLI_TEXT (escape.h). Wipe a bar that is being
 * drawn first. */
void cli_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void cli_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The line alone, for -v. */
void cli_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A continuation of the line before, indented under it. */
void cli_hint(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Ask on stdout, read a line from stdin. False without asking unless both are terminals; only an
 * answer that begins with y or Y is a yes.
 */
bool cli_confirm(const char *question);

/* Is this source "-", and standard input a terminal? Says so. */
bool cli_is_terminal(const char *source);

/*
 * A bar on stderr: share done, bytes, rate, files, time left. Drawn at most ten times a second,
 * and only where `wanted` and stderr is a terminal; all calls are cheap and safe otherwise.
 */
struct cli_progress {
	bool on;
	double drawn, rate_at; /* seconds, monotonic clock */
	uint64_t rate_done; /* bytes done at rate_at */
	double rate; /* bytes a second, smoothed */
};

void cli_progress_init(struct cli_progress *p, bool wanted);
void cli_progress_draw(struct cli_progress *p, const char *phase, uint64_t done, uint64_t total,
		       uint64_t files);
/* Wipe the bar, so that other lines can be printed; the next draw brings it back. */
void cli_progress_wipe(struct cli_progress *p);

/*
 * Last call of main(): a result that could not be written (a full disk behind >file) is a failure
 * too. Returns `status`, or 1 with a line printed.
 */
int cli_close_stdout(int status);
/* The same where `done` ("the image is made") is so whatever becomes of its account. */
int cli_close_account(int status, const char *done);

/* Seconds on a clock that only goes forward. */
double cli_clock(void);

#endif
