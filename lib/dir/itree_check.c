/* SPDX-License-Identifier: MIT */
/*
 * The checker of itrees.
 *
 * A depth-first walk, keys ascending, that holds one block a level. Bounds:
 * 1. A block is read once: numbers that were seen are kept in a hash set, and one that comes again
 *    is a finding (rule 7), not a visit. So the walk is as long as the tree, whatever it points at.
 * 2. Levels fall by one with each step down.
 *
 * A node that is damaged in itself is reported and left out with what is below it; then the set of
 * entries is not compared (rule 15), since the answer is known, and a rebuild is due in any case.
 *
 * Separators are judged when their child has been walked: the first entry below it and the last
 * entry before it are known then. A wrong one is replaced with the former, which always fits
 * between the two.
 *
 * Rule 16 is not about what a tree looks like but about what repairs to its directory must do; it
 * is the business of whoever repairs.
 */
#include "config.h"

#include "dir/itree_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/hash.h"
#include "disk/dirent.h"
#include "disk/inode.h"

static uint64_t mix(uint64_t h)
{
	h ^= h >> 32;
	h *= 0xD6E8FEB86659FD93u;
	h ^= h >> 29;
	return h * 0xA0761D6478BD642Fu;
}

void xw_itree_sum_add(struct xw_itree_sum *s, xw_ino ino, uint8_t ftype, const char *name,
		      size_t len)
{
	uint64_t h = xw_hash64(name, len, (uint64_t)ino << 8 | ftype);

	s->n++;
	s->a += h;
	s->b += mix(h);
}

/* Block numbers that were seen; 0 marks a free slot. */
struct seen {
	xw_blk *v;
	size_t n, size;
};

struct walk {
	const struct xw_itree_env *env;
	const struct xw_itree_dir *dir;
	struct xw_itree_result *res;
	uint8_t *node[XW_ITREE_LEVELS]; /* the block being walked, by level */
	struct seen seen;
	enum xw_dx_version hash_version;
	bool any_names, hash, folded;
	bool has_last; /* an entry was seen */
	struct xw_itree_entry last; /* its name in last_name */
	char last_name[XW_NAME_MAX];
};

/* What a parent learns of a child. */
struct below {
	bool whole; /* the child could be judged */
	bool any; /* there is an entry below it */
	struct xw_itree_key first;
	uint32_t used;
};

/* ---- findings ---- */

static int report(struct walk *w, const struct xw_itree_finding *f)
{
	struct xw_itree_finding out = *f;
	int ret;

	out.dir = w->dir->ino;
	w->res->findings++;
	ret = w->env->report(w->env->arg, &out);
	return ret > 0 && !w->env->write ? 0 : ret;
}

static int bad_node(struct walk *w, unsigned rule, xw_blk blk, unsigned level, unsigned entry,
		    const char *what)
{
	const struct xw_itree_finding f = {
		.rule = rule,
		.repair = XW_ITREE_REBUILD,
		.blk = blk,
		.level = level,
		.entry = entry,
		.what = what,
	};
	int ret = report(w, &f);

	return ret < 0 ? ret : 0;
}

/* A finding about the directory rather than a node. */
static int bad_dir(struct walk *w, unsigned rule, enum xw_itree_repair repair, uint64_t found,
		   uint64_t wanted, const char *what)
{
	const struct xw_itree_finding f = {
		.rule = rule,
		.repair = repair,
		.found = found,
		.wanted = wanted,
		.what = what,
	};
	int ret = report(w, &f);

	return ret < 0 ? ret : 0;
}

/* ---- blocks ---- */

static size_t seen_slot(const struct seen *s, xw_blk blk)
{
	size_t i = mix(blk) & (s->size - 1);

	while (s->v[i] && s->v[i] != blk)
		i = (i + 1) & (s->size - 1);
	return i;
}

