// SPDX-License-Identifier: MIT
/*
 * Nodes of an existing image. A directory entry becomes a lazy node, of which only the inode number
 * and the type are known; the inode is read only if the entry has no type. All names of an inode
 * share one node, in whatever directory they are found.
 *
 * Invariant: `links` of a lazy node counts its live names in the tree. Loading the node sets
 * `links` to i_links_count, plus the names that were removed before, and `unseen` to the part of it
 * that is not in the tree; a name found later decrements `unseen`. So links - unseen is the number
 * of names in the tree, and an inode without links has no name there.
 *
 * Contradictions (a type that differs from the entry's, fewer links than names, a directory with
 * two names) are errors: this code is for images that a check would call clean.
 */
#include "config.h"

#include "tree/image.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "disk/inode.h"
#include "read/dirs.h"
#include "read/file.h"

#define LOST_FOUND "lost+found"

static int fail_inode(const struct xw_tree_image *ti, xw_ino ino, const char *what)
{
	return xw_fail(ti->t->diag, XW_ERR_CORRUPT, "%s: inode %" PRIu32 ": %s; run xw-fsck -f",
		       ti->img->dev->name, ino, what);
}

/* ---- nodes by number ---- */

static bool node_used(const void *slot)
{
	return *(struct xw_binode *const *)slot != NULL;
}

static bool node_same(const void *arg, const void *slot, const void *ino)
{
	(void)arg;
	return (*(struct xw_binode *const *)slot)->ino == *(const xw_ino *)ino;
}

static uint64_t node_hash(const struct xw_table *t, const void *arg, const void *slot)
{
	(void)arg;
	return xw_table_number(t, (*(struct xw_binode *const *)slot)->ino);
}

static const struct xw_table_kind by_number = {sizeof(struct xw_binode *), node_used, node_same,
					       node_hash};

/* The slot of ino's node, which may be empty; NULL: out of memory. */
static struct xw_binode **place_of(struct xw_tree_image *ti, xw_ino ino)
{
	if (xw_table_room(&ti->nodes, &by_number, NULL))
		return NULL;
	return xw_table_slot(&ti->nodes, &by_number, NULL, xw_table_number(&ti->nodes, ino), &ino);
}

/* The lazy node for ino, of which a name was found: an existing node, or a new one. */
static int node_for(struct xw_tree_image *ti, xw_ino ino, uint32_t type, struct xw_binode **out)
{
	struct xw_binode **slot = place_of(ti, ino), *n = slot ? *slot : NULL;

	if (!slot)
		return xw_fail_nomem(ti->t->diag, "inode table");
	if (n) {
		if (!xw_binode_is(n, type))
			return fail_inode(ti, ino, "its directory entries disagree about its type");
		if (type == XW_S_IFDIR)
			return fail_inode(ti, ino, "is a directory with more than one name");
		if (n->flags & XW_BN_DEAD)
			return fail_inode(ti, ino, "has more names than links");
		*out = n;
		return 0;
	}
	n = xw_tree_node(ti->t, type);
	if (!n)
		return xw_fail_nomem(ti->t->diag, "inode");
	n->ino = ino;
	n->flags = XW_BN_OLD | XW_BN_LAZY;
	*slot = *out = n;
	ti->nodes.n++;
	return 0;
}

/* ---- directories ---- */

static int type_of(struct xw_tree_image *ti, const struct xw_dirent *e, uint32_t *type)
{
	static const uint32_t bits[] = {
		[XW_FT_REG] = XW_S_IFREG, [XW_FT_DIR] = XW_S_IFDIR,  [XW_FT_CHR] = XW_S_IFCHR,
		[XW_FT_BLK] = XW_S_IFBLK, [XW_FT_FIFO] = XW_S_IFIFO, [XW_FT_SOCK] = XW_S_IFSOCK,
		[XW_FT_LNK] = XW_S_IFLNK,
	};
	struct xw_inode in;
	int rc;

	if (e->ftype != XW_FT_UNKNOWN && e->ftype < XW_ARRAY_SIZE(bits)) {
		*type = bits[e->ftype];
		return 0;
	}
	rc = xw_image_inode(ti->img, e->ino, &in, NULL);
	if (!rc && xw_ftype_of_mode(in.mode) == XW_FT_UNKNOWN)
		rc = fail_inode(ti, e->ino, "has an unknown type");
	*type = in.mode & XW_S_IFMT;
	return rc;
}

static int add_name(struct xw_tree_image *ti, struct xw_binode *dir, const struct xw_dirent *e)
{
	struct xw_binode *n = NULL;
	uint32_t type;
	uint16_t flags;
	int rc = type_of(ti, e, &type);

	if (rc)
		return rc;
	if (e->ino < XW_INO_FIRST && e->ino < ti->img->sb.first_ino)
		return fail_inode(ti, e->ino, "is reserved, and has a name");
	if (xw_tree_find(ti->t, dir, e->name, e->name_len))
		return fail_inode(ti, dir->ino, "has a duplicate name");
	rc = node_for(ti, e->ino, type, &n);
	if (rc || !n)
		return rc;
	flags = n->flags;
	rc = xw_tree_link(ti->t, dir, e->name, e->name_len, n);
	n->flags = flags;
	if (!(flags & XW_BN_LAZY)) {
		n->links--;
		if (type != XW_S_IFDIR && !n->unseen--)
			rc = rc ? rc : fail_inode(ti, e->ino, "has more names than links");
	}
	if (type == XW_S_IFDIR && dir == ti->t->root && e->name_len == sizeof(LOST_FOUND) - 1 &&
	    !memcmp(e->name, LOST_FOUND, e->name_len))
		n->dir->min_blocks = xw_tree_lost_found_blocks(ti->img->block_size);
	return rc;
}

