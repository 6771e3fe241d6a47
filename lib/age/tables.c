// SPDX-License-Identifier: MIT
/*
 * The built-in models are histograms taken from published figures, in rows of a few per cent:
 *
 *	agrawal: Agrawal and others, A five-year study of file-system metadata, 2007
 *	douceur: Douceur and Bolosky, A large-scale study of file-system contents, 1999
 *	dayal: Dayal, Characterizing HEC storage systems at rest, 2008
 *
 * Ages are relative to the oldest file. The first line of a distribution file is the number of
 * rows. Each row has a value and a weight; a row of depths has a third number, the directories at
 * that depth. Lines after the last row are ignored.
 */
#include "config.h"

#include "age/source.h"
#include "age/tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "plan/parse.h"

#define ROWS_MAX 4096
#define FIXED 1000 /* ages in files may have fractions: stored as thousandths */

enum { AGES, SIZES, DEPTHS, KINDS };

#define MODEL_ROWS 16

static const struct model {
	const char *name;
	struct xw_age_row rows[KINDS][MODEL_ROWS]; /* terminated by a weight of 0 */
} models[] = {
	{"agrawal",
	 {{{1, 2, 0}, {3, 4, 0}, {10, 13, 0}, {30, 23, 0}, {90, 32, 0}, {240, 20, 0}, {1000, 6, 0}},
	  {{512, 14, 0},
	   {1 << 11, 22, 0},
	   {1 << 13, 25, 0},
	   {1 << 15, 18, 0},
	   {1 << 17, 12, 0},
	   {1 << 19, 6, 0},
	   {1 << 21, 2, 0},
	   {1 << 23, 1, 0}},
	  {{1, 1, 2},
	   {2, 3, 6},
	   {3, 8, 14},
	   {4, 11, 22},
	   {5, 13, 30},
	   {6, 14, 34},
	   {7, 17, 30},
	   {8, 11, 24},
	   {9, 9, 18},
	   {10, 6, 12},
	   {11, 4, 8},
	   {12, 3, 4}}}},
	{"douceur",
	 {{{1, 3, 0},
	   {4, 4, 0},
	   {16, 9, 0},
	   {60, 16, 0},
	   {240, 26, 0},
	   {500, 27, 0},
	   {1000, 15, 0}},
	  {{64, 9, 0},
	   {512, 19, 0},
	   {1 << 11, 22, 0},
	   {1 << 13, 20, 0},
	   {1 << 15, 17, 0},
	   {1 << 17, 9, 0},
	   {1 << 19, 3, 0},
	   {1 << 22, 1, 0}},
	  {{1, 6, 16},
	   {2, 13, 40},
	   {3, 18, 48},
	   {4, 20, 40},
	   {5, 16, 24},
	   {6, 12, 12},
	   {7, 7, 6},
	   {8, 8, 3}}}},
	{"dayal",
	 {{{1, 1, 0}, {10, 4, 0}, {50, 10, 0}, {150, 20, 0}, {400, 35, 0}, {1000, 30, 0}},
	  {{1 << 11, 25, 0},
	   {1 << 13, 16, 0},
	   {1 << 15, 18, 0},
	   {1 << 17, 16, 0},
	   {1 << 20, 14, 0},
	   {1 << 23, 8, 0},
	   {1 << 26, 3, 0}},
	  {{2, 4, 4},
	   {3, 8, 12},
	   {4, 14, 24},
	   {5, 18, 40},
	   {6, 20, 48},
	   {7, 16, 40},
	   {8, 11, 24},
	   {9, 9, 12}}}},
};

static int add(struct xw_age_table *t, struct xw_age_row row, struct xw_diag *diag)
{
	t->weight += row.weight;
	return xw_vec_push(&t->a, row) ? xw_fail_nomem(diag, "distribution") : 0;
}

static int from_model(const struct model *m, int kind, struct xw_diag *diag, struct xw_age_table *t)
{
	for (size_t i = 0; i < MODEL_ROWS && m->rows[kind][i].weight; i++)
		if (add(t, m->rows[kind][i], diag))
			return XW_ERR_NOMEM;
	return 0;
}

/* ---- files ---- */

static int bad(struct xw_diag *diag, const char *path, uint64_t line, const char *why)
{
	return xw_fail(diag, XW_ERR_USAGE, "%s: line %" PRIu64 ": %s", path, line, why);
}

