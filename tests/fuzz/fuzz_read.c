/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target over lib/read: everything in an edited image (edits.h) is walked, with and without
 * checking checksums. Properties, besides no crash: the walk ends, and what it saw fits the size of
 * the image.
 */
#include "edits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk_with(struct fixture *fx, unsigned flags)
{
	struct walk_stats st;

	xw_diag_clear(&fx->diag);
	if (xw_image_open(fx->dev, flags, &fx->diag, &fx->img)) {
		FIX_MUST(*fx->diag.text);
		fx->img = NULL;
		return;
	}
	walk_image(fx->img, &st);
	FIX_MUST(st.errors <= st.silent || fx->diag.code);
	FIX_MUST(st.blocks <= st.inodes * fx->img->sb.blocks_count);
	xw_image_close(fx->img);
	fx->img = NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fixture fx;
	struct edit edits[EDITS_MAX];
	unsigned n = apply_edits(&fx, data, size, edits);

	walk_with(&fx, 0);
	walk_with(&fx, XW_IMAGE_NOCSUM | XW_IMAGE_ANY_FEATURES);
	undo_edits(&fx, edits, n);
	return 0;
}
