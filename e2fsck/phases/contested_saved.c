// SPDX-License-Identifier: MIT
/* Contents of contested blocks before any repair, from which copies are made. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "dev/overlay.h"
#include "phases/contested.h"

/*
 * Does the device below the overlay have the original contents? Not if a journal was replayed in
 * the overlay only: the replayed blocks count as original.
 */
static bool is_on_base(const struct fsck *f)
{
	return f->start.replayed == f->start.replayed_on_disk;
}

/*
 * A file may claim blocks of group metadata. Superblock and descriptors may have been repaired by
 * now, and an update writes the bitmaps before the file is cloned. The original contents of such a
 * block are read from the device below the overlay, or are saved here.
 */
int fsck_contest_save(struct fsck_contest *c, uint64_t cluster)
{
	struct fsck *f = c->f;
	const uint32_t bs = f->ses.img->block_size;
	const xw_blk first = c->base + (cluster << c->bits);

	for (xw_blk blk = first; !is_on_base(f) && blk < first + (UINT64_C(1) << c->bits); blk++) {
		struct fsck_saved s = {blk, NULL};

		if (blk >= f->ses.img->sb.blocks_count || !fsck_is_metadata(f, blk, 1))
			continue;
		s.data = malloc(bs);
		if (!s.data || xw_vec_push(&c->saved, s)) {
			free(s.data);
			return xw_fail_nomem(&f->ses.diag, "contested blocks");
		}
		if (xw_dev_pread(f->ses.dev, s.data, bs, blk * bs)) {
			free(s.data);
			c->saved.v[c->saved.n - 1].data = NULL;
			xw_diag_clear(&f->ses.diag);
		}
	}
	return 0;
}

void fsck_contest_saved_free(struct fsck_contest *c)
{
	for (size_t i = 0; i < c->saved.n; i++)
		free(c->saved.v[i].data);
	xw_vec_free(&c->saved);
}

int fsck_contest_read(const struct fsck_contest *c, xw_blk blk, uint8_t *buf)
{
	const struct fsck *f = c->f;
	const uint32_t bs = f->ses.img->block_size;
	const struct fsck_saved *s =
		c->saved.n ? bsearch(&blk, c->saved.v, c->saved.n, sizeof(*s), xw_by_u64) : NULL;
	struct xw_dev *const dev = is_on_base(f) && fsck_is_metadata(f, blk, 1)
					   ? xw_overlay_base(f->ses.dev)
					   : f->ses.dev;

	if (!s || !s->data)
		return xw_dev_pread(dev, buf, bs, blk * bs);
	memcpy(buf, s->data, bs);
	return 0;
}
