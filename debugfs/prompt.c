/* SPDX-License-Identifier: MIT */
/*
 * Where requests come from: a prompt with history and completion where libedit was there to build
 * with and standard input is a terminal, otherwise lines of a file.
 */
#include "config.h"

#include "cli/env.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void debugfs_script(struct dbg *d, FILE *in, bool echo)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t len;

	while (!d->quit && !cli_interrupted() && (len = getline(&line, &size, in)) >= 0) {
		if (len && line[len - 1] == '\n')
			line[--len] = '\0';
		/* The stock debugger shows the requests of a file beside their results. */
		if (echo && !d->json)
			fprintf(d->out, *line == '#' ? "%s\n" : "debugfs: %s\n", line);
		if (*line != '#')
			dbg_run(d, line);
	}
	free(line);
}

#ifdef HAVE_LIBEDIT

#include <histedit.h>

static char *prompt_text(EditLine *el)
{
	(void)el;
	return (char *)"debugfs: ";
}

static size_t common_prefix(char **words)
{
	size_t n = strlen(words[0]);

	for (char **w = words + 1; *w; w++) {
		size_t same = 0;

		while (same < n && words[0][same] == (*w)[same])
			same++;
		n = same;
	}
	return n;
}

static void show_words(struct dbg *d, char **words)
{
	fputc('\n', d->out);
	for (char **w = words; *w; w++)
		fprintf(d->out, "%s%s", *w, w[1] ? "  " : "\n");
	fflush(d->out);
}

/* Tab: as much as is certain, and what there is to choose from when that is nothing more. */
static unsigned char on_tab(EditLine *el, int key)
{
	const LineInfo *li = el_line(el);
	const size_t at = (size_t)(li->cursor - li->buffer);
	struct dbg *d;
	size_t from, n;
	char **words;
	unsigned char ret = CC_REFRESH;

	(void)key;
	el_get(el, EL_CLIENTDATA, &d);
	words = debugfs_complete(d, li->buffer, at, &from);
	if (!words)
		return CC_REFRESH_BEEP;
	n = common_prefix(words);
	if (n > at - from || !words[1]) {
		char *text = strndup(words[0], n);

		el_deletestr(el, (int)(at - from));
		el_insertstr(el, text ? text : "");
		free(text);
		if (!words[1] && n && words[0][n - 1] != '/')
			el_insertstr(el, " ");
	} else {
		show_words(d, words);
		ret = CC_REDISPLAY;
	}
	debugfs_complete_free(words);
	return ret;
}

static void run_prompt(struct dbg *d, EditLine *el, History *hist)
{
	const char *line;
	HistEvent ev;
	int len;

	while (!d->quit && (line = el_gets(el, &len)) && len > 0) {
		char *text = strndup(line, strcspn(line, "\n"));

		if (!text)
			return;
		if (*text)
			history(hist, &ev, H_ENTER, text);
		cli_catch_interrupts(); /* an interrupt ends the request, not the session */
		dbg_run(d, text);
		free(text);
	}
}

static bool prompt_with_editing(struct dbg *d)
{
	EditLine *el = el_init("xw-debugfs", stdin, stdout, stderr);
	History *hist = history_init();
	HistEvent ev;
	const bool ok = el && hist;

	if (ok) {
		history(hist, &ev, H_SETSIZE, 500);
		el_set(el, EL_CLIENTDATA, d);
		el_set(el, EL_PROMPT, prompt_text);
		el_set(el, EL_EDITOR, "emacs");
		el_set(el, EL_SIGNAL, 1);
		el_set(el, EL_HIST, history, hist);
		el_set(el, EL_ADDFN, "xw-complete", "complete a verb or name", on_tab);
		el_set(el, EL_BIND, "^I", "xw-complete", NULL);
		el_source(el, NULL);
		run_prompt(d, el, hist);
		if (!d->quit)
			fputc('\n', d->out);
	}
	if (hist)
		history_end(hist);
	if (el)
		el_end(el);
	return ok;
}

#else

static bool prompt_with_editing(struct dbg *d)
{
	(void)d;
	return false;
}

#endif

static void prompt_plainly(struct dbg *d)
{
	char *line = NULL;
	size_t size = 0;

	while (!d->quit) {
		fputs("debugfs: ", d->out);
		fflush(d->out);
		if (getline(&line, &size, stdin) < 0)
			break;
		cli_catch_interrupts();
		dbg_run(d, line);
	}
	if (!d->quit)
		fputc('\n', d->out);
	free(line);
}

void debugfs_prompt(struct dbg *d)
{
	d->interactive = true;
	if (!prompt_with_editing(d))
		prompt_plainly(d);
}
