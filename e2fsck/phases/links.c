// SPDX-License-Identifier: MIT
/*
 * Checks link counts, and inodes in use without a directory entry.
 *
 * A directory has two links and one for each subdirectory; with dir_nlink a count of 1 means more
 * than 65,000. Other inodes have as many links as names.
 */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "disk/xattrblk.h"
#include "phases/dirs.h"

/* Does the inode have, or should it have, names? */
static bool is_counted(const struct fsck *f, xw_ino ino, const struct fsck_inode *in)
{
	if (!(in->flags & FSCK_I_USED) || in->flags & (FSCK_I_EA | FSCK_I_SYSTEM | FSCK_I_ORPHAN))
		return false;
	return ino == XW_INO_ROOT || ino >= f->ses.img->sb.first_ino;
}

/* ---- unattached inodes ---- */

/* Is it a file without contents and attributes? */
static bool is_empty(const struct fsck *f, const struct xw_inode *in, const uint8_t *raw)
{
	const unsigned off = xw_inode_xattr_off(in, &f->ses.img->sb);

	if ((in->mode & XW_S_IFMT) != XW_S_IFREG || in->size || in->blocks || in->file_acl)
		return false;
	return !off || off + 2 * XW_XATTR_IHDR > f->ses.img->inode_size ||
	       xw_xattr_magic(raw + off) != XW_XATTR_MAGIC ||
	       xw_xattr_is_end(raw + off + XW_XATTR_IHDR);
}

/* Delete an unattached empty file; list other unattached inodes. */
static int check_unattached(struct fsck *f, xw_ino ino, struct fsck_inode *facts,
			    struct fsck_lost *lost)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc;

	if (facts->names || facts->ftype == XW_FT_DIR || ino == XW_INO_ROOT)
		return 0;
	rc = fsck_inode_load(f, ino, &in, &raw);
	if (rc)
		return rc;
	if (is_empty(f, &in, raw))
		return FSCK_FOUND(f, INODE_EMPTY, .ino = ino) ? fsck_inode_clear(f, ino) : 0;
	return xw_vec_push(&lost->inos, ino) ? xw_fail_nomem(&f->ses.diag, "unattached inodes") : 0;
}

static int reconnect(struct fsck *f, struct fsck_lost *lost)
{
	size_t n = 0;
	int rc;

	if (!lost->inos.n)
		return 0;
	rc = fsck_lost_found(f);
	if (rc)
		return rc;
	for (size_t i = 0; i < lost->inos.n; i++)
		if (FSCK_FOUND(f, INODE_UNATTACHED, .ino = lost->inos.v[i]) && f->facts.lost_found)
			lost->inos.v[n++] = lost->inos.v[i];
	lost->inos.n = n;
	return fsck_reconnect(f, lost);
}

/* ---- counts ---- */

/* The correct link count of the record; false: unknown. */
static bool links_wanted(const struct fsck *f, xw_ino ino, const struct fsck_inode *in,
			 uint32_t *want)
{
	const struct fsck_dir *d = in->ftype == XW_FT_DIR ? fsck_dir(f, ino) : NULL;

	if (!d) {
		*want = in->names;
		return in->names != 0;
	}
	*want = 2 + d->subdirs;
	if (*want > XW_LINK_MAX)
		*want = 1;
	return d->parent != 0;
}

static int set_count(struct fsck *f, xw_ino ino, struct fsck_inode *in, uint32_t want)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode rec;
	const int rc = fsck_inode_load(f, ino, &rec, &raw);

	if (rc)
		return rc;
	in->links = rec.links = (uint16_t)want;
	return fsck_inode_write(f, ino, &rec, raw);
}

/* A directory with more subdirectories than a link count can hold needs a feature. */
static int check_dir_nlink(struct fsck *f, const struct fsck_dir *d)
{
	struct xw_super *sb = &f->ses.img->sb;

	if (d->subdirs + 2 <= XW_LINK_MAX || sb->feature_ro_compat & XW_RO_DIR_NLINK ||
	    !FSCK_FOUND(f, SUPER_FEATURES, .name = "directory exceeds max links, but no dir_nlink"))
		return 0;
	sb->feature_ro_compat |= XW_RO_DIR_NLINK;
	return fsck_super_write(f);
}

static int check_count(struct fsck *f, xw_ino ino, struct fsck_inode *in, struct fsck_lost *lost)
{
	const struct fsck_dir *d = in->ftype == XW_FT_DIR ? fsck_dir(f, ino) : NULL;
	const int rc = d ? check_dir_nlink(f, d) : 0;
	uint32_t want;

	(void)lost;
	if (rc || !links_wanted(f, ino, in, &want) || want == in->links)
		return rc;
	/* Linux sets 1 for too many subdirectories, and keeps it when some are removed. */
	if (d && d->indexed && in->links == 1 && f->ses.img->sb.feature_ro_compat & XW_RO_DIR_NLINK)
		return 0;
	if (!(d && d->links_follow) &&
	    !FSCK_FOUND(f, LINK_COUNT, .ino = ino, .num = in->links, .num2 = want))
		return 0;
	return set_count(f, ino, in, want);
}

typedef int each_fn(struct fsck *f, xw_ino ino, struct fsck_inode *in, struct fsck_lost *lost);

static int each(struct fsck *f, each_fn *fn, struct fsck_lost *lost)
{
	int rc = 0;

	for (uint64_t g = 0; f->facts.groups && g < f->ses.img->groups && !rc && !f->ses.stop; g++)
		for (uint32_t i = 0; f->facts.groups[g] && i < f->ses.img->sb.inodes_per_group &&
				     !rc && !f->ses.stop;
		     i++) {
			const xw_ino ino = (xw_ino)(g * f->ses.img->sb.inodes_per_group + i + 1);

			if (is_counted(f, ino, &f->facts.groups[g][i]))
				rc = fn(f, ino, &f->facts.groups[g][i], lost);
		}
	return rc;
}

int fsck_check_links(struct fsck *f)
{
	struct fsck_lost lost = {0};
	int rc;

	if (!f->facts.names_known)
		return 0;
	rc = each(f, check_unattached, &lost);
	if (!rc && !f->ses.stop)
		rc = reconnect(f, &lost);
	if (!rc)
		rc = each(f, check_count, NULL);
	if (!rc && !f->ses.stop)
		rc = fsck_itree_build(f);
	xw_vec_free(&lost.inos);
	return rc;
}
