// SPDX-License-Identifier: MIT
/* Writes an undo file: keys and contents alternately, the header last. */
#include "config.h"

#include "commit/undo_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/crc.h"

#define UNIT_MIN 1024u
#define UNIT_MAX (1u << 20)
#define SUPER_MAGIC_AT 0x38

bool xw_undo_file_is_known(const struct xw_disk_undo *d)
{
	return !(get32(d->compat) & ~XW_UNDO_COMPAT_OFFSET) && !get32(d->incompat) &&
	       !get32(d->ro_compat);
}

static bool is_unit(uint32_t size)
{
	return size >= UNIT_MIN && size <= UNIT_MAX && !(size & (size - 1));
}

bool xw_undo_file_decode(struct xw_undo_file *f, const struct xw_disk_undo *d, uint64_t size)
{
	f->unit = get32(d->block_size);
	f->fs_unit = get32(d->fs_block_size);
	f->super_at = get64(d->super_at);
	f->keys_at = get64(d->keys_at);
	f->n_keys = get64(d->keys);
	return is_unit(f->unit) && is_unit(f->fs_unit) && f->super_at < size / f->unit &&
	       f->keys_at <= size / f->unit && f->n_keys <= size / UNIT_MIN;
}

uint32_t xw_undo_file_keys_csum(const struct xw_undo_file *f, const struct xw_disk_keys *k)
{
	static const uint8_t none[4];
	uint32_t crc = xw_crc32c(~0u, k, offsetof(struct xw_disk_keys, csum));

	crc = xw_crc32c(crc, none, sizeof(none));
	return xw_crc32c(crc, &k->reserved, f->unit - offsetof(struct xw_disk_keys, reserved));
}

bool xw_undo_file_keys_valid(const struct xw_undo_file *f)
{
	return get32(f->keys->magic) == XW_UNDO_KEYS_MAGIC &&
	       get32(f->keys->csum) == xw_undo_file_keys_csum(f, f->keys);
}

void xw_undo_file_invert(uint8_t super[XW_SUPER_SIZE])
{
	super[SUPER_MAGIC_AT] ^= 0xFF;
	super[SUPER_MAGIC_AT + 1] ^= 0xFF;
}

int xw_undo_file_new_keys(struct xw_undo_file *f)
{
	free(f->keys);
	f->keys = calloc(1, f->unit);
	return f->keys ? 0 : xw_fail_nomem(f->diag, "an undo file");
}

int xw_undo_file_begin(struct xw_undo_file *f, uint32_t unit)
{
	f->unit = f->fs_unit = unit;
	f->super_at = 1;
	f->block = f->keys_at = 2;
	f->end = 3;
	return xw_undo_file_new_keys(f);
}

static int put_keys(struct xw_undo_file *f)
{
	f->keys->magic = put32(XW_UNDO_KEYS_MAGIC);
	f->keys->csum = put32(xw_undo_file_keys_csum(f, f->keys));
	return xw_dev_pwrite(f->dev, f->keys, f->unit, f->block * f->unit);
}

int xw_undo_file_put(struct xw_undo_file *f, uint64_t at, const uint8_t *buf, size_t n, size_t size)
{
	struct xw_disk_key *key;
	int rc = 0;

	if (f->in_block == xw_undo_file_keys_max(f)) {
		rc = put_keys(f);
		if (!rc)
			rc = xw_undo_file_new_keys(f);
		f->block = f->end++;
		f->in_block = 0;
	}
	if (!rc)
		rc = xw_dev_pwrite(f->dev, buf, n * f->unit, f->end * f->unit);
	if (rc)
		return rc;
	key = &f->keys->key[f->in_block++];
	key->blk = put64(at / f->fs_unit);
	key->size = put32((uint32_t)size);
	key->csum = put32(xw_crc32c(~0u, buf, size));
	f->n_keys++;
	f->end += n;
	return 0;
}

int xw_undo_file_finish(struct xw_undo_file *f, const uint8_t new_super[XW_SUPER_SIZE])
{
	struct xw_disk_undo d = {.magic = XW_UNDO_MAGIC};
	uint8_t super[XW_SUPER_SIZE];
	int rc = put_keys(f);

	memcpy(super, new_super, sizeof(super));
	d.super_csum = put32(xw_crc32c(~0u, super, sizeof(super)));
	xw_undo_file_invert(super);
	d.keys = put64(f->n_keys);
	d.super_at = put64(f->super_at);
	d.keys_at = put64(f->keys_at);
	d.block_size = put32(f->unit);
	d.fs_block_size = put32(f->fs_unit);
	d.state = put32(XW_UNDO_FINISHED);
	d.compat = put32(f->offset ? XW_UNDO_COMPAT_OFFSET : 0);
	d.fs_offset = put64(f->offset);
	d.csum = put32(xw_crc32c(~0u, &d, offsetof(struct xw_disk_undo, csum)));
	if (!rc)
		rc = xw_dev_pwrite(f->dev, super, sizeof(super), f->super_at * f->unit);
	if (!rc)
		rc = xw_dev_pwrite(f->dev, &d, sizeof(d), 0);
	if (!rc)
		rc = xw_dev_set_size(f->dev, f->end * f->unit);
	return rc ? rc : xw_dev_flush(f->dev);
}
