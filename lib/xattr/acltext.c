/* SPDX-License-Identifier: MIT */
/*
 * SCHILY.acl text to entries and back. The grammar in acl.h is the union of the formats of star,
 * GNU tar (libacl) and libarchive. Any other text is refused as a whole: a partial ACL could grant
 * more than the complete one.
 */
#include "config.h"

#include "xattr/acl.h"

#include <stdio.h>
#include <string.h>

#define NAME_MAX_LEN 255u

struct word {
	const char *p;
	size_t len;
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\0';
}

static struct word trim(struct word w)
{
	while (w.len && is_space(w.p[0])) {
		w.p++;
		w.len--;
	}
	while (w.len && is_space(w.p[w.len - 1]))
		w.len--;
	return w;
}

static bool word_is(struct word w, const char *full, const char *brief)
{
	return (w.len == strlen(full) && !memcmp(w.p, full, w.len)) ||
	       (w.len == strlen(brief) && !memcmp(w.p, brief, w.len));
}

/* Split an entry at its colons; returns the number of fields, 6 meaning "too many". */
static unsigned split(struct word entry, struct word f[5])
{
	unsigned n = 0;

	for (;;) {
		const char *colon = memchr(entry.p, ':', entry.len);
		struct word w = {entry.p, colon ? (size_t)(colon - entry.p) : entry.len};

		if (n == 5)
			return 6;
		f[n++] = trim(w);
		if (!colon)
			return n;
		entry.len -= w.len + 1;
		entry.p = colon + 1;
	}
}

/* 1: a valid id; -1: a number, but too large; 0: not a number. */
static int number(struct word w, uint32_t *id)
{
	uint64_t v = 0;

	if (!w.len)
		return 0;
	for (size_t i = 0; i < w.len; i++) {
		if (w.p[i] < '0' || w.p[i] > '9')
			return 0;
		if (v < XW_ACL_NO_ID)
			v = v * 10 + (unsigned)(w.p[i] - '0');
	}
	*id = (uint32_t)v;
	return v < XW_ACL_NO_ID ? 1 : -1;
}

static bool perms(struct word w, uint16_t *perm)
{
	*perm = 0;
	for (size_t i = 0; i < w.len; i++) {
		switch (w.p[i]) {
		case 'r':
		case 'R':
			*perm |= 4;
			break;
		case 'w':
		case 'W':
			*perm |= 2;
			break;
		case 'x':
		case 'X':
			*perm |= 1;
			break;
		case '-':
			break;
		default:
			return false;
		}
	}
	return w.len > 0;
}

static bool is_octal(char c, char max)
{
	return c >= '0' && c <= max;
}

/* libacl writes special bytes of a name as \ooo. */
static bool unescape(struct word w, char out[NAME_MAX_LEN + 1])
{
	size_t n = 0;

	for (size_t i = 0; i < w.len && n < NAME_MAX_LEN; n++) {
		if (w.p[i] == '\\' && w.len - i >= 4 && is_octal(w.p[i + 1], '3') &&
		    is_octal(w.p[i + 2], '7') && is_octal(w.p[i + 3], '7')) {
			out[n] = (char)((w.p[i + 1] - '0') << 6 | (w.p[i + 2] - '0') << 3 |
					(w.p[i + 3] - '0'));
			i += 4;
		} else {
			out[n] = w.p[i++];
		}
		if (i == w.len) {
			out[n + 1] = '\0';
			return strlen(out) == n + 1;
		}
	}
	return false;
}

struct parser {
	const struct xw_acl_names *names;
	const char *what;
	struct xw_diag *diag;
	bool is_default;
};

static int fail_entry(const struct parser *ps, struct word entry, const char *why)
{
	return xw_fail(ps->diag, XW_ERR_INPUT, "%s: ACL entry \"%.*s\": %s", ps->what,
		       (int)XW_MIN(entry.len, 120u), entry.p, why);
}

/* GNU tar stores names only, even with --numeric-owner. */
#define NO_SUCH(kind)                                                                              \
	"no such " kind " on this machine; bsdtar(1) and star(1) store numbers, too, and "         \
	"--xattrs-exclude='system.posix_acl_*' leaves ACLs out"

static int resolve(const struct parser *ps, struct word entry, struct word who, bool group,
		   uint32_t *id)
{
	char name[NAME_MAX_LEN + 1];
	int num = number(who, id);

	if (num)
		return num > 0 ? 0 : fail_entry(ps, entry, "id out of range");
	if (!unescape(who, name))
		return fail_entry(ps, entry, "not a name");
	if (!ps->names)
		return fail_entry(ps, entry, "the name cannot be resolved: it has no numeric id");
	if (ps->names->lookup(ps->names->arg, group, name, id) || *id == XW_ACL_NO_ID)
		return fail_entry(ps, entry, group ? NO_SUCH("group") : NO_SUCH("user"));
	return 0;
}

