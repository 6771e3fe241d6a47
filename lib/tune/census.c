// SPDX-License-Identifier: MIT
/*
 * Features that permit certain inodes are cleared only if there is no such inode. tune2fs clears
 * their bits in any case, and e2fsck sets them again.
 */
#include "config.h"

#include "read/image.h"
#include "tune/tune_internal.h"

#define LARGE (UINT64_C(1) << 31) /* in bytes: files of this size and more need large_file */

/* The property of the inode that needs a feature to be cleared; NULL: none. */
static const char *needs(const struct xw_super *sb, const struct xw_super *to,
			 const struct xw_inode *in)
{
	const uint32_t ro = sb->feature_ro_compat & ~to->feature_ro_compat;
	const uint32_t type = in->mode & XW_S_IFMT;

	if (ro & XW_RO_LARGE_FILE && type == XW_S_IFREG && in->size >= LARGE)
		return "is a file of 2 GiB or more: large_file cannot be cleared";
	if (ro & XW_RO_HUGE_FILE && (in->flags & XW_FL_HUGE_FILE || in->blocks > UINT32_MAX))
		return "has more blocks than huge_file could be cleared with";
	if (ro & XW_RO_DIR_NLINK && type == XW_S_IFDIR && in->links == 1)
		return "has more subdirectories than dir_nlink could be cleared with";
	if (sb->feature_incompat & ~to->feature_incompat & XW_INCOMPAT_CASEFOLD &&
	    type == XW_S_IFDIR && in->flags & XW_FL_CASEFOLD)
		return "is a directory that ignores case: casefold cannot be cleared";
	return NULL;
}

int xw_tune_census(struct xw_tune_run *t)
{
	struct xw_inode_scan s = {0};
	struct xw_image *img;
	const uint8_t *raw;
	xw_ino ino;
	int rc = xw_image_open(xw_edit_dev(t->edit), 0, t->diag, &img);

	if (rc)
		return rc;
	rc = xw_inode_scan_begin(img, 0, img->groups, &s);
	while (!rc && (rc = xw_inode_scan_next(&s, &ino, &raw)) == 1) {
		const char *why = NULL;
		struct xw_inode in;

		rc = 0;
		if (ino == XW_INO_RESIZE && !(t->to.feature_compat & XW_COMPAT_RESIZE_INODE))
			continue; /* which is removed with its feature */
		if (!xw_inode_decode(raw, &t->sb, &in) && in.links)
			why = needs(&t->sb, &t->to, &in);
		if (why)
			rc = xw_tune_refuse(t, XW_ERR_UNSUPPORTED, "inode %u %s", ino, why);
	}
	xw_inode_scan_end(&s);
	xw_image_close(img);
	return rc;
}
