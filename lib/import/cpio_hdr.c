// SPDX-License-Identifier: MIT
/*
 * Formats in characters store numbers in hexadecimal or octal digits: "new" (070701; 070702 with
 * checksums), POSIX.1-1988 (070707) and the large format of afio (070727). The binary format
 * consists of 16-bit words in the byte order of its writer; the more significant word of a 32-bit
 * number comes first in either order.
 */
#include "config.h"

#include "import/cpio_hdr.h"

#include <string.h>

#include "base/err.h"

enum field {
	DEV_MAJOR,
	DEV,
	INO,
	MODE,
	UID,
	GID,
	LINKS,
	RDEV_MAJOR,
	RDEV,
	MTIME,
	NAME_SIZE,
	SIZE,
	SUM,
	FIELDS
};

struct place {
	uint8_t at, width; /* width 0: the format has no such field */
	bool octal;
};

/* A format in characters. */
struct format {
	const char *magic;
	uint8_t bytes, align;
	struct place fields[FIELDS];
};

#define HEX8(offset)                                                                               \
	{                                                                                          \
		.at = (offset), .width = 8                                                         \
	}
#define OCTAL(offset, digits)                                                                      \
	{                                                                                          \
		.at = (offset), .width = (digits), .octal = true                                   \
	}

#define NEW_FIELDS                                                                                 \
	[INO] = HEX8(6), [MODE] = HEX8(14), [UID] = HEX8(22), [GID] = HEX8(30),                    \
	[LINKS] = HEX8(38), [MTIME] = HEX8(46), [SIZE] = HEX8(54), [DEV_MAJOR] = HEX8(62),         \
	[DEV] = HEX8(70), [RDEV_MAJOR] = HEX8(78), [RDEV] = HEX8(86), [NAME_SIZE] = HEX8(94)

static const struct format formats[] = {
	{"070701", 110, 4, {NEW_FIELDS}},
	{"070702", 110, 4, {NEW_FIELDS, [SUM] = HEX8(102)}},
	{"070707",
	 76,
	 1,
	 {[DEV] = OCTAL(6, 6),
	  [INO] = OCTAL(12, 6),
	  [MODE] = OCTAL(18, 6),
	  [UID] = OCTAL(24, 6),
	  [GID] = OCTAL(30, 6),
	  [LINKS] = OCTAL(36, 6),
	  [RDEV] = OCTAL(42, 6),
	  [MTIME] = OCTAL(48, 11),
	  [NAME_SIZE] = OCTAL(59, 6),
	  [SIZE] = OCTAL(65, 11)}},
	{"070727",
	 116,
	 1,
	 {[DEV] = HEX8(6),
	  [INO] = {.at = 14, .width = 16},
	  [MODE] = OCTAL(31, 6),
	  [UID] = HEX8(37),
	  [GID] = HEX8(45),
	  [LINKS] = HEX8(53),
	  [RDEV] = HEX8(61),
	  [MTIME] = {.at = 69, .width = 16},
	  [NAME_SIZE] = {.at = 86, .width = 4},
	  [SIZE] = {.at = 99, .width = 16}}},
};

static const struct format *format_of(const unsigned char *p)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(formats); i++)
		if (!memcmp(p, formats[i].magic, XW_CPIO_MAGIC))
			return &formats[i];
	return NULL;
}

/* ---- the binary format ---- */

enum { BINARY_MAGIC = 070707, BINARY_BYTES = 26 };

static uint32_t word(const unsigned char *p, size_t i)
{
	/* the magic tells the byte order */
	return *p == (BINARY_MAGIC & 0xFF) ? (uint32_t)(p[2 * i] | p[2 * i + 1] << 8)
					   : (uint32_t)(p[2 * i] << 8 | p[2 * i + 1]);
}

static void decode_binary(const unsigned char *p, struct xw_cpio_hdr *h)
{
	h->dev = word(p, 1);
	h->ino = word(p, 2);
	h->mode = word(p, 3);
	h->uid = word(p, 4);
	h->gid = word(p, 5);
	h->links = word(p, 6);
	h->rdev_minor = word(p, 7);
	h->mtime = word(p, 8) << 16 | word(p, 9);
	h->name_size = word(p, 10);
	h->size = word(p, 11) << 16 | word(p, 12);
	h->align = 2;
	h->bytes = BINARY_BYTES;
}

/* ---- formats in characters ---- */

static int decode_number(const unsigned char *p, const struct place *f, uint64_t *out)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned bits = f->octal ? 3 : 4;

	*out = 0;
	for (size_t i = f->at; i < (size_t)f->at + f->width; i++) {
		const int c = p[i] >= 'A' && p[i] <= 'F' ? p[i] | 0x20 : p[i];
		const char *d = c ? memchr(digits, c, (size_t)1 << bits) : NULL;

		if (!d)
			return XW_ERR_INPUT;
		*out = *out << bits | (uint64_t)(d - digits);
	}
	return 0;
}

static int decode_characters(const unsigned char *p, const struct format *format,
			     struct xw_cpio_hdr *h)
{
	uint64_t v[FIELDS];

	for (size_t i = 0; i < FIELDS; i++)
		if (decode_number(p, &format->fields[i], &v[i]))
			return XW_ERR_INPUT;
	h->dev = v[DEV_MAJOR] << 32 | v[DEV];
	h->ino = v[INO];
	h->mode = (uint32_t)v[MODE];
	h->uid = (uint32_t)v[UID];
	h->gid = (uint32_t)v[GID];
	h->links = (uint32_t)v[LINKS];
	h->rdev_major = (uint32_t)v[RDEV_MAJOR];
	h->rdev_minor = (uint32_t)v[RDEV];
	h->mtime = v[MTIME];
	h->name_size = (uint32_t)v[NAME_SIZE];
	h->size = v[SIZE];
	h->sum = (uint32_t)v[SUM];
	h->has_sum = format->fields[SUM].width;
	h->align = format->align;
	h->bytes = format->bytes;
	return 0;
}

size_t xw_cpio_hdr_size(const unsigned char *p)
{
	const struct format *format = format_of(p);

	if (format)
		return format->bytes;
	return word(p, 0) == BINARY_MAGIC ? BINARY_BYTES : 0;
}

int xw_cpio_hdr_decode(const unsigned char *p, struct xw_cpio_hdr *h)
{
	const struct format *format = format_of(p);

	*h = (struct xw_cpio_hdr){0};
	if (!format)
		decode_binary(p, h);
	else if (decode_characters(p, format, h))
		return XW_ERR_INPUT;
	if (!format || !format->fields[RDEV_MAJOR].width) {
		/* one number, as Linux encodes it in st_rdev */
		const uint32_t rdev = h->rdev_minor;

		h->rdev_major = rdev >> 8 & 0xFFF;
		h->rdev_minor = (rdev & 0xFF) | (rdev >> 12 & 0xFFF00);
	}
	return 0;
}
