/* SPDX-License-Identifier: MIT */
/* The jbd2 journal superblock (big-endian, 1024 bytes at the journal's block 0). */
#ifndef XW_DISK_JSB_H
#define XW_DISK_JSB_H

#include "base/types.h"

#define XW_JBD2_MAGIC 0xC03B3998u
#define XW_JBD2_SUPER_V1 3
#define XW_JBD2_SUPER_V2 4
#define XW_JBD2_INCOMPAT_REVOKE 0x1u
#define XW_JBD2_INCOMPAT_64BIT 0x2u
#define XW_JBD2_INCOMPAT_ASYNC_COMMIT 0x4u
#define XW_JBD2_INCOMPAT_CSUM_V2 0x8u
#define XW_JBD2_INCOMPAT_CSUM_V3 0x10u
#define XW_JBD2_INCOMPAT_FAST_COMMIT 0x20u
#define XW_JBD2_MIN_BLOCKS 1024u
#define XW_JBD2_FAST_BLOCKS 256u /* fast commit blocks if num_fc_blks is 0 */
#define XW_JSB_SIZE 1024
#define XW_JSB_PADDING 160

struct xw_jsb {
	uint32_t blocktype; /* XW_JBD2_SUPER_V1 or V2 */
	uint32_t header_sequence; /* always 0 */
	uint32_t blocksize, maxlen, first;
	uint32_t sequence, start; /* start 0: the log is empty */
	uint32_t err;
	uint32_t feature_compat, feature_incompat, feature_ro_compat;
	uint8_t uuid[16];
	uint32_t nr_users;
	uint32_t dynsuper, max_transaction, max_trans_data;
	uint8_t checksum_type; /* 4 = crc32c */
	uint8_t padding2[3]; /* padding is preserved */
	uint32_t num_fc_blks, head;
	uint8_t padding[XW_JSB_PADDING];
	uint32_t checksum; /* as stored */
	uint8_t users[16 * 48];
};

/*
 * XW_ERR_CORRUPT: magic, block type, block size not a power of two in 1k-64k, first outside 1 ..
 * maxlen - 1. *out is filled in any case. In a version 1 superblock all fields after err are zero.
 */
int xw_jsb_decode(const void *buf, struct xw_jsb *out);
/* All 1024 bytes; the checksum is computed for csum v2/v3, else written unchanged. */
void xw_jsb_encode(const struct xw_jsb *j, void *buf);
/*
 * The number of blocks that the journal needs for the feature fast_commit, which Linux refuses to
 * mount with fewer: XW_JBD2_MIN_BLOCKS besides the fast commit blocks (observed with 6.18).
 */
uint64_t xw_jsb_fast_minimum(const struct xw_jsb *j);
/* 0 (also without csum v2/v3) or XW_ERR_CHECKSUM. */
int xw_jsb_verify(const void *buf);

#endif