static int seen_grow(struct seen *s)
{
	struct seen more = {.n = s->n, .size = s->size ? 2 * s->size : 64};

	if (s->size >= 2 * (s->n + 1))
		return 0;
	more.v = calloc(more.size, sizeof(*more.v));
	if (!more.v)
		return XW_ERR_NOMEM;
	for (size_t i = 0; i < s->size; i++) {
		if (s->v[i])
			more.v[seen_slot(&more, s->v[i])] = s->v[i];
	}
	free(s->v);
	*s = more;
	return 0;
}

/* 1: seen for the first time, 0: not; negative: out of memory. */
static int seen_add(struct seen *s, xw_blk blk)
{
	size_t i;

	if (seen_grow(s))
		return XW_ERR_NOMEM;
	i = seen_slot(s, blk);
	if (s->v[i])
		return 0;
	s->v[i] = blk;
	s->n++;
	return 1;
}

/* Rules 5, 7, 8: may this block be a node at all? 1: yes. */
static int take_block(struct walk *w, xw_blk blk, unsigned level)
{
	const struct xw_itree_env *env = w->env;
	int ret, claim = XW_ITREE_CLAIM_OK;

	if (blk <= env->first_data_block || blk >= env->blocks_count)
		return bad_node(w, 5, blk, level, 0, "the block is outside the filesystem");
	ret = seen_add(&w->seen, blk);
	if (ret < 0)
		return ret;
	if (!ret)
		return bad_node(w, 7, blk, level, 0, "the node is in the tree twice");
	if (env->claim)
		claim = env->claim(env->arg, blk);
	if (claim < 0)
		return claim;
	if (claim == XW_ITREE_CLAIM_META)
		return bad_node(w, 5, blk, level, 0, "the block holds metadata");
	if (claim == XW_ITREE_CLAIM_TAKEN)
		return bad_node(w, 8, blk, level, 0, "the block is in use elsewhere");
	return 1;
}

/* Rule 17 */
static int check_bitmap(struct walk *w, xw_blk blk, unsigned level)
{
	const struct xw_itree_finding f = {
		.rule = 17,
		.repair = XW_ITREE_FIX_BITMAP,
		.blk = blk,
		.level = level,
		.what = "the node's block is marked free",
	};
	int ret;

	if (!w->env->in_use)
		return 0;
	ret = w->env->in_use(w->env->arg, blk);
	if (ret)
		return XW_MIN(ret, 0);
	ret = report(w, &f);
	return XW_MIN(ret, 0);
}

static int write_node(struct walk *w, xw_blk blk, void *block)
{
	xw_itree_set_csum(block, w->env->block_size, w->env->csum, w->dir->inode_seed);
	return w->env->write(w->env->arg, blk, block);
}

/* Rule 6, the checksum alone. */
static int check_csum(struct walk *w, xw_blk blk, unsigned level, void *block)
{
	const struct xw_itree_finding f = {
		.rule = 6,
		.repair = XW_ITREE_FIX_CSUM,
		.blk = blk,
		.level = level,
		.what = "checksum mismatch",
	};
	int ret;

	if (!xw_itree_verify(block, w->env->block_size, w->env->csum, w->dir->inode_seed))
		return 0;
	ret = report(w, &f);
	return ret > 0 ? write_node(w, blk, block) : ret;
}

/*
 * Read the node at blk into `block` and judge what can be judged by it alone. want: its level, -1
 * for any. 1: it can be walked (its separators may be wrong), 0: it was reported.
 */
static int load_node(struct walk *w, xw_blk blk, int want, uint8_t *block, struct xw_itree_hdr *h)
{
	const unsigned level = want < 0 ? 0 : (unsigned)want;
	struct xw_itree_flaw flaw = {0};
	int ret = take_block(w, blk, level);

	if (ret <= 0)
		return ret;
	ret = w->env->read(w->env->arg, blk, block);
	if (ret == XW_ERR_NOMEM)
		return ret;
	if (ret)
		return bad_node(w, 6, blk, level, 0, "the node cannot be read");
	ret = xw_itree_node_check(block, w->env->block_size, w->any_names, h, &flaw);
	if (ret && flaw.rule == 11 && h->level)
		ret = 0; /* each separator is judged with its child */
	if (!ret)
		ret = xw_itree_hdr_belongs(h, w->dir->ino, w->dir->generation, blk, &flaw);
	if (!ret && want >= 0 && h->level != want) {
		flaw = (struct xw_itree_flaw){7, 0, "the node is of another level"};
		ret = XW_ERR_CORRUPT;
	}
	if (ret)
		return bad_node(w, flaw.rule, blk, level, flaw.entry, flaw.what);
	w->res->nodes++;
	ret = check_csum(w, blk, h->level, block);
	if (!ret)
		ret = check_bitmap(w, blk, h->level);
	return ret ? ret : 1;
}

