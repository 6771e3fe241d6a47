/* SPDX-License-Identifier: MIT */
/*
 * Read in large pieces; a piece that fails is read again block by block. With writing, four
 * patterns are each written everywhere, flushed and read back, in that order, so that a medium that
 * puts two blocks at one place is found out.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/types.h"
#include "dev/scan.h"

#define PIECE (1u << 20)
#define PIECE_ALIGN 4096

static const uint8_t patterns[] = {0xaa, 0x55, 0xff, 0x00};

struct scan {
	struct xw_dev *d;
	const struct xw_scan *s;
	uint8_t *buf, *want; /* PIECE bytes each; want: of the pattern, NULL: just read */
	uint8_t *again; /* PIECE bytes for what is read a second time, or NULL */
	uint64_t done, total; /* bytes, over all passes */
};

/* A finding of the device, not a failure of ours. */
static int found(struct scan *sc, int err, uint64_t off, uint32_t len)
{
	int ret = 0;

	xw_diag_clear(sc->d->diag);
	for (uint32_t at = 0; err && at < len && !ret; at += sc->s->block_size)
		ret = sc->s->bad(sc->s->arg, (off + at) / sc->s->block_size);
	return ret;
}

/* len bytes that were read into buf: written back, they are what is read again. */
static bool keeps(struct scan *sc, uint64_t off, uint32_t len)
{
	const bool kept = !xw_dev_pwrite(sc->d, sc->buf, len, off) && !xw_dev_flush(sc->d) &&
			  !xw_dev_pread(sc->d, sc->again, len, off) &&
			  !memcmp(sc->buf, sc->again, len);

	xw_diag_clear(sc->d->diag);
	return kept;
}

static int rewrite_piece(struct scan *sc, uint64_t off, uint32_t len)
{
	const uint32_t bs = sc->s->block_size;
	int ret = 0;

	if (!xw_dev_pread(sc->d, sc->buf, len, off) && keeps(sc, off, len))
		return 0;
	xw_diag_clear(sc->d->diag);
	for (uint32_t at = 0; at < len && !ret; at += bs)
		ret = found(sc,
			    xw_dev_pread(sc->d, sc->buf, bs, off + at) || !keeps(sc, off + at, bs),
			    off + at, bs);
	return ret;
}

static int read_piece(struct scan *sc, uint64_t off, uint32_t len)
{
	const uint32_t bs = sc->s->block_size;
	int err = xw_dev_pread(sc->d, sc->buf, len, off), ret = 0;

	if (!err && (!sc->want || !memcmp(sc->buf, sc->want, len)))
		return 0;
	xw_diag_clear(sc->d->diag);
	for (uint32_t at = 0; at < len && !ret; at += bs) {
		err = xw_dev_pread(sc->d, sc->buf, bs, off + at);
		ret = found(sc, err || (sc->want && memcmp(sc->buf, sc->want, bs)), off + at, bs);
	}
	return ret;
}

static int write_piece(struct scan *sc, uint64_t off, uint32_t len)
{
	const uint32_t bs = sc->s->block_size;
	int ret = 0;

	if (!xw_dev_pwrite(sc->d, sc->want, len, off))
		return 0;
	xw_diag_clear(sc->d->diag);
	for (uint32_t at = 0; at < len && !ret; at += bs)
		ret = found(sc, xw_dev_pwrite(sc->d, sc->want, bs, off + at), off + at, bs);
	return ret;
}

static int pass(struct scan *sc, uint64_t bytes, int (*piece)(struct scan *, uint64_t, uint32_t))
{
	int ret = 0;

	for (uint64_t off = 0; off < bytes && !ret;) {
		uint32_t len = (uint32_t)XW_MIN(bytes - off, PIECE);

		ret = piece(sc, off, len);
		off += len;
		sc->done += len;
		if (!ret && sc->s->tick)
			ret = sc->s->tick(sc->s->arg, sc->done, sc->total);
	}
	return ret;
}

static int write_test(struct scan *sc, uint64_t bytes)
{
	int ret = 0;

	sc->total = 2 * XW_ARRAY_SIZE(patterns) * bytes;
	for (size_t i = 0; i < XW_ARRAY_SIZE(patterns) && !ret; i++) {
		memset(sc->want, patterns[i], PIECE);
		ret = pass(sc, bytes, write_piece);
		if (!ret && xw_dev_flush(sc->d))
			xw_diag_clear(sc->d->diag); /* reading back tells what was lost */
		if (!ret)
			ret = pass(sc, bytes, read_piece);
	}
	return ret;
}

int xw_dev_scan(struct xw_dev *d, const struct xw_scan *s)
{
	auto_free uint8_t *buf = aligned_alloc(PIECE_ALIGN, PIECE);
	auto_free uint8_t *want = s->write ? aligned_alloc(PIECE_ALIGN, PIECE) : NULL;
	auto_free uint8_t *again = s->rewrite ? aligned_alloc(PIECE_ALIGN, PIECE) : NULL;
	struct scan sc = {.d = d, .s = s, .buf = buf, .want = want, .again = again};
	uint64_t bytes = XW_MIN(d->size / s->block_size, s->blocks) * s->block_size;

	if (!buf || (s->write && !want) || (s->rewrite && !again))
		return xw_fail_nomem(d->diag, "a search for bad blocks");
	sc.total = bytes;
	if (s->write)
		return write_test(&sc, bytes);
	return pass(&sc, bytes, s->rewrite ? rewrite_piece : read_piece);
}
