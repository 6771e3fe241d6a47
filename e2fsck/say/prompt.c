// SPDX-License-Identifier: MIT
/*
 * Questions on the terminal, answered with one key.
 *
 * The terminal is switched to single keys before the question is printed: an answer that arrives at
 * once, as from programs, would otherwise wait for the end of a line.
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/env.h"
#include "cli/escape.h"

#include "say/say.h"

/* Read keys until one is an answer. Other ones repeat the question, with the keys that are. */
static enum fsck_answer read_answer(const char *question)
{
	static const struct {
		const char *keys;
		enum fsck_answer answer;
	} rows[] = {
		{"yY \r\n", FSCK_ANSWER_YES},
		{"nN\033", FSCK_ANSWER_NO}, /* Escape */
		{"aA", FSCK_ANSWER_ALL},
		{"\003\004", FSCK_ANSWER_END}, /* Ctrl-C, Ctrl-D */
	};

	for (;;) {
		char key;
		const ssize_t n = read(STDIN_FILENO, &key, 1);

		if (n < 0 && errno == EINTR && !cli_interrupted())
			continue;
		if (n != 1)
			return FSCK_ANSWER_END;
		for (size_t i = 0; key && i < XW_ARRAY_SIZE(rows); i++)
			if (strchr(rows[i].keys, key))
				return rows[i].answer;
		cli_printf(stdout, "\ny is yes, n is no, a is yes to all%s", question);
		fflush(stdout);
	}
}

enum fsck_answer say_ask(const char *question)
{
	static const char *const said[] = {
		[FSCK_ANSWER_NO] = "no",
		[FSCK_ANSWER_YES] = "yes",
		[FSCK_ANSWER_ALL] = "yes to all",
		[FSCK_ANSWER_END] = "canceled",
	};
	struct termios before, keys;
	enum fsck_answer answer;

	fflush(stdout);
	if (tcgetattr(STDIN_FILENO, &before))
		return FSCK_ANSWER_END;
	keys = before;
	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	keys.c_cc[VMIN] = 1;
	keys.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSANOW, &keys);
	cli_printf(stdout, "%s", question);
	fflush(stdout);
	answer = read_answer(question);
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
	printf("%s\n", said[answer]);
	return answer;
}
