// SPDX-License-Identifier: MIT
/*
 * The owner map. Most blocks are contents of files, so these have no set of their own: a block that
 * is claimed but is in no other owner's set is file contents.
 */
#include "config.h"

#include "facts/facts.h"

void fsck_owners_free(struct fsck_owners *o)
{
	xw_blockset_free(o->claims);
	xw_blockset_free(o->contested);
	for (int i = 0; i < FSCK_OWNERS; i++)
		xw_blockset_free(o->of[i]);
	xw_sysmap_free(o->sysmap);
	fsck_kept_free(o);
	*o = (struct fsck_owners){0};
}

const char *fsck_owner_name(enum fsck_owner owner)
{
	static const char *const names[] = {
		[FSCK_O_GROUP] = "group metadata",    [FSCK_O_RESIZE] = "the resize inode",
		[FSCK_O_MMP] = "the MMP block",       [FSCK_O_MAP] = "a map block",
		[FSCK_O_DIR] = "a directory",         [FSCK_O_ITREE] = "an itree",
		[FSCK_O_XATTR] = "an xattr block",    [FSCK_O_SYSTEM] = "a system file",
		[FSCK_O_BAD] = "the bad-block inode", [FSCK_O_DATA] = "a file",
	};

	return names[owner];
}

/* Clusters [first, end) of a run of blocks. */
struct span {
	uint64_t first, end;
};

static struct span span_of(const struct fsck *f, xw_blk blk, uint64_t len)
{
	const xw_blk base = f->ses.img->sb.first_data_block;
	const unsigned bits = xw_image_cluster_bits(f->ses.img);

	return (struct span){(blk - base) >> bits, ((blk + len - 1 - base) >> bits) + 1};
}

uint64_t fsck_cluster(const struct fsck *f, xw_blk blk)
{
	return span_of(f, blk, 1).first;
}

uint64_t fsck_clusters(const struct fsck *f)
{
	return span_of(f, f->ses.img->sb.blocks_count - 1, 1).end;
}

static int no_memory(struct fsck *f)
{
	return xw_fail_nomem(&f->ses.diag, "the blocks in use");
}

static bool has_set(enum fsck_owner owner)
{
	return owner != FSCK_O_GROUP && owner != FSCK_O_DATA;
}

static int contest(struct fsck *f, struct span s)
{
	struct fsck_owners *o = &f->facts.owners;
	uint64_t start, n;
	int rc = 0;

	for (uint64_t at = s.first; !rc && xw_blockset_next_in(o->claims, at, s.end, &start, &n);
	     at = start + n)
		rc = fsck_set_add(&o->contested, fsck_clusters(f), start, n, NULL);
	return rc;
}

int fsck_claim(struct fsck *f, enum fsck_owner owner, xw_blk blk, uint64_t len, uint64_t *again)
{
	struct fsck_owners *o = &f->facts.owners;
	const struct span s = span_of(f, blk, len);
	uint64_t had = 0;
	int rc = 0;

	if (o->claims && xw_blockset_count(o->claims, s.first, s.end - s.first))
		rc = contest(f, s);
	if (!rc)
		rc = fsck_set_add(&o->claims, fsck_clusters(f), s.first, s.end - s.first, &had);
	if (again)
		*again = had;
	return rc ? no_memory(f) : fsck_reassign(f, owner, blk, len);
}

int fsck_reassign(struct fsck *f, enum fsck_owner owner, xw_blk blk, uint64_t len)
{
	struct fsck_owners *o = &f->facts.owners;
	const struct span s = span_of(f, blk, len);

	if (!has_set(owner))
		return 0;
	if (fsck_set_add(&o->of[owner], fsck_clusters(f), s.first, s.end - s.first, NULL))
		return no_memory(f);
	return 0;
}

void fsck_unclaim(struct fsck *f, enum fsck_owner owner, xw_blk blk, uint64_t len)
{
	struct fsck_owners *o = &f->facts.owners;
	const struct span s = span_of(f, blk, len);

	for (uint64_t n = s.first; o->claims && n < s.end; n++) {
		if (o->contested && xw_blockset_has(o->contested, n))
			continue;
		xw_blockset_remove(o->claims, n, 1);
		if (has_set(owner) && o->of[owner])
			xw_blockset_remove(o->of[owner], n, 1);
	}
}

