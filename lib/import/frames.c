/* SPDX-License-Identifier: MIT */
/*
 * Sources: RFC 8878 (zstd), the LZ4 frame format description, "The .xz File Format", and the chunk
 * headers of LZMA2, which is the last filter of every xz block.
 *
 * Invariant: the next `skip` bytes belong to the stream and are followed by a header of kind
 * `phase`.
 */
#include "config.h"

#include "import/frames.h"

#include <string.h>

#include "base/endian.h"

enum {
	FRAME, /* start of a frame, or the end of the stream */
	ZSTD_BLOCK,
	LZ4_BLOCK,
	LZ4_LEGACY_BLOCK,
	XZ_BLOCK,
	XZ_CHUNK,
	XZ_COUNT,
	XZ_RECORDS,
};

#define ZSTD_MAGIC 0xFD2FB528u
#define LZ4_MAGIC 0x184D2204u
#define LZ4_LEGACY_MAGIC 0x184C2102u
#define LZ4_LEGACY_MAX 8421520u /* maximum compressed size of 8 MiB */
#define SKIPPABLE 0x184D2A50u /* to SKIPPABLE + 15 */

/* Result of parsing one header: go on after it, more input needed, end of the stream, damage. */
enum step { STEP, SHORT, END, DAMAGE };

static enum step skip(struct xw_frames *f, uint64_t n, unsigned phase)
{
	f->skip = n;
	f->phase = phase;
	return STEP;
}

static const uint8_t xz_magic[] = {0xFD, '7', 'z', 'X', 'Z', 0};

/* ---- zstd ---- */

static enum step zstd_frame(struct xw_frames *f, const unsigned char *p, size_t n)
{
	static const uint8_t dict_size[] = {0, 1, 2, 4}, content_size[] = {0, 2, 4, 8};
	unsigned header = 5;

	if (n < 5)
		return SHORT;
	header += !(p[4] & 0x20); /* window descriptor, unless it is a single segment */
	header += dict_size[p[4] & 3] + content_size[p[4] >> 6];
	header += !(p[4] >> 6) && p[4] & 0x20;
	f->check = p[4] & 4 ? 4 : 0;
	return skip(f, header, ZSTD_BLOCK);
}

static enum step zstd_block(struct xw_frames *f, const unsigned char *p, size_t n)
{
	enum { RLE = 1, RESERVED = 3 };
	uint32_t head, type;

	if (n < 3)
		return SHORT;
	head = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
	type = head >> 1 & 3;
	if (type == RESERVED)
		return DAMAGE;
	return skip(f, 3 + (type == RLE ? 1 : head >> 3) + (head & 1 ? f->check : 0),
		    head & 1 ? FRAME : ZSTD_BLOCK);
}

/* ---- lz4 ---- */

static enum step lz4_frame(struct xw_frames *f, const unsigned char *p, size_t n)
{
	if (n < 5)
		return SHORT;
	f->block_check = p[4] & 0x10;
	f->check = p[4] & 0x04 ? 4 : 0;
	return skip(f, 7 + (p[4] & 0x08 ? 8 : 0) + (p[4] & 0x01 ? 4 : 0), LZ4_BLOCK);
}

static enum step lz4_block(struct xw_frames *f, const unsigned char *p, size_t n)
{
	uint32_t size;

	if (n < 4)
		return SHORT;
	size = peek32(p);
	if (!size)
		return skip(f, 4 + f->check, FRAME);
	return skip(f, 4 + (uint64_t)(size & INT32_MAX) + (f->block_check ? 4 : 0), LZ4_BLOCK);
}

/* LZ4 frames of the legacy format, as in compressed kernels, have no end mark. */
static enum step lz4_legacy_block(struct xw_frames *f, const unsigned char *p, size_t n)
{
	uint32_t size;

	if (n < 4)
		return SHORT;
	size = peek32(p);
	if (!size || size > LZ4_LEGACY_MAX)
		return skip(f, 0, FRAME);
	return skip(f, 4 + (uint64_t)size, LZ4_LEGACY_BLOCK);
}

/* ---- xz ---- */

static enum step xz_stream(struct xw_frames *f, const unsigned char *p, size_t n)
{
	static const uint8_t sizes[] = {0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64};

	if (memcmp(p, xz_magic, XW_MIN(n, sizeof(xz_magic))) != 0)
		return END;
	if (n < 12)
		return SHORT;
	f->check = sizes[p[7] & 15];
	return skip(f, 12, XZ_BLOCK);
}

static enum step xz_block(struct xw_frames *f, const unsigned char *p, size_t n)
{
	if (!n)
		return SHORT;
	f->at = f->value = f->bits = 0;
	if (!*p) {
		f->at = 1;
		return skip(f, 1, XZ_COUNT);
	}
	return skip(f, (*p + 1u) * 4, XZ_CHUNK);
}

