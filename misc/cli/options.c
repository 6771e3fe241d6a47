/* SPDX-License-Identifier: MIT */
/* getopt needs two tables of its own; both are generated from the rows. */
#include "config.h"

#include "cli/archive.h"
#include "cli/date.h"
#include "cli/env.h"
#include "cli/escape.h"
#include "cli/names.h"
#include "cli/options.h"
#include "cli/partition.h"
#include "cli/stock.h"
#include "cli/term.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct getopt_tables {
	char *letters;
	struct option *longs;
};

static bool make_tables(const struct cli_line *l, struct getopt_tables *t)
{
	size_t at = 0, n = 0;

	t->letters = calloc(2 * l->n_rows + 2, 1);
	t->longs = calloc(l->n_rows + 1, sizeof(*t->longs));
	if (!t->letters || !t->longs)
		return false;
	/* distinguish a missing value from an unknown option; print neither */
	t->letters[at++] = ':';
	for (size_t i = 0; i < l->n_rows; i++) {
		const struct cli_row *row = &l->rows[i];

		if (row->key < 256) {
			t->letters[at++] = (char)row->key;
			if (row->has_arg)
				t->letters[at++] = ':';
		}
		if (row->name[1] == '-')
			t->longs[n++] =
				(struct option){row->name + 2, row->has_arg, NULL, row->key};
	}
	return true;
}

static const struct cli_row *find_row(const struct cli_line *l, int key)
{
	for (size_t i = 0; i < l->n_rows; i++) {
		if (l->rows[i].key == key)
			return &l->rows[i];
	}
	return NULL;
}

static void print_json_error(const char *text)
{
	putchar('{');
	cli_json_text(stdout, "error", text);
	puts("}");
}

int cli_line_usage(const struct cli_line *l)
{
	if (cli_stock_name())
		cli_note("Usage: %s%s; more with --help", cli_tool_name(),
			 l->usage + strlen(l->tool));
	else
		cli_hint("usage: %s; more with --help", l->usage);
	return EXIT_USAGE;
}

static char *__attribute__((format(printf, 1, 0))) format(const char *fmt, va_list ap)
{
	char *text;

	return vasprintf(&text, fmt, ap) < 0 ? NULL : text;
}

int cli_line_operands(const struct cli_line *l, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = format(fmt, ap);
	va_end(ap);
	if (!cli_stock_usage_alone())
		cli_line_failed(l, text ? text : "out of memory");
	else if (l->json)
		print_json_error(text ? text : "out of memory");
	free(text);
	return cli_line_usage(l);
}

/* The help text begins "Usage: xw-NAME"; under a stock name, with that name. */
static int print_help(const struct cli_line *l)
{
	char *text = NULL;
	size_t size = 0;
	FILE *const mem = open_memstream(&text, &size);

	if (mem) {
		l->help(mem);
		fclose(mem);
	}
	if (!text) {
		cli_line_failf(l, "out of memory");
		return EXIT_FAILED;
	}
	if (cli_stock_name())
		printf("Usage: %s%s", cli_tool_name(), text + strlen("Usage: ") + strlen(l->tool));
	else
		fputs(text, stdout);
	free(text);
	return EXIT_DONE;
}

char *cli_line_text(const struct cli_line *l, const char *text)
{
	const size_t len = l->image ? strlen(l->image) : 0;
	char *named;

	if (!l->partition || !len || strncmp(text, l->image, len) || text[len] != ':')
		return strdup(text);
	if (asprintf(&named, "%s: partition %s%s", l->image, l->partition, text + len) < 0)
		return NULL;
	return named;
}

static void print_error(const struct cli_line *l, const char *text, bool json)
{
	char *const named = cli_line_text(l, text);

	text = named ? named : text;
	cli_error("%s", text);
	if (l->image && !l->placed)
		cli_partition_hint(l->image);
	if (l->image && !l->partition && strstr(text, "an ext2, ext3 or ext4 filesystem"))
		cli_archive_hint(l->image);
	if (json)
		print_json_error(text);
	free(named);
}

