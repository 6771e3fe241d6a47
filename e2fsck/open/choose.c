// SPDX-License-Identifier: MIT
/*
 * Chooses the superblock to continue with.
 *
 * The primary is compared with its backups: a field that never changes in the life of a filesystem
 * (fields.c) and that differs was damaged somewhere, or changed by a tool in the primary alone. A
 * value supported by the contents of the device (evidence.c) is kept; if these are inconclusive, it
 * is the primary's. Only if the checksum of the primary is wrong is it that of a backup.
 */
#include "config.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/endian.h"
#include "disk/jsb.h"
#include "open/fields.h"
#include "open/open.h"
#include "read/copies.h"

/*
 * What is found of the primary, and what is believed then. "The disk" is all that evidence.c reads
 * by the geometry of a superblock: descriptors, bitmaps, the root directory, their checksums.
 */
enum situation {
	SOUND, /* a right checksum, or none, and the disk agrees */
	CONTRADICTED, /* a right checksum, or none, and the disk does not agree */
	SUM_WRONG, /* a wrong checksum, or that of the feature which was lost */
	IMPOSSIBLE, /* it can be read, but no filesystem can be opened with it */
	LOST, /* no superblock at all, or that of an unknown filesystem */
};

static const struct verdict {
	/* The superblock as a whole. */
	bool primary; /* the primary, however much it is repaired */
	bool copy; /* a copy, if the disk agrees with it */
	/* Single fields of it, from copies and as made up. */
	bool disk; /* one that the disk contradicts less */
	bool vote; /* the copy's, where nothing on the disk says which */
} verdicts[] = {
	[SOUND] = {.primary = true}, /* copies are brought up to date by it */
	[CONTRADICTED] = {.primary = true, .disk = true},
	[SUM_WRONG] = {.primary = true, .disk = true, .vote = true},
	[IMPOSSIBLE] = {.primary = true, .copy = true, .disk = true},
	[LOST] = {.copy = true, .disk = true},
};

enum { MENDED_MAX = 5 }; /* limit of changed fields in a superblock that nothing proves */

/* ---- the primary and its backups ---- */

/* Does the stored checksum of the damaged primary match with this value of the copy? */
static bool sum_fits(const struct xw_super *sb)
{
	uint8_t raw[XW_SUPER_SIZE];

	if (!xw_super_has_csum(sb))
		return false;
	xw_super_encode(sb, raw);
	return xw_super_stored_csum(raw) == sb->checksum;
}

/* Copy one field, or all fields, from the copy if the stored checksum matches then. */
static bool mend_exactly(struct xw_super *sb, const struct fsck_copy *c)
{
	struct xw_super all = *sb, one;

	for (size_t i = 0; i < FSCK_FIELDS; i++) {
		if (fsck_field_same(sb, &c->sb, &fsck_fields[i]))
			continue;
		fsck_field_take(&all, &c->sb, &fsck_fields[i]);
		one = *sb;
		fsck_field_take(&one, &c->sb, &fsck_fields[i]);
		if (sum_fits(&one) || sum_fits(&all)) {
			*sb = sum_fits(&one) ? one : all;
			return true;
		}
	}
	return false;
}

/*
 * May the copy decide a tie with a damaged primary? Not for a smaller number of blocks, since the
 * filesystem may have grown after the copy was written.
 */
static bool may_decide(const struct xw_super *sb, const struct fsck_copy *c,
		       const struct fsck_field *d)
{
	return d->off != offsetof(struct xw_super, blocks_count) ||
	       c->sb.blocks_count > sb->blocks_count;
}

/*
 * The location of a copy proves its number of blocks per group, which no tool ever changes: with
 * the number in sb the copy would be at another location.
 */
static void mend_by_place(struct xw_dev *dev, struct xw_super *sb, const struct fsck_copy *c)
{
	struct xw_super moved = c->sb, one = *sb;

	moved.blocks_per_group = sb->blocks_per_group;
	if (xw_super_byte_offset(&moved) == c->at)
		return;
	one.blocks_per_group = c->sb.blocks_per_group;
	one.clusters_per_group = c->sb.clusters_per_group;
	one.log_cluster_size = c->sb.log_cluster_size;
	if (fsck_super_penalty(dev, &one) <= fsck_super_penalty(dev, sb))
		*sb = one;
}

