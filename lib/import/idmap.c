// SPDX-License-Identifier: MIT
#include "config.h"

#include "import/idmap.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/parse.h"
#include "import/lines.h"

struct reading {
	struct xw_idmap *m;
	bool group;
	const struct xw_acl_names *names;
};

static bool number_of(const struct reading *r, const char *word, uint32_t *id)
{
	if (*word == '+')
		return !xw_parse_u32(word + 1, id);
	return r->names->lookup && !r->names->lookup(r->names->arg, r->group, word, id);
}

static int unknown(const struct xw_line *l, const char *word, const char *forms)
{
	if (*word == '+')
		return xw_line_fail(l, "'%.80s' is not + and a number up to 4294967295", word);
	return xw_line_fail(l, "unknown name '%.80s' (numbers are written %s)", word, forms);
}

static size_t find(const struct xw_idmap *m, uint32_t from)
{
	return XW_LOWER_BOUND(k, m->v.n, m->v.v[k].from >= from);
}

static int add_line(void *arg, struct xw_line *l)
{
	const struct reading *r = arg;
	char *words[2], *colon;
	struct xw_idmap_pair p;
	struct xw_idmap *m = r->m;
	size_t n;

	if (m->lines == UINT32_MAX)
		return xw_line_fail(l, "too many lines");
	p.line = m->lines++;
	l->text[strcspn(l->text, "#")] = '\0';
	n = xw_line_words(l, words, 2);
	if (!n)
		return 0;
	if (n != 2)
		return xw_line_fail(l, "must be two words, OLD NEW");
	colon = strchr(words[1], ':');
	if (!number_of(r, words[0], &p.from))
		return unknown(l, words[0], "+NUMBER");
	if (colon && xw_parse_u32(colon + 1, &p.to))
		return xw_line_fail(l, "'%.80s' is not NAME:NUMBER", words[1]);
	if (!colon && !number_of(r, words[1], &p.to))
		return unknown(l, words[1], "+NUMBER or NAME:NUMBER");
	return xw_vec_push(&m->v, p) ? xw_fail_nomem(l->diag, l->option) : 0;
}

static int by_id_and_line(const void *a, const void *b)
{
	const struct xw_idmap_pair *x = a, *y = b;
	const int order = xw_by_u32(&x->from, &y->from);

	return order ? order : xw_by_u32(&x->line, &y->line);
}

/* Sort the pairs. The first line for an ID takes precedence, as in tar. */
static void sort(struct xw_idmap *m)
{
	size_t n = 0;

	if (m->v.n)
		qsort(m->v.v, m->v.n, sizeof(*m->v.v), by_id_and_line);
	for (size_t i = 0; i < m->v.n; i++)
		if (!n || m->v.v[n - 1].from != m->v.v[i].from)
			m->v.v[n++] = m->v.v[i];
	m->v.n = n;
}

int xw_idmap_read(struct xw_idmap *m, const char *option, const char *file, bool group,
		  const struct xw_acl_names *names, struct xw_diag *diag)
{
	struct reading r = {m, group, names};
	const int rc = xw_lines_read(option, file, diag, add_line, &r);

	sort(m);
	return rc;
}

bool xw_idmap_apply(const struct xw_idmap *m, uint32_t *id)
{
	const size_t at = find(m, *id);

	if (at == m->v.n || m->v.v[at].from != *id)
		return false;
	*id = m->v.v[at].to;
	return true;
}

void xw_idmap_free(struct xw_idmap *m)
{
	xw_vec_free(&m->v);
}
