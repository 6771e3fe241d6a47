// SPDX-License-Identifier: MIT
/*
 * Quota files: at the end of a change each file is read, the gains and losses of owners (usage.c)
 * are added, and the file is rewritten in new blocks, keeping limits and grace times.
 */
#include "config.h"

#include "update/update.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/quota.h"
#include "read/file.h"
#include "update/inode.h"
#include "update/update_internal.h"

struct entries {
	struct xw_table *usage;
	XW_VEC(struct xw_quota_entry) e;
	struct xw_quota_info info; /* only the grace times are kept */
	bool below_zero;
};

static void free_entries(struct entries *l)
{
	xw_vec_free(&l->e);
}
#define auto_entries __attribute__((cleanup(free_entries)))

static uint64_t sum(struct entries *l, uint64_t have, int64_t delta)
{
	if (delta < 0 && have < (uint64_t)-delta) {
		l->below_zero = true;
		return 0;
	}
	return have + (uint64_t)delta;
}

static int add_existing(void *arg, const struct xw_quota_entry *old)
{
	struct entries *l = arg;
	struct xw_quota_entry e = *old;
	struct xw_usage *s = xw_usage_get(l->usage, e.id);

	if (s) {
		e.inodes = sum(l, e.inodes, s->inodes);
		e.space = sum(l, e.space, s->space);
		s->inodes = s->space = 0;
	}
	return xw_vec_push(&l->e, e);
}

/* Add the owners that are not in the file yet. */
static int add_new(struct entries *l)
{
	const struct xw_usage *s = l->usage->slots;

	for (size_t i = 0; i < l->usage->size; i++, s++) {
		struct xw_quota_entry e = {.id = (uint32_t)(s->key - 1)};

		if (!s->inodes && !s->space)
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
			 const struct xw_inode *in, const uint8_t *raw, struct xw_quota_info *info,
			 xw_quota_entry_fn *fn, void *arg)
{
	struct xw_quota_info none;
	auto_free uint8_t *file = NULL;
	size_t got = 0;
	int rc = XW_ERR_CORRUPT;

	if (in->size / u->img->block_size <= u->img->sb.blocks_count && in->size < SIZE_MAX) {
		file = malloc(in->size + 1);
		if (!file)
			return xw_fail_nomem(u->diag, "quota file");
		rc = xw_file_pread(u->img, ino, in, raw, 0, file, in->size, &got);
		if (rc)
			return rc;
		rc = xw_quota_decode(file, got, type, info ? info : &none, fn, arg);
	}
	if (rc == XW_ERR_NOMEM)
		return xw_fail_nomem(u->diag, "quota entries");
	if (rc == XW_ERR_CORRUPT)
		return xw_fail(u->diag, rc,
			       "%s: inode %" PRIu32 " is not a valid quota file; run xw-fsck -f",
			       u->img->dev->name, ino);
	return rc;
}

/* Write the new contents to new blocks; the inode's record refers to them. */
static int rebuild(struct xw_update *u, enum xw_quota_type type, xw_ino ino,
		   const struct entries *l, struct xw_inode *in)
{
	struct xw_placer *p = &u->place;
	struct xw_quota_file q = {.entries = l->e.v, .n = l->e.n};
	struct xw_binode *n = &q.node;
	int rc = xw_quota_shape(l->e.v, l->e.n, &q.shape);

	if (rc)
		return xw_fail(u->diag, rc, "quota file: too many owners");
	q.shape.block_grace = l->info.block_grace;
	q.shape.inode_grace = l->info.inode_grace;
	*n = (struct xw_binode){.mode = in->mode,
				.ino = ino,
				.links = 1,
				.flags = XW_BN_OLD,
				.generation = in->generation};
	n->size = (uint64_t)q.shape.blocks * XW_QUOTA_BLOCK;
	rc = xw_place_alloc_node(p, n, xw_div_up(n->size, u->img->block_size));
	if (!rc && n->n_ext)
		rc = xw_place_map(p, n);
	if (!rc)
		rc = xw_place_check_room(p);
	if (!rc)
		rc = xw_quota_write(p, type, &q);
	if (!rc && n->map)
		rc = xw_map_write(p, n);
	if (!rc)
		rc = xw_update_remap(u, n, in);
	p->items.n = 0; /* already written: n does not outlive this function */
	xw_binode_free_map(n);
	return rc;
}

static int update_file(struct xw_update *u, enum xw_quota_type type, xw_ino ino)
{
	auto_entries struct entries l = {.usage = &u->usage[type]};
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc = xw_update_get(u, ino, &in, &raw);

	if (!rc)
		rc = xw_update_quota_read(u, type, ino, &in, raw, &l.info, add_existing, &l);
	if (rc == XW_ERR_CORRUPT && u->leave_quota) {
		xw_diag_clear(u->diag);
		return 0;
	}
	if (rc)
		return rc;
	if (add_new(&l))
		return xw_fail_nomem(u->diag, "quota entries");
	if (l.below_zero && !u->unchecked)
		return xw_fail(u->diag, XW_ERR_CORRUPT,
			       "%s: quota file (inode %" PRIu32
			       ") counts less than the actual usage; run xw-fsck -f",
			       u->img->dev->name, ino);
	rc = rebuild(u, type, ino, &l, &in);
	return rc ? rc : xw_update_put(u, ino, &in, steal(raw));
}

int xw_update_quota_write(struct xw_update *u, enum xw_quota_type type, xw_ino ino,
			  const struct xw_quota_entry *e, size_t n,
			  const struct xw_quota_info *info)
{
	auto_entries struct entries l = {.info = *info};
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc = xw_update_get(u, ino, &in, &raw);

	for (size_t i = 0; i < n && !rc; i++)
		if (xw_vec_push(&l.e, e[i]))
			rc = xw_fail_nomem(u->diag, "quota entries");
	if (!rc)
		rc = rebuild(u, type, ino, &l, &in);
	return rc ? rc : xw_update_put(u, ino, &in, steal(raw));
}

static bool changed(const struct xw_table *t)
{
	const struct xw_usage *s = t->slots;

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
	int rc = 0;

	for (int t = 0; t < XW_QUOTA_TYPES && !rc; t++)
		if (u->quota_types & 1u << t && changed(&u->usage[t]))
			rc = update_file(u, (enum xw_quota_type)t, inum[t]);
	return rc;
}
