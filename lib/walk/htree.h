/* SPDX-License-Identifier: MIT */
/*
 * The index of a directory, dx_root and dx_nodes: a pull iterator that yields its blocks and
 * findings and never stops at damage. Leaves are not read; they are yielded with the range of
 * hashes that the index assigns to them.
 */
#ifndef XW_WALK_HTREE_H
#define XW_WALK_HTREE_H

#include "base/types.h"
#include "disk/dirent.h"

/* Findings; the numbers are permanent. */
enum xw_htree_rule {
	XW_HTREE_OK,
	XW_HTREE_HASH_VERSION = 1, /* found: unknown, or not the one required by the flags */
	XW_HTREE_INFO = 2, /* found: info_length; wanted 8 */
	XW_HTREE_FLAGS = 3, /* found: unused_flags or the reserved word */
	XW_HTREE_DEPTH = 4, /* found: indirect levels, wanted: maximum */
	XW_HTREE_LIMIT = 5, /* found, wanted */
	XW_HTREE_COUNT = 6, /* found, wanted: maximum */
	XW_HTREE_ORDER = 7, /* entry: its hash is not above that of the previous entry */
	XW_HTREE_RANGE = 8, /* entry: its hash is outside the range of its node */
	XW_HTREE_LBLK = 9, /* found: child past the end of the directory, or block 0 */
	XW_HTREE_TWICE = 10, /* lblk: a block with a second reference */
	XW_HTREE_NO_NODE = 11, /* lblk: a leaf where a dx_node is expected */
	XW_HTREE_CSUM = 12, /* lblk: checksum mismatch */
	XW_HTREE_READ = 13, /* lblk: a hole, or unreadable; found: the error code, negated */
	XW_HTREE_UNREFERENCED = 14, /* lblk: a block of the directory that no entry refers to */
};

struct xw_htree_env {
	uint32_t block_size, seed;
	uint32_t blocks; /* size of the directory in blocks */
	unsigned levels_max; /* indirect levels: 1, or 2 with large_dir */
	bool csum;
	bool siphash; /* encrypted and casefolded: the hash is SipHash */
	/*
	 * Read logical block lblk into buf. XW_ERR_NOMEM ends the walk; other failures are
	 * findings.
	 */
	int (*read)(void *arg, uint32_t lblk, void *buf);
	void *arg;
};

struct xw_htree_item {
	uint32_t lblk; /* of the node or leaf; for a finding: where it was found */
	bool leaf;
	unsigned level; /* 0: dx_root */
	unsigned entry; /* index in the parent; for a finding: index in the node */
	/* Range of hashes: lower <= hash <= upper, ignoring bit 0. */
	uint32_t lower, upper;
	/* only for findings */
	enum xw_htree_rule rule;
	uint64_t found, wanted;
};

#define XW_HTREE_DEPTH_MAX 3 /* nodes above a leaf */

struct xw_htree {
	struct xw_htree_env env;
	struct xw_dx_info info; /* info of dx_root, valid after the first call of next */
	struct xw_htree_frame {
		uint32_t lblk, upper, last;
		unsigned next, count, checked;
	} at[XW_HTREE_DEPTH_MAX];
	unsigned depth; /* number of frames in use */
	uint8_t *nodes; /* one block per frame */
	uint8_t *seen; /* one bit per block of the directory */
	uint32_t unreferenced; /* next block to be examined after the walk */
	unsigned pending; /* findings of the block just read, one bit per rule */
	struct xw_htree_item loaded;
	uint64_t found[16], wanted[16]; /* indexed by rule */
	bool begun, broken;
};

/* XW_ERR_NOMEM; call xw_htree_end() even then. */
int xw_htree_begin(struct xw_htree *it, const struct xw_htree_env *env);
/*
 * 1: a node (yielded before its children) or leaf; 2: a finding; 0: end; XW_ERR_NOMEM. The
 * caller checks with xw_htree_in_range() that the hashes of a leaf lie in its range.
 */
int xw_htree_next(struct xw_htree *it, struct xw_htree_item *out);
void xw_htree_end(struct xw_htree *it);

/*
 * Bit 0 of a bound is a flag. The upper bound is inclusive: equal hashes may continue in the next
 * leaf.
 */
static inline bool xw_htree_in_range(const struct xw_htree_item *leaf, uint32_t hash)
{
	return hash >= (leaf->lower & ~1u) && hash <= (leaf->upper & ~1u);
}

#endif
