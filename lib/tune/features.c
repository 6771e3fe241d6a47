// SPDX-License-Identifier: MIT
/*
 * Compares the wanted features with the existing ones, and derives the steps from the difference.
 * As in tune2fs 1.47.0 (observed), only some features can be set or cleared, with side effects.
 * Work that tune2fs leaves to e2fsck is done here, or the change is refused.
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/crc.h"
#include "disk/inode.h"
#include "tune/tune_internal.h"

#define ENCODING_UTF8_12_1 1
#define ENCRYPT_AES_256_XTS 1
#define ENCRYPT_AES_256_CTS 4

static const struct xw_features can_set = {{
	[XW_FW_COMPAT] = XW_COMPAT_HAS_JOURNAL | XW_COMPAT_DIR_INDEX | XW_COMPAT_STABLE_INODES |
			 XW_COMPAT_ORPHAN_FILE | XW_COMPAT_FAST_COMMIT,
	[XW_FW_INCOMPAT] = XW_INCOMPAT_FILETYPE | XW_INCOMPAT_EXTENTS | XW_INCOMPAT_64BIT |
			   XW_INCOMPAT_MMP | XW_INCOMPAT_FLEX_BG | XW_INCOMPAT_EA_INODE |
			   XW_INCOMPAT_CSUM_SEED | XW_INCOMPAT_LARGEDIR | XW_INCOMPAT_ENCRYPT |
			   XW_INCOMPAT_CASEFOLD,
	[XW_FW_RO_COMPAT] = XW_RO_SPARSE_SUPER | XW_RO_LARGE_FILE | XW_RO_HUGE_FILE |
			    XW_RO_GDT_CSUM | XW_RO_DIR_NLINK | XW_RO_EXTRA_ISIZE | XW_RO_QUOTA |
			    XW_RO_METADATA_CSUM | XW_RO_PROJECT | XW_RO_VERITY | XW_RO_READONLY |
			    XW_RO_ITREE,
}};

static const struct xw_features can_clear = {{
	[XW_FW_COMPAT] = XW_COMPAT_HAS_JOURNAL | XW_COMPAT_DIR_INDEX | XW_COMPAT_RESIZE_INODE |
			 XW_COMPAT_ORPHAN_FILE | XW_COMPAT_FAST_COMMIT,
	[XW_FW_INCOMPAT] = XW_INCOMPAT_FILETYPE | XW_INCOMPAT_64BIT | XW_INCOMPAT_MMP |
			   XW_INCOMPAT_CSUM_SEED | XW_INCOMPAT_CASEFOLD,
	[XW_FW_RO_COMPAT] = XW_RO_LARGE_FILE | XW_RO_HUGE_FILE | XW_RO_GDT_CSUM | XW_RO_DIR_NLINK |
			    XW_RO_EXTRA_ISIZE | XW_RO_QUOTA | XW_RO_METADATA_CSUM | XW_RO_PROJECT |
			    XW_RO_READONLY | XW_RO_ITREE,
}};

static int want_word(struct xw_tune_want *w, const char *text, size_t len, struct xw_diag *diag)
{
	const bool clear = *text == '^' || *text == '-';
	const size_t sign = clear || *text == '+';
	enum xw_feature_word word;
	uint32_t bit;

	if (xw_feature_find(text + sign, len - sign, &word, &bit))
		return xw_fail(diag, XW_ERR_USAGE, "Invalid filesystem option set: %.*s",
			       (int)XW_MIN(len, 80), text);
	if (!(bit & (clear ? &can_clear : &can_set)->w[word]))
		return xw_fail(diag, XW_ERR_UNSUPPORTED,
			       "%s filesystem feature '%s' not supported.",
			       clear ? "Clearing" : "Setting", xw_feature_name(word, bit));
	w->on.w[word] &= ~bit;
	w->off.w[word] &= ~bit;
	(clear ? &w->off : &w->on)->w[word] |= bit;
	return 0;
}

int xw_tune_want_features(struct xw_tune_want *w, const char *list, struct xw_diag *diag)
{
	const char *word;
	size_t len;

	while ((word = xw_list_word(&list, &len))) {
		int rc = want_word(w, word, len, diag);

		if (rc)
			return rc;
	}
	return 0;
}

/* ---- old and new features ---- */

static bool old_ro(const struct xw_tune_run *t, uint32_t bit)
{
	return t->sb.feature_ro_compat & bit;
}

static bool new_ro(const struct xw_tune_run *t, uint32_t bit)
{
	return t->to.feature_ro_compat & bit;
}

