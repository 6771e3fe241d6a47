/* SPDX-License-Identifier: MIT */
/*
 * Hashes.
 *
 * xw_hash_secret() is for tables and comparisons in memory, whose input comes from an image or an
 * archive: SipHash-1-3 under a key of the process, which nobody can craft collisions for. Its
 * values differ from run to run, so nothing may be stored, printed or ordered by them.
 *
 * xw_hash_fixed() has a fixed key: for values that are stored or decide the result. Callers in the
 * library: hashes of sectors in redo records, of options in aging states, generation numbers, and
 * the group of a directory in an aging run. Whoever knows it can craft collisions, so it never
 * selects a slot of a table, and equal values never mean equal contents.
 *
 * half-MD4 and TEA are the rounds of the format's directory hashes on raw registers, from which
 * lib/disk/dx_hash.c computes dx hashes.
 */
#ifndef XW_BASE_HASH_H
#define XW_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct xw_hash_key {
	uint64_t k[2];
};

/*
 * The secret key of the process. It costs some 50 ns: fetch it once for each table. A child process
 * that does not call exec() has the key of its parent.
 */
struct xw_hash_key xw_hash_process_key(void);

/* 64-bit hash of a number and bytes under a key. seed: the hash of what precedes, or any number. */
uint64_t xw_hash_secret(const struct xw_hash_key *key, uint64_t seed, const void *buf, size_t len);

/* 64-bit hash of a number under a key; cheaper, and enough for slots of a table only. */
uint64_t xw_hash_number(const struct xw_hash_key *key, uint64_t n);

/*
 * 64-bit hash under a fixed key, with good avalanche: the same on every machine and in every
 * version, so that it may be stored. seed: the hash of what precedes, or any number.
 */
uint64_t xw_hash_fixed(const void *buf, size_t len, uint64_t seed);

/* One half-MD4 round over 8 input words into buf[4] (dx_hash version 1). */
void xw_half_md4(uint32_t buf[4], const uint32_t in[8]);
/* One TEA round over 4 input words into buf[0..1] (dx_hash version 2). */
void xw_tea(uint32_t buf[4], const uint32_t in[4]);

#endif
