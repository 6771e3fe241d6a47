/* SPDX-License-Identifier: MIT */
/*
 * Encodes the model (tree/model.h) to on-disk bytes: maps, inode records, inline contents,
 * attributes, itrees. These functions are stateless and do no I/O: struct xw_encoder contains the
 * parameters of the filesystem, and is read-only.
 */
#ifndef XW_ENCODE_ENCODE_H
#define XW_ENCODE_ENCODE_H

#include "base/endian.h"
#include "disk/inode.h"
#include "disk/super.h"
#include "plan/features.h"
#include "tree/model.h"
#include "xattr/intern.h"
#include "xattr/share.h"

/* A value stored in an EA inode. */
struct xw_encode_ea {
	struct xw_binode node; /* ino 0: the value has no references left */
	uint64_t refs;
};

struct xw_encoder {
	uint32_t block_size, inode_size;
	uint32_t cluster_bits;
	struct xw_features features;
	struct xw_super sb;
	uint32_t csum_seed;
	struct xw_dir_format dirfmt;
	int64_t now; /* ctime and crtime of new inodes, seconds */
	struct xw_encode_ea *ea; /* n_ea values; the index is the interner's id - 1 */
	uint32_t n_ea;
	const struct xw_xintern *intern;
	struct xw_binode *first; /* the model: all inodes in stream order, the root first */
	/* for messages only */
	struct xw_diag *diag;
	const char *name; /* name of the image */
	char *const *sources; /* names of the tree's layers; NULL: unknown */
};

/* encode.c */

/* Set sb, checksum seed and directory format; block_size and features must be set already. */
void xw_encoder_set_super(struct xw_encoder *enc, const struct xw_super *sb);
/* Set s_journal_inum to inode 8, and s_jnl_blocks to a backup of its i_block and size. */
void xw_encode_journal_ref(struct xw_super *sb, const struct xw_inode *in);
/* Initialize the node of a file without a name: regular file, mode 0600, owned by root. */
void xw_hidden_node(const struct xw_encoder *enc, struct xw_binode *n, uint64_t size,
		    unsigned flags);

/* inode_path.c */

/* The origin of n, for messages: its source, or the image. */
const char *xw_encode_origin(const struct xw_encoder *enc, const struct xw_binode *n);
#define XW_ENCODE_PATH_MAX 512u
/* A path of n for messages: points into buf (size bytes), truncated at the front if too long. */
const char *xw_encode_path(const struct xw_encoder *enc, const struct xw_binode *n, char *buf,
			   size_t size);

/* map.c: maps of files */

/* Number of map blocks that n needs outside of its inode. */
uint64_t xw_map_blocks(const struct xw_encoder *enc, const struct xw_binode *n);
/* Location of map block `index`; each map block has a cluster of its own. */
xw_blk xw_map_block(const struct xw_bmap *map, uint64_t index, uint32_t cluster_bits);
void xw_map_encode_inode(const struct xw_encoder *enc, const struct xw_binode *n,
			 struct xw_inode *in);
/* Encode all n->map->blocks blocks into zeroed memory. */
void xw_map_encode_blocks(const struct xw_encoder *enc, const struct xw_binode *n, uint8_t *buf);

/* itree.c */

/* Copy n entries in the order of arrival, before the directory is shaped; NULL: out of memory. */
struct xw_encode_itree *xw_encode_itree_gather(const struct xw_dir_entry *e, uint32_t n);
/* Sort the names and plan the nodes, after shaping. XW_ERR_LIMIT: the tree would be too deep. */
int xw_encode_itree_plan(const struct xw_encoder *enc, struct xw_encode_itree *t);
void xw_encode_itree_free(struct xw_encode_itree *t);
/* Set the locations of the nodes; takes ownership of runs. */
void xw_encode_itree_set_runs(struct xw_encode_itree *t, struct xw_run *runs, size_t n);
/* Number of nodes, and block number of the root; 0: no itree. */
uint64_t xw_encode_itree_blocks(const struct xw_binode *dir);
xw_blk xw_encode_itree_root(const struct xw_binode *dir);
int xw_encode_itree_emit(const struct xw_encoder *enc, const struct xw_binode *dir,
			 int (*put)(void *arg, xw_blk blk, const void *block), void *arg);

/* The xw_blink whose name an entry of the model points to. */
static inline struct xw_blink *xw_blink_of(const struct xw_dir_entry *e)
{
	return (struct xw_blink *)(uintptr_t)(e->name - offsetof(struct xw_blink, name));
}

/* inline.c */

/*
 * Maximum size of inline contents beside n's xattrs; -1: not even an empty file can be inline
 * (without the feature, or the inode or the room beside the xattrs is too small).
 */
int64_t xw_inline_room(const struct xw_encoder *enc, const struct xw_binode *n);
/*
 * Do the directory's entries fit the inode? If so, set XW_BN_INLINE and the size of the directory;
 * otherwise nothing changes.
 */
bool xw_inline_shape(const struct xw_encoder *enc, struct xw_binode *dir);
/* Encode contents or entries into a record with encoded fields and xattrs. */
void xw_inline_encode(const struct xw_encoder *enc, const struct xw_binode *n, uint8_t *record,
		      uint32_t extra_isize);

/* inode.c */

/* i_generation: for new inodes derived from hash seed and inode number, hence reproducible. */
uint32_t xw_encode_generation(const struct xw_encoder *enc, const struct xw_binode *n);
/* Checksum seed of n's metadata blocks. */
uint32_t xw_encode_seed(const struct xw_encoder *enc, const struct xw_binode *n);
void xw_attrs_encode_ibody(const struct xw_encoder *enc, const struct xw_binode *n, uint8_t *area,
			   size_t size);
/* Encode the block of s, which must be placed. */
void xw_attrs_encode_block(const struct xw_encoder *enc, struct xw_share *share,
			   const struct xw_share_block *s, void *buf);
int xw_itable_encode(const struct xw_encoder *enc, const struct xw_binode *n, struct xw_inode *in);
/* Blocks in i_blocks, in whole clusters: contents, map and itree; xattr block and EA values. */
uint64_t xw_itable_held(const struct xw_encoder *enc, const struct xw_binode *n);
uint64_t xw_itable_held_xattrs(const struct xw_encoder *enc, const struct xw_binode *n);
/* Encode the whole record, including xattrs and inline data, into zeroed memory; no checksum. */
int xw_itable_record(const struct xw_encoder *enc, const struct xw_binode *n, uint8_t *record);

#endif
