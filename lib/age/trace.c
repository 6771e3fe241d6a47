// SPDX-License-Identifier: MIT
/*
 * A file of operations, one a line:
 *
 *	create PATH BYTES     append PATH BYTES     truncate PATH BYTES   overwrite PATH BYTES
 *	rename PATH PATH      delete PATH           mkdir PATH            rmdir PATH
 *	setxattr PATH NAME VALUE
 *
 * Words are separated by blanks; a backslash quotes the next character. Empty lines and lines that
 * begin with # are ignored.
 */
#include "config.h"

#include "age/source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/parse.h"

#define WORDS 4
#define VALUE_MAX 1024 /* maximum size of an attribute in bytes */

struct trace {
	FILE *f;
	const char *name;
	struct xw_diag *diag;
	const struct xw_commit_watch *watch;
	uint64_t ops, done, line_no;
	char *line;
	size_t room;
};

static const struct verb {
	const char *name, *args; /* p: path, b: bytes, n: name of an attribute, v: its value */
	enum xw_age_what what;
} verbs[] = {
	{"create", "pb", XW_AGE_CREATE},      {"append", "pb", XW_AGE_APPEND},
	{"truncate", "pb", XW_AGE_TRUNCATE},  {"overwrite", "pb", XW_AGE_OVERWRITE},
	{"rename", "pp", XW_AGE_RENAME},      {"delete", "p", XW_AGE_DELETE},
	{"mkdir", "p", XW_AGE_MKDIR},         {"rmdir", "p", XW_AGE_RMDIR},
	{"setxattr", "pnv", XW_AGE_SETXATTR},
};

static void trace_close(void *state)
{
	struct trace *t = state;

	fclose(t->f);
	free(t->line);
	free(t);
}

static int bad(const struct trace *t, const char *why)
{
	return xw_fail(t->diag, XW_ERR_INPUT, "%s: line %" PRIu64 ": %s", t->name, t->line_no, why);
}

/* Split the line into words, in place. Returns their count; WORDS + 1: too many. */
static size_t split(char *line, char *words[WORDS])
{
	size_t n = 0;
	char *p = line;

	for (;;) {
		char *to;

		p += strspn(p, " \t\r\n");
		if (!*p)
			return n;
		if (n == WORDS)
			return n + 1;
		words[n++] = to = p;
		while (*p && !strchr(" \t\r\n", *p)) {
			p += *p == '\\' && p[1];
			*to++ = *p++;
		}
		p += *p != 0;
		*to = 0;
	}
}

static int parse(const struct trace *t, char *words[WORDS], size_t n, struct xw_age_op *op)
{
	const struct verb *v = NULL;

	for (size_t i = 0; i < XW_ARRAY_SIZE(verbs); i++)
		if (!strcmp(words[0], verbs[i].name))
			v = &verbs[i];
	if (!v)
		return bad(t, "unknown operation");
	if (n != strlen(v->args) + 1)
		return bad(t, "wrong number of words for this operation");
	*op = (struct xw_age_op){.what = v->what, .path = words[1]};
	for (size_t i = 1; i < n; i++) {
		const char kind = v->args[i - 1];

		if (kind == 'p' && !xw_age_path_ok(words[i]))
			return bad(t, "paths are relative, and have at most 256 components of 1 to "
				      "255 bytes, none of them . or ..");
		if (kind == 'b' && (xw_parse_u64(words[i], &op->bytes) || op->bytes >> 44))
			return bad(t, "the size must be a number of bytes below 16 TiB");
		if (i == 2 && kind != 'b')
			op->to = words[2];
		if (kind == 'n' && strncmp(words[i], "user.", 5) &&
		    strncmp(words[i], "trusted.", 8))
			return bad(t, "attributes are user.NAME or trusted.NAME");
		if ((kind == 'n' && strlen(words[i]) > 200) ||
		    (kind == 'v' && strlen(words[i]) > VALUE_MAX))
			return bad(t, "attribute too long");
		if (kind == 'v')
			op->value = words[i];
	}
	return 1;
}

static int trace_next(void *state, struct xw_age_op *op)
{
	struct trace *t = state;
	char *words[WORDS];
	size_t n;

	if (t->ops && t->done == t->ops)
		return 0;
	errno = 0;
	while (getline(&t->line, &t->room, t->f) >= 0) {
		t->line_no++;
		if (xw_commit_check_canceled(t->watch, t->name, t->diag))
			return XW_ERR_CANCELED;
		if (t->line[0] == '#')
			continue;
		n = split(t->line, words);
		if (!n)
			continue;
		t->done++;
		return parse(t, words, n, op);
	}
	return ferror(t->f) ? xw_fail_errno(t->diag, XW_ERR_IO, errno, "%s", t->name) : 0;
}

int xw_age_trace(const struct xw_age_opts *o, struct xw_diag *diag, struct xw_age_source *src)
{
	struct trace *t = calloc(1, sizeof(*t));
	int rc;

	if (!t)
		return xw_fail_nomem(diag, "trace");
	t->name = o->trace;
	t->diag = diag;
	t->watch = o->watch;
	t->ops = o->ops;
	rc = xw_age_fopen(o->trace, diag, &t->f);
	if (rc) {
		free(t);
		return rc;
	}
	*src = (struct xw_age_source){t, trace_next, NULL, trace_close};
	return 0;
}
