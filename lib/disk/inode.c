/* SPDX-License-Identifier: MIT */
/*
 * Inode records.
 *
 * Invariants:
 * 1. A field after the classic 128 bytes exists only where i_extra_isize reaches its end. Fields
 *    out of reach are neither read nor written: these bytes are xattr space, or belong to a newer
 *    tool.
 * 2. High halves without a meaning under the features (or, for i_size, the file type) are kept in
 *    stray_*: readers see the values that the kernel sees, a checker sees fields that should be
 *    zero, and encode(decode(x)) == x.
 * 3. Seconds are the sign-extended low 32 bits plus epoch << 32, epoch being the low two bits of
 *    the extra field.
 * 4. The checksum covers the whole record, xattrs included, with both halves of itself read as
 *    zero; the high half exists where i_extra_isize reaches it, and is ordinary data elsewhere.
 *
 * Source: kernel documentation "Index Nodes"; the kernel (6.18), mke2fs and debugfs as oracles
 * (tests/oracle/disk.sh).
 */
#include "config.h"

#include "base/bytes.h"
#include "disk/inode.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "disk/csum.h"

struct XW_ON_DISK disk_inode {
	le16 mode;
	le16 uid_lo;
	le32 size_lo;
	le32 atime;
	le32 ctime;
	le32 mtime;
	le32 dtime;
	le16 gid_lo;
	le16 links;
	le32 blocks_lo;
	le32 flags;
	le32 version_lo;
	uint8_t block[60];
	le32 generation;
	le32 file_acl_lo;
	le32 size_hi;
	le32 faddr;
	le16 blocks_hi; /* Hurd: h_i_frag, h_i_fsize */
	le16 file_acl_hi; /* Hurd: h_i_mode_high */
	le16 uid_hi;
	le16 gid_hi;
	le16 checksum_lo; /* Hurd: h_i_author, four bytes */
	le16 reserved;
	/* fields from here on exist as far as extra_isize reaches */
	le16 extra_isize;
	le16 checksum_hi;
	le32 ctime_extra;
	le32 mtime_extra;
	le32 atime_extra;
	le32 crtime;
	le32 crtime_extra;
	le32 version_hi;
	le32 projid;
};

#define AT(off, name) static_assert(offsetof(struct disk_inode, name) == (off), #name)
AT(0x14, dtime);
AT(0x1C, blocks_lo);
AT(0x24, version_lo);
AT(0x28, block);
AT(0x64, generation);
AT(0x68, file_acl_lo);
AT(0x6C, size_hi);
AT(0x74, blocks_hi);
AT(0x76, file_acl_hi);
AT(0x78, uid_hi);
AT(0x7C, checksum_lo);
AT(0x80, extra_isize);
AT(0x82, checksum_hi);
AT(0x84, ctime_extra);
AT(0x90, crtime);
AT(0x98, version_hi);
AT(0x9C, projid);
static_assert(sizeof(struct disk_inode) == XW_INODE_BODY + XW_INODE_EXTRA_WANTED, "inode size");

/* value of i_extra_isize that reaches the end of a field */
#define EXTRA_END(field)                                                                           \
	(offsetof(struct disk_inode, field) + sizeof(((struct disk_inode *)0)->field) -            \
	 XW_INODE_BODY)

#define CREATOR_HURD 1u
#define NSEC_MAX 999999999u
#define LOW_MIN (-((int64_t)1 << 31))
#define LOW_MAX (((int64_t)1 << 31) - 1)
#define EXTRA_MAX (((int64_t)1 << 34) - ((int64_t)1 << 31) - 1)
#define SECTORS_MAX (((uint64_t)1 << 48) - 1)

/* Bytes after the classic part. */
static unsigned extra_room(const struct xw_super *sb)
{
	return sb->inode_size > XW_INODE_BODY ? sb->inode_size - (unsigned)XW_INODE_BODY : 0;
}

