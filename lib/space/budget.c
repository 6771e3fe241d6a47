/* SPDX-License-Identifier: MIT */
/* How many groups without a bitmap in memory a request may read: see priv.h. */
#include "config.h"

#include "base/types.h"
#include "space/priv.h"

/*
 * Number of unread groups that the request may still read. With the known groups alone it needs
 * `runs` runs; each run that longer ones would save is worth XW_UNREAD_FIRST bitmaps.
 */
uint64_t xw_reads_left(const struct xw_query *q)
{
	const uint32_t known = xw_index_max(q->s, XW_BY_KNOWN, NULL);
	const uint64_t runs = known ? xw_div_up(q->want, known) : 1;
	const uint64_t worth = runs > 2 ? XW_UNREAD_FIRST * (runs - 2) : 0;

	return q->s->budget + (worth > q->dug ? XW_MIN(worth - q->dug, q->s->deep) : 0);
}

static bool reads_all(const struct xw_query *q)
{
	return q->whole || !q->s->top;
}

bool xw_on_budget(const struct xw_query *q)
{
	return !reads_all(q) && q->s->unread > q->s->budget;
}

bool xw_may_read(struct xw_query *q)
{
	struct xw_space *s = q->s;

	if (reads_all(q))
		return true;
	if (!xw_reads_left(q)) /* only if the groups already read have no free block */
		return !xw_index_max(s, XW_BY_KNOWN, NULL);
	if (s->budget) {
		s->budget--;
	} else {
		s->deep--;
		q->dug++;
	}
	return true;
}

void xw_allow_reads(struct xw_space *s)
{
	if (s->budget < XW_UNREAD_FIRST)
		s->budget = XW_MIN(s->budget + XW_UNREAD_MORE, XW_UNREAD_FIRST);
	s->deep = XW_MIN(s->deep + XW_UNREAD_MORE, XW_UNREAD_MAX);
}
