/* SPDX-License-Identifier: MIT */
/*
 * A directory under change. Each operation is a change of the block cache (cache.h): leaves, htree
 * and itree are modified together, and any failure rolls back all of it, including blocks added to
 * the file and the new state of the inode (d->now).
 *
 *   one block, linear --(a name does not fit, dir_index)--> htree, and an itree where the format
 *   has it; (no dir_index, or several blocks already) --> one more block, linear
 *
 *   itree --(too deep; slot needed)--> none; not created again
 *
 * The pointer in dx_root is updated at the end of a change, if the root of the itree moved.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/endian.h"
#include "dir/change_internal.h"
#include "disk/inode.h"

#define CACHE_BLOCKS 1024u

/* Remove the existing entry e from its leaf. */
static int remove_entry(struct xw_dir *d, const struct xw_dir_place *p, const struct xw_dirent *e)
{
	int rc = xw_dcache_dirty_range(&d->cache, p->leaf, p->spot.at, XW_DIRENT_HDR + e->name_len);

	if (!rc && p->spot.before != XW_LEAF_NONE)
		rc = xw_dcache_dirty_range(&d->cache, p->leaf, p->spot.before, XW_DIRENT_HDR);
	if (!rc)
		xw_leaf_remove(p->leaf->data, xw_dir_room(d), &p->spot);
	return rc;
}

/* ---- one change ---- */

int xw_dir_change_begin(struct xw_dir *d)
{
	if (d->failed)
		return xw_fail(d->diag, XW_ERR_STATE,
			       "%s: directory inode %" PRIu32 ": an earlier change failed", d->name,
			       d->self.ino);
	d->before = d->now;
	d->tree_root_before = d->now.itree ? d->tree.root : 0;
	d->cache.why = NULL;
	return 0;
}

static int update_slot(struct xw_dir *d)
{
	const xw_blk root = d->now.itree ? d->tree.root : 0;
	struct xw_dbuf *b;
	int rc;

	if (root == d->tree_root_before)
		return 0;
	rc = xw_dir_block(d, 0, XW_DBUF_ROOT, &b);
	if (!rc)
		rc = xw_dcache_dirty(&d->cache, b);
	/* If the itree was dropped to free its slot, the slot may hold an index entry already. */
	if (!rc && (root || peek16(b->data + 34) < peek16(b->data + 32)))
		xw_itree_slot_set(b->data, d->f.block_size, d->f.csum, root);
	return rc;
}

static void undo(struct xw_dir *d)
{
	xw_dcache_abort(&d->cache);
	while (d->now.blocks > d->before.blocks) {
		uint32_t lblk = --d->now.blocks;

		d->cache.io.shrink(d->cache.io.arg, lblk, d->map.v[lblk]);
	}
	d->map.n = d->now.blocks;
	d->now = d->before;
	d->tree.root = d->tree_root_before;
	xw_itree_forget(&d->tree);
	if (!d->now.indexed)
		d->hash_version = d->f.hash_version;
}

/* Record a message unless another function has. Codes that callers expect get none. */
static int explain(struct xw_dir *d, int rc)
{
	const char *why = d->cache.why;

	switch (rc) {
	case XW_ERR_EXISTS:
	case XW_ERR_NOTFOUND:
		return rc;
	case XW_ERR_NOMEM:
		return xw_fail_nomem(d->diag, "directory");
	case XW_ERR_LIMIT:
		why = "larger than the format allows";
		break;
	default:
		break;
	}
	if (!why)
		why = rc == XW_ERR_CORRUPT || rc == XW_ERR_CHECKSUM ? "damaged" : xw_err_text(rc);
	return xw_fail(d->diag, rc, "%s: directory inode %" PRIu32 ": %s", d->name, d->self.ino,
		       why);
}

int xw_dir_change_end(struct xw_dir *d, int rc)
{
	if (!rc)
		rc = update_slot(d);
	if (rc) {
		undo(d);
		return explain(d, rc);
	}
	rc = xw_dcache_commit(&d->cache);
	if (rc) {
		d->failed = true; /* part of the change may be on the device */
		return explain(d, rc);
	}
	return 0;
}

