// SPDX-License-Identifier: MIT
/*
 * Orphan inodes: inodes that lost their last name while they were open, or whose truncation was
 * interrupted. They are in a list with its head in the superblock, linked by i_dtime, or, with the
 * orphan_file feature, in the slots of a file. The next program that opens the filesystem completes
 * the deletion or truncation.
 */
#include "config.h"

#include "update/update.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/vec.h"
#include "disk/orphan.h"
#include "read/map.h"
#include "update/inode.h"
#include "update/map.h"
#include "update/update_internal.h"

static int bad(struct xw_update *u, xw_ino ino, const char *what)
{
	return xw_fail(u->diag, XW_ERR_CORRUPT, "%s: orphan inode %" PRIu32 ": %s; run xw-fsck -f",
		       u->img->dev->name, ino, what);
}

/* ---- truncating a file to its size ---- */

/*
 * Zero the part of the last block after the size. Not in an encrypted file: the end of the contents
 * may belong to an encryption unit that extends past the size.
 */
static int zero_tail(struct xw_update *u, xw_ino ino, const struct xw_update_map *m,
		     const struct xw_inode *in)
{
	const uint64_t bs = u->img->block_size, lblk = in->size / bs;
	const struct xw_extent *e = m->e.n ? &m->e.v[m->e.n - 1] : NULL;

	if (!(in->size % bs) || in->flags & XW_FL_ENCRYPT || !e || e->unwritten || lblk < e->lblk ||
	    lblk >= e->lblk + e->len)
		return 0;
	if (u->cut)
		return u->cut(u->cut_arg, ino);
	return xw_dev_zero(u->img->dev, (e->pblk + lblk - e->lblk) * bs + in->size % bs,
			   bs - in->size % bs);
}

static int cut_to_size(struct xw_update *u, xw_ino ino, struct xw_inode *in)
{
	auto_update_map struct xw_update_map m = {0};
	int rc;

	if ((in->mode & XW_S_IFMT) != XW_S_IFREG || !xw_inode_has_map(in))
		return bad(u, ino, "is not a file with blocks to release");
	rc = xw_update_map_read(u, ino, in, &m);
	if (!rc)
		rc = xw_update_map_punch(u, &m, xw_div_up(in->size, u->img->block_size),
					 UINT32_MAX);
	if (!rc)
		rc = zero_tail(u, ino, &m, in);
	return rc ? rc : xw_update_map_write(u, ino, in, &m);
}

/* ---- a single orphan; *next: its successor in the list ---- */

static int process(struct xw_update *u, xw_ino ino, xw_ino *next)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc;

	if (ino < u->img->sb.first_ino || ino > u->img->sb.inodes_count)
		return bad(u, ino, "no such inode");
	rc = xw_update_get(u, ino, &in, &raw);
	if (rc)
		return rc;
	if (next)
		*next = in.dtime;
	u->stats.orphans++;
	if (!in.links)
		return xw_update_drop(u, ino);
	rc = cut_to_size(u, ino, &in);
	in.dtime = 0;
	return rc ? rc : xw_update_put(u, ino, &in, steal(raw));
}

static int list(struct xw_update *u)
{
	xw_ino ino = u->img->sb.last_orphan, next;
	uint64_t budget = u->img->sb.inodes_count;
	int rc = 0;

	for (; ino && !rc; ino = next) {
		next = 0;
		rc = budget-- ? process(u, ino, &next) : bad(u, ino, "the list is circular");
	}
	u->img->sb.last_orphan = 0;
	return rc;
}

/* ---- the orphan file ---- */

static int file_block(struct xw_update *u, uint32_t seed, xw_blk blk, uint8_t *buf)
{
	const uint32_t bs = u->img->block_size, slots = xw_orphan_slots(bs);
	const bool csum = xw_super_has_csum(&u->img->sb);
	bool any = false;
	int rc = xw_dev_pread(u->img->dev, buf, bs, blk * bs);

	if (!rc && xw_orphan_verify(buf, bs, csum, seed, blk))
		return bad(u, u->img->sb.orphan_file_inum, "the orphan file is damaged");
	for (uint32_t i = 0; i < slots && !rc; i++) {
		const xw_ino ino = xw_orphan_slot(buf, i);

		if (!ino)
			continue;
		rc = process(u, ino, NULL);
		xw_orphan_set_slot(buf, i, 0);
		any = true;
	}
	if (rc || !any)
		return rc;
	xw_orphan_seal(buf, bs, csum, seed, blk);
	return xw_dev_pwrite(u->img->dev, buf, bs, blk * bs);
}

static int file(struct xw_update *u)
{
	const xw_ino ino = u->img->sb.orphan_file_inum;
	auto_free uint8_t *buf = malloc(u->img->block_size);
	struct xw_map_iter it;
	struct xw_map_run run;
	struct xw_inode in;
	int more, rc = buf ? 0 : xw_fail_nomem(u->diag, "orphan file");

	if (!rc)
		rc = xw_image_inode(u->img, ino, &in, NULL);
	if (rc)
		return rc;
	rc = xw_map_begin(u->img, ino, &in, 0, &it);
	while (!rc && (more = xw_map_next(&it, &run)) != 0) {
		rc = more < 0 ? more : 0;
		for (uint64_t i = 0; i < run.len && !rc; i++)
			rc = file_block(u, xw_image_inode_seed(u->img, ino, &in), run.pblk + i,
					buf);
	}
	xw_map_end(&it);
	u->img->sb.feature_ro_compat &= ~XW_RO_ORPHAN_PRESENT;
	return rc;
}

int xw_update_orphans(struct xw_update *u)
{
	int rc = list(u);

	if (!rc && u->img->sb.feature_compat & XW_COMPAT_ORPHAN_FILE &&
	    u->img->sb.feature_ro_compat & XW_RO_ORPHAN_PRESENT)
		rc = file(u);
	if (!rc && u->stats.orphans)
		rc = xw_update_flush_recs(u);
	if (!rc && u->stats.orphans)
		xw_log(u->diag, XW_LOG_INFO, "%s: %" PRIu64 " orphan inodes processed",
		       u->img->dev->name, u->stats.orphans);
	return rc;
}
