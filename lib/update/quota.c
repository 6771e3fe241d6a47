// SPDX-License-Identifier: MIT
/*
 * Usage by owner. A change collects what each owner gains and loses; at its end each quota file is
 * read, summed up and built anew in new blocks, limits and grace times kept.
 */
#include "config.h"

#include "update/update.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/quota.h"
#include "read/file.h"
#include "update/update_internal.h"

uint64_t xw_update_bytes(const struct xw_update *u, const struct xw_inode *in)
{
	return 512 * xw_inode_fs_blocks_512(in, &u->img->sb);
}

/* What an owner gains and loses. */
struct usage {
	uint32_t id;
	bool used;
	int64_t inodes, space; /* count, bytes */
};

static bool usage_used(const void *slot)
{
	return ((const struct usage *)slot)->used;
}

static bool usage_same(const void *arg, const void *slot, const void *id)
{
	(void)arg;
	return ((const struct usage *)slot)->id == *(const uint32_t *)id;
}

static uint64_t usage_hash(const void *arg, const void *slot)
{
	(void)arg;
	return xw_table_number(((const struct usage *)slot)->id);
}

static const struct xw_table_kind by_owner = {sizeof(struct usage), usage_used, usage_same,
					      usage_hash};

int xw_update_charge(struct xw_update *u, const struct xw_inode *in, int64_t inodes, int64_t bytes)
{
	const uint32_t id[XW_QUOTA_TYPES] = {
		[XW_QUOTA_USER] = in->uid,
		[XW_QUOTA_GROUP] = in->gid,
		[XW_QUOTA_PROJECT] = in->projid,
	};

	for (int t = 0; t < XW_QUOTA_TYPES; t++) {
		struct usage *s;

		if (!(u->quota_types & 1u << t))
			continue;
		if (xw_table_room(&u->usage[t], &by_owner, NULL))
			return xw_fail_nomem(u->diag, "quota usage");
		s = xw_table_slot(&u->usage[t], &by_owner, NULL, xw_table_number(id[t]), &id[t]);
		u->usage[t].n += !s->used;
		s->used = true;
		s->id = id[t];
		s->inodes += inodes;
		s->space += bytes;
	}
	return 0;
}

/* ---- files ---- */

struct entries {
	struct xw_table *usage;
	XW_VEC(struct xw_quota_entry) e;
	bool below_zero;
};

static uint64_t sum(struct entries *l, uint64_t have, int64_t delta)
{
	if (delta < 0 && have < (uint64_t)-delta) {
		l->below_zero = true;
		return 0;
	}
	return have + (uint64_t)delta;
}

static int take(void *arg, const struct xw_quota_entry *old)
{
	struct entries *l = arg;
	struct xw_quota_entry e = *old;
	struct usage *s = xw_table_get(l->usage, &by_owner, NULL, xw_table_number(e.id), &e.id);

	if (s) {
		e.inodes = sum(l, e.inodes, s->inodes);
		e.space = sum(l, e.space, s->space);
		s->inodes = s->space = 0;
	}
	return xw_vec_push(&l->e, e);
}

/* Owners that the file does not have yet. */
static int add_new(struct entries *l)
{
	for (size_t i = 0; i < l->usage->size; i++) {
		const struct usage *s = xw_table_at(l->usage, &by_owner, i);
		struct xw_quota_entry e = {.id = s->id};

		if (!s->used || (!s->inodes && !s->space))
			continue;
		e.inodes = sum(l, 0, s->inodes);
		e.space = sum(l, 0, s->space);
		if (xw_vec_push(&l->e, e))
			return XW_ERR_NOMEM;
	}
	xw_quota_sort(l->e.v, l->e.n);
	return 0;
}

int xw_update_quota_read(struct xw_update *u, enum xw_quota_type type, xw_ino ino,
			 const struct xw_inode *in, const uint8_t *raw, xw_quota_take *fn,
			 void *arg)
{
	auto_free uint8_t *file = NULL;
	struct xw_quota_info info;
	size_t got = 0;
	int ret = XW_ERR_CORRUPT;

	if (in->size / u->img->block_size <= u->img->sb.blocks_count && in->size < SIZE_MAX) {
		file = malloc(in->size + 1);
		if (!file)
			return xw_fail_nomem(u->diag, "quota file");
		ret = xw_file_pread(u->img, ino, in, raw, 0, file, in->size, &got);
		if (ret)
			return ret;
		ret = xw_quota_decode(file, got, type, &info, fn, arg);
	}
	if (ret == XW_ERR_NOMEM)
		return xw_fail_nomem(u->diag, "quota entries");
	if (ret == XW_ERR_CORRUPT)
		return xw_fail(u->diag, ret,
			       "%s: inode %" PRIu32
			       " is no quota file, or a damaged one; run xw-fsck -f",
			       u->img->dev->name, ino);
	return ret;
}

