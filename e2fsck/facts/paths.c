// SPDX-License-Identifier: MIT
/*
 * Paths of inodes, for reports.
 *
 * A survey of the directories notes for each inode the block with its first name. It is made at
 * most once a round, and once more when the facts about directories are complete. Repairs may
 * change a block after the survey; then its names are not found there, and have no path.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "facts/dirs.h"
#include "facts/paths.h"

/*
 * Limits: blocks read before the facts about directories are complete; names looked up in a check,
 * so that very deep trees, and loops, cost little; components of a path.
 */
enum { BLOCKS_MAX = 16384, NAMES_MAX = 2000000, DEPTH_MAX = FSCK_PATH_MAX / 2 };

/* In at[]: the entry is a removed one. */
#define REMOVED 0x80000000u

/* A block with names. */
struct name_block {
	xw_blk pblk; /* 0: the directory is inline */
	xw_ino dir;
};

struct fsck_paths {
	enum { NONE, SOME, ALL } survey; /* SOME: within the limit, from the root downwards */
	unsigned round; /* of the survey */
	uint64_t groups; /* size of at[] */
	uint32_t **at; /* [groups] of [inodes_per_group]: index in blocks + 1; 0: no name */
	XW_VEC(struct name_block) blocks;
	uint64_t named; /* names looked up so far */
	uint8_t *block; /* one block; it holds `loaded` */
	xw_blk loaded;
	uint8_t *raw; /* an inode record */
	struct xw_dirblock walk;
	xw_ino dir; /* the directory whose path is in dir_path; 0: none */
	char dir_path[FSCK_PATH_MAX];
};

struct fsck_paths *fsck_paths_new(void)
{
	return calloc(1, sizeof(struct fsck_paths));
}

static void forget(struct fsck_paths *p)
{
	for (uint64_t g = 0; g < p->groups; g++)
		free(p->at[g]);
	free(p->at);
	p->at = NULL;
	p->groups = 0;
	p->blocks.n = 0;
	p->loaded = 0;
	p->dir = 0;
	p->survey = NONE;
}

void fsck_paths_free(struct fsck_paths *p)
{
	if (!p)
		return;
	forget(p);
	xw_vec_free(&p->blocks);
	free(p->block);
	free(p->raw);
	free(p);
}

/* ---- the survey ---- */

static uint32_t *place_of(const struct fsck *f, const struct fsck_paths *p, xw_ino ino)
{
	const uint32_t per_group = f->ses.img->sb.inodes_per_group;
	const uint64_t group = (uint64_t)(ino - 1) / per_group;

	return ino && group < p->groups && p->at[group] ? &p->at[group][(ino - 1) % per_group]
							: NULL;
}

/* Note that the last block of p->blocks has a name of ino. Returns true if it is the first name. */
static bool note_name(const struct fsck *f, struct fsck_paths *p, xw_ino ino, bool removed)
{
	const uint32_t per_group = f->ses.img->sb.inodes_per_group;
	const uint64_t group = (uint64_t)(ino - 1) / per_group;
	uint32_t *at;

	if (!ino || group >= p->groups)
		return false;
	if (!p->at[group])
		p->at[group] = calloc(per_group, sizeof(**p->at));
	at = place_of(f, p, ino);
	if (!at || (*at && (removed || !(*at & REMOVED))))
		return false;
	*at = (uint32_t)p->blocks.n | (removed ? REMOVED : 0);
	return !removed;
}

struct inodes {
	XW_VEC(xw_ino) list;
};

/* A directory whose blocks are surveyed. */
struct dir {
	xw_ino ino;
	bool indexed;
	struct inodes *subdirs; /* where to add directories that it names; NULL: nowhere */
};

static void note_area(const struct fsck *f, struct fsck_paths *p, const struct dir *d,
		      const uint8_t *data, uint32_t size, bool removed)
{
	const struct xw_dirblock_area area = {.data = data,
					      .size = size,
					      .inodes_count = f->ses.img->sb.inodes_count,
					      .filetype = true,
					      .any_names = true,
					      .removed = removed};
	struct xw_dirblock_item item;

	xw_dirblock_begin(&p->walk, &area);
	while (xw_dirblock_next(&p->walk, &item)) {
		const struct xw_dirent *e = &item.e;

		if (!e->name_len || !e->ino || e->ino > area.inodes_count || item.unused ||
		    xw_name_is_dots(e->name, e->name_len))
			continue;
		if (note_name(f, p, e->ino, item.removed) && d->subdirs &&
		    (e->ftype == XW_FT_DIR || e->ftype == XW_FT_UNKNOWN))
			(void)xw_vec_push(&d->subdirs->list, e->ino);
	}
}

