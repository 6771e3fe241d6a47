/* SPDX-License-Identifier: MIT */
/*
 * Sets fields from text. A value is checked against the field before anything is written; a name
 * with _lo or _hi refers to one half and leaves the other unchanged.
 */
#include "config.h"

#include "fields.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <uuid/uuid.h>

#include "base/date.h"
#include "base/endian.h"
#include "base/parse.h"

static uint64_t load(const uint8_t *p, unsigned width)
{
	uint64_t v = 0;

	for (unsigned i = width; i-- > 0;)
		v = v << 8 | p[i];
	return v;
}

static void store(uint8_t *p, unsigned width, uint64_t v)
{
	for (unsigned i = 0; i < width; i++, v >>= 8)
		p[i] = (uint8_t)v;
}

/* ---- names ---- */

/* Parse the "[INDEX]" after the name of an array. */
static bool parse_index(const struct field *f, const char *text, uint32_t *out)
{
	const char *end;
	uint64_t i;

	if (*text != '[' || xw_parse_c_digits(text + 1, &i, &end))
		return false;
	*out = (uint32_t)i;
	return !strcmp(end, "]") && (i < f->count || (!f->width && i <= UINT32_MAX));
}

static bool is_called(const struct field *f, const char *name, struct field_ref *out)
{
	const size_t len = strlen(f->name);
	const char *rest = name + len;

	if (strncasecmp(name, f->name, len))
		return false;
	*out = (struct field_ref){.f = f};
	if (f->count)
		return parse_index(f, rest, &out->index);
	if (!*rest)
		return true;
	if (!f->hi_width)
		return false;
	out->part = strcasecmp(rest, "_lo") ? FIELD_HI : FIELD_LO;
	return out->part == FIELD_LO || !strcasecmp(rest, "_hi");
}

int field_find(struct dbg *d, const struct field_table *t, size_t size, const char *name,
	       struct field_ref *out)
{
	const size_t prefix = strlen(t->prefix);
	const char *rest = strncasecmp(name, t->prefix, prefix) ? name : name + prefix;

	for (size_t i = 0; i < t->n; i++) {
		const struct field *f = &t->fields[i];

		if (!is_called(f, rest, out) || (size_t)f->off + f->width > size)
			continue;
		if (f->hi_width && (size_t)f->hi_off + f->hi_width > size) {
			if (out->part == FIELD_HI)
				continue;
			out->part = FIELD_LO;
			out->cut = true;
		}
		return 0;
	}
	return xw_fail(&d->diag, XW_ERR_USAGE, "no field '%s'; -l lists them", name);
}

static const char *const kind_names[] = {
	[FIELD_UINT] = "unsigned integer", [FIELD_INT] = "integer",   [FIELD_TIME] = "date/time",
	[FIELD_ITIME] = "date/time",       [FIELD_STRING] = "string", [FIELD_UUID] = "UUID",
	[FIELD_HASH] = "hash algorithm",   [FIELD_OWN] = "no value",
};

void field_list(struct dbg *d, const struct field_table *t)
{
	fprintf(d->out, "%s fields supported by the %s command:\n", t->of, t->command);
	for (size_t i = 0; i < t->n; i++) {
		const struct field *f = &t->fields[i];
		char name[48];

		if (f->kind == FIELD_OWN && f->count)
			snprintf(name, sizeof(name), "%s[]", f->name);
		else if (f->count)
			snprintf(name, sizeof(name), "%s[%u]", f->name, f->count);
		else
			snprintf(name, sizeof(name), "%s%s", f->name,
				 f->hi_width ? "[_hi|_lo]" : "");
		fprintf(d->out, "\t%-25s\t%s\n", name,
			f->kind == FIELD_OWN && f->count ? "physical block of this logical one"
							 : kind_names[f->kind]);
	}
}

/* ---- values ---- */

static int bad_value(struct dbg *d, const struct field_ref *ref, const char *value)
{
	return xw_fail(&d->diag, XW_ERR_USAGE, "'%s' is not a valid value for %s (%s)", value,
		       ref->f->name, kind_names[ref->f->kind]);
}

/* Parse a number of up to 64 bits with an optional minus. */
static bool parse_number(const char *text, uint64_t *out)
{
	const bool minus = *text == '-';

	if (xw_parse_c(text + minus, out))
		return false;
	if (minus)
		*out = -*out;
	return true;
}

int field_time(const struct dbg *d, const char *text, int64_t *out)
{
	const char *number = text + (*text == '@');
	uint64_t n;

	if (!strcmp(text, "now"))
		*out = d->now;
	else if (*text != '@' && xw_date_digits(text, timegm, out))
		return 0;
	else if (!parse_number(number, &n) || (*number == '-') != ((int64_t)n < 0))
		return XW_ERR_USAGE;
	else
		*out = (int64_t)n;
	return 0;
}

static bool parse_uuid(const char *text, uint8_t out[16])
{
	if (!strcasecmp(text, "clear") || !strcasecmp(text, "null"))
		uuid_clear(out);
	else if (!strcasecmp(text, "random") || !strcasecmp(text, "time"))
		uuid_generate_random(out);
	else
		return !uuid_parse(text, out);
	return true;
}

const char *const field_hashes[FIELD_HASHES] = {
	"legacy",       "half_md4", "tea", "legacy_unsigned", "half_md4_unsigned",
	"tea_unsigned", "siphash"};

