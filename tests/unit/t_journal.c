/* SPDX-License-Identifier: MIT */
/* Logs in memory: written by the library or block by block, replayed, damaged. The oracle tests
 * (tests/oracle/journal.sh) have the kernel's and the stock tools' opinion. */
#include "config.h"

#include <string.h>

#include "base/crc.h"
#include "base/endian.h"
#include "base/types.h"
#include "disk/fast.h"
#include "journal/replay.h"
#include "journal/txn.h"
#include "fast_put.h"
#include "log_fix.h"
#include "memdev.h"

static const struct format formats[] = {
	{1024, 0, 0},
	{1024, XW_JBD2_INCOMPAT_64BIT | XW_JBD2_INCOMPAT_REVOKE, 0},
	{1024, 0, XW_JBD2_COMPAT_CHECKSUM},
	{2048, XW_JBD2_INCOMPAT_64BIT, XW_JBD2_COMPAT_CHECKSUM},
	{1024, XW_JBD2_INCOMPAT_CSUM_V2, 0},
	{4096, XW_JBD2_INCOMPAT_CSUM_V2 | XW_JBD2_INCOMPAT_64BIT, 0},
	{1024, XW_JBD2_INCOMPAT_CSUM_V3, 0},
	{4096, XW_JBD2_INCOMPAT_CSUM_V3 | XW_JBD2_INCOMPAT_64BIT | XW_JBD2_INCOMPAT_REVOKE, 0},
	{65536, XW_JBD2_INCOMPAT_CSUM_V3 | XW_JBD2_INCOMPAT_64BIT, 0},
	{1024, XW_JBD2_INCOMPAT_CSUM_V3 | XW_JBD2_INCOMPAT_FAST_COMMIT, 0},
};

/* ---- what the library writes ---- */

struct list {
	struct fixture *f;
	xw_blk blks[100];
	unsigned char *buf;
};

static int get_block(void *arg, size_t i, xw_blk *blk, const void **data)
{
	struct list *l = arg;

	*blk = l->blks[i];
	contents(l->f, *blk, 1, l->buf);
	*data = *blk % 5 == 4 ? NULL : l->buf;
	return 0;
}

START_TEST(write_and_replay)
{
	struct fixture f;
	struct list l = {.f = &f};
	struct xw_block_source src = {.arg = &l, .get = get_block};
	const uint32_t sequence = 0xFFFFFFFF;
	struct xw_replay r;
	size_t n;

	setup_log(&f, &formats[_i], sequence);
	l.buf = malloc(f.bs);
	for (n = 0; n < 100 && xw_txn_blocks(f.log, n + 1) <= f.log->last - f.log->first; n++) {
		l.blks[n] = 2 * n + n / 7 + 3;
		contents(&f, l.blks[n], 1, f.model + l.blks[n] * f.bs);
		if (l.blks[n] % 5 == 4)
			memset(f.model + l.blks[n] * f.bs, 0, f.bs);
	}
	src.n = n;
	ck_assert_uint_gt(n, 80);
	if (n < 100) {
		src.n++;
		ck_assert_int_eq(xw_txn_write(f.log, 1, sequence, &src, 5, 6), XW_ERR_LIMIT);
		xw_diag_clear(&diag);
		src.n--;
	}
	/* from the middle: it wraps */
	ck_assert_int_eq(xw_txn_write(f.log, 77, sequence, &src, 5, 6), 0);
	ck_assert_int_eq(xw_replay_plan(f.log, 0, TARGET, &r), 0);
	ck_assert_uint_eq(r.blocks.n, 0);
	xw_replay_free(&r);
	ck_assert_int_eq(xw_log_set_start(f.log, 77, sequence), 0);
	reopen(&f);
	ck_assert_uint_eq(f.log->jsb.start, 77);
	ck_assert_int_eq(xw_replay_plan(f.log, 0, TARGET, &r), 0);
	ck_assert_uint_eq(r.transactions, 1);
	ck_assert_uint_eq(r.end_sequence, 0);
	ck_assert_uint_eq(r.blocks.n, n);
	ck_assert_int_eq(xw_replay_apply(f.log, &r, UINT64_MAX, f.target), 0);
	check_target(&f);
	ck_assert_int_eq(xw_replay_finish(f.log, &r), 0);
	xw_replay_free(&r);
	reopen(&f);
	ck_assert_uint_eq(f.log->jsb.start, 0);
	ck_assert_uint_eq(f.log->jsb.sequence, 1);
	free(l.buf);
	teardown_log(&f);
}
END_TEST

