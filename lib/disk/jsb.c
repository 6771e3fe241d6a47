/* SPDX-License-Identifier: MIT */
/*
 * The jbd2 journal superblock: big-endian, 1024 bytes.
 *
 * Invariants:
 * 1. Version 1 ends with s_errno: later bytes are not read (they decode to zero) and are written as
 *    zero.
 * 2. The checksum exists with checksum v2 or v3 and covers the 1024 bytes with itself read as zero,
 *    seeded with ~0.
 *
 * Source: kernel documentation "Journal (jbd2)"; checked against mke2fs, the kernel and logdump of
 * debugfs.
 */
#include "config.h"

#include "disk/jsb.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "disk/csum.h"

struct XW_ON_DISK disk_jsb {
	be32 magic;
	be32 blocktype;
	be32 header_sequence;
	be32 blocksize;
	be32 maxlen;
	be32 first;
	be32 sequence;
	be32 start;
	be32 err;
	/* from here on version 2 only */
	be32 feature_compat;
	be32 feature_incompat;
	be32 feature_ro_compat;
	uint8_t uuid[16];
	be32 nr_users;
	be32 dynsuper;
	be32 max_transaction;
	be32 max_trans_data;
	uint8_t checksum_type;
	uint8_t padding2[3];
	be32 num_fc_blks;
	be32 head;
	uint8_t padding[XW_JSB_PADDING];
	be32 checksum;
	uint8_t users[16 * 48];
};

/* F(offset, name) */
#define JSB_V1(F)                                                                                  \
	F(0x04, blocktype)                                                                         \
	F(0x08, header_sequence)                                                                   \
	F(0x0C, blocksize)                                                                         \
	F(0x10, maxlen)                                                                            \
	F(0x14, first)                                                                             \
	F(0x18, sequence)                                                                          \
	F(0x1C, start)                                                                             \
	F(0x20, err)

#define JSB_V2(F)                                                                                  \
	F(0x24, feature_compat)                                                                    \
	F(0x28, feature_incompat)                                                                  \
	F(0x2C, feature_ro_compat)                                                                 \
	F(0x40, nr_users)                                                                          \
	F(0x44, dynsuper)                                                                          \
	F(0x48, max_transaction)                                                                   \
	F(0x4C, max_trans_data)                                                                    \
	F(0x54, num_fc_blks)                                                                       \
	F(0x58, head)

#define AT(off, name) static_assert(offsetof(struct disk_jsb, name) == (off), #name);
JSB_V1(AT)
JSB_V2(AT)
AT(0x30, uuid)
AT(0x50, checksum_type)
AT(0x5C, padding)
AT(0xFC, checksum)
AT(0x100, users)
static_assert(sizeof(struct disk_jsb) == XW_JSB_SIZE, "journal superblock size");

#define CSUM_OFF offsetof(struct disk_jsb, checksum)
#define CSUM_FEATURES (XW_JBD2_INCOMPAT_CSUM_V2 | XW_JBD2_INCOMPAT_CSUM_V3)

uint64_t xw_jsb_fast_minimum(const struct xw_jsb *j)
{
	return (uint64_t)XW_JBD2_MIN_BLOCKS +
	       (j->num_fc_blks ? j->num_fc_blks : XW_JBD2_FAST_BLOCKS);
}

int xw_jsb_decode(const void *buf, struct xw_jsb *out)
{
	const struct disk_jsb *d = buf;

	memset(out, 0, sizeof(*out));
#define F(off, name) out->name = getbe32(d->name);
	JSB_V1(F)
	if (out->blocktype == XW_JBD2_SUPER_V2) {
		JSB_V2(F)
		memcpy(out->uuid, d->uuid, sizeof(out->uuid));
		out->checksum_type = d->checksum_type;
		memcpy(out->padding2, d->padding2, sizeof(out->padding2));
		memcpy(out->padding, d->padding, sizeof(out->padding));
		out->checksum = getbe32(d->checksum);
		memcpy(out->users, d->users, sizeof(out->users));
	}
#undef F
	if (getbe32(d->magic) != XW_JBD2_MAGIC)
		return XW_ERR_CORRUPT;
	if (out->blocktype != XW_JBD2_SUPER_V1 && out->blocktype != XW_JBD2_SUPER_V2)
		return XW_ERR_CORRUPT;
	if (out->blocksize < 1024 || out->blocksize > 65536 ||
	    out->blocksize & (out->blocksize - 1))
		return XW_ERR_CORRUPT;
	if (!out->first || out->first >= out->maxlen)
		return XW_ERR_CORRUPT;
	return 0;
}

static uint32_t jsb_csum(const struct disk_jsb *d)
{
	return xw_csum_hole(~0u, d, sizeof(*d), CSUM_OFF, sizeof(be32));
}

void xw_jsb_encode(const struct xw_jsb *j, void *buf)
{
	struct disk_jsb *d = buf;

	memset(d, 0, sizeof(*d));
	d->magic = putbe32(XW_JBD2_MAGIC);
#define F(off, name) d->name = putbe32(j->name);
	JSB_V1(F)
	if (j->blocktype != XW_JBD2_SUPER_V2)
		return;
	JSB_V2(F)
#undef F
	memcpy(d->uuid, j->uuid, sizeof(d->uuid));
	d->checksum_type = j->checksum_type;
	memcpy(d->padding2, j->padding2, sizeof(d->padding2));
	memcpy(d->padding, j->padding, sizeof(d->padding));
	memcpy(d->users, j->users, sizeof(d->users));
	d->checksum = putbe32(j->feature_incompat & CSUM_FEATURES ? jsb_csum(d) : j->checksum);
}

int xw_jsb_verify(const void *buf)
{
	const struct disk_jsb *d = buf;

	if (getbe32(d->blocktype) != XW_JBD2_SUPER_V2 ||
	    !(getbe32(d->feature_incompat) & CSUM_FEATURES))
		return 0;
	return getbe32(d->checksum) == jsb_csum(d) ? 0 : XW_ERR_CHECKSUM;
}
