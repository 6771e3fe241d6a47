// SPDX-License-Identifier: MIT
/*
 * Releases everything that a removed or replaced inode owned: runs of blocks, references to xattr
 * blocks and EA inodes, whole inodes. Nothing read from the image is trusted: a run must lie in the
 * filesystem and outside of group metadata, and when bitmaps are written, each block must have been
 * in use exactly once.
 */
#include "config.h"

#include "update/update.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/vec.h"
#include "disk/xattrblk.h"
#include "read/itree.h"
#include "read/map.h"
#include "update/inode.h"
#include "update/map.h"
#include "update/xattrs.h"
#include "xattr/layout.h"
#include "update/update_internal.h"

int xw_update_fail(struct xw_update *u, xw_ino ino, int code, const char *why)
{
	return xw_fail(u->diag, code, "%s: inode %" PRIu32 ": %s", u->img->dev->name, ino, why);
}

int xw_update_fail_dir(struct xw_update *u, xw_ino ino, int code, const char *why)
{
	return xw_fail(u->diag, code, "%s: directory inode %" PRIu32 ": %s", u->img->dev->name, ino,
		       why);
}

int xw_update_bad(struct xw_update *u, xw_ino ino, const char *what)
{
	return xw_fail(u->diag, XW_ERR_CORRUPT, "%s: inode %" PRIu32 ": %s; run xw-fsck -f",
		       u->img->dev->name, ino, what);
}

/* ---- blocks ---- */

int xw_update_free(struct xw_update *u, xw_blk blk, uint64_t len)
{
	struct xw_run *last = u->freed.n ? &u->freed.v[u->freed.n - 1] : NULL;
	bool meta = !xw_image_has_blocks(u->img, blk, len) ||
		    xw_sysmap_at(u->sysmap, blk, len, &meta) < len || meta;

	if (meta)
		return xw_fail(u->diag, XW_ERR_CORRUPT,
			       "%s: blocks %" PRIu64 "+%" PRIu64
			       " of a file are metadata or outside the filesystem; "
			       "run xw-fsck -f",
			       u->img->dev->name, blk, len);
	u->stats.freed_blocks += len;
	if (last && last->start + last->len == blk) {
		last->len += len;
		return 0;
	}
	return xw_vec_push(&u->freed, ((struct xw_run){blk, len}))
		       ? xw_fail_nomem(u->diag, "freed blocks")
		       : 0;
}

int xw_update_free_one(struct xw_update *u, xw_blk blk)
{
	const uint64_t size = UINT64_C(1) << u->place.enc.cluster_bits;

	return xw_update_free(u, blk & ~(size - 1), size);
}

int xw_update_clusters(struct xw_update_clusters *c, const struct xw_map_run *run,
		       struct xw_run *out)
{
	const uint32_t bits = c->u->place.enc.cluster_bits;
	const uint64_t inside = (UINT64_C(1) << bits) - 1;
	const uint64_t from = run->lblk >> bits, first = XW_MAX(from, c->next);
	const uint64_t end = ((run->lblk + run->len - 1) >> bits) + 1;

	if ((run->lblk ^ run->pblk) & inside)
		return xw_fail(c->u->diag, XW_ERR_CORRUPT,
			       "%s: blocks %" PRIu64 "+%" PRIu64
			       " of a file are misaligned in their clusters; run xw-fsck -f",
			       c->u->img->dev->name, run->pblk, run->len);
	*out = (struct xw_run){.start = (run->pblk & ~inside) + ((first - from) << bits)};
	if (first < end)
		out->len = (end - first) << bits;
	c->next = XW_MAX(end, c->next);
	return 0;
}

struct every {
	struct xw_update *u;
	xw_update_cluster_fn *fn;
	void *arg;
};

int xw_update_itree_nodes(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
			  int (*fn)(void *arg, xw_blk blk, unsigned level), void *arg)
{
	auto_end(xw_itree_end) struct xw_itree_iter it;
	struct xw_itree_entry e;
	int rc = xw_itree_begin(u->img, ino, in, &it);

	if (!rc)
		rc = fn(arg, it.root, it.levels - 1);
	it.on_node = fn;
	it.arg = arg;
	while (!rc && (rc = xw_itree_next(&it, &e)) == 1)
		rc = 0;
	return rc == XW_ERR_NOTFOUND ? 0 : rc;
}

