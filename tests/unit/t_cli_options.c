/* SPDX-License-Identifier: MIT */
/* Parsing of command lines, and the layout of --help. */
#include "cli/options.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct args {
	struct cli_line line;
	bool flag;
	unsigned count;
	const char *text;
};

#define AT(member) offsetof(struct args, member)

static const struct cli_option options[] = {
	{"-f", "--flag", NULL, "a flag", cli_flag, AT(flag)},
	{"-c", NULL, NULL, "counted", cli_increment, AT(count)},
	{"-t", "--text", "a|b|TEXT", "a text", cli_text, AT(text)},
	CLI_HEADING("Passed on"),
	{"-p", "--pass", "VALUE",
	 "passed to the library under its long name, with a text that does not fit in one line"},
	{"-L", "--label", "LABEL", "passed as -L", .as = "-L"},
	{NULL, "--with-a-long-name-of-its-own", NULL, "passed without a value"},
	{"-E", NULL, "LIST", "first\nsecond"},
	{"-k", NULL, NULL, "keeping", cli_refused},
	CLI_PARTITION,
	CLI_QUIET("print less"),
	CLI_JSON("print JSON"),
	CLI_HELP,
	CLI_END,
};

static const struct cli_tool tool = {
	.name = "xw-tool",
	.usage = "[options] IMAGE",
	.about = "Do something.",
	.notes = "Exit status: 0.",
	.tables = {options},
	.handle = cli_pass,
};

/* The result: members that are set, settings, a colon, operands. Or the status and a message. */
static const struct {
	const char *words, *result;
} lines[] = {
	{"", ":"},
	{"img", ": img"},
	{"-f img", "flag : img"},
	{"img -f", "flag : img"},
	{"-fcc --flag img x", "flag count=2 : img x"},
	{"-t a", "text=a :"},
	{"-ta", "text=a :"},
	{"-fta", "flag text=a :"},
	{"--text a --text=b", "text=b :"},
	{"--text -- -f", "flag text=-- :"},
	{"--text=", "text= :"},
	{"-f -- -c --flag", "flag : -c --flag"},
	{"- -f", "flag : -"},
	{"-p 1 --pass=2", "--pass=1 --pass=2 :"},
	{"--label x -L y", "-L=x -L=y :"},
	{"--with-a-long-name-of-its-own", "--with-a-long-name-of-its-own :"},
	{"-E a,offset=4096", "placed window -E=a,offset=4096 :"},
	{"-E offset=0", "placed -E=offset=0 :"},
	{"-E xoffset=1", "-E=xoffset=1 :"},
	{"-q --json --partition 2", "quiet json :"},
	{"-t", "2 option -t needs a value"},
	{"--text", "2 option --text needs a value"},
	{"--flag=1", "2 option --flag takes no value"},
	{"-x", "2 unknown option -x"},
	{"-fx img", "2 unknown option -x"},
	{"--tex a", "2 unknown option --tex"},
	{"--text-more=a", "2 unknown option --text-more=a"},
	{"-k", "2 option -k (keeping) is not supported by this version"},
};

/* Standard output or error into a file, until it is read. */
static int redirect(int fd, FILE **file)
{
	const int old = dup(fd);

	*file = tmpfile();
	ck_assert(old >= 0 && *file && dup2(fileno(*file), fd) == fd);
	return old;
}

static void read_back(int fd, int old, FILE *file, char *text, size_t room)
{
	size_t n;

	fflush(NULL);
	ck_assert_int_eq(dup2(old, fd), fd);
	close(old);
	rewind(file);
	n = fread(text, 1, room - 1, file);
	text[n] = '\0';
	fclose(file);
}

static size_t split(char *words, char **argv)
{
	static char name[] = "tool";
	size_t n = 0;

	argv[n++] = name;
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		argv[n++] = word;
	argv[n] = NULL;
	return n;
}

static void describe(const struct args *a, char *out, size_t room)
{
	FILE *f = fmemopen(out, room, "w");

	fputs(a->flag ? "flag " : "", f);
	if (a->count)
		fprintf(f, "count=%u ", a->count);
	if (a->text)
		fprintf(f, "text=%s ", a->text);
	fprintf(f, "%s%s%s%s", a->line.quiet ? "quiet " : "", a->line.json ? "json " : "",
		a->line.placed ? "placed " : "", a->line.window ? "window " : "");
	for (size_t i = 0; i < a->line.count; i++)
		fprintf(f, "%s%s%s ", a->line.settings[i].name,
			a->line.settings[i].value ? "=" : "",
			a->line.settings[i].value ? a->line.settings[i].value : "");
	fputc(':', f);
	for (char **word = a->line.operands; *word; word++)
		fprintf(f, " %s", *word);
	fclose(f);
}

START_TEST(parsed)
{
	char words[128], said[512], result[600], *argv[32];
	struct args a = {.flag = false};
	FILE *file;
	size_t n;
	int old, status;

	snprintf(words, sizeof(words), "%s", lines[_i].words);
	n = split(words, argv);
	old = redirect(STDERR_FILENO, &file);
	status = cli_line_read(&a.line, &tool, (int)n, argv);
	read_back(STDERR_FILENO, old, file, said, sizeof(said));
	if (status < 0) {
		describe(&a, result, sizeof(result));
		ck_assert_str_eq(said, "");
		ck_assert_msg(!strcmp(result, lines[_i].result), "\"%s\": %s, not %s",
			      lines[_i].words, result, lines[_i].result);
	} else {
		snprintf(result, sizeof(result), "%d %s", status,
			 strstr(said, ": ") ? strstr(said, ": ") + 2 : said);
		ck_assert_msg(!strncmp(result, lines[_i].result, strlen(lines[_i].result)) &&
				      result[strlen(lines[_i].result)] == '\n',
			      "\"%s\": %s, not %s", lines[_i].words, result, lines[_i].result);
	}
	cli_line_free(&a.line);
}
END_TEST

START_TEST(help)
{
	static const char wanted[] =
		"Usage: xw-tool [options] IMAGE\n"
		"Do something.\n"
		"\n"
		"  -f, --flag           a flag\n"
		"  -c                   counted\n"
		"  -t, --text a|b|TEXT  a text\n"
		"\n"
		"Passed on:\n"
		"  -p, --pass VALUE     passed to the library under its long name, with a text\n"
		"                       that does not fit in one line\n"
		"  -L, --label LABEL    passed as -L\n"
		"      --with-a-long-name-of-its-own\n"
		"                       passed without a value\n"
		"  -E LIST              first\n"
		"                       second\n"
		"      --partition N    the filesystem is in partition N of IMAGE\n"
		"  -q, --quiet          print less\n"
		"      --json           print JSON\n"
		"  -h, --help           print this help\n"
		"\n"
		"Exit status: 0.\n"
		"See xw-tool(8).\n";
	char word[] = "--help", name[] = "tool", *argv[] = {name, word, NULL}, text[2048];
	struct args a = {.flag = false};
	FILE *file;
	int status, old;

	fflush(stdout);
	old = redirect(STDOUT_FILENO, &file);
	status = cli_line_read(&a.line, &tool, 2, argv);
	read_back(STDOUT_FILENO, old, file, text, sizeof(text));
	ck_assert_int_eq(status, EXIT_DONE);
	ck_assert_str_eq(text, wanted);
	cli_line_free(&a.line);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cli_options");
	TCase *tc = tcase_create("cli_options");

	unsetenv("SOURCE_DATE_EPOCH");
	unsetenv("POSIXLY_CORRECT");
	unit_add_table(tc, parsed, lines);
	tcase_add_test(tc, help);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