static bool sets_compat(const struct xw_tune_run *t, uint32_t bit)
{
	return ~t->sb.feature_compat & t->to.feature_compat & bit;
}

static bool clears_compat(const struct xw_tune_run *t, uint32_t bit)
{
	return t->sb.feature_compat & ~t->to.feature_compat & bit;
}

static bool sets_incompat(const struct xw_tune_run *t, uint32_t bit)
{
	return ~t->sb.feature_incompat & t->to.feature_incompat & bit;
}

static bool clears_incompat(const struct xw_tune_run *t, uint32_t bit)
{
	return t->sb.feature_incompat & ~t->to.feature_incompat & bit;
}

static bool sets_ro(const struct xw_tune_run *t, uint32_t bit)
{
	return ~t->sb.feature_ro_compat & t->to.feature_ro_compat & bit;
}

static bool clears_ro(const struct xw_tune_run *t, uint32_t bit)
{
	return t->sb.feature_ro_compat & ~t->to.feature_ro_compat & bit;
}

static void apply(struct xw_tune_run *t)
{
	const struct xw_tune_want *w = t->want;
	struct xw_super *to = &t->to;

	to->feature_compat = (to->feature_compat & ~w->off.w[XW_FW_COMPAT]) | w->on.w[XW_FW_COMPAT];
	to->feature_incompat =
		(to->feature_incompat & ~w->off.w[XW_FW_INCOMPAT]) | w->on.w[XW_FW_INCOMPAT];
	to->feature_ro_compat =
		(to->feature_ro_compat & ~w->off.w[XW_FW_RO_COMPAT]) | w->on.w[XW_FW_RO_COMPAT];
	if (w->set & XW_TUNE_JOURNAL)
		to->feature_compat |= XW_COMPAT_HAS_JOURNAL;
	if (w->set & XW_TUNE_INODE_SIZE)
		to->inode_size = (uint16_t)w->inode_size;
	if (w->set & XW_TUNE_UUID)
		memcpy(to->uuid, w->uuid, sizeof(to->uuid));
}

/* ---- implied features ---- */

static unsigned quota_types(const struct xw_super *sb)
{
	if (!(sb->feature_ro_compat & XW_RO_QUOTA))
		return 0;
	return (sb->usr_quota_inum ? 1u << XW_QUOTA_USER : 0) |
	       (sb->grp_quota_inum ? 1u << XW_QUOTA_GROUP : 0) |
	       (sb->prj_quota_inum ? 1u << XW_QUOTA_PROJECT : 0);
}

/*
 * The feature quota is set if there is a quota of any type. ^project clears the feature project
 * even without a project quota.
 */
static int imply_quota(struct xw_tune_run *t)
{
	const unsigned project = 1u << XW_QUOTA_PROJECT, was = quota_types(&t->sb);
	unsigned now = was;

	if (clears_ro(t, XW_RO_QUOTA))
		now = 0;
	else if (sets_ro(t, XW_RO_QUOTA) && !t->want->quota_on) /* without -Q */
		now |= 1u << XW_QUOTA_USER | 1u << XW_QUOTA_GROUP |
		       (new_ro(t, XW_RO_PROJECT) ? project : 0);
	if (sets_ro(t, XW_RO_PROJECT) && !t->want->quota_on)
		now |= project;
	else if (clears_ro(t, XW_RO_PROJECT))
		now &= ~project;
	now = (now & ~t->want->quota_off) | t->want->quota_on;
	t->quota_on = now & ~was;
	t->quota_off = was & ~now;
	if (t->quota_on & project)
		t->to.feature_ro_compat |= XW_RO_PROJECT;
	if (t->quota_off & project)
		t->to.feature_ro_compat &= ~XW_RO_PROJECT;
	t->to.feature_ro_compat &= ~XW_RO_QUOTA;
	t->to.feature_ro_compat |= now ? XW_RO_QUOTA : 0;
	if (sets_ro(t, XW_RO_PROJECT) && t->to.inode_size <= XW_INODE_BODY)
		return xw_tune_refuse(t, XW_ERR_USAGE,
				      "Cannot enable project feature; inode size too small.");
	return 0;
}

