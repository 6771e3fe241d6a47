/* SPDX-License-Identifier: MIT */
/*
 * A small image made by hand, for the tests of lib/read: every kind of map, directory and
 * attribute. Independent of Check, so that the fuzz target can use it.
 */
#ifndef XW_TESTS_READ_FIX_H
#define XW_TESTS_READ_FIX_H

#include <stdio.h>
#include <stdlib.h>

#include "base/endian.h"
#include "dir/build.h"
#include "disk/indirect.h"
#include "memdev.h"
#include "walk.h"

#define FIX_MUST(x)                                                                                \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                    \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

#define BS 1024u
#define BLOCKS 8192u
#define INODES 128u
#define INODE_SIZE 256u
#define TABLE 10u /* first block of the inode table */
#define DATA 100u /* first block that is nobody's yet */

struct fixture {
	struct xw_dev *dev;
	struct xw_diag diag;
	struct xw_super sb;
	struct xw_image *img;
	xw_blk next; /* free block */
	uint32_t seed;
};

/* ---- making an image ---- */

static inline void put_super(struct fixture *fx)
{
	uint8_t buf[XW_SUPER_SIZE];

	xw_super_encode(&fx->sb, buf);
	FIX_MUST(!(xw_dev_pwrite(fx->dev, buf, sizeof(buf), XW_SUPER_OFFSET)));
}

static inline void put_group(struct fixture *fx, const struct xw_group_desc *gd)
{
	uint8_t buf[64] = {0};

	xw_group_encode(gd, &fx->sb, fx->seed, 0, buf);
	FIX_MUST(!(xw_dev_pwrite(fx->dev, buf, sizeof(buf), 2 * BS)));
}

static inline void make_image(struct fixture *fx, bool csum)
{
	memset(fx, 0, sizeof(*fx));
	fx->sb = (struct xw_super){
		.inodes_count = INODES,
		.blocks_count = BLOCKS,
		.first_data_block = 1,
		.blocks_per_group = 8192,
		.clusters_per_group = 8192,
		.inodes_per_group = INODES,
		.magic = XW_SUPER_MAGIC,
		.rev_level = 1,
		.first_ino = 11,
		.inode_size = INODE_SIZE,
		.desc_size = 64,
		.feature_compat = XW_COMPAT_EXT_ATTR | XW_COMPAT_DIR_INDEX,
		.feature_incompat = XW_INCOMPAT_FILETYPE | XW_INCOMPAT_EXTENTS | XW_INCOMPAT_64BIT |
				    XW_INCOMPAT_EA_INODE | XW_INCOMPAT_INLINE_DATA,
		.feature_ro_compat =
			XW_RO_LARGE_FILE | XW_RO_EXTRA_ISIZE | (csum ? XW_RO_METADATA_CSUM : 0),
		.checksum_type = 1,
		.uuid = {1, 2, 3, 4},
		.def_hash_version = 1,
		.min_extra_isize = 32,
		.want_extra_isize = 32,
	};
	fx->next = DATA;
	fx->seed = xw_super_csum_seed(&fx->sb);
	FIX_MUST(!(xw_dev_open_mem((uint64_t)BLOCKS * BS, &fx->diag, &fx->dev)));
	put_super(fx);
	put_group(fx, &(struct xw_group_desc){
			      .block_bitmap = 3, .inode_bitmap = 4, .inode_table = TABLE});
}

static inline void open_it(struct fixture *fx, unsigned flags)
{
	FIX_MUST(!(xw_image_open(fx->dev, flags, &fx->diag, &fx->img)));
}

static inline void drop(struct fixture *fx)
{
	xw_image_close(fx->img);
	xw_dev_close(fx->dev);
}

static inline void put_block(struct fixture *fx, xw_blk blk, const void *buf)
{
	FIX_MUST(!(xw_dev_pwrite(fx->dev, buf, BS, blk * BS)));
}

/* xattrs: bytes for the area behind the fields, or NULL */
static inline void put_inode(struct fixture *fx, xw_ino ino, struct xw_inode *inode,
			     const void *xattrs, size_t len)
{
	uint8_t buf[INODE_SIZE] = {0};

	inode->extra_isize = 32;
	if (!inode->links)
		inode->links = 1;
	xw_inode_encode(inode, &fx->sb, buf);
	if (xattrs)
		memcpy(buf + 160, xattrs, len);
	xw_inode_set_csum(buf, &fx->sb, fx->seed, ino);
	FIX_MUST(!(xw_dev_pwrite(fx->dev, buf, sizeof(buf), TABLE * BS + (ino - 1) * INODE_SIZE)));
}

static inline uint32_t inode_seed(const struct fixture *fx, xw_ino ino)
{
	return xw_inode_seed(fx->seed, ino, 0);
}

/* A leaf of extents in i_block. */
static inline void root_leaf(struct xw_inode *inode, const struct xw_extent *e, unsigned n)
{
	xw_extent_hdr_encode(inode->block,
			     &(struct xw_extent_hdr){.entries = (uint16_t)n, .max = 4});
	for (unsigned i = 0; i < n; i++)
		xw_extent_leaf_encode(inode->block, i, &e[i]);
	inode->flags |= XW_FL_EXTENTS;
}

