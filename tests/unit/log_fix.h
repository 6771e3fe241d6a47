/* SPDX-License-Identifier: MIT */
/* A log in memory and a target for its replay, written block by block. */
#ifndef XW_TESTS_LOG_FIX_H
#define XW_TESTS_LOG_FIX_H

#include <string.h>

#include "base/crc.h"
#include "base/endian.h"
#include "base/types.h"
#include "journal/replay.h"
#include "memdev.h"
#include "unit.h"

#define LOG_BLOCKS 120u
#define TARGET 300u /* blocks */
#define OFFSET 7168u /* where the log begins on its device */

static struct xw_diag diag;

struct format {
	uint32_t block_size, incompat, compat;
};

struct fixture {
	struct xw_dev *dev, *target;
	struct xw_log *log;
	uint32_t bs;
	uint32_t at, sequence; /* where the next block goes */
	uint32_t crc;
	unsigned char *model; /* of the target */
	unsigned char *buf;
};

static inline uint32_t rnd(uint32_t *x)
{
	return (*x = *x * 1664525u + 1013904223u) >> 8;
}

static inline void reopen(struct fixture *f)
{
	xw_log_close(f->log);
	ck_assert_int_eq(xw_log_open_flat(f->dev, OFFSET, f->bs, LOG_BLOCKS, &diag, &f->log), 0);
}

static inline void setup_log(struct fixture *f, const struct format *fmt, uint32_t sequence)
{
	struct xw_jsb jsb = {
		.blocktype = XW_JBD2_SUPER_V2,
		.blocksize = fmt->block_size,
		.maxlen = LOG_BLOCKS,
		.first = 1,
		.sequence = sequence,
		.feature_incompat = fmt->incompat,
		.feature_compat = fmt->compat,
		.checksum_type = 4,
		.num_fc_blks = 10,
		.uuid = "journal's uuid!",
	};

	memset(f, 0, sizeof(*f));
	memset(&diag, 0, sizeof(diag));
	f->bs = fmt->block_size;
	ck_assert_int_eq(xw_dev_open_mem(OFFSET + (uint64_t)LOG_BLOCKS * f->bs, &diag, &f->dev), 0);
	ck_assert_int_eq(xw_dev_open_mem((uint64_t)TARGET * f->bs, &diag, &f->target), 0);
	ck_assert_int_eq(xw_log_create_flat(f->dev, OFFSET, &jsb, &diag, &f->log), 0);
	f->at = 1;
	f->sequence = sequence;
	f->crc = ~0u;
	f->model = calloc(TARGET, f->bs);
	f->buf = malloc(f->bs);
}

static inline void teardown_log(struct fixture *f)
{
	xw_log_close(f->log);
	xw_dev_close(f->dev);
	xw_dev_close(f->target);
	free(f->model);
	free(f->buf);
}

static inline void put(struct fixture *f, const void *blk)
{
	uint64_t off;

	ck_assert_int_eq(xw_log_where(f->log, f->at, &off), 0);
	ck_assert_int_eq(xw_dev_pwrite(f->dev, blk, f->bs, off), 0);
	f->at = xw_log_next(f->log, f->at);
}

/* Contents of block blk in its `version`th state; some look like log blocks. */
static inline void contents(const struct fixture *f, xw_blk blk, uint32_t version, unsigned char *p)
{
	memset(p, (int)(blk * 31 + version * 7), f->bs);
	poke64(p + 8, blk);
	poke32(p + 16, version);
	if ((blk + version) % 3 == 0)
		*(be32 *)p = putbe32(XW_JBD2_MAGIC);
}

static inline void put_descriptor(struct fixture *f, const xw_blk *blks, uint32_t n,
				  uint32_t version)
{
	struct xw_jtag tags[64] = {0};
	unsigned char *data = malloc((size_t)n * f->bs);

	ck_assert_uint_le(n, 64);
	ck_assert_uint_le(n, xw_jdesc_capacity(&f->log->fmt));
	for (uint32_t i = 0; i < n; i++) {
		unsigned char *p = data + (size_t)i * f->bs;

		contents(f, blks[i], version, p);
		tags[i].blk = blks[i];
		if (getbe32(*(be32 *)p) == XW_JBD2_MAGIC) {
			tags[i].flags = XW_JTAG_ESCAPED;
			memset(p, 0, 4);
		}
		tags[i].csum = xw_jtag_csum(&f->log->fmt, f->sequence, p);
	}
	xw_jdesc_encode(&f->log->fmt, f->sequence, tags, n, f->buf);
	f->crc = xw_crc32_be(f->crc, f->buf, f->bs);
	put(f, f->buf);
	for (uint32_t i = 0; i < n; i++) {
		f->crc = xw_crc32_be(f->crc, data + (size_t)i * f->bs, f->bs);
		put(f, data + (size_t)i * f->bs);
	}
	free(data);
}

static inline void put_revoke(struct fixture *f, const xw_blk *blks, uint32_t n)
{
	const unsigned each = f->log->fmt.is64 ? 8 : 4;

	memset(f->buf, 0, f->bs);
	*(be32 *)f->buf = putbe32(XW_JBD2_MAGIC);
	*(be32 *)(f->buf + 4) = putbe32(XW_JBD2_REVOKE);
	*(be32 *)(f->buf + 8) = putbe32(f->sequence);
	*(be32 *)(f->buf + 12) = putbe32(16 + n * each);
	for (uint32_t i = 0; i < n; i++) {
		if (each == 8)
			*(be64 *)(f->buf + 16 + (size_t)8 * i) = putbe64(blks[i]);
		else
			*(be32 *)(f->buf + 16 + (size_t)4 * i) = putbe32((uint32_t)blks[i]);
	}
	xw_jblock_set_tail(&f->log->fmt, f->buf);
	put(f, f->buf);
}

static inline void put_commit(struct fixture *f, uint64_t sec)
{
	struct xw_jcommit c = {.sec = sec, .csum = f->crc};

	xw_jcommit_encode(&f->log->fmt, f->sequence, &c, f->buf);
	put(f, f->buf);
	f->sequence++;
	f->crc = ~0u;
}

static inline void check_target(struct fixture *f)
{
	unsigned char *got = malloc((size_t)TARGET * f->bs);

	ck_assert_int_eq(xw_dev_pread(f->target, got, (size_t)TARGET * f->bs, 0), 0);
	ck_assert(memcmp(got, f->model, (size_t)TARGET * f->bs) == 0);
	free(got);
}

static inline void replay(struct fixture *f, unsigned flags)
{
	struct xw_replay r;

	ck_assert_int_eq(xw_replay_plan(f->log, flags, TARGET, &r), 0);
	ck_assert_int_eq(xw_replay_apply(f->log, &r, UINT64_MAX, f->target), 0);
	xw_replay_free(&r);
}

#endif
