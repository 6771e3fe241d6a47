/* SPDX-License-Identifier: MIT */
/*
 * Decodes tar header blocks.
 *
 * The checksum is computed for every header, 1.5 million times for 755k pax members, so it
 * processes eight bytes at a time.
 */
#include "config.h"

#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "import/tar_hdr.h"

enum xw_tar_magic xw_tar_magic(const struct xw_tar_hdr *h)
{
	if (!memcmp(h->magic, "ustar\0", 6))
		return XW_TAR_USTAR;
	return !memcmp(h->magic, "ustar ", 6) ? XW_TAR_GNU : XW_TAR_V7;
}

bool xw_tar_is_zero(const void *block)
{
	return xw_all_zero(block, XW_TAR_BLOCK);
}

/* Sum of all bytes: even and odd bytes in four 16-bit lanes each, which can hold 64 * 255. */
static unsigned byte_sum(const unsigned char *b)
{
	const uint64_t even = 0x00ff00ff00ff00ffULL, pair = 0x0000ffff0000ffffULL;
	uint64_t lo = 0, hi = 0;

	for (size_t i = 0; i < XW_TAR_BLOCK; i += 8) {
		uint64_t w;

		memcpy(&w, b + i, 8);
		lo += w & even;
		hi += w >> 8 & even;
	}
	lo += hi;
	lo = (lo & pair) + (lo >> 16 & pair);
	return (unsigned)(lo + (lo >> 32));
}

bool xw_tar_checksum_ok(const void *block)
{
	const struct xw_tar_hdr *h = block;
	const unsigned char *b = block;
	unsigned sum = byte_sum(b);
	int64_t want;
	int high = 0; /* number of bytes that a signed sum counts as negative */

	if (xw_tar_number(h->chksum, sizeof(h->chksum), &want))
		return false;
	for (size_t i = 0; i < sizeof(h->chksum); i++)
		sum = sum + ' ' - (unsigned char)h->chksum[i];
	if (want == sum)
		return true;
	for (size_t i = 0; i < XW_TAR_BLOCK; i++)
		high += b[i] >> 7;
	for (size_t i = 0; i < sizeof(h->chksum); i++)
		high -= (unsigned char)h->chksum[i] >> 7;
	return want == (int64_t)sum - 256 * (int64_t)high;
}

bool xw_tar_begins(const unsigned char *p, size_t len)
{
	const struct xw_tar_hdr *h = (const struct xw_tar_hdr *)p;

	if (len < XW_TAR_BLOCK)
		return len >= offsetof(struct xw_tar_hdr, uname) && xw_tar_magic(h) != XW_TAR_V7;
	if (xw_tar_is_zero(p))
		return len < XW_TAR_LOOK || memcmp(p + XW_ISO_MAGIC_AT, "CD001", 5) != 0;
	/* the tar reader reports a damaged first header */
	return xw_tar_magic(h) != XW_TAR_V7 || xw_tar_checksum_ok(p);
}

static int base256(const unsigned char *f, size_t size, int64_t *out)
{
	int64_t v = (f[0] & 0x3f) - (f[0] & 0x40);

	for (size_t i = 1; i < size; i++)
		if (__builtin_mul_overflow(v, 256, &v) || __builtin_add_overflow(v, f[i], &v))
			return XW_ERR_INPUT;
	*out = v;
	return 0;
}

int xw_tar_number(const char *field, size_t size, int64_t *out)
{
	size_t i = 0;
	int64_t v = 0; /* at most 12 octal digits */
	bool minus;

	if (field[0] & 0x80)
		return base256((const unsigned char *)field, size, out);
	while (i < size && field[i] == ' ')
		i++;
	minus = i < size && field[i] == '-';
	for (i += minus; i < size && field[i] >= '0' && field[i] <= '7'; i++)
		v = v * 8 + (field[i] - '0');
	if (i < size && field[i] != '\0' && field[i] != ' ')
		return XW_ERR_INPUT;
	*out = minus ? -v : v;
	return 0;
}

size_t xw_tar_text(const char *field, size_t size)
{
	const char *end = memchr(field, '\0', size);

	return end ? (size_t)(end - field) : size;
}
