/* SPDX-License-Identifier: MIT */
/*
 * Export: each item of the walk becomes a member. Failures are of two kinds and must not be mixed:
 * damage is the image's, is logged and counted, and the run goes on; everything else (no memory,
 * the output) ends it.
 */
#include "export/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/header.h"
#include "export/links.h"
#include "export/payload.h"
#include "export/records.h"
#include "read/file.h"

struct exporter {
	struct xw_image *img;
	const struct xw_export_opts *opts;
	struct xw_export_stats *stats;
	struct xw_walk *walk;
	struct xw_links links;
	struct xw_output out;
	struct xw_tar_records records;
	char *text; /* of a symlink */
	char first[sizeof(((struct xw_diag *)0)->text)]; /* line of the first damage */
	int (*each)(void *arg, const struct xw_export_item *item); /* when listing */
	void *each_arg;
	bool each_failed;
};

/* Is this failure the image's own? */
static bool is_damage(int rc)
{
	return rc == XW_ERR_CORRUPT || rc == XW_ERR_CHECKSUM || rc == XW_ERR_IO ||
	       rc == XW_ERR_TRUNCATED || rc == XW_ERR_LIMIT || rc == XW_ERR_INPUT ||
	       rc == XW_ERR_UNSUPPORTED || rc == XW_ERR_NOTFOUND;
}

/* Log what diag says of an item, and forget it. Other failures than damage are returned. */
static int note_damage(struct exporter *x, const char *path, int rc)
{
	struct xw_diag *d = x->img->diag;

	if (!is_damage(rc))
		return rc;
	x->stats->damaged++;
	if (!d)
		return 0;
	if (!*x->first)
		memcpy(x->first, d->text, sizeof(x->first));
	xw_log(d, XW_LOG_WARN, "%s: %s", *path ? path : "/", d->text);
	xw_diag_clear(d);
	return 0;
}

static int add_attributes(struct exporter *x, const struct xw_walk_item *e)
{
	struct xw_record_counts counts = {0};
	struct xw_xattr_iter it;
	struct xw_xattr_ref a;
	int rc = xw_xattr_begin(x->img, e->ino, &e->inode, e->raw, &it);

	while (rc || (rc = xw_xattr_next(&it, &a))) {
		if (rc > 0)
			rc = xw_records_add(&x->records, &a, x->img->diag, &counts);
		if (rc < 0)
			rc = note_damage(x, e->path, rc);
		if (rc)
			break;
	}
	xw_xattr_end(&it);
	x->stats->xattrs += counts.xattrs;
	x->stats->acls += counts.acls;
	return rc;
}

static bool same_time(struct xw_time a, struct xw_time b)
{
	return a.sec == b.sec && a.nsec == b.nsec;
}

static enum xw_tar_type type_of(uint32_t mode)
{
	switch (mode & XW_S_IFMT) {
	case XW_S_IFDIR:
		return XW_TAR_DIR;
	case XW_S_IFLNK:
		return XW_TAR_SYMLINK;
	case XW_S_IFCHR:
		return XW_TAR_CHR;
	case XW_S_IFBLK:
		return XW_TAR_BLK;
	case XW_S_IFIFO:
		return XW_TAR_FIFO;
	default:
		return XW_TAR_REG;
	}
}

static void count(struct xw_export_stats *s, uint32_t mode)
{
	switch (mode & XW_S_IFMT) {
	case XW_S_IFDIR:
		s->directories++;
		break;
	case XW_S_IFREG:
		s->files++;
		break;
	case XW_S_IFLNK:
		s->symlinks++;
		break;
	default:
		s->specials++;
		break;
	}
}

/* Headers, and the contents of a regular file. Nothing was written yet when this fails with damage.
 */
static int put_item(struct exporter *x, const struct xw_walk_item *e, const char *link)
{
	const bool regular = (e->inode.mode & XW_S_IFMT) == XW_S_IFREG;
	struct xw_tar_member m = {
		.path = e->path,
		.link = link,
		.type = type_of(e->inode.mode),
		.mode = e->inode.mode,
		.uid = e->inode.uid,
		.gid = e->inode.gid,
		.mtime = e->inode.mtime,
		.atime = e->inode.atime,
		/* an importer that is told no atime takes the mtime */
		.has_atime = !same_time(e->inode.atime, e->inode.mtime),
	};
	struct xw_payload payload;
	int rc = 0, damage = 0;

	x->records.v.n = 0;
	if (m.type == XW_TAR_CHR || m.type == XW_TAR_BLK)
		xw_inode_get_rdev(&e->inode, &m.dev_major, &m.dev_minor);
	if (regular) {
		rc = xw_payload_plan(x->img, e->ino, &e->inode, e->raw, &payload);
		if (rc)
			return rc;
		m.size = xw_payload_size(&payload);
		m.sparse = payload.sparse;
		m.real_size = e->inode.size;
	}
	rc = add_attributes(x, e);
	if (!rc)
		rc = xw_tar_put_member(&x->out, &m, &x->records);
	if (!rc && regular) {
		rc = xw_payload_put(&payload, &x->out, &damage);
		x->stats->data_bytes += payload.data;
		x->stats->sparse_files += payload.sparse;
	}
	if (!rc && damage)
		rc = note_damage(x, e->path, damage);
	return rc;
}

