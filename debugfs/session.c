/* SPDX-License-Identifier: MIT */
/*
 * The image a session works on, from opening to the commit.
 *
 *   reading   a device on which redo file and journal are applied in memory; nothing is written
 *   -w        an edit (commit/edit.h): the image is locked and recovered, what verbs write is held
 *             or goes to free space, and closing commits it as one unit. Verbs that need inodes
 *             and space begin an update (update/update.h) on it; those that write blocks as they
 *             are use the edit's device.
 *
 * A debugger is for what is damaged: an image that would be refused for a checksum, a feature or a
 * short device is opened all the same, with a complaint. Checksums are looked at by the verbs,
 * which say what is wrong and go on, so the image is opened without.
 */
#include "config.h"

#include "cli/term.h"
#include "commit/edit.h"
#include "debugfs.h"
#include "update/update.h"

#include <stdlib.h>
#include <string.h>

/* What was refused is said, and allowed from here on; false where there is no way. */
static bool allow(struct dbg *d, int rc, unsigned *flags)
{
	unsigned more;

	switch (rc) {
	case XW_ERR_CHECKSUM:
		more = XW_IMAGE_NOCSUM;
		break;
	case XW_ERR_UNSUPPORTED:
		more = XW_IMAGE_ANY_FEATURES;
		break;
	case XW_ERR_TRUNCATED:
		more = XW_IMAGE_SHORT;
		break;
	default:
		return false;
	}
	if (*flags & more)
		return false;
	*flags |= more;
	cli_warning("%s", d->diag.text);
	xw_diag_clear(&d->diag);
	return true;
}

static int open_image(struct dbg *d, struct xw_dev *dev)
{
	unsigned flags = 0;
	int rc;

	if (d->how.no_csum)
		flags |= XW_IMAGE_NOCSUM;
	if (d->how.any_features)
		flags |= XW_IMAGE_ANY_FEATURES;
	do
		rc = xw_image_open(dev, flags, &d->diag, &d->img);
	while (rc && allow(d, rc, &flags));
	if (!rc)
		d->img->flags |= XW_IMAGE_NOCSUM;
	return rc;
}

static int open_reading(struct dbg *d, const char *path)
{
	struct xw_recover_info info = {0};
	int rc;

	if (d->how.no_replay)
		rc = xw_recover_open(path, d->how.redo_file, d->how.offset, XW_RECOVER_RDONLY,
				     &d->diag, &d->dev, &info);
	else
		rc = xw_recover_read(path, d->how.redo_file, d->how.offset, &d->diag, &d->dev,
				     &info);
	return rc ? rc : open_image(d, d->dev);
}

static int open_writing(struct dbg *d, const char *path)
{
	const struct xw_edit_opts opts = {
		.redo_file = d->how.redo_file,
		.offset = d->how.offset,
		.now = d->now,
		.keep_log = d->how.no_replay,
	};
	int rc = xw_edit_begin(path, &opts, &d->diag, &d->edit);

	return rc ? rc : open_image(d, xw_edit_dev(d->edit));
}

/* Forget everything about an image. */
static void drop(struct dbg *d)
{
	if (d->update)
		xw_update_close(d->update); /* image and edit are its own */
	else
		xw_image_close(d->img);
	if (!d->update)
		xw_edit_end(d->edit);
	xw_dev_close(d->dev);
	free(d->path);
	d->update = NULL;
	d->img = NULL;
	d->edit = NULL;
	d->dev = NULL;
	d->path = NULL;
	d->dirty = d->spoiled = false;
}

int dbg_open(struct dbg *d, const char *path, const struct dbg_how *how)
{
	int rc;

	d->how = *how;
	if (how->write && (how->catastrophic || how->e2image))
		return xw_fail(&d->diag, XW_ERR_USAGE, "-w cannot go with %s",
			       how->catastrophic ? "-c" : "-i");
	d->path = strdup(path);
	if (!d->path)
		return xw_fail_nomem(&d->diag, "name of the image");
	rc = how->write ? open_writing(d, path) : open_reading(d, path);
	if (rc)
		drop(d);
	else
		d->root = d->cwd = XW_INO_ROOT;
	return rc;
}

int dbg_close(struct dbg *d, bool commit)
{
	int rc = 0;

	if (commit && d->dirty && d->spoiled)
		rc = xw_fail(&d->diag, XW_ERR_STATE, "%s: nothing was changed, as a request failed",
			     d->path);
	else if (commit && d->dirty)
		rc = d->update ? xw_update_commit(d->update, NULL) : xw_edit_commit(d->edit, NULL);
	drop(d);
	return rc;
}

int dbg_update(struct dbg *d, struct xw_update **out)
{
	const struct xw_update_opts opts = {
		.now = d->now,
		.mb = {-1, -1, -1, -1, -1, -1},
	};
	struct xw_image *before = d->img;
	int rc = 0;

	if (!d->update) {
		d->img = NULL;
		rc = xw_update_begin(d->edit, &opts, &d->diag, &d->update);
		xw_image_close(before);
		if (rc) {
			d->edit = NULL; /* it has been ended */
			drop(d);
		} else {
			d->img = d->update->img;
		}
	}
	*out = d->update;
	return rc;
}
