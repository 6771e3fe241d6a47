/* SPDX-License-Identifier: MIT */
/* Inode records: 128 bytes, or more with extra fields followed by room for xattrs. */
#ifndef XW_DISK_INODE_H
#define XW_DISK_INODE_H

#include "base/types.h"
#include "disk/super.h"

/* Reserved inode numbers. */
#define XW_INO_BAD 1
#define XW_INO_ROOT 2
#define XW_INO_USR_QUOTA 3
#define XW_INO_GRP_QUOTA 4
#define XW_INO_RESIZE 7
#define XW_INO_JOURNAL 8
#define XW_INO_FIRST 11

#define XW_LINK_MAX 65000u /* maximum link count; above it, directories with dir_nlink store 1 */

/* i_flags */
#define XW_FL_SECRM 0x00000001u
#define XW_FL_UNRM 0x00000002u
#define XW_FL_COMPR 0x00000004u
#define XW_FL_SYNC 0x00000008u
#define XW_FL_IMMUTABLE 0x00000010u
#define XW_FL_APPEND 0x00000020u
#define XW_FL_NODUMP 0x00000040u
#define XW_FL_NOATIME 0x00000080u
#define XW_FL_NOCOMPR 0x00000400u
#define XW_FL_ENCRYPT 0x00000800u
#define XW_FL_INDEX 0x00001000u
#define XW_FL_JOURNAL_DATA 0x00004000u
#define XW_FL_NOTAIL 0x00008000u
#define XW_FL_DIRSYNC 0x00010000u
#define XW_FL_HUGE_FILE 0x00040000u
#define XW_FL_EXTENTS 0x00080000u
#define XW_FL_VERITY 0x00100000u
#define XW_FL_EA_INODE 0x00200000u
#define XW_FL_DAX 0x02000000u
#define XW_FL_ITREE 0x08000000u
#define XW_FL_INLINE_DATA 0x10000000u
#define XW_FL_PROJINHERIT 0x20000000u
#define XW_FL_CASEFOLD 0x40000000u

/* i_mode type bits, as S_IFMT; for file types of directory entries see disk/dirent.h. */
#define XW_S_IFMT 0170000u
#define XW_S_IFIFO 0010000u
#define XW_S_IFCHR 0020000u
#define XW_S_IFDIR 0040000u
#define XW_S_IFBLK 0060000u
#define XW_S_IFREG 0100000u
#define XW_S_IFLNK 0120000u
#define XW_S_IFSOCK 0140000u
#define XW_S_ISGID 0002000u

#define XW_INODE_BODY 128 /* size of the classic part */
#define XW_INODE_IBLOCK 40 /* offset of i_block in it */
#define XW_INODE_EXTRA_WANTED 32 /* i_extra_isize that covers every field below */

struct xw_inode {
	uint16_t mode;
	uint32_t uid, gid;
	uint64_t size; /* bytes */
	uint16_t links;
	uint64_t blocks; /* i_blocks as stored: units of 512 bytes, or blocks with HUGE_FILE_FL */
	uint32_t flags;
	uint64_t version; /* i_version; low half of the refcount of an EA inode */
	struct xw_time atime, ctime, mtime, crtime;
	uint32_t dtime; /* deletion time or next orphan */
	/* i_block as on disk: extent header, block map, symlink target or device */
	uint8_t block[60];
	uint32_t generation;
	xw_blk file_acl;
	uint32_t faddr;
	uint16_t extra_isize; /* 0 in 128-byte inodes */
	uint32_t projid;
	uint32_t checksum; /* as stored */
	uint16_t osd2_reserved; /* byte 0x7E, unused on Linux */
	/*
	 * Stored high halves without a meaning (i_blocks without huge_file, i_file_acl without
	 * 64bit, i_size of an inode other than a regular file or large_dir directory; frag/fsize
	 * and i_mode_high under Hurd). Preserved.
	 */
	uint16_t stray_blocks_hi, stray_acl_hi;
	uint32_t stray_size_hi;
};

/*
 * Decode the inode_size bytes at buf. In-inode xattrs are not decoded: they start at
 * xw_inode_xattr_off(). An invalid i_extra_isize gives XW_ERR_CORRUPT, with *out filled from the
 * classic part and extra_isize 0. Nanoseconds of 10^9 and more (only in damaged inodes) become
 * 999999999.
 */
int xw_inode_decode(const void *buf, const struct xw_super *sb, struct xw_inode *out);
/*
 * Encode into inode_size bytes. Bytes from 128 + extra_isize on, and extra bytes without a known
 * field, are not modified (they may hold xattrs already), so a fresh record must be zeroed. Times
 * outside -2^31 .. 2^34-2^31-1 are clamped (34 bits where extra_isize reaches the field, else 32).
 * `checksum` is written unchanged: call xw_inode_set_csum() when the record is complete.
 */
void xw_inode_encode(const struct xw_inode *in, const struct xw_super *sb, void *buf);
/*
 * Set the checksum of the whole record, xattrs included; no-op without metadata_csum (or under
 * Hurd, as in stock tools).
 */
