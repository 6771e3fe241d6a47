// SPDX-License-Identifier: MIT
/*
 * Single inodes: create, delete, restore. They are encoded with the builder's encoders, so that a
 * file created here equals one created by mkfs or import.
 *
 * Contents are read in pieces, since their length may be unknown; each piece is placed after the
 * previous one if possible.
 */
#include "config.h"

#include "edit/edit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/bytes.h"
#include "disk/extent.h"
#include "disk/indirect.h"
#include "disk/xattrblk.h"
#include "read/map.h"
#include "edit/edit_internal.h"

#define PIECE (UINT64_C(1) << 20) /* minimum number of bytes read at once */

/* ---- contents ---- */

struct maker {
	struct xw_update *u;
	const struct xw_update_new *new;
	struct xw_binode n;
	struct xw_bdir dir;
	struct xw_update_map m; /* the contents */
	xw_blk goal;
	uint64_t most; /* maximum size in bytes that a map can address */
	uint64_t unit; /* block or cluster size in bytes: the unit of holes */
	size_t size; /* size of piece */
	uint8_t *piece;
};

/* Allocate blocks for `len` blocks of data at lblk, and write them past the step's overlay. */
static int place(struct maker *k, uint64_t lblk, const uint8_t *data, uint64_t len)
{
	const uint32_t bs = k->u->img->block_size;
	const struct xw_alloc_req req = {.goal = k->goal, .len = len};
	auto_free struct xw_run *runs = NULL;
	size_t n;
	int rc = xw_update_alloc_contents(k->u, &req, &runs, &n);

	for (size_t i = 0; i < n && !rc; i++) {
		rc = xw_update_map_add(
			k->u, &k->m,
			(struct xw_map_run){(xw_lblk)lblk, runs[i].len, runs[i].start, false});
		if (!rc)
			rc = xw_dev_pwrite(k->u->data, data, runs[i].len * bs, runs[i].start * bs);
		data += runs[i].len * bs;
		lblk += runs[i].len;
		k->goal = runs[i].start + runs[i].len;
	}
	return rc;
}

/* Store a piece of `got` bytes at byte `off`, padded with zeros; zero blocks become holes. */
static int store(struct maker *k, uint64_t off, size_t got)
{
	const uint32_t bs = k->u->img->block_size;
	const uint64_t units = xw_div_up(got, k->unit);
	int rc = 0;

	for (uint64_t i = 0, n; i < units && !rc; i += n) {
		const uint8_t *p = k->piece + i * k->unit;
		const bool zero = !k->new->whole &&xw_all_zero(p, k->unit);

		for (n = 1; i + n < units; n++)
			if (!k->new->whole && xw_all_zero(p + n * k->unit, k->unit) != zero)
				break;
		if (!zero)
			rc = place(k, off / bs + i * k->unit / bs, p,
				   xw_div_up(XW_MIN(n * k->unit, got - i * k->unit), bs));
	}
	return rc;
}

static bool fits_inline(const struct maker *k, size_t got)
{
	return !k->n.size && got < k->size && !k->new->whole &&
	       (int64_t)got <= xw_inline_room(&k->u->place.enc, &k->n) &&
	       !xw_extent_root_like(k->piece, got);
}

static int fill(struct maker *k)
{
	size_t got;
	int rc;

	k->size = XW_MAX(PIECE, k->unit);
	k->piece = malloc(k->size);
	if (!k->piece)
		return xw_fail_nomem(k->u->diag, "file contents");
	do {
		if (k->new->hole && !k->new->whole)
			k->n.size += k->new->hole(k->new->arg, k->unit);
		memset(k->piece, 0, k->size);
		rc = k->new->read(k->new->arg, k->piece, k->size, &got);
		if (rc)
			return rc;
		if (fits_inline(k, got)) {
			k->n.flags |= XW_BN_INLINE;
			k->n.bytes = (const char *)k->piece;
			k->n.size = got;
			return 0;
		}
		if (k->n.size > k->most || got > k->most - k->n.size)
			return xw_fail(k->u->diag, XW_ERR_LIMIT,
				       "%s: the file is larger than its map can reach",
				       k->u->img->dev->name);
		rc = store(k, k->n.size, got);
		k->n.size += got;
	} while (!rc && got == k->size);
	return rc;
}

