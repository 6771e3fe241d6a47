/* SPDX-License-Identifier: MIT */
/*
 * Splits a line into words like the stock debugger: words are separated by blanks, a double quote
 * anywhere in a word starts a part in which blanks are literal, and a doubled quote inside such a
 * part is a literal quote.
 */
#include "config.h"

#include "debugfs.h"

#include <stdlib.h>
#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Copy one word from *in to *out, terminated; false: an unclosed quote. */
static bool copy_word(const char **in, char **out)
{
	bool quoted = false;

	for (; **in && (quoted || !is_blank(**in)); ++*in) {
		if (**in != '"') {
			*(*out)++ = **in;
		} else if (quoted && (*in)[1] == '"') {
			*(*out)++ = '"';
			++*in;
		} else {
			quoted = !quoted;
		}
	}
	*(*out)++ = '\0';
	return !quoted;
}

int dbg_lex(const char *line, int *argc, char ***argv, char **words)
{
	const size_t len = strlen(line);
	char *out = malloc(len + 2);

	*words = out;
	*argc = 0;
	*argv = calloc(len / 2 + 2, sizeof(**argv));
	if (!out || !*argv)
		goto failed;
	for (;;) {
		while (is_blank(*line))
			line++;
		if (!*line)
			return 0;
		(*argv)[(*argc)++] = out;
		if (!copy_word(&line, &out))
			return -1;
	}
failed:
	free(*words);
	free(*argv);
	*words = NULL;
	*argv = NULL;
	return -1;
}
