/* SPDX-License-Identifier: MIT */
/*
 * Bytes of names and values for people: an image may hold any, and a terminal obeys some of them.
 */
#ifndef XW_CLI_ESCAPE_H
#define XW_CLI_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

/* What stays as it is, and what stands for the rest. */
enum cli_escape {
	CLI_TEXT, /* UTF-8 but for control characters; \ooo, and a backslash is left alone */
	CLI_TEXT_BACK, /* the same, to be read back: a backslash is two */
	CLI_XML, /* the same as character data: entities, and question marks */
	CLI_HEX, /* ASCII; \xNN, and a backslash is left alone */
	CLI_HEX_BACK, /* the same, to be read back: a backslash is \x5c */
	CLI_C, /* ASCII; as C has it between quotes */
	CLI_CAT, /* ASCII; ^X and M-x as cat -v */
};

void cli_escape(FILE *out, enum cli_escape how, const void *bytes, size_t len);
/* The same in malloc'd memory; NULL: out of memory. */
char *cli_escaped(enum cli_escape how, const void *bytes, size_t len);
/*
 * "KEY":"TEXT" of a JSON object. Of text that is not UTF-8, odd bytes read as U+FFFD, and a member
 * KEY_hex behind it has them all.
 */
void cli_json_text(FILE *out, const char *key, const char *text);

#endif
