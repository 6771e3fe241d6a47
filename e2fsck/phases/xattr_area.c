// SPDX-License-Identifier: MIT
/*
 * Checks the attributes in an inode record or a block, and rebuilds that area without the invalid
 * entries. All valid entries are kept, whatever precedes or follows them.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "read/file.h"
#include "walk/xattr.h"
#include "xattr/layout.h"
#include "phases/xattrs.h"

/* ---- values in EA inodes ---- */

enum verdict { GOOD, BAD_INODE, OLD_HASH, NO_FLAG };

/* The EA inode of an entry. */
struct ea_ref {
	enum verdict verdict;
	bool old; /* made by Lustre */
	uint32_t size; /* of the value: of two that differ, the one that the hash confirms */
};

/* The hash of the first `size` bytes of an EA inode; *read: they can be read. */
static int hash_value(struct fsck *f, xw_ino ino, struct xw_inode ea, uint64_t size, bool *read,
		      uint32_t *hash)
{
	struct xw_diag *const diag = f->ses.img->diag;
	auto_free uint8_t *value = NULL;
	size_t got = 0;
	int rc;

	*read = false;
	if (size > XW_XATTR_SIZE_MAX)
		return 0;
	value = malloc(size + 1);
	if (!value)
		return xw_fail_nomem(&f->ses.diag, "extended attributes");
	ea.size = size;
	ea.mode = XW_S_IFREG;
	f->ses.img->diag = NULL;
	rc = xw_file_pread(f->ses.img, ino, &ea, NULL, 0, value, size, &got);
	f->ses.img->diag = diag;
	*read = !rc && got == size;
	if (*read)
		*hash = xw_xattr_value_hash(f->ses.img->csum_seed, value, size);
	return rc == XW_ERR_NOMEM ? xw_fail_nomem(&f->ses.diag, "extended attributes") : 0;
}

/* Does the stored hash match the first `size` bytes of the EA inode? */
static int has_hash(struct fsck *f, xw_ino ino, struct xw_inode ea, uint64_t size, bool *ok)
{
	uint32_t hash = 0;
	const int rc = hash_value(f, ino, ea, size, ok, &hash);

	*ok = *ok && hash == xw_inode_ea_hash(&ea);
	return rc;
}

/* Does the map have all blocks of the value? */
static bool is_intact(struct fsck *f, xw_ino ino, struct xw_inode ea)
{
	const uint64_t blocks = xw_div_up(ea.size, f->ses.img->block_size);
	struct xw_diag *const diag = f->ses.img->diag;
	struct xw_map_iter it;
	struct xw_map_run run;
	uint64_t next = 0;

	ea.mode = XW_S_IFREG;
	f->ses.img->diag = NULL;
	if (!xw_map_begin(f->ses.img, ino, &ea, 0, &it))
		while (next < blocks && xw_map_next(&it, &run) > 0 && run.lblk == next &&
		       !run.unwritten)
			next += run.len;
	xw_map_end(&it);
	f->ses.img->diag = diag;
	return next >= blocks;
}

int fsck_ea_other_hash(struct fsck *f, xw_ino ino, const struct xw_inode *in, bool *other,
		       uint32_t *hash)
{
	int rc = 0;

	*other = in->flags & XW_FL_EA_INODE && in->size && !(in->flags & XW_FL_INLINE_DATA) &&
		 is_intact(f, ino, *in);
	if (*other)
		rc = hash_value(f, ino, *in, in->size, other, hash);
	*other = *other && *hash != xw_inode_ea_hash(in);
	return rc;
}

bool fsck_is_ea_inode(struct fsck *f, xw_ino ino, const struct xw_inode *in)
{
	bool ok = false;

	if (!(in->flags & XW_FL_EA_INODE) || in->dtime || !in->size ||
	    in->flags & XW_FL_INLINE_DATA || has_hash(f, ino, *in, in->size, &ok))
		return false;
	return ok;
}

