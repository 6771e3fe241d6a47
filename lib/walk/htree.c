/* SPDX-License-Identifier: MIT */
/*
 * The walk over dx_root and dx_nodes.
 *
 * Bounds: a block of the directory is entered once (recorded in a bitmap), and a child is one level
 * below its parent, so the walk is bounded by the size of the directory.
 *
 * A node is checked as a whole when it is read: its findings are kept as a set of rules that next()
 * returns one at a time. Entries of a node are followed as long as its count fits the block, even
 * if limit or checksum are wrong, so that a caller gets all available information.
 */
#include "config.h"

#include "walk/htree.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "disk/dx_hash.h"
#include "walk/dirblock.h"

#define HASH_END 0xFFFFFFFEu /* the highest hash of a name */

static uint8_t *node(const struct xw_htree *it, unsigned level)
{
	return it->nodes + (size_t)level * it->env.block_size;
}

static unsigned entries_off(unsigned level)
{
	return level ? XW_DX_NODE_ENTRIES : XW_DX_ROOT_ENTRIES;
}

int xw_htree_begin(struct xw_htree *it, const struct xw_htree_env *env)
{
	memset(it, 0, sizeof(*it));
	it->env = *env;
	it->nodes = malloc((size_t)XW_HTREE_DEPTH_MAX * env->block_size);
	it->seen = calloc(1, env->blocks / 8 + 1);
	return it->nodes && it->seen ? 0 : XW_ERR_NOMEM;
}

void xw_htree_end(struct xw_htree *it)
{
	free(it->nodes);
	free(it->seen);
	it->nodes = it->seen = NULL;
}

/* Mark the block; true if it was already marked. */
static bool mark_seen(struct xw_htree *it, uint32_t lblk)
{
	const uint8_t bit = (uint8_t)(1u << lblk % 8);
	const bool was = it->seen[lblk / 8] & bit;

	it->seen[lblk / 8] |= bit;
	return was;
}

static void note(struct xw_htree *it, enum xw_htree_rule rule, uint64_t found, uint64_t wanted)
{
	it->pending |= 1u << rule;
	it->found[rule] = found;
	it->wanted[rule] = wanted;
}

static int next_pending(struct xw_htree *it, struct xw_htree_item *out)
{
	const unsigned rule = (unsigned)__builtin_ctz(it->pending);

	it->pending &= it->pending - 1;
	*out = it->loaded;
	out->rule = rule;
	out->found = it->found[rule];
	out->wanted = it->wanted[rule];
	return 2;
}

/*
 * Check the info of dx_root. Stored versions are 0 to 2, or SipHash in encrypted casefolded
 * directories.
 */
static void check_info(struct xw_htree *it)
{
	const struct xw_dx_info *i = &it->info;

	if (it->env.siphash ? i->hash_version != XW_DX_SIPHASH : i->hash_version > XW_DX_TEA)
		note(it, XW_HTREE_HASH_VERSION, i->hash_version, 0);
	if (i->info_length != 8)
		note(it, XW_HTREE_INFO, i->info_length, 8);
	if (i->unused_flags & 1 || i->reserved_zero)
		note(it, XW_HTREE_FLAGS, i->unused_flags, 0);
	if (i->indirect_levels > it->env.levels_max || i->indirect_levels >= XW_HTREE_DEPTH_MAX) {
		note(it, XW_HTREE_DEPTH, i->indirect_levels, it->env.levels_max);
		it->broken = true;
	}
}

/* Read and check a node; its entries become the deepest frame. */
static int load(struct xw_htree *it, uint32_t lblk, uint32_t lower, uint32_t upper, unsigned entry)
{
	const unsigned level = it->depth;
	const uint32_t bs = it->env.block_size;
	struct xw_htree_frame *f = &it->at[level];
	unsigned limit = 0, count = 0, wanted;
	int rc = it->env.read(it->env.arg, lblk, node(it, level));

	if (rc == XW_ERR_NOMEM)
		return rc;
	it->loaded = (struct xw_htree_item){
		.lblk = lblk, .level = level, .lower = lower, .upper = upper, .entry = entry};
	*f = (struct xw_htree_frame){.lblk = lblk, .upper = upper, .last = lower};
	it->depth++;
	if (rc) {
		note(it, XW_HTREE_READ, (uint64_t)-rc, 0);
		return 0;
	}
	if (level && !xw_dirblock_is_node(node(it, level), bs)) {
		note(it, XW_HTREE_NO_NODE, 0, 0);
		return 0;
	}
	if (level)
		xw_dx_node_decode(node(it, level), bs, it->env.csum, &limit, &count);
	else
		xw_dx_root_decode(node(it, level), bs, it->env.csum, &it->info, &limit, &count);
	if (!level)
		check_info(it);
	wanted = level ? xw_dx_node_limit(bs, it->env.csum) : xw_dx_root_limit(bs, it->env.csum);
	if (limit != wanted)
		note(it, XW_HTREE_LIMIT, limit, wanted);
	if (!count || count > wanted)
		note(it, XW_HTREE_COUNT, count, wanted);
	else if (it->env.csum && xw_dx_block_verify(node(it, level), bs, entries_off(level),
						    it->env.seed) == XW_ERR_CHECKSUM)
		note(it, XW_HTREE_CSUM, 0, 0);
	f->count = it->broken || !count || count > wanted ? 0 : count;
	return 0;
}

