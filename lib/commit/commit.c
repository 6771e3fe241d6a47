/* SPDX-License-Identifier: MIT */
/*
 * The commit, and its redo form.
 *
 *   step                                        interrupted after it, the image is
 *   shadow writes flushed                       old
 *   space for the blocks allocated              old
 *   redo record written, flushed, published     old (no bit: a redo file is deleted)
 *   undo file likewise, if requested            old
 *   is the image unchanged by others?           old, or changed by them
 *   superblock with bit and nonce, flush        new, once the record is applied  [commit point]
 *     before the flush: a redo file in a directory loses the ".new" of its name
 *   blocks, flush, size                         the same
 *   is it unchanged by others?                  the same
 *   record in the image: superblock, flush      the same (marked as done, with bit and nonce)
 *   record in the image: removed                the same (no record: nothing is applied)
 *   is the image unchanged by others?           the same
 *   final superblock, flush                     new (no bit: a redo file is deleted)
 *   is it unchanged by others?                  the same
 *   redo file removed                           new
 *
 * A record in the image is removed while the pending bit excludes other tools: afterwards they may
 * allocate its blocks. A failure before the commit point removes the record; a failure at the
 * commit point tries to restore the old superblock; a failure after it leaves everything to the
 * next tool.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/types.h"
#include "commit/commit_internal.h"
#include "commit/redo.h"
#include "commit/super.h"
#include "commit/undo.h"

static const char *const how_names[] = {
	[XW_COMMIT_AUTO] = "auto",     [XW_COMMIT_REDO] = "redo", [XW_COMMIT_JOURNAL] = "journal",
	[XW_COMMIT_INSIDE] = "inside", [XW_COMMIT_FILE] = "file",
};

const char *xw_commit_how_name(enum xw_commit_how how)
{
	return how_names[how];
}

bool xw_commit_how_parse(const char *name, enum xw_commit_how *how)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(how_names); i++) {
		*how = (enum xw_commit_how)i;
		if (*how != XW_COMMIT_REDO && name && !strcmp(name, how_names[i]))
			return true;
	}
	return false;
}

int xw_commit_how_set(const char *value, enum xw_commit_how *how, struct xw_diag *diag)
{
	if (xw_commit_how_parse(value, how))
		return 0;
	return xw_fail(diag, XW_ERR_USAGE, "--commit: \"%s\" is not auto, journal, inside or file",
		       value ? value : "");
}

static void notify_deciding(const struct xw_commit_watch *watch, bool on)
{
	if (watch && watch->deciding)
		watch->deciding(watch->arg, on);
}

static int make_nonce(const struct xw_commit_opts *opts, struct xw_diag *diag, uint64_t *nonce)
{
	*nonce = opts->nonce;
	while (!*nonce)
		if (getrandom(nonce, sizeof(*nonce), 0) != sizeof(*nonce))
			return xw_fail(diag, XW_ERR_IO, "cannot get random numbers");
	return 0;
}

/* A redo file to be replaced may be the only one that can complete another filesystem's change. */
static int check_store(const struct xw_change *c, struct xw_redo_store *store, bool set_aside)
{
	const struct xw_diag before = c->diag ? *c->diag : (struct xw_diag){0};
	struct xw_redo *redo = NULL;
	struct xw_dev *dev;
	struct xw_super sb;
	bool other = false;

	if (store->ops->open(store, &dev))
		dev = NULL;
	else if (xw_redo_open(dev, c->diag, &redo))
		xw_dev_close(dev);
	if (c->diag)
		*c->diag = before; /* create() reports a problem with the file, if it matters */
	if (redo) {
		(void)xw_super_decode(c->new_super, &sb);
		other = memcmp(redo->h.uuid, sb.uuid, sizeof(sb.uuid)) != 0;
		(void)xw_super_decode(c->old_super, &sb);
		other = other && memcmp(redo->h.uuid, sb.uuid, sizeof(sb.uuid)) != 0;
	}
	xw_redo_close(redo);
	if (!other)
		return 0;
	if (set_aside && store->ops->set_aside)
		return store->ops->set_aside(store);
	return xw_fail(c->diag, XW_ERR_EXISTS,
		       "%s: redo file of another filesystem; nothing was committed", store->name);
}

/* Choose the record's name: either unused, or that of a file that may be replaced. */
static int choose_name(const struct xw_change *c, const struct xw_commit_opts *opts,
		       struct xw_redo_store *store, uint64_t nonce)
{
	struct xw_super sb;

