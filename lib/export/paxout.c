/* SPDX-License-Identifier: MIT */
/* Items as members of a pax archive. */
#include <stdlib.h>

#include "export/exporter.h"
#include "export/header.h"
#include "export/records.h"

struct pax {
	struct xw_exporter x;
	struct xw_output out;
	struct xw_tar_records records;
	struct xw_record_counts counts;
};

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

static struct xw_tar_member member_of(const struct xw_export_item *item)
{
	const struct xw_inode *inode = &item->at->inode;

	return (struct xw_tar_member){
		.path = item->path,
		.link = item->link,
		.type = item->hardlink ? XW_TAR_HARDLINK : type_of(inode->mode),
		.mode = inode->mode,
		.uid = inode->uid,
		.gid = inode->gid,
		.mtime = inode->mtime,
	};
}

static int add_record(void *arg, const struct xw_xattr_ref *a)
{
	struct pax *p = arg;

	return xw_records_add(&p->records, a, p->x.img->diag, &p->counts);
}

/* Write an item that is no hard link. If damage is returned, nothing was written yet. */
static int put_complete(struct pax *p, const struct xw_export_item *item, struct xw_tar_member m)
{
	const struct xw_walk_item *e = item->at;
	struct xw_payload payload;
	int rc = 0, damage = 0;

	/* an atime that equals the mtime is not stored: readers use the mtime instead */
	m.atime = e->inode.atime;
	m.has_atime = m.atime.sec != m.mtime.sec || m.atime.nsec != m.mtime.nsec;
	if (m.type == XW_TAR_CHR || m.type == XW_TAR_BLK)
		xw_inode_get_rdev(&e->inode, &m.dev_major, &m.dev_minor);
	if (m.type == XW_TAR_REG) {
		rc = xw_payload_plan(p->x.img, e->ino, &e->inode, e->raw, &payload);
		if (rc)
			return rc;
		m.size = xw_payload_size(&payload);
		m.sparse = payload.sparse;
		m.real_size = e->inode.size;
	}
	p->records.v.n = 0;
	rc = xw_export_attributes(&p->x, item, add_record, p);
	rc = rc ? rc : xw_tar_put_member(&p->out, &m, &p->records);
	if (rc || m.type != XW_TAR_REG)
		return rc;
	rc = xw_payload_put(&payload, &p->out, &damage);
	p->x.stats->data_bytes += payload.data;
	p->x.stats->sparse_files += payload.sparse;
	return !rc && damage ? xw_export_damage(&p->x, e->path, damage) : rc;
}

static int pax_put(void *to, const struct xw_export_item *item)
{
	struct pax *p = to;
	const struct xw_tar_member m = member_of(item);
	int rc = item->hardlink ? xw_tar_put_member(&p->out, &m, &p->records)
				: put_complete(p, item, m);

	p->x.stats->bytes_out = p->out.total;
	p->x.foreign = p->out.failed != 0;
	return rc == XW_ERR_NOMEM ? xw_fail_nomem(p->x.img->diag, "an archive member") : rc;
}

int xw_image_to_pax(struct xw_image *img, const struct xw_export_opts *o, xw_output_fn *write,
		    int (*end)(void *arg), void *arg, struct xw_export_stats *stats)
{
	struct pax p = {.x = {.put = pax_put, .to = &p}};
	int rc = xw_export_begin(&p.x, img, o, stats);

	if (!rc && xw_output_init(&p.out, write, arg))
		rc = xw_fail_nomem(img->diag, "output");
	rc = rc ? rc : xw_export_items(&p.x);
	rc = rc ? rc : xw_tar_put_end(&p.out);
	rc = rc ? rc : xw_output_flush(&p.out);
	if (!rc && end)
		rc = end(arg);
	stats->bytes_out = p.out.total;
	stats->xattrs = p.counts.xattrs;
	stats->acls = p.counts.acls;
	xw_output_free(&p.out);
	xw_vec_free(&p.records.v);
	return xw_export_finish(&p.x, rc);
}

int xw_image_to_tar(struct xw_image *img, const struct xw_export_opts *o, xw_output_fn *write,
		    void *arg, struct xw_export_stats *stats)
{
	return xw_image_to_pax(img, o, write, NULL, arg, stats);
}
