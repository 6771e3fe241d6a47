// SPDX-License-Identifier: MIT
/*
 * Blocks that more than one owner claims.
 *
 * The claims say which clusters these are; a second pass over the maps says whose. Metadata of
 * groups and attribute blocks keep their places. Of inodes, each in turn gets copies of what it
 * shares until the last owner is left alone with the original; those that the filesystem itself
 * needs come last. An inode for which there is no space is cleared when the user agrees.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "inodes.h"
#include "update/edit.h"

struct claim {
	uint64_t cluster;
	xw_ino ino; /* 0: metadata or an attribute block, which stays */
};

struct owners {
	uint64_t cluster;
	uint32_t n; /* claims that are left */
};

struct contest {
	struct fsck *f;
	struct xw_walk_map walk;
	XW_VEC(struct claim) claims; /* by cluster once all are known */
	XW_VEC(struct owners) owners; /* likewise */
	XW_VEC(xw_ino) inos; /* in the order in which they are moved */
	unsigned bits;
	xw_blk base;
	uint8_t *copy; /* a cluster */
	struct owners *before; /* the counts, should a step fail */
};

static uint64_t cluster_of(const struct contest *c, xw_blk blk)
{
	return (blk - c->base) >> c->bits;
}

/* ---- who claims what ---- */

static int add_claim(struct contest *c, uint64_t cluster, xw_ino ino)
{
	return xw_vec_push(&c->claims, ((struct claim){cluster, ino}))
		       ? xw_fail_nomem(&c->f->diag, "contested blocks")
		       : 0;
}

/* The contested clusters of a run; *last is the one of the run in front of it. */
static int add_run(struct contest *c, const struct xw_walk_map_item *i, xw_ino ino,
		   struct xw_walk_map_item *last)
{
	const uint64_t end = cluster_of(c, i->pblk + i->len - 1) + 1;
	uint64_t first = cluster_of(c, i->pblk), start, len;
	int rc = 0;

	if (c->bits && last->len && (last->lblk + last->len - 1) >> c->bits == i->lblk >> c->bits &&
	    cluster_of(c, last->pblk + last->len - 1) == first)
		first++;
	*last = *i;
	while (!rc && xw_blockset_next(c->f->contested, first, &start, &len) && start < end) {
		len = XW_MIN(len, end - start);
		for (uint64_t n = 0; n < len && !rc; n++)
			rc = add_claim(c, start + n, ino);
		first = start + len;
	}
	return rc;
}

static int look_at(struct contest *c, xw_ino ino)
{
	struct fsck *f = c->f;
	struct xw_walk_map_item item, last = {0};
	struct xw_inode in;
	int more = 0, rc = xw_image_inode(f->img, ino, &in, NULL);

	xw_diag_clear(&f->diag);
	if (rc)
		return rc == XW_ERR_NOMEM ? rc : 0;
	if (in.file_acl && xw_image_has_blocks(f->img, in.file_acl, 1) &&
	    xw_blockset_has(f->contested, cluster_of(c, in.file_acl)))
		rc = add_claim(c, cluster_of(c, in.file_acl), 0);
	if (rc || !xw_inode_has_map(&in))
		return rc;
	rc = xw_walk_map_begin(&c->walk, ino, &in, -1);
	while (!rc && (more = xw_walk_map_next(&c->walk, &item)) > 0) {
		if (more == 2)
			continue;
		if (item.kind == XW_WALK_RUN)
			rc = add_run(c, &item, ino, &last);
		else if (xw_blockset_has(f->contested, cluster_of(c, item.pblk)))
			rc = add_claim(c, cluster_of(c, item.pblk), ino);
	}
	return rc ? rc : more;
}

