/* SPDX-License-Identifier: MIT */
/*
 * The multiple mount protection block. The checksum covers everything before it, seeded with the
 * filesystem's seed. Source: kernel documentation "ext4 Data Structures, Multiple Mount
 * Protection"; checked against mke2fs and debugfs dump_mmp 1.47.0.
 */
#include "config.h"

#include "disk/mmp.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "disk/csum.h"

struct XW_ON_DISK disk_mmp {
	le32 magic;
	le32 seq;
	le64 time;
	char node[64];
	char device[32];
	le16 check_interval;
	le16 pad1;
	le32 pad2[226];
	le32 checksum;
};
static_assert(offsetof(struct disk_mmp, node) == 0x10, "node");
static_assert(offsetof(struct disk_mmp, device) == 0x50, "device");
static_assert(offsetof(struct disk_mmp, check_interval) == 0x70, "check_interval");
static_assert(offsetof(struct disk_mmp, checksum) == 0x3FC, "checksum");
static_assert(sizeof(struct disk_mmp) == XW_MMP_SIZE, "MMP block size");

int xw_mmp_decode(const void *buf, struct xw_mmp *out)
{
	const struct disk_mmp *d = buf;

	memset(out, 0, sizeof(*out));
	out->seq = get32(d->seq);
	out->time = (int64_t)get64(d->time);
	memcpy(out->node, d->node, sizeof(d->node));
	memcpy(out->device, d->device, sizeof(d->device));
	out->check_interval = get16(d->check_interval);
	out->checksum = get32(d->checksum);
	return get32(d->magic) == XW_MMP_MAGIC ? 0 : XW_ERR_CORRUPT;
}

static uint32_t mmp_csum(const struct disk_mmp *d, uint32_t csum_seed)
{
	return xw_crc32c(csum_seed, d, offsetof(struct disk_mmp, checksum));
}

void xw_mmp_set_csum(void *buf, uint32_t csum_seed)
{
	struct disk_mmp *d = buf;

	d->checksum = put32(mmp_csum(d, csum_seed));
}

void xw_mmp_encode(const struct xw_mmp *m, bool csum, uint32_t csum_seed, void *buf)
{
	struct disk_mmp *d = buf;

	memset(d, 0, sizeof(*d));
	d->magic = put32(XW_MMP_MAGIC);
	d->seq = put32(m->seq);
	d->time = put64((uint64_t)m->time);
	memcpy(d->node, m->node, sizeof(d->node));
	memcpy(d->device, m->device, sizeof(d->device));
	d->check_interval = put16(m->check_interval);
	if (csum)
		xw_mmp_set_csum(buf, csum_seed);
}

int xw_mmp_verify(const void *buf, uint32_t csum_seed)
{
	const struct disk_mmp *d = buf;

	return get32(d->checksum) == mmp_csum(d, csum_seed) ? 0 : XW_ERR_CHECKSUM;
}