static int put_hardlink(struct exporter *x, const struct xw_walk_item *e, const char *link)
{
	const struct xw_tar_member m = {
		.path = e->path,
		.link = link,
		.type = XW_TAR_HARDLINK,
		.mode = e->inode.mode,
		.uid = e->inode.uid,
		.gid = e->inode.gid,
		.mtime = e->inode.mtime,
	};

	return xw_tar_put_member(&x->out, &m, &x->records);
}

static int give(struct exporter *x, const struct xw_walk_item *e, const char *link, bool hardlink)
{
	const struct xw_export_item item = {.at = e, .link = link, .hardlink = hardlink};

	if (x->each) {
		int rc = x->each(x->each_arg, &item);

		x->each_failed = rc != 0;
		return rc;
	}
	return hardlink ? put_hardlink(x, e, link) : put_item(x, e, link);
}

/* One item. Damage is handled here; what is returned ends the run. */
static int take(struct exporter *x, const struct xw_walk_item *e)
{
	const uint32_t type = e->inode.mode & XW_S_IFMT;
	const char *link = NULL;
	size_t len;
	int rc = 0;

	if (type == XW_S_IFSOCK && !x->each) {
		x->stats->sockets++;
		xw_log(x->img->diag, XW_LOG_WARN, "%s: a socket is left out: tar has none",
		       e->path);
		return 0;
	}
	if (type != XW_S_IFDIR && e->inode.links > 1) {
		link = xw_links_seen(&x->links, e->ino, e->inode.links, e->path, &rc);
		if (rc)
			return xw_fail_nomem(x->img->diag, "hard links");
		if (link) {
			x->stats->hardlinks++;
			return give(x, e, link, true);
		}
	}
	if (type == XW_S_IFLNK) {
		rc = xw_symlink_read(x->img, e->ino, &e->inode, e->raw, x->text, &len);
		link = x->text;
	}
	if (!rc)
		rc = give(x, e, link, false);
	if (!rc)
		count(x->stats, e->inode.mode);
	else if (type != XW_S_IFDIR && e->inode.links > 1)
		xw_links_drop(&x->links, e->ino);
	return rc;
}

static int run(struct exporter *x)
{
	struct xw_walk_item e;
	int rc;

	while ((rc = xw_walk_next(x->walk, &e))) {
		if (rc > 0)
			rc = take(x, &e);
		/* a failure of the output is no damage, whatever its code */
		if (rc < 0 && (x->out.failed || x->each_failed))
			return rc;
		if (rc < 0)
			rc = note_damage(x, e.path, rc);
		if (rc)
			return rc;
		x->stats->bytes_out = x->out.total;
		if (x->opts->tick)
			rc = x->opts->tick(x->opts->tick_arg, x->stats);
		if (rc)
			return rc;
	}
	return 0;
}

static int begin(struct exporter *x, struct xw_image *img, const struct xw_export_opts *o,
		 struct xw_export_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	x->img = img;
	x->opts = o;
	x->stats = stats;
	x->text = malloc((size_t)img->block_size + 1);
	if (!x->text)
		return xw_fail_nomem(img->diag, "symbolic link");
	return xw_walk_new(img, o->top, o->prune, o->prune_arg, &x->walk);
}

/* What the run as a whole comes to. */
static int finish(struct exporter *x, int rc)
{
	xw_walk_free(x->walk);
	xw_links_free(&x->links);
	xw_output_free(&x->out);
	xw_vec_free(&x->records.v);
	free(x->text);
	if (!rc && x->stats->damaged)
		rc = xw_fail(x->img->diag, XW_ERR_CORRUPT,
			     "%s: %" PRIu64 " damaged item%s, the first: %s", x->img->dev->name,
			     x->stats->damaged, x->stats->damaged == 1 ? "" : "s", x->first);
	return rc;
}

int xw_image_to_tar(struct xw_image *img, const struct xw_export_opts *o, xw_output_fn *write,
		    void *arg, struct xw_export_stats *stats)
{
	struct exporter x = {0};
	int rc = begin(&x, img, o, stats);

	if (!rc && xw_output_init(&x.out, write, arg))
		rc = xw_fail_nomem(img->diag, "output");
	if (!rc)
		rc = run(&x);
	if (!rc)
		rc = xw_tar_put_end(&x.out);
	if (!rc)
		rc = xw_output_flush(&x.out);
	stats->bytes_out = x.out.total;
	return finish(&x, rc);
}

int xw_image_to_list(struct xw_image *img, const struct xw_export_opts *o,
		     int (*each)(void *arg, const struct xw_export_item *item), void *arg,
		     struct xw_export_stats *stats)
{
	struct exporter x = {.each = each, .each_arg = arg};
	int rc = begin(&x, img, o, stats);

	if (!rc)
		rc = run(&x);
	return finish(&x, rc);
}
