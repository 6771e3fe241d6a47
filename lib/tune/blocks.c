// SPDX-License-Identifier: MIT
/*
 * Features that own blocks or inodes. When a feature is cleared, these are freed by the commit;
 * when it is set, they are created as in a new filesystem (lib/place). The superblock is updated in
 * memory at once. These inodes are not included in quota usage.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/indirect.h"
#include "disk/mmp.h"
#include "disk/orphan.h"
#include "journal/log.h"
#include "plan/map.h"
#include "read/map.h"
#include "tune/tune_internal.h"
#include "update/inode.h"

int xw_tune_drop_inode(struct xw_update *u, xw_ino ino)
{
	const struct xw_inode nothing = {0};
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	uint64_t ea; /* unused: the values are not included in quota usage */
	int rc = xw_update_get(u, ino, &in, &raw);

	if (!rc)
		rc = xw_update_free_map(u, ino, &in);
	if (!rc)
		rc = xw_update_free_xattrs(u, ino, &in, raw, &ea);
	if (!rc && ino >= u->img->sb.first_ino && xw_ispace_release(u->inodes, ino, false))
		rc = xw_fail(u->diag, XW_ERR_CORRUPT,
			     "%s: inode %" PRIu32 ": is free in its bitmap; run xw-fsck -f",
			     u->img->dev->name, ino);
	if (rc)
		return rc;
	memset(raw, 0, u->img->inode_size);
	return xw_update_put(u, ino, &nothing, steal(raw));
}

int xw_tune_put_inode(struct xw_update *u, const struct xw_binode *n)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc = xw_update_get(u, n->ino, &in, &raw);

	/*
	 * the record of a free inode may have any contents, but that of a reserved inode is unused
	 */
	if (!rc && n->ino < u->img->sb.first_ino && in.links)
		rc = xw_fail(u->diag, XW_ERR_CORRUPT,
			     "%s: reserved inode %" PRIu32 " is in use; run xw-fsck -f",
			     u->img->dev->name, n->ino);
	if (rc)
		return rc;
	memset(raw, 0, u->img->inode_size);
	rc = xw_itable_record(&u->place.enc, n, raw);
	if (!rc)
		rc = xw_inode_decode(raw, &u->img->sb, &in);
	return rc ? rc : xw_update_put(u, n->ino, &in, steal(raw));
}

/* Allocate a file of `blocks` without a name. The caller writes its contents and map. */
static int place_hidden(struct xw_update *u, struct xw_binode *n, uint64_t blocks)
{
	int rc;

	xw_hidden_node(&u->place.enc, n, blocks * u->img->block_size, 0);
	rc = xw_place_alloc_node(&u->place, n, blocks);
	if (!rc && n->n_ext)
		rc = xw_place_map(&u->place, n);
	u->place.items.n = 0; /* which would refer to n after its end */
	return rc ? rc : xw_place_check_room(&u->place);
}

/* ---- journal ---- */

int xw_tune_journal_off(struct xw_tune_run *t, struct xw_update *u)
{
	struct xw_super *sb = &u->img->sb;
	const xw_ino ino = sb->journal_inum;
	struct xw_inode in;
	int rc = 0;

	if (ino && ino != XW_INO_JOURNAL)
		return xw_tune_refuse(t, XW_ERR_UNSUPPORTED,
				      "the journal is inode %" PRIu32
				      "; only a journal in inode 8 can be removed",
				      ino);
	if (ino && sb->overhead_blocks && !xw_image_inode(u->img, ino, &in, NULL))
		sb->overhead_blocks -=
			(uint32_t)XW_MIN(in.size / u->img->block_size, sb->overhead_blocks);
	if (ino)
		rc = xw_tune_drop_inode(u, ino);
	sb->feature_compat &= ~XW_COMPAT_HAS_JOURNAL;
	sb->journal_inum = sb->journal_dev = 0;
	memset(sb->journal_uuid, 0, sizeof(sb->journal_uuid));
	memset(sb->jnl_blocks, 0, sizeof(sb->jnl_blocks));
	return rc;
}