static int no_line(struct xw_diag *diag, FILE *f, const char *path, uint64_t line)
{
	return ferror(f) ? xw_fail_errno(diag, XW_ERR_IO, errno, "%s: cannot read", path)
			 : bad(diag, path, line, "the file ends early");
}

/* Parse up to three numbers of a line. Returns their count, or 0 if a word is not a number. */
static size_t numbers(char *line, double v[3])
{
	char *save, *word = strtok_r(line, " \t\r\n", &save);
	size_t n = 0;

	for (; word && n < 3; word = strtok_r(NULL, " \t\r\n", &save))
		if (xw_parse_decimal(word, strlen(word), &v[n++]))
			return 0;
	return n;
}

static int parse_row(char *line, int kind, struct xw_age_row *row)
{
	double v[3] = {0};
	const size_t n = numbers(line, v);

	if (n < 2 || v[0] > 1e15 || v[1] > 1e9 || v[2] > 1e6)
		return XW_ERR_INPUT;
	*row = (struct xw_age_row){.value = (uint64_t)(kind == AGES ? v[0] * FIXED : v[0]),
				   .weight = (uint32_t)v[1],
				   .subdirs = (uint32_t)v[2]};
	return kind == DEPTHS && row->value > 64 ? XW_ERR_INPUT : 0;
}

static int read_rows(FILE *f, const char *path, int kind, struct xw_diag *diag,
		     struct xw_age_table *t)
{
	auto_free char *line = NULL;
	size_t room = 0;
	uint64_t rows;

	if (getline(&line, &room, f) < 0)
		return no_line(diag, f, path, 1);
	line[strcspn(line, " \t\r\n")] = 0;
	if (xw_parse_u64(line, &rows) || !rows || rows > ROWS_MAX)
		return bad(diag, path, 1, "must be the number of rows, 1 to 4096");
	for (uint64_t no = 2; no < rows + 2; no++) {
		struct xw_age_row row;
		int rc;

		if (getline(&line, &room, f) < 0)
			return no_line(diag, f, path, no);
		if (parse_row(line, kind, &row))
			return bad(diag, path, no, "must be a value and a weight");
		if (t->a.n && t->a.v[t->a.n - 1].value >= row.value)
			return bad(diag, path, no, "values must ascend");
		rc = add(t, row, diag);
		if (rc)
			return rc;
	}
	/* ages are divided by the largest one */
	if (kind == AGES && !t->a.v[t->a.n - 1].value)
		return bad(diag, path, rows + 1, "the last age must be at least 0.001");
	return t->weight ? 0 : bad(diag, path, 1, "all weights are 0");
}

static int from_file(const char *path, int kind, struct xw_diag *diag, struct xw_age_table *t)
{
	FILE *f;
	int rc = xw_age_fopen(path, diag, &f);

	if (rc)
		return rc;
	rc = read_rows(f, path, kind, diag, t);
	fclose(f);
	return rc;
}

int xw_age_tables_load(const struct xw_age_opts *o, struct xw_diag *diag, struct xw_age_tables *t)
{
	const char *const files[KINDS] = {o->ages, o->sizes, o->depths};
	struct xw_age_table *const tables[KINDS] = {&t->ages, &t->sizes, &t->depths};
	const char *name = o->model ? o->model : models[0].name;
	const struct model *m = NULL;
	int rc = 0;

	*t = (struct xw_age_tables){0};
	for (size_t i = 0; i < XW_ARRAY_SIZE(models); i++)
		if (!strcmp(models[i].name, name))
			m = &models[i];
	if (!m)
		return xw_fail(diag, XW_ERR_USAGE,
			       "no such model '%s': agrawal, douceur and dayal are known", name);
	for (int k = 0; k < KINDS && !rc; k++)
		rc = files[k] ? from_file(files[k], k, diag, tables[k])
			      : from_model(m, k, diag, tables[k]);
	return rc;
}

void xw_age_tables_free(struct xw_age_tables *t)
{
	xw_vec_free(&t->ages.a);
	xw_vec_free(&t->sizes.a);
	xw_vec_free(&t->depths.a);
}

size_t xw_age_table_pick(const struct xw_age_table *t, uint64_t n)
{
	size_t i = 0;

	while (i + 1 < t->a.n && n >= t->a.v[i].weight)
		n -= t->a.v[i++].weight;
	return i;
}
