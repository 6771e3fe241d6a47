/* SPDX-License-Identifier: MIT */
#include "disk/pending.h"

#include <string.h>

#include "base/crc.h"
#include "base/endian.h"
#include "base/types.h"

#define INCOMPAT_OFF 0x60
#define RO_COMPAT_OFF 0x64
#define NONCE_OFF 0x3F0
#define KBYTES_OFF 0x178
static const unsigned number_off[2] = {0x188, 0x3E8};

#define CSUM_OFF 0x3FC

bool xw_super_bytes_valid(const uint8_t super[XW_SUPER_SIZE])
{
	struct xw_super sb;

	return !xw_super_decode(super, &sb) && !xw_super_verify(super);
}

static void set_csum(uint8_t super[XW_SUPER_SIZE])
{
	if (peek32(super + RO_COMPAT_OFF) & XW_RO_METADATA_CSUM)
		poke32(super + CSUM_OFF, xw_crc32c(~0u, super, CSUM_OFF));
}

void xw_super_bytes_incompat(uint8_t super[XW_SUPER_SIZE], uint32_t set, uint32_t clear)
{
	poke32(super + INCOMPAT_OFF, (peek32(super + INCOMPAT_OFF) | set) & ~clear);
	set_csum(super);
}

bool xw_super_bytes_has(const uint8_t super[XW_SUPER_SIZE], uint32_t incompat)
{
	return peek32(super + INCOMPAT_OFF) & incompat;
}

uint64_t xw_super_bytes_nonce(const uint8_t super[XW_SUPER_SIZE])
{
	return peek64(super + NONCE_OFF);
}

uint64_t xw_super_bytes_number(const uint8_t super[XW_SUPER_SIZE], int half)
{
	return peek64(super + number_off[half]);
}

bool xw_super_bytes_plain(const uint8_t super[XW_SUPER_SIZE])
{
	return !xw_super_bytes_number(super, 0) && !xw_super_bytes_number(super, 1);
}

void xw_super_bytes_count(uint8_t super[XW_SUPER_SIZE], const uint8_t old_super[XW_SUPER_SIZE],
			  uint64_t kib, bool edited)
{
	const uint64_t was = peek64(old_super + KBYTES_OFF), is = peek64(super + KBYTES_OFF);

	if (is > was || (edited && is != was) || !xw_super_bytes_valid(super) ||
	    !xw_super_bytes_valid(old_super))
		return;
	poke64(super + KBYTES_OFF, was + XW_MAX(kib, 1));
	set_csum(super);
}

static void put_numbers(uint8_t super[XW_SUPER_SIZE], uint64_t number)
{
	poke64(super + number_off[0], number);
	poke64(super + number_off[1], number);
}

void xw_super_bytes_pend(const uint8_t super[XW_SUPER_SIZE], uint64_t nonce, uint64_t number,
			 uint8_t out[XW_SUPER_SIZE])
{
	memcpy(out, super, XW_SUPER_SIZE);
	poke64(out + NONCE_OFF, nonce);
	if (number)
		put_numbers(out, number);
	xw_super_bytes_incompat(out, XW_INCOMPAT_PENDING, 0);
}

void xw_super_bytes_done(const uint8_t super[XW_SUPER_SIZE], uint64_t nonce, uint64_t number,
			 uint8_t out[XW_SUPER_SIZE])
{
	xw_super_bytes_pend(super, nonce, number | XW_SUPER_NUMBER_DONE, out);
}

void xw_super_bytes_unpend(uint8_t super[XW_SUPER_SIZE])
{
	poke64(super + NONCE_OFF, 0);
	put_numbers(super, 0);
	xw_super_bytes_incompat(super, 0, XW_INCOMPAT_PENDING);
}

bool xw_super_bytes_forget(uint8_t super[XW_SUPER_SIZE])
{
	if (!xw_super_bytes_nonce(super) || xw_super_bytes_has(super, XW_INCOMPAT_PENDING))
		return false;
	poke64(super + NONCE_OFF, 0);
	if (xw_super_bytes_number(super, 0) == xw_super_bytes_number(super, 1))
		poke64(super + number_off[0], 0);
	poke64(super + number_off[1], 0);
	set_csum(super);
	return true;
}

bool xw_super_bytes_mixed(const uint8_t super[XW_SUPER_SIZE], const uint8_t *const candidates[],
			  size_t n)
{
	for (size_t i = 0; i < XW_SUPER_SIZE; i++) {
		bool found = false;

		for (size_t k = 0; k < n && !found; k++)
			found = super[i] == candidates[k][i];
		if (!found)
			return false;
	}
	return true;
}