/*
 * Transactions written by the library: blocks; revocations of some of them, more than fit one
 * block where blocks are small, beside a copy that they revoke as well; a newer copy of one; and
 * one without a commit block.
 */
START_TEST(write_revocations)
{
	enum { MANY = 600 };
	struct fixture f;
	struct list l = {.f = &f};
	xw_blk revoke[MANY];
	struct xw_txn t = {.src = {.n = 10, .arg = &l, .get = get_block}, .sec = 5};
	struct xw_replay r;
	uint32_t at = 100, end; /* so that the log wraps */

	setup_log(&f, &formats[_i], 7);
	l.buf = malloc(f.bs);
	for (size_t i = 0; i < 10; i++)
		l.blks[i] = 10 + i;
	ck_assert_int_eq(xw_txn_put(f.log, &at, 7, &t), 0);
	for (size_t i = 0; i < MANY; i++) /* 13 .. 16, and many that nothing has written */
		revoke[i] = i < 4 ? 13 + i : 1000 + i;
	l.blks[0] = 16;
	t.src.n = 1;
	t.revoke = revoke;
	t.n_revoke = MANY;
	ck_assert_int_eq(xw_txn_put(f.log, &at, 8, &t), 0);
	l.blks[0] = 14;
	t.n_revoke = 0;
	ck_assert_int_eq(xw_txn_put(f.log, &at, 9, &t), 0);
	end = at;
	l.blks[0] = 200;
	t.uncommitted = true;
	ck_assert_int_eq(xw_txn_put(f.log, &at, 10, &t), 0);
	ck_assert_uint_eq(at, xw_log_next(f.log, xw_log_next(f.log, end)));
	ck_assert_int_eq(xw_log_set_start(f.log, 100, 7), 0);
	reopen(&f);
	ck_assert_int_eq(xw_replay_plan(f.log, 0, TARGET, &r), 0);
	ck_assert_uint_eq(r.transactions, 3);
	ck_assert_uint_eq(r.end_sequence, 10);
	ck_assert_uint_eq(r.end_at, end);
	ck_assert_uint_eq(r.tags, 12);
	ck_assert_uint_eq(r.revoked, 5);
	ck_assert_uint_eq(r.bad, 0);
	ck_assert_uint_eq(r.blocks.n, 7); /* 10 .. 12, 14, 17 .. 19 */
	ck_assert_int_eq(xw_replay_apply(f.log, &r, UINT64_MAX, f.target), 0);
	xw_replay_free(&r);
	for (xw_blk blk = 10; blk < 20; blk++) {
		if (blk == 13 || blk == 15 || blk == 16)
			continue;
		contents(&f, blk, 1, f.model + blk * f.bs);
		if (blk % 5 == 4)
			memset(f.model + blk * f.bs, 0, f.bs);
	}
	check_target(&f);
	/* one more than the log has room for */
	t = (struct xw_txn){.revoke = revoke};
	t.n_revoke = (size_t)(f.log->last - f.log->first) * xw_jrevoke_capacity(&f.log->fmt) + 1;
	ck_assert_int_eq(xw_txn_put(f.log, &at, 12, &t), XW_ERR_LIMIT);
	free(l.buf);
	teardown_log(&f);
}
END_TEST

