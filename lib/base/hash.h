/* SPDX-License-Identifier: MIT */
/*
 * Hashes. xw_hash64 is for in-memory tables and redo records (strong, keyed, never stored in
 * structures of a filesystem); half-MD4 and TEA are the rounds of the format's directory hashes on
 * raw registers, from which lib/disk/dx_hash.c computes dx hashes.
 */
#ifndef XW_BASE_HASH_H
#define XW_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/*
 * 64-bit content hash with good avalanche. The function is fixed: the result is the same on every
 * machine.
 */
uint64_t xw_hash64(const void *buf, size_t len, uint64_t seed);

/* One half-MD4 round over 8 input words into buf[4] (dx_hash version 1). */
void xw_half_md4(uint32_t buf[4], const uint32_t in[8]);
/* One TEA round over 4 input words into buf[0..1] (dx_hash version 2). */
void xw_tea(uint32_t buf[4], const uint32_t in[4]);

#endif
