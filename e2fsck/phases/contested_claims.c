// SPDX-License-Identifier: MIT
/* Finds the owners of the contested clusters; see contested.h. */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/search.h"
#include "phases/contested.h"

static int add_claim(struct fsck_contest *c, uint64_t first, uint64_t len, xw_ino ino)
{
	int rc = 0;

	for (uint64_t n; len && !rc; first += n, len -= n) {
		n = XW_MIN(len, UINT64_C(1) << 31);
		rc = xw_vec_push(&c->claims, ((struct claim){first, (uint32_t)n, ino, 0}));
	}
	return rc ? xw_fail_nomem(&c->f->ses.diag, "contested blocks") : 0;
}

/*
 * Add the contested clusters of a run. A cluster shared with *last, the previous run of the inode,
 * is added once.
 */
static int add_run(struct fsck_contest *c, const struct xw_walk_map_item *i, xw_ino ino,
		   struct xw_walk_map_item *last)
{
	const uint64_t end = fsck_contest_cluster(c, i->pblk + i->len - 1) + 1;
	uint64_t first = fsck_contest_cluster(c, i->pblk), start, len;
	int rc = 0;

	if (c->bits && last->len && (last->lblk + last->len - 1) >> c->bits == i->lblk >> c->bits &&
	    fsck_contest_cluster(c, last->pblk + last->len - 1) == first)
		first++;
	*last = *i;
	while (!rc && xw_blockset_next_in(c->f->facts.owners.contested, first, end, &start, &len)) {
		rc = add_claim(c, start, len, ino);
		first = start + len;
	}
	return rc;
}

static int examine(struct fsck_contest *c, xw_ino ino)
{
	struct fsck *f = c->f;
	struct xw_walk_map_item item, last = {0};
	struct xw_inode in;
	int more = 0, rc = xw_image_inode(f->ses.img, ino, &in, NULL);

	if (rc == XW_ERR_NOMEM || rc == XW_ERR_IO)
		return rc;
	xw_diag_clear(&f->ses.diag);
	if (rc)
		return 0;
	if (in.file_acl && xw_image_has_blocks(f->ses.img, in.file_acl, 1) &&
	    xw_blockset_has(f->facts.owners.contested, fsck_contest_cluster(c, in.file_acl)))
		rc = add_claim(c, fsck_contest_cluster(c, in.file_acl), 1, 0);
	if (rc || !xw_inode_has_map(&in))
		return rc;
	rc = xw_walk_map_begin(&c->walk, ino, &in, -1);
	while (!rc && (more = xw_walk_map_next(&c->walk, &item)) > 0) {
		if (more == 2)
			continue;
		if (item.kind == XW_WALK_RUN)
			rc = add_run(c, &item, ino, &last);
		else if (fsck_node_is_foreign(f, &in, item.pblk))
			xw_walk_map_skip(&c->walk);
		else if (xw_blockset_has(f->facts.owners.contested,
					 fsck_contest_cluster(c, item.pblk)))
			rc = add_claim(c, fsck_contest_cluster(c, item.pblk), 1, ino);
	}
	return rc ? rc : more;
}

/* Add the claims of group metadata and of the MMP block, which stay where they are. */
static int find_fixed(struct fsck_contest *c, uint64_t cluster)
{
	const struct fsck *f = c->f;
	const struct xw_super *sb = &f->ses.img->sb;
	const xw_blk blk = c->base + (cluster << c->bits);
	int rc = 0;

	if (sb->feature_incompat & XW_INCOMPAT_MMP &&
	    xw_image_has_blocks(f->ses.img, sb->mmp_block, 1) &&
	    fsck_contest_cluster(c, sb->mmp_block) == cluster)
		rc = add_claim(c, cluster, 1, 0);
	if (!rc && fsck_is_metadata(f, blk, UINT64_C(1) << c->bits)) {
		rc = add_claim(c, cluster, 1, 0);
		if (!rc)
			rc = fsck_contest_save(c, cluster);
	}
	return rc;
}

int fsck_contest_find(struct fsck_contest *c)
{
	struct fsck *f = c->f;
	const uint32_t per_group = f->ses.img->sb.inodes_per_group;
	uint64_t at = 0, start, len;
	int rc = 0;

	while (!rc && xw_blockset_next(f->facts.owners.contested, at, &start, &len)) {
		for (uint64_t n = start; n < start + len && !rc; n++)
			rc = find_fixed(c, n);
		at = start + len;
	}
	f->facts.owners.copied = true;
	for (uint64_t g = 0; f->facts.groups && g < f->ses.img->groups && !rc; g++)
		for (uint32_t i = 0; f->facts.groups[g] && i < per_group && !rc; i++)
			if (f->facts.groups[g][i].flags & FSCK_I_USED)
				rc = examine(c, (xw_ino)(g * per_group + i + 1));
	return rc;
}

static int by_cluster(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->ino > y->ino) - (x->ino < y->ino);
}

static int by_inode(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	return x->ino != y->ino ? (x->ino < y->ino ? -1 : 1) : by_cluster(a, b);
}

/* Sort by cluster. If several inodes share an xattr block, it is one claim. */
static void sort_claims(struct fsck_contest *c)
{
	struct claim *v = c->claims.v;
	size_t n = 0;

	if (c->claims.n)
		qsort(v, c->claims.n, sizeof(*v), by_cluster);
	for (size_t i = 0; i < c->claims.n; i++)
		if (!n || v[i].ino || v[n - 1].ino || v[i].first != v[n - 1].first)
			v[n++] = v[i];
	c->claims.n = n;
}

