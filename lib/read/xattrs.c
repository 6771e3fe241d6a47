/* SPDX-License-Identifier: MIT */
/*
 * Extended attributes of an inode, one at a time: first those in its record, then those in its
 * block. A value in an EA inode is read when its entry is returned, so only one value is in memory.
 */
#include "read/xattrs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "read/file.h"

enum { IN_RECORD, IN_BLOCK, AT_END };

int xw_xattr_begin(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		   const uint8_t *raw, struct xw_xattr_iter *it)
{
	const unsigned off = xw_inode_xattr_off(inode, &img->sb);

	it->img = img;
	it->ino = ino;
	it->generation = inode->generation;
	it->file_acl = inode->file_acl;
	it->area = IN_BLOCK;
	it->loaded = false;
	it->buf = it->value = NULL;
	if (!off || off + XW_XATTR_IHDR > img->inode_size ||
	    xw_xattr_magic(raw + off) != XW_XATTR_MAGIC)
		return 0;
	it->buf = malloc(img->inode_size - off);
	if (!it->buf) {
		it->area = AT_END;
		return xw_fail_nomem(img->diag, "extended attributes");
	}
	memcpy(it->buf, raw + off, img->inode_size - off);
	it->area = IN_RECORD;
	it->loaded = true;
	xw_walk_xattr_inode(&it->walk, it->buf, img->inode_size - off);
	it->walk.places_only = true;
	return 0;
}

/* Read the xattr block; without one, go to the end. */
static int load_block(struct xw_xattr_iter *it)
{
	struct xw_image *img = it->img;
	struct xw_xattr_bhdr h;
	int rc;

	it->area = AT_END;
	if (!it->file_acl)
		return 0;
	if (!xw_image_has_blocks(img, it->file_acl, 1))
		return xw_fail(img->diag, XW_ERR_CORRUPT,
			       "%s: inode %" PRIu32 ": xattr block %" PRIu64
			       " is outside the filesystem",
			       img->dev->name, it->ino, it->file_acl);
	free(it->buf);
	it->buf = malloc(img->block_size);
	if (!it->buf)
		return xw_fail_nomem(img->diag, "extended attributes");
	rc = xw_image_meta(img, it->file_acl, 0, it->buf, img->block_size);
	if (rc)
		return rc;
	if (xw_xattr_bhdr_decode(it->buf, &h))
		return xw_fail(img->diag, XW_ERR_CORRUPT,
			       "%s: inode %" PRIu32 ": invalid xattr block %" PRIu64,
			       img->dev->name, it->ino, it->file_acl);
	if (xw_super_has_csum(&img->sb) && !(img->flags & XW_IMAGE_NOCSUM) &&
	    xw_xattr_block_verify(it->buf, img->block_size, img->csum_seed, it->file_acl))
		return xw_fail(img->diag, XW_ERR_CHECKSUM,
			       "%s: inode %" PRIu32 ": xattr block %" PRIu64 ": checksum mismatch",
			       img->dev->name, it->ino, it->file_acl);
	it->area = IN_BLOCK;
	it->loaded = true;
	xw_walk_xattr_block(&it->walk, it->buf, img->block_size);
	it->walk.places_only = true;
	return 0;
}

static int value_corrupt(struct xw_xattr_iter *it, xw_ino ea, const char *why)
{
	return xw_fail(it->img->diag, XW_ERR_CORRUPT,
		       "%s: inode %" PRIu32 ": xattr value in inode %" PRIu32 ": %s",
		       it->img->dev->name, it->ino, ea, why);
}

