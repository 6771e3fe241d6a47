/* SPDX-License-Identifier: MIT */
/*
 * The multiple mount protection block: a changing sequence number shows that the filesystem is in
 * use.
 */
#ifndef XW_DISK_MMP_H
#define XW_DISK_MMP_H

#include "base/types.h"

#define XW_MMP_MAGIC 0x004D4D50u
#define XW_MMP_SEQ_CLEAN 0xFF4D4D50u /* not in use */
#define XW_MMP_SEQ_FSCK 0xE24D4D50u /* in use by e2fsck */
#define XW_MMP_SIZE 1024 /* at the start of its block */
#define XW_MMP_INTERVAL 5u /* in seconds; also the minimum check interval */
#define XW_MMP_INTERVAL_MAX 300u

struct xw_mmp {
	uint32_t seq;
	int64_t time; /* time of the last update */
	/* node and device of the last user; terminated here, not on disk */
	char node[65], device[33];
	uint16_t check_interval; /* in seconds */
	uint32_t checksum; /* as stored */
};

/*
 * Is this a sequence number that a program can have written? A mount counts up to XW_MMP_SEQ_FSCK.
 * Linux treats a higher number as that of a crashed node; stock tools always refuse it.
 */
static inline bool xw_mmp_seq_possible(uint32_t seq)
{
	return seq <= XW_MMP_SEQ_FSCK || seq == XW_MMP_SEQ_CLEAN;
}

/* XW_ERR_CORRUPT: no magic. */
int xw_mmp_decode(const void *buf, struct xw_mmp *out);
/* All 1024 bytes. csum: metadata_csum is on; else the checksum is 0. */
void xw_mmp_encode(const struct xw_mmp *m, bool csum, uint32_t csum_seed, void *buf);
/* Both for metadata_csum only. verify: 0 or XW_ERR_CHECKSUM. */
void xw_mmp_set_csum(void *buf, uint32_t csum_seed);
int xw_mmp_verify(const void *buf, uint32_t csum_seed);

#endif