static int entry_finding(const struct xw_htree_frame *f, struct xw_htree_item *out,
			 enum xw_htree_rule rule, uint64_t found, uint64_t wanted)
{
	*out = (struct xw_htree_item){
		.lblk = f->lblk, .entry = f->next, .rule = rule, .found = found, .wanted = wanted};
	return 2;
}

/* Check order and range of entry f->next, once. 0: no finding. */
static int check_entry(struct xw_htree *it, struct xw_htree_frame *f, const struct xw_dx_entry *e,
		       struct xw_htree_item *out)
{
	const uint32_t last = f->last;

	(void)it;
	if (!f->next || f->checked == f->next)
		return 0;
	f->checked = f->next;
	f->last = e->hash;
	if ((e->hash & ~1u) < (last & ~1u))
		return entry_finding(f, out, XW_HTREE_ORDER, e->hash, last);
	if ((e->hash & ~1u) > (f->upper & ~1u))
		return entry_finding(f, out, XW_HTREE_RANGE, e->hash, f->upper);
	return 0;
}

static int next_child(struct xw_htree *it, struct xw_htree_item *out)
{
	struct xw_htree_frame *f = &it->at[it->depth - 1];
	const unsigned level = it->depth - 1, off = entries_off(level), i = f->next;
	const bool leaf = level == it->info.indirect_levels;
	uint32_t lower, upper = f->upper;
	struct xw_dx_entry e, after;
	int rc;

	xw_dx_entry_decode(node(it, level), off, i, &e);
	rc = check_entry(it, f, &e, out);
	if (rc)
		return rc;
	lower = f->last;
	f->next++;
	if (f->next < f->count) {
		xw_dx_entry_decode(node(it, level), off, f->next, &after);
		upper = after.hash;
	}
	if (!e.lblk || e.lblk >= it->env.blocks) {
		f->next = i;
		rc = entry_finding(f, out, XW_HTREE_LBLK, e.lblk, it->env.blocks);
		f->next = i + 1;
		return rc;
	}
	if (mark_seen(it, e.lblk)) {
		*out = (struct xw_htree_item){
			.lblk = e.lblk, .level = level + 1, .entry = i, .rule = XW_HTREE_TWICE};
		return 2;
	}
	if (leaf) {
		*out = (struct xw_htree_item){.lblk = e.lblk,
					      .leaf = true,
					      .level = level + 1,
					      .entry = i,
					      .lower = lower,
					      .upper = upper};
		return 1;
	}
	rc = load(it, e.lblk, lower, upper, i);
	*out = it->loaded;
	return rc ? rc : 1;
}

/* Blocks that the walk did not reach. */
static int next_unreferenced(struct xw_htree *it, struct xw_htree_item *out)
{
	while (it->unreferenced < it->env.blocks) {
		const uint32_t lblk = it->unreferenced++;

		if (it->seen[lblk / 8] >> lblk % 8 & 1)
			continue;
		*out = (struct xw_htree_item){.lblk = lblk, .rule = XW_HTREE_UNREFERENCED};
		return 2;
	}
	return 0;
}

int xw_htree_next(struct xw_htree *it, struct xw_htree_item *out)
{
	int rc;

	if (!it->begun) {
		it->begun = true;
		if (it->env.blocks)
			mark_seen(it, 0);
		rc = load(it, 0, 0, HASH_END, 0);
		*out = it->loaded;
		return rc ? rc : 1;
	}
	if (it->pending)
		return next_pending(it, out);
	while (it->depth) {
		struct xw_htree_frame *f = &it->at[it->depth - 1];

		if (f->next < f->count)
			return next_child(it, out);
		it->depth--;
	}
	return next_unreferenced(it, out);
}
