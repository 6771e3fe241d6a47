/* SPDX-License-Identifier: MIT */
/*
 * Linear directory blocks: entries, and the tail that holds the checksum of a block.
 *
 * Invariants:
 * 1. Entries tile their block (or inline area): each rec_len is a multiple of 4, at least 12,
 *    covers its name and ends inside.
 * 2. rec_len is stored unchanged, except that 65536 does not fit 16 bits: it is written as 0xFFFF
 *    and read from 0xFFFF or 0, in 64 KiB blocks only.
 * 3. The tail is an entry that looks unused (inode 0, no name) to tools without checksums; its type
 *    0xDE identifies it.
 *
 * Source: kernel documentation "Directory Entries"; checked against mke2fs (also -b 65536), the
 * kernel and debugfs.
 */
#include "config.h"

#include "disk/dirent.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "disk/csum.h"
#include "disk/inode.h"

struct XW_ON_DISK disk_dirent {
	le32 ino;
	le16 rec_len;
	uint8_t name_len;
	uint8_t ftype;
};

struct XW_ON_DISK disk_tail {
	struct disk_dirent fake;
	le32 checksum;
};

static_assert(sizeof(struct disk_dirent) == XW_DIRENT_HDR, "directory entry header size");
static_assert(sizeof(struct disk_tail) == XW_DIR_TAIL, "directory tail size");

#define REC_LEN_MIN 12u
#define REC_LEN_64K 0x10000u

enum xw_ftype xw_ftype_of_mode(uint32_t mode)
{
	switch (mode & XW_S_IFMT) {
	case XW_S_IFREG:
		return XW_FT_REG;
	case XW_S_IFDIR:
		return XW_FT_DIR;
	case XW_S_IFCHR:
		return XW_FT_CHR;
	case XW_S_IFBLK:
		return XW_FT_BLK;
	case XW_S_IFIFO:
		return XW_FT_FIFO;
	case XW_S_IFSOCK:
		return XW_FT_SOCK;
	case XW_S_IFLNK:
		return XW_FT_LNK;
	default:
		return XW_FT_UNKNOWN;
	}
}

int xw_dirent_decode(const void *block, uint32_t block_size, uint32_t off, struct xw_dirent *out)
{
	const struct disk_dirent *d;
	const uint8_t *p = block;

	if (off > block_size || block_size - off < REC_LEN_MIN)
		return XW_ERR_CORRUPT;
	d = (const struct disk_dirent *)(p + off);
	out->ino = get32(d->ino);
	out->rec_len = get16(d->rec_len);
	if (block_size == REC_LEN_64K && (out->rec_len == 0xFFFF || !out->rec_len))
		out->rec_len = REC_LEN_64K;
	out->name_len = d->name_len;
	out->ftype = d->ftype;
	out->name = (const char *)(p + off + sizeof(*d));
	if (out->rec_len % 4 || out->rec_len < REC_LEN_MIN || out->rec_len > block_size - off ||
	    out->rec_len < sizeof(*d) + out->name_len)
		return XW_ERR_CORRUPT;
	return 0;
}

void xw_dirent_peek(const void *entry, struct xw_dirent *out)
{
	const struct disk_dirent *d = entry;

	*out = (struct xw_dirent){
		.ino = get32(d->ino),
		.rec_len = get16(d->rec_len),
		.name_len = d->name_len,
		.ftype = d->ftype,
		.name = (const char *)(d + 1),
	};
}

bool xw_dirent_is_dot(const void *entry, xw_ino ino)
{
	const struct disk_dirent *d = entry;

	return get32(d->ino) == ino && ((const char *)(d + 1))[0] == '.';
}

xw_ino xw_dir_inline_parent(const void *i_block)
{
	return get32(*(const le32 *)i_block);
}

void xw_dirent_encode(void *block, uint32_t block_size, uint32_t off, const struct xw_dirent *e)
{
	uint8_t *p = (uint8_t *)block + off;
	struct disk_dirent *d = (struct disk_dirent *)p;

	(void)block_size;
	d->ino = put32(e->ino);
	d->rec_len = put16(e->rec_len == REC_LEN_64K ? 0xFFFF : (uint16_t)e->rec_len);
	d->name_len = e->name_len;
	d->ftype = e->ftype;
	if (e->name_len)
		memmove(p + sizeof(*d), e->name, e->name_len);
}

static size_t tail_off(uint32_t block_size)
{
	return block_size - sizeof(struct disk_tail);
}

void xw_dir_tail_init(void *block, uint32_t block_size)
{
	struct disk_tail *t = (struct disk_tail *)((uint8_t *)block + tail_off(block_size));

	*t = (struct disk_tail){.fake = {.rec_len = put16(XW_DIR_TAIL), .ftype = XW_FT_CSUM_TAIL}};
}

bool xw_dir_has_tail(const void *block, uint32_t block_size)
{
	const struct disk_tail *t =
		(const struct disk_tail *)((const uint8_t *)block + tail_off(block_size));

	return !get32(t->fake.ino) && get16(t->fake.rec_len) == XW_DIR_TAIL && !t->fake.name_len &&
	       t->fake.ftype == XW_FT_CSUM_TAIL;
}

uint32_t xw_dir_tail_csum(const void *block, uint32_t block_size)
{
	const struct disk_tail *t =
		(const struct disk_tail *)((const uint8_t *)block + tail_off(block_size));

	return get32(t->checksum);
}

bool xw_dirent_hash(const struct xw_dirent *e, uint32_t *major, uint32_t *minor)
{
	const size_t at = (e->name_len + 3u) & ~3u;

	*major = *minor = 0;
	if (e->rec_len < XW_DIRENT_HDR + at + 8)
		return false;
	*major = peek32((const uint8_t *)e->name + at);
	*minor = peek32((const uint8_t *)e->name + at + 4);
	return true;
}

void xw_dir_block_set_csum(void *block, uint32_t block_size, uint32_t inode_seed)
{
	struct disk_tail *t = (struct disk_tail *)((uint8_t *)block + tail_off(block_size));

	t->checksum = put32(xw_crc32c(inode_seed, block, tail_off(block_size)));
}

bool xw_dir_block_seed(const void *block, uint32_t block_size, uint32_t *seed)
{
	const struct disk_tail *t =
		(const struct disk_tail *)((const uint8_t *)block + tail_off(block_size));

	if (!xw_dir_has_tail(block, block_size))
		return false;
	*seed = xw_crc32c_back(get32(t->checksum), block, tail_off(block_size));
	return true;
}

int xw_dir_block_verify(const void *block, uint32_t block_size, uint32_t inode_seed)
{
	const struct disk_tail *t =
		(const struct disk_tail *)((const uint8_t *)block + tail_off(block_size));

	if (!xw_dir_has_tail(block, block_size))
		return XW_ERR_CORRUPT;
	if (get32(t->checksum) != xw_crc32c(inode_seed, block, tail_off(block_size)))
		return XW_ERR_CHECKSUM;
	return 0;
}
