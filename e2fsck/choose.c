// SPDX-License-Identifier: MIT
/*
 * Which superblock the check goes on with.
 *
 * The primary is held against its backups: a field that never changes in the life of a filesystem
 * (or is written to all copies when a tool changes it) and that differs was damaged somewhere. What
 * the device speaks for (evidence.c) is kept; where it does not tell, two backups outvote the
 * primary in fields that a vote may decide. Fields that Linux changes in the primary alone (state,
 * counts, times, RECOVER) are never taken from a backup while the primary can be recognised.
 *
 * Without a backup single fields are tried with the values that they could have had.
 */
#include "config.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "base/endian.h"
#include "open.h"

/* Feature bits that Linux sets by itself, in the primary alone. */
#define COMPAT_DYNAMIC (XW_COMPAT_EXT_ATTR | XW_COMPAT_DIR_INDEX)
#define INCOMPAT_DYNAMIC (XW_INCOMPAT_RECOVER | XW_INCOMPAT_PENDING)
#define RO_DYNAMIC                                                                                 \
	(XW_RO_LARGE_FILE | XW_RO_HUGE_FILE | XW_RO_DIR_NLINK | XW_RO_EXTRA_ISIZE |                \
	 XW_RO_ORPHAN_PRESENT)

/* Features that debugfs(8) sets in the primary alone; whoever uses them next does not mind. */
#define INCOMPAT_ALONE                                                                             \
	(XW_INCOMPAT_LARGEDIR | XW_INCOMPAT_INLINE_DATA | XW_INCOMPAT_EA_INODE |                   \
	 XW_INCOMPAT_ENCRYPT)
#define RO_ALONE (XW_RO_VERITY | XW_RO_PROJECT)

enum vote {
	BY_EVIDENCE, /* the backup's value only where the device speaks for it */
	BY_VOTE, /* or where two backups agree */
};

static const struct field {
	const char *name;
	size_t off, len;
	uint32_t ignore; /* bits that may differ */
	enum vote vote;
} fields[] = {
#define FIELD(name, vote)                                                                          \
	{                                                                                          \
#name, offsetof(struct xw_super, name), sizeof(((struct xw_super *)0)->name), 0,   \
			vote                                                                       \
	}
	FIELD(magic, BY_VOTE),
	FIELD(rev_level, BY_VOTE),
	FIELD(log_block_size, BY_VOTE),
	FIELD(first_data_block, BY_VOTE),
	{"feature_compat", offsetof(struct xw_super, feature_compat), 4, COMPAT_DYNAMIC, BY_VOTE},
	{"feature_incompat", offsetof(struct xw_super, feature_incompat), 4, INCOMPAT_DYNAMIC,
	 BY_VOTE},
	{"feature_ro_compat", offsetof(struct xw_super, feature_ro_compat), 4, RO_DYNAMIC, BY_VOTE},
	FIELD(inode_size, BY_VOTE),
	FIELD(desc_size, BY_VOTE),
	FIELD(blocks_per_group, BY_VOTE),
	FIELD(log_cluster_size, BY_VOTE),
	FIELD(clusters_per_group, BY_VOTE),
	FIELD(inodes_per_group, BY_VOTE),
	FIELD(first_ino, BY_VOTE),
	FIELD(first_meta_bg, BY_EVIDENCE),
	FIELD(blocks_count, BY_EVIDENCE),
	FIELD(inodes_count, BY_EVIDENCE),
	FIELD(reserved_gdt_blocks, BY_EVIDENCE),
	FIELD(log_groups_per_flex, BY_VOTE),
	FIELD(checksum_type, BY_VOTE),
	FIELD(uuid, BY_EVIDENCE),
	FIELD(checksum_seed, BY_EVIDENCE),
	FIELD(backup_bgs, BY_EVIDENCE),
	FIELD(creator_os, BY_VOTE),
	FIELD(encoding, BY_VOTE),
	FIELD(def_hash_version, BY_EVIDENCE),
	FIELD(journal_inum, BY_VOTE),
	FIELD(usr_quota_inum, BY_VOTE),
	FIELD(grp_quota_inum, BY_VOTE),
	FIELD(prj_quota_inum, BY_VOTE),
	FIELD(orphan_file_inum, BY_VOTE),
	FIELD(mmp_block, BY_VOTE),
#undef FIELD
};

