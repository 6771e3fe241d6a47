// SPDX-License-Identifier: MIT
/*
 * Checks xattr blocks and EA inodes. Each block is read once, when the first inode that refers to
 * it is checked. The phase itself compares reference counts, when all inodes have been read.
 */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/search.h"
#include "phases/xattrs.h"

static int make_facts(struct fsck *f)
{
	if (f->facts.xattrs)
		return 0;
	f->facts.xattrs = calloc(1, sizeof(*f->facts.xattrs));
	if (f->facts.xattrs)
		f->facts.xattrs->buf = malloc(2 * (size_t)f->ses.img->block_size);
	return f->facts.xattrs && f->facts.xattrs->buf
		       ? 0
		       : xw_fail_nomem(&f->ses.diag, "extended attributes");
}

/* ---- an inode ---- */

static int write_block(struct fsck *f, xw_blk blk, uint8_t *p)
{
	if (xw_super_has_csum(&f->ses.img->sb))
		xw_xattr_block_set_csum(p, f->ses.img->block_size, f->ses.img->csum_seed, blk);
	return fsck_try_write(f, FSCK_O_XATTR, blk, p);
}

/*
 * Set the missing feature bit if there is a valid xattr block. Stock tools clear the reference
 * instead, which loses the attributes.
 */
static int check_feature(struct fsck *f, xw_ino ino, xw_blk blk)
{
	struct xw_super *sb = &f->ses.img->sb;

	if (sb->feature_compat & XW_COMPAT_EXT_ATTR ||
	    !FSCK_FOUND(f, XATTR_NO_FEATURE, .ino = ino, .blk = blk))
		return 0;
	sb->feature_compat |= XW_COMPAT_EXT_ATTR;
	return fsck_super_write(f);
}

/* Check the contents of a block, at the first reference to it, and record them in *slot. */
static int examine_block(struct fsck *f, xw_ino ino, const struct xw_inode *in,
			 struct fsck_xattr_block *slot)
{
	const uint32_t bs = f->ses.img->block_size;
	struct fsck_xattr_area a = {
		.ino = ino,
		.generation = in->generation,
		.blk = slot->blk,
		.p = f->facts.xattrs->buf,
		.size = bs,
	};
	struct xw_xattr_bhdr h;
	bool csum;
	int rc = fsck_read(f, slot->blk, 1, a.p);

	slot->bad = rc || xw_xattr_bhdr_decode(a.p, &h);
	if (slot->bad) {
		xw_diag_clear(&f->ses.diag);
		return 0;
	}
	rc = check_feature(f, ino, slot->blk);
	if (rc)
		return rc;
	slot->stored = h.refcount;
	csum = xw_super_has_csum(&f->ses.img->sb) &&
	       xw_xattr_block_verify(a.p, bs, f->ses.img->csum_seed, slot->blk);
	rc = fsck_xattr_area(f, &a);
	if (rc)
		return rc;
	slot->n_ea = a.n_ea;
	slot->ea_blocks = a.ea_blocks;
	slot->bad = a.empty;
	if (csum && !a.changed)
		a.changed = FSCK_FOUND(f, XATTR_BLOCK_CSUM, .ino = ino, .blk = slot->blk);
	if (!a.changed || slot->bad)
		return 0;
	return write_block(f, slot->blk, a.p);
}

static int examine_file_acl(struct fsck *f, xw_ino ino, struct xw_inode *in, bool *dirty,
			    uint64_t *blocks)
{
	const xw_blk blk = in->file_acl;
	struct fsck_xattr_block *slot;
	int rc = 0;

	if (!xw_image_has_blocks(f->ses.img, blk, 1) || fsck_is_metadata(f, blk, 1)) {
		if (FSCK_FOUND(f, XATTR_BLOCK_RANGE, .ino = ino, .blk = blk)) {
			in->file_acl = 0;
			*dirty = true;
		}
		return 0;
	}
	slot = fsck_xattr_block_slot(f, blk);
	if (!slot)
		return XW_ERR_NOMEM;
	if (!slot->refs)
		rc = examine_block(f, ino, in, slot);
	if (rc)
		return rc;
	if (slot->bad && FSCK_FOUND(f, XATTR_BLOCK_BAD, .ino = ino, .blk = blk)) {
		in->file_acl = 0;
		*dirty = true;
		return 0;
	}
	if (!slot->refs++)
		rc = fsck_claim(f, FSCK_O_XATTR, blk, 1, NULL);
	if (!rc && f->opts.share_xattrs &&
	    xw_vec_push(&f->facts.xattrs->users, ((struct fsck_xattr_user){ino, blk})))
		rc = xw_fail_nomem(&f->ses.diag, "extended attributes");
	*blocks += (UINT64_C(1) << xw_image_cluster_bits(f->ses.img)) + slot->ea_blocks;
	f->facts.xattrs->last_ea += slot->n_ea;
	return rc;
}

