// SPDX-License-Identifier: MIT
#include "config.h"

#include "import/idmap.h"

#include <stdlib.h>
#include <string.h>

#include "import/lines.h"

struct reading {
	struct xw_idmap *m;
	bool group;
	const struct xw_acl_names *names;
};

static bool number_of(const struct reading *r, const char *word, uint32_t *id)
{
	if (*word == '+')
		return xw_line_u32(word + 1, id);
	return r->names->lookup && !r->names->lookup(r->names->arg, r->group, word, id);
}

static int refuse(const struct xw_line *l, const char *word, const char *forms)
{
	if (*word == '+')
		return xw_line_fail(l, "'%.80s' is not + and a number up to 4294967295", word);
	return xw_line_fail(l, "unknown name '%.80s' (numbers are written %s)", word, forms);
}

static int take(void *arg, struct xw_line *l)
{
	const struct reading *r = arg;
	char *words[2], *colon;
	struct xw_idmap_pair p;
	size_t n;

	l->text[strcspn(l->text, "#")] = '\0';
	n = xw_line_words(l, words, 2);
	if (!n)
		return 0;
	if (n != 2)
		return xw_line_fail(l, "must be two words, OLD NEW");
	colon = strchr(words[1], ':');
	if (!number_of(r, words[0], &p.from))
		return refuse(l, words[0], "+NUMBER");
	if (colon && !xw_line_u32(colon + 1, &p.to))
		return xw_line_fail(l, "'%.80s' is not NAME:NUMBER", words[1]);
	if (!colon && !number_of(r, words[1], &p.to))
		return refuse(l, words[1], "+NUMBER or NAME:NUMBER");
	/* the first line for an ID takes precedence, as in tar */
	for (size_t i = 0; i < r->m->v.n; i++)
		if (r->m->v.v[i].from == p.from)
			return 0;
	return xw_vec_push(&r->m->v, p) ? xw_fail_nomem(l->diag, l->option) : 0;
}

static int by_from(const void *a, const void *b)
{
	const struct xw_idmap_pair *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

int xw_idmap_read(struct xw_idmap *m, const char *option, const char *file, bool group,
		  const struct xw_acl_names *names, struct xw_diag *diag)
{
	struct reading r = {m, group, names};
	int rc = xw_lines_read(option, file, diag, take, &r);

	if (!rc && m->v.n)
		qsort(m->v.v, m->v.n, sizeof(*m->v.v), by_from);
	return rc;
}

bool xw_idmap_apply(const struct xw_idmap *m, uint32_t *id)
{
	const struct xw_idmap_pair key = {.from = *id}, *found = NULL;

	if (m->v.n)
		found = bsearch(&key, m->v.v, m->v.n, sizeof(key), by_from);
	if (found)
		*id = found->to;
	return found;
}

void xw_idmap_free(struct xw_idmap *m)
{
	xw_vec_free(&m->v);
}