static const void *at(const struct xw_super *sb, const struct field *d)
{
	return (const uint8_t *)sb + d->off;
}

static uint64_t value(const struct xw_super *sb, const struct field *d)
{
	uint64_t v = 0;

	memcpy(&v, at(sb, d), XW_MIN(d->len, sizeof(v)));
	return v;
}

static bool same(const struct xw_super *a, const struct xw_super *b, const struct field *d)
{
	if (d->ignore)
		return !((value(a, d) ^ value(b, d)) & ~(uint64_t)d->ignore);
	return !memcmp(at(a, d), at(b, d), d->len);
}

static void take(struct xw_super *to, const struct xw_super *from, const struct field *d)
{
	uint32_t bits;

	if (!d->ignore) {
		memcpy((uint8_t *)to + d->off, at(from, d), d->len);
		return;
	}
	bits = (uint32_t)((value(to, d) & d->ignore) | (value(from, d) & ~(uint64_t)d->ignore));
	memcpy((uint8_t *)to + d->off, &bits, sizeof(bits));
}

/* ---- the primary and its backups ---- */

/* How many of the copies have what c has there? */
static unsigned votes(const struct fsck_copies *all, const struct fsck_copy *c,
		      const struct field *d)
{
	unsigned n = 0;

	for (size_t i = 0; i < all->n; i++)
		n += same(&all->v[i].sb, &c->sb, d);
	return n;
}

/* Bits of a feature word that a primary whose checksum is right may have and its backups lack. */
static uint64_t allowed_alone(const struct xw_super *sb, const struct field *d)
{
	const struct fsck_unknown u = fsck_unknown_features(sb);
	uint32_t known = 0, unknown = 0;

	if (d->off == offsetof(struct xw_super, feature_compat)) {
		unknown = u.compat;
	} else if (d->off == offsetof(struct xw_super, feature_incompat)) {
		known = INCOMPAT_ALONE;
		unknown = u.incompat;
	} else if (d->off == offsetof(struct xw_super, feature_ro_compat)) {
		known = RO_ALONE;
		unknown = u.ro;
	}
	if (__builtin_popcount(unknown) > FSCK_UNKNOWN_MAX)
		unknown = 0;
	return value(sb, d) & (known | unknown);
}

static bool may_differ(const struct xw_super *sb, const struct xw_super *copy,
		       const struct field *d)
{
	const uint64_t differ = d->ignore ? value(sb, d) ^ value(copy, d) : 0;

	return d->ignore && !(differ & ~(uint64_t)d->ignore & ~allowed_alone(sb, d));
}

/* `sb` with what copy c has in fields where that is better. damaged: sb's own word counts less. */
static void mend_by_copy(struct xw_dev *dev, struct xw_super *sb, const struct fsck_copies *all,
			 const struct fsck_copy *c, bool damaged)
{
	int bad = fsck_super_penalty(dev, sb), now;
	struct xw_super whole = *sb, one;

	for (size_t i = 0; i < XW_ARRAY_SIZE(fields); i++) {
		const struct field *d = &fields[i];
		const bool outvoted = d->vote == BY_VOTE && (damaged || votes(all, c, d) >= 2);

		if (same(sb, &c->sb, d) || (!damaged && may_differ(sb, &c->sb, d)))
			continue;
		take(&whole, &c->sb, d);
		one = *sb;
		take(&one, &c->sb, d);
		now = fsck_super_penalty(dev, &one);
		if (now < bad || (now == bad && outvoted)) {
			*sb = one;
			bad = now;
		}
	}
	if (fsck_super_penalty(dev, &whole) < bad)
		*sb = whole;
}

