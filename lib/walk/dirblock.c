/* SPDX-License-Identifier: MIT */
/*
 * Directory entries of one area.
 *
 * Invariants:
 * 1. Each step advances `off` by at least 4: the walk terminates.
 * 2. Every item lies inside the area: name and name_len can be used without a check.
 *
 * Resynchronization: at the first damaged rec_len, one pass from the end to the beginning records
 * each offset from which plausible entries reach the end of the area exactly.
 */
#include "config.h"

#include "walk/dirblock.h"

#include <string.h>

#include "base/err.h"

enum { ENTRY_MIN = 12 };

bool xw_dirblock_is_node(const void *block, uint32_t block_size)
{
	struct xw_dirent e;

	return !xw_dirent_decode(block, block_size, 0, &e) && !e.ino && e.rec_len == block_size;
}

static bool name_is_valid(const struct xw_dirblock *it, const char *name, uint32_t len)
{
	return it->area.any_names || (!memchr(name, '\0', len) && !memchr(name, '/', len));
}

/* Is this a plausible entry, except for its rec_len, with a name inside the area? */
static bool is_plausible(const struct xw_dirblock *it, uint32_t off, const struct xw_dirent *e)
{
	if (e->ino > it->area.inodes_count || (it->area.filetype && e->ftype > XW_FT_LNK))
		return false;
	if (!e->ino)
		return true;
	return e->name_len && XW_DIRENT_HDR + 0u + e->name_len <= it->end - off &&
	       name_is_valid(it, e->name, e->name_len);
}

static bool tiles_from(const struct xw_dirblock *it, uint32_t off)
{
	return off == it->end || (it->tiles[off / 32] >> off / 4 % 8 & 1);
}

static void map_tiles(struct xw_dirblock *it)
{
	struct xw_dirent e;

	it->mapped = true;
	memset(it->tiles, 0, sizeof(it->tiles));
	for (uint32_t off = it->end & ~3u; off >= 4;) {
		off -= 4;
		if (!xw_dirent_decode(it->area.data, it->end, off, &e) &&
		    is_plausible(it, off, &e) && tiles_from(it, off + e.rec_len))
			it->tiles[off / 32] |= (uint8_t)(1u << off / 4 % 8);
	}
}

/* The first offset at or after `from` where the walk can continue; the end of the area if none. */
static uint32_t resynchronize(struct xw_dirblock *it, uint32_t from)
{
	struct xw_dirent e;

	if (!it->mapped)
		map_tiles(it);
	for (uint32_t off = (from + 3) & ~3u; off < it->end; off += 4)
		if (tiles_from(it, off))
			return off;
	/* If the end is damaged as well, a single entry in use is sufficient. */
	for (uint32_t off = (from + 3) & ~3u; off < it->end; off += 4)
		if (!xw_dirent_decode(it->area.data, it->end, off, &e) && e.ino &&
		    is_plausible(it, off, &e))
			return off;
	return it->end;
}

void xw_dirblock_begin(struct xw_dirblock *it, const struct xw_dirblock_area *area)
{
	it->area = *area;
	it->area.size = XW_MIN(area->size, XW_DIRBLOCK_MAX);
	area = &it->area;
	it->off = it->slack = it->slack_end = 0;
	it->end = area->size;
	it->tail_done = it->csum_done = it->salvaging = it->mapped = false;
	if (!area->csum || area->size < XW_DIR_TAIL)
		it->tail_done = it->csum_done = true;
	else if (xw_dir_has_tail(area->data, area->size))
		it->end = area->size - XW_DIR_TAIL, it->tail_done = true;
	else
		it->csum_done = true;
}

static int finding(struct xw_dirblock_item *out, enum xw_dirblock_rule rule, uint64_t found,
		   uint64_t wanted)
{
	out->rule = rule;
	out->found = found;
	out->wanted = wanted;
	return 2;
}

/* Check tail and checksum. 0: no finding. */
static int check_tail(struct xw_dirblock *it, struct xw_dirblock_item *out)
{
	if (!it->tail_done) {
		it->tail_done = true;
		out->off = it->area.size;
		return finding(out, XW_DIRBLOCK_NO_TAIL, 0, 0);
	}
	it->csum_done = true;
	out->off = it->end;
	if (!xw_dir_block_verify(it->area.data, it->area.size, it->area.seed))
		return 0;
	return finding(out, XW_DIRBLOCK_CSUM, 0, 0);
}

