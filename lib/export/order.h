/* SPDX-License-Identifier: MIT */
/*
 * XW_ORDER_TREE: the contents of a directory directly follow it, and the entries of a directory are
 * in disk order of their data. So extractors that set the times of a directory when they leave it,
 * as GNU tar does, never return to it and change them.
 */
#ifndef XW_EXPORT_ORDER_H
#define XW_EXPORT_ORDER_H

#include "base/types.h"

struct xw_order_item {
	const char *path;
	size_t path_len;
	uint32_t depth; /* of a walk: items below a directory directly follow it and are deeper */
	xw_blk key; /* first block of its own data */
};

/*
 * Sort a window of n consecutive items of a walk: v[order[0]] is the first. more: the walk
 * continues after them, possibly in the directory of the last item or in the last item itself. 0 or
 * XW_ERR_NOMEM.
 */
int xw_order_tree(const struct xw_order_item *v, size_t n, bool more, uint32_t *order);

#endif
