// SPDX-License-Identifier: MIT
/*
 * Names one at a time, in linear, indexed and itree directories alike (dir/change.h). Names in the
 * inode go to blocks first.
 */
#include "config.h"

#include "update/edit.h"

#include <inttypes.h>
#include <string.h>

#include "base/auto.h"
#include "read/dirs.h"
#include "update/dir.h"
#include "update/update_internal.h"

static int fail_dir(struct xw_update *u, xw_ino ino, int code, const char *why)
{
	return xw_fail(u->diag, code, "%s: directory inode %" PRIu32 ": %s", u->img->dev->name, ino,
		       why);
}

static int fail_name(struct xw_update *u, int code, const char *name, size_t len, const char *why)
{
	return xw_fail(u->diag, code, "%s: '%.*s': %s", u->img->dev->name, (int)len, name, why);
}

static int begin(struct xw_update *u, xw_ino dir, struct xw_update_dir *ud)
{
	int ret = xw_update_uninline(u, dir);

	*ud = (struct xw_update_dir){.u = u};
	xw_image_forget(u->img); /* blocks may have been written since they were read */
	return ret ? ret : xw_update_dir_begin(u, dir, ud);
}

static int finish(struct xw_update_dir *ud, int ret)
{
	if (!ret)
		ret = xw_update_dir_put(ud);
	xw_update_dir_end(ud);
	return ret;
}

int xw_update_link(struct xw_update *u, xw_ino dir, const char *name, size_t len, xw_ino ino,
		   uint8_t ftype)
{
	struct xw_update_dir ud;
	int ret;

	if (!len || len > XW_NAME_MAX || memchr(name, '/', len))
		return fail_name(u, XW_ERR_INPUT, name, XW_MIN(len, XW_NAME_MAX),
				 len > XW_NAME_MAX ? "longer than 255 bytes"
						   : "no name for a directory entry");
	ret = begin(u, dir, &ud);
	if (!ret)
		ret = xw_dir_insert(&ud.d, name, len, ino, ftype);
	if (ret == XW_ERR_EXISTS)
		fail_name(u, ret, name, len, "is there already");
	return finish(&ud, ret);
}

int xw_update_unlink(struct xw_update *u, xw_ino dir, const char *name, size_t len)
{
	struct xw_update_dir ud;
	int ret = begin(u, dir, &ud);

	if (!ret)
		ret = xw_dir_delete(&ud.d, name, len, NULL);
	if (ret == XW_ERR_NOTFOUND)
		fail_name(u, ret, name, len, "not found");
	return finish(&ud, ret);
}

int xw_update_check_empty(struct xw_update *u, xw_ino dir)
{
	auto_free uint8_t *raw = NULL;
	struct xw_dir_iter it;
	struct xw_dirent e;
	struct xw_inode in;
	int more, ret = xw_update_get(u, dir, &in, &raw);

	if (ret)
		return ret;
	ret = xw_dir_begin(u->img, dir, &in, raw, &it);
	while (!ret && (more = xw_dir_next(&it, &e, NULL)) != 0) {
		const bool dots = more > 0 && xw_name_is_dots(e.name, e.name_len);

		ret = more < 0 ? more : 0;
		if (!ret && !dots)
			ret = fail_dir(u, dir, XW_ERR_STATE, "not empty");
	}
	xw_dir_end(&it);
	return ret;
}

int xw_update_expand_dir(struct xw_update *u, xw_ino dir)
{
	struct xw_update_dir ud;
	int ret = begin(u, dir, &ud);

	if (!ret)
		ret = xw_dir_expand(&ud.d);
	return finish(&ud, ret);
}

int xw_update_build_itree(struct xw_update *u, xw_ino dir)
{
	struct xw_update_dir ud;
	int ret;

	if (!(u->img->sb.feature_ro_compat & XW_RO_ITREE))
		return xw_fail(u->diag, XW_ERR_UNSUPPORTED,
			       "%s: the feature itree is not set (xw-tune -O itree)",
			       u->img->dev->name);
	u->place.enc.dirfmt.itree = true;
	ret = begin(u, dir, &ud);
	if (!ret && ud.d.now.itree)
		ret = xw_dir_itree_drop(&ud.d);
	if (!ret)
		ret = xw_dir_itree_build(&ud.d);
	if (ret == XW_ERR_LIMIT)
		fail_dir(u, dir, ret, "can have no itree: it has no index, or its root is full");
	return finish(&ud, ret);
}
