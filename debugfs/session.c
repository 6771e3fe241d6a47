/* SPDX-License-Identifier: MIT */
/*
 * The image of a session, from opening to the commit.
 *
 *   reading   a device on which redo file and journal are applied in memory; nothing is written
 *   -w        an edit (session/edit.h): the image is locked and recovered, writes are held in
 *             memory or go to free space, and closing commits them as one unit. Verbs that need
 *             inodes and space work in steps (update/steps.h) on it; verbs that write raw bytes
 *             use the edit's device.
 *
 * A request that fails changes nothing. The changes of other requests are committed, as in the
 * stock debugger; the exit status shows the failure.
 *
 * A debugger is used on damaged images: a wrong checksum, an unknown feature or a short device is
 * reported, and the image is opened. Checksums are verified by the verbs, which report mismatches
 * and continue, so the image is opened without verification.
 */
#include "config.h"

#include "cli/env.h"
#include "cli/output.h"
#include "cli/redo.h"
#include "session/edit.h"
#include "commit/store.h"
#include "debugfs.h"
#include "show/show.h"
#include "fastcommit/fastcommit.h"
#include "read/backup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Report why opening failed, and add the flag that allows it; false: there is none. A filesystem
 * larger than its device can be read, not written.
 */
static bool allow(struct dbg *d, int rc, unsigned *flags)
{
	const unsigned more = rc == XW_ERR_CHECKSUM                ? XW_IMAGE_NOCSUM
			      : rc == XW_ERR_UNSUPPORTED           ? XW_IMAGE_ANY_FEATURES
			      : rc == XW_ERR_TRUNCATED && !d->edit ? XW_IMAGE_SHORT
								   : 0;

	if (!more || *flags & more)
		return false;
	*flags |= more;
	xw_log(&d->diag, XW_LOG_WARN, "%s", d->diag.text);
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
	/*
	 * With an unknown feature, steps are refused unless the verb open was given -f. Fields can
	 * be set, so that the feature can be cleared.
	 */
	d->steps.image_flags = flags & ~(d->how.any_features ? 0u : XW_IMAGE_ANY_FEATURES);
	if (!rc)
		d->img->flags |= XW_IMAGE_NOCSUM;
	return rc;
}

/* Is the image an e2image file, or opened through a backup superblock? */
static bool is_indirect(const struct dbg_how *how)
{
	return how->e2image || how->super_block || how->block_size;
}

static int open_reading(struct dbg *d, const char *path)
{
	struct xw_recover_info info = {0};
	int rc;

	/* the journal matches neither a backup superblock nor an e2image file */
	if (d->how.no_replay || is_indirect(&d->how))
		rc = xw_recover_open(path, d->redo_file, d->how.offset, XW_RECOVER_RDONLY, &d->diag,
				     &d->dev, &info);
	else
		rc = xw_recover_read(path, d->redo_file, d->how.offset, &d->diag, &d->dev, &info);
	d->pending = info.redo_applied;
	if (!rc && d->how.e2image)
		rc = xw_show_e2image(d->dev, d->how.data_source, &d->diag, &d->dev);
	if (!rc && (d->how.super_block || d->how.block_size))
		rc = xw_backup_view(&d->dev, d->how.super_block, d->how.block_size, &d->diag);
	return rc ? rc : open_image(d, d->dev);
}

/* Should the commit be cancelled? At a prompt an interrupt only ends the current request. */
static bool is_cancelled(void *arg)
{
	const struct dbg *d = arg;

	return d->interactive ? cli_terminated() : cli_interrupted();
}

static void hold_interrupts(void *arg, bool on)
{
	(void)arg;
	cli_hold_interrupts(on);
}

/*
 * Open an image whose journal needs recovery but cannot be replayed, for example because it is on
 * another device. Fields can be set; steps are refused until the journal is replayed.
 */
static int begin_unreplayed(struct dbg *d, const char *path, struct xw_edit_opts opts)
{
	char why[sizeof(d->diag.text)];
	int rc;

	memcpy(why, d->diag.text, sizeof(why));
	xw_diag_clear(&d->diag);
	opts.keep_log = true;
	rc = xw_edit_begin(path, &opts, &d->diag, &d->edit);
	if (!rc)
		xw_log(&d->diag, XW_LOG_WARN, "%s; opened without its changes", why);
	return rc;
}

static int open_writing(struct dbg *d, const char *path)
{
	const struct xw_edit_opts opts = {
		.watch = &d->watch,
		.redo_file = d->how.redo_file,
		.redo_dir = d->redo_dir,
		.undo_file = d->how.undo_file,
		.offset = d->how.offset,
		.how = d->how.commit,
		.now = d->now,
		.keep_log = d->how.no_replay,
		.any_state = true,
	};
	int rc;

	d->watch = (struct xw_commit_watch){
		.ended = is_cancelled, .deciding = hold_interrupts, .arg = d};
	rc = xw_edit_begin(path, &opts, &d->diag, &d->edit);
	if (rc == XW_ERR_UNSUPPORTED && !opts.keep_log)
		rc = begin_unreplayed(d, path, opts);
	if (rc)
		return rc;
	xw_steps_init(&d->steps, xw_edit_dev(d->edit), &d->diag);
	return open_image(d, xw_edit_dev(d->edit));
}

