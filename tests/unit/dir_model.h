/* SPDX-License-Identifier: MIT */
/*
 * For tests that change directories: a store of blocks in memory, a model of what the directory
 * holds, and a check of everything the directory is made of against it, by readers of the tests'
 * own (dir_reader.h) and the checker of itrees.
 */
#ifndef XW_TESTS_DIR_MODEL_H
#define XW_TESTS_DIR_MODEL_H

#include "base/vec.h"
#include "colliding.h"
#include "dir/change.h"
#include "dir_reader.h"
#include "itree_mem.h"

struct model_name {
	xw_ino ino; /* 0: not in the directory */
	uint8_t ftype, len;
	uint32_t live_at; /* index in live[] */
	char *name;
};

struct model {
	struct mem m;
	XW_VEC(xw_blk) file; /* blocks of the directory's file */
	struct xw_dir_format f;
	struct xw_dir d;
	struct model_name *names; /* the names that may be in it */
	uint32_t n_names;
	uint32_t *live, n_live;
	uint64_t rnd;
	xw_ino next_ino;
	unsigned fail_in; /* allocations until one fails; 0: never */
	uint64_t failed,
		full; /* insertions that failed, and those that found no room in the index */
	size_t cache;
	struct xw_itree_stats stats; /* of handles that were closed */
	unsigned lost; /* itrees, by depth or for the slot */
};

static inline uint32_t model_rnd(struct model *m, uint32_t below)
{
	return (uint32_t)(rnd(&m->rnd) % below);
}

/* ---- the store ---- */

static inline int model_read(void *arg, xw_blk blk, void *buf)
{
	struct model *m = arg;

	ck_assert_uint_eq(m->m.used[blk], 1);
	memcpy(buf, mem_at(&m->m, blk), m->m.bs);
	m->m.reads++;
	return 0;
}

static inline int model_write(void *arg, xw_blk blk, const void *buf)
{
	struct model *m = arg;

	ck_assert_uint_eq(m->m.used[blk], 1);
	memcpy(mem_at(&m->m, blk), buf, m->m.bs);
	m->m.writes++;
	return 0;
}

static inline int model_map(void *arg, uint32_t lblk, xw_blk *blk)
{
	struct model *m = arg;

	ck_assert_uint_lt(lblk, m->file.n);
	*blk = m->file.v[lblk];
	return 0;
}

static inline int model_alloc(void *arg, xw_blk goal, xw_blk *blk)
{
	struct model *m = arg;

	if (m->fail_in && !--m->fail_in) {
		m->failed++;
		return XW_ERR_NOSPC;
	}
	for (size_t i = 0; i < m->m.n; i++) {
		*blk = (goal + i) % m->m.n;
		if (m->m.used[*blk])
			continue;
		m->m.used[*blk] = 1;
		return 0;
	}
	return XW_ERR_NOSPC;
}

static inline int model_release(void *arg, xw_blk blk)
{
	struct model *m = arg;

	ck_assert_uint_eq(m->m.used[blk], 1);
	m->m.used[blk] = 0;
	memset(mem_at(&m->m, blk), 0xEE, m->m.bs);
	return 0;
}

static inline int model_extend(void *arg, uint32_t lblk, xw_blk *blk)
{
	struct model *m = arg;
	int rc = model_alloc(m, m->file.n ? m->file.v[m->file.n - 1] + 1 : 1, blk);

	ck_assert_uint_eq(lblk, m->file.n);
	return rc ? rc : xw_vec_push(&m->file, *blk);
}

static inline int model_shrink(void *arg, uint32_t lblk, xw_blk blk)
{
	struct model *m = arg;

	ck_assert_uint_eq(lblk + 1, m->file.n);
	ck_assert_uint_eq(m->file.v[lblk], blk);
	m->file.n--;
	return model_release(m, blk);
}

/* ---- the directory ---- */

static inline void model_open(struct model *m, uint32_t flags)
{
	static struct xw_diag diag;
	const struct xw_dir_self self = {
		.ino = SELF,
		.parent = PARENT,
		.generation = MEM_GEN,
		.inode_seed = SEED,
	};
	const struct xw_dir_params o = {
		.format = &m->f,
		.self = &self,
		.io = {m, model_read, model_write, model_map, model_extend, model_shrink,
		       model_alloc, model_release},
		.blocks = (uint32_t)m->file.n,
		.flags = flags,
		.cache_blocks = m->cache,
		.diag = &diag,
		.name = "model",
	};

	xw_diag_clear(&diag);
	ck_assert_msg(!xw_dir_load(&o, &m->d), "%s", diag.text);
}