static int fill_link(struct maker *k)
{
	const size_t len = k->new->target ? strlen(k->new->target) : 0;

	if (!len || len > k->u->img->block_size - 1)
		return xw_fail(k->u->diag, XW_ERR_INPUT,
			       "%s: a symlink target must have 1 to %u bytes", k->u->img->dev->name,
			       k->u->img->block_size - 1);
	k->n.bytes = k->new->target;
	k->n.size = len;
	if (len < 60)
		return 0;
	k->piece = calloc(1, k->u->img->block_size);
	if (!k->piece)
		return xw_fail_nomem(k->u->diag, "symlink");
	memcpy(k->piece, k->new->target, len);
	return place(k, 0, k->piece, 1);
}

static int put_dir_block(void *arg, uint32_t lblk, const void *block)
{
	const struct maker *k = arg;
	const uint32_t bs = k->u->img->block_size;

	return xw_dev_pwrite(k->u->img->dev, block, bs, (k->m.e.v[0].pblk + lblk) * bs);
}

static int fill_dir(struct maker *k)
{
	struct xw_update *u = k->u;
	struct xw_dir_self self = {.ino = k->n.ino, .parent = k->new->parent};
	int rc;

	if (xw_inline_shape(&u->place.enc, &k->n))
		return 0;
	rc = xw_dir_shape(&u->place.enc.dirfmt, NULL, 0, 0, &k->dir.shape);
	if (!rc)
		rc = xw_update_map_alloc(u, k->n.ino, &k->m, 1);
	if (rc)
		return rc;
	self.generation = xw_encode_generation(&u->place.enc, &k->n);
	self.inode_seed = xw_inode_seed(u->img->csum_seed, k->n.ino, self.generation);
	k->n.size = u->img->block_size;
	return xw_dir_emit(&u->place.enc.dirfmt, &k->dir.shape, NULL, 0, &self, put_dir_block, k);
}

static int fill_any(struct maker *k)
{
	switch (k->n.mode & XW_S_IFMT) {
	case XW_S_IFREG:
		return k->new->read ? fill(k) : 0;
	case XW_S_IFLNK:
		return fill_link(k);
	case XW_S_IFDIR:
		return fill_dir(k);
	case XW_S_IFCHR:
	case XW_S_IFBLK:
		if (k->new->major > XW_RDEV_MAJOR_MAX || k->new->minor > XW_RDEV_MINOR_MAX)
			return xw_fail(k->u->diag, XW_ERR_LIMIT,
				       "%s: device %" PRIu32 ":%" PRIu32
				       " has numbers that are too large",
				       k->u->img->dev->name, k->new->major, k->new->minor);
		k->n.dev.major = k->new->major;
		k->n.dev.minor = k->new->minor;
		return 0;
	default:
		return 0;
	}
}

/* ---- creating ---- */

static int number(struct maker *k)
{
	const struct xw_super *sb = &k->u->img->sb;
	const uint32_t group = (XW_MAX(k->new->parent, 1u) - 1) / sb->inodes_per_group;
	const xw_ino start = XW_MAX(group * sb->inodes_per_group + 1, sb->first_ino);
	const int rc = xw_update_alloc_inode(k->u, k->new->goal ? k->new->goal : start,
					     xw_binode_is(&k->n, XW_S_IFDIR), &k->n.ino);

	k->goal = sb->first_data_block +
		  (uint64_t)((k->n.ino - 1) / sb->inodes_per_group) * sb->blocks_per_group;
	if (rc == XW_ERR_NOINODES)
		return xw_fail(k->u->diag, rc, "%s: no free inode", k->u->img->dev->name);
	return rc;
}

/* Write map and record, and charge the usage to the owner. */
static int record(struct maker *k)
{
	struct xw_update *u = k->u;
	auto_free uint8_t *raw = calloc(1, u->img->inode_size);
	struct xw_inode in;
	int rc = raw ? 0 : xw_fail_nomem(u->diag, "inode");

	k->n.n_ext = (uint32_t)k->m.e.n;
	if (k->m.e.n == 1)
		k->n.ext = k->m.e.v[0];
	else
		k->n.exts = k->m.e.v;
	u->place.goal = k->goal;
	if (!rc)
		rc = xw_update_build_map(u, &k->n);
	if (!rc)
		rc = xw_itable_record(&u->place.enc, &k->n, raw);
	if (!rc)
		rc = xw_inode_decode(raw, &u->img->sb, &in);
	if (!rc)
		rc = xw_update_charge(u, &in, 1, (int64_t)xw_update_bytes(u, &in));
	u->large_file |= k->n.size > INT32_MAX;
	return rc ? rc : xw_update_put(u, k->n.ino, &in, steal(raw));
}

