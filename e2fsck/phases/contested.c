// SPDX-License-Identifier: MIT
/*
 * Blocks claimed by more than one owner.
 *
 * The owner map tells which clusters these are; a second pass over the maps finds the owners. Group
 * metadata, the MMP block and xattr blocks keep their places. Inodes get copies of their shared
 * blocks, one after the other, until the last owner is left alone with the original; inodes of the
 * filesystem itself come last. An inode for which there is no space is cleared if the user agrees.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"

#include "repairs/contested.h"
#include "phases/inodes.h"
#include "open/open.h"

/* With RO_SHARED_BLOCKS sharing is legal, unless -E unshare_blocks is given. */
static bool may_share(const struct fsck *f)
{
	return f->img->sb.feature_ro_compat & FSCK_RO_SHARED_BLOCKS;
}

/* ---- owners ---- */

static int add_claim(struct fsck_contest *c, uint64_t first, uint64_t len, xw_ino ino)
{
	int rc = 0;

	for (uint64_t n; len && !rc; first += n, len -= n) {
		n = XW_MIN(len, UINT64_C(1) << 31);
		rc = xw_vec_push(&c->claims, ((struct claim){first, (uint32_t)n, ino}));
	}
	return rc ? xw_fail_nomem(&c->f->diag, "contested blocks") : 0;
}

/* The contested clusters of a run; *last is that of the previous run. */
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
	while (!rc && xw_blockset_next_in(c->f->owners.contested, first, end, &start, &len)) {
		rc = add_claim(c, start, len, ino);
		first = start + len;
	}
	return rc;
}

static int look_at(struct fsck_contest *c, xw_ino ino)
{
	struct fsck *f = c->f;
	struct xw_walk_map_item item, last = {0};
	struct xw_inode in;
	int more = 0, rc = xw_image_inode(f->img, ino, &in, NULL);

	if (rc == XW_ERR_NOMEM || rc == XW_ERR_IO)
		return rc;
	xw_diag_clear(&f->diag);
	if (rc)
		return 0;
	if (in.file_acl && xw_image_has_blocks(f->img, in.file_acl, 1) &&
	    xw_blockset_has(f->owners.contested, fsck_contest_cluster(c, in.file_acl)))
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
		else if (xw_blockset_has(f->owners.contested, fsck_contest_cluster(c, item.pblk)))
			rc = add_claim(c, fsck_contest_cluster(c, item.pblk), 1, ino);
	}
	return rc ? rc : more;
}

/* Group metadata and the MMP block stay where they are. */
static int find_fixed(struct fsck_contest *c, uint64_t cluster)
{
	const struct fsck *f = c->f;
	const struct xw_super *sb = &f->img->sb;
	const xw_blk blk = c->base + (cluster << c->bits);
	int rc = 0;

	if (sb->feature_incompat & XW_INCOMPAT_MMP &&
	    xw_image_has_blocks(f->img, sb->mmp_block, 1) &&
	    fsck_contest_cluster(c, sb->mmp_block) == cluster)
		rc = add_claim(c, cluster, 1, 0);
	if (!rc && fsck_is_metadata(f, blk, UINT64_C(1) << c->bits)) {
		rc = add_claim(c, cluster, 1, 0);
		if (!rc)
			rc = fsck_contest_save(c, cluster);
	}
	return rc;
}

