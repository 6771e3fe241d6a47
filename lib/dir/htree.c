/* SPDX-License-Identifier: MIT */
/*
 * The htree of a directory that is being modified.
 *
 * Invariants:
 * 1. A name is in a leaf whose bounds include its hash: at least that of its index entry, at most
 *    that of the next one. Names of equal hash that span leaves do so from left to right, and the
 *    index entries of the second and further leaves have bit 0 set: a lookup starts at the first.
 * 2. Space is made one step at a time, from the top: a step adds a level to the tree, or splits one
 *    index block whose parent has space, or splits the leaf. The search restarts after each step,
 *    so that steps are independent of each other.
 * 3. dx_root keeps its last slot free while the directory has an itree.
 *
 * Blocks are never removed from the file of the directory: an empty leaf stays, as in the kernel.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/endian.h"
#include "dir/change_internal.h"
#include "dir/sort.h"
#include "walk/htree.h"

#define DOTDOT_OFF 12u

struct frame {
	struct xw_dbuf *buf;
	unsigned off; /* offset of the index entries */
	unsigned limit, count, at;
};

struct path {
	struct frame f[XW_DX_LEVELS_MAX];
	unsigned n;
	uint32_t lblk; /* of the leaf */
	struct xw_dbuf *leaf;
};

static struct xw_dx_entry entry_at(const struct frame *f, unsigned i)
{
	struct xw_dx_entry e;

	xw_dx_entry_decode(f->buf->data, f->off, i, &e);
	return e;
}

static void set_count(struct frame *f, unsigned count)
{
	f->count = count;
	xw_dx_set_limit(f->buf->data, f->off, f->limit, count);
}

/* ---- lookup ---- */

static int enter_root(struct xw_dir *d, struct path *p)
{
	const uint32_t bs = d->f.block_size;
	struct frame *f = &p->f[0];
	struct xw_dx_info info;
	int rc = xw_dir_block(d, 0, XW_DBUF_ROOT, &f->buf);

	if (rc)
		return rc;
	f->off = XW_DX_ROOT_ENTRIES;
	if (xw_dx_root_decode(f->buf->data, bs, d->f.csum, &info, &f->limit, &f->count) ||
	    info.indirect_levels >= XW_DX_LEVELS_MAX)
		return xw_dir_corrupt(d, "damaged root of the htree");
	p->n = info.indirect_levels + 1u;
	return 0;
}

static int enter_node(struct xw_dir *d, uint32_t lblk, struct frame *f)
{
	int rc = xw_dir_block(d, lblk, XW_DBUF_NODE, &f->buf);

	if (rc)
		return rc;
	f->off = XW_DX_NODE_ENTRIES;
	f->at = 0;
	if (xw_dx_node_decode(f->buf->data, d->f.block_size, d->f.csum, &f->limit, &f->count))
		return xw_dir_corrupt(d, "damaged index block");
	return 0;
}

static int enter_leaf(struct xw_dir *d, struct path *p)
{
	p->lblk = entry_at(&p->f[p->n - 1], p->f[p->n - 1].at).lblk;
	return xw_dir_block(d, p->lblk, XW_DBUF_LEAF, &p->leaf);
}

static int probe(struct xw_dir *d, uint32_t hash, struct path *p)
{
	int rc = enter_root(d, p);

	for (unsigned i = 0; !rc && i < p->n; i++) {
		p->f[i].at = xw_dx_entry_find(p->f[i].buf->data, p->f[i].off, p->f[i].count, hash);
		if (i + 1 < p->n)
			rc = enter_node(d, entry_at(&p->f[i], p->f[i].at).lblk, &p->f[i + 1]);
	}
	return rc ? rc : enter_leaf(d, p);
}

/* Move to the next leaf if it continues this hash. Returns 1 if it does, else 0. */
static int next_of_hash(struct xw_dir *d, uint32_t hash, struct path *p)
{
	unsigned i = p->n;
	int rc = 0;

	while (i && p->f[i - 1].at + 1 == p->f[i - 1].count)
		i--;
	if (!i || (entry_at(&p->f[i - 1], p->f[i - 1].at + 1).hash & ~1u) != hash)
		return 0;
	p->f[i - 1].at++;
	for (; !rc && i < p->n; i++)
		rc = enter_node(d, entry_at(&p->f[i - 1], p->f[i - 1].at).lblk, &p->f[i]);
	if (!rc)
		rc = enter_leaf(d, p);
	return rc ? rc : 1;
}

static int hash_of(const struct xw_dir *d, const char *name, size_t len, struct xw_dx_hash *out)
{
	return xw_dx_hash(d->hash_version, d->f.hash_seed, name, len, out);
}

