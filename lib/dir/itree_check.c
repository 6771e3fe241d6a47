/* SPDX-License-Identifier: MIT */
/*
 * The checker of itrees: the walk of walk/itree.h, and checks across nodes.
 *
 * A damaged node is reported and skipped with its subtree; the set of entries is then not compared
 * (rule 15), since a rebuild is necessary in any case.
 *
 * A separator is checked after its child has been walked: the first entry below it and the last
 * entry before it are known then. An invalid separator is replaced with the key of the first entry
 * below it, which is always valid.
 *
 * Rule 16 constrains the repair of the directory, not the tree, and is left to the repairing code.
 */
#include "config.h"

#include "dir/itree_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "disk/dirent.h"
#include "disk/inode.h"
#include "walk/itree.h"

void xw_itree_sum_add(struct xw_itree_sum *s, xw_ino ino, uint8_t ftype, const char *name,
		      size_t len)
{
	if (!s->n++)
		s->key = xw_hash_process_key();
	s->sum += xw_hash_secret(&s->key, (uint64_t)ino << 8 | ftype, name, len);
}

/* A node of the path, indexed by level. */
struct below {
	bool leftmost, repaired;
	bool any; /* its subtree has an entry */
	struct xw_itree_key first;
	bool has_before; /* an entry was seen before its subtree */
	struct xw_itree_key before;
};

struct walk {
	const struct xw_itree_env *env;
	const struct xw_itree_dir *dir;
	struct xw_itree_result *res;
	struct xw_walk_itree it;
	struct below at[XW_ITREE_LEVELS];
	enum xw_dx_version hash_version;
	bool any_names, hash, folded;
	bool has_last; /* an entry was seen */
	struct xw_itree_entry last; /* its name in last_name */
	char last_name[XW_NAME_MAX];
};

/* ---- findings ---- */

static int report(struct walk *w, const struct xw_itree_finding *f)
{
	struct xw_itree_finding out = *f;
	int rc;

	out.dir = w->dir->ino;
	w->res->findings++;
	rc = w->env->report(w->env->arg, &out);
	return rc > 0 && !w->env->write ? 0 : rc;
}

static int bad_node(struct walk *w, unsigned rule, xw_blk blk, unsigned level, unsigned entry,
		    const char *what)
{
	const int rc = report(w, &(struct xw_itree_finding){.rule = rule,
							    .repair = XW_ITREE_REBUILD,
							    .blk = blk,
							    .level = level,
							    .entry = entry,
							    .what = what});

	return XW_MIN(rc, 0);
}

/* A finding about the directory, not a node. */
static int bad_dir(struct walk *w, unsigned rule, enum xw_itree_repair repair, uint64_t found,
		   uint64_t wanted, const char *what)
{
	const int rc = report(w, &(struct xw_itree_finding){.rule = rule,
							    .repair = repair,
							    .found = found,
							    .wanted = wanted,
							    .what = what});

	return XW_MIN(rc, 0);
}

/* ---- blocks ---- */

/* Rules 5, 8: claim the block. 1: it was unclaimed. */
static int claim_block(struct walk *w, const struct xw_walk_itree_item *child)
{
	const int claim =
		w->env->claim ? w->env->claim(w->env->arg, child->blk) : XW_ITREE_CLAIM_OK;

	if (claim == XW_ITREE_CLAIM_META)
		return bad_node(w, 5, child->blk, child->level, 0, "the block holds metadata");
	if (claim == XW_ITREE_CLAIM_TAKEN)
		return bad_node(w, 8, child->blk, child->level, 0, "the block is in use elsewhere");
	return claim < 0 ? claim : 1;
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
	int rc;

	if (!w->env->in_use)
		return 0;
	rc = w->env->in_use(w->env->arg, blk);
	if (rc)
		return XW_MIN(rc, 0);
	rc = report(w, &f);
	return XW_MIN(rc, 0);
}

static int write_node(struct walk *w, xw_blk blk, void *block)
{
	xw_itree_set_csum(block, w->env->block_size, w->env->csum, w->dir->inode_seed);
	return w->env->write(w->env->arg, blk, block);
}

