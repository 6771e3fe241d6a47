/* SPDX-License-Identifier: MIT */
/*
 * Lookup of one name in a directory.
 *
 * An htree determines the leaf of a name, so a lookup reads only a few blocks, even if the name
 * does not exist. The result is trusted only if everything on the path is valid: the checksums, the
 * order of the index entries and their bounds; and, if the name is missing, the hashes of all other
 * names of the leaf (a wrong seed, hash version or index would show there). Otherwise all blocks of
 * the directory are searched, which is correct for every directory.
 *
 * The index is not used for casefolded and encrypted directories, where the hash is not computed
 * over the bytes of the name, nor for non-ASCII names if s_flags does not define their signedness.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/dx_hash.h"
#include "read/dirs.h"

struct frame {
	uint8_t *buf;
	unsigned off; /* offset of the index entries */
	unsigned count, at;
};

struct lookup {
	struct xw_image *img;
	xw_ino dir;
	const struct xw_inode *inode;
	const char *name;
	size_t len;
	uint64_t left; /* blocks that may still be read: bounds the walk of a cyclic index */
	uint32_t csum_seed;
	uint32_t hash_seed[4];
	enum xw_dx_version version;
	uint32_t hash; /* of the name */
	struct frame f[XW_DX_LEVELS_MAX]; /* the path to the leaf */
	unsigned n;
	uint8_t *leaf;
	struct xw_dirent found;
};

static bool is_ascii(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] & 0x80)
			return false;
	return true;
}

/* Can the index be used? Not for "." and "..", which are not hashed. */
static bool can_use_index(const struct lookup *l)
{
	const struct xw_super *sb = &l->img->sb;
	const bool signed_known = sb->flags & (XW_FLAG_SIGNED_HASH | XW_FLAG_UNSIGNED_HASH);

	return (l->inode->mode & XW_S_IFMT) == XW_S_IFDIR && l->inode->flags & XW_FL_INDEX &&
	       sb->feature_compat & XW_COMPAT_DIR_INDEX &&
	       !(l->inode->flags & (XW_FL_INLINE_DATA | XW_FL_ENCRYPT | XW_FL_CASEFOLD)) &&
	       !xw_name_is_dots(l->name, l->len) && (signed_known || is_ascii(l->name, l->len));
}

/* ---- the path to a leaf; failures other than XW_ERR_NOMEM: the index is unusable ---- */

static int read_block(struct lookup *l, uint32_t lblk, uint8_t *buf)
{
	const uint32_t bs = l->img->block_size;
	struct xw_map_run run;
	int rc;

	if (!l->left || lblk >= xw_div_up(l->inode->size, bs))
		return XW_ERR_CORRUPT;
	l->left--;
	rc = xw_map_lookup(l->img, l->dir, l->inode, lblk, &run);
	if (!rc && (!run.len || run.unwritten))
		rc = XW_ERR_CORRUPT;
	return rc ? rc : xw_dev_pread(l->img->dev, buf, bs, run.pblk * bs);
}

static bool verifies(const struct lookup *l)
{
	return xw_super_has_csum(&l->img->sb) && !(l->img->flags & XW_IMAGE_NOCSUM);
}

static uint32_t entry_hash(const struct frame *f, unsigned i)
{
	struct xw_dx_entry e;

	xw_dx_entry_decode(f->buf, f->off, i, &e);
	return e.hash;
}

/* The range of hashes under the first n frames: *from (ignoring bit 0) <= hash < *to. */
static void bounds(const struct lookup *l, unsigned n, uint32_t *from, uint32_t *to)
{
	bool has_from = false, has_to = false;

	*from = 0;
	*to = UINT32_MAX;
	while (n--) {
		const struct frame *f = &l->f[n];

		if (!has_from && f->at) {
			*from = entry_hash(f, f->at) & ~1u;
			has_from = true;
		}
		if (!has_to && f->at + 1 < f->count) {
			*to = entry_hash(f, f->at + 1);
			has_to = true;
		}
	}
}

/* Are the entries in order and in range? Equal hashes are valid, and so is the upper bound. */
static bool in_order(const struct lookup *l, unsigned i)
{
	const struct frame *f = &l->f[i];
	uint32_t from, to;

	bounds(l, i, &from, &to);
	for (unsigned k = 1; k < f->count; k++) {
		const uint32_t hash = entry_hash(f, k);

		if (hash < from || hash > to)
			return false;
		from = hash;
	}
	return true;
}

static int decode_root(struct lookup *l)
{
	struct frame *f = &l->f[0];
	struct xw_dx_info info;
	struct xw_dx_hash h;
	unsigned limit;
	int rc = xw_dx_root_decode(f->buf, l->img->block_size, xw_super_has_csum(&l->img->sb),
				   &info, &limit, &f->count);

	if (rc || info.reserved_zero || info.unused_flags || info.hash_version > XW_DX_TEA ||
	    info.indirect_levels >= XW_DX_LEVELS_MAX)
		return XW_ERR_CORRUPT;
	l->n = info.indirect_levels + 1u;
	l->version = xw_dx_version(&l->img->sb, info.hash_version);
	rc = xw_dx_hash(l->version, l->hash_seed, l->name, l->len, &h);
	l->hash = h.major;
	return rc;
}

