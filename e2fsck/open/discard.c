// SPDX-License-Identifier: MIT
/*
 * -E discard: once the repaired filesystem is committed, the host may discard its free blocks.
 *
 * The claims of the last round say what is free; nothing differs from them, or a finding would be
 * left. Parts of inode tables that were never used stay: a later repair reads them.
 */
#include "config.h"

#include "open/open.h"

/* The next free range, in bytes; false: there is none. */
static bool next_free(void *arg, uint64_t *off, uint64_t *len)
{
	struct fsck_unused *u = arg;
	uint64_t used = u->limit, n = 0, end;

	while (u->at < u->limit) {
		const uint64_t from = u->at;

		if (!xw_blockset_next_in(u->claims, from, u->limit, &used, &n)) {
			used = u->limit;
			n = 0;
		}
		u->at = used + n;
		if (used == from)
			continue;
		*off = u->start + from * u->cluster_bytes;
		end = XW_MIN(u->start + used * u->cluster_bytes, u->end);
		*len = end - *off;
		return true;
	}
	return false;
}

void fsck_unused_take(struct fsck *f)
{
	const struct xw_super *sb = &f->img->sb;
	const uint32_t bs = f->img->block_size;
	const unsigned bits = xw_image_cluster_bits(f->img);
	const uint64_t blocks = sb->blocks_count - sb->first_data_block;

	if (!f->opts.discard || f->opts.mode == FSCK_NO || f->opts.undo_file || f->stop ||
	    f->findings.left || !f->owners.claims)
		return;
	f->unused = (struct fsck_unused){
		.claims = f->owners.claims,
		.limit = ((blocks - 1) >> bits) + 1,
		.start = (uint64_t)sb->first_data_block * bs,
		.end = sb->blocks_count * bs,
		.cluster_bytes = (uint64_t)bs << bits,
	};
	f->owners.claims = NULL;
}

void fsck_unused_discard(struct fsck *f)
{
	const int rc = f->unused.claims ? xw_edit_discard(f->edit, next_free, &f->unused) : 0;

	if (rc)
		xw_log(&f->diag, XW_LOG_WARN, "%s",
		       f->diag.code ? f->diag.text : "the host cannot discard free blocks");
	xw_diag_clear(&f->diag);
}