/* Fill blocks with their own number, so that contents tell where they came from. */
static inline void paint(struct fixture *fx, xw_blk blk, uint32_t len)
{
	uint8_t buf[BS];

	for (; len--; blk++) {
		for (unsigned i = 0; i < BS; i += 4)
			poke32(buf + i, (uint32_t)blk);
		put_block(fx, blk, buf);
	}
}

/*
 * An extent tree of the given depth: one-block extents at even logical blocks, `width` entries a
 * node. Returns the root.
 */
static inline void build_node(struct fixture *fx, uint8_t *node, size_t size, xw_ino ino,
			      unsigned depth, unsigned width, uint32_t *lblk)
{
	struct xw_extent_hdr h = {.entries = (uint16_t)width,
				  .max = size == 60 ? 4 : (uint16_t)xw_extent_node_max(BS),
				  .depth = (uint16_t)depth};

	memset(node, 0, size);
	xw_extent_hdr_encode(node, &h);
	for (unsigned i = 0; i < width; i++) {
		if (!depth) {
			struct xw_extent e = {.lblk = *lblk, .len = 1, .pblk = 1000 + *lblk / 2};

			xw_extent_leaf_encode(node, i, &e);
			*lblk += 2;
		} else {
			struct xw_extent_idx x = {.lblk = *lblk, .pblk = fx->next++};
			uint8_t child[BS];

			build_node(fx, child, BS, ino, depth - 1, width, lblk);
			xw_extent_block_set_csum(child, BS, inode_seed(fx, ino));
			put_block(fx, x.pblk, child);
			xw_extent_idx_encode(node, i, &x);
		}
	}
}

static inline void make_tree(struct fixture *fx, xw_ino ino, unsigned depth, unsigned width,
			     uint32_t *blocks)
{
	struct xw_inode inode = {.mode = XW_S_IFREG, .flags = XW_FL_EXTENTS};

	*blocks = 0;
	build_node(fx, inode.block, 60, ino, depth, width, blocks);
	inode.size = (uint64_t)*blocks * BS;
	*blocks /= 2;
	put_inode(fx, ino, &inode, NULL, 0);
}

/* Point lblk of a block-mapped inode at blk, adding pointer blocks. */
static inline void map_block(struct fixture *fx, struct xw_inode *inode, xw_lblk lblk, uint32_t blk)
{
	unsigned path[4], depth;
	uint8_t buf[BS];
	uint32_t at;

	FIX_MUST(!(xw_indirect_path(BS, lblk, path, &depth)));
	if (!depth) {
		poke32(inode->block + 4 * path[0], blk);
		return;
	}
	at = peek32(inode->block + 4 * path[0]);
	if (!at) {
		at = (uint32_t)fx->next++;
		poke32(inode->block + 4 * path[0], at);
	}
	for (unsigned i = 1; i <= depth; i++) {
		uint32_t child;

		FIX_MUST(!(xw_dev_pread(fx->dev, buf, BS, (uint64_t)at * BS)));
		child = i == depth ? blk : peek32(buf + 4 * path[i]);
		if (!child)
			child = (uint32_t)fx->next++;
		poke32(buf + 4 * path[i], child);
		put_block(fx, at, buf);
		at = child;
	}
}

struct dir_put {
	struct fixture *fx;
	xw_blk first;
};

static inline int put_dir_block(void *arg, uint32_t lblk, const void *block)
{
	struct dir_put *p = arg;

	put_block(p->fx, p->first + lblk, block);
	return 0;
}

/* Directory `ino` with entries name0 .. name(n-1), all of inode 11 unless to[] says otherwise. */
static inline void make_dir(struct fixture *fx, xw_ino ino, xw_ino parent, unsigned n,
			    const char *const *names, const xw_ino *to, bool indexed)
{
	struct xw_dir_format f = {
		.block_size = BS,
		.filetype = true,
		.csum = xw_super_has_csum(&fx->sb),
		.dir_index = indexed,
		.hash_version = xw_dx_version(&fx->sb, fx->sb.def_hash_version),
	};
	const struct xw_dir_self self = {
		.ino = ino, .parent = parent, .inode_seed = inode_seed(fx, ino)};
	struct xw_dir_entry *v = calloc(n + 1, sizeof(*v));
	struct dir_put put = {.fx = fx, .first = fx->next};
	struct xw_inode inode = {.mode = XW_S_IFDIR | 0755, .links = 2};
	struct xw_dir_shape shape;
	struct xw_extent e;
	char(*made)[16] = calloc(n + 1, sizeof(*made));

	FIX_MUST(v && made);
	xw_dx_seed(&fx->sb, f.hash_seed);
	for (unsigned i = 0; i < n; i++) {
		snprintf(made[i], sizeof(made[i]), "name%u", i);
		v[i].name = names ? names[i] : made[i];
		v[i].name_len = (uint8_t)strlen(v[i].name);
		v[i].ino = to ? to[i] : 11;
		v[i].ftype = XW_FT_REG;
	}
	FIX_MUST(!(xw_dir_shape(&f, v, n, 0, &shape)));
	FIX_MUST(!(xw_dir_emit(&f, &shape, v, n, &self, put_dir_block, &put)));
	e = (struct xw_extent){.len = shape.blocks, .pblk = put.first};
	fx->next += shape.blocks;
	root_leaf(&inode, &e, 1);
	inode.size = (uint64_t)shape.blocks * BS;
	if (shape.indexed)
		inode.flags |= XW_FL_INDEX;
	put_inode(fx, ino, &inode, NULL, 0);
	free(v);
	free(made);
}

