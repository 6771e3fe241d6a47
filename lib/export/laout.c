/* SPDX-License-Identifier: MIT */
/*
 * Items as members of the formats that libarchive writes. No format has all properties of an ext4
 * file. Lost properties are reported for the first item concerned, and counted at the end. Changed
 * values are reported for each item and make the run fail. Items that the format does not support
 * are skipped, which is a failure, too.
 */
#include "config.h"

#include "export/laout.h"

#include <archive.h>
#include <archive_entry.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/exporter.h"

#define PIECE (256u << 10)

enum loss { LOST_XATTRS, LOST_ACLS, LOST_NSEC, LOST_HOLES, LOSSES };

static const char *const loss_names[LOSSES] = {
	[LOST_XATTRS] = "extended attributes",
	[LOST_ACLS] = "ACLs",
	[LOST_NSEC] = "fractions of a second",
	[LOST_HOLES] = "holes, which become zeros",
};

struct foreign {
	struct xw_exporter x;
	struct xw_laout la;
	const struct xw_archive_format *format;
	struct archive_entry *e;
	uint8_t *buf;
	uint64_t at; /* bytes written of the contents of the item */
	uint64_t lost[LOSSES];
	bool has[LOSSES]; /* properties of the current item */
};

static void log_losses(const struct foreign *f)
{
	for (unsigned i = 0; i < LOSSES; i++) {
		if (f->lost[i] > 1)
			xw_log(f->x.img->diag, XW_LOG_WARN,
			       "%s: %" PRIu64 " items have lost %s to %s", f->x.img->dev->name,
			       f->lost[i], loss_names[i], f->format->name);
	}
}

static int note_attribute(void *arg, const struct xw_xattr_ref *a)
{
	struct foreign *f = arg;
	const bool acl = a->index == XW_XI_ACL_ACCESS || a->index == XW_XI_ACL_DEFAULT;

	f->has[acl ? LOST_ACLS : LOST_XATTRS] = true;
	return 0;
}

/* Report a changed value of an item; for hard links it was reported with the first name. */
static void changed(struct foreign *f, const struct xw_export_item *item, const char *what)
{
	if (item->hardlink)
		return;
	xw_fail(f->x.img->diag, XW_ERR_UNSUPPORTED, "%s cannot hold its %s", f->format->name, what);
	xw_export_failed(&f->x, item->path, XW_ERR_UNSUPPORTED);
}

static uint32_t fit_id(struct foreign *f, const struct xw_export_item *item, uint32_t id,
		       const char *what)
{
	if (id <= f->format->id_max)
		return id;
	changed(f, item, what);
	return 0;
}

static void set_time(struct foreign *f, const struct xw_export_item *item)
{
	const struct xw_time t = item->at->inode.mtime;
	int64_t sec = XW_MIN(XW_MAX(t.sec, f->format->time_min), f->format->time_max);

	if (sec != t.sec)
		changed(f, item, "time");
	f->has[LOST_NSEC] = t.nsec != 0;
	archive_entry_set_mtime(f->e, (time_t)sec, 0);
}

static void set_entry(struct foreign *f, const struct xw_export_item *item, uint64_t size)
{
	const struct xw_inode *inode = &item->at->inode;
	const uint32_t type = inode->mode & XW_S_IFMT;
	uint32_t major, minor;

	archive_entry_clear(f->e);
	archive_entry_set_pathname(f->e, *item->path ? item->path : ".");
	archive_entry_set_mode(f->e, (__LA_MODE_T)inode->mode);
	archive_entry_set_uid(f->e, fit_id(f, item, inode->uid, "owner"));
	archive_entry_set_gid(f->e, fit_id(f, item, inode->gid, "group"));
	archive_entry_set_nlink(f->e, inode->links);
	archive_entry_set_ino64(f->e, item->at->ino);
	archive_entry_set_size(f->e, (la_int64_t)size);
	set_time(f, item);
	if (type == XW_S_IFCHR || type == XW_S_IFBLK) {
		xw_inode_get_rdev(inode, &major, &minor);
		archive_entry_set_rdevmajor(f->e, major);
		archive_entry_set_rdevminor(f->e, minor);
	}
	if (type == XW_S_IFLNK && !item->hardlink)
		archive_entry_set_symlink(f->e, item->link);
	if (item->hardlink && f->format->links)
		archive_entry_set_hardlink(f->e, item->link);
}

static int put_bytes(struct foreign *f, const void *p, size_t len)
{
	const char *at = p;

	while (len) {
		la_ssize_t n = archive_write_data(f->la.a, at, len);

		if (n <= 0)
			return xw_laout_fail(&f->la, XW_ERR_IO);
		at += n;
		len -= (size_t)n;
		f->at += (uint64_t)n;
	}
	return 0;
}

/* Write zeros up to byte `to` of the contents, for holes or unreadable data. */
static int fill_to(struct foreign *f, uint64_t to)
{
	static const uint8_t zeros[4096];
	int rc = 0;

	while (f->at < to && !rc)
		rc = put_bytes(f, zeros, (size_t)XW_MIN(to - f->at, sizeof(zeros)));
	return rc;
}

static int put_piece(void *arg, uint64_t off, const void *data, size_t len)
{
	struct foreign *f = arg;
	int rc = fill_to(f, off);

	return rc ? rc : put_bytes(f, data, len);
}

static int put_contents(struct foreign *f, const struct xw_export_item *item,
			const struct xw_payload *p)
{
	int damage, rc;

	f->at = 0;
	rc = xw_payload_each(p, f->buf, PIECE, put_piece, f, &damage);
	if (!rc)
		rc = fill_to(f, item->at->inode.size);
	f->x.stats->data_bytes += p->data;
	f->x.stats->sparse_files += p->sparse;
	return !rc && damage ? xw_export_damage(&f->x, item->at->path, damage) : rc;
}

