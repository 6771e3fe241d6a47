/* SPDX-License-Identifier: MIT */
/*
 * The undo file. An existing one is copied and extended in a new file that is renamed when
 * complete, so that a full host or a crash leaves the existing file unchanged.
 *
 * Invariant: the oldest contents of a block are kept. A block that is in the file is never added
 * again.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/search.h"
#include "base/types.h"
#include "base/vec.h"
#include "commit/commit_internal.h"
#include "commit/undo.h"
#include "commit/undo_file.h"
#include "dev/newfile.h"

#define CHUNK ((size_t)1 << 20)

struct undo {
	struct xw_undo_file f;
	const struct xw_change *c;
	struct xw_diag *diag;
	const uint8_t *dropped; /* as in xw_commit_opts */
	XW_VEC(struct xw_run) have; /* recorded bytes of the image, ascending */
};

/* ---- an existing file ---- */

static int refuse_existing(const struct undo *u, const char *name, const char *why)
{
	return xw_fail(u->diag, XW_ERR_EXISTS, "%s: existing file is %s; nothing was committed",
		       name, why);
}

static int check_state(struct undo *u, struct xw_dev *old, const struct xw_undo_header *h)
{
	uint8_t super[XW_SUPER_SIZE];
	int rc = xw_dev_pread(old, super, sizeof(super), h->super_at * h->unit);

	if (rc)
		return rc;
	xw_undo_super_invert(super);
	if (h->offset != u->f.offset ||
	    (memcmp(super, u->c->old_super, sizeof(super)) != 0 &&
	     (!u->dropped || memcmp(super, u->dropped, sizeof(super)) != 0)))
		return refuse_existing(u, old->name, "an undo file of another filesystem or state");
	if (!xw_undo_header_agrees(h, super))
		return refuse_existing(u, old->name,
				       "an undo file whose block sizes another program has "
				       "changed: they do not agree with its superblock");
	return 0;
}

static int read_header(struct undo *u, struct xw_dev *old)
{
	uint8_t buf[XW_UNDO_HEADER_SIZE];
	struct xw_undo_header h;
	int rc;

	if (old->size < sizeof(buf))
		return refuse_existing(u, old->name, "not an undo file");
	rc = xw_dev_pread(old, buf, sizeof(buf), 0);
	if (rc)
		return rc;
	rc = xw_undo_header_decode(buf, old->size, &h);
	if (rc == XW_ERR_INPUT || rc == XW_ERR_CHECKSUM)
		return refuse_existing(u, old->name, "not an undo file");
	if (rc || !h.finished || h.fs_unit > h.unit || h.keys > old->size / h.unit)
		return refuse_existing(u, old->name,
				       "an unfinished undo file, or of an unknown version");
	xw_undo_file_continue(&u->f, &h);
	if (u->f.size_after != u->c->old_size) /* another tool has changed the size */
		u->f.size_after = 0;
	return check_state(u, old, &h);
}

/* Read the block of keys at `end`; sets `end` after its contents. */
static int read_keys(struct undo *u, struct xw_dev *old, uint64_t left)
{
	const uint64_t blocks = old->size / u->f.unit;
	int rc;

	if (u->f.end >= blocks)
		return refuse_existing(u, old->name, "a damaged undo file");
	rc = xw_dev_pread(old, u->f.keys, u->f.unit, u->f.end * u->f.unit);
	if (rc)
		return rc;
	u->f.in_block = (uint32_t)XW_MIN(left, xw_undo_keys_max(u->f.unit));
	u->f.block = u->f.end++;
	if (xw_undo_keys_verify(u->f.keys, u->f.unit))
		return refuse_existing(u, old->name, "a damaged undo file");
	for (uint32_t i = 0; i < u->f.in_block; i++) {
		const struct xw_undo_key key = xw_undo_key_get(u->f.keys, i);
		const struct xw_run run = {key.blk * u->f.fs_unit, key.size};

		u->f.end += xw_div_up(key.size, u->f.unit);
		/* the last contents may be truncated where the image ended */
		if (key.blk > UINT64_MAX / u->f.fs_unit / 2 ||
		    (u->f.end - 1) * u->f.unit > old->size)
			return refuse_existing(u, old->name, "a damaged undo file");
		if (xw_vec_push(&u->have, run))
			return xw_fail_nomem(u->diag, "an undo file");
	}
	return 0;
}

static int copy(struct undo *u, struct xw_dev *old)
{
	auto_free uint8_t *buf = malloc(CHUNK);
	const uint64_t all = XW_MIN(u->f.end * u->f.unit, old->size);
	int rc = buf ? 0 : xw_fail_nomem(u->diag, "an undo file");

	for (uint64_t at = 0, n; at < all && !rc; at += n) {
		n = XW_MIN(all - at, (uint64_t)CHUNK);
		rc = xw_dev_pread(old, buf, n, at);
		if (!rc)
			rc = xw_dev_pwrite(u->f.dev, buf, n, at);
	}
	return rc;
}

