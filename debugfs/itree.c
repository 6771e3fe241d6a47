/* SPDX-License-Identifier: MIT */
/*
 * Verbs about the inode-ordered tree of a directory, itree(5): its nodes, and whether they are as
 * they should be.
 */
#include "config.h"

#include "itree.h"
#include "cli/env.h"
#include "dir/itree_image.h"
#include "disk/itree.h"
#include "print.h"
#include "read/map.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"

struct itree {
	struct dbg *d;
	xw_ino ino;
	const struct xw_inode *in;
	uint32_t seed;
	bool csum, any_names;
	uint64_t left; /* nodes that may still be looked at */
	uint8_t *buf; /* one a level */
};

static int root_of(struct itree *t, xw_blk *root)
{
	const uint32_t bs = t->d->img->block_size;
	struct xw_map_run run = {0};
	int rc;

	if (!(t->in->flags & XW_FL_ITREE))
		return xw_fail(&t->d->diag, XW_ERR_INPUT, "inode %" PRIu32 " has no itree", t->ino);
	rc = xw_map_lookup(t->d->img, t->ino, t->in, 0, &run);
	if (!rc && !run.len)
		rc = xw_fail(&t->d->diag, XW_ERR_CORRUPT,
			     "directory inode %" PRIu32 " has no first block", t->ino);
	if (!rc)
		rc = xw_image_meta(t->d->img, run.pblk, 0, t->buf, bs);
	if (rc)
		return rc;
	if (xw_itree_slot_get(t->buf, bs, t->csum, root))
		return xw_fail(&t->d->diag, XW_ERR_CORRUPT,
			       "directory inode %" PRIu32 ": its index has no pointer to an itree",
			       t->ino);
	return 0;
}

static void entry_json(struct xw_json *j, const struct xw_itree_entry *e)
{
	xw_json_object(j, NULL);
	xw_json_u64(j, "inode", e->key.ino);
	xw_json_u64(j, "hash", e->key.hash);
	xw_json_u64(j, "file_type", e->ftype);
	xw_json_str(j, "name", e->name, e->name_len);
	xw_json_end(j, '}');
}