void cli_line_error(const struct cli_line *l, const char *text)
{
	print_error(l, text, false);
}

void cli_line_failed(const struct cli_line *l, const char *text)
{
	print_error(l, text, l->json);
}

void cli_line_failf(const struct cli_line *l, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = format(fmt, ap);
	va_end(ap);
	cli_line_failed(l, text ? text : "out of memory");
	free(text);
}

bool cli_line_terminal(const struct cli_line *l, const char *source)
{
	if (strcmp(source, "-") != 0 || !isatty(STDIN_FILENO))
		return false;
	cli_line_failf(l, "standard input is a terminal: an archive is read from a pipe or a file");
	return true;
}

void cli_line_push(struct cli_line *l, const char *name, const char *value)
{
	l->settings[l->count++] = (struct cli_setting){.name = name, .value = value};
}

static int take_ours(struct cli_line *l, int key)
{
	switch (key) {
	case 'q':
		l->quiet = true;
		return -1;
	case 'v':
		l->verbose++;
		return -1;
	case CLI_KEY_JSON:
		l->json = true;
		return -1;
	case CLI_KEY_PARTITION:
		l->partition = optarg;
		return -1;
	case 'V':
		cli_print_version(l->tool);
		return EXIT_DONE;
	default:
		return l->take(l, key, optarg);
	}
}

/* An option rejected by getopt: `arg` is the current word. */
static int refuse_unknown(const struct cli_line *l, int key, const char *arg)
{
	const struct cli_row *row = optopt ? find_row(l, optopt) : NULL;
	const bool stock = cli_stock_name() && optopt < 256; /* in the words of getopt(3) */

	if (stock && optopt && key == ':')
		cli_line_failf(l, "option requires an argument -- '%c'", optopt);
	else if (stock && optopt && !row)
		cli_line_failf(l, "invalid option -- '%c'", optopt);
	else if (key == ':')
		cli_line_failf(l, "option %s needs a value", row ? row->name : arg);
	else if (row)
		cli_line_failf(l, "option %s takes no value", row->name);
	else if (optopt)
		cli_line_failf(l, "unknown option -%c", optopt);
	else
		cli_line_failf(l, "unknown option %s", arg);
	return cli_line_usage(l);
}

/* A word that starts with a digit, or with a plus sign as in tar(1), is a number. */
static bool as_number(const char *word, int group, char text[16])
{
	const bool plus = word[0] == '+' && word[1] >= '0' && word[1] <= '9';
	uint32_t id;

	if (word[plus] >= '0' && word[plus] <= '9') {
		char *end;
		const unsigned long n = strtoul(word + plus, &end, 10);

		if (*end || n > UINT32_MAX)
			return false;
		id = (uint32_t)n;
	} else if (cli_name_to_id(NULL, group, word, &id)) {
		return false;
	}
	snprintf(text, 16, "%" PRIu32, id);
	return true;
}

/* "OWNER[:GROUP]", or a group: names are those of this machine; the library uses only numbers. */
static int push_owner(struct cli_line *l, const char *name, int group)
{
	char *const words = strdup(optarg), *const colon = words ? strchr(words, ':') : NULL;
	char owner[16] = "", second[16] = "", *text = NULL;
	bool known;

	if (colon && !group)
		*colon = '\0';
	known = words && ((!*words && colon) || as_number(words, group, owner)) &&
		(!colon || as_number(colon + 1, 1, second));
	free(words);
	if (!known) {
		cli_line_failf(l,
			       "%s: \"%s\" is not %s, in numbers or names that this machine knows",
			       name, optarg, group ? "a group" : "OWNER[:GROUP]");
		return EXIT_USAGE;
	}
	if (asprintf(&text, "%s%s%s", owner, colon ? ":" : "", second) < 0) {
		cli_line_failf(l, "out of memory reading the command line");
		return EXIT_FAILED;
	}
	cli_line_push(l, name, text);
	l->settings[l->count - 1].made = text;
	return -1;
}