static bool has_huge(const struct xw_super *sb)
{
	return sb->feature_ro_compat & XW_RO_HUGE_FILE && sb->creator_os != CREATOR_HURD;
}

static bool has_acl_hi(const struct xw_super *sb)
{
	return sb->feature_incompat & XW_INCOMPAT_64BIT && sb->creator_os != CREATOR_HURD;
}

/*
 * Only regular files (and reserved inodes without a type) always have a 64-bit size; directories
 * have it with large_dir.
 */
static bool has_size_hi(const struct xw_super *sb, uint16_t mode)
{
	uint32_t type = mode & XW_S_IFMT;

	if (type == XW_S_IFDIR)
		return sb->feature_incompat & XW_INCOMPAT_LARGEDIR;
	return type == XW_S_IFREG || !type;
}

static void time_decode(le32 low, const le32 *extra, struct xw_time *out)
{
	uint32_t x = extra ? get32(*extra) : 0;

	out->sec = (int64_t)(int32_t)get32(low) + ((int64_t)(x & 3) << 32);
	out->nsec = XW_MIN(x >> 2, NSEC_MAX);
}

static void time_encode(const struct xw_time *t, le32 *low, le32 *extra)
{
	int64_t max = extra ? EXTRA_MAX : LOW_MAX;
	int64_t sec = t->sec < LOW_MIN ? LOW_MIN : XW_MIN(t->sec, max);
	uint32_t nsec = sec == t->sec ? XW_MIN(t->nsec, NSEC_MAX) : 0;
	uint32_t epoch = (uint32_t)((sec - LOW_MIN) >> 32);

	*low = put32((uint32_t)sec);
	if (extra)
		*extra = put32(epoch | nsec << 2);
}

/* Decode the fields within `extra` bytes after the classic part; all others are zero. */
static void extra_decode(const struct disk_inode *d, unsigned extra, struct xw_inode *out)
{
	out->extra_isize = (uint16_t)extra;
	time_decode(d->ctime, extra >= EXTRA_END(ctime_extra) ? &d->ctime_extra : NULL,
		    &out->ctime);
	time_decode(d->mtime, extra >= EXTRA_END(mtime_extra) ? &d->mtime_extra : NULL,
		    &out->mtime);
	time_decode(d->atime, extra >= EXTRA_END(atime_extra) ? &d->atime_extra : NULL,
		    &out->atime);
	out->crtime = (struct xw_time){0};
	if (extra >= EXTRA_END(crtime))
		time_decode(d->crtime, extra >= EXTRA_END(crtime_extra) ? &d->crtime_extra : NULL,
			    &out->crtime);
	if (extra >= EXTRA_END(checksum_hi))
		out->checksum |= (uint32_t)get16(d->checksum_hi) << 16;
	if (extra >= EXTRA_END(version_hi))
		out->version |= (uint64_t)get32(d->version_hi) << 32;
	out->projid = extra >= EXTRA_END(projid) ? get32(d->projid) : 0;
}

int xw_inode_decode(const void *buf, const struct xw_super *sb, struct xw_inode *out)
{
	const struct disk_inode *d = buf;
	uint32_t blocks_hi = get16(d->blocks_hi), acl_hi = get16(d->file_acl_hi);
	unsigned extra = 0, room = extra_room(sb);
	bool bad = false;

	out->mode = get16(d->mode);
	out->uid = get16(d->uid_lo) | (uint32_t)get16(d->uid_hi) << 16;
	out->gid = get16(d->gid_lo) | (uint32_t)get16(d->gid_hi) << 16;
	out->links = get16(d->links);
	out->dtime = get32(d->dtime);
	out->flags = get32(d->flags);
	out->version = get32(d->version_lo);
	memcpy(out->block, d->block, sizeof(out->block));
	out->generation = get32(d->generation);
	out->faddr = get32(d->faddr);
	out->checksum = get16(d->checksum_lo);
	out->osd2_reserved = get16(d->reserved);

	out->stray_blocks_hi = (uint16_t)(has_huge(sb) ? 0 : blocks_hi);
	out->stray_acl_hi = (uint16_t)(has_acl_hi(sb) ? 0 : acl_hi);
	out->stray_size_hi = has_size_hi(sb, out->mode) ? 0 : get32(d->size_hi);
	out->blocks = get32(d->blocks_lo) | (uint64_t)(blocks_hi ^ out->stray_blocks_hi) << 32;
	out->file_acl = get32(d->file_acl_lo) | (xw_blk)(acl_hi ^ out->stray_acl_hi) << 32;
	out->size = get32(d->size_lo) | (uint64_t)(get32(d->size_hi) ^ out->stray_size_hi) << 32;

	if (room) {
		extra = get16(d->extra_isize);
		bad = extra > room || extra % 4;
	}
	extra_decode(d, bad ? 0 : extra, out);
	return bad ? XW_ERR_CORRUPT : 0;
}

