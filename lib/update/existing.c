// SPDX-License-Identifier: MIT
/*
 * Existing inodes that are kept: their records are modified instead of rebuilt, so that unknown
 * fields are preserved.
 */
#include "config.h"

#include "update/update.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/xattrblk.h"
#include "read/map.h"
#include "read/xattrs.h"
#include "update/inode.h"
#include "update/update_internal.h"
#include "xattr/layout.h"

static int refuse(struct xw_update *u, const struct xw_binode *n, int code, const char *why)
{
	char path[XW_ENCODE_PATH_MAX];

	return xw_fail(u->diag, code, "%s: %s: %s", xw_encode_origin(&u->place.enc, n),
		       xw_encode_path(&u->place.enc, n, path, sizeof(path)), why);
}

struct counter {
	struct xw_update *u; /* set: blocks are freed; NULL: only counted */
	uint64_t blocks;
};

static int count_run(void *arg, xw_blk start, uint64_t len)
{
	struct counter *c = arg;

	c->blocks += len;
	return c->u ? xw_update_free(c->u, start, len) : 0;
}

static int set_blocks(struct xw_update *u, const struct xw_binode *n, struct xw_inode *in,
		      uint64_t blocks)
{
	in->flags &= ~XW_FL_HUGE_FILE;
	if (!xw_inode_set_blocks(in, &u->img->sb, blocks))
		return 0;
	return refuse(u, n, XW_ERR_LIMIT, "more blocks than a file may have with these features");
}

/* The parts of i_blocks of an inode in the image: contents and xattrs. */
struct parts {
	uint64_t contents; /* blocks of contents, map and itree */
	uint64_t other; /* xattrs */
};

/* Count the parts. free: also free the contents. */
static int count_parts(struct xw_update *u, xw_ino ino, const struct xw_inode *in, bool free,
		       struct parts *parts)
{
	const uint64_t all = xw_update_bytes(u, in) / u->img->block_size;
	struct counter c = {.u = free ? u : NULL};
	int rc;

	rc = xw_update_each_cluster(u, ino, in, count_run, &c);
	*parts = (struct parts){.contents = c.blocks};
	if (!rc && parts->contents > all && !u->unchecked)
		rc = xw_update_bad(u, ino, "has more blocks than its i_blocks");
	parts->other = all > parts->contents ? all - parts->contents : 0;
	return rc;
}

int xw_update_other_blocks(struct xw_update *u, xw_ino ino, const struct xw_inode *in,
			   uint64_t *other)
{
	struct parts parts;
	const int rc = count_parts(u, ino, in, false, &parts);

	*other = parts.other;
	return rc;
}

void xw_update_set_contents(struct xw_update *u, const struct xw_binode *n, struct xw_inode *in)
{
	struct xw_inode made = {.mode = in->mode};

	xw_map_encode_inode(&u->place.enc, n, &made);
	in->flags &= ~(XW_FL_EXTENTS | XW_FL_INLINE_DATA | XW_FL_INDEX | XW_FL_ITREE);
	in->flags |= made.flags;
	memcpy(in->block, made.block, sizeof(in->block));
	in->size = n->size;
}

int xw_update_set_map(struct xw_update *u, const struct xw_binode *n, struct xw_inode *in,
		      uint64_t other)
{
	xw_update_set_contents(u, n, in);
	return set_blocks(u, n, in, xw_itable_held(&u->place.enc, n) + other);
}

int xw_update_remap(struct xw_update *u, const struct xw_binode *n, struct xw_inode *in)
{
	uint64_t other;
	int rc = xw_update_other_blocks(u, n->ino, in, &other);

	if (!rc)
		rc = xw_update_free_map(u, n->ino, in);
	return rc ? rc : xw_update_set_map(u, n, in, other);
}

/*
 * Compute the slots of attributes that stay in an inode. XW_ERR_UNSUPPORTED: they do not fit, so
 * values share bytes.
 */
static int inode_slots(struct xw_update *u, const struct xw_xattr_set *set, uint32_t room,
		       struct xw_xattr_slot *slots)
{
	uint64_t need = XW_XATTR_IHDR + sizeof(uint32_t);
	int rc = 0;

