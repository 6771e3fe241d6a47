// SPDX-License-Identifier: MIT
/* Encoding parameters from the superblock, and values that do not belong to one kind of inode. */
#include "config.h"

#include "base/hash.h"
#include "encode/encode.h"

void xw_encoder_set_super(struct xw_encoder *enc, const struct xw_super *sb)
{
	enc->sb = *sb;
	enc->csum_seed = xw_super_csum_seed(&enc->sb);
	enc->dirfmt = (struct xw_dir_format){
		.block_size = enc->block_size,
		.filetype = xw_has_incompat(&enc->features, XW_INCOMPAT_FILETYPE),
		.csum = xw_has_ro(&enc->features, XW_RO_METADATA_CSUM),
		.dir_index = xw_has_compat(&enc->features, XW_COMPAT_DIR_INDEX),
		.large_dir = xw_has_incompat(&enc->features, XW_INCOMPAT_LARGEDIR),
		.itree = xw_has_ro(&enc->features, XW_RO_ITREE),
		.hash_version = xw_dx_version(&enc->sb, enc->sb.def_hash_version),
	};
	xw_dx_seed(&enc->sb, enc->dirfmt.hash_seed);
}

void xw_encode_journal_ref(struct xw_super *sb, const struct xw_inode *in)
{
	sb->journal_inum = XW_INO_JOURNAL;
	sb->jnl_backup_type = 1;
	for (int i = 0; i < 15; i++)
		sb->jnl_blocks[i] = xw_inode_slot(in, i);
	sb->jnl_blocks[15] = (uint32_t)(in->size >> 32);
	sb->jnl_blocks[16] = (uint32_t)in->size;
}

void xw_hidden_node(const struct xw_encoder *enc, struct xw_binode *n, uint64_t size,
		    unsigned flags)
{
	n->mode = XW_S_IFREG | 0600;
	n->links = 1;
	n->size = size;
	n->mtime = n->atime = enc->now;
	n->flags = (uint16_t)flags;
}

uint32_t xw_encode_generation(const struct xw_encoder *enc, const struct xw_binode *n)
{
	if (n->flags & XW_BN_OLD)
		return xw_binode_is(n, XW_S_IFDIR) ? n->dir->generation : n->generation;
	if (n->ino < XW_INO_FIRST && n->ino != XW_INO_ROOT)
		return 0;
	return (uint32_t)xw_hash_fixed(enc->sb.hash_seed, sizeof(enc->sb.hash_seed), n->ino);
}

uint32_t xw_encode_seed(const struct xw_encoder *enc, const struct xw_binode *n)
{
	return xw_inode_seed(enc->csum_seed, n->ino, xw_encode_generation(enc, n));
}
