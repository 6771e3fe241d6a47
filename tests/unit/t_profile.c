/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "plan/profile.h"
#include "unit.h"

static struct xw_profile *parse(const char *text, size_t len, int want, const char *said)
{
	struct xw_profile *p;
	struct xw_diag diag = {0};
	int err = xw_profile_parse("file", text, len, &diag, &p);

	ck_assert_msg(err == want, "%s: %d %s", text, err, diag.text);
	ck_assert_msg(!said || strstr(diag.text, said), "%s: %s", text, diag.text);
	ck_assert((p == NULL) == (err != 0));
	return p;
}

static const char *value(const struct xw_profile *p, const char *section, const char *stanza,
			 const char *tag)
{
	const struct xw_relation *in =
		stanza ? xw_profile_stanza(p, section, stanza, strlen(stanza)) : NULL;
	const struct xw_relation *r;

	if (stanza && !in)
		return "(no stanza)";
	r = xw_profile_find(p, section, in, tag);
	return r ? r->value : "(none)";
}

/* One text, one value that it must give. */
static const struct {
	const char *text, *section, *stanza, *tag, *value;
} values[] = {
	{"[a]\nb = c\n", "a", NULL, "b", "c"},
	{"[a]\nb=c", "a", NULL, "b", "c"},
	{"\t[a] \r\n \tb\t= c d \r\n", "a", NULL, "b", "c d"},
	{"[a]\nb = c # comment\n", "a", NULL, "b", "c"},
	{"[a]\nb = c;comment\n", "a", NULL, "b", "c"},
	{"[a] # comment\n# b = no\n; b = no\nb = c\n", "a", NULL, "b", "c"},
	{"[a]*\nb* = c\n", "a", NULL, "b", "c"},
	{"[a]\n\"b c\" = d\n", "a", NULL, "b c", "d"},
	{"[a]\nb = \"c # d; e\"  ; f\n", "a", NULL, "b", "c # d; e"},
	{"[a]\nb = \"\"\n", "a", NULL, "b", ""},
	{"[a]\nb = \"x\\ny\\tz\\b\\\\\\\"\\q\"\n", "a", NULL, "b", "x\ny\tz\b\\\"q"},
	{"[a]\nb = c\nb = d\n", "a", NULL, "b", "c"},
	{"[a]\nb = c\n[d]\nb = e\n[a]\nb = f\ng = h\n", "a", NULL, "g", "h"},
	{"[a]\nb = c\n[d]\nb = e\n", "d", NULL, "b", "e"},
	{"b = c\ninclude x\n}\n[a]\nd = e\n", "a", NULL, "b", "(none)"},
	{"b = c\n{\n[a]\nd = e\n", "a", NULL, "d", "e"},
	{"", "a", NULL, "b", "(none)"},
	{"[a]\n", "a", "s", "b", "(no stanza)"},
	{"[a]\ns = {\nb = c\n}\n", "a", "s", "b", "c"},
	{"[a]\ns = {\nb = c\n}\n", "a", NULL, "b", "(none)"},
	{"[a]\nb = 1\ns = {\nb = c\n}\n", "a", NULL, "b", "1"},
	{"[a]\ns = { # x\nb = c\n} # y\nd = e\n", "a", NULL, "d", "e"},
	{"[a]\ns =\n\n# x\n{\nb = c\n}*\n", "a", "s", "b", "c"},
	{"[a]\ns = {\n}\n", "a", "s", "b", "(none)"},
	/* of two stanzas of one name the first */
	{"[a]\ns = {\nb = c\n}\ns = {\nb = d\ne = f\n}\n", "a", "s", "b", "c"},
	{"[a]\ns = {\nb = c\n}\ns = {\ne = f\n}\n", "a", "s", "e", "(none)"},
	{"[a]\nr = {\nb = c\n}\ns = {\nb = d\n}\n", "a", "s", "b", "d"},
	/* stanzas in stanzas */
	{"[a]\ns = {\nt = {\nb = c\nu = {\n}\n}\nb = d\n}\nb = e\n", "a", "s", "b", "d"},
	{"[a]\ns = {\nt = {\nb = c\n}\n}\nb = e\n", "a", "s", "b", "(none)"},
	{"[a]\ns = {\nt = {\nb = c\n}\n}\nb = e\n", "a", NULL, "b", "e"},
	{"[a]\ns = {\nt = {\nb = c\n}\n}\n", "a", "t", "b", "(no stanza)"},
};

START_TEST(gives)
{
	struct xw_profile *p = parse(values[_i].text, strlen(values[_i].text), 0, NULL);

	ck_assert_str_eq(value(p, values[_i].section, values[_i].stanza, values[_i].tag),
			 values[_i].value);
	xw_profile_free(p);
}
END_TEST

static const struct {
	const char *text, *said;
} errors[] = {
	{"[a\nb = c\n", "file:1: "},
	{"[a] b\n", "file:1: "},
	{"[a]\nb\n", "file:2: '='"},
	{"[a]\nb c = d\n", "file:2: '='"},
	{"[a]\n = d\n", "file:2: "},
	{"[a]\n{\n}\n", "file:2: "},
	{"[a]\nb = \"c\n", "file:2: a quote"},
	{"[a]\nb = \"c\\\"\n", "file:2: a quote"},
	{"[a]\nb = \"c\\", "file:2: a quote"},
	{"[a]\nb = \"c\" d\n", "file:2: text"},
	{"[a]\n\"b = c\n", "file:2: a quote"},
	{"[a]\nb = c\n}\n", "file:3: '}'"},
	{"[a]\ns = { b = c }\n", "file:2: text"},
	{"[a]\ns = {\nb = c\n} d\n", "file:4: text"},
	{"[a]\ns =\nb = c\n", "file:3: '{'"},
	{"[a]\ns = {\nb = c\n", "file:2: the stanza"},
	{"[a]\ns = {\nt = {\n}\n[b]\n", "file:5: a section"},
	{"[a]\nx = y\ns =\n\n", "file:3: the stanza"},
};

START_TEST(refuses)
{
	parse(errors[_i].text, strlen(errors[_i].text), XW_ERR_USAGE, errors[_i].said);
}
END_TEST

START_TEST(lines)
{
	static const char text[] = "[a]\n\ns = {\n\nb = c\n}\n";
	struct xw_profile *p = parse(text, sizeof(text) - 1, 0, NULL);
	const struct xw_relation *s = xw_profile_stanza(p, "a", "s more", 1);

	ck_assert_ptr_nonnull(s);
	ck_assert_uint_eq(s->line, 3);
	ck_assert_uint_eq(xw_profile_find(p, "a", s, "b")->line, 5);
	xw_profile_free(p);
}
END_TEST

START_TEST(bytes)
{
	static char large[XW_PROFILE_MAX + 1];

	parse("[a]\nb\0= c\n", 10, XW_ERR_USAGE, "file:2: not text");
	xw_profile_free(parse("[a]\nb = c\xff\n", 10, 0, NULL));
	memset(large, ' ', sizeof(large));
	parse(large, sizeof(large), XW_ERR_USAGE, "larger");
	xw_profile_free(parse(large, sizeof(large) - 1, 0, NULL));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("profile");
	TCase *t = tcase_create("profile");

	unit_add_rows(t, gives, values, text);
	unit_add_rows(t, refuses, errors, text);
	tcase_add_test(t, lines);
	tcase_add_test(t, bytes);
	suite_add_tcase(s, t);
	return unit_main(s);
}
