/* SPDX-License-Identifier: MIT */
/*
 * xw-fsck: the state of a check.
 *
 * A round checks everything, in the order of the table in check/rounds.c, and writes repairs to the
 * overlay. It first reads all inodes, which tells the owner of each block (facts/owners.h); until
 * then repairs write only superblock, descriptors and inode records.
 *
 * Rounds are repeated on the overlay until one finds nothing; then the overlay is committed as one
 * unit. So a repair may leave its consequences to the next round.
 *
 * A phase reports with fsck_found(), and repairs only if that returns true. If it returns false, as
 * always with -n, the phase must continue without the repair. Facts describe the state on the
 * overlay, so a repair updates them as well. A phase returns early once f->ses.stop is set.
 */
#ifndef XW_FSCK_FSCK_H
#define XW_FSCK_FSCK_H

#include "base/blockset.h"
#include "base/table.h"
#include "base/vec.h"
#include "session/edit.h"
#include "dir/itree_check.h"
#include "disk/dirent.h"
#include "read/bitmaps.h"
#include "read/image.h"
#include "read/map.h"
#include "update/steps.h"

#include "report/finding.h"
#include "options.h"
#include "facts/owners.h"

/* ---- facts: one record per inode, arrays by group, allocated when the first one is in use ---- */

#define FSCK_I_USED 0x01 /* the record is in use: it has links, or a name */
#define FSCK_I_EA 0x04 /* an EA inode: referenced by attributes instead of names */
#define FSCK_I_SYSTEM 0x08 /* reserved: no name, and not for lost+found */
#define FSCK_I_ORPHAN 0x10 /* in the orphan list or file */
#define FSCK_I_ENCRYPT 0x20
#define FSCK_I_CASEFOLD 0x40
#define FSCK_I_CONTESTED 0x80 /* claims blocks that others claim as well */

struct fsck_inode {
	uint16_t links; /* of the record */
	uint16_t names; /* directory entries that refer to it; 65535: that many or more */
	uint8_t ftype; /* enum xw_ftype, from the mode */
	uint8_t flags; /* FSCK_I_* */
};

struct fsck_dir {
	xw_ino ino;
	xw_ino parent; /* the directory that contains its first name; 0: none so far */
	xw_ino dotdot; /* inode number in its ".."; 0: none */
	uint32_t subdirs; /* entries in it that are directories */
	uint32_t generation; /* of its inode: checksums of its blocks depend on it */
	bool indexed, is_inline, itree; /* according to its flags */
	bool rebuild; /* its entries must be rewritten */
	bool optimize; /* they are rewritten if that changes anything (-D) */
	bool attached; /* the root is reachable through its parents */
	bool itree_stale; /* its entries were changed in this round */
	bool links_follow; /* its link count is adjusted after repairs without a question */
};

/* Facts about an itree, kept until the entries of the directory have been read. */
struct fsck_itree {
	xw_ino ino;
	struct xw_itree_sum entries; /* of the directory's blocks */
	struct xw_itree_sum leaves; /* of the tree */
};

/* One block of a directory, to be read in disk order. */
struct fsck_dirblock {
	xw_blk pblk; /* 0: a hole */
	xw_lblk lblk;
	uint32_t dir; /* index into dirs */
};

/* An extent tree to be rewritten. */
struct fsck_rebuild {
	xw_ino ino;
	struct xw_map_run *runs; /* its extents, ascending; malloc'd */
	size_t n;
	xw_blk *nodes; /* map blocks that it had and may use again; malloc'd */
	size_t n_nodes;
};

struct fsck_reporter; /* report/report.h */
struct fsck_told; /* report/report.h */
struct fsck_quota; /* facts/usage.h */
struct fsck_xattrs; /* facts/xattrs.h */

/* Which clusters are free, counted from the first data block on; open/unused.c. */
struct fsck_unused {
	struct xw_blockset *claims; /* clusters in use in the last round; NULL: not known */
	struct xw_blockset *ever; /* clusters in use in an earlier round; NULL: there was none */
	bool spoiled; /* it is not known what was in use in an earlier round */
	bool complete; /* the last round left no finding */
	unsigned cluster_bits; /* log2 of the number of blocks in a cluster */
	xw_blk first; /* the first data block */
	uint64_t at, limit; /* the next cluster to look at, and their number */
	uint64_t bytes; /* of a block */
	uint64_t end; /* of the filesystem, in bytes */
};

/* What is open, who is told, and what lasts for the whole check. */
struct fsck_session {
	struct fsck_findings findings; /* policy and counts; finding.h */
	const struct fsck_reporter *to; /* receives reports; NULL: none */
	void *to_arg;
	/*
	 * Fills in the paths of a finding that is asked about (t is NULL) or told, and notes what
	 * it changes; check/changes.c. The paths are valid until the next call. NULL: none.
	 */
	void (*describe)(void *arg, struct fsck *f, struct fsck_about *a,
			 const struct fsck_told *t);
	void *describe_arg;
	const struct xw_commit_watch *watch; /* cancels the check; may be NULL */
	struct xw_diag diag;
	char label[17]; /* of the filesystem, for xw_fsck_name() */

	/* open/open.c */
	struct xw_edit *edit; /* NULL: a read-only check of dev */
	struct xw_dev *dev; /* overlay: all reads and writes use it */
	struct xw_image *img; /* on dev, lenient; reopened when the superblock changes */
	struct xw_steps steps; /* on dev; see fsck_update() */
	struct xw_blockset *opened; /* blocks written by journal and orphans; NULL: none */
	struct fsck_unused unused;
	uint64_t unreadable; /* end of a failed read, in bytes; 0: none. Atomic */
	bool undecided; /* the commit failed, and may have been completed nevertheless */