/* A date, which the library has in seconds. */
static int push_date(struct cli_line *l, const char *name)
{
	char text[64];

	errno = 0;
	if (!cli_date(optarg, text, sizeof(text))) {
		if (errno && (*optarg == '/' || *optarg == '.'))
			cli_line_failf(l, "%s: %s: %s", name, optarg, strerror(errno));
		else
			cli_line_failf(l,
				       "%s: \"%s\" is not a date (@SECONDS, or YYYY-MM-DD with or "
				       "without HH:MM:SS and a zone), nor a file by a name with "
				       "\"/\" or \".\" in front",
				       name, optarg);
		return EXIT_USAGE;
	}
	cli_line_push(l, name, NULL);
	l->settings[l->count - 1].made = strdup(text);
	l->settings[l->count - 1].value = l->settings[l->count - 1].made;
	if (l->settings[l->count - 1].value)
		return -1;
	cli_line_failf(l, "out of memory reading the command line");
	return EXIT_FAILED;
}

/* text: a value of -E that may have an offset */
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
	l->window = *at && strspn(at, "0") != strcspn(at, ","); /* checked by who takes it */
}

void cli_line_extended(struct cli_line *l, const char *value)
{
	note_offset(l, value);
	cli_line_push(l, "-E", value);
}

static int take_option(struct cli_line *l, int key, const char *arg)
{
	const struct cli_row *row = key == '?' || key == ':' ? NULL : find_row(l, key);

	if (!row)
		return refuse_unknown(l, key, arg);
	if (row->action == CLI_ALIAS)
		return take_option(l, row->why[0], arg);
	if (key == 'E')
		note_offset(l, optarg);
	switch (row->action) {
	case CLI_TO_LIBRARY:
		if (key == CLI_KEY_OWNER || key == CLI_KEY_GROUP)
			return push_owner(l, row->name, key == CLI_KEY_GROUP);
		if (key == CLI_KEY_MTIME || key == CLI_KEY_NEWER || key == CLI_KEY_NEWER_MTIME)
			return push_date(l, row->name);
		cli_line_push(l, row->name, row->has_arg ? optarg : NULL);
		return -1;
	case CLI_ALWAYS:
		return -1;
	case CLI_REFUSED:
		cli_line_failf(l, "option %s (%s) is not supported by this version", row->name,
			       row->why);
		return EXIT_USAGE;
	case CLI_HELP:
		return print_help(l);
	default:
		return take_ours(l, key);
	}
}

static int take_environment(struct cli_line *l)
{
	const char *now;

	if (cli_source_date_epoch(&now)) {
		cli_line_failf(l, "SOURCE_DATE_EPOCH='%s' is not a number of seconds since 1970",
			       getenv("SOURCE_DATE_EPOCH"));
		return EXIT_USAGE;
	}
	if (!now)
		now = cli_fake_time();
	if (now)
		cli_line_push(l, "now", now);
	return -1;
}

/* The word from which getopt took a long option: the value may be a separate word. */
static const char *last_option(char **argv)
{
	return argv[optarg && optarg == argv[optind - 1] ? optind - 2 : optind - 1];
}

/*
 * Did getopt accept an abbreviation? It could have another meaning in other tools: tar's --xattrs
 * would become --xattrs-exclude, and consume the next word.
 */
static bool is_short_for(const struct option *o, char **argv)
{
	const char *name = last_option(argv) + 2;

	return strcspn(name, "=") != strlen(o->name);
}

/* --json holds for errors in words before it, too. */
static bool wants_json(const struct cli_line *l, char **argv)
{
	for (char **arg = argv + 1; *argv && *arg && strcmp(*arg, "--") != 0; arg++)
		if (!strcmp(*arg, "--json"))
			return find_row(l, CLI_KEY_JSON);
	return false;
}

