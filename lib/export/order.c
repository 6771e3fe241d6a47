/* SPDX-License-Identifier: MIT */
/*
 * Items whose directory is not in the window belong to directories of earlier windows. All items of
 * such a directory form a group; the groups keep the order in which the walk leaves their
 * directories. The entries of a directory or group are sorted by the lowest key in each, except
 * that an entry whose contents continue in the next window is last.
 */
#include "export/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"

struct node {
	uint32_t seq;
	uint32_t parent; /* number of a group, or n + 1 + the index of a directory */
	xw_blk key; /* lowest key of the item and everything below it */
	bool open; /* the walk continues below this item */
};

/* A part of the sorted nodes: the entries of one directory. */
struct span {
	uint32_t at, end;
};

/* Length of the path without its last component. */
static size_t directory_len(const struct xw_order_item *e)
{
	size_t n = e->path_len;

	while (n && e->path[n - 1] != '/')
		n--;
	return n;
}

/* Set the parents of all nodes; `up` is a stack for n indexes. */
static void set_parents(const struct xw_order_item *v, size_t n, struct node *nodes, uint32_t *up)
{
	const struct xw_order_item *last = NULL;
	uint32_t group = 0;
	size_t depth = 0;

	for (size_t i = 0; i < n; i++) {
		while (depth && v[i].depth <= v[up[depth - 1]].depth)
			depth--;
		nodes[i] = (struct node){.seq = (uint32_t)i, .key = v[i].key};
		if (depth) {
			nodes[i].parent = (uint32_t)n + 1 + up[depth - 1];
		} else {
			const size_t len = directory_len(&v[i]);

			group += last &&
				 (len != directory_len(last) || memcmp(last->path, v[i].path, len));
			nodes[i].parent = group;
			last = &v[i];
		}
		up[depth++] = (uint32_t)i;
	}
}

static int compare(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->open != y->open)
		return x->open ? 1 : -1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Output the sorted nodes depth first: each directory, then its entries. */
static void descend(const struct node *nodes, size_t n, struct span *children, struct span *stack,
		    uint32_t *order)
{
	size_t depth = 0, out = 0;
	uint32_t top = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t parent = nodes[i].parent;

		if (parent <= n) {
			top = i + 1;
			continue;
		}
		if (!i || nodes[i - 1].parent != parent)
			children[parent - n - 1].at = i;
		children[parent - n - 1].end = i + 1;
	}
	stack[depth++] = (struct span){0, top};
	while (depth) {
		struct span *s = &stack[depth - 1];
		uint32_t seq;

		if (s->at == s->end) {
			depth--;
			continue;
		}
		seq = nodes[s->at++].seq;
		order[out++] = seq;
		if (children[seq].end)
			stack[depth++] = children[seq];
	}
}

int xw_order_tree(const struct xw_order_item *v, size_t n, bool more, uint32_t *order)
{
	auto_free struct node *nodes = calloc(n, sizeof(*nodes));
	auto_free struct span *children = calloc(n, sizeof(*children));
	auto_free struct span *stack = calloc(n + 1, sizeof(*stack));

	if (!nodes || !children || !stack)
		return XW_ERR_NOMEM;
	set_parents(v, n, nodes, order);
	for (size_t i = n; i--;) {
		struct node *up = nodes[i].parent > n ? &nodes[nodes[i].parent - n - 1] : NULL;

		nodes[i].open |= more && i == n - 1;
		if (!up)
			continue;
		up->key = XW_MIN(up->key, nodes[i].key);
		up->open |= nodes[i].open;
	}
	qsort(nodes, n, sizeof(*nodes), compare);
	descend(nodes, n, children, stack, order);
	return 0;
}
