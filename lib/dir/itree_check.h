/* SPDX-License-Identifier: MIT */
/*
 * The checker of itrees: all invariants of itree(5), numbered as there. One directory at a time, in
 * time linear in its tree. Findings go to a callback, which may request a repair if only the node
 * itself is affected.
 */
#ifndef XW_DIR_ITREE_CHECK_H
#define XW_DIR_ITREE_CHECK_H

#include "base/hash.h"
#include "disk/dx_hash.h"
#include "disk/itree.h"

/* The repair that a finding needs. */
enum xw_itree_repair {
	/* free the tree and build it from the directory; else clear flag and slot */
	XW_ITREE_REBUILD,
	XW_ITREE_FIX_CSUM, /* write the node's checksum */
	XW_ITREE_FIX_SEPARATOR,
	XW_ITREE_FIX_QUARTILE,
	XW_ITREE_FIX_FLAG, /* clear ITREE_FL */
	XW_ITREE_FIX_FEATURE, /* set RO_COMPAT_ITREE */
	XW_ITREE_FIX_BLOCKS, /* correct i_blocks */
	XW_ITREE_FIX_BITMAP, /* mark the node's block in use */
	XW_ITREE_REHASH, /* add an htree level, then build */
};

struct xw_itree_finding {
	unsigned rule;
	enum xw_itree_repair repair;
	xw_ino dir; /* 0: the filesystem */
	xw_blk blk; /* block of the node; 0: no node */
	unsigned level, entry; /* level of the node, index in it */
	const char *what;
	uint64_t found, wanted; /* for numeric findings */
};

/*
 * A checksum of a set of directory entries, independent of their order: the sum of their secret
 * hashes, so that no other set can be crafted to have it. Computed by the checker from the tree and
 * by the reader from the directory, it decides rule 15 without memory. Begins as zeros.
 */
struct xw_itree_sum {
	uint64_t n, sum;
	struct xw_hash_key key; /* that of the process, from the first entry on */
};
void xw_itree_sum_add(struct xw_itree_sum *s, xw_ino ino, uint8_t ftype, const char *name,
		      size_t len);
static inline bool xw_itree_sum_equal(const struct xw_itree_sum *x, const struct xw_itree_sum *y)
{
	return x->n == y->n && x->sum == y->sum;
}

/* Who else uses a block. */
enum xw_itree_claim { XW_ITREE_CLAIM_OK, XW_ITREE_CLAIM_META, XW_ITREE_CLAIM_TAKEN };

/* The filesystem of the directory. A negative code from a callback ends the check. */
struct xw_itree_env {
	uint32_t block_size;
	bool csum; /* metadata_csum */
	bool feature; /* RO_COMPAT_ITREE */
	bool unsigned_hash;
	uint32_t hash_seed[4];
	xw_blk first_data_block, blocks_count;
	void *arg;
	int (*read)(void *arg, xw_blk blk, void *buf);
	/* Write a whole node, including its checksum. NULL: nothing is repaired. */
	int (*write)(void *arg, xw_blk blk, const void *buf);
	/*
	 * Claim a block for this tree: returns an enum xw_itree_claim. NULL: rules 5 and 8 are
	 * checked only against the limits of the filesystem.
	 */
	int (*claim)(void *arg, xw_blk blk);
	/*
	 * 1: the block is in use according to the bitmap, 0: it is free. NULL: rule 17 is not
	 * checked.
	 */
	int (*in_use)(void *arg, xw_blk blk);
	/* dx hash of a name in a casefolded directory. NULL: rule 14 is not checked there. */
	int (*fold_hash)(void *arg, const char *name, size_t len, struct xw_dx_hash *out);
	/*
	 * Report a finding. Returns 1: repair it, if the repair affects a single node and `write`
	 * is set; 0: continue.
	 */
	int (*report)(void *arg, const struct xw_itree_finding *f);
};

/* The directory to be checked. */
struct xw_itree_dir {
	xw_ino ino;
	uint32_t generation, inode_seed;
	uint32_t flags; /* i_flags */
	uint64_t size; /* in bytes */
	const void *block0; /* its first block; NULL: none */
	uint64_t mapped; /* blocks of data, map and xattrs; UINT64_MAX: rule 9 is not checked */
	uint64_t held; /* i_blocks, converted to filesystem blocks */
	/* checksum of the directory's entries; NULL: rule 15 is not checked */
	const struct xw_itree_sum *entries;
};

struct xw_itree_result {
	bool has_tree; /* the slot of the directory points to a root node */
	bool complete; /* no node was skipped */
	unsigned levels;
	uint64_t nodes, leaves, entries, findings;
	struct xw_itree_sum sum;
	/* xw_itree_check_inode(): blocks in i_blocks besides map, contents and values */
	uint64_t counted;
};

/*
 * 0 when the check was completed, with or without findings; XW_ERR_NOMEM; an error from a callback.
 */
int xw_itree_check(const struct xw_itree_env *env, const struct xw_itree_dir *dir,
		   struct xw_itree_result *res);

#endif