int fsck_xattr_inode(struct fsck *f, xw_ino ino, struct xw_inode *in, uint8_t *raw, bool *dirty,
		     uint64_t *blocks)
{
	const unsigned off = xw_inode_xattr_off(in, &f->ses.img->sb);
	const uint32_t type = in->mode & XW_S_IFMT;
	struct fsck_xattr_area a = {
		.ino = ino,
		.generation = in->generation,
		.p = raw + off,
		.size = f->ses.img->inode_size - off,
	};
	int rc = make_facts(f);

	*dirty = false;
	*blocks = 0;
	if (rc)
		return rc;
	f->facts.xattrs->last = ino;
	f->facts.xattrs->last_ea = 0;
	if (off && off + 2 * XW_XATTR_IHDR <= f->ses.img->inode_size &&
	    xw_xattr_magic(raw + off) == XW_XATTR_MAGIC) {
		rc = fsck_xattr_area(f, &a);
		*blocks = a.ea_blocks;
		f->facts.xattrs->last_ea = a.n_ea;
	}
	if (!rc && off && in->flags & XW_FL_INLINE_DATA && !a.has_data &&
	    (type == XW_S_IFREG || type == XW_S_IFDIR) && FSCK_FOUND(f, INLINE_NO_DATA, .ino = ino))
		rc = fsck_xattr_add_data(f, &a);
	*dirty = a.changed;
	return rc || !in->file_acl ? rc : examine_file_acl(f, ino, in, dirty, blocks);
}

/* ---- the phase ---- */

static int check_refcount(struct fsck *f, struct fsck_xattr_block *b)
{
	struct xw_xattr_bhdr h;
	uint8_t *p = f->facts.xattrs->buf;
	int rc;

	if (!b->refs || b->bad || b->refs == b->stored ||
	    !FSCK_FOUND(f, XATTR_REFCOUNT, .blk = b->blk, .num = b->stored, .num2 = b->refs))
		return 0;
	rc = fsck_read(f, b->blk, 1, p);
	if (rc || xw_xattr_bhdr_decode(p, &h))
		return rc;
	h.refcount = b->stored = b->refs;
	xw_xattr_bhdr_encode(p, &h);
	return write_block(f, b->blk, p);
}

/* Check the reference counts of all blocks, in disk order. */
static int check_blocks(struct fsck *f)
{
	struct xw_table *t = &f->facts.xattrs->blocks;
	auto_free struct fsck_xattr_block *v = malloc((t->n + 1) * sizeof(*v));
	size_t n = 0;
	int rc = v ? 0 : xw_fail_nomem(&f->ses.diag, "extended attributes");

	for (size_t i = 0; !rc && i < t->size; i++) {
		const struct fsck_xattr_block *b = xw_table_at(t, &fsck_xattr_by_block, i);

		if (b->blk)
			v[n++] = *b;
	}
	if (n)
		qsort(v, n, sizeof(*v), xw_by_u64);
	for (size_t i = 0; i < n && !rc && !f->ses.stop; i++)
		rc = check_refcount(f, &v[i]);
	if (!rc && f->opts.share_xattrs && !f->ses.stop)
		rc = fsck_xattr_share(f, v, n);
	return rc;
}

/*
 * Does the EA inode have a value of the size in the entry? Otherwise a repair of the map has
 * changed i_size, and the next round drops the entry.
 */
static bool has_value(struct fsck *f, const struct fsck_ea *ea, struct xw_inode in)
{
	in.size = ea->size;
	return fsck_is_ea_inode(f, ea->ino, &in);
}

/*
 * Recompute the hash of a value that does not match: Linux refuses to read the value then. What was
 * overwritten is lost, but the rest becomes readable.
 */