static int go_on_with(struct undo *u, struct xw_dev *old)
{
	uint64_t left;
	int rc = read_header(u, old);

	if (!rc)
		rc = xw_undo_file_new_keys(&u->f);
	u->f.block = u->f.end = u->f.keys_at;
	for (left = u->f.n_keys; left && !rc; left -= u->f.in_block)
		rc = read_keys(u, old, left);
	if (rc)
		return rc;
	if (!u->f.n_keys) /* the block of keys exists and is empty */
		u->f.end = u->f.keys_at + 1;
	if (u->have.n)
		qsort(u->have.v, u->have.n, sizeof(*u->have.v), xw_by_u64);
	return copy(u, old);
}

/* ---- adding blocks ---- */

/* Add the old contents of n units from byte `at` of the image on, up to its end. */
static int put_run(struct undo *u, uint64_t at, size_t n, uint8_t *buf)
{
	const size_t size = (size_t)XW_MIN(n * u->f.unit, u->c->old_size - at);
	const int rc = xw_change_before(u->c, at, n * u->f.unit, buf);

	return rc ? rc : xw_undo_file_put(&u->f, at, buf, n, size);
}

static bool has(const struct undo *u, uint64_t at)
{
	const struct xw_run *v = u->have.v;
	const size_t after = XW_LOWER_BOUND(i, u->have.n, v[i].start > at);

	return after && at - v[after - 1].start < v[after - 1].len;
}

/* Add every unit that the change modifies and that is not in the file yet. */
static int put_all(struct undo *u)
{
	const struct xw_change *c = u->c;
	const size_t max = XW_MAX(XW_MIN(XW_UNDO_KEY_UNITS, CHUNK / u->f.unit), 1);
	auto_free uint8_t *buf = malloc(max * u->f.unit);
	uint64_t next = 0, first = 0; /* in units: next one to examine; start of the run */
	size_t n = 0; /* units in the run */
	int rc = buf ? 0 : xw_fail_nomem(u->diag, "an undo file");

	for (size_t i = 0; i < c->n && !rc; i++) {
		const uint64_t at = c->blocks[i] * c->block_size;
		const uint64_t last = (at + c->block_size - 1) / u->f.unit;

		for (next = XW_MAX(next, at / u->f.unit); next <= last && !rc; next++) {
			if (next * u->f.unit >= c->old_size || has(u, next * u->f.unit))
				continue;
			if (n && (next != first + n || n == max)) {
				rc = put_run(u, first * u->f.unit, n, buf);
				n = 0;
			}
			if (!n)
				first = next;
			n++;
		}
	}
	if (!rc && n)
		rc = put_run(u, first * u->f.unit, n, buf);
	return rc;
}

/* ---- the file ---- */

static int write_file(struct undo *u, const char *path, bool made, struct xw_dev *old)
{
	struct xw_newfile *file;
	int rc = xw_newfile_open(path, 0, u->diag, &u->f.dev, &file);

	if (rc)
		return rc;
	if (made)
		rc = xw_newfile_private(file, u->diag);
	if (!rc)
		rc = old ? go_on_with(u, old) : xw_undo_file_begin(&u->f, u->c->block_size);
	if (!old)
		u->f.size_before = u->c->old_size;
	if (!old || u->f.size_after)
		u->f.size_after = u->c->new_size;
	if (!rc)
		rc = put_all(u);
	if (!rc)
		rc = xw_undo_file_finish(&u->f, u->c->new_super);
	xw_dev_close(u->f.dev);
	if (!rc)
		rc = xw_newfile_publish(file, !made, u->diag);
	xw_newfile_close(file);
	return rc;
}

/* *made: the file does not exist yet. *old: an existing file, to be extended. */
static int open_existing(const struct undo *u, const char *path, bool *made, struct xw_dev **old)
{
	struct stat st;

	*made = lstat(path, &st) && errno == ENOENT;
	if (*made)
		return 0;
	if (stat(path, &st))
		return xw_fail_errno(u->diag, XW_ERR_IO, errno, "%s: cannot open", path);
	if (!S_ISREG(st.st_mode))
		return refuse_existing(u, path, "no file");
	return st.st_size ? xw_dev_open_file(path, XW_DEV_RDONLY, u->diag, old) : 0;
}

int xw_undo_write(const struct xw_commit_opts *opts, const struct xw_change *c, bool *made)
{
	const char *path = opts->undo_file;
	struct undo u = {.f = {.diag = c->diag, .offset = opts->offset},
			 .c = c,
			 .diag = c->diag,
			 .dropped = opts->dropped_super};
	struct xw_dev *old = NULL;
	int rc = open_existing(&u, path, made, &old);

	if (!rc)
		rc = write_file(&u, path, *made, old);
	xw_dev_close(old);
	free(u.f.keys);
	xw_vec_free(&u.have);
	return rc;
}

int xw_undo_write_empty(const struct xw_commit_opts *opts, const struct xw_change *c)
{
	struct stat st;
	bool made;

	return lstat(opts->undo_file, &st) ? xw_undo_write(opts, c, &made) : 0;
}

void xw_undo_remove(const char *path)
{
	(void)unlink(path);
}