static int find_owners(struct fsck_contest *c)
{
	struct fsck *f = c->f;
	const uint32_t per_group = f->img->sb.inodes_per_group;
	uint64_t at = 0, start, len;
	int rc = 0;

	while (!rc && xw_blockset_next(f->owners.contested, at, &start, &len)) {
		for (uint64_t n = start; n < start + len && !rc; n++)
			rc = find_fixed(c, n);
		at = start + len;
	}
	f->owners.copied = true;
	for (uint64_t g = 0; f->groups && g < f->img->groups && !rc; g++)
		for (uint32_t i = 0; f->groups[g] && i < per_group && !rc; i++)
			if (f->groups[g][i].flags & FSCK_I_USED)
				rc = look_at(c, (xw_ino)(g * per_group + i + 1));
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

static int by_number(const void *a, const void *b)
{
	const xw_ino x = *(const xw_ino *)a, y = *(const xw_ino *)b;

	return (x > y) - (x < y);
}

static int by_place(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Sort by cluster; claims of one xattr block by several inodes count once. */
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

/* Compute segments and their counts: a sweep over the first and last clusters of all claims. */
static int count_claims(struct fsck_contest *c)
{
	const struct claim *v = c->claims.v;
	const size_t n = c->claims.n;
	auto_free uint64_t *ends = malloc((n + 1) * sizeof(*ends));
	uint32_t open = 0;

	if (!ends)
		return xw_fail_nomem(&c->f->diag, "contested blocks");
	for (size_t i = 0; i < n; i++)
		ends[i] = v[i].first + v[i].len;
	qsort(ends, n, sizeof(*ends), by_place);
	for (size_t i = 0, k = 0; k < n;) {
		const uint64_t at = i < n ? XW_MIN(v[i].first, ends[k]) : ends[k];

		for (; i < n && v[i].first == at; i++)
			open++;
		for (; k < n && ends[k] == at; k++)
			open--;
		if (xw_vec_push(&c->firsts, at) || xw_vec_push(&c->counts, open))
			return xw_fail_nomem(&c->f->diag, "contested blocks");
	}
	return 0;
}

/* Inodes with claims or misplaced blocks, without duplicates. */
static int list_inodes(struct fsck_contest *c)
{
	const struct fsck *f = c->f;
	xw_ino last = 0;
	size_t n = 0;

	for (size_t i = 0; i < c->claims.n; i++)
		if (c->claims.v[i].ino >= XW_INO_ROOT && c->claims.v[i].ino != XW_INO_RESIZE &&
		    (!i || c->claims.v[i].ino != c->claims.v[i - 1].ino) &&
		    xw_vec_push(&c->inos, c->claims.v[i].ino))
			return xw_fail_nomem(&c->f->diag, "contested blocks");
	for (size_t i = 0; i < f->misplaced.n; i++)
		if (xw_vec_push(&c->inos, f->misplaced.v[i]))
			return xw_fail_nomem(&c->f->diag, "contested blocks");
	if (c->inos.n)
		qsort(c->inos.v, c->inos.n, sizeof(*c->inos.v), by_number);
	for (size_t i = 0; i < c->inos.n; i++)
		if (c->inos.v[i] != last)
			c->inos.v[n++] = last = c->inos.v[i];
	c->inos.n = n;
	return 0;
}

static int sort_all(struct fsck_contest *c)
{
	struct fsck *f = c->f;
	int rc;

	sort_claims(c);
	rc = count_claims(c);
	if (c->claims.n)
		qsort(c->claims.v, c->claims.n, sizeof(*c->claims.v), by_inode);
	if (f->misplaced.n)
		qsort(f->misplaced.v, f->misplaced.n, sizeof(*f->misplaced.v), by_number);
	return rc ? rc : list_inodes(c);
}

/* Index of the segment that contains the cluster. SIZE_MAX: it is before all segments. */
static size_t segment_of(const struct fsck_contest *c, uint64_t cluster)
{
	size_t low = 0, high = c->firsts.n;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (c->firsts.v[mid] <= cluster)
			low = mid + 1;
		else
			high = mid;
	}
	return low - 1;
}

bool fsck_contest_shared(const struct fsck_contest *c, uint64_t cluster)
{
	const size_t i = segment_of(c, cluster);

	return i != SIZE_MAX && c->counts.v[i] > 1;
}

/* Index of the first claim of the inode; claims.n if it has none. */
static size_t claims_of(const struct fsck_contest *c, xw_ino ino)
{
	size_t low = 0, high = c->claims.n;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (c->claims.v[mid].ino < ino)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Number of the inode's clusters that others claim as well. */
static uint64_t shared_by(const struct fsck_contest *c, xw_ino ino)
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

/* Drop the inode's claims of shared clusters; with `all`, also of its other clusters. */
static void drop_claims(struct fsck_contest *c, xw_ino ino, bool all)
{
	for (size_t i = claims_of(c, ino); i < c->claims.n && c->claims.v[i].ino == ino; i++) {
		const struct claim *v = &c->claims.v[i];

		for (size_t k = segment_of(c, v->first); c->firsts.v[k] < v->first + v->len; k++)
			c->counts.v[k] -= c->counts.v[k] > (all ? 0 : 1);
	}
}

/*
 * Give up -E unshare_blocks, because copies need too many clusters: while files may share blocks,
 * no file is lost for lack of space. This is reported in later rounds, too.
 */
static void refuse_unshare(struct fsck_contest *c, uint64_t needed, uint64_t free)
{
	struct fsck *f = c->f;
	const uint64_t blocks = needed << c->bits;

	f->opts.unshare_blocks = false;
	(void)FSCK_FOUND(f, UNSHARE_NOSPC, .num = blocks, .num2 = free);
	if (f->round && f->opts.mode != FSCK_NO && !f->opts.verbose)
		xw_log(&f->diag, XW_LOG_WARN,
		       "files go on sharing blocks: copies need at least %llu blocks, and %llu are "
		       "free",
		       (unsigned long long)blocks, (unsigned long long)free);
}

/* There is no space for copies. Such inodes are cleared after all others have theirs. */
static int no_space(struct fsck_contest *c, xw_ino ino, uint64_t shared)
{
	if (may_share(c->f)) {
		refuse_unshare(c, XW_MAX(shared, (c->free >> c->bits) + 1), c->free);
		return 0;
	}
	if (!FSCK_FOUND(c->f, CONTESTED_NOSPC, .ino = ino))
		return 0;
	drop_claims(c, ino, true);
	return xw_vec_push(&c->doomed, ino) ? xw_fail_nomem(&c->f->diag, "contested blocks") : 0;
}

/* Copy the shared clusters of one inode, in a step of its own. */
static int clone(struct fsck_contest *c, xw_ino ino, uint64_t shared)
{
	struct fsck *f = c->f;
	struct xw_update *u;
	int rc;

	if (shared > c->free >> c->bits)
		return no_space(c, ino, shared);
	rc = fsck_update(f, &u);
	if (!rc) {
		c->free = xw_space_free_blocks(u->space);
		rc = shared > c->free >> c->bits ? XW_ERR_NOSPC : fsck_contest_move(c, u, ino);
	}
	if (!rc)
		rc = fsck_update_step(f);
	if (!rc) {
		drop_claims(c, ino, false);
		xw_image_forget(f->img);
		return 0;
	}
	fsck_update_drop(f);
	if (rc == XW_ERR_NOMEM || rc == XW_ERR_IO)
		return rc;
	xw_diag_clear(&f->diag);
	/* a map with other damage: the next round may succeed */
	return rc == XW_ERR_NOSPC ? no_space(c, ino, shared) : 0;
}

/* Is there space for copies of everything shared? Also returns the blocks of both. */
static bool has_space(const struct fsck_contest *c, uint64_t *needed, uint64_t *free)
{
	const struct fsck *f = c->f;
	const uint64_t all = fsck_contest_cluster(c, f->img->sb.blocks_count - 1) + 1;

	*free = all - xw_blockset_count(f->owners.claims, 0, all);
	*needed = 0;
	for (size_t i = 0; i + 1 < c->firsts.n; i++)
		if (c->counts.v[i] > 1)
			*needed += (c->counts.v[i] - 1) * (c->firsts.v[i + 1] - c->firsts.v[i]);
	return *needed <= *free;
}

/* Checked before the first file is changed. */
static bool may_unshare(struct fsck_contest *c)
{
	uint64_t needed, free;

	if (has_space(c, &needed, &free))
		return true;
	refuse_unshare(c, needed, free << c->bits);
	return false;
}

/* Rather than a file the journal goes, which can be made anew. */
static int yield_journal(struct fsck_contest *c)
{
	struct fsck *f = c->f;
	const struct xw_super *sb = &f->img->sb;
	const xw_ino ino = sb->feature_compat & XW_COMPAT_HAS_JOURNAL ? sb->journal_inum : 0;
	uint64_t needed, free;

	if (!ino || !shared_by(c, ino) || has_space(c, &needed, &free) ||
	    !FSCK_FOUND(f, JOURNAL_YIELDS, .ino = ino))
		return 0;
	drop_claims(c, ino, true);
	c->agreed = true;
	return fsck_drop_journal(f);
}

static bool is_misplaced(const struct fsck *f, xw_ino ino)
{
	return f->misplaced.n &&
	       bsearch(&ino, f->misplaced.v, f->misplaced.n, sizeof(*f->misplaced.v), by_number);
}

/* Inodes of the filesystem itself. Checksums in the orphan file include block numbers. */
static bool is_reserved(const struct xw_super *sb, xw_ino ino)
{
	return ino < sb->first_ino ||
	       (sb->feature_compat & XW_COMPAT_ORPHAN_FILE && ino == sb->orphan_file_inum);
}

/*
 * The order in which inodes are moved: directories that map blocks of other inodes come first,
 * because they drop these; reserved inodes come last, so that they keep their blocks.
 */
enum rank { WRONG, USUAL, RESERVED, RANKS };

static int rank_inodes(struct fsck_contest *c)
{
	struct fsck *f = c->f;
	int rc = 0;

	for (size_t i = 0; i < c->inos.n && !rc; i++) {
		const xw_ino ino = c->inos.v[i];
		const struct fsck_inode *facts = fsck_inode(f, ino);
		uint8_t rank = is_reserved(&f->img->sb, ino) ? RESERVED : USUAL;
		bool foreign = false;

		if (facts && facts->ftype == XW_FT_DIR)
			rc = fsck_contest_foreign(c, ino, &foreign);
		if (foreign)
			rank = WRONG;
		if (xw_vec_push(&c->ranks, rank))
			rc = xw_fail_nomem(&f->diag, "contested blocks");
	}
	return rc;
}

static int resolve(struct fsck_contest *c)
{
	struct fsck *f = c->f;
	const bool sharing = may_share(f);
	int rc = 0;

	if (sharing && !may_unshare(c))
		return 0;
	rc = sharing ? 0 : yield_journal(c);
	if (!rc)
		rc = rank_inodes(c);
	for (int rank = 0; rank < RANKS; rank++)
		for (size_t i = 0; i < c->inos.n && !rc && !f->stop; i++) {
			const xw_ino ino = c->inos.v[i];
			uint64_t n;

			if (c->ranks.v[i] != rank || (sharing && !f->opts.unshare_blocks))
				continue;
			n = shared_by(c, ino);
			if ((!n && !is_misplaced(f, ino)) ||
			    (n && !FSCK_FOUND(f, CONTESTED, .ino = ino, .num = n)))
				continue;
			c->agreed = true;
			rc = clone(c, ino, n);
		}
	if (!rc && f->steps.u)
		rc = fsck_update_keep(f);
	fsck_update_drop(f);
	for (size_t i = 0; i < c->doomed.n && !rc; i++)
		rc = fsck_inode_clear(f, c->doomed.v[i]);
	f->again |= c->agreed && f->changed;
	return rc;
}

int fsck_check_contested(struct fsck *f)
{
	struct fsck_contest c = {.f = f, .base = f->img->sb.first_data_block, .free = UINT64_MAX};
	int rc = fsck_settle(f);

	if (rc || f->stop)
		return rc;
	if (may_share(f) && !f->opts.unshare_blocks)
		return fsck_make_root(f);
	if (!f->owners.contested && !f->misplaced.n)
		return fsck_make_root(f);
	c.bits = xw_image_cluster_bits(f->img);
	c.copy = malloc((size_t)f->img->block_size << c.bits);
	xw_walk_map_init(&c.walk, f->img->dev, &f->img->sb);
	if (!c.copy)
		rc = xw_fail_nomem(&f->diag, "contested blocks");
	if (!rc && f->owners.contested)
		rc = find_owners(&c);
	if (!rc)
		rc = sort_all(&c);
	if (!rc)
		rc = resolve(&c);
	f->owners.copied = false;
	xw_walk_map_free(&c.walk);
	xw_vec_free(&c.claims);
	xw_vec_free(&c.firsts);
	xw_vec_free(&c.counts);
	xw_vec_free(&c.inos);
	xw_vec_free(&c.ranks);
	xw_vec_free(&c.doomed);
	fsck_contest_saved_free(&c);
	free(c.copy);
	/* Not all names were seen in that case: nothing may be concluded from missing ones. */
	f->again = f->again || f->dirs_cut;
	return rc || f->stop ? rc : fsck_make_root(f);
}
