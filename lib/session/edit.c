/* SPDX-License-Identifier: MIT */
/*
 * The states of a change.
 *
 *   OPEN    begin: recovered, an overlay over the image; shadow writes are recorded
 *   OPEN    -> commit succeeded -> OPEN, from the new state
 *   OPEN    -> commit failed    -> FAILED; undecided: the next open determines the state
 *   OPEN    -> end              -> recorded shadow writes are undone
 *   FAILED  -> end              -> the same, unless undecided: then nothing is touched
 *   either  -> end              -> nothing is touched if another process has or had the image
 *
 * Invariant: before the commit the image is written only where ask() reported free blocks, or where
 * a checker has vouched for it (xw_edit_write_free()); each such answer is recorded in `shadow`.
 */
#include "config.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/auto.h"
#include "base/vec.h"
#include "commit/undo.h"
#include "disk/mmp.h"
#include "disk/super.h"
#include "session/edit.h"
#include "session/finish.h"
#include "session/freemap.h"
#include "session/mmp.h"
#include "session/record_space.h"

/*
 * Maximum number of recorded shadow writes. If there are more, the space of the others is not
 * released, and no redo record is put into free blocks, since these may have been written.
 */
#define SHADOW_RUNS_MAX (1u << 20)
#define IDLE_SECONDS 2

struct xw_edit {
	struct xw_edit_opts opts;
	struct xw_diag *diag;
	struct xw_redo_store *store, *own_store; /* own_store: owned */
	char *undo_file; /* owned, or NULL */
	bool file_named; /* the user has named a redo file */
	bool nowhere; /* no place for a redo file is known */
	struct xw_record_space room; /* free blocks as known to a checker */
	bool doubtful; /* xw_edit_doubt() was called */
	struct xw_dev *dev; /* the overlay; owns base */
	struct xw_recover_info recovered;
	uint64_t base_size; /* size of the state to which an end without commit returns */
	bool failed, undecided; /* a commit failed; it may be complete nevertheless */
	struct xw_guard guard;
	/* No other process could open the image at the last check. Atomic, like `lost`. */
	bool held;
	bool lost; /* another process has changed the image: nothing is written any more */
	bool shadows; /* shadow writes are enabled */
	bool alone; /* xw_edit_write_free(): the bitmaps are not asked */
	struct xw_undo *undo; /* begun before the commit; NULL: it was not */
	/* number of shadow writes, atomic; the number at the last xw_edit_yield() */
	unsigned writes;
	unsigned seen;
	time_t idle_since; /* monotonic; 0: unknown */

	pthread_mutex_t lock; /* protects the following fields */
	struct xw_freemap *map; /* created on first use */
	XW_VEC(struct xw_run) shadow;
	bool unrecorded; /* there were more shadow writes than recorded */
};

/* Record that blocks [blk, blk + n) may have been overwritten. */
static void note(struct xw_edit *e, uint64_t blk, uint64_t n)
{
	struct xw_run *last = e->shadow.n ? &e->shadow.v[e->shadow.n - 1] : NULL;
	const struct xw_run run = {blk, n};

	if (last && blk >= last->start && blk <= last->start + last->len)
		last->len = XW_MAX(last->len, blk + n - last->start);
	else if (e->shadow.n >= SHADOW_RUNS_MAX || xw_vec_push(&e->shadow, run))
		e->unrecorded = true;
}

/* The lock must be held. */
static uint64_t ask(struct xw_edit *e, uint64_t blk, uint64_t n, bool *is_free)
{
	if (!e->map && xw_freemap_new(xw_overlay_base(e->dev), NULL, &e->map)) {
		*is_free = false;
		return n;
	}
	return xw_freemap_query(e->map, blk, n, is_free);
}

static bool get(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_RELAXED);
}

static void put(bool *flag, bool value)
{
	__atomic_store_n(flag, value, __ATOMIC_RELAXED);
}

