// SPDX-License-Identifier: MIT
/*
 * Checks one directory entry against the facts about inodes. The first entry found for a directory
 * is its name; further entries are hard links, which directories must not have.
 */
#include "config.h"

#include <string.h>

#include "base/utf8.h"
#include "phases/dirs.h"

enum { ENCRYPTED_NAME_MIN = 16, NAMES_MAX = UINT16_MAX, ENCODING_STRICT = 1 };

#define ENTRY(s, item)                                                                             \
	.dir = (s)->d->ino, .ino = (item)->e.ino, .lblk = (s)->lblk, .name = (item)->e.name,       \
	.name_len = (item)->e.name_len

static void fix_type(struct fsck_dirscan *s, const struct fsck_area *a,
		     struct xw_dirblock_item *item, uint8_t want)
{
	if (!s->filetype)
		want = XW_FT_UNKNOWN;
	if (item->e.ftype == want)
		return;
	if (s->filetype ? !FSCK_FOUND(s->f, DIR_FILETYPE, ENTRY(s, item), .num = item->e.ftype,
				      .num2 = want)
			: !FSCK_FOUND(s->f, DIR_FILETYPE_SET, ENTRY(s, item), .num = item->e.ftype))
		return;
	item->e.ftype = want;
	xw_dirent_encode(a->data, a->size, item->off, &item->e);
	s->dirty = true;
}

void fsck_dir_dot_type(struct fsck_dirscan *s, const struct fsck_area *a,
		       struct xw_dirblock_item *item)
{
	fix_type(s, a, item, XW_FT_DIR);
}

/* With a strict encoding names must be UTF-8, since Linux looks up the folded form. */
static bool is_utf8(const struct xw_dirent *e)
{
	size_t n;

	for (size_t i = 0; i < e->name_len; i += n) {
		n = xw_utf8_len(e->name + i, e->name_len - i);
		if (!n)
			return false;
	}
	return true;
}

/*
 * Replace NULs and slashes, or bytes that are not UTF-8, by full stops. The name keeps its length,
 * but its hash changes.
 */
static void fix_name(struct fsck_dirscan *s, const struct fsck_area *a,
		     const struct xw_dirblock_item *item, bool utf8)
{
	char *name = (char *)a->data + (item->e.name - (const char *)a->data);
	const size_t len = item->e.name_len;
	size_t n;

	for (size_t i = 0; i < len; i += n) {
		n = utf8 ? xw_utf8_len(name + i, len - i) : name[i] && name[i] != '/';
		if (n)
			continue;
		name[i] = '.';
		n = 1;
	}
	if (xw_name_is_dots(name, len))
		name[0] = '_';
	s->dirty = true;
	s->d->rebuild |= s->d->indexed;
}

/* The entry is valid; invalid, but not counted and left alone; to be cleared. */
enum verdict { VALID, LEFT, CLEARED };

#define INVALID(s, item, ID) (FSCK_FOUND((s)->f, ID, ENTRY(s, item)) ? CLEARED : LEFT)

/* Check name and inode number, without reading the inode. */
static enum verdict judge_form(struct fsck_dirscan *s, const struct fsck_area *a,
			       struct xw_dirblock_item *item)
{
	struct fsck *f = s->f;
	const xw_ino ino = item->e.ino;

	if (item->rule == XW_DIRBLOCK_NAME_EMPTY)
		return INVALID(s, item, DIR_NAME_EMPTY);
	if (xw_name_is_dots(item->e.name, item->e.name_len))
		return INVALID(s, item, DIR_DOT_AGAIN);
	if (ino > f->ses.img->sb.inodes_count ||
	    (ino < f->ses.img->sb.first_ino && ino != XW_INO_ROOT))
		return INVALID(s, item, DIR_BAD_INO);
	if (ino == XW_INO_ROOT)
		return INVALID(s, item, DIR_LINK_ROOT);
	if (ino == s->d->ino)
		return INVALID(s, item, DIR_LINK_SELF);
	if (item->rule == XW_DIRBLOCK_NAME_BYTES && FSCK_FOUND(f, DIR_NAME_BYTES, ENTRY(s, item)))
		fix_name(s, a, item, false);
	if (s->folded && !s->encrypted && !is_utf8(&item->e) &&
	    (f->ses.img->sb.encoding_flags & ENCODING_STRICT || f->opts.check_encoding) &&
	    FSCK_FOUND(f, DIR_NAME_UTF8, ENTRY(s, item)))
		fix_name(s, a, item, true);
	if (s->encrypted && item->e.name_len < ENCRYPTED_NAME_MIN)
		return INVALID(s, item, DIR_NAME_ENCRYPTED);
	return VALID;
}