static int every_node(void *arg, xw_blk blk, unsigned depth)
{
	const struct every *e = arg;
	const uint64_t size = UINT64_C(1) << e->u->place.enc.cluster_bits;

	(void)depth;
	return e->fn(e->arg, blk & ~(size - 1), size);
}

int xw_update_each_cluster(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
			   xw_update_cluster_fn *fn, void *arg)
{
	struct xw_update_clusters c = {.u = u};
	struct every e = {u, fn, arg};
	struct xw_map_iter it;
	struct xw_map_run run;
	struct xw_run fresh;
	int more, rc;

	if (!xw_inode_has_map(in))
		return 0;
	rc = xw_map_begin(u->img, ino, in, 0, &it);
	it.on_node = every_node;
	it.arg = &e;
	while (!rc && (more = xw_map_next(&it, &run)) != 0) {
		rc = more < 0 ? more : xw_update_clusters(&c, &run, &fresh);
		if (!rc && fresh.len)
			rc = fn(arg, fresh.start, fresh.len);
	}
	xw_map_end(&it);
	return rc ? rc : xw_update_itree_nodes(u, ino, in, every_node, &e);
}

static int free_run(void *arg, xw_blk start, uint64_t len)
{
	return xw_update_free(arg, start, len);
}

int xw_update_free_map(struct xw_update *u, xw_ino ino, const struct xw_inode *in)
{
	return xw_update_each_cluster(u, ino, in, free_run, u);
}

/* ---- xattrs ---- */

/*
 * EA inodes whose last reference was dropped, to be removed later: an EA inode of a crafted image
 * can have attributes in EA inodes itself, in a chain of any length, which must not be recursion.
 */
struct ends {
	XW_VEC(xw_ino) a;
};

/* Drop one reference to the EA inode of a value. */
static int put_ea(struct xw_update *u, xw_ino ino, struct ends *ends)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	uint64_t refs;
	int rc = xw_update_get(u, ino, &in, &raw);

	if (rc)
		return rc;
	if (!(in.flags & XW_FL_EA_INODE))
		return xw_update_bad(u, ino, "is not an EA inode, but an entry refers to it");
	refs = xw_inode_ea_refs(&in);
	if (!refs)
		return xw_update_bad(u, ino, "has fewer references than entries that refer to it");
	if (refs == 1)
		return xw_vec_push(&ends->a, ino) ? xw_fail_nomem(u->diag, "attributes") : 0;
	xw_inode_set_ea_refs(&in, refs - 1);
	return xw_update_put(u, ino, &in, steal(raw));
}

/* Drop the references to all EA inodes in the entries of a decoded area. */
static int put_values(struct xw_update *u, const struct xw_xattr_set *set, struct ends *ends)
{
	int rc = 0;

	for (size_t i = 0; i < set->a.n && !rc; i++)
		if (set->a.v[i].value_inum)
			rc = put_ea(u, set->a.v[i].value_inum, ends);
	return rc;
}

uint64_t xw_update_ea_values(const struct xw_xattr_set *set)
{
	uint64_t n = 0;

	for (size_t i = 0; i < set->a.n; i++)
		n += set->a.v[i].value_inum != 0;
	return n;
}

/* Drop one reference to the xattr block; with the last one, also those to its EA inodes. */
static int put_block(struct xw_update *u, xw_ino ino, xw_blk blk, uint64_t *ea, struct ends *ends)
{
	const uint32_t bs = u->img->block_size;
	auto_free uint8_t *buf = malloc(bs);
	auto_end(xw_xattr_set_free) struct xw_xattr_set set = {0};
	struct xw_xattr_bhdr h;
	int rc;

	if (!buf)
		return xw_fail_nomem(u->diag, "xattr block");
	if (!xw_image_has_blocks(u->img, blk, 1))
		return xw_update_bad(u, ino, "its xattr block is outside the filesystem");
	rc = xw_dev_pread(u->img->dev, buf, bs, blk * bs);
	if (rc)
		return rc;
	if (xw_xattr_bhdr_decode(buf, &h) || !h.refcount ||
	    (xw_super_has_csum(&u->img->sb) &&
	     xw_xattr_block_verify(buf, bs, u->img->csum_seed, blk)))
		return xw_update_bad(u, ino, "its xattr block is damaged");
	if (xw_xattr_decode_block(buf, bs, &set, NULL))
		return xw_update_bad(u, ino, "its xattr block is damaged");
	*ea += xw_update_ea_values(&set);
	if (h.refcount == 1)
		rc = put_values(u, &set, ends);
	if (rc)
		return rc;
	h.refcount--;
	xw_update_share_put(u, buf, blk, h.refcount);
	return h.refcount ? xw_update_recount_xattrs(u, blk, buf, h.refcount)
			  : xw_update_free_one(u, blk);
}