int xw_update_create(struct xw_update *u, const struct xw_update_new *new, xw_ino *ino)
{
	const uint64_t bs = u->img->block_size;
	struct xw_binode parent = {.ino = new->parent};
	struct maker k = {
		.u = u,
		.new = new,
		.dir = {.parent = &parent},
		.unit = bs << u->place.enc.cluster_bits,
		.n = {.mode = new->mode,
		      .uid = new->uid,
		      .gid = new->gid,
		      .links = 1,
		      .mtime = u->now,
		      .atime = u->now},
		.most = bs *(u->img->sb.feature_incompat & XW_INCOMPAT_EXTENTS
				     ? UINT32_MAX
				     : xw_indirect_max_lblk((uint32_t)bs)),
	};
	int rc;

	if ((new->mode &XW_S_IFMT) == XW_S_IFDIR)
		k.n.dir = &k.dir;
	rc = number(&k);
	if (!rc)
		rc = fill_any(&k);
	if (!rc)
		rc = xw_update_contents_done(u);
	if (!rc)
		rc = record(&k);
	*ino = k.n.ino;
	xw_update_built_map_free(&k.n);
	free(k.piece);
	xw_update_map_end(&k.m);
	return rc;
}

int xw_update_add_links(struct xw_update *u, xw_ino ino, int delta)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int64_t links;
	bool dir;
	int rc = xw_update_get(u, ino, &in, &raw);

	if (rc)
		return rc;
	dir = (in.mode & XW_S_IFMT) == XW_S_IFDIR;
	if (dir && in.links == 1 && u->img->sb.feature_ro_compat & XW_RO_DIR_NLINK)
		return 0; /* links of such a directory are no longer counted */
	links = (int64_t)in.links + delta;
	if (links > XW_LINK_MAX && dir && u->img->sb.feature_ro_compat & XW_RO_DIR_NLINK)
		links = 1;
	if (links > XW_LINK_MAX)
		return xw_update_fail(u, ino, XW_ERR_LIMIT, "has too many links");
	in.links = (uint16_t)XW_MAX(links, 0);
	return xw_update_put(u, ino, &in, steal(raw));
}

/* ---- deleting and restoring ---- */

int xw_update_kill(struct xw_update *u, xw_ino ino, bool unlinked)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc = xw_update_get(u, ino, &in, &raw);

	if (!rc)
		rc = xw_update_empty(u, ino, &in, raw);
	if (rc)
		return rc;
	in.dtime = xw_update_dtime(u);
	if (unlinked)
		in.links = 0;
	return xw_update_put(u, ino, &in, steal(raw));
}

struct reviver {
	struct xw_update *u;
	xw_ino ino;
};

static int claim(void *arg, xw_blk start, uint64_t len)
{
	const struct reviver *r = arg;
	const int rc = xw_space_claim(r->u->space, start, len);

	return rc == XW_ERR_CORRUPT ? xw_update_fail(r->u, r->ino, XW_ERR_EXISTS,
						     "one of its blocks is in use again")
				    : rc;
}

int xw_update_revive(struct xw_update *u, xw_ino ino)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc = xw_update_get(u, ino, &in, &raw);

	if (rc)
		return rc;
	if (!in.dtime || !in.mode)
		return xw_update_fail(u, ino, XW_ERR_STATE, "is not marked as deleted");
	rc = xw_update_unhide_inode(u, ino);
	if (rc)
		return rc;
	rc = xw_ispace_claim(u->inodes, ino, (in.mode & XW_S_IFMT) == XW_S_IFDIR);
	if (rc)
		return rc == XW_ERR_CORRUPT
			       ? xw_update_fail(u, ino, XW_ERR_EXISTS, "is in use again")
			       : rc;
	rc = xw_update_each_cluster(u, ino, &in, claim, &(struct reviver){u, ino});
	if (rc)
		return rc;
	if (in.file_acl && xw_space_claim(u->space, in.file_acl, 1)) {
		const uint64_t blocks = xw_update_bytes(u, &in) / u->img->block_size;
		const uint64_t cluster = UINT64_C(1) << u->place.enc.cluster_bits;

		in.file_acl = 0;
		rc = blocks < cluster ? 0 : xw_inode_set_blocks(&in, &u->img->sb, blocks - cluster);
	}
	in.dtime = 0;
	in.links = 1;
	if (!rc)
		rc = xw_update_charge(u, &in, 1, (int64_t)xw_update_bytes(u, &in));
	return rc ? rc : xw_update_put(u, ino, &in, steal(raw));
}