	if (!store->ops->name_new)
		return check_store(c, store, opts->set_aside);
	(void)xw_super_decode(xw_super_bytes_valid(c->old_super) ? c->old_super : c->new_super,
			      &sb);
	return store->ops->name_new(store, sb.uuid, nonce);
}

static int create_in(const struct xw_change *c, const struct xw_commit_opts *opts,
		     struct xw_redo_store *store, uint64_t nonce, struct xw_dev **out)
{
	int rc = choose_name(c, opts, store, nonce);

	return rc ? rc : store->ops->create(store, xw_redo_bytes(c), out);
}

/* Have the superblocks space for the number of a record in the image? */
static bool may_be_inside(const struct xw_change *c, const struct xw_commit_opts *opts)
{
	return opts->how != XW_COMMIT_FILE &&
	       (!xw_super_bytes_valid(c->old_super) || xw_super_bytes_plain(c->old_super)) &&
	       xw_super_bytes_plain(c->new_super);
}

/*
 * Create the record in the first store that has space: *out is empty, and *store contains it. In a
 * dry run no redo file is created.
 */
static int create_record(const struct xw_change *c, const struct xw_commit_opts *opts,
			 uint64_t nonce, struct xw_redo_store **store, struct xw_dev **out)
{
	int rc = XW_ERR_NOSPC;

	for (size_t i = 0; i < XW_ARRAY_SIZE(opts->inside) && may_be_inside(c, opts); i++) {
		*store = opts->inside[i];
		if (!*store)
			continue;
		(*store)->size = XW_MAX(c->old_size, c->new_size);
		(*store)->dry_run = opts->dry_run;
		rc = create_in(c, opts, *store, nonce, out);
		if (rc != XW_ERR_NOSPC)
			return rc;
	}
	if (opts->how == XW_COMMIT_INSIDE)
		return xw_fail(c->diag, rc,
			       "%s: no room for a redo record in the image%s%s; " XW_COMMIT_NOTHING,
			       c->base->name, opts->why_not_inside ? ": " : "",
			       opts->why_not_inside ? opts->why_not_inside : "");
	*store = opts->store;
	if (!*store)
		return xw_fail(c->diag, XW_ERR_USAGE,
			       "%s: no location for the redo file: give --redo-file FILE",
			       c->base->name);
	return opts->dry_run ? 0 : create_in(c, opts, *store, nonce, out);
}

static int publish(struct xw_change *c, const struct xw_commit_opts *opts, uint64_t nonce,
		   struct xw_redo_store *store, struct xw_dev *dev,
		   const uint8_t pending[XW_SUPER_SIZE])
{
	int rc = xw_redo_write(dev, c, nonce, pending, &store->place, opts->now, c->diag);

	if (!rc && !store->number) /* otherwise flushed with its list */
		rc = xw_dev_flush(dev);
	xw_dev_close(dev);
	return rc ? rc : store->ops->publish(store);
}

/* Roll back before the commit point. Returns whether the image certainly has the old state. */
static bool roll_back(struct xw_change *c, struct xw_redo_store *store, bool super_touched)
{
	struct xw_diag *diag = c->base->diag;
	int rc = 0;

	c->base->diag = NULL;
	if (super_touched)
		rc = xw_commit_step_super(c, c->old_super);
	store->size = c->old_size;
	if (!rc)
		(void)store->ops->remove(store);
	c->base->diag = diag;
	return !rc;
}

/* Steps after the commit point. */
static int finish_redo(struct xw_change *c, struct xw_redo_store *store, uint64_t nonce)
{
	const bool inside = store->number;
	uint8_t done[XW_SUPER_SIZE];
	int rc = xw_change_apply(c);

	if (!rc)
		rc = xw_dev_flush(c->base);
	if (!rc)
		rc = xw_commit_check_image(c, XW_COMMIT_HALFWAY);
	if (!rc && c->new_size < c->base->size && !xw_redo_is_after_end(store, c->new_size) &&
	    xw_redo_may_cut(c->base, c->old_size))
		rc = xw_dev_set_size(c->base, c->new_size);
	if (!rc && inside) {
		xw_super_bytes_done(c->new_super, nonce, store->number, done);
		xw_guard_set_super(c->guard, done);
		rc = xw_redo_remove_inside(store, c->base, c->new_size, done);
	}
	if (!rc && inside)
		rc = xw_commit_check_image(c, XW_COMMIT_HALFWAY);
	if (!rc)
		rc = xw_commit_step_super(c, c->new_super);
	if (!rc)
		rc = xw_commit_check_image(c, XW_COMMIT_HALFWAY);
	if (rc) {
		xw_commit_explain_half(c,
				       !inside         ? store->name
				       : store->number ? "a redo record"
						       : "the image but for its superblock",
				       "the next xw tool that opens the image finishes it");
		return rc;
	}
	c->done = true;
	return store->ops->remove(store);
}