static bool load(const struct fsck *f, struct fsck_paths *p, xw_blk blk)
{
	const uint32_t bs = f->ses.img->block_size;

	if (p->loaded == blk)
		return true;
	p->loaded = 0;
	if (xw_dev_pread(f->ses.dev, p->block, bs, blk * bs))
		return false;
	p->loaded = blk;
	return true;
}

static void survey_block(const struct fsck *f, struct fsck_paths *p, const struct dir *d,
			 xw_lblk lblk, xw_blk pblk)
{
	const uint32_t bs = f->ses.img->block_size;
	const struct name_block b = {pblk, d->ino};
	const bool tail = xw_super_has_csum(&f->ses.img->sb);

	if (!pblk || !load(f, p, pblk) || p->blocks.n >= REMOVED - 1 || xw_vec_push(&p->blocks, b))
		return;
	if (d->indexed && lblk && xw_dirblock_is_node(p->block, bs))
		return;
	note_area(f, p, d, p->block, tail && xw_dir_has_tail(p->block, bs) ? bs - XW_DIR_TAIL : bs,
		  !d->indexed || lblk);
}

/* The two areas of an inline directory. Returns their number; 0: the inode is none. */
static unsigned inline_areas(struct fsck *f, struct fsck_paths *p, xw_ino ino, struct xw_inode *in,
			     const uint8_t *data[2], uint32_t size[2])
{
	size_t off;

	if (fsck_inode_read(f, ino, in, p->raw) || !(in->flags & XW_FL_INLINE_DATA))
		return 0;
	data[0] = in->block + 4;
	size[0] = sizeof(in->block) - 4;
	off = fsck_inline_value(f, in, p->raw, &size[1]);
	data[1] = p->raw + off;
	return size[1] ? 2 : 1;
}

static void survey_inline(struct fsck *f, struct fsck_paths *p, const struct dir *d)
{
	const struct name_block b = {0, d->ino};
	const uint8_t *data[2];
	uint32_t size[2];
	struct xw_inode in;
	const unsigned n = inline_areas(f, p, d->ino, &in, data, size);

	if (n && p->blocks.n < REMOVED - 1 && !xw_vec_push(&p->blocks, b))
		for (unsigned i = 0; i < n; i++)
			note_area(f, p, d, data[i], size[i], false);
}

/* All directories are facts. Their blocks are nearly always in disk order. */
static void survey_facts(struct fsck *f, struct fsck_paths *p)
{
	for (size_t i = 0; i < f->facts.dirblocks.n; i++) {
		const struct fsck_dirblock *b = &f->facts.dirblocks.v[i];
		const struct fsck_dir *d = &f->facts.dirs.v[b->dir];
		const struct dir dir = {.ino = d->ino, .indexed = d->indexed};

		survey_block(f, p, &dir, b->lblk, b->pblk);
	}
	for (size_t i = 0; i < f->facts.dirs.n; i++) {
		const struct dir dir = {.ino = f->facts.dirs.v[i].ino};

		if (f->facts.dirs.v[i].is_inline)
			survey_inline(f, p, &dir);
	}
}

static void survey_map(struct fsck *f, struct fsck_paths *p, struct dir *d,
		       const struct xw_inode *in)
{
	const uint64_t end = xw_div_up(in->size, f->ses.img->block_size);
	auto_end(xw_map_end) struct xw_map_iter it;
	struct xw_map_run run;
	int rc = xw_map_begin(f->ses.img, d->ino, in, 0, &it);

	d->indexed = in->flags & XW_FL_INDEX;
	while (!rc && xw_map_next(&it, &run) == 1)
		for (uint64_t i = 0; i < run.len && run.lblk + i < end &&
				     p->blocks.n < BLOCKS_MAX && !run.unwritten;
		     i++)
			survey_block(f, p, d, run.lblk + i, run.pblk + i);
}

