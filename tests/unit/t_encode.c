/* SPDX-License-Identifier: MIT */
/* Encoding of the model: sizes of maps, inode records, inline data, paths for messages. */
#include <string.h>

#include "encode/encode.h"
#include "tree/tree.h"
#include "unit.h"

static struct xw_encoder encoder(uint32_t block_size, uint32_t incompat, uint32_t ro)
{
	struct xw_encoder enc = {
		.block_size = block_size,
		.inode_size = 256,
		.features = {{0, incompat, ro}},
		.name = "image",
	};

	enc.sb.feature_incompat = incompat;
	enc.sb.feature_ro_compat = ro;
	enc.sb.inode_size = 256;
	enc.sb.rev_level = 1;
	while (1024u << enc.sb.log_block_size < block_size)
		enc.sb.log_block_size++;
	return enc;
}

/* ---- maps ---- */

static const struct {
	const char *name;
	uint32_t block_size, incompat;
	xw_ino ino;
	uint32_t n, lblk, len; /* n extents of len blocks, with holes of a block, from lblk */
	uint64_t blocks;
} maps[] = {
	{"an empty file", 4096, XW_INCOMPAT_EXTENTS, 12, 0, 0, 0, 0},
	{"extents in the inode", 4096, XW_INCOMPAT_EXTENTS, 12, 4, 0, 5, 0},
	{"one leaf", 4096, XW_INCOMPAT_EXTENTS, 12, 5, 0, 5, 1},
	{"a full leaf", 4096, XW_INCOMPAT_EXTENTS, 12, 340, 0, 1, 1},
	{"two leaves", 4096, XW_INCOMPAT_EXTENTS, 12, 341, 0, 1, 2},
	{"four full leaves", 4096, XW_INCOMPAT_EXTENTS, 12, 1360, 0, 1, 4},
	{"five leaves and an index", 4096, XW_INCOMPAT_EXTENTS, 12, 1361, 0, 1, 6},
	{"1 KiB blocks", 1024, XW_INCOMPAT_EXTENTS, 12, 84 * 4 + 1, 0, 1, 6},
	{"direct blocks", 4096, 0, 12, 1, 0, 12, 0},
	{"an indirect block", 4096, 0, 12, 1, 0, 13, 1},
	{"a full indirect block", 4096, 0, 12, 1, 0, 12 + 1024, 1},
	{"a double-indirect block", 4096, 0, 12, 1, 0, 12 + 1024 + 1, 3},
	{"only a triple-indirect block", 4096, 0, 12, 1, 12 + 1024 + 1024 * 1024, 1, 3},
	{"the bad blocks inode", 4096, XW_INCOMPAT_EXTENTS, XW_INO_BAD, 1, 0, 13, 1},
};

START_TEST(map_blocks)
{
	const struct xw_encoder enc = encoder(maps[_i].block_size, maps[_i].incompat, 0);
	struct xw_extent *e = calloc(maps[_i].n + 1, sizeof(*e));
	struct xw_binode n = {.ino = maps[_i].ino, .n_ext = maps[_i].n, .exts = e};
	uint64_t got;

	ck_assert_ptr_nonnull(e);
	for (uint32_t i = 0; i < maps[_i].n; i++)
		e[i] = (struct xw_extent){.lblk = maps[_i].lblk + i * (maps[_i].len + 1),
					  .len = maps[_i].len,
					  .pblk = 100 + i * maps[_i].len};
	if (n.n_ext == 1)
		n.ext = e[0];
	got = xw_map_blocks(&enc, &n);
	ck_assert_msg(got == maps[_i].blocks, "%s: %llu blocks", maps[_i].name,
		      (unsigned long long)got);
	free(e);
}
END_TEST

/* ---- records ---- */