/*
 * Write the superblock of the commit point. The store is told before the flush, which may take
 * long.
 */
static int put_pending(struct xw_change *c, struct xw_redo_store *store,
		       const uint8_t pending[XW_SUPER_SIZE])
{
	int rc = xw_dev_pwrite(c->base, pending, XW_SUPER_SIZE, XW_SUPER_OFFSET);

	if (store->ops->decided)
		store->ops->decided(store);
	if (!rc)
		rc = xw_dev_flush(c->base);
	if (!rc)
		xw_guard_set_super(c->guard, pending);
	return rc;
}

/* All steps from an empty record to the commit point. */
static int run_to_commit_point(struct xw_change *c, const struct xw_commit_opts *opts,
			       uint64_t nonce, struct xw_redo_store *store, struct xw_dev *dev,
			       const uint8_t pending[XW_SUPER_SIZE], bool *undecided)
{
	bool undo_made = false;
	int rc;

	/* a record in the image is written to the image */
	if (!store->number)
		xw_guard_freeze(c->guard);
	rc = publish(c, opts, nonce, store, dev, pending);
	if (store->number)
		xw_guard_freeze(c->guard);
	if (!rc)
		rc = xw_commit_check_canceled(opts->watch, c->base->name, c->diag);
	if (!rc && opts->undo_file)
		rc = xw_undo_write(opts, c, &undo_made);
	if (!rc)
		rc = xw_commit_check_image(c, XW_COMMIT_NOTHING);
	xw_guard_unfreeze(c->guard);
	if (rc) {
		if (!c->foreign || !store->number)
			(void)roll_back(c, store, false);
	} else {
		rc = put_pending(c, store, pending);
		*undecided = !rc || !roll_back(c, store, true);
	}
	if (rc && undo_made)
		xw_undo_remove(opts->undo_file);
	return rc;
}

/*
 * Commit by a redo record; with dry_run only choose its place. Sets info->how and info->undecided,
 * which is initially false.
 */
static int commit_redo(struct xw_change *c, const struct xw_commit_opts *opts,
		       struct xw_commit_info *info)
{
	const bool usable = xw_super_bytes_valid(c->old_super);
	uint8_t pending[XW_SUPER_SIZE];
	struct xw_redo_store *store = NULL;
	struct xw_dev *dev = NULL;
	uint64_t nonce;
	int rc = make_nonce(opts, c->diag, &nonce);

	if (!rc)
		rc = create_record(c, opts, nonce, &store, &dev);
	if (rc)
		return rc;
	info->how = store->number ? XW_COMMIT_INSIDE : XW_COMMIT_FILE;
	if (opts->dry_run) {
		xw_dev_close(dev);
		return 0;
	}
	/* An invalid old superblock cannot carry the bit; the new one can. */
	xw_super_bytes_pend(usable ? c->old_super : c->new_super, nonce, store->number, pending);
	rc = run_to_commit_point(c, opts, nonce, store, dev, pending, &info->undecided);
	if (rc)
		return rc;
	xw_change_set_super(c, pending);
	return finish_redo(c, store, nonce);
}

static int check_new_super(const struct xw_change *c, const struct xw_commit_opts *opts)
{
	if (!opts->any_super && !xw_super_bytes_valid(c->new_super))
		return xw_fail(c->diag, XW_ERR_INTERNAL,
			       "%s: the new superblock is not valid; nothing was committed",
			       c->base->name);
	if (xw_super_bytes_has(c->new_super, XW_INCOMPAT_PENDING) ||
	    xw_super_bytes_nonce(c->new_super))
		return xw_fail(c->diag, XW_ERR_STATE,
			       "%s: an interrupted change is pending; nothing was committed",
			       c->base->name);
	if (xw_super_bytes_has(c->new_super, XW_INCOMPAT_RECOVER) && !opts->log_pending)
		return xw_fail(c->diag, XW_ERR_STATE,
			       "%s: the journal needs recovery first; nothing was committed",
			       c->base->name);
	return 0;
}

static int commit(struct xw_change *c, const struct xw_commit_opts *opts,
		  struct xw_commit_info *info)
{
	int rc = 1;

