// SPDX-License-Identifier: MIT
/*
 * Names and inodes of the tree.
 *
 * Invariants:
 * 1. Every live name is in `names`, keyed by (directory, name). A removed name stays there with
 *    node NULL, and is reused if the same name is linked again: a probe chain never breaks, and a
 *    name has one record.
 * 2. The list of a directory contains every record once, in order of first arrival.
 * 3. node->links counts the live names of an inode that is not a directory; a directory has at most
 *    one. For an inode of an existing image, see image.c: `links` also counts names not found yet
 *    and, until all removals are done, names in `lost`; of a lazy node only the live names found.
 */
#include "config.h"

#include "tree/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "disk/dirent.h"
#include "disk/inode.h"

static uint32_t name_hash(const struct xw_table *t, const struct xw_binode *dir, const char *name,
			  size_t len)
{
	return (uint32_t)xw_hash_secret(&t->key, (uintptr_t)dir, name, len);
}

/*
 * The hash is stored beside the pointer, so that a probe that misses does not load a cache line of
 * the name.
 */
struct slot {
	struct xw_blink *link;
	uint32_t hash;
};

struct name {
	const struct xw_binode *dir;
	const char *name;
	size_t len;
	uint32_t hash;
};

static bool link_used(const void *slot)
{
	return ((const struct slot *)slot)->link != NULL;
}

static bool link_same(const void *arg, const void *slot, const void *key)
{
	const struct slot *s = slot;
	const struct name *n = key;

	(void)arg;
	return s->hash == n->hash && s->link->dir == n->dir && s->link->len == n->len &&
	       !memcmp(s->link->name, n->name, n->len);
}

static uint64_t link_hash(const struct xw_table *t, const void *arg, const void *slot)
{
	(void)t;
	(void)arg;
	return ((const struct slot *)slot)->hash;
}

static const struct xw_table_kind by_name = {sizeof(struct slot), link_used, link_same, link_hash};

struct xw_binode *xw_tree_node(struct xw_tree *t, uint32_t mode)
{
	struct xw_binode *n = XW_ARENA_NEW(&t->arena, struct xw_binode);

	if (!n)
		return NULL;
	n->mode = (uint16_t)mode;
	if (xw_binode_is(n, XW_S_IFDIR)) {
		n->dir = XW_ARENA_NEW(&t->arena, struct xw_bdir);
		if (!n->dir)
			return NULL;
	}
	n->mtime = n->atime = t->now;
	n->ino = (xw_ino)++t->made;
	if (t->last)
		t->last->next = n;
	else
		t->first = n;
	t->last = n;
	return n;
}

int xw_tree_init(struct xw_tree *t, int64_t now, struct xw_diag *diag)
{
	memset(t, 0, sizeof(*t));
	t->now = now;
	t->diag = diag;
	t->root = xw_tree_node(t, XW_S_IFDIR | 0755);
	if (!t->root)
		return xw_fail_nomem(diag, "root directory");
	t->root->dir->parent = t->root;
	return 0;
}

void xw_tree_free(struct xw_tree *t)
{
	for (struct xw_binode *n = t->first; n; n = n->next) {
		if (n->map) {
			free(n->map->runs);
			free(n->map);
		}
		if (n->n_ext > 1)
			free(n->exts);
	}
	xw_table_free(&t->names);
	xw_vec_free(&t->lost);
	free(t->last_dir);
	xw_arena_free(&t->arena);
	memset(t, 0, sizeof(*t));
}

struct xw_blink *xw_tree_find(const struct xw_tree *t, const struct xw_binode *dir,
			      const char *name, size_t len)
{
	const struct name key = {dir, name, len, name_hash(&t->names, dir, name, len)};
	const struct slot *s = xw_table_get(&t->names, &by_name, NULL, key.hash, &key);

	return s && s->link->node ? s->link : NULL;
}

int xw_tree_link(struct xw_tree *t, struct xw_binode *dir, const char *name, size_t len,
		 struct xw_binode *node)
{
	struct name key = {dir, name, len, 0};
	struct slot *slot;
	struct xw_blink *l;

	if (xw_name_is_dots(name, len))
		return xw_fail(t->diag, XW_ERR_INPUT, "\"%.*s\" is not a valid name", (int)len,
			       name);
	if (xw_table_room(&t->names, &by_name, NULL))
		return xw_fail_nomem(t->diag, "name table");
	key.hash = name_hash(&t->names, dir, name, len);
	slot = xw_table_slot(&t->names, &by_name, NULL, key.hash, &key);
	l = slot->link;
	if (!l) {
		l = xw_arena_alloc(&t->arena, sizeof(*l) + len, _Alignof(struct xw_blink));
		if (!l)
			return xw_fail_nomem(t->diag, "directory entry");
		l->dir = dir;
		l->hash = 0;
		l->len = (uint8_t)len;
		memcpy(l->name, name, len);
		if (dir->dir->last)
			dir->dir->last->next = l;
		else
			dir->dir->first = l;
		dir->dir->last = l;
		*slot = (struct slot){l, key.hash};
		t->names.n++;
	}
	if (!node->links && !(node->flags & XW_BN_OLD))
		node->inherit = dir->inherit; /* not from directories of later links */
	l->node = node;
	l->layer = t->layer;
	node->links++;
	node->flags |= XW_BN_LINKS;
	dir->flags |= XW_BN_NAMES;
	dir->dir->entries++;
	if (xw_binode_is(node, XW_S_IFDIR)) {
		node->dir->parent = dir;
		dir->dir->subdirs++;
	}
	return 0;
}

bool xw_tree_covered(const struct xw_tree *t, const struct xw_binode *dir)
{
	while (dir != t->root && !(dir->flags & XW_BN_OPAQUE))
		dir = dir->dir->parent;
	return dir != t->root;
}

static int drop_name(struct xw_tree *t, struct xw_blink *l)
{
	struct xw_binode *n = l->node;
	const bool dir = xw_binode_is(n, XW_S_IFDIR), lost = n->flags & XW_BN_LAZY && !dir;

	if (lost && xw_vec_push(&t->lost, n->ino))
		return xw_fail_nomem(t->diag, "removed names");
	l->node = NULL;
	l->dir->flags |= XW_BN_NAMES;
	l->dir->dir->entries--;
	if (dir)
		l->dir->dir->subdirs--;
	n->links--;
	if (lost)
		return 0;
	n->flags |= XW_BN_LINKS;
	if (n->links)
		return 0;
	n->flags |= XW_BN_DEAD;
	return t->dropped ? t->dropped(t->dropped_arg, n) : 0;
}

int xw_tree_unlink(struct xw_tree *t, struct xw_blink *l)
{
	struct xw_binode *top = l->node, *dir = top;
	int rc = drop_name(t, l);

	t->last_parent = NULL;
	if (!xw_binode_is(top, XW_S_IFDIR))
		return rc;
	/*
	 * Depth first without recursion: all names of a finished directory are removed, so `first`
	 * advances.
	 */
	while (!rc) {
		struct xw_blink *c = dir->dir->first;

		while (c && !c->node)
			c = c->next;
		dir->dir->first = c;
		if (!c) {
			if (dir == top)
				return 0;
			dir = dir->dir->parent;
			continue;
		}
		if (xw_binode_is(c->node, XW_S_IFDIR)) {
			struct xw_binode *sub = c->node;

			rc = drop_name(t, c);
			dir = sub;
		} else {
			rc = drop_name(t, c);
		}
	}
	return rc;
}