/*
 * Replace fields of `sb` by those of copy c where these are better. damaged: the fields of sb
 * itself have less weight.
 */
static void mend_by_copy(struct xw_dev *dev, struct xw_super *sb, const struct fsck_copy *c,
			 bool damaged)
{
	struct xw_super whole = *sb, one;
	int bad, now;

	if (damaged && mend_exactly(sb, c))
		return;
	mend_by_place(dev, sb, c);
	bad = fsck_super_penalty(dev, sb);
	for (size_t i = 0; i < FSCK_FIELDS; i++) {
		const struct fsck_field *d = &fsck_fields[i];
		const bool decides = damaged && may_decide(sb, c, d);

		if (fsck_field_same(sb, &c->sb, d) ||
		    (!damaged && fsck_field_may_differ(sb, &c->sb, d)))
			continue;
		fsck_field_take(&whole, &c->sb, d);
		one = *sb;
		fsck_field_take(&one, &c->sb, d);
		now = fsck_super_penalty(dev, &one);
		if (now < bad || (now == bad && decides)) {
			*sb = one;
			bad = now;
		}
	}
	if (fsck_super_penalty(dev, &whole) < bad)
		*sb = whole;
}

/* ---- the choice ---- */

/* Report all differences; false: the primary must not be changed. */
static bool report_fields(struct fsck *f, const struct xw_super *was, struct xw_super *is)
{
	bool all = true;

	for (size_t i = 0; i < FSCK_FIELDS; i++) {
		const struct fsck_field *d = &fsck_fields[i];

		if (fsck_field_same(was, is, d))
			continue;
		if (!(d->setting ? FSCK_FOUND(f, SUPER_SETTING, .name = d->name)
				 : FSCK_FOUND(f, SUPER_FIELD, .name = d->name,
					      .num = fsck_field_value(was, d),
					      .num2 = fsck_field_value(is, d)))) {
			all = false;
			fsck_field_take(is, was, d);
		}
	}
	return all;
}

static int put_super(struct fsck *f, struct xw_super *sb)
{
	uint8_t raw[XW_SUPER_SIZE];

	sb->block_group_nr = 0;
	xw_super_encode(sb, raw);
	f->round.changed = f->ses.renew_backups = true;
	return xw_dev_pwrite(f->ses.dev, raw, sizeof(raw), XW_SUPER_OFFSET);
}

/* The copy that fits the device best. */
static const struct fsck_copy *best_copy(struct xw_dev *dev, const struct fsck_copies *all)
{
	const struct fsck_copy *best = NULL;
	int least = 0;

	for (size_t i = 0; i < all->n; i++) {
		const int bad = fsck_super_penalty(dev, &all->v[i].sb);

		if (!best || bad < least) {
			best = &all->v[i];
			least = bad;
		}
	}
	return best;
}

/*
 * Drop copies of other filesystems, left by an earlier mke2fs, or in image files: with another
 * group's number.
 */
static void drop_foreign(struct fsck_copies *all, const struct xw_super *sb)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct xw_super *c = &all->v[i].sb;

		if (all->v[i].numbered && (!memcmp(c->uuid, sb->uuid, sizeof(c->uuid)) ||
					   (sb->mkfs_time && c->mkfs_time == sb->mkfs_time)))
			all->v[n++] = all->v[i];
	}
	all->n = n;
}

static bool is_known(const struct fsck_copy *c, const struct xw_super *sb)
{
	return !memcmp(c->sb.uuid, sb->uuid, sizeof(sb->uuid)) && c->sb.mkfs_time == sb->mkfs_time;
}

/* A whole superblock from copy c: of a primary that is known, all but the fields stays. */
static struct xw_super from_copy(const struct fsck_copy *c, const struct xw_super *was, bool known)
{
	struct xw_super sb = known ? *was : c->sb;

