// SPDX-License-Identifier: MIT
/*
 * Selection rules, which follow tar(1): exclusion patterns are unanchored, and "*" matches slashes.
 * In archives of "." names start with "./"; a pattern with this prefix matches only whole paths,
 * whether or not the archive's names have it. A trailing slash, with which a pattern of tar matches
 * nothing, is ignored.
 */
#include "config.h"

#include "base/date.h"
#include "base/parse.h"
#include "import/lines.h"
#include "import/select.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

void xw_select_free(struct xw_select *s)
{
	for (size_t i = 0; i < s->exclude.n; i++)
		free(s->exclude.v[i]);
	for (size_t i = 0; i < s->xattrs_exclude.n; i++)
		free(s->xattrs_exclude.v[i]);
	xw_vec_free(&s->exclude);
	xw_vec_free(&s->xattrs_exclude);
	xw_mode_free(&s->mode);
	free(s->directory);
	xw_idmap_free(&s->owners);
	xw_idmap_free(&s->groups);
	if (s->transforms)
		xw_transforms_free(s->transforms);
	free(s->transforms);
	memset(s, 0, sizeof(*s));
}

static int bad_value(struct xw_diag *diag, const char *option, const char *value, const char *want)
{
	return xw_fail(diag, XW_ERR_USAGE, "%s: \"%s\" is not %s", option, value ? value : "",
		       want);
}

/* Parse the number at *p, and set *p behind it. */
static bool parse_u32(const char **p, uint32_t *out)
{
	uint64_t n;

	if (xw_parse_digits(*p, 10, &n, p) || n > UINT32_MAX)
		return false;
	*out = (uint32_t)n;
	return true;
}

/* Parse UID[:GID] or :GID. A value that is not valid changes nothing. */
static int set_owner(struct xw_select *s, const char *option, const char *value,
		     struct xw_diag *diag)
{
	const char *p = value ? value : "";
	uint32_t owner = 0, group = 0;
	const bool has_owner = *p != ':' && parse_u32(&p, &owner);
	const bool has_group = *p == ':' && (p++, parse_u32(&p, &group));

	if (*p || !(has_owner || has_group))
		return bad_value(diag, option, value, "UID[:GID] in numbers");
	if (has_owner)
		s->owner = owner;
	if (has_group)
		s->group = group;
	s->owner_set |= has_owner;
	s->group_set |= has_group;
	return 0;
}

static int set_number(const char *option, const char *value, const char *want, uint32_t *out,
		      struct xw_diag *diag)
{
	return value && !xw_parse_u32(value, out) ? 0 : bad_value(diag, option, value, want);
}

static int set_directory(struct xw_select *s, const char *value, struct xw_diag *diag)
{
	struct xw_slice path = xw_slice_of(value ? value : "");

	if (xw_slice_has_dotdot(path))
		return bad_value(diag, "--directory", value, "a directory without \"..\"");
	path = xw_slice_trim(path);
	while (path.len && *path.p == '/') {
		path.p++;
		path.len--;
	}
	free(s->directory);
	s->directory = strndup(path.p, path.len);
	return s->directory ? 0 : xw_fail_nomem(diag, "--directory");
}

static int set_mode(struct xw_select *s, const char *option, const char *value,
		    struct xw_diag *diag)
{
	const int rc = xw_mode_parse(value ? value : "", &s->mode);

	if (rc == XW_ERR_USAGE)
		return bad_value(diag, option, value, "an octal or symbolic mode");
	return rc ? xw_fail_nomem(diag, option) : 0;
}

static bool is_anchored(const char *pattern)
{
	return pattern[0] == '.' && pattern[1] == '/';
}

/* Normalize a pattern: at most one leading "./", no trailing slash. */
static void normalize(char *pattern)
{
	size_t len = strlen(pattern), from = 0;

	while (len > 1 && pattern[len - 1] == '/' && pattern[len - 2] != '\\')
		pattern[--len] = 0;
	if (!is_anchored(pattern))
		return;
	while (pattern[from] == '/' || is_anchored(pattern + from))
		from++;
	memmove(pattern + 2, pattern + from, len - from + 1);
}

