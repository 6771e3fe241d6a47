/* SPDX-License-Identifier: MIT */
/* The relations for make_hugefiles. */
#include <stdlib.h>
#include <string.h>

#include "plan/parse.h"
#include "plan/usage.h"

#define DEFAULT_SLACK (UINT64_C(1) << 20)
#define DEFAULT_UMASK 077u
#define DEFAULT_DIGITS 5u
#define MAX_DIGITS 20u

static int get_text(const struct xw_usage *u, const char *tag, char *out, size_t room,
		    struct xw_diag *diag)
{
	const struct xw_relation *r = xw_usage_find(u, tag);

	if (!r)
		return 0;
	if (strlen(r->value) >= room)
		return xw_usage_blame(u, r, XW_ERR_USAGE, "too long", diag);
	memcpy(out, r->value, strlen(r->value) + 1);
	return 0;
}

/* Parse a number in C notation: as in mke2fs, a umask is octal only with a leading 0. */
static int get_number(const struct xw_usage *u, const char *tag, uint64_t max, uint64_t *out,
		      struct xw_diag *diag)
{
	const struct xw_relation *r = xw_usage_find(u, tag);

	if (!r)
		return 0;
	if (xw_parse_c(r->value, out) || *out > max)
		return xw_usage_blame(u, r, XW_ERR_USAGE, "not a number in range", diag);
	return 0;
}

/* Parse a size; a number without a suffix counts blocks. */
static int get_size(const struct xw_usage *u, const char *tag, uint32_t block_size, uint64_t *out,
		    struct xw_diag *diag)
{
	const struct xw_relation *r = xw_usage_find(u, tag);

	if (!r)
		return 0;
	return xw_parse_size(r->value, block_size, out)
		       ? xw_usage_blame(u, r, XW_ERR_USAGE, "not a size", diag)
		       : 0;
}

static int get_sizes(const struct xw_usage *u, uint32_t block_size, struct xw_hugefiles *h,
		     struct xw_diag *diag)
{
	const struct {
		const char *tag;
		uint64_t *value;
	} rows[] = {
		{"hugefiles_size", &h->size},
		{"hugefiles_slack", &h->slack},
		{"hugefiles_align", &h->align},
	};
	int rc = 0;

	for (size_t i = 0; i < XW_ARRAY_SIZE(rows) && !rc; i++)
		rc = get_size(u, rows[i].tag, block_size, rows[i].value, diag);
	return rc;
}

static int get_numbers(const struct xw_usage *u, struct xw_hugefiles *h, struct xw_diag *diag)
{
	uint64_t digits = DEFAULT_DIGITS, uid = 0, gid = 0, mask = DEFAULT_UMASK;
	const struct {
		const char *tag;
		uint64_t max, *value;
	} rows[] = {
		{"num_hugefiles", UINT32_MAX, &h->count}, {"hugefiles_digits", MAX_DIGITS, &digits},
		{"hugefiles_uid", UINT32_MAX, &uid},      {"hugefiles_gid", UINT32_MAX, &gid},
		{"hugefiles_umask", 0777, &mask},
	};
	int rc = 0;

	for (size_t i = 0; i < XW_ARRAY_SIZE(rows) && !rc; i++)
		rc = get_number(u, rows[i].tag, rows[i].max, rows[i].value, diag);
	h->digits = (unsigned)digits;
	h->uid = (uint32_t)uid;
	h->gid = (uint32_t)gid;
	h->umask = (uint32_t)mask;
	return rc;
}

int xw_usage_hugefiles(const struct xw_usage *u, struct xw_mkfs_params *p, struct xw_diag *diag)
{
	struct xw_hugefiles *h = &p->hugefiles;
	int on, zeros = 1, disk = 0;
	int rc = xw_usage_bool(u, "make_hugefiles", 0, &on, diag);

	if (rc || !on)
		return rc;
	*h = (struct xw_hugefiles){.make = true, .slack = DEFAULT_SLACK, .name = "hugefile"};
	rc = get_text(u, "hugefiles_dir", h->dir, sizeof(h->dir), diag);
	if (!rc)
		rc = get_text(u, "hugefiles_name", h->name, sizeof(h->name), diag);
	if (!rc)
		rc = get_numbers(u, h, diag);
	if (!rc)
		rc = get_sizes(u, p->block_size, h, diag);
	if (!rc)
		rc = xw_usage_bool(u, "hugefiles_align_disk", 0, &disk, diag);
	if (!rc)
		rc = xw_usage_bool(u, "zero_hugefiles", 1, &zeros, diag);
	h->align_disk = disk;
	h->no_zeros = !zeros;
	return rc;
}
