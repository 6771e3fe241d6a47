/* SPDX-License-Identifier: MIT */
/*
 * The index of a directory, dx_root and dx_nodes: a pull iterator that yields its blocks and
 * findings and never stops at damage. Leaves are yielded with the range of hashes that the index
 * gives them, and not read.
 */
#ifndef XW_WALK_HTREE_H
#define XW_WALK_HTREE_H

#include "base/types.h"
#include "disk/dirent.h"

#pragma GCC visibility push(default)

/* Findings; the numbers are permanent. */
enum xw_htree_rule {
	XW_HTREE_OK,
	XW_HTREE_HASH_VERSION = 1, /* found: unknown, or not the one that the flags demand */
	XW_HTREE_INFO = 2, /* found: info_length; wanted 8 */
	XW_HTREE_FLAGS = 3, /* found: unused_flags or the reserved word */
	XW_HTREE_DEPTH = 4, /* found: indirect levels, wanted: at most */
	XW_HTREE_LIMIT = 5, /* found, wanted */
	XW_HTREE_COUNT = 6, /* found, wanted: at most */
	XW_HTREE_ORDER = 7, /* entry: its hash is not above the one before it */
	XW_HTREE_RANGE = 8, /* entry: its hash is outside the range of its node */
	XW_HTREE_LBLK = 9, /* found: child beyond the directory's end, or block 0 */
	XW_HTREE_TWICE = 10, /* lblk: referenced a second time */
	XW_HTREE_NO_NODE = 11, /* lblk: a leaf where a dx_node is wanted */
	XW_HTREE_CSUM = 12, /* lblk: checksum mismatch */
	XW_HTREE_READ = 13, /* lblk: a hole, or it cannot be read; found: the code, negated */
	XW_HTREE_UNREFERENCED = 14, /* lblk: a block of the directory that no entry leads to */
};

struct xw_htree_env {
	uint32_t block_size, seed;
	uint32_t blocks; /* of the directory */
	unsigned levels_max; /* indirect levels: 1, with large_dir 2 */
	bool csum;
	bool siphash; /* encrypted and casefolded: the hash is SipHash */
	/* Logical block lblk into buf. XW_ERR_NOMEM ends the walk; other failures are findings. */
	int (*read)(void *arg, uint32_t lblk, void *buf);
	void *arg;
};

struct xw_htree_item {
	uint32_t lblk; /* of the node or leaf; of a finding: where it was found */
	bool leaf;
	unsigned level; /* 0: dx_root */
	unsigned entry; /* index in the parent; of a finding: in the node */
	/* Hashes below a leaf or node: lower <= hash <= upper, bit 0 apart. */
	uint32_t lower, upper;
	/* of a finding */
	enum xw_htree_rule rule;
	uint64_t found, wanted;
};

#define XW_HTREE_DEPTH_MAX 3 /* nodes above a leaf */

struct xw_htree {
	struct xw_htree_env env;
	struct xw_dx_info info; /* of dx_root, valid after the first call of next */
	struct xw_htree_frame {
		uint32_t lblk, upper, last;
		unsigned next, count, checked;
	} at[XW_HTREE_DEPTH_MAX];
	unsigned depth; /* frames in use */
	uint8_t *nodes; /* a block a frame */
	uint8_t *seen; /* a bit a block of the directory */
	uint32_t unreferenced; /* next block to be looked at when the walk is over */
	unsigned pending; /* findings of the block just read, a bit a rule */
	struct xw_htree_item loaded;
	uint64_t found[16], wanted[16]; /* by rule */
	bool begun, broken;
};

/* XW_ERR_NOMEM. End it in any case. */
int xw_htree_begin(struct xw_htree *it, const struct xw_htree_env *env);
/*
 * 1: a node (yielded before what is below it) or leaf; 2: a finding; 0: end; negative: memory.
 * Whether a leaf's hashes lie in its range is the caller's comparison, xw_htree_in_range().
 */
int xw_htree_next(struct xw_htree *it, struct xw_htree_item *out);
void xw_htree_end(struct xw_htree *it);

/* Bit 0 of a bound is a flag. An upper bound is included: hash values may go on in the next leaf.
 */
static inline bool xw_htree_in_range(const struct xw_htree_item *leaf, uint32_t hash)
{
	return hash >= (leaf->lower & ~1u) && hash <= (leaf->upper & ~1u);
}

#pragma GCC visibility pop

#endif
