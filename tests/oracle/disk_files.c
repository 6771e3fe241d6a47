/* SPDX-License-Identifier: MIT */
/* t_disk_oracle: what hangs off inodes: block maps, directories, xattrs; and the printing in stock
 * tools' words. */
#include "disk_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/endian.h"
#include "disk/indirect.h"
#include "disk/xattrblk.h"

#define BLOCK_MAX 65536
#define MAP_MAX (1u << 22)

static void map_add(struct map *m, uint32_t lblk, xw_blk pblk)
{
	if (m->n == m->room) {
		m->room = m->room ? 2 * m->room : 64;
		m->v = realloc(m->v, m->room * sizeof(*m->v));
		if (!m->v)
			abort();
	}
	m->v[m->n].lblk = lblk;
	m->v[m->n++].pblk = pblk;
}

xw_blk map_find(const struct map *m, uint32_t lblk)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->v[i].lblk == lblk)
			return m->v[i].pblk;
	return 0;
}

static void check_node(struct img *im, xw_ino ino, const uint8_t *node, size_t size, int depth,
		       struct map *out)
{
	uint8_t copy[BLOCK_MAX];
	struct xw_extent_hdr h;

	if (xw_extent_hdr_decode(node, size, &h) || (depth >= 0 && h.depth != depth)) {
		bad(im, "inode %u: extent header", ino);
		return;
	}
	memcpy(copy, node, size);
	memset(copy, 0, XW_EXT_HDR + 12u * h.entries);
	xw_extent_hdr_encode(copy, &h);
	for (unsigned i = 0; i < h.entries && out->n < MAP_MAX; i++) {
		struct xw_extent e;
		struct xw_extent_idx x;

		if (h.depth) {
			const uint8_t *child;

			xw_extent_idx_decode(node, i, &x);
			xw_extent_idx_encode(copy, i, &x);
			child = block_at(im, x.pblk);
			if (!child) {
				bad(im, "inode %u: extent index out of range", ino);
				continue;
			}
			im->n.extent_blocks++;
			check_node(im, ino, child, im->bs, h.depth - 1, out);
			continue;
		}
		xw_extent_leaf_decode(node, i, &e);
		xw_extent_leaf_encode(copy, i, &e);
		for (uint32_t k = 0; k < e.len && !e.unwritten && out->n < MAP_MAX; k++)
			map_add(out, e.lblk + k, e.pblk + k);
	}
	same(im, copy, node, size, "extent node of inode", ino);
	if (size > 60 && xw_super_has_csum(&im->sb)) {
		struct xw_inode in;

		xw_inode_decode(inode_at(im, ino), &im->sb, &in);
		if (xw_extent_block_verify(node, im->bs,
					   xw_inode_seed(im->seed, ino, in.generation)))
			bad(im, "inode %u: extent block checksum", ino);
		xw_extent_block_set_csum(copy, im->bs, xw_inode_seed(im->seed, ino, in.generation));
		same(im, copy, node, size, "extent block of inode", ino);
	}
}

static void load_indirect(struct img *im, const struct xw_inode *in, struct map *out)
{
	uint64_t end = xw_div_up(in->size, im->bs);

	for (uint64_t l = 0; l < end && l < MAP_MAX; l++) {
		unsigned path[4], depth;
		uint32_t b;

		if (xw_indirect_path(im->bs, l, path, &depth))
			return;
		b = peek32(in->block + 4 * path[0]);
		for (unsigned i = 1; i <= depth && b; i++) {
			const uint8_t *p = block_at(im, b);

			b = p ? peek32(p + 4 * path[i]) : 0;
		}
		if (b)
			map_add(out, (uint32_t)l, b);
	}
}

void map_load(struct img *im, xw_ino ino, const struct xw_inode *in, struct map *out)
{
	if (in->flags & XW_FL_EXTENTS)
		check_node(im, ino, in->block, sizeof(in->block), -1, out);
	else
		load_indirect(im, in, out);
}

