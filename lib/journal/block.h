/* SPDX-License-Identifier: MIT */
/*
 * The blocks of a jbd2 log, on buffers: descriptor blocks with their tags, revoke blocks, commit
 * blocks. Everything is big-endian. Pure functions; they never read outside the block, whatever it
 * holds.
 *
 * Source: kernel documentation "Journal (jbd2)"; logs written by Linux 6.18 and by debugfs 1.47.0.
 */
#ifndef XW_JOURNAL_BLOCK_H
#define XW_JOURNAL_BLOCK_H

#include "base/types.h"
#include "disk/jsb.h"

#pragma GCC visibility push(default)

#define XW_JBD2_DESCRIPTOR 1u
#define XW_JBD2_COMMIT 2u
#define XW_JBD2_REVOKE 5u
#define XW_JBD2_HDR 12u /* bytes of the header that every log block but data has */

#define XW_JBD2_COMPAT_CHECKSUM 0x1u /* v1: crc32 of a transaction's blocks in its commit block */
#define XW_JBD2_FC_BLOCKS 256u /* fast commit area where num_fc_blks is 0 */

#define XW_JTAG_ESCAPED 1u /* the block's first four bytes were the magic and are zero in the log */
#define XW_JTAG_SAME_UUID 2u /* no UUID follows this tag */
#define XW_JTAG_LAST 8u

/* How a log's blocks look: what follows from its superblock. */
struct xw_jfmt {
	uint32_t block_size;
	uint32_t seed; /* crc32c(~0, uuid) */
	uint8_t uuid[16];
	bool is64; /* 64-bit block numbers */
	bool csum; /* v2 or v3: crc32c in tags and block tails */
	bool csum3;
	bool csum1;
	unsigned tag_bytes; /* without the UUID that may follow */
	unsigned tail; /* bytes of checksum at the end of descriptor and revoke blocks */
};

void xw_jfmt_init(const struct xw_jsb *jsb, struct xw_jfmt *out);

/* Magic there? Then *type and *sequence are the header's. */
bool xw_jblock_header(const void *blk, uint32_t *type, uint32_t *sequence);
/* Tail checksum of a descriptor or revoke block; verify is true where the format has none. */
void xw_jblock_set_tail(const struct xw_jfmt *f, void *blk);
bool xw_jblock_verify_tail(const struct xw_jfmt *f, const void *blk);

struct xw_jtag {
	xw_blk blk; /* where the data belongs */
	uint32_t flags;
	uint32_t csum; /* of the data as it is in the log; 16 bits under v2, 0 without */
};

/* Walks the tags of a descriptor block; zero-initialised but for the first two. */
struct xw_jtag_iter {
	const struct xw_jfmt *f;
	const void *blk;
	size_t off;
	bool done;
};
/* 1 and *out, or 0 at the end: after the last tag, or where the block has no room for another. */
int xw_jtag_next(struct xw_jtag_iter *it, struct xw_jtag *out);
/* How many tags xw_jtag_next() gives. */
uint32_t xw_jtag_count(const struct xw_jfmt *f, const void *blk);
/* Checksum of a data block of transaction `sequence` as a tag stores it; data as in the log. */
uint32_t xw_jtag_csum(const struct xw_jfmt *f, uint32_t sequence, const void *data);

/* Tags that fit a descriptor block when the first carries the UUID. */
uint32_t xw_jdesc_capacity(const struct xw_jfmt *f);
/*
 * A descriptor block for n tags, 1 .. capacity. Of the flags of each only ESCAPED counts, the
 * others are set here, as is the tail.
 */
void xw_jdesc_encode(const struct xw_jfmt *f, uint32_t sequence, const struct xw_jtag *tags,
		     uint32_t n, void *blk);

/*
 * Block numbers that a revoke block names: their count, or XW_ERR_CORRUPT when the count of bytes
 * it claims is impossible.
 */
int xw_jrevoke_count(const struct xw_jfmt *f, const void *blk, uint32_t *n);
/* How many numbers a revoke block has room for; one of n numbers, 1 .. that many, tail included. */
uint32_t xw_jrevoke_capacity(const struct xw_jfmt *f);
void xw_jrevoke_encode(const struct xw_jfmt *f, uint32_t sequence, const xw_blk *blks, uint32_t n,
		       void *blk);
xw_blk xw_jrevoke_get(const struct xw_jfmt *f, const void *blk, uint32_t i);

struct xw_jcommit {
	uint8_t csum_type, csum_size;
	uint32_t csum; /* first word, as stored */
	uint64_t sec;
	uint32_t nsec;
};
void xw_jcommit_decode(const void *blk, struct xw_jcommit *out);
/* The whole block; csum is taken from c for v1, computed for v2 and v3, zero otherwise. */
void xw_jcommit_encode(const struct xw_jfmt *f, uint32_t sequence, const struct xw_jcommit *c,
		       void *blk);
/*
 * v2, v3: the block's own checksum; v1: `crc` of the transaction against it, a commit block without
 * checksum passing; true where the log has no checksums.
 */
bool xw_jcommit_verify(const struct xw_jfmt *f, const void *blk, uint32_t crc);

#pragma GCC visibility pop

#endif
