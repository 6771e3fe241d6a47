// SPDX-License-Identifier: MIT
/*
 * Single names, in linear, indexed and itree directories (dir/change.h). Inline names are moved to
 * blocks first.
 */
#include "config.h"

#include "edit/edit.h"

#include <inttypes.h>
#include <string.h>

#include "base/auto.h"
#include "read/dirs.h"
#include "edit/dir.h"
#include "edit/edit_internal.h"

static int fail_name(struct xw_update *u, int code, const char *name, size_t len, const char *why)
{
	return xw_fail(u->diag, code, "%s: '%.*s': %s", u->img->dev->name, (int)len, name, why);
}

static int begin(struct xw_update *u, xw_ino dir, struct xw_update_dir *ud)
{
	int rc = xw_update_uninline(u, dir);

	xw_image_drop_cache(u->img); /* blocks may have been written since the image cached them */
	return rc ? rc : xw_update_dir_begin(u, dir, ud);
}

int xw_update_link(struct xw_update *u, xw_ino dir, const char *name, size_t len, xw_ino ino,
		   uint8_t ftype)
{
	auto_update_dir struct xw_update_dir ud = {.u = u};
	int rc;

	if (!len || len > XW_NAME_MAX || memchr(name, '/', len))
		return fail_name(u, XW_ERR_INPUT, name, XW_MIN(len, XW_NAME_MAX),
				 len > XW_NAME_MAX ? "longer than 255 bytes"
						   : "not a valid name for a directory entry");
	rc = begin(u, dir, &ud);
	if (!rc)
		rc = xw_dir_insert(&ud.d, name, len, ino, ftype);
	if (rc == XW_ERR_EXISTS)
		fail_name(u, rc, name, len, "already exists");
	return rc ? rc : xw_update_dir_put(&ud);
}

int xw_update_unlink(struct xw_update *u, xw_ino dir, const char *name, size_t len)
{
	auto_update_dir struct xw_update_dir ud = {.u = u};
	int rc = begin(u, dir, &ud);

	if (!rc)
		rc = xw_dir_delete(&ud.d, name, len, NULL);
	if (rc == XW_ERR_NOTFOUND)
		fail_name(u, rc, name, len, "not found");
	return rc ? rc : xw_update_dir_put(&ud);
}

int xw_update_check_empty(struct xw_update *u, xw_ino dir)
{
	auto_free uint8_t *raw = NULL;
	auto_end(xw_dir_end) struct xw_dir_iter it = {0};
	struct xw_dirent e;
	struct xw_inode in;
	int rc = xw_update_get(u, dir, &in, &raw);

	if (rc)
		return rc;
	rc = xw_dir_begin(u->img, dir, &in, raw, &it);
	while (!rc && (rc = xw_dir_next(&it, &e, NULL)) == 1)
		rc = xw_name_is_dots(e.name, e.name_len)
			     ? 0
			     : xw_update_fail_dir(u, dir, XW_ERR_STATE, "not empty");
	return rc;
}

int xw_update_expand_dir(struct xw_update *u, xw_ino dir)
{
	auto_update_dir struct xw_update_dir ud = {.u = u};
	int rc = begin(u, dir, &ud);

	if (!rc)
		rc = xw_dir_expand(&ud.d);
	return rc ? rc : xw_update_dir_put(&ud);
}

int xw_update_build_itree(struct xw_update *u, xw_ino dir)
{
	auto_update_dir struct xw_update_dir ud = {.u = u};
	int rc;

	if (!(u->img->sb.feature_ro_compat & XW_RO_ITREE))
		return xw_fail(u->diag, XW_ERR_UNSUPPORTED,
			       "%s: the feature itree is not set (xw-tune -O itree)",
			       u->img->dev->name);
	u->place.enc.dirfmt.itree = true;
	rc = begin(u, dir, &ud);
	if (!rc && ud.d.now.itree)
		rc = xw_dir_itree_drop(&ud.d);
	if (!rc)
		rc = xw_dir_itree_build(&ud.d);
	if (rc == XW_ERR_LIMIT)
		xw_update_fail_dir(u, dir, rc,
				   "cannot have an itree: it has no index, or its root is full");
	return rc ? rc : xw_update_dir_put(&ud);
}
