/* SPDX-License-Identifier: MIT */
/*
 * Format of a line of fs_config: path, user, group, octal mode, and further words, of which only
 * "capabilities=0x..." is used. The path has no leading slash; that of the root is empty, so that
 * its line starts with white space, or "/". SELinux contexts are looked up by libselinux only.
 */
#include "config.h"

#include "import/labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_SELINUX
#include <regex.h>
#include <selinux/label.h>
#include <selinux/selinux.h>
#endif

#include "base/endian.h"
#include "base/mode.h"
#include "base/parse.h"
#include "import/lines.h"
#include "import/slice.h"

enum { PATH, UID, GID, MODE, WORDS, WORDS_MAX = 16 };

/* ---- fs_config ---- */

/* A copy without leading and trailing slashes. */
static char *trimmed(const char *p)
{
	const struct xw_slice s = xw_slice_trim(xw_slice_of(p + strspn(p, "/")));

	return strndup(s.p, s.len);
}

static bool read_words(char **words, size_t n, struct xw_label_config *c)
{
	static const char caps[] = "capabilities=";
	const char *number;

	if (xw_parse_u32(words[UID], &c->uid) || xw_parse_u32(words[GID], &c->gid) ||
	    !xw_mode_octal(words[MODE], &c->mode))
		return false;
	for (size_t i = WORDS; i < n; i++) {
		if (strncmp(words[i], caps, sizeof(caps) - 1))
			continue;
		number = words[i] + sizeof(caps) - 1;
		if (xw_parse_c(number, &c->capabilities))
			return false;
	}
	return true;
}

static int add_line(void *arg, struct xw_line *l)
{
	struct xw_labels *to = arg;
	char *words[WORDS_MAX] = {"", NULL}, **first = words;
	struct xw_label_config c = {0};
	size_t n;

	if (*l->text == '#')
		return 0;
	if (*l->text == ' ' || *l->text == '\t')
		first++;
	n = (size_t)(first - words) + xw_line_words(l, first, WORDS_MAX - 1);
	if (n < WORDS || n >= WORDS_MAX || !read_words(words, n, &c))
		return xw_line_fail(l, "must be PATH UID GID MODE [capabilities=NUMBER], "
				       "MODE in octal up to 7777");
	c.table = to->tables;
	c.line = l->number;
	c.path = trimmed(words[PATH]);
	if (c.path && !xw_vec_push(&to->config, c))
		return 0;
	free(c.path);
	return xw_fail_nomem(l->diag, l->option);
}

