// SPDX-License-Identifier: MIT
/*
 * Turns the feature itree of an image on or off: trees of all directories are built or dropped, as
 * part of one update.
 *
 * If the feature was on before, an earlier use may have left flags, and trees that no longer match
 * their directories, since a kernel without the feature keeps them. Such a tree is freed only if it
 * certainly belongs to the directory: every node is valid, contains the directory's number, and is
 * in use, and the directory's i_blocks includes all nodes. Nodes that are not in i_blocks were
 * freed by a check, and may be in use for something else: then only the flag is cleared. Pointers
 * need not be cleared, since they are ignored without the flag.
 */
#include "config.h"

#include "edit/dir.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/auto.h"
#include "dir/itree_image.h"
#include "read/itree.h"
#include "edit/edit_internal.h"

/* Directories of one block, linear, inline or casefolded directories have none and are skipped. */
static bool may_have_one(const struct xw_update *u, const struct xw_inode *in)
{
	return in->flags & XW_FL_INDEX && !(in->flags & (XW_FL_INLINE_DATA | XW_FL_CASEFOLD)) &&
	       in->size > u->img->block_size;
}

static int clear_flag(struct xw_update *u, xw_ino ino)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc = xw_update_get(u, ino, &in, &raw);

	if (rc || !(in.flags & XW_FL_ITREE))
		return rc;
	in.flags &= ~XW_FL_ITREE;
	return xw_update_put(u, ino, &in, steal(raw));
}

static int not_counted(struct xw_update *u, xw_ino ino)
{
	return xw_update_fail_dir(u, ino, XW_ERR_CORRUPT,
				  "its i_blocks does not match its itree; run xw-fsck -f");
}

static int drop_tree(struct xw_update *u, xw_ino ino, uint64_t *count)
{
	auto_update_dir struct xw_update_dir ud;
	int rc = xw_update_dir_begin(u, ino, &ud);

	if (!rc && ud.d.now.itree) {
		rc = xw_dir_itree_drop(&ud.d);
		++*count;
	}
	return rc ? rc : xw_update_dir_put(&ud);
}

enum { RULE_FLAG = 1, RULE_COUNT = 9, RULE_ENTRIES = 15 };

static int collect_rules(void *arg, const struct xw_itree_finding *f)
{
	*(uint32_t *)arg |= UINT32_C(1) << f->rule;
	return 0;
}

/* Free a tree from before the feature was cleared: its entries may differ from the directory's. */
static int drop_stale(struct xw_update *u, xw_ino ino, const struct xw_inode *in)
{
	const uint32_t stale = 1u << RULE_FLAG | 1u << RULE_ENTRIES;
	struct xw_itree_result res;
	uint64_t dropped = 0;
	uint32_t rules = 0;
	int rc;

	if (!may_have_one(u, in))
		return clear_flag(u, ino);
	rc = xw_itree_check_inode(u->img, ino, collect_rules, &rules, &res);
	if (rc)
		return rc;
	if (res.has_tree && !(rules & ~stale))
		return drop_tree(u, ino, &dropped);
	return res.counted ? not_counted(u, ino) : clear_flag(u, ino);
}

static int build_one(struct xw_update *u, xw_ino ino, uint64_t *count)
{
	auto_update_dir struct xw_update_dir ud;
	int rc = xw_update_dir_begin(u, ino, &ud);

	if (rc || !may_have_one(u, &ud.in))
		return rc;
	rc = xw_dir_itree_build(&ud.d);
	if (rc)
		return rc == XW_ERR_LIMIT ? 0 : rc;
	++*count;
	return xw_update_dir_put(&ud);
}

static int blocks_differ(void *arg, const struct xw_itree_finding *f)
{
	*(bool *)arg |= f->rule == RULE_COUNT;
	return 0;
}

/*
 * A tree can be valid and still incomplete, for example with another node in place of the root. Its
 * unreachable nodes would stay allocated, and be counted in i_blocks, forever.
 */
static int drop_complete(struct xw_update *u, xw_ino ino, uint64_t *count)
{
	struct xw_itree_result res;
	bool differ = false;
	int rc = xw_itree_check_inode(u->img, ino, blocks_differ, &differ, &res);

	if (rc)
		return rc;
	return differ ? not_counted(u, ino) : drop_tree(u, ino, count);
}

static int each_directory(struct xw_update *u, bool build, uint64_t *count)
{
	auto_end(xw_inode_scan_end) struct xw_inode_scan s;
	const uint8_t *raw;
	xw_ino ino;
	int rc = xw_inode_scan_begin(u->img, 0, u->img->groups, &s);

	*count = 0;
	while (!rc && (rc = xw_inode_scan_next(&s, &ino, &raw)) == 1) {
		struct xw_inode in;

		rc = 0;
		if (xw_inode_decode(raw, &u->img->sb, &in) || !in.links ||
		    (in.mode & XW_S_IFMT) != XW_S_IFDIR)
			continue;
		if (!build && in.flags & XW_FL_ITREE)
			rc = may_have_one(u, &in) ? drop_complete(u, ino, count)
						  : clear_flag(u, ino);
		if (build && in.flags & XW_FL_ITREE)
			rc = drop_stale(u, ino, &in);
		if (build && !rc && may_have_one(u, &in))
			rc = build_one(u, ino, count);
	}
	return rc;
}

int xw_update_itree_build(struct xw_update *u, uint64_t *built)
{
	if (u->img->sb.feature_ro_compat & XW_RO_BIGALLOC)
		return xw_fail(u->diag, XW_ERR_UNSUPPORTED,
			       "%s: itree is not supported with bigalloc", u->img->dev->name);
	if (!(u->img->sb.feature_compat & XW_COMPAT_DIR_INDEX))
		return xw_fail(u->diag, XW_ERR_UNSUPPORTED, "%s: feature itree needs dir_index",
			       u->img->dev->name);
	u->place.enc.dirfmt.itree = true;
	u->img->sb.feature_ro_compat |= XW_RO_ITREE;
	return each_directory(u, true, built);
}

int xw_update_itree_drop(struct xw_update *u, uint64_t *dropped)
{
	int rc = each_directory(u, false, dropped);

	u->place.enc.dirfmt.itree = false;
	u->img->sb.feature_ro_compat &= ~XW_RO_ITREE;
	return rc;
}