/* The next removed entry in the slack of the last entry. 0: none. */
static int next_removed(struct xw_dirblock *it, struct xw_dirblock_item *out)
{
	while (it->slack + ENTRY_MIN <= it->slack_end) {
		const uint32_t off = it->slack;

		/* Linux clears number and name of removed entries, but not the length. */
		if (xw_dirent_decode(it->area.data, it->slack_end, off, &out->e) ||
		    out->e.ino > it->area.inodes_count || out->e.ftype > XW_FT_LNK ||
		    memchr(out->e.name, '\0', out->e.name_len)) {
			out->e = (struct xw_dirent){0};
			it->slack += 4;
			continue;
		}
		it->slack += xw_dirent_size(out->e.name_len);
		out->off = off;
		out->removed = true;
		return 1;
	}
	it->slack = it->slack_end;
	return 0;
}

/* Report an invalid rec_len; the entry is yielded with it if it is otherwise plausible. */
static int damaged_entry(struct xw_dirblock *it, struct xw_dirblock_item *out)
{
	const uint32_t off = it->off, rec_len = out->e.rec_len;
	uint32_t next = off + 4;

	out->salvaged = true;
	out->keep = it->end - off >= ENTRY_MIN && out->e.ino && is_plausible(it, off, &out->e);
	if (out->keep)
		next = off + xw_dirent_size(out->e.name_len);
	else
		out->e = (struct xw_dirent){0};
	it->off = next < it->end ? resynchronize(it, next) : it->end;
	it->salvaging = true;
	return finding(out, XW_DIRBLOCK_REC_LEN, rec_len, it->off - off);
}

/* If name_len exceeds rec_len, but undamaged entries follow at its end, shorten the name. */
static bool shorten_name(struct xw_dirblock *it, struct xw_dirent *e, uint32_t off)
{
	const uint32_t left = it->end - off;
	uint32_t len;

	if (left < ENTRY_MIN || e->rec_len % 4 || e->rec_len < ENTRY_MIN || e->rec_len > left)
		return false;
	if (!it->mapped)
		map_tiles(it);
	if (!tiles_from(it, off + e->rec_len))
		return false;
	len = e->rec_len - XW_DIRENT_HDR;
	e->name_len = (uint8_t)(it->area.any_names ? len : strnlen(e->name, len));
	return true;
}

static int broken(struct xw_dirblock *it, struct xw_dirblock_item *out)
{
	const uint8_t name_len = out->e.name_len;

	if (!shorten_name(it, &out->e, it->off))
		return damaged_entry(it, out);
	out->keep = out->e.ino && is_plausible(it, it->off, &out->e);
	it->off += out->e.rec_len;
	return finding(out, XW_DIRBLOCK_NAME_LEN, name_len, out->e.rec_len - XW_DIRENT_HDR);
}

int xw_dirblock_next(struct xw_dirblock *it, struct xw_dirblock_item *out)
{
	struct xw_dirent *e = &out->e;
	int rc = 0;

	*out = (struct xw_dirblock_item){.salvaged = it->salvaging, .off = it->off};
	while (!rc && !(it->tail_done && it->csum_done))
		rc = check_tail(it, out);
	if (!rc && it->slack < it->slack_end)
		rc = next_removed(it, out);
	if (rc)
		return rc;
	out->off = it->off;
	if (it->off >= it->end)
		return 0;
	rc = xw_dirent_decode(it->area.data, it->end, it->off, e);
	if (!it->area.filetype && e->name)
		e->ftype = XW_FT_UNKNOWN;
	if (rc)
		return broken(it, out);
	it->off += e->rec_len;
	if (it->area.removed) {
		it->slack = out->off + (e->ino ? xw_dirent_size(e->name_len) : ENTRY_MIN);
		it->slack_end = it->off;
	}
	out->unused = !e->ino;
	if (out->unused)
		return 1;
	if (e->ino > it->area.inodes_count)
		return finding(out, XW_DIRBLOCK_INO, e->ino, it->area.inodes_count);
	if (!e->name_len)
		return finding(out, XW_DIRBLOCK_NAME_EMPTY, 0, 0);
	if (!name_is_valid(it, e->name, e->name_len))
		return finding(out, XW_DIRBLOCK_NAME_BYTES, 0, 0);
	return 1;
}