START_TEST(skip_find_and_clip)
{
	struct fixture f;
	const xw_blk blks[] = {10, 11, 12, 13, 14};
	struct xw_replay r;
	size_t i = 0;

	setup_log(&f, &formats[0], 1);
	put_descriptor(&f, blks, 5, 1);
	put_commit(&f, 1);
	f.log->jsb.start = 1;
	ck_assert_int_eq(xw_replay_plan(f.log, 0, TARGET, &r), 0);
	ck_assert(!xw_replay_find(&r, 9, &i));
	ck_assert(xw_replay_find(&r, 12, &i));
	ck_assert_uint_eq(i, 2);
	ck_assert_int_eq(xw_dev_set_size(f.target, 14 * 1024 + 100), 0);
	ck_assert_int_eq(xw_replay_apply(f.log, &r, 12, f.target), 0);
	ck_assert_uint_eq(f.target->size, 14 * 1024 + 100);
	ck_assert_int_eq(xw_dev_set_size(f.target, (uint64_t)TARGET * f.bs), 0);
	for (i = 0; i < 5; i++)
		if (blks[i] != 12)
			contents(&f, blks[i], 1, f.model + blks[i] * f.bs);
	memset(f.model + 14 * 1024 + 100, 0, 924);
	check_target(&f);
	xw_replay_free(&r);
	teardown_log(&f);
}
END_TEST

/* ---- random logs against a model of the rules ---- */

#define BLOCKS 40u

START_TEST(random_logs)
{
	const struct format *fmt = &formats[_i % XW_ARRAY_SIZE(formats)];
	const bool torn = _i % 3 == 0;
	uint32_t x = (uint32_t)_i + 1, version = 0, area, used = 0;
	uint32_t state[BLOCKS] = {0}; /* version that a replay leaves there, 0 = none */
	struct fixture f;

	setup_log(&f, fmt, rnd(&x) % 2 ? 0xFFFFFFFE : rnd(&x));
	area = f.log->last - f.log->first;
	f.log->jsb.start = f.log->first + rnd(&x) % area;
	f.at = f.log->jsb.start;
	for (uint32_t txn = 0; used + 30 <= area; txn++) {
		const uint32_t parts = 1 + rnd(&x) % 3;
		uint32_t next[BLOCKS];
		bool revoked[BLOCKS] = {0};

		memcpy(next, state, sizeof(next));
		for (uint32_t part = 0; part < parts; part++) {
			xw_blk blks[7];
			uint32_t n = 1 + rnd(&x) % 7;
			bool revoke = rnd(&x) % 3 == 0;

			for (uint32_t i = 0; i < n; i++)
				blks[i] = rnd(&x) % BLOCKS;
			if (revoke)
				put_revoke(&f, blks, n);
			else
				put_descriptor(&f, blks, n, ++version);
			used += revoke ? 1 : n + 1;
			for (uint32_t i = 0; i < n; i++) {
				if (revoke)
					revoked[blks[i]] = true;
				else
					next[blks[i]] = version;
			}
		}
		if (torn && used + 31 > area) /* no commit block: as if it were not there */
			break;
		put_commit(&f, 1000 + txn);
		used++;
		/* a revoke covers its own transaction, whatever came first */
		for (uint32_t i = 0; i < BLOCKS; i++)
			state[i] = revoked[i] ? 0 : next[i];
	}
	replay(&f, 0);
	for (xw_blk i = 0; i < BLOCKS; i++)
		if (state[i])
			contents(&f, i, state[i], f.model + i * f.bs);
	check_target(&f);
	teardown_log(&f);
}
END_TEST

/* ---- damage ---- */

