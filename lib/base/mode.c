/* SPDX-License-Identifier: MIT */
#include "base/mode.h"

#include <string.h>

#include "base/parse.h"
#include "base/types.h"

#define ALL 07777u
#define SETID 06000u
#define X_ALL 0111u

void xw_mode_free(struct xw_mode *m)
{
	xw_vec_free(&m->v);
}

/* Octal digits at *p. */
static bool octal(const char **p, uint16_t *bits)
{
	uint64_t n;

	if (xw_parse_digits(*p, 8, &n, p) || n > ALL)
		return false;
	*bits = (uint16_t)n;
	return true;
}

bool xw_mode_octal(const char *text, uint32_t *out)
{
	uint16_t bits;

	if (!octal(&text, &bits) || *text)
		return false;
	*out = bits;
	return true;
}

/* The letters of a change. */
static const char *letters(const char *p, struct xw_mode_change *c)
{
	static const char names[] = "rwxXst";
	static const uint16_t bits[] = {0444, 0222, X_ALL, 0, SETID, 01000};
	const char *at;

	for (; *p && (at = strchr(names, *p)); p++) {
		c->bits |= bits[at - names];
		c->x_if_any |= *p == 'X';
	}
	return p;
}

/* Parse a change behind the letters in front of it (0: none); NULL: it is malformed. */
static const char *change(const char *p, uint16_t who, struct xw_mode_change *c)
{
	static const char copied[] = "ugo";
	static const uint16_t from[] = {0700, 0070, 0007};
	const char *at;

	*c = (struct xw_mode_change){.op = *p++, .who = who ? who : ALL};
	if (*p >= '0' && *p <= '7') {
		c->named = SETID;
		return !who && octal(&p, &c->bits) && (!*p || *p == ',') ? p : NULL;
	}
	at = *p ? strchr(copied, *p) : NULL;
	if (at) {
		c->copy = true;
		c->bits = from[at - copied];
		return p + 1;
	}
	p = letters(p, c);
	c->named = c->bits & c->who & SETID;
	return p;
}

/* Parse a clause, which has at least one change; NULL: it is malformed. */
static const char *clause(const char *p, struct xw_mode *m, int *rc)
{
	static const char names[] = "ugoa";
	static const uint16_t bits[] = {04700, 02070, 01007, ALL};
	struct xw_mode_change c;
	uint16_t who = 0;
	const char *at;

	for (; *p && (at = strchr(names, *p)); p++)
		who |= bits[at - names];
	do {
		if (!*p || !strchr("+-=", *p))
			return NULL;
		p = change(p, who, &c);
		if (p && xw_vec_push(&m->v, c))
			*rc = XW_ERR_NOMEM;
	} while (p && *p && *p != ',' && !*rc);
	return p;
}

/* A mode in octal. As for chmod(1), one of five or more digits also clears bits of directories. */
static int parse_octal(const char *text, struct xw_mode *m)
{
	struct xw_mode_change c = {.op = '=', .who = ALL};
	const char *end = text;

	if (!octal(&end, &c.bits) || *end)
		return XW_ERR_USAGE;
	c.named = end - text > 4 ? SETID : c.bits & SETID;
	return xw_vec_push(&m->v, c);
}

int xw_mode_parse(const char *text, struct xw_mode *m)
{
	int rc = 0;

	m->v.n = 0;
	if (*text >= '0' && *text <= '7') {
		rc = parse_octal(text, m);
	} else {
		do
			text = clause(text, m, &rc);
		while (!rc && text && *text++ == ',');
		if (!text)
			rc = XW_ERR_USAGE;
	}
	if (rc)
		m->v.n = 0;
	return rc;
}

/* Copy the bits of one of the three classes to all of them. */
static uint32_t spread(uint32_t bits)
{
	return ((bits >> 6 | bits >> 3 | bits) & 7) * X_ALL;
}

uint32_t xw_mode_apply(const struct xw_mode *m, uint32_t mode, bool directory)
{
	for (size_t i = 0; i < m->v.n; i++) {
		const struct xw_mode_change *c = &m->v.v[i];
		const uint32_t kept = directory ? SETID & ~(uint32_t)c->named : 0;
		const uint32_t may = c->who & ~kept;
		uint32_t bits = c->copy ? spread(mode & c->bits) : c->bits;

		if (c->x_if_any && (directory || mode & X_ALL))
			bits |= X_ALL;
		bits &= may;
		if (c->op == '+')
			mode |= bits;
		else if (c->op == '-')
			mode &= ~bits;
		else
			mode = (mode & ~may) | bits;
	}
	return mode;
}