/* ---- without a backup ---- */

struct trial {
	struct xw_dev *dev;
	struct xw_super best;
	int bad;
	bool damaged; /* the superblock's checksum says so, or it cannot be used */
	uint32_t sum; /* that is stored: the one superblock that it fits was there before */
};

enum { CERTAIN = 500, SUM_AT = XW_SUPER_SIZE - 4, MAGIC_AT = 0x38, RO_COMPAT_AT = 0x64 };

static void try_super(struct trial *t, const struct xw_super *sb)
{
	int bad = fsck_super_penalty(t->dev, sb);
	uint8_t raw[XW_SUPER_SIZE];

	if (t->damaged && xw_super_has_csum(sb)) {
		xw_super_encode(sb, raw);
		if (peek32(raw + SUM_AT) == t->sum)
			bad -= CERTAIN;
	}
	if (bad < t->bad) {
		t->bad = bad;
		t->best = *sb;
	}
}

/*
 * Features that the geometry depends on. Checksums may be found to be in use, but that some are
 * wrong is no reason to do without; and what nobody knows may be of a newer version.
 */
static void try_features(struct trial *t, const struct xw_super *from)
{
	static const uint32_t incompat[] = {XW_INCOMPAT_64BIT, XW_INCOMPAT_META_BG,
					    XW_INCOMPAT_JOURNAL_DEV, XW_INCOMPAT_CSUM_SEED};
	struct xw_super sb = *from;

	for (size_t i = 0; i < XW_ARRAY_SIZE(incompat); i++) {
		sb.feature_incompat = from->feature_incompat ^ incompat[i];
		try_super(t, &sb);
	}
	sb = *from;
	sb.feature_ro_compat ^= XW_RO_BIGALLOC;
	try_super(t, &sb);
	sb.feature_ro_compat = from->feature_ro_compat | XW_RO_METADATA_CSUM;
	try_super(t, &sb);
	sb.feature_ro_compat = from->feature_ro_compat | XW_RO_GDT_CSUM;
	try_super(t, &sb);
	if (t->damaged) {
		const struct fsck_unknown u = fsck_unknown_features(from);

		sb = *from;
		sb.feature_compat &= ~u.compat;
		sb.feature_incompat &= ~u.incompat;
		sb.feature_ro_compat &= ~u.ro;
		try_super(t, &sb);
	}
}

static void try_sizes(struct trial *t, const struct xw_super *from)
{
	struct xw_super sb = *from;

	for (sb.log_block_size = 0; sb.log_block_size <= XW_LOG_BLOCK_MAX; sb.log_block_size++) {
		sb.first_data_block = fsck_first_block(&sb);
		try_super(t, &sb);
		sb.log_cluster_size = sb.log_block_size;
		try_super(t, &sb);
		sb.log_cluster_size = from->log_cluster_size;
	}
	sb = *from;
	for (uint32_t size = 128; size <= XW_MIN(xw_super_block_size(from), 32768u); size *= 2) {
		sb.inode_size = (uint16_t)size;
		try_super(t, &sb);
	}
	sb = *from;
	for (sb.desc_size = 64; sb.desc_size <= 1024; sb.desc_size *= 2)
		try_super(t, &sb);
	try_features(t, from);
}

