/* SPDX-License-Identifier: MIT */
/*
 * The walk over the nodes of an itree; see the header.
 *
 * The level of the root is known only after reading it; its buffer is then exchanged with that of
 * its level, so that each level keeps one.
 */
#include "config.h"

#include "walk/itree.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum state {
	START, /* `child` is the root */
	FOLLOW, /* go to the next entry of the current node */
	READ, /* `child` was yielded: read it */
	ENTER, /* `child` was read and its findings were yielded: enter it */
	OVER,
};

int xw_walk_itree_begin(struct xw_walk_itree *it, const struct xw_walk_itree_env *env, xw_blk root)
{
	memset(it, 0, sizeof(*it));
	it->env = *env;
	it->nodes = malloc((size_t)XW_ITREE_LEVELS * env->block_size);
	if (!it->nodes)
		return XW_ERR_NOMEM;
	for (unsigned i = 0; i < XW_ITREE_LEVELS; i++)
		it->at[i].block = it->nodes + (size_t)i * env->block_size;
	it->child = (struct xw_walk_itree_item){.root = true, .blk = root};
	return 0;
}

void xw_walk_itree_end(struct xw_walk_itree *it)
{
	free(it->nodes);
	xw_table_free(&it->seen);
	it->nodes = NULL;
	it->n_queue = it->queue_at = 0;
	it->state = OVER;
}

void xw_walk_itree_skip(struct xw_walk_itree *it)
{
	it->n_queue = it->queue_at = 0;
	it->state = FOLLOW;
}

/* ---- one block ---- */

static void queue_finding(struct xw_walk_itree *it, unsigned rule, int code, unsigned entry,
			  const char *what, bool left_out)
{
	struct xw_walk_itree_item *f = &it->queue[it->n_queue++];

	*f = it->child;
	f->rule = rule;
	f->code = code;
	f->entry = entry;
	f->what = what;
	f->left_out = left_out;
}

/* Yield the block in `child` if it can be a node. */
static int offer_child(struct xw_walk_itree *it, struct xw_walk_itree_item *out)
{
	const xw_blk blk = it->child.blk;
	int rc;

	it->state = FOLLOW;
	if (blk <= it->env.first_data_block || blk >= it->env.blocks_count) {
		queue_finding(it, 5, XW_ERR_CORRUPT, 0, "the block is outside the filesystem",
			      true);
		return 0;
	}
	rc = xw_numbers_add(&it->seen, blk);
	if (rc < 0)
		return rc;
	if (!rc) {
		queue_finding(it, 7, XW_ERR_CORRUPT, 0, "the node is in the tree twice", true);
		return 0;
	}
	it->state = READ;
	*out = it->child;
	return 1;
}

/* Queue findings about a decodable node. */
static void judge_node(struct xw_walk_itree *it, const uint8_t *block)
{
	const struct xw_itree_hdr *h = &it->child.h;

	if (!it->env.unverified &&
	    xw_itree_verify(block, it->env.block_size, it->env.csum, it->env.seed))
		queue_finding(it, 6, XW_ERR_CHECKSUM, 0, "checksum mismatch", false);
	if (!it->child.root && !h->count)
		queue_finding(it, 12, XW_ERR_CORRUPT, 0, "an empty node", false);
	else if (it->child.root && h->level && h->count < 2)
		queue_finding(it, 12, XW_ERR_CORRUPT, 0,
			      "an index root with fewer than two children", false);
}

/* Read the block in `child` into the buffer of its level. */
static int read_child(struct xw_walk_itree *it)
{
	struct xw_walk_itree_frame *f =
		&it->at[it->child.root ? XW_ITREE_LEVELS - 1 : it->child.level];
	uint8_t *block = f->block;
	struct xw_itree_flaw flaw = {0}, belongs = {0};
	bool fits;
	int rc = it->env.read(it->env.arg, it->child.blk, block);

	it->state = FOLLOW;
	if (rc == XW_ERR_NOMEM)
		return rc;
	if (rc) {
		queue_finding(it, 6, rc, 0, "the node cannot be read", true);
		return 0;
	}
	rc = xw_itree_node_check(block, it->env.block_size, it->env.any_names, &it->child.h, &flaw);
	if (rc && !(flaw.rule == 11 && it->child.h.level)) {
		queue_finding(it, flaw.rule, rc, flaw.entry, flaw.what, true);
		return 0;
	}
	fits = it->child.root || it->child.h.level == it->child.level;
	it->child.block = fits ? block : NULL;
	if (xw_itree_hdr_belongs(&it->child.h, it->env.dir, it->env.generation, it->child.blk,
				 &belongs))
		queue_finding(it, belongs.rule, XW_ERR_CORRUPT, 0, belongs.what, !fits);
	else if (!fits)
		queue_finding(it, 7, XW_ERR_CORRUPT, 0, "the node has another level", true);
	if (!fits)
		return 0;
	it->child.level = it->child.h.level;
	if (it->child.root) {
		f->block = it->at[it->child.level].block;
		it->at[it->child.level].block = block;
		it->top = it->child.level;
	}
	if (rc)
		queue_finding(it, 11, rc, flaw.entry, flaw.what, false);
	judge_node(it, block);
	it->state = ENTER;
	return 0;
}

/* ---- the tree ---- */

static void enter_child(struct xw_walk_itree *it, struct xw_walk_itree_item *out)
{
	struct xw_walk_itree_frame *f = &it->at[it->child.level];

	f->blk = it->child.blk;
	f->entry = it->child.entry;
	f->next = 0;
	f->h = it->child.h;
	it->low = it->child.level;
	it->inside = true;
	it->state = FOLLOW;
	*out = it->child;
	out->kind = XW_WALK_ITREE_NODE;
}

static void leave_node(struct xw_walk_itree *it, struct xw_walk_itree_item *out)
{
	const struct xw_walk_itree_frame *f = &it->at[it->low];

	*out = (struct xw_walk_itree_item){
		.kind = XW_WALK_ITREE_DONE,
		.root = it->low == it->top,
		.blk = f->blk,
		.level = it->low,
		.entry = f->entry,
		.h = f->h,
		.block = f->block,
	};
	it->inside = it->low++ < it->top;
}

/* Go to the next entry of the current node, or leave the node. 1: *out. */
static int follow(struct xw_walk_itree *it, struct xw_walk_itree_item *out)
{
	struct xw_walk_itree_frame *f = &it->at[it->low];
	struct xw_itree_idx e;

	if (!it->low || f->next >= f->h.count) {
		leave_node(it, out);
		return 1;
	}
	(void)xw_itree_idx_decode(f->block, f->next, &e);
	it->child =
		(struct xw_walk_itree_item){.blk = e.blk, .level = it->low - 1, .entry = f->next++};
	return offer_child(it, out);
}

int xw_walk_itree_next(struct xw_walk_itree *it, struct xw_walk_itree_item *out)
{
	int rc = 0;

	while (!rc) {
		if (it->queue_at < it->n_queue) {
			*out = it->queue[it->queue_at++];
			return 2;
		}
		it->n_queue = it->queue_at = 0;
		switch (it->state) {
		case START:
			rc = offer_child(it, out);
			break;
		case READ:
			rc = read_child(it);
			break;
		case ENTER:
			enter_child(it, out);
			return 1;
		case FOLLOW:
			if (!it->inside)
				return 0;
			rc = follow(it, out);
			break;
		default:
			return 0;
		}
	}
	return rc;
}
