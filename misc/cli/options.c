/* SPDX-License-Identifier: MIT */
/*
 * Parsing, as getopt_long(3) does, but without abbreviations of long names: tar's --xattrs would
 * become --xattrs-exclude, and consume the next word.
 */
#include "config.h"

#include "cli/env.h"
#include "cli/options.h"
#include "cli/partition.h"
#include "cli/stock.h"
#include "cli/term.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *cli_option_name(const struct cli_option *o)
{
	return o->as ? o->as : o->name ? o->name : o->letter;
}

/* The row whose letter or long name is the first `len` bytes of word. */
static const struct cli_option *find_option(const struct cli_tool *tool, const char *word,
					    size_t len)
{
	for (const struct cli_option *const *table = tool->tables; *table; table++) {
		for (const struct cli_option *o = *table; o->help; o++) {
			const char *name = word[1] == '-' ? o->name : o->letter;

			if (name && strlen(name) == len && !memcmp(name, word, len))
				return o;
		}
	}
	return NULL;
}

/* ---- settings ---- */

void cli_line_push(struct cli_line *l, const char *name, const char *value)
{
	l->settings[l->count++] = (struct cli_setting){.name = name, .value = value};
}

int cli_line_push_made(struct cli_line *l, const char *name, char *value)
{
	if (!value)
		return cli_line_no_memory(l);
	cli_line_push(l, name, value);
	l->settings[l->count - 1].made = value;
	return -1;
}

const struct cli_setting *cli_line_setting(const struct cli_line *l, const char *name)
{
	for (size_t i = l->count; i; i--)
		if (!strcmp(l->settings[i - 1].name, name))
			return &l->settings[i - 1];
	return NULL;
}

/* Note an offset in text, a value of -E. */
static void note_offset(struct cli_line *l, const char *text)
{
	static const char name[] = "offset=";
	const char *at = text;

	while (strncmp(at, name, sizeof(name) - 1) != 0) {
		at += strcspn(at, ",");
		if (!*at++)
			return;
	}
	l->placed = true;
	at += sizeof(name) - 1;
	l->window = *at && strspn(at, "0") != strcspn(at, ","); /* the handler checks the number */
}

void cli_line_extended(struct cli_line *l, const char *value)
{
	note_offset(l, value);
	cli_line_push(l, "-E", value);
}

/* ---- handlers ---- */

int cli_pass(struct cli_line *l, const struct cli_option *o, const char *value)
{
	cli_line_push(l, cli_option_name(o), value);
	return -1;
}

int cli_flag(struct cli_line *l, const struct cli_option *o, const char *value)
{
	(void)value;
	*(bool *)(void *)((char *)l + o->at) = true;
	return -1;
}

int cli_increment(struct cli_line *l, const struct cli_option *o, const char *value)
{
	(void)value;
	++*(unsigned *)(void *)((char *)l + o->at);
	return -1;
}

int cli_text(struct cli_line *l, const struct cli_option *o, const char *value)
{
	*(const char **)(void *)((char *)l + o->at) = value;
	return -1;
}

int cli_always(struct cli_line *l, const struct cli_option *o, const char *value)
{
	(void)l, (void)o, (void)value;
	return -1;
}

int cli_refused(struct cli_line *l, const struct cli_option *o, const char *value)
{
	(void)value;
	return cli_line_refuse(l, "option %s (%s) is not supported by this version",
			       cli_option_name(o), o->help);
}

int cli_version(struct cli_line *l, const struct cli_option *o, const char *value)
{
	(void)o, (void)value;
	cli_print_version(l->tool->name);
	return EXIT_DONE;
}

/* ---- parsing ---- */

static int parse_option(struct cli_line *l, const struct cli_option *o, const char *value)
{
	if (value && o->letter && !strcmp(o->letter, "-E"))
		note_offset(l, value);
	return o->handle ? o->handle(l, o, value) : l->tool->handle(l, o, value);
}

/* "--name", "--name=value" or "--name value"; *next is the word behind it. */
static int parse_long(struct cli_line *l, char *word, char ***next)
{
	const size_t len = strcspn(word, "=");
	const struct cli_option *o = find_option(l->tool, word, len);
	const char *value = word[len] ? word + len + 1 : NULL;

	if (o && !o->value == !value)
		return parse_option(l, o, value);
	if (!o)
		cli_line_failf(l, "unknown option %s", word);
	else if (value)
		cli_line_failf(l, "option %s takes no value", o->name);
	else if (**next)
		return parse_option(l, o, *(*next)++);
	else
		cli_line_failf(l, "option %s needs a value", o->name);
	return cli_line_usage(l);
}

