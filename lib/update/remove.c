// SPDX-License-Identifier: MIT
/*
 * Many names, and whole directories, that go together. Two steps: names are collected, each for the
 * inode that it had, and what is below directories with them; then the inodes lose them, forward
 * through the tables.
 *
 * A directory that goes is read once and never changed: its names from its itree where that can be
 * believed, whose nodes are freed as they pass, else from its blocks. Directories found in it are
 * gone through next, by number, level by level. Of an inode's names only those are counted that go
 * and those that the tree knows; whether others are left, its links say (see behind.c).
 *
 * Records are written as their tables are passed, so that a block is read once, for reading and for
 * writing, and few are held. Memory: four bytes a name, beside what the device holds of what is
 * changed.
 */
#include "config.h"

#include "update/edit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "read/dirs.h"
#include "read/itree.h"
#include "update/dir.h"
#include "update/update_internal.h"

#define BLOCKS_AT_ONCE                                                                             \
	32u /* of tables, until their records are written: the image's cache keeps them */

static int bad(const struct xw_update_gone *g, xw_ino ino, const char *what)
{
	return xw_fail(g->u->diag, XW_ERR_CORRUPT, "%s: inode %" PRIu32 ": %s; run xw-fsck -f",
		       g->u->img->dev->name, ino, what);
}

static int add(struct xw_update_gone *g, struct xw_update_inos *list, xw_ino ino)
{
	return xw_vec_push(&list->a, ino) ? xw_fail_nomem(g->u->diag, "removed names") : 0;
}

int xw_update_gone_name(struct xw_update_gone *g, xw_ino ino)
{
	return add(g, &g->names, ino);
}

int xw_update_gone_dir(struct xw_update_gone *g, xw_ino ino)
{
	return add(g, &g->dirs, ino);
}

void xw_update_gone_free(struct xw_update_gone *g)
{
	xw_vec_free(&g->names.a);
	xw_vec_free(&g->dirs.a);
	xw_vec_free(&g->died.a);
	xw_table_free(&g->seen);
}

static int by_number(const void *x, const void *y)
{
	const xw_ino *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

static void sort(struct xw_update_inos *list)
{
	if (list->a.n)
		qsort(list->a.v, list->a.n, sizeof(*list->a.v), by_number);
}

/* Records that were put so far, now and then: the next one is of inode ino, and they come by
 * number. */
static int write_some(struct xw_update_gone *g, xw_ino ino)
{
	const uint64_t block =
		(uint64_t)(ino - 1) * g->u->img->inode_size / g->u->img->block_size + 1;

	if (block == g->last_block)
		return 0;
	g->last_block = block;
	if (++g->blocks <= BLOCKS_AT_ONCE)
		return 0;
	g->blocks = 1;
	return xw_update_settle_recs(g->u);
}

/* What the inode has goes (flags in `gone`: that has gone already), and its record, which is owned
 * from here on, says so. */
static int bury(struct xw_update_gone *g, xw_ino ino, struct xw_inode *in, uint32_t gone,
		uint8_t *record)
{
	auto_free uint8_t *raw = record;
	struct xw_inode has = *in;
	int ret = 0;

	has.flags &= ~gone;
	if (ino < g->u->img->sb.first_ino)
		ret = bad(g, ino, "is reserved, and has a name");
	if (!ret && !g->u->lax)
		ret = add(g, &g->died, ino);
	if (!ret)
		ret = xw_update_empty(g->u, ino, &has, raw);
	return ret ? ret : xw_update_bury(g->u, ino, in, steal(raw), g->keep_records);
}

/* ---- directories ---- */

static bool ino_used(const void *slot)
{
	return *(const xw_ino *)slot != 0;
}

static bool ino_same(const void *arg, const void *slot, const void *ino)
{
	(void)arg;
	return *(const xw_ino *)slot == *(const xw_ino *)ino;
}

static uint64_t ino_hash(const void *arg, const void *slot)
{
	(void)arg;
	return xw_table_number(*(const xw_ino *)slot);
}

static const struct xw_table_kind by_ino = {sizeof(xw_ino), ino_used, ino_same, ino_hash};

/* Each directory has one name: what is met twice leads in circles. */
static int first_time(struct xw_update_gone *g, xw_ino ino)
{
	xw_ino *slot;

	if (g->node && g->node(g->arg, ino) && !(g->node(g->arg, ino)->flags & XW_BN_DEAD))
		return bad(g, ino, "is a directory with more than one name");
	if (xw_table_room(&g->seen, &by_ino, NULL))
		return xw_fail_nomem(g->u->diag, "removed directories");
	slot = xw_table_slot(&g->seen, &by_ino, NULL, xw_table_number(ino), &ino);
	if (*slot)
		return bad(g, ino, "is a directory with more than one name");
	*slot = ino;
	g->seen.n++;
	return 0;
}

static int is_directory(struct xw_update_gone *g, xw_ino ino, uint8_t ftype, bool *dir)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int ret;

	*dir = ftype == XW_FT_DIR;
	if (ftype != XW_FT_UNKNOWN)
		return 0;
	ret = xw_update_get(g->u, ino, &in, &raw);
	*dir = !ret && (in.mode & XW_S_IFMT) == XW_S_IFDIR;
	return ret;
}

