/* SPDX-License-Identifier: MIT */
/*
 * xw-fsck: what its phases share.
 *
 * One round looks at everything, in this order, and repairs into the overlay as it goes:
 *
 *	open      choose a superblock, finish an interrupted change, replay the journal
 *	super     superblock, group descriptors, journal inode, resize inode, orphan lists
 *	inodes    every inode record: its map and attributes; which blocks it claims
 *	contested blocks that more than one owner claims
 *	xattrs    attribute blocks and EA inodes: contents and reference counts
 *	dirs      every directory block, hash tree and itree
 *	tree      directories that nobody names: lost+found
 *	links     link counts; inodes without a name: lost+found
 *	space     bitmaps, free counts, quota
 *
 * Rounds are repeated on the overlay until one finds nothing; then all of it is committed as one
 * unit. So a repair may leave to the next round what follows from it.
 *
 * A phase reports with fsck_found() and repairs only when that returns true. It must go on sensibly
 * when it returns false: with -n nothing is ever repaired. Facts are those of the state on the
 * overlay, so a repair updates them as well. A phase returns early once f->stop is set.
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
#include "update/session.h"

#include "finding.h"
#include "options.h"
#include "progress.h"

/* Files share blocks, and nobody may write to any: e2fsck(8), -E unshare_blocks. */
#define FSCK_RO_SHARED_BLOCKS 0x4000u

/* ---- facts: one record an inode, arrays by group, allocated when the first is in use ---- */

#define FSCK_I_USED 0x01 /* the record is in use: links, or named although it has none */
#define FSCK_I_EA 0x04 /* an EA inode: held by references of attributes, not by names */
#define FSCK_I_SYSTEM 0x08 /* reserved: no name, and not for lost+found */
#define FSCK_I_ORPHAN 0x10 /* in the orphan list or file */
#define FSCK_I_ENCRYPT 0x20
#define FSCK_I_CASEFOLD 0x40
#define FSCK_I_CONTESTED 0x80 /* claims blocks that others claim as well */

struct fsck_inode {
	uint16_t links; /* of the record */
	uint16_t names; /* directory entries that lead to it; 65535: that many or more */
	uint8_t ftype; /* enum xw_ftype, of the mode */
	uint8_t flags; /* FSCK_I_* */
};

struct fsck_dir {
	xw_ino ino;
	xw_ino parent; /* of the directory that names it first; 0: nobody does yet */
	xw_ino dotdot; /* what its ".." says; 0: none */
	uint32_t subdirs; /* entries in it that are directories */
	uint32_t generation; /* of its inode: checksums of its blocks depend on it */
	bool indexed, is_inline, itree; /* as its flags say */
	bool rebuild; /* its entries are to be written anew */
	bool attached; /* the root can be reached through its parents */
	bool itree_stale; /* its entries were changed in this round */
	bool itree_wanted; /* it had an itree, which is to be built again */
	bool links_follow; /* its link count changes with repairs, without a question */
};

/* What is kept of an itree until the directory's entries have been seen. */
struct fsck_itree {
	xw_ino ino;
	struct xw_itree_sum entries; /* of the directory's blocks */
	struct xw_itree_sum leaves; /* of the tree */
};

/* One block of a directory, to be read in the order of the disk. */
struct fsck_dirblock {
	xw_blk pblk; /* 0: a hole */
	xw_lblk lblk;
	uint32_t dir; /* index into dirs */
};

struct fsck_quota; /* space room */
struct fsck_xattrs; /* xattr room */

struct fsck {
	struct fsck_opts opts;
	struct fsck_findings findings; /* policy and counts; finding.h */
	struct fsck_progress progress; /* passes; progress.h */
	const struct xw_commit_watch *watch; /* for xw_edit_opts: signals */
	struct xw_diag diag;

	/* open.c */
	struct xw_edit *edit; /* NULL: a read-only look at dev alone */
	struct xw_dev *dev; /* overlay: everything is read from it and written to it */
	struct xw_image
		*img; /* on dev, lenient; closed and opened again when the superblock changes */
	struct xw_session session; /* on dev; see fsck_update() */
	bool super_lost; /* the primary superblock was damaged beyond use */
	bool from_backup; /* it was replaced by a backup: dynamic fields are stale */
	uint64_t backup_group; /* with a copy of superblock and descriptors; 0: none is known */
	bool journal_lost; /* to be made anew */
	bool renew_backups; /* superblock or descriptors were repaired */
	bool replayed; /* the journal */
	bool replayed_there; /* on disk, whatever becomes of the check */
	uint64_t orphans; /* put away */
	bool relocate; /* a group lacks a bitmap or its table; see fsck_relocate() */

	uint32_t features[3]; /* as opened: when they change, so do the backups */
	uint64_t unreadable; /* a byte behind which a read has failed; 0: none. Atomic */