static int imply_checksums(struct xw_tune_run *t)
{
	struct xw_super *to = &t->to;

	if (clears_ro(t, XW_RO_METADATA_CSUM)) {
		/* uninit_bg, so that the descriptors keep their UNINIT flags */
		if (!(t->want->off.w[XW_FW_RO_COMPAT] & XW_RO_GDT_CSUM))
			to->feature_ro_compat |= XW_RO_GDT_CSUM;
		to->feature_incompat &= ~XW_INCOMPAT_CSUM_SEED;
	}
	if (xw_super_has_csum(to))
		to->feature_ro_compat &= ~XW_RO_GDT_CSUM;
	else if (to->feature_incompat & XW_INCOMPAT_CSUM_SEED)
		return xw_tune_refuse(t, XW_ERR_USAGE,
				      "Setting feature 'metadata_csum_seed' is only supported on "
				      "filesystems with the metadata_csum feature enabled.");
	to->checksum_type = xw_super_has_csum(to) ? 1 : 0;
	if (!(to->feature_incompat & XW_INCOMPAT_CSUM_SEED))
		to->checksum_seed = 0;
	else if (!(t->sb.feature_incompat & XW_INCOMPAT_CSUM_SEED))
		to->checksum_seed = xw_crc32c(
			~0u, xw_super_has_csum(&t->sb) ? t->sb.uuid : to->uuid, sizeof(to->uuid));
	return 0;
}

static void imply_names(struct xw_tune_run *t)
{
	struct xw_super *to = &t->to;

	if (sets_incompat(t, XW_INCOMPAT_CASEFOLD)) {
		to->encoding = t->want->encoding ? t->want->encoding : ENCODING_UTF8_12_1;
		to->encoding_flags = t->want->encoding_flags;
	} else if (clears_incompat(t, XW_INCOMPAT_CASEFOLD)) {
		to->encoding = to->encoding_flags = 0;
	}
	if (sets_incompat(t, XW_INCOMPAT_ENCRYPT)) {
		to->encrypt_algos[0] = ENCRYPT_AES_256_XTS;
		to->encrypt_algos[1] = ENCRYPT_AES_256_CTS;
	}
}

static void imply_losses(struct xw_tune_run *t)
{
	struct xw_super *to = &t->to;

	if (!(to->feature_compat & XW_COMPAT_HAS_JOURNAL) &&
	    t->sb.feature_compat & to->feature_compat & XW_COMPAT_ORPHAN_FILE) {
		xw_log(t->diag, XW_LOG_WARN,
		       "%s: without a journal the orphan file is removed, too", t->name);
		to->feature_compat &= ~XW_COMPAT_ORPHAN_FILE;
	}
	if (!(to->feature_compat & XW_COMPAT_DIR_INDEX) &&
	    t->sb.feature_ro_compat & to->feature_ro_compat & XW_RO_ITREE) {
		xw_log(t->diag, XW_LOG_WARN, "%s: without dir_index the itrees are removed, too",
		       t->name);
		to->feature_ro_compat &= ~XW_RO_ITREE;
	}
}

/* ---- refused combinations ---- */

static bool external_journal(const struct xw_super *sb)
{
	return sb->feature_compat & XW_COMPAT_HAS_JOURNAL && !sb->journal_inum;
}

static int check_journal(struct xw_tune_run *t)
{
	const struct xw_super *sb = &t->sb;

	if (t->want->set & XW_TUNE_JOURNAL && sb->feature_compat & XW_COMPAT_HAS_JOURNAL)
		return xw_tune_refuse(t, XW_ERR_EXISTS, "The filesystem already has a journal.");
	if (t->want->fast_commit_kib && sb->feature_compat & XW_COMPAT_HAS_JOURNAL)
		return xw_tune_refuse(t, XW_ERR_EXISTS,
				      "The filesystem already has a journal; -J fast_commit_size= "
				      "is for a new one.");
	if (external_journal(sb) && clears_compat(t, XW_COMPAT_HAS_JOURNAL) && !t->opts->force)
		return xw_tune_refuse(t, XW_ERR_UNSUPPORTED,
				      "the journal is external and would still contain the UUID of "
				      "this filesystem; use -f to ignore this");
	if (external_journal(sb) && memcmp(sb->uuid, t->to.uuid, sizeof(sb->uuid)) != 0)
		return xw_tune_refuse(t, XW_ERR_UNSUPPORTED,
				      "the journal is external and contains the UUID of this "
				      "filesystem, which therefore cannot be changed");
	if (sets_compat(t, XW_COMPAT_ORPHAN_FILE) &&
	    !(t->to.feature_compat & XW_COMPAT_HAS_JOURNAL))
		return xw_tune_refuse(t, XW_ERR_USAGE,
				      "orphan_file feature can be set only for "
				      "filesystems with journal.");
	return 0;
}

