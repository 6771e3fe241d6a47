// SPDX-License-Identifier: MIT
/*
 * Gap filling. Only a gap above `high` is certainly unused: below it, blocks between two metadata
 * writes may contain file data.
 */
#include "config.h"

#include "place/out.h"

static int fill_gap(struct xw_out *o, uint64_t off)
{
	if (o->end == o->high && off > o->end && off - o->end <= o->max_gap)
		return xw_batch_zeros(o->batch, o->end, off - o->end);
	return 0;
}

/* Record a successful write that ended at `end`. */
static int written(struct xw_out *o, uint64_t end, int rc)
{
	if (rc)
		return rc;
	o->end = end;
	if (end > o->high)
		o->high = end;
	return 0;
}

int xw_out_write(struct xw_out *o, uint64_t off, const void *buf, size_t len)
{
	int rc = fill_gap(o, off);

	return rc ? rc : written(o, off + len, xw_batch_write(o->batch, off, buf, len));
}

int xw_out_zeros(struct xw_out *o, uint64_t off, uint64_t len)
{
	int rc = fill_gap(o, off);

	return rc ? rc : written(o, off + len, xw_batch_zeros(o->batch, off, len));
}

int xw_out_reserve(struct xw_out *o, uint64_t off, size_t len, void **buf)
{
	int rc = fill_gap(o, off);

	return rc ? rc : written(o, off + len, xw_batch_reserve(o->batch, off, len, buf));
}
