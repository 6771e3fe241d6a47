// SPDX-License-Identifier: MIT
/*
 * Rebuilds directories: all of their entries are read once more, however damaged the blocks are,
 * and passed to the builder. If several entries have the same name and inode, one of them is kept.
 * If they have different inodes, one entry keeps the name, and the others are renamed. A directory
 * whose ".." refers to this directory keeps its name first, then a file that does not have more
 * names than links, otherwise the first entry.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/auto.h"
#include "facts/dirs.h"
#include "repairs/repairs.h"
#include "edit/dir.h"
#include "edit/edit.h"

struct entry {
	struct xw_dir_entry e;
	size_t at; /* position in the directory */
	int weight; /* evidence that the inode really had this name */
};

struct salvage {
	struct fsck_dirscan *s;
	struct xw_arena names;
	XW_VEC(struct entry) found;
	XW_VEC(struct xw_dir_entry) e;
};

static void salvage_free(struct salvage *v)
{
	xw_vec_free(&v->e);
	xw_vec_free(&v->found);
	xw_arena_free(&v->names);
}

static int weight_of(const struct salvage *v, xw_ino ino)
{
	const struct fsck_inode *in = fsck_inode(v->s->f, ino);
	const struct fsck_dir *child = fsck_dir(v->s->f, ino);

	if (child && child->dotdot)
		return child->dotdot == v->s->d->ino ? 1 : -1;
	return !child && in && in->names > in->links ? -1 : 0;
}

static int add(struct salvage *v, const struct xw_dirent *e)
{
	struct entry x = {.e = {.name_len = e->name_len, .ftype = e->ftype, .ino = e->ino},
			  .at = v->found.n,
			  .weight = weight_of(v, e->ino)};

	x.e.name = xw_arena_dup(&v->names, e->name, e->name_len);
	return !x.e.name || xw_vec_push(&v->found, x) ? XW_ERR_NOMEM : 0;
}

static int add_area(struct salvage *v, const struct fsck_area *a)
{
	const struct xw_dirblock_area area = fsck_dir_area_of(v->s, a);
	struct xw_dirblock_item item;
	int kind, rc = 0;

	xw_dirblock_begin(&v->s->walk, &area);
	while (!rc && (kind = xw_dirblock_next(&v->s->walk, &item)) != 0) {
		if ((kind == 2 && !item.keep) || item.unused ||
		    xw_name_is_dots(item.e.name, item.e.name_len))
			continue;
		rc = add(v, &item.e);
	}
	return rc;
}

static int add_blocks(struct salvage *v, uint32_t i)
{
	struct fsck_dirscan *s = v->s;
	struct fsck *f = s->f;
	const uint32_t bs = f->ses.img->block_size;
	auto_free uint8_t *buf = malloc(bs);
	int rc = buf ? 0 : XW_ERR_NOMEM;

	for (uint32_t at = s->first[i]; at < s->first[i + 1] && !rc; at++) {
		const struct fsck_dirblock *b = &f->facts.dirblocks.v[at];
		struct fsck_area a = {.data = buf, .size = bs, .lblk = b->lblk};

		if (!b->pblk)
			continue;
		if (fsck_read(f, b->pblk, 1, buf)) {
			xw_diag_clear(&f->ses.diag);
			continue;
		}
		if (s->d->indexed && b->lblk && xw_dirblock_is_node(buf, bs))
			continue;
		a.tail = s->csum && !(s->d->indexed && !b->lblk && fsck_dir_is_root(buf, bs));
		rc = add_area(v, &a);
	}
	return rc;
}

static int add_inline(struct salvage *v)
{
	struct fsck *f = v->s->f;
	auto_free uint8_t *raw = malloc(f->ses.img->inode_size);
	struct xw_inode in;
	uint32_t len;
	size_t off;
	int rc;

	if (!raw)
		return xw_fail_nomem(&f->ses.diag, "directory");
	rc = fsck_inode_read(f, v->s->d->ino, &in, raw);
	if (rc)
		return rc;
	rc = add_area(v, &(struct fsck_area){.data = in.block + 4, .size = 56});
	off = fsck_inline_value(f, &in, raw, &len);
	if (!rc && len)
		rc = add_area(v, &(struct fsck_area){.data = raw + off, .size = len});
	return rc;
}

/* ---- duplicate names ---- */

