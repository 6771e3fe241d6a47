/* SPDX-License-Identifier: MIT */
/* Contents that an inode has in blocks. */
#include <inttypes.h>
#include <string.h>

#include "base/auto.h"
#include "read/file.h"

int xw_mapped_pread(struct xw_image *img, xw_ino ino, const struct xw_inode *inode, uint64_t off,
		    uint8_t *buf, size_t len)
{
	const uint32_t bs = img->block_size;
	const uint64_t end = off + len;
	auto_end(xw_map_end) struct xw_map_iter it;
	struct xw_map_run run;
	int rc = xw_map_begin(img, ino, inode, off / bs, &it);

	if (rc)
		return rc;
	memset(buf, 0, len);
	while ((rc = xw_map_next(&it, &run)) == 1) {
		uint64_t first = XW_MAX(run.lblk * bs, off);
		uint64_t last = XW_MIN((run.lblk + run.len) * bs, end);

		if (first >= end)
			return 0;
		if (run.unwritten)
			continue;
		rc = xw_dev_pread(img->dev, buf + (first - off), last - first,
				  run.pblk * bs + (first - run.lblk * bs));
		if (rc)
			return xw_fail(img->diag, rc, "%s: inode %" PRIu32 ": cannot read its data",
				       img->dev->name, ino);
	}
	return rc;
}