static void dump_leaf(struct itree *t, const uint8_t *block, const struct xw_itree_hdr *h)
{
	struct xw_itree_entry e;
	uint32_t off = 0;

	while (off < h->used && !xw_itree_leaf_decode(block, h->used, off, &e, &off)) {
		if (t->d->json) {
			entry_json(&t->d->js, &e);
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

static int dump_node(struct itree *t, xw_blk blk, int want, uint8_t *block);

static void child_json(struct xw_json *j, const struct xw_itree_idx *e)
{
	xw_json_object(j, NULL);
	xw_json_u64(j, "inode", e->key.ino);
	xw_json_u64(j, "hash", e->key.hash);
	xw_json_u64(j, "block", e->blk);
	xw_json_u64(j, "full_percent", (e->quartile + 1) * 25);
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

static int dump_index(struct itree *t, uint8_t *block, const struct xw_itree_hdr *h)
{
	struct xw_itree_idx e;
	int rc = 0;

	if (!t->d->json)
		list_index(t, block, h);
	for (unsigned i = 0; i < h->count && !rc; i++) {
		(void)xw_itree_idx_decode(block, i, &e);
		if (t->d->json)
			child_json(&t->d->js, &e);
		rc = dump_node(t, e.blk, h->level - 1, block + t->d->img->block_size);
		if (t->d->json)
			xw_json_end(&t->d->js, '}');
	}
	return rc;
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

/* want: the level it must be of, -1 for the root. */
static int dump_node(struct itree *t, xw_blk blk, int want, uint8_t *block)
{
	const uint32_t bs = t->d->img->block_size;
	struct xw_itree_flaw flaw = {0};
	struct xw_itree_hdr h;
	int rc;

	if (cli_interrupted())
		return DBG_SAID;
	if (!t->left--) {
		t->left = 0;
		dbg_complain(t->d, "more nodes than the filesystem has blocks");
		return DBG_SAID;
	}
	rc = xw_image_has_blocks(t->d->img, blk, 1) ? xw_image_meta(t->d->img, blk, 0, block, bs)
						    : XW_ERR_CORRUPT;
	if (!rc)
		rc = xw_itree_node_check(block, bs, t->any_names, &h, &flaw);
	if (!rc && want >= 0 && h.level != want)
		rc = XW_ERR_CORRUPT;
	if (rc) {
		xw_diag_clear(&t->d->diag);
		dbg_complain(t->d, "block %" PRIu64 ": no node of this tree: %s", blk,
			     flaw.what ? flaw.what : "its place or level");
		return 0;
	}
	if (xw_itree_hdr_belongs(&h, t->ino, t->in->generation, blk, &flaw))
		dbg_complain(t->d, "block %" PRIu64 ": %s", blk, flaw.what);
	if (!t->d->how.no_csum && xw_itree_verify(block, bs, t->csum, t->seed))
		dbg_complain(t->d, "block %" PRIu64 ": checksum mismatch", blk);
	begin_node(t, &h, blk, want < 0);
	if (h.level)
		rc = dump_index(t, block, &h);
	else
		dump_leaf(t, block, &h);
	if (t->d->json) {
		xw_json_end(&t->d->js, ']');
		xw_json_end(&t->d->js, '}');
	}
	return rc;
}

int dbg_verb_itree(struct dbg *d, int argc, char **argv)
{
	struct itree t = {.d = d};
	auto_free uint8_t *buf = NULL;
	struct xw_inode in;
	xw_blk root;
	int rc;

	if (argc != 2)
		return DBG_USAGE;
	rc = dbg_directory(d, argv[1], &t.ino, &in, NULL);
	if (rc)
		return rc;
	/* levels go down from a header's byte: the deepest allowed, and a block for dx_root */
	buf = malloc((size_t)(XW_ITREE_LEVELS + 1) * d->img->block_size);
	if (!buf)
		return xw_fail_nomem(&d->diag, "nodes");
	t.in = &in;
	t.buf = buf;
	t.seed = xw_image_inode_seed(d->img, t.ino, &in);
	t.csum = xw_super_has_csum(&d->img->sb);
	t.any_names = in.flags & XW_FL_ENCRYPT;
	t.left = xw_image_blocks_here(d->img);
	rc = root_of(&t, &root);
	return rc ? rc : dump_node(&t, root, -1, buf);
}

/* ---- itree_check ---- */

static int on_finding(void *arg, const struct xw_itree_finding *f)
{
	struct dbg *d = arg;

	if (d->json) {
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
	fprintf(d->out,
		"rule %u: block %" PRIu64 ", level %u, entry %u: %s (found %" PRIu64
		", wanted %" PRIu64 ")\n",
		f->rule, f->blk, f->level, f->entry, f->what, f->found, f->wanted);
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
		fprintf(d->out, "%s: no itree\n", argv[1]);
	} else if (!rc) {
		fprintf(d->out,
			"%s: %u levels, %" PRIu64 " nodes, %" PRIu64 " leaves, %" PRIu64
			" entries, %" PRIu64 " findings\n",
			argv[1], res.levels, res.nodes, res.leaves, res.entries, res.findings);
	}
	return rc ? rc : res.findings ? DBG_SAID : 0;
}

/* ---- feature itree ---- */

struct stale {
	xw_ino ino;
	unsigned rule;
	const char *what; /* NULL: nothing was found */
};

static int first_finding(void *arg, const struct xw_itree_finding *f)
{
	struct stale *s = arg;

	/* that the feature is missing is what is to be mended */
	if (f->rule != 1 && !s->what)
		*s = (struct stale){f->dir, f->rule, f->what};
	return 0;
}

static int judge(struct dbg *d, xw_ino ino, struct stale *s)
{
	struct xw_itree_result res;
	int rc = xw_itree_check_inode(d->img, ino, first_finding, s, &res);

	if (!rc && !s->what && !res.has_tree)
		*s = (struct stale){ino, 1, "its index leads to no tree"};
	return rc;
}

int dbg_itrees_hold(struct dbg *d)
{
	struct xw_inode_scan scan;
	struct stale s = {0};
	const uint8_t *raw;
	xw_ino ino;
	int rc = xw_inode_scan_begin(d->img, 0, d->img->groups, &scan);

	while (!rc && !s.what && (rc = xw_inode_scan_next(&scan, &ino, &raw)) == 1) {
		struct xw_inode in;

		rc = 0;
		if (!xw_inode_decode(raw, &d->img->sb, &in) && in.links &&
		    (in.mode & XW_S_IFMT) == XW_S_IFDIR && in.flags & XW_FL_ITREE)
			rc = judge(d, ino, &s);
	}
	xw_inode_scan_end(&scan);
	if (rc || !s.what)
		return rc;
	return xw_fail(&d->diag, XW_ERR_STATE,
		       "directory inode %" PRIu32
		       " is marked as one with an itree, which is not its own any more (rule %u: "
		       "%s)",
		       s.ino, s.rule, s.what);
}