static inline void model_add_stats(struct model *m)
{
	const struct xw_itree_stats *s = &m->d.tree.stats;

	m->stats.inserts += s->inserts;
	m->stats.deletes += s->deletes;
	m->stats.appends += s->appends;
	m->stats.splits += s->splits;
	m->stats.merges += s->merges;
	m->stats.freed += s->freed;
	m->stats.parents += s->parents;
}

static inline void model_reopen(struct model *m)
{
	uint32_t flags = (m->d.now.indexed ? XW_FL_INDEX : 0) | (m->d.now.itree ? XW_FL_ITREE : 0);

	ck_assert_int_eq(xw_dir_flush(&m->d), 0);
	ck_assert_uint_eq(m->d.now.blocks, m->file.n);
	model_add_stats(m);
	xw_dir_close(&m->d);
	model_open(m, flags);
}

/* Names of min to max bytes; with collide the first ones all have one of two hashes. */
static inline void model_init(struct model *m, const struct xw_dir_format *f, uint32_t n_names,
			      unsigned min, unsigned max, bool collide, size_t blocks)
{
	const uint32_t room = f->block_size - (f->csum ? XW_DIR_TAIL : 0);
	uint8_t *b;
	xw_blk blk;

	*m = (struct model){.f = *f, .n_names = n_names, .rnd = 7, .next_ino = FIRST_INO};
	mem_init(&m->m, f->block_size, blocks);
	m->names = calloc(n_names, sizeof(*m->names));
	m->live = calloc(n_names, sizeof(*m->live));
	for (uint32_t i = 0; i < n_names; i++) {
		struct model_name *n = &m->names[i];

		n->name = malloc(256);
		memset(n->name, 'a' + (int)(i % 26), 256);
		if (collide && i < 2 * XW_ARRAY_SIZE(colliding_0)) {
			n->len = 6;
			memcpy(n->name, (i & 1 ? colliding_1 : colliding_0)[i / 2], 6);
			continue;
		}
		n->len = (uint8_t)(min + model_rnd(m, max - min + 1));
		snprintf(n->name, 256, "%05x", i);
		n->name[5] = n->len > 5 ? '-' : n->name[5];
	}
	ck_assert_int_eq(model_extend(m, 0, &blk), 0);
	b = mem_at(&m->m, blk);
	xw_dirent_encode(b, f->block_size, 0,
			 &(struct xw_dirent){SELF, 12, 1, f->filetype ? 2 : 0, "."});
	xw_dirent_encode(b, f->block_size, 12,
			 &(struct xw_dirent){PARENT, room - 12, 2, f->filetype ? 2 : 0, ".."});
	if (f->csum) {
		xw_dir_tail_init(b, f->block_size);
		xw_dir_block_set_csum(b, f->block_size, SEED);
	}
	model_open(m, 0);
}

static inline void model_free(struct model *m)
{
	xw_dir_close(&m->d);
	for (uint32_t i = 0; i < m->n_names; i++)
		free(m->names[i].name);
	free(m->names);
	free(m->live);
	xw_vec_free(&m->file);
	mem_free(&m->m);
}

/* ---- operations, on both ---- */

static inline void model_set(struct model *m, uint32_t i, xw_ino ino, uint8_t ftype)
{
	struct model_name *n = &m->names[i];

	if (ino && !n->ino) {
		n->live_at = m->n_live;
		m->live[m->n_live++] = i;
	} else if (!ino && n->ino) {
		m->live[n->live_at] = m->live[--m->n_live];
		m->names[m->live[n->live_at]].live_at = n->live_at;
	}
	n->ino = ino;
	n->ftype = m->f.filetype ? ftype : 0;
}

/* An inode for a new name: mostly the next one, else one that was freed, or another name's. */
static inline xw_ino model_ino(struct model *m)
{
	switch (model_rnd(m, 8)) {
	case 0:
	case 1:
		return FIRST_INO + model_rnd(m, m->n_names);
	case 2:
		return m->n_live ? m->names[m->live[model_rnd(m, m->n_live)]].ino : m->next_ino++;
	case 3: /* collisions of (inode, hash) come of these */
		return FIRST_INO + 5;
	default:
		return m->next_ino++;
	}
}