/* Read the value in inode `ea` into it->value. */
static int load_value(struct xw_xattr_iter *it, xw_ino ea, uint32_t size)
{
	struct xw_image *img = it->img;
	struct xw_inode inode;
	int rc;

	rc = xw_image_inode(img, ea, &inode, NULL);
	if (rc)
		return rc;
	if (!(inode.flags & XW_FL_EA_INODE) || (inode.mode & XW_S_IFMT) != XW_S_IFREG ||
	    inode.flags & XW_FL_INLINE_DATA)
		return value_corrupt(it, ea, "not an EA inode");
	if (inode.size != size || size > XW_XATTR_SIZE_MAX)
		return value_corrupt(it, ea, "wrong size");
	free(it->value);
	it->value = malloc(XW_MAX(size, 1u));
	if (!it->value)
		return xw_fail_nomem(img->diag, "extended attribute value");
	rc = xw_mapped_pread(img, ea, &inode, 0, it->value, size);
	if (rc)
		return rc;
	/* Old Lustre stored the owner's inode number and generation in place of the hash. */
	if (!(img->flags & XW_IMAGE_NOCSUM) &&
	    xw_xattr_value_hash(img->csum_seed, it->value, size) != xw_inode_ea_hash(&inode) &&
	    ((uint32_t)inode.mtime.sec != it->ino || inode.generation != it->generation))
		return xw_fail(img->diag, XW_ERR_CHECKSUM,
			       "%s: inode %" PRIu32 ": xattr value in inode %" PRIu32
			       ": hash mismatch",
			       img->dev->name, it->ino, ea);
	return 0;
}

static int entry_corrupt(struct xw_xattr_iter *it)
{
	const char *where = it->area == IN_RECORD ? "the inode" : "its block";

	it->area++;
	it->loaded = false;
	return xw_fail(it->img->diag, XW_ERR_CORRUPT,
		       "%s: inode %" PRIu32 ": damaged extended attribute in %s",
		       it->img->dev->name, it->ino, where);
}

int xw_xattr_next(struct xw_xattr_iter *it, struct xw_xattr_ref *a)
{
	struct xw_walk_xattr_item item;
	int rc;

	while (it->area != AT_END) {
		if (!it->loaded) {
			rc = load_block(it);
			if (rc)
				return rc;
			continue;
		}
		if (!xw_walk_xattr_next(&it->walk, &item)) {
			it->area++;
			it->loaded = false;
			continue;
		}
		/* Names and values that can be read are returned despite other findings. */
		if (item.rule == XW_XATTR_BAD_ENTRY || item.rule == XW_XATTR_BAD_VALUE ||
		    item.rule == XW_XATTR_BAD_SIZE)
			return entry_corrupt(it);
		*a = (struct xw_xattr_ref){
			.index = item.e.name_index,
			.name_len = item.e.name_len,
			.in_block = it->area == IN_BLOCK,
			.name = item.e.name,
			.value_len = item.e.value_size,
			.hash = item.e.hash,
			.value_ino = item.e.value_inum,
		};
		if (item.e.value_inum) {
			rc = load_value(it, item.e.value_inum, item.e.value_size);
			a->value = it->value;
			return rc ? rc : 1;
		}
		a->value =
			item.e.value_size ? it->buf + it->walk.base + item.e.value_offs : it->buf;
		return 1;
	}
	return 0;
}

void xw_xattr_end(struct xw_xattr_iter *it)
{
	free(it->buf);
	free(it->value);
	it->buf = it->value = NULL;
	it->area = AT_END;
}

int xw_xattr_get(struct xw_image *img, xw_ino ino, const struct xw_inode *inode, const uint8_t *raw,
		 uint8_t index, const char *name, uint8_t **value, uint32_t *len)
{
	const size_t name_len = strlen(name);
	auto_end(xw_xattr_end) struct xw_xattr_iter it;
	struct xw_xattr_ref a;
	int rc = xw_xattr_begin(img, ino, inode, raw, &it);

	if (rc)
		return rc;
	while ((rc = xw_xattr_next(&it, &a)) == 1) {
		if (a.index != index || a.name_len != name_len || memcmp(a.name, name, name_len))
			continue;
		*len = a.value_len;
		*value = malloc(XW_MAX(a.value_len, 1u));
		if (!*value)
			return xw_fail_nomem(img->diag, "extended attribute value");
		memcpy(*value, a.value, a.value_len);
		return 0;
	}
	return rc ? rc : XW_ERR_NOTFOUND;
}