	/* interrupted, or preening met a finding that needs an administrator: return at once */
	bool stop;
	bool report_only; /* nothing is repaired any more */
	bool full_told; /* that there is no space for all copies of contested blocks */
	bool full; /* a full check is requested (or not "clean" by its superblock) */
	bool renew_backups; /* superblock or descriptors were repaired */

	/* Left to a later phase or round. */
	/* bad.c: the list for the bad-block inode, written after a round without an update */
	XW_VEC(uint32_t) bad;
	uint64_t bad_found; /* by -c */
	bool bad_pending;
	bool root_found; /* of blocks that may repeat names: the directory is to be rebuilt */
	bool relocate; /* a group lacks a bitmap or its table; see fsck_relocate() */
	bool maps_rewritten; /* extents.c */
	/* an EA inode has or had a wrong pointer or checksum: values are read; xattr_value.c */
	bool values_doubted;
	/* EA inodes whose hash was computed anew: those in entries are, too; xattrs.c */
	struct xw_table rehashed; /* see xw_numbers_add() */
	struct xw_blockset *trees_wanted; /* directories that had an itree; NULL: none */
	unsigned freed_in; /* round, from 1, that freed blocks because of an option; 0: none */
	/* for each part the round, from 1, that has looked at all of it first; 0: none so far */
	uint8_t looked[FSCK_PARTS];
};

/* What opening found, and did; open/. */
struct fsck_start {
	uint32_t features[3]; /* if they change, backups are rewritten */
	bool dirty; /* not marked valid */
	bool checked_elsewhere; /* by another checker, according to MMP */
	bool super_lost; /* the primary superblock was unusable */
	bool from_backup; /* it was replaced by a backup: dynamic fields are stale */
	bool log_unknown; /* only a backup says that there is a journal */
	uint64_t backup_group; /* a group with backup superblock and descriptors; 0: none known */
	bool stale_backups; /* to be rewritten by a full check */
	bool features_differ; /* those of the backups, which are then stale */
	bool journal_lost; /* must be recreated */
	bool replayed; /* the journal */
	bool replayed_on_disk; /* whatever the result of the check */
	uint64_t orphans; /* orphans processed */
	/* files that were orphans, cut short within a block, whose rest is not zeroed yet */
	XW_VEC(xw_ino) cut;
};

/* The current round. */
struct fsck_round {
	unsigned number; /* from 0 */
	unsigned pass; /* of e2fsck(8); 0: before the first one */
	unsigned part; /* the one that findings are about, unless their id says it */
	bool changed; /* something was written to dev */
	bool allocated; /* an update was made: `space` is left to the next round */
	bool again; /* facts are stale after a repair: start the next round at once */
	bool quota_checked;
	bool must; /* findings are repaired whatever the policy: an update depends on it */
};

struct fsck_counts {
	uint64_t files, dirs, links; /* inodes in use; directories; additional names */
	uint64_t regular, symlinks, fast_symlinks, fifos, sockets;
	uint64_t char_devices, block_devices;
	uint64_t blocks; /* blocks in use */
	uint64_t bad_blocks; /* of the bad-block inode */
	uint64_t fragmented, fragmented_dirs; /* inodes whose blocks are not consecutive */
	uint64_t indirect[3]; /* block maps with a block of that level minus one */
	uint64_t itrees;
	uint64_t ea_inodes; /* also counted as regular files */
	uint64_t by_depth[6]; /* extent trees */
	uint64_t large_files; /* regular files that need RO_LARGE_FILE */
	uint64_t free_blocks, free_inodes; /* where they are known */
	bool free_known;
};

/* What a round finds out about the filesystem; emptied before each round. */
struct fsck_facts {
	struct fsck_inode **groups; /* [img->groups] of [inodes_per_group], or NULL */
	struct fsck_owners owners; /* owners.h */
	XW_VEC(xw_ino) misplaced; /* bigalloc: inodes with blocks not aligned to clusters */
	/* extent trees to be rewritten, once it is known which blocks are theirs; repairs/maps.c */
	XW_VEC(struct fsck_rebuild) rebuilds;
	XW_VEC(struct fsck_dir) dirs; /* by inode number */
	XW_VEC(struct fsck_dirblock) dirblocks;
	uint64_t dir_runs; /* directory blocks that are not holes */
	bool dirs_cut; /* more than the filesystem has: shared ones; the rest is skipped */
	XW_VEC(struct fsck_itree) itrees; /* by inode number: those whose nodes are undamaged */
	struct fsck_xattrs *xattrs; /* facts/xattrs.h */
	struct fsck_quota *quota; /* facts/usage.h */
	struct xw_table policies; /* of encrypted inodes; inode_encrypt.c */
	struct fsck_counts counts;
	xw_ino lost_found; /* 0: unknown so far */
	bool names_known; /* `dirs` has run: names and parents are facts */
};

struct fsck {
	struct fsck_opts opts; /* what the user asked for */
	struct fsck_session ses;
	struct fsck_start start;
	struct fsck_round round;
	struct fsck_facts facts;
};

/* All of the part has been looked at in this round. */
static inline void fsck_looked(struct fsck *f, unsigned part)
{
	if (!f->ses.looked[part])
		f->ses.looked[part] = (uint8_t)(f->round.number + 1);
}

#endif