static int decode_node(const struct lookup *l, const uint8_t *buf, unsigned *limit, unsigned *count)
{
	const uint32_t bs = l->img->block_size;

	if (!xw_dirblock_is_node(buf, bs))
		return XW_ERR_CORRUPT;
	return xw_dx_node_decode(buf, bs, xw_super_has_csum(&l->img->sb), limit, count);
}

/* Read index block lblk into frame i, positioned at its first entry. */
static int enter_index(struct lookup *l, unsigned i, uint32_t lblk)
{
	struct frame *f = &l->f[i];
	unsigned limit;
	int rc = read_block(l, lblk, f->buf);

	f->off = i ? XW_DX_NODE_ENTRIES : XW_DX_ROOT_ENTRIES;
	f->at = 0;
	if (!rc && verifies(l))
		rc = xw_dx_block_verify(f->buf, l->img->block_size, f->off, l->csum_seed);
	if (!rc)
		rc = i ? decode_node(l, f->buf, &limit, &f->count) : decode_root(l);
	return rc || in_order(l, i) ? rc : XW_ERR_CORRUPT;
}

static uint32_t child_of(const struct frame *f)
{
	struct xw_dx_entry e;

	xw_dx_entry_decode(f->buf, f->off, f->at, &e);
	return e.lblk;
}

/* ---- leaves ---- */

static int enter_leaf(struct lookup *l)
{
	const uint32_t bs = l->img->block_size;
	const uint32_t lblk = child_of(&l->f[l->n - 1]);
	unsigned limit, count;
	int rc = lblk ? read_block(l, lblk, l->leaf) : XW_ERR_CORRUPT;

	/* Refuse an index block, which looks like a leaf without names. */
	if (!rc && !decode_node(l, l->leaf, &limit, &count) &&
	    limit == xw_dx_node_limit(bs, xw_super_has_csum(&l->img->sb)))
		rc = XW_ERR_CORRUPT;
	return rc || !verifies(l) ? rc : xw_dir_block_verify(l->leaf, bs, l->csum_seed);
}

/*
 * Start with the entries of the leaf. Inode numbers and names of entries other than the wanted one
 * are not checked.
 */
static void begin_leaf(const struct lookup *l, uint32_t room, struct xw_dirblock *it)
{
	xw_dirblock_begin(it, &(struct xw_dirblock_area){
				      .data = l->leaf,
				      .size = room,
				      .inodes_count = UINT32_MAX,
				      .filetype = true,
				      .any_names = true,
			      });
}

/* Search the leaf for the name. 1: found; 0: not found. */
static int search_leaf(struct lookup *l, uint32_t room)
{
	struct xw_dirblock_item item;
	struct xw_dirblock it;
	int rc;

	begin_leaf(l, room, &it);
	while ((rc = xw_dirblock_next(&it, &item)) == 1 || item.rule == XW_DIRBLOCK_NAME_EMPTY) {
		if (item.unused || item.e.name_len != l->len ||
		    memcmp(item.e.name, l->name, l->len))
			continue;
		l->found = item.e;
		return item.e.ino > l->img->sb.inodes_count ? XW_ERR_CORRUPT : 1;
	}
	return rc ? XW_ERR_CORRUPT : 0;
}

/* Are the hashes of all names of the leaf in its range? */
static bool leaf_is_in_range(const struct lookup *l, uint32_t room)
{
	struct xw_dirblock_item item;
	struct xw_dirblock it;
	struct xw_dx_hash h;
	uint32_t from, to;
	int rc;

	bounds(l, l->n, &from, &to);
	begin_leaf(l, room, &it);
	while ((rc = xw_dirblock_next(&it, &item)) == 1) {
		if (item.unused)
			continue;
		if (xw_dx_hash(l->version, l->hash_seed, item.e.name, item.e.name_len, &h) ||
		    h.major < from || h.major >= to)
			return false;
	}
	return !rc;
}

/* Move to the previous (back) or next leaf. 1; 0: none. */
static int step(struct lookup *l, bool back)
{
	unsigned i = l->n;
	int rc = 0;

	while (i && (back ? !l->f[i - 1].at : l->f[i - 1].at + 1 == l->f[i - 1].count))
		i--;
	if (!i)
		return 0;
	l->f[i - 1].at += back ? -1u : 1u;
	for (; !rc && i < l->n; i++) {
		rc = enter_index(l, i, child_of(&l->f[i - 1]));
		if (!rc && back)
			l->f[i].at = l->f[i].count - 1;
	}
	if (!rc)
		rc = enter_leaf(l);
	return rc ? rc : 1;
}

