/* SPDX-License-Identifier: MIT */
/* A feed that reads memory, which must outlive it, in pieces of at most `chunk` bytes (0: any). */
#ifndef XW_TESTS_MEMFEED_H
#define XW_TESTS_MEMFEED_H

#include <stdlib.h>
#include <string.h>

#include "import/feed.h"

struct mem_feed {
	struct xw_feed f;
	const unsigned char *p;
	size_t left, chunk;
};

static ssize_t mem_feed_read(struct xw_feed *f, void *buf, size_t len)
{
	struct mem_feed *m = (struct mem_feed *)f;

	len = XW_MIN(len, XW_MIN(m->left, m->chunk));
	if (len)
		memcpy(buf, m->p, len);
	m->p += len;
	m->left -= len;
	xw_feed_count(f, len);
	return (ssize_t)len;
}

static inline struct xw_feed *mem_feed(const void *buf, size_t len, size_t chunk)
{
	static const struct xw_feed_ops ops = {.read = mem_feed_read, .close = xw_feed_free};
	struct mem_feed *m = calloc(1, sizeof(*m));

	if (!m)
		abort();
	xw_feed_init(&m->f, &ops, (struct xw_feed_tick){0});
	m->p = buf;
	m->left = len;
	m->chunk = chunk ? chunk : SIZE_MAX;
	return &m->f;
}

#endif
