/* SPDX-License-Identifier: MIT */
/*
 * The front of a build's xattrs: a set is placed and encoded once, and every later file with the
 * same set gets the same object. Real trees carry a few dozen labels over a million files.
 *
 * How import uses it, for each inode:
 *
 *	xw_xattr_set_clear(&set);
 *	xw_xattr_set_put(&set, ...);                   each; XW_ERR_UNSUPPORTED: warn, drop
 *	xw_xattr_set_put_acl_text(&set, ...);          after raw ACLs
 *	xw_xintern_get(x, &set, diag, &node->xattrs);  NULL for an empty set
 *	if (node->xattrs && node->xattrs->block.bytes)
 *		xw_share_get_packed(share, &node->xattrs->block, &node->xblock);
 *
 * and when a later entry replaces the node: xw_share_put(share, node->xblock). The sharer must be
 * freed before the interner (blocks keep pointing at the interner's bytes).
 *
 * How the encoders use it: the inode's area behind the extra fields begins with ibody (ibody_len
 * bytes, the rest zero), i_file_acl is xblock's number, and i_blocks counts the block and
 * ea_clusters. Values in EA inodes have ids 1 .. xw_xintern_ea_count, and the encoded entries carry
 * the id where the inode number belongs: where n_ea is not 0, run xw_xattr_map_inums(area, size,
 * XW_XATTR_IBODY_OFFS, ...) over the in-inode area, and over each live block with
 * XW_XATTR_BLOCK_OFFS, once to count references (ea_inode.h) and once to put the numbers in. Ids
 * that nothing refers to in the end are not built.
 *
 * Lookup is exact, not bounded as the sharer's cache is: a placed set stays in memory for its tree
 * nodes anyway, and one that was forgotten would cost twenty times what its table slot does each
 * time it comes again (measured: 50,000 sets over 755,000 files, 292 MB and 2.4 s with the cache).
 * Not thread-safe: a build has one thread that decides order.
 */
#ifndef XW_XATTR_INTERN_H
#define XW_XATTR_INTERN_H

#include "xattr/set.h"
#include "xattr/share.h"

struct xw_xintern;

/* A placed and encoded set. Lives as long as the interner. */
struct xw_xplaced {
	struct xw_share_content block; /* .bytes NULL: no block */
	const uint8_t *ibody; /* NULL: nothing is stored in the inode */
	const uint8_t *raw; /* internal: the set, for comparison */
	struct xw_share_block *last; /* internal: the sharer's hint */
	uint32_t raw_len;
	uint32_t ea_clusters; /* clusters of values in EA inodes, for i_blocks of each owner */
	uint16_t ibody_len;
	uint16_t n_ea; /* number of entries in inode and block with a value in an EA inode */
};

/* A value that needs an EA inode. */
struct xw_ea_value {
	const uint8_t *value;
	uint32_t len;
	uint32_t hash; /* stored in the EA inode and in the entries */
};

struct xw_xintern_opts {
	uint32_t ibody; /* inode_size - 128 - i_extra_isize; 0 for 128-byte inodes */
	uint32_t block_size;
	uint32_t cluster_size; /* in bytes, for bigalloc; 0: one block */
	bool ea_inode;
	uint32_t csum_seed; /* for ea_inode */
};

struct xw_xintern_stats {
	uint64_t lookups;
	uint64_t sets; /* number of distinct sets */
	uint64_t bytes; /* memory of placed sets, without the table */
};

int xw_xintern_new(const struct xw_xintern_opts *opts, struct xw_xintern **out);
void xw_xintern_free(struct xw_xintern *x);
/*
 * *out: the placed set, NULL for an empty one. XW_ERR_LIMIT: it does not fit (xw_xattr_layout);
 * XW_ERR_NOMEM.
 */
int xw_xintern_get(struct xw_xintern *x, const struct xw_xattr_set *set, struct xw_diag *diag,
		   const struct xw_xplaced **out);
/* Add the attributes of a placed set to *set (which keeps its others). XW_ERR_NOMEM. */
int xw_xintern_unpack(const struct xw_xplaced *placed, struct xw_xattr_set *set,
		      struct xw_diag *diag);
/* Number of values in EA inodes, with ids 1 .. count in order of first use. */
uint32_t xw_xintern_ea_count(const struct xw_xintern *x);
const struct xw_ea_value *xw_xintern_ea(const struct xw_xintern *x, uint32_t id);
void xw_xintern_stats(const struct xw_xintern *x, struct xw_xintern_stats *out);

#endif
