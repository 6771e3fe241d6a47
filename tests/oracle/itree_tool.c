/* SPDX-License-Identifier: MIT */
/*
 * For itree.sh: what the library says of the itrees in an image.
 *
 *   o_itree check IMAGE [RULE...]
 *	the checker's findings but those of the rules named, one a line; then "DIRECTORIES NODES
 *	ENTRIES". Exit 0: none.
 *   o_itree walk IMAGE
 *	every directory with an itree read by it, with its inodes: numbers ascend, each block of
 *	the inode tables is read once, and the entries are those of the directory. Exit 0: so it
 *	is.
 *   o_itree narrow IMAGE
 *	clear all above the block number in the root nodes' entries: the format's example has
 *	eight bits of fullness there
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "dir/itree_image.h"
#include "read/dirs.h"
#include "read/itree.h"
#include "table_walk.h"

struct tool {
	struct xw_image *img;
	unsigned ignored; /* bit r: rule r */
	uint64_t bad, dirs, nodes, entries;
};

static int say(void *arg, const struct xw_itree_finding *f)
{
	struct tool *t = arg;

	if (t->ignored & 1u << f->rule)
		return 0;
	if (t->bad++ < 20)
		printf("# inode %" PRIu32 ", block %" PRIu64 ": rule %u: %s (%" PRIu64
		       ", wanted %" PRIu64 ")\n",
		       f->dir, f->blk, f->rule, f->what, f->found, f->wanted);
	return 0;
}

static int check_one(struct tool *t, xw_ino ino)
{
	struct xw_itree_result res;
	int rc = xw_itree_check_inode(t->img, ino, say, t, &res);

	t->dirs += res.has_tree;
	t->nodes += res.nodes;
	t->entries += res.entries;
	return rc;
}

static int sum_of_directory(struct tool *t, xw_ino ino, const struct xw_inode *inode,
			    const uint8_t *raw, struct xw_itree_sum *sum)
{
	struct xw_dir_iter it;
	struct xw_dirent e;
	unsigned dots = 0;
	int rc = xw_dir_begin(t->img, ino, inode, raw, &it);

	while (!rc && (rc = xw_dir_next(&it, &e, NULL)) == 1) {
		rc = 0;
		if (dots++ > 1)
			xw_itree_sum_add(sum, e.ino, e.ftype, e.name, e.name_len);
	}
	xw_dir_end(&it);
	return rc;
}

static int count_node(void *arg, xw_blk blk, unsigned level)
{
	(void)blk;
	(void)level;
	++*(uint64_t *)arg;
	return 0;
}

static int walk_one(struct tool *t, xw_ino ino)
{
	auto_free uint8_t *raw = malloc(t->img->inode_size);
	const uint32_t per_block = t->img->block_size / t->img->inode_size;
	const bool typed = t->img->sb.feature_incompat & XW_INCOMPAT_FILETYPE;
	struct xw_itree_sum tree = {0}, dir = {0};
	struct xw_inode inode, child;
	struct table_walk tables = {0};
	struct xw_itree_iter it;
	struct xw_itree_entry e;
	uint64_t blocks = 0;
	xw_ino last = 0;
	int rc = xw_image_inode(t->img, ino, &inode, raw);

	if (rc)
		return rc;
	rc = xw_itree_begin(t->img, ino, &inode, &it);
	if (rc == XW_ERR_NOTFOUND) {
		xw_itree_end(&it);
		return 0;
	}
	t->nodes++; /* the root */
	it.on_node = count_node;
	it.arg = &t->nodes;
	if (!rc)
		rc = table_walk_begin(&tables, t->img);
	while (!rc && (rc = xw_itree_next(&it, &e)) == 1) {
		rc = table_walk_inode(&tables, e.key.ino, &child);
		t->bad += e.key.ino < last || (typed && xw_ftype_of_mode(child.mode) != e.ftype);
		blocks += !last || (e.key.ino - 1) / per_block != (last - 1) / per_block;
		last = e.key.ino;
		xw_itree_sum_add(&tree, e.key.ino, e.ftype, e.name, e.name_len);
	}
	if (!rc)
		rc = sum_of_directory(t, ino, &inode, raw, &dir);
	t->bad += tables.reads != blocks || !xw_itree_sum_equal(&tree, &dir);
	t->dirs++;
	t->entries += tree.n;
	table_walk_end(&tables);
	xw_itree_end(&it);
	return rc;
}

static int narrow_one(struct tool *t, xw_ino ino)
{
	const uint32_t bs = t->img->block_size;
	auto_free uint8_t *block = malloc(bs);
	struct xw_inode inode;
	struct xw_itree_idx e;
	struct xw_itree_hdr h;
	struct xw_map_run run;
	xw_blk root;
	int rc = xw_image_inode(t->img, ino, &inode, NULL);

	if (!rc)
		rc = xw_map_lookup(t->img, ino, &inode, 0, &run);
	if (!rc)
		rc = xw_dev_pread(t->img->dev, block, bs, run.pblk * bs);
	if (!rc)
		rc = xw_itree_slot_get(block, bs, xw_super_has_csum(&t->img->sb), &root);
	if (!rc)
		rc = xw_dev_pread(t->img->dev, block, bs, root * bs);
	if (!rc)
		rc = xw_itree_hdr_decode(block, bs, &h, NULL);
	for (unsigned i = 0; !rc && h.level && i < h.count; i++) {
		xw_itree_idx_decode(block, i, &e);
		e.quartile = 0;
		xw_itree_idx_encode(block, i, &e);
	}
	if (rc)
		return rc;
	xw_itree_set_csum(block, bs, xw_super_has_csum(&t->img->sb),
			  xw_image_inode_seed(t->img, ino, &inode));
	return xw_dev_pwrite(t->img->dev, block, bs, root * bs);
}

int main(int argc, char **argv)
{
	struct xw_diag diag = {0};
	struct tool t = {0};
	struct xw_inode_scan s = {0};
	struct xw_dev *dev = NULL;
	const uint8_t *raw;
	xw_ino ino;
	char verb;
	int rc;

	if (argc < 3 || !strchr("cwn", argv[1][0]))
		return 2;
	verb = argv[1][0];
	for (int i = 3; i < argc; i++)
		t.ignored |= 1u << strtoul(argv[i], NULL, 10) % 32;
	rc = xw_dev_open_file(argv[2], verb == 'n' ? 0 : XW_DEV_RDONLY, &diag, &dev);
	if (!rc)
		rc = xw_image_open(dev, verb == 'c' ? XW_IMAGE_NOCSUM : 0, &diag, &t.img);
	if (!rc)
		rc = xw_inode_scan_begin(t.img, 0, t.img->groups, &s);
	while (!rc && (rc = xw_inode_scan_next(&s, &ino, &raw)) == 1) {
		struct xw_inode inode;

		rc = 0;
		if (xw_inode_decode(raw, &t.img->sb, &inode) || !(inode.flags & XW_FL_ITREE) ||
		    (inode.mode & XW_S_IFMT) != XW_S_IFDIR)
			continue;
		rc = verb == 'c'   ? check_one(&t, ino)
		     : verb == 'w' ? walk_one(&t, ino)
				   : narrow_one(&t, ino);
	}
	if (rc)
		printf("# %s\n", diag.text);
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", t.dirs, t.nodes, t.entries);
	xw_inode_scan_end(&s);
	xw_image_close(t.img);
	xw_dev_close(dev);
	return rc || t.bad;
}