/* The geometry of the filesystem with additional COMPAT features. */
static struct xw_geo geo_with(const struct xw_update *u, uint32_t compat)
{
	struct xw_geo geo = {.features = u->place.enc.features, .blocks = u->img->sb.blocks_count};

	geo.features.w[XW_FW_COMPAT] |= compat;
	return geo;
}

static int journal_size(struct xw_tune_run *t, struct xw_update *u, uint64_t *blocks,
			uint32_t *fast_blocks)
{
	/* fast_commit may be set in the same run, but is not yet set in the superblock */
	const struct xw_geo geo =
		geo_with(u, XW_COMPAT_HAS_JOURNAL | (t->to.feature_compat & XW_COMPAT_FAST_COMMIT));
	const struct xw_mkfs_params params = {
		.block_size = u->img->block_size,
		.journal_bytes = t->want->journal_bytes,
		.fast_commit_kib = t->want->fast_commit_kib,
	};
	const uint64_t all = geo.blocks;

	*blocks = xw_geo_journal_blocks(&geo, &params, all);
	*fast_blocks = (uint32_t)xw_geo_fast_commit_blocks(&geo, &params, all);
	if (!*blocks)
		return xw_tune_refuse(t, XW_ERR_NOSPC, "Filesystem too small for a journal");
	if (*blocks > all / 2)
		return xw_tune_refuse(t, XW_ERR_NOSPC,
				      "Total journal size too big for filesystem.");
	return 0;
}

int xw_tune_journal_on(struct xw_tune_run *t, struct xw_update *u)
{
	struct xw_super *sb = &u->img->sb;
	auto_end(xw_binode_free_map) struct xw_binode n = {.ino = XW_INO_JOURNAL};
	struct xw_inode in;
	uint64_t blocks = 0;
	uint32_t fast = 0;
	int rc = journal_size(t, u, &blocks, &fast);

	if (!rc)
		rc = place_hidden(u, &n, blocks);
	if (!rc)
		rc = xw_journal_write(&u->place, &n, fast, true);
	if (!rc && n.map)
		rc = xw_map_write(&u->place, &n);
	if (!rc)
		rc = xw_itable_encode(&u->place.enc, &n, &in);
	if (rc)
		return rc;
	sb->feature_compat |= XW_COMPAT_HAS_JOURNAL;
	sb->overhead_blocks += sb->overhead_blocks ? (uint32_t)blocks : 0;
	xw_encode_journal_ref(sb, &in);
	return xw_tune_put_inode(u, &n);
}

int xw_tune_check_fast_commit(struct xw_tune_run *t)
{
	const uint32_t both = XW_COMPAT_HAS_JOURNAL | XW_COMPAT_FAST_COMMIT;
	auto_end(xw_tune_image_end) struct xw_image *img = NULL;
	auto_log struct xw_log *log = NULL;
	uint64_t have, need;
	int rc;

	if (!(t->sb.feature_compat & XW_COMPAT_HAS_JOURNAL) ||
	    t->sb.feature_compat & XW_COMPAT_FAST_COMMIT || (t->to.feature_compat & both) != both ||
	    t->work & XW_TUNE_DO_JOURNAL_OFF)
		return 0;
	if (!t->sb.journal_inum && !t->opts->force)
		return xw_tune_refuse(t, XW_ERR_UNSUPPORTED,
				      "the journal is external and may be too small for fast "
				      "commits; use -f to ignore this");
	if (!t->sb.journal_inum)
		return 0;
	rc = xw_image_open(xw_edit_dev(t->edit), 0, t->diag, &img);
	if (!rc)
		rc = xw_log_open_image(img, &log);
	if (rc)
		return rc;
	have = log->jsb.maxlen;
	need = xw_jsb_fast_minimum(&log->jsb);
	if (have >= need)
		return 0;
	return xw_tune_refuse(t, XW_ERR_NOSPC,
			      "journal too small for fast commits: %" PRIu64
			      " blocks needed, %" PRIu64 " available; replace it: -O ^has_journal, "
			      "then -O has_journal,fast_commit",
			      need, have);
}