int xw_htree_find(struct xw_dir *d, const char *name, uint8_t len, struct xw_dir_place *place)
{
	struct path p;
	int rc = hash_of(d, name, len, &place->hash);

	if (!rc)
		rc = probe(d, place->hash.major, &p);
	while (!rc) {
		place->leaf = p.leaf;
		xw_leaf_find(p.leaf->data, xw_dir_room(d), name, len, 0, &place->spot);
		if (place->spot.at != XW_LEAF_NONE)
			return 0;
		rc = next_of_hash(d, place->hash.major, &p);
		if (!rc)
			return XW_ERR_NOTFOUND;
		rc = rc < 0 ? rc : 0;
	}
	return rc;
}

/* ---- making space ---- */

static unsigned capacity(const struct xw_dir *d, const struct path *p, unsigned i)
{
	return p->f[i].limit - (!i && d->now.itree);
}

/* Append an empty dx_node to the file. */
static int new_node(struct xw_dir *d, struct frame *f, uint32_t *lblk)
{
	const struct xw_dirent fake = {.rec_len = d->f.block_size};
	int rc = xw_dir_append(d, XW_DBUF_NODE, lblk, &f->buf);

	if (rc)
		return rc;
	xw_dirent_encode(f->buf->data, d->f.block_size, 0, &fake);
	f->off = XW_DX_NODE_ENTRIES;
	f->limit = xw_dx_node_limit(d->f.block_size, d->f.csum);
	f->at = 0;
	return 0;
}

/* Move entries [from, count) of one index block to another. */
static void move_entries(struct frame *f, struct frame *to, unsigned from)
{
	const unsigned n = f->count - from;

	for (unsigned i = 0; i < n; i++) {
		struct xw_dx_entry e = entry_at(f, from + i);

		xw_dx_entry_encode(to->buf->data, to->off, i, &e);
	}
	set_count(to, n);
	if (from) {
		memset(f->buf->data + f->off + 8 * from, 0, 8 * n);
		set_count(f, from);
	}
}

/* Insert an index entry after the one at f->at. */
static void add_entry(struct frame *f, const struct xw_dx_entry *e)
{
	const unsigned i = f->at + 1;
	uint8_t *p = f->buf->data + f->off + 8 * i;

	memmove(p + 8, p, 8 * (f->count - i));
	xw_dx_entry_encode(f->buf->data, f->off, i, e);
	set_count(f, f->count + 1);
}

static unsigned levels_max(const struct xw_dir *d)
{
	return d->f.large_dir ? 2 : 1;
}

/* Move all entries of dx_root to a new block, its only child. */
static int grow_level(struct xw_dir *d, struct path *p)
{
	struct frame *root = &p->f[0], node;
	struct xw_dx_entry only = {0};
	struct xw_dx_info info;
	unsigned limit, count;
	int rc;

	if (p->n > levels_max(d))
		return XW_ERR_LIMIT;
	rc = new_node(d, &node, &only.lblk);
	if (!rc)
		rc = xw_dcache_dirty(&d->cache, root->buf);
	if (rc)
		return rc;
	move_entries(root, &node, 0);
	memset(root->buf->data + root->off + 8, 0, 8 * (root->count - 1));
	set_count(root, 1);
	xw_dx_entry_encode(root->buf->data, root->off, 0, &only);
	rc = xw_dx_root_decode(root->buf->data, d->f.block_size, d->f.csum, &info, &limit, &count);
	info.indirect_levels++;
	xw_dx_info_encode(root->buf->data, &info);
	return rc;
}

/* Split the full index block f[i]; its parent has space. */
static int split_index(struct xw_dir *d, struct path *p, unsigned i)
{
	struct frame *f = &p->f[i], right;
	struct xw_dx_entry e = {.hash = entry_at(f, f->count / 2).hash};
	int rc = new_node(d, &right, &e.lblk);

	if (!rc)
		rc = xw_dcache_dirty(&d->cache, f->buf);
	if (!rc)
		rc = xw_dcache_dirty(&d->cache, p->f[i - 1].buf);
	if (rc)
		return rc;
	move_entries(f, &right, f->count / 2);
	add_entry(&p->f[i - 1], &e);
	return 0;
}

/* Take one step towards space in the lowest index block, which is full. */
static int make_index_room(struct xw_dir *d, struct path *p)
{
	unsigned i = p->n;
	int rc;

	while (i && p->f[i - 1].count >= capacity(d, p, i - 1))
		i--;
	if (i)
		return split_index(d, p, i);
	rc = grow_level(d, p);
	if (rc == XW_ERR_LIMIT && d->now.itree)
		return xw_dir_lose_itree(d);
	return rc;
}