/* Two transactions; then a byte of one block is changed. What each must lead to. */
static const struct damage {
	/* block of the log: 1 descriptor, 2-3 data, 4 revoke, 5 commit, 6 .. 9 as well */
	uint32_t at;
	uint32_t byte;
	int plain, v1, v23; /* result without, with v1, with v2 or v3 checksums */
	uint32_t left_plain, left_v1, left_v23; /* transactions still replayed, under salvage */
} damages[] = {
	{1, 2, 0, 0, 0, 0, 0, 0}, /* magic: the log ends */
	{1, 11, 0, 0, 0, 0, 0, 0}, /* sequence */
	{1, 600, 0, XW_ERR_CHECKSUM, XW_ERR_CHECKSUM, 2, 0, 0}, /* behind the tags */
	{3, 500, 0, XW_ERR_CHECKSUM, XW_ERR_CHECKSUM, 2, 0,
	 2}, /* data: alone left out under v2, v3 */
	{4, 12, XW_ERR_CORRUPT, XW_ERR_CORRUPT, XW_ERR_CHECKSUM, 2, 2, 0}, /* length of a revoke */
	{5, 3, 0, 0, 0, 0, 0, 0}, /* a commit block that is none */
	{5, 0x10, 0, XW_ERR_CHECKSUM, XW_ERR_CHECKSUM, 2, 0, 0},
	{5, 0x34, 0, 0, XW_ERR_CHECKSUM, 2, 2, 0}, /* its time */
	{6, 2, 0, 0, 0, 1, 1, 1}, /* the second transaction */
	{9, 0x10, 0, XW_ERR_CHECKSUM, XW_ERR_CHECKSUM, 2, 1, 1},
};

static void two_transactions(struct fixture *f, uint64_t second_time)
{
	const xw_blk a[] = {10, 11}, b[] = {11, 12}, gone[] = {200};

	put_descriptor(f, a, 2, 1);
	put_revoke(f, gone, 1);
	put_commit(f, 0x100);
	put_descriptor(f, b, 2, 2);
	put_commit(f, second_time);
	f->log->jsb.start = 1;
}

START_TEST(damage)
{
	const struct format *fmt = &formats[_i / XW_ARRAY_SIZE(damages)];
	const struct damage *d = &damages[_i % XW_ARRAY_SIZE(damages)];
	struct fixture f;
	struct xw_replay r;
	uint32_t left;
	uint64_t off;
	char c;
	int expect;

	setup_log(&f, fmt, 7);
	two_transactions(&f, 0x101);
	ck_assert_int_eq(xw_log_where(f.log, d->at, &off), 0);
	ck_assert_int_eq(xw_dev_pread(f.dev, &c, 1, off + d->byte), 0);
	c ^= 0x55;
	ck_assert_int_eq(xw_dev_pwrite(f.dev, &c, 1, off + d->byte), 0);
	expect = f.log->fmt.csum ? d->v23 : f.log->fmt.csum1 ? d->v1 : d->plain;
	left = f.log->fmt.csum ? d->left_v23 : f.log->fmt.csum1 ? d->left_v1 : d->left_plain;

	ck_assert_int_eq(xw_replay_plan(f.log, 0, TARGET, &r), expect);
	if (expect)
		ck_assert_str_ne(diag.text, "");
	xw_replay_free(&r);
	xw_diag_clear(&diag);
	ck_assert_int_eq(xw_replay_plan(f.log, XW_REPLAY_SALVAGE, TARGET, &r), 0);
	ck_assert_int_eq(r.damaged, expect != 0);
	ck_assert_uint_eq(r.transactions, left);
	ck_assert_uint_eq(r.bad, d->at == 3 && f.log->fmt.csum);
	ck_assert_uint_eq(r.blocks.n, left == 0 ? 0 : left == 1 ? 2 : 3);
	xw_replay_free(&r);
	teardown_log(&f);
}
END_TEST

/* What an older use of the journal left behind the last commit looks valid but for its checksums
 * (they depend on the UUID) and its time. */
