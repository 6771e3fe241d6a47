/* SPDX-License-Identifier: MIT */
/*
 * The undo file. An earlier one is copied and continued in a file that gets its name when it is
 * whole, so that a host without room, or a crash, leaves it as it was.
 *
 * Invariant: the oldest contents of a place are the ones that count. A place that the file has is
 * never added again, and no place is in it twice.
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
#include "base/crc.h"
#include "base/endian.h"
#include "base/types.h"
#include "base/vec.h"
#include "commit/commit_internal.h"
#include "commit/undo.h"
#include "dev/newfile.h"

#define MAGIC "E2UNDO02"
#define MAGIC_LEN 8
#define KEYS_MAGIC 0xCADECADEu
#define FINISHED 1u
#define COMPAT_OFFSET 0x1u
#define SUPER_MAGIC_AT 0x38
#define UNIT_MIN 1024u
#define UNIT_MAX (1u << 20)
#define KEY_UNITS_MAX 511u /* of one key: what stock tools put into one */
#define CHUNK ((size_t)1 << 20)

struct XW_ON_DISK disk_undo {
	uint8_t magic[MAGIC_LEN];
	le64 keys;
	le64 super_at, keys_at; /* blocks of this file */
	le32 block_size; /* of this file */
	le32 fs_block_size; /* what keys count in */
	le32 super_csum; /* of the superblock with its magic right */
	le32 state;
	le32 compat, incompat, ro_compat;
	le32 pad;
	le64 fs_offset; /* bytes; with COMPAT_OFFSET */
	uint8_t reserved[0x1FC - 0x48];
	le32 csum; /* of all before */
};

static_assert(offsetof(struct disk_undo, state) == 0x2C, "undo header");
static_assert(offsetof(struct disk_undo, fs_offset) == 0x40, "undo header");
static_assert(sizeof(struct disk_undo) == 512, "undo header");

struct XW_ON_DISK disk_key {
	le64 blk;
	le32 csum;
	le32 size; /* bytes */
};

struct XW_ON_DISK disk_keys {
	le32 magic;
	le32 csum; /* of the block with this field zero */
	le64 reserved;
	struct disk_key key[];
};

static_assert(sizeof(struct disk_keys) == 16 && sizeof(struct disk_key) == 16, "undo keys");

struct undo {
	const struct xw_change *c;
	struct xw_diag *diag;
	uint64_t offset;
	const uint8_t *dropped; /* as in xw_commit_opts */
	struct xw_dev *dev; /* being written */
	uint32_t unit; /* bytes of a block of the file */
	uint32_t fs_unit;
	uint64_t keys_at; /* the first block of keys */
	uint64_t super_at;
	uint64_t n_keys;
	uint64_t block; /* of keys that is being filled */
	uint64_t end; /* blocks of the file so far */
	struct disk_keys *keys; /* its contents; a unit */
	unsigned in_block; /* keys in it */
	XW_VEC(struct xw_run) have; /* bytes of the image, ascending */
};

static unsigned keys_per_block(const struct undo *u)
{
	return u->unit / sizeof(struct disk_key) - 1;
}

static uint32_t keys_csum(const struct undo *u, const struct disk_keys *k)
{
	static const uint8_t none[4];
	uint32_t crc = xw_crc32c(~0u, k, offsetof(struct disk_keys, csum));

	crc = xw_crc32c(crc, none, sizeof(none));
	return xw_crc32c(crc, &k->reserved, u->unit - offsetof(struct disk_keys, reserved));
}

static void invert_magic(uint8_t super[XW_SUPER_SIZE])
{
	super[SUPER_MAGIC_AT] ^= 0xFF;
	super[SUPER_MAGIC_AT + 1] ^= 0xFF;
}

/* ---- an earlier file ---- */

static int not_ours(const struct undo *u, const char *name, const char *why)
{
	return xw_fail(u->diag, XW_ERR_EXISTS, "%s: is in the way: %s; nothing was committed", name,
		       why);
}

static bool is_unit(uint32_t size)
{
	return size >= UNIT_MIN && size <= UNIT_MAX && !(size & (size - 1));
}