static int check_names(struct xw_tune_run *t)
{
	const struct xw_super *sb = &t->sb, *to = &t->to;

	if (sets_ro(t, XW_RO_ITREE) && !(to->feature_compat & XW_COMPAT_DIR_INDEX))
		return xw_tune_refuse(t, XW_ERR_USAGE, "feature itree needs dir_index");
	if (sets_ro(t, XW_RO_ITREE) && to->feature_ro_compat & XW_RO_BIGALLOC)
		return xw_tune_refuse(t, XW_ERR_USAGE,
				      "features itree and bigalloc exclude each other");
	if ((sb->feature_incompat ^ to->feature_incompat) & XW_INCOMPAT_FILETYPE &&
	    sb->feature_incompat & XW_INCOMPAT_INLINE_DATA)
		return xw_tune_refuse(t, XW_ERR_UNSUPPORTED,
				      "feature filetype cannot be changed with inline_data");
	if (t->want->encoding && sb->feature_incompat & to->feature_incompat & XW_INCOMPAT_CASEFOLD)
		return xw_tune_refuse(t, XW_ERR_USAGE, "Cannot alter existing encoding");
	if (t->want->encoding_flags && !sets_incompat(t, XW_INCOMPAT_CASEFOLD))
		return xw_tune_refuse(t, XW_ERR_USAGE,
				      "encoding_flags require the feature casefold");
	return 0;
}

static int check_inode_size(struct xw_tune_run *t)
{
	const uint32_t size = t->want->inode_size, most = xw_super_block_size(&t->sb);

	if (!(t->want->set & XW_TUNE_INODE_SIZE))
		return 0;
	if (size < XW_INODE_BODY || size > most || size & (size - 1))
		return xw_tune_refuse(t, XW_ERR_USAGE,
				      "Invalid inode size %" PRIu32 " (max %" PRIu32 ")", size,
				      most);
	if (size == t->sb.inode_size)
		return xw_tune_refuse(t, XW_ERR_USAGE, "The inode size is already %" PRIu32, size);
	if (size < t->sb.inode_size)
		return xw_tune_refuse(t, XW_ERR_UNSUPPORTED,
				      "Shrinking inode size is not supported");
	if (t->sb.feature_ro_compat & XW_RO_BIGALLOC)
		return xw_tune_refuse(t, XW_ERR_UNSUPPORTED,
				      "the inode size cannot be changed with bigalloc");
	return 0;
}

static int check(struct xw_tune_run *t)
{
	const struct xw_super *sb = &t->sb;
	int rc = check_journal(t);

	if (!rc)
		rc = check_names(t);
	if (!rc)
		rc = check_inode_size(t);
	if (rc)
		return rc;
	if ((sb->feature_incompat ^ t->to.feature_incompat) & XW_INCOMPAT_64BIT)
		return xw_tune_refuse(t, XW_ERR_UNSUPPORTED,
				      "64-bit mode is changed by resize2fs %s",
				      sb->feature_incompat & XW_INCOMPAT_64BIT ? "-s" : "-b");
	if (sb->feature_compat & XW_COMPAT_STABLE_INODES &&
	    memcmp(sb->uuid, t->to.uuid, sizeof(sb->uuid)) != 0)
		return xw_tune_refuse(t, XW_ERR_UNSUPPORTED,
				      "Cannot change the UUID of this filesystem because it has "
				      "the stable_inodes feature flag.");
	if (sb->feature_ro_compat & XW_RO_BIGALLOC &&
	    (sets_ro(t, XW_RO_SPARSE_SUPER) || clears_compat(t, XW_COMPAT_RESIZE_INODE)))
		return xw_tune_refuse(
			t, XW_ERR_UNSUPPORTED,
			"resize_inode and sparse_super cannot be changed with bigalloc");
	if (sets_ro(t, XW_RO_SPARSE_SUPER) && t->to.feature_compat & XW_COMPAT_RESIZE_INODE)
		return xw_tune_refuse(t, XW_ERR_UNSUPPORTED,
				      "sparse_super cannot be set with resize_inode");
	if (t->want->set & XW_TUNE_MMP_INTERVAL && !(t->to.feature_incompat & XW_INCOMPAT_MMP))
		xw_log(t->diag, XW_LOG_WARN,
		       "%s: mmp_update_interval has no effect without the feature mmp", t->name);
	return 0;
}

/* ---- steps ---- */

