// SPDX-License-Identifier: MIT
/*
 * Expressions as described in tar(1): any delimiter, "&", "\0" to "\9", case conversion by "\L",
 * "\U", "\l", "\u" and "\E", the flags g, i, x and a number, and the scope flags r, R, s, S, h, H.
 * Only ASCII letters are converted: names are bytes.
 */
#include "config.h"

#include "import/transform.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/parse.h"

#define GROUPS 10

static int invalid(struct xw_diag *diag, const char *text, const char *why)
{
	return xw_fail(diag, XW_ERR_USAGE, "--transform: \"%s\": %s", text, why);
}

static void free_one(struct xw_transform *x)
{
	regfree(&x->re);
	free(x->replacement);
}

void xw_transforms_free(struct xw_transforms *t)
{
	for (size_t i = 0; i < t->v.n; i++)
		free_one(&t->v.v[i]);
	xw_vec_free(&t->v);
	xw_vec_free(&t->text[0]);
	xw_vec_free(&t->text[1]);
	for (size_t i = 0; i < XW_ARRAY_SIZE(t->done); i++)
		xw_vec_free(&t->done[i]);
}

/* ---- reading an expression ---- */

/*
 * The text up to the delimiter, after which *at then points; "\DELIMITER" stands for the delimiter.
 * NULL: no delimiter found, or out of memory.
 */
static char *part(const char **at, char delimiter)
{
	const char *p = *at;
	char *out = malloc(strlen(p) + 1);
	size_t n = 0;

	for (; out && *p && *p != delimiter; p++) {
		if (*p == '\\' && p[1] && p[1] != delimiter)
			out[n++] = *p++;
		else if (*p == '\\' && p[1])
			p++;
		out[n++] = *p;
	}
	if (!out || !*p) {
		free(out);
		return NULL;
	}
	out[n] = '\0';
	*at = p + 1;
	return out;
}

/* Apply one of the scope flags rRsShH to *what. false: another character. */
static bool is_scope(char c, unsigned *what)
{
	static const char letters[] = "rRsShH";
	static const unsigned bits[] = {XW_TRANSFORM_NAME, XW_TRANSFORM_SYMLINK,
					XW_TRANSFORM_HARDLINK};
	const char *at = c ? strchr(letters, c) : NULL;

	if (!at)
		return false;
	if (islower((unsigned char)c))
		*what |= bits[(at - letters) / 2];
	else
		*what &= ~bits[(at - letters) / 2];
	return true;
}

static const char *read_flags(const char *p, struct xw_transform *x, int *cflags)
{
	for (; *p && *p != ';'; p++) {
		if (*p == 'g') {
			x->all = true;
		} else if (*p == 'i') {
			*cflags |= REG_ICASE;
		} else if (*p == 'x') {
			*cflags |= REG_EXTENDED;
		} else if (*p >= '0' && *p <= '9') {
			uint64_t n;

			if (xw_parse_digits(p, 10, &n, &p) || n > UINT_MAX)
				return NULL;
			x->nth = (unsigned)n;
			p--;
		} else if (!is_scope(*p, &x->what)) {
			return NULL;
		}
	}
	return p;
}

/* Do all groups in the replacement exist in the expression? */
static bool groups_exist(const struct xw_transform *x)
{
	for (const char *p = x->replacement; *p; p++) {
		if (*p != '\\')
			continue;
		p++;
		if (!*p || (*p >= '1' && *p <= '9' && (size_t)(*p - '0') > x->re.re_nsub))
			return false;
	}
	return true;
}

static int read_one(struct xw_transforms *t, const char *text, const char **at,
		    struct xw_diag *diag)
{
	struct xw_transform x = {.what = t->what};
	const char *p = *at + 1;
	const char delimiter = *p ? *p++ : 's';
	auto_free char *pattern = **at == 's' ? part(&p, delimiter) : NULL;
	auto_free char *replacement = pattern ? part(&p, delimiter) : NULL;
	int cflags = 0, status;
	char why[128];

	p = replacement ? read_flags(p, &x, &cflags) : NULL;
	if (!p)
		return invalid(diag, text, "must be s/REGEXP/REPLACEMENT/ with flags gixrRsShH");
	status = regcomp(&x.re, pattern, cflags);
	if (status) {
		regerror(status, &x.re, why, sizeof(why));
		return invalid(diag, text, why);
	}
	x.replacement = steal(replacement);
	if (!groups_exist(&x)) {
		free_one(&x);
		return invalid(diag, text, "the replacement refers to a missing group");
	}
	if (xw_vec_push(&t->v, x)) {
		free_one(&x);
		return xw_fail_nomem(diag, "--transform");
	}
	*at = p;
	return 0;
}