	/* state of a round */
	unsigned round; /* from 0 */
	bool stop; /* interrupted, or preening met what needs a person: return at once */
	bool changed; /* something was written to dev in this round */
	bool allocated; /* an update has run in this round: `space` is left to the next round */
	bool again; /* facts are stale after a repair: the next round begins at once */
	/* bad.c: the list for the bad-block inode, written after a round without an update */
	XW_VEC(uint32_t) bad;
	uint64_t bad_found; /* by -c */
	bool bad_pending;
	bool maps_rewritten; /* extents.c */
	unsigned freed_in; /* round, from 1, that freed blocks for an option's sake; 0: none */
	bool settling; /* block bitmaps and counts that differ follow from that: no error */
	bool space_looked, quota_looked; /* in this round or an earlier one */
	bool first_look; /* by what runs now: it finds what the image came with, in any round */
	bool quota_checked; /* in this round */
	bool must; /* what is found is repaired whatever the policy: an update depends on it */
	bool full; /* a full check is wanted (not "clean" by its superblock) */
	bool undecided; /* the commit failed, and may have done its work */

	/* facts */
	struct fsck_inode **groups; /* [img->groups] of [inodes_per_group], or NULL */
	struct xw_blockset *claims; /* clusters that are in use, group metadata included */
	struct xw_blockset *contested; /* clusters that more than one claims; NULL: none */
	XW_VEC(xw_ino)
	misplaced; /* bigalloc: inodes whose blocks are not where clusters want them */
	struct xw_sysmap *sysmap; /* where the metadata of groups is; claims.c */
	XW_VEC(struct fsck_dir) dirs; /* by inode number */
	XW_VEC(struct fsck_dirblock) dirblocks;
	uint64_t dir_runs; /* of these, blocks that are no holes */
	bool dirs_cut; /* more than the filesystem has: shared ones, and the rest is left out */
	XW_VEC(struct fsck_itree) itrees; /* by inode number: undamaged in themselves */
	struct fsck_xattrs *xattrs; /* xattrs.c */
	struct fsck_quota *quota; /* quota.c */
	struct xw_table policies; /* of encrypted inodes; inode_encrypt.c */
	struct fsck_counts {
		uint64_t files, dirs, links; /* inodes in use; directories; further names */
		uint64_t regular, symlinks, fast_symlinks, fifos, sockets;
		uint64_t char_devices, block_devices;
		uint64_t blocks; /* blocks in use */
		uint64_t bad_blocks; /* of the bad-block inode */
		uint64_t fragmented, fragmented_dirs; /* blocks that are not consecutive */
		uint64_t indirect[3]; /* block maps with a block of that level, less one */
		uint64_t itrees;
		uint64_t ea_inodes; /* counted as regular files, too */
		uint64_t by_depth[6]; /* extent trees */
		uint64_t large_files; /* regular files that need RO_LARGE_FILE */
	} counts;
	xw_ino lost_found; /* 0: not known yet */
	bool names_known; /* `dirs` has run in this round: names and parents are facts */
};

/* ---- facts.c ---- */

/* The record of ino, NULL when none of its group is in use or the number is out of range. */
struct fsck_inode *fsck_inode(const struct fsck *f, xw_ino ino);
/* The same, allocated when need be. XW_ERR_NOMEM. ino is in range. */
int fsck_inode_make(struct fsck *f, xw_ino ino, struct fsck_inode **out);
/* By number; NULL: ino is no directory. Valid until the next one is added. */
struct fsck_dir *fsck_dir(const struct fsck *f, xw_ino ino);
/* Everything a round has found out, for the next one. */
void fsck_facts_free(struct fsck *f);
/* Threads for loops over groups: as many as was said, but one where there is little to do. */
unsigned fsck_jobs(const struct fsck *f);

/*
 * The clusters of [blk, blk + len) are in use. *again, which may be NULL, says how many of them
 * were claimed before; these are in f->contested from then on.
 */
int fsck_claim(struct fsck *f, xw_blk blk, uint64_t len, uint64_t *again);
/* They are not, after all (what was claimed for a map that is cleared now). */
void fsck_unclaim(struct fsck *f, xw_blk blk, uint64_t len);
bool fsck_is_claimed(const struct fsck *f, xw_blk blk);
/* Is any of these blocks metadata of a group (superblock, descriptors, bitmaps, tables)? */
bool fsck_is_metadata(const struct fsck *f, xw_blk blk, uint64_t len);
/* All of that is in use: the first claims of a round. */
int fsck_claim_metadata(struct fsck *f);

/* ---- write.c: repairs of single records ---- */

int fsck_read(struct fsck *f, xw_blk blk, uint64_t n, void *buf);
/* Sets f->changed, and the image forgets what it has cached. */
int fsck_write(struct fsck *f, xw_blk blk, uint64_t n, const void *buf);
/* Inode ino as on the overlay; raw: inode_size bytes or NULL. Not verified; decoded if possible. */
int fsck_inode_read(struct fsck *f, xw_ino ino, struct xw_inode *in, uint8_t *raw);
/* `in` encoded over raw, checksum set, written. */
int fsck_inode_write(struct fsck *f, xw_ino ino, const struct xw_inode *in, uint8_t *raw);
/* The record becomes zeros, but for the generation; dtime is set. Facts: no longer in use. */
int fsck_inode_clear(struct fsck *f, xw_ino ino);
/* f->img->sb with checksum to the primary superblock (backups: super.c, when the round ends). */
int fsck_super_write(struct fsck *f);

