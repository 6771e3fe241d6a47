/* SPDX-License-Identifier: MIT */
/*
 * Printing names and values from images, which may contain any bytes, including terminal control
 * sequences.
 */
#ifndef XW_CLI_ESCAPE_H
#define XW_CLI_ESCAPE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Which bytes are printed unchanged, and how the others are escaped. */
enum cli_escape {
	CLI_TEXT, /* UTF-8 except control characters; \ooo; backslashes are not escaped */
	CLI_TEXT_BACK, /* the same, reversible: a backslash is doubled */
	CLI_LINES, /* as CLI_TEXT, of several lines: newlines and tabs are not escaped either */
	CLI_XML, /* CLI_TEXT as XML character data: entities, and question marks */
	CLI_HEX, /* ASCII; \xNN; backslashes are not escaped */
	CLI_HEX_BACK, /* the same, reversible: a backslash is \x5c */
	CLI_C, /* ASCII; as in a C string */
	CLI_CAT, /* ASCII; ^X and M-x as cat -v */
};

void cli_escape(FILE *out, enum cli_escape how, const void *bytes, size_t len);
/* The same in malloc'd memory; NULL: out of memory. */
char *cli_escaped(enum cli_escape how, const void *bytes, size_t len);

bool cli_is_terminal(FILE *out);
/*
 * Print lines that may contain names as they were typed, or as the format of a stock tool has them:
 * escaped as CLI_LINES on a terminal, unchanged elsewhere.
 */
void cli_printf(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same for a stream whose reader is a terminal, such as a pager's, if `terminal` is true. */
void cli_vprintf(FILE *out, bool terminal, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

/*
 * "KEY":"TEXT" of a JSON object. In text that is not UTF-8 invalid bytes become U+FFFD, and a
 * following member KEY_hex has all bytes.
 */
void cli_json_text(FILE *out, const char *key, const char *text);

#endif