static int add_entry(struct xw_update_gone *g, xw_ino ino, uint8_t ftype)
{
	bool dir;
	int ret = is_directory(g, ino, ftype, &dir);

	return ret ? ret : add(g, dir ? &g->dirs : &g->names, ino);
}

static int names_of_blocks(struct xw_update_gone *g, xw_ino ino, const struct xw_inode *in,
			   const uint8_t *raw)
{
	struct xw_dir_iter it;
	struct xw_dirent e;
	int more, ret = xw_dir_begin(g->u->img, ino, in, raw, &it);

	while (!ret && (more = xw_dir_next(&it, &e, NULL)) != 0) {
		const bool dots = more > 0 && xw_name_is_dots(e.name, e.name_len);

		if (more < 0)
			ret = more;
		else if (!dots)
			ret = add_entry(g, e.ino, e.ftype);
	}
	xw_dir_end(&it);
	return ret;
}

static int free_node(void *arg, xw_blk blk, unsigned level)
{
	(void)level;
	return xw_update_free_one(arg, blk);
}

/* XW_ERR_NOTFOUND: it has none, or none that is believed. Its nodes are free with this. */
static int names_of_itree(struct xw_update_gone *g, xw_ino ino, const struct xw_inode *in)
{
	struct xw_itree_entry e;
	struct xw_itree_iter it;
	int ret;

	if (!xw_itree_is_believed(g->u->img))
		return XW_ERR_NOTFOUND;
	ret = xw_itree_begin(g->u->img, ino, in, &it);
	if (!ret)
		ret = free_node(g->u, it.root, 0);
	it.on_node = free_node;
	it.arg = g->u;
	while (!ret && (ret = xw_itree_next(&it, &e)) == 1)
		ret = add_entry(g, e.key.ino, e.ftype);
	xw_itree_end(&it);
	return ret;
}

static int take_directory(struct xw_update_gone *g, xw_ino ino)
{
	auto_free uint8_t *raw = NULL;
	uint32_t gone = XW_FL_ITREE;
	struct xw_inode in;
	int ret = first_time(g, ino);

	for (unsigned i = 0; i < XW_ARRAY_SIZE(g->keep) && !ret; i++)
		if (ino == g->keep[i])
			ret = xw_fail(g->u->diag, XW_ERR_BUSY,
				      "%s: directory inode %" PRIu32 ": is where this session is",
				      g->u->img->dev->name, ino);
	if (!ret)
		ret = xw_update_get(g->u, ino, &in, &raw);
	if (ret)
		return ret;
	if ((in.mode & XW_S_IFMT) != XW_S_IFDIR)
		return bad(g, ino, "is no directory, as its name says");
	if (!g->u->lax && (!in.links || in.dtime))
		return bad(g, ino, "has a name and is deleted");
	ret = names_of_itree(g, ino, &in);
	if (ret == XW_ERR_NOTFOUND) {
		gone = 0;
		ret = names_of_blocks(g, ino, &in, raw);
	}
	return ret ? ret : bury(g, ino, &in, gone, steal(raw));
}

/* Level by level: this one's are replaced by those that are in them. */
static int take_directories(struct xw_update_gone *g)
{
	int ret = 0;

	while (g->dirs.a.n && !ret) {
		struct xw_update_inos level = g->dirs;

		memset(&g->dirs, 0, sizeof(g->dirs));
		sort(&level);
		for (size_t i = 0; i < level.a.n && !ret; i++) {
			ret = write_some(g, level.a.v[i]);
			if (!ret)
				ret = take_directory(g, level.a.v[i]);
		}
		xw_vec_free(&level.a);
	}
	return ret;
}

/* ---- files ---- */

/* An inode of which the tree knows names, too: the rest of the update looks at its node. */
static int lose_known(struct xw_update_gone *g, struct xw_binode *n, uint32_t links)
{
	int ret;

	n->unseen = links - (n->links - (n->flags & XW_BN_LAZY ? 0 : n->unseen));
	n->flags &= (uint16_t)~XW_BN_LAZY;
	n->flags |= XW_BN_LINKS;
	n->links = links;
	if (!links) {
		n->flags |= XW_BN_DEAD;
		return 0;
	}
	ret = xw_update_old(g->u, n);
	n->flags &= (uint16_t)~XW_BN_LINKS;
	return ret;
}

