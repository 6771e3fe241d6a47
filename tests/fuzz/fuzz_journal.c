/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target over journal replay. Byte 0 of the input chooses the format of a log in memory that
 * holds three transactions, byte 1 whether checksums are made right again; then come records of
 * three bytes: where in the log (le16), what is XORed there.
 *
 * Properties, besides no crash and an end: a plan names blocks of the target in ascending order and
 * of the log's own area; a failure has its line, and planning writes nothing.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "base/types.h"
#include "journal/replay.h"
#include "journal/txn.h"
#include "../unit/memdev.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

#define BS 1024u
#define BLOCKS 48u
#define TARGET 64u

static const struct {
	uint32_t compat, incompat;
} formats[] = {
	{0, 0},
	{0, XW_JBD2_INCOMPAT_64BIT},
	{XW_JBD2_COMPAT_CHECKSUM, 0},
	{0, XW_JBD2_INCOMPAT_CSUM_V2},
	{0, XW_JBD2_INCOMPAT_CSUM_V2 | XW_JBD2_INCOMPAT_64BIT},
	{0, XW_JBD2_INCOMPAT_CSUM_V3 | XW_JBD2_INCOMPAT_64BIT},
	{0, XW_JBD2_INCOMPAT_CSUM_V3 | XW_JBD2_INCOMPAT_FAST_COMMIT},
	{XW_JBD2_COMPAT_CHECKSUM, XW_JBD2_INCOMPAT_ASYNC_COMMIT},
};

static int get_block(void *arg, size_t i, xw_blk *blk, const void **data)
{
	static const uint8_t magic[BS] = {0xC0, 0x3B, 0x39, 0x98};

	*blk = *(uint32_t *)arg + 3 * i;
	*data = i % 2 ? magic : NULL;
	return 0;
}

/* Three transactions from block 40 on, so that they wrap, a revoke block in the second. */
static void fill(struct xw_log *log)
{
	uint32_t first = 5, at = 40;
	struct xw_block_source src = {.n = 4, .arg = &first, .get = get_block};
	uint8_t blk[BS] = {0};
	uint64_t off;

	at = XW_MIN(at, log->last - 1);
	log->jsb.start = at;
	for (uint32_t txn = 0; txn < 3; txn++, first += 3) {
		MUST(!xw_txn_write(log, at, 100 + txn, &src, 1000 + txn, 0));
		for (uint64_t n = xw_txn_blocks(log, src.n); n; n--)
			at = xw_log_next(log, at);
		if (txn != 0)
			continue;
		*(be32 *)blk = putbe32(XW_JBD2_MAGIC);
		*(be32 *)(blk + 4) = putbe32(XW_JBD2_REVOKE);
		*(be32 *)(blk + 8) = putbe32(101);
		*(be32 *)(blk + 12) = putbe32(16 + 8);
		blk[16 + 3] = 8;
		xw_jblock_set_tail(&log->fmt, blk);
		MUST(!xw_log_where(log, at, &off));
		MUST(!xw_dev_pwrite(log->dev, blk, BS, off));
		at = xw_log_next(log, at);
	}
	MUST(!xw_log_set_start(log, log->jsb.start, 100));
}

static void mutate(struct xw_dev *dev, const uint8_t *data, size_t size)
{
	for (; size >= 3; data += 3, size -= 3) {
		uint64_t off = peek16(data) % (BLOCKS * BS);
		uint8_t c;

		if (off >= 21 * BS && off < 40 * BS) /* rather where there is something */
			off %= 21 * BS;
		MUST(!xw_dev_pread(dev, &c, 1, off));
		c ^= data[2];
		MUST(!xw_dev_pwrite(dev, &c, 1, off));
	}
}

/* Right checksums in the superblock and in whatever looks like a descriptor, revoke or commit. */
static void fix_checksums(struct xw_dev *dev)
{
	uint8_t blk[BS];
	uint32_t type, sequence;
	struct xw_jsb jsb;
	struct xw_jfmt fmt;

	MUST(!xw_dev_pread(dev, blk, BS, 0));
	if (xw_jsb_decode(blk, &jsb))
		return;
	xw_jsb_encode(&jsb, blk);
	MUST(!xw_dev_pwrite(dev, blk, BS, 0));
	if (jsb.blocksize != BS)
		return;
	xw_jfmt_init(&jsb, &fmt);
	for (uint32_t b = 1; b < BLOCKS; b++) {
		MUST(!xw_dev_pread(dev, blk, BS, (uint64_t)b * BS));
		if (!xw_jblock_header(blk, &type, &sequence))
			continue;
		if (type == XW_JBD2_COMMIT) {
			struct xw_jcommit c;

			xw_jcommit_decode(blk, &c);
			xw_jcommit_encode(&fmt, sequence, &c, blk);
		} else {
			xw_jblock_set_tail(&fmt, blk);
		}
		MUST(!xw_dev_pwrite(dev, blk, BS, (uint64_t)b * BS));
	}
}

static void try_replay(struct xw_dev *dev, unsigned flags)
{
	struct xw_diag diag = {0};
	struct xw_dev *target;
	struct xw_replay r;
	struct xw_log *log;
	int rc = xw_log_open_flat(dev, 0, BS, BLOCKS, &diag, &log);

	MUST(!rc == !diag.code);
	if (rc)
		return;
	MUST(!xw_dev_open_mem(TARGET * BS, NULL, &target));
	rc = xw_replay_plan(log, flags, TARGET, &r);
	MUST(!rc == !diag.code);
	for (size_t i = 0; !rc && i < r.blocks.n; i++) {
		MUST(r.blocks.v[i].blk < TARGET);
		MUST(r.blocks.v[i].at >= log->first && r.blocks.v[i].at < log->last);
		MUST(!i || r.blocks.v[i].blk > r.blocks.v[i - 1].blk);
	}
	if (!rc) {
		MUST(!xw_replay_apply(log, &r, UINT64_MAX, target));
		MUST(target->size == TARGET * BS);
		MUST(!xw_replay_finish(log, &r));
	}
	xw_replay_free(&r);
	xw_log_close(log);
	xw_dev_close(target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t f = size ? data[0] % XW_ARRAY_SIZE(formats) : 0;
	struct xw_jsb jsb = {
		.blocktype = XW_JBD2_SUPER_V2,
		.blocksize = BS,
		.maxlen = BLOCKS,
		.first = 1,
		.sequence = 100,
		.feature_compat = formats[f].compat,
		.feature_incompat = formats[f].incompat,
		.checksum_type = 4,
		.num_fc_blks = 6,
	};
	struct xw_dev *dev;
	struct xw_log *log;

	MUST(!xw_dev_open_mem(BLOCKS * BS, NULL, &dev));
	MUST(!xw_log_create_flat(dev, 0, &jsb, NULL, &log));
	fill(log);
	xw_log_close(log);
	if (size > 2)
		mutate(dev, data + 2, size - 2);
	if (size > 1 && data[1] & 1)
		fix_checksums(dev);
	try_replay(dev, XW_REPLAY_SALVAGE);
	try_replay(dev, 0);
	xw_dev_close(dev);
	return 0;
}
