/* SPDX-License-Identifier: MIT */
/*
 * The state of an aging run, from which a killed run is resumed: the first 1024 bytes of a block,
 * the only one of the file "/.xw-age". Format 3, little-endian; what is not named is zero:
 *
 *	0	"xw-age 3"
 *	8	le64: hash of the options
 *	16	le64: before aging: blocks, free blocks, time
 *	40	le64: operations; files created, removed, changed, skipped and shortened; bytes
 *		written; steps
 *	104	le64: operations whose writeback continues
 *	112	le64: of the superblock after the last step: free blocks, s_mtime, s_wtime
 *	136	le32: block size; reason of the end, 0 while the run lasts
 *	144	le32: after the last step: free inodes, directories, s_mnt_count
 *	160	for each of two CPUs: le32 group of the last large request, le32 number of
 *		preallocations, and 16 times le64 start, le16 length, le16[3]
 *	1020	le32: CRC-32C of the 1020 bytes before it
 *
 * Formats 1 and 2 were text without a checksum.
 */
#ifndef XW_DISK_AGE_STATE_H
#define XW_DISK_AGE_STATE_H

#include "base/types.h"

#define XW_AGE_STATE_SIZE 1024
#define XW_AGE_CPUS 2 /* CPUs of the modelled machine */
#define XW_AGE_POOLS 16 /* maximum number of preallocations of a CPU */
/*
 * The operations that a run can have. A resumed run generates those of the interrupted one again,
 * as many as the state says: this is what limits how long that can take.
 */
#define XW_AGE_OPS_MAX (UINT64_C(1) << 32)
#define XW_AGE_STEP_MAX 1000000 /* operations of a step */
#define XW_AGE_ENDS 6 /* reasons for which a run ends by itself */

struct xw_age_counts {
	uint64_t ops, created, removed, changed; /* number of operations */
	uint64_t skipped; /* operations on missing files, or without space */
	uint64_t shortened; /* files with fewer blocks than requested */
	uint64_t written; /* in bytes */
	uint64_t steps;
};

/* The image before aging. */
struct xw_age_base {
	uint64_t blocks, free; /* in blocks */
	uint32_t block_size;
	int64_t now;
};

/* Allocator state that is kept from one writeback to the next. */
struct xw_age_memory {
	/* groups of the last normalized requests, by hash of the inode number */
	uint32_t stream[XW_AGE_CPUS];
	struct xw_age_pools {
		uint32_t n;
		/* unused parts of locality group preallocations, oldest first */
		struct xw_run run[XW_AGE_POOLS];
	} pools[XW_AGE_CPUS];
};

/* What the image says of itself after a step: it differs if others changed the image since. */
struct xw_age_seen {
	uint64_t free_blocks;
	uint32_t free_inodes, dirs;
	uint32_t mnt_count;
	int64_t mtime, wtime;
};

struct xw_age_state {
	uint64_t options; /* hash of the options that determine the stream of operations */
	struct xw_age_base base;
	struct xw_age_counts counts;
	uint32_t ended; /* 1 + enum xw_age_reason; 0: not ended */
	/*
	 * XW_AGE_LINUX: writeback continues in the next step, of files changed by the last
	 * `writing` operations. 0: writeback is complete.
	 */
	uint64_t writing;
	struct xw_age_memory memory; /* used with XW_AGE_LINUX */
	struct xw_age_seen seen;
};

/* The filesystem, which bounds the numbers of a state. */
struct xw_age_bounds {
	uint64_t blocks, first_data_block;
	uint32_t inodes, groups, block_size;
};

/*
 * Decode XW_AGE_STATE_SIZE bytes. XW_ERR_INPUT: not written by xw-age; XW_ERR_UNSUPPORTED: another
 * format, whose number is *format; XW_ERR_CHECKSUM; XW_ERR_STATE: of a filesystem of another size;
 * XW_ERR_CORRUPT: a number that no run has. *s is complete after success only.
 */
int xw_age_state_decode(const void *buf, const struct xw_age_bounds *fs, struct xw_age_state *s,
			unsigned *format);
void xw_age_state_encode(const struct xw_age_state *s, void *buf);

#endif