/* ---- opening ---- */

static int check_dots(struct xw_dir *d, const uint8_t *block, uint32_t room)
{
	struct xw_dirent dot, dotdot;

	if (xw_dirent_decode(block, room, 0, &dot) || dot.rec_len != 12 || dot.name_len != 1 ||
	    dot.name[0] != '.' || xw_dirent_decode(block, room, 12, &dotdot) ||
	    dotdot.name_len != 2 || memcmp(dotdot.name, "..", 2))
		return xw_dir_corrupt(d, "it does not begin with \".\" and \"..\"");
	return 0;
}

static int open_root(struct xw_dir *d)
{
	const uint32_t bs = d->f.block_size;
	unsigned limit, count;
	struct xw_dx_info info;
	struct xw_dbuf *b;
	int rc = xw_dir_block(d, 0, d->now.indexed ? XW_DBUF_ROOT : XW_DBUF_LEAF, &b);

	if (!rc)
		rc = check_dots(d, b->data, d->now.indexed ? bs : xw_dir_room(d));
	if (rc || !d->now.indexed)
		return rc;
	rc = xw_dx_root_decode(b->data, bs, d->f.csum, &info, &limit, &count);
	if (!rc && (info.hash_version > XW_DX_TEA || info.unused_flags)) {
		d->cache.why = "unknown hash of the htree";
		return XW_ERR_UNSUPPORTED;
	}
	d->hash_version = info.hash_version +
			  (d->f.hash_version >= XW_DX_LEGACY_U ? (unsigned)XW_DX_LEGACY_U : 0u);
	if (!rc && d->now.itree &&
	    (count == limit || xw_itree_slot_get(b->data, bs, d->f.csum, &d->tree.root)))
		return xw_dir_corrupt(d, "no pointer to its itree");
	return rc;
}

int xw_dir_load(const struct xw_dir_params *o, struct xw_dir *d)
{
	const struct xw_dcache_owner owner = {
		.block_size = o->format->block_size,
		.csum = o->format->csum,
		.any_names = o->flags & XW_FL_ENCRYPT,
		.ino = o->self->ino,
		.generation = o->self->generation,
		.inode_seed = o->self->inode_seed,
	};
	int rc;

	memset(d, 0, sizeof(*d));
	d->f = *o->format;
	d->self = *o->self;
	d->hash_version = o->format->hash_version;
	d->diag = o->diag;
	d->name = o->name;
	d->any_names = owner.any_names;
	d->now = (struct xw_dir_state){
		.blocks = o->blocks,
		.indexed = o->flags & XW_FL_INDEX,
		.itree = o->flags & XW_FL_INDEX && o->flags & XW_FL_ITREE,
	};
	d->tree.cache = &d->cache;
	rc = xw_dcache_init(&d->cache, &owner, &o->io,
			    o->cache_blocks ? o->cache_blocks : CACHE_BLOCKS);
	if (!rc && o->flags & (XW_FL_CASEFOLD | XW_FL_INLINE_DATA)) {
		d->cache.why = o->flags & XW_FL_CASEFOLD ? "casefolded" : "inline data";
		rc = XW_ERR_UNSUPPORTED;
	}
	if (!rc && !o->blocks)
		rc = xw_dir_corrupt(d, "it has no blocks");
	if (!rc) {
		d->map.v = calloc(o->blocks, sizeof(*d->map.v));
		d->map.n = d->map.cap = o->blocks;
		rc = d->map.v ? 0 : XW_ERR_NOMEM;
	}
	if (rc)
		return explain(d, rc);
	d->before = d->now;
	rc = open_root(d);
	d->tree_root_before = d->tree.root;
	return xw_dir_change_end(d, rc);
}

void xw_dir_close(struct xw_dir *d)
{
	xw_dcache_free(&d->cache);
	xw_vec_free(&d->map);
}

int xw_dir_flush(struct xw_dir *d)
{
	int rc = xw_dir_change_begin(d);

	if (rc)
		return rc;
	rc = xw_dcache_flush(&d->cache);
	if (rc)
		d->failed = true;
	return rc ? explain(d, rc) : 0;
}

