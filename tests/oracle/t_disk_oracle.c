/* SPDX-License-Identifier: MIT */
/*
 * t_disk_oracle IMAGE [super | stat INO... | kernel INO...]: holds lib/disk against an image that
 * somebody else made. Every superblock, descriptor, bitmap, inode, extent block, directory block,
 * xattr area and journal superblock is decoded, its checksum verified, encoded again over zeroes,
 * and compared with the bytes on disk. Exits 1 when anything differs; prints what it saw.
 */
#include "disk_check.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "disk/indirect.h"
#include "base/endian.h"
#include "disk/jsb.h"

#define RECORD_MAX 65536

void bad(struct img *im, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("BAD ");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	im->bad++;
}

void same(struct img *im, const void *got, const void *want, size_t n, const char *what,
	  uint64_t nr)
{
	const uint8_t *a = got, *b = want;

	for (size_t i = 0; i < n; i++) {
		if (a[i] == b[i])
			continue;
		bad(im, "%s %llu: byte %zu is %02x, encoded as %02x", what, (unsigned long long)nr,
		    i, b[i], a[i]);
		return;
	}
}

const uint8_t *block_at(const struct img *im, xw_blk b)
{
	if (b >= im->size / im->bs)
		return NULL;
	return im->map + b * im->bs;
}

const uint8_t *inode_at(const struct img *im, xw_ino ino)
{
	uint64_t g = (ino - 1) / im->sb.inodes_per_group, i = (ino - 1) % im->sb.inodes_per_group;
	uint64_t off;

	if (!ino || g >= im->groups || im->gd[g].inode_table >= im->size / im->bs)
		return NULL;
	off = im->gd[g].inode_table * im->bs + i * im->sb.inode_size;
	return off + im->sb.inode_size <= im->size ? im->map + off : NULL;
}

static bool is_power(uint64_t g, uint64_t base)
{
	while (g > 1 && g % base == 0)
		g /= base;
	return g == 1;
}

static bool has_super(const struct img *im, uint64_t g)
{
	if (!g)
		return true;
	if (im->sb.feature_compat & XW_COMPAT_SPARSE_SUPER2)
		return g == im->sb.backup_bgs[0] || g == im->sb.backup_bgs[1];
	if (!(im->sb.feature_ro_compat & XW_RO_SPARSE_SUPER))
		return true;
	return g == 1 || is_power(g, 3) || is_power(g, 5) || is_power(g, 7);
}

static uint64_t group_first(const struct img *im, uint64_t g)
{
	return im->sb.first_data_block + g * im->sb.blocks_per_group;
}

static void check_super(struct img *im, const uint8_t *p, uint64_t nr)
{
	struct xw_super sb = {0};
	uint8_t out[XW_SUPER_SIZE];

	memset(out, 0xA5, sizeof(out));
	if (xw_super_decode(p, &sb))
		bad(im, "superblock %llu does not decode", (unsigned long long)nr);
	if (xw_super_verify(p))
		bad(im, "superblock %llu: checksum", (unsigned long long)nr);
	xw_super_encode(&sb, out);
	if (!sb.rev_level) /* first_ino 11 and inode size 128 are implied: old tools store zeroes */
		memcpy(out + 0x54, p + 0x54, 6);
	same(im, out, p, sizeof(out), "superblock", nr);
	im->n.supers++;
}

static const uint8_t *desc_at(const struct img *im, uint64_t g)
{
	unsigned size = xw_super_desc_size(&im->sb), per = im->bs / size;
	uint64_t n = g / per, b = im->sb.first_data_block + 1 + n, first = n * per;
	const uint8_t *p;

	if (im->sb.feature_incompat & XW_INCOMPAT_META_BG && n >= im->sb.first_meta_bg)
		b = group_first(im, first) + has_super(im, first);
	else if (im->bs == 1024 && !im->sb.first_data_block)
		b++;
	p = block_at(im, b);
	return p ? p + g % per * size : NULL;
}