static int add_pattern(struct xw_select *s, const char *option, const char *value, bool path,
		       struct xw_diag *diag)
{
	char *copy = strdup(value ? value : "");

	if (copy && path)
		normalize(copy);
	if (!copy ||
	    (path ? xw_vec_push(&s->exclude, copy) : xw_vec_push(&s->xattrs_exclude, copy))) {
		free(copy);
		return xw_fail_nomem(diag, option);
	}
	return 0;
}

static int add_line(void *arg, struct xw_line *l)
{
	return add_pattern(arg, l->option, l->text, true, l->diag);
}

static int add_transform(struct xw_select *s, const char *value, struct xw_diag *diag)
{
	if (!s->transforms)
		s->transforms = calloc(1, sizeof(*s->transforms));
	return s->transforms ? xw_transforms_add(s->transforms, value, diag)
			     : xw_fail_nomem(diag, "--transform");
}

static int set_time(const char *option, const char *value, struct xw_time *t, struct xw_diag *diag)
{
	return value && xw_date_seconds(value, t)
		       ? 0
		       : bad_value(diag, option, value, "a number of seconds since 1970");
}

/* Options that take files, patterns or times. XW_ERR_NOTFOUND: another option. */
static int set_source(struct xw_select *s, const char *option, const char *value,
		      struct xw_diag *diag)
{
	if (!strcmp(option, "--exclude"))
		return add_pattern(s, option, value, true, diag);
	if (!strcmp(option, "--xattrs-exclude"))
		return add_pattern(s, option, value, false, diag);
	if (!strcmp(option, "--exclude-from"))
		return xw_lines_read(option, value, diag, add_line, s);
	if (!strcmp(option, "--transform"))
		return add_transform(s, value, diag);
	if (!strcmp(option, "--owner-map"))
		return xw_idmap_read(&s->owners, option, value, false, &s->names, diag);
	if (!strcmp(option, "--group-map"))
		return xw_idmap_read(&s->groups, option, value, true, &s->names, diag);
	if (!strcmp(option, "--mtime")) {
		s->mtime_set = true;
		return set_time(option, value, &s->mtime, diag);
	}
	if (!strcmp(option, "--newer") || !strcmp(option, "--newer-mtime")) {
		s->newer_set = true;
		s->newer_mtime = !strcmp(option, "--newer-mtime");
		return set_time(option, value, &s->newer, diag);
	}
	return XW_ERR_NOTFOUND;
}

int xw_select_set(struct xw_select *s, const char *option, const char *value, struct xw_diag *diag)
{
	int rc = set_source(s, option, value, diag);

	if (rc != XW_ERR_NOTFOUND)
		return rc;
	if (!strcmp(option, "--all-root")) {
		s->owner = s->group = 0;
		s->owner_set = s->group_set = true;
		return 0;
	}
	if (!strcmp(option, "--strip-components"))
		return set_number(option, value, "a number", &s->strip_components, diag);
	if (!strcmp(option, "--directory"))
		return set_directory(s, value, diag);
	if (!strcmp(option, "--owner"))
		return set_owner(s, option, value, diag);
	if (!strcmp(option, "--group")) {
		rc = set_number(option, value, "a GID in numbers", &s->group, diag);
		s->group_set |= !rc;
		return rc;
	}
	if (!strcmp(option, "--mode"))
		return set_mode(s, option, value, diag);
	if (!strcmp(option, "--clamp-mtime")) {
		s->clamp_mtime = true;
		return 0;
	}
	return XW_ERR_NOTFOUND;
}

static bool skip_dots(const char **p, const char *end)
{
	const char *q = *p;

	if (q < end && *q == '/') {
		*p = q + 1;
		return true;
	}
	if (q < end && *q == '.' && (q + 1 == end || q[1] == '/')) {
		*p = q + 1;
		return true;
	}
	return false;
}

bool xw_select_strip(const struct xw_select *s, struct xw_slice path, struct xw_slice *out)
{
	const char *p = path.p, *end = p + path.len;

	*out = path;
	if (!s->strip_components)
		return true;
	for (unsigned i = 0; i < s->strip_components; i++) {
		while (skip_dots(&p, end))
			;
		while (p < end && *p != '/')
			p++;
	}
	while (skip_dots(&p, end))
		;
	*out = (struct xw_slice){p, (size_t)(end - p)};
	return p < end;
}

