/* SPDX-License-Identifier: MIT */
/* Verbs that set and remove extended attributes. */
#include "config.h"

#include "debugfs.h"
#include "base/auto.h"
#include "edit/edit.h"
#include "xattr/set.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Read a value from a file on the host, up to one byte more than the maximum. */
static int read_value(struct dbg *d, const char *path, uint8_t *buf, size_t size, size_t *len)
{
	FILE *f = fopen(path, "re");
	int rc = 0;

	if (!f)
		return xw_fail_errno(&d->diag, XW_ERR_NOTFOUND, errno, "%s", path);
	*len = fread(buf, 1, size, f);
	if (ferror(f))
		rc = xw_fail_errno(&d->diag, XW_ERR_IO, errno, "%s", path);
	fclose(f);
	return rc;
}

/* Set or remove one attribute, as a step. */
static int change(struct dbg *d, xw_ino ino, const struct xw_update_xattr *x)
{
	struct xw_update *u;
	int rc = dbg_step_begin(d, &u);

	return rc ? rc : dbg_step_end(d, xw_update_set_xattr(u, ino, x));
}

/* A debugger may store any attribute, also one that Linux never returns. */
static void warn_unusable(struct dbg *d, const char *file, const struct xw_update_xattr *x)
{
	const char *why = xw_xattr_unusable(x->name, strlen(x->name), x->value, x->len);

	if (why)
		xw_log(&d->diag, XW_LOG_WARN, "%s: attribute %.300s: %s; Linux will not return it",
		       file, x->name, why);
}

static int verb_ea_set(struct dbg *d, int argc, char **argv)
{
	static const size_t size = XW_XATTR_VALUE_MAX + 1;
	struct xw_update_xattr x = {0};
	const char *file = NULL;
	const struct dbg_option options[] = {{'f', .text = &file}, {'r', .given = &x.raw}, {0}};
	auto_free uint8_t *buf = NULL;
	xw_ino ino;
	int rc;

	if (dbg_options(d, argc, argv, options) || argc - optind != (file ? 2 : 3))
		return DBG_USAGE;
	x.name = argv[optind + 1];
	x.value = file ? NULL : argv[optind + 2];
	x.len = file ? 0 : strlen(argv[optind + 2]);
	rc = dbg_inode_number(d, argv[optind], &ino);
	if (!rc && file) {
		x.value = buf = malloc(size);
		rc = buf ? read_value(d, file, buf, size, &x.len)
			 : xw_fail_nomem(&d->diag, "value");
	}
	if (!rc)
		rc = change(d, ino, &x);
	if (!rc)
		warn_unusable(d, argv[optind], &x);
	return rc;
}

/* Missing attributes are ignored, as in the stock debugger. */
static int verb_ea_rm(struct dbg *d, int argc, char **argv)
{
	xw_ino ino;
	int rc;

	if (argc < 3)
		return DBG_USAGE;
	rc = dbg_inode_number(d, argv[1], &ino);
	for (int i = 2; i < argc && !rc; i++) {
		const struct xw_update_xattr x = {.name = argv[i]};

		rc = change(d, ino, &x);
		if (rc == XW_ERR_NOTFOUND) {
			xw_diag_clear(&d->diag);
			rc = 0;
		}
	}
	return rc;
}

static const struct dbg_verb verbs[] = {
	{"ea_set", DBG_WRITE, verb_ea_set, "[-r] FILE NAME VALUE | -f HOSTFILE [-r] FILE NAME",
	 "set an extended attribute; -r: as it is stored"},
	{"ea_rm", DBG_WRITE, verb_ea_rm, "FILE NAME...", "remove extended attributes"},
};

const struct dbg_family dbg_ea_verbs = {"Changing attributes", verbs, XW_ARRAY_SIZE(verbs)};
