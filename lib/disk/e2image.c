/* SPDX-License-Identifier: MIT */
#include "disk/e2image.h"

#include <assert.h>
#include <stddef.h>

#include "base/endian.h"
#include "base/err.h"

#define MAGIC 0x7F2BB710u

struct XW_ON_DISK disk_header {
	le32 magic;
	char description[16];
	char host[64];
	uint8_t address[32];
	le32 address_type;
	le32 device;
	char device_name[64];
	uint8_t uuid[16];
	le32 block_size;
	le32 reserved[8];
	le32 image_device, image_inode, image_time;
	le32 reserved2[8];
	le32 super, inodes, inode_bitmaps, block_bitmaps; /* offsets in the file */
};

static_assert(offsetof(struct disk_header, block_size) == 0xCC, "e2image");
static_assert(offsetof(struct disk_header, super) == 0x11C, "e2image");
static_assert(sizeof(struct disk_header) == XW_E2IMAGE_HEADER, "e2image");

int xw_e2image_decode(const void *buf, struct xw_e2image *out)
{
	const struct disk_header *h = buf;

	*out = (struct xw_e2image){
		.block_size = get32(h->block_size),
		.super = get32(h->super),
		.inodes = get32(h->inodes),
		.inode_bitmaps = get32(h->inode_bitmaps),
		.block_bitmaps = get32(h->block_bitmaps),
	};
	return get32(h->magic) == MAGIC ? 0 : XW_ERR_INPUT;
}
