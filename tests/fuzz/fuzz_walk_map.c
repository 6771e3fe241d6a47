/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target over lib/walk: the map of every inode of an edited image (edits.h). Properties,
 * besides no crash: a walk ends, its runs ascend and lie inside the filesystem, and one without
 * findings has as many blocks as the strict iterator of lib/read sees.
 */
#include "read/map.h"
#include "walk/map.h"

#include "edits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t strict_blocks(struct fixture *fx, xw_ino ino, const struct xw_inode *in)
{
	struct xw_map_iter it;
	struct xw_map_run run;
	uint64_t n = 0;

	FIX_MUST(!xw_map_begin(fx->img, ino, in, 0, &it));
	while (xw_map_next(&it, &run) == 1)
		n += run.len;
	xw_map_end(&it);
	return n;
}

static void look_at(struct fixture *fx, struct xw_walk_map *w, xw_ino ino)
{
	struct xw_walk_map_item item;
	struct xw_inode in;
	uint64_t next = 0, n = 0;
	unsigned findings = 0;
	bool at_super = false; /* the strict iterator refuses the first block, as all metadata */
	int more;

	if (xw_image_inode(fx->img, ino, &in, NULL) || !xw_inode_has_map(&in))
		return;
	FIX_MUST(!xw_walk_map_begin(w, ino, &in, -1));
	while ((more = xw_walk_map_next(w, &item)) != 0) {
		FIX_MUST(more > 0);
		findings += more == 2;
		if (more == 2 || item.kind != XW_WALK_RUN)
			continue;
		FIX_MUST(item.lblk >= next && item.len);
		at_super |= item.pblk == fx->img->sb.first_data_block;
		FIX_MUST(item.pblk && item.pblk >= fx->img->sb.first_data_block &&
			 item.len <= fx->img->sb.blocks_count - item.pblk);
		next = item.lblk + item.len;
		n += item.len;
	}
	FIX_MUST(n <= fx->img->sb.blocks_count);
	if (!findings && !at_super)
		FIX_MUST(n == strict_blocks(fx, ino, &in));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fixture fx;
	struct edit edits[EDITS_MAX];
	struct xw_walk_map w;
	unsigned n = apply_edits(&fx, data, size, edits);

	xw_diag_clear(&fx.diag);
	if (!xw_image_open(fx.dev, XW_IMAGE_NOCSUM | XW_IMAGE_ANY_FEATURES, &fx.diag, &fx.img)) {
		const xw_ino end = XW_MIN(fx.img->sb.inodes_count, INODES);

		xw_walk_map_init(&w, fx.img->dev, &fx.img->sb);
		for (xw_ino ino = 1; ino <= end; ino++)
			look_at(&fx, &w, ino);
		xw_walk_map_free(&w);
		xw_image_close(fx.img);
	}
	fx.img = NULL;
	undo_edits(&fx, edits, n);
	return 0;
}