/* ---- leaves ---- */

static int entry_hash(struct walk *w, const struct xw_itree_entry *e, struct xw_dx_hash *out)
{
	if (w->folded)
		return w->env->fold_hash(w->env->arg, e->name, e->name_len, out);
	return xw_dx_hash(w->hash_version, w->env->hash_seed, e->name, e->name_len, out);
}

static void keep_last(struct walk *w, const struct xw_itree_entry *e)
{
	w->last = *e;
	memcpy(w->last_name, e->name, e->name_len);
	w->last.name = w->last_name;
	w->has_last = true;
}

/* Order inside the leaf is checked (node_check); here is the order over its edge, rules 14, 15. */
static int walk_leaf(struct walk *w, xw_blk blk, const struct xw_itree_hdr *h, const uint8_t *block,
		     struct below *out)
{
	struct xw_itree_entry e = {0};
	bool hash_said = false;
	uint32_t off = 0;
	int ret = 0;

	for (unsigned i = 0; i < h->count && !ret; i++) {
		struct xw_dx_hash hash;

		xw_itree_leaf_decode(block, h->used, off, &e, &off);
		if (!i) {
			out->any = true;
			out->first = e.key;
		}
		if (!i && w->has_last && xw_itree_entry_cmp(&w->last, &e) >= 0)
			ret = bad_node(w, 11, blk, 0, i, "entries do not ascend from leaf to leaf");
		if (!ret && w->hash && !hash_said) {
			ret = entry_hash(w, &e, &hash);
			if (!ret && hash.major != e.key.hash) {
				hash_said = true;
				ret = bad_node(w, 14, blk, 0, i, "the name has another hash");
			}
		}
		xw_itree_sum_add(&w->res->sum, e.key.ino, e.ftype, e.name, e.name_len);
	}
	if (h->count)
		keep_last(w, &e);
	w->res->leaves++;
	w->res->entries += h->count;
	return ret;
}

/* ---- index nodes ---- */

/* Rule 11 for separator i, its child walked. 1: it was mended. */
static int check_separator(struct walk *w, xw_blk blk, unsigned level, unsigned i, bool leftmost,
			   struct xw_itree_idx *e, const struct xw_itree_key *before,
			   const struct below *child)
{
	const struct xw_itree_key zero = {0};
	struct xw_itree_finding f = {
		.rule = 11,
		.repair = XW_ITREE_FIX_SEPARATOR,
		.blk = blk,
		.level = level,
		.entry = i,
	};
	int ret;

	if (leftmost && !i && xw_itree_key_cmp(&e->key, &zero))
		f.what = "the leftmost separator is not zero";
	else if (child->any && xw_itree_key_cmp(&e->key, &child->first) > 0)
		f.what = "separator above the first entry of its child";
	else if (before && !(leftmost && !i) && xw_itree_key_cmp(before, &e->key) > 0)
		f.what = "separator below the last entry before its child";
	else
		return 0;
	ret = report(w, &f);
	if (ret <= 0)
		return ret;
	e->key = leftmost && !i ? zero : child->first;
	return 1;
}

/* Rule 13. 1: it was mended. */
static int check_quartile(struct walk *w, xw_blk blk, unsigned level, unsigned i,
			  struct xw_itree_idx *e, const struct below *child)
{
	struct xw_itree_finding f = {
		.rule = 13,
		.repair = XW_ITREE_FIX_QUARTILE,
		.blk = blk,
		.level = level,
		.entry = i,
		.found = e->quartile,
		.wanted = xw_itree_quartile(xw_itree_cap(w->env->block_size), child->used),
		.what = "wrong fullness of a child",
	};
	int ret;