/* Entries of a linear block or inline area, decoded and encoded again over zeroes. */
static void check_entries(struct img *im, xw_ino ino, const uint8_t *p, uint32_t size)
{
	uint8_t copy[BLOCK_MAX];
	struct xw_dirent e;

	memcpy(copy, p, size);
	for (uint32_t off = 0; off < size; off += e.rec_len) {
		if (xw_dirent_decode(p, size, off, &e)) {
			bad(im, "directory %u: entry at %u", ino, off);
			return;
		}
		memset(copy + off, 0, XW_DIRENT_HDR + e.name_len);
		xw_dirent_encode(copy, size, off, &e);
	}
	same(im, copy, p, size, "directory block of inode", ino);
}

static void check_leaf(struct img *im, xw_ino ino, const uint8_t *p, uint32_t seed)
{
	uint8_t copy[BLOCK_MAX];

	im->n.dir_blocks++;
	check_entries(im, ino, p, im->bs);
	if (!xw_super_has_csum(&im->sb))
		return;
	if (xw_dir_block_verify(p, im->bs, seed))
		bad(im, "directory %u: block checksum", ino);
	memcpy(copy, p, im->bs);
	xw_dir_tail_init(copy, im->bs);
	xw_dir_block_set_csum(copy, im->bs, seed);
	same(im, copy, p, im->bs, "directory block (tail) of inode", ino);
}

struct dx_walk {
	struct img *im;
	xw_ino ino;
	const struct map *m;
	uint32_t seed;
	uint8_t *is_node; /* by logical block */
	uint32_t blocks;
};

static void check_dx(struct dx_walk *w, const uint8_t *p, unsigned off, unsigned limit,
		     unsigned count, int levels)
{
	struct img *im = w->im;
	bool csum = xw_super_has_csum(&im->sb);
	uint8_t copy[BLOCK_MAX];

	im->n.dx_blocks++;
	if (csum && xw_dx_block_verify(p, im->bs, off, w->seed))
		bad(im, "directory %u: htree block checksum", w->ino);
	memcpy(copy, p, im->bs);
	memset(copy + off, 0, 8 * count);
	xw_dx_set_limit(copy, off, limit, count);
	for (unsigned i = 0; i < count; i++) {
		struct xw_dx_entry e;
		unsigned l, c;
		const uint8_t *child;

		xw_dx_entry_decode(p, off, i, &e);
		xw_dx_entry_encode(copy, off, i, &e);
		child = block_at(im, map_find(w->m, e.lblk));
		if (e.lblk >= w->blocks || !child) {
			bad(im, "directory %u: htree child %u", w->ino, e.lblk);
			continue;
		}
		if (!levels)
			continue;
		w->is_node[e.lblk] = 1;
		if (xw_dx_node_decode(child, im->bs, csum, &l, &c) ||
		    l != xw_dx_node_limit(im->bs, csum))
			bad(im, "directory %u: htree node %u", w->ino, e.lblk);
		else
			check_dx(w, child, XW_DX_NODE_ENTRIES, l, c, levels - 1);
	}
	if (csum) {
		memset(copy + off + 8 * limit + 4, 0, 4);
		xw_dx_block_set_csum(copy, im->bs, off, w->seed);
	}
	same(im, copy, p, im->bs, "htree block of inode", w->ino);
}

static void check_htree(struct dx_walk *w)
{
	const uint8_t *root = block_at(w->im, map_find(w->m, 0));
	bool csum = xw_super_has_csum(&w->im->sb);
	struct xw_dx_info info;
	unsigned limit, count;
	uint8_t again[XW_DX_ROOT_ENTRIES];

	if (!root || xw_dx_root_decode(root, w->im->bs, csum, &info, &limit, &count) ||
	    limit != xw_dx_root_limit(w->im->bs, csum)) {
		bad(w->im, "directory %u: htree root", w->ino);
		return;
	}
	w->is_node[0] = 1;
	xw_dx_info_encode(again, &info);
	same(w->im, again + 24, root + 24, 8, "htree root info of inode", w->ino);
	check_dx(w, root, XW_DX_ROOT_ENTRIES, limit, count, info.indirect_levels);
}