/*
 * Find the size of a value: Linux reads it only if entry and EA inode have the same size. Of two
 * sizes the hash confirms one.
 */
static int find_size(struct fsck *f, const struct xw_xattr_entry *e, const struct xw_inode *ea,
		     struct ea_ref *r)
{
	bool ok = true;
	int rc = 0;

	r->size = e->value_size;
	if (r->old || (ea->size == e->value_size && ea->size))
		return 0;
	rc = has_hash(f, e->value_inum, *ea, e->value_size, &ok);
	if (rc || ok)
		return rc;
	r->size = (uint32_t)ea->size;
	rc = has_hash(f, e->value_inum, *ea, ea->size, &ok);
	if (!rc && !ok)
		r->verdict = BAD_INODE;
	return rc;
}

static int judge_ea(struct fsck *f, const struct fsck_xattr_area *a, const struct xw_xattr_entry *e,
		    struct ea_ref *r)
{
	struct xw_inode ea = {0};
	const xw_ino ino = e->value_inum;
	const struct xw_super *sb = &f->ses.img->sb;
	int rc;

	*r = (struct ea_ref){.verdict = BAD_INODE, .size = e->value_size};
	if (ino < sb->first_ino || ino > sb->inodes_count || ino == a->ino)
		return 0;
	rc = fsck_inode_read(f, ino, &ea, NULL);
	if (rc ||
	    (((ea.mode & XW_S_IFMT) != XW_S_IFREG || !ea.links) && !fsck_is_ea_inode(f, ino, &ea)))
		return rc;
	/* An EA inode of Lustre has no hash, but refers to the only inode that owns it. */
	r->old = (uint32_t)ea.mtime.sec == a->ino && ea.generation == a->generation;
	if (!r->old &&
	    !xw_xattr_entry_hash_inum_ok(e->hash, e->name, e->name_len, xw_inode_ea_hash(&ea))) {
		/* The value of another attribute or no value, unless its hash was recomputed. */
		if (xw_numbers_has(&f->ses.rehashed, ino))
			r->verdict = OLD_HASH;
		return 0;
	}
	r->verdict = ea.flags & XW_FL_EA_INODE ? GOOD : NO_FLAG;
	return find_size(f, e, &ea, r);
}

/*
 * Set the missing feature if the EA inode is valid: without it Linux would refuse the owner. If
 * both feature and flag are missing, the reference itself is invalid.
 */
static int check_feature(struct fsck *f, const struct fsck_xattr_area *a, xw_ino ea,
			 enum verdict *verdict)
{
	struct xw_super *sb = &f->ses.img->sb;

	if (sb->feature_incompat & XW_INCOMPAT_EA_INODE)
		return 0;
	if (*verdict != GOOD) {
		*verdict = BAD_INODE;
		return 0;
	}
	if (f->facts.xattrs->feature_told)
		return 0;
	f->facts.xattrs->feature_told = true;
	if (!FSCK_FOUND(f, EA_INODE_FEATURE, .ino = a->ino, .dir = ea))
		return 0;
	sb->feature_incompat |= XW_INCOMPAT_EA_INODE;
	return fsck_super_renew(f);
}

static int set_flag(struct fsck *f, xw_ino ino)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	const int rc = fsck_inode_load(f, ino, &in, &raw);

	if (rc)
		return rc;
	in.flags |= XW_FL_EA_INODE;
	return fsck_inode_write(f, ino, &in, raw);
}

/* Set the size in the entry to that of the EA inode. */
static void fix_size(struct fsck *f, struct fsck_xattr_area *a, size_t off,
		     struct xw_xattr_entry *e, uint32_t size)
{
	if (!FSCK_FOUND(f, EA_ENTRY_SIZE, .ino = a->ino, .dir = e->value_inum, .num = e->value_size,
			.num2 = size))
		return;
	e->value_size = size;
	xw_xattr_entry_encode(a->p, off, e);
	a->changed = true;
}