	for (size_t i = 0; i < set->a.n && !rc; i++) {
		const struct xw_xattr *a = &set->a.v[i];
		struct xw_inode value;

		need += xw_xattr_entry_len(a->name_len);
		slots[i] = (struct xw_xattr_slot){.ea = a->value_inum != 0,
						  .value_inum = a->value_inum};
		if (a->value_inum) {
			rc = xw_image_inode(u->img, a->value_inum, &value, NULL);
			slots[i].value_hash = rc ? 0 : xw_inode_ea_hash(&value);
		} else {
			need += xw_div_up(a->value_len, 4) * 4;
		}
	}
	return !rc && need > room ? XW_ERR_UNSUPPORTED : rc;
}

int xw_update_drop_inline(struct xw_update *u, xw_ino ino, const struct xw_inode *in, uint8_t *raw)
{
	const unsigned off = xw_inode_xattr_off(in, &u->img->sb);
	const uint32_t room = off ? u->img->inode_size - off : 0;
	auto_end(xw_xattr_set_free) struct xw_xattr_set set = {0};
	struct xw_xattr_slot slots[64];
	int rc;

	if (!room)
		return 0;
	rc = xw_xattr_decode_ibody(raw + off, room, &set, NULL);
	if (!rc)
		xw_xattr_set_remove(&set, XW_XI_SYSTEM, "data", 4);
	if (rc == XW_ERR_NOMEM)
		return xw_fail_nomem(u->diag, "attributes");
	if (rc || set.a.n > XW_ARRAY_SIZE(slots) || inode_slots(u, &set, room, slots))
		return xw_update_fail(u, ino, XW_ERR_UNSUPPORTED,
				      "its inline data overlaps its attributes");
	memset(raw + off, 0, room);
	xw_xattr_encode_ibody(&set, slots, room, raw + off);
	return 0;
}

/* A directory that was rebuilt, and whose old blocks are freed already. */
static int rebuilt(struct xw_update *u, const struct xw_binode *n, struct xw_inode *in,
		   uint8_t *raw, struct parts *parts)
{
	const bool was_inline = in->flags & XW_FL_INLINE_DATA;
	uint32_t links = n->dir->subdirs + 2;
	int rc = 0;

	if (in->flags & XW_FL_ENCRYPT)
		return refuse(u, n, XW_ERR_UNSUPPORTED,
			      "is encrypted: names cannot be added without its key");
	if (in->flags & XW_FL_CASEFOLD)
		return refuse(u, n, XW_ERR_UNSUPPORTED,
			      "ignores case: names cannot be added to it");
	if (links > XW_LINK_MAX) {
		if (!(u->img->sb.feature_ro_compat & XW_RO_DIR_NLINK))
			return refuse(u, n, XW_ERR_LIMIT, "has too many subdirectories");
		links = 1;
	}
	xw_update_set_contents(u, n, in);
	parts->contents = xw_itable_held(&u->place.enc, n);
	if (was_inline)
		rc = xw_update_drop_inline(u, n->ino, in, raw);
	if (n->dir->shape.indexed)
		in->flags |= XW_FL_INDEX | (n->dir->itree ? XW_FL_ITREE : 0);
	in->links = (uint16_t)links;
	if (!(n->flags & XW_BN_ATTRS))
		in->mtime = (struct xw_time){u->now, 0};
	u->stats.rebuilt_directories++;
	return rc;
}

/* The attributes from a source replace the existing ones. */
static int new_xattrs(struct xw_update *u, const struct xw_binode *n, struct xw_inode *in,
		      uint8_t *raw, struct parts *parts)
{
	const unsigned off = XW_INODE_BODY + in->extra_isize;
	const uint32_t room = in->extra_isize ? u->img->inode_size - off : 0;
	const struct xw_xplaced *x = n->xattrs;
	uint64_t ea;
	int rc;

	if (in->flags & XW_FL_INLINE_DATA)
		return refuse(u, n, XW_ERR_INTERNAL, "its names are still in the inode");
	rc = xw_update_free_xattrs(u, n->ino, in, raw, &ea);
	if (!rc && x && x->ibody_len > room)
		rc = refuse(u, n, XW_ERR_LIMIT,
			    "its inode has less space for attributes than others");
	if (rc)
		return rc;
	memset(raw + off, 0, room);
	if (x)
		xw_attrs_encode_ibody(&u->place.enc, n, raw + off, room);
	in->file_acl = n->xblock ? n->xblock->blk : 0;
	parts->other = xw_itable_held_xattrs(&u->place.enc, n);
	return 0;
}