static const struct record {
	const char *name;
	uint16_t mode, flags;
	uint32_t links, ro, clusters;
	uint32_t len; /* blocks of contents */
	int rc;
	uint32_t want_links, want_flags, want_blocks; /* i_blocks, in 512 bytes */
} records[] = {
	{"a file", XW_S_IFREG, 0, 1, 0, 0, 3, 0, 1, XW_FL_EXTENTS, 24},
	{"hard links", XW_S_IFREG, 0, 65000, 0, 0, 0, 0, 65000, XW_FL_EXTENTS, 0},
	{"too many links", XW_S_IFREG, 0, 65001, 0, 0, 0, XW_ERR_LIMIT, 0, 0, 0},
	{"a directory", XW_S_IFDIR, 0, 5, 0, 0, 1, 0, 7, XW_FL_EXTENTS, 8},
	{"subdirectories", XW_S_IFDIR, 0, 64999, 0, 0, 1, XW_ERR_LIMIT, 0, 0, 0},
	{"dir_nlink", XW_S_IFDIR, 0, 64999, XW_RO_DIR_NLINK, 0, 1, 0, 1, XW_FL_EXTENTS, 8},
	{"dir_nlink of a file", XW_S_IFREG, 0, 65001, XW_RO_DIR_NLINK, 0, 0, XW_ERR_LIMIT, 0, 0, 0},
	{"clusters", XW_S_IFREG, 0, 1, XW_RO_BIGALLOC, 4, 17, 0, 1, XW_FL_EXTENTS, 256},
	{"chattr", XW_S_IFREG, XW_BN_IMMUTABLE | XW_BN_APPEND | XW_BN_NODUMP, 1, 0, 0, 0, 0, 1,
	 XW_FL_IMMUTABLE | XW_FL_APPEND | XW_FL_NODUMP | XW_FL_EXTENTS, 0},
	{"a journaled file", XW_S_IFREG, XW_BN_BY_TYPE, 1, 0, 0, 0, 0, 1,
	 XW_FL_JOURNAL_DATA | XW_FL_EXTENTS, 0},
	{"a synchronous directory", XW_S_IFDIR, XW_BN_BY_TYPE | XW_BN_SYNC, 0, 0, 0, 1, 0, 2,
	 XW_FL_DIRSYNC | XW_FL_SYNC | XW_FL_EXTENTS, 8},
	{"a device", XW_S_IFCHR, 0, 1, 0, 0, 0, 0, 1, 0, 0},
	{"a pipe", XW_S_IFIFO, 0, 1, 0, 0, 0, 0, 1, 0, 0},
};

START_TEST(inode_records)
{
	const struct record *r = &records[_i];
	struct xw_encoder enc = encoder(4096, XW_INCOMPAT_EXTENTS, r->ro | XW_RO_HUGE_FILE);
	struct xw_bdir dir = {.subdirs = r->links};
	struct xw_binode n = {
		.ino = 12,
		.mode = r->mode,
		.flags = r->flags,
		.links = r->links,
		.n_ext = r->len > 0,
		.ext = {.len = r->len, .pblk = 1000},
	};
	struct xw_diag diag = {0};
	struct xw_inode in;

	enc.diag = &diag;
	enc.cluster_bits = r->clusters;
	enc.sb.log_cluster_size = enc.sb.log_block_size + r->clusters;
	enc.first = &n;
	dir.parent = &n;
	if (xw_binode_is(&n, XW_S_IFDIR))
		n.dir = &dir;
	ck_assert_msg(xw_itable_encode(&enc, &n, &in) == r->rc, "%s: %s", r->name, diag.text);
	if (r->rc)
		return;
	ck_assert_msg(in.links == r->want_links, "%s: %u links", r->name, in.links);
	ck_assert_msg(in.flags == r->want_flags, "%s: flags 0x%x", r->name, in.flags);
	ck_assert_msg(xw_inode_fs_blocks_512(&in, &enc.sb) == r->want_blocks, "%s: i_blocks %u",
		      r->name, (unsigned)xw_inode_fs_blocks_512(&in, &enc.sb));
}
END_TEST

START_TEST(generations)
{
	struct xw_encoder enc = encoder(4096, 0, 0), other = enc;
	struct xw_binode root = {.ino = XW_INO_ROOT}, a = {.ino = 12}, b = {.ino = 13};
	struct xw_binode journal = {.ino = XW_INO_JOURNAL};
	struct xw_binode existing = {.ino = 14, .flags = XW_BN_OLD, .generation = 77};

	other.sb.hash_seed[0] = 1;
	ck_assert_uint_eq(xw_encode_generation(&enc, &journal), 0);
	ck_assert_uint_ne(xw_encode_generation(&enc, &root), 0);
	ck_assert_uint_eq(xw_encode_generation(&enc, &a), xw_encode_generation(&enc, &a));
	ck_assert_uint_ne(xw_encode_generation(&enc, &a), xw_encode_generation(&enc, &b));
	ck_assert_uint_ne(xw_encode_generation(&enc, &a), xw_encode_generation(&other, &a));
	ck_assert_uint_eq(xw_encode_generation(&enc, &existing), 77);
}
END_TEST