/* ---- lookup ---- */

static int name_ok(struct xw_dir *d, const char *name, size_t len)
{
	if (!len || len > XW_NAME_MAX ||
	    (!d->any_names && (memchr(name, 0, len) || memchr(name, '/', len)))) {
		d->cache.why = "an invalid name";
		return XW_ERR_INPUT;
	}
	return 0;
}

int xw_dir_check_victim(struct xw_dir *d, const char *name, size_t len)
{
	const int rc = name_ok(d, name, len);

	if (rc || !xw_name_is_dots(name, len))
		return rc;
	d->cache.why = "\".\" and \"..\" cannot be removed";
	return XW_ERR_INPUT;
}

/*
 * Search every block of a directory without an index. space: the first block with `need` free
 * bytes.
 */
static int find_linear(struct xw_dir *d, const char *name, uint8_t len, uint32_t need,
		       struct xw_dir_place *place, struct xw_dir_place *space)
{
	int rc = 0;

	space->leaf = NULL;
	for (uint32_t b = 0; b < d->now.blocks && !rc; b++) {
		rc = xw_dir_block(d, b, XW_DBUF_LEAF, &place->leaf);
		if (rc)
			return rc;
		xw_leaf_find(place->leaf->data, xw_dir_room(d), name, len, space->leaf ? 0 : need,
			     &place->spot);
		if (place->spot.at != XW_LEAF_NONE)
			return 0;
		if (!space->leaf && place->spot.space != XW_LEAF_NONE)
			*space = *place;
	}
	return XW_ERR_NOTFOUND;
}

static int find(struct xw_dir *d, const char *name, size_t len, struct xw_dir_place *place)
{
	struct xw_dir_place space;
	int rc = name_ok(d, name, len);

	if (rc)
		return rc;
	if (d->now.indexed && xw_name_is_dots(name, len)) {
		place->spot = (struct xw_leaf_spot){.at = len == 1 ? 0 : 12};
		return xw_dir_block(d, 0, XW_DBUF_ROOT, &place->leaf);
	}
	return d->now.indexed ? xw_htree_find(d, name, (uint8_t)len, place)
			      : find_linear(d, name, (uint8_t)len, 0, place, &space);
}

static void entry_at(const struct xw_dir *d, const struct xw_dir_place *p, struct xw_dirent *e)
{
	xw_dirent_decode(p->leaf->data, d->f.block_size, p->spot.at, e);
}

int xw_dir_find(struct xw_dir *d, const char *name, size_t len, xw_ino *ino, uint8_t *ftype)
{
	struct xw_dir_place place;
	struct xw_dirent e;
	int rc = xw_dir_change_begin(d);

	if (rc)
		return rc;
	rc = find(d, name, len, &place);
	if (!rc) {
		entry_at(d, &place, &e);
		*ino = e.ino;
		if (ftype)
			*ftype = e.ftype;
	}
	return xw_dir_change_end(d, rc);
}

/* ---- itree entries ---- */

static struct xw_itree_entry tree_entry(const struct xw_dirent *e, uint32_t hash)
{
	return (struct xw_itree_entry){
		.key = {e->ino, hash},
		.name_len = e->name_len,
		.ftype = e->ftype,
		.name = e->name,
	};
}

static int tree_insert(struct xw_dir *d, const struct xw_dirent *e, uint32_t hash)
{
	const struct xw_itree_entry t = tree_entry(e, hash);
	int rc = xw_itree_insert(&d->tree, &t);

	if (rc == XW_ERR_EXISTS)
		return xw_dir_corrupt(d, "its itree has an entry that the directory lacks");
	return rc == XW_ERR_LIMIT ? xw_dir_lose_itree(d) : rc;
}

int xw_dir_tree_remove(struct xw_dir *d, const struct xw_dirent *e, uint32_t hash)
{
	const struct xw_itree_entry t = tree_entry(e, hash);
	int rc = xw_itree_remove(&d->tree, &t);

	if (rc == XW_ERR_NOTFOUND)
		return xw_dir_corrupt(d, "its itree lacks an entry of the directory");
	return rc;
}

