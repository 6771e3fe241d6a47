// SPDX-License-Identifier: MIT
/*
 * Removes many names, and whole directories, together, in two steps: the inodes of the names are
 * collected, with everything below removed directories; then the inodes lose their links, in one
 * forward pass over the inode tables.
 *
 * A removed directory is read once and never changed: its names are read from its itree, whose
 * nodes are freed at the same time, if the itree is valid; otherwise from its blocks.
 * Subdirectories are read next, in numeric order, level by level. For an inode, only the removed
 * names and those in the tree are counted; whether other names are left depends on its link count
 * (see dangling.c).
 *
 * Records are written when the pass has left their table block, so that each block is read and
 * written once, and few records are held in memory. Memory: four bytes per name, besides the blocks
 * that the device holds.
 */
#include "config.h"

#include "edit/edit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "read/dirs.h"
#include "read/itree.h"
#include "edit/dir.h"
#include "edit/edit_internal.h"

#define BLOCKS_AT_ONCE                                                                             \
	32u /* table blocks between writes of records: the image's cache holds these blocks */

static int add(struct xw_removal *g, struct xw_update_inos *list, xw_ino ino)
{
	return xw_vec_push(&list->a, ino) ? xw_fail_nomem(g->u->diag, "removed names") : 0;
}

int xw_removal_add_name(struct xw_removal *g, xw_ino ino)
{
	return add(g, &g->names, ino);
}

int xw_removal_add_dir(struct xw_removal *g, xw_ino ino)
{
	return add(g, &g->dirs, ino);
}

void xw_removal_free(struct xw_removal *g)
{
	xw_vec_free(&g->names.a);
	xw_vec_free(&g->dirs.a);
	xw_vec_free(&g->died.a);
	xw_table_free(&g->seen);
}

void xw_update_sort_inos(struct xw_update_inos *list)
{
	if (list->a.n)
		qsort(list->a.v, list->a.n, sizeof(*list->a.v), xw_update_by_ino);
}

/*
 * Write the records collected so far, from time to time. The next record is that of ino; numbers
 * are ascending.
 */
static int write_some(struct xw_removal *g, xw_ino ino)
{
	const uint64_t block =
		(uint64_t)(ino - 1) * g->u->img->inode_size / g->u->img->block_size + 1;

	if (block == g->last_block)
		return 0;
	g->last_block = block;
	if (++g->blocks <= BLOCKS_AT_ONCE)
		return 0;
	g->blocks = 1;
	return xw_update_flush_recs(g->u);
}

/*
 * Free the objects that the inode owns (except those in `gone`), and update its record, which is
 * owned from here on.
 */
static int free_inode(struct xw_removal *g, xw_ino ino, struct xw_inode *in, uint32_t gone,
		      uint8_t *record)
{
	auto_free uint8_t *raw = record;
	struct xw_inode has = *in;
	int rc = 0;

	has.flags &= ~gone;
	if (ino < g->u->img->sb.first_ino)
		rc = xw_update_bad(g->u, ino, "is reserved, and has a name");
	if (!rc && !g->u->unchecked)
		rc = add(g, &g->died, ino);
	if (!rc)
		rc = xw_update_empty(g->u, ino, &has, raw);
	return rc ? rc : xw_update_write_freed(g->u, ino, in, steal(raw), g->keep_records);
}

/* ---- directories ---- */

/* A directory has one name: if it is found twice, it is part of a cycle or damaged. */
static int first_time(struct xw_removal *g, xw_ino ino)
{
	const struct xw_binode *n = g->node ? g->node(g->arg, ino) : NULL;
	const int added = n && !(n->flags & XW_BN_DEAD) ? 0 : xw_numbers_add(&g->seen, ino);

	if (added < 0)
		return xw_fail_nomem(g->u->diag, "removed directories");
	return added ? 0 : xw_update_bad(g->u, ino, "is a directory with more than one name");
}

static int is_directory(struct xw_removal *g, xw_ino ino, uint8_t ftype, bool *dir)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc;

	*dir = ftype == XW_FT_DIR;
	if (ftype != XW_FT_UNKNOWN)
		return 0;
	rc = xw_update_get(g->u, ino, &in, &raw);
	*dir = !rc && (in.mode & XW_S_IFMT) == XW_S_IFDIR;
	return rc;
}