/* Is the image unchanged? Checked before shadow writes while other processes are not excluded. */
static bool is_same(struct xw_edit *e)
{
	if (!xw_guard_glance(&e->guard))
		put(&e->lost, true);
	return !get(&e->lost);
}

/* Query of the overlay: it will write to blocks reported as free. */
static uint64_t on_write(void *arg, uint64_t blk, uint64_t n, bool *is_free)
{
	struct xw_edit *e = arg;

	if (get(&e->lost) || (!get(&e->held) && !is_same(e))) {
		*is_free = false; /* held in memory until on_access() ends the change */
		return n;
	}
	pthread_mutex_lock(&e->lock);
	*is_free = e->alone;
	if (!e->alone)
		n = ask(e, blk, n, is_free);
	if (*is_free)
		note(e, blk, n);
	pthread_mutex_unlock(&e->lock);
	__atomic_fetch_add(&e->writes, 1, __ATOMIC_RELAXED);
	return n;
}

static uint32_t block_size_of(struct xw_dev *dev, const struct xw_edit_opts *opts)
{
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_diag *devs = dev->diag;
	uint32_t bs = opts->block_size ? opts->block_size : 1024;
	struct xw_super sb;

	dev->diag = NULL;
	if (dev->size >= XW_SUPER_OFFSET + XW_SUPER_SIZE &&
	    !xw_dev_pread(dev, buf, sizeof(buf), XW_SUPER_OFFSET) && !xw_super_decode(buf, &sb))
		bs = xw_super_block_size(&sb);
	dev->diag = devs;
	return bs;
}

static struct xw_edit *new_edit(const struct xw_edit_opts *opts, struct xw_redo_store *store,
				struct xw_diag *diag)
{
	struct xw_edit *e = calloc(1, sizeof(*e));

	if (e && opts->undo_file && !(e->undo_file = strdup(opts->undo_file))) {
		free(e);
		e = NULL;
	}
	if (!e) {
		xw_fail_nomem(diag, "a change");
		return NULL;
	}
	e->opts = *opts;
	e->file_named = opts->redo_file;
	e->nowhere = opts->offset && !opts->redo_file && !opts->redo_dir;
	e->opts.redo_file = e->opts.redo_dir = NULL; /* owned by the caller */
	e->opts.mmp_idle = NULL;
	e->opts.checked = NULL;
	e->opts.undo_file = e->undo_file;
	e->diag = diag;
	e->store = store;
	pthread_mutex_init(&e->lock, NULL);
	return e;
}

static void free_edit(struct xw_edit *e)
{
	xw_undo_end(e->undo);
	xw_freemap_free(e->map);
	xw_vec_free(&e->shadow);
	pthread_mutex_destroy(&e->lock);
	free(e->undo_file);
	free(e);
}

/* Called for some of the accesses to the edit's device. */
static int on_access(void *arg)
{
	struct xw_edit *e = arg;
	struct xw_dev *base = xw_overlay_base(e->dev);

	if (e->opts.hold) {
		put(&e->held, xw_dev_hold(base, XW_HOLD_QUERY));
		if (!get(&e->held) && is_same(e))
			put(&e->held, xw_dev_hold(base, XW_HOLD_ACQUIRE));
	}
	if (get(&e->lost)) {
		const int rc = xw_guard_check(&e->guard, XW_COMMIT_NOTHING);

		return rc ? rc : xw_guard_fail(&e->guard, XW_COMMIT_NOTHING);
	}
	return xw_commit_check_canceled(e->opts.watch, e->dev->name, e->diag);
}

/*
 * Does the undo file contain an earlier change? Then blocks that are free now may be in use in its
 * oldest state (undo.h).
 */
static bool continues(const char *undo_file)
{
	struct stat st;

	return undo_file && !stat(undo_file, &st) && st.st_size;
}