static void check_bitmaps(struct img *im, uint64_t g)
{
	const struct xw_group_desc *gd = &im->gd[g];
	bool lazy = im->sb.feature_ro_compat & (XW_RO_GDT_CSUM | XW_RO_METADATA_CSUM);
	const uint8_t *bb = block_at(im, gd->block_bitmap), *ib = block_at(im, gd->inode_bitmap);

	if (!bb || !ib) {
		bad(im, "group %llu: bitmaps out of range", (unsigned long long)g);
		return;
	}
	if (!xw_super_has_csum(&im->sb))
		return;
	if (!(lazy && gd->flags & XW_BG_BLOCK_UNINIT)) {
		im->n.bitmaps++;
		if (xw_bitmap_csum(&im->sb, im->seed, bb, im->sb.clusters_per_group / 8) !=
		    gd->block_bitmap_csum)
			bad(im, "group %llu: block bitmap checksum", (unsigned long long)g);
	}
	if (!(lazy && gd->flags & XW_BG_INODE_UNINIT)) {
		im->n.bitmaps++;
		if (xw_bitmap_csum(&im->sb, im->seed, ib, im->sb.inodes_per_group / 8) !=
		    gd->inode_bitmap_csum)
			bad(im, "group %llu: inode bitmap checksum", (unsigned long long)g);
	}
}

static void check_groups(struct img *im)
{
	unsigned size = xw_super_desc_size(&im->sb);

	for (uint64_t g = 0; g < im->groups; g++) {
		const uint8_t *p = desc_at(im, g), *backup;
		uint8_t out[RECORD_MAX];

		if (!p) {
			bad(im, "descriptor %llu out of range", (unsigned long long)g);
			continue;
		}
		xw_group_decode(p, size, &im->gd[g]);
		if (xw_group_verify(p, &im->sb, im->seed, (uint32_t)g))
			bad(im, "descriptor %llu: checksum", (unsigned long long)g);
		memcpy(out, p, size);
		memset(out, 0xA5, XW_MIN(size, 0x3Cu));
		xw_group_encode(&im->gd[g], &im->sb, im->seed, (uint32_t)g, out);
		same(im, out, p, size, "descriptor", g);
		im->n.groups++;
		check_bitmaps(im, g);
		backup = block_at(im, group_first(im, g));
		if (g && has_super(im, g) && backup && peek16(backup + 0x38) == XW_SUPER_MAGIC)
			check_super(im, backup, g);
	}
}

/* Encode over zeroes wherever a field is known, so that a forgotten field shows. */
static void check_record(struct img *im, xw_ino ino, const uint8_t *p, const struct xw_inode *in)
{
	uint8_t out[RECORD_MAX];
	unsigned size = im->sb.inode_size,
		 known = size > 128 ? 128 + XW_MIN(in->extra_isize, 32u) : 128;
	struct xw_inode again = *in;

	if (known == 128 && size > 128)
		known = 130;
	memcpy(out, p, size);
	memset(out, 0, known);
	xw_inode_encode(in, &im->sb, out);
	same(im, out, p, size, "inode", ino);

	memset(out, 0, known);
	again.checksum = xw_super_has_csum(&im->sb) ? 0x5A5A5A5A : again.checksum;
	xw_inode_encode(&again, &im->sb, out);
	xw_inode_set_csum(out, &im->sb, im->seed, ino);
	same(im, out, p, size, "inode (checksum)", ino);
}

static void check_rdev(struct img *im, xw_ino ino, const struct xw_inode *in)
{
	struct xw_inode copy = *in;
	uint32_t major, minor;

	memset(copy.block, 0, sizeof(copy.block));
	xw_inode_get_rdev(in, &major, &minor);
	if (xw_inode_put_rdev(&copy, major, minor))
		bad(im, "inode %u: device number", ino);
	same(im, copy.block, in->block, sizeof(copy.block), "device of inode", ino);
	im->n.devices++;
}

static void check_journal(struct img *im, xw_blk b)
{
	const uint8_t *p = block_at(im, b);
	uint8_t out[XW_JSB_SIZE];
	struct xw_jsb j;

	if (!p || xw_jsb_decode(p, &j)) {
		bad(im, "journal superblock does not decode");
		return;
	}
	if (xw_jsb_verify(p))
		bad(im, "journal superblock: checksum");
	xw_jsb_encode(&j, out);
	same(im, out, p, sizeof(out), "journal superblock", b);
	im->n.journals++;
}

static bool has_map(const struct xw_inode *in)
{
	uint32_t type = in->mode & XW_S_IFMT;

	if (in->flags & XW_FL_INLINE_DATA)
		return false;
	if (type == XW_S_IFLNK)
		return in->size >= sizeof(in->block) || in->flags & XW_FL_EXTENTS;
	return type == XW_S_IFREG || type == XW_S_IFDIR;
}

