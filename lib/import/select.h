/* SPDX-License-Identifier: MIT */
/* Options that select entries of a source, change their names, and override their attributes. */
#ifndef XW_IMPORT_SELECT_H
#define XW_IMPORT_SELECT_H

#include "base/err.h"
#include "base/mode.h"
#include "base/types.h"
#include "base/vec.h"
#include "import/idmap.h"
#include "import/source.h"
#include "import/transform.h"

struct xw_select {
	uint32_t strip_components;
	char *directory; /* no leading or trailing slash; NULL = root */
	/* patterns, owned; "./...": match only whole paths */
	XW_VEC(char *) exclude, xattrs_exclude;
	bool owner_set, group_set, clamp_mtime;
	uint32_t owner, group;
	int64_t clamp; /* latest mtime for --clamp-mtime without --mtime, in seconds */
	struct xw_mode mode; /* --mode; empty: none */
	struct xw_idmap owners, groups; /* maps, which take precedence over owner and group */
	struct xw_transforms *transforms; /* NULL: none */
	bool newer_set, newer_mtime; /* --newer (or --newer-mtime: ignore ctime); the time */
	struct xw_time newer;
	bool mtime_set; /* --mtime; with clamp_mtime it is the latest time */
	struct xw_time mtime;
	struct xw_acl_names names; /* for maps of owners: set before other options */
};

/* Set an option by its name ("--exclude", ...). XW_ERR_NOTFOUND: not a selection option. */
int xw_select_set(struct xw_select *s, const char *option, const char *value, struct xw_diag *diag);
void xw_select_free(struct xw_select *s);

/*
 * Apply --transform to a name or link target: 0 or XW_ERR_NOMEM. *path is valid until the next call
 * with the same `what`.
 */
int xw_select_transform(const struct xw_select *s, enum xw_transform_what what,
			struct xw_slice *path);
/* Remove the first strip_components components. false: nothing remains, skip the entry. */
bool xw_select_strip(const struct xw_select *s, struct xw_slice path, struct xw_slice *out);
/*
 * Does an --exclude pattern match the path, a parent directory, or any tail of the path after a
 * slash? A pattern that starts with "./" matches only whole paths. 1, 0 or XW_ERR_NOMEM, without a
 * message.
 */
int xw_select_excluded(const struct xw_select *s, struct xw_slice path);
/* Does an --xattrs-exclude pattern match the name? 1, 0 or XW_ERR_NOMEM, without a message. */
int xw_select_xattr_excluded(const struct xw_select *s, struct xw_slice name);
/* Permission bits after --mode. */
uint32_t xw_select_mode(const struct xw_select *s, uint32_t mode, bool directory);
/* Owner and group after --owner, --group and the maps. */
uint32_t xw_select_owner(const struct xw_select *s, uint32_t uid);
uint32_t xw_select_group(const struct xw_select *s, uint32_t gid);
/* The same for an id in an ACL; select is a struct xw_select. */
uint32_t xw_select_id(const void *select, bool group, uint32_t id);
/* Does an option change owners or groups? */
bool xw_select_maps_ids(const struct xw_select *s);
/* Does --newer exclude the entry? Directories are never excluded. */
bool xw_select_too_old(const struct xw_select *s, const struct xw_entry *e);
/* Does an option override the times of the source? */
static inline bool xw_select_sets_times(const struct xw_select *s)
{
	return s->clamp_mtime || s->mtime_set;
}
/* mtime after --mtime and --clamp-mtime. */
struct xw_time xw_select_time(const struct xw_select *s, struct xw_time t);

#endif