static uint64_t query_locked(void *arg, uint64_t blk, uint64_t n, bool *is_free)
{
	struct xw_edit *e = arg;

	pthread_mutex_lock(&e->lock);
	n = ask(e, blk, n, is_free);
	pthread_mutex_unlock(&e->lock);
	return n;
}

static int open_places(struct xw_edit *e, bool trusted, struct xw_record_places *p)
{
	struct xw_dev *base = xw_overlay_base(e->dev);
	const struct xw_record_places_opts opts = {
		.trusted = trusted && !e->doubtful,
		.none = e->file_named ? "--redo-file is given"
			: e->recovered.stuck_file && e->store
				? "a redo file replaces the one that is lost"
				: NULL,
		.at_end = !base->is_block && !e->opts.offset,
		.undo = e->undo_file,
		.undo_old = continues(e->undo_file),
	};
	struct xw_record_space room = e->room;

	room.overlay = e->dev;
	room.written = e->shadow.v;
	room.n_written = e->shadow.n;
	room.written_more = e->unrecorded;
	room.fn = query_locked;
	room.arg = e;
	room.before = e->map;
	return xw_record_places_open(p, &room, &opts, e->diag);
}

/*
 * The store for redo files. A new file for a filesystem inside a larger file is never beside that
 * file, where only those of earlier versions are searched for.
 */
static struct xw_redo_store *store_of(const struct xw_edit *e)
{
	return e->nowhere ? NULL : e->store;
}

/* The journal was just replayed: the bitmaps are those of a clean filesystem. */
static int commit_recovery(struct xw_edit *e)
{
	uint8_t super[XW_SUPER_SIZE];
	struct xw_commit_opts opts = {
		/* REDO is a checker's default, not the user's choice */
		.how = e->opts.how == XW_COMMIT_REDO ? XW_COMMIT_AUTO : e->opts.how,
		.store = store_of(e),
		.now = e->opts.now,
		.any_super = e->opts.any_state,
	};
	struct xw_record_places places;
	int rc;

	if (!e->recovered.journal.unsettled)
		return 0;
	rc = xw_dev_pread(e->dev, super, sizeof(super), XW_SUPER_OFFSET);
	if (rc)
		return rc;
	rc = open_places(e, xw_record_space_is_trusted(super, true), &places);
	xw_record_places_offer(&places, &opts);
	if (!rc)
		rc = xw_recover_finish(e->dev, &opts, &e->recovered.journal, e->diag);
	xw_record_places_close(&places);
	return rc;
}

static void release_hold(struct xw_edit *e)
{
	(void)xw_dev_hold(xw_overlay_base(e->dev), XW_HOLD_RELEASE);
	/* O_EXCL still excludes other processes */
	put(&e->held, xw_dev_hold(xw_overlay_base(e->dev), XW_HOLD_QUERY));
}

static void set_tick(struct xw_edit *e)
{
	const bool rdonly = e->opts.recover & XW_RECOVER_RDONLY;

	xw_overlay_set_tick(e->dev, e->opts.watch || !rdonly ? on_access : NULL, e);
}

void xw_edit_yield(struct xw_edit *e)
{
	const unsigned writes = __atomic_load_n(&e->writes, __ATOMIC_RELAXED);
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (writes != e->seen || !e->idle_since)
		e->idle_since = now.tv_sec;
	e->seen = writes;
	if (now.tv_sec - e->idle_since < IDLE_SECONDS || !get(&e->held))
		return;
	if (!xw_dev_hold(xw_overlay_base(e->dev), XW_HOLD_QUERY))
		release_hold(e);
	e->idle_since = now.tv_sec;
}

/*
 * A commit that is impossible is refused before anything is written: until the journal is known to
 * be unusable, a change might write gigabytes of contents.
 */
static int check_how(const struct xw_edit *e)
{
	if (e->opts.how != XW_COMMIT_JOURNAL || e->opts.checked) /* a checker may repair it */
		return 0;
	if (e->undo_file)
		return xw_fail(e->diag, XW_ERR_USAGE,
			       "%s: an undo file requires a commit by redo record, not through the "
			       "journal",
			       e->dev->name);
	return xw_commit_journal_check(e->dev, e->diag);
}

