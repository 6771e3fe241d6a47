/* SPDX-License-Identifier: MIT */
/* Private to lib/disk: CRC-32C over little-endian integers and over a buffer with a hole. */
#ifndef XW_DISK_CSUM_H
#define XW_DISK_CSUM_H

#include "base/crc.h"
#include "base/endian.h"

static inline uint32_t xw_csum_le32(uint32_t crc, uint32_t v)
{
	le32 d = put32(v);

	return xw_crc32c(crc, &d, sizeof(d));
}

static inline uint32_t xw_csum_le64(uint32_t crc, uint64_t v)
{
	le64 d = put64(v);

	return xw_crc32c(crc, &d, sizeof(d));
}

/*
 * Checksum of buf[0, size) with the checksum field, `hole` bytes (at most 4) at off, read as zero.
 */
static inline uint32_t xw_csum_hole(uint32_t crc, const void *buf, size_t size, size_t off,
				    size_t hole)
{
	static const uint8_t zero[4];
	const uint8_t *p = buf;

	crc = xw_crc32c(crc, p, off);
	crc = xw_crc32c(crc, zero, hole);
	return xw_crc32c(crc, p + off + hole, size - off - hole);
}

#endif