/* Write the header. 1: libarchive does not accept the item, which is reported and skipped. */
static int put_header(struct foreign *f, const struct xw_export_item *item)
{
	int rc = archive_write_header(f->la.a, f->e);
	const char *text = archive_error_string(f->la.a);

	if (rc == ARCHIVE_FATAL || f->la.failed)
		return xw_laout_fail(&f->la, XW_ERR_IO);
	if (rc == ARCHIVE_OK)
		return 0;
	xw_fail(f->x.img->diag, XW_ERR_UNSUPPORTED, "%s%s",
		rc == ARCHIVE_WARN ? "" : "left out: ", text ? text : "the format cannot hold it");
	xw_export_failed(&f->x, item->path, XW_ERR_UNSUPPORTED);
	return rc == ARCHIVE_WARN ? 0 : 1;
}

static int put_entry(struct foreign *f, const struct xw_export_item *item)
{
	const bool contents = xw_export_has_contents(item);
	const uint64_t size = contents ? item->at->inode.size : 0;
	struct xw_payload p = {0};
	int rc = 0;

	memset(f->has, 0, sizeof(f->has));
	if (size > f->format->size_max) {
		xw_fail(f->x.img->diag, XW_ERR_UNSUPPORTED, "left out: too large for %s",
			f->format->name);
		xw_export_failed(&f->x, item->path, XW_ERR_UNSUPPORTED);
		return 1;
	}
	if (contents)
		rc = xw_payload_plan(f->x.img, item->at->ino, &item->at->inode, item->at->raw, &p);
	if (!rc && !item->hardlink)
		rc = xw_export_attributes(&f->x, item, note_attribute, f);
	if (rc)
		return rc;
	set_entry(f, item, size);
	f->has[LOST_HOLES] = contents && p.sparse;
	rc = put_header(f, item);
	if (rc)
		return rc;
	for (unsigned i = 0; i < LOSSES; i++)
		if (f->has[i] && !item->hardlink && !f->lost[i]++)
			xw_log(f->x.img->diag, XW_LOG_WARN, "%s: %s does not keep %s",
			       *item->path ? item->path : "/", f->format->name, loss_names[i]);
	return contents ? put_contents(f, item, &p) : 0;
}

static int foreign_put(void *to, const struct xw_export_item *item)
{
	struct foreign *f = to;
	int rc = put_entry(f, item);

	f->x.stats->bytes_out = f->la.bytes;
	f->x.foreign = f->la.failed != 0;
	return rc;
}

/* end(arg) is called when everything is written; NULL: the output is not compressed. */
static int to_foreign(struct xw_image *img, const struct xw_export_opts *o,
		      const struct xw_archive_format *format, xw_output_fn *write,
		      int (*end)(void *arg), void *arg, struct xw_export_stats *stats)
{
	const struct xw_archive_opts plain = {.compression = XW_COMPRESS_NONE};
	struct foreign f = {.format = format,
			    .x = {.put = foreign_put, .to = &f},
			    .e = archive_entry_new(),
			    .buf = malloc(PIECE)};
	int rc = xw_export_begin(&f.x, img, o, stats);

	if (!rc && (!f.e || !f.buf))
		rc = xw_fail_nomem(img->diag, "archive");
	if (!rc)
		rc = xw_laout_begin(&f.la, &plain, format->code, end ? 1 : RECORD_BYTES, write, arg,
				    img->diag);
	rc = rc ? rc : xw_export_items(&f.x);
	rc = rc ? rc : xw_laout_finish(&f.la);
	if (!rc && end)
		rc = end(arg);
	if (!rc)
		log_losses(&f);
	stats->bytes_out = f.la.bytes;
	xw_laout_free(&f.la);
	archive_entry_free(f.e);
	free(f.buf);
	return xw_export_finish(&f.x, rc);
}

/* ---- compressed ---- */

struct compressed {
	const struct xw_export_opts *opts;
	const struct xw_export_stats *stats;
	xw_output_fn *write;
	void *arg;
};

static int write_compressed(void *arg, const void *buf, size_t len)
{
	const struct compressed *z = arg;

	return z->write(z->arg, buf, len);
}

static int tick_compressed(void *arg)
{
	const struct compressed *z = arg;

	return z->opts->tick ? z->opts->tick(z->opts->tick_arg, z->stats) : 0;
}

int xw_image_to_archive(struct xw_image *img, const struct xw_export_opts *o,
			const struct xw_archive_opts *ao, xw_output_fn *write, void *arg,
			struct xw_export_stats *stats)
{
	struct compressed z = {.opts = o, .stats = stats, .write = write, .arg = arg};
	const struct xw_compressor_calls calls = {write_compressed, tick_compressed, &z};
	struct xw_compressor *c = NULL;
	int rc;

	if (ao->compression == XW_COMPRESS_NONE)
		return ao->format ? to_foreign(img, o, ao->format, write, NULL, arg, stats)
				  : xw_image_to_tar(img, o, write, arg, stats);
	memset(stats, 0, sizeof(*stats));
	rc = xw_compressor_open(ao, &calls, img->diag, &c);
	if (!rc) {
		rc = ao->format ? to_foreign(img, o, ao->format, xw_compressor_write,
					     xw_compressor_finish, c, stats)
				: xw_image_to_pax(img, o, xw_compressor_write, xw_compressor_finish,
						  c, stats);
		stats->bytes_out = xw_compressor_bytes(c);
	}
	xw_compressor_free(c);
	return rc;
}