/* Rule 6: repair an invalid checksum. */
static int repair_csum(struct walk *w, const struct xw_walk_itree_item *node)
{
	const struct xw_itree_finding f = {
		.rule = 6,
		.repair = XW_ITREE_FIX_CSUM,
		.blk = node->blk,
		.level = node->level,
		.what = node->what,
	};
	int rc = report(w, &f);

	return rc > 0 ? write_node(w, node->blk, node->block) : rc;
}

/* A finding of the walk. */
static int on_finding(struct walk *w, const struct xw_walk_itree_item *f)
{
	const bool foreign = f->rule == 6 && f->code != XW_ERR_CHECKSUM;

	if (f->code == XW_ERR_CHECKSUM && !f->left_out)
		return repair_csum(w, f);
	if (f->rule == 11 && !f->left_out)
		return 0; /* each separator is checked with its child */
	if (foreign || f->left_out) {
		w->res->complete = false;
		xw_walk_itree_skip(&w->it);
	}
	return bad_node(w, f->rule, f->blk, f->level, f->entry, f->what);
}

/* ---- leaves ---- */

/*
 * The walk has checked the order inside the leaf (node_check); rules 14 and 15 are checked here for
 * the order across its start.
 */
static int walk_leaf(struct walk *w, xw_blk blk, const struct xw_itree_hdr *h, const uint8_t *block,
		     struct below *out)
{
	struct xw_itree_entry e = {0};
	bool hash_said = false;
	uint32_t off = 0;
	int rc = 0;

	for (unsigned i = 0; i < h->count && !rc; i++) {
		struct xw_dx_hash hash;

		xw_itree_leaf_decode(block, h->used, off, &e, &off);
		if (!i) {
			out->any = true;
			out->first = e.key;
		}
		if (!i && w->has_last && xw_itree_entry_cmp(&w->last, &e) >= 0)
			rc = bad_node(w, 11, blk, 0, i, "entries do not ascend from leaf to leaf");
		if (!rc && w->hash && !hash_said) {
			rc = w->folded ? w->env->fold_hash(w->env->arg, e.name, e.name_len, &hash)
				       : xw_dx_hash(w->hash_version, w->env->hash_seed, e.name,
						    e.name_len, &hash);
			if (!rc && hash.major != e.key.hash) {
				hash_said = true;
				rc = bad_node(w, 14, blk, 0, i, "hash mismatch of a name");
			}
		}
		xw_itree_sum_add(&w->res->sum, e.key.ino, e.ftype, e.name, e.name_len);
	}
	if (h->count) {
		w->last = e;
		memcpy(w->last_name, e.name, e.name_len);
		w->last.name = w->last_name;
		w->has_last = true;
	}
	w->res->leaves++;
	w->res->entries += h->count;
	return rc;
}

/* ---- index nodes ---- */

/* Rule 11 for separator i, after its child was walked. 1: it was repaired. */
static int check_separator(struct walk *w, xw_blk blk, unsigned level, unsigned i,
			   struct xw_itree_idx *e, const struct below *child)
{
	const struct xw_itree_key zero = {0};
	struct xw_itree_finding f = {
		.rule = 11,
		.repair = XW_ITREE_FIX_SEPARATOR,
		.blk = blk,
		.level = level,
		.entry = i,
	};
	int rc;

	if (child->leftmost && xw_itree_key_cmp(&e->key, &zero))
		f.what = "the leftmost separator is not zero";
	else if (child->any && xw_itree_key_cmp(&e->key, &child->first) > 0)
		f.what = "separator above the first entry of its child";
	else if (child->has_before && !child->leftmost &&
		 xw_itree_key_cmp(&child->before, &e->key) > 0)
		f.what = "separator below the last entry before its child";
	else
		return 0;
	rc = report(w, &f);
	if (rc <= 0)
		return rc;
	e->key = child->leftmost ? zero : child->first;
	return 1;
}

