/* SPDX-License-Identifier: MIT */
/*
 * Recovery on open. See recover.h for the cases; the order here is redo record, torn superblock,
 * journal. After each step all steps can be repeated.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/endian.h"
#include "base/types.h"
#include "session/recover_internal.h"
#include "commit/inside.h"
#include "commit/redo.h"
#include "commit/super.h"
#include "dev/overlay.h"
#include "read/image.h"

static void read_super(struct recovery *v)
{
	const struct xw_diag before = diag_of(v);

	v->readable = v->dev->size >= XW_SUPER_OFFSET + XW_SUPER_SIZE &&
		      !xw_dev_pread(v->dev, v->super, XW_SUPER_SIZE, XW_SUPER_OFFSET);
	quiet(v, &before);
	if (!v->readable)
		memset(v->super, 0, sizeof(v->super));
	v->valid = v->readable && xw_super_bytes_valid(v->super);
	v->pending = v->valid && xw_super_bytes_has(v->super, XW_INCOMPAT_PENDING);
}

/* Prepare for the first write. With RDONLY all writes go to memory. */
static int make_writable(struct recovery *v)
{
	struct xw_super sb;
	uint32_t bs = 4096;

	int rc;

	if (!(v->flags & XW_RECOVER_RDONLY) || v->overlaid)
		return 0;
	if (v->redo)
		bs = v->redo->h.block_size;
	else if (v->readable && !xw_super_decode(v->super, &sb))
		bs = xw_super_block_size(&sb);
	rc = xw_overlay_open(v->dev, bs, v->diag, &v->dev);
	v->overlaid = !rc;
	return rc;
}

/* All blocks are in place and the record was removed: only the final superblock is missing. */
static bool is_done(const struct recovery *v)
{
	const uint64_t numbers =
		xw_super_bytes_number(v->super, 0) | xw_super_bytes_number(v->super, 1);
	struct xw_super sb;

	return v->readable && numbers & XW_SUPER_NUMBER_DONE && !xw_super_decode(v->super, &sb) &&
	       (xw_super_bytes_nonce(v->super) ||
		xw_super_bytes_has(v->super, XW_INCOMPAT_PENDING));
}

static int finish_super(struct recovery *v)
{
	int rc = make_writable(v);

	xw_super_bytes_unpend(v->super);
	if (!rc)
		rc = xw_commit_put_super(v->dev, v->super);
	v->info->redo_applied = !rc;
	read_super(v);
	return rc;
}

/* End of the filesystem in bytes according to the superblock; UINT64_MAX: it does not say. */
static uint64_t filesystem_end(const struct recovery *v)
{
	struct xw_super sb;

	if (!v->readable || xw_super_decode(v->super, &sb) ||
	    sb.blocks_count > (uint64_t)INT64_MAX / xw_super_block_size(&sb))
		return UINT64_MAX;
	return sb.blocks_count * xw_super_block_size(&sb);
}

/*
 * The superblock marks the change as done: remove the rest of the record. Its sizes are unverified,
 * so the image keeps at least its filesystem.
 */
static int finish_removal(struct recovery *v)
{
	int rc = 0;

	v->inside->size = XW_MAX(v->redo->h.new_size, filesystem_end(v));
	if (!(v->flags & XW_RECOVER_RDONLY))
		rc = v->inside->ops->remove(v->inside);
	return rc ? rc : finish_super(v);
}

/*
 * A damaged redo file is ignored; for checkers it counts as lost. A record in the image may be
 * damaged because its removal was interrupted, even if not in the order of writes.
 */
static int load_redo(struct recovery *v, enum verdict *verdict)
{
	const struct xw_diag before = diag_of(v);
	const int rc = xw_redo_load(v->redo, v->dev);

	if ((rc == XW_ERR_CORRUPT || rc == XW_ERR_CHECKSUM) && v->inside && is_done(v) &&
	    !v->redo->forged) {
		quiet(v, &before);
		*verdict = NOTHING;
		return finish_removal(v);
	}
	if (!(v->flags & XW_RECOVER_FORCE) || (rc != XW_ERR_CORRUPT && rc != XW_ERR_CHECKSUM))
		return rc;
	tell_forged(v);
	quiet(v, &before);
	*verdict = STUCK;
	return 0;
}

