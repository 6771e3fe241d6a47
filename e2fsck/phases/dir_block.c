// SPDX-License-Identifier: MIT
/*
 * Checks the entries of one directory block, or of one part of an inline directory.
 *
 * Small repairs (clearing an entry, a file type, the inode number in ".") are made in place. If the
 * chain of entries is broken, or the checksum tail is missing, the area is laid out anew with the
 * entries found in it. If these do not fit, or names occur twice, the whole directory is rebuilt
 * later.
 */
#include "config.h"

#include <string.h>

#include "dir/leaf.h"
#include "phases/dirs.h"

enum { DOTS_SIZE = 24, DOT_SIZE = 12 };

/* ---- "." and ".." ---- */

static bool is_named(const struct xw_dirblock_item *item, const char *name, uint8_t len)
{
	return item->e.name_len == len && !memcmp(item->e.name, name, len);
}

/* Check the terminating NUL and the file type of "." or "..". */
static void check_dot_name(struct fsck_dirscan *s, const struct fsck_area *a,
			   struct xw_dirblock_item *item)
{
	uint8_t *end = a->data + item->off + XW_DIRENT_HDR + item->e.name_len;

	if (*end && DIR_FOUND(s, DIR_DOT_NUL, .name = item->e.name, .name_len = item->e.name_len)) {
		*end = 0;
		s->dirty = true;
	}
	fsck_dir_dot_type(s, a, item);
}

/* Check the first entry. True: it was accepted as ".". */
static bool check_dot(struct fsck_dirscan *s, const struct fsck_area *a,
		      struct xw_dirblock_item *item)
{
	if (item->off || !is_named(item, ".", 1)) {
		s->relayout |= DIR_FOUND(s, DIR_NO_DOT);
		return false;
	}
	if (item->e.ino != s->d->ino && DIR_FOUND(s, DIR_DOT_INO, .ino = item->e.ino)) {
		item->e.ino = s->d->ino;
		xw_dirent_encode(a->data, a->size, 0, &item->e);
		s->dirty = true;
	}
	if (item->e.rec_len != DOT_SIZE)
		s->relayout |= DIR_FOUND(s, DIR_DOT_LEN, .num = item->e.rec_len);
	check_dot_name(s, a, item);
	return true;
}

/* Check the second entry. Its inode number is checked when all parents are known (tree.c). */
static bool check_dotdot(struct fsck_dirscan *s, const struct fsck_area *a,
			 struct xw_dirblock_item *item)
{
	if (!is_named(item, "..", 2)) {
		s->relayout |= DIR_FOUND(s, DIR_NO_DOTDOT);
		return false;
	}
	s->d->dotdot = item->e.ino;
	check_dot_name(s, a, item);
	return true;
}

/* Check the entry as "." or "..", if these are expected here. True: it is one of them. */
static bool check_dots(struct fsck_dirscan *s, const struct fsck_area *a,
		       struct xw_dirblock_item *item)
{
	if (!a->has_dots || s->dotdot)
		return false;
	if (!s->dot) {
		s->dot = true;
		if (check_dot(s, a, item))
			return true;
		if (!is_named(item, "..", 2))
			return false;
	}
	s->dotdot = true;
	return check_dotdot(s, a, item);
}

/* ---- duplicate names ---- */

uint32_t fsck_dup_slots(uint32_t size)
{
	uint32_t n = 64;

	while (n < size / DOT_SIZE * 2)
		n *= 2;
	return n;
}

/*
 * The slot of a kept entry with the same name, or an unused slot. The hash is a secret one: names
 * of one dx hash can be crafted.
 */
static struct fsck_dup_slot *dup_slot(const struct fsck_dirscan *s, const struct xw_dirent *e)
{
	const uint32_t hash = (uint32_t)xw_hash_secret(&s->dup_key, 0, e->name, e->name_len);

	for (uint32_t i = hash & s->dup_mask;; i = (i + 1) & s->dup_mask) {
		struct fsck_dup_slot *slot = &s->dups[i];
		const struct xw_dirent *other;

		if (!slot->entry) {
			slot->hash = hash;
			return slot;
		}
		other = &s->kept[slot->entry - 1];
		if (slot->hash == hash && other->name_len == e->name_len &&
		    !memcmp(other->name, e->name, e->name_len))
			return slot;
	}
}

static bool report_duplicate(const struct fsck_dirscan *s, const struct xw_dirent *e,
			     const struct fsck_dup_slot *slot)
{
	return DIR_FOUND(s, DIR_TWICE, .ino = e->ino, .lblk = s->lblk,
			 .num = s->kept[slot->entry - 1].ino, .name = e->name,
			 .name_len = e->name_len);
}

/*
 * A duplicate encrypted name cannot be made unique with a suffix: the second entry is cleared, and
 * its inode is reconnected to lost+found.
 */
static bool is_cleared_twice(const struct fsck_dirscan *s, const struct xw_dirent *e)
{
	const struct fsck_dup_slot *slot;

	if (!s->encrypted)
		return false;
	slot = dup_slot(s, e);
	return slot->entry && report_duplicate(s, e, slot);
}

/* ---- entries ---- */

