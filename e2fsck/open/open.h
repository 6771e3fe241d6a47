/* SPDX-License-Identifier: MIT */
/*
 * Opening the image, with the steps before the first phase: superblock, journal, orphans. Closing
 * it.
 */
#ifndef XW_FSCK_OPEN_H
#define XW_FSCK_OPEN_H

#include "repairs/repairs.h"

/* ---- open.c ---- */

int fsck_open(struct fsck *f);
/* Commit the changes in the overlay, if any; close the image. */
int fsck_close(struct fsck *f, bool commit);
/* Is the filesystem marked clean, so that nothing more must be done without -f? */
bool fsck_is_clean(struct fsck *f);
/*
 * *clean: the filesystem is marked clean, and without -n its orphans are processed. If they cannot
 * be, or need the owner map, it is false.
 */
int fsck_clean_state(struct fsck *f, bool *clean);

/* ---- image.c ---- */

/* Reopen f->ses.img on the current contents of the overlay. */
int fsck_reopen(struct fsck *f);
/* Set up *img for reads by sb's geometry, without opening it; sb must be usable. */
void fsck_image_on(struct xw_image *img, struct xw_dev *dev, const struct xw_super *sb);
enum { FSCK_DESC_MAX = 1024 };
/* Read the primary descriptor of a group, decoded or as stored. False: it cannot be read. */
bool fsck_desc_read(const struct xw_image *img, uint64_t group, struct xw_group_desc *gd);
bool fsck_desc_read_raw(const struct xw_image *img, uint64_t group, uint8_t raw[FSCK_DESC_MAX]);

/* ---- mmp.c ---- */

struct xw_mmp;
/* Read the MMP block; false: it is not valid. Its sequence number may be an impossible one. */
bool fsck_mmp_read(struct fsck *f, struct xw_mmp *mmp);
/* Is the block sound in all respects, or not needed? */
bool fsck_mmp_is_valid(struct fsck *f);

/* ---- unused.c: free blocks ---- */

/* Called before the facts of a round are freed, and at the end of the last round. */
void fsck_unused_note(struct fsck *f);
void fsck_unused_collect(struct fsck *f);
/* Is it known that the block was not in use in any earlier round? */
bool fsck_unused_before(const struct fsck *f, xw_blk blk);
/* Offer free blocks for the redo record; called directly before the commit. */
void fsck_unused_offer(struct fsck *f);
void fsck_unused_free(struct fsck *f);
/* -E discard, after the commit. The repair has succeeded, so a failure is only a warning. */
void fsck_unused_discard(struct fsck *f);

/* ---- evidence.c ---- */

struct fsck_unknown {
	uint32_t compat, incompat, ro;
};

/* Feature bits unknown to stock tools and to this version. */
struct fsck_unknown fsck_unknown_features(const struct xw_super *sb);
/* More unknown bits in one word are taken for damage rather than a new version's features. */
#define FSCK_UNKNOWN_MAX 2
/*
 * A newer kernel may set a feature only in the primary. Does sb differ from `mended` only in a few
 * unknown feature bits, so that it is of a newer version rather than damaged?
 */
bool fsck_super_is_newer(const struct xw_super *sb, const struct xw_super *mended);
/* Are there unknown features beside known ones that contradict each other, or very many? */
bool fsck_features_are_implausible(const struct xw_super *sb);
/* s_first_data_block according to block size and bigalloc. */
uint32_t fsck_first_block(const struct xw_super *sb);
/* Can the filesystem be opened with it? */
bool fsck_super_usable(const struct xw_super *sb);
/* How much its own fields contradict each other: 0 if they do not. */
int fsck_super_conflicts(const struct xw_super *sb);
/* How much data on the device contradicts sb: 0 or less if none. */
int fsck_super_penalty(struct xw_dev *dev, const struct xw_super *sb);

/* What the device says about a superblock; collected by reading only. */
struct fsck_witness {
	bool usable; /* a filesystem can be opened with it */
	int conflicts; /* of its own fields, which contradict each other */
	bool root; /* there is a root directory where it says */
	bool sums; /* its descriptors have checksums with its UUID or seed */
	bool cut; /* the descriptor of the last group is empty */
	bool rival; /* there is another filesystem, with another size of blocks */
	unsigned groups; /* samples, of which so many have */
	unsigned empty; /* an empty descriptor */
	unsigned placed; /* possible places of bitmaps and table */
	unsigned proven; /* a right checksum */
	unsigned bitmaps, padded; /* inode bitmaps in use, and those that end where they should */
};

/* copy: the block of the superblock if it is a backup, whose descriptors follow it; otherwise 0. */
void fsck_witness_collect(struct xw_dev *dev, const struct xw_super *sb, xw_blk copy,
			  struct fsck_witness *w);