static int apply_redo(struct recovery *v)
{
	int rc = make_writable(v);

	if (!rc)
		rc = xw_dev_check_end(v->dev, v->redo->h.new_size);
	if (!rc)
		rc = xw_redo_apply(v->redo, v->dev,
				   v->flags & XW_RECOVER_RDONLY ? NULL : v->inside);
	if (rc)
		return rc;
	v->info->redo_applied = true;
	v->info->blocks = v->redo->h.blocks;
	return 0;
}

static int stuck(struct recovery *v)
{
	v->info->stuck = true;
	v->info->stuck_file = xw_super_bytes_plain(v->super);
	if (v->flags & XW_RECOVER_FORCE)
		return 0;
	if (!xw_super_bytes_plain(v->super))
		return xw_fail(v->diag, XW_ERR_STATE,
			       "%s: a change was interrupted, and the redo record in the image, "
			       "which completes it, is damaged: xw-tune -f -E clear_pending, then "
			       "xw-fsck -f",
			       v->dev->name);
	if (!v->store)
		return xw_fail(v->diag, XW_ERR_STATE,
			       "%s: a change was interrupted; --redo-file must say where the redo "
			       "file is that completes it",
			       v->dev->name);
	if (v->store->ops->select)
		return xw_fail(v->diag, XW_ERR_STATE,
			       "%s: a change was interrupted, and no redo file in %s completes it; "
			       "--redo-file FILE names one elsewhere; if it is lost: "
			       "xw-tune -f -E clear_pending, then xw-fsck -f",
			       v->dev->name, v->store->name);
	return xw_fail(
		v->diag, XW_ERR_STATE,
		"%s: a change was interrupted, and %s, which completes it, is %s; if that is "
		"lost: xw-tune -f -E clear_pending, then xw-fsck -f",
		v->dev->name, v->store->name, v->file ? "damaged or of another image" : "missing");
}

static void forget_inside(struct recovery *v)
{
	xw_redo_close(v->redo);
	xw_redo_store_close(v->inside);
	v->redo = NULL;
	v->inside = NULL;
}

static int open_number(struct recovery *v, uint64_t number)
{
	struct xw_dev *dev = NULL;
	int rc = xw_inside_at(v->dev, number, filesystem_end(v), v->diag, &v->inside);

	if (!rc)
		rc = v->inside->ops->open(v->inside, &dev);
	if (rc)
		return rc;
	rc = xw_redo_open(dev, v->diag, &v->redo);
	if (rc)
		xw_dev_close(dev);
	else
		xw_redo_set_inside(v->redo, v->inside);
	return rc;
}

/* Open the record that one half of the superblock refers to. An unreadable record is ignored. */
static int open_numbered(struct recovery *v, uint64_t number, enum verdict *verdict)
{
	const struct xw_diag before = diag_of(v);
	int rc = open_number(v, number & ~XW_SUPER_NUMBER_DONE);

	if (rc && v->inside && v->inside->forged && v->diag)
		xw_log(v->diag, XW_LOG_WARN, "%s", v->diag->text);
	if (!rc)
		rc = xw_recovery_judge(v, verdict);
	if (rc || *verdict != APPLY)
		forget_inside(v);
	if (rc == XW_ERR_NOMEM)
		return rc;
	quiet(v, &before);
	return 0;
}

static int find_inside(struct recovery *v, enum verdict *verdict)
{
	int rc = 0;

	for (int half = 1; half >= 0 && v->readable && *verdict != APPLY && !rc; half--) {
		const uint64_t number = xw_super_bytes_number(v->super, half);

		if (!number)
			continue;
		*verdict = NOTHING;
		rc = open_numbered(v, number, verdict);
		if (*verdict != APPLY)
			*verdict = NOTHING;
	}
	return rc;
}

/* Record the superblock that the dropped change would have written, if the record is complete. */
static void note_dropped(struct recovery *v, uint64_t number)
{
	const struct xw_diag before = diag_of(v);
	struct xw_redo_store *store = NULL;
	struct xw_redo *redo = NULL;
	struct xw_dev *dev;

	if (!xw_inside_at(v->dev, number, filesystem_end(v), v->diag, &store) &&
	    !store->ops->open(store, &dev) && xw_redo_open(dev, v->diag, &redo))
		xw_dev_close(dev);
	if (redo)
		memcpy(v->info->dropped_super, redo->h.new_super, XW_SUPER_SIZE);
	xw_redo_close(redo);
	xw_redo_store_close(store);
	quiet(v, &before);
}

