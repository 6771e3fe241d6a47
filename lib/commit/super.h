/* SPDX-License-Identifier: MIT */
/*
 * Superblock bytes in a commit. The primary superblock is the commit point: while a change is being
 * applied it has a private INCOMPAT bit, so that Linux and stock tools refuse the partial state,
 * and the nonce of the redo file that completes it.
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
/* Add the pending bit and nonce to `super`. */
void xw_super_bytes_pend(const uint8_t super[XW_SUPER_SIZE], uint64_t nonce,
			 uint8_t out[XW_SUPER_SIZE]);
/* Remove the pending bit and nonce, for a change that is not completed. */
void xw_super_bytes_unpend(uint8_t super[XW_SUPER_SIZE]);
/* Does every byte equal that of one of the n candidates, as after any torn write of one of them? */
bool xw_super_bytes_mixed(const uint8_t super[XW_SUPER_SIZE], const uint8_t *const candidates[],
			  size_t n);

#endif