static void keep_entry(struct fsck_dirscan *s, const struct xw_dirent *e)
{
	struct fsck_dup_slot *slot;
	uint32_t hash;

	s->kept[s->n_kept++] = *e;
	if (s->tree)
		xw_itree_sum_add(&s->tree->entries, e->ino, e->ftype, e->name, e->name_len);
	if (s->hashed && fsck_dir_hash(s, e, &hash)) {
		s->leaf.min = XW_MIN(s->leaf.min, hash);
		s->leaf.max = XW_MAX(s->leaf.max, hash);
	}
	slot = dup_slot(s, e);
	if (!slot->entry)
		slot->entry = (uint32_t)s->n_kept;
	else if (!s->encrypted && report_duplicate(s, e, slot))
		s->d->rebuild = true;
}

/* Report damage of the layout of the area. */
static void check_layout(struct fsck_dirscan *s, const struct fsck_area *a,
			 const struct xw_dirblock_item *item)
{
	switch (item->rule) {
	case XW_DIRBLOCK_CSUM:
		s->dirty |= DIR_FOUND(s, DIR_CSUM, .lblk = a->lblk);
		break;
	case XW_DIRBLOCK_NO_TAIL:
		s->relayout |= DIR_FOUND(s, DIR_NO_TAIL, .lblk = a->lblk);
		break;
	case XW_DIRBLOCK_REC_LEN:
		s->relayout |= DIR_FOUND(s, DIR_REC_LEN, .lblk = a->lblk, .num = item->off,
					 .num2 = item->found);
		break;
	case XW_DIRBLOCK_NAME_LEN:
		s->relayout |= DIR_FOUND(s, DIR_NAME_LEN, .lblk = a->lblk, .num = item->off,
					 .num2 = item->found);
		break;
	default:
		break;
	}
}

static void check_item(struct fsck_dirscan *s, const struct fsck_area *a,
		       struct xw_dirblock_item *item)
{
	const bool has_entry =
		item->rule == XW_DIRBLOCK_OK || item->keep ||
		(item->rule >= XW_DIRBLOCK_INO && item->rule <= XW_DIRBLOCK_NAME_BYTES);

	check_layout(s, a, item);
	if (!has_entry || check_dots(s, a, item) || item->unused)
		return;
	/* In a block without a valid "." even the first entry is an ordinary one. */
	if (is_cleared_twice(s, &item->e) || !fsck_dir_entry(s, a, item)) {
		item->e.ino = 0;
		xw_dirent_encode(a->data, a->size, item->off, &item->e);
		s->dirty = true;
		return;
	}
	keep_entry(s, &item->e);
}

/* ---- new layout ---- */

static void put_dots(struct fsck_dirscan *s, const struct fsck_area *a, bool last, uint32_t room)
{
	const uint8_t type = s->filetype ? XW_FT_DIR : XW_FT_UNKNOWN;
	const struct xw_dirent dot = {
		.ino = s->d->ino, .rec_len = DOT_SIZE, .name_len = 1, .ftype = type, .name = "."};
	const struct xw_dirent dotdot = {.ino = s->d->dotdot ? s->d->dotdot : XW_INO_ROOT,
					 .rec_len = last ? room - DOT_SIZE : DOT_SIZE,
					 .name_len = 2,
					 .ftype = type,
					 .name = ".."};

	memset(a->data, 0, DOTS_SIZE);
	xw_dirent_encode(a->data, a->size, 0, &dot);
	xw_dirent_encode(a->data, a->size, DOT_SIZE, &dotdot);
	s->d->dotdot = dotdot.ino;
}

static void lay_out(struct fsck_dirscan *s, const struct fsck_area *a)
{
	const uint32_t room = a->size - (a->tail ? XW_DIR_TAIL : 0);
	const uint32_t used = a->has_dots ? DOTS_SIZE : 0;
	uint64_t need = used;

	for (size_t i = 0; i < s->n_kept; i++)
		need += xw_dirent_size(s->kept[i].name_len);
	/* Encrypted and casefolded entries end with a hash, which a new layout would lose. */
	if (need > room || (s->encrypted && s->folded)) {
		s->d->rebuild = true;
		return;
	}
	memcpy(s->copy, a->data, a->size);
	for (size_t i = 0; i < s->n_kept; i++)
		s->kept[i].name = (const char *)s->copy + (s->kept[i].name - (const char *)a->data);
	memset(a->data, 0, a->size);
	xw_leaf_fill(a->data, room, used, s->kept, s->n_kept);
	if (a->has_dots)
		put_dots(s, a, !s->n_kept, room);
	if (a->tail)
		xw_dir_tail_init(a->data, a->size);
	s->dirty = true;
}

void fsck_dir_area(struct fsck_dirscan *s, const struct fsck_area *a)
{
	const struct xw_dirblock_area area = fsck_dir_area_of(s, a);
	struct xw_dirblock_item item;

	s->lblk = a->lblk;
	s->dirty = s->relayout = s->dot = s->dotdot = false;
	s->n_kept = 0;
	s->leaf = (struct fsck_leaf){UINT32_MAX, 0};
	s->dup_mask = fsck_dup_slots(a->size) - 1;
	memset(s->dups, 0, (s->dup_mask + 1u) * sizeof(*s->dups));
	xw_dirblock_begin(&s->walk, &area);
	while (xw_dirblock_next(&s->walk, &item))
		check_item(s, a, &item);
	for (unsigned i = 0; i < 2 && a->has_dots && !s->dotdot; i++) {
		item = (struct xw_dirblock_item){.off = a->size, .e.name = ""};
		check_dots(s, a, &item);
	}
	if (s->relayout)
		lay_out(s, a);
}