/* 1: the text matches, 0: it does not, or XW_ERR_NOMEM. */
static int match(const char *pattern, struct xw_slice text, int flags)
{
	char stack[512], *buf = text.len < sizeof(stack) ? stack : malloc(text.len + 1);
	int hit;

	if (!buf)
		return XW_ERR_NOMEM;
	memcpy(buf, text.p, text.len);
	buf[text.len] = 0;
	hit = !fnmatch(pattern, buf, flags);
	if (buf != stack)
		free(buf);
	return hit;
}

/*
 * Does any --exclude pattern match this tail of a path? 1, 0 or XW_ERR_NOMEM. top: the tail is the
 * whole path.
 */
static int matches_any(const struct xw_select *s, struct xw_slice tail, bool top)
{
	for (size_t i = 0; i < s->exclude.n; i++) {
		const char *pattern = s->exclude.v[i];
		const bool anchored = is_anchored(pattern);

		const int hit =
			top || !anchored ? match(pattern + 2 * anchored, tail, FNM_LEADING_DIR) : 0;

		if (hit)
			return hit;
	}
	return 0;
}

int xw_select_excluded(const struct xw_select *s, struct xw_slice path)
{
	const char *p = path.p, *end = p + path.len;
	bool top = true;

	if (!s->exclude.n)
		return 0;
	while (skip_dots(&p, end))
		;
	while (end > p && end[-1] == '/')
		end--;
	while (p < end) {
		struct xw_slice tail = {p, (size_t)(end - p)};
		const int hit = matches_any(s, tail, top);

		if (hit)
			return hit;
		top = false;
		while (p < end && *p != '/')
			p++;
		while (p < end && *p == '/')
			p++;
	}
	return 0;
}

int xw_select_xattr_excluded(const struct xw_select *s, struct xw_slice name)
{
	for (size_t i = 0; i < s->xattrs_exclude.n; i++) {
		const int hit = match(s->xattrs_exclude.v[i], name, 0);

		if (hit)
			return hit;
	}
	return 0;
}

uint32_t xw_select_mode(const struct xw_select *s, uint32_t mode, bool directory)
{
	return xw_mode_apply(&s->mode, mode, directory);
}

static bool is_after(struct xw_time a, struct xw_time b)
{
	return a.sec > b.sec || (a.sec == b.sec && a.nsec > b.nsec);
}

struct xw_time xw_select_time(const struct xw_select *s, struct xw_time t)
{
	const struct xw_time to = s->mtime_set ? s->mtime : (struct xw_time){s->clamp, 0};

	if (s->mtime_set && !s->clamp_mtime)
		return to;
	return s->clamp_mtime && is_after(t, to) ? to : t;
}

int xw_select_transform(const struct xw_select *s, enum xw_transform_what what,
			struct xw_slice *path)
{
	if (!s->transforms)
		return 0;
	while (path->len > 1 && path->p[path->len - 1] == '/')
		path->len--;
	return xw_transforms_apply(s->transforms, what, path);
}

uint32_t xw_select_owner(const struct xw_select *s, uint32_t uid)
{
	return xw_idmap_apply(&s->owners, &uid) || !s->owner_set ? uid : s->owner;
}

uint32_t xw_select_group(const struct xw_select *s, uint32_t gid)
{
	return xw_idmap_apply(&s->groups, &gid) || !s->group_set ? gid : s->group;
}

uint32_t xw_select_id(const void *select, bool group, uint32_t id)
{
	return group ? xw_select_group(select, id) : xw_select_owner(select, id);
}

bool xw_select_maps_ids(const struct xw_select *s)
{
	return s->owner_set || s->group_set || s->owners.v.n || s->groups.v.n;
}

bool xw_select_too_old(const struct xw_select *s, const struct xw_entry *e)
{
	if (!s->newer_set || e->type == XW_ET_DIR || is_after(e->mtime, s->newer))
		return false;
	return s->newer_mtime || !e->has_ctime || !is_after(e->ctime, s->newer);
}
