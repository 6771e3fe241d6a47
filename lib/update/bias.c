// SPDX-License-Identifier: MIT
/*
 * The difference between a group's descriptor and its bitmaps, which an unchecked update preserves.
 */
#include "config.h"

#include "update/update_internal.h"

struct xw_update_bias *xw_update_bias_find(const struct xw_update *u, uint32_t group)
{
	for (size_t i = 0; i < u->bias.groups.n; i++)
		if (u->bias.groups.v[i].group == group)
			return &u->bias.groups.v[i];
	return NULL;
}

struct xw_update_bias xw_update_bias_of(const struct xw_update *u, uint32_t group)
{
	const struct xw_update_bias *b = xw_update_bias_find(u, group);

	return b ? *b : (struct xw_update_bias){0};
}

int64_t xw_update_bias_blocks(const struct xw_update *u)
{
	int64_t sum = 0;

	for (size_t i = 0; i < u->bias.groups.n; i++)
		sum += u->bias.groups.v[i].blocks;
	return sum * (INT64_C(1) << u->place.enc.cluster_bits);
}

struct xw_update_bias *xw_update_bias_entry(struct xw_update *u, uint32_t group)
{
	struct xw_update_bias *b = xw_update_bias_find(u, group);

	if (b)
		return b;
	if (xw_vec_push(&u->bias.groups, ((struct xw_update_bias){.group = group}))) {
		xw_fail_nomem(u->diag, "group counts");
		return NULL;
	}
	return &u->bias.groups.v[u->bias.groups.n - 1];
}