	if (f.found == f.wanted)
		return 0;
	ret = report(w, &f);
	if (ret > 0)
		e->quartile = (unsigned)f.wanted;
	return ret;
}

static int walk_node(struct walk *w, xw_blk blk, int want, bool leftmost, struct below *out);

/* Child i of the index node in `block`, and what its entry there says of it. 1: the entry was
 * mended. */
static int walk_child(struct walk *w, xw_blk blk, const struct xw_itree_hdr *h, uint8_t *block,
		      unsigned i, bool leftmost, struct below *child)
{
	const bool has_before = w->has_last;
	const struct xw_itree_key before = w->last.key;
	struct xw_itree_idx e;
	int ret, fixed;

	xw_itree_idx_decode(block, i, &e);
	ret = walk_node(w, e.blk, h->level - 1, leftmost && !i, child);
	if (ret)
		return ret;
	if (!child->whole)
		return 0;
	ret = check_separator(w, blk, h->level, i, leftmost, &e, has_before ? &before : NULL,
			      child);
	if (ret < 0)
		return ret;
	fixed = check_quartile(w, blk, h->level, i, &e, child);
	if (fixed < 0)
		return fixed;
	if (ret || fixed)
		xw_itree_idx_encode(block, i, &e);
	return ret || fixed;
}

static int walk_index(struct walk *w, xw_blk blk, const struct xw_itree_hdr *h, uint8_t *block,
		      bool leftmost, struct below *out)
{
	bool mended = false;

	for (unsigned i = 0; i < h->count; i++) {
		struct below child = {0};
		int ret = walk_child(w, blk, h, block, i, leftmost, &child);

		if (ret < 0)
			return ret;
		mended |= ret > 0;
		if (child.any && !out->any) {
			out->any = true;
			out->first = child.first;
		}
	}
	return mended ? write_node(w, blk, block) : 0;
}

/* want: the level the parent expects, -1 at the root. */
static int walk_node(struct walk *w, xw_blk blk, int want, bool leftmost, struct below *out)
{
	uint8_t *block = w->node[want < 0 ? XW_ITREE_LEVELS - 1 : (unsigned)want];
	struct xw_itree_hdr h;
	int ret = load_node(w, blk, want, block, &h);

	if (ret != 1) {
		w->res->complete = false;
		return ret;
	}
	if (want < 0)
		w->res->levels = h.level + 1u;
	out->whole = true;
	out->used = h.used;
	if (want >= 0 && !h.count)
		ret = bad_node(w, 12, blk, h.level, 0, "an empty node");
	else if (want < 0 && h.level && h.count < 2)
		ret = bad_node(w, 12, blk, h.level, 0,
			       "an index root with fewer than two children");
	if (ret < 0)
		return ret;
	return h.level ? walk_index(w, blk, &h, block, leftmost, out)
		       : walk_leaf(w, blk, &h, block, out);
}

/* ---- the directory ---- */

/* Does the slot point to a root node that names this directory? */
static int find_root(struct walk *w, xw_blk *root, bool *found)
{
	const struct xw_itree_env *env = w->env;
	struct xw_itree_hdr h;
	int ret;

	*found = false;
	if (!w->dir->block0 ||
	    xw_itree_slot_get(w->dir->block0, env->block_size, env->csum, root) ||
	    *root <= env->first_data_block || *root >= env->blocks_count)
		return 0;
	ret = env->read(env->arg, *root, w->node[0]);
	if (ret)
		return ret == XW_ERR_NOMEM ? ret : 0;
	*found = !xw_itree_hdr_decode(w->node[0], env->block_size, &h, NULL) &&
		 !xw_itree_hdr_belongs(&h, w->dir->ino, w->dir->generation, *root, NULL);
	return 0;
}

