/* SPDX-License-Identifier: MIT */
/*
 * Path resolution inside the image: an absolute symbolic link starts at the root of the image, and
 * ".." of the root is the root.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "read/dirs.h"
#include "read/file.h"

#define LINKS_MAX 40

struct walk {
	struct xw_image *img;
	xw_ino at; /* current directory */
	char *rest; /* remaining path; owned */
	unsigned links;
	bool follow;
};

/*
 * Insert the target of a symbolic link before the remaining path, which is empty or starts with a
 * slash.
 */
static int splice_link(struct walk *w, xw_ino link, const struct xw_inode *inode,
		       const uint8_t *raw, const char *tail)
{
	auto_free char *target = malloc((size_t)w->img->block_size + 1);
	char *path;
	size_t len;
	int rc;

	if (!target)
		return xw_fail_nomem(w->img->diag, "path");
	if (++w->links > LINKS_MAX)
		return xw_fail(w->img->diag, XW_ERR_LIMIT,
			       "%s: inode %" PRIu32 ": too many symbolic links", w->img->dev->name,
			       link);
	rc = xw_symlink_read(w->img, link, inode, raw, target, &len);
	if (rc)
		return rc;
	path = malloc(len + strlen(tail) + 1);
	if (!path)
		return xw_fail_nomem(w->img->diag, "path");
	memcpy(path, target, len);
	strcpy(path + len, tail);
	if (*path == '/')
		w->at = XW_INO_ROOT;
	free(w->rest);
	w->rest = path;
	return 0;
}

/* Walk one component. 1: continue; 0: *ino is the end of the path. */
static int walk_step(struct walk *w, xw_ino *ino)
{
	auto_free uint8_t *raw = malloc(w->img->inode_size);
	const size_t lead = strspn(w->rest, "/");
	const size_t len = strcspn(w->rest + lead, "/");
	const char *tail = w->rest + lead + len;
	const bool last = strspn(tail, "/") == strlen(tail);
	struct xw_inode inode;
	xw_ino found;
	int rc;

	if (!raw)
		return xw_fail_nomem(w->img->diag, "path");
	if (!len) {
		*ino = w->at;
		return 0;
	}
	if (len > XW_NAME_MAX)
		return XW_ERR_NOTFOUND;
	rc = xw_dir_lookup(w->img, w->at, w->rest + lead, len, &found, NULL);
	if (rc)
		return rc;
	rc = xw_image_inode(w->img, found, &inode, raw);
	if (rc)
		return rc;
	if ((inode.mode & XW_S_IFMT) == XW_S_IFLNK && (!last || *tail || w->follow)) {
		rc = splice_link(w, found, &inode, raw, tail);
		return rc ? rc : 1;
	}
	if (last && !*tail) {
		*ino = found;
		return 0;
	}
	if ((inode.mode & XW_S_IFMT) != XW_S_IFDIR)
		return xw_fail(w->img->diag, XW_ERR_INPUT, "%.*s: not a directory", (int)len,
			       w->rest + lead);
	w->at = found;
	memmove(w->rest, tail, strlen(tail) + 1);
	return 1;
}

int xw_path_resolve(struct xw_image *img, xw_ino from, const char *path, bool follow, xw_ino *ino)
{
	struct walk w = {
		.img = img,
		.at = *path == '/' ? XW_INO_ROOT : from,
		.rest = strdup(path),
		.follow = follow,
	};
	int rc = 1;

	if (!w.rest)
		return xw_fail_nomem(img->diag, "path");
	while (rc == 1)
		rc = walk_step(&w, ino);
	free(w.rest);
	return rc;
}