static int add_entry(struct xw_removal *g, xw_ino ino, uint8_t ftype)
{
	bool dir;
	int rc = is_directory(g, ino, ftype, &dir);

	return rc ? rc : add(g, dir ? &g->dirs : &g->names, ino);
}

static int names_of_blocks(struct xw_removal *g, xw_ino ino, const struct xw_inode *in,
			   const uint8_t *raw)
{
	auto_end(xw_dir_end) struct xw_dir_iter it;
	struct xw_dirent e;
	int rc = xw_dir_begin(g->u->img, ino, in, raw, &it);

	while (!rc && (rc = xw_dir_next(&it, &e, NULL)) == 1)
		rc = xw_name_is_dots(e.name, e.name_len) ? 0 : add_entry(g, e.ino, e.ftype);
	return rc;
}

static int free_node(void *arg, xw_blk blk, unsigned level)
{
	(void)level;
	return xw_update_free_one(arg, blk);
}

/*
 * Read the names from the itree and free its nodes. XW_ERR_NOTFOUND: the directory has no itree.
 */
static int names_of_itree(struct xw_removal *g, xw_ino ino, const struct xw_inode *in)
{
	auto_end(xw_itree_end) struct xw_itree_iter it;
	struct xw_itree_entry e;
	int rc = xw_itree_begin(g->u->img, ino, in, &it);

	if (!rc)
		rc = free_node(g->u, it.root, 0);
	it.on_node = free_node;
	it.arg = g->u;
	while (!rc && (rc = xw_itree_next(&it, &e)) == 1)
		rc = add_entry(g, e.key.ino, e.ftype);
	return rc;
}

/* Collect the names in a directory, and free it. */
static int remove_directory(struct xw_removal *g, xw_ino ino)
{
	auto_free uint8_t *raw = NULL;
	uint32_t gone = XW_FL_ITREE;
	struct xw_inode in;
	int rc = first_time(g, ino);

	for (unsigned i = 0; i < XW_ARRAY_SIZE(g->keep) && !rc; i++)
		if (ino == g->keep[i])
			rc = xw_fail(g->u->diag, XW_ERR_BUSY,
				     "%s: directory inode %" PRIu32
				     ": is the current directory of this session",
				     g->u->img->dev->name, ino);
	if (!rc)
		rc = xw_update_get(g->u, ino, &in, &raw);
	if (rc)
		return rc;
	if ((in.mode & XW_S_IFMT) != XW_S_IFDIR)
		return xw_update_bad(g->u, ino, "is not a directory, but its entry says so");
	if (!g->u->unchecked && (!in.links || in.dtime))
		return xw_update_bad(g->u, ino, "has a name and is deleted");
	rc = xw_itree_is_trusted(g->u->img) ? names_of_itree(g, ino, &in) : XW_ERR_NOTFOUND;
	if (rc == XW_ERR_NOTFOUND) {
		gone = 0;
		rc = names_of_blocks(g, ino, &in, raw);
	}
	return rc ? rc : free_inode(g, ino, &in, gone, steal(raw));
}

/* Level by level: replace the directories of this level by their subdirectories. */
static int read_directories(struct xw_removal *g)
{
	int rc = 0;

	while (g->dirs.a.n && !rc) {
		struct xw_update_inos level = g->dirs;

		memset(&g->dirs, 0, sizeof(g->dirs));
		xw_update_sort_inos(&level);
		for (size_t i = 0; i < level.a.n && !rc; i++) {
			rc = write_some(g, level.a.v[i]);
			if (!rc)
				rc = remove_directory(g, level.a.v[i]);
		}
		xw_vec_free(&level.a);
	}
	return rc;
}

/* ---- files ---- */

/* An inode that has names in the tree, too: the rest of the update uses its node. */
static int drop_links_of_node(struct xw_removal *g, struct xw_binode *n, uint32_t links)
{
	int rc;

	n->unseen = links - (n->links - (n->flags & XW_BN_LAZY ? 0 : n->unseen));
	n->flags &= (uint16_t)~XW_BN_LAZY;
	n->flags |= XW_BN_LINKS;
	n->links = links;
	if (!links) {
		n->flags |= XW_BN_DEAD;
		return 0;
	}
	rc = xw_update_existing(g->u, n);
	n->flags &= (uint16_t)~XW_BN_LINKS;
	return rc;
}