/* bigalloc: blocks and clusters of a group are in the ratio of their sizes. */
static void try_clusters(struct trial *t, const struct xw_super *from)
{
	struct xw_super sb = *from;

	if (!(from->feature_ro_compat & XW_RO_BIGALLOC))
		return;
	for (sb.log_cluster_size = sb.log_block_size; sb.log_cluster_size <= XW_LOG_CLUSTER_MAX;
	     sb.log_cluster_size++)
		if ((uint64_t)sb.clusters_per_group << (sb.log_cluster_size - sb.log_block_size) ==
		    sb.blocks_per_group)
			try_super(t, &sb);
	sb = *from;
	if (sb.log_cluster_size < sb.log_block_size || sb.log_cluster_size > XW_LOG_CLUSTER_MAX)
		return;
	sb.blocks_per_group = sb.clusters_per_group << (sb.log_cluster_size - sb.log_block_size);
	try_super(t, &sb);
	sb = *from;
	sb.clusters_per_group = sb.blocks_per_group >> (sb.log_cluster_size - sb.log_block_size);
	try_super(t, &sb);
}

/* Room for descriptors that reaches into the metadata of group 0 ends where that begins. */
static void try_reserved(struct trial *t, const struct xw_super *from)
{
	struct xw_image img = {.dev = t->dev, .sb = *from};
	struct xw_diag *const diag = t->dev->diag;
	struct xw_super sb = *from;
	struct xw_group_desc gd;
	struct xw_group_head h;
	uint8_t raw[1024];
	xw_blk first, head;
	int rc;

	img.block_size = xw_super_block_size(from);
	img.desc_size = xw_super_desc_size(from);
	img.groups = xw_super_groups(from);
	if (!fsck_super_usable(from) || img.desc_size > sizeof(raw))
		return;
	t->dev->diag = NULL; /* no descriptor, no proposal */
	rc = xw_dev_pread(t->dev, raw, img.desc_size,
			  xw_image_desc_block(&img, 0) * img.block_size);
	t->dev->diag = diag;
	if (rc)
		return;
	xw_group_decode(raw, img.desc_size, &gd);
	xw_image_group_head(&img, 0, &h);
	first = XW_MIN(gd.inode_table, XW_MIN(gd.block_bitmap, gd.inode_bitmap));
	head = h.super + h.has_super + h.desc_len;
	if (first < head || first >= head + h.reserved_len)
		return;
	sb.reserved_gdt_blocks = (uint16_t)(first - head);
	try_super(t, &sb);
}

static void try_counts(struct trial *t, const struct xw_super *from)
{
	const uint32_t bs = xw_super_block_size(from);
	struct xw_super sb = *from;
	uint64_t groups;

	sb.blocks_per_group = sb.clusters_per_group = 8 * bs;
	try_super(t, &sb);
	sb = *from;
	sb.blocks_per_group = sb.clusters_per_group;
	try_super(t, &sb);
	sb = *from;
	sb.clusters_per_group = sb.blocks_per_group;
	try_super(t, &sb);
	try_clusters(t, from);
	sb = *from;
	sb.log_cluster_size = sb.log_block_size;
	try_super(t, &sb);
	sb = *from;
	sb.first_data_block = fsck_first_block(&sb);
	try_super(t, &sb);
	sb = *from;
	/* A device that was cut off is no reason to shorten the filesystem. */
	if (sb.inodes_count != xw_super_groups(&sb) * sb.inodes_per_group) {
		sb.blocks_count = t->dev->size / bs;
		try_super(t, &sb);
	}
	sb = *from;
	sb.first_ino = 11;
	try_super(t, &sb);
	sb = *from;
	sb.checksum_type = 1;
	try_super(t, &sb);
	sb = *from;
	sb.log_groups_per_flex = 4;
	try_super(t, &sb);
	sb = *from;
	for (sb.rev_level = 0; sb.rev_level <= 1; sb.rev_level++)
		try_super(t, &sb);
	/* Of two that fit equally well the first is taken: the one that the bitmap speaks for. */
	groups = xw_super_groups(from);
	for (int turn = 0; turn < 2 && groups; turn++) {
		sb = *from;
		if (fsck_bitmap_ends(t->dev, from) == !turn)
			sb.inodes_count = (uint32_t)(groups * sb.inodes_per_group);
		else if (sb.inodes_count % groups == 0)
			sb.inodes_per_group = (uint32_t)(sb.inodes_count / groups);
		if (groups * sb.inodes_per_group <= UINT32_MAX)
			try_super(t, &sb);
	}
}

