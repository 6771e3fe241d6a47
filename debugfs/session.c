/* SPDX-License-Identifier: MIT */
/*
 * The image a session works on, from opening to the commit.
 *
 *   reading   a device on which redo file and journal are applied in memory; nothing is written
 *   -w        an edit (session/edit.h): the image is locked and recovered, what verbs write is held
 *             or goes to free space, and closing commits it as one unit. Verbs that need inodes
 *             and space do their work in steps (update/session.h) on it; those that write bytes
 *             as they are use the edit's device.
 *
 * A request that fails has changed nothing, so what others did is committed all the same, as stock
 * does; the exit status tells.
 *
 * A debugger is for what is damaged: an image that would be refused for a checksum, a feature or a
 * short device is opened all the same, with a complaint. Checksums are looked at by the verbs,
 * which say what is wrong and go on, so the image is opened without.
 */
#include "config.h"

#include "cli/env.h"
#include "cli/output.h"
#include "session/edit.h"
#include "commit/store.h"
#include "debugfs.h"
#include "show/show.h"
#include "update/fast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	/* what a feature that nobody knows changes is not known: without -f of the verb open no
	 * step is made. Fields can be set, so that it can be taken away. */
	d->session.image_flags = flags & ~(d->how.any_features ? 0u : XW_IMAGE_ANY_FEATURES);
	if (!rc)
		d->img->flags |= XW_IMAGE_NOCSUM;
	return rc;
}

/* Not through the primary superblock of an image. */
static bool is_elsewhere(const struct dbg_how *how)
{
	return how->e2image || how->super_block || how->block_size;
}

static int open_reading(struct dbg *d, const char *path)
{
	struct xw_recover_info info = {0};
	int rc;

	/* what is seen through a copy, or is no image itself, has no journal to go with it */
	if (d->how.no_replay || is_elsewhere(&d->how))
		rc = xw_recover_open(path, d->how.redo_file, d->how.offset, XW_RECOVER_RDONLY,
				     &d->diag, &d->dev, &info);
	else
		rc = xw_recover_read(path, d->how.redo_file, d->how.offset, &d->diag, &d->dev,
				     &info);
	if (!rc && d->how.e2image)
		rc = xw_show_e2image(d->dev, &d->diag, &d->dev);
	if (!rc && (d->how.super_block || d->how.block_size))
		rc = xw_show_backup(&d->dev, d->how.super_block, d->how.block_size, &d->diag);
	return rc ? rc : open_image(d, d->dev);
}

/* At a prompt an interrupt is of a request; what others did is not ended by it. */
static bool ended(void *arg)
{
	const struct dbg *d = arg;

	return d->interactive ? cli_terminated() : cli_interrupted();
}

static void deciding(void *arg, bool on)
{
	(void)arg;
	cli_hold_interrupts(on);
}

static int open_writing(struct dbg *d, const char *path)
{
	const struct xw_edit_opts opts = {
		.watch = &d->watch,
		.redo_file = d->how.redo_file,
		.undo_file = d->how.undo_file,
		.offset = d->how.offset,
		.now = d->now,
		.keep_log = d->how.no_replay,
		.any_state = true,
	};
	int rc;

	d->watch = (struct xw_commit_watch){.ended = ended, .deciding = deciding, .arg = d};
	rc = xw_edit_begin(path, &opts, &d->diag, &d->edit);
	if (rc)
		return rc;
	xw_session_init(&d->session, xw_edit_dev(d->edit), &d->diag);
	return open_image(d, xw_edit_dev(d->edit));
}

/* Forget everything about an image. */
static void drop(struct dbg *d)
{
	dbg_mb_forget(d);
	dbg_log_close(d);
	xw_session_forget(&d->session);
	xw_image_close(d->img);
	xw_edit_end(d->edit);
	xw_dev_close(d->dev);
	free(d->path);
	free(d->real);
	d->img = NULL;
	d->edit = NULL;
	d->dev = NULL;
	d->path = d->real = NULL;
	d->dirty = d->spoiled = false;
}

int dbg_open(struct dbg *d, const char *path, const struct dbg_how *how)
{
	int rc;

	d->how = *how;
	if (how->write && (how->catastrophic || is_elsewhere(how)))
		return xw_fail(&d->diag, XW_ERR_USAGE, "-w cannot go with %s",
			       how->catastrophic ? "-c" : "-b, -i and -s");
	d->path = strdup(path);
	d->real = dbg_absolute(path);
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
	else if (commit && d->dirty)
		rc = xw_edit_commit(d->edit, NULL);
	drop(d);
	return rc;
}

int dbg_step_begin(struct dbg *d, struct xw_update **out)
{
	d->session.now = d->now;
	return xw_session_begin(&d->session, out);
}

/*
 * The image as it is now. One that cannot be opened any more, since a field was set to what it may
 * not be, is worked on as it was, so that the field can be set back.
 */
static void reread(struct dbg *d)
{
	struct xw_diag *diag = d->img->diag, quiet = {0};
	struct xw_image *now;

	dbg_mb_forget(d);
	if (xw_image_open(d->img->dev, d->img->flags, &quiet, &now)) {
		xw_image_forget(d->img);
		return;
	}
	now->diag = diag;
	xw_image_close(d->img);
	d->img = now;
}

int dbg_step_end(struct dbg *d, int rc)
{
	if (rc)
		xw_session_forget(&d->session);
	else
		rc = xw_session_keep(&d->session);
	d->spoiled |= d->session.torn;
	reread(d);
	return rc;
}

void dbg_wrote(struct dbg *d)
{
	xw_session_forget(&d->session);
	reread(d);
}

int dbg_output_open(struct dbg *d, const char *path, const char *journal)
{
	const char *keep[] = {d->real, d->how.undo_file, journal, NULL};
	struct xw_diag quiet = {0}; /* a device has no redo file that it was not given */
	struct xw_redo_store *redo;
	const char *kept;
	int fd;

	if (!xw_redo_store_open(d->real, d->how.redo_file, d->how.offset, &quiet, &redo))
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