	for (size_t i = 0; known && i < FSCK_FIELDS; i++)
		fsck_field_take(&sb, &c->sb, &fsck_fields[i]);
	return fsck_super_usable(&sb) ? sb : c->sb;
}

/*
 * known: sb has the primary's word for a journal and its recovery. A copy's is that of the day when
 * it was written, so the log has to prove that it is not older than the filesystem.
 */
static int use_copy(struct fsck *f, const struct fsck_copy *c, struct xw_super sb, bool known)
{
	f->start.super_lost = f->start.from_backup = true;
	f->start.log_unknown = !known;
	f->start.backup_group = c->sb.block_group_nr;
	sb.state &= (uint16_t)~XW_STATE_VALID;
	if (!FSCK_FOUND(f, SUPER_LOST, .blk = c->at / xw_super_block_size(&c->sb)))
		fsck_report_only(f); /* continue with it in memory */
	return put_super(f, &sb);
}

/* A backup that differs from the final primary is stale: other tools would take that for damage. */
static bool has_stale(const struct fsck_copies *all, const struct xw_super *sb)
{
	for (size_t i = 0; i < all->n; i++)
		if (!fsck_fields_same(&all->v[i].sb, sb))
			return true;
	return false;
}

/*
 * Do features differ from those of a backup, apart from bits that Linux sets in the primary alone?
 * Other bits that are set only there count as differences, as in e2fsck(8), until a check has
 * renewed the backups.
 */
static bool features_differ(const struct fsck_copies *all, const struct xw_super *sb)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct xw_super *c = &all->v[i].sb;

		if (c->feature_compat != sb->feature_compat ||
		    (c->feature_incompat ^ sb->feature_incompat) & ~FSCK_INCOMPAT_DYNAMIC ||
		    (c->feature_ro_compat ^ sb->feature_ro_compat) & ~FSCK_RO_ALWAYS)
			return true;
	}
	return false;
}

static bool has_unknown(const struct xw_super *sb)
{
	const struct fsck_unknown u = fsck_unknown_features(sb);

	return u.compat || u.incompat || u.ro;
}

static int refuse_unknown(struct fsck *f, const struct xw_super *sb)
{
	const struct fsck_unknown u = fsck_unknown_features(sb);

	if (!has_unknown(sb))
		return 0;
	return xw_fail(
		&f->ses.diag, XW_ERR_UNSUPPORTED,
		"%s: unknown features (compat 0x%x, incompat 0x%x, ro_compat 0x%x): get a newer "
		"version of xw-fsck",
		f->opts.image, u.compat, u.incompat, u.ro);
}

static bool is_too_long(const struct xw_dev *dev, const struct xw_super *sb)
{
	return sb->blocks_count > dev->size / xw_super_block_size(sb);
}

/* Does the checksum show that more than the magic is damaged? */
static bool is_damaged(const uint8_t *raw)
{
	uint8_t copy[XW_SUPER_SIZE];

	memcpy(copy, raw, sizeof(copy));
	poke16(copy + 0x38, XW_SUPER_MAGIC);
	return xw_super_verify(copy) != 0;
}

/*
 * Without a backup, a correct checksum is overruled only by a superblock that fits perfectly, or
 * whose fields contradict each other less. A damaged descriptor is no evidence against a
 * superblock.
 */
static void mend_alone(struct xw_dev *dev, struct xw_super *sb, bool damaged)
{
	const struct xw_super was = *sb;
	const bool elsewhere = !damaged && fsck_root_is_elsewhere(dev, sb);

	if (!damaged && (fsck_super_penalty(dev, sb) <= fsck_super_ideal(sb) ||
			 (elsewhere && !fsck_super_conflicts(sb))))
		return;
	(void)fsck_mend_alone(dev, sb, damaged);
	if (!damaged && (elsewhere || xw_super_has_csum(&was)) &&
	    fsck_super_conflicts(sb) >= fsck_super_conflicts(&was) &&
	    fsck_super_penalty(dev, sb) > fsck_super_ideal(sb))
		*sb = was;
}