/* The bytes of a field or of its high part, and their number. */
static uint8_t *part_of(const struct field_ref *ref, uint8_t *buf, unsigned *width)
{
	const struct field *f = ref->f;

	*width = ref->part == FIELD_HI ? f->hi_width : f->width;
	return buf + (ref->part == FIELD_HI ? f->hi_off : f->off + ref->index * f->width);
}

/* For a whole field, set its high part as well. */
static void put_number(const struct field_ref *ref, uint8_t *buf, uint64_t v)
{
	unsigned width;
	uint8_t *p = part_of(ref, buf, &width);

	store(p, width, v);
	if (ref->part == FIELD_WHOLE && ref->f->hi_width)
		store(buf + ref->f->hi_off, ref->f->hi_width, v >> 8 * width);
}

static int set_number(struct dbg *d, const struct field_ref *ref, uint8_t *buf, const char *value)
{
	unsigned width, bits;
	uint64_t v;

	part_of(ref, buf, &width);
	bits = 8 * (width + (ref->part == FIELD_WHOLE ? ref->f->hi_width : 0));
	if (!parse_number(value, &v))
		return bad_value(d, ref, value);
	if (ref->f->kind == FIELD_INT) {
		const int64_t s = (int64_t)v, most = (int64_t)(UINT64_MAX >> (65 - bits));

		if (s > most || s < -most - 1)
			return xw_fail(&d->diag, XW_ERR_USAGE,
				       "%s: %s has room for %" PRId64 " .. %" PRId64, value,
				       ref->f->name, -most - 1, most);
	} else if (bits < 64 && v >> bits) {
		return xw_fail(&d->diag, XW_ERR_USAGE, "%s: %s has room for 0 .. %" PRIu64, value,
			       ref->f->name, (UINT64_C(1) << bits) - 1);
	}
	put_number(ref, buf, v);
	return 0;
}

/* Range of the seconds of a time. The halves NAME_lo and NAME_hi are unsigned. */
static void time_range(const struct field_ref *ref, int64_t *min, int64_t *max)
{
	const bool whole = ref->part == FIELD_WHOLE && ref->f->hi_width;
	const bool is_signed = ref->f->kind == FIELD_ITIME;

	*min = is_signed ? FIELD_ITIME_MIN : 0;
	if (whole)
		*max = is_signed ? FIELD_ITIME_MAX
				 : (int64_t)(UINT64_MAX >> (32 - 8 * ref->f->hi_width));
	else
		*max = is_signed && ref->cut ? INT32_MAX : UINT32_MAX;
}

/* The nanoseconds in the high part of an inode's time are not changed. */
static int set_time(struct dbg *d, const struct field_ref *ref, uint8_t *buf, const char *value)
{
	const struct field *f = ref->f;
	int64_t t, min, max;

	if (ref->part == FIELD_HI)
		return set_number(d, ref, buf, value);
	if (field_time(d, value, &t))
		return bad_value(d, ref, value);
	time_range(ref, &min, &max);
	if (t < min || t > max)
		return xw_fail(&d->diag, XW_ERR_USAGE,
			       "%s: %s has room for @%" PRId64 " .. @%" PRId64, value, f->name, min,
			       max);
	store(buf + f->off, 4, (uint64_t)t);
	if (ref->part != FIELD_WHOLE || !f->hi_width)
		return 0;
	if (f->kind == FIELD_TIME)
		store(buf + f->hi_off, f->hi_width, (uint64_t)t >> 32);
	else
		store(buf + f->hi_off, 4,
		      (load(buf + f->hi_off, 4) & ~UINT64_C(3)) |
			      ((uint64_t)(t - (int32_t)t) >> 32 & 3));
	return 0;
}

static int set_string(struct dbg *d, const struct field_ref *ref, uint8_t *buf, const char *value)
{
	const size_t len = strlen(value);

	if (len > ref->f->width)
		return xw_fail(&d->diag, XW_ERR_USAGE, "%s has room for %u bytes", ref->f->name,
			       ref->f->width);
	memset(buf + ref->f->off, 0, ref->f->width);
	memcpy(buf + ref->f->off, value, len);
	return 0;
}

static int set_hash(struct dbg *d, const struct field_ref *ref, uint8_t *buf, const char *value)
{
	for (size_t i = 0; i < FIELD_HASHES; i++) {
		if (!strcmp(value, field_hashes[i])) {
			put_number(ref, buf, i);
			return 0;
		}
	}
	return bad_value(d, ref, value);
}

int field_set(struct dbg *d, const struct field_ref *ref, uint8_t *buf, const char *value)
{
	uint8_t uuid[16];

	switch (ref->f->kind) {
	case FIELD_TIME:
	case FIELD_ITIME:
		return set_time(d, ref, buf, value);
	case FIELD_STRING:
		return set_string(d, ref, buf, value);
	case FIELD_HASH:
		return set_hash(d, ref, buf, value);
	case FIELD_UUID:
		if (!parse_uuid(value, uuid))
			return bad_value(d, ref, value);
		memcpy(buf + ref->f->off, uuid, sizeof(uuid));
		return 0;
	default:
		return set_number(d, ref, buf, value);
	}
}

uint64_t field_get(const struct field_ref *ref, const uint8_t *buf)
{
	const struct field *f = ref->f;
	uint64_t v;

	if (ref->part == FIELD_HI)
		return load(buf + f->hi_off, f->hi_width);
	v = load(buf + f->off + ref->index * f->width, f->width);
	if (ref->part == FIELD_WHOLE && f->hi_width && f->kind != FIELD_ITIME)
		v |= load(buf + f->hi_off, f->hi_width) << 8 * f->width;
	return v;
}
