// SPDX-License-Identifier: MIT
/*
 * Gap filling. Only above `high` is it certain that a gap holds nothing: below it, blocks between
 * two metadata writes may be file data.
 */
#include "config.h"

#include "place/out.h"

static int fill_gap(struct xw_out *o, uint64_t off)
{
	if (o->end == o->high && off > o->end && off - o->end <= o->max_gap)
		return xw_batch_zeros(o->batch, o->end, off - o->end);
	return 0;
}

static void advance(struct xw_out *o, uint64_t end)
{
	o->end = end;
	if (end > o->high)
		o->high = end;
}

int xw_out_write(struct xw_out *o, uint64_t off, const void *buf, size_t len)
{
	int ret = fill_gap(o, off);

	if (!ret)
		ret = xw_batch_write(o->batch, off, buf, len);
	if (!ret)
		advance(o, off + len);
	return ret;
}

int xw_out_zeros(struct xw_out *o, uint64_t off, uint64_t len)
{
	int ret = fill_gap(o, off);

	if (!ret)
		ret = xw_batch_zeros(o->batch, off, len);
	if (!ret)
		advance(o, off + len);
	return ret;
}

int xw_out_reserve(struct xw_out *o, uint64_t off, size_t len, void **buf)
{
	int ret = fill_gap(o, off);

	if (!ret)
		ret = xw_batch_reserve(o->batch, off, len, buf);
	if (!ret)
		advance(o, off + len);
	return ret;
}