/*
 * All copies agree, but not with the disk: their sizes are wrong if with others the root directory
 * and its checksum are where they should be, and nothing is against these.
 */
static void overrule_all(struct xw_dev *dev, struct xw_super *sb)
{
	struct xw_super other = *sb;
	struct fsck_witness w;

	fsck_witness_collect(dev, sb, 0, &w);
	if (w.root || !xw_super_has_csum(sb))
		return;
	(void)fsck_mend_alone(dev, &other, false);
	if (fsck_fields_changed(sb, &other) == 1 &&
	    fsck_super_penalty(dev, &other) <= fsck_super_ideal(&other))
		*sb = other;
}

/*
 * Was the feature bit metadata_csum lost? Then the root's inode and the descriptors have correct
 * checksums; tools that clear the feature clear these.
 */
static bool has_lost_csum(struct xw_dev *dev, const struct xw_super *sb)
{
	struct xw_super with = *sb;

	with.feature_ro_compat |= XW_RO_METADATA_CSUM;
	with.feature_ro_compat &= ~XW_RO_GDT_CSUM;
	return !xw_super_has_csum(sb) && fsck_super_penalty(dev, &with) <= fsck_super_ideal(&with);
}

/* Does a filesystem with this superblock have backups? */
static bool has_copies(const struct xw_super *sb)
{
	return fsck_super_usable(sb) && xw_super_groups(sb) > 1 &&
	       (!(sb->feature_compat & XW_COMPAT_SPARSE_SUPER2) || sb->backup_bgs[0]);
}

/*
 * No copy is at the locations that sb gives, so its geometry may be wrong: search the default
 * locations of mke2fs, then the first group's length for the first copy.
 */
static const struct fsck_copy *find_copy(struct xw_dev *dev, const struct xw_super *sb,
					 struct fsck_copies *all)
{
	struct xw_super plain = *sb, found;
	const uint64_t bs = xw_super_block_size(sb);
	const struct fsck_copy *c;

	plain.feature_compat &= ~XW_COMPAT_SPARSE_SUPER2;
	fsck_copies_usual(dev, &plain, all);
	fsck_copies_usual(dev, NULL, all);
	drop_foreign(all, sb);
	c = best_copy(dev, all);
	if (c)
		return c;
	fsck_copies_search(dev, 8 * bs * bs + 2 * bs, all);
	drop_foreign(all, sb);
	if (!all->n)
		return NULL;
	found = all->v[0].sb;
	fsck_copies_usual(dev, &found, all); /* the others are renewed */
	drop_foreign(all, sb);
	return best_copy(dev, all);
}

/* With a wrong geometry every repair would damage something. */
static bool declined_places(const struct fsck *f, const struct xw_super *mended,
			    const struct xw_super *proposed)
{
	return f->opts.mode != FSCK_NO && !fsck_places_same(mended, proposed);
}

/* Repair a primary that can be opened, if the device contradicts it or the backups differ. */
static int mend_primary(struct fsck *f, const struct xw_super *sb, const uint8_t *raw,
			struct fsck_copies *all)
{
	const bool lost_csum = has_lost_csum(f->ses.dev, sb), sum_is_wrong = is_damaged(raw);
	const bool damaged = lost_csum || sum_is_wrong;
	enum situation situation = damaged ? SUM_WRONG : SOUND;
	struct xw_super mended = *sb, proposed;
	const struct fsck_copy *c;
	bool put = false;