static void check_contents(struct img *im, xw_ino ino, const uint8_t *p, const struct xw_inode *in)
{
	uint32_t type = in->mode & XW_S_IFMT;
	struct map m = {0};

	if (type == XW_S_IFCHR || type == XW_S_IFBLK)
		check_rdev(im, ino, in);
	if (has_map(in))
		map_load(im, ino, in, &m);
	if (type == XW_S_IFDIR)
		check_dir(im, ino, in, &m);
	if (ino == XW_INO_JOURNAL && ino == im->sb.journal_inum)
		check_journal(im, map_find(&m, 0));
	if (in->flags & XW_FL_EA_INODE)
		check_ea_inode(im, ino, in, &m);
	check_xattrs(im, ino, p, in);
	free(m.v);
}

static void check_inodes(struct img *im)
{
	bool lazy = im->sb.feature_ro_compat & (XW_RO_GDT_CSUM | XW_RO_METADATA_CSUM);

	for (uint64_t g = 0; g < im->groups; g++) {
		uint32_t n = im->sb.inodes_per_group, unused = lazy ? im->gd[g].itable_unused : 0;

		if (lazy && im->gd[g].flags & XW_BG_INODE_UNINIT)
			continue;
		for (uint32_t i = 0; i + XW_MIN(unused, n) < n; i++) {
			xw_ino ino = (xw_ino)(g * n + i + 1);
			const uint8_t *p = inode_at(im, ino);
			struct xw_inode in;

			if (!p || xw_inode_decode(p, &im->sb, &in)) {
				bad(im, "inode %u does not decode", ino);
				continue;
			}
			if (xw_inode_verify(p, &im->sb, im->seed, ino))
				bad(im, "inode %u: checksum", ino);
			if (!in.mode && !in.links && !in.checksum && !in.extra_isize)
				continue;
			check_record(im, ino, p, &in);
			im->n.inodes++;
			if (in.links && ino != XW_INO_RESIZE && ino != XW_INO_BAD)
				check_contents(im, ino, p, &in);
		}
	}
}

static int img_open(struct img *im, const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	int err;

	if (fd < 0 || fstat(fd, &st) || st.st_size < 2048)
		return -1;
	im->size = (uint64_t)st.st_size;
	im->map = mmap(NULL, im->size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (im->map == MAP_FAILED)
		return -1;
	err = xw_super_decode(im->map + XW_SUPER_OFFSET, &im->sb);
	if (err)
		return err;
	im->seed = xw_super_csum_seed(&im->sb);
	im->bs = xw_super_block_size(&im->sb);
	im->groups = xw_super_groups(&im->sb);
	im->gd = calloc(im->groups ? im->groups : 1, sizeof(*im->gd));
	return im->gd ? 0 : -1;
}

static void print(struct img *im, int argc, char **argv)
{
	for (uint64_t g = 0; g < im->groups; g++)
		if (desc_at(im, g))
			xw_group_decode(desc_at(im, g), xw_super_desc_size(&im->sb), &im->gd[g]);
	if (!strcmp(argv[2], "super"))
		print_super(im);
	for (int i = 3; i < argc; i++) {
		xw_ino ino = (xw_ino)strtoul(argv[i], NULL, 10);

		if (!strcmp(argv[2], "stat"))
			print_inode(im, ino);
		else
			print_kernel(im, ino);
	}
}

static void report(const struct img *im)
{
	printf("supers=%u groups=%u bitmaps=%u inodes=%u ", im->n.supers, im->n.groups,
	       im->n.bitmaps, im->n.inodes);
	printf("extent_blocks=%u dir_blocks=%u dx_blocks=%u inline_dirs=%u ", im->n.extent_blocks,
	       im->n.dir_blocks, im->n.dx_blocks, im->n.inline_dirs);
	printf("ibody_xattrs=%u xattr_blocks=%u ea_inodes=%u journals=%u devices=%u bad=%u\n",
	       im->n.ibody_xattrs, im->n.xattr_blocks, im->n.ea_inodes, im->n.journals,
	       im->n.devices, im->bad);
}

int main(int argc, char **argv)
{
	struct img im = {0};

	if (argc < 2 || img_open(&im, argv[1])) {
		fprintf(stderr,
			"usage: t_disk_oracle IMAGE [super | stat INO... | kernel INO...]\n");
		return 2;
	}
	if (argc > 2) {
		print(&im, argc, argv);
	} else {
		check_super(&im, im.map + XW_SUPER_OFFSET, 0);
		check_groups(&im);
		check_inodes(&im);
		report(&im);
	}
	free(im.gd);
	return im.bad ? 1 : 0;
}