/* Compute the number of the inode's names left after removing `gone`. */
static int count_links(struct xw_removal *g, xw_ino ino, const struct xw_inode *in,
		       const struct xw_binode *n, size_t gone, uint32_t *left)
{
	const bool lazy = n && n->flags & XW_BN_LAZY;
	const uint32_t links = n && !lazy ? n->links : in->links;
	const uint32_t there = !n ? 0 : lazy ? n->links : n->links - n->unseen; /* in the tree */

	*left = links > gone ? (uint32_t)(links - gone) : 0;
	if (g->u->unchecked)
		return 0;
	if (!in->links || in->dtime)
		return xw_update_bad(g->u, ino, "has a name and is deleted");
	return links < gone || *left < there ? xw_update_bad(g->u, ino, "has more names than links")
					     : 0;
}

static int drop_links(struct xw_removal *g, xw_ino ino, size_t gone)
{
	struct xw_binode *n = g->node ? g->node(g->arg, ino) : NULL;
	const bool dead = n && n->flags & XW_BN_DEAD;
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	uint32_t left = 0;
	int rc = xw_update_get(g->u, ino, &in, &raw);

	if (rc)
		return rc;
	if (dead && gone > 1)
		return xw_update_bad(g->u, ino, "has more names than links");
	if (!dead) {
		if (n && !xw_binode_is(n, in.mode & XW_S_IFMT))
			return xw_update_bad(g->u, ino,
					     "has another type than its directory entry");
		if ((in.mode & XW_S_IFMT) == XW_S_IFDIR)
			return xw_update_bad(g->u, ino,
					     "is a directory, but its entry says otherwise");
		rc = count_links(g, ino, &in, n, gone, &left);
		if (!rc && n)
			rc = drop_links_of_node(g, n, left);
		if (rc || (n && left))
			return rc;
	}
	if (!left)
		return free_inode(g, ino, &in, 0, steal(raw));
	in.links = (uint16_t)left;
	if (!g->keep_records)
		in.ctime = (struct xw_time){g->u->now, 0};
	return xw_update_put(g->u, ino, &in, steal(raw));
}

int xw_removal_run(struct xw_removal *g)
{
	const struct xw_update_inos *names = &g->names;
	int rc = read_directories(g);

	xw_update_sort_inos(&g->names);
	for (size_t i = 0, end; i < names->a.n && !rc; i = end) {
		const xw_ino ino = names->a.v[i];

		for (end = i + 1; end < names->a.n && names->a.v[end] == ino;)
			end++;
		rc = write_some(g, ino);
		if (!rc)
			rc = drop_links(g, ino, end - i);
	}
	return rc ? rc : xw_update_flush_recs(g->u);
}

/* ---- names of a directory that is kept ---- */

static int fail_name(struct xw_update *u, int code, const struct xw_dir_victim *v, const char *why)
{
	return xw_fail(u->diag, code, "%s: '%.*s': %s", u->img->dev->name, v->len, v->name, why);
}

static int add_victims(struct xw_removal *g, const struct xw_dir_victim *v, size_t n, int *subdirs)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		bool dir;

		rc = is_directory(g, v[i].ino, v[i].ftype, &dir);
		if (!rc && dir && !g->recursive)
			rc = fail_name(g->u, XW_ERR_INPUT, &v[i], "is a directory");
		if (!rc)
			rc = add(g, dir ? &g->dirs : &g->names, v[i].ino);
		*subdirs += dir;
	}
	return rc;
}

int xw_removal_from(struct xw_removal *g, xw_ino dir, struct xw_dir_victim *v, size_t n)
{
	auto_update_dir struct xw_update_dir ud = {.u = g->u};
	int subdirs = 0, rc = xw_update_uninline(g->u, dir);

	xw_image_drop_cache(
		g->u->img); /* blocks may have been written since the image cached them */
	if (!rc)
		rc = xw_update_dir_begin(g->u, dir, &ud);
	if (!rc)
		rc = xw_dir_delete_many(&ud.d, v, n);
	if (!rc)
		rc = xw_update_dir_put(&ud);
	for (size_t i = 0; rc == XW_ERR_NOTFOUND && i < n; i++)
		if (!v[i].ino)
			return fail_name(g->u, rc, &v[i], "not found");
	if (!rc)
		rc = add_victims(g, v, n, &subdirs);
	return rc || !subdirs ? rc : xw_update_add_links(g->u, dir, -subdirs);
}
