// SPDX-License-Identifier: MIT
/* Writes the journal, the MMP block and the orphan file. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/jsb.h"
#include "disk/mmp.h"
#include "disk/orphan.h"
#include "place/place.h"

/* Zero the log: an old log on a reused device must not look like part of this journal. */
static int zero_log(struct xw_placer *p, const struct xw_binode *n)
{
	const struct xw_extent *e = xw_binode_extents(n);
	uint64_t bs = p->enc.block_size;
	int rc = 0;

	for (uint32_t i = 0; i < n->n_ext && !rc; i++) {
		uint32_t skip = i == 0; /* keep the journal superblock */

		rc = xw_out_zeros(p->out, (e[i].pblk + skip) * bs, (e[i].len - skip) * bs);
	}
	return rc;
}

int xw_journal_write(struct xw_placer *p, const struct xw_binode *n, uint32_t fast_blocks,
		     bool zero)
{
	uint32_t bs = p->enc.block_size;
	auto_free uint8_t *buf = calloc(1, bs);
	struct xw_jsb j = {
		.blocktype = XW_JBD2_SUPER_V2,
		.blocksize = bs,
		.maxlen = (uint32_t)(n->size / bs),
		.first = 1,
		.sequence = 1,
		.nr_users = 1,
		.num_fc_blks = fast_blocks,
	};
	int rc;

	if (!buf)
		return xw_fail_nomem(p->enc.diag, "journal superblock");
	memcpy(j.uuid, p->enc.sb.uuid, sizeof(j.uuid));
	xw_jsb_encode(&j, buf);
	rc = xw_place_write(p, xw_binode_extents(n)[0].pblk, buf, bs);
	return rc || !zero ? rc : zero_log(p, n);
}

int xw_mmp_write(struct xw_placer *p, xw_blk blk, uint16_t interval)
{
	/* No node and device name: a build does not depend on the host it runs on. */
	struct xw_mmp m = {
		.seq = XW_MMP_SEQ_CLEAN,
		.time = p->enc.now,
		.check_interval = XW_MAX(interval, (uint16_t)XW_MMP_INTERVAL),
	};
	void *buf;
	int rc = xw_out_reserve(p->out, blk * p->enc.block_size, p->enc.block_size, &buf);

	if (!rc)
		xw_mmp_encode(&m, p->enc.dirfmt.csum, p->enc.csum_seed, buf);
	return rc;
}

int xw_orphan_write(struct xw_placer *p, const struct xw_binode *n)
{
	const struct xw_extent *e = xw_binode_extents(n);
	uint32_t bs = p->enc.block_size, seed = xw_encode_seed(&p->enc, n);

	for (uint32_t i = 0; i < n->n_ext; i++) {
		for (xw_blk blk = e[i].pblk; blk < e[i].pblk + e[i].len; blk++) {
			void *buf;
			int rc = xw_out_reserve(p->out, blk * bs, bs, &buf);

			if (rc)
				return rc;
			xw_orphan_seal(buf, bs, p->enc.dirfmt.csum, seed, blk);
		}
	}
	return 0;
}
