/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/source.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t cli_source_form(const struct cli_line *l, const char *source)
{
	static const char *const forms[] = {"oci:", "oci-archive:", "docker-archive:"};

	if (cli_line_setting(l, "--no-oci"))
		return 0;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (!strncmp(source, forms[i], strlen(forms[i])))
			return strlen(forms[i]);
	return 0;
}

bool cli_source_is_stdin(const struct cli_line *l, const char *source)
{
	const size_t form = cli_source_form(l, source);
	const char *path = source + form;

	return path[0] == '-' && (!path[1] || (form && path[1] == ':'));
}

bool cli_source_is_terminal(const struct cli_line *l, const char *source)
{
	return cli_source_is_stdin(l, source) && cli_line_terminal(l, "-");
}

char *cli_source_in_dir(const struct cli_line *l, const char *dir, const char *source)
{
	const size_t form = cli_source_form(l, source);
	char *name = NULL;

	if (!dir || source[form] == '/' || cli_source_is_stdin(l, source))
		return strdup(source);
	return asprintf(&name, "%.*s%s/%s", (int)form, source, dir, source + form) < 0 ? NULL
										       : name;
}

int cli_source_config(struct cli_line *l)
{
	const struct cli_setting *s = cli_line_setting(l, "--oci-config");

	if (!s || (strcmp(s->value, "-") != 0 && strcmp(s->value, "/dev/stdout") != 0))
		return -1;
	if (l->json)
		return cli_line_refuse(
			l, "--oci-config %s and --json both write to standard output", s->value);
	l->quiet = true;
	return -1;
}
