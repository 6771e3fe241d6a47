/* SPDX-License-Identifier: MIT */
/*
 * The kernel as oracle for lib/xattr; driven by xattr.sh.
 *
 *   xattr_image fill DIR SEED     make files in a mounted filesystem and give them attributes
 *   xattr_image change DIR SEED   change, add and remove attributes of those files
 *   xattr_image kernel DIR        list all attributes as the kernel tells them
 *   xattr_image image IMAGE       list all attributes as lib/xattr decodes them, ACLs as the kernel
 *                                 would hand them out
 *   xattr_image rewrite IMAGE     place and encode each inode's attributes anew, in the image
 *
 * Lists are lines of "inode name value" in hexadecimal, unsorted. rewrite leaves alone what would
 * need allocation: inodes that would gain or lose a block or an EA inode, and shared blocks.
 */
#include "base/endian.h"
#include "base/err.h"
#include "disk/extent.h"
#include "disk/group.h"
#include "disk/inode.h"
#include "disk/xattrblk.h"
#include "xattr/ea_inode.h"
#include "xattr/layout.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define FILES 160
#define SLOTS 64

static int failures;

static void complain(const char *what, uint64_t ino)
{
	fprintf(stderr, "inode %llu: %s\n", (unsigned long long)ino, what);
	failures++;
}

static uint32_t rnd(uint64_t *s)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*s >> 33);
}

/* ---- through the kernel ---- */

static size_t random_acl(uint64_t *seed, uint8_t *out)
{
	uint32_t users = rnd(seed) % 12;
	size_t off = 4;

	poke32(out, 2);
	for (uint32_t i = 0; i < users + 4; i++, off += 8) {
		bool user = i > 0 && i <= users;
		uint16_t tag = i == 0           ? 1
			       : user           ? 2
			       : i == users + 1 ? 4
			       : i == users + 2 ? 16
						: 32;

		poke16(out + off, tag);
		poke16(out + off + 2, (uint16_t)(rnd(seed) % 8));
		poke32(out + off + 4, user ? 1000 + i * 70000 : UINT32_MAX);
	}
	return off;
}

/* One setxattr of a random attribute; what the filesystem has no room for is left out. */
static void set_random(const char *path, uint64_t *seed)
{
	static const char *const names[] = {"user.a",           "user.comment",
					    "user.мета",        "trusted.overlay.opaque",
					    "security.selinux", "user.longer-name-of-an-attribute",
					    "gnu.translator"};
	static uint8_t value[XW_XATTR_VALUE_MAX];
	uint32_t kind = rnd(seed) % 16;
	size_t len = rnd(seed) % 60;
	char name[300];

	if (kind == 0)
		len = 0;
	else if (kind == 1)
		len = rnd(seed) % 900;
	else if (kind == 2)
		len = 5000 + rnd(seed) % 3 * 30000; /* needs ea_inode */
	memset(value, (int)('a' + rnd(seed) % 3), len);
	snprintf(name, sizeof(name), "%s", names[rnd(seed) % XW_ARRAY_SIZE(names)]);
	if (kind == 3)
		snprintf(name, sizeof(name), "user.%0250u", rnd(seed) % 10);
	if (kind == 4) {
		snprintf(name, sizeof(name), "system.posix_acl_access");
		len = random_acl(seed, value);
	}
	if (setxattr(path, name, value, len, 0) && errno != ENOSPC && errno != E2BIG)
		fprintf(stderr, "# %s %s %zu: %s\n", path, name, len, strerror(errno));
}

static int fill(const char *dir, uint64_t seed)
{
	for (unsigned i = 0; i < FILES; i++) {
		char path[4096];
		uint32_t n = rnd(&seed) % 8;
		int fd;

		snprintf(path, sizeof(path), "%s/f%u", dir, i);
		fd = open(path, O_CREAT | O_WRONLY, 0644);
		if (fd < 0)
			return 1;
		close(fd);
		/* every fourth pair gets the same attributes: shared blocks and EA inodes */
		for (uint64_t s = seed + i / 2 % 4 * (i & ~1u), k = 0; k < n; k++)
			set_random(path, &s);
	}
	return 0;
}

static int change(const char *dir, uint64_t seed)
{
	for (unsigned i = 0; i < FILES; i++) {
		char path[4096], names[8192];
		ssize_t len;

		snprintf(path, sizeof(path), "%s/f%u", dir, i);
		len = listxattr(path, names, sizeof(names));
		if (len < 0)
			return 1;
		if (len > 0 && rnd(&seed) % 2 && removexattr(path, names))
			complain("removexattr failed", i);
		for (uint32_t k = rnd(&seed) % 4; k; k--)
			set_random(path, &seed);
		/* something that always fits after what was there */
		if (setxattr(path, "user.z", "1", 1, 0) && errno != ENOSPC)
			complain("setxattr failed", i);
	}
	return failures != 0;
}

