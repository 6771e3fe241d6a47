/* SPDX-License-Identifier: MIT */
/*
 * Contents of files. Inline data starts in i_block and continues in the value of the attribute
 * system.data; all other contents are read through the map. Holes, unwritten extents and blocks
 * after the last mapped block read as zeros.
 */
#include "read/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "read/xattrs.h"

static int inline_pread(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
			const uint8_t *raw, uint64_t off, uint8_t *buf, size_t len)
{
	auto_free uint8_t *rest = NULL;
	uint32_t rest_len = 0;
	const size_t head = sizeof(inode->block);
	int rc;

	memset(buf, 0, len);
	if (off < head)
		memcpy(buf, inode->block + off, XW_MIN(len, head - off));
	if (off + len <= head)
		return 0;
	if (!raw)
		return xw_fail(img->diag, XW_ERR_INTERNAL,
			       "%s: inode %" PRIu32 ": record not given", img->dev->name, ino);
	rc = xw_xattr_get(img, ino, inode, raw, XW_XI_SYSTEM, "data", &rest, &rest_len);
	if (rc == XW_ERR_NOTFOUND)
		return 0;
	if (rc)
		return rc;
	/* rest holds file bytes [head, head + rest_len) */
	if (off < head + rest_len) {
		uint64_t from = XW_MAX(off, head);

		memcpy(buf + (from - off), rest + (from - head),
		       XW_MIN(off + len, head + rest_len) - from);
	}
	return 0;
}

int xw_file_pread(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		  const uint8_t *raw, uint64_t off, void *buf, size_t len, size_t *got)
{
	int rc;

	*got = 0;
	if (off >= inode->size)
		return 0;
	len = (size_t)XW_MIN(len, inode->size - off);
	if (inode->flags & XW_FL_INLINE_DATA)
		rc = inline_pread(img, ino, inode, raw, off, buf, len);
	else
		rc = xw_mapped_pread(img, ino, inode, off, buf, len);
	if (!rc)
		*got = len;
	return rc;
}

int xw_symlink_read(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		    const uint8_t *raw, char *buf, size_t *len)
{
	int rc = 0;

	*len = 0;
	if (inode->size > img->block_size || !inode->size)
		return xw_fail(img->diag, XW_ERR_CORRUPT,
			       "%s: inode %" PRIu32 ": symbolic link of %" PRIu64 " bytes",
			       img->dev->name, ino, inode->size);
	if (xw_inode_has_map(inode) || inode->flags & XW_FL_INLINE_DATA) {
		rc = xw_file_pread(img, ino, inode, raw, 0, buf, (size_t)inode->size, len);
	} else {
		memcpy(buf, inode->block, (size_t)inode->size);
		*len = (size_t)inode->size;
	}
	if (rc)
		return rc;
	buf[*len] = '\0';
	if (memchr(buf, '\0', *len))
		return xw_fail(img->diag, XW_ERR_CORRUPT,
			       "%s: inode %" PRIu32 ": symbolic link with a NUL in its target",
			       img->dev->name, ino);
	return 0;
}