/* The entries of a leaf, sorted by hash; names are copied to `copy`. */
static int sorted_entries(struct xw_dir *d, const uint8_t *block, uint8_t *copy,
			  struct xw_dir_entry **out, size_t *n)
{
	const uint32_t room = xw_dir_room(d);
	struct xw_dir_entry *e = calloc(room / 12 + 1, sizeof(*e));
	struct xw_dirent de;
	int rc = 0;

	*out = e;
	*n = 0;
	if (!e)
		return XW_ERR_NOMEM;
	memcpy(copy, block, room);
	for (uint32_t off = 0; off < room && !rc; off += de.rec_len) {
		rc = xw_dirent_decode(copy, room, off, &de);
		if (rc || !de.ino)
			continue;
		e[*n] = (struct xw_dir_entry){de.name, de.name_len, de.ftype, de.ino, {0}};
		rc = hash_of(d, de.name, de.name_len, &e[*n].hash);
		++*n;
	}
	if (!rc)
		xw_dir_sort(e, *n);
	return rc;
}

static void fill(struct xw_dir *d, struct xw_dbuf *leaf, const struct xw_dir_entry *e, size_t n,
		 struct xw_dirent *scratch)
{
	for (size_t i = 0; i < n; i++)
		scratch[i] = (struct xw_dirent){
			.ino = e[i].ino,
			.name_len = e[i].name_len,
			.ftype = e[i].ftype,
			.name = e[i].name,
		};
	xw_leaf_fill(leaf->data, xw_dir_room(d), 0, scratch, n);
}

/* Number of entries that stay: about half of the bytes, and at least one entry on each side. */
static size_t half_of(const struct xw_dir_entry *e, size_t n)
{
	uint32_t total = 0, sum = 0;
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		total += xw_dirent_size(e[i].name_len);
	while (k + 1 < n) {
		uint32_t size = xw_dirent_size(e[k].name_len);

		if (k && 2 * sum + size > total)
			break;
		sum += size;
		k++;
	}
	return k;
}

/* Split the leaf; the lowest index block has space. */
static int split_leaf(struct xw_dir *d, struct path *p)
{
	auto_free uint8_t *copy = malloc(d->f.block_size);
	auto_free struct xw_dirent *scratch = NULL;
	auto_free struct xw_dir_entry *e = NULL;
	struct frame *parent = &p->f[p->n - 1];
	struct xw_dx_entry right = {0};
	struct xw_dbuf *leaf;
	size_t n, k;
	int rc;

	if (!copy)
		return XW_ERR_NOMEM;
	rc = sorted_entries(d, p->leaf->data, copy, &e, &n);
	if (rc)
		return rc;
	if (n < 2)
		return XW_ERR_LIMIT; /* a name that does not fit half a block */
	scratch = calloc(n, sizeof(*scratch));
	if (!scratch)
		return XW_ERR_NOMEM;
	rc = xw_dir_append(d, XW_DBUF_LEAF, &right.lblk, &leaf);
	if (!rc)
		rc = xw_dcache_dirty(&d->cache, p->leaf);
	if (!rc)
		rc = xw_dcache_dirty(&d->cache, parent->buf);
	if (rc)
		return rc;
	k = half_of(e, n);
	fill(d, p->leaf, e, k, scratch);
	fill(d, leaf, e + k, n - k, scratch);
	right.hash = e[k].hash.major | (e[k].hash.major == e[k - 1].hash.major);
	add_entry(parent, &right);
	return 0;
}

/* ---- insertion ---- */

/*
 * Find space for the name in the leaf of the path; XW_ERR_EXISTS if a leaf of its hash has the
 * name.
 */
static int find_space(struct xw_dir *d, const struct xw_dirent *e, uint32_t hash,
		      const struct path *first, uint32_t *space)
{
	struct xw_leaf_spot spot;
	struct path p = *first;
	int rc = 1;

	xw_leaf_find(p.leaf->data, xw_dir_room(d), e->name, e->name_len,
		     xw_dirent_size(e->name_len), &spot);
	*space = spot.space;
	while (spot.at == XW_LEAF_NONE) {
		rc = next_of_hash(d, hash, &p);
		if (rc <= 0)
			return rc;
		xw_leaf_find(p.leaf->data, xw_dir_room(d), e->name, e->name_len, 0, &spot);
	}
	return XW_ERR_EXISTS;
}

int xw_htree_insert(struct xw_dir *d, const struct xw_dirent *e, struct xw_dx_hash *hash)
{
	int rc = hash_of(d, e->name, e->name_len, hash);

	while (!rc) {
		struct frame *parent;
		struct path p;
		uint32_t space;

		rc = probe(d, hash->major, &p);
		if (!rc)
			rc = find_space(d, e, hash->major, &p, &space);
		if (rc)
			break;
		if (space != XW_LEAF_NONE) {
			rc = xw_dir_put(d, p.leaf, space, e);
			break;
		}
		parent = &p.f[p.n - 1];
		rc = parent->count >= capacity(d, &p, p.n - 1) ? make_index_room(d, &p)
							       : split_leaf(d, &p);
	}
	return rc;
}

