/* SPDX-License-Identifier: MIT */
/*
 * Read in large pieces; a piece that fails is read again block by block. When writing, four
 * patterns are each written to the whole device, flushed and read back in that order, so that a
 * medium that maps two blocks to one place is detected.
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
	uint8_t *buf, *want; /* PIECE bytes each; want: the expected pattern, NULL: read only */
	uint8_t *again; /* PIECE bytes for data that is read a second time, or NULL */
	uint64_t done, total; /* bytes, over all passes */
};

/* Report the blocks of the range if they are bad; failures of the device leave no message. */
static int found(struct scan *sc, bool bad, uint64_t off, uint32_t len)
{
	int rc = 0;

	xw_diag_clear(sc->d->diag);
	for (uint32_t at = 0; bad && at < len && !rc; at += sc->s->block_size)
		rc = sc->s->bad(sc->s->arg, (off + at) / sc->s->block_size);
	return rc;
}

/* Write back the len bytes in buf and read them again: true if they are unchanged. */
static bool keeps(struct scan *sc, uint64_t off, uint32_t len)
{
	const bool kept = !xw_dev_pwrite(sc->d, sc->buf, len, off) && !xw_dev_flush(sc->d) &&
			  !xw_dev_pread(sc->d, sc->again, len, off) &&
			  !memcmp(sc->buf, sc->again, len);

	xw_diag_clear(sc->d->diag);
	return kept;
}

static int rewrite_range(struct scan *sc, uint64_t off, uint32_t len)
{
	const uint32_t bs = sc->s->block_size;
	int rc = 0;

	if (!xw_dev_pread(sc->d, sc->buf, len, off) && keeps(sc, off, len))
		return 0;
	xw_diag_clear(sc->d->diag);
	for (uint32_t at = 0; at < len && !rc; at += bs)
		rc = found(sc,
			   xw_dev_pread(sc->d, sc->buf, bs, off + at) || !keeps(sc, off + at, bs),
			   off + at, bs);
	return rc;
}

/* Skip holes: they occupy no medium, and a write would allocate blocks for them. */
static int rewrite_piece(struct scan *sc, uint64_t off, uint32_t len)
{
	const uint32_t bs = sc->s->block_size;
	const uint64_t end = off + len;
	uint64_t start, stop;
	int rc = 0;

	while (!rc && off < end && xw_dev_data(sc->d, off, &start, &stop) && start < end) {
		start = XW_MAX(start / bs * bs, off);
		stop = XW_MIN(xw_div_up(XW_MIN(stop, end), bs) * bs, end);
		rc = rewrite_range(sc, start, (uint32_t)(stop - start));
		off = stop;
	}
	return rc;
}

static int read_piece(struct scan *sc, uint64_t off, uint32_t len)
{
	const uint32_t bs = sc->s->block_size;
	bool failed = xw_dev_pread(sc->d, sc->buf, len, off);
	int rc = 0;

	if (!failed && (!sc->want || !memcmp(sc->buf, sc->want, len)))
		return 0;
	xw_diag_clear(sc->d->diag);
	for (uint32_t at = 0; at < len && !rc; at += bs) {
		failed = xw_dev_pread(sc->d, sc->buf, bs, off + at);
		rc = found(sc, failed || (sc->want && memcmp(sc->buf, sc->want, bs)), off + at, bs);
	}
	return rc;
}

static int write_piece(struct scan *sc, uint64_t off, uint32_t len)
{
	const uint32_t bs = sc->s->block_size;
	int rc = 0;

	if (!xw_dev_pwrite(sc->d, sc->want, len, off))
		return 0;
	xw_diag_clear(sc->d->diag);
	for (uint32_t at = 0; at < len && !rc; at += bs)
		rc = found(sc, xw_dev_pwrite(sc->d, sc->want, bs, off + at), off + at, bs);
	return rc;
}

static int pass(struct scan *sc, uint64_t bytes, int (*piece)(struct scan *, uint64_t, uint32_t))
{
	int rc = 0;

	for (uint64_t off = 0; off < bytes && !rc;) {
		uint32_t len = (uint32_t)XW_MIN(bytes - off, PIECE);

		rc = piece(sc, off, len);
		off += len;
		sc->done += len;
		if (!rc && sc->s->tick)
			rc = sc->s->tick(sc->s->arg, sc->done, sc->total);
	}
	return rc;
}

static int write_test(struct scan *sc, uint64_t bytes)
{
	int rc = 0;

	sc->total = 2 * XW_ARRAY_SIZE(patterns) * bytes;
	for (size_t i = 0; i < XW_ARRAY_SIZE(patterns) && !rc; i++) {
		memset(sc->want, patterns[i], PIECE);
		rc = pass(sc, bytes, write_piece);
		if (!rc && xw_dev_flush(sc->d))
			xw_diag_clear(sc->d->diag); /* reading back shows what was lost */
		if (!rc)
			rc = pass(sc, bytes, read_piece);
	}
	return rc;
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