static inline void model_insert(struct model *m, uint32_t i, xw_ino ino)
{
	struct model_name *n = &m->names[i];
	uint8_t ftype = (uint8_t)(1 + model_rnd(m, 7));
	uint64_t failed = m->failed;
	const bool itree = m->d.now.itree;
	int rc = xw_dir_insert(&m->d, n->name, n->len, ino, ftype);

	m->lost += itree && !m->d.now.itree;
	if (n->ino) {
		ck_assert_int_eq(rc, XW_ERR_EXISTS);
		return;
	}
	if (m->failed != failed) {
		ck_assert_int_eq(rc, XW_ERR_NOSPC);
		xw_diag_clear(m->d.diag);
		return;
	}
	if (rc == XW_ERR_LIMIT && !m->f.large_dir) {
		m->full++;
		xw_diag_clear(m->d.diag);
		return;
	}
	ck_assert_msg(!rc, "insert: %d %s", rc, m->d.diag->text);
	model_set(m, i, ino, ftype);
}

static inline void model_delete(struct model *m, uint32_t i)
{
	struct model_name *n = &m->names[i];
	xw_ino ino = 0;
	int rc = xw_dir_delete(&m->d, n->name, n->len, &ino);

	if (!n->ino) {
		ck_assert_int_eq(rc, XW_ERR_NOTFOUND);
		return;
	}
	ck_assert_msg(!rc, "delete: %d %s", rc, m->d.diag->text);
	ck_assert_uint_eq(ino, n->ino);
	model_set(m, i, 0, 0);
}

static inline void model_find(struct model *m, uint32_t i)
{
	struct model_name *n = &m->names[i];
	uint8_t ftype = 0;
	xw_ino ino = 0;
	int rc = xw_dir_find(&m->d, n->name, n->len, &ino, &ftype);

	ck_assert_int_eq(rc, n->ino ? 0 : XW_ERR_NOTFOUND);
	ck_assert_uint_eq(ino, n->ino);
	ck_assert_uint_eq(ftype, n->ino ? n->ftype : 0);
}

/* ---- the check ---- */

static inline void model_sum_leaf(struct dir *r, const uint8_t *b, uint32_t off,
				  struct xw_itree_sum *sum, uint32_t lo, uint32_t hi)
{
	uint32_t len;

	for (; off < room(r); off += len) {
		const uint8_t *e = b + off;
		struct xw_dx_hash h = {0};

		len = rec_len_at(r, e);
		ck_assert_uint_ge(len, 12);
		ck_assert_uint_eq(len % 4, 0);
		ck_assert_uint_le(off + len, room(r));
		if (!peek32(e))
			continue;
		ck_assert_uint_ge(len, 8u + e[6]);
		xw_itree_sum_add(sum, peek32(e), e[7], (const char *)e + 8, e[6]);
		if (hi) {
			xw_dx_hash(r->f.hash_version, r->f.hash_seed, (const char *)e + 8, e[6],
				   &h);
			ck_assert_uint_ge(h.major, lo);
			ck_assert_uint_le(h.major, hi);
		}
	}
	check_tail(r, b);
}

static inline void model_check_file(struct model *m, struct dir *r, struct xw_itree_sum *sum)
{
	const uint32_t bs = m->f.block_size;

	r->f = m->f;
	r->shape.blocks = (uint32_t)m->file.n;
	r->blocks = malloc(m->file.n * bs);
	r->referenced = calloc(m->file.n, 1);
	r->leaves = calloc(m->file.n, sizeof(*r->leaves));
	for (size_t i = 0; i < m->file.n; i++)
		memcpy(r->blocks + i * bs, mem_at(&m->m, m->file.v[i]), bs);
	if (!m->d.now.indexed) {
		for (uint32_t i = 0; i < m->file.n; i++)
			model_sum_leaf(r, block_at(r, i), i ? 0 : check_dots(r, block_at(r, i)),
				       sum, 0, 0);
		return;
	}
	ck_assert_uint_eq(check_dots(r, block_at(r, 0)), bs);
	r->shape.levels = r->blocks[30];
	walk_index(r, 0, 0, 0);
	for (uint32_t i = 1; i < m->file.n; i++)
		ck_assert_uint_eq(r->referenced[i], 1);
	for (uint32_t i = 0; i < r->n_leaves; i++)
		model_sum_leaf(r, block_at(r, r->leaves[i].lblk), 0, sum, r->leaves[i].bound & ~1u,
			       i + 1 < r->n_leaves ? r->leaves[i + 1].bound & ~1u : UINT32_MAX);
	for (uint32_t i = 0; i < m->n_names; i += 1 + m->n_names / 512) {
		const struct model_name *n = &m->names[i];
		struct xw_dx_hash h;

		xw_dx_hash(m->f.hash_version, m->f.hash_seed, n->name, n->len, &h);
		ck_assert_uint_eq(lookup(r, h.major, n->name, n->len), n->ino);
	}
}

/* ---- the itree against a sorted array ---- */

struct model_entry {
	xw_ino ino;
	uint32_t hash;
	const struct model_name *name;
};