/* Rules 1, 2, 4, 5. 1: there is a root to walk from. */
static int check_dir(struct walk *w, xw_blk *root)
{
	const struct xw_itree_env *env = w->env;
	const struct xw_itree_dir *d = w->dir;
	unsigned limit, count;
	struct xw_dx_info info;
	int ret;

	if (!env->feature) {
		ret = find_root(w, root, &w->res->has_tree);
		if (!ret)
			ret = bad_dir(w, 1,
				      w->res->has_tree ? XW_ITREE_FIX_FEATURE : XW_ITREE_FIX_FLAG,
				      0, 1, "an itree without the feature");
		if (ret || !w->res->has_tree)
			return ret;
	}
	if (!(d->flags & XW_FL_INDEX) || d->flags & XW_FL_INLINE_DATA ||
	    d->size <= env->block_size || !d->block0)
		return bad_dir(w, 2, XW_ITREE_FIX_FLAG, 0, 0,
			       "an itree beside a directory that can have none");
	if (xw_dx_root_decode(d->block0, env->block_size, env->csum, &info, &limit, &count))
		return bad_dir(w, 2, XW_ITREE_FIX_FLAG, 0, 0, "an itree without an htree");
	if (count > xw_dx_root_limit(env->block_size, env->csum) - 1)
		return bad_dir(w, 4, XW_ITREE_REHASH, count,
			       xw_dx_root_limit(env->block_size, env->csum) - 1u,
			       "the root of the htree leaves no slot for the itree");
	if (xw_itree_slot_get(d->block0, env->block_size, env->csum, root))
		return bad_dir(w, 5, XW_ITREE_REBUILD, *root, 0,
			       "the pointer to the itree is none");
	w->res->has_tree = true;
	w->folded = d->flags & XW_FL_CASEFOLD;
	w->any_names = d->flags & XW_FL_ENCRYPT;
	w->hash_version = info.hash_version + (env->unsigned_hash ? XW_DX_LEGACY_U : 0u);
	w->hash = w->folded ? env->fold_hash && !w->any_names : info.hash_version <= XW_DX_TEA;
	return 1;
}

/* Rules 9 and 15, the tree walked. */
static int check_totals(struct walk *w)
{
	const struct xw_itree_dir *d = w->dir;
	struct xw_itree_result *res = w->res;
	int ret = 0;

	if (!res->complete)
		return 0;
	if (d->mapped != UINT64_MAX && d->held != d->mapped + res->nodes)
		ret = bad_dir(w, 9, XW_ITREE_FIX_BLOCKS, d->held, d->mapped + res->nodes,
			      "i_blocks is wrong");
	if (!ret && d->entries && !xw_itree_sum_equal(d->entries, &res->sum))
		ret = bad_dir(w, 15, XW_ITREE_REBUILD, res->entries, d->entries->n,
			      "the entries are not those of the directory");
	return ret;
}

int xw_itree_check(const struct xw_itree_env *env, const struct xw_itree_dir *dir,
		   struct xw_itree_result *res)
{
	auto_free uint8_t *nodes = NULL;
	struct walk w = {.env = env, .dir = dir, .res = res};
	struct below all = {0};
	xw_blk root;
	int ret;

	*res = (struct xw_itree_result){.complete = true};
	if (!(dir->flags & XW_FL_ITREE))
		return 0;
	nodes = malloc((size_t)XW_ITREE_LEVELS * env->block_size);
	if (!nodes)
		return XW_ERR_NOMEM;
	for (unsigned i = 0; i < XW_ITREE_LEVELS; i++)
		w.node[i] = nodes + (size_t)i * env->block_size;
	ret = check_dir(&w, &root);
	if (ret == 1) {
		ret = walk_node(&w, root, -1, true, &all);
		if (!ret)
			ret = check_totals(&w);
	}
	free(w.seen.v);
	return ret;
}

int xw_itree_check_journal(const struct xw_itree_env *env, bool journal_empty)
{
	const struct xw_itree_finding f = {
		.rule = 3,
		.repair = XW_ITREE_REPLAY,
		.what = "the journal is not empty",
	};

	if (!env->feature || journal_empty)
		return 0;
	return XW_MIN(env->report(env->arg, &f), 0);
}