int xw_tune_make_journal(struct xw_update *u)
{
	const struct xw_tune_want want = {0};
	struct xw_tune_run t = {.want = &want, .diag = u->diag, .name = u->img->dev->name};

	return xw_tune_journal_on(&t, u);
}

/* ---- orphan file ---- */

/* A damaged s_orphan_file_inum must not cause a user's file to be deleted. */
static int check_orphan(struct xw_update *u, xw_ino ino)
{
	const uint32_t bs = u->img->block_size;
	auto_free uint8_t *buf = malloc(bs);
	struct xw_map_run run = {0};
	struct xw_inode in;
	int rc = buf ? xw_image_inode(u->img, ino, &in, NULL)
		     : xw_fail_nomem(u->diag, "orphan file");

	if (!rc)
		rc = xw_map_lookup(u->img, ino, &in, 0, &run);
	if (!rc && run.len)
		rc = xw_dev_pread(u->img->dev, buf, bs, run.pblk * bs);
	if (!rc && (ino < u->img->sb.first_ino || !run.len ||
		    xw_orphan_verify(buf, bs, xw_super_has_csum(&u->img->sb),
				     xw_image_inode_seed(u->img, ino, &in), run.pblk)))
		rc = xw_fail(u->diag, XW_ERR_CORRUPT,
			     "%s: inode %" PRIu32 " is not an orphan file; run xw-fsck -f",
			     u->img->dev->name, ino);
	return rc;
}

int xw_tune_orphan_off(struct xw_tune_run *t, struct xw_update *u)
{
	struct xw_super *sb = &u->img->sb;
	int rc = check_orphan(u, sb->orphan_file_inum);

	(void)t;
	if (!rc)
		rc = xw_tune_drop_inode(u, sb->orphan_file_inum);
	sb->feature_compat &= ~XW_COMPAT_ORPHAN_FILE;
	sb->feature_ro_compat &= ~XW_RO_ORPHAN_PRESENT;
	sb->orphan_file_inum = 0;
	return rc;
}

int xw_tune_alloc_inode(struct xw_update *u, xw_ino *ino)
{
	const int rc = xw_ispace_alloc(u->inodes, u->img->sb.first_ino, false, ino);

	return rc ? xw_fail(u->diag, rc, "%s: no free inode", u->img->dev->name) : 0;
}

int xw_tune_orphan_on(struct xw_tune_run *t, struct xw_update *u)
{
	const struct xw_geo geo = geo_with(u, XW_COMPAT_ORPHAN_FILE);
	const struct xw_mkfs_params params = {.orphan_blocks = t->want->orphan_blocks};
	const uint64_t blocks = xw_geo_orphan_blocks(&geo, &params);
	auto_end(xw_binode_free_map) struct xw_binode n = {0};
	int rc = xw_tune_alloc_inode(u, &n.ino);

	if (!rc)
		rc = place_hidden(u, &n, blocks);
	if (!rc)
		rc = xw_orphan_write(&u->place, &n);
	if (!rc && n.map)
		rc = xw_map_write(&u->place, &n);
	if (rc)
		return rc;
	u->img->sb.feature_compat |= XW_COMPAT_ORPHAN_FILE;
	u->img->sb.orphan_file_inum = n.ino;
	return xw_tune_put_inode(u, &n);
}

/* ---- multiple mount protection ---- */

int xw_tune_mmp_off(struct xw_tune_run *t, struct xw_update *u)
{
	struct xw_super *sb = &u->img->sb;
	uint8_t buf[XW_MMP_SIZE] = {0};
	struct xw_mmp m;
	int rc = 0;

	if (xw_image_has_blocks(u->img, sb->mmp_block, 1))
		rc = xw_dev_pread(u->img->dev, buf, sizeof(buf),
				  sb->mmp_block * u->img->block_size);
	if (!rc && xw_mmp_decode(buf, &m))
		rc = xw_tune_refuse(t, XW_ERR_CORRUPT,
				    "block %" PRIu64 " is not an MMP block; run xw-fsck -f",
				    sb->mmp_block);
	if (!rc)
		rc = xw_update_free(u, sb->mmp_block, 1);
	sb->feature_incompat &= ~XW_INCOMPAT_MMP;
	sb->mmp_block = 0;
	sb->mmp_interval = 0;
	return rc;
}