/* Note for each claim another inode, of the claims sorted by cluster. */
static void note_others(struct fsck_contest *c)
{
	struct claim *far = NULL; /* of those before, the one that ends last */

	for (size_t i = 0; i < c->claims.n; i++) {
		struct claim *v = &c->claims.v[i];

		if (far && v->first < far->first + far->len && v->ino != far->ino) {
			v->other = far->ino;
			far->other = far->other ? far->other : v->ino;
		}
		if (!far || v->first + v->len > far->first + far->len)
			far = v;
	}
}

/* Compute the segments and their counts by a sweep over the ends of all claims. */
static int count_claims(struct fsck_contest *c)
{
	const struct claim *v = c->claims.v;
	const size_t n = c->claims.n;
	auto_free uint64_t *ends = malloc((n + 1) * sizeof(*ends));
	uint32_t open = 0;

	if (!ends)
		return xw_fail_nomem(&c->f->ses.diag, "contested blocks");
	for (size_t i = 0; i < n; i++)
		ends[i] = v[i].first + v[i].len;
	qsort(ends, n, sizeof(*ends), xw_by_u64);
	for (size_t i = 0, k = 0; k < n;) {
		const uint64_t at = i < n ? XW_MIN(v[i].first, ends[k]) : ends[k];

		for (; i < n && v[i].first == at; i++)
			open++;
		for (; k < n && ends[k] == at; k++)
			open--;
		if (xw_vec_push(&c->firsts, at) || xw_vec_push(&c->counts, open))
			return xw_fail_nomem(&c->f->ses.diag, "contested blocks");
	}
	return 0;
}

/* List the inodes with claims or misplaced blocks, without duplicates. */
static int list_inodes(struct fsck_contest *c)
{
	const struct fsck *f = c->f;
	xw_ino last = 0;
	size_t n = 0;

	for (size_t i = 0; i < c->claims.n; i++)
		if (c->claims.v[i].ino >= XW_INO_ROOT && c->claims.v[i].ino != XW_INO_RESIZE &&
		    (!i || c->claims.v[i].ino != c->claims.v[i - 1].ino) &&
		    xw_vec_push(&c->inos, c->claims.v[i].ino))
			return xw_fail_nomem(&c->f->ses.diag, "contested blocks");
	for (size_t i = 0; i < f->facts.misplaced.n; i++)
		if (xw_vec_push(&c->inos, f->facts.misplaced.v[i]))
			return xw_fail_nomem(&c->f->ses.diag, "contested blocks");
	if (c->inos.n)
		qsort(c->inos.v, c->inos.n, sizeof(*c->inos.v), xw_by_u32);
	for (size_t i = 0; i < c->inos.n; i++)
		if (c->inos.v[i] != last)
			c->inos.v[n++] = last = c->inos.v[i];
	c->inos.n = n;
	return 0;
}

int fsck_contest_sort(struct fsck_contest *c)
{
	struct fsck *f = c->f;
	int rc;

	sort_claims(c);
	note_others(c);
	rc = count_claims(c);
	if (c->claims.n)
		qsort(c->claims.v, c->claims.n, sizeof(*c->claims.v), by_inode);
	if (f->facts.misplaced.n)
		qsort(f->facts.misplaced.v, f->facts.misplaced.n, sizeof(*f->facts.misplaced.v),
		      xw_by_u32);
	return rc ? rc : list_inodes(c);
}

/* Index of the segment that contains the cluster. SIZE_MAX: it is before all segments. */
static size_t segment_of(const struct fsck_contest *c, uint64_t cluster)
{
	return XW_LOWER_BOUND(i, c->firsts.n, c->firsts.v[i] > cluster) - 1;
}

bool fsck_contest_shared(const struct fsck_contest *c, uint64_t cluster)
{
	const size_t i = segment_of(c, cluster);

	return i != SIZE_MAX && c->counts.v[i] > 1;
}

/* Index of the first claim of the inode; claims.n if it has none. */
static size_t claims_of(const struct fsck_contest *c, xw_ino ino)
{
	return XW_LOWER_BOUND(i, c->claims.n, c->claims.v[i].ino >= ino);
}

uint64_t fsck_contest_shared_by(const struct fsck_contest *c, xw_ino ino)
{
	uint64_t n = 0;

	for (size_t i = claims_of(c, ino); i < c->claims.n && c->claims.v[i].ino == ino; i++) {
		const struct claim *v = &c->claims.v[i];

		for (size_t k = segment_of(c, v->first); c->firsts.v[k] < v->first + v->len; k++)
			if (c->counts.v[k] > 1)
				n += c->firsts.v[k + 1] - c->firsts.v[k];
	}
	return n;
}

xw_ino fsck_contest_other(const struct fsck_contest *c, xw_ino ino)
{
	for (size_t i = claims_of(c, ino); i < c->claims.n && c->claims.v[i].ino == ino; i++)
		if (c->claims.v[i].other)
			return c->claims.v[i].other;
	return 0;
}

void fsck_contest_drop(struct fsck_contest *c, xw_ino ino, bool all)
{
	for (size_t i = claims_of(c, ino); i < c->claims.n && c->claims.v[i].ino == ino; i++) {
		const struct claim *v = &c->claims.v[i];

		for (size_t k = segment_of(c, v->first); c->firsts.v[k] < v->first + v->len; k++)
			c->counts.v[k] -= c->counts.v[k] > (all ? 0 : 1);
	}
}

bool fsck_contest_is_misplaced(const struct fsck *f, xw_ino ino)
{
	return f->facts.misplaced.n && bsearch(&ino, f->facts.misplaced.v, f->facts.misplaced.n,
					       sizeof(*f->facts.misplaced.v), xw_by_u32);
}
