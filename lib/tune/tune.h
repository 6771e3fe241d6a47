/* SPDX-License-Identifier: MIT */
/*
 * Changes parameters and features of an existing image in one commit, as tune2fs(8) does, but
 * without leaving work to e2fsck.
 *
 *	xw_tune_want_features(&want, "^has_journal,itree", &diag)
 *	want.set |= XW_TUNE_LABEL; ...
 *	xw_tune_image(path, &opts, &want, &diag, &result)
 *
 * The image is recovered first, as with every change (session/edit.h).
 */
#ifndef XW_TUNE_TUNE_H
#define XW_TUNE_TUNE_H

#include "session/edit.h"
#include "disk/quota.h"
#include "disk/super.h"
#include "plan/features.h"
#include "space/space.h"

/* Which fields of struct xw_tune_want are set. */
#define XW_TUNE_LABEL 0x00001u
#define XW_TUNE_LAST_MOUNTED 0x00002u
#define XW_TUNE_UUID 0x00004u
#define XW_TUNE_RESERVED_PERCENT 0x00008u
#define XW_TUNE_RESERVED_BLOCKS 0x00010u
#define XW_TUNE_ERRORS 0x00020u
#define XW_TUNE_MAX_MNT_COUNT 0x00040u
#define XW_TUNE_MNT_COUNT 0x00080u
#define XW_TUNE_INTERVAL 0x00100u
#define XW_TUNE_LASTCHECK 0x00200u
#define XW_TUNE_RESUID 0x00400u
#define XW_TUNE_RESGID 0x00800u
#define XW_TUNE_MOUNT_OPTS 0x01000u
#define XW_TUNE_STRIDE 0x02000u
#define XW_TUNE_STRIPE_WIDTH 0x04000u
#define XW_TUNE_HASH_ALG 0x08000u
#define XW_TUNE_MMP_INTERVAL 0x10000u
#define XW_TUNE_CLEAR_MMP 0x20000u
#define XW_TUNE_FORCE_FSCK 0x40000u
#define XW_TUNE_TEST_FS 0x80000u
#define XW_TUNE_JOURNAL 0x100000u /* create a journal; XW_ERR_EXISTS if there is one */
#define XW_TUNE_INODE_SIZE 0x200000u

struct xw_tune_want {
	uint32_t set; /* XW_TUNE_* */
	char label[17], last_mounted[65];
	uint8_t uuid[16];
	double reserved_percent;
	uint64_t reserved_blocks; /* takes precedence if both are set */
	uint16_t errors; /* 1 continue, 2 remount-ro, 3 panic */
	int16_t max_mnt_count, mnt_count;
	uint32_t interval; /* seconds between checks */
	int64_t lastcheck;
	uint32_t resuid, resgid;
	uint32_t default_opts_on, default_opts_off; /* bits of s_default_mount_opts */
	char mount_opts[65];
	uint32_t stride, stripe_width;
	uint8_t hash_version;
	uint16_t mmp_interval; /* 0: the default */
	bool test_fs; /* with XW_TUNE_TEST_FS: the new value */
	uint16_t encoding, encoding_flags; /* for casefold; 0: the default */
	struct xw_features on, off; /* to be set, to be cleared; disjoint */
	unsigned quota_on, quota_off; /* 1 << enum xw_quota_type; disjoint */
	uint32_t inode_size; /* bytes, a power of two; larger than the current size */
	uint64_t journal_bytes; /* size of a new journal; 0: by the filesystem size */
	uint64_t fast_commit_kib; /* fast commit area of a new journal; 0: by the filesystem size */
	uint64_t orphan_blocks; /* size of a new orphan file; 0: by the filesystem size */
};

struct xw_tune_opts {
	const char *redo_file, *redo_dir, *undo_file; /* as in xw_edit_opts */
	uint64_t offset;
	enum xw_commit_how how;
	int64_t now;
	const struct xw_commit_watch *watch; /* as in xw_edit_opts */
	bool force; /* -f */
	unsigned jobs; /* 0 = processors */
};

struct xw_tune_outcome {
	struct xw_super before, after;
	uint64_t itrees_built, itrees_dropped;
	uint64_t directories_rebuilt, indexes_dropped;
	struct xw_commit_info commit;
	struct xw_space_stats space; /* statistics of all allocations */
	bool replayed; /* the journal was replayed first */
};

/*
 * Parse a list of features as for -O: "a,^b,+c"; later words override earlier ones. XW_ERR_USAGE:
 * unknown feature; XW_ERR_UNSUPPORTED: a feature that cannot be set or cleared.
 */
int xw_tune_want_features(struct xw_tune_want *w, const char *list, struct xw_diag *diag);

/*
 * Change the image at path. XW_ERR_USAGE, XW_ERR_UNSUPPORTED: not possible with the existing
 * features; XW_ERR_STATE: the change requires a checked filesystem, but the image is marked as
 * unclean or having errors; XW_ERR_NOSPC, XW_ERR_CORRUPT, XW_ERR_CHECKSUM, and errors of opening.
 * After an error the image is unchanged. *res is valid after success.
 */
int xw_tune_image(const char *path, const struct xw_tune_opts *opts,
		  const struct xw_tune_want *want, struct xw_diag *diag,
		  struct xw_tune_outcome *res);
/* As xw_tune_image(), for an open edit, which is ended in any case. */
int xw_tune_edit(struct xw_edit *e, const struct xw_tune_opts *opts,
		 const struct xw_tune_want *want, struct xw_diag *diag,
		 struct xw_tune_outcome *res);

enum xw_tune_pending {
	XW_TUNE_NOT_PENDING,
	XW_TUNE_COMPLETED, /* the redo record or file exists, and was applied */
	XW_TUNE_GIVEN_UP,
	XW_TUNE_CLEARED, /* no change was pending; a stale record was removed */
};

/*
 * Abandon an interrupted change of the image at path whose redo record or file is lost: mark the
 * image as having errors instead of having a change pending. *was: what was found and done.
 */
int xw_tune_clear_pending(const char *path, const struct xw_tune_opts *opts, struct xw_diag *diag,
			  enum xw_tune_pending *was);

/*
 * Update the copies of the superblock on img's device, and with `descs` those of the group
 * descriptors where they differ.
 */
int xw_tune_copies(struct xw_image *img, bool descs);

struct xw_update;
/* Create a journal of the default size in inode 8, which must be unused. XW_ERR_NOSPC. */
int xw_tune_make_journal(struct xw_update *u);

#endif