static int read_header(struct undo *u, struct xw_dev *old)
{
	struct disk_undo d;
	uint8_t super[XW_SUPER_SIZE];
	int rc;

	if (old->size < sizeof(d))
		return not_ours(u, old->name, "no undo file");
	rc = xw_dev_pread(old, &d, sizeof(d), 0);
	if (rc)
		return rc;
	if (memcmp(d.magic, MAGIC, MAGIC_LEN) ||
	    get32(d.csum) != xw_crc32c(~0u, &d, offsetof(struct disk_undo, csum)))
		return not_ours(u, old->name, "no undo file");
	u->unit = get32(d.block_size);
	u->fs_unit = get32(d.fs_block_size);
	u->super_at = get64(d.super_at);
	u->keys_at = get64(d.keys_at);
	u->n_keys = get64(d.keys);
	if (get32(d.state) != FINISHED || get32(d.compat) & ~COMPAT_OFFSET || get32(d.incompat) ||
	    get32(d.ro_compat) || !is_unit(u->unit) || !is_unit(u->fs_unit) ||
	    u->fs_unit > u->unit || u->super_at >= old->size / u->unit ||
	    u->keys_at > old->size / u->unit || u->n_keys > old->size / u->unit)
		return not_ours(u, old->name, "an unfinished undo file, or one of another kind");
	rc = xw_dev_pread(old, super, sizeof(super), u->super_at * u->unit);
	if (rc)
		return rc;
	invert_magic(super);
	if ((get32(d.compat) & COMPAT_OFFSET ? get64(d.fs_offset) : 0) != u->offset ||
	    (memcmp(super, u->c->old_super, sizeof(super)) != 0 &&
	     (!u->dropped || memcmp(super, u->dropped, sizeof(super)) != 0)))
		return not_ours(u, old->name,
				"an undo file of another filesystem, or of another state of it");
	return 0;
}