	mended.magic = XW_SUPER_MAGIC;
	if (lost_csum)
		mended.feature_ro_compat |= XW_RO_METADATA_CSUM;
	fsck_copies_usual(f->ses.dev, sb, all);
	drop_foreign(all, sb);
	c = best_copy(f->ses.dev, all);
	if (!c && (fsck_super_penalty(f->ses.dev, &mended) > fsck_super_ideal(&mended) ||
		   has_copies(&mended)))
		c = find_copy(f->ses.dev, &mended, all);
	if (!damaged && fsck_super_penalty(f->ses.dev, &mended) > fsck_super_ideal(&mended))
		situation = CONTRADICTED;
	if (c && verdicts[situation].disk)
		mend_by_copy(f->ses.dev, &mended, c, verdicts[situation].vote);
	/* If a backup agrees, something else is damaged. */
	if (!(c && fsck_fields_same(&mended, &c->sb)))
		mend_alone(f->ses.dev, &mended, damaged);
	else if (situation == CONTRADICTED)
		overrule_all(f->ses.dev, &mended);
	if (!(c && c->sb.blocks_count == mended.blocks_count))
		mended.blocks_count = fsck_counted_blocks(f->ses.dev, &mended);
	if (!damaged && fsck_super_is_newer(sb, &mended))
		return refuse_unknown(f, sb);
	proposed = mended;
	f->start.features_differ = features_differ(all, &mended);
	f->start.stale_backups = f->start.features_differ || has_stale(all, &mended);
	if (c)
		f->start.backup_group = c->sb.block_group_nr;
	if (sum_is_wrong)
		put = FSCK_FOUND(f, SUPER_CSUM);
	if (memcmp(&mended, sb, sizeof(mended)) != 0) {
		(void)report_fields(f, sb, &mended);
		/*
		 * writing the superblock without the declined repairs would seal the damage with a
		 * checksum and copy it
		 */
		put |= memcmp(&mended, sb, sizeof(mended)) != 0;
		f->ses.report_only |= declined_places(f, &mended, &proposed);
	}
	if (has_unknown(&mended) && !has_unknown(&proposed))
		fsck_report_only(f);
	if (f->opts.mode == FSCK_NO &&
	    (mended.magic != XW_SUPER_MAGIC ||
	     (is_too_long(f->ses.dev, &mended) && !is_too_long(f->ses.dev, &proposed)) ||
	     (has_unknown(&mended) && !has_unknown(&proposed))))
		return put_super(f, &proposed); /* read-only: continue with it in memory */
	if (refuse_unknown(f, &mended))
		return XW_ERR_UNSUPPORTED;
	return put && f->opts.mode != FSCK_NO ? put_super(f, &mended) : 0;
}

/* A superblock that could take the place of the primary. */
struct candidate {
	struct xw_super sb;
	const struct fsck_copy *copy; /* NULL: made up from what is left of the primary */
	bool known; /* a copy of the same filesystem as the primary */
	int bad; /* penalty */
	const char *against; /* NULL: the disk agrees */
};

static void examine(struct xw_dev *dev, struct candidate *c)
{
	const struct fsck_copy *copy = c->copy;
	struct fsck_witness w;

	c->sb.blocks_count = fsck_counted_blocks(dev, &c->sb);
	c->bad = fsck_super_penalty(dev, &c->sb);
	fsck_witness_collect(dev, &c->sb, copy ? copy->at / xw_super_block_size(&copy->sb) : 0, &w);
	c->against = fsck_witness_against(&w);
}

/* A copy has to pass what a primary has to, and is repaired in the same way. */
static void judge_copy(struct xw_dev *dev, const struct xw_super *sb, struct candidate *c)
{
	c->known = is_known(c->copy, sb);
	c->sb = from_copy(c->copy, sb, c->known);
	mend_alone(dev, &c->sb, false);
	examine(dev, c);
}

/* Of the copies with which the disk agrees, the one that fits best. */
static bool choose_copy(struct fsck *f, const struct xw_super *sb, const struct fsck_copies *all,
			struct candidate *best)
{
	bool found = false;

	for (size_t i = 0; i < all->n; i++) {
		struct candidate c = {.copy = &all->v[i]};

		judge_copy(f->ses.dev, sb, &c);
		if (c.against || (found && (c.known < best->known || c.bad >= best->bad)))
			continue;
		*best = c;
		found = true;
	}
	return found;
}

/*
 * Without a backup, and without a checksum that proves the result, only a few fields may be
 * changed: otherwise any block in its place could become the superblock of a filesystem that never
 * existed.
 */
