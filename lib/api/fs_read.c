/* SPDX-License-Identifier: MIT */
/*
 * Inodes, directory entries, contents and extended attributes of an open image.
 *
 * Callbacks may use the handle. So each function reads its inode itself (through the image's
 * metadata cache), and keeps the message of tolerated damage on its stack until it returns.
 */
#include "config.h"

#include "api/fs.h"
#include "api/option.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "read/dirs.h"
#include "read/file.h"
#include "read/xattrs.h"

/* ---- inodes ---- */

struct node {
	struct xw_inode inode;
	uint8_t *raw; /* the on-disk inode; owned */
};

static void end_node(struct node *n)
{
	free(n->raw);
}

/* Check the argument `what` of a call, and that an image is open. Clears the last failure. */
static int check_call(struct xw_fs *fs, bool given, const char *what)
{
	const int rc = xw_option_given(fs ? &fs->diag : NULL, given, what);

	if (rc)
		return rc;
	return fs->img ? 0 : xw_fail(&fs->diag, XW_ERR_USAGE, "no image is open");
}

/* Read inode `ino` for a call whose pointer argument `what` is given. */
static int load(struct xw_fs *fs, uint32_t ino, bool given, const char *what, struct node *n)
{
	const int rc = check_call(fs, given, what);

	n->raw = NULL;
	if (rc)
		return rc;
	if (!ino || ino > fs->img->sb.inodes_count)
		return xw_fail(&fs->diag, XW_ERR_NOTFOUND,
			       "%s: no inode %" PRIu32 "; there are %" PRIu32, fs->dev->name, ino,
			       fs->img->sb.inodes_count);
	n->raw = malloc(fs->img->inode_size);
	if (!n->raw)
		return xw_fail_nomem(&fs->diag, "inode");
	return xw_image_inode(fs->img, ino, &n->inode, n->raw);
}

/* Read an inode that must have this file type and must not be encrypted. */
static int load_type(struct xw_fs *fs, uint32_t ino, uint32_t type, const char *type_name,
		     bool given, const char *what, struct node *n)
{
	int rc = load(fs, ino, given, what, n);

	if (rc)
		return rc;
	if ((n->inode.mode & XW_S_IFMT) != type)
		return xw_fail(&fs->diag, XW_ERR_USAGE, "%s: inode %" PRIu32 " is not a %s",
			       fs->dev->name, ino, type_name);
	if (n->inode.flags & XW_FL_ENCRYPT)
		return xw_fail(&fs->diag, XW_ERR_UNSUPPORTED, "%s: inode %" PRIu32 " is encrypted",
			       fs->dev->name, ino);
	return 0;
}

int xw_fs_stat_ino(struct xw_fs *fs, uint32_t ino, struct xw_fs_stat *st)
{
	const struct xw_inode *in;
	auto_end(end_node) struct node n;
	int rc = load(fs, ino, st, "st", &n);

	if (!st)
		return rc;
	*st = (struct xw_fs_stat){0};
	if (rc && rc != XW_ERR_CHECKSUM)
		return rc;
	in = &n.inode;
	*st = (struct xw_fs_stat){
		.ino = ino,
		.mode = in->mode,
		.uid = in->uid,
		.gid = in->gid,
		.links = in->links,
		.flags = in->flags,
		.generation = in->generation,
		.project = in->projid,
		.size = in->size,
		.blocks_512 = xw_inode_fs_blocks_512(in, &fs->img->sb),
		.atime = in->atime.sec,
		.mtime = in->mtime.sec,
		.ctime = in->ctime.sec,
		.crtime = in->crtime.sec,
		.atime_nsec = in->atime.nsec,
		.mtime_nsec = in->mtime.nsec,
		.ctime_nsec = in->ctime.nsec,
		.crtime_nsec = in->crtime.nsec,
	};
	if ((in->mode & XW_S_IFMT) == XW_S_IFCHR || (in->mode & XW_S_IFMT) == XW_S_IFBLK)
		xw_inode_get_rdev(in, &st->dev_major, &st->dev_minor);
	return rc;
}

int xw_fs_stat(struct xw_fs *fs, const char *path, int follow, struct xw_fs_stat *st)
{
	xw_ino ino;
	int rc = check_call(fs, path, "path");

	if (!rc)
		rc = check_call(fs, st, "st");
	if (st)
		*st = (struct xw_fs_stat){0};
	if (rc)
		return rc;
	/* "", e.g. from an unset variable, must not be the root directory */
	rc = *path ? xw_path_resolve(fs->img, XW_INO_ROOT, path, follow, &ino) : XW_ERR_NOTFOUND;
	if (rc == XW_ERR_INPUT) { /* a path component is not a directory */
		xw_diag_clear(&fs->diag);
		rc = XW_ERR_NOTFOUND;
	}
	if (rc == XW_ERR_NOTFOUND)
		return xw_fail(&fs->diag, rc, "%s: no such file in the image: \"%s\"",
			       fs->dev->name, path);
	return rc ? rc : xw_fs_stat_ino(fs, ino, st);
}

/* ---- contents ---- */

/* The first damage that was tolerated during a call. */
struct damage {
	int code;
	char text[sizeof(((struct xw_diag *)0)->text)];
};

/* Log damage and return 0, or return a failure that is none. */
static int tolerate(struct xw_fs *fs, struct damage *d, int rc)
{
	if (rc == XW_ERR_NOMEM)
		return rc;
	if (!d->code) {
		d->code = rc;
		memcpy(d->text, fs->diag.text, sizeof(d->text));
	}
	xw_log(&fs->diag, XW_LOG_WARN, "%s", fs->diag.text);
	xw_diag_clear(&fs->diag);
	return 0;
}