/* The block of keys at `end`, and the place behind its contents. */
static int read_keys(struct undo *u, struct xw_dev *old, uint64_t left)
{
	const uint64_t blocks = old->size / u->unit;
	int rc;

	if (u->end >= blocks)
		return not_ours(u, old->name, "a damaged undo file");
	rc = xw_dev_pread(old, u->keys, u->unit, u->end * u->unit);
	if (rc)
		return rc;
	u->in_block = (unsigned)XW_MIN(left, keys_per_block(u));
	u->block = u->end++;
	if (get32(u->keys->magic) != KEYS_MAGIC || get32(u->keys->csum) != keys_csum(u, u->keys))
		return not_ours(u, old->name, "a damaged undo file");
	for (unsigned i = 0; i < u->in_block; i++) {
		const uint64_t blk = get64(u->keys->key[i].blk);
		const uint32_t size = get32(u->keys->key[i].size);
		const struct xw_run run = {blk * u->fs_unit, size};

		u->end += xw_div_up(size, u->unit);
		/* the last contents may be cut short where the image was */
		if (blk > UINT64_MAX / u->fs_unit / 2 || (u->end - 1) * u->unit > old->size)
			return not_ours(u, old->name, "a damaged undo file");
		if (xw_vec_push(&u->have, run))
			return xw_fail_nomem(u->diag, "an undo file");
	}
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct xw_run *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int copy(struct undo *u, struct xw_dev *old)
{
	auto_free uint8_t *buf = malloc(CHUNK);
	const uint64_t all = XW_MIN(u->end * u->unit, old->size);
	int rc = buf ? 0 : xw_fail_nomem(u->diag, "an undo file");

	for (uint64_t at = 0, n; at < all && !rc; at += n) {
		n = XW_MIN(all - at, (uint64_t)CHUNK);
		rc = xw_dev_pread(old, buf, n, at);
		if (!rc)
			rc = xw_dev_pwrite(u->dev, buf, n, at);
	}
	return rc;
}

static int new_keys(struct undo *u)
{
	free(u->keys);
	u->keys = calloc(1, u->unit);
	return u->keys ? 0 : xw_fail_nomem(u->diag, "an undo file");
}

static int go_on_with(struct undo *u, struct xw_dev *old)
{
	uint64_t left;
	int rc = read_header(u, old);

	if (!rc)
		rc = new_keys(u);
	u->block = u->end = u->keys_at;
	for (left = u->n_keys; left && !rc; left -= u->in_block)
		rc = read_keys(u, old, left);
	if (rc)
		return rc;
	if (!u->n_keys) /* the block of keys is there, and empty */
		u->end = u->keys_at + 1;
	if (u->have.n)
		qsort(u->have.v, u->have.n, sizeof(*u->have.v), by_start);
	return copy(u, old);
}

static int begin(struct undo *u)
{
	u->unit = u->fs_unit = u->c->block_size;
	u->super_at = 1;
	u->block = u->keys_at = 2;
	u->end = 3;
	return new_keys(u);
}

/* ---- adding ---- */

static int put_keys(struct undo *u)
{
	u->keys->magic = put32(KEYS_MAGIC);
	u->keys->csum = put32(keys_csum(u, u->keys));
	return xw_dev_pwrite(u->dev, u->keys, u->unit, u->block * u->unit);
}

/* The old contents of n units from byte `at` of the image on; none are behind its end. */
static int put_run(struct undo *u, uint64_t at, size_t n, uint8_t *buf)
{
	const size_t size = (size_t)XW_MIN(n * u->unit, u->c->old_size - at);
	struct disk_key *key;
	int rc = xw_change_before(u->c, at, n * u->unit, buf);

	if (!rc && u->in_block == keys_per_block(u)) {
		rc = put_keys(u);
		if (!rc)
			rc = new_keys(u);
		u->block = u->end++;
		u->in_block = 0;
	}
	if (!rc)
		rc = xw_dev_pwrite(u->dev, buf, n * u->unit, u->end * u->unit);
	if (rc)
		return rc;
	key = &u->keys->key[u->in_block++];
	key->blk = put64(at / u->fs_unit);
	key->size = put32((uint32_t)size);
	key->csum = put32(xw_crc32c(~0u, buf, size));
	u->n_keys++;
	u->end += n;
	return 0;
}

static bool has(const struct undo *u, uint64_t at)
{
	size_t lo = 0, hi = u->have.n;

	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;

		if (u->have.v[mid].start <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && at - u->have.v[lo - 1].start < u->have.v[lo - 1].len;
}

/* Every unit that a block of the change touches, and that the file does not have. */
static int put_all(struct undo *u)
{
	const struct xw_change *c = u->c;
	const size_t max = XW_MAX(XW_MIN(KEY_UNITS_MAX, CHUNK / u->unit), 1);
	auto_free uint8_t *buf = malloc(max * u->unit);
	uint64_t next = 0, first = 0; /* units: not yet looked at; of the run */
	size_t n = 0; /* units of the run */
	int rc = buf ? 0 : xw_fail_nomem(u->diag, "an undo file");

	for (size_t i = 0; i < c->n && !rc; i++) {
		const uint64_t at = c->blocks[i] * c->block_size;
		const uint64_t last = (at + c->block_size - 1) / u->unit;

		for (next = XW_MAX(next, at / u->unit); next <= last && !rc; next++) {
			if (next * u->unit >= c->old_size || has(u, next * u->unit))
				continue;
			if (n && (next != first + n || n == max)) {
				rc = put_run(u, first * u->unit, n, buf);
				n = 0;
			}
			if (!n)
				first = next;
			n++;
		}
	}
	if (!rc && n)
		rc = put_run(u, first * u->unit, n, buf);
	return rc;
}

static int finish(struct undo *u)
{
	struct disk_undo d = {.magic = MAGIC};
	uint8_t super[XW_SUPER_SIZE];
	int rc = put_keys(u);

	memcpy(super, u->c->new_super, sizeof(super));
	d.super_csum = put32(xw_crc32c(~0u, super, sizeof(super)));
	invert_magic(super);
	d.keys = put64(u->n_keys);
	d.super_at = put64(u->super_at);
	d.keys_at = put64(u->keys_at);
	d.block_size = put32(u->unit);
	d.fs_block_size = put32(u->fs_unit);
	d.state = put32(FINISHED);
	d.compat = put32(u->offset ? COMPAT_OFFSET : 0);
	d.fs_offset = put64(u->offset);
	d.csum = put32(xw_crc32c(~0u, &d, offsetof(struct disk_undo, csum)));
	if (!rc)
		rc = xw_dev_pwrite(u->dev, super, sizeof(super), u->super_at * u->unit);
	if (!rc)
		rc = xw_dev_pwrite(u->dev, &d, sizeof(d), 0);
	if (!rc)
		rc = xw_dev_set_size(u->dev, u->end * u->unit);
	return rc ? rc : xw_dev_flush(u->dev);
}

/* ---- the file ---- */

static int write_file(struct undo *u, const char *path, bool made, struct xw_dev *old)
{
	struct xw_newfile *file;
	int rc = xw_newfile_open(path, 0, u->diag, &u->dev, &file);

	if (rc)
		return rc;
	if (made)
		rc = xw_newfile_private(file, u->diag);
	if (!rc)
		rc = old ? go_on_with(u, old) : begin(u);
	if (!rc)
		rc = put_all(u);
	if (!rc)
		rc = finish(u);
	xw_dev_close(u->dev);
	if (!rc)
		rc = xw_newfile_publish(file, !made, u->diag);
	xw_newfile_close(file);
	return rc;
}

/* *made: there is no file. *old: an existing one, to be continued. */
static int look(const struct undo *u, const char *path, bool *made, struct xw_dev **old)
{
	struct stat st;

	*made = lstat(path, &st) && errno == ENOENT;
	if (*made)
		return 0;
	if (stat(path, &st))
		return xw_fail_errno(u->diag, XW_ERR_IO, errno, "%s: cannot open", path);
	if (!S_ISREG(st.st_mode))
		return not_ours(u, path, "no file");
	return st.st_size ? xw_dev_open_file(path, XW_DEV_RDONLY, u->diag, old) : 0;
}

int xw_undo_write(const struct xw_commit_opts *opts, const struct xw_change *c, bool *made)
{
	const char *path = opts->undo_file;
	struct undo u = {
		.c = c, .diag = c->diag, .offset = opts->offset, .dropped = opts->dropped_super};
	struct xw_dev *old = NULL;
	int rc = look(&u, path, made, &old);

	if (!rc)
		rc = write_file(&u, path, *made, old);
	xw_dev_close(old);
	free(u.keys);
	xw_vec_free(&u.have);
	return rc;
}

void xw_undo_remove(const char *path)
{
	(void)unlink(path);
}
