/* SPDX-License-Identifier: MIT */
/*
 * Redo files on open: finds the file that belongs to the image.
 *
 * A file in a directory may belong to a copy of the filesystem, which has the same UUID and may
 * have been changed in the same way. So a file that the image does not need is removed only if its
 * header says that it was made for this very place, and for no other medium (commit/location.h). A
 * file that has completed a copy made in the middle of the change is kept, too: the original image
 * still needs it.
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
		v->file = rc != XW_ERR_INPUT; /* another kind of file counts as missing */
		rc = 0;
	}
	return rc;
}

static int find_in_default_place(struct recovery *v, enum verdict *verdict)
{
	const int rc = find_redo(v);

	return rc ? rc : xw_recovery_judge(v, verdict);
}

/*
 * The superblock is that from before or after the change: the image does not need the file, but a
 * copy of the image may. Record the file as kept, unless it is known to be this image's.
 */
static void note_kept(struct recovery *v, bool begun)
{
	xw_log(v->diag, XW_LOG_WARN,
	       "%s: the redo file of a change that %s in %s; delete it unless a copy of this "
	       "filesystem needs it",
	       v->store->name, begun ? "is complete" : "did not reach its commit point",
	       v->dev->name);
}

/*
 * May the file of a change that the image does not need be removed? It must have been made for this
 * place. If the image has the new superblock, the change is complete. If it has the old one, the
 * file's name must say that the commit point was not reached: otherwise the medium may have been
 * copied and its old contents restored.
 */
static bool is_left_over(const struct recovery *v, bool begun, bool old)
{
	const bool here = xw_redo_location_same(&v->redo->h.place, &v->store->place);

	if (v->flags & XW_RECOVER_CLEAR)
		return here || begun || old;
	return here && (begun || v->store->undecided);
}

/* Best effort: a remaining file does no harm, and its directory may be read-only. */
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

/* In a directory: was the file made for another place, so that this image may be a copy? */
bool xw_recovery_keeps_file(struct recovery *v)
{
	const bool keeps = v->store->ops->select && v->redo &&
			   xw_redo_location_differs(&v->redo->h.place, &v->store->place);

	if (keeps)
		note_kept(v, true);
	return keeps;
}

/* The selected file does not apply to this image. */
static void drop_one(struct recovery *v)
{
	const bool begun = v->readable && !memcmp(v->super, v->redo->h.new_super, XW_SUPER_SIZE);
	const bool old = v->readable && !memcmp(v->super, v->redo->h.old_super, XW_SUPER_SIZE);

	if (old && !begun)
		memcpy(v->info->dropped_super, v->redo->h.new_super, XW_SUPER_SIZE);
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

/* Examine file n of the store: is it this image's? An unreadable file counts as another image's. */
static int examine_file(struct recovery *v, size_t n, enum verdict *verdict)
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

static int find_in_directory(struct recovery *v, enum verdict *verdict)
{
	const struct xw_diag before = diag_of(v);
	struct xw_super sb;
	int rc = 0;

	if (!(v->flags & XW_RECOVER_RDONLY) && v->store->ops->sweep &&
	    !xw_super_decode(v->super, &sb))
		v->store->ops->sweep(v->store, sb.uuid);
	for (size_t n = 0; !rc && *verdict == NOTHING; n++)
		rc = examine_file(v, n, verdict);
	/* an image that needs no redo file can be used if the directory is unreadable */
	if (rc == XW_ERR_IO && v->valid && !v->pending && !xw_super_bytes_nonce(v->super)) {
		quiet(v, &before);
		rc = XW_ERR_NOTFOUND;
	}
	return rc == XW_ERR_NOTFOUND ? xw_recovery_judge(v, verdict) : rc;
}

/* Look for the file of an earlier version. If it applies, v->store becomes its store. */
static int find_beside_image(struct recovery *v, enum verdict *verdict)
{
	struct xw_redo_store *directory = v->store;
	int rc;

	v->store = directory->beside;
	rc = find_in_default_place(v, verdict);
	if (rc || *verdict == APPLY || *verdict == DROP)
		return rc;
	xw_redo_close(v->redo);
	v->redo = NULL;
	v->file = false;
	v->store = directory;
	*verdict = NOTHING;
	return 0;
}

int xw_recovery_find_file(struct recovery *v, enum verdict *verdict)
{
	int rc = v->store && v->store->beside ? find_beside_image(v, verdict) : 0;

	if (rc || *verdict != NOTHING)
		return rc;
	return v->store && v->store->ops->select ? find_in_directory(v, verdict)
						 : find_in_default_place(v, verdict);
}