static int by_path(const void *a, const void *b)
{
	const struct xw_label_config *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* Lines for the same path in input order. */
static int by_path_and_line(const void *a, const void *b)
{
	const struct xw_label_config *x = a, *y = b;
	const int order = strcmp(x->path, y->path);

	if (order || x->table != y->table)
		return order ? order : x->table < y->table ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static bool same_config(const struct xw_label_config *x, const struct xw_label_config *y)
{
	return x->uid == y->uid && x->gid == y->gid && x->mode == y->mode &&
	       x->capabilities == y->capabilities;
}

/*
 * Different lines for a path are refused: Android's documentation does not say which one takes
 * precedence.
 */
static int check_conflicts(const struct xw_labels *l, const char *file, struct xw_diag *diag)
{
	const struct xw_label_config *c = l->config.v;

	for (size_t i = 1; i < l->config.n; i++)
		if (!strcmp(c[i - 1].path, c[i].path) && !same_config(&c[i - 1], &c[i]))
			return xw_fail(
				diag, XW_ERR_USAGE,
				"--fs-config: %s: line %lu: line %lu%s has different values for "
				"/%.300s",
				file, c[i].line, c[i - 1].line,
				c[i - 1].table == c[i].table ? "" : " of an earlier table",
				c[i].path);
	return 0;
}

static int read_config(struct xw_labels *l, const char *file, struct xw_diag *diag)
{
	int rc;

	l->tables++;
	rc = xw_lines_read("--fs-config", file, diag, add_line, l);
	if (l->config.n)
		qsort(l->config.v, l->config.n, sizeof(*l->config.v), by_path_and_line);
	return rc ? rc : check_conflicts(l, file, diag);
}

const struct xw_label_config *xw_labels_config(const struct xw_labels *l, const char *path)
{
	/* bsearch() only reads the key */
	const struct xw_label_config key = {.path = (char *)(uintptr_t)(path + 1)};

	return l->config.n ? bsearch(&key, l->config.v, l->config.n, sizeof(key), by_path) : NULL;
}

void xw_labels_caps(uint64_t capabilities, uint8_t out[XW_LABEL_CAPS])
{
	enum { REVISION_2 = 0x02000000, EFFECTIVE = 1 };

	memset(out, 0, XW_LABEL_CAPS);
	poke32(out, REVISION_2 | EFFECTIVE);
	poke32(out + 4, (uint32_t)capabilities);
	poke32(out + 12, (uint32_t)(capabilities >> 32));
}

/* ---- SELinux ---- */

#ifdef HAVE_SELINUX

static int __attribute__((format(printf, 2, 3))) silent(int type, const char *fmt, ...)
{
	(void)type;
	(void)fmt;
	return 0;
}

static bool valid_regexp(const char *text)
{
	regex_t re;

	if (strstr(text, "(?")) /* PCRE syntax */
		return true;
	if (regcomp(&re, text, REG_EXTENDED | REG_NOSUB))
		return false;
	regfree(&re);
	return true;
}

/* Where a part of the line begins, from 1. */
static size_t column(const struct xw_line *line, const char *at)
{
	return (size_t)(at - line->text) + 1;
}

/*
 * Find the invalid line of a file that libselinux has rejected, since it does not report the line.
 */
static int check_context(void *arg, struct xw_line *line)
{
	enum { REGEXP, TYPE, CONTEXT };
	const char *first = line->text + strspn(line->text, " \t\r\v\f"), *p = first;
	char *words[CONTEXT + 1] = {NULL};
	size_t n;

	(void)arg;
	if (*first == '#')
		return 0;
	while (*p && (unsigned char)*p < 0x80)
		p++;
	if (*p)
		return xw_line_fail(line, "column %zu: the byte 0x%02X is not ASCII",
				    column(line, p), (unsigned char)*p);
	n = xw_line_words(line, words, XW_ARRAY_SIZE(words));
	if (n == 0)
		return 0;
	if (n < CONTEXT)
		return xw_line_fail(line, "column %zu: must be REGEXP [-TYPE] CONTEXT",
				    column(line, first));
	if (n > CONTEXT &&
	    (words[TYPE][0] != '-' || !strchr("-bcdpls", words[TYPE][1]) || words[TYPE][2]))
		return xw_line_fail(
			line, "column %zu: the type '%.80s' is not --, -b, -c, -d, -l, -p or -s",
			column(line, words[TYPE]), words[TYPE]);
	if (!valid_regexp(words[REGEXP]))
		return xw_line_fail(line, "column %zu: '%.80s' is not a valid regular expression",
				    column(line, words[REGEXP]), words[REGEXP]);
	return 0;
}

static int find_bad_line(const char *file, struct xw_diag *diag)
{
	return xw_lines_read("--file-contexts", file, diag, check_context, NULL) ? XW_ERR_INPUT : 0;
}

static int open_contexts(struct xw_labels *l, const char *file, struct xw_diag *diag)
{
	const struct selinux_opt opts[] = {{SELABEL_OPT_PATH, file}};
	int err;

	selinux_set_callback(SELINUX_CB_LOG, (union selinux_callback){.func_log = silent});
	if (l->contexts)
		selabel_close(l->contexts);
	free(l->contexts_file);
	l->contexts_file = strdup(file);
	l->contexts = l->contexts_file ? selabel_open(SELABEL_CTX_FILE, opts, 1) : NULL;
	err = errno;
	if (l->contexts)
		return 0;
	if (err == EINVAL && find_bad_line(file, diag))
		return XW_ERR_INPUT;
	return xw_fail_errno(diag, XW_ERR_INPUT, err, "--file-contexts: %s: cannot be read", file);
}

int xw_labels_context(const struct xw_labels *l, const char *path, uint32_t mode, char **context,
		      struct xw_diag *diag)
{
	char *found;

	if (!l->contexts)
		return 0;
	errno = 0; /* not set if compiling a regular expression fails, which happens on demand */
	if (selabel_lookup_raw(l->contexts, &found, path, (int)mode)) {
		if (errno == ENOENT)
			return 0;
		if (find_bad_line(l->contexts_file, diag))
			return XW_ERR_INPUT;
		return xw_fail(diag, XW_ERR_INPUT,
			       "--file-contexts: %s: libselinux finds no label for %s: is every "
			       "regular expression valid?",
			       l->contexts_file, path);
	}
	*context = strdup(found);
	freecon(found);
	return *context ? 1 : xw_fail_nomem(diag, "--file-contexts");
}

static void close_contexts(struct xw_labels *l)
{
	if (l->contexts)
		selabel_close(l->contexts);
}

#else

static int open_contexts(struct xw_labels *l, const char *file, struct xw_diag *diag)
{
	(void)l;
	return xw_fail(diag, XW_ERR_USAGE, "--file-contexts %s: built without libselinux", file);
}

int xw_labels_context(const struct xw_labels *l, const char *path, uint32_t mode, char **context,
		      struct xw_diag *diag)
{
	(void)l;
	(void)path;
	(void)mode;
	(void)context;
	(void)diag;
	return 0;
}

static void close_contexts(struct xw_labels *l)
{
	(void)l;
}

#endif

/* ---- options and paths ---- */

int xw_labels_set(struct xw_labels *l, const char *option, const char *value, struct xw_diag *diag)
{
	if (!strcmp(option, "--fs-config"))
		return read_config(l, value, diag);
	if (!strcmp(option, "--file-contexts"))
		return open_contexts(l, value ? value : "", diag);
	if (strcmp(option, "--mount-point") != 0)
		return XW_ERR_NOTFOUND;
	free(l->mount_point);
	l->mount_point = trimmed(value ? value : "");
	return l->mount_point ? 0 : xw_fail_nomem(diag, option);
}

bool xw_labels_any(const struct xw_labels *l)
{
	return l->config.n || l->contexts;
}

void xw_labels_free(struct xw_labels *l)
{
	for (size_t i = 0; i < l->config.n; i++)
		free(l->config.v[i].path);
	xw_vec_free(&l->config);
	xw_vec_free(&l->path);
	close_contexts(l);
	free(l->contexts_file);
	free(l->mount_point);
}

/* Append the components of a path, each after a slash. */
static int append(struct xw_labels *l, struct xw_slice path)
{
	struct xw_slice part;

	if (xw_vec_reserve(&l->path, l->path.n + path.len + 2))
		return XW_ERR_NOMEM;
	while ((part = xw_slice_component(&path)).len) {
		l->path.v[l->path.n++] = '/';
		memcpy(l->path.v + l->path.n, part.p, part.len);
		l->path.n += part.len;
	}
	return 0;
}

const char *xw_labels_path(struct xw_labels *l, const char *dir, const char *name, size_t len)
{
	l->path.n = 0;
	if (append(l, xw_slice_of(l->mount_point)) || append(l, xw_slice_of(dir)) ||
	    append(l, (struct xw_slice){name, len}))
		return NULL;
	if (!l->path.n)
		l->path.v[l->path.n++] = '/';
	l->path.v[l->path.n] = '\0';
	return l->path.v;
}
