/* SPDX-License-Identifier: MIT */
/*
 * The blocks of a jbd2 log, on buffers: descriptor blocks with their tags, revoke blocks, commit
 * blocks. Everything is big-endian. Pure functions; they never read outside the block, whatever its
 * contents.
 *
 * Source: kernel documentation "Journal (jbd2)"; logs written by Linux 6.18 and by debugfs 1.47.0.
 */
#ifndef XW_DISK_JBLOCK_H
#define XW_DISK_JBLOCK_H

#include "base/types.h"
#include "disk/jsb.h"

#define XW_JBD2_DESCRIPTOR 1u
#define XW_JBD2_COMMIT 2u
#define XW_JBD2_REVOKE 5u
#define XW_JBD2_HDR 12u /* size of the header of every log block except data blocks */

/* v1: the commit block holds a crc32 of the blocks of its transaction */
#define XW_JBD2_COMPAT_CHECKSUM 0x1u
#define XW_JBD2_FC_BLOCKS 256u /* size of the fast commit area where num_fc_blks is 0 */

/* the block started with the magic, which the log replaces by zeros */
#define XW_JTAG_ESCAPED 1u
#define XW_JTAG_SAME_UUID 2u /* no UUID follows this tag */
#define XW_JTAG_LAST 8u

/* The block format of a log, derived from its superblock. */
struct xw_jfmt {
	uint32_t block_size;
	uint32_t seed; /* crc32c(~0, uuid) */
	uint8_t uuid[16];
	bool is64; /* 64-bit block numbers */
	bool csum; /* v2 or v3: crc32c in tags and block tails */
	bool csum3;
	bool csum1;
	unsigned tag_bytes; /* size of a tag without the UUID that may follow */
	unsigned tail; /* size of the checksum at the end of descriptor and revoke blocks */
};

void xw_jfmt_init(const struct xw_jsb *jsb, struct xw_jfmt *out);

/* Is the magic present? Then *type and *sequence are set from the header. */
bool xw_jblock_header(const void *blk, uint32_t *type, uint32_t *sequence);
/* Tail checksum of a descriptor or revoke block; verify returns true for formats without one. */
void xw_jblock_set_tail(const struct xw_jfmt *f, void *blk);
bool xw_jblock_verify_tail(const struct xw_jfmt *f, const void *blk);

struct xw_jtag {
	xw_blk blk; /* home location of the data */
	uint32_t flags;
	/* checksum of the data as stored in the log; 16 bits with v2, 0 without checksums */
	uint32_t csum;
};

/* Iterates over the tags of a descriptor block; zero-initialized but for the first two fields. */
struct xw_jtag_iter {
	const struct xw_jfmt *f;
	const void *blk;
	size_t off;
	bool done;
};
/* Returns 1 with *out, or 0 after the last tag, or if the block has no room for another tag. */
int xw_jtag_next(struct xw_jtag_iter *it, struct xw_jtag *out);
/* Number of tags that xw_jtag_next() returns. */
uint32_t xw_jtag_count(const struct xw_jfmt *f, const void *blk);
/* Checksum of a data block of transaction `sequence` as a tag stores it; data as in the log. */
uint32_t xw_jtag_csum(const struct xw_jfmt *f, uint32_t sequence, const void *data);

/* Number of tags that fit a descriptor block whose first tag is followed by the UUID. */
uint32_t xw_jdesc_capacity(const struct xw_jfmt *f);
/* Number of blocks of a transaction with n data blocks and no revokes. */
uint64_t xw_jtxn_blocks(const struct xw_jfmt *f, uint64_t n);
/* Does the block begin with the magic? Then replace that by zeros, and the reverse. */
bool xw_jdata_escape(void *blk);
void xw_jdata_unescape(void *blk);
/*
 * Encode a descriptor block with n tags, 1 .. capacity. Only ESCAPED of their flags is used; the
 * other flags and the tail are set here.
 */
void xw_jdesc_encode(const struct xw_jfmt *f, uint32_t sequence, const struct xw_jtag *tags,
		     uint32_t n, void *blk);

/* Number of block numbers in a revoke block; XW_ERR_CORRUPT if its size field is invalid. */
int xw_jrevoke_count(const struct xw_jfmt *f, const void *blk, uint32_t *n);
/* Capacity of a revoke block; encode a block with n numbers, 1 .. capacity, including the tail. */
uint32_t xw_jrevoke_capacity(const struct xw_jfmt *f);
void xw_jrevoke_encode(const struct xw_jfmt *f, uint32_t sequence, const xw_blk *blks, uint32_t n,
		       void *blk);
xw_blk xw_jrevoke_get(const struct xw_jfmt *f, const void *blk, uint32_t i);

struct xw_jcommit {
	uint8_t csum_type, csum_size;
	uint32_t csum; /* first checksum word, as stored */
	uint64_t sec;
	uint32_t nsec;
};
void xw_jcommit_decode(const void *blk, struct xw_jcommit *out);
/* Encode the whole block; csum is taken from c for v1, computed for v2 and v3, zero otherwise. */
void xw_jcommit_encode(const struct xw_jfmt *f, uint32_t sequence, const struct xw_jcommit *c,
		       void *blk);
/*
 * v2, v3: verify the checksum of the block. v1: compare it with `crc` of the transaction; a commit
 * block without a checksum is accepted. Always true for logs without checksums.
 */
bool xw_jcommit_verify(const struct xw_jfmt *f, const void *blk, uint32_t crc);

#endif