int xw_transforms_add(struct xw_transforms *t, const char *text, struct xw_diag *diag)
{
	static const char flags[] = "flags=";
	const char *p = text ? text : "";
	int rc = 0;

	if (!t->begun)
		t->what = XW_TRANSFORM_NAME | XW_TRANSFORM_SYMLINK | XW_TRANSFORM_HARDLINK;
	t->begun = true;
	if (!*p)
		return invalid(diag, p, "must be s/REGEXP/REPLACEMENT/");
	while (*p && !rc) {
		if (strncmp(p, flags, sizeof(flags) - 1) == 0) {
			t->what = 0;
			for (p += sizeof(flags) - 1; is_scope(*p, &t->what); p++)
				;
			rc = *p && *p != ';' ? invalid(diag, text, "flags= takes rRsShH") : 0;
		} else {
			rc = read_one(t, text, &p, diag);
		}
		p += !rc && *p == ';';
	}
	return rc;
}

/* ---- applying expressions ---- */

/* Case conversion of appended text: for all of it, and for its first byte. */
struct casing {
	char all, once; /* 'L', 'U', or 0 */
};

static int append(struct xw_transforms *t, struct casing *c, const char *p, size_t n)
{
	if (!n)
		return 0;
	if (xw_vec_reserve(&t->text[0], t->text[0].n + n))
		return XW_ERR_NOMEM;
	for (size_t i = 0; i < n; i++) {
		const char how = c->once ? c->once : c->all;
		const unsigned char b = (unsigned char)p[i];

		c->once = 0;
		t->text[0].v[t->text[0].n++] = (char)(b >= 0x80    ? b
						      : how == 'L' ? tolower(b)
						      : how == 'U' ? toupper(b)
								   : b);
	}
	return 0;
}

/* Append the replacement for a match in `from`. */
static int replace(struct xw_transforms *t, const struct xw_transform *x, const char *from,
		   const regmatch_t *m)
{
	struct casing c = {0};
	int rc = 0;

	for (const char *p = x->replacement; *p && !rc; p++) {
		int group = *p == '&' ? 0 : -1;

		if (*p == '\\') {
			p++;
			if (*p >= '0' && *p <= '9')
				group = *p - '0';
			else if (*p == 'L' || *p == 'U')
				c.all = *p;
			else if (*p == 'E')
				c.all = 0;
			else if (*p == 'l' || *p == 'u')
				c.once = (char)toupper((unsigned char)*p);
			else
				rc = append(t, &c, *p == 'n' ? "\n" : *p == 't' ? "\t" : p, 1);
		} else if (group < 0) {
			rc = append(t, &c, p, 1);
		}
		if (group >= 0 && m[group].rm_so >= 0)
			rc = append(t, &c, from + m[group].rm_so,
				    (size_t)(m[group].rm_eo - m[group].rm_so));
	}
	return rc;
}

/*
 * Apply one expression to the string text[1], with the result in text[0]. An empty match directly
 * after another match is ignored.
 */
static int apply_one(struct xw_transforms *t, const struct xw_transform *x)
{
	const char *from = t->text[1].v, *last = NULL;
	struct casing plain = {0};
	regmatch_t m[GROUPS];
	unsigned n = 0;
	int rc = 0;

	t->text[0].n = 0;
	while (!rc && !regexec(&x->re, from, GROUPS, m, from == t->text[1].v ? 0 : REG_NOTBOL)) {
		const size_t begin = (size_t)m[0].rm_so, end = (size_t)m[0].rm_eo;
		const bool empty = begin == end, none = empty && from + begin == last;
		const bool hit = !none && ++n >= x->nth;

		rc = append(t, &plain, from, hit ? begin : end);
		if (!rc && hit)
			rc = replace(t, x, from, m);
		from += end;
		last = from;
		if (!*from || (hit && !x->all))
			break;
		if (!rc && empty)
			rc = append(t, &plain, from++, 1);
	}
	return rc ? rc : append(t, &plain, from, strlen(from));
}

int xw_transforms_apply(struct xw_transforms *t, enum xw_transform_what what, struct xw_slice *name)
{
	bool any = false;

	for (size_t i = 0; i < t->v.n; i++) {
		if (!(t->v.v[i].what & what))
			continue;
		any = true;
		if (xw_vec_reserve(&t->text[1], name->len + 1))
			return XW_ERR_NOMEM;
		memcpy(t->text[1].v, name->p, name->len);
		t->text[1].v[name->len] = '\0';
		if (apply_one(t, &t->v.v[i]))
			return XW_ERR_NOMEM;
		*name = (struct xw_slice){t->text[0].v ? t->text[0].v : "", t->text[0].n};
	}
	if (!any)
		return 0;
	if (xw_vec_reserve(&t->done[what], name->len + 1))
		return XW_ERR_NOMEM;
	memcpy(t->done[what].v, name->p, name->len);
	name->p = t->done[what].v;
	return 0;
}
