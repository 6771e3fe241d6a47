/* SPDX-License-Identifier: MIT */
/*
 * Entries of cached itree leaves: searched, inserted and deleted. See itree_leaf.h for deleted
 * entries, and the head of itree_path.c for why few cache lines are touched.
 */
#include "config.h"

#include "dir/itree_leaf.h"

#include <string.h>

#include "dir/itree_internal.h"

/* ---- deleted entries ---- */

int xw_itree_squeeze_step(struct xw_itree *t, struct xw_itree_step *s)
{
	int rc;

	s->reuse = XW_ITREE_NONE;
	if (!s->dead)
		return 0;
	rc = xw_dcache_dirty(t->cache, s->buf);
	if (rc)
		return rc;
	xw_itree_squeeze(s->buf->data);
	s->buf->n_marks = 0;
	s->dead = 0;
	return 0;
}

/* ---- header and gaps ---- */

int xw_itree_count(struct xw_itree *t, struct xw_itree_step *s, int count, int used, int dead)
{
	int rc = xw_dcache_dirty_range(t->cache, s->buf, XW_ITREE_HDR_COUNT,
				       XW_ITREE_HDR_DEAD + 2 - XW_ITREE_HDR_COUNT);

	if (rc)
		return rc;
	s->h.count = (uint16_t)(s->h.count + count);
	s->h.used = (uint16_t)(s->h.used + used);
	s->dead = (uint16_t)(s->dead + dead);
	xw_itree_hdr_set(s->buf->data, s->h.count, s->h.used);
	poke16(s->buf->data + XW_ITREE_HDR_DEAD, s->dead);
	return 0;
}

int xw_itree_open_gap(struct xw_itree *t, struct xw_itree_step *s, uint32_t off, uint32_t len)
{
	const uint32_t end = XW_ITREE_HDR + s->h.used + s->dead;
	struct xw_dbuf *b = s->buf;
	int rc = xw_dcache_open_gap(t->cache, b, XW_ITREE_HDR + off, len, end);

	if (rc)
		return rc;
	for (unsigned i = b->n_marks; i && b->mark_off[i - 1] >= off; i--)
		b->mark_off[i - 1] = (uint16_t)(b->mark_off[i - 1] + len);
	return xw_itree_count(t, s, 1, (int)len, 0);
}

/* ---- search ---- */

/* Compare the entry at off with e. */
static int cmp_at(const struct xw_itree_step *s, uint32_t off, const struct xw_itree_entry *e)
{
	const uint8_t *p = xw_itree_area(s) + off;
	struct xw_itree_entry here = {.key = {.ino = peek32(p)}};

	if (here.key.ino != e->key.ino)
		return here.key.ino < e->key.ino ? -1 : 1;
	here.key.hash = peek32(p + 4);
	here.name_len = p[10];
	here.name = (const char *)p + XW_ITREE_REC_HDR;
	return xw_itree_entry_cmp(&here, e);
}

/* Number of marks before the first entry of ino: tells where to start. */
static unsigned marks_below(const struct xw_dbuf *b, xw_ino ino)
{
	unsigned n = 0;

	for (unsigned i = 0; i < b->n_marks; i++)
		n += b->mark[i] < ino;
	return n;
}

/*
 * Byte offset of the first entry whose inode is not below ino; without one, of the end.
 *
 * Leaf entries have variable length, so a search walks them one by one. Marks shorten the walk:
 * they hold the offset and inode of some entries, in ascending order, recorded during a walk at
 * least `every` bytes apart. Deletions may bring them closer; after too many insertions the
 * following marks are reset.
 */
static uint32_t first_of(struct xw_itree *t, const struct xw_itree_step *s, xw_ino ino)
{
	const uint32_t every = xw_itree_bs(t) / XW_DBUF_MARKS, end = s->h.used + s->dead;
	const uint8_t *area = xw_itree_area(s);
	struct xw_dbuf *b = s->buf;
	unsigned n = marks_below(b, ino);
	uint32_t off = n ? b->mark_off[n - 1] : 0, last = off, here;

	/* prefetch the bytes to be searched */
	xw_prefetch(area + off, XW_MIN(2 * every, end - off));
	for (; off < end && (here = peek32(area + off)) < ino; off += xw_itree_entry_len(s, off)) {
		if (off - last < every || n == XW_DBUF_MARKS ||
		    (n < b->n_marks && off - last < 2 * every))
			continue;
		b->mark_off[n] = (uint16_t)off;
		b->mark[n] = here;
		b->n_marks = (uint8_t)++n;
		last = off;
	}
	return off;
}

uint32_t xw_itree_find_in_leaf(struct xw_itree *t, struct xw_itree_step *s,
			       const struct xw_itree_entry *e, bool *equal)
{
	const uint32_t end = s->h.used + s->dead, need = xw_itree_rec_len(e->name_len);
	uint32_t off = first_of(t, s, e->key.ino), len;

	*equal = false;
	s->reuse = XW_ITREE_NONE;
	for (; off < end; off += len) {
		const bool exists = peek16(xw_itree_area(s) + off + XW_ITREE_REC_LEN);
		const int c = cmp_at(s, off, e);

		len = xw_itree_entry_len(s, off);
		*equal = !c && exists;
		if (c < 0)
			s->reuse = !exists && len == need ? off : XW_ITREE_NONE;
		else if (!exists && len == need)
			s->reuse = off;
		if (c >= 0)
			break;
	}
	return off;
}

/* ---- changes ---- */

/* Update the mark of the entry at off, whose inode has changed. */
static void renew_mark(struct xw_dbuf *b, uint32_t off, xw_ino ino)
{
	unsigned i = b->n_marks;

	while (i && b->mark_off[i - 1] > off)
		i--;
	if (i && b->mark_off[i - 1] == off)
		b->mark[i - 1] = ino;
}

int xw_itree_put_entry(struct xw_itree *t, struct xw_itree_step *s, uint32_t off,
		       const struct xw_itree_entry *e)
{
	const uint32_t need = xw_itree_rec_len(e->name_len);
	int rc;

	if (s->reuse == XW_ITREE_NONE) {
		rc = xw_itree_open_gap(t, s, off, need);
	} else {
		off = s->reuse;
		rc = xw_dcache_dirty_range(t->cache, s->buf, XW_ITREE_HDR + off, need);
		if (!rc)
			rc = xw_itree_count(t, s, 1, (int)need, -(int)need);
		if (!rc)
			renew_mark(s->buf, off, e->key.ino);
	}
	if (!rc)
		xw_itree_leaf_encode(s->buf->data, off, e);
	return rc;
}

int xw_itree_delete_entry(struct xw_itree *t, struct xw_itree_step *s, uint32_t off)
{
	const uint32_t at = XW_ITREE_HDR + off + XW_ITREE_REC_LEN;
	const int len = (int)xw_itree_entry_len(s, off);
	int rc = xw_dcache_dirty_range(t->cache, s->buf, at, sizeof(uint16_t));

	if (rc)
		return rc;
	poke16(s->buf->data + at, 0);
	return xw_itree_count(t, s, -1, -len, len);
}
