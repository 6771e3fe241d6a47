/* SPDX-License-Identifier: MIT */
/*
 * The log as an array of blocks: their locations, and the journal superblock.
 *
 * Invariants once a log is open:
 * 1. 1 <= first < last <= last + fc_blocks = maxlen <= number of blocks that the map provides.
 * 2. start is 0 or in first .. last - 1.
 * 3. All features are known: tags and checksums can be decoded.
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "base/auto.h"
#include "base/search.h"
#include "journal/log_internal.h"

#define KNOWN_INCOMPAT                                                                             \
	(XW_JBD2_INCOMPAT_REVOKE | XW_JBD2_INCOMPAT_64BIT | XW_JBD2_INCOMPAT_ASYNC_COMMIT |        \
	 XW_JBD2_INCOMPAT_CSUM_V2 | XW_JBD2_INCOMPAT_CSUM_V3 | XW_JBD2_INCOMPAT_FAST_COMMIT)
#define CSUM_CRC32C 4

struct xw_log *xw_log_new(struct xw_dev *dev, uint32_t block_size, struct xw_diag *diag)
{
	struct xw_log *log = calloc(1, sizeof(*log));

	if (!log) {
		xw_fail_nomem(diag, "a journal");
		return NULL;
	}
	log->dev = dev;
	log->diag = diag;
	log->block_size = block_size;
	return log;
}

void xw_log_close(struct xw_log *log)
{
	if (!log)
		return;
	xw_vec_free(&log->map);
	free(log);
}

int xw_log_add_run(struct xw_log *log, uint64_t lblk, uint64_t len, xw_blk pblk)
{
	struct xw_log_run *last = log->map.n ? &log->map.v[log->map.n - 1] : NULL;
	struct xw_log_run run = {.lblk = lblk, .len = len, .pblk = pblk};

	if (last && last->lblk + last->len == lblk && last->pblk + last->len == pblk) {
		last->len += len;
		return 0;
	}
	if (xw_vec_push(&log->map, run))
		return xw_fail_nomem(log->diag, "a journal");
	return 0;
}

int xw_log_where(const struct xw_log *log, uint64_t lblk, uint64_t *off)
{
	const struct xw_log_run *v = log->map.v;
	const size_t at = XW_LOWER_BOUND(i, log->map.n, v[i].lblk + v[i].len > lblk);

	if (at < log->map.n && v[at].lblk <= lblk) {
		*off = log->offset + (v[at].pblk + (lblk - v[at].lblk)) * log->block_size;
		return 0;
	}
	return xw_fail(log->diag, XW_ERR_CORRUPT, "%s: journal: block %" PRIu64 " is missing",
		       log->dev->name, lblk);
}

int xw_log_read(struct xw_log *log, uint64_t lblk, void *buf)
{
	uint64_t off;
	int rc = xw_log_where(log, lblk, &off);

	return rc ? rc : xw_dev_pread(log->dev, buf, log->block_size, off);
}

bool xw_log_owns(const struct xw_log *log, xw_blk blk)
{
	for (size_t i = 0; i < log->map.n; i++)
		if (blk >= log->map.v[i].pblk && blk - log->map.v[i].pblk < log->map.v[i].len)
			return true;
	return false;
}

bool xw_log_same_place(const struct xw_log *a, const struct xw_log *b)
{
	if (a->map.n != b->map.n || a->offset != b->offset || a->block_size != b->block_size)
		return false;
	for (size_t i = 0; i < a->map.n; i++) {
		const struct xw_log_run *x = &a->map.v[i], *y = &b->map.v[i];

		if (x->lblk != y->lblk || x->len != y->len || x->pblk != y->pblk)
			return false;
	}
	return true;
}

static int bad_super(struct xw_log *log, int code, const char *what)
{
	return xw_fail(log->diag, code, "%s: journal superblock: %s", log->dev->name, what);
}

static int check_features(struct xw_log *log)
{
	const struct xw_jsb *j = &log->jsb;
	const uint32_t csum =
		j->feature_incompat & (XW_JBD2_INCOMPAT_CSUM_V2 | XW_JBD2_INCOMPAT_CSUM_V3);

	if (j->feature_incompat & ~KNOWN_INCOMPAT || j->feature_ro_compat)
		return xw_fail(log->diag, XW_ERR_UNSUPPORTED,
			       "%s: journal: unknown features (incompat 0x%" PRIx32
			       ", ro_compat 0x%" PRIx32 ")",
			       log->dev->name, j->feature_incompat & ~KNOWN_INCOMPAT,
			       j->feature_ro_compat);
	if (csum == (XW_JBD2_INCOMPAT_CSUM_V2 | XW_JBD2_INCOMPAT_CSUM_V3))
		return bad_super(log, XW_ERR_CORRUPT, "both checksum v2 and v3 are set");
	if (csum && j->checksum_type != CSUM_CRC32C)
		return bad_super(log, XW_ERR_UNSUPPORTED, "unknown checksum type");
	return 0;
}

/* Check invariants 1 and 2. */
static int check_geometry(struct xw_log *log, uint64_t blocks)
{
	const struct xw_jsb *j = &log->jsb;

	if (j->blocksize != log->block_size)
		return bad_super(log, XW_ERR_CORRUPT, "its block size is not the filesystem's");
	if (j->maxlen > blocks)
		return bad_super(log, XW_ERR_CORRUPT, "longer than the journal");
	if (j->feature_incompat & XW_JBD2_INCOMPAT_FAST_COMMIT)
		log->fc_blocks = j->num_fc_blks ? j->num_fc_blks : XW_JBD2_FC_BLOCKS;
	if (log->fc_blocks >= j->maxlen - j->first)
		return bad_super(log, XW_ERR_CORRUPT, "the fast commit area leaves no room");
	log->first = j->first;
	log->last = j->maxlen - log->fc_blocks;
	if (j->start && (j->start < log->first || j->start >= log->last))
		return bad_super(log, XW_ERR_CORRUPT, "the log starts outside the journal");
	return 0;
}