/* The directory was just converted to an htree with one or two leaves. */
static int first_itree(struct xw_dir *d)
{
	int rc = xw_itree_create(&d->tree, &d->cache, d->map.v[d->now.blocks - 1] + 1);

	d->now.itree = !rc;
	for (uint32_t b = 1; b < d->now.blocks && d->now.itree && !rc; b++) {
		struct xw_dx_hash hash;
		struct xw_dbuf *leaf;
		struct xw_dirent e;

		rc = xw_dir_block(d, b, XW_DBUF_LEAF, &leaf);
		for (uint32_t off = 0; off < xw_dir_room(d) && d->now.itree && !rc;
		     off += e.rec_len) {
			xw_dirent_decode(leaf->data, xw_dir_room(d), off, &e);
			if (!e.ino)
				continue;
			rc = xw_dx_hash(d->hash_version, d->f.hash_seed, e.name, e.name_len, &hash);
			if (!rc)
				rc = tree_insert(d, &e, hash.major);
		}
	}
	return rc;
}

/* ---- insertion and deletion ---- */

static int insert_indexed(struct xw_dir *d, const struct xw_dirent *e)
{
	struct xw_dx_hash hash;
	int rc = xw_htree_insert(d, e, &hash);

	return rc || !d->now.itree ? rc : tree_insert(d, e, hash.major);
}

static int insert_linear(struct xw_dir *d, const struct xw_dirent *e)
{
	struct xw_dir_place place, space;
	uint32_t lblk;
	int rc = find_linear(d, e->name, e->name_len, xw_dirent_size(e->name_len), &place, &space);

	if (rc != XW_ERR_NOTFOUND)
		return rc ? rc : XW_ERR_EXISTS;
	if (!space.leaf && d->now.blocks == 1 && d->f.dir_index &&
	    d->f.hash_version != XW_DX_SIPHASH) {
		rc = xw_htree_convert(d);
		if (!rc)
			rc = insert_indexed(d, e);
		return rc || !d->f.itree ? rc : first_itree(d);
	}
	rc = 0;
	if (!space.leaf) {
		rc = xw_dir_append(d, XW_DBUF_LEAF, &lblk, &space.leaf);
		space.spot.space = 0;
	}
	return rc ? rc : xw_dir_put(d, space.leaf, space.spot.space, e);
}

int xw_dir_insert(struct xw_dir *d, const char *name, size_t len, xw_ino ino, uint8_t ftype)
{
	const struct xw_dirent e = {
		.ino = ino,
		.name_len = (uint8_t)len,
		.ftype = d->f.filetype ? ftype : 0,
		.name = name,
	};
	int rc = xw_dir_change_begin(d);

	if (rc)
		return rc;
	rc = name_ok(d, name, len);
	if (!rc && !ino) {
		d->cache.why = "a name without an inode";
		rc = XW_ERR_INPUT;
	}
	if (!rc && xw_name_is_dots(name, len))
		rc = XW_ERR_EXISTS;
	if (!rc)
		rc = d->now.indexed ? insert_indexed(d, &e) : insert_linear(d, &e);
	return xw_dir_change_end(d, rc);
}

int xw_dir_delete(struct xw_dir *d, const char *name, size_t len, xw_ino *ino)
{
	struct xw_dir_place place;
	struct xw_dirent e;
	int rc = xw_dir_change_begin(d);

	if (rc)
		return rc;
	rc = xw_dir_check_victim(d, name, len);
	if (!rc)
		rc = find(d, name, len, &place);
	if (rc)
		return xw_dir_change_end(d, rc);
	entry_at(d, &place, &e);
	if (ino)
		*ino = e.ino;
	if (d->now.itree)
		rc = xw_dir_tree_remove(d, &e, place.hash.major);
	if (!rc)
		rc = remove_entry(d, &place, &e);
	return xw_dir_change_end(d, rc);
}

int xw_dir_itree_drop(struct xw_dir *d)
{
	int rc = xw_dir_change_begin(d);

	if (rc)
		return rc;
	return xw_dir_change_end(d, d->now.itree ? xw_dir_lose_itree(d) : 0);
}
