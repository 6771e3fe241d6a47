// SPDX-License-Identifier: MIT
/*
 * Paths of inodes for messages. They are found by searching, since the model has no references from
 * an inode to its names.
 */
#include "config.h"

#include <string.h>

#include "encode/encode.h"

static const struct xw_blink *name_in(const struct xw_binode *dir, const struct xw_binode *n)
{
	const struct xw_blink *l = dir->dir->first;

	while (l && l->node != n)
		l = l->next;
	return l;
}

/* Find a name of n: of a directory in its parent, of another inode in all directories. */
static const struct xw_blink *find_name(const struct xw_encoder *enc, const struct xw_binode *n)
{
	if (xw_binode_is(n, XW_S_IFDIR))
		return n->dir->parent == n ? NULL : name_in(n->dir->parent, n);
	for (const struct xw_binode *d = enc->first; d; d = d->next) {
		const struct xw_blink *l = NULL;

		if (xw_binode_is(d, XW_S_IFDIR) && !(d->flags & XW_BN_DEAD))
			l = name_in(d, n);
		if (l)
			return l;
	}
	return NULL;
}

const char *xw_encode_origin(const struct xw_encoder *enc, const struct xw_binode *n)
{
	const struct xw_blink *l = enc->sources ? find_name(enc, n) : NULL;

	return l && l->layer ? enc->sources[l->layer - 1] : enc->name;
}

const char *xw_encode_path(const struct xw_encoder *enc, const struct xw_binode *n, char *buf,
			   size_t size)
{
	char *p = buf + size - 1;
	const struct xw_blink *l;

	*p = 0;
	while ((l = find_name(enc, n))) {
		if ((size_t)(p - buf) < l->len + 5u) {
			p -= 4;
			memcpy(p, "/...", 4); /* the end of a long path is the most useful part */
			return p + 1;
		}
		p -= l->len;
		memcpy(p, l->name, l->len);
		*--p = '/';
		n = l->dir;
	}
	if (*p != '/')
		*--p = '/';
	return p;
}