/*
 * ---- update.c: repairs that allocate, through the transaction that every tool uses ----
 *
 * The first call of a round settles bitmaps, counts and quota (fsck_space_settle()), so only phases
 * behind `contested` may call it. One update is open at a time; it can hold several repairs.
 * fsck_update_keep() writes it to the overlay; on failure fsck_update_drop().
 */
int fsck_update(struct fsck *f, struct xw_update **out);
int fsck_update_keep(struct fsck *f);
/* Written to the overlay, and the update goes on; after a failure it is to be dropped. */
int fsck_update_step(struct fsck *f);
void fsck_update_drop(struct fsck *f);

/* ---- phases ---- */

int fsck_open(struct fsck *f); /* open.c */
/* Commits what the overlay holds, when there is something; closes the image. */
int fsck_close(struct fsck *f, bool commit);
/* Is the filesystem marked clean, so that without -f nothing more is to be done? */
bool fsck_is_clean(struct fsck *f);
/* The same, but for -n with orphans put away; where that is not possible, *clean is false. */
int fsck_settle_clean(struct fsck *f, bool *clean);

/*
 * XW_ERR_IO, with a line that names the block, when a block could not be read. What was taken for
 * damage may be whole on the medium, so that nothing is repaired then: -n reports what it finds,
 * else the check ends with the first finding behind it (fsck_found()). Exceptions: the superblock,
 * which has copies, and -c, -l and -L, which repair the filesystem around blocks that are bad.
 */
int fsck_check_readable(struct fsck *f);

int fsck_check_super(struct fsck *f); /* super.c, groups.c, journal.c, orphans.c */
/*
 * groups.c: a name leads to ino, which is not in use as far as is known. Is it in the part of a
 * table that was said to be unused? Then all of the table is read in the next round.
 */
bool fsck_group_expose(struct fsck *f, xw_ino ino, const char *name, size_t len);
int fsck_check_inodes(struct fsck *f); /* inodes.c */
/* inode_encrypt.c: the same encryption policy, as far as those of both are known */
bool fsck_same_policy(const struct fsck *f, xw_ino dir, xw_ino ino);
int fsck_claim_itrees(struct fsck *f); /* itree.c: nodes of itrees, as part of the claims */
/*
 * The feature bit of itrees is missing, and this directory has one: its slot leads to a root node
 * that names it. True: the bit has been set.
 */
bool fsck_itree_feature(struct fsck *f, xw_ino ino, const struct xw_inode *in);
int fsck_relocate(struct fsck *f); /* relocate.c: places for lost bitmaps and tables */
int fsck_check_contested(struct fsck *f); /* contested.c */
int fsck_check_xattrs(struct fsck *f); /* xattrs.c */
int fsck_check_dirs(struct fsck *f); /* dirs.c */
int fsck_check_tree(struct fsck *f); /* tree.c */
int fsck_check_links(struct fsck *f); /* links.c */
int fsck_recreate(struct fsck *f); /* journal.c: a journal or resize inode that was lost */
int fsck_check_space(struct fsck *f); /* space.c, quota.c */
/* bad.c: the blocks that -c finds or -l and -L list; and their inode, at the end of a round. */
int fsck_find_bad(struct fsck *f);
int fsck_set_bad(struct fsck *f);
/* extents.c: maps that -E bmap2extent and optimize_extents change; RO_SHARED_BLOCKS. */
int fsck_rewrite_maps(struct fsck *f);
/*
 * Bitmaps, descriptors' and superblock's counts as the facts have them: differences are reported,
 * and repaired without a question. Once names are known, quota as well, by the usual policy.
 */
int fsck_space_settle(struct fsck *f);

/*
 * xattrs.c, for each inode in use while `inodes` runs, before its i_blocks are looked at: checks
 * and repairs what is in the record and the reference to its block. *raw and *in are changed when
 * something is repaired (*dirty; the caller writes the record). *blocks: filesystem blocks that its
 * attributes count in i_blocks, the block and values in EA inodes.
 */
int fsck_xattr_inode(struct fsck *f, xw_ino ino, struct xw_inode *in, uint8_t *raw, bool *dirty,
		     uint64_t *blocks);

/* quota.c, for each inode in use, once its i_blocks are right: counts for its owners. */
int fsck_quota_add(struct fsck *f, xw_ino ino, const struct xw_inode *in);

void fsck_xattrs_free(struct fsck *f);
void fsck_quota_free(struct fsck *f);

/* run.c: all rounds. 0, or what kept the check from coming to its end. */
int fsck_run(struct fsck *f);

#endif