/* Rule 13. 1: it was repaired. */
static int check_quartile(struct walk *w, xw_blk blk, unsigned level, unsigned i,
			  struct xw_itree_idx *e, uint32_t used)
{
	struct xw_itree_finding f = {
		.rule = 13,
		.repair = XW_ITREE_FIX_QUARTILE,
		.blk = blk,
		.level = level,
		.entry = i,
		.found = e->quartile,
		.wanted = xw_itree_quartile(xw_itree_cap(w->env->block_size), used),
		.what = "wrong fill quartile of a child",
	};
	int rc;

	if (f.found == f.wanted)
		return 0;
	rc = report(w, &f);
	if (rc > 0)
		e->quartile = (unsigned)f.wanted;
	return rc;
}

/* The walk is about to enter a block. */
static int on_child(struct walk *w, const struct xw_walk_itree_item *child)
{
	struct below *b = &w->at[child->level];
	int rc;

	if (!child->root)
		*b = (struct below){
			.leftmost = !child->entry && w->at[child->level + 1].leftmost,
			.has_before = w->has_last,
			.before = w->last.key,
		};
	rc = claim_block(w, child);
	if (rc == 1)
		return 0;
	w->res->complete = false;
	xw_walk_itree_skip(&w->it);
	return rc;
}

static int on_node(struct walk *w, const struct xw_walk_itree_item *node)
{
	int rc;

	if (node->root) {
		w->res->levels = node->level + 1u;
		w->at[node->level] = (struct below){.leftmost = true};
	}
	w->res->nodes++;
	rc = check_bitmap(w, node->blk, node->level);
	if (rc || node->level)
		return rc;
	return walk_leaf(w, node->blk, &node->h, node->block, &w->at[0]);
}

/* A node was walked with its subtree: compare it with the entry in its parent. */
static int on_done(struct walk *w, const struct xw_walk_itree_item *node)
{
	const unsigned level = node->level + 1u;
	const struct below *child = &w->at[node->level];
	const struct xw_walk_itree_frame *parent = &w->it.at[level];
	struct xw_itree_idx e;
	int rc = child->repaired ? write_node(w, node->blk, node->block) : 0, fixed;

	if (rc || node->root)
		return rc;
	if (child->any && !w->at[level].any) {
		w->at[level].any = true;
		w->at[level].first = child->first;
	}
	xw_itree_idx_decode(parent->block, node->entry, &e);
	rc = check_separator(w, parent->blk, level, node->entry, &e, child);
	if (rc < 0)
		return rc;
	fixed = check_quartile(w, parent->blk, level, node->entry, &e, node->h.used);
	if (fixed < 0)
		return fixed;
	if (rc || fixed) {
		xw_itree_idx_encode(parent->block, node->entry, &e);
		w->at[level].repaired = true;
	}
	return 0;
}

static int walk_tree(struct walk *w, xw_blk root)
{
	const struct xw_walk_itree_env env = {
		.block_size = w->env->block_size,
		.csum = w->env->csum,
		.any_names = w->any_names,
		.dir = w->dir->ino,
		.generation = w->dir->generation,
		.seed = w->dir->inode_seed,
		.first_data_block = w->env->first_data_block,
		.blocks_count = w->env->blocks_count,
		.read = w->env->read,
		.arg = w->env->arg,
	};
	struct xw_walk_itree_item item;
	int more, rc = xw_walk_itree_begin(&w->it, &env, root);

	while (!rc && (more = xw_walk_itree_next(&w->it, &item)) != 0) {
		if (more < 0)
			rc = more;
		else if (more == 2)
			rc = on_finding(w, &item);
		else if (item.kind == XW_WALK_ITREE_CHILD)
			rc = on_child(w, &item);
		else
			rc = item.kind == XW_WALK_ITREE_NODE ? on_node(w, &item)
							     : on_done(w, &item);
	}
	xw_walk_itree_end(&w->it);
	return rc;
}

/* ---- the directory ---- */

