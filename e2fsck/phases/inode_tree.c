// SPDX-License-Identifier: MIT
/*
 * Rewrites an extent tree: at once if all extents fit in the inode, otherwise when the owner map is
 * complete (repairs/maps.c). Claims and i_blocks of the round include the new nodes.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "phases/inodes.h"

/*
 * Choose `need` of the old map blocks for the new tree, but none without an extent header: such a
 * block may not belong to the tree. Both lists are in walk order.
 */
static void choose_nodes(struct fsck_map *m, size_t need)
{
	size_t n = 0, strange = 0;

	for (size_t i = 0; i < m->nodes.n && n < need; i++) {
		if (strange < m->strange.n && m->strange.v[strange] == m->nodes.v[i].pblk)
			strange++;
		else
			m->nodes.v[n++] = m->nodes.v[i];
	}
	m->nodes.n = n;
	m->wanted = need - n;
}

static int remember(struct fsck_look *l)
{
	const struct fsck_map *m = &l->map;
	struct fsck_rebuild r = {.ino = l->ino, .n = m->runs.n, .n_nodes = m->nodes.n};

	r.runs = malloc(r.n * sizeof(*r.runs));
	r.nodes = malloc((r.n_nodes + 1) * sizeof(*r.nodes));
	if (!r.runs || !r.nodes || xw_vec_push(&l->f->facts.rebuilds, r)) {
		free(r.runs);
		free(r.nodes);
		return xw_fail_nomem(&l->f->ses.diag, "extent tree");
	}
	memcpy(r.runs, m->runs.v, r.n * sizeof(*r.runs));
	for (size_t i = 0; i < r.n_nodes; i++)
		r.nodes[i] = m->nodes.v[i].pblk;
	return 0;
}

int fsck_look_rebuild(struct fsck_look *l)
{
	struct fsck_map *m = &l->map;

	choose_nodes(m, fsck_map_nodes(l->f, m->runs.n, &m->depth));
	if (m->runs.n > XW_EXT_INODE_ENTRIES)
		return remember(l);
	l->in.flags |= XW_FL_EXTENTS; /* a block map becomes a tree */
	memset(l->in.block, 0, sizeof(l->in.block));
	fsck_map_fill(m->runs.v, NULL, l->in.block, 0, m->runs.n, XW_EXT_INODE_ENTRIES, 0);
	l->dirty = true;
	return 0;
}
