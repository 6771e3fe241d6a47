/* SPDX-License-Identifier: MIT */
/* Selects entries of a source, their place, and changes to their attributes. */
#ifndef XW_IMPORT_SELECT_H
#define XW_IMPORT_SELECT_H

#include "base/err.h"
#include "base/types.h"
#include "base/vec.h"
#include "import/idmap.h"
#include "import/source.h"
#include "import/transform.h"

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
	struct xw_idmap owners, groups; /* whoever is in them has no need of owner and group */
	struct xw_transforms *transforms; /* NULL: none */
	bool newer_set, newer_mtime; /* files changed after `newer`; by mtime alone */
	struct xw_time newer;
	bool mtime_set; /* the time of all files, or with clamp_mtime the latest one */
	struct xw_time mtime;
	struct xw_acl_names names; /* for maps of owners: set by the user before options */
};

/* Options by their command line names ("--exclude", ...). XW_ERR_NOTFOUND: not one of these. */
int xw_select_set(struct xw_select *s, const char *option, const char *value, struct xw_diag *diag);
void xw_select_free(struct xw_select *s);

/* Name or target after --transform: 0 or XW_ERR_NOMEM. Valid until the next call for the same. */
int xw_select_transform(const struct xw_select *s, enum xw_transform_what what,
			struct xw_slice *path);
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
/* Owner and group after --owner, --group and the maps. */
uint32_t xw_select_owner(const struct xw_select *s, uint32_t uid);
uint32_t xw_select_group(const struct xw_select *s, uint32_t gid);
/* Is the entry too old for --newer? Directories never are. */
bool xw_select_too_old(const struct xw_select *s, const struct xw_entry *e);
/* Are the times of the source without meaning, or not to be relied on? */
static inline bool xw_select_sets_times(const struct xw_select *s)
{
	return s->clamp_mtime || s->mtime_set;
}
/* mtime after --mtime and --clamp-mtime. */
struct xw_time xw_select_time(const struct xw_select *s, struct xw_time t);

#endif
