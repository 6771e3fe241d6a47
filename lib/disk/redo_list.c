/* SPDX-License-Identifier: MIT */
#include "disk/redo_list.h"

#include <assert.h>
#include <string.h>

#include "base/endian.h"
#include "base/err.h"
#include "disk/csum.h"
#include "disk/redo.h"

#define MAGIC "XW-INSD1"

struct XW_ON_DISK disk_run {
	le64 start;
	le64 len;
};

struct XW_ON_DISK disk_list {
	uint8_t magic[8];
	le32 block_size;
	le32 csum;
	uint8_t uuid[16];
	le64 nonce;
	le64 bytes;
	le64 next;
	le32 n;
	le32 index;
	le64 size;
	uint8_t reserved[8];
	struct disk_run runs[];
};

static_assert(offsetof(struct disk_list, csum) == 0x0C, "list of a redo record");
static_assert(offsetof(struct disk_list, nonce) == 0x20, "list of a redo record");
static_assert(offsetof(struct disk_list, runs) == XW_REDO_LIST_HEADER, "list of a redo record");

size_t xw_redo_list_max(uint32_t block_size)
{
	return (block_size - sizeof(struct disk_list)) / sizeof(struct disk_run);
}

static uint32_t csum_of(const void *buf, uint32_t block_size)
{
	return xw_csum_hole(~0u, buf, block_size, offsetof(struct disk_list, csum), sizeof(le32));
}

bool xw_redo_list_peek(const void *buf, uint32_t *block_size)
{
	const struct disk_list *d = buf;

	*block_size = get32(d->block_size);
	return !memcmp(d->magic, MAGIC, sizeof(d->magic)) && xw_redo_block_size_ok(*block_size);
}

int xw_redo_list_decode(const void *buf, uint32_t block_size, struct xw_redo_list *out)
{
	const struct disk_list *d = buf;

	out->block_size = get32(d->block_size);
	memcpy(out->uuid, d->uuid, sizeof(out->uuid));
	out->nonce = get64(d->nonce);
	out->bytes = get64(d->bytes);
	out->next = get64(d->next);
	out->n = get32(d->n);
	out->index = get32(d->index);
	out->size = get64(d->size);
	if (memcmp(d->magic, MAGIC, sizeof(d->magic)) != 0 || out->block_size != block_size ||
	    get32(d->csum) != csum_of(buf, block_size) || out->n > xw_redo_list_max(block_size))
		return XW_ERR_CORRUPT;
	return 0;
}

struct xw_run xw_redo_list_run(const void *buf, size_t i)
{
	const struct disk_run *r = &((const struct disk_list *)buf)->runs[i];

	return (struct xw_run){get64(r->start), get64(r->len)};
}

void xw_redo_list_encode(const struct xw_redo_list *l, const struct xw_run *runs, void *buf)
{
	struct disk_list *d = buf;

	memset(d, 0, l->block_size);
	memcpy(d->magic, MAGIC, sizeof(d->magic));
	d->block_size = put32(l->block_size);
	memcpy(d->uuid, l->uuid, sizeof(d->uuid));
	d->nonce = put64(l->nonce);
	d->bytes = put64(l->bytes);
	d->next = put64(l->next);
	d->n = put32(l->n);
	d->index = put32(l->index);
	d->size = put64(l->size);
	for (size_t i = 0; i < l->n; i++)
		d->runs[i] = (struct disk_run){put64(runs[i].start), put64(runs[i].len)};
	d->csum = put32(csum_of(buf, l->block_size));
}
