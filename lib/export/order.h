/* SPDX-License-Identifier: MIT */
/*
 * XW_ORDER_TREE: the contents of a directory stay together and follow it; what is beside each other
 * in it goes by the place of the data. Extractors that set the time of a directory when they leave
 * it, as GNU tar does, set it once and for all.
 */
#ifndef XW_EXPORT_ORDER_H
#define XW_EXPORT_ORDER_H

#include "base/types.h"

struct xw_order_item {
	const char *path;
	size_t path_len;
	xw_blk key; /* of its own data */
};

/*
 * The order of n items of a walk, which are part of it: v[order[0]] is first. more: the walk goes
 * on, possibly in the directory that the last item is in, or is. 0 or XW_ERR_NOMEM.
 */
int xw_order_tree(const struct xw_order_item *v, size_t n, bool more, uint32_t *order);

#endif
