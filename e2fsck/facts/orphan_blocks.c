// SPDX-License-Identifier: MIT
/* The blocks of an inode that may be the orphan file; see orphan_blocks.h. */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "disk/orphan.h"
#include "facts/orphan_blocks.h"

/* Limit for a wrong inode number that refers to a large file. */
enum { BLOCKS_UNKNOWN_MAX = 64 };

bool fsck_orphan_is_clean(const uint8_t *buf, uint32_t slots)
{
	for (uint32_t i = 0; i < slots; i++)
		if (xw_orphan_slot(buf, i))
			return false;
	return true;
}

static void examine_block(struct fsck *f, struct fsck_orphan_file *o, xw_lblk lblk, xw_blk blk,
			  uint8_t *buf)
{
	const uint32_t bs = f->ses.img->block_size;
	const bool doubtful = !o->known && o->blocks >= BLOCKS_UNKNOWN_MAX;

	o->blocks++;
	if (doubtful || fsck_read(f, blk, 1, buf) || xw_orphan_verify(buf, bs, false, 0, 0))
		return;
	o->known++;
	if (xw_orphan_verify(buf, bs, o->csum, o->seed, blk))
		return;
	o->good++;
	if (o->in_use == UINT64_MAX && !fsck_orphan_is_clean(buf, xw_orphan_slots(bs)))
		o->in_use = lblk;
}

/* *whole: the map has no hole. */
static int examine_map(struct fsck *f, xw_ino ino, const struct xw_inode *in, uint8_t *buf,
		       struct fsck_orphan_file *o, bool *whole)
{
	struct xw_inode file = *in;
	auto_end(xw_map_end) struct xw_map_iter it;
	struct xw_map_run run;
	uint64_t next = 0;
	int more = -1, rc = 0;

	file.mode = XW_S_IFREG;
	*whole = true;
	if (!xw_map_begin(f->ses.img, ino, &file, 0, &it))
		while (!rc && (more = xw_map_next(&it, &run)) > 0) {
			*whole = *whole && run.lblk == next;
			next = run.lblk + run.len;
			for (uint64_t k = 0; k < run.len; k++)
				examine_block(f, o, run.lblk + k, run.pblk + k, buf);
			rc = xw_vec_push(&o->runs, run) ? XW_ERR_NOMEM : 0;
		}
	*whole = *whole && !more;
	return rc;
}

int fsck_orphan_file_read(struct fsck *f, xw_ino ino, const struct xw_inode *in,
			  struct fsck_orphan_file *o)
{
	const uint32_t bs = f->ses.img->block_size;
	auto_quiet quiet = fsck_quiet(&f->ses.img->diag);
	auto_free uint8_t *buf = malloc(bs);
	struct xw_inode read;
	bool whole;
	int rc = 0;

	*o = (struct fsck_orphan_file){.in_use = UINT64_MAX};
	if (!buf)
		return xw_fail_nomem(&f->ses.diag, "orphan file");
	if (ino < f->ses.img->sb.first_ino || ino > f->ses.img->sb.inodes_count)
		return 0;
	if (!in && !xw_image_inode(f->ses.img, ino, &read, NULL))
		in = &read;
	if (in && !(in->flags & XW_FL_INLINE_DATA)) {
		o->csum = xw_super_has_csum(&f->ses.img->sb);
		o->seed = xw_image_inode_seed(f->ses.img, ino, in);
		rc = examine_map(f, ino, in, buf, o, &whole);
		o->valid = whole && (in->mode & XW_S_IFMT) == XW_S_IFREG && in->links &&
			   o->blocks && o->blocks * bs == in->size;
	}
	xw_diag_clear(&f->ses.diag);
	return rc ? xw_fail_nomem(&f->ses.diag, "orphan file") : 0;
}

bool fsck_orphan_file_is(const struct fsck_orphan_file *o)
{
	return (o->csum && o->good) || 2 * o->known > o->blocks;
}

bool fsck_orphan_file_is_valid(const struct fsck_orphan_file *o)
{
	return o->valid && o->good == o->blocks;
}