/* Letters behind a dash; the rest of the word, or the next word, is the value of the last one. */
static int parse_letters(struct cli_line *l, const char *word, char ***next)
{
	const bool stock = cli_stock_name(); /* in the words of getopt(3) */
	int status = -1;

	while (*++word && status < 0) {
		const char letter[] = {'-', *word, '\0'};
		const struct cli_option *o = find_option(l->tool, letter, 2);

		if (!o) {
			cli_line_failf(l, stock ? "invalid option -- '%s'" : "unknown option -%s",
				       letter + 1);
			return cli_line_usage(l);
		}
		if (!o->value) {
			status = parse_option(l, o, NULL);
			continue;
		}
		if (word[1])
			return parse_option(l, o, word + 1);
		if (**next)
			return parse_option(l, o, *(*next)++);
		if (stock)
			cli_line_failf(l, "option requires an argument -- '%c'", *word);
		else
			cli_line_failf(l, "option %s needs a value", o->letter);
		return cli_line_usage(l);
	}
	return status;
}

/* Find --json anywhere: it also applies to errors in the words before it. */
static bool wants_json(const struct cli_tool *tool, char **argv)
{
	for (; *argv && strcmp(*argv, "--") != 0; argv++)
		if (!strcmp(*argv, "--json"))
			return find_option(tool, "--json", strlen("--json"));
	return false;
}

static int parse_words(struct cli_line *l, char **next)
{
	const bool mixed = !getenv("POSIXLY_CORRECT"); /* options may follow operands */
	char **operand = l->words;
	int status = -1;

	while (*next && status < 0) {
		char *const word = *next++;

		if (word[0] != '-' || !word[1]) {
			*operand++ = word;
			if (mixed)
				continue;
			break;
		}
		if (!strcmp(word, "--"))
			break;
		status =
			word[1] == '-' ? parse_long(l, word, &next) : parse_letters(l, word, &next);
	}
	while (*next)
		*operand++ = *next++;
	l->operands = l->words;
	return status;
}

int cli_line_read(struct cli_line *l, const struct cli_tool *tool, int argc, char **argv)
{
	/* At most one setting a word or letter, and some of the tool's own. */
	size_t room = 8;
	char **const first = argv + (argc > 0);
	int status;

	for (char **arg = first; *arg; arg++)
		room += 1 + ((*arg)[0] == '-' ? strlen(*arg) : 0);
	l->tool = tool;
	l->json = wants_json(tool, first);
	l->settings = calloc(room, sizeof(*l->settings));
	l->words = calloc((size_t)argc + 1, sizeof(*l->words));
	if (!l->settings || !l->words)
		return cli_line_no_memory(l);
	status = parse_words(l, first);
	if (status >= 0)
		return status;
	if (cli_source_date_epoch(&l->now))
		return cli_line_refuse(
			l, "SOURCE_DATE_EPOCH='%s' is not a number of seconds since 1970",
			getenv("SOURCE_DATE_EPOCH"));
	if (!l->now)
		l->now = cli_fake_time();
	return -1;
}

/* ---- operands ---- */

/* Use text, "offset=BYTES", as a value of -E. */
static int set_offset(struct cli_line *l, const char *text)
{
	const struct cli_option *o = find_option(l->tool, "-E", 2);

	if (o)
		return parse_option(l, o, text);
	note_offset(l, text);
	return l->tool->handle(l, NULL, text);
}

int cli_line_partition(struct cli_line *l, const char *image)
{
	struct cli_partition_why why;
	uint64_t start;

	if (l->partition && l->placed)
		return cli_line_refuse(l, "--partition and an offset exclude each other");
	if (l->partition && !cli_partition_find(image, l->partition, &start, &why)) {
		cli_line_failf(l, "%s: %s", image, why.s);
		return EXIT_FAILED;
	}
	l->image = image;
	if (!l->partition)
		return -1;
	if (asprintf(&l->offset, "offset=%" PRIu64, start) < 0) {
		l->offset = NULL;
		return cli_line_no_memory(l);
	}
	return set_offset(l, l->offset);
}

int cli_line_offset(struct cli_line *l, char *image)
{
	char *at = strstr(image, "?offset=");

	if (at && access(image, F_OK)) {
		*at++ = '\0';
		if (l->placed)
			return cli_line_refuse(l, "%s: -E offset= and ?offset= exclude each other",
					       image);
		const int status = set_offset(l, at);

		if (status >= 0)
			return status;
	}
	return cli_line_partition(l, image);
}

int cli_line_first(struct cli_line *l, const char **image)
{
	if (!*l->operands)
		return cli_line_operands(l, "the name of the image is missing");
	*image = *l->operands++;
	return -1;
}

int cli_line_image(struct cli_line *l, const char **image)
{
	char *const name = *l->operands;
	const int status = cli_line_first(l, image);

	if (status >= 0)
		return status;
	if (*l->operands)
		return cli_line_operands(l, "unexpected argument '%s' after IMAGE", *l->operands);
	return cli_line_offset(l, name);
}

void cli_line_free(struct cli_line *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->settings[i].made);
	free(l->settings);
	free(l->words);
	free(l->redo_dir);
	free(l->undo_file);
	free(l->offset);
	l->settings = NULL;
	l->count = 0;
	l->words = NULL;
	l->redo_dir = l->undo_file = l->offset = NULL;
}