static void extra_encode(const struct xw_inode *in, unsigned extra, struct disk_inode *d)
{
	d->extra_isize = put16(in->extra_isize);
	if (extra >= EXTRA_END(checksum_hi))
		d->checksum_hi = put16((uint16_t)(in->checksum >> 16));
	if (extra >= EXTRA_END(crtime))
		time_encode(&in->crtime, &d->crtime,
			    extra >= EXTRA_END(crtime_extra) ? &d->crtime_extra : NULL);
	if (extra >= EXTRA_END(version_hi))
		d->version_hi = put32((uint32_t)(in->version >> 32));
	if (extra >= EXTRA_END(projid))
		d->projid = put32(in->projid);
}

void xw_inode_encode(const struct xw_inode *in, const struct xw_super *sb, void *buf)
{
	struct disk_inode *d = buf;
	unsigned room = extra_room(sb);
	unsigned extra = XW_MIN(in->extra_isize, room);

	d->mode = put16(in->mode);
	d->uid_lo = put16((uint16_t)in->uid);
	d->uid_hi = put16((uint16_t)(in->uid >> 16));
	d->gid_lo = put16((uint16_t)in->gid);
	d->gid_hi = put16((uint16_t)(in->gid >> 16));
	d->links = put16(in->links);
	d->dtime = put32(in->dtime);
	d->flags = put32(in->flags);
	d->version_lo = put32((uint32_t)in->version);
	memcpy(d->block, in->block, sizeof(d->block));
	d->generation = put32(in->generation);
	d->faddr = put32(in->faddr);
	d->checksum_lo = put16((uint16_t)in->checksum);
	d->reserved = put16(in->osd2_reserved);

	d->blocks_lo = put32((uint32_t)in->blocks);
	d->blocks_hi = put16(has_huge(sb) ? (uint16_t)(in->blocks >> 32) : in->stray_blocks_hi);
	d->file_acl_lo = put32((uint32_t)in->file_acl);
	d->file_acl_hi = put16(has_acl_hi(sb) ? (uint16_t)(in->file_acl >> 32) : in->stray_acl_hi);
	d->size_lo = put32((uint32_t)in->size);
	d->size_hi =
		put32(has_size_hi(sb, in->mode) ? (uint32_t)(in->size >> 32) : in->stray_size_hi);

	time_encode(&in->ctime, &d->ctime,
		    extra >= EXTRA_END(ctime_extra) ? &d->ctime_extra : NULL);
	time_encode(&in->mtime, &d->mtime,
		    extra >= EXTRA_END(mtime_extra) ? &d->mtime_extra : NULL);
	time_encode(&in->atime, &d->atime,
		    extra >= EXTRA_END(atime_extra) ? &d->atime_extra : NULL);
	/* EA inodes store a hash and a reference count here: all 32 bits are significant. */
	if (in->flags & XW_FL_EA_INODE) {
		d->atime = put32((uint32_t)in->atime.sec);
		d->ctime = put32((uint32_t)in->ctime.sec);
	}
	if (room)
		extra_encode(in, extra, d);
}