/* In-record attribute area with one attribute, in the given array of 96 bytes. */
static inline void make_ibody(uint8_t *area, uint8_t index, const char *name, const void *value,
			      uint32_t len)
{
	struct xw_xattr_entry e = {
		.name_len = (uint8_t)strlen(name),
		.name_index = index,
		.value_offs = (uint16_t)(92 - xw_round_up(len, 4)),
		.value_size = len,
		.name = name,
	};

	memset(area, 0, 96);
	poke32(area, XW_XATTR_MAGIC);
	xw_xattr_entry_encode(area, 4, &e);
	if (len)
		memcpy(area + 4 + e.value_offs, value, len);
}

static inline void make_xattr_inode(struct fixture *fx, struct xw_inode *inode)
{
	struct xw_xattr_bhdr h = {.refcount = 1, .blocks = 1};
	struct xw_xattr_entry e[] = {
		{.name_len = 1,
		 .name_index = XW_XI_USER,
		 .value_offs = BS - 8,
		 .value_size = 5,
		 .name = "b"},
		{.name_len = 3,
		 .name_index = XW_XI_TRUSTED,
		 .value_inum = 20,
		 .value_size = 3000,
		 .name = "big"},
	};
	static const struct xw_extent ext[] = {{0, 3, 4000, false}};
	struct xw_inode ea = {.mode = XW_S_IFREG, .flags = XW_FL_EA_INODE, .size = 3000};
	uint8_t area[96], block[BS] = {0}, value[3 * BS] = {0};

	for (unsigned i = 0; i < 3000; i++)
		value[i] = (uint8_t)(i * 7);
	for (unsigned i = 0; i < 3; i++)
		put_block(fx, 4000 + i, value + i * BS);
	root_leaf(&ea, ext, 1);
	xw_inode_set_ea_hash(&ea, xw_xattr_value_hash(fx->seed, value, 3000));
	put_inode(fx, 20, &ea, NULL, 0);

	make_ibody(area, XW_XI_SECURITY, "selinux", "label", 5);
	xw_xattr_bhdr_encode(block, &h);
	xw_xattr_entry_encode(block, 32, &e[0]);
	xw_xattr_entry_encode(block, 32 + xw_xattr_entry_len(1), &e[1]);
	memcpy(block + BS - 8, "value", 5);
	xw_xattr_block_set_csum(block, BS, fx->seed, 4010);
	put_block(fx, 4010, block);
	*inode = (struct xw_inode){.mode = XW_S_IFREG, .file_acl = 4010};
	put_inode(fx, 12, inode, area, sizeof(area));
}

static inline void put_link(struct fixture *fx, xw_ino ino, const char *text)
{
	struct xw_inode inode = {.mode = XW_S_IFLNK | 0777, .size = strlen(text)};

	memcpy(inode.block, text, strlen(text));
	put_inode(fx, ino, &inode, NULL, 0);
}

/* Everything above in one image. */
static inline void make_rich_image(struct fixture *fx, bool csum)
{
	static const xw_ino files[] = {11, 12, 40, 41, 42, 43};
	xw_ino *to = calloc(3000, sizeof(*to));
	struct xw_inode inode = {.mode = XW_S_IFREG | 0644, .links = 500};
	uint32_t n;

	FIX_MUST(to);
	to[0] = 30;
	for (unsigned i = 1; i < 3000; i++)
		to[i] = files[i % XW_ARRAY_SIZE(files)];
	make_image(fx, csum);
	put_inode(fx, 11, &inode, NULL, 0);
	make_dir(fx, 2, 2, 3000, NULL, to, true);
	make_dir(fx, 30, 2, 300, NULL, NULL, false);
	make_xattr_inode(fx, &inode);
	make_tree(fx, 40, 3, 4, &n);
	make_tree(fx, 41, 1, 4, &n);
	inode = (struct xw_inode){.mode = XW_S_IFREG, .size = 400u * BS};
	for (unsigned i = 0; i < 400; i += 3)
		map_block(fx, &inode, i, 6000 + i);
	map_block(fx, &inode, 70000, 6900);
	put_inode(fx, 42, &inode, NULL, 0);
	put_link(fx, 43, "dir/leaf");
	free(to);
}

#endif