static int load_names(struct xw_tree_image *ti, struct xw_binode *dir, const struct xw_inode *in)
{
	const uint16_t layer = ti->t->layer;
	struct xw_dir_iter it;
	struct xw_dirent e;
	int more, rc = xw_dir_begin(ti->img, dir->ino, in, ti->raw, &it);

	ti->t->layer = 0; /* a layer below all sources */
	while (!rc && (more = xw_dir_next(&it, &e, NULL)) != 0) {
		if (more < 0)
			rc = more;
		else if (!xw_name_is_dots(e.name, e.name_len))
			rc = add_name(ti, dir, &e);
	}
	xw_dir_end(&it);
	ti->t->layer = layer;
	return rc;
}

/* ---- inodes ---- */

static int load_target(struct xw_tree_image *ti, struct xw_binode *n, const struct xw_inode *in)
{
	size_t len;
	int rc;

	if (in->flags & XW_FL_ENCRYPT)
		return 0; /* empty: it cannot be followed */
	rc = xw_symlink_read(ti->img, n->ino, in, ti->raw, ti->target, &len);
	if (rc)
		return rc;
	n->bytes = xw_arena_dup(&ti->t->arena, ti->target, len);
	n->size = len;
	return n->bytes ? 0 : xw_fail_nomem(ti->t->diag, "symlink");
}

/* The attributes that new inodes inherit from this directory, as in Linux. */
static int load_inherit(struct xw_tree_image *ti, struct xw_binode *dir, const struct xw_inode *in)
{
	const bool projects = ti->img->sb.feature_ro_compat & XW_RO_PROJECT;
	const uint32_t flags = xw_inode_inherited(in->flags, XW_S_IFDIR);
	struct xw_inherit *inherit;

	if (!flags)
		return 0;
	inherit = XW_ARENA_NEW(&ti->t->arena, struct xw_inherit);
	if (!inherit)
		return xw_fail_nomem(ti->t->diag, "directory");
	inherit->flags = flags;
	inherit->projid = projects && flags & XW_FL_PROJINHERIT ? in->projid : 0;
	dir->inherit = inherit;
	return 0;
}

static int load(void *arg, struct xw_binode *n)
{
	struct xw_tree_image *ti = arg;
	struct xw_inode in;
	int rc = xw_image_inode(ti->img, n->ino, &in, ti->raw);

	if (rc)
		return rc;
	if (!xw_binode_is(n, in.mode & XW_S_IFMT))
		return fail_inode(ti, n->ino, "has another type than its directory entry");
	if (!in.links || in.dtime)
		return fail_inode(ti, n->ino, "has a name and is deleted");
	n->mode = in.mode;
	n->uid = in.uid;
	n->gid = in.gid;
	n->mtime = in.mtime.sec;
	n->mtime_ns = in.mtime.nsec;
	n->atime = in.atime.sec;
	n->atime_ns = in.atime.nsec;
	n->flags &= (uint16_t)~XW_BN_LAZY;
	if (xw_binode_is(n, XW_S_IFDIR)) {
		n->dir->generation = in.generation;
		n->dir->was_inline = in.flags & XW_FL_INLINE_DATA;
		rc = load_inherit(ti, n, &in);
		if (!rc)
			rc = load_names(ti, n, &in);
		n->flags &= (uint16_t)~XW_BN_NAMES;
		return rc;
	}
	if (in.links < n->links)
		return fail_inode(ti, n->ino, "has more names than links");
	n->unseen = in.links - n->links;
	n->links = in.links;
	if (xw_binode_is(n, XW_S_IFCHR) || xw_binode_is(n, XW_S_IFBLK))
		xw_inode_get_rdev(&in, &n->dev.major, &n->dev.minor);
	return xw_binode_is(n, XW_S_IFLNK) ? load_target(ti, n, &in) : 0;
}

static struct xw_binode *known(void *arg, xw_ino ino)
{
	const struct xw_tree_image *ti = arg;
	struct xw_binode *const *slot =
		xw_table_get(&ti->nodes, &by_number, NULL, xw_table_number(&ti->nodes, ino), &ino);

	return slot ? *slot : NULL;
}

int xw_tree_image_init(struct xw_tree_image *ti, struct xw_tree *t, struct xw_image *img)
{
	struct xw_binode **root;

	memset(ti, 0, sizeof(*ti));
	ti->t = t;
	ti->img = img;
	ti->raw = malloc(img->inode_size);
	ti->target = malloc((size_t)img->block_size + 1);
	root = place_of(ti, XW_INO_ROOT);
	if (!ti->raw || !ti->target || !root)
		return xw_fail_nomem(t->diag, "directory");
	t->load = load;
	t->known = known;
	t->load_arg = ti;
	t->root->ino = XW_INO_ROOT;
	t->root->flags = XW_BN_OLD | XW_BN_LAZY;
	*root = t->root;
	ti->nodes.n = 1;
	return 0;
}

void xw_tree_image_free(struct xw_tree_image *ti)
{
	xw_table_free(&ti->nodes);
	free(ti->raw);
	free(ti->target);
	memset(ti, 0, sizeof(*ti));
}
