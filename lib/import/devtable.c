/* SPDX-License-Identifier: MIT */
/*
 * Format of a line: name, type, mode, uid, gid, major, minor, start, increment, count; "-" is 0.
 * With a count, the line defines that many devices: START, START + 1, ... are appended to the name,
 * and the minor number grows by the increment.
 */
#include "config.h"

#include "import/devtable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "base/mode.h"
#include "base/parse.h"
#include "import/lines.h"

enum { NAME, TYPE, MODE, UID, GID, MAJOR, MINOR, START, INCREMENT, COUNT, FIELDS };

#define COUNT_MAX 1048576u

struct row {
	char *name;
	enum xw_etype type;
	bool optional;
	unsigned long line;
	uint32_t n[FIELDS];
};

struct devtable {
	struct xw_source src;
	const struct xw_acl_names *names;
	XW_VEC(struct row) rows;
	size_t row;
	uint32_t done; /* devices of this row that were returned */
	char *path; /* path of the current entry; owned */
	struct xw_entry e;
};

static bool type_of(const char *word, struct row *r)
{
	static const char letters[] = "fFdcbp";
	static const enum xw_etype types[] = {XW_ET_REG, XW_ET_REG, XW_ET_DIR,
					      XW_ET_CHR, XW_ET_BLK, XW_ET_FIFO};
	const char *at = *word && !word[1] ? strchr(letters, *word) : NULL;

	if (!at)
		return false;
	r->type = types[at - letters];
	r->optional = *word == 'F';
	return true;
}

static bool owner_of(const struct devtable *d, bool group, const char *word, uint32_t *id)
{
	return !xw_parse_u32(word, id) ||
	       (d->names->lookup && !d->names->lookup(d->names->arg, group, word, id));
}

static int parse(struct devtable *d, struct xw_line *l, char **words, size_t n, struct row *r)
{
	uint64_t last;

	if (!type_of(words[TYPE], r))
		return xw_line_fail(l, "the type '%.80s' is not f, F, d, c, b or p", words[TYPE]);
	if (!xw_mode_octal(words[MODE], &r->n[MODE]))
		return xw_line_fail(l, "the mode '%.80s' is not octal up to 7777", words[MODE]);
	for (size_t i = UID; i <= GID; i++)
		if (!owner_of(d, i == GID, words[i], &r->n[i]))
			return xw_line_fail(l,
					    "'%.80s' is neither a %s of this machine nor a number",
					    words[i], i == GID ? "group" : "user");
	for (size_t i = MAJOR; i < n; i++)
		if (strcmp(words[i], "-") != 0 && xw_parse_u32(words[i], &r->n[i]))
			return xw_line_fail(l, "'%.80s' is neither a number nor -", words[i]);
	if (r->n[COUNT] > COUNT_MAX)
		return xw_line_fail(l, "more than 1048576 devices");
	last = r->n[COUNT] ? r->n[COUNT] - 1 : 0;
	if (r->n[START] + last > UINT32_MAX)
		return xw_line_fail(l, "START and COUNT: the number in a name exceeds 4294967295");
	if ((r->type == XW_ET_CHR || r->type == XW_ET_BLK) &&
	    (r->n[MAJOR] > 0xfff || r->n[MINOR] + last * r->n[INCREMENT] > 0xfffff))
		return xw_line_fail(l, "a device number is over 4095:1048575");
	return 0;
}

static int add_row(void *arg, struct xw_line *l)
{
	struct devtable *d = arg;
	char *words[FIELDS];
	struct row r = {0};
	size_t n;
	int rc;

	l->text[strcspn(l->text, "#")] = '\0';
	n = xw_line_words(l, words, FIELDS);
	if (!n)
		return 0;
	if (n <= GID || n > FIELDS)
		return xw_line_fail(l,
				    "must be NAME TYPE MODE UID GID MAJOR MINOR START INC COUNT");
	rc = parse(d, l, words, n, &r);
	if (rc)
		return rc;
	r.line = l->number;
	r.name = strdup(words[NAME]);
	if (r.name && !xw_vec_push(&d->rows, r))
		return 0;
	free(r.name);
	return xw_fail_nomem(l->diag, l->option);
}

static int devtable_next(struct xw_source *s, const struct xw_entry **e)
{
	struct devtable *d = (struct devtable *)s;
	const struct row *r = &d->rows.v[d->row];

	if (d->row == d->rows.n)
		return 0;
	free(d->path);
	d->path = NULL;
	if (r->n[COUNT] ? asprintf(&d->path, "%s%u", r->name, r->n[START] + d->done) < 0
			: !(d->path = strdup(r->name))) {
		d->path = NULL;
		return xw_fail_nomem(s->diag, "--device-table");
	}
	d->e = (struct xw_entry){
		.path = {d->path, strlen(d->path)},
		.type = r->type,
		.mode = r->n[MODE],
		.uid = r->n[UID],
		.gid = r->n[GID],
		.dev_major = r->n[MAJOR],
		.dev_minor = r->n[MINOR] + d->done * r->n[INCREMENT],
		.listed = r->line,
		.optional = r->optional,
	};
	if (++d->done >= r->n[COUNT]) {
		d->done = 0;
		d->row++;
	}
	*e = &d->e;
	return 1;
}

static int devtable_read(struct xw_source *s, const void **buf, size_t *len, uint64_t *off)
{
	(void)s;
	(void)buf;
	(void)len;
	(void)off;
	return 0;
}

static void devtable_close(struct xw_source *s)
{
	struct devtable *d = (struct devtable *)s;

	for (size_t i = 0; i < d->rows.n; i++)
		free(d->rows.v[i].name);
	xw_vec_free(&d->rows);
	free(d->path);
	free(d->src.name);
	free(d);
}

int xw_devtable_open(const char *file, const struct xw_acl_names *names, struct xw_diag *diag,
		     struct xw_source **out)
{
	static const struct xw_source_ops ops = {
		.next = devtable_next, .read = devtable_read, .close = devtable_close};
	struct devtable *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return xw_fail_nomem(diag, "--device-table");
	d->src = (struct xw_source){.ops = &ops, .diag = diag, .name = strdup(file)};
	d->names = names;
	rc = d->src.name ? xw_lines_read("--device-table", file, diag, add_row, d)
			 : xw_fail_nomem(diag, "--device-table");
	if (rc) {
		devtable_close(&d->src);
		return rc;
	}
	*out = &d->src;
	return 0;
}
