/* SPDX-License-Identifier: MIT */
/*
 * Parses a copy of the text in one pass, line by line. Strings are terminated and unquoted in
 * place: a value becomes no longer when its quotes and backslashes are removed.
 *
 * Details beyond the man page were observed with mke2fs 1.47.0: lines before the first section are
 * skipped; a comment may start anywhere outside quotes; after "tag =" alone, the next line must
 * begin with "{"; a '*' after a name is ignored. Unlike mke2fs, an unclosed quote or stanza, and
 * text after a closing quote, are errors.
 */
#include <string.h>

#include "base/auto.h"
#include "plan/profile.h"

struct parser {
	struct xw_profile *p;
	struct xw_diag *diag;
	const char *section; /* NULL before the first */
	size_t stanza; /* as in struct xw_relation */
	unsigned depth; /* nesting depth of stanzas */
	uint32_t line, open_line; /* the current line, and that of the innermost "{" or "tag =" */
	bool pending; /* after "tag =": the next line must begin with "{" */
};

static int bad(const struct parser *ps, const char *why)
{
	return xw_fail(ps->diag, XW_ERR_USAGE, "%s:%u: %s", ps->p->name, ps->line, why);
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static char *skip_blanks(char *s)
{
	while (blank(*s))
		s++;
	return s;
}

static bool at_end(const char *s)
{
	return !*s || *s == '#' || *s == ';';
}

/* Skip blanks and ignored marks after a name or a bracket. */
static char *skip_marks(char *s)
{
	s = skip_blanks(s);
	if (*s == '*')
		s = skip_blanks(s + 1);
	return s;
}

/* Unquote the string at s, after its opening quote, in place; set *end after the closing quote. */
static int unquote(const struct parser *ps, char *s, char **end)
{
	static const char codes[] = "ntb", meaning[] = "\n\t\b";
	char *to = s;

	for (; *s && *s != '"'; s++) {
		const char *code;

		if (*s == '\\' && s[1]) {
			s++;
			code = strchr(codes, *s);
			*to++ = code ? meaning[code - codes] : *s;
		} else {
			*to++ = *s;
		}
	}
	if (!*s)
		return bad(ps, "a quote is not closed");
	*end = s + 1;
	*to = '\0';
	return 0;
}

static int add(struct parser *ps, const char *tag, const char *value)
{
	const struct xw_relation r = {ps->section, tag, value, ps->stanza, ps->line};

	if (ps->depth > 1)
		return 0; /* no section uses stanzas inside stanzas */
	return xw_vec_push(&ps->p->relations, r) ? xw_fail_nomem(ps->diag, "configuration") : 0;
}

static int open_stanza(struct parser *ps, const char *s)
{
	if (!at_end(s))
		return bad(ps, "text after '{': each relation needs a line of its own");
	if (!ps->depth++)
		ps->stanza = ps->p->relations.n;
	ps->open_line = ps->line;
	return 0;
}

static int close_stanza(struct parser *ps, char *s)
{
	if (!ps->depth)
		return bad(ps, "'}' without '{'");
	if (!at_end(skip_marks(s)))
		return bad(ps, "text after '}'");
	if (!--ps->depth)
		ps->stanza = 0;
	return 0;
}

static int open_section(struct parser *ps, char *s)
{
	char *end = strchr(s, ']');

	if (ps->depth)
		return bad(ps, "a section begins inside a stanza: '}' is missing");
	if (!end)
		return bad(ps, "']' is missing");
	if (!at_end(skip_marks(end + 1)))
		return bad(ps, "text after ']'");
	*end = '\0';
	ps->section = s;
	return 0;
}

/* Set *tag to the tag at the start of *s, and advance *s. */
static int read_tag(const struct parser *ps, char **s, char **tag)
{
	char *end;

	if (**s == '"') {
		*tag = *s + 1;
		return unquote(ps, *tag, s);
	}
	*tag = *s;
	end = *s + strcspn(*s, " \t\r\v\f=*#;");
	if (end == *s)
		return bad(ps, "a relation begins with its name");
	*s = end;
	return 0;
}

/* Parse "tag = value". The byte after the tag is overwritten once it has been examined. */
static int relation(struct parser *ps, char *s)
{
	char *tag, *tag_end, *end;
	bool quoted;
	int rc = read_tag(ps, &s, &tag);

	if (rc)
		return rc;
	tag_end = s;
	s = skip_marks(s);
	if (*s != '=')
		return bad(ps, "'=' is missing");
	s = skip_blanks(s + 1);
	*tag_end = '\0';
	quoted = *s == '"';
	if (at_end(s) || *s == '{') {
		rc = add(ps, tag, NULL);
		ps->pending = *s != '{';
		ps->open_line = ps->line;
		return rc || ps->pending ? rc : open_stanza(ps, skip_blanks(s + 1));
	}
	if (quoted) {
		rc = unquote(ps, ++s, &end);
		if (!rc && !at_end(skip_blanks(end)))
			rc = bad(ps, "text after the closing quote");
		return rc ? rc : add(ps, tag, s);
	}
	end = s + strcspn(s, "#;");
	while (blank(end[-1]))
		end--;
	*end = '\0';
	return add(ps, tag, s);
}

static int read_line(struct parser *ps, char *s)
{
	s = skip_blanks(s);
	if (at_end(s))
		return 0;
	if (ps->pending) {
		ps->pending = false;
		return *s == '{' ? open_stanza(ps, skip_blanks(s + 1))
				 : bad(ps, "'{' expected: the previous relation has no value");
	}
	if (*s == '[')
		return open_section(ps, s + 1);
	if (!ps->section)
		return 0;
	return *s == '}' ? close_stanza(ps, s + 1) : relation(ps, s);
}

static int read_text(struct parser *ps, size_t len)
{
	char *s = ps->p->text, *end = s + len;

	while (s < end) {
		char *eol = memchr(s, '\n', (size_t)(end - s));
		int rc;

		if (!eol)
			eol = end;
		*eol = '\0';
		ps->line++;
		rc = strlen(s) == (size_t)(eol - s) ? read_line(ps, s)
						    : bad(ps, "not text: a NUL byte");
		if (rc)
			return rc;
		s = eol + 1;
	}
	if (!ps->depth && !ps->pending)
		return 0;
	ps->line = ps->open_line;
	return bad(ps, "the stanza is not closed");
}

static void profile_end(struct xw_profile **p)
{
	xw_profile_free(*p);
}

int xw_profile_parse(const char *name, const char *text, size_t len, struct xw_diag *diag,
		     struct xw_profile **out)
{
	auto_end(profile_end) struct xw_profile *p = calloc(1, sizeof(*p));
	struct parser ps = {.p = p, .diag = diag};
	int rc;

	*out = NULL;
	if (len > XW_PROFILE_MAX)
		return xw_fail(diag, XW_ERR_USAGE, "%s: larger than %u bytes", name,
			       XW_PROFILE_MAX);
	if (p) {
		p->name = strdup(name);
		p->text = malloc(len + 1);
	}
	if (!p || !p->name || !p->text)
		return xw_fail_nomem(diag, "configuration");
	if (len)
		memcpy(p->text, text, len);
	p->text[len] = '\0';
	rc = read_text(&ps, len);
	if (!rc)
		*out = steal(p);
	return rc;
}

void xw_profile_free(struct xw_profile *p)
{
	if (!p)
		return;
	xw_vec_free(&p->relations);
	free(p->name);
	free(p->text);
	free(p);
}

const struct xw_relation *xw_profile_stanza(const struct xw_profile *p, const char *section,
					    const char *tag, size_t tag_len)
{
	for (size_t i = 0; i < p->relations.n; i++) {
		const struct xw_relation *r = &p->relations.v[i];

		if (!r->stanza && !r->value && !strcmp(r->section, section) &&
		    strlen(r->tag) == tag_len && !memcmp(r->tag, tag, tag_len))
			return r;
	}
	return NULL;
}

const struct xw_relation *xw_profile_find(const struct xw_profile *p, const char *section,
					  const struct xw_relation *stanza, const char *tag)
{
	size_t in = stanza ? (size_t)(stanza - p->relations.v) + 1 : 0;

	for (size_t i = 0; i < p->relations.n; i++) {
		const struct xw_relation *r = &p->relations.v[i];

		if (r->value && r->stanza == in && !strcmp(r->section, section) &&
		    !strcmp(r->tag, tag))
			return r;
	}
	return NULL;
}
