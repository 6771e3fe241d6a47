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
#include "base/blockset.h"
#include "base/search.h"
#include "base/types.h"
#include "base/vec.h"
#include "commit/commit_internal.h"
#include "commit/undo.h"
#include "commit/undo_file.h"
#include "dev/newfile.h"

#define CHUNK ((size_t)1 << 20)

struct xw_undo {
	struct xw_undo_file f;
	struct xw_undo_image img;
	struct xw_diag *diag;
	uint8_t old_super[XW_SUPER_SIZE];
	struct xw_newfile *file;
	struct xw_dev *old; /* an existing undo file, which is extended; NULL: none */
	bool made; /* path does not exist */
	uint8_t *buf; /* for old contents */
	size_t max; /* number of units in it */
	XW_VEC(struct xw_run) have; /* bytes of the image in the existing file, ascending */
	struct xw_blockset *saved; /* units added before the commit; NULL: none */
};

/* ---- an existing file ---- */

static int refuse_existing(const struct xw_undo *u, const char *name, const char *why)
{
	return xw_fail(u->diag, XW_ERR_EXISTS, "%s: existing file is %s; nothing was committed",
		       name, why);
}

static int check_state(struct xw_undo *u, struct xw_dev *old, const struct xw_undo_header *h)
{
	uint8_t super[XW_SUPER_SIZE];
	int rc = xw_dev_pread(old, super, sizeof(super), h->super_at * h->unit);

	if (rc)
		return rc;
	xw_undo_super_invert(super);
	if (h->offset != u->f.offset ||
	    (memcmp(super, u->old_super, sizeof(super)) != 0 &&
	     (!u->img.dropped_super || memcmp(super, u->img.dropped_super, sizeof(super)) != 0)))
		return refuse_existing(u, old->name, "an undo file of another filesystem or state");
	if (!xw_undo_header_agrees(h, super))
		return refuse_existing(u, old->name,
				       "an undo file whose block sizes another program has "
				       "changed: they do not agree with its superblock");
	return 0;
}

static int read_header(struct xw_undo *u, struct xw_dev *old)
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
	if (u->f.size_after != u->img.old_size) /* another tool has changed the size */
		u->f.size_after = 0;
	return check_state(u, old, &h);
}

/* Read the block of keys at `end`; sets `end` after its contents. */
static int read_keys(struct xw_undo *u, struct xw_dev *old, uint64_t left)
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

static int copy(struct xw_undo *u, struct xw_dev *old)
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

static int go_on_with(struct xw_undo *u, struct xw_dev *old)
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

static bool has(const struct xw_undo *u, uint64_t at)
{
	const struct xw_run *v = u->have.v;
	const size_t after = XW_LOWER_BOUND(i, u->have.n, v[i].start > at);

	return (after && at - v[after - 1].start < v[after - 1].len) ||
	       (u->saved && xw_blockset_has(u->saved, at / u->f.unit));
}

/* A run of units whose old contents are added in one piece. c: NULL before the commit. */
struct pending {
	struct xw_undo *u;
	const struct xw_change *c;
	uint64_t first;
	size_t n;
};

/* Add the old contents of the run, up to the end of the image. */
static int put_run(struct pending *p)
{
	struct xw_undo *u = p->u;
	const uint64_t at = p->first * u->f.unit;
	const size_t len = p->n * u->f.unit, n = p->n;
	const size_t size = n ? (size_t)XW_MIN(len, u->img.old_size - at) : 0;
	int rc = 0;

	if (!n)
		return 0;
	p->n = 0;
	memset(u->buf + size, 0, len - size);
	rc = p->c ? xw_change_before(p->c, at, len, u->buf)
		  : xw_dev_pread(u->img.base, u->buf, size, at);
	return rc ? rc : xw_undo_file_put(&u->f, at, u->buf, n, size);
}

static int put_unit(struct pending *p, uint64_t unit)
{
	struct xw_undo *u = p->u;
	int rc = 0;

	if (unit * u->f.unit >= u->img.old_size || has(u, unit * u->f.unit))
		return 0;
	if (p->n && (unit != p->first + p->n || p->n == u->max))
		rc = put_run(p);
	if (!p->n)
		p->first = unit;
	p->n++;
	return rc;
}

/* Add every unit that the change modifies and that is not in the file yet. */
static int put_all(struct xw_undo *u, const struct xw_change *c)
{
	struct pending p = {.u = u, .c = c};
	uint64_t next = 0; /* unit to examine */
	int rc = 0;

	for (size_t i = 0; i < c->n && !rc; i++) {
		const uint64_t at = c->blocks[i] * c->block_size;
		const uint64_t last = (at + c->block_size - 1) / u->f.unit;

		for (next = XW_MAX(next, at / u->f.unit); next <= last && !rc; next++)
			rc = put_unit(&p, next);
	}
	return rc ? rc : put_run(&p);
}

