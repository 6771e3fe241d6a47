/* SPDX-License-Identifier: MIT */
/* Look at everything in an image through lib/read, whatever state it is in, and count what was
 * seen. */
#ifndef XW_TESTS_WALK_H
#define XW_TESTS_WALK_H

#include <stdlib.h>
#include <string.h>

#include "read/dirs.h"
#include "read/file.h"
#include "read/xattrs.h"

struct walk_stats {
	uint64_t inodes, blocks, map_nodes, entries, xattrs, links, bytes, errors;
	uint64_t silent; /* of the errors, found by the pure decoders: without a line in diag */
};

static int walk_count_node(void *arg, xw_blk blk, unsigned depth)
{
	(void)blk;
	(void)depth;
	(*(uint64_t *)arg)++;
	return 0;
}

static void walk_map(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		     struct walk_stats *st)
{
	struct xw_map_iter it;
	struct xw_map_run run;
	int rc = xw_map_begin(img, ino, inode, 0, &it);

	it.on_node = walk_count_node;
	it.arg = &st->map_nodes;
	while (!rc && (rc = xw_map_next(&it, &run)) == 1) {
		st->blocks += run.len;
		rc = 0;
	}
	st->errors += rc < 0;
	xw_map_end(&it);
}

static void walk_dir(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		     const uint8_t *raw, struct walk_stats *st)
{
	struct xw_dir_iter it;
	struct xw_dirent e;
	int rc = xw_dir_begin(img, ino, inode, raw, &it);

	st->errors += rc < 0;
	while (!rc && (rc = xw_dir_next(&it, &e, NULL))) {
		st->entries += rc > 0;
		st->errors += rc < 0;
		rc = 0;
	}
	xw_dir_end(&it);
}

static void walk_xattrs(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
			const uint8_t *raw, struct walk_stats *st)
{
	struct xw_xattr_iter it;
	struct xw_xattr_ref a;
	int rc = xw_xattr_begin(img, ino, inode, raw, &it);

	while ((rc = xw_xattr_next(&it, &a))) {
		st->errors += rc < 0;
		if (rc > 0) {
			st->xattrs++;
			for (uint32_t i = 0; i < a.value_len; i++)
				st->bytes += a.value[i] & 1;
		}
	}
	xw_xattr_end(&it);
}

static void walk_data(struct xw_image *img, xw_ino ino, const struct xw_inode *inode,
		      const uint8_t *raw, struct walk_stats *st)
{
	char *buf = malloc(65537);
	size_t got;

	if (!buf)
		abort();
	if ((inode->mode & XW_S_IFMT) == XW_S_IFLNK) {
		st->errors += xw_symlink_read(img, ino, inode, raw, buf, &got) < 0;
		st->links++;
	} else if ((inode->mode & XW_S_IFMT) == XW_S_IFREG) {
		/* the beginning, something in the middle, the end */
		const uint64_t at[] = {0, inode->size / 2, inode->size - XW_MIN(inode->size, 100)};

		for (size_t i = 0; i < XW_ARRAY_SIZE(at); i++) {
			st->errors +=
				xw_file_pread(img, ino, inode, raw, at[i], buf, 65536, &got) < 0;
			st->bytes += got;
		}
	}
	free(buf);
}

static void walk_inode(struct xw_image *img, xw_ino ino, const uint8_t *raw, struct walk_stats *st)
{
	struct xw_inode inode;

	if (xw_inode_decode(raw, &img->sb, &inode)) {
		st->errors++;
		st->silent++;
	}
	if (!inode.links && !inode.mode)
		return;
	if (!(img->flags & XW_IMAGE_NOCSUM) &&
	    xw_inode_verify(raw, &img->sb, img->csum_seed, ino)) {
		st->errors++;
		st->silent++;
		return;
	}
	st->inodes++;
	walk_map(img, ino, &inode, st);
	if ((inode.mode & XW_S_IFMT) == XW_S_IFDIR)
		walk_dir(img, ino, &inode, raw, st);
	walk_xattrs(img, ino, &inode, raw, st);
	walk_data(img, ino, &inode, raw, st);
}

static inline void walk_image(struct xw_image *img, struct walk_stats *st)
{
	struct xw_inode_scan scan;
	const uint8_t *raw;
	xw_ino ino;
	int rc;

	memset(st, 0, sizeof(*st));
	if (xw_inode_scan_begin(img, 0, UINT64_MAX, &scan)) {
		st->errors++;
		return;
	}
	while ((rc = xw_inode_scan_next(&scan, &ino, &raw))) {
		if (rc > 0)
			walk_inode(img, ino, raw, st);
		else
			st->errors++;
	}
	xw_inode_scan_end(&scan);
	rc = xw_path_resolve(img, XW_INO_ROOT, "/lost+found/x/../a", true, &ino);
	st->errors += rc < 0;
	st->silent += rc == XW_ERR_NOTFOUND;
}

#endif