/* Why the device does not agree with the superblock; NULL: it agrees. */
const char *fsck_witness_against(const struct fsck_witness *w);
/* Does the padding of group 0's inode bitmap start at sb's number of inodes per group? */
bool fsck_bitmap_ends(struct xw_dev *dev, const struct xw_super *sb);
/* bigalloc: does the padding of the last block bitmap start after the filesystem's last cluster? */
bool fsck_clusters_end(struct xw_dev *dev, const struct xw_super *sb);
/*
 * Change one field after the other as long as sb fits the device better. damaged: its own checksum
 * is wrong, or it cannot be used. true: the checksum confirms the result.
 */
bool fsck_mend_alone(struct xw_dev *dev, struct xw_super *sb, bool damaged);
/* The penalty if nothing contradicts sb, and its checksums support it. */
int fsck_super_ideal(const struct xw_super *sb);
/* Does an inode table with the root directory start at block `table`? */
bool fsck_is_root_table(struct xw_dev *dev, const struct xw_image *img, xw_blk table);
/*
 * Is there such a table at another block than the descriptor of group 0 says, by sb's geometry?
 * Then the descriptor is wrong, and not sb.
 */
bool fsck_root_is_elsewhere(struct xw_dev *dev, const struct xw_super *sb);
/*
 * The number of blocks according to the bitmap of the last group, if it has free blocks behind the
 * end of sb's filesystem; otherwise that of sb.
 */
uint64_t fsck_counted_blocks(struct xw_dev *dev, const struct xw_super *sb);
/* Is the default hash one that no directory can have? Such a filesystem is not clean. */
bool fsck_hash_is_unknown(const struct xw_super *sb);
/*
 * Are these blocks inside of the filesystem, and without flex_bg of the group, as bitmaps and table
 * must be?
 */
bool fsck_group_has(const struct xw_image *img, uint64_t group, xw_blk blk, uint64_t len);
/* Are bitmaps and table of the group inside of the filesystem, and without flex_bg of the group? */
bool fsck_group_has_places(const struct xw_image *img, uint64_t group,
			   const struct xw_group_desc *gd);

/* ---- copies.c ---- */

enum { FSCK_COPIES_MAX = 8 };

struct fsck_copies {
	size_t n;
	struct fsck_copy {
		uint64_t at; /* offset on the device in bytes */
		bool numbered; /* its s_block_group_nr is that of its place */
		uint8_t raw[XW_SUPER_SIZE];
		struct xw_super sb;
	} v[FSCK_COPIES_MAX];
};

/* Add copies at the places given by sb's geometry; sb NULL: by any default geometry. */
void fsck_copies_usual(struct xw_dev *dev, const struct xw_super *sb, struct fsck_copies *all);
/* Add copies found anywhere in the first `end` bytes of the device. */
void fsck_copies_search(struct xw_dev *dev, uint64_t end, struct fsck_copies *all);
/* The copy given by -b and -B. XW_ERR_INPUT. */
int fsck_copies_named(struct fsck *f, struct fsck_copies *all);

/* ---- places.c ---- */

/* Can files be created in this directory, which may have to be created as well? Sets errno. */
bool fsck_can_make_in(const char *dir);
/* Check the files given by -z and --redo-file. XW_ERR_EXISTS, XW_ERR_NOTFOUND, XW_ERR_IO. */
int fsck_check_places(struct fsck *f);

/* ---- choose.c ---- */

/*
 * Choose the superblock to continue with, on the overlay: the primary, repaired from its copies, or
 * a copy. XW_ERR_INPUT: there is none. XW_ERR_UNSUPPORTED: it has unknown features.
 */
int fsck_choose_super(struct fsck *f);

/* ---- journal.c ---- */

/*
 * Has the journal inside of the filesystem, if there is one, a sound inode and an empty log?
 * Otherwise it is to be checked: a mount would replay or discard the log.
 */
bool fsck_journal_is_empty(struct fsck *f);
/* Does the superblock name no journal, an inode, or a device, as its features say? */
bool fsck_journal_fields_agree(struct fsck *f);
/* Drop a damaged external journal; a new journal is created in the filesystem. */
int fsck_drop_external(struct fsck *f);
/* Drop the internal journal; it is created anew at the end of the round, if there is space then. */
int fsck_drop_journal(struct fsck *f);

/* ---- replay.c, journal_choice.c ---- */

/* Called before all checks: replay the journal. */
int fsck_replay(struct fsck *f);
struct xw_log;
/* How to replay the log: flags of session/journal.h. XW_ERR_NOMEM, XW_ERR_IO. */
int fsck_choose_replay(struct fsck *f, struct xw_log *log, unsigned *flags);
/* Report that a damaged log was replayed in this way. */
void fsck_found_replay(struct fsck *f, unsigned how);

/*
 * journal_device.c: replay the journal on the device of -j, or that with its UUID. XW_ERR_NOTFOUND:
 * recovery is needed, and there is no such device; XW_ERR_INPUT: it is another journal.
 */
int fsck_replay_device(struct fsck *f);

/*
 * orphans.c: process the orphans of a filesystem that is clean otherwise. *done: all are processed,
 * or there are none.
 */
int fsck_clear_orphans(struct fsck *f, bool *done);

#endif