static int find_owners(struct contest *c)
{
	struct fsck *f = c->f;
	const uint32_t per_group = f->img->sb.inodes_per_group;
	uint64_t at = 0, start, len;
	int rc = 0;

	while (!rc && xw_blockset_next(f->contested, at, &start, &len)) {
		for (uint64_t n = start; n < start + len && !rc; n++)
			if (fsck_is_metadata(f, c->base + (n << c->bits), UINT64_C(1) << c->bits))
				rc = add_claim(c, n, 0);
		at = start + len;
	}
	for (uint64_t g = 0; f->groups && g < f->img->groups && !rc; g++)
		for (uint32_t i = 0; f->groups[g] && i < per_group && !rc; i++)
			if (f->groups[g][i].flags & FSCK_I_USED)
				rc = look_at(c, (xw_ino)(g * per_group + i + 1));
	return rc;
}

static int by_cluster(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->cluster != y->cluster)
		return x->cluster < y->cluster ? -1 : 1;
	return (x->ino > y->ino) - (x->ino < y->ino);
}

static int by_number(const void *a, const void *b)
{
	const xw_ino x = *(const xw_ino *)a, y = *(const xw_ino *)b;

	return (x > y) - (x < y);
}

/* Claims counted by cluster, and the inodes that have them: reserved ones last. */
static int sort_claims(struct contest *c)
{
	const struct claim *v = c->claims.v;
	xw_ino last = 0;
	size_t n = 0;

	if (c->claims.n)
		qsort(c->claims.v, c->claims.n, sizeof(*v), by_cluster);
	for (size_t i = 0; i < c->claims.n; i++) {
		if (i && v[i].cluster == v[i - 1].cluster) {
			/* an attribute block is claimed by all that share it */
			if (v[i].ino || v[i - 1].ino)
				c->owners.v[c->owners.n - 1].n++;
		} else if (xw_vec_push(&c->owners, ((struct owners){v[i].cluster, 1}))) {
			return xw_fail_nomem(&c->f->diag, "contested blocks");
		}
		if (v[i].ino > XW_INO_RESIZE && xw_vec_push(&c->inos, v[i].ino))
			return xw_fail_nomem(&c->f->diag, "contested blocks");
	}
	for (size_t i = 0; i < c->f->misplaced.n; i++)
		if (xw_vec_push(&c->inos, c->f->misplaced.v[i]))
			return xw_fail_nomem(&c->f->diag, "contested blocks");
	if (c->inos.n)
		qsort(c->inos.v, c->inos.n, sizeof(*c->inos.v), by_number);
	for (size_t i = 0; i < c->inos.n; i++)
		if (c->inos.v[i] != last)
			c->inos.v[n++] = last = c->inos.v[i];
	c->inos.n = n;
	return 0;
}

static struct owners *owners_of(const struct contest *c, uint64_t cluster)
{
	size_t low = 0, high = c->owners.n;

	while (low < high) {
		const size_t mid = (low + high) / 2;

		if (c->owners.v[mid].cluster < cluster)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < c->owners.n && c->owners.v[low].cluster == cluster)
		return &c->owners.v[low];
	return NULL;
}

static bool is_shared(const struct contest *c, uint64_t cluster)
{
	const struct owners *o = owners_of(c, cluster);

	return o && o->n > 1;
}

/* Clusters of the inode that others claim as well. */
static uint64_t shared_by(const struct contest *c, xw_ino ino)
{
	uint64_t n = 0;

	for (size_t i = 0; i < c->claims.n; i++)
		n += c->claims.v[i].ino == ino && is_shared(c, c->claims.v[i].cluster);
	return n;
}

/* The inode claims none of its clusters any more. */
static void forget_claims(struct contest *c, xw_ino ino)
{
	for (size_t i = 0; i < c->claims.n; i++)
		if (c->claims.v[i].ino == ino) {
			struct owners *o = owners_of(c, c->claims.v[i].cluster);

			if (o && o->n)
				o->n--;
			c->claims.v[i].ino = UINT32_MAX;
		}
}

/* ---- copies ---- */

struct mover {
	struct contest *c;
	struct xw_update *u;
	struct xw_update_map to;
	uint64_t lcluster; /* of the file, that was moved last */
	xw_blk fresh; /* where to; 0: none yet */
};

