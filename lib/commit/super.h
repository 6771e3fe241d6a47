/* SPDX-License-Identifier: MIT */
/*
 * Superblock bytes in a commit. The primary superblock is the commit point: while a change is being
 * applied it has a private INCOMPAT bit, so that Linux and stock tools refuse the partial state,
 * the nonce of the redo record that completes it, and, where that is in the image, its number: the
 * place of its list (inside.h) in units of 1024 bytes.
 *
 *   0x060  bit 0x40000000 of feature_incompat
 *   0x188  le64 number; Linux has no use for this field (s_snapshot_r_blocks_count)
 *   0x3E8  le64 number once more
 *   0x3F0  le64 nonce
 *
 * A medium writes sectors of 512 bytes: whichever half of a superblock reached it has the number.
 * XW_SUPER_NUMBER_DONE is added to it when all blocks of the change are in place, and before the
 * record is removed.
 *
 * These functions work on the 1024 bytes, not on struct xw_super, and preserve all other contents.
 */
#ifndef XW_COMMIT_SUPER_H
#define XW_COMMIT_SUPER_H

#include "dev/dev.h"
#include "disk/super.h"

/* Write the 1024 bytes of the primary superblock, and flush. */
int xw_commit_put_super(struct xw_dev *base, const uint8_t super[XW_SUPER_SIZE]);

/* Is there a magic, decodable fields and a correct checksum (if any)? */
bool xw_super_bytes_valid(const uint8_t super[XW_SUPER_SIZE]);
/* Set and clear bits of feature_incompat; updates the checksum if there is one. */
void xw_super_bytes_incompat(uint8_t super[XW_SUPER_SIZE], uint32_t set, uint32_t clear);
bool xw_super_bytes_has(const uint8_t super[XW_SUPER_SIZE], uint32_t incompat);
uint64_t xw_super_bytes_nonce(const uint8_t super[XW_SUPER_SIZE]);

#define XW_SUPER_NUMBER_DONE (UINT64_C(1) << 63)
/* The number in either half, 0 or 1; 0: there is none. */
uint64_t xw_super_bytes_number(const uint8_t super[XW_SUPER_SIZE], int half);
/* Are the bytes of the numbers zero, as in every superblock of a filesystem? */
bool xw_super_bytes_plain(const uint8_t super[XW_SUPER_SIZE]);

/* Add the pending bit, nonce and number (0: of a file) to `super`. */
void xw_super_bytes_pend(const uint8_t super[XW_SUPER_SIZE], uint64_t nonce, uint64_t number,
			 uint8_t out[XW_SUPER_SIZE]);
/* The same to the new superblock when all blocks of the change are in place. */
void xw_super_bytes_done(const uint8_t super[XW_SUPER_SIZE], uint64_t nonce, uint64_t number,
			 uint8_t out[XW_SUPER_SIZE]);
/* Remove the pending bit, nonce and numbers, for a change that is not completed. */
void xw_super_bytes_unpend(uint8_t super[XW_SUPER_SIZE]);
/*
 * Without the bit: remove the nonce and numbers that a torn write of a pending superblock has left.
 * False: there are none. A number in the first half alone is not one of these.
 */
bool xw_super_bytes_forget(uint8_t super[XW_SUPER_SIZE]);
/* Does every byte equal that of one of the n candidates, as after any torn write of one of them? */
bool xw_super_bytes_mixed(const uint8_t super[XW_SUPER_SIZE], const uint8_t *const candidates[],
			  size_t n);

#endif