static inline int model_entry_cmp(const void *x, const void *y)
{
	const struct model_entry *a = x, *b = y;
	const uint8_t la = a->name->len, lb = b->name->len;
	int c = (a->ino > b->ino) - (a->ino < b->ino);

	if (!c)
		c = (a->hash > b->hash) - (a->hash < b->hash);
	if (!c)
		c = memcmp(a->name->name, b->name->name, la < lb ? la : lb);
	return c ? c : la - lb;
}

/* The node at blk holds v[*at] and the following ones, byte for byte. */
static inline void model_compare_node(struct model *m, xw_blk blk, const struct model_entry *v,
				      uint32_t *at)
{
	const uint8_t *p = mem_at(&m->m, blk) + 32;
	const unsigned level = p[-27], count = peek16(p - 26);

	for (unsigned i = 0; level && i < count; i++)
		model_compare_node(m, peek64(p + 16 * i + 8) & (XW_BLK_MAX - 1), v, at);
	for (unsigned i = 0; !level && i < count; i++, ++*at) {
		ck_assert_uint_lt(*at, m->n_live);
		ck_assert_uint_eq(peek32(p), v[*at].ino);
		ck_assert_uint_eq(peek32(p + 4), v[*at].hash);
		ck_assert_uint_eq(p[10], v[*at].name->len);
		ck_assert_uint_eq(p[11], v[*at].name->ftype);
		ck_assert_mem_eq(p + 12, v[*at].name->name, p[10]);
		p += peek16(p + 8);
	}
}

static inline void model_compare_itree(struct model *m, xw_blk root)
{
	struct model_entry *v = calloc(m->n_live + 1, sizeof(*v));
	uint32_t at = 0;

	for (uint32_t i = 0; i < m->n_live; i++) {
		const struct model_name *n = &m->names[m->live[i]];
		struct xw_dx_hash h;

		xw_dx_hash(m->f.hash_version, m->f.hash_seed, n->name, n->len, &h);
		v[i] = (struct model_entry){n->ino, h.major, n};
	}
	qsort(v, m->n_live, sizeof(*v), model_entry_cmp);
	model_compare_node(m, root, v, &at);
	ck_assert_uint_eq(at, m->n_live);
	free(v);
}

static inline uint64_t model_check_itree(struct model *m, const struct xw_itree_sum *sum)
{
	struct findings f = {.m = &m->m};
	struct xw_itree_env env = findings_env(&f, m->f.csum);
	const struct xw_itree_dir d = {
		.ino = SELF,
		.generation = MEM_GEN,
		.inode_seed = SEED,
		.flags = XW_FL_INDEX | XW_FL_ITREE,
		.size = m->file.n * m->f.block_size,
		.block0 = mem_at(&m->m, m->file.v[0]),
		.mapped = UINT64_MAX,
		.entries = sum,
	};
	struct xw_itree_result res;
	xw_blk root;

	env.unsigned_hash = m->f.hash_version >= XW_DX_LEGACY_U;
	memcpy(env.hash_seed, m->f.hash_seed, sizeof(env.hash_seed));
	ck_assert_int_eq(xw_itree_check(&env, &d, &res), 0);
	ck_assert_msg(!f.n, "%s", f.text);
	ck_assert(res.complete && res.has_tree);
	ck_assert_uint_eq(res.entries, m->n_live);
	ck_assert(!xw_itree_slot_get(d.block0, m->f.block_size, m->f.csum, &root));
	model_compare_itree(m, root);
	return res.nodes;
}

/* Everything on the device, against the model. */
static inline void model_check(struct model *m)
{
	struct xw_itree_sum want = {0}, got = {0};
	uint64_t used = 0, nodes = 0;
	struct dir r = {0};

	ck_assert_int_eq(xw_dir_flush(&m->d), 0);
	ck_assert_uint_eq(m->d.now.blocks, m->file.n);
	for (uint32_t i = 0; i < m->n_live; i++) {
		const struct model_name *n = &m->names[m->live[i]];

		xw_itree_sum_add(&want, n->ino, n->ftype, n->name, n->len);
	}
	model_check_file(m, &r, &got);
	ck_assert_uint_eq(got.n, want.n);
	ck_assert(xw_itree_sum_equal(&got, &want));
	if (m->d.now.itree)
		nodes = model_check_itree(m, &want);
	for (size_t i = 1; i < m->m.n; i++)
		used += m->m.used[i];
	ck_assert_uint_eq(used, m->file.n + nodes);
	free(r.blocks);
	free(r.referenced);
	free(r.leaves);
}

#endif