void check_dir(struct img *im, xw_ino ino, const struct xw_inode *in, const struct map *m)
{
	struct dx_walk w = {.im = im, .ino = ino, .m = m};

	if (in->flags & XW_FL_INLINE_DATA) {
		im->n.inline_dirs++;
		check_entries(im, ino, in->block + 4, sizeof(in->block) - 4);
		return;
	}
	w.seed = xw_inode_seed(im->seed, ino, in->generation);
	w.blocks = (uint32_t)(in->size / im->bs);
	w.is_node = calloc(w.blocks + 1, 1);
	if (!w.is_node)
		abort();
	if (in->flags & XW_FL_INDEX)
		check_htree(&w);
	for (size_t i = 0; i < m->n; i++) {
		const uint8_t *p = block_at(im, m->v[i].pblk);

		if (!p)
			bad(im, "directory %u: block out of range", ino);
		else if (m->v[i].lblk < w.blocks && !w.is_node[m->v[i].lblk])
			check_leaf(im, ino, p, w.seed);
	}
	free(w.is_node);
}

/* Lustre's EA inodes have one owner, named by mtime, and neither hash nor count. */
static bool is_lustre(const struct xw_inode *in, uint64_t inodes)
{
	return in->mtime.sec > 0 && (uint64_t)in->mtime.sec <= inodes;
}

static bool hash_right(struct img *im, const struct xw_xattr_entry *e, const uint8_t *base)
{
	struct xw_inode in;
	const uint8_t *rec;

	if (!e->value_inum)
		return xw_xattr_entry_hash_ok(e->hash, e->name, e->name_len, base + e->value_offs,
					      e->value_size);
	rec = inode_at(im, e->value_inum);
	if (!rec || xw_inode_decode(rec, &im->sb, &in))
		return false;
	if (is_lustre(&in, im->sb.inodes_count))
		return true;
	return in.size == e->value_size &&
	       xw_xattr_entry_hash_inum_ok(e->hash, e->name, e->name_len, xw_inode_ea_hash(&in));
}

/* Entries of an area; their number and h_hash. */
static unsigned check_area(struct img *im, xw_ino ino, const uint8_t *area, size_t size,
			   size_t first, size_t value_base, bool zero_ok, uint32_t *block_hash)
{
	uint8_t copy[BLOCK_MAX];
	uint32_t hashes[BLOCK_MAX / XW_XATTR_ENTRY];
	unsigned n = 0;

	memcpy(copy, area, size);
	for (size_t off = first, next;; off = next, n++) {
		struct xw_xattr_entry e;

		if (xw_xattr_entry_decode(area, size, off, value_base, &e, &next)) {
			bad(im, "inode %u: xattr entry at %zu", ino, off);
			return n;
		}
		if (!next)
			break;
		memset(copy + off, 0xA5, next - off);
		xw_xattr_entry_encode(copy, off, &e);
		hashes[n] = e.hash;
		if (!(zero_ok && !e.hash && !e.value_inum) &&
		    !hash_right(im, &e, area + value_base))
			bad(im, "inode %u: xattr hash of %.*s", ino, e.name_len, e.name);
	}
	same(im, copy, area, size, "xattr area of inode", ino);
	*block_hash = xw_xattr_block_hash(hashes, n);
	return n;
}

