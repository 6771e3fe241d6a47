/* SPDX-License-Identifier: MIT */
/*
 * Interned xattr sets of a build: a set is placed and encoded once, and every later file with the
 * same set gets the same object. Real trees have a few dozen labels in a million files.
 *
 * Use by import, for each inode:
 *
 *	xw_xattr_set_clear(&set);
 *	xw_xattr_set_put(&set, ...);                   each; XW_ERR_UNSUPPORTED: warn, drop
 *	xw_xattr_set_put_acl_text(&set, ...);          after raw ACLs
 *	xw_xintern_get(x, &set, diag, &node->xattrs);  NULL for an empty set
 *	if (node->xattrs && node->xattrs->block.bytes)
 *		xw_share_get_packed(share, &node->xattrs->block, &node->xblock);
 *
 * When a later entry replaces the node: xw_share_put(share, node->xblock). The sharer must be freed
 * before the interner, since its blocks refer to bytes of the interner.
 *
 * Use by the encoders: the inode's area after the extra fields starts with ibody (ibody_len bytes,
 * the rest zero), i_file_acl is xblock's number, and i_blocks counts the block and ea_clusters.
 * Values in EA inodes have ids 1 .. xw_xintern_ea_count, and encoded entries have the id in place
 * of the inode number: if n_ea is not 0, run xw_xattr_map_inums(area, size, XW_XATTR_IBODY_OFFS,
 * ...) over the in-inode area, and over each referenced block with XW_XATTR_BLOCK_OFFS, once to
 * count references (ea_inode.h) and once to store the numbers. Unreferenced ids get no inode.
 *
 * The lookup is exact, unlike the bounded cache of the sharer: tree nodes keep placed sets in
 * memory anyway, and to encode an evicted set again would cost twenty times as much memory as its
 * table slot (measured: 50,000 sets over 755,000 files, 292 MB and 2.4 s with a cache). Not
 * thread-safe: the order of calls determines the image.
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
 * *out: the placed set, NULL for an empty set. XW_ERR_LIMIT: the set does not fit, see
 * xw_xattr_layout(); XW_ERR_NOMEM.
 */
int xw_xintern_get(struct xw_xintern *x, const struct xw_xattr_set *set, struct xw_diag *diag,
		   const struct xw_xplaced **out);
/* Add the attributes of a placed set to *set. XW_ERR_NOMEM. */
int xw_xintern_unpack(const struct xw_xplaced *placed, struct xw_xattr_set *set,
		      struct xw_diag *diag);
/* Number of values in EA inodes, with ids 1 .. count in order of first use. */
uint32_t xw_xintern_ea_count(const struct xw_xintern *x);
const struct xw_ea_value *xw_xintern_ea(const struct xw_xintern *x, uint32_t id);
void xw_xintern_stats(const struct xw_xintern *x, struct xw_xintern_stats *out);

#endif