START_TEST(stale_is_no_damage)
{
	struct fixture f;
	struct xw_replay r;
	uint32_t seed;

	setup_log(&f, &formats[6], 7);
	two_transactions(&f, 0x101);
	seed = f.log->fmt.seed;
	f.log->fmt.seed = 12345;
	put_descriptor(&f, (xw_blk[]){20}, 1, 3);
	put_commit(&f, _i ? 0x102 : 0x80);
	f.log->fmt.seed = seed;
	ck_assert_int_eq(xw_replay_plan(f.log, 0, TARGET, &r), _i ? XW_ERR_CHECKSUM : 0);
	ck_assert_uint_eq(r.transactions, 2);
	ck_assert_uint_eq(r.damaged, _i);
	xw_replay_free(&r);
	teardown_log(&f);
}
END_TEST

START_TEST(beyond_the_end)
{
	struct fixture f;
	struct xw_replay r;

	setup_log(&f, &formats[1], 7);
	put_descriptor(&f, (xw_blk[]){5, TARGET, 1ull << 40}, 3, 1);
	put_commit(&f, 1);
	f.log->jsb.start = 1;
	ck_assert_int_eq(xw_replay_plan(f.log, 0, TARGET, &r), XW_ERR_CORRUPT);
	xw_replay_free(&r);
	ck_assert_int_eq(xw_replay_plan(f.log, XW_REPLAY_SALVAGE, TARGET, &r), 0);
	ck_assert_uint_eq(r.blocks.n, 1);
	ck_assert_uint_eq(r.bad, 2);
	xw_replay_free(&r);
	teardown_log(&f);
}
END_TEST

/* A fast commit of one name and a full block more, into blocks at + 0 .. 1 of the area. */
static void put_fast(struct fixture *f, uint32_t at, uint32_t tid, uint32_t features, bool head)
{
	unsigned char *blk = calloc(2, f->bs);
	const struct xw_fast_field h = {.tag = XW_FAST_HEAD, .tid = tid, .features = features},
				   name = {.tag = XW_FAST_UNLINK,
					   .dir = 2,
					   .ino = 12,
					   .bytes = (const uint8_t *)"name",
					   .len = 4},
				   pad = {.tag = XW_FAST_PAD};
	struct xw_fast_field tail = {.tag = XW_FAST_TAIL, .tid = tid};
	uint32_t off = 0;
	uint64_t to;

	ck_assert(!head || xw_fast_put(blk, f->bs, &off, &h));
	ck_assert(xw_fast_put(blk, f->bs, &off, &name));
	ck_assert(xw_fast_put(blk, f->bs, &off, &pad));
	ck_assert_uint_eq(off, f->bs);
	off = 0;
	tail.csum = xw_crc32c(0, blk, f->bs); /* so far; what the tail begins with is to come */
	ck_assert(xw_fast_put(blk + f->bs, f->bs, &off, &tail));
	poke32(blk + f->bs + 8, xw_crc32c(0, blk, f->bs + 8));
	ck_assert_int_eq(xw_log_where(f->log, f->log->last + at, &to), 0);
	ck_assert_int_eq(xw_dev_pwrite(f->dev, blk, 2 * f->bs, to), 0);
	free(blk);
}

static size_t fast_found(struct fixture *f, unsigned flags)
{
	struct xw_replay r;
	size_t n;

	ck_assert_int_eq(xw_replay_plan(f->log, flags, TARGET, &r), 0);
	n = r.fast_blocks;
	ck_assert_int_eq(!r.fast, !n);
	xw_replay_free(&r);
	return n;
}