/* Does the slot point to a root node of this directory? */
static int find_root(struct walk *w, xw_blk *root, bool *found)
{
	const struct xw_itree_env *env = w->env;
	auto_free uint8_t *block = NULL;
	struct xw_itree_hdr h;
	int rc;

	*found = false;
	if (!w->dir->block0 ||
	    xw_itree_slot_get(w->dir->block0, env->block_size, env->csum, root) ||
	    *root <= env->first_data_block || *root >= env->blocks_count)
		return 0;
	block = malloc(env->block_size);
	if (!block)
		return XW_ERR_NOMEM;
	rc = env->read(env->arg, *root, block);
	if (rc)
		return rc == XW_ERR_NOMEM ? rc : 0;
	*found = !xw_itree_hdr_decode(block, env->block_size, &h, NULL) &&
		 !xw_itree_hdr_belongs(&h, w->dir->ino, w->dir->generation, *root, NULL);
	return 0;
}

/* Rules 1, 2, 4, 5. 1: there is a root to start the walk from. */
static int check_dir(struct walk *w, xw_blk *root)
{
	const struct xw_itree_env *env = w->env;
	const struct xw_itree_dir *d = w->dir;
	unsigned limit, count;
	struct xw_dx_info info;
	int rc;

	if (!env->feature) {
		rc = find_root(w, root, &w->res->has_tree);
		if (!rc)
			rc = bad_dir(w, 1,
				     w->res->has_tree ? XW_ITREE_FIX_FEATURE : XW_ITREE_FIX_FLAG, 0,
				     1, "an itree without the feature");
		if (rc || !w->res->has_tree)
			return rc;
	}
	if (!(d->flags & XW_FL_INDEX) || d->flags & XW_FL_INLINE_DATA ||
	    d->size <= env->block_size || !d->block0)
		return bad_dir(w, 2, XW_ITREE_FIX_FLAG, 0, 0,
			       "an itree in a directory that cannot have one");
	if (xw_dx_root_decode(d->block0, env->block_size, env->csum, &info, &limit, &count))
		return bad_dir(w, 2, XW_ITREE_FIX_FLAG, 0, 0, "an itree without an htree");
	if (count > xw_dx_root_limit(env->block_size, env->csum) - 1)
		return bad_dir(w, 4, XW_ITREE_REHASH, count,
			       xw_dx_root_limit(env->block_size, env->csum) - 1u,
			       "the root of the htree leaves no slot for the itree");
	if (xw_itree_slot_get(d->block0, env->block_size, env->csum, root))
		return bad_dir(w, 5, XW_ITREE_REBUILD, *root, 0, "invalid pointer to the itree");
	w->res->has_tree = true;
	w->folded = d->flags & XW_FL_CASEFOLD;
	w->any_names = d->flags & XW_FL_ENCRYPT;
	w->hash_version = info.hash_version + (env->unsigned_hash ? XW_DX_LEGACY_U : 0u);
	w->hash = w->folded ? env->fold_hash && !w->any_names : info.hash_version <= XW_DX_TEA;
	return 1;
}

/* Rules 9 and 15, after the walk. */
static int check_totals(struct walk *w)
{
	const struct xw_itree_dir *d = w->dir;
	struct xw_itree_result *res = w->res;
	int rc = 0;

	if (!res->complete)
		return 0;
	if (d->mapped != UINT64_MAX && d->held != d->mapped + res->nodes)
		rc = bad_dir(w, 9, XW_ITREE_FIX_BLOCKS, d->held, d->mapped + res->nodes,
			     "i_blocks is wrong");
	if (!rc && d->entries && !xw_itree_sum_equal(d->entries, &res->sum))
		rc = bad_dir(w, 15, XW_ITREE_REBUILD, res->entries, d->entries->n,
			     "the entries differ from those of the directory");
	return rc;
}

int xw_itree_check(const struct xw_itree_env *env, const struct xw_itree_dir *dir,
		   struct xw_itree_result *res)
{
	struct walk w = {.env = env, .dir = dir, .res = res};
	xw_blk root;
	int rc;

	*res = (struct xw_itree_result){.complete = true};
	if (!(dir->flags & XW_FL_ITREE))
		return 0;
	rc = check_dir(&w, &root);
	if (rc == 1) {
		rc = walk_tree(&w, root);
		if (!rc)
			rc = check_totals(&w);
	}
	return rc;
}
