/* SPDX-License-Identifier: MIT */
/*
 * The checker of itrees: all invariants of itree(5), numbered as there. One directory at a time, in
 * time linear in its tree; what it finds goes to a callback, which may ask for it to be mended
 * where that needs nothing but the node at hand.
 */
#ifndef XW_DIR_ITREE_CHECK_H
#define XW_DIR_ITREE_CHECK_H

#include "disk/dx_hash.h"
#include "disk/itree.h"

#pragma GCC visibility push(default)

/* What a finding asks for. */
enum xw_itree_repair {
	XW_ITREE_REBUILD, /* free the tree, build it from the directory; else clear flag and slot */
	XW_ITREE_FIX_CSUM, /* write the node's checksum */
	XW_ITREE_FIX_SEPARATOR,
	XW_ITREE_FIX_QUARTILE,
	XW_ITREE_FIX_FLAG, /* clear ITREE_FL */
	XW_ITREE_FIX_FEATURE, /* set RO_COMPAT_ITREE */
	XW_ITREE_FIX_BLOCKS, /* i_blocks */
	XW_ITREE_FIX_BITMAP, /* the node's block is marked free */
	XW_ITREE_REHASH, /* one more htree level, then build */
	XW_ITREE_REPLAY, /* empty the journal */
};

struct xw_itree_finding {
	unsigned rule;
	enum xw_itree_repair repair;
	xw_ino dir; /* 0: the filesystem */
	xw_blk blk; /* of the node; 0: none is meant */
	unsigned level, entry; /* of the node; in it */
	const char *what;
	uint64_t found, wanted; /* where numbers say it */
};

/*
 * A set of directory entries as a number: the same for the same entries in any order. Fed from the
 * tree by the checker and from the directory by its reader, it decides rule 15 without memory.
 */
struct xw_itree_sum {
	uint64_t n, a, b;
};
void xw_itree_sum_add(struct xw_itree_sum *s, xw_ino ino, uint8_t ftype, const char *name,
		      size_t len);
static inline bool xw_itree_sum_equal(const struct xw_itree_sum *x, const struct xw_itree_sum *y)
{
	return x->n == y->n && x->a == y->a && x->b == y->b;
}

/* Who else has a block. */
enum xw_itree_claim { XW_ITREE_CLAIM_OK, XW_ITREE_CLAIM_META, XW_ITREE_CLAIM_TAKEN };

/* The filesystem around the directory. Callbacks return negative codes to end the check. */
struct xw_itree_env {
	uint32_t block_size;
	bool csum; /* metadata_csum */
	bool feature; /* RO_COMPAT_ITREE */
	bool unsigned_hash;
	uint32_t hash_seed[4];
	xw_blk first_data_block, blocks_count;
	void *arg;
	int (*read)(void *arg, xw_blk blk, void *buf);
	/* NULL: nothing is mended. Whole nodes, checksum included. */
	int (*write)(void *arg, xw_blk blk, const void *buf);
	/* Takes a block for this tree: an enum xw_itree_claim. NULL: rules 5 and 8 are not judged
	 * beyond the filesystem's limits. */
	int (*claim)(void *arg, xw_blk blk);
	/* 1: the bitmap has the block in use, 0: not. NULL: rule 17 is not judged. */
	int (*in_use)(void *arg, xw_blk blk);
	/* dx hash of a name in a casefolded directory. NULL: rule 14 is not judged there. */
	int (*fold_hash)(void *arg, const char *name, size_t len, struct xw_dx_hash *out);
	/* 1: mend it, where the repair is that of a single node and there is `write`; 0: go on. */
	int (*report)(void *arg, const struct xw_itree_finding *f);
};

/* The directory. */
struct xw_itree_dir {
	xw_ino ino;
	uint32_t generation, inode_seed;
	uint32_t flags; /* i_flags */
	uint64_t size; /* bytes */
	const void *block0; /* its first block; NULL: there is none */
	uint64_t mapped; /* blocks of data, map and xattrs; UINT64_MAX: rule 9 is not judged */
	uint64_t held; /* blocks that i_blocks says, in filesystem blocks */
	const struct xw_itree_sum *entries; /* of the directory; NULL: rule 15 is not judged */
};

struct xw_itree_result {
	bool has_tree; /* the directory's slot led to a root node */
	bool complete; /* no node was left out */
	unsigned levels;
	uint64_t nodes, leaves, entries, findings;
	struct xw_itree_sum sum;
	/* xw_itree_check_inode(): blocks that i_blocks counts besides map, contents and values */
	uint64_t counted;
};

/* 0 when the check ran to its end, whatever it found; XW_ERR_NOMEM; what a callback returned. */
int xw_itree_check(const struct xw_itree_env *env, const struct xw_itree_dir *dir,
		   struct xw_itree_result *res);
/* Rule 3: with the feature, the journal is empty. */
int xw_itree_check_journal(const struct xw_itree_env *env, bool journal_empty);

#pragma GCC visibility pop

#endif
