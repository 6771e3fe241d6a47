/* SPDX-License-Identifier: MIT */
/*
 * Superblock bytes in a commit. The primary superblock is the commit point: while a change is being
 * applied, it has a private INCOMPAT bit, so that Linux and stock tools refuse the partial state,
 * and the nonce of the redo record that completes it. For a record in the image it also has its
 * number: the location of its list (disk/redo_list.h) in units of 1024 bytes.
 *
 *   0x060  bit 0x40000000 of feature_incompat
 *   0x178  le64 KiB written (s_kbytes_written): see xw_super_bytes_count()
 *   0x188  le64 number; Linux has no use for this field (s_snapshot_r_blocks_count)
 *   0x3E8  le64 copy of the number
 *   0x3F0  le64 nonce
 *
 * Media write sectors of 512 bytes: after a torn write, the number is in the half that was written.
 * XW_SUPER_NUMBER_DONE is added to it when all blocks of the change are in place, before the record
 * is removed.
 *
 * These functions work on the 1024 bytes, not on struct xw_super, and preserve all other contents.
 */
#ifndef XW_DISK_PENDING_H
#define XW_DISK_PENDING_H

#include "disk/super.h"

/* Are magic, fields and checksum (if any) valid? */
bool xw_super_bytes_valid(const uint8_t super[XW_SUPER_SIZE]);
/* Set and clear bits of feature_incompat; updates the checksum if there is one. */
void xw_super_bytes_incompat(uint8_t super[XW_SUPER_SIZE], uint32_t set, uint32_t clear);
bool xw_super_bytes_has(const uint8_t super[XW_SUPER_SIZE], uint32_t incompat);
uint64_t xw_super_bytes_nonce(const uint8_t super[XW_SUPER_SIZE]);

#define XW_SUPER_NUMBER_DONE (UINT64_C(1) << 63)
/* The number in half 0 or 1 of the superblock; 0: none. */
uint64_t xw_super_bytes_number(const uint8_t super[XW_SUPER_SIZE], int half);
/* Are the bytes of both numbers zero, as in every superblock outside of a commit? */
bool xw_super_bytes_plain(const uint8_t super[XW_SUPER_SIZE]);

/*
 * The number of KiB written grows by `kib`, at least by 1, from old_super to `super`, if both are
 * valid, unless the change has set it: to a larger number, or with `edited` to any other. So no two
 * states of a filesystem have the same superblock, by which undo files tell them apart, even within
 * a second or with a fixed time. Linux counts its writes there; e2fsck does not compare the field
 * with that of backups.
 */
void xw_super_bytes_count(uint8_t super[XW_SUPER_SIZE], const uint8_t old_super[XW_SUPER_SIZE],
			  uint64_t kib, bool edited);

/* Copy `super` with the pending bit, nonce and number (0: a file) added. */
void xw_super_bytes_pend(const uint8_t super[XW_SUPER_SIZE], uint64_t nonce, uint64_t number,
			 uint8_t out[XW_SUPER_SIZE]);
/* Likewise for the new superblock when all blocks of the change are in place. */
void xw_super_bytes_done(const uint8_t super[XW_SUPER_SIZE], uint64_t nonce, uint64_t number,
			 uint8_t out[XW_SUPER_SIZE]);
/* Remove the pending bit, nonce and numbers, for a change that is not completed. */
void xw_super_bytes_unpend(uint8_t super[XW_SUPER_SIZE]);
/*
 * If the bit is not set: remove nonce and numbers left by a torn write of a pending superblock.
 * False: there are none. A number in the first half alone is not left by one.
 */
bool xw_super_bytes_forget(uint8_t super[XW_SUPER_SIZE]);
/* Does every byte equal that of one of the n candidates, as after any torn write of one of them? */
bool xw_super_bytes_mixed(const uint8_t super[XW_SUPER_SIZE], const uint8_t *const candidates[],
			  size_t n);

#endif