static void check_block(struct img *im, xw_ino ino, xw_blk blk)
{
	const uint8_t *p = block_at(im, blk);
	uint8_t copy[BLOCK_MAX];
	struct xw_xattr_bhdr h;
	uint32_t hash = 0;

	if (!p || xw_xattr_bhdr_decode(p, &h)) {
		bad(im, "inode %u: xattr block", ino);
		return;
	}
	im->n.xattr_blocks++;
	memcpy(copy, p, im->bs);
	memset(copy, 0xA5, XW_XATTR_BHDR);
	xw_xattr_bhdr_encode(copy, &h);
	same(im, copy, p, im->bs, "xattr block of inode", ino);
	check_area(im, ino, p, im->bs, XW_XATTR_BHDR, 0, false, &hash);
	if (h.hash && hash != h.hash) /* libext2fs leaves it 0: not shareable */
		bad(im, "inode %u: xattr block hash", ino);
	if (!xw_super_has_csum(&im->sb))
		return;
	if (xw_xattr_block_verify(p, im->bs, im->seed, blk))
		bad(im, "inode %u: xattr block checksum", ino);
	h.checksum = 0;
	xw_xattr_bhdr_encode(copy, &h);
	xw_xattr_block_set_csum(copy, im->bs, im->seed, blk);
	same(im, copy, p, im->bs, "xattr block (checksum) of inode", ino);
}

void check_xattrs(struct img *im, xw_ino ino, const uint8_t *rec, const struct xw_inode *in)
{
	unsigned off = xw_inode_xattr_off(in, &im->sb);
	uint32_t hash;

	if (off && peek32(rec + off) == XW_XATTR_MAGIC)
		im->n.ibody_xattrs +=
			check_area(im, ino, rec + off + XW_XATTR_IHDR,
				   im->sb.inode_size - off - XW_XATTR_IHDR, 0, 0, true, &hash);
	if (in->file_acl)
		check_block(im, ino, in->file_acl);
}

void check_ea_inode(struct img *im, xw_ino ino, const struct xw_inode *in, const struct map *m)
{
	uint32_t hash = im->seed;
	uint64_t left = in->size;

	im->n.ea_inodes++;
	if (is_lustre(in, im->sb.inodes_count))
		return;
	for (size_t i = 0; i < m->n && left; i++) {
		const uint8_t *p = block_at(im, m->v[i].pblk);
		size_t n = XW_MIN(left, im->bs);

		if (!p)
			return;
		hash = xw_xattr_value_hash(hash, p, n);
		left -= n;
	}
	if (hash != xw_inode_ea_hash(in))
		bad(im, "EA inode %u: value hash", ino);
	if (!xw_inode_ea_refs(in) || xw_inode_ea_refs(in) > im->sb.inodes_count)
		bad(im, "EA inode %u: reference count", ino);
}

void print_super(const struct img *im)
{
	const struct xw_super *sb = &im->sb;

	printf("Inode count: %u\nBlock count: %" PRIu64 "\nReserved block count: %" PRIu64 "\n",
	       sb->inodes_count, sb->blocks_count, sb->r_blocks_count);
	printf("Free blocks: %" PRIu64 "\nFree inodes: %u\nFirst block: %u\nBlock size: %u\n",
	       sb->free_blocks_count, sb->free_inodes_count, sb->first_data_block, im->bs);
	printf("Blocks per group: %u\nInodes per group: %u\nMount count: %u\nMaximum mount count: "
	       "%d\n",
	       sb->blocks_per_group, sb->inodes_per_group, sb->mnt_count, sb->max_mnt_count);
	if (sb->feature_incompat & XW_INCOMPAT_64BIT)
		printf("Group descriptor size: %u\n", sb->desc_size);
	if (sb->reserved_gdt_blocks)
		printf("Reserved GDT blocks: %u\n", sb->reserved_gdt_blocks);
	if (sb->log_groups_per_flex)
		printf("Flex block group size: %u\n", 1u << sb->log_groups_per_flex);
	if (sb->rev_level) {
		printf("First inode: %u\nInode size: %u\n", sb->first_ino, sb->inode_size);
		if (sb->inode_size > 128 && sb->feature_ro_compat & XW_RO_EXTRA_ISIZE)
			printf("Required extra isize: %u\nDesired extra isize: %u\n",
			       sb->min_extra_isize, sb->want_extra_isize);
	}
	if (sb->journal_inum)
		printf("Journal inode: %u\n", sb->journal_inum);
	if (sb->raid_stride)
		printf("RAID stride: %u\n", sb->raid_stride);
	if (sb->raid_stripe_width)
		printf("RAID stripe width: %u\n", sb->raid_stripe_width);
	if (sb->volume_name[0])
		printf("Filesystem volume name: %.16s\n", sb->volume_name);
	if (xw_super_has_csum(sb))
		printf("Checksum: 0x%08x\n", sb->checksum);
	if (sb->feature_incompat & XW_INCOMPAT_CSUM_SEED)
		printf("Checksum seed: 0x%08x\n", sb->checksum_seed);
	if (sb->feature_ro_compat & XW_RO_BIGALLOC)
		printf("Cluster size: %u\nClusters per group: %u\n", 1024u << sb->log_cluster_size,
		       sb->clusters_per_group);
}