START_TEST(journal_backup)
{
	struct xw_inode in = {.size = 0x300000004ull};
	struct xw_super sb = {0};

	for (unsigned i = 0; i < 15; i++)
		poke32(in.block + 4 * i, 100 + i);
	xw_encode_journal_ref(&sb, &in);
	ck_assert_uint_eq(sb.journal_inum, XW_INO_JOURNAL);
	ck_assert_uint_eq(sb.jnl_backup_type, 1);
	for (unsigned i = 0; i < 15; i++)
		ck_assert_uint_eq(sb.jnl_blocks[i], 100 + i);
	ck_assert_uint_eq(sb.jnl_blocks[15], 3);
	ck_assert_uint_eq(sb.jnl_blocks[16], 4);
}
END_TEST

/* ---- inline data ---- */

static const struct {
	const char *name;
	uint32_t incompat, inode_size;
	uint16_t flags;
	int64_t room;
} rooms[] = {
	{"without the feature", 0, 256, 0, -1},
	{"128-byte inodes", XW_INCOMPAT_INLINE_DATA, 128, 0, -1},
	{"256-byte inodes", XW_INCOMPAT_INLINE_DATA, 256, 0, 128},
	{"512-byte inodes", XW_INCOMPAT_INLINE_DATA, 512, 0, 384},
	{"1024-byte inodes", XW_INCOMPAT_INLINE_DATA, 1024, 0, 896},
	{"an area that is too large", XW_INCOMPAT_INLINE_DATA, 8192, 0, -1},
	{"an existing inode", XW_INCOMPAT_INLINE_DATA, 256, XW_BN_OLD, -1},
};

START_TEST(inline_rooms)
{
	struct xw_encoder enc = encoder(4096, rooms[_i].incompat, 0);
	const struct xw_binode n = {.mode = XW_S_IFREG, .flags = rooms[_i].flags};
	int64_t room;

	enc.inode_size = rooms[_i].inode_size;
	room = xw_inline_room(&enc, &n);
	ck_assert_msg(room == rooms[_i].room, "%s: %lld", rooms[_i].name, (long long)room);
}
END_TEST

static const uint32_t inline_sizes[] = {0, 1, 59, 60, 61, 63, 64, 127, 128};

START_TEST(inline_contents)
{
	struct xw_encoder enc = encoder(4096, XW_INCOMPAT_INLINE_DATA | XW_INCOMPAT_EXTENTS, 0);
	const uint32_t size = inline_sizes[_i], first = XW_MIN(size, 60u);
	uint8_t record[256] = {0};
	char text[128];
	const struct xw_binode n = {
		.ino = 12,
		.mode = XW_S_IFREG,
		.flags = XW_BN_INLINE,
		.links = 1,
		.size = size,
		.bytes = text,
	};
	struct xw_inode in;

	for (unsigned i = 0; i < sizeof(text); i++)
		text[i] = (char)('0' + i % 75);
	ck_assert_int_eq(xw_itable_record(&enc, &n, record), 0);
	ck_assert_int_eq(xw_inode_decode(record, &enc.sb, &in), 0);
	ck_assert_msg(in.flags == XW_FL_INLINE_DATA && in.size == size, "%u bytes: flags 0x%x",
		      size, in.flags);
	ck_assert_msg(!memcmp(record + XW_INODE_IBLOCK, text, first), "%u bytes: i_block", size);
	/* the value of system.data is at the end of the inode, padded to 4 bytes */
	ck_assert_msg(
		!memcmp(record + 256 - ((size - first + 3) & ~3u), text + first, size - first),
		"%u bytes: the value", size);
}
END_TEST

static const struct {
	const char *name;
	unsigned n, len; /* n names of len characters */
	xw_ino parent, first;
	uint32_t min_blocks;
	bool fits;
	uint32_t size;
} dirs[] = {
	{"an empty directory", 0, 0, 2, 12, 0, true, 60},
	{"i_block is full", 4, 4, 2, 12, 0, true, 60},
	{"names in the value", 5, 4, 2, 12, 0, true, 72},
	{"both areas are full", 9, 4, 2, 12, 0, true, 120},
	{"one name too many", 10, 4, 2, 12, 0, false, 0},
	{"a name that fits the value only", 1, 60, 2, 12, 0, true, 128},
	{"a name that is too long", 1, 61, 2, 12, 0, false, 0},
	{"lost+found", 0, 0, 2, 12, 4, false, 0},
	{"numbers like an extent header", 1, 4, 0x1F30A, 4, 0, false, 0},
};