/* Count the reference; the phase compares the count with that of the EA inode. */
static int count_ea(struct fsck *f, const struct xw_xattr_entry *e, const struct ea_ref *r)
{
	struct fsck_ea *slot = fsck_ea_slot(f, e->value_inum);

	if (!slot)
		return XW_ERR_NOMEM;
	slot->refs++;
	slot->old |= r->old;
	slot->size = r->size;
	return 0;
}

/* Blocks that a value in an EA inode adds to i_blocks of its owner. */
static uint64_t blocks_of(const struct fsck *f, const struct xw_xattr_entry *e)
{
	const uint32_t ratio = xw_image_cluster_bits(f->ses.img);

	return xw_div_up(e->value_size, (uint64_t)f->ses.img->block_size << ratio) << ratio;
}

static uint64_t values_of(const struct fsck *f, struct xw_walk_xattr *it)
{
	struct xw_walk_xattr_item item;
	uint64_t blocks = 0;
	int kind;

	while ((kind = xw_walk_xattr_next(it, &item)))
		if (kind == 1 && item.e.value_inum)
			blocks += blocks_of(f, &item.e);
	return blocks;
}

uint64_t fsck_xattr_values(struct fsck *f, const struct xw_inode *in, const uint8_t *raw)
{
	const unsigned off = xw_inode_xattr_off(in, &f->ses.img->sb);
	const uint32_t bs = f->ses.img->block_size;
	auto_free uint8_t *block = NULL;
	struct xw_walk_xattr it;
	struct xw_xattr_bhdr h;
	uint64_t blocks = 0;

	if (!(f->ses.img->sb.feature_incompat & XW_INCOMPAT_EA_INODE))
		return 0;
	if (off && xw_xattr_magic(raw + off) == XW_XATTR_MAGIC) {
		xw_walk_xattr_inode(&it, raw + off, f->ses.img->inode_size - off);
		blocks = values_of(f, &it);
	}
	block = in->file_acl && xw_image_has_blocks(f->ses.img, in->file_acl, 1) ? malloc(bs)
										 : NULL;
	if (block && !fsck_read(f, in->file_acl, 1, block) && !xw_xattr_bhdr_decode(block, &h)) {
		xw_walk_xattr_block(&it, block, bs);
		blocks += values_of(f, &it);
	}
	xw_diag_clear(&f->ses.diag);
	return blocks;
}

/* *drop: the entry must be dropped; *rehash: it needs another hash. */
static int check_ea(struct fsck *f, struct fsck_xattr_area *a, struct xw_walk_xattr_item *item,
		    bool *drop, bool *rehash)
{
	struct xw_xattr_entry *e = &item->e;
	struct ea_ref r;
	int rc = judge_ea(f, a, e, &r);

	if (!rc)
		rc = check_feature(f, a, e->value_inum, &r.verdict);
	if (rc)
		return rc;
	if (r.verdict == BAD_INODE)
		*drop = FSCK_FOUND(f, EA_INODE_BAD, .ino = a->ino, .dir = e->value_inum);
	else if (r.verdict == OLD_HASH)
		*rehash |= FSCK_FOUND(f, XATTR_HASH, .ino = a->ino, .num = e->hash);
	else if (r.verdict == NO_FLAG &&
		 FSCK_FOUND(f, EA_INODE_NO_FLAG, .ino = a->ino, .dir = e->value_inum))
		rc = set_flag(f, e->value_inum);
	if (rc || *drop)
		return rc;
	if (r.verdict != BAD_INODE && r.size != e->value_size)
		fix_size(f, a, item->off, e, r.size);
	if (!r.old) { /* Lustre does not charge quota */
		a->n_ea++;
		a->ea_blocks += blocks_of(f, e);
	}
	return r.verdict == BAD_INODE ? 0 : count_ea(f, e, &r);
}

/* ---- rebuilding ---- */

static bool is_dropped(const size_t *drop, size_t n, size_t off)
{
	for (size_t i = 0; i < n; i++)
		if (drop[i] == off)
			return true;
	return false;
}