/* A part of an extent that lies in one cluster goes to its place in the fresh one. */
static int copy_part(struct mover *m, struct xw_map_run *part)
{
	const struct contest *c = m->c;
	const uint64_t bs = m->u->img->block_size;
	const xw_blk from = part->pblk;
	int rc;

	part->pblk = m->fresh + (part->lblk & ((UINT64_C(1) << c->bits) - 1));
	rc = xw_dev_pread(m->u->img->dev, c->copy, part->len * bs, from * bs);
	if (!rc)
		rc = xw_dev_pwrite(m->u->img->dev, c->copy, part->len * bs, part->pblk * bs);
	return rc ? rc : xw_update_map_add(m->u, &m->to, *part);
}

static int move_part(struct mover *m, struct xw_map_run part)
{
	const struct contest *c = m->c;
	const uint64_t cluster = cluster_of(c, part.pblk), size = UINT64_C(1) << c->bits;
	const struct xw_alloc_req req = {.goal = part.pblk, .len = size};
	const bool shared = is_shared(c, cluster);
	struct xw_run run;
	int rc;

	if (m->fresh && c->bits && m->lcluster == part.lblk >> c->bits)
		return copy_part(m, &part);
	m->fresh = 0;
	if (!shared && !((part.lblk ^ (part.pblk - c->base)) & (size - 1)))
		return xw_update_map_add(m->u, &m->to, part);
	rc = xw_space_alloc(m->u->space, &req, &run);
	if (rc)
		return rc;
	m->fresh = run.start;
	m->lcluster = part.lblk >> c->bits;
	if (shared)
		owners_of(c, cluster)->n--;
	return copy_part(m, &part);
}

static int move_runs(struct mover *m, const struct xw_update_map *from)
{
	const struct contest *c = m->c;
	const uint64_t size = UINT64_C(1) << c->bits;
	int rc = 0;

	for (size_t i = 0; i < from->e.n && !rc; i++) {
		const struct xw_extent *e = &from->e.v[i];

		for (uint64_t at = 0; at < e->len && !rc;) {
			const xw_blk pblk = e->pblk + at;
			const uint64_t left = size - ((pblk - c->base) & (size - 1));
			const uint64_t lleft = size - ((e->lblk + at) & (size - 1));
			const uint64_t n = XW_MIN(XW_MIN(left, lleft), e->len - at);

			rc = move_part(m, (struct xw_map_run){e->lblk + at, n, pblk, e->unwritten});
			at += n;
		}
	}
	return rc;
}

/* Blocks of the map that others claim are theirs: they are not freed with the old map. */
static void keep_shared_nodes(const struct contest *c, struct xw_update_map *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->nodes.n; i++) {
		struct owners *o = owners_of(c, cluster_of(c, m->nodes.v[i]));

		if (o && o->n > 1)
			o->n--;
		else
			m->nodes.v[n++] = m->nodes.v[i];
	}
	m->nodes.n = n;
}

/* The map as the tolerant walk sees it. i_blocks is left to the next round. */
static int read_map(struct contest *c, struct xw_update *u, xw_ino ino, const struct xw_inode *in,
		    struct xw_update_map *m)
{
	struct xw_walk_map_item item;
	int more = 0, rc = xw_walk_map_begin(&c->walk, ino, in, -1);

	while (!rc && (more = xw_walk_map_next(&c->walk, &item)) > 0) {
		if (more == 2)
			continue;
		if (item.kind == XW_WALK_RUN)
			rc = xw_update_map_add(u, m,
					       (struct xw_map_run){item.lblk, item.len, item.pblk,
								   item.unwritten});
		else if (xw_vec_push(&m->nodes, item.pblk))
			rc = XW_ERR_NOMEM;
	}
	m->other = in->file_acl ? UINT64_C(1) << c->bits : 0;
	return rc || more >= 0 ? rc : more;
}