static int parse_entry(const struct parser *ps, struct word entry, struct xw_acl_entry *e)
{
	struct word all[5], *f = all;
	unsigned n = split(entry, all);
	bool user, group, mask;

	if (n <= 5 && n > 1 && word_is(f[0], "default", "d")) {
		if (!ps->is_default)
			return fail_entry(ps, entry, "a default entry in an access ACL");
		f++;
		n--;
	}
	user = word_is(f[0], "user", "u");
	group = word_is(f[0], "group", "g");
	mask = word_is(f[0], "mask", "m");
	if (!user && !group && !mask && !word_is(f[0], "other", "o"))
		return fail_entry(ps, entry, "unknown tag");
	*e = (struct xw_acl_entry){0, 0, XW_ACL_NO_ID};
	if (!user && !group) {
		e->tag = mask ? XW_ACL_MASK : XW_ACL_OTHER;
		if (n > 4 || (n >= 3 && f[1].len))
			return fail_entry(ps, entry, "takes no name");
		if (n < 2 || !perms(f[n == 2 ? 1 : 2], &e->perm))
			return fail_entry(ps, entry, "malformed permissions");
		return 0;
	}
	if (n < 3 || n > 4)
		return fail_entry(ps, entry, "malformed");
	if (!perms(f[2], &e->perm))
		return fail_entry(ps, entry, "malformed permissions");
	if (!f[1].len) {
		e->tag = user ? XW_ACL_USER_OBJ : XW_ACL_GROUP_OBJ;
		return 0;
	}
	e->tag = user ? XW_ACL_USER : XW_ACL_GROUP;
	if (n == 4 && f[3].len)
		return number(f[3], &e->id) > 0 ? 0 : fail_entry(ps, entry, "malformed id");
	return resolve(ps, entry, f[1], group, &e->id);
}

/* Get the text of the next entry without comment and spaces; false at the end. */
static bool next_entry(struct word *text, struct word *entry)
{
	const char *hash;
	size_t len = 0;

	if (!text->len)
		return false;
	while (len < text->len && text->p[len] != ',' && text->p[len] != '\n')
		len++;
	hash = memchr(text->p, '#', len);
	*entry = trim((struct word){text->p, hash ? (size_t)(hash - text->p) : len});
	len = XW_MIN(len + 1, text->len);
	text->p += len;
	text->len -= len;
	return true;
}

int xw_acl_from_text(struct xw_acl *acl, const char *text, size_t len, bool is_default,
		     const struct xw_acl_names *names, const char *what, struct xw_diag *diag)
{
	const struct parser ps = {names, what, diag, is_default};
	struct word rest = {text, len}, entry;
	int rc = 0;

	acl->e.n = 0;
	while (!rc && next_entry(&rest, &entry)) {
		struct xw_acl_entry e;

		if (!entry.len)
			continue;
		if (acl->e.n == XW_ACL_ENTRIES_MAX)
			rc = xw_fail(diag, XW_ERR_LIMIT, "%s: ACL of more than %u entries", what,
				     XW_ACL_ENTRIES_MAX);
		else
			rc = parse_entry(&ps, entry, &e);
		if (!rc && xw_vec_push(&acl->e, e))
			rc = xw_fail_nomem(diag, "an ACL");
	}
	if (rc) {
		acl->e.n = 0;
		return rc;
	}
	return acl->e.n ? xw_acl_finish(acl, XW_ERR_INPUT, what, diag) : 0;
}

static const char *tag_name(unsigned tag)
{
	switch (tag) {
	case XW_ACL_USER_OBJ:
	case XW_ACL_USER:
		return "user";
	case XW_ACL_GROUP_OBJ:
	case XW_ACL_GROUP:
		return "group";
	case XW_ACL_MASK:
		return "mask";
	default:
		return "other";
	}
}

size_t xw_acl_to_text(const struct xw_acl *acl, char *buf)
{
	size_t off = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < acl->e.n; i++) {
		const struct xw_acl_entry *e = &acl->e.v[i];
		char id[12] = "";

		if (e->tag == XW_ACL_USER || e->tag == XW_ACL_GROUP)
			snprintf(id, sizeof(id), "%u", e->id);
		off += (size_t)snprintf(buf + off, XW_ACL_TEXT_MAX(acl->e.n) - off,
					"%s%s:%s:%c%c%c", i ? "," : "", tag_name(e->tag), id,
					e->perm & 4 ? 'r' : '-', e->perm & 2 ? 'w' : '-',
					e->perm & 1 ? 'x' : '-');
	}
	return off;
}
