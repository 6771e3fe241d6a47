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
	uint32_t was_uid, was_gid; /* owner and group of the current item in the image */
	char *text; /* target of the current symbolic link */
	char *path; /* output path of the current item if it differs from the walk's path; owned */
	bool merged_acls, root_caps; /* warnings that were given */
	/* message of the first damage or failure */
	char first[sizeof(((struct xw_diag *)0)->text)];
	char missing[512]; /* missing paths */
	int damage_code; /* XW_ERR_UNSUPPORTED if all that was unreadable is encrypted */
	int failed_code; /* code of the first write failure */
	/*
	 * Write one item. 1, after xw_export_failed(), or the code of damage: nothing of the item
	 * was written. Other failures end the run.
	 */
	int (*put)(void *to, const struct xw_export_item *item);
	void *to;
	bool sockets; /* the writer supports sockets */
	/* a callback returned the failure: whatever its code, it is no damage of the image */
	bool foreign;
};

/* Prepare the walk of the image; xw_export_finish() must follow, even after a failure. */
int xw_export_begin(struct xw_exporter *x, struct xw_image *img, const struct xw_export_opts *o,
		    struct xw_export_stats *stats);
/* Pass all items to put(). */
int xw_export_items(struct xw_exporter *x);
/* Free everything and return the result of the whole run: rc, or a failure with a summary. */
int xw_export_finish(struct xw_exporter *x, int rc);

/*
 * If the failure of an item is caused by the image, log the message in diag, clear it and return 0.
 * Other failures are returned.
 */
int xw_export_damage(struct xw_exporter *x, const char *path, int rc);
/* The item at `path` could not be written unchanged: count it, and log the message in diag. */
void xw_export_failed(struct xw_exporter *x, const char *path, int rc);

/*
 * Call `each` for each attribute to be exported, which excludes internal ones (inline data,
 * encryption). Damage, also as the result of `each`, is handled; other failures of `each` are
 * returned.
 */
int xw_export_attributes(struct xw_exporter *x, const struct xw_export_item *item,
			 int (*each)(void *arg, const struct xw_xattr_ref *a), void *arg);

/*
 * As xw_image_to_tar(), but calls end(arg), unless end is NULL, when everything is written.
 */
int xw_image_to_pax(struct xw_image *img, const struct xw_export_opts *o, xw_output_fn *write,
		    int (*end)(void *arg), void *arg, struct xw_export_stats *stats);

/* Apply the changes of owner and mode in the options. */
void xw_export_select(struct xw_exporter *x, struct xw_inode *inode);

/* Is the item the first name of a regular file, which is written with its contents? */
bool xw_export_has_contents(const struct xw_export_item *item);

#endif