static int check_hash(struct fsck *f, xw_ino ino, struct xw_inode *in, bool *dirty)
{
	uint32_t hash = 0;
	bool other;
	int rc = fsck_ea_other_hash(f, ino, in, &other, &hash);

	if (rc || !other || !FSCK_FOUND(f, EA_INODE_HASH, .ino = ino, .num = xw_inode_ea_hash(in)))
		return rc;
	xw_inode_set_ea_hash(in, hash);
	*dirty = true;
	return xw_numbers_add(&f->ses.rehashed, ino) < 0 ? xw_fail_nomem(&f->ses.diag, "EA inodes")
							 : 0;
}

static int check_ea(struct fsck *f, const struct fsck_ea *ea, uint8_t *raw)
{
	struct fsck_inode *known = fsck_inode(f, ea->ino);
	struct xw_inode in;
	bool dirty = false;
	int rc;

	if (!known || !(known->flags & FSCK_I_USED))
		return 0; /* cleared after the entry was seen: found in the next round */
	known->flags |= FSCK_I_EA;
	if (ea->old)
		return 0;
	rc = fsck_inode_read(f, ea->ino, &in, raw);
	if (rc)
		return rc;
	if (xw_inode_ea_refs(&in) != ea->refs &&
	    FSCK_FOUND(f, EA_REFCOUNT, .ino = ea->ino, .num = xw_inode_ea_refs(&in),
		       .num2 = ea->refs)) {
		xw_inode_set_ea_refs(&in, ea->refs);
		dirty = true;
	}
	if (in.size != ea->size && has_value(f, ea, in) &&
	    FSCK_FOUND(f, EA_INODE_SIZE, .ino = ea->ino, .num = in.size, .num2 = ea->size)) {
		in.size = ea->size;
		dirty = true;
	}
	if (in.links != 1 &&
	    FSCK_FOUND(f, LINK_COUNT, .ino = ea->ino, .num = in.links, .num2 = 1)) {
		in.links = 1;
		dirty = true;
	}
	if (in.size == ea->size && !ea->lost && !(known->flags & FSCK_I_CONTESTED))
		rc = check_hash(f, ea->ino, &in, &dirty);
	return rc || !dirty ? rc : fsck_inode_write(f, ea->ino, &in, raw);
}

/*
 * Turn an EA inode without references into an ordinary file, which may have a name or is
 * reconnected to lost+found. Linux opens it only without the flag.
 */
static int release_unreferenced(struct fsck *f, xw_ino ino, struct fsck_inode *known)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc;

	if (xw_table_get(&f->facts.xattrs->eas, &fsck_ea_by_ino, NULL,
			 xw_table_number(&f->facts.xattrs->eas, ino), &ino))
		return 0;
	known->flags &= (uint8_t)~FSCK_I_EA;
	if (!FSCK_FOUND(f, EA_INODE_STRAY, .ino = ino))
		return 0;
	rc = fsck_inode_load(f, ino, &in, &raw);
	if (rc)
		return rc;
	in.flags &= ~XW_FL_EA_INODE;
	f->round.again = true; /* quota counts the inode from now on */
	return fsck_inode_write(f, ino, &in, raw);
}

static int check_unreferenced(struct fsck *f)
{
	const uint32_t per_group = f->ses.img->sb.inodes_per_group;
	int rc = 0;

	for (uint64_t g = 0; f->facts.groups && g < f->ses.img->groups; g++)
		for (uint32_t i = 0; f->facts.groups[g] && i < per_group && !rc && !f->ses.stop;
		     i++)
			if (f->facts.groups[g][i].flags & FSCK_I_EA)
				rc = release_unreferenced(f, (xw_ino)(g * per_group + i + 1),
							  &f->facts.groups[g][i]);
	return rc;
}

static int check_eas(struct fsck *f)
{
	auto_free uint8_t *raw = malloc(f->ses.img->inode_size);
	auto_free struct fsck_ea *eas = NULL;
	size_t n;
	int rc = raw ? fsck_ea_list(f, &eas, &n)
		     : xw_fail_nomem(&f->ses.diag, "extended attributes");

	for (size_t i = 0; !rc && i < n && !f->ses.stop; i++)
		rc = check_ea(f, &eas[i], raw);
	return rc;
}

int fsck_check_xattrs(struct fsck *f)
{
	int rc = make_facts(f);

	if (!rc && f->facts.counts.ea_inodes)
		rc = check_unreferenced(f);
	if (rc || f->ses.stop)
		return rc;
	/* After an update, which contested.c makes, the counts of this round are stale. */
	if (f->round.allocated)
		return 0;
	rc = check_blocks(f);
	return rc || f->ses.stop ? rc : check_eas(f);
}