static void print_hex(const void *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		printf("%02x", ((const uint8_t *)p)[i]);
}

static void print_line(uint64_t ino, const char *name, size_t name_len, const void *value,
		       size_t len)
{
	printf("%llu ", (unsigned long long)ino);
	print_hex(name, name_len);
	printf(" ");
	print_hex(value, len);
	printf("\n");
}

static int list_kernel(const char *dir)
{
	static char value[XW_XATTR_VALUE_MAX], names[65536];
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char path[4096];
		ssize_t n;

		if (!strcmp(e->d_name, ".."))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		n = listxattr(path, names, sizeof(names));
		for (ssize_t off = 0; off < n; off += (ssize_t)strlen(names + off) + 1) {
			ssize_t len = getxattr(path, names + off, value, sizeof(value));

			if (len < 0)
				complain("getxattr failed", e->d_ino);
			else
				print_line(e->d_ino, names + off, strlen(names + off), value,
					   (size_t)len);
		}
	}
	if (d)
		closedir(d);
	return !d || failures;
}

/* ---- through the library ---- */

struct image {
	uint8_t *map;
	uint64_t size;
	struct xw_super sb;
	uint32_t bs, seed;
};

static uint8_t *block_at(struct image *im, xw_blk blk)
{
	return blk < im->size / im->bs ? im->map + blk * im->bs : NULL;
}

static uint8_t *inode_at(struct image *im, xw_ino ino)
{
	uint32_t group = (ino - 1) / im->sb.inodes_per_group,
		 i = (ino - 1) % im->sb.inodes_per_group;
	unsigned dsize = xw_super_desc_size(&im->sb);
	uint64_t off = (uint64_t)(im->sb.first_data_block + 1) * im->bs + (uint64_t)group * dsize;
	struct xw_group_desc gd;

	if (ino == 0 || ino > im->sb.inodes_count || off + dsize > im->size)
		return NULL;
	xw_group_decode(im->map + off, dsize, &gd);
	off = gd.inode_table * im->bs + (uint64_t)i * im->sb.inode_size;
	return gd.inode_table < im->size / im->bs && off + im->sb.inode_size <= im->size
		       ? im->map + off
		       : NULL;
}

/* The value in EA inode `ino`, in out; its hash is checked against the inode. */
static bool fetch(struct image *im, xw_ino ino, uint32_t len, uint8_t *out, struct xw_inode *in)
{
	const uint8_t *raw = inode_at(im, ino);
	struct xw_extent_hdr h;

	if (!raw || xw_inode_decode(raw, &im->sb, in) || !(in->flags & XW_FL_EA_INODE) ||
	    in->size != len || xw_extent_hdr_decode(in->block, sizeof(in->block), &h) || h.depth)
		return false;
	for (unsigned i = 0; i < h.entries; i++) {
		struct xw_extent e;

		xw_extent_leaf_decode(in->block, i, &e);
		for (uint32_t k = 0; k < e.len; k++) {
			uint64_t off = (uint64_t)(e.lblk + k) * im->bs;
			const uint8_t *p = block_at(im, e.pblk + k);

			if (!p || off >= len)
				return false;
			memcpy(out + off, p, XW_MIN(len - off, im->bs));
		}
	}
	return xw_inode_ea_hash(in) == xw_xattr_value_hash(im->seed, out, len);
}

/* An inode's attributes with all values, and the EA inodes they came from. */
struct attrs {
	struct xw_inode in;
	struct xw_xattr_set set;
	xw_ino inums[SLOTS];
	uint8_t *body, *block;
	size_t body_size;
	struct xw_xattr_bhdr bhdr;
};

static bool load(struct image *im, xw_ino ino, struct attrs *a)
{
	static uint8_t value[XW_XATTR_VALUE_MAX + 4096];
	uint8_t *raw = inode_at(im, ino);
	struct xw_diag d = {0};

	memset(a, 0, sizeof(*a));
	if (!raw || xw_inode_decode(raw, &im->sb, &a->in) || !a->in.links ||
	    a->in.flags & XW_FL_EA_INODE)
		return false;
	a->body = raw + XW_INODE_BODY + a->in.extra_isize;
	a->body_size = im->sb.inode_size - XW_INODE_BODY - a->in.extra_isize;
	if (xw_xattr_decode_ibody(a->body, a->body_size, &a->set, &d))
		complain(d.text, ino);
	if (a->in.file_acl) {
		a->block = block_at(im, a->in.file_acl);
		if (!a->block || xw_xattr_decode_block(a->block, im->bs, &a->set, &d))
			complain(d.text, ino);
		if (a->block && xw_xattr_bhdr_decode(a->block, &a->bhdr))
			complain("xattr block header", ino);
	}
	if (a->set.a.n > SLOTS)
		return false;
	for (size_t i = 0; i < a->set.a.n; i++) {
		struct xw_xattr x = a->set.a.v[i];
		struct xw_inode ea;

		a->inums[i] = x.value_inum;
		if (!x.value_inum)
			continue;
		if (x.value_len > XW_XATTR_VALUE_MAX ||
		    !fetch(im, x.value_inum, x.value_len, value, &ea))
			complain("value in EA inode", ino);
		else
			xw_xattr_set_put_raw(&a->set, x.index, x.name, x.name_len, value,
					     x.value_len, NULL);
	}
	return true;
}

