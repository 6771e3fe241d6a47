/* SPDX-License-Identifier: MIT */
/* Verbs about the inode-ordered tree of a directory, itree(5): printing and checking its nodes. */
#include "config.h"

#include "itree.h"
#include "base/auto.h"
#include "cli/env.h"
#include "dir/itree_image.h"
#include "disk/itree.h"
#include "print.h"
#include "read/itree.h"
#include "svg.h"
#include "walk/itree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct itree {
	struct dbg *d;
	xw_ino ino;
	const struct xw_inode *in;
	bool csum, any_names;
	bool in_child; /* the entry of a child was begun, but not the node */
	struct dbg_itree_shape *shape; /* collects the nodes of a drawing; NULL: print them */
	const char *name; /* the directory as typed */
	struct xw_walk_itree it;
};

static void dump_leaf(struct itree *t, const uint8_t *block, const struct xw_itree_hdr *h)
{
	struct xw_json *j = &t->d->js;
	struct xw_itree_entry e;
	uint32_t off = 0;

	while (off < h->used && !xw_itree_leaf_decode(block, h->used, off, &e, &off)) {
		if (t->d->json) {
			xw_json_object(j, NULL);
			xw_json_u64(j, "inode", e.key.ino);
			xw_json_u64(j, "hash", e.key.hash);
			xw_json_u64(j, "file_type", e.ftype);
			xw_json_str(j, "name", e.name, e.name_len);
			xw_json_end(j, '}');
			continue;
		}
		fprintf(t->d->out, "%" PRIu32 " 0x%08" PRIx32 " (%u) ", e.key.ino, e.key.hash,
			e.ftype);
		if (t->any_names)
			fprintf(t->d->out, "<encrypted (%u)>", e.name_len);
		else
			dbg_print_name(t->d, e.name, e.name_len);
		fputc('\n', t->d->out);
	}
}

static void list_index(struct itree *t, const uint8_t *block, const struct xw_itree_hdr *h)
{
	struct xw_itree_idx e;

	for (unsigned i = 0; i < h->count; i++) {
		(void)xw_itree_idx_decode(block, i, &e);
		fprintf(t->d->out,
			"Entry #%u: inode %" PRIu32 ", hash 0x%08" PRIx32 ", block %" PRIu64
			", up to %u %% full\n",
			i, e.key.ino, e.key.hash, e.blk, (e.quartile + 1) * 25);
	}
	fputc('\n', t->d->out);
}

static void begin_node(struct itree *t, const struct xw_itree_hdr *h, xw_blk blk, bool root)
{
	const uint32_t cap = xw_itree_cap(t->d->img->block_size);
	struct xw_json *j = &t->d->js;

	if (!t->d->json) {
		fprintf(t->d->out,
			"%s node at block %" PRIu64 ", level %u: %u entries, %u of %" PRIu32
			" bytes\n",
			root       ? "Root"
			: h->level ? "Index"
				   : "Leaf",
			blk, h->level, h->count, h->used, cap);
		return;
	}
	xw_json_object(j, root ? NULL : "node");
	xw_json_u64(j, "block", blk);
	xw_json_u64(j, "level", h->level);
	xw_json_u64(j, "count", h->count);
	xw_json_u64(j, "used", h->used);
	xw_json_u64(j, "capacity", cap);
	xw_json_array(j, "entries");
}

/* Begin the entry of a child in its parent. */
static void begin_child(struct itree *t, const struct xw_walk_itree_item *child)
{
	struct xw_json *j = &t->d->js;
	struct xw_itree_idx e;

	if (!t->d->json || child->root || t->in_child)
		return;
	(void)xw_itree_idx_decode(t->it.at[child->level + 1].block, child->entry, &e);
	xw_json_object(j, NULL);
	xw_json_u64(j, "inode", e.key.ino);
	xw_json_u64(j, "hash", e.key.hash);
	xw_json_u64(j, "block", e.blk);
	xw_json_u64(j, "full_percent", (e.quartile + 1) * 25);
	t->in_child = true;
}

static void end_child(struct itree *t, bool root)
{
	if (t->d->json && !root)
		xw_json_end(&t->d->js, '}');
	t->in_child = false;
}