START_TEST(fast_commits)
{
	struct fixture f;
	struct xw_replay r;
	uint64_t off;

	setup_log(&f, &formats[9], 7);
	ck_assert_uint_eq(f.log->last, LOG_BLOCKS - 10);
	two_transactions(&f, 0x101);
	replay(&f, 0);
	ck_assert_uint_eq(fast_found(&f, 0), 0);
	put_fast(&f, 1, 9, 0, true);
	ck_assert_uint_eq(fast_found(&f, 0), 2);
	ck_assert_uint_eq(fast_found(&f, XW_REPLAY_SALVAGE), 2);
	put_fast(&f, 3, 9, 0, false);
	put_fast(&f, 5, 9, 0, true); /* there is one head only */
	ck_assert_uint_eq(fast_found(&f, 0), 4);
	put_fast(&f, 5, 8, 0, false); /* left from before */
	ck_assert_uint_eq(fast_found(&f, 0), 4);
	put_fast(&f, 5, 9, 0, false);
	put_fast(&f, 7, 9, 0, false);
	ck_assert_uint_eq(fast_found(&f, 0), 8); /* block 9 is the last */
	/* a byte of the second: it never was */
	ck_assert_int_eq(xw_log_where(f.log, f.log->last + 3, &off), 0);
	ck_assert_int_eq(xw_dev_pwrite(f.dev, "x", 1, off + 40), 0);
	ck_assert_uint_eq(fast_found(&f, 0), 2);
	/* of another transaction: old */
	put_fast(&f, 1, 6, 0, true);
	ck_assert_uint_eq(fast_found(&f, 0), 0);
	put_fast(&f, 1, 9, 0, false);
	ck_assert_uint_eq(fast_found(&f, 0), 0);
	/* nobody knows what that means */
	put_fast(&f, 1, 9, 4, true);
	ck_assert_int_eq(xw_replay_plan(f.log, 0, TARGET, &r), XW_ERR_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(diag.text, "fast commits"));
	xw_replay_free(&r);
	teardown_log(&f);
}
END_TEST

/* ---- the superblock ---- */

static const struct bad_super {
	uint32_t byte;
	unsigned char value;
	int code;
} bad_supers[] = {
	{0, 0, XW_ERR_CORRUPT}, /* magic */
	{0x0E, 8, XW_ERR_CORRUPT}, /* block size 2048 */
	{0x12, 1, XW_ERR_CORRUPT}, /* longer than the journal */
	{0x17, 200, XW_ERR_CORRUPT}, /* first behind the end */
	{0x1F, 200, XW_ERR_CORRUPT}, /* start behind the end */
	{0x28, 0x80, XW_ERR_UNSUPPORTED}, /* incompat */
	{0x2F, 1, XW_ERR_UNSUPPORTED}, /* ro_compat */
	{0x2B, 0x38, XW_ERR_CORRUPT}, /* v2 and v3 */
	{0x50, 1, XW_ERR_UNSUPPORTED}, /* checksum type */
	{0x55, 1, XW_ERR_CORRUPT}, /* fast commits fill it */
	{0x30, 'x', XW_ERR_CHECKSUM}, /* uuid */
};

START_TEST(superblocks)
{
	const struct bad_super *b = &bad_supers[_i];
	unsigned char buf[1024];
	struct fixture f;
	struct xw_log *log;

	setup_log(&f, &formats[9], 7);
	ck_assert_int_eq(xw_dev_pread(f.dev, buf, 1024, OFFSET), 0);
	ck_assert_uint_ne(buf[b->byte], b->value);
	buf[b->byte] = b->value;
	if (b->code != XW_ERR_CHECKSUM) {
		memset(buf + 0xFC, 0, 4);
		*(be32 *)(buf + 0xFC) = putbe32(xw_crc32c(~0u, buf, 1024));
	}
	ck_assert_int_eq(xw_dev_pwrite(f.dev, buf, 1024, OFFSET), 0);
	ck_assert_int_eq(xw_log_open_flat(f.dev, OFFSET, f.bs, LOG_BLOCKS, &diag, &log), b->code);
	teardown_log(&f);
}
END_TEST

