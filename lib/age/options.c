// SPDX-License-Identifier: MIT
/* Options of xw-age: parsing, and checks of combinations. */
#include "config.h"

#include <stddef.h>
#include <string.h>

#include "age/options.h"
#include "age/source.h"
#include "plan/params.h"
#include "plan/parse.h"

static int bad(const struct xw_age_options *o, const char *option, const char *value,
	       const char *want)
{
	return xw_fail(o->diag, XW_ERR_USAGE, "%s %s: must be %s", option, value, want);
}

/* Copy a value into the arena of the options. */
static int copy(struct xw_age_options *o, const char *value, char **to)
{
	*to = xw_arena_dup(&o->texts, value, strlen(value) + 1);
	return *to ? 0 : xw_fail_nomem(o->diag, "option");
}

/* Parse a percentage; *out is in 1/10000. */
static int set_percent(const struct xw_age_options *o, const char *option, const char *value,
		       uint32_t *out)
{
	const size_t len = strlen(value);
	double d;

	if (len < 2 || value[len - 1] != '%' || xw_parse_decimal(value, len - 1, &d) || d <= 0 ||
	    d > 100)
		return bad(o, option, value, "a share above 0% and up to 100%");
	*out = (uint32_t)(d * XW_AGE_ONE / 100 + 0.5);
	return 0;
}

/* Parse two sizes separated by sep. A missing second size equals the first. */
static int set_sizes(const struct xw_age_options *o, const char *option, char *value, char sep,
		     uint64_t *a, uint64_t *b)
{
	char *second = strchr(value, sep);

	if (second)
		*second++ = 0;
	if (xw_parse_size(value, 1, a) || (second && xw_parse_size(second, 1, b)))
		return bad(o, option, value, "a size, such as 64k or 1M");
	if (!second)
		*b = *a;
	return 0;
}

static int set_profile(struct xw_age_options *o, const char *value)
{
	struct xw_age_opts *p = &o->opts;
	char *name, *rest;

	if (copy(o, value, &name))
		return XW_ERR_NOMEM;
	o->have_profile = true;
	rest = strchr(name, ':');
	if (rest)
		*rest++ = 0;
	if (!strcmp(name, "pazdera") && !rest) {
		p->profile = XW_AGE_PAZDERA;
	} else if (!strcmp(name, "geriatrix")) {
		p->profile = XW_AGE_GERIATRIX;
		p->model = rest;
	} else if (!strcmp(name, "alternate") && rest && strchr(rest, ',')) {
		p->profile = XW_AGE_ALTERNATE;
		if (set_sizes(o, "--profile alternate:", rest, ',', &p->used, &p->free) != 0)
			return XW_ERR_USAGE;
		if (!p->used || !p->free || p->used > UINT64_MAX - p->free)
			return bad(o, "--profile", value,
				   "alternate:USED,FREE with two sizes above 0, together below 16 "
				   "EiB");
	} else if ((!strcmp(name, "trace") || !strcmp(name, "git")) && rest && *rest) {
		p->profile = *name == 't' ? XW_AGE_TRACE : XW_AGE_GIT;
		p->trace = rest;
	} else {
		return bad(o, "--profile", value,
			   "pazdera, geriatrix[:MODEL], alternate:USED,FREE, trace:FILE or "
			   "git:LIST");
	}
	return 0;
}

static int set_until(struct xw_age_options *o, const char *value)
{
	struct xw_age_until *u = &o->opts.until;
	const char *eq = strchr(value, '=');
	const size_t len = eq ? (size_t)(eq - value) : 0;
	double d;

	if (len == 4 && !strncmp(value, "util", len))
		return set_percent(o, "--until util", eq + 1, &u->util);
	if (len == 6 && !strncmp(value, "no-run", len)) {
		if (xw_parse_size(eq + 1, 1, &u->no_run) || !u->no_run)
			return bad(o, "--until", value, "no-run=SIZE");
		return 0;
	}
	if (len == 6 && !strncmp(value, "layout", len)) {
		if (xw_parse_decimal(eq + 1, strlen(eq + 1), &d) || d <= 0 || d >= 1)
			return bad(o, "--until", value, "layout=SCORE, above 0 and below 1");
		u->layout = (uint32_t)(d * XW_AGE_ONE + 0.5);
		return 0;
	}
	if (len == 3 && !strncmp(value, "ops", len))
		return xw_parse_ranged("--until ops", eq + 1, 1, UINT64_MAX, &u->ops, o->diag);
	if (len == 10 && !strncmp(value, "overwrites", len))
		return xw_parse_ranged("--until overwrites", eq + 1, 1, 1000000, &u->overwrites,
				       o->diag);
	return bad(o, "--until", value, "util=, no-run=, layout=, ops= or overwrites=");
}

static int set_size(struct xw_age_options *o, const char *value)
{
	char *sizes;

	if (copy(o, value, &sizes))
		return XW_ERR_NOMEM;
	return set_sizes(o, "--size", sizes, '-', &o->opts.size_min, &o->opts.size_max);
}

static int set_offset(struct xw_age_options *o, const char *value)
{
	if (strncmp(value, "offset=", 7))
		return bad(o, "-E", value, "offset=BYTES");
	return xw_parse_offset(value + 7, &o->opts.offset, o->diag);
}