static void print_finding(struct itree *t, const struct xw_walk_itree_item *f)
{
	xw_diag_clear(&t->d->diag);
	if (!f->left_out || t->shape) {
		dbg_complain(t->d, "block %" PRIu64 ": %s", f->blk, f->what);
		return;
	}
	begin_child(t, &t->it.child);
	dbg_complain(t->d, "block %" PRIu64 ": not a node of this tree: %s", f->blk, f->what);
	end_child(t, f->root);
}

static int on_item(struct itree *t, const struct xw_walk_itree_item *item)
{
	if (item->kind == XW_WALK_ITREE_NODE && cli_interrupted())
		return DBG_SAID;
	if (t->shape)
		return item->kind == XW_WALK_ITREE_NODE
			       ? dbg_itree_shape_add(t->shape, item->blk, &item->h, item->block)
			       : 0;
	switch (item->kind) {
	case XW_WALK_ITREE_CHILD:
		begin_child(t, item);
		break;
	case XW_WALK_ITREE_NODE:
		t->in_child = false;
		begin_node(t, &item->h, item->blk, item->root);
		if (!item->level)
			dump_leaf(t, item->block, &item->h);
		else if (!t->d->json)
			list_index(t, item->block, &item->h);
		break;
	case XW_WALK_ITREE_DONE:
		if (t->d->json) {
			xw_json_end(&t->d->js, ']');
			xw_json_end(&t->d->js, '}');
		}
		end_child(t, item->root);
		break;
	}
	return 0;
}

static int read_node(void *arg, xw_blk blk, void *buf)
{
	struct itree *t = arg;

	return xw_image_meta(t->d->img, blk, 0, buf, t->d->img->block_size);
}

static int dump(struct itree *t, xw_blk root)
{
	const struct xw_image *img = t->d->img;
	const struct xw_walk_itree_env env = {
		.block_size = img->block_size,
		.csum = t->csum,
		.unverified = t->d->how.no_csum,
		.any_names = t->any_names,
		.dir = t->ino,
		.generation = t->in->generation,
		.seed = xw_image_inode_seed(img, t->ino, t->in),
		.first_data_block = img->sb.first_data_block,
		.blocks_count = img->sb.blocks_count,
		.read = read_node,
		.arg = t,
	};
	struct xw_walk_itree_item item;
	int more, rc = xw_walk_itree_begin(&t->it, &env, root);

	while (!rc && (more = xw_walk_itree_next(&t->it, &item)) != 0) {
		if (more == 2)
			print_finding(t, &item);
		else
			rc = more < 0 ? more : on_item(t, &item);
	}
	xw_walk_itree_end(&t->it);
	return rc == XW_ERR_NOMEM ? xw_fail_nomem(&t->d->diag, "nodes") : rc;
}

static int draw(void *arg, FILE *out)
{
	struct itree *t = arg;
	int rc = dbg_itree_svg(t->d, t->shape, out, t->name);

	return rc == XW_ERR_NOMEM ? xw_fail_nomem(&t->d->diag, "nodes") : rc;
}

static int dump_svg(struct itree *t, xw_blk root, const char *path)
{
	auto_end(dbg_itree_shape_free) struct dbg_itree_shape shape = {
		.cap = xw_itree_cap(t->d->img->block_size)};
	int rc;

	t->shape = &shape;
	rc = dump(t, root);
	return rc ? rc : dbg_draw(t->d, path, draw, t);
}

int dbg_verb_itree(struct dbg *d, int argc, char **argv)
{
	struct itree t = {.d = d};
	const char *svg;
	struct xw_inode in;
	xw_blk root;
	int rc = dbg_svg_option(d, &argc, argv, &svg);

	if (rc || argc != 2)
		return rc ? rc : DBG_USAGE;
	rc = dbg_directory(d, argv[1], &t.ino, &in, NULL);
	if (rc)
		return rc;
	t.in = &in;
	t.name = argv[1];
	t.csum = xw_super_has_csum(&d->img->sb);
	t.any_names = in.flags & XW_FL_ENCRYPT;
	if (!(in.flags & XW_FL_ITREE))
		return xw_fail(&d->diag, XW_ERR_INPUT, "inode %" PRIu32 " has no itree", t.ino);
	rc = xw_itree_root(d->img, t.ino, &in, &root);
	if (rc)
		return rc;
	return svg ? dump_svg(&t, root, svg) : dump(&t, root);
}