/* Does this or another host use the image? */
static int check_others(struct xw_dev *dev, const struct xw_edit_opts *opts, struct xw_diag *diag,
			uint32_t *idle)
{
	const int rc = xw_dev_check_unused(dev);

	return rc ? rc : xw_mmp_check(dev, opts->watch, diag, idle);
}

int xw_edit_begin_dev(struct xw_dev *dev, struct xw_redo_store *store,
		      const struct xw_edit_opts *opts, struct xw_diag *diag, struct xw_edit **out)
{
	const bool rdonly = opts->recover & XW_RECOVER_RDONLY;
	struct xw_edit *e = new_edit(opts, store, diag);
	uint32_t own = 0, *const idle = opts->mmp_idle ? opts->mmp_idle : &own;
	struct xw_dev *base = dev;
	int rc = 0;

	if (!e)
		return XW_ERR_NOMEM;
	if (opts->checked) {
		*opts->checked = xw_mmp_is_checked(base);
		rc = *opts->checked ? xw_mmp_check(base, opts->watch, diag, idle) : 0;
	}
	/* other processes are not excluded during the wait */
	if (!rc && !opts->in_use_too && !rdonly && xw_mmp_waits(base, *idle))
		rc = check_others(base, opts, diag, idle);
	if (!rc && !rdonly)
		e->held = xw_dev_hold(base, XW_HOLD_ACQUIRE);
	if (!rc && !opts->in_use_too && !rdonly)
		rc = check_others(base, opts, diag, idle);
	if (!rc)
		rc = xw_recover_dev(&base, store,
				    opts->recover | (opts->keep_log ? 0 : XW_RECOVER_JOURNAL) |
					    (opts->recover ? 0 : XW_RECOVER_UNSETTLED),
				    diag, &e->recovered);
	if (!rc) {
		e->base_size = base->size;
		rc = xw_overlay_open(base, block_size_of(base, opts), diag, &e->dev);
	}
	if (!rc) {
		rc = commit_recovery(e);
		if (!rc)
			rc = check_how(e);
		/*
		 * Committed with the change. If the number is impossible, a checker reports it
		 * first.
		 */
		if (!rc && *idle && !(opts->mmp_idle && !xw_mmp_seq_possible(*idle)))
			rc = xw_mmp_release(e->dev);
		if (rc)
			base = xw_overlay_detach(e->dev);
	}
	if (rc) {
		if (base != dev)
			(void)xw_overlay_detach(base); /* the caller still owns dev */
		(void)xw_dev_hold(dev, XW_HOLD_RELEASE);
		free_edit(e);
		return rc;
	}
	xw_guard_init(&e->guard, base, opts->in_use_too);
	e->guard.mounted = opts->mounted;
	if (!opts->hold)
		release_hold(e);
	e->shadows = !rdonly && !continues(e->undo_file);
	if (e->shadows)
		xw_overlay_set_shadow(e->dev, on_write, e);
	set_tick(e);
	*out = e;
	return 0;
}

int xw_edit_begin(const char *path, const struct xw_edit_opts *opts, struct xw_diag *diag,
		  struct xw_edit **out)
{
	const unsigned flags = opts->recover & XW_RECOVER_RDONLY
				       ? XW_DEV_RDONLY | (opts->in_use_too ? XW_DEV_SHARED : 0)
				       : (opts->mounted ? XW_DEV_MOUNTED : 0);
	struct xw_redo_store *store = NULL;
	struct xw_dev *dev = NULL;
	int rc = xw_dev_open_file(path, flags, diag, &dev);