/* Do checksums or file types in directories change? */
static bool needs_sweep(const struct xw_tune_run *t)
{
	const bool seed = xw_super_csum_seed(&t->sb) != xw_super_csum_seed(&t->to);
	const bool uuid = memcmp(t->sb.uuid, t->to.uuid, sizeof(t->sb.uuid)) != 0;

	if (old_ro(t, XW_RO_METADATA_CSUM) != new_ro(t, XW_RO_METADATA_CSUM) ||
	    xw_tune_tracks_use(&t->sb) != xw_tune_tracks_use(&t->to) ||
	    (t->sb.feature_incompat ^ t->to.feature_incompat) & XW_INCOMPAT_FILETYPE)
		return true;
	if (new_ro(t, XW_RO_GDT_CSUM) && uuid)
		return true;
	return seed && (xw_super_has_csum(&t->to) || t->sb.feature_incompat & XW_INCOMPAT_EA_INODE);
}

static unsigned itree_work(const struct xw_tune_run *t)
{
	/* metadata_csum moves the pointer to an itree; itrees contain file types */
	const bool rebuild =
		old_ro(t, XW_RO_METADATA_CSUM) != new_ro(t, XW_RO_METADATA_CSUM) ||
		(t->sb.feature_incompat ^ t->to.feature_incompat) & XW_INCOMPAT_FILETYPE ||
		t->to.inode_size != t->sb.inode_size; /* evict.c cannot move itrees */
	const bool drop = old_ro(t, XW_RO_ITREE) && (rebuild || !new_ro(t, XW_RO_ITREE));

	return (drop ? XW_TUNE_DO_ITREE_DROP : 0) |
	       (new_ro(t, XW_RO_ITREE) && (drop || !old_ro(t, XW_RO_ITREE)) ? XW_TUNE_DO_ITREE_BUILD
									    : 0);
}

/*
 * -O dir_index adds indexes even if the feature is set already, since mke2fs -d sets the feature
 * and writes linear directories. An itree requires an index.
 */
static bool wants_indexes(const struct xw_tune_run *t)
{
	return t->to.feature_compat & XW_COMPAT_DIR_INDEX &&
	       (t->want->on.w[XW_FW_COMPAT] & XW_COMPAT_DIR_INDEX || sets_ro(t, XW_RO_ITREE));
}

static unsigned space_work(const struct xw_tune_run *t)
{
	const struct {
		bool is;
		unsigned work;
	} rows[] = {
		{sets_compat(t, XW_COMPAT_HAS_JOURNAL), XW_TUNE_DO_JOURNAL_ON},
		{clears_compat(t, XW_COMPAT_HAS_JOURNAL), XW_TUNE_DO_JOURNAL_OFF},
		{sets_compat(t, XW_COMPAT_ORPHAN_FILE), XW_TUNE_DO_ORPHAN_ON},
		{clears_compat(t, XW_COMPAT_ORPHAN_FILE), XW_TUNE_DO_ORPHAN_OFF},
		{sets_incompat(t, XW_INCOMPAT_MMP), XW_TUNE_DO_MMP_ON},
		{clears_incompat(t, XW_INCOMPAT_MMP), XW_TUNE_DO_MMP_OFF},
		{t->quota_on, XW_TUNE_DO_QUOTA_ON},
		{t->quota_off, XW_TUNE_DO_QUOTA_OFF},
		{clears_compat(t, XW_COMPAT_RESIZE_INODE), XW_TUNE_DO_RESIZE_OFF},
		{sets_ro(t, XW_RO_SPARSE_SUPER), XW_TUNE_DO_SPARSE},
		{wants_indexes(t), XW_TUNE_DO_INDEX},
		{clears_compat(t, XW_COMPAT_DIR_INDEX), XW_TUNE_DO_UNINDEX},
		{sets_ro(t, XW_RO_METADATA_CSUM), XW_TUNE_DO_TAILS},
		{clears_ro(t, XW_RO_LARGE_FILE | XW_RO_HUGE_FILE | XW_RO_DIR_NLINK) ||
			 clears_incompat(t, XW_INCOMPAT_CASEFOLD),
		 XW_TUNE_DO_CENSUS},
		{t->to.inode_size != t->sb.inode_size, XW_TUNE_DO_INODES},
	};
	unsigned work = 0;

	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++)
		work |= rows[i].is ? rows[i].work : 0;
	return work;
}

int xw_tune_plan(struct xw_tune_run *t)
{
	int rc;

	t->to = t->sb;
	apply(t);
	rc = imply_quota(t);
	if (!rc)
		rc = imply_checksums(t);
	if (rc)
		return rc;
	imply_names(t);
	imply_losses(t);
	rc = check(t);
	if (rc)
		return rc;
	t->work = itree_work(t) | space_work(t) | (needs_sweep(t) ? XW_TUNE_DO_SWEEP : 0);
	return 0;
}