/* One LZMA2 chunk. The last one is followed by padding and the check of the block. */
static enum step xz_chunk(struct xw_frames *f, const unsigned char *p, size_t n)
{
	uint64_t len;

	if (!n || (*p && n < 5))
		return SHORT;
	if (*p > 2 && *p < 0x80)
		return DAMAGE;
	if (!*p) {
		f->at++;
		return skip(f, 1 + (4 - f->at % 4) % 4 + f->check, XZ_BLOCK);
	}
	if (*p <= 2)
		len = 3 + ((uint64_t)p[1] << 8 | p[2]) + 1;
	else
		len = 5 + (*p >= 0xC0) + ((uint64_t)p[3] << 8 | p[4]) + 1;
	f->at += len;
	return skip(f, len, XZ_CHUNK);
}

/*
 * One byte of a variable-length number in the index: the number of records, or one of the two sizes
 * in each record.
 */
static enum step xz_index(struct xw_frames *f, const unsigned char *p, size_t n)
{
	enum { CRC = 4, FOOTER = 12, BITS_MAX = 63 };

	if (f->phase == XZ_RECORDS && !f->records)
		return skip(f, (4 - f->at % 4) % 4 + CRC + FOOTER, FRAME);
	if (!n)
		return SHORT;
	if (f->bits >= BITS_MAX)
		return DAMAGE;
	f->value |= (uint64_t)(*p & 0x7F) << f->bits;
	f->bits += 7;
	f->at++;
	if (*p & 0x80)
		return skip(f, 1, f->phase);
	if (f->phase == XZ_COUNT && f->value > UINT64_MAX / 2)
		return DAMAGE;
	f->records = f->phase == XZ_COUNT ? 2 * f->value : f->records - 1;
	f->value = f->bits = 0;
	return skip(f, 1, XZ_RECORDS);
}

/* ---- all formats ---- */

static enum step frame(struct xw_frames *f, const unsigned char *p, size_t n)
{
	uint32_t magic;

	if (f->kind == XW_FRAMES_XZ)
		return n ? xz_stream(f, p, n) : END;
	if (n < 4)
		return n ? SHORT : END;
	magic = peek32(p);
	if ((magic & ~15u) == SKIPPABLE)
		return n < 8 ? SHORT : skip(f, 8 + (uint64_t)peek32(p + 4), FRAME);
	if (f->kind == XW_FRAMES_ZSTD)
		return magic == ZSTD_MAGIC ? zstd_frame(f, p, n) : END;
	if (magic == LZ4_LEGACY_MAGIC)
		return skip(f, 4, LZ4_LEGACY_BLOCK);
	return magic == LZ4_MAGIC ? lz4_frame(f, p, n) : END;
}

static enum step (*const parsers[])(struct xw_frames *f, const unsigned char *p, size_t n) = {
	[FRAME] = frame,         [ZSTD_BLOCK] = zstd_block,
	[LZ4_BLOCK] = lz4_block, [LZ4_LEGACY_BLOCK] = lz4_legacy_block,
	[XZ_BLOCK] = xz_block,   [XZ_CHUNK] = xz_chunk,
	[XZ_COUNT] = xz_index,   [XZ_RECORDS] = xz_index,
};

enum xw_frames_kind xw_frames_kind(const unsigned char *p, size_t n)
{
	const uint32_t magic = n < 6 ? 0 : peek32(p);

	if (magic == ZSTD_MAGIC)
		return XW_FRAMES_ZSTD;
	if (magic == LZ4_MAGIC || magic == LZ4_LEGACY_MAGIC)
		return XW_FRAMES_LZ4;
	return magic && !memcmp(p, xz_magic, sizeof(xz_magic)) ? XW_FRAMES_XZ : XW_FRAMES_NONE;
}

size_t xw_frames_in(struct xw_frames *f, const unsigned char *p, size_t n, bool last)
{
	size_t at = 0;

	if (f->kind == XW_FRAMES_NONE)
		return n;
	while (!f->ended) {
		const size_t pass = (size_t)XW_MIN(f->skip, n - at);
		enum step what;

		at += pass;
		f->skip -= pass;
		if (f->skip || (at == n && !last))
			return at;
		what = parsers[f->phase](f, p + at, n - at);
		if (what == SHORT && !last)
			return at;
		/* a truncated header belongs to the stream, unless it would start another frame */
		f->ended = what == END || (what == SHORT && f->phase == FRAME);
		if (what == DAMAGE || (what == SHORT && f->phase != FRAME)) {
			f->kind = XW_FRAMES_NONE;
			return n;
		}
	}
	return at;
}