/* Do names with the wanted hash continue in the next leaf? */
static bool hash_continues(const struct lookup *l)
{
	uint32_t from, to;

	bounds(l, l->n, &from, &to);
	return to != UINT32_MAX && (to & ~1u) == l->hash;
}

/*
 * Without checksums, check the adjacent leaf, too: if the bound between the two leaves were wrong,
 * names of the adjacent leaf would be out of its range.
 */
static int check_adjacent(struct lookup *l, bool back, uint32_t room)
{
	int rc = verifies(l) ? 0 : step(l, back);

	if (rc == 1)
		rc = search_leaf(l, room) || !leaf_is_in_range(l, room) ? XW_ERR_CORRUPT : 1;
	return rc;
}

/* Find and read the leaf for the hash, and the path to it. */
static int descend(struct lookup *l)
{
	int rc = enter_index(l, 0, 0);

	for (unsigned i = 0; !rc && i < l->n; i++) {
		struct frame *f = &l->f[i];

		f->at = xw_dx_entry_find(f->buf, f->off, f->count, l->hash);
		if (i + 1 < l->n)
			rc = enter_index(l, i + 1, child_of(f));
	}
	return rc ? rc : enter_leaf(l);
}

/* 1: l->found; 0: the name does not exist; negative: the index is unusable. */
static int lookup_indexed(struct lookup *l)
{
	const uint32_t room =
		l->img->block_size - (xw_super_has_csum(&l->img->sb) ? XW_DIR_TAIL : 0);
	int rc = descend(l);

	if (!rc)
		rc = search_leaf(l, room);
	if (rc)
		return rc;
	if (!leaf_is_in_range(l, room))
		return XW_ERR_CORRUPT;
	rc = check_adjacent(l, true, room);
	if (rc == 1)
		rc = step(l, false);
	while (rc >= 0 && hash_continues(l)) {
		rc = step(l, false);
		if (rc == 1)
			rc = search_leaf(l, room);
		if (rc)
			return rc;
		if (!leaf_is_in_range(l, room))
			return XW_ERR_CORRUPT;
	}
	if (rc >= 0)
		rc = check_adjacent(l, false, room);
	return XW_MIN(rc, 0);
}

static int lookup_htree(struct lookup *l)
{
	const uint32_t bs = l->img->block_size;
	auto_free uint8_t *buf = malloc((size_t)(XW_DX_LEVELS_MAX + 1) * bs);

	if (!buf)
		return xw_fail_nomem(l->img->diag, "directory");
	for (unsigned i = 0; i < XW_DX_LEVELS_MAX; i++)
		l->f[i].buf = buf + (size_t)i * bs;
	l->leaf = buf + (size_t)XW_DX_LEVELS_MAX * bs;
	l->left = 2 * xw_div_up(l->inode->size, bs);
	l->csum_seed = xw_image_inode_seed(l->img, l->dir, l->inode);
	xw_dx_seed(&l->img->sb, l->hash_seed);
	return lookup_indexed(l);
}

/* ---- without an index ---- */

static int lookup_linear(struct lookup *l, const uint8_t *raw)
{
	auto_end(xw_dir_end) struct xw_dir_iter it;
	int rc = xw_dir_begin(l->img, l->dir, l->inode, raw, &it), damage = 0;

	if (rc)
		return rc;
	/* Continue after damaged blocks. */
	while ((rc = xw_dir_next(&it, &l->found, NULL))) {
		if (rc < 0)
			damage = rc;
		else if (l->found.name_len == l->len && !memcmp(l->found.name, l->name, l->len))
			return rc;
	}
	return damage;
}

int xw_dir_lookup(struct xw_image *img, xw_ino dir, const char *name, size_t len, xw_ino *ino,
		  uint8_t *ftype)
{
	struct xw_diag *diag = img->diag;
	const bool clean = diag && !diag->code;
	auto_free uint8_t *raw = malloc(img->inode_size);
	struct xw_inode inode;
	struct lookup l = {.img = img, .dir = dir, .inode = &inode, .name = name, .len = len};
	int rc;

	if (!raw)
		return xw_fail_nomem(diag, "directory");
	rc = xw_image_inode(img, dir, &inode, raw);
	if (rc)
		return rc;
	rc = can_use_index(&l) ? lookup_htree(&l) : XW_ERR_UNSUPPORTED;
	if (rc < 0 && rc != XW_ERR_NOMEM) {
		/* The linear search replaces the index, so drop messages about it. */
		if (clean)
			xw_diag_clear(diag);
		rc = lookup_linear(&l, raw);
	}
	if (rc == 1) {
		const bool typed = img->sb.feature_incompat & XW_INCOMPAT_FILETYPE;

		*ino = l.found.ino;
		if (ftype)
			*ftype = typed ? l.found.ftype : XW_FT_UNKNOWN;
	}
	return rc == 1 ? 0 : rc ? rc : XW_ERR_NOTFOUND;
}