/* The new contents in new blocks; the inode's record points there. */
static int rebuild(struct xw_update *u, enum xw_quota_type type, xw_ino ino, struct entries *l,
		   struct xw_inode *in)
{
	struct xw_placer *p = &u->place;
	struct xw_quota_file q = {.entries = l->e.v, .n = l->e.n};
	struct xw_binode *n = &q.node;
	int ret = xw_quota_shape(l->e.v, l->e.n, &q.shape);

	if (ret)
		return xw_fail(u->diag, ret, "quota file: too many owners");
	*n = (struct xw_binode){.mode = in->mode,
				.ino = ino,
				.links = 1,
				.flags = XW_BN_OLD,
				.generation = in->generation};
	n->size = (uint64_t)q.shape.blocks * XW_QUOTA_BLOCK;
	ret = xw_place_alloc_node(p, n, xw_div_up(n->size, u->img->block_size));
	if (!ret && n->n_ext)
		ret = xw_place_map(p, n);
	if (!ret)
		ret = xw_place_check_room(p);
	if (!ret)
		ret = xw_quota_write(p, type, &q);
	if (!ret && n->map)
		ret = xw_map_write(p, n);
	if (!ret)
		ret = xw_update_remap(u, n, in);
	p->items.n = 0; /* written here: n does not live until a sweep */
	xw_binode_free_map(n);
	return ret;
}

static int update_file(struct xw_update *u, enum xw_quota_type type, xw_ino ino)
{
	struct entries l = {.usage = &u->usage[type]};
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int ret = xw_update_get(u, ino, &in, &raw);

	if (!ret)
		ret = xw_update_quota_read(u, type, ino, &in, raw, take, &l);
	if (!ret && add_new(&l))
		ret = xw_fail_nomem(u->diag, "quota entries");
	if (!ret && l.below_zero && !u->lax)
		ret = xw_fail(u->diag, XW_ERR_CORRUPT,
			      "%s: quota file (inode %" PRIu32
			      ") counts less than there is; run xw-fsck -f",
			      u->img->dev->name, ino);
	if (!ret)
		ret = rebuild(u, type, ino, &l, &in);
	if (!ret)
		ret = xw_update_put(u, ino, &in, steal(raw));
	xw_vec_free(&l.e);
	return ret;
}

int xw_update_quota_write(struct xw_update *u, enum xw_quota_type type, xw_ino ino,
			  const struct xw_quota_entry *e, size_t n)
{
	struct entries l = {0};
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int ret = xw_update_get(u, ino, &in, &raw);

	for (size_t i = 0; i < n && !ret; i++)
		if (xw_vec_push(&l.e, e[i]))
			ret = xw_fail_nomem(u->diag, "quota entries");
	if (!ret)
		ret = rebuild(u, type, ino, &l, &in);
	if (!ret)
		ret = xw_update_put(u, ino, &in, steal(raw));
	xw_vec_free(&l.e);
	return ret;
}

static bool changed(const struct xw_table *t)
{
	const struct usage *s = t->slots;

	for (size_t i = 0; i < t->size; i++)
		if (s[i].inodes || s[i].space)
			return true;
	return false;
}

int xw_update_quota(struct xw_update *u)
{
	const xw_ino inum[XW_QUOTA_TYPES] = {
		[XW_QUOTA_USER] = u->img->sb.usr_quota_inum,
		[XW_QUOTA_GROUP] = u->img->sb.grp_quota_inum,
		[XW_QUOTA_PROJECT] = u->img->sb.prj_quota_inum,
	};
	int ret = 0;

	for (int t = 0; t < XW_QUOTA_TYPES && !ret; t++)
		if (u->quota_types & 1u << t && changed(&u->usage[t]))
			ret = update_file(u, (enum xw_quota_type)t, inum[t]);
	return ret;
}