void xw_inode_set_csum(void *buf, const struct xw_super *sb, uint32_t csum_seed, xw_ino ino);
/* The stored checksum. *whole: it has 32 bits, otherwise 16. */
uint32_t xw_inode_raw_csum(const void *buf, const struct xw_super *sb, bool *whole);
/* 0 or XW_ERR_CHECKSUM. An all-zero record (never used) is valid. */
int xw_inode_verify(const void *buf, const struct xw_super *sb, uint32_t csum_seed, xw_ino ino);
/*
 * i_dtime of an inode deleted at `now` (seconds since 1970), clamped to the field. Values below the
 * inode count are links of the orphan list, so an earlier clock gives the inode count.
 */
uint32_t xw_inode_dtime(int64_t now, const struct xw_super *sb);
/* Can this i_dtime of an inode with a link count of 0 be a link of the orphan list? */
bool xw_inode_dtime_is_link(uint32_t dtime, const struct xw_super *sb);

/* Seconds with epoch 3 and a negative low half: from 2310-04-04 to before 2378-04-22. */
#define XW_TIME_LATE (INT64_C(5) << 31)
#define XW_TIME_LATE_END (INT64_C(6) << 31)
static inline bool xw_time_is_late(const struct xw_time *t)
{
	return t->sec >= XW_TIME_LATE && t->sec < XW_TIME_LATE_END;
}

/* Is any of atime, ctime, mtime and crtime in that range? */
static inline bool xw_inode_has_late_time(const struct xw_inode *in)
{
	return xw_time_is_late(&in->atime) || xw_time_is_late(&in->ctime) ||
	       xw_time_is_late(&in->mtime) || xw_time_is_late(&in->crtime);
}

/* crc32c(crc32c(seed, le32 ino), le32 generation): the seed for all blocks of this inode. */
uint32_t xw_inode_seed(uint32_t csum_seed, xw_ino ino, uint32_t generation);

/*
 * The flags that a new inode of this mode inherits from its directory (observed, bit by bit, on
 * Linux 6.18). Subdirectories inherit all inheritable flags.
 */
uint32_t xw_inode_inherited(uint32_t flags, uint16_t mode);

/*
 * Offset of the in-inode xattr area (its 4-byte magic) in the record; the area ends with the
 * record. 0 if the inode has no such area: 128-byte inodes, i_extra_isize 0 (the kernel then reads
 * no xattrs) or filling the record.
 */
unsigned xw_inode_xattr_off(const struct xw_inode *in, const struct xw_super *sb);

/*
 * Single fields of a record that is not decoded, since it may be garbage or only this field of it
 * matters: mode, link count, deletion time, and the size of the extra fields, which only records of
 * more than 128 bytes have.
 */
uint16_t xw_inode_raw_mode(const void *rec);
uint16_t xw_inode_raw_links(const void *rec);
uint32_t xw_inode_raw_dtime(const void *rec);
uint16_t xw_inode_raw_extra(const void *rec);

/* Length of the encrypted target of a symlink, with which its text begins. */
uint16_t xw_symlink_crypt_len(const void *text);

/* Word i of i_block, where a block-mapped file has its pointers; 0 if i is not below 15. */
uint32_t xw_inode_slot(const struct xw_inode *in, unsigned i);

#define XW_RDEV_MAJOR_MAX 0xFFFu
#define XW_RDEV_MINOR_MAX 0xFFFFFu
/*
 * Device numbers in i_block[0..1]: the old encoding if both numbers fit 8 bits, else the new one.
 * XW_ERR_LIMIT (and no change) if major exceeds 12 bits or minor 20 bits, the limits of the format.
 */
int xw_inode_put_rdev(struct xw_inode *in, uint32_t major, uint32_t minor);
void xw_inode_get_rdev(const struct xw_inode *in, uint32_t *major, uint32_t *minor);

/*
 * Set i_blocks (and HUGE_FILE_FL if units of 512 bytes do not fit) from the number of blocks.
 * XW_ERR_LIMIT if the file is too large for the features.
 */
int xw_inode_set_blocks(struct xw_inode *in, const struct xw_super *sb, uint64_t fs_blocks);
/* in units of 512 bytes */
uint64_t xw_inode_fs_blocks_512(const struct xw_inode *in, const struct xw_super *sb);

/*
 * EA inodes (EA_INODE_FL) store their reference count in ctime (high 32 bits) and i_version (low
 * 32), and the value hash, xw_xattr_value_hash(), in atime. Set the hash and refs last: they
 * overwrite those fields.
 */
uint64_t xw_inode_ea_refs(const struct xw_inode *in);
void xw_inode_set_ea_refs(struct xw_inode *in, uint64_t refs);
uint32_t xw_inode_ea_hash(const struct xw_inode *in);
void xw_inode_set_ea_hash(struct xw_inode *in, uint32_t value_hash);

#endif
