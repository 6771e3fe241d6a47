/* SPDX-License-Identifier: MIT */
/*
 * libarchive's gzip filter skips the CRC and length after each member, so that most damage to
 * compressed data goes undetected. Nor does it report where members end; a gzip file may have many
 * (pigz -i, bgzip, eStargz).
 *
 * The end of a member is recognized in the input by the header of the next member, which the
 * trailer precedes. The same bytes also occur within compressed data, especially where a .gz file
 * is stored uncompressed, so a header is only a candidate. The input is split before each
 * candidate: when the decompressor requests the next piece, it has produced everything before the
 * candidate. A true end then lies at most WINDOW ahead of the output, exactly `size` bytes after
 * the start of the member, and the CRC of these bytes matches the trailer. Other candidates are
 * dropped. Candidates are judged in order: one that may still be confirmed delays those after it,
 * since it would move the start from which their sizes are measured.
 *
 * No header follows the last member, but its trailer can be computed when the output has ended, and
 * must be within the last input that was requested.
 */
#include "config.h"

#include <string.h>

#include "base/endian.h"
#include "import/gzip_check.h"

#define WINDOW (1u << 20) /* upper bound for the size of libarchive's and our buffers */
#define ENDS_MAX (1u << 16)
#define HEADER 10 /* minimum size of a gzip header */

void xw_gzip_check_init(struct xw_gzip_check *g)
{
	memset(g, 0, sizeof(*g));
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int k = 0; k < 8; k++)
			c = c >> 1 ^ (c & 1 ? 0xedb88320 : 0);
		g->table[0][i] = c;
	}
	for (int k = 1; k < 8; k++)
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t c = g->table[k - 1][i];

			g->table[k][i] = c >> 8 ^ g->table[0][c & 0xff];
		}
	g->crc = ~0u;
}

void xw_gzip_check_free(struct xw_gzip_check *g)
{
	xw_vec_free(&g->ends);
}

static uint32_t crc32_add(const struct xw_gzip_check *g, uint32_t crc, const unsigned char *p,
			  size_t n)
{
	for (; n >= 8; p += 8, n -= 8) {
		uint32_t a = crc ^ peek32(p), b = peek32(p + 4);

		crc = g->table[7][a & 0xff] ^ g->table[6][a >> 8 & 0xff] ^
		      g->table[5][a >> 16 & 0xff] ^ g->table[4][a >> 24] ^ g->table[3][b & 0xff] ^
		      g->table[2][b >> 8 & 0xff] ^ g->table[1][b >> 16 & 0xff] ^
		      g->table[0][b >> 24];
	}
	for (; n; p++, n--)
		crc = crc >> 8 ^ g->table[0][(crc ^ *p) & 0xff];
	return crc;
}

/* Magic, deflate, no reserved flags, known level and system (RFC 1952; 255: unknown). */
static bool is_header(const unsigned char *p)
{
	return p[0] == 0x1f && p[1] == 0x8b && p[2] == 8 && p[3] < 0x20 && p[8] <= 8 &&
	       (p[9] <= 13 || p[9] == 255);
}

/* Append the end of the consumed piece to the tail. */
static void move_tail(struct xw_gzip_check *g)
{
	size_t n = XW_MIN(g->piece_len, XW_GZIP_TAIL);

	if (!n)
		return;
	memmove(g->tail, g->tail + n, XW_GZIP_TAIL - n);
	memcpy(g->tail + XW_GZIP_TAIL - n, g->piece + g->piece_len - n, n);
	g->piece_len = 0;
}

static void add_end(struct xw_gzip_check *g)
{
	const unsigned char *t = g->tail + XW_GZIP_TAIL - 8;
	struct xw_gzip_end e = {peek32(t), peek32(t + 4), g->at};

	/* the end of an empty member changes nothing (a size of 0 may also mean 4 GiB) */
	if (!e.size && g->at + WINDOW < 1ull << 32)
		return;
	if (g->first > 1024 && g->first > g->ends.n / 2) {
		g->ends.n -= g->first;
		memmove(g->ends.v, g->ends.v + g->first, g->ends.n * sizeof(*g->ends.v));
		g->first = 0;
	}
	if (g->ends.n >= ENDS_MAX || xw_vec_push(&g->ends, e))
		g->unsure = true;
}

size_t xw_gzip_check_in(struct xw_gzip_check *g, const unsigned char *p, size_t n, bool last)
{
	size_t keep = last ? 0 : HEADER - 1, i;

	if (n <= keep)
		return 0;
	move_tail(g);
	if (g->begun && n >= HEADER && is_header(p))
		add_end(g);
	g->begun = true;
	g->piece = p;
	for (i = 1; i + HEADER <= n; i++) {
		const unsigned char *h = memchr(p + i, 0x1f, n - i - HEADER + 1);

		i = h ? (size_t)(h - p) : n;
		if (h && is_header(h))
			break;
	}
	g->piece_len = i + HEADER <= n ? i : n - keep;
	return g->piece_len;
}

/*
 * Judge the candidates that are due, in order. Returns the distance to the first one that is not,
 * at most `far`. Sizes are modulo 2^32.
 */
static uint64_t judge(struct xw_gzip_check *g, uint64_t far)
{
	for (; g->first < g->ends.n; g->first++) {
		const struct xw_gzip_end *e = &g->ends.v[g->first];
		uint32_t ahead = e->size - (uint32_t)(g->at - g->start);

		if (ahead && g->at + ahead <= e->seen_at + WINDOW)
			return XW_MIN(far, ahead);
		if (!ahead && e->crc == ~g->crc) {
			g->start = g->at;
			g->crc = ~0u;
		}
	}
	return far;
}

void xw_gzip_check_out(struct xw_gzip_check *g, const unsigned char *p, size_t n)
{
	for (;;) {
		size_t step = (size_t)judge(g, n);

		if (!n)
			break;
		step = XW_MIN(step, n);
		g->crc = crc32_add(g, g->crc, p, step);
		g->at += step;
		p += step;
		n -= step;
	}
}

bool xw_gzip_check_end(struct xw_gzip_check *g)
{
	unsigned char want[8], edge[XW_GZIP_TAIL + sizeof(want) - 1];
	size_t n = XW_MIN(g->piece_len, sizeof(want) - 1);

	xw_gzip_check_out(g, NULL, 0);
	poke32(want, ~g->crc);
	poke32(want + 4, (uint32_t)(g->at - g->start));
	if (g->unsure || (g->at && g->at == g->start) || !g->piece)
		return true;
	/* search the last piece, and the bytes around its start */
	memcpy(edge, g->tail, XW_GZIP_TAIL);
	memcpy(edge + XW_GZIP_TAIL, g->piece, n);
	return memmem(g->piece, g->piece_len, want, sizeof(want)) ||
	       memmem(edge, XW_GZIP_TAIL + n, want, sizeof(want));
}