/* ---- itree_check ---- */

static int on_finding(void *arg, const struct xw_itree_finding *f)
{
	struct dbg *d = arg;

	if (!d->json) {
		fprintf(d->out,
			"rule %u: block %" PRIu64 ", level %u, entry %u: %s (found %" PRIu64
			", wanted %" PRIu64 ")\n",
			f->rule, f->blk, f->level, f->entry, f->what, f->found, f->wanted);
		return 0;
	}
	xw_json_object(&d->js, NULL);
	xw_json_u64(&d->js, "rule", f->rule);
	xw_json_u64(&d->js, "block", f->blk);
	xw_json_u64(&d->js, "level", f->level);
	xw_json_u64(&d->js, "entry", f->entry);
	xw_json_str(&d->js, "what", f->what, strlen(f->what));
	xw_json_u64(&d->js, "found", f->found);
	xw_json_u64(&d->js, "wanted", f->wanted);
	xw_json_end(&d->js, '}');
	return 0;
}

int dbg_verb_itree_check(struct dbg *d, int argc, char **argv)
{
	struct xw_itree_result res;
	struct xw_inode in;
	xw_ino ino;
	int rc;

	if (argc != 2)
		return DBG_USAGE;
	rc = dbg_directory(d, argv[1], &ino, &in, NULL);
	if (rc)
		return rc;
	if (d->json) {
		xw_json_object(&d->js, NULL);
		xw_json_array(&d->js, "findings");
	}
	rc = xw_itree_check_inode(d->img, ino, on_finding, d, &res);
	if (d->json) {
		xw_json_end(&d->js, ']');
		xw_json_bool(&d->js, "has_tree", res.has_tree);
		xw_json_u64(&d->js, "levels", res.levels);
		xw_json_u64(&d->js, "nodes", res.nodes);
		xw_json_u64(&d->js, "leaves", res.leaves);
		xw_json_u64(&d->js, "entries", res.entries);
		xw_json_end(&d->js, '}');
	} else if (!rc && !res.has_tree && !res.findings) {
		dbg_printf(d, "%s: no itree\n", argv[1]);
	} else if (!rc) {
		dbg_printf(d,
			   "%s: %u levels, %" PRIu64 " nodes, %" PRIu64 " leaves, %" PRIu64
			   " entries, %" PRIu64 " findings\n",
			   argv[1], res.levels, res.nodes, res.leaves, res.entries, res.findings);
	}
	return rc ? rc : res.findings ? DBG_SAID : 0;
}

/* ---- feature itree ---- */

/* The first finding, except for the missing feature, which is about to be set. */
struct stale {
	unsigned rule;
	const char *what; /* NULL: no finding */
};

static int first_finding(void *arg, const struct xw_itree_finding *f)
{
	struct stale *s = arg;

	if (f->rule != 1 && !s->what)
		*s = (struct stale){f->rule, f->what};
	return 0;
}

int dbg_check_itree_flags(struct dbg *d)
{
	auto_end(xw_inode_scan_end) struct xw_inode_scan scan = {0};
	struct stale s = {0};
	const uint8_t *raw;
	xw_ino ino;
	int rc = xw_inode_scan_begin(d->img, 0, d->img->groups, &scan);

	while (!rc && (rc = xw_inode_scan_next(&scan, &ino, &raw)) == 1) {
		struct xw_itree_result res;
		struct xw_inode in;

		rc = 0;
		if (xw_inode_decode(raw, &d->img->sb, &in) || !in.links ||
		    (in.mode & XW_S_IFMT) != XW_S_IFDIR || !(in.flags & XW_FL_ITREE))
			continue;
		rc = xw_itree_check_inode(d->img, ino, first_finding, &s, &res);
		if (!rc && !s.what && !res.has_tree)
			s = (struct stale){1, "its index does not point to a tree"};
		if (!rc && s.what)
			return xw_fail(&d->diag, XW_ERR_STATE,
				       "directory inode %" PRIu32
				       ": the itree flag is stale (rule %u: %s)",
				       ino, s.rule, s.what);
	}
	return rc;
}