uint32_t xw_inode_seed(uint32_t csum_seed, xw_ino ino, uint32_t generation)
{
	return xw_csum_le32(xw_csum_le32(csum_seed, ino), generation);
}

static bool has_csum(const struct xw_super *sb)
{
	return xw_super_has_csum(sb) && sb->creator_os != CREATOR_HURD;
}

static bool has_csum_hi(const struct disk_inode *d, const struct xw_super *sb)
{
	return sb->inode_size > XW_INODE_BODY && get16(d->extra_isize) >= EXTRA_END(checksum_hi);
}

/* All 32 bits; callers mask the result if the inode stores only the low half. */
static uint32_t inode_csum(const struct disk_inode *d, const struct xw_super *sb,
			   uint32_t csum_seed, xw_ino ino)
{
	const size_t hi = offsetof(struct disk_inode, checksum_hi) - XW_INODE_BODY;
	const uint8_t *extra_area = (const uint8_t *)d + XW_INODE_BODY;
	uint32_t crc = xw_inode_seed(csum_seed, ino, get32(d->generation));

	crc = xw_csum_hole(crc, d, XW_INODE_BODY, offsetof(struct disk_inode, checksum_lo),
			   sizeof(le16));
	if (sb->inode_size <= XW_INODE_BODY)
		return crc;
	return xw_csum_hole(crc, extra_area, sb->inode_size - XW_INODE_BODY, hi,
			    has_csum_hi(d, sb) ? sizeof(le16) : 0);
}

void xw_inode_set_csum(void *buf, const struct xw_super *sb, uint32_t csum_seed, xw_ino ino)
{
	struct disk_inode *d = buf;
	uint32_t crc;

	if (!has_csum(sb))
		return;
	crc = inode_csum(d, sb, csum_seed, ino);
	d->checksum_lo = put16((uint16_t)crc);
	if (has_csum_hi(d, sb))
		d->checksum_hi = put16((uint16_t)(crc >> 16));
}

uint32_t xw_inode_raw_csum(const void *buf, const struct xw_super *sb, bool *whole)
{
	const struct disk_inode *d = buf;
	const uint32_t low = get16(d->checksum_lo);

	*whole = has_csum_hi(d, sb);
	return *whole ? low | (uint32_t)get16(d->checksum_hi) << 16 : low;
}

int xw_inode_verify(const void *buf, const struct xw_super *sb, uint32_t csum_seed, xw_ino ino)
{
	uint32_t crc, stored;
	bool whole;

	if (!has_csum(sb))
		return 0;
	crc = inode_csum(buf, sb, csum_seed, ino);
	stored = xw_inode_raw_csum(buf, sb, &whole);
	if (!whole)
		crc &= 0xFFFF;
	return crc == stored || xw_all_zero(buf, sb->inode_size) ? 0 : XW_ERR_CHECKSUM;
}

/*
 * Linux dev_t on disk: old encoding major << 8 | minor in word 0; new encoding in word 1: 12 bits
 * of major within 20 bits of minor.
 */
int xw_inode_put_rdev(struct xw_inode *in, uint32_t major, uint32_t minor)
{
	bool old = major < 256 && minor < 256;

	if (major > XW_RDEV_MAJOR_MAX || minor > XW_RDEV_MINOR_MAX)
		return XW_ERR_LIMIT;
	poke32(in->block, old ? major << 8 | minor : 0);
	poke32(in->block + 4, old ? 0 : (minor & 0xFF) | major << 8 | (minor & ~0xFFu) << 12);
	return 0;
}

void xw_inode_get_rdev(const struct xw_inode *in, uint32_t *major, uint32_t *minor)
{
	uint32_t old = peek32(in->block), dev = peek32(in->block + 4);

	if (old) {
		*major = old >> 8 & 0xFF;
		*minor = old & 0xFF;
	} else {
		*major = dev >> 8 & 0xFFF;
		*minor = (dev & 0xFF) | (dev >> 12 & 0xFFF00);
	}
}