int fsck_claim_metadata(struct fsck *f)
{
	struct fsck_owners *o = &f->facts.owners;
	const xw_blk end = f->ses.img->sb.blocks_count;
	const int rc = xw_sysmap_new(f->ses.img, &o->sysmap);

	if (rc)
		return rc;
	if (!o->claims && xw_blockset_new(fsck_clusters(f), &o->claims))
		return no_memory(f);
	for (xw_blk blk = f->ses.img->sb.first_data_block; blk < end;) {
		bool is_meta;
		const uint64_t n = xw_sysmap_at(o->sysmap, blk, end - blk, &is_meta);
		const struct span s = span_of(f, blk, n);

		if (is_meta && xw_blockset_add(o->claims, s.first, s.end - s.first, NULL))
			return no_memory(f);
		blk += n;
	}
	return 0;
}

int fsck_places_changed(struct fsck *f)
{
	struct xw_sysmap *fresh;
	int rc = xw_sysmap_new(f->ses.img, &fresh);

	if (rc)
		return rc;
	xw_sysmap_free(f->facts.owners.sysmap);
	f->facts.owners.sysmap = fresh;
	return 0;
}

/* ---- questions ---- */

static bool has(const struct fsck *f, const struct xw_blockset *set, xw_blk blk)
{
	const struct xw_super *sb = &f->ses.img->sb;

	return set && blk >= sb->first_data_block && blk < sb->blocks_count &&
	       xw_blockset_has(set, span_of(f, blk, 1).first);
}

bool fsck_is_claimed(const struct fsck *f, xw_blk blk)
{
	return has(f, f->facts.owners.claims, blk);
}

bool fsck_is_contested(const struct fsck *f, xw_blk blk)
{
	return has(f, f->facts.owners.contested, blk);
}

bool fsck_is_metadata(const struct fsck *f, xw_blk blk, uint64_t len)
{
	const xw_blk end = blk + len;
	bool is_meta = false;

	while (f->facts.owners.sysmap && blk < end && !is_meta)
		blk += xw_sysmap_at(f->facts.owners.sysmap, blk, end - blk, &is_meta);
	return is_meta;
}

static bool is_data(const struct fsck *f, xw_blk blk)
{
	if (!fsck_is_claimed(f, blk) || fsck_is_metadata(f, blk, 1))
		return false;
	for (int i = 0; i < FSCK_OWNERS; i++)
		if (has(f, f->facts.owners.of[i], blk))
			return false;
	return true;
}

static bool is_of(const struct fsck *f, enum fsck_owner owner, xw_blk blk)
{
	if (owner == FSCK_O_GROUP)
		return fsck_is_metadata(f, blk, 1);
	return owner == FSCK_O_DATA ? is_data(f, blk) : has(f, f->facts.owners.of[owner], blk);
}

/*
 * Is the owner not allowed to write the block, because it is contested? Group metadata never moves,
 * not even off a listed bad block; writing it is safe once contested.c has copied the other owner's
 * contents.
 */
static bool is_shared(const struct fsck *f, enum fsck_owner owner, xw_blk blk)
{
	if (!fsck_is_contested(f, blk))
		return false;
	return owner != FSCK_O_GROUP ||
	       !(f->facts.owners.copied || has(f, f->facts.owners.of[FSCK_O_BAD], blk));
}

bool fsck_owns(const struct fsck *f, enum fsck_owner owner, xw_blk blk, uint64_t len)
{
	if (!xw_image_has_blocks(f->ses.img, blk, len))
		return false;
	for (uint64_t i = 0; i < len; i++)
		if (!is_of(f, owner, blk + i) || is_shared(f, owner, blk + i))
			return false;
	return true;
}

bool fsck_may_change(const struct fsck *f, xw_blk blk)
{
	if (!fsck_is_claimed(f, blk))
		return true;
	if (fsck_is_metadata(f, blk, 1))
		return !is_shared(f, FSCK_O_GROUP, blk);
	return !is_data(f, blk) && (!fsck_is_contested(f, blk) || f->facts.owners.copied);
}

bool fsck_metadata_is_shared(const struct fsck *f)
{
	const unsigned bits = xw_image_cluster_bits(f->ses.img);
	const uint64_t end = fsck_clusters(f);
	uint64_t start, n;

	for (uint64_t at = 0; f->facts.owners.contested && at < end; at = start + n) {
		if (!xw_blockset_next_in(f->facts.owners.contested, at, end, &start, &n))
			break;
		for (uint64_t i = 0; i < n << bits; i++) {
			const xw_blk blk = f->ses.img->sb.first_data_block + (start << bits) + i;

			if (fsck_is_metadata(f, blk, 1) && is_shared(f, FSCK_O_GROUP, blk))
				return true;
		}
	}
	return false;
}
