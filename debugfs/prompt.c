/* SPDX-License-Identifier: MIT */
/*
 * The source of requests: a prompt with history and completion if built with libedit and standard
 * input is a terminal, otherwise lines of a file.
 */
#include "config.h"

#include "cli/env.h"
#include "print.h"
#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int debugfs_script(struct dbg *d, FILE *in, bool echo)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	int err;

	while (!d->quit && !cli_interrupted() && (len = getline(&line, &size, in)) >= 0) {
		if (len && line[len - 1] == '\n')
			line[--len] = '\0';
		if (len && line[len - 1] == '\r') /* a line written on another system */
			line[--len] = '\0';
		/* The stock debugger prints the requests of a file with their results. */
		if (echo && !d->json)
			dbg_printf(d, *line == '#' ? "%s\n" : "debugfs: %s\n", line);
		if (*line != '#')
			dbg_run(d, line);
	}
	err = ferror(in) && !cli_interrupted() ? errno : 0;
	if (err && d->dirty) /* the rest of the script is missing */
		d->spoiled = true;
	free(line);
	return err;
}

/*
 * At a prompt an interrupt ends the request, or the line being typed, but not the session. A
 * session that is terminated, or loses its terminal, ends without committing its changes.
 */
static bool session_continues(struct dbg *d)
{
	if (cli_terminated())
		return false;
	cli_catch_interrupts(); /* for the next interrupt */
	return !d->quit;
}

/* No line was read. True: an interrupt dropped it, and the session continues. */
static bool dropped_line(struct dbg *d, bool failed)
{
	if (cli_terminated())
		return false;
	if (cli_interrupted()) {
		fputc('\n', d->out);
		return true;
	}
	if (failed && d->dirty)
		d->spoiled = true;
	return false;
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
		dbg_printf(d, "%s%s", *w, w[1] ? "  " : "\n");
	fflush(d->out);
}

/* Tab: insert the unambiguous part, or list the choices if there is none. */
static unsigned char on_tab(EditLine *el, int key)
{
	const LineInfo *li = el_line(el);
	const size_t at = (size_t)(li->cursor - li->buffer);
	struct dbg *d;
	size_t from, n;
	char **words;
	unsigned char rc = CC_REFRESH;

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
		rc = CC_REDISPLAY;
	}
	debugfs_complete_free(words);
	return rc;
}

static void run_prompt(struct dbg *d, EditLine *el, History *hist)
{
	HistEvent ev;

	while (session_continues(d)) {
		int len = 0;
		const char *line = el_gets(el, &len);
		char *text;

		if (!line || len <= 0) {
			if (!dropped_line(d, len < 0))
				break;
			el_reset(el);
			continue;
		}
		text = strndup(line, strcspn(line, "\n"));
		if (!text)
			return;
		if (*text)
			history(hist, &ev, H_ENTER, text);
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

	while (session_continues(d)) {
		fputs("debugfs: ", d->out);
		fflush(d->out);
		if (getline(&line, &size, stdin) >= 0) {
			dbg_run(d, line);
		} else {
			if (!dropped_line(d, ferror(stdin)))
				break;
			clearerr(stdin);
		}
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
