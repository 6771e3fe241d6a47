/* SPDX-License-Identifier: MIT */
/*
 * Redo files on open: which of them belongs to the image.
 *
 * In a directory a file may be that of a copy of the filesystem, which has the same UUID and was,
 * perhaps, changed in the same way. So one that is not needed here is removed only if its header
 * says that it was made for this very place, and that no other medium was there since (place.h).
 * One that has completed a copy which was made in the middle of the change is kept, too: the image
 * that it was made for still needs it.
 */
#include "config.h"

#include <string.h>

#include "commit/super.h"
#include "session/recover_internal.h"

static int find_redo(struct recovery *v)
{
	const struct xw_diag before = diag_of(v);
	struct xw_dev *dev;
	int rc = v->store ? v->store->ops->open(v->store, &dev) : XW_ERR_NOTFOUND;

	if (rc == XW_ERR_NOTFOUND) {
		/* A file that was never published is useless. */
		if (v->store && !(v->flags & XW_RECOVER_RDONLY))
			(void)v->store->ops->remove(v->store);
		quiet(v, &before);
		return 0;
	}
	if (rc)
		return rc;
	rc = xw_redo_open(dev, v->diag, &v->redo);
	if (!rc) {
		v->file = true;
		return 0;
	}
	xw_dev_close(dev);
	if (rc == XW_ERR_INPUT || rc == XW_ERR_CORRUPT || rc == XW_ERR_CHECKSUM) {
		quiet(v, &before);
		v->file = rc != XW_ERR_INPUT; /* a file that is not ours counts as missing */
		rc = 0;
	}
	return rc;
}

static int look_in_place(struct recovery *v, enum verdict *verdict)
{
	const int rc = find_redo(v);

	return rc ? rc : xw_recovery_judge(v, verdict);
}

/*
 * The superblock is that from before the change, or after it: the image does not need the file, but
 * a copy of it could, if it is not known to be that of this image.
 */
static void note_kept(struct recovery *v, bool begun)
{
	xw_log(v->diag, XW_LOG_WARN,
	       "%s: the redo file of a change that %s in %s; delete it unless a copy of this "
	       "filesystem needs it",
	       v->store->name, begun ? "is complete" : "was not begun", v->dev->name);
}

/*
 * May the file be removed, of a change that the image does not need? It must have been made for
 * this place. If the image has the new superblock, the change is complete here. If not, the file's
 * name must say that the commit point was not reached: behind it, the medium could have been copied
 * and its old contents restored.
 */
static bool is_left_over(const struct recovery *v, bool begun, bool old)
{
	const bool here = xw_redo_place_same(&v->redo->place, &v->store->place);

	if (v->flags & XW_RECOVER_CLEAR)
		return here || begun || old;
	return here && (begun || v->store->undecided);
}

/* Best effort, since no image is the worse for the file, and its directory may be read-only. */
void xw_recovery_remove_file(struct recovery *v, bool *removed)
{
	const struct xw_diag before = diag_of(v);
	const int rc = v->store->ops->remove(v->store);

	*removed |= !rc;
	if (!rc)
		return;
	if (v->diag)
		xw_log(v->diag, XW_LOG_WARN, "%s; the redo file is no longer needed",
		       v->diag->text);
	quiet(v, &before);
}

/* In a directory: was the file made for another place, so that this image is perhaps a copy? */
bool xw_recovery_keeps_file(struct recovery *v)
{
	const bool keeps = v->store->ops->select && v->redo &&
			   xw_redo_place_differs(&v->redo->place, &v->store->place);

	if (keeps)
		note_kept(v, true);
	return keeps;
}

/* The selected file has nothing for this image. */
static void drop_one(struct recovery *v)
{
	const bool begun = v->readable && !memcmp(v->super, v->redo->new_super, XW_SUPER_SIZE);
	const bool old = v->readable && !memcmp(v->super, v->redo->old_super, XW_SUPER_SIZE);

	if (old && !begun)
		memcpy(v->info->dropped_super, v->redo->new_super, XW_SUPER_SIZE);
	if (!is_left_over(v, begun, old)) {
		if (begun || old)
			note_kept(v, begun);
		return;
	}
	if (v->flags & XW_RECOVER_RDONLY)
		return;
	xw_redo_close(v->redo);
	v->redo = NULL;
	xw_recovery_remove_file(v, &v->info->cleared);
}

/* One of the store's n files, if it is this image's. What cannot be read is another's. */
static int look_at_one(struct recovery *v, size_t n, enum verdict *verdict)
{
	const struct xw_diag before = diag_of(v);
	int rc = v->store->ops->select(v->store, n);

	*verdict = NOTHING;
	if (rc)
		return rc;
	rc = find_redo(v);
	if (rc == XW_ERR_NOMEM)
		return rc;
	if (rc)
		quiet(v, &before);
	rc = v->redo ? xw_recovery_judge(v, verdict) : 0;
	if (rc || *verdict == APPLY)
		return rc;
	if (*verdict == DROP)
		drop_one(v);
	*verdict = NOTHING;
	xw_redo_close(v->redo);
	v->redo = NULL;
	v->file = false;
	return rc;
}

static int look_in_directory(struct recovery *v, enum verdict *verdict)
{
	const struct xw_diag before = diag_of(v);
	struct xw_super sb;
	int rc = 0;

	if (!(v->flags & XW_RECOVER_RDONLY) && v->store->ops->sweep &&
	    !xw_super_decode(v->super, &sb))
		v->store->ops->sweep(v->store, sb.uuid);
	for (size_t n = 0; !rc && *verdict == NOTHING; n++)
		rc = look_at_one(v, n, verdict);
	/* an image that needs none is used without a directory that cannot be read */
	if (rc == XW_ERR_IO && v->valid && !v->pending && !xw_super_bytes_nonce(v->super)) {
		quiet(v, &before);
		rc = XW_ERR_NOTFOUND;
	}
	return rc == XW_ERR_NOTFOUND ? xw_recovery_judge(v, verdict) : rc;
}

/* The file of an earlier version: v->store is its store then, otherwise the directory still is. */
static int look_beside(struct recovery *v, enum verdict *verdict)
{
	struct xw_redo_store *directory = v->store;
	int rc;

	v->store = directory->beside;
	rc = look_in_place(v, verdict);
	if (rc || *verdict == APPLY || *verdict == DROP)
		return rc;
	xw_redo_close(v->redo);
	v->redo = NULL;
	v->file = false;
	v->store = directory;
	*verdict = NOTHING;
	return 0;
}

int xw_recovery_look_for_file(struct recovery *v, enum verdict *verdict)
{
	int rc = v->store && v->store->beside ? look_beside(v, verdict) : 0;

	if (rc || *verdict != NOTHING)
		return rc;
	return v->store && v->store->ops->select ? look_in_directory(v, verdict)
						 : look_in_place(v, verdict);
}