/*
 * A change that was killed before its commit point has extended the file: truncate it. The end of
 * the filesystem must be known, and nothing else may be after it, since contents of a file could
 * look like a record. The superblock's checksum may be wrong, which the change was to repair.
 */
static int drop_left_over(struct recovery *v)
{
	const struct xw_diag before = diag_of(v);
	const uint64_t end = filesystem_end(v);
	uint64_t number = 0, size;
	struct xw_super sb;
	int rc;

	if (v->dev->is_block || v->dev->is_window || v->pending || v->dev->size <= end ||
	    xw_super_decode(v->super, &sb))
		return 0;
	if (xw_inside_left_over(v->dev, sb.uuid, end, v->diag, &number, &size))
		quiet(v, &before); /* the end is unreadable */
	if (!number)
		return 0;
	note_dropped(v, number);
	rc = make_writable(v);
	if (!rc)
		rc = xw_dev_set_size(v->dev, size);
	v->info->cleared |= !rc;
	return rc;
}

static int redo_step(struct recovery *v)
{
	enum verdict verdict = NOTHING;
	bool gone = false, removed = false;
	int rc = find_inside(v, &verdict);

	if (!rc && verdict == NOTHING && is_done(v))
		rc = finish_super(v);
	if (!rc && verdict == NOTHING)
		rc = drop_left_over(v);
	if (!rc && verdict == NOTHING)
		rc = xw_recovery_find_file(v, &verdict);
	if (!rc && verdict == APPLY)
		rc = load_redo(v, &verdict);
	if (!rc && verdict == APPLY)
		rc = apply_redo(v);
	if (!rc && verdict == STUCK)
		rc = stuck(v);
	if (!rc && verdict == DROP && v->redo &&
	    memcmp(v->super, v->redo->h.new_super, XW_SUPER_SIZE))
		memcpy(v->info->dropped_super, v->redo->h.new_super, XW_SUPER_SIZE);
	gone = !rc && (verdict == APPLY || verdict == DROP) && !v->inside &&
	       !(v->flags & XW_RECOVER_RDONLY) && !xw_recovery_keeps_file(v);
	forget_inside(v);
	if (gone)
		xw_recovery_remove_file(v, &removed);
	v->info->redo_dropped = verdict == DROP && gone;
	v->info->cleared |= verdict == DROP && removed;
	read_super(v);
	/* The dropped file was not that of the pending change, whose own file is lost. */
	if (!rc && verdict == DROP && v->pending) {
		v->file = false;
		rc = stuck(v);
	}
	return rc;
}

/* Repair a superblock whose only damage is that RECOVER was being set or cleared. */
static bool fix_torn_bit(struct recovery *v)
{
	struct xw_super sb;
	uint8_t other[XW_SUPER_SIZE];
	const size_t sum = XW_SUPER_SIZE - 4;

	if (xw_super_decode(v->super, &sb))
		return false;
	memcpy(other, v->super, sizeof(other));
	if (xw_super_bytes_has(other, XW_INCOMPAT_RECOVER))
		xw_super_bytes_incompat(other, 0, XW_INCOMPAT_RECOVER);
	else
		xw_super_bytes_incompat(other, XW_INCOMPAT_RECOVER, 0);
	/* the checksum was written but not the bit, or the reverse */
	if (memcmp(other + sum, v->super + sum, 4) != 0)
		return false;
	memcpy(v->super, other, sizeof(other));
	/* Setting it is safe in both cases: recovering an empty log does nothing. */
	xw_super_bytes_incompat(v->super, XW_INCOMPAT_RECOVER, 0);
	return true;
}

static unsigned replay_flags(const struct recovery *v)
{
	return (v->flags & XW_RECOVER_SALVAGE ? XW_REPLAY_SALVAGE : 0) |
	       (v->flags & XW_RECOVER_UNSETTLED ? XW_REPLAY_UNSETTLED : 0) |
	       (v->flags & XW_RECOVER_RDONLY ? XW_REPLAY_FAST : 0);
}