START_TEST(version_1_superblock)
{
	struct xw_jsb jsb = {.blocktype = XW_JBD2_SUPER_V1,
			     .blocksize = 1024,
			     .maxlen = 50,
			     .first = 1,
			     .sequence = 3};
	unsigned char behind = 0x77;
	struct xw_log *log;
	struct xw_dev *dev;

	memset(&diag, 0, sizeof(diag));
	ck_assert_int_eq(xw_dev_open_mem(50 * 1024, &diag, &dev), 0);
	ck_assert_int_eq(xw_log_create_flat(dev, 0, &jsb, &diag, &log), 0);
	ck_assert_int_eq(xw_dev_pwrite(dev, &behind, 1, 36), 0);
	ck_assert_int_eq(xw_log_set_start(log, 4, 9), 0);
	ck_assert_int_eq(xw_dev_pread(dev, &behind, 1, 36), 0);
	ck_assert_uint_eq(behind, 0x77);
	xw_log_close(log);
	ck_assert_int_eq(xw_log_open_flat(dev, 0, 1024, 50, &diag, &log), 0);
	ck_assert_uint_eq(log->jsb.start, 4);
	ck_assert_uint_eq(log->jsb.sequence, 9);
	xw_log_close(log);
	xw_dev_close(dev);
}
END_TEST

/* Nothing that a log holds may crash or hang; every failure has its line. */
START_TEST(random_damage)
{
	const struct format *fmt = &formats[_i % XW_ARRAY_SIZE(formats)];
	uint32_t x = (uint32_t)_i * 77 + 1;
	struct fixture f;

	if (fmt->block_size > 4096)
		return;
	setup_log(&f, fmt, 7);
	two_transactions(&f, 0x101);
	ck_assert_int_eq(xw_log_set_start(f.log, 1, 7), 0);
	for (int step = 0; step < 300; step++) {
		unsigned char old, now = (unsigned char)rnd(&x);
		uint64_t off = OFFSET + rnd(&x) % (10 * f.bs);
		struct xw_log *log;
		struct xw_replay r;
		int rc;

		if (step % 2)
			off = OFFSET + rnd(&x) % 10 * f.bs + rnd(&x) % 80;
		ck_assert_int_eq(xw_dev_pread(f.dev, &old, 1, off), 0);
		ck_assert_int_eq(xw_dev_pwrite(f.dev, &now, 1, off), 0);
		xw_diag_clear(&diag);
		rc = xw_log_open_flat(f.dev, OFFSET, f.bs, LOG_BLOCKS, &diag, &log);
		if (!rc) {
			rc = xw_replay_plan(log, step % 3 ? step & 1 : 0x21, TARGET, &r);
			if (!rc)
				rc = xw_replay_apply(log, &r, UINT64_MAX, f.target);
			xw_replay_free(&r);
			xw_log_close(log);
		}
		ck_assert_int_eq(rc != 0, diag.code != 0);
		if (step % 16)
			ck_assert_int_eq(xw_dev_pwrite(f.dev, &old, 1, off), 0);
	}
	teardown_log(&f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("journal");
	TCase *tc = tcase_create("journal");

	tcase_set_timeout(tc, 60);
	unit_add_table(tc, write_revocations, formats);
	unit_add_table(tc, write_and_replay, formats);
	tcase_add_test(tc, skip_find_and_clip);
	tcase_add_loop_test(tc, random_logs, 0, 12 * XW_ARRAY_SIZE(formats));
	tcase_add_loop_test(tc, damage, 0, 7 * XW_ARRAY_SIZE(damages));
	unit_add_cases(tc, stale_is_no_damage, "stale", "damaged");
	tcase_add_test(tc, beyond_the_end);
	tcase_add_test(tc, fast_commits);
	unit_add_table(tc, superblocks, bad_supers);
	tcase_add_test(tc, version_1_superblock);
	tcase_add_loop_test(tc, random_damage, 0, 2 * XW_ARRAY_SIZE(formats));
	suite_add_tcase(s, tc);
	return unit_main(s);
}