int xw_inode_set_blocks(struct xw_inode *in, const struct xw_super *sb, uint64_t fs_blocks)
{
	uint64_t sectors;

	if (fs_blocks > SECTORS_MAX)
		return XW_ERR_LIMIT;
	sectors = fs_blocks * (xw_super_block_size(sb) / 512);
	if (sectors > UINT32_MAX && !has_huge(sb))
		return XW_ERR_LIMIT;
	in->flags &= ~XW_FL_HUGE_FILE;
	in->blocks = sectors;
	if (sectors > SECTORS_MAX) {
		in->flags |= XW_FL_HUGE_FILE;
		in->blocks = fs_blocks;
	}
	return 0;
}

uint64_t xw_inode_fs_blocks_512(const struct xw_inode *in, const struct xw_super *sb)
{
	if (has_huge(sb) && in->flags & XW_FL_HUGE_FILE)
		return in->blocks * (xw_super_block_size(sb) / 512);
	return in->blocks;
}

uint32_t xw_inode_dtime(int64_t now, const struct xw_super *sb)
{
	return (uint32_t)XW_MIN(XW_MAX(now, (int64_t)sb->inodes_count), (int64_t)UINT32_MAX);
}

bool xw_inode_dtime_is_link(uint32_t dtime, const struct xw_super *sb)
{
	return dtime && dtime < sb->inodes_count;
}

uint32_t xw_inode_inherited(uint32_t flags, uint16_t mode)
{
	const uint32_t any = XW_FL_NODUMP | XW_FL_NOATIME;
	const uint32_t file = any | XW_FL_SECRM | XW_FL_UNRM | XW_FL_COMPR | XW_FL_SYNC |
			      XW_FL_NOCOMPR | XW_FL_JOURNAL_DATA | XW_FL_NOTAIL | XW_FL_DAX;

	switch (mode & XW_S_IFMT) {
	case XW_S_IFDIR:
		return flags & (file | XW_FL_DIRSYNC | XW_FL_PROJINHERIT);
	case XW_S_IFREG:
		return flags & file;
	default:
		return flags & any;
	}
}

unsigned xw_inode_xattr_off(const struct xw_inode *in, const struct xw_super *sb)
{
	unsigned off = XW_INODE_BODY + in->extra_isize;

	return in->extra_isize && off + sizeof(le32) < sb->inode_size ? off : 0;
}

uint64_t xw_inode_ea_refs(const struct xw_inode *in)
{
	return (uint64_t)(uint32_t)in->ctime.sec << 32 | (uint32_t)in->version;
}

void xw_inode_set_ea_refs(struct xw_inode *in, uint64_t refs)
{
	in->ctime = (struct xw_time){.sec = (int64_t)(refs >> 32)};
	in->version = (in->version & ~(uint64_t)UINT32_MAX) | (uint32_t)refs;
}

uint16_t xw_inode_raw_mode(const void *rec)
{
	return get16(((const struct disk_inode *)rec)->mode);
}

uint16_t xw_inode_raw_links(const void *rec)
{
	return get16(((const struct disk_inode *)rec)->links);
}

uint32_t xw_inode_raw_dtime(const void *rec)
{
	return get32(((const struct disk_inode *)rec)->dtime);
}

uint16_t xw_inode_raw_extra(const void *rec)
{
	return get16(((const struct disk_inode *)rec)->extra_isize);
}

uint16_t xw_symlink_crypt_len(const void *text)
{
	return get16(*(const le16 *)text);
}

uint32_t xw_inode_slot(const struct xw_inode *in, unsigned i)
{
	return i < sizeof(in->block) / 4 ? peek32(in->block + (size_t)4 * i) : 0;
}

uint32_t xw_inode_ea_hash(const struct xw_inode *in)
{
	return (uint32_t)in->atime.sec;
}

void xw_inode_set_ea_hash(struct xw_inode *in, uint32_t value_hash)
{
	in->atime = (struct xw_time){.sec = value_hash};
}