	if (!rc && opts->offset)
		rc = xw_dev_open_existing(dev, opts->offset, &dev);
	if (!rc)
		rc = xw_recover_store(path, opts->redo_file ? opts->redo_file : opts->redo_dir,
				      opts->offset, diag, &store);
	if (!rc)
		rc = xw_edit_begin_dev(dev, store, opts, diag, out);
	if (rc) {
		xw_redo_store_close(store);
		xw_dev_close(dev);
		return rc;
	}
	(*out)->own_store = store;
	return 0;
}

struct xw_dev *xw_edit_dev(const struct xw_edit *e)
{
	return e->dev;
}

const struct xw_recover_info *xw_edit_recovered(const struct xw_edit *e)
{
	return &e->recovered;
}

void xw_edit_keep_log(struct xw_edit *e)
{
	e->opts.keep_log = true;
}

void xw_edit_set_record_space(struct xw_edit *e, xw_overlay_free_fn *claims, void *arg, bool alone)
{
	e->room = (struct xw_record_space){.claims = claims, .claims_arg = arg, .alone = alone};
}

void xw_edit_doubt(struct xw_edit *e)
{
	e->doubtful = true;
}

void xw_edit_hold_all(struct xw_edit *e)
{
	e->shadows = false;
	xw_overlay_set_shadow(e->dev, NULL, NULL);
}

/* Add the old contents of a range to the undo file. */
static int save(struct xw_edit *e, uint64_t off, uint64_t len)
{
	const struct xw_undo_image img = {
		.path = e->undo_file,
		.base = xw_overlay_base(e->dev),
		.old_size = e->base_size,
		.offset = e->opts.offset,
		.block_size = xw_overlay_block_size(e->dev),
		.dropped_super = e->recovered.dropped_super,
	};
	int rc = e->undo_file && !e->undo ? xw_undo_begin(&img, e->diag, &e->undo) : 0;

	return !rc && e->undo ? xw_undo_save(e->undo, off, len) : rc;
}

/* Would a write to the whole range go to the image? */
static bool goes_through(struct xw_edit *e, uint64_t off, size_t len)
{
	const uint64_t bs = xw_overlay_block_size(e->dev), end = (off + len) / bs;
	bool through = off % bs == 0 && len % bs == 0 && off + len <= e->base_size;

	for (uint64_t at = off / bs; through && at < end;)
		at += xw_overlay_write_target(e->dev, at, end - at, &through);
	return through;
}

int xw_edit_write_free(struct xw_edit *e, bool alone, const void *buf, size_t len, uint64_t off,
		       bool *written)
{
	int rc = 0;

	*written = false;
	if (e->opts.recover & XW_RECOVER_RDONLY)
		return 0;
	e->alone = alone;
	xw_overlay_set_shadow(e->dev, on_write, e);
	*written = goes_through(e, off, len);
	if (*written)
		rc = save(e, off, len);
	if (!rc && *written)
		rc = xw_dev_pwrite(e->dev, buf, len, off);
	xw_overlay_set_shadow(e->dev, e->shadows ? on_write : NULL, e);
	e->alone = false;
	return rc;
}

static struct xw_commit_opts commit_opts(struct xw_edit *e)
{
	return (struct xw_commit_opts){
		.how = e->opts.how,
		.store = store_of(e),
		.now = e->opts.now,
		.undo_file = e->opts.undo_file,
		.undo = e->undo,
		.dropped_super = e->recovered.dropped_super,
		.set_aside = e->recovered.stuck,
		.offset = e->opts.offset,
		.watch = e->opts.watch,
		.guard = &e->guard,
		.log_pending = e->opts.keep_log || e->opts.any_state,
		.any_super = e->opts.any_state,
	};
}

static int commit(struct xw_edit *e, bool dry_run, struct xw_commit_info *info)
{
	struct xw_commit_opts opts = commit_opts(e);
	const bool trusted =
		e->guard.has_super && xw_record_space_is_trusted(e->guard.super, false);
	struct xw_record_places places;
	int rc = open_places(e, trusted, &places);

	xw_record_places_offer(&places, &opts);
	opts.dry_run = dry_run;
	if (!rc)
		rc = xw_commit(e->dev, &opts, e->diag, info);
	xw_record_places_close(&places);
	return rc;
}