int xw_htree_make_slot(struct xw_dir *d)
{
	struct path p;
	int rc = enter_root(d, &p);

	if (rc || p.f[0].count < p.f[0].limit)
		return rc;
	return grow_level(d, &p);
}

/* ---- whole trees ---- */

/*
 * The entries of block 0 after "." and "..", names pointing into the block; malloc'd. ".." may be
 * longer than needed, since the space of a deleted entry is merged into the previous one.
 */
static int first_entries(struct xw_dir *d, const uint8_t *block, struct xw_dirent **out, size_t *n)
{
	const uint32_t room = xw_dir_room(d);
	struct xw_dirent *v = calloc(room / 12 + 1, sizeof(*v)), e;

	*out = v;
	*n = 0;
	if (!v)
		return XW_ERR_NOMEM;
	for (uint32_t off = 0; off < room; off += e.rec_len) {
		int rc = xw_dirent_decode(block, room, off, &e);

		if (rc)
			return rc;
		if (off > DOTDOT_OFF && e.ino)
			v[(*n)++] = e;
	}
	return 0;
}

static void put_root(struct xw_dir *d, struct xw_dbuf *root, uint32_t leaf)
{
	const uint32_t bs = d->f.block_size;
	const struct xw_dx_info info = {
		.hash_version = (uint8_t)(d->f.hash_version % XW_DX_LEGACY_U),
		.info_length = 8,
	};
	const struct xw_dx_entry only = {.lblk = leaf};
	struct xw_dirent dotdot;

	memset(root->data + 24, 0, bs - 24);
	xw_dirent_decode(root->data, bs, 12, &dotdot);
	dotdot.rec_len = bs - 12;
	xw_dirent_encode(root->data, bs, 12, &dotdot);
	xw_dx_info_encode(root->data, &info);
	xw_dx_set_limit(root->data, XW_DX_ROOT_ENTRIES, xw_dx_root_limit(bs, d->f.csum), 1);
	xw_dx_entry_encode(root->data, XW_DX_ROOT_ENTRIES, 0, &only);
	root->kind = XW_DBUF_ROOT;
}

int xw_htree_convert(struct xw_dir *d)
{
	auto_free struct xw_dirent *e = NULL;
	struct xw_dbuf *root, *leaf;
	uint32_t lblk;
	size_t n;
	int rc = xw_dir_block(d, 0, XW_DBUF_LEAF, &root);

	if (!rc)
		rc = first_entries(d, root->data, &e, &n);
	if (!rc)
		rc = xw_dcache_dirty(&d->cache, root);
	if (!rc)
		rc = xw_dir_append(d, XW_DBUF_LEAF, &lblk, &leaf);
	if (rc)
		return rc;
	xw_leaf_fill(leaf->data, xw_dir_room(d), 0, e, n);
	put_root(d, root, lblk);
	d->now.indexed = true;
	d->hash_version = d->f.hash_version;
	return 0;
}

/* Read through the cache, which verified each block; dirty blocks get checksums when written. */
static int read_index(void *arg, uint32_t lblk, void *buf)
{
	struct xw_dir *d = arg;
	struct xw_dbuf *b;
	int rc = xw_dir_block(d, lblk, lblk ? XW_DBUF_NODE : XW_DBUF_ROOT, &b);

	if (!rc)
		memcpy(buf, b->data, d->f.block_size);
	return rc;
}

int xw_htree_leaves(struct xw_dir *d, uint32_t **lblks, size_t *n)
{
	const struct xw_htree_env env = {
		.block_size = d->f.block_size,
		.blocks = d->now.blocks,
		.levels_max = levels_max(d),
		.csum = d->f.csum,
		.read = read_index,
		.arg = d,
	};
	XW_VEC(uint32_t) leaves = {0};
	struct xw_htree_item item;
	struct xw_htree it;
	int more, rc = xw_htree_begin(&it, &env);

	while (!rc && (more = xw_htree_next(&it, &item)) != 0) {
		if (more < 0)
			rc = more;
		else if (item.rule == XW_HTREE_UNREFERENCED)
			break;
		else if (more == 2 && item.rule != XW_HTREE_CSUM)
			rc = item.rule == XW_HTREE_READ ? -(int)item.found
							: xw_dir_corrupt(d, "damaged index");
		else if (item.leaf)
			rc = xw_vec_push(&leaves, item.lblk);
	}
	xw_htree_end(&it);
	*lblks = leaves.v;
	*n = leaves.n;
	return rc;
}