static int move_inode(struct contest *c, struct xw_update *u, xw_ino ino)
{
	struct mover m = {.c = c, .u = u};
	struct xw_update_map from = {0};
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc = xw_update_get(u, ino, &in, &raw);

	if (rc)
		return rc;
	in.flags &= ~XW_FL_ITREE; /* stale from here on: it is built anew by who wants one */
	rc = read_map(c, u, ino, &in, &from);
	if (!rc)
		rc = move_runs(&m, &from);
	if (!rc) {
		keep_shared_nodes(c, &from);
		free(from.e.v);
		from.e.v = m.to.e.v;
		from.e.n = m.to.e.n;
		from.e.cap = m.to.e.cap;
		memset(&m.to.e, 0, sizeof(m.to.e));
		rc = xw_update_map_write(u, ino, &in, &from);
	}
	if (!rc)
		rc = xw_update_put(u, ino, &in, steal(raw));
	xw_update_map_end(&from);
	xw_update_map_end(&m.to);
	return rc;
}

/* Copies for one inode, as a step of its own. */
static int clone(struct contest *c, xw_ino ino)
{
	struct fsck *f = c->f;
	struct xw_update *u;
	int rc = fsck_update(f, &u);

	if (c->owners.n)
		memcpy(c->before, c->owners.v, c->owners.n * sizeof(*c->before));
	if (!rc)
		rc = move_inode(c, u, ino);
	if (!rc)
		return fsck_update_keep(f);
	fsck_update_drop(f);
	if (c->owners.n)
		memcpy(c->owners.v, c->before, c->owners.n * sizeof(*c->before));
	if (rc == XW_ERR_NOMEM)
		return rc;
	xw_diag_clear(&f->diag);
	if (rc != XW_ERR_NOSPC)
		return 0; /* its map is damaged otherwise: the next round may be able to */
	if (!FSCK_FOUND(f, CONTESTED_NOSPC, .ino = ino))
		return 0;
	forget_claims(c, ino);
	return fsck_inode_clear(f, ino);
}

static bool is_misplaced(const struct fsck *f, xw_ino ino)
{
	for (size_t i = 0; i < f->misplaced.n; i++)
		if (f->misplaced.v[i] == ino)
			return true;
	return false;
}

static int resolve(struct contest *c)
{
	struct fsck *f = c->f;
	const uint32_t first = f->img->sb.first_ino;
	int rc = 0;

	for (int reserved = 0; reserved < 2; reserved++)
		for (size_t i = 0; i < c->inos.n && !rc && !f->stop; i++) {
			const xw_ino ino = c->inos.v[i];
			const uint64_t n = shared_by(c, ino);

			if ((ino < first) != reserved || (!n && !is_misplaced(f, ino)) ||
			    (n && !FSCK_FOUND(f, CONTESTED, .ino = ino, .num = n)))
				continue;
			rc = clone(c, ino);
			f->again = f->changed;
		}
	return rc;
}

int fsck_check_contested(struct fsck *f)
{
	struct contest c = {.f = f, .base = f->img->sb.first_data_block};
	int rc = 0;

	if (!f->contested && !f->misplaced.n)
		return fsck_make_root(f);
	c.bits = xw_image_cluster_bits(f->img);
	c.copy = malloc((size_t)f->img->block_size << c.bits);
	xw_walk_map_init(&c.walk, f->img->dev, &f->img->sb);
	if (!c.copy)
		rc = xw_fail_nomem(&f->diag, "contested blocks");
	if (!rc && f->contested)
		rc = find_owners(&c);
	if (!rc)
		rc = sort_claims(&c);
	if (!rc) {
		c.before = calloc(c.owners.n + 1, sizeof(*c.before));
		rc = c.before ? resolve(&c) : xw_fail_nomem(&f->diag, "contested blocks");
	}
	free(c.before);
	xw_walk_map_free(&c.walk);
	xw_vec_free(&c.claims);
	xw_vec_free(&c.owners);
	xw_vec_free(&c.inos);
	free(c.copy);
	/* Names have not all been seen then: nothing may be concluded from them. */
	f->again = f->again || f->dirs_cut;
	return rc || f->stop ? rc : fsck_make_root(f);
}
