/* SPDX-License-Identifier: MIT */
/* Selects entries of a source, their place, and changes to their attributes. */
#ifndef XW_IMPORT_SELECT_H
#define XW_IMPORT_SELECT_H

#include "base/err.h"
#include "base/types.h"
#include "base/vec.h"
#include "import/source.h"

struct xw_mode_clause { /* one clause of a --mode list: who op perms */
	uint32_t who; /* mask of the bits that may change */
	char op; /* '+', '-', '=' */
	uint32_t perms;
	unsigned copy; /* g=u: the mask of the bits to copy; 0 = none */
	bool x_if_any; /* X: execute only for directories and files with an execute bit */
};

struct xw_select {
	unsigned strip_components;
	char *directory; /* no leading or trailing slash; NULL = root */
	XW_VEC(char *) exclude, xattrs_exclude; /* patterns, owned; "./...": match whole paths */
	bool owner_set, group_set, clamp_mtime;
	uint32_t owner, group;
	int64_t clamp; /* in seconds */
	XW_VEC(struct xw_mode_clause) mode;
};

/* Options by their command line names ("--exclude", ...). XW_ERR_NOTFOUND: not one of these. */
int xw_select_set(struct xw_select *s, const char *option, const char *value, struct xw_diag *diag);
void xw_select_free(struct xw_select *s);

/* Drop strip_components leading components. false: nothing remains, the entry is skipped. */
bool xw_select_strip(const struct xw_select *s, struct xw_slice path, struct xw_slice *out);
/*
 * Does an --exclude pattern match the path, a parent directory, or any tail of it after a slash? A
 * pattern that starts with "./" matches whole paths only.
 */
bool xw_select_excluded(const struct xw_select *s, struct xw_slice path);
bool xw_select_xattr_excluded(const struct xw_select *s, struct xw_slice name);
/* Permission bits after --mode. */
uint32_t xw_select_mode(const struct xw_select *s, uint32_t mode, bool directory);
/* mtime after --clamp-mtime. */
struct xw_time xw_select_time(const struct xw_select *s, struct xw_time t);

#endif
