// SPDX-License-Identifier: MIT
/*
 * Some features are cleared only if no inode uses them. tune2fs clears them in any case, and e2fsck
 * sets them again.
 */
#include "config.h"

#include "base/auto.h"
#include "read/image.h"
#include "tune/tune_internal.h"

#define LARGE (UINT64_C(1) << 31) /* in bytes: files of this size and more need large_file */

/* Why a feature to be cleared is in use by the inode; NULL: none is. */
static const char *needs(const struct xw_super *sb, const struct xw_super *to,
			 const struct xw_inode *in)
{
	const uint32_t ro = sb->feature_ro_compat & ~to->feature_ro_compat;
	const uint32_t type = in->mode & XW_S_IFMT;

	if (ro & XW_RO_LARGE_FILE && type == XW_S_IFREG && in->size >= LARGE)
		return "is a file of 2 GiB or more: large_file cannot be cleared";
	if (ro & XW_RO_HUGE_FILE && (in->flags & XW_FL_HUGE_FILE || in->blocks > UINT32_MAX))
		return "has too many blocks: huge_file cannot be cleared";
	if (ro & XW_RO_DIR_NLINK && type == XW_S_IFDIR && in->links == 1)
		return "has too many subdirectories: dir_nlink cannot be cleared";
	if (sb->feature_incompat & ~to->feature_incompat & XW_INCOMPAT_CASEFOLD &&
	    type == XW_S_IFDIR && in->flags & XW_FL_CASEFOLD)
		return "is a casefolded directory: casefold cannot be cleared";
	return NULL;
}

static int check_inode(void *arg, xw_ino ino, struct xw_inode *in, const uint8_t *raw)
{
	struct xw_tune_run *t = arg;
	const char *why;

	(void)raw;
	/* the resize inode is removed with its feature */
	if (!in->links ||
	    (ino == XW_INO_RESIZE && !(t->to.feature_compat & XW_COMPAT_RESIZE_INODE)))
		return 0;
	why = needs(&t->sb, &t->to, in);
	return why ? xw_tune_refuse(t, XW_ERR_UNSUPPORTED, "inode %u %s", ino, why) : 0;
}

int xw_tune_census(struct xw_tune_run *t)
{
	auto_end(xw_tune_image_end) struct xw_image *img = NULL;
	int rc = xw_image_open(xw_edit_dev(t->edit), 0, t->diag, &img);

	return rc ? rc : xw_tune_each_inode(img, check_inode, t);
}

int xw_tune_each_inode(struct xw_image *img, xw_tune_inode_fn *fn, void *arg)
{
	auto_end(xw_inode_scan_end) struct xw_inode_scan s;
	const uint8_t *raw;
	struct xw_inode in;
	xw_ino ino;
	int rc = xw_inode_scan_begin(img, 0, img->groups, &s);

	while (!rc && (rc = xw_inode_scan_next(&s, &ino, &raw)) == 1)
		rc = xw_inode_decode(raw, &img->sb, &in) ? 0 : fn(arg, ino, &in, raw);
	return rc;
}