/* From the root downwards. A directory is entered by its first name only, so loops end. */
static void survey_tree(struct fsck *f, struct fsck_paths *p)
{
	struct inodes todo = {0};

	if (!xw_vec_push(&todo.list, XW_INO_ROOT))
		for (size_t i = 0; i < todo.list.n && p->blocks.n < BLOCKS_MAX; i++) {
			struct dir d = {.ino = todo.list.v[i], .subdirs = &todo};
			struct xw_inode in;

			if (fsck_inode_read(f, d.ino, &in, p->raw) ||
			    (in.mode & XW_S_IFMT) != XW_S_IFDIR)
				continue;
			if (in.flags & XW_FL_INLINE_DATA)
				survey_inline(f, p, &d);
			else
				survey_map(f, p, &d, &in);
		}
	xw_vec_free(&todo.list);
}

/* Make the survey that is possible now, unless it exists. Returns false if there is none. */
static bool survey(struct fsck *f, struct fsck_paths *p)
{
	const uint64_t unreadable = __atomic_load_n(&f->ses.unreadable, __ATOMIC_RELAXED);
	const bool all = f->round.pass >= 2;
	const uint64_t groups = xw_image_groups_here(f->ses.img);

	if (p->survey && p->round == f->round.number && (p->survey == ALL || !all))
		return true;
	forget(p);
	p->round = f->round.number;
	p->survey = all ? ALL : SOME;
	free(p->block);
	free(p->raw);
	p->block = malloc(f->ses.img->block_size);
	p->raw = malloc(f->ses.img->inode_size);
	p->at = calloc(groups, sizeof(*p->at));
	if (!p->block || !p->raw || !p->at)
		return false;
	p->groups = groups;
	if (all)
		survey_facts(f, p);
	else
		survey_tree(f, p);
	/* What the check needs it reads itself: a failure of these reads is none of the check. */
	__atomic_store_n(&f->ses.unreadable, unreadable, __ATOMIC_RELAXED);
	return true;
}

/* ---- paths ---- */

/* Copy the name of ino in the area to name[]: its length; 0: it is not there. */
static unsigned name_in(struct fsck *f, struct fsck_paths *p, xw_ino ino, const uint8_t *data,
			uint32_t size, char name[XW_NAME_MAX])
{
	const struct xw_dirblock_area area = {.data = data,
					      .size = size,
					      .inodes_count = f->ses.img->sb.inodes_count,
					      .filetype = true,
					      .any_names = true};
	struct xw_dirblock_item item;

	xw_dirblock_begin(&p->walk, &area);
	while (xw_dirblock_next(&p->walk, &item))
		if (item.e.ino == ino && item.e.name_len && !item.unused &&
		    !xw_name_is_dots(item.e.name, item.e.name_len)) {
			memcpy(name, item.e.name, item.e.name_len);
			return item.e.name_len;
		}
	return 0;
}

/* The name of ino in a block with names; its length, 0: it is gone. */
static unsigned name_of(struct fsck *f, struct fsck_paths *p, const struct name_block *b,
			xw_ino ino, char name[XW_NAME_MAX])
{
	const uint8_t *data[2];
	struct xw_inode in;
	uint32_t size[2];
	unsigned len = 0, n;

	if (b->pblk)
		return load(f, p, b->pblk)
			       ? name_in(f, p, ino, p->block, f->ses.img->block_size, name)
			       : 0;
	n = inline_areas(f, p, b->dir, &in, data, size);
	for (unsigned i = 0; i < n && !len; i++)
		len = name_in(f, p, ino, data[i], size[i], name);
	return len;
}

/* A path that is written from its end: text + at. */
struct path {
	char *text;
	size_t at;
};

/* Write "/" and a name at `to`. */
static void put_component(char *to, const char *name, size_t len)
{
	*to = '/';
	for (size_t i = 0; i < len; i++)
		to[1 + i] = name[i] && name[i] != '/' ? name[i] : '?';
}

/* Write a component. Returns false if it does not fit: the path begins with "..." then. */
static bool prepend(struct path *path, const char *name, size_t len)
{
	enum { DOTS = 4 };

	if (path->at < len + 1 + DOTS + XW_NAME_MAX) {
		path->at -= DOTS - 1;
		memcpy(path->text + path->at, "...", DOTS - 1);
		return false;
	}
	path->at -= len + 1;
	put_component(path->text + path->at, name, len);
	return true;
}