int xw_edit_preview(struct xw_edit *e, struct xw_commit_info *info)
{
	return commit(e, true, info);
}

int xw_edit_commit(struct xw_edit *e, struct xw_commit_info *info)
{
	struct xw_commit_info own;
	int rc;

	if (!info)
		info = &own;
	memset(info, 0, sizeof(*info)); /* `undecided` is false before xw_commit() */
	if (e->failed || e->opts.recover & XW_RECOVER_RDONLY)
		return xw_fail(e->diag, XW_ERR_STATE, "%s: %s", e->dev->name,
			       e->failed ? "a commit has failed before" : "opened read-only");
	(void)xw_dev_hold(xw_overlay_base(e->dev), XW_HOLD_ACQUIRE);
	rc = xw_guard_check(&e->guard, XW_COMMIT_NOTHING);
	if (!rc && get(&e->lost))
		rc = xw_guard_fail(&e->guard, XW_COMMIT_NOTHING);
	if (!rc) {
		/* up to the commit point, the commit itself checks for cancellation */
		xw_overlay_set_tick(e->dev, NULL, NULL);
		rc = commit(e, false, info);
		set_tick(e);
	}
	if (!e->opts.hold)
		release_hold(e);
	if (rc) {
		e->failed = true;
		e->undecided = info->undecided;
		return rc;
	}
	xw_undo_end(e->undo);
	e->undo = NULL;
	e->base_size = xw_overlay_base(e->dev)->size;
	e->shadow.n = 0;
	e->unrecorded = false;
	xw_freemap_free(e->map); /* it describes the old state */
	e->map = NULL;
	e->room.claims = NULL;
	if (e->undo_file) /* the undo file exists now */
		xw_edit_hold_all(e);
	return 0;
}

int xw_edit_discard(struct xw_edit *e, xw_edit_range_fn *next, void *arg)
{
	static const char then[] = "free blocks were not discarded";
	struct xw_dev *base = xw_overlay_base(e->dev);
	uint64_t off, len;
	int rc;

	if (e->undo_file)
		return 0;
	(void)xw_dev_hold(base, XW_HOLD_ACQUIRE);
	rc = xw_guard_check(&e->guard, then);
	if (!rc && get(&e->lost))
		rc = xw_guard_fail(&e->guard, then);
	while (!rc && next(arg, &off, &len))
		rc = xw_dev_discard(base, off, len);
	if (!e->opts.hold)
		release_hold(e);
	return rc;
}

/* Release space allocated by shadow writes: not needed for the image, but for its host. */
static void release_shadow(struct xw_edit *e, struct xw_dev *base)
{
	const uint64_t bs = xw_overlay_block_size(e->dev);
	struct xw_diag *devs = base->diag;
	bool ours;
	int rc = 0;

	base->diag = NULL; /* best effort */
	ours = !get(&e->lost) &&
	       /* otherwise another process may have allocated free blocks */
	       !xw_guard_check(&e->guard, "");
	for (size_t i = 0; ours && i < e->shadow.n && !base->is_block && !rc; i++) {
		const uint64_t from = XW_MIN(e->shadow.v[i].start * bs, e->base_size);
		const uint64_t to =
			XW_MIN((e->shadow.v[i].start + e->shadow.v[i].len) * bs, e->base_size);

		if (from < to)
			rc = xw_dev_zero(base, from, to - from);
	}
	if (ours && !base->is_block && base->size > e->base_size)
		(void)xw_dev_set_size(base, e->base_size);
	base->diag = devs;
}

void xw_edit_end(struct xw_edit *e)
{
	if (!e)
		return;
	if (!e->undecided && e->shadow.n)
		release_shadow(e, xw_overlay_base(e->dev));
	xw_dev_close(e->dev);
	xw_redo_store_close(e->own_store);
	free_edit(e);
}