static int read_all(struct cli_line *l, const struct getopt_tables *t, int argc, char **argv)
{
	int key, at, status = -1;

	opterr = 0;
	l->json = wants_json(l, argv);
	while (status < 0) {
		const char *arg = optind < argc ? argv[optind] : "";

		at = -1;
		key = getopt_long(argc, argv, t->letters, t->longs, &at);
		if (key == -1)
			break;
		if (at >= 0 && is_short_for(&t->longs[at], argv)) {
			optopt = 0;
			return refuse_unknown(l, '?', last_option(argv));
		}
		if (key == '?' || key == ':')
			arg = optind > 1 && argv[optind - 1][0] == '-' ? argv[optind - 1] : arg;
		status = take_option(l, key, arg);
	}
	return status < 0 ? take_environment(l) : status;
}

int cli_line_read(struct cli_line *l, int argc, char **argv)
{
	/* At most one setting a word or letter, and four from the environment. */
	size_t room = 5;
	struct getopt_tables t;
	int status;

	for (int i = 1; i < argc; i++)
		room += 1 + (argv[i][0] == '-' ? strlen(argv[i]) : 0);
	l->settings = calloc(room, sizeof(*l->settings));
	l->count = 0;
	if (!make_tables(l, &t) || !l->settings) {
		cli_line_failf(l, "out of memory reading the command line");
		status = EXIT_FAILED;
	} else {
		status = read_all(l, &t, argc, argv);
	}
	free(t.letters);
	free(t.longs);
	return status;
}

/* Use text, "offset=BYTES", as a value of -E. If owned, it is freed with the line. */
static int set_offset(struct cli_line *l, char *text, bool owned)
{
	const struct cli_row *row = find_row(l, 'E');
	int status;

	note_offset(l, text);
	if (!row || row->action != CLI_TO_LIBRARY) {
		status = l->take(l, 'E', text);
		if (owned)
			free(text);
		return status;
	}
	cli_line_push(l, row->name, text);
	if (owned)
		l->settings[l->count - 1].made = text;
	return -1;
}

int cli_line_partition(struct cli_line *l, const char *image)
{
	struct cli_partition_why why;
	uint64_t start;
	char *text;

	if (!l->partition) {
		l->image = image;
		return -1;
	}
	if (l->placed) {
		cli_line_failf(l, "--partition and an offset exclude each other");
		return EXIT_USAGE;
	}
	if (!cli_partition_find(image, l->partition, &start, &why)) {
		cli_line_failf(l, "%s: %s", image, why.s);
		return EXIT_FAILED;
	}
	if (asprintf(&text, "offset=%" PRIu64, start) < 0) {
		cli_line_failf(l, "out of memory reading the command line");
		return EXIT_FAILED;
	}
	l->image = image;
	return set_offset(l, text, true);
}

int cli_line_offset(struct cli_line *l, char *image)
{
	char *at = strstr(image, "?offset=");
	int status;

	if (find_row(l, CLI_KEY_PARTITION) && at && access(image, F_OK)) {
		*at++ = '\0';
		if (l->placed) {
			cli_line_failf(l, "%s: -E offset= and ?offset= exclude each other", image);
			return EXIT_USAGE;
		}
		status = set_offset(l, at, false);
		if (status >= 0)
			return status;
	}
	return cli_line_partition(l, image);
}

int cli_line_first(struct cli_line *l, int argc, char **argv, const char **image)
{
	if (optind == argc)
		return cli_line_operands(l, "the name of the image is missing");
	*image = argv[optind++];
	return -1;
}

int cli_line_image(struct cli_line *l, int argc, char **argv, const char **image)
{
	const int status = cli_line_first(l, argc, argv, image);

	if (status >= 0)
		return status;
	if (optind == argc)
		return cli_line_offset(l, argv[optind - 1]);
	return cli_line_operands(l, "unexpected argument '%s' after IMAGE", argv[optind]);
}

void cli_line_free(struct cli_line *l)
{
	for (size_t i = 0; l->settings && i < l->count; i++)
		free(l->settings[i].made);
	free(l->settings);
	free(l->redo_dir);
	l->settings = NULL;
	l->redo_dir = NULL;
}