/* One bit that is wrong is found by the checksum alone. */
static void try_bits(struct trial *t, const struct xw_super *from)
{
	uint8_t raw[XW_SUPER_SIZE];
	struct xw_super sb;

	xw_super_encode(from, raw);
	poke32(raw + SUM_AT, t->sum);
	for (unsigned bit = 0; bit < 8 * SUM_AT; bit++) {
		raw[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (peek16(raw + MAGIC_AT) == XW_SUPER_MAGIC &&
		    peek32(raw + RO_COMPAT_AT) & XW_RO_METADATA_CSUM && !xw_super_verify(raw) &&
		    !xw_super_decode(raw, &sb))
			try_super(t, &sb);
		raw[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

/* One field after the other, as long as that makes it better. true: the checksum confirms it. */
static bool mend_alone(struct xw_dev *dev, struct xw_super *sb, bool damaged)
{
	struct trial t = {.dev = dev, .best = *sb, .damaged = damaged, .sum = sb->checksum};

	t.bad = fsck_super_penalty(dev, sb);
	if (damaged)
		try_bits(&t, sb);

	sb->magic = XW_SUPER_MAGIC;
	try_super(&t, sb);
	for (int turn = 0; turn < 4; turn++) {
		const struct xw_super from = t.best;
		const int before = t.bad;

		if (before <= fsck_super_ideal(&from))
			break;
		try_reserved(&t, &from);
		try_sizes(&t, &from);
		try_counts(&t, &from);
		if (t.bad >= before)
			break;
	}
	*sb = t.best;
	return t.bad < -CERTAIN / 2;
}

/* ---- the choice ---- */

/* All that differs is reported; false: the primary is to stay as it is. */
static bool report_fields(struct fsck *f, const struct xw_super *was, struct xw_super *is)
{
	bool all = true;

	for (size_t i = 0; i < XW_ARRAY_SIZE(fields); i++) {
		const struct field *d = &fields[i];

		if (same(was, is, d))
			continue;
		if (!FSCK_FOUND(f, SUPER_FIELD, .name = d->name, .num = value(was, d),
				.num2 = value(is, d))) {
			all = false;
			take(is, was, d);
		}
	}
	return all;
}

static int put_super(struct fsck *f, struct xw_super *sb)
{
	uint8_t raw[XW_SUPER_SIZE];

	sb->block_group_nr = 0;
	xw_super_encode(sb, raw);
	f->changed = f->renew_backups = true;
	return xw_dev_pwrite(f->dev, raw, sizeof(raw), XW_SUPER_OFFSET);
}

/* The copy that the device speaks for most. */
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

/* Leave out copies of other filesystems, which an earlier mke2fs has left. */
static void drop_foreign(struct fsck_copies *all, const struct xw_super *sb)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct xw_super *c = &all->v[i].sb;

		if (!memcmp(c->uuid, sb->uuid, sizeof(c->uuid)) ||
		    (sb->mkfs_time && c->mkfs_time == sb->mkfs_time))
			all->v[n++] = all->v[i];
	}
	all->n = n;
}

static int use_copy(struct fsck *f, const struct fsck_copy *c, const struct xw_super *was,
		    bool known)
{
	struct xw_super sb = known ? *was : c->sb;

	f->super_lost = f->from_backup = true;
	f->backup_group = c->sb.block_group_nr;
	if (known)
		for (size_t i = 0; i < XW_ARRAY_SIZE(fields); i++)
			take(&sb, &c->sb, &fields[i]);
	if (!fsck_super_usable(&sb))
		sb = c->sb;
	sb.state &= (uint16_t)~XW_STATE_VALID;
	if (!FSCK_FOUND(f, SUPER_LOST, .blk = c->at / xw_super_block_size(&c->sb)) &&
	    f->opts.mode != FSCK_NO)
		return xw_fail(&f->diag, XW_ERR_INPUT, "%s: the superblock is damaged",
			       f->opts.image);
	return put_super(f, &sb);
}

static bool same_fields(const struct xw_super *a, const struct xw_super *b)
{
	bool all = true;

	for (size_t i = 0; i < XW_ARRAY_SIZE(fields) && all; i++)
		all = same(a, b, &fields[i]);
	return all;
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
		&f->diag, XW_ERR_UNSUPPORTED,
		"%s: unknown features (compat 0x%x, incompat 0x%x, ro_compat 0x%x): get a newer "
		"version of xw-fsck",
		f->opts.image, u.compat, u.incompat, u.ro);
}

/* Does the checksum say that more than the magic is damaged? */
static bool is_damaged(const uint8_t *raw)
{
	uint8_t copy[XW_SUPER_SIZE];

	memcpy(copy, raw, sizeof(copy));
	poke16(copy + MAGIC_AT, XW_SUPER_MAGIC);
	return xw_super_verify(copy) != 0;
}

/* Opens, but something speaks against it, or the backups are of another opinion. */
static int mend_primary(struct fsck *f, const struct xw_super *sb, const uint8_t *raw,
			struct fsck_copies *all)
{
	const bool damaged = is_damaged(raw);
	struct xw_super mended = *sb, proposed;
	const struct fsck_copy *c;
	bool put = false;

	mended.magic = XW_SUPER_MAGIC;
	fsck_copies_usual(f->dev, sb, all);
	drop_foreign(all, sb);
	c = best_copy(f->dev, all);
	if (!c && fsck_super_penalty(f->dev, &mended) > 4) {
		const struct xw_super was = mended;

		mended.feature_compat &= ~XW_COMPAT_SPARSE_SUPER2;
		fsck_copies_usual(f->dev, &mended, all);
		fsck_copies_usual(f->dev, NULL, all);
		drop_foreign(all, sb);
		c = best_copy(f->dev, all);
		mended = was;
	}
	if (c)
		mend_by_copy(f->dev, &mended, all, c, damaged);
	/* Where a backup says the same, it is something else that speaks against it. */
	if (!(c && same_fields(&mended, &c->sb)) &&
	    (damaged || fsck_super_penalty(f->dev, &mended) > fsck_super_ideal(&mended)))
		(void)mend_alone(f->dev, &mended, damaged);
	if (!damaged && fsck_super_is_newer(sb, &mended))
		return refuse_unknown(f, sb);
	proposed = mended;
	if (c)
		f->backup_group = c->sb.block_group_nr;
	if (damaged)
		put = FSCK_FOUND(f, SUPER_CSUM);
	if (memcmp(&mended, sb, sizeof(mended)) != 0) {
		(void)report_fields(f, sb, &mended);
		put = true;
	}
	if (f->opts.mode == FSCK_NO &&
	    (mended.magic != XW_SUPER_MAGIC || (has_unknown(&mended) && !has_unknown(&proposed))))
		return put_super(f, &proposed); /* read-only: a look at it all the same */
	if (refuse_unknown(f, &mended))
		return XW_ERR_UNSUPPORTED;
	return put && f->opts.mode != FSCK_NO ? put_super(f, &mended) : 0;
}

/* Does a primary that has lost its magic alone fit the device better than the copy c? */
static bool fits_better(struct xw_dev *dev, const struct xw_super *sb, const struct fsck_copy *c)
{
	struct xw_super again = *sb;

	again.magic = XW_SUPER_MAGIC;
	return sb->magic != again.magic && !has_unknown(&again) && fsck_super_usable(&again) &&
	       fsck_super_penalty(dev, &again) < fsck_super_penalty(dev, &c->sb);
}

/* The primary cannot be used as it is. */
static int replace_primary(struct fsck *f, const struct xw_super *sb, const uint8_t *raw,
			   struct fsck_copies *all)
{
	const struct fsck_copy *c;
	struct xw_super mended = *sb;
	int limit = INT_MAX;

	fsck_copies_usual(f->dev, NULL, all);
	if (!all->n)
		fsck_copies_search(f->dev, all);
	c = best_copy(f->dev, all);
	if (c && fits_better(f->dev, sb, c)) {
		all->n = 0;
		f->super_lost = true;
		return mend_primary(f, sb, raw, all);
	}
	if (c)
		return use_copy(f, c, sb,
				!memcmp(c->sb.uuid, sb->uuid, sizeof(sb->uuid)) &&
					c->sb.mkfs_time == sb->mkfs_time);
	if (!mend_alone(f->dev, &mended, true) || !fsck_super_usable(&mended))
		limit = sb->magic == XW_SUPER_MAGIC ? 16 : 6;
	if (!fsck_super_usable(&mended) || fsck_super_penalty(f->dev, &mended) >= limit)
		return xw_fail(&f->diag, XW_ERR_INPUT,
			       "%s: no ext2, ext3 or ext4 superblock, and no backup of one",
			       f->opts.image);
	f->super_lost = true;
	if (!report_fields(f, sb, &mended) && f->opts.mode == FSCK_NO)
		mended.state &= (uint16_t)~XW_STATE_VALID;
	if (!fsck_super_usable(&mended))
		(void)mend_alone(f->dev, &mended, true); /* read-only: a look at it all the same */
	return put_super(f, &mended);
}

/* Is a primary whose checksum is right of one opinion with the copy that -b names? */
static bool agrees(const struct xw_super *sb, const uint8_t *raw, const struct fsck_copy *c)
{
	if (!fsck_super_usable(sb) || xw_super_verify(raw))
		return false;
	for (size_t i = 0; i < XW_ARRAY_SIZE(fields); i++)
		if (!same(sb, &c->sb, &fields[i]) && !may_differ(sb, &c->sb, &fields[i]))
			return false;
	return true;
}

int fsck_choose_super(struct fsck *f)
{
	struct fsck_copies all = {0};
	uint8_t raw[XW_SUPER_SIZE] = {0};
	struct xw_diag *const diag = f->dev->diag;
	struct xw_super sb;
	int rc;

	memset(&sb, 0, sizeof(sb)); /* superblocks are compared as bytes, padding included */
	if (f->dev->size < XW_SUPER_OFFSET + XW_SUPER_SIZE)
		return xw_fail(&f->diag, XW_ERR_INPUT,
			       "%s: too small to hold an ext2, ext3 or ext4 filesystem",
			       f->opts.image);
	f->dev->diag = NULL; /* an unreadable primary is a lost one */
	if (xw_dev_pread(f->dev, raw, sizeof(raw), XW_SUPER_OFFSET))
		memset(raw, 0, sizeof(raw));
	f->dev->diag = diag;
	rc = xw_super_decode(raw, &sb);
	if (f->opts.backup) {
		const int decoded = rc;

		rc = fsck_copies_named(f, &all);
		if (rc)
			return rc;
		if (decoded || !agrees(&sb, raw, &all.v[0]))
			return use_copy(f, &all.v[0], &sb, false);
		all.n = 0; /* the primary is checked as it is without -b */
		rc = 0;
	}
	if (!rc && sb.feature_incompat & XW_INCOMPAT_JOURNAL_DEV && !xw_super_verify(raw))
		return xw_fail(&f->diag, XW_ERR_UNSUPPORTED,
			       "%s: an external journal, not a filesystem", f->opts.image);
	if (!rc && fsck_super_usable(&sb))
		return mend_primary(f, &sb, raw, &all);
	return replace_primary(f, &sb, raw, &all);
}