static int by_position(const struct entry *a, const struct entry *b)
{
	return (a->at > b->at) - (a->at < b->at);
}

static int by_inode(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;
	const int c = fsck_by_name(&a->e, &b->e);

	if (c || a->e.ino == b->e.ino)
		return c ? c : by_position(a, b);
	return a->e.ino < b->e.ino ? -1 : 1;
}

/* The entry that keeps the name comes first. */
static int by_weight(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;
	const int c = fsck_by_name(&a->e, &b->e);

	if (c || a->weight == b->weight)
		return c ? c : by_position(a, b);
	return b->weight - a->weight;
}

static bool is_same_name(const struct xw_dir_entry *a, const struct xw_dir_entry *b)
{
	return a->name_len == b->name_len && !memcmp(a->name, b->name, a->name_len);
}

/* All names of the directory; existing ones are kept, since one entry keeps each. */
struct taken {
	const char *name; /* NULL: the slot is free */
	size_t len;
};

static bool used_used(const void *slot)
{
	return ((const struct taken *)slot)->name;
}

static bool used_same(const void *arg, const void *slot, const void *key)
{
	const struct taken *a = slot, *b = key;

	(void)arg;
	return a->len == b->len && !memcmp(a->name, b->name, a->len);
}

static uint64_t used_hash(const struct xw_table *t, const void *arg, const void *slot)
{
	const struct taken *a = slot;

	(void)arg;
	return xw_table_bytes(t, a->name, a->len);
}

static const struct xw_table_kind taken_kind = {sizeof(struct taken), used_used, used_same,
						used_hash};

struct renaming {
	struct salvage *v;
	struct xw_table taken;
	const char *base; /* of the entry renamed last */
	size_t len;
	unsigned next; /* next suffix to try for this base */
};

/* 1: added; 0: it existed. XW_ERR_NOMEM. */
static int use_name(struct renaming *r, const char *name, size_t len)
{
	const struct taken key = {name, len};
	struct taken *slot;

	if (xw_table_room(&r->taken, &taken_kind, NULL))
		return XW_ERR_NOMEM;
	slot = xw_table_slot(&r->taken, &taken_kind, NULL, used_hash(&r->taken, NULL, &key), &key);
	if (slot->name)
		return 0;
	*slot = key;
	r->taken.n++;
	return 1;
}

/* Rename to NAME~0, NAME~1 and so on, truncating NAME if necessary. */
static int rename_entry(struct renaming *r, struct xw_dir_entry *e)
{
	char *name = xw_arena_alloc(&r->v->names, XW_NAME_MAX + 1, 1);
	const size_t base = XW_MIN(e->name_len, (size_t)XW_NAME_MAX - 6);

	if (!name)
		return XW_ERR_NOMEM;
	memcpy(name, e->name, base);
	if (!r->base || r->len != base || memcmp(r->base, name, base))
		r->next = 0;
	r->base = name;
	r->len = base;
	while (r->next < 100000) {
		const int n = snprintf(name + base, XW_NAME_MAX + 1 - base, "~%u", r->next++);
		const int rc = use_name(r, name, base + (size_t)n);

		if (rc < 0)
			return rc;
		if (!rc)
			continue;
		e->name = name;
		e->name_len = (uint8_t)(base + (size_t)n);
		return 0;
	}
	return XW_ERR_LIMIT;
}

/* Entries are sorted by name, so those with the same base are adjacent. */
static int rename_all(struct salvage *v)
{
	struct renaming r = {.v = v};
	int rc = 0;

	for (size_t i = 0; i < v->e.n && rc >= 0; i++)
		rc = use_name(&r, v->e.v[i].name, v->e.v[i].name_len);
	rc = rc < 0 ? rc : 0;
	for (size_t i = v->e.n; i-- > 1 && !rc;)
		if (is_same_name(&v->e.v[i - 1], &v->e.v[i]))
			rc = rename_entry(&r, &v->e.v[i]);
	xw_table_free(&r.taken);
	return rc;
}

static void forget_name(struct fsck *f, const struct xw_dir_entry *e)
{
	struct fsck_inode *in = fsck_inode(f, e->ino);

	if (in && in->names && in->names < UINT16_MAX)
		in->names--;
}

static void sort(struct salvage *v, int (*compare)(const void *x, const void *y))
{
	if (v->found.n)
		qsort(v->found.v, v->found.n, sizeof(*v->found.v), compare);
}