static void walk_begin(struct xw_walk_xattr *it, const struct fsck_xattr_area *a)
{
	if (a->blk)
		xw_walk_xattr_block(it, a->p, a->size);
	else
		xw_walk_xattr_inode(it, a->p, a->size);
}

/* Collect the valid entries as a set. Of duplicate attributes the first is kept. */
static int collect(struct fsck *f, const struct fsck_xattr_area *a, const size_t *drop, size_t n,
		   struct xw_xattr_set *set)
{
	size_t room = a->size - (a->blk ? XW_XATTR_BHDR : XW_XATTR_IHDR) - 4;
	struct xw_walk_xattr_item item;
	struct xw_walk_xattr it;
	int kind, rc = 0;

	walk_begin(&it, a);
	while (rc != XW_ERR_NOMEM && (kind = xw_walk_xattr_next(&it, &item)) != 0) {
		const struct xw_xattr_entry *e = &item.e;
		size_t need;

		if (item.rule == XW_XATTR_BAD_ENTRY || is_dropped(drop, n, item.off) ||
		    (kind == 2 && item.rule != XW_XATTR_BAD_HASH) ||
		    xw_xattr_set_find(set, e->name_index, e->name, e->name_len))
			continue;
		need = xw_xattr_entry_len(e->name_len) +
		       (e->value_inum ? 0 : xw_round_up(e->value_size, 4));
		if (need > room)
			continue;
		if (e->value_inum)
			rc = xw_xattr_set_put_inum(set, e->name_index, e->name, e->name_len,
						   e->value_inum, e->value_size, NULL);
		else
			rc = xw_xattr_set_put_raw(set, e->name_index, e->name, e->name_len,
						  item.value, item.value ? e->value_size : 0, NULL);
		if (!rc)
			room -= need;
	}
	return rc == XW_ERR_NOMEM ? xw_fail_nomem(&f->ses.diag, "extended attributes") : 0;
}

static int rebuild(struct fsck *f, struct fsck_xattr_area *a, const size_t *drop, size_t n,
		   bool add_data)
{
	auto_free struct xw_xattr_slot *slots = NULL;
	auto_end(xw_xattr_set_free) struct xw_xattr_set set = {0};
	struct xw_xattr_bhdr h = {0};
	struct xw_xattr_span span;
	uint32_t refcount;
	int rc = collect(f, a, drop, n, &set);

	if (!rc && add_data &&
	    xw_xattr_set_put_raw(&set, XW_XI_SYSTEM, "data", 4, "", 0, NULL) == XW_ERR_NOMEM)
		rc = xw_fail_nomem(&f->ses.diag, "extended attributes");
	if (rc)
		return rc;
	slots = calloc(set.a.n + 1, sizeof(*slots));
	if (!slots)
		return xw_fail_nomem(&f->ses.diag, "extended attributes");
	for (size_t i = 0; i < set.a.n; i++) {
		struct xw_inode ea = {0};

		slots[i].in_block = a->blk;
		slots[i].value_inum = set.a.v[i].value_inum;
		slots[i].ea = slots[i].value_inum;
		if (!slots[i].ea)
			continue;
		rc = fsck_inode_read(f, slots[i].value_inum, &ea, NULL);
		if (rc)
			return rc;
		slots[i].value_hash = xw_inode_ea_hash(&ea);
	}
	a->changed = true;
	a->empty = !set.a.n;
	if (!a->blk) {
		xw_xattr_encode_ibody(&set, slots, (uint32_t)a->size, a->p);
	} else if (!a->empty) {
		xw_xattr_bhdr_decode(a->p, &h);
		refcount = h.refcount;
		xw_xattr_encode_block(&set, slots, (uint32_t)a->size, a->p, &span);
		xw_xattr_bhdr_decode(a->p, &h);
		h.refcount = refcount;
		xw_xattr_bhdr_encode(a->p, &h);
	}
	return 0;
}

/* ---- the area ---- */