int xw_update_xattrs(struct xw_update *u, xw_ino ino, struct xw_xattr_set *set)
{
	auto_free uint8_t *raw = NULL;
	auto_end(xw_xattr_end) struct xw_xattr_iter it = {0};
	struct xw_xattr_ref a;
	struct xw_inode in;
	int rc = xw_update_get(u, ino, &in, &raw);

	if (rc)
		return rc;
	rc = xw_xattr_begin(u->img, ino, &in, raw, &it);
	while (!rc && (rc = xw_xattr_next(&it, &a)) == 1)
		rc = a.index == XW_XI_SYSTEM
			     ? 0
			     : xw_xattr_set_put_raw(set, a.index, a.name, a.name_len, a.value,
						    a.value_len, u->diag);
	return rc;
}

int xw_update_count_ea(struct xw_update *u, const struct xw_inode *in, const uint8_t *raw,
		       uint64_t *n_ea)
{
	const unsigned off = xw_inode_xattr_off(in, &u->img->sb);
	auto_free uint8_t *block = malloc(u->img->block_size);
	auto_end(xw_xattr_set_free) struct xw_xattr_set set = {0};
	int rc = block ? 0 : XW_ERR_NOMEM;

	if (!rc && off)
		rc = xw_xattr_decode_ibody(raw + off, u->img->inode_size - off, &set, u->diag);
	if (!rc && in->file_acl)
		rc = xw_dev_pread(u->img->dev, block, u->img->block_size,
				  in->file_acl * u->img->block_size);
	if (!rc && in->file_acl)
		rc = xw_xattr_decode_block(block, u->img->block_size, &set, u->diag);
	*n_ea = xw_update_ea_values(&set);
	return rc;
}

static int change_directory(struct xw_update *u, const struct xw_binode *n, struct xw_inode *in,
			    uint8_t *raw)
{
	struct parts parts;
	uint64_t ea = 0;
	int rc = u->quota_types ? xw_update_count_ea(u, in, raw, &ea) : 0;

	if (!rc)
		rc = xw_update_charge(u, in, -1 - (int64_t)ea, -(int64_t)xw_update_bytes(u, in));
	if (!rc)
		rc = count_parts(u, n->ino, in, n->flags & XW_BN_NAMES, &parts);
	if (!rc && n->flags & XW_BN_NAMES)
		rc = rebuilt(u, n, in, raw, &parts);
	if (rc)
		return rc;
	if (n->flags & XW_BN_ATTRS) {
		in->mode = n->mode;
		in->uid = n->uid;
		in->gid = n->gid;
		in->mtime = (struct xw_time){n->mtime, n->mtime_ns};
		in->atime = (struct xw_time){n->atime, n->atime_ns};
	}
	if (n->flags & XW_BN_XATTRS) {
		rc = new_xattrs(u, n, in, raw, &parts);
		ea = n->xattrs ? n->xattrs->n_ea : 0;
	}
	if (!rc)
		rc = set_blocks(u, n, in, parts.contents + parts.other);
	in->ctime = (struct xw_time){u->now, 0};
	return rc ? rc : xw_update_charge(u, in, 1 + (int64_t)ea, (int64_t)xw_update_bytes(u, in));
}

int xw_update_existing(struct xw_update *u, const struct xw_binode *n)
{
	const bool dir = xw_binode_is(n, XW_S_IFDIR);
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc;

	if (!(n->flags & (dir ? XW_BN_NAMES | XW_BN_ATTRS : XW_BN_LINKS)))
		return 0;
	rc = xw_update_get(u, n->ino, &in, &raw);
	if (!rc && dir)
		rc = change_directory(u, n, &in, raw);
	if (rc)
		return rc;
	if (!dir && n->links > XW_LINK_MAX)
		return refuse(u, n, XW_ERR_LIMIT, "has too many links");
	if (!dir)
		in.links = (uint16_t)n->links;
	in.ctime = (struct xw_time){u->now, 0};
	return xw_update_put(u, n->ino, &in, steal(raw));
}