int xw_undo_save(struct xw_undo *u, uint64_t off, uint64_t len)
{
	const uint64_t first = off / u->f.unit, end = xw_div_up(off + len, u->f.unit);
	struct pending p = {.u = u};
	int rc = 0;

	for (uint64_t unit = first; unit < end && !rc; unit++)
		rc = put_unit(&p, unit);
	if (!rc)
		rc = put_run(&p);
	if (!rc && !u->saved && xw_blockset_new(u->img.old_size / u->f.unit + 2, &u->saved))
		rc = XW_ERR_NOMEM;
	if (!rc && xw_blockset_add(u->saved, first, end - first, NULL))
		rc = XW_ERR_NOMEM;
	return rc == XW_ERR_NOMEM ? xw_fail_nomem(u->diag, "an undo file") : rc;
}

/* ---- the file ---- */

/* Open an existing undo file as u->old, to be extended; u->made: there is none. */
static int open_existing(struct xw_undo *u)
{
	const char *path = u->img.path;
	struct stat st;

	u->made = lstat(path, &st) && errno == ENOENT;
	if (u->made)
		return 0;
	if (stat(path, &st))
		return xw_fail_errno(u->diag, XW_ERR_IO, errno, "%s: cannot open", path);
	if (!S_ISREG(st.st_mode))
		return refuse_existing(u, path, "no file");
	return st.st_size ? xw_dev_open_file(path, XW_DEV_RDONLY, u->diag, &u->old) : 0;
}

static int start(struct xw_undo *u)
{
	int rc = open_existing(u);

	if (!rc)
		rc = xw_newfile_open(u->img.path, 0, u->diag, &u->f.dev, &u->file);
	if (!rc && u->made)
		rc = xw_newfile_private(u->file, u->diag);
	if (!rc)
		rc = u->old ? go_on_with(u, u->old) : xw_undo_file_begin(&u->f, u->img.block_size);
	if (rc)
		return rc;
	if (!u->old)
		u->f.size_before = u->img.old_size;
	u->max = XW_MAX(XW_MIN(XW_UNDO_KEY_UNITS, CHUNK / u->f.unit), 1);
	u->buf = malloc(u->max * u->f.unit);
	return u->buf ? 0 : xw_fail_nomem(u->diag, "an undo file");
}

int xw_undo_begin(const struct xw_undo_image *img, struct xw_diag *diag, struct xw_undo **out)
{
	struct xw_diag *const devs = img->base->diag;
	struct xw_undo *u = calloc(1, sizeof(*u));
	int rc;

	if (!u)
		return xw_fail_nomem(diag, "an undo file");
	*u = (struct xw_undo){
		.f = {.diag = diag, .offset = img->offset}, .img = *img, .diag = diag};
	img->base->diag = NULL;
	if (img->old_size < XW_SUPER_OFFSET + XW_SUPER_SIZE ||
	    xw_dev_pread(img->base, u->old_super, XW_SUPER_SIZE, XW_SUPER_OFFSET))
		memset(u->old_super, 0, XW_SUPER_SIZE);
	img->base->diag = devs;
	rc = start(u);
	if (rc) {
		xw_undo_end(u);
		return rc;
	}
	*out = u;
	return 0;
}

void xw_undo_end(struct xw_undo *u)
{
	if (!u)
		return;
	xw_dev_close(u->f.dev);
	xw_newfile_close(u->file);
	xw_dev_close(u->old);
	xw_blockset_free(u->saved);
	xw_vec_free(&u->have);
	free(u->f.keys);
	free(u->buf);
	free(u);
}

static int complete(struct xw_undo *u, const struct xw_change *c, bool *made)
{
	int rc;

	*made = u->made;
	if (!u->old || u->f.size_after)
		u->f.size_after = c->new_size;
	rc = put_all(u, c);
	if (!rc)
		rc = xw_undo_file_finish(&u->f, c->new_super);
	xw_dev_close(u->f.dev);
	u->f.dev = NULL;
	return rc ? rc : xw_newfile_publish(u->file, !u->made, u->diag);
}

int xw_undo_write(const struct xw_commit_opts *opts, const struct xw_change *c, bool *made)
{
	const struct xw_undo_image img = {
		.path = opts->undo_file,
		.base = c->base,
		.old_size = c->old_size,
		.offset = opts->offset,
		.block_size = c->block_size,
		.dropped_super = opts->dropped_super,
	};
	struct xw_undo *own = NULL;
	int rc = opts->undo ? 0 : xw_undo_begin(&img, c->diag, &own);

	if (!rc)
		rc = complete(own ? own : opts->undo, c, made);
	xw_undo_end(own);
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
