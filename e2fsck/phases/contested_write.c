// SPDX-License-Identifier: MIT
/*
 * Where copies of contested blocks are written: to free blocks of the image at once, so that memory
 * does not depend on their number. Nothing refers to them before the commit, which flushes them
 * first; they are read back and compared before it.
 *
 * A block is written to only if nothing claimed it in this round or in an earlier one, so its
 * contents are needed neither in the old state nor in the new one. It must also be free in a valid
 * bitmap of the old state; otherwise it might belong to an inode that is lost, and the copy is held
 * in memory, up to HELD_MAX bytes in all. Behind that the claims alone decide, as they do for the
 * redo record.
 */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/crc.h"
#include "phases/contested.h"

enum { HELD_MAX = 8 << 20, READ_MAX = 64 << 10 };

/* Did nothing ever claim these blocks, as far as the check knows? */
static bool is_unused(const struct fsck *f, xw_blk blk, uint64_t n)
{
	const struct fsck_unused *u = &f->ses.unused;

	if (!f->ses.edit || !f->facts.owners.complete || u->spoiled)
		return false;
	for (uint64_t i = 0; i < n; i++)
		if (fsck_is_claimed(f, blk + i) || !fsck_unused_before(f, blk + i))
			return false;
	return true;
}

static int note(struct fsck_contest *c, xw_ino ino, xw_blk blk, uint64_t n)
{
	struct fsck_written *last = c->written.n ? &c->written.v[c->written.n - 1] : NULL;
	const size_t bytes = (size_t)(n * c->f->ses.img->block_size);
	struct fsck_written w = {blk, n, 0, ino};

	if (last && last->ino == ino && last->blk + last->len == blk) {
		last->csum = xw_crc32c(last->csum, c->copy, bytes);
		last->len += n;
		return 0;
	}
	w.csum = xw_crc32c(0, c->copy, bytes);
	return xw_vec_push(&c->written, w) ? xw_fail_nomem(&c->f->ses.diag, "contested blocks") : 0;
}

int fsck_contest_write(struct fsck_contest *c, struct xw_update *u, xw_ino ino, xw_blk blk,
		       uint64_t n)
{
	struct fsck *f = c->f;
	const uint64_t bs = f->ses.img->block_size;
	const size_t len = (size_t)(n * bs);
	const bool unused = is_unused(f, blk, n);
	bool written = false;
	int rc = 0;

	if (unused)
		rc = xw_edit_write_free(f->ses.edit, false, c->copy, len, blk * bs, &written);
	if (!rc && unused && !written && c->held + len > HELD_MAX)
		rc = xw_edit_write_free(f->ses.edit, true, c->copy, len, blk * bs, &written);
	if (rc || written)
		return rc ? rc : note(c, ino, blk, n);
	c->held += len;
	return xw_dev_pwrite(unused ? u->data : u->img->dev, c->copy, len, blk * bs);
}

static int verify(struct fsck_contest *c, const struct fsck_written *w, uint8_t *buf)
{
	struct fsck *f = c->f;
	const uint64_t bs = f->ses.img->block_size, end = (w->blk + w->len) * bs;
	uint32_t csum = 0;
	int rc = 0;

	for (uint64_t at = w->blk * bs, n; at < end && !rc; at += n) {
		n = XW_MIN(end - at, READ_MAX);
		rc = xw_dev_pread_fresh(xw_overlay_base(f->ses.dev), buf, (size_t)n, at);
		csum = xw_crc32c(csum, buf, (size_t)n);
	}
	if (rc || csum == w->csum)
		return rc;
	return xw_fail(&f->ses.diag, XW_ERR_IO,
		       "%s: the device does not keep what is written to blocks %llu-%llu: nothing "
		       "was repaired; copy the image to another device",
		       f->opts.image, (unsigned long long)w->blk,
		       (unsigned long long)(w->blk + w->len - 1));
}

int fsck_contest_verify(struct fsck_contest *c)
{
	struct xw_dev *dev = c->f->ses.dev;
	auto_free uint8_t *buf = NULL;
	int rc = 0;

	if (!c->written.n)
		return 0;
	buf = malloc(READ_MAX);
	rc = buf ? xw_dev_flush(dev) : xw_fail_nomem(&c->f->ses.diag, "contested blocks");
	for (size_t i = 0; i < c->written.n && !rc; i++)
		rc = verify(c, &c->written.v[i], buf);
	return rc;
}