int xw_tune_mmp_on(struct xw_tune_run *t, struct xw_update *u)
{
	const struct xw_tune_want *w = t->want;
	const bool given = w->set & XW_TUNE_MMP_INTERVAL && w->mmp_interval;
	struct xw_super *sb = &u->img->sb;
	struct xw_run *runs;
	size_t n;
	int rc = xw_place_alloc(&u->place, 1, &runs, &n);

	if (!rc)
		rc = xw_place_check_room(&u->place);
	if (rc)
		return rc;
	sb->feature_incompat |= XW_INCOMPAT_MMP;
	sb->mmp_block = runs[0].start;
	sb->mmp_interval = given ? w->mmp_interval : (uint16_t)XW_MMP_INTERVAL;
	free(runs);
	return xw_mmp_write(&u->place, sb->mmp_block, sb->mmp_interval);
}

/* ---- reserved descriptor blocks and superblock copies ---- */

/* As xw_update_free(), for group metadata: reduces s_overhead_clusters. */
static int free_meta(struct xw_tune_run *t, struct xw_update *u, xw_blk blk, uint64_t len)
{
	if (!len)
		return 0;
	if (!xw_image_has_blocks(u->img, blk, len))
		return xw_tune_refuse(t, XW_ERR_CORRUPT,
				      "blocks %" PRIu64 "+%" PRIu64 " are outside the filesystem",
				      blk, len);
	u->img->sb.overhead_blocks -= (uint32_t)XW_MIN(len, u->img->sb.overhead_blocks);
	return xw_vec_push(&u->freed, ((struct xw_run){blk, len}))
		       ? xw_fail_nomem(u->diag, "freed blocks")
		       : 0;
}

int xw_tune_resize_off(struct xw_tune_run *t, struct xw_update *u)
{
	struct xw_super *sb = &u->img->sb;
	const struct xw_inode nothing = {0};
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	xw_blk dind;
	int rc = xw_update_get(u, XW_INO_RESIZE, &in, &raw);

	if (rc)
		return rc;
	dind = xw_inode_slot(&in, XW_DIND_SLOT);
	if (dind)
		rc = xw_update_free(u, dind, 1);
	for (uint64_t g = 0; g < u->img->groups && !rc; g++)
		if (xw_image_has_super(u->img, g))
			rc = free_meta(t, u,
				       xw_tune_group_start(u->img, g) + 1 +
					       xw_tune_desc_blocks(u->img),
				       sb->reserved_gdt_blocks);
	if (rc)
		return rc;
	sb->feature_compat &= ~XW_COMPAT_RESIZE_INODE;
	sb->reserved_gdt_blocks = 0;
	memset(raw, 0, u->img->inode_size);
	return xw_update_put(u, XW_INO_RESIZE, &nothing, steal(raw));
}

int xw_tune_sparse(struct xw_tune_run *t, struct xw_update *u)
{
	struct xw_image *img = u->img;
	const uint64_t len = 1 + (img->sb.feature_incompat & XW_INCOMPAT_META_BG
					  ? XW_MIN(img->sb.first_meta_bg, xw_tune_desc_blocks(img))
					  : xw_tune_desc_blocks(img));
	int rc = 0;

	for (uint64_t g = 0; g < img->groups && !rc; g++) {
		bool stays;

		if (!xw_image_has_super(img, g))
			continue;
		img->sb.feature_ro_compat |= XW_RO_SPARSE_SUPER;
		stays = xw_image_has_super(img, g);
		img->sb.feature_ro_compat &= ~XW_RO_SPARSE_SUPER;
		if (!stays)
			rc = free_meta(t, u, xw_tune_group_start(img, g),
				       len + img->sb.reserved_gdt_blocks);
	}
	img->sb.feature_ro_compat |= XW_RO_SPARSE_SUPER;
	return rc;
}