static void list_one(struct image *im, xw_ino ino)
{
	struct attrs a;

	if (!load(im, ino, &a))
		return;
	for (size_t i = 0; i < a.set.a.n; i++) {
		const struct xw_xattr *x = &a.set.a.v[i];
		char name[XW_XATTR_FULL_NAME_MAX];
		size_t len = xw_xattr_full_name(x->index, x->name, x->name_len, name);

		if (x->index == XW_XI_ACL_ACCESS || x->index == XW_XI_ACL_DEFAULT) {
			struct xw_acl acl = {0};
			uint8_t buf[4096];

			if (xw_acl_from_disk(&acl, x->value, x->value_len, name, NULL))
				complain("ACL", ino);
			print_line(ino, name, len, buf, xw_acl_to_xattr(&acl, buf));
			xw_acl_free(&acl);
		} else {
			print_line(ino, name, len, x->value, x->value_len);
		}
	}
	xw_xattr_set_free(&a.set);
}

/* Whether it was rewritten. */
static bool rewrite_one(struct image *im, xw_ino ino, unsigned *blocks, unsigned *eas)
{
	struct xw_xattr_slot slots[SLOTS];
	static uint8_t body[65536], block[65536];
	struct xw_xattr_span span;
	struct attrs a;
	bool ok = load(im, ino, &a) && a.set.a.n > 0 && (!a.block || a.bhdr.refcount == 1),
	     in_block = false;
	unsigned n_ea = 0;

	ok = ok && !xw_xattr_layout(&a.set, (uint32_t)a.body_size, im->bs,
				    im->sb.feature_incompat & XW_INCOMPAT_EA_INODE, slots, NULL);
	for (size_t i = 0; ok && i < a.set.a.n; i++) {
		ok = slots[i].ea == (a.inums[i] != 0);
		in_block |= slots[i].in_block;
		slots[i].value_inum = a.inums[i];
		slots[i].value_hash =
			xw_xattr_value_hash(im->seed, a.set.a.v[i].value, a.set.a.v[i].value_len);
		n_ea += slots[i].ea;
	}
	ok = ok && in_block == (a.block != NULL);
	if (ok) {
		xw_xattr_encode_ibody(&a.set, slots, (uint32_t)a.body_size, body);
		memcpy(a.body, body, a.body_size);
		xw_inode_set_csum(inode_at(im, ino), &im->sb, im->seed, ino);
		if (xw_xattr_encode_block(&a.set, slots, im->bs, block, &span)) {
			if (xw_super_has_csum(&im->sb))
				xw_xattr_block_set_csum(block, im->bs, im->seed, a.in.file_acl);
			memcpy(a.block, block, im->bs);
			++*blocks;
		}
		*eas += n_ea;
	}
	xw_xattr_set_free(&a.set);
	return ok;
}

static int with_image(const char *path, bool rewrite)
{
	unsigned inodes = 0, blocks = 0, eas = 0;
	struct image im = {0};
	struct stat st;
	int fd = open(path, O_RDWR);

	if (fd < 0 || fstat(fd, &st))
		return 2;
	im.size = (uint64_t)st.st_size;
	im.map = mmap(NULL, im.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (im.map == MAP_FAILED || xw_super_decode(im.map + XW_SUPER_OFFSET, &im.sb))
		return 2;
	im.bs = xw_super_block_size(&im.sb);
	im.seed = xw_super_csum_seed(&im.sb);
	for (xw_ino ino = XW_INO_FIRST; ino <= im.sb.inodes_count; ino++) {
		if (rewrite)
			inodes += rewrite_one(&im, ino, &blocks, &eas);
		else
			list_one(&im, ino);
	}
	if (rewrite)
		printf("%u inodes, %u blocks, %u values in EA inodes\n", inodes, blocks, eas);
	munmap(im.map, im.size);
	close(fd);
	return failures != 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "fill"))
		return fill(argv[2], strtoull(argv[3], NULL, 10));
	if (argc == 4 && !strcmp(argv[1], "change"))
		return change(argv[2], strtoull(argv[3], NULL, 10));
	if (argc == 3 && !strcmp(argv[1], "kernel"))
		return list_kernel(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "image"))
		return with_image(argv[2], false);
	if (argc == 3 && !strcmp(argv[1], "rewrite"))
		return with_image(argv[2], true);
	fprintf(stderr,
		"usage: xattr_image fill|change DIR SEED | kernel DIR | image|rewrite IMAGE\n");
	return 2;
}
