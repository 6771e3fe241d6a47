/* SPDX-License-Identifier: MIT */
/*
 * Output buffer. File data is read from the image directly into the buffer (room, made), so that
 * only the host's kernel copies it.
 */
#include "export/output.h"

#include <stdlib.h>
#include <string.h>

#define BUF_SIZE (256u << 10)

int xw_output_init(struct xw_output *o, xw_output_fn *write, void *arg)
{
	*o = (struct xw_output){.write = write, .arg = arg, .buf = malloc(BUF_SIZE)};
	return o->buf ? 0 : XW_ERR_NOMEM;
}

void xw_output_free(struct xw_output *o)
{
	free(o->buf);
	o->buf = NULL;
}

int xw_output_flush(struct xw_output *o)
{
	if (!o->failed && o->len)
		o->failed = o->write(o->arg, o->buf, o->len);
	o->len = 0;
	return o->failed;
}

int xw_output_room(struct xw_output *o, size_t want, void **p, size_t *room)
{
	if (o->len == BUF_SIZE)
		xw_output_flush(o);
	*p = o->buf + o->len;
	*room = XW_MIN(want, BUF_SIZE - o->len);
	return o->failed;
}

void xw_output_made(struct xw_output *o, size_t len)
{
	o->len += len;
	o->total += len;
}

int xw_output_put(struct xw_output *o, const void *p, size_t len)
{
	const uint8_t *from = p;

	while (len) {
		size_t room;
		void *to;
		int rc = xw_output_room(o, len, &to, &room);

		if (rc)
			return rc;
		memcpy(to, from, room);
		xw_output_made(o, room);
		from += room;
		len -= room;
	}
	return o->failed;
}

int xw_output_zeros(struct xw_output *o, uint64_t len)
{
	while (len) {
		size_t room;
		void *to;
		int rc = xw_output_room(o, (size_t)XW_MIN(len, BUF_SIZE), &to, &room);

		if (rc)
			return rc;
		memset(to, 0, room);
		xw_output_made(o, room);
		len -= room;
	}
	return o->failed;
}

int xw_output_pad(struct xw_output *o, uint64_t unit)
{
	return xw_output_zeros(o, xw_round_up(o->total, unit) - o->total);
}
