// SPDX-License-Identifier: MIT
/* Writes an undo file: keys and contents alternately, then the header. */
#include "config.h"

#include "commit/undo_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/crc.h"

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

void xw_undo_file_continue(struct xw_undo_file *f, const struct xw_undo_header *h)
{
	f->unit = h->unit;
	f->fs_unit = h->fs_unit;
	f->super_at = h->super_at;
	f->keys_at = h->keys_at;
	f->n_keys = h->keys;
	f->size_before = h->size_before;
	f->size_after = h->size_after;
}

static int put_keys(struct xw_undo_file *f)
{
	xw_undo_keys_seal(f->keys, f->unit);
	return xw_dev_pwrite(f->dev, f->keys, f->unit, f->block * f->unit);
}

int xw_undo_file_put(struct xw_undo_file *f, uint64_t at, const uint8_t *buf, size_t n, size_t size)
{
	struct xw_undo_key key;
	int rc = 0;

	if (f->in_block == xw_undo_keys_max(f->unit)) {
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
	key = (struct xw_undo_key){
		.blk = at / f->fs_unit, .csum = xw_crc32c(~0u, buf, size), .size = (uint32_t)size};
	xw_undo_key_put(f->keys, f->in_block++, &key);
	f->n_keys++;
	f->end += n;
	return 0;
}

/* Write keys, superblock and header of what is in the file so far. */
static int put_state(struct xw_undo_file *f, const uint8_t new_super[XW_SUPER_SIZE], bool finished)
{
	const struct xw_undo_header h = {
		.keys = f->n_keys,
		.super_at = f->super_at,
		.keys_at = f->keys_at,
		.unit = f->unit,
		.fs_unit = f->fs_unit,
		.super_csum = xw_crc32c(~0u, new_super, XW_SUPER_SIZE),
		.finished = finished,
		.offset = f->offset,
		.size_before = f->size_before,
		.size_after = f->size_after,
	};
	uint8_t super[XW_SUPER_SIZE], header[XW_UNDO_HEADER_SIZE];
	int rc = put_keys(f);

	memcpy(super, new_super, sizeof(super));
	xw_undo_super_invert(super);
	xw_undo_header_encode(&h, header);
	if (!rc)
		rc = xw_dev_pwrite(f->dev, super, sizeof(super), f->super_at * f->unit);
	return rc ? rc : xw_dev_pwrite(f->dev, header, sizeof(header), 0);
}

int xw_undo_file_keep(struct xw_undo_file *f)
{
	static const uint8_t unknown[XW_SUPER_SIZE];

	return put_state(f, unknown, false);
}

int xw_undo_file_finish(struct xw_undo_file *f, const uint8_t new_super[XW_SUPER_SIZE])
{
	int rc = put_state(f, new_super, true);

	if (!rc)
		rc = xw_dev_set_size(f->dev, f->end * f->unit);
	return rc ? rc : xw_dev_flush(f->dev);
}