/* seconds on disk and the extra word, as debugfs prints them */
static void print_time(const char *name, const struct xw_time *t, bool extra)
{
	printf(" %s: 0x%08x", name, (uint32_t)t->sec);
	if (extra)
		printf(":%08x", (uint32_t)((t->sec - (int32_t)t->sec) >> 32 & 3) | t->nsec << 2);
	printf("\n");
}

void print_inode(const struct img *im, xw_ino ino)
{
	const uint8_t *rec = inode_at(im, ino);
	uint32_t major, minor, type;
	struct xw_inode in;
	bool large = im->sb.inode_size > 128;

	if (!rec || xw_inode_decode(rec, &im->sb, &in))
		return;
	printf("Mode: %04o Flags: 0x%x\n", in.mode & 07777u, in.flags);
	if (large)
		printf("Generation: %u Version: 0x%08x:%08x\n", in.generation,
		       (uint32_t)(in.version >> 32), (uint32_t)in.version);
	else
		printf("Generation: %u Version: 0x%08x\n", in.generation, (uint32_t)in.version);
	printf("User: %u Group: %u", in.uid, in.gid);
	if (large)
		printf(" Project: %u", in.projid);
	printf(" Size: %" PRIu64 "\n", in.size);
	printf("File ACL: %" PRIu64 "\nLinks: %u Blockcount: %" PRIu64 "\n", in.file_acl, in.links,
	       in.blocks);
	print_time("ctime", &in.ctime, large);
	print_time("atime", &in.atime, large);
	print_time("mtime", &in.mtime, large);
	if (large)
		print_time("crtime", &in.crtime, true);
	if (large)
		printf("Size of extra inode fields: %u\n", in.extra_isize);
	if (xw_super_has_csum(&im->sb))
		printf("Inode checksum: 0x%08x\n", in.checksum);
	type = in.mode & XW_S_IFMT;
	if (type == XW_S_IFCHR || type == XW_S_IFBLK) {
		xw_inode_get_rdev(&in, &major, &minor);
		printf("Device major/minor number: %02u:%02u\n", major, minor);
	}
}

static void print_utc(const struct xw_time *t)
{
	time_t sec = (time_t)t->sec;
	char buf[64];
	struct tm tm;

	gmtime_r(&sec, &tm);
	strftime(buf, sizeof(buf), "%Y-%m-%d %H:%M:%S", &tm);
	printf(" %s.%09u", buf, t->nsec);
}

void print_kernel(const struct img *im, xw_ino ino)
{
	const uint8_t *rec = inode_at(im, ino);
	uint32_t major = 0, minor = 0, type;
	struct xw_inode in;

	if (!rec || xw_inode_decode(rec, &im->sb, &in))
		return;
	type = in.mode & XW_S_IFMT;
	if (type == XW_S_IFCHR || type == XW_S_IFBLK)
		xw_inode_get_rdev(&in, &major, &minor);
	printf("%u %x %u %u %u %" PRIu64 " %" PRIu64 " %x:%x", ino, in.mode, in.uid, in.gid,
	       in.links, in.size, xw_inode_fs_blocks_512(&in, &im->sb), major, minor);
	print_utc(&in.atime);
	print_utc(&in.mtime);
	print_utc(&in.ctime);
	printf("\n");
}
