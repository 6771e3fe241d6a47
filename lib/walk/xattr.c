// SPDX-License-Identifier: MIT
/*
 * Entries of an attribute area; see the header.
 *
 * Values are stored after all entries, so a first pass over the names finds the end of the entries.
 * The bytes of each value (its size rounded up to 4) are recorded; of two overlapping values the
 * second is reported.
 */
#include "config.h"

#include <string.h>

#include "walk/xattr.h"

enum { TERMINATOR = 4 };

static void begin(struct xw_walk_xattr *it, const void *area, size_t size, size_t first,
		  size_t base, bool block)
{
	it->area = area;
	it->size = XW_MIN(size, (size_t)XW_WALK_XATTR_MAX);
	it->base = base;
	it->off = first;
	it->block = block;
	it->places_only = false;
	it->entries_end = 0;
}

/* Called before the first value is checked. */
static void find_end(struct xw_walk_xattr *it)
{
	struct xw_xattr_entry e;
	size_t next;

	memset(it->taken, 0, (it->size + 31) / 32);
	it->entries_end = it->block ? XW_XATTR_BHDR : XW_XATTR_IHDR;
	while (!xw_xattr_entry_peek(it->area, it->size, it->entries_end, &e, &next) && next)
		it->entries_end = next;
	it->entries_end += TERMINATOR;
}

void xw_walk_xattr_inode(struct xw_walk_xattr *it, const void *area, size_t size)
{
	begin(it, area, size, XW_XATTR_IHDR, XW_XATTR_IHDR, false);
}

void xw_walk_xattr_block(struct xw_walk_xattr *it, const void *block, size_t size)
{
	begin(it, block, size, XW_XATTR_BHDR, 0, true);
}

/* Record the bytes of a value; false if they overlap another value. */
static bool occupy(struct xw_walk_xattr *it, size_t from, size_t end)
{
	for (size_t i = from / 4; i < (end + 3) / 4; i++)
		if (it->taken[i / 8] >> i % 8 & 1)
			return false;
	for (size_t i = from / 4; i < (end + 3) / 4; i++)
		it->taken[i / 8] |= (uint8_t)(1u << i % 8);
	return true;
}

/* Bytes that a value occupies: with its padding, unless only places are checked. */
static size_t value_room(const struct xw_walk_xattr *it, const struct xw_xattr_entry *e)
{
	return it->places_only ? e->value_size : xw_round_up(e->value_size, 4);
}

static enum xw_walk_xattr_rule judge_value(struct xw_walk_xattr *it, struct xw_walk_xattr_item *out)
{
	const struct xw_xattr_entry *e = &out->e;
	const size_t from = it->base + e->value_offs;

	out->found = e->value_size;
	if (e->value_size > XW_XATTR_SIZE_MAX)
		return XW_XATTR_BAD_SIZE;
	out->found = e->value_offs;
	if (!e->value_inum && !e->value_size && !it->places_only && from > it->size)
		return XW_XATTR_BAD_VALUE; /* not an entry, but other data */
	if (e->value_inum || !e->value_size)
		return XW_XATTR_OK;
	if (!it->places_only && !it->entries_end)
		find_end(it);
	if (from < it->entries_end || from >= it->size)
		return XW_XATTR_BAD_VALUE;
	out->found = e->value_size;
	if (value_room(it, e) > it->size - from)
		return XW_XATTR_BAD_SIZE;
	out->found = e->value_offs;
	if (!it->places_only && !occupy(it, from, from + value_room(it, e)))
		return XW_XATTR_BAD_OVERLAP;
	out->value = it->area + from;
	return XW_XATTR_OK;
}

static enum xw_walk_xattr_rule judge(struct xw_walk_xattr *it, struct xw_walk_xattr_item *out)
{
	const struct xw_xattr_entry *e = &out->e;
	enum xw_walk_xattr_rule rule;

	/* Linux finds no attribute with index 0; stock tools accept such entries only in inodes. */
	if (!e->name_index && (it->block || !e->name_len))
		return XW_XATTR_BAD_NAME;
	rule = judge_value(it, out);
	if (rule != XW_XATTR_OK || e->value_inum || it->places_only)
		return rule;
	/* Linux stores hash 0 in inodes */
	if (!it->block && !e->hash)
		return rule;
	out->found = e->hash;
	/* the padding is included in the hash, as zeros */
	return xw_xattr_entry_hash_ok(e->hash, e->name, e->name_len, out->value, value_room(it, e))
		       ? XW_XATTR_OK
		       : XW_XATTR_BAD_HASH;
}

int xw_walk_xattr_next(struct xw_walk_xattr *it, struct xw_walk_xattr_item *out)
{
	size_t next;
	int rc;

	*out = (struct xw_walk_xattr_item){.off = it->off};
	if (!it->area)
		return 0;
	rc = xw_xattr_entry_peek(it->area, it->size, it->off, &out->e, &next);
	if (rc || !next) {
		it->area = NULL;
		out->rule = XW_XATTR_BAD_ENTRY;
		return rc ? 2 : 0;
	}
	it->off = next;
	out->rule = judge(it, out);
	return out->rule == XW_XATTR_OK ? 1 : 2;
}