/* The top of a path: a directory without a name. */
static void put_top(struct path *path, xw_ino ino)
{
	char number[16];
	const int len = snprintf(number, sizeof(number), "<%u>", ino);

	path->at -= (size_t)len;
	memcpy(path->text + path->at, number, (size_t)len);
}

/*
 * The name of ino, and the directory that has it: the length of the name; 0: not known. Each call
 * counts against the limit of the check.
 */
static unsigned find_name(struct fsck *f, struct fsck_paths *p, xw_ino ino, char name[XW_NAME_MAX],
			  xw_ino *dir)
{
	const uint32_t *at = place_of(f, p, ino);

	if (!at || !*at || *at & REMOVED || p->named >= NAMES_MAX)
		return 0;
	p->named++;
	*dir = p->blocks.v[*at - 1].dir;
	return name_of(f, p, &p->blocks.v[*at - 1], ino, name);
}

/*
 * Climb from directory ino to the root. Returns false in a loop, and if a name is gone. In a loop
 * the climb comes back to an inode that is marked at growing distances.
 */
static bool climb(struct fsck *f, struct fsck_paths *p, xw_ino ino, struct path *path)
{
	unsigned next = 1;
	bool room = true;
	char name[XW_NAME_MAX];
	xw_ino mark = 0;

	for (unsigned depth = 0; ino != XW_INO_ROOT; depth++) {
		const uint32_t *at = place_of(f, p, ino);
		unsigned len;

		if (!at || !*at || *at & REMOVED) {
			if (room)
				put_top(path, ino);
			return true;
		}
		if (ino == mark || depth == DEPTH_MAX)
			return false;
		if (depth == next) {
			mark = ino;
			next *= 2;
		}
		len = find_name(f, p, ino, name, &ino);
		if (!len)
			return false;
		room = room && prepend(path, name, len);
	}
	if (!path->text[path->at])
		path->text[--path->at] = '/';
	return true;
}

/* The path of a directory, which is kept: findings about one directory follow one another. */
static const char *path_of_dir(struct fsck *f, struct fsck_paths *p, xw_ino dir)
{
	struct path path = {p->dir_path, FSCK_PATH_MAX - 1};

	if (p->dir != dir) {
		p->dir = dir;
		p->dir_path[path.at] = '\0';
		p->dir_path[0] = '\0';
		if (climb(f, p, dir, &path))
			memmove(p->dir_path, p->dir_path + path.at, FSCK_PATH_MAX - path.at);
	}
	return *p->dir_path ? p->dir_path : NULL;
}

const char *fsck_path(struct fsck *f, struct fsck_paths *p, xw_ino ino, char buf[FSCK_PATH_MAX])
{
	auto_quiet image = fsck_quiet(&f->ses.img->diag);
	auto_quiet device = fsck_quiet(&f->ses.dev->diag);
	char name[XW_NAME_MAX];
	const char *above;
	unsigned len;
	xw_ino dir;
	size_t n;

	if (!ino || !survey(f, p))
		return NULL;
	if (ino == XW_INO_ROOT)
		return strcpy(buf, "/");
	len = find_name(f, p, ino, name, &dir);
	above = len ? path_of_dir(f, p, dir) : NULL;
	if (!above)
		return NULL;
	n = strlen(above);
	if (n == 1) /* the root */
		n = 0;
	if (n + 1 + len >= FSCK_PATH_MAX) {
		above = "...";
		n = strlen(above);
	}
	memcpy(buf, above, n);
	put_component(buf + n, name, len);
	buf[n + 1 + len] = '\0';
	return buf;
}

xw_ino fsck_path_removed(struct fsck *f, struct fsck_paths *p, xw_ino ino)
{
	auto_quiet image = fsck_quiet(&f->ses.img->diag);
	auto_quiet device = fsck_quiet(&f->ses.dev->diag);
	const uint32_t *at;

	if (!ino || !survey(f, p))
		return 0;
	at = place_of(f, p, ino);
	return at && *at & REMOVED ? p->blocks.v[(*at & ~REMOVED) - 1].dir : 0;
}