/* The image was changed or closed: the families drop what they derived from its contents. */
static void changed(struct dbg *d)
{
	for (const struct dbg_family *const *f = d->families; *f; f++) {
		if ((*f)->changed)
			(*f)->changed(d);
	}
}

/* Close the image and free everything about it. */
static void drop(struct dbg *d)
{
	changed(d);
	for (const struct dbg_family *const *f = d->families; *f; f++) {
		if ((*f)->closed)
			(*f)->closed(d);
	}
	xw_step_drop(&d->steps);
	xw_image_close(d->img);
	xw_edit_end(d->edit);
	xw_dev_close(d->dev);
	free(d->path);
	free(d->real);
	free(d->redo_dir);
	free(d->journal);
	if (d->undo)
		d->how.undo_file = NULL;
	free(d->undo);
	d->journal = d->undo = NULL;
	d->img = NULL;
	d->edit = NULL;
	d->dev = NULL;
	d->path = d->real = d->redo_dir = NULL;
	d->redo_file = NULL;
	d->dirty = d->spoiled = d->pending = false;
}

int dbg_open(struct dbg *d, const char *path, const struct dbg_how *how)
{
	int rc;

	d->how = *how;
	if (how->data_source && !how->e2image)
		return xw_fail(&d->diag, XW_ERR_USAGE, "-d needs -i: a file made by e2image");
	if (how->write && (how->catastrophic || is_indirect(how)))
		return xw_fail(&d->diag, XW_ERR_USAGE, "-w is not supported with %s",
			       how->catastrophic ? "-c" : "-b, -i and -s");
	d->path = strdup(path);
	d->real = dbg_absolute(path);
	d->redo_dir = how->redo_file ? NULL : cli_redo_dir(path, how->offset);
	d->redo_file = how->redo_file ? how->redo_file : d->redo_dir;
	if (!d->path || !d->real) {
		drop(d);
		return xw_fail_nomem(&d->diag, "name of the image");
	}
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
		rc = xw_fail(&d->diag, XW_ERR_STATE, "%s: nothing was changed", d->path);
	else if (commit && (d->dirty || (d->edit && d->how.undo_file)))
		rc = xw_edit_commit(d->edit, NULL);
	d->fatal |= rc != 0;
	drop(d);
	return rc;
}

int dbg_step_begin(struct dbg *d, struct xw_update **out)
{
	d->steps.now = d->now;
	return xw_step_begin(&d->steps, out);
}

/*
 * Read the image again. If that fails, for example because a field was set to an invalid value, the
 * previous superblock is used, so that the field can be corrected.
 */
static void reread(struct dbg *d)
{
	struct xw_diag *diag = d->img->diag, quiet = {0};
	struct xw_image *now;

	changed(d);
	if (xw_image_open(d->img->dev, d->img->flags, &quiet, &now)) {
		xw_image_drop_cache(d->img);
		return;
	}
	now->diag = diag;
	xw_image_close(d->img);
	d->img = now;
}

int dbg_step_end(struct dbg *d, int rc)
{
	if (rc)
		xw_step_drop(&d->steps);
	else
		rc = xw_step_keep(&d->steps);
	d->spoiled |= d->steps.torn;
	reread(d);
	return rc;
}

void dbg_wrote(struct dbg *d)
{
	xw_step_drop(&d->steps);
	reread(d);
}

int dbg_output_open(struct dbg *d, const char *path, const char *journal)
{
	const char *keep[] = {d->real, d->how.undo_file, journal, NULL};
	struct xw_diag quiet = {0}; /* a block device may have no redo file */
	struct xw_redo_store *redo;
	const char *kept;
	int fd;

	if (!xw_redo_store_open(d->real, d->redo_file, d->how.offset, &quiet, &redo))
		keep[3] = redo->name;
	fd = cli_output_open(path, keep, XW_ARRAY_SIZE(keep), NULL, &kept);
	if (kept)
		fd = xw_fail(&d->diag, XW_ERR_USAGE, "%s: would overwrite the %s", path,
			     kept == d->real            ? "image"
			     : kept == journal          ? "journal"
			     : kept == d->how.undo_file ? "undo file"
							: "redo file");
	else if (fd < 0)
		fd = xw_fail_errno(&d->diag, XW_ERR_IO, errno, "%s", path);
	xw_redo_store_close(redo);
	return fd;
}

FILE *dbg_output_stream(struct dbg *d, const char *path, const char *journal)
{
	const int fd = dbg_output_open(d, path, journal);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (fd >= 0 && !f) {
		xw_fail_errno(&d->diag, XW_ERR_IO, errno, "%s", path);
		close(fd);
	}
	return f;
}
