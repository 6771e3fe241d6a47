/* SPDX-License-Identifier: MIT */
/* One export under way: what those who write archives, files and listings share. */
#ifndef XW_EXPORT_EXPORTER_H
#define XW_EXPORT_EXPORTER_H

#include "export/export.h"
#include "export/links.h"
#include "export/payload.h"
#include "export/queue.h"
#include "read/xattrs.h"

struct xw_exporter {
	struct xw_image *img;
	const struct xw_export_opts *opts;
	struct xw_export_stats *stats;
	struct xw_queue *queue;
	struct xw_links links;
	char *text; /* of a symlink */
	char *path; /* of the item at hand, where it is not the walk's; owned */
	char first[sizeof(((struct xw_diag *)0)->text)]; /* line of the first damage or failure */
	char missing[512]; /* paths */
	int failed_code; /* of the first failure to write */
	/*
	 * Take one item. A failure that is damage means that nothing of it was written; so does 1,
	 * of which xw_export_failed() was told. Others end the run.
	 */
	int (*put)(void *to, const struct xw_export_item *item);
	void *to;
	bool sockets; /* it can take them */
	bool foreign; /* the failure is a caller's, and not the image's, whatever its code */
};

/* Go through the image. */
int xw_export_begin(struct xw_exporter *x, struct xw_image *img, const struct xw_export_opts *o,
		    struct xw_export_stats *stats);
int xw_export_items(struct xw_exporter *x);
/* Free what begin made; what the run as a whole comes to. */
int xw_export_finish(struct xw_exporter *x, int rc);

/* Log what diag says of an item and forget it, where that is the image's fault: 0. Other failures
 * are returned. */
int xw_export_damage(struct xw_exporter *x, const char *path, int rc);
/* The item at `path` could not be written as it is, diag says why: log it, forget it, go on. */
void xw_export_failed(struct xw_exporter *x, const char *path, int rc);

/*
 * Each attribute that is to be kept, those that belong to the filesystem (inline data, encryption)
 * not among them. Damage is handled; what `each` returns is damage too, or ends this.
 */
int xw_export_attributes(struct xw_exporter *x, const struct xw_export_item *item,
			 int (*each)(void *arg, const struct xw_xattr_ref *a), void *arg);

/* xw_image_to_tar() with an end to the output: end(arg), once all is written. May be NULL. */
int xw_image_to_pax(struct xw_image *img, const struct xw_export_opts *o, xw_output_fn *write,
		    int (*end)(void *arg), void *arg, struct xw_export_stats *stats);

/* Owner and mode as selected. */
void xw_export_select(const struct xw_exporter *x, struct xw_inode *inode);

/* Has the item contents: a regular file's first name? */
bool xw_export_has_contents(const struct xw_export_item *item);

#endif