static bool make_up(struct xw_dev *dev, const struct xw_super *sb, const uint8_t *raw,
		    struct candidate *c)
{
	bool proved;
	int limit;

	*c = (struct candidate){.sb = *sb};
	proved = fsck_mend_alone(dev, &c->sb, true) && fsck_super_usable(&c->sb);
	limit = proved ? INT_MAX : sb->magic == XW_SUPER_MAGIC ? 16 : 6;
	if (!is_damaged(raw)) /* except for the magic */
		mend_alone(dev, &c->sb, false);
	examine(dev, c);
	return fsck_super_usable(&c->sb) && c->bad < limit &&
	       (proved || fsck_fields_changed(sb, &c->sb) <= MENDED_MAX);
}

/* Continue with what was made up from the primary. */
static int use_made_up(struct fsck *f, const struct xw_super *sb, struct xw_super mended)
{
	struct xw_super proposed = mended;

	f->start.super_lost = true;
	if (!report_fields(f, sb, &mended) && f->opts.mode == FSCK_NO)
		mended.state &= (uint16_t)~XW_STATE_VALID;
	f->ses.report_only |= declined_places(f, &mended, &proposed);
	if (!fsck_super_usable(&mended) || (has_unknown(&mended) && !has_unknown(&proposed))) {
		fsck_report_only(f); /* continue with the proposed one, in memory */
		mended = proposed;
		mended.state &= (uint16_t)~XW_STATE_VALID;
	}
	return refuse_unknown(f, &mended) ? XW_ERR_UNSUPPORTED : put_super(f, &mended);
}

/* Is only the magic wrong, and does the primary fit the device better than a copy? */
static bool lacks_magic(struct xw_dev *dev, const struct xw_super *sb, const struct candidate *copy)
{
	struct candidate c = {.sb = *sb};

	c.sb.magic = XW_SUPER_MAGIC;
	if (sb->magic == c.sb.magic || has_unknown(&c.sb) || !fsck_super_usable(&c.sb))
		return false;
	examine(dev, &c);
	return copy ? c.bad < copy->bad : !c.against;
}

/* No candidate is believed: say why not. */
static int refuse_all(struct fsck *f, const struct xw_super *sb, const struct fsck_copies *all)
{
	for (size_t i = 0; i < all->n; i++) {
		struct candidate c = {.copy = &all->v[i]};

		judge_copy(f->ses.dev, sb, &c);
		xw_log(&f->ses.diag, XW_LOG_WARN, "superblock in block %llu: not used, since %s",
		       (unsigned long long)(c.copy->at / xw_super_block_size(&c.copy->sb)),
		       c.against);
	}
	return xw_fail(&f->ses.diag, XW_ERR_INPUT,
		       "%s: no ext2, ext3 or ext4 superblock, and no backup of one", f->opts.image);
}

/* Replace an unusable primary. copy, made: room for the candidates. */
static int replace_by(struct fsck *f, const struct xw_super *sb, const uint8_t *raw,
		      struct fsck_copies *all, struct candidate *copy, struct candidate *made)
{
	const struct verdict *v = &verdicts[sb->magic == XW_SUPER_MAGIC ? IMPOSSIBLE : LOST];
	bool found, makes;

	fsck_copies_usual(f->ses.dev, NULL, all);
	found = v->copy && choose_copy(f, sb, all, copy);
	if (v->copy && !found) {
		fsck_copies_search(f->ses.dev, UINT64_MAX, all);
		found = choose_copy(f, sb, all, copy);
	}
	if (lacks_magic(f->ses.dev, sb, found ? copy : NULL)) {
		all->n = 0;
		f->start.super_lost = true;
		return mend_primary(f, sb, raw, all);
	}
	if (found && (copy->known || !v->primary))
		return use_copy(f, copy->copy, copy->sb, copy->known);
	makes = make_up(f->ses.dev, sb, raw, made);
	if (makes && (!found || made->bad <= copy->bad))
		return use_made_up(f, sb, made->sb);
	if (found)
		return use_copy(f, copy->copy, copy->sb, copy->known);
	return refuse_all(f, sb, all);
}

