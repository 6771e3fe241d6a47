/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "import/gzip_header.h"

enum { FIXED, EXTRA_LEN, EXTRA, NAME, COMMENT, CHECKSUM, END }; /* phases */
enum { FIXED_BYTES = 10, FHCRC = 2, FEXTRA = 4, FNAME = 8, FCOMMENT = 16, FLAGS = 31 };

static void next_field(struct xw_gzip_header *h)
{
	/* the flag that a field depends on; 0: mandatory */
	static const unsigned char flags[] = {
		[EXTRA_LEN] = FEXTRA, [EXTRA] = FEXTRA,   [NAME] = FNAME,
		[COMMENT] = FCOMMENT, [CHECKSUM] = FHCRC, [END] = 0,
	};

	h->at = 0;
	do
		h->phase++;
	while ((flags[h->phase] && !(h->flags & flags[h->phase])) ||
	       (h->phase == EXTRA && !h->value));
	if (h->phase == END)
		h->state = XW_GZIP_HEADER_DONE;
}

static void add_fixed(struct xw_gzip_header *h, unsigned char c)
{
	static const unsigned char magic[] = {0x1f, 0x8b, 8};

	if (h->at < sizeof(magic) && c != magic[h->at])
		h->state = XW_GZIP_HEADER_INVALID;
	if (h->at == sizeof(magic)) {
		h->flags = c;
		if (c & ~FLAGS)
			h->state = XW_GZIP_HEADER_INVALID;
	}
	if (++h->at == FIXED_BYTES)
		next_field(h);
}

static void add_number(struct xw_gzip_header *h, unsigned char c)
{
	h->value = h->at ? h->value | (uint32_t)c << 8 : c;
	if (++h->at < 2)
		return;
	if (h->phase == CHECKSUM && h->value != (~h->crc & 0xffff))
		h->state = XW_GZIP_HEADER_CHECKSUM;
	else
		next_field(h);
}

static void add_crc(struct xw_gzip_header *h, unsigned char c)
{
	h->crc ^= c;
	for (int bit = 0; bit < 8; bit++)
		h->crc = h->crc >> 1 ^ (h->crc & 1 ? 0xedb88320u : 0);
}

size_t xw_gzip_header_add(struct xw_gzip_header *h, const unsigned char *p, size_t n)
{
	size_t i;

	for (i = 0; i < n && h->state == XW_GZIP_HEADER_MORE; i++) {
		if (!h->phase && !h->at)
			h->crc = ~0u;
		if (h->phase != CHECKSUM)
			add_crc(h, p[i]);
		if (h->phase == FIXED)
			add_fixed(h, p[i]);
		else if (h->phase == EXTRA_LEN || h->phase == CHECKSUM)
			add_number(h, p[i]);
		else if (h->phase == EXTRA ? ++h->at == h->value : !p[i])
			next_field(h);
	}
	return i;
}

const char *xw_gzip_header_text(const struct xw_gzip_header *h)
{
	return h->state == XW_GZIP_HEADER_CHECKSUM ? "the checksum of a header does not match"
						   : "a header is invalid";
}