/* Return the result of a callback. If it is 0, clear failures of the callback's own calls. */
static int called(struct xw_fs *fs, int rc)
{
	if (!rc)
		xw_diag_clear(&fs->diag);
	return rc;
}

/* The return code of a call: rc, or the first damage that was tolerated. */
static int conclude(struct xw_fs *fs, const struct damage *d, int rc)
{
	if (rc || !d->code)
		return rc;
	return xw_fail(&fs->diag, d->code, "%s", d->text);
}

static uint32_t type_bits(uint8_t ftype)
{
	static const uint32_t bits[] = {
		[XW_FT_REG] = S_IFREG, [XW_FT_DIR] = S_IFDIR,  [XW_FT_CHR] = S_IFCHR,
		[XW_FT_BLK] = S_IFBLK, [XW_FT_FIFO] = S_IFIFO, [XW_FT_SOCK] = S_IFSOCK,
		[XW_FT_LNK] = S_IFLNK,
	};

	return ftype < XW_ARRAY_SIZE(bits) ? bits[ftype] : 0;
}

static int pass_name(struct xw_fs *fs, const struct xw_dirent *e, xw_fs_name_cb *each, void *arg)
{
	char name[XW_NAME_MAX + 1];
	const struct xw_fs_name n = {
		.name = name, .len = e->name_len, .ino = e->ino, .type = type_bits(e->ftype)};

	if (xw_name_is_dots(e->name, e->name_len))
		return 0;
	memcpy(name, e->name, e->name_len);
	name[e->name_len] = '\0';
	return called(fs, each(arg, &n));
}

int xw_fs_list(struct xw_fs *fs, uint32_t ino, xw_fs_name_cb *each, void *arg)
{
	struct damage damage = {0};
	auto_end(xw_dir_end) struct xw_dir_iter it = {0};
	struct xw_dirent e;
	auto_end(end_node) struct node n;
	int got, rc = load_type(fs, ino, XW_S_IFDIR, "directory", each, "each", &n);

	if (rc)
		return rc;
	got = xw_dir_begin(fs->img, ino, &n.inode, n.raw, &it);
	while (!rc && (got || (got = xw_dir_next(&it, &e, NULL)))) {
		rc = got < 0 ? tolerate(fs, &damage, got) : pass_name(fs, &e, each, arg);
		got = 0;
	}
	return conclude(fs, &damage, rc);
}

int64_t xw_fs_pread(struct xw_fs *fs, uint32_t ino, uint64_t offset, void *buf, size_t len)
{
	auto_end(end_node) struct node n;
	size_t got = 0;
	int rc = load_type(fs, ino, XW_S_IFREG, "regular file", buf || !len, "buf", &n);

	if (!rc)
		rc = xw_file_pread(fs->img, ino, &n.inode, n.raw, offset, buf, len, &got);
	return rc ? rc : (int64_t)got;
}

int xw_fs_readlink(struct xw_fs *fs, uint32_t ino, const char **target)
{
	auto_end(end_node) struct node n;
	size_t len;
	int rc = load_type(fs, ino, XW_S_IFLNK, "symbolic link", target, "target", &n);

	if (fs) {
		free(fs->target);
		fs->target = NULL;
	}
	if (target)
		*target = NULL;
	if (rc)
		return rc;
	fs->target = malloc((size_t)fs->img->block_size + 1);
	if (!fs->target)
		return xw_fail_nomem(&fs->diag, "symbolic link");
	rc = xw_symlink_read(fs->img, ino, &n.inode, n.raw, fs->target, &len);
	if (!rc)
		*target = fs->target;
	return rc;
}

static int pass_xattr(struct xw_fs *fs, struct damage *d, const struct xw_xattr_ref *a,
		      xw_fs_xattr_cb *each, void *arg)
{
	struct xw_xattr_linux x;
	int rc;

	if (xw_xattr_is_internal(a))
		return 0;
	rc = xw_xattr_to_linux(a, &fs->diag, &x);
	if (rc)
		rc = tolerate(fs, d, rc);
	else
		rc = called(fs, each(arg, &(struct xw_fs_xattr){x.name, x.value, x.value_len}));
	xw_xattr_linux_free(&x);
	return rc;
}

int xw_fs_xattrs(struct xw_fs *fs, uint32_t ino, xw_fs_xattr_cb *each, void *arg)
{
	struct damage damage = {0};
	auto_end(xw_xattr_end) struct xw_xattr_iter it = {0};
	struct xw_xattr_ref a;
	auto_end(end_node) struct node n;
	int got, rc = load(fs, ino, each, "each", &n);

	if (rc)
		return rc;
	got = xw_xattr_begin(fs->img, ino, &n.inode, n.raw, &it);
	while (!rc && (got || (got = xw_xattr_next(&it, &a)))) {
		rc = got < 0 ? tolerate(fs, &damage, got) : pass_xattr(fs, &damage, &a, each, arg);
		got = 0;
	}
	return conclude(fs, &damage, rc);
}

int xw_fs_extents(struct xw_fs *fs, uint32_t ino, xw_fs_extent_cb *each, void *arg)
{
	auto_end(xw_map_end) struct xw_map_iter it = {0};
	struct xw_map_run run;
	auto_end(end_node) struct node n;
	int rc = load(fs, ino, each, "each", &n);

	if (!rc)
		rc = xw_map_begin(fs->img, ino, &n.inode, 0, &it);
	while (!rc && (rc = xw_map_next(&it, &run)) == 1) {
		const uint64_t bs = fs->img->block_size;
		const struct xw_fs_extent e = {.offset = run.lblk * bs,
					       .physical = run.pblk * bs,
					       .length = run.len * bs,
					       .unwritten = run.unwritten};

		rc = called(fs, each(arg, &e));
	}
	return rc;
}