static int replace_primary(struct fsck *f, const struct xw_super *sb, const uint8_t *raw,
			   struct fsck_copies *all)
{
	auto_free struct candidate *room = calloc(2, sizeof(*room));

	return room ? replace_by(f, sb, raw, all, &room[0], &room[1])
		    : xw_fail_nomem(&f->ses.diag, "superblocks");
}

/* Does a primary with a correct checksum agree with the copy given by -b? */
static bool agrees(const struct xw_super *sb, const uint8_t *raw, const struct fsck_copy *c)
{
	if (!fsck_super_usable(sb) || xw_super_verify(raw))
		return false;
	for (size_t i = 0; i < FSCK_FIELDS; i++)
		if (!fsck_field_same(sb, &c->sb, &fsck_fields[i]) &&
		    !fsck_field_may_differ(sb, &c->sb, &fsck_fields[i]))
			return false;
	return true;
}

/* The copy given by -b, apart from what no copy says. was: NULL if it is not readable. */
static int use_named(struct fsck *f, const struct fsck_copy *c, const struct xw_super *was)
{
	const bool known = was && is_known(c, was);
	struct xw_super sb = c->sb;

	if (known) {
		sb.feature_compat = (sb.feature_compat & ~XW_COMPAT_HAS_JOURNAL) |
				    (was->feature_compat & XW_COMPAT_HAS_JOURNAL);
		sb.feature_incompat = (sb.feature_incompat & ~XW_INCOMPAT_RECOVER) |
				      (was->feature_incompat & XW_INCOMPAT_RECOVER);
	}
	return use_copy(f, c, sb, known);
}

/* An external journal has its log behind the superblock. */
static bool has_log(struct xw_dev *dev, const struct xw_super *sb)
{
	const uint32_t bs = xw_super_block_size(sb);
	uint8_t raw[XW_JSB_SIZE];
	struct xw_jsb jsb;

	return !xw_dev_pread(dev, raw, sizeof(raw), (sb->log_block_size ? 1 : 2) * (uint64_t)bs) &&
	       !xw_jsb_decode(raw, &jsb);
}

int fsck_choose_super(struct fsck *f)
{
	auto_free struct fsck_copies *all = calloc(1, sizeof(*all));
	uint8_t raw[XW_SUPER_SIZE] = {0};
	struct fsck_quiet quiet;
	struct xw_super sb;
	int rc;

	if (!all)
		return xw_fail_nomem(&f->ses.diag, "superblocks");
	memset(&sb, 0, sizeof(sb)); /* superblocks are compared as bytes, padding included */
	if (f->ses.dev->size < XW_SUPER_OFFSET + XW_SUPER_SIZE)
		return xw_fail(&f->ses.diag, XW_ERR_INPUT,
			       "%s: too small to hold an ext2, ext3 or ext4 filesystem",
			       f->opts.image);
	quiet = fsck_quiet(&f->ses.dev->diag); /* an unreadable primary counts as lost */
	if (xw_dev_pread(f->ses.dev, raw, sizeof(raw), XW_SUPER_OFFSET))
		memset(raw, 0, sizeof(raw));
	fsck_quiet_end(&quiet);
	rc = xw_super_decode(raw, &sb);
	if (f->opts.backup) {
		const int named = fsck_copies_named(f, all);

		if (named)
			return named;
		if (rc || !agrees(&sb, raw, &all->v[0]))
			return use_named(f, &all->v[0], rc ? NULL : &sb);
		all->n = 0; /* the primary is checked as without -b */
	}
	if (!rc && sb.feature_incompat & XW_INCOMPAT_JOURNAL_DEV && !xw_super_verify(raw) &&
	    !fsck_features_are_implausible(&sb) && has_log(f->ses.dev, &sb))
		return xw_fail(&f->ses.diag, XW_ERR_UNSUPPORTED,
			       "%s: an external journal, not a filesystem", f->opts.image);
	if (!rc && fsck_super_usable(&sb))
		return mend_primary(f, &sb, raw, all);
	return replace_primary(f, &sb, raw, all);
}
