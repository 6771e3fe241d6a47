/* SPDX-License-Identifier: MIT */
/* The facts that a round has found out, and reads of the overlay. Nothing here writes. */
#ifndef XW_FSCK_FACTS_H
#define XW_FSCK_FACTS_H

#include "fsck.h"

/*
 * Reads without messages: `auto_quiet q = fsck_quiet(&dev->diag);` hides them until the end of the
 * scope.
 */
struct fsck_quiet {
	struct xw_diag **at, *was;
};

static inline struct fsck_quiet fsck_quiet(struct xw_diag **at)
{
	const struct fsck_quiet q = {at, *at};

	*at = NULL;
	return q;
}

static inline void fsck_quiet_end(struct fsck_quiet *q)
{
	*q->at = q->was;
}

#define auto_quiet __attribute__((cleanup(fsck_quiet_end), unused)) struct fsck_quiet

/* ---- facts.c ---- */

/* The record of ino; NULL if no inode of its group is in use, or if the number is out of range. */
struct fsck_inode *fsck_inode(const struct fsck *f, xw_ino ino);
/* The record of ino, allocated if necessary. XW_ERR_NOMEM. ino must be in range. */
int fsck_inode_make(struct fsck *f, xw_ino ino, struct fsck_inode **out);
/* The facts about directory ino; NULL: it is not a directory. Valid until a directory is added. */
struct fsck_dir *fsck_dir(const struct fsck *f, xw_ino ino);
/* The facts about the itree of ino; NULL: none. */
struct fsck_itree *fsck_itree(const struct fsck *f, xw_ino ino);
/*
 * Add to the set of directories whose itree was dropped, and is rebuilt at the end of this round or
 * a later one. The set outlives the rounds.
 */
int fsck_push_itree(struct fsck *f, xw_ino ino);
/* Is the directory one of those with a wanted itree? It is removed from the set. */
bool fsck_pop_itree(struct fsck *f, xw_ino ino);
/* Number of threads for loops over groups: as requested, but one for small images. */
unsigned fsck_jobs(const struct fsck *f);
/*
 * round.c: from here on the check only reports, as with -n, because a repair that all others depend
 * on was declined. The repairs made so far are kept.
 */
void fsck_report_only(struct fsck *f);
/* Free the facts of a round. */
void fsck_facts_free(struct fsck *f);

/* ---- read.c ---- */

/* Read blocks from the overlay, or from the kept writes, which are not on the overlay yet. */
int fsck_read(struct fsck *f, xw_blk blk, uint64_t n, void *buf);
/* Read inode ino from the overlay. raw: inode_size bytes, or NULL. The checksum is not verified. */
int fsck_inode_read(struct fsck *f, xw_ino ino, struct xw_inode *in, uint8_t *raw);
/* The same into a new buffer, which the caller frees, also after a failure. */
int fsck_inode_load(struct fsck *f, xw_ino ino, struct xw_inode *in, uint8_t **raw);

/* A write that waits for the owner map to be complete. */
struct fsck_kept {
	xw_blk blk; /* 0: unused slot */
	enum fsck_owner owner;
	uint8_t *data; /* one block */
};

/* Keep a copy of the block; an earlier copy of it is replaced. XW_ERR_NOMEM. */
int fsck_keep(struct fsck *f, enum fsck_owner owner, xw_blk blk, const uint8_t *data);
/*
 * All kept writes in disk order: *n entries in *v, which the caller frees; their data stays owned
 * by the table. XW_ERR_NOMEM.
 */
int fsck_kept_list(struct fsck *f, struct fsck_kept **v, size_t *n);
void fsck_kept_free(struct fsck_owners *o);

/* ---- nodes.c ---- */

/*
 * Is the block certainly no node of this map? Group metadata is not, and a block that has hardly a
 * valid pointer.
 */
bool fsck_node_is_foreign(struct fsck *f, const struct xw_inode *in, xw_blk blk);

/* ---- inline.c: inline data ---- */

/* Offset of the value of system.data in the record; *len 0: there is none. */
size_t fsck_inline_value(const struct fsck *f, const struct xw_inode *in, const uint8_t *raw,
			 uint32_t *len);
/* Truncate that value to len bytes; its hash is not updated. */
void fsck_inline_cut(const struct fsck *f, const struct xw_inode *in, uint8_t *raw, uint32_t len);
/* Update the hash of that attribute, if there is one, after a change of the value. */
void fsck_inline_seal(const struct fsck *f, const struct xw_inode *in, uint8_t *raw);

/* ---- usage.c: usage by owners, for quota ---- */

/* Add an inode in use to the usage of its owners; called when its i_blocks is correct. */
int fsck_quota_add(struct fsck *f, xw_ino ino, const struct xw_inode *in);
/* Undo fsck_quota_add() for an inode without attributes that turned out to be a hidden file. */
int fsck_quota_remove(struct fsck *f, const struct xw_inode *in);
void fsck_quota_free(struct fsck *f);

/* ---- final_check.c ---- */

/*
 * Exclude the blocks written so far, by the replay of the journal and by orphans, from the last
 * look.
 */
int fsck_opened(struct fsck *f);
/* Exclude this block, too: its contents change on purpose. XW_ERR_NOMEM. */
int fsck_declare(struct fsck *f, xw_blk blk);
/* After all rounds. XW_ERR_INTERNAL: contents of a file would change; must not be committed. */
int fsck_final_check(struct fsck *f);

#endif