static int super_step(struct recovery *v)
{
	const struct xw_diag before = diag_of(v);
	int rc;

	if (v->valid || !v->readable)
		return 0;
	if (fix_torn_bit(v)) {
		rc = make_writable(v);
		if (!rc)
			rc = xw_dev_pwrite(v->dev, v->super, XW_SUPER_SIZE, XW_SUPER_OFFSET);
		if (!rc)
			rc = xw_dev_flush(v->dev);
		v->info->super_fixed = !rc;
		read_super(v);
		return rc;
	}
	rc = make_writable(v);
	if (rc)
		return rc;
	/* The next function that reads the superblock reports the failure. */
	rc = xw_journal_recover(v->dev,
				XW_REPLAY_TORN_SUPER | (replay_flags(v) & ~XW_REPLAY_SALVAGE),
				v->diag, &v->info->journal);
	v->info->super_fixed = !rc && v->info->journal.needed;
	if (rc)
		quiet(v, &before);
	read_super(v);
	return 0;
}

/* No log is replayed on the medium for a filesystem larger than its device. */
static int check_fits(const struct recovery *v)
{
	struct xw_super sb;

	if (v->flags & XW_RECOVER_RDONLY || xw_super_decode(v->super, &sb))
		return 0;
	return xw_image_fits(v->dev, &sb, v->diag);
}

static int journal_step(struct recovery *v)
{
	int rc;

	if (!(v->flags & XW_RECOVER_JOURNAL) || !v->valid || v->info->stuck ||
	    v->info->journal.unsettled || !xw_super_bytes_has(v->super, XW_INCOMPAT_RECOVER))
		return 0;
	rc = check_fits(v);
	if (!rc)
		rc = make_writable(v);
	return rc ? rc : xw_journal_recover(v->dev, replay_flags(v), v->diag, &v->info->journal);
}

/*
 * A torn commit point without a record that continues it: another tool has changed the filesystem
 * since, or the record is lost. None of the change's blocks is in the image: clear nonce and
 * numbers.
 */
static int clear_torn_pending(struct recovery *v)
{
	int rc;

	read_super(v);
	if (!v->valid || v->info->stuck || !xw_super_bytes_forget(v->super))
		return 0;
	rc = make_writable(v);
	if (!rc)
		rc = xw_commit_put_super(v->dev, v->super);
	v->info->cleared |= !rc;
	if (!rc)
		xw_log(v->diag, XW_LOG_INFO,
		       "%s: cleared the remains of a change before its commit point from the "
		       "superblock",
		       v->dev->name);
	return rc;
}

/*
 * A tool that changes an image may have to write all of it: report a file size limit that is too
 * low before the first write, not in the middle of a change.
 */
static int check_limit(const struct recovery *v)
{
	uint64_t end = v->dev->size;
	struct xw_super sb;

	if (v->flags & XW_RECOVER_RDONLY)
		return 0;
	if (v->valid && !xw_super_decode(v->super, &sb) &&
	    sb.blocks_count <= end / xw_super_block_size(&sb))
		end = sb.blocks_count * xw_super_block_size(&sb);
	return xw_dev_check_end(v->dev, end);
}

/*
 * Report that the change was completed in memory, and is still pending on the medium. refused:
 * other tools refuse the image because of it.
 */
static void report_applied(const struct recovery *v, bool refused)
{
	if (!(v->flags & XW_RECOVER_RDONLY))
		xw_log(v->diag, XW_LOG_NOTE, "%s: completed an interrupted change", v->dev->name);
	else
		xw_log(v->diag, XW_LOG_NOTE,
		       "%s: an interrupted change is pending and shown as completed; %s"
		       "xw-tune -f -E clear_pending completes it",
		       v->dev->name, refused ? "Linux and e2fsprogs refuse the image until " : "");
}

int xw_recover_dev(struct xw_dev **dev, struct xw_redo_store *store, unsigned flags,
		   struct xw_diag *diag, struct xw_recover_info *info)
{
	struct xw_recover_info own;
	struct recovery v = {.dev = *dev, .store = store, .diag = diag, .flags = flags};
	bool refused;
	int rc;

	v.info = info ? info : &own;
	memset(v.info, 0, sizeof(*v.info));
	read_super(&v);
	refused = v.pending || !v.valid;
	rc = check_limit(&v);
	if (!rc)
		rc = redo_step(&v);
	if (!rc)
		rc = super_step(&v);
	if (!rc)
		rc = journal_step(&v);
	if (!rc)
		rc = clear_torn_pending(&v);
	/* a reader opens an image with a damaged journal again */
	if (v.info->redo_applied && (!rc || !(flags & XW_RECOVER_RDONLY)))
		report_applied(&v, refused);
	*dev = v.dev;
	return rc;
}
