/* SPDX-License-Identifier: MIT */
/* The state of an export, shared by the writers of archives, files and listings. */
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
	char *text; /* target of a symlink */
	char *path; /* path of the current item where it differs from that of the walk; owned */
	/* message of the first damage or failure */
	char first[sizeof(((struct xw_diag *)0)->text)];
	char missing[512]; /* missing paths */
	int failed_code; /* code of the first write failure */
	/*
	 * Write one item. A failure that is damage means that nothing of it was written; so does 1,
	 * after xw_export_failed() was called. Other failures end the run.
	 */
	int (*put)(void *to, const struct xw_export_item *item);
	void *to;
	bool sockets; /* the writer supports sockets */
	/* the failure is that of a callback and not of the image, whatever its code */
	bool foreign;
};

/* Go through the image. */
int xw_export_begin(struct xw_exporter *x, struct xw_image *img, const struct xw_export_opts *o,
		    struct xw_export_stats *stats);
int xw_export_items(struct xw_exporter *x);
/* Free what begin allocated; returns the result of the whole run. */
int xw_export_finish(struct xw_exporter *x, int rc);

/*
 * If the failure of an item is caused by the image, log the message in diag, clear it and return 0.
 * Other failures are returned.
 */
int xw_export_damage(struct xw_exporter *x, const char *path, int rc);
/* The item at `path` could not be written unchanged, see diag: log it, clear it, continue. */
void xw_export_failed(struct xw_exporter *x, const char *path, int rc);

/*
 * Call `each` for each attribute to be kept, excluding those that belong to the filesystem (inline
 * data, encryption). Damage is handled; a failure of `each` is damage too, or ends this.
 */
int xw_export_attributes(struct xw_exporter *x, const struct xw_export_item *item,
			 int (*each)(void *arg, const struct xw_xattr_ref *a), void *arg);

/*
 * xw_image_to_tar() with an end of the output: end(arg) is called when all is written. May be NULL.
 */
int xw_image_to_pax(struct xw_image *img, const struct xw_export_opts *o, xw_output_fn *write,
		    int (*end)(void *arg), void *arg, struct xw_export_stats *stats);

/* Owner and mode after selection. */
void xw_export_select(const struct xw_exporter *x, struct xw_inode *inode);

/* Does the item have contents: is it the first name of a regular file? */
bool xw_export_has_contents(const struct xw_export_item *item);

#endif