/* What of the inode's names is left when `gone` have gone. */
static int count_links(struct xw_update_gone *g, xw_ino ino, const struct xw_inode *in,
		       const struct xw_binode *n, size_t gone, uint32_t *left)
{
	const bool lazy = n && n->flags & XW_BN_LAZY;
	const uint32_t links = n && !lazy ? n->links : in->links;
	const uint32_t there = !n ? 0 : lazy ? n->links : n->links - n->unseen; /* in the tree */

	*left = links > gone ? (uint32_t)(links - gone) : 0;
	if (g->u->lax)
		return 0;
	if (!in->links || in->dtime)
		return bad(g, ino, "has a name and is deleted");
	return links < gone || *left < there ? bad(g, ino, "has more names than links") : 0;
}

static int lose(struct xw_update_gone *g, xw_ino ino, size_t gone)
{
	struct xw_binode *n = g->node ? g->node(g->arg, ino) : NULL;
	const bool dead = n && n->flags & XW_BN_DEAD;
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	uint32_t left = 0;
	int ret = xw_update_get(g->u, ino, &in, &raw);

	if (!ret && dead && gone > 1)
		ret = bad(g, ino, "has more names than links");
	if (!ret && !dead && n && !xw_binode_is(n, in.mode & XW_S_IFMT))
		ret = bad(g, ino, "is not of the type its name says");
	else if (!ret && !dead && (in.mode & XW_S_IFMT) == XW_S_IFDIR)
		ret = bad(g, ino, "is a directory, and its name says that it is none");
	if (!ret && !dead)
		ret = count_links(g, ino, &in, n, gone, &left);
	if (!ret && n && !dead)
		ret = lose_known(g, n, left);
	if (ret || (n && left))
		return ret;
	if (!left)
		return bury(g, ino, &in, 0, steal(raw));
	in.links = (uint16_t)left;
	if (!g->keep_records)
		in.ctime = (struct xw_time){g->u->now, 0};
	return xw_update_put(g->u, ino, &in, steal(raw));
}

int xw_update_gone_run(struct xw_update_gone *g)
{
	const struct xw_update_inos *names = &g->names;
	int ret = take_directories(g);

	sort(&g->names);
	for (size_t i = 0, end; i < names->a.n && !ret; i = end) {
		const xw_ino ino = names->a.v[i];

		for (end = i + 1; end < names->a.n && names->a.v[end] == ino;)
			end++;
		ret = write_some(g, ino);
		if (!ret)
			ret = lose(g, ino, end - i);
	}
	return ret ? ret : xw_update_settle_recs(g->u);
}

/* ---- names of a directory that stays ---- */

static int fail_name(struct xw_update *u, int code, const struct xw_dir_victim *v, const char *why)
{
	return xw_fail(u->diag, code, "%s: '%.*s': %s", u->img->dev->name, v->len, v->name, why);
}

static int add_victims(struct xw_update_gone *g, const struct xw_dir_victim *v, size_t n,
		       int *subdirs)
{
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++) {
		bool dir;

		ret = is_directory(g, v[i].ino, v[i].ftype, &dir);
		if (!ret && dir && !g->recursive)
			ret = fail_name(g->u, XW_ERR_INPUT, &v[i], "is a directory");
		if (!ret)
			ret = add(g, dir ? &g->dirs : &g->names, v[i].ino);
		*subdirs += dir;
	}
	return ret;
}

int xw_update_gone_from(struct xw_update_gone *g, xw_ino dir, struct xw_dir_victim *v, size_t n)
{
	struct xw_update_dir ud = {.u = g->u};
	int subdirs = 0, ret = xw_update_uninline(g->u, dir);

	xw_image_forget(g->u->img); /* blocks may have been written since they were read */
	if (!ret)
		ret = xw_update_dir_begin(g->u, dir, &ud);
	if (!ret)
		ret = xw_dir_delete_many(&ud.d, v, n);
	if (!ret)
		ret = xw_update_dir_put(&ud);
	xw_update_dir_end(&ud);
	for (size_t i = 0; ret == XW_ERR_NOTFOUND && i < n; i++)
		if (!v[i].ino)
			return fail_name(g->u, ret, &v[i], "not found");
	if (!ret)
		ret = add_victims(g, v, n, &subdirs);
	return ret || !subdirs ? ret : xw_update_add_links(g->u, dir, -subdirs);
}