int xw_log_load(struct xw_log *log, uint64_t blocks)
{
	uint8_t buf[XW_JSB_SIZE];
	uint64_t off;
	int rc = xw_log_where(log, 0, &off);

	if (!rc)
		rc = xw_dev_pread(log->dev, buf, sizeof(buf), off);
	if (rc)
		return rc;
	if (xw_jsb_decode(buf, &log->jsb))
		return bad_super(log, XW_ERR_CORRUPT, "not valid");
	rc = check_features(log);
	if (!rc && xw_jsb_verify(buf))
		rc = bad_super(log, XW_ERR_CHECKSUM, "checksum mismatch");
	if (!rc)
		rc = check_geometry(log, blocks);
	if (!rc)
		xw_jfmt_init(&log->jsb, &log->fmt);
	return rc;
}

int xw_log_set_start(struct xw_log *log, uint32_t start, uint32_t sequence)
{
	uint8_t buf[XW_JSB_SIZE];
	uint64_t off;
	int rc = xw_log_where(log, 0, &off);

	if (rc)
		return rc;
	log->jsb.start = start;
	log->jsb.sequence = sequence;
	xw_jsb_encode(&log->jsb, buf);
	/* A version 1 superblock ends before the features; later bytes must not be cleared. */
	return xw_dev_pwrite(log->dev, buf, log->jsb.blocktype == XW_JBD2_SUPER_V1 ? 36 : 1024,
			     off);
}

int xw_log_open_flat(struct xw_dev *dev, uint64_t offset, uint32_t block_size, uint64_t blocks,
		     struct xw_diag *diag, struct xw_log **out)
{
	auto_log struct xw_log *log = xw_log_new(dev, block_size, diag);
	int rc;

	if (!log)
		return XW_ERR_NOMEM;
	log->offset = offset;
	rc = xw_log_add_run(log, 0, blocks, 0);
	if (!rc)
		rc = xw_log_load(log, blocks);
	if (!rc)
		*out = steal(log);
	return rc;
}

int xw_log_create_flat(struct xw_dev *dev, uint64_t offset, const struct xw_jsb *jsb,
		       struct xw_diag *diag, struct xw_log **out)
{
	uint8_t buf[XW_JSB_SIZE];
	int rc;

	xw_jsb_encode(jsb, buf);
	rc = xw_dev_pwrite(dev, buf, sizeof(buf), offset);
	return rc ? rc : xw_log_open_flat(dev, offset, jsb->blocksize, jsb->maxlen, diag, out);
}