static int make_unique(struct salvage *v)
{
	struct entry *const all = v->found.v;
	bool twice = false;
	size_t n = 0;

	sort(v, by_inode);
	for (size_t i = 0; i < v->found.n; i++) {
		const bool same = n && is_same_name(&all[n - 1].e, &all[i].e);

		if (same && all[n - 1].e.ino == all[i].e.ino) {
			forget_name(v->s->f, &all[i].e);
			continue;
		}
		twice |= same;
		all[n++] = all[i];
	}
	v->found.n = n;
	sort(v, by_weight);
	for (size_t i = 0; i < n; i++)
		if (xw_vec_push(&v->e, all[i].e))
			return XW_ERR_NOMEM;
	return twice && !v->s->encrypted ? rename_all(v) : 0;
}

/* ---- one directory ---- */

/* -D: rewrite the directory, unless its blocks are as they would be written. */
static int optimize(struct fsck *f, struct fsck_dir *d, struct xw_update *u,
		    const struct xw_update_rebuild *o)
{
	bool same = false;
	int rc = xw_update_dir_is_built(u, o, &same);

	if (!rc && !same)
		rc = xw_update_rebuild_dir(u, o);
	/* The update has freed the nodes of the itree, which is built again. */
	if (!rc && !same && d->itree)
		rc = fsck_push_itree(f, d->ino);
	d->itree = d->itree && (rc || same);
	d->optimize = !same;
	return rc;
}

/* Without a free block for an index the directory has none, which Linux accepts. */
static int rebuild_within(struct fsck *f, struct xw_update *u, struct xw_update_rebuild *o)
{
	int rc = xw_update_rebuild_dir(u, o);

	if (rc != XW_ERR_NOSPC)
		return rc;
	fsck_update_drop(f);
	xw_diag_clear(&f->ses.diag);
	o->no_index = true;
	rc = fsck_update(f, &u);
	return rc ? rc : xw_update_rebuild_dir(u, o);
}

static int rebuild(struct fsck_dirscan *s, uint32_t i)
{
	struct fsck *f = s->f;
	struct fsck_dir *d = &f->facts.dirs.v[i];
	auto_end(salvage_free) struct salvage v = {.s = s};
	struct xw_update_rebuild o = {.ino = d->ino};
	struct xw_update *u;
	int rc;

	s->d = NULL;
	fsck_dir_enter(s, i);
	rc = d->is_inline ? add_inline(&v) : add_blocks(&v, i);
	if (!rc)
		rc = make_unique(&v);
	if (rc == XW_ERR_NOMEM)
		return xw_fail_nomem(&f->ses.diag, "directory");
	if (!rc)
		rc = fsck_update(f, &u);
	if (rc)
		return rc;
	o.parent = d->parent ? d->parent : d->dotdot ? d->dotdot : XW_INO_ROOT;
	o.entries = v.e.v;
	o.n = v.e.n;
	rc = d->rebuild ? rebuild_within(f, u, &o) : optimize(f, d, u, &o);
	if (!rc)
		d->dotdot = o.parent;
	return rc;
}

int fsck_dir_rebuild_all(struct fsck_dirscan *s)
{
	struct fsck *f = s->f;
	int rc = 0;

	for (uint32_t i = 0; i < f->facts.dirs.n && !rc && !f->ses.stop; i++) {
		struct fsck_dir *d = &f->facts.dirs.v[i];
		bool no_space;

		/* an itree without facts is damaged, and its repair was declined */
		if (!d->rebuild && (!d->optimize || (d->itree && !fsck_itree(f, d->ino))))
			continue;
		rc = rebuild(s, i);
		if (!rc && !d->rebuild && !d->optimize)
			continue;
		no_space = rc == XW_ERR_NOSPC || rc == XW_ERR_UNSUPPORTED || rc == XW_ERR_LIMIT;
		if (!rc)
			rc = fsck_update_step(f);
		if (!rc)
			continue;
		/* The failed change is rolled back completely. */
		fsck_update_drop(f);
		if (!no_space)
			return rc;
		xw_diag_clear(&f->ses.diag);
		if (d->rebuild)
			FSCK_FOUND(f, DIR_NO_SPACE, .dir = d->ino);
		rc = 0;
	}
	fsck_update_drop(f); /* each directory was kept */
	return rc;
}