static int put_xattrs(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
		      const uint8_t *raw, uint64_t *ea, struct ends *ends)
{
	const unsigned off = xw_inode_xattr_off(in, &u->img->sb);
	auto_end(xw_xattr_set_free) struct xw_xattr_set set = {0};
	int rc;

	*ea = 0;
	if (off && xw_xattr_decode_ibody(raw + off, u->img->inode_size - off, &set, NULL))
		return xw_update_bad(u, ino, "the attributes in it are damaged");
	*ea = xw_update_ea_values(&set);
	rc = put_values(u, &set, ends);
	return rc || !in->file_acl ? rc : put_block(u, ino, in->file_acl, ea, ends);
}

/* ---- inodes ---- */

/*
 * Release an inode number. With unchecked, a number that is free already, or a directory that was
 * not counted, is left unchanged.
 */
static int release_number(struct xw_update *u, xw_ino ino, bool dir)
{
	int rc = xw_update_unhide_inode(u, ino);

	if (!rc)
		rc = xw_ispace_release(u->inodes, ino, dir);
	if (rc == XW_ERR_CORRUPT && u->unchecked)
		rc = dir ? release_number(u, ino, false) : 0;
	return rc == XW_ERR_CORRUPT ? xw_update_bad(u, ino, "is free in its bitmap") : rc;
}

static int empty(struct xw_update *u, xw_ino ino, const struct xw_inode *in, const uint8_t *raw,
		 struct ends *ends)
{
	uint64_t ea = 0;
	int rc = xw_update_free_map(u, ino, in);

	if (!rc)
		rc = put_xattrs(u, ino, in, raw, &ea, ends);
	if (!rc && !(in->flags & XW_FL_EA_INODE))
		rc = xw_update_charge(u, in, -1 - (int64_t)ea, -(int64_t)xw_update_bytes(u, in));
	if (!rc)
		rc = release_number(u, ino, (in->mode & XW_S_IFMT) == XW_S_IFDIR);
	u->stats.freed_inodes += !rc;
	return rc;
}

int xw_update_write_freed(struct xw_update *u, xw_ino ino, struct xw_inode *in, uint8_t *raw,
			  bool keep)
{
	in->links = 0;
	in->dtime = xw_update_dtime(u);
	if (!keep) {
		in->file_acl = 0;
		in->blocks = 0;
		in->flags &= ~XW_FL_HUGE_FILE;
	}
	return xw_update_put(u, ino, in, raw);
}

static int drop(struct xw_update *u, xw_ino ino, struct ends *ends)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc = xw_update_get(u, ino, &in, &raw);

	if (rc)
		return rc;
	if (ino < u->img->sb.first_ino)
		return xw_update_bad(u, ino, "is reserved");
	rc = empty(u, ino, &in, raw, ends);
	return rc ? rc : xw_update_write_freed(u, ino, &in, steal(raw), false);
}

/* Remove the EA inodes, and those that only they refer to, unless rc is an error. */
static int remove_ends(struct xw_update *u, int rc, struct ends *ends)
{
	while (!rc && ends->a.n)
		rc = drop(u, ends->a.v[--ends->a.n], ends);
	xw_vec_free(&ends->a);
	return rc;
}

int xw_update_free_xattrs(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
			  const uint8_t *raw, uint64_t *ea)
{
	struct ends ends = {0};
	const int rc = put_xattrs(u, ino, in, raw, ea, &ends);

	return remove_ends(u, rc, &ends);
}

int xw_update_empty(struct xw_update *u, xw_ino ino, const struct xw_inode *in, const uint8_t *raw)
{
	struct ends ends = {0};
	const int rc = empty(u, ino, in, raw, &ends);

	return remove_ends(u, rc, &ends);
}

int xw_update_drop(struct xw_update *u, xw_ino ino)
{
	struct ends ends = {0};
	const int rc = drop(u, ino, &ends);

	return remove_ends(u, rc, &ends);
}