static enum verdict judge_inode(struct fsck_dirscan *s, const struct xw_dirblock_item *item,
				const struct fsck_inode *in)
{
	if ((!in || !(in->flags & FSCK_I_USED)) &&
	    fsck_group_expose(s->f, item->e.ino, item->e.name, item->e.name_len))
		return LEFT;
	if (!in || !(in->flags & FSCK_I_USED))
		return INVALID(s, item, DIR_UNUSED_INODE);
	if (in->flags & FSCK_I_SYSTEM)
		return INVALID(s, item, DIR_BAD_INO);
	if (in->flags & FSCK_I_EA)
		return INVALID(s, item, DIR_EA_INODE);
	if (s->encrypted && !(in->flags & FSCK_I_ENCRYPT) &&
	    (in->ftype == XW_FT_REG || in->ftype == XW_FT_DIR || in->ftype == XW_FT_LNK))
		return INVALID(s, item, DIR_NOT_ENCRYPTED);
	if (s->encrypted && !fsck_same_policy(s->f, s->d->ino, item->e.ino))
		return INVALID(s, item, DIR_OTHER_POLICY);
	return VALID;
}

/*
 * Clear the first name of a directory: its ".." refers to the directory with the second name. The
 * caller will meet a failure such as XW_ERR_NOMEM again.
 */
static enum verdict clear_first_name(struct fsck_dirscan *s, struct fsck_dir *child)
{
	struct fsck *f = s->f;
	struct fsck_dir *first = fsck_dir(f, child->parent);
	struct fsck_inode *in = fsck_inode(f, child->ino);
	char name[XW_NAME_MAX];
	size_t len;

	if (!first || fsck_dir_name(f, first->ino, child->ino, name, &len) || !len ||
	    !FSCK_FOUND(f, DIR_HARD_LINK, .dir = first->ino, .ino = child->ino, .name = name,
			.name_len = len, .num = s->d->ino) ||
	    fsck_dir_clear_names(f, first->ino, child->ino, NULL))
		return LEFT;
	first->subdirs -= first->subdirs != 0;
	in->names -= in->names != 0;
	return VALID;
}

/*
 * A directory must have only one name. Of several the one in the directory to which its ".." refers
 * is kept, or else the first.
 */
static enum verdict name_directory(struct fsck_dirscan *s, const struct xw_dirblock_item *item)
{
	struct fsck_dir *child = fsck_dir(s->f, item->e.ino);
	xw_ino dotdot = 0;

	if (!child)
		return VALID;
	if (child->parent && child->parent != s->d->ino)
		(void)fsck_dir_dotdot(s->f, child, &dotdot);
	if (child->parent && dotdot == s->d->ino) {
		if (clear_first_name(s, child) != VALID)
			return LEFT;
	} else if (child->parent) {
		return FSCK_FOUND(s->f, DIR_HARD_LINK, ENTRY(s, item), .num = child->parent)
			       ? CLEARED
			       : LEFT;
	}
	child->parent = s->d->ino;
	s->d->subdirs++;
	return VALID;
}

/* True: the inode is a directory with a damaged mode, so the entry is right. */
static bool is_lost_directory(struct fsck_dirscan *s, const struct xw_dirblock_item *item)
{
	bool wanted = false;

	if (!s->filetype || item->e.ftype != XW_FT_DIR)
		return false;
	return fsck_dir_restore(s->f, item->e.ino, s->d->ino, &wanted) ||
	       (wanted && s->f->opts.mode == FSCK_NO);
}

bool fsck_dir_entry(struct fsck_dirscan *s, const struct fsck_area *a,
		    struct xw_dirblock_item *item)
{
	static const char lpf[] = "lost+found";
	struct fsck_inode *in = fsck_inode(s->f, item->e.ino);
	enum verdict v = judge_form(s, a, item);

	if (v == VALID)
		v = judge_inode(s, item, in);
	if (v == VALID && in->ftype == XW_FT_DIR)
		v = name_directory(s, item);
	if (v != VALID)
		return v != CLEARED;
	if (in->ftype == XW_FT_DIR || !is_lost_directory(s, item))
		fix_type(s, a, item, in->ftype);
	in->names += in->names < NAMES_MAX;
	if (s->d->ino == XW_INO_ROOT && item->e.name_len == sizeof(lpf) - 1 &&
	    !memcmp(item->e.name, lpf, sizeof(lpf) - 1))
		s->f->facts.lost_found = item->e.ino;
	return true;
}