	info->blocks = c->n;
	if (opts->undo_file && opts->how == XW_COMMIT_JOURNAL)
		return xw_fail(c->diag, XW_ERR_USAGE,
			       "%s: an undo file requires a commit by redo record, not through the "
			       "journal",
			       c->base->name);
	if ((opts->how == XW_COMMIT_AUTO || opts->how == XW_COMMIT_JOURNAL) && !opts->undo_file) {
		rc = xw_commit_journal(c, opts, info->why_no_journal, sizeof(info->why_no_journal),
				       &info->undecided);
		if (rc == 1 && opts->how == XW_COMMIT_JOURNAL)
			return xw_fail(c->diag, XW_ERR_STATE,
				       "%s: cannot commit through the journal: %s", c->base->name,
				       info->why_no_journal);
		info->how = XW_COMMIT_JOURNAL;
	}
	return rc == 1 ? commit_redo(c, opts, info) : rc;
}

/* Do all blocks lie within the file size limit? After the commit point this would be too late. */
static int check_end(const struct xw_change *c)
{
	const uint64_t last = (c->blocks[c->n - 1] + 1) * c->block_size;

	return xw_dev_check_end(c->base, c->new_size > c->old_size ? c->new_size
								   : XW_MIN(last, c->new_size));
}

/* Add the state of the image to the message of a failure. */
static void add_state(const struct xw_change *c, int rc, bool undecided)
{
	const char *text = c->diag ? c->diag->text : "";

	if (!c->diag || c->foreign || c->half ||
	    (rc != XW_ERR_IO && rc != XW_ERR_HOSTFULL && rc != XW_ERR_NOMEM))
		return;
	if (c->done)
		xw_fail_add(c->diag, "; the change is complete in the image");
	else if (undecided)
		xw_fail_add(c->diag, "; the image has the old or the new state; the next xw tool "
				     "that opens it determines which");
	else if (!strstr(text, "unchanged") && !strstr(text, "nothing was committed"))
		xw_fail_add(c->diag, "; the image is unchanged");
}

/* The image has the old state: release the additional space on its host. */
static void drop_reserve(struct xw_change *c)
{
	struct xw_diag *diag = c->base->diag;
	struct xw_dev_stamp now;

	xw_change_unreserve(c);
	c->base->diag = NULL;
	/* not if another process has extended the file since */
	if (c->base->size > c->old_size && !xw_dev_stamp(c->base, &now) &&
	    now.size == c->base->size)
		(void)xw_dev_set_size(c->base, c->old_size);
	c->base->diag = diag;
}

/* Commit a collected change that is not empty. */
static int commit_change(struct xw_change *c, const struct xw_commit_opts *opts,
			 struct xw_commit_info *info)
{
	int rc;

	/* a torn superblock copied from a backup or the journal */
	(void)xw_super_bytes_forget(c->new_super);
	xw_super_bytes_count(c->new_super, c->old_super, c->n * c->block_size >> 10,
			     opts->any_super);
	xw_change_set_super(c, c->new_super);
	rc = check_new_super(c, opts);
	if (!rc)
		rc = check_end(c);
	if (!rc && !opts->dry_run)
		rc = xw_change_reserve(c);
	if (rc)
		return rc;
	notify_deciding(opts->watch, true);
	rc = commit(c, opts, info);
	notify_deciding(opts->watch, false);
	return rc;
}

int xw_commit(struct xw_dev *overlay, const struct xw_commit_opts *opts, struct xw_diag *diag,
	      struct xw_commit_info *info)
{
	struct xw_commit_info own;
	struct xw_change c;
	int rc;

	if (!info)
		info = &own;
	memset(info, 0, sizeof(*info));
	rc = xw_dev_flush(overlay);
	if (!rc)
		rc = xw_commit_check_canceled(opts->watch, overlay->name, diag);
	if (rc)
		return rc;
	if (opts->guard && !opts->dry_run)
		(void)xw_dev_hold(xw_overlay_base(overlay), XW_HOLD_ACQUIRE);
	rc = xw_change_collect(overlay, diag, &c);
	c.guard = opts->dry_run ? NULL : opts->guard;
	if (!rc)
		rc = xw_commit_check_image(&c, XW_COMMIT_NOTHING);
	if (!rc && !c.empty)
		rc = commit_change(&c, opts, info);
	else if (!rc && opts->undo_file && !opts->dry_run)
		rc = xw_undo_write_empty(opts, &c);
	if (!rc)
		info->undecided = false;
	else if (!info->undecided && !opts->dry_run && !c.foreign)
		drop_reserve(&c);
	if (rc && !opts->dry_run)
		add_state(&c, rc, info->undecided);
	xw_change_free(&c);
	if (!rc && !opts->dry_run)
		xw_overlay_discard(overlay);
	return rc;
}