START_TEST(inline_directories)
{
	struct xw_encoder enc = encoder(4096, XW_INCOMPAT_INLINE_DATA, 0);
	struct xw_binode *parent, *dir, *file;
	struct xw_tree t;
	char name[64];
	bool fits;

	ck_assert_int_eq(xw_tree_init(&t, 0, NULL), 0);
	parent = xw_tree_node(&t, XW_S_IFDIR | 0755);
	dir = xw_tree_node(&t, XW_S_IFDIR | 0755);
	ck_assert_int_eq(xw_tree_link(&t, t.root, "p", 1, parent), 0);
	ck_assert_int_eq(xw_tree_link(&t, parent, "d", 1, dir), 0);
	parent->ino = dirs[_i].parent;
	dir->dir->min_blocks = dirs[_i].min_blocks;
	memset(name, 'x', sizeof(name));
	for (unsigned i = 0; i < dirs[_i].n; i++) {
		file = xw_tree_node(&t, XW_S_IFREG | 0644);
		file->ino = dirs[_i].first + i;
		name[0] = (char)('a' + i);
		ck_assert_int_eq(xw_tree_link(&t, dir, name, dirs[_i].len, file), 0);
	}
	fits = xw_inline_shape(&enc, dir);
	ck_assert_msg(fits == dirs[_i].fits, "%s: %d", dirs[_i].name, fits);
	ck_assert_msg(fits == (dir->flags & XW_BN_INLINE) / XW_BN_INLINE, "%s: flag",
		      dirs[_i].name);
	ck_assert_msg(dir->size == dirs[_i].size, "%s: size %u", dirs[_i].name,
		      (unsigned)dir->size);
	ck_assert_msg(!xw_inline_shape(&enc, t.root), "%s: the root", dirs[_i].name);
	xw_tree_free(&t);
}
END_TEST

/* ---- paths ---- */

START_TEST(paths)
{
	static char layer[] = "layer.tar";
	char *const sources[] = {layer};
	struct xw_encoder enc = encoder(4096, 0, 0);
	struct xw_binode *a, *b, *file, *nameless;
	char buf[32];
	struct xw_tree t;

	ck_assert_int_eq(xw_tree_init(&t, 0, NULL), 0);
	a = xw_tree_node(&t, XW_S_IFDIR | 0755);
	b = xw_tree_node(&t, XW_S_IFDIR | 0755);
	file = xw_tree_node(&t, XW_S_IFREG | 0644);
	nameless = xw_tree_node(&t, XW_S_IFREG | 0644);
	ck_assert_int_eq(xw_tree_link(&t, t.root, "first", 5, a), 0);
	t.layer = 1;
	ck_assert_int_eq(xw_tree_link(&t, a, "second", 6, b), 0);
	ck_assert_int_eq(xw_tree_link(&t, b, "file", 4, file), 0);
	enc.first = t.first;
	ck_assert_str_eq(xw_encode_path(&enc, t.root, buf, sizeof(buf)), "/");
	ck_assert_str_eq(xw_encode_path(&enc, b, buf, sizeof(buf)), "/first/second");
	ck_assert_str_eq(xw_encode_path(&enc, file, buf, sizeof(buf)), "/first/second/file");
	ck_assert_str_eq(xw_encode_path(&enc, file, buf, 20), ".../second/file");
	ck_assert_str_eq(xw_encode_path(&enc, nameless, buf, sizeof(buf)), "/");
	ck_assert_str_eq(xw_encode_origin(&enc, file), "image");
	enc.sources = sources;
	ck_assert_str_eq(xw_encode_origin(&enc, file), "layer.tar");
	ck_assert_str_eq(xw_encode_origin(&enc, a), "image");
	xw_tree_free(&t);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("encode");
	TCase *tc = tcase_create("encode");

	unit_add_rows(tc, map_blocks, maps, name);
	unit_add_rows(tc, inode_records, records, name);
	tcase_add_test(tc, generations);
	tcase_add_test(tc, journal_backup);
	unit_add_rows(tc, inline_rooms, rooms, name);
	unit_add_table(tc, inline_contents, inline_sizes);
	unit_add_rows(tc, inline_directories, dirs, name);
	tcase_add_test(tc, paths);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