static int set_jobs(struct xw_age_options *o, const char *value)
{
	uint64_t n;
	const int rc = xw_parse_ranged("--jobs", value, 1, 1024, &n, o->diag);

	if (!rc)
		o->opts.jobs = (unsigned)n;
	return rc;
}

static int set_util(struct xw_age_options *o, const char *value)
{
	return set_percent(o, "--util", value, &o->opts.util);
}

static int set_allocator(struct xw_age_options *o, const char *value)
{
	static const enum xw_age_allocator all[] = {XW_AGE_LINUX, XW_AGE_OWN};

	for (size_t i = 0; i < XW_ARRAY_SIZE(all); i++) {
		if (strcmp(value, xw_age_allocator_name(all[i])))
			continue;
		o->opts.allocator = all[i];
		return 0;
	}
	return bad(o, "--allocator", value, "linux or own");
}

static int set_commit(struct xw_age_options *o, const char *value)
{
	return xw_commit_how_set(value, &o->opts.how, o->diag);
}

/* Type of an option's value, and its offset in struct xw_age_opts. */
enum form { FLAG, NUMBER, TEXT, OTHER };

/* clang-format off */
#define AT(field) offsetof(struct xw_age_opts, field)
static const struct {
	const char *name;
	enum form form;
	size_t at;
	uint64_t min, max; /* of a number */
	int (*set)(struct xw_age_options *o, const char *value); /* parser of OTHER */
} options[] = {
	{"-E", OTHER, 0, 0, 0, set_offset},
	{"--age-dist", TEXT, AT(ages), 0, 0, NULL},
	{"--allocator", OTHER, 0, 0, 0, set_allocator},
	{"--commit", OTHER, 0, 0, 0, set_commit},
	{"--depth-dist", TEXT, AT(depths), 0, 0, NULL},
	{"--dir", TEXT, AT(dir), 0, 0, NULL},
	{"--dirs", NUMBER, AT(dirs), 1, 9999, NULL},
	{"--fast", FLAG, AT(fast), 0, 0, NULL},
	{"--files", NUMBER, AT(files), 1, UINT32_MAX, NULL},
	{"--jobs", OTHER, 0, 0, 0, set_jobs},
	{"--ops", NUMBER, AT(ops), 1, UINT64_MAX, NULL},
	{"--profile", OTHER, 0, 0, 0, set_profile},
	{"--redo-dir", TEXT, AT(redo_dir), 0, 0, NULL},
	{"--redo-file", TEXT, AT(redo_file), 0, 0, NULL},
	{"--resume", FLAG, AT(resume), 0, 0, NULL},
	{"--seed", NUMBER, AT(seed), 0, UINT64_MAX, NULL},
	{"--size", OTHER, 0, 0, 0, set_size},
	{"--size-dist", TEXT, AT(sizes), 0, 0, NULL},
	{"--step", NUMBER, AT(step), 1, 1000000, NULL},
	{"--until", OTHER, 0, 0, 0, set_until},
	{"--util", OTHER, 0, 0, 0, set_util},
	{"now", NUMBER, AT(now), 0, INT64_MAX, NULL},
};
#undef AT
/* clang-format on */

void xw_age_options_init(struct xw_age_options *o, struct xw_diag *diag)
{
	*o = (struct xw_age_options){
		.opts = {.now = -1, .size_max = 65536, .allocator = XW_AGE_LINUX},
		.diag = diag,
	};
}

void xw_age_options_free(struct xw_age_options *o)
{
	xw_arena_free(&o->texts);
}

static int store(struct xw_age_options *o, size_t i, const char *value)
{
	void *field = (uint8_t *)&o->opts + options[i].at;
	uint64_t n;
	char *text;
	int rc = 0;

	switch (options[i].form) {
	case FLAG:
		if (value)
			return xw_fail(o->diag, XW_ERR_USAGE, "%s: takes no value",
				       options[i].name);
		*(bool *)field = true;
		break;
	case NUMBER:
		rc = xw_parse_ranged(options[i].name, value, options[i].min, options[i].max, &n,
				     o->diag);
		if (!rc)
			*(uint64_t *)field = n;
		break;
	case TEXT:
		rc = copy(o, value, &text);
		if (!rc)
			*(const char **)field = text;
		break;
	case OTHER:
		rc = options[i].set(o, value);
		break;
	}
	return rc;
}

int xw_age_option(struct xw_age_options *o, const char *option, const char *value)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(options); i++) {
		if (strcmp(options[i].name, option) != 0)
			continue;
		if (!value && options[i].form != FLAG)
			return xw_fail(o->diag, XW_ERR_USAGE, "%s: needs a value", option);
		return store(o, i, value);
	}
	return XW_ERR_NOTFOUND;
}

int xw_age_options_check(const struct xw_age_options *o, bool measure)
{
	const struct xw_age_opts *p = &o->opts;

	if (!o->have_profile && !measure)
		return xw_fail(o->diag, XW_ERR_USAGE, "--profile is missing");
	if (p->size_max < p->size_min)
		return xw_fail(o->diag, XW_ERR_USAGE, "--size: the second size is below the first");
	if (p->profile == XW_AGE_PAZDERA && o->have_profile && !p->files && !p->ops &&
	    !xw_age_until_any(&p->until))
		return xw_fail(o->diag, XW_ERR_USAGE,
			       "--profile pazdera needs --files, --ops or --until");
	return 0;
}