static bool report(struct fsck *f, const struct fsck_xattr_area *a,
		   const struct xw_walk_xattr_item *item)
{
	static const enum fsck_id ids[] = {
		[XW_XATTR_BAD_ENTRY] = FSCK_XATTR_ENTRY,     [XW_XATTR_BAD_NAME] = FSCK_XATTR_NAME,
		[XW_XATTR_BAD_VALUE] = FSCK_XATTR_VALUE,     [XW_XATTR_BAD_SIZE] = FSCK_XATTR_SIZE,
		[XW_XATTR_BAD_OVERLAP] = FSCK_XATTR_OVERLAP, [XW_XATTR_BAD_HASH] = FSCK_XATTR_HASH,
	};
	const struct fsck_about about = {
		.id = ids[item->rule], .ino = a->ino, .blk = a->blk, .num = item->found};

	return fsck_found(f, &about);
}

static bool is_inline_value(const struct fsck_xattr_area *a, const struct xw_walk_xattr_item *item)
{
	return !a->blk && item->rule != XW_XATTR_BAD_ENTRY && item->e.name_index == XW_XI_SYSTEM &&
	       item->e.name_len == 4 && !memcmp(item->e.name, "data", 4);
}

/* Repair the hash of system.data: its value holds contents of the inode and is never dropped. */
static void check_inline_hash(struct fsck *f, struct fsck_xattr_area *a,
			      const struct xw_walk_xattr_item *item)
{
	struct xw_xattr_entry e = item->e;

	e.name = "data"; /* not a pointer into the area, which is encoded below */
	if (!FSCK_FOUND(f, INLINE_HASH, .ino = a->ino, .num = e.hash))
		return;
	e.hash = xw_xattr_entry_hash(e.name, e.name_len, item->value, e.value_size);
	xw_xattr_entry_encode(a->p, item->off, &e);
	a->changed = true;
}

/* Is the offset of an empty value past the end of the area? */
static bool is_outside(const struct xw_walk_xattr *it, const struct xw_xattr_entry *e)
{
	return !e->value_inum && !e->value_size && e->value_offs > it->size - it->base;
}

int fsck_xattr_area(struct fsck *f, struct fsck_xattr_area *a)
{
	XW_VEC(size_t) drop = {0};
	struct xw_walk_xattr_item item;
	struct xw_walk_xattr it;
	bool rehash = false;
	int kind, rc = 0;

	walk_begin(&it, a);
	while (!rc && (kind = xw_walk_xattr_next(&it, &item)) != 0) {
		const bool data = is_inline_value(a, &item);
		bool gone = false;

		if (kind == 1 && is_outside(&it, &item.e)) {
			kind = 2;
			item.rule = XW_XATTR_BAD_VALUE;
			item.found = item.e.value_offs;
		}

		if (data && item.rule == XW_XATTR_BAD_HASH)
			check_inline_hash(f, a, &item);
		else if (kind == 2 && item.rule == XW_XATTR_BAD_HASH)
			rehash |= report(f, a, &item); /* the value is kept: Linux can read it */
		else if (kind == 2)
			gone = report(f, a, &item);
		else if (item.e.value_inum)
			rc = check_ea(f, a, &item, &gone, &rehash);
		a->has_data |= data && !gone;
		if (gone && xw_vec_push(&drop, item.off))
			rc = xw_fail_nomem(&f->ses.diag, "extended attributes");
	}
	if (!rc && (drop.n || rehash))
		rc = rebuild(f, a, drop.v, drop.n, false);
	xw_vec_free(&drop);
	return rc;
}

int fsck_xattr_add_data(struct fsck *f, struct fsck_xattr_area *a)
{
	const size_t need = XW_XATTR_IHDR + xw_xattr_entry_len(4) + 4;

	if (a->size < need)
		return 0;
	if (xw_xattr_magic(a->p) != XW_XATTR_MAGIC)
		memset(a->p, 0, a->size);
	return rebuild(f, a, NULL, 0, true);
}
