// SPDX-License-Identifier: MIT
/* Inode tables: each used table is encoded directly into the write buffer, once, in inode order. */
#include "config.h"

#include "fill/builder.h"

static int encode_at(struct xw_builder *b, xw_ino ino, uint8_t *buf)
{
	const struct xw_binode *n = ino <= b->place.last_ino ? b->place.by_ino[ino] : NULL;
	struct xw_inode in;
	int rc;

	if (ino == XW_INO_RESIZE && b->resize_dind) {
		xw_resize_encode(b, &in);
		xw_inode_encode(&in, &b->place.enc.sb, buf);
	} else if (n) {
		rc = xw_itable_record(&b->place.enc, n, buf);
		if (rc)
			return rc;
	} else if (ino >= XW_INO_FIRST) {
		return 0; /* an unused record stays zero, including its checksum */
	}
	xw_inode_set_csum(buf, &b->place.enc.sb, b->place.enc.csum_seed, ino);
	return 0;
}

int xw_itable_write(struct xw_builder *b, uint32_t group)
{
	uint32_t isize = b->geo.inode_size, bs = b->geo.block_size, per_block = bs / isize;
	uint64_t first = (uint64_t)group * b->geo.inodes_per_group + 1;
	struct xw_group_place at;
	uint64_t used, blocks;

	xw_geo_group(&b->geo, group, &at);
	used = b->place.last_ino >= first
		       ? XW_MIN((uint64_t)b->place.last_ino - first + 1, b->geo.inodes_per_group)
		       : 0;
	blocks = xw_div_up(used, per_block);
	for (uint64_t k = 0; k < blocks; k++) {
		void *buf;
		int rc = xw_out_reserve(b->place.out, (at.inode_table + k) * bs, bs, &buf);

		for (uint32_t i = 0; i < per_block && !rc; i++) {
			uint64_t ino = first + k * per_block + i;

			if (ino <= b->place.last_ino)
				rc = encode_at(b, (xw_ino)ino, (uint8_t *)buf + i * isize);
		}
		if (rc)
			return rc;
	}
	/*
	 * The unused rest of a table reads as zeros. In a new file the rest is a hole already,
	 * unless writing zeros is cheaper than a seek.
	 */
	if (xw_build_on_zeros(b) && b->geo.kind != XW_GEO_TAIL)
		return 0;
	if (blocks == b->geo.itable_blocks ||
	    (b->geo.kind != XW_GEO_TAIL && b->params->lazy_itable_init == 1))
		return 0;
	return xw_out_zeros(b->place.out, (at.inode_table + blocks) * bs,
			    (b->geo.itable_blocks - blocks) * bs);
}
