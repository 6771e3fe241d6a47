/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <string.h>

#include "base/endian.h"
#include "base/types.h"
#include "commit/commit.h"
#include "commit/inside.h"
#include "session/recover.h"
#include "commit/super.h"
#include "commit_world.h"
#include "dev/overlay.h"
#include "disk/extent.h"
#include "disk/group.h"
#include "disk/inode.h"
#include "disk/jsb.h"
#include "unit.h"

#define V3 XW_JBD2_INCOMPAT_CSUM_V3
#define V2 XW_JBD2_INCOMPAT_CSUM_V2
#define B64 XW_JBD2_INCOMPAT_64BIT

#define INODES 32u
#define INODE_SIZE 256u

static struct world *world_of(struct xw_redo_store *s)
{
	return (struct world *)(void *)((char *)s - offsetof(struct world, store));
}

const struct world_spec world_specs[WORLD_SPECS] = {
	{1024, true, true, V3 | B64, 0, false}, {4096, true, true, V3 | B64, 0, false},
	{1024, false, false, 0, 0, false},      {4096, false, true, B64, 0, false},
	{2048, true, false, V2, 0, false},
};

/* ---- the redo store ---- */

static int store_create(struct xw_redo_store *s, uint64_t bytes, struct xw_dev **out)
{
	struct world *w = world_of(s);
	bool lost;
	int rc = crash_step(&w->crash, "create", &lost);

	(void)bytes;
	if (rc)
		return rc;
	xw_dev_close(w->tmp);
	w->tmp = crash_dev_open(&w->crash, 0);
	*out = crash_dev_dup(w->tmp);
	return 0;
}

static int store_publish(struct xw_redo_store *s)
{
	struct world *w = world_of(s);
	bool lost;
	int rc = crash_step(&w->crash, "publish", &lost);

	if (rc && !(lost && crash_coin(&w->crash)))
		return rc;
	xw_dev_close(w->pub);
	w->pub = w->tmp;
	w->tmp = NULL;
	return rc;
}

static int store_open(struct xw_redo_store *s, struct xw_dev **out)
{
	struct world *w = world_of(s);

	if (!w->pub)
		return XW_ERR_NOTFOUND;
	*out = crash_dev_dup(w->pub);
	return 0;
}

static int store_remove(struct xw_redo_store *s)
{
	struct world *w = world_of(s);
	bool lost;
	int rc = crash_step(&w->crash, "remove", &lost);

	if (rc && !(lost && crash_coin(&w->crash)))
		return rc;
	xw_dev_close(w->tmp);
	xw_dev_close(w->pub);
	w->tmp = w->pub = NULL;
	return rc;
}

static void store_close(struct xw_redo_store *s)
{
	(void)s;
}

static const struct xw_redo_store_ops store_ops = {
	.create = store_create,
	.publish = store_publish,
	.open = store_open,
	.remove = store_remove,
	.close = store_close,
};

/* ---- the image ---- */

static struct xw_super make_super(const struct world_spec *spec)
{
	struct xw_super sb = {
		.magic = XW_SUPER_MAGIC,
		.rev_level = 1,
		.inodes_count = INODES,
		.inodes_per_group = INODES,
		.inode_size = INODE_SIZE,
		.first_ino = XW_INO_FIRST,
		.blocks_count = WORLD_BLOCKS,
		.free_blocks_count = 100,
		.blocks_per_group = 8 * spec->block_size,
		.clusters_per_group = 8 * spec->block_size,
		.first_data_block = spec->block_size == 1024,
		.state = XW_STATE_VALID,
		.errors = 1,
		.feature_compat = XW_COMPAT_HAS_JOURNAL,
		.feature_incompat = XW_INCOMPAT_FILETYPE | XW_INCOMPAT_EXTENTS,
		.journal_inum = XW_INO_JOURNAL,
		.uuid = "the world's uuid",
		.volume_name = "old",
	};

	while (1024u << sb.log_block_size < spec->block_size)
		sb.log_block_size++;
	sb.log_cluster_size = sb.log_block_size;
	if (spec->csum) {
		sb.feature_ro_compat |= XW_RO_METADATA_CSUM;
		sb.checksum_type = 1;
	}
	if (spec->bit64) {
		sb.feature_incompat |= XW_INCOMPAT_64BIT;
		sb.desc_size = 64;
	}
	return sb;
}

static struct xw_group_desc make_group(const struct xw_super *sb)
{
	const xw_blk at = sb->first_data_block + 2;

	return (struct xw_group_desc){
		.block_bitmap = at,
		.inode_bitmap = at + 1,
		.inode_table = at + 2,
		.free_blocks = 100,
		.free_inodes = 7,
	};
}

static void put_group(unsigned char *img, const struct xw_super *sb, const struct xw_group_desc *gd)
{
	xw_group_encode(gd, sb, xw_super_csum_seed(sb), 0,
			img + (sb->first_data_block + 1) * xw_super_block_size(sb));
}

static void put_inode(unsigned char *img, const struct xw_super *sb, const struct xw_group_desc *gd)
{
	const uint32_t bs = xw_super_block_size(sb);
	unsigned char *raw = img + gd->inode_table * bs + (XW_INO_JOURNAL - 1) * INODE_SIZE;
	const struct xw_extent e = {.len = WORLD_LOG_BLOCKS, .pblk = WORLD_LOG_FIRST};
	struct xw_inode in = {
		.mode = XW_S_IFREG | 0600,
		.links = 1,
		.size = (uint64_t)WORLD_LOG_BLOCKS * bs,
		.flags = XW_FL_EXTENTS,
		.extra_isize = XW_INODE_EXTRA_WANTED,
	};

	xw_extent_hdr_encode(in.block, &(struct xw_extent_hdr){.entries = 1, .max = 4});
	xw_extent_leaf_encode(in.block, 0, &e);
	memset(raw, 0, INODE_SIZE);
	xw_inode_encode(&in, sb, raw);
	xw_inode_set_csum(raw, sb, xw_super_csum_seed(sb), XW_INO_JOURNAL);
}

static void put_log(unsigned char *img, const struct world_spec *spec)
{
	const struct xw_jsb jsb = {
		.blocktype = XW_JBD2_SUPER_V2,
		.blocksize = spec->block_size,
		.maxlen = WORLD_LOG_BLOCKS,
		.first = 1,
		.sequence = 0xFFFFFFFD,
		.feature_incompat = spec->log_incompat,
		.checksum_type = 4,
		.uuid = "journal",
		.nr_users = 1,
	};

	memset(img + (size_t)WORLD_LOG_FIRST * spec->block_size, 0, spec->block_size);
	xw_jsb_encode(&jsb, img + (size_t)WORLD_LOG_FIRST * spec->block_size);
}

static void clear(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->crash.diag = &w->diag;
	w->store.ops = &store_ops;
	w->store.name = "(redo)";
}

/* Most of an image is zeros, which a new device has. */
static void put_image(struct world *w, const void *img, size_t size)
{
	static const unsigned char zeros[4096];
	const unsigned char *p = img;

	w->img = crash_dev_open(&w->crash, size);
	for (size_t n, at = 0; at < size; at += n) {
		n = XW_MIN(size - at, sizeof(zeros));
		if (memcmp(p + at, zeros, n))
			ck_assert_int_eq(xw_dev_pwrite(w->img, p + at, n, at), 0);
	}
	ck_assert_int_eq(xw_dev_flush(w->img), 0);
	w->crash.steps = 0;
}

void world_around(struct world *w, const void *img, size_t size)
{
	clear(w);
	put_image(w, img, size);
}

void world_open(struct world *w, const struct world_spec *spec)
{
	const struct xw_super sb = make_super(spec);
	const struct xw_group_desc gd = make_group(&sb);
	unsigned char ramp[1024];

	clear(w);
	w->spec = *spec;
	w->old_size = (size_t)WORLD_BLOCKS * spec->block_size + 700;
	w->new_size = (size_t)((int64_t)w->old_size + spec->grow);
	w->old_img = calloc(1, w->old_size + w->new_size);
	w->new_img = calloc(1, w->old_size + w->new_size);
	ck_assert(w->old_img && w->new_img);
	for (size_t i = 0; i < sizeof(ramp); i++)
		ramp[i] = (unsigned char)(i % 251);
	for (size_t n, i = 0; i < w->old_size; i += n) {
		n = XW_MIN(w->old_size - i, 512u);
		memcpy(w->old_img + i, ramp + i / 512 * 13 % 251, n);
	}
	put_group(w->old_img, &sb, &gd);
	put_inode(w->old_img, &sb, &gd);
	put_log(w->old_img, spec);
	if (!spec->lost)
		xw_super_encode(&sb, w->old_img + XW_SUPER_OFFSET);
	put_image(w, w->old_img, w->old_size);
}

void world_close(struct world *w)
{
	xw_dev_close(w->img);
	xw_dev_close(w->tmp);
	xw_dev_close(w->pub);
	free(w->old_img);
	free(w->new_img);
}

static uint32_t rnd(uint32_t *x)
{
	return (*x = *x * 1664525u + 1013904223u) >> 8;
}

/* Some fifty blocks: new contents, zeros, what looks like a log block, pieces. */
static void change_blocks(struct xw_dev *o, uint32_t bs)
{
	unsigned char *buf = malloc(bs);
	uint32_t x = 99;

	for (int i = 0; i < 50; i++) {
		uint64_t blk = 10 + rnd(&x) % (WORLD_LOG_FIRST - 10);

		if (i % 5 == 0)
			blk = WORLD_LOG_FIRST + WORLD_LOG_BLOCKS + rnd(&x) % 30;
		for (uint32_t k = 0; k < bs; k++)
			buf[k] = (unsigned char)rnd(&x);
		if (i % 4 == 0)
			*(be32 *)buf = putbe32(XW_JBD2_MAGIC);
		if (i % 7 == 3)
			ck_assert_int_eq(xw_dev_zero(o, blk * bs, bs), 0);
		else if (i % 7 == 5)
			ck_assert_int_eq(xw_dev_pwrite(o, buf, 3, blk * bs + 5), 0);
		else
			ck_assert_int_eq(xw_dev_pwrite(o, buf, bs, blk * bs), 0);
	}
	free(buf);
}

struct xw_dev *world_change(struct world *w)
{
	const uint32_t bs = w->spec.block_size;
	struct xw_super sb = make_super(&w->spec);
	struct xw_group_desc gd = make_group(&sb);
	unsigned char super[XW_SUPER_SIZE], *desc = calloc(1, 4096);
	struct xw_dev *o;

	ck_assert_int_eq(xw_overlay_open(crash_dev_dup(w->img), bs, &w->diag, &o), 0);
	if (w->spec.grow)
		ck_assert_int_eq(xw_dev_set_size(o, w->new_size), 0);
	change_blocks(o, bs);
	if (w->spec.grow)
		sb.blocks_count = w->new_size / bs + (w->spec.grow > 0);
	strcpy(sb.volume_name, "new");
	sb.free_blocks_count = 0x1234;
	sb.free_inodes_count = 5;
	sb.wtime = 1700000000;
	sb.kbytes_written = 0x1122334455667788;
	sb.error_count = 3;
	xw_super_encode(&sb, super);
	ck_assert_int_eq(xw_dev_pwrite(o, super, sizeof(super), XW_SUPER_OFFSET), 0);
	gd.free_blocks = 77;
	memcpy(desc, w->old_img + (size_t)(sb.first_data_block + 1) * bs, 64);
	xw_group_encode(&gd, &sb, xw_super_csum_seed(&sb), 0, desc);
	ck_assert_int_eq(xw_dev_pwrite(o, desc, xw_super_desc_size(&sb),
				       (uint64_t)(sb.first_data_block + 1) * bs),
			 0);
	/* around the superblock: boot sectors and what fills its block */
	ck_assert_int_eq(xw_dev_pwrite(o, "boot", 4, 0), 0);
	if (bs > 2048)
		ck_assert_int_eq(xw_dev_pwrite(o, "behind", 6, 2048), 0);
	if (w->spec.grow > 0)
		ck_assert_int_eq(xw_dev_pwrite(o, "end", 3, w->new_size - 3), 0);
	ck_assert_int_eq(xw_dev_pread(o, w->new_img, w->new_size, 0), 0);
	free(desc);
	return o;
}

void world_revive(struct world *w)
{
	w->crash.dead = false;
	w->crash.fail_at = 0;
	crash_dev_settle(w->img);
	if (w->tmp)
		crash_dev_settle(w->tmp);
	if (w->pub)
		crash_dev_settle(w->pub);
	xw_diag_clear(&w->diag);
}

/*
 * A change that was never begun may have lost its list behind the end of the image while it was
 * written: then there are only zeros. Or there may be no superblock that says where the filesystem
 * ends. Then the file stays longer.
 */
static bool is_longer(const struct world *w, const unsigned char *got, size_t size,
		      size_t want_size)
{
	if (!w->spec.behind || size <= want_size || want_size != w->old_size)
		return false;
	for (size_t i = want_size; i < size && !w->spec.lost; i++)
		if (got[i])
			return false;
	return w->spec.lost || w->crash.mode == CRASH_POWER;
}

static bool equal(const struct world *w, const unsigned char *got, size_t size,
		  const unsigned char *want, size_t want_size, bool log)
{
	const size_t from = (size_t)WORLD_LOG_FIRST * w->spec.block_size;
	const size_t to = from + (size_t)WORLD_LOG_BLOCKS * w->spec.block_size;

	if (size != want_size && !is_longer(w, got, size, want_size))
		return false;
	size = want_size;
	if (!log)
		return memcmp(got, want, size) == 0;
	return !memcmp(got, want, from) && !memcmp(got + to, want + to, size - to);
}

char world_state(const struct world *w, struct xw_dev *d, bool log)
{
	unsigned char *got = malloc(d->size);
	char state = '?';

	ck_assert_ptr_nonnull(got);
	ck_assert_int_eq(xw_dev_pread(d, got, d->size, 0), 0);
	if (equal(w, got, d->size, w->old_img, w->old_size, log))
		state = 'o';
	else if (equal(w, got, d->size, w->new_img, w->new_size, log))
		state = 'n';
	free(got);
	return state;
}

/* ---- what the tests do to it ---- */

bool world_ignores_log(const struct world_spec *spec, enum xw_commit_how how)
{
	return how == XW_COMMIT_JOURNAL || (how == XW_COMMIT_INSIDE && !spec->behind);
}

/* The journal is not in use: seven of eight of its blocks. */
static int find_room(void *arg, uint32_t block_size, uint64_t bytes, struct xw_runs *out)
{
	const struct world *w = arg;
	uint64_t found = 0;

	ck_assert_uint_eq(block_size, w->spec.block_size);
	for (xw_blk at = WORLD_LOG_FIRST; at < WORLD_LOG_FIRST + WORLD_LOG_BLOCKS; at += 8) {
		if (found >= xw_inside_blocks(block_size, bytes, out->list.n))
			return 0;
		ck_assert_int_eq(xw_vec_push(&out->list, ((struct xw_run){at, 7})), 0);
		found += 7;
	}
	return found >= xw_inside_blocks(block_size, bytes, out->list.n) ? 0 : XW_ERR_NOSPC;
}

static int commit_inside(struct world *w, struct xw_dev *o, struct xw_commit_opts *opts,
			 struct xw_commit_info *info)
{
	int rc = xw_inside_new(xw_overlay_base(o), xw_overlay_block_size(o),
			       w->spec.behind ? NULL : find_room, w, &w->diag, &opts->inside[0]);

	ck_assert_int_eq(rc, 0);
	rc = xw_commit(o, opts, &w->diag, info);
	xw_redo_store_close(opts->inside[0]);
	return rc;
}

int world_commit(struct world *w, struct xw_dev *o, enum xw_commit_how how,
		 struct xw_commit_info *info)
{
	struct xw_commit_opts opts = {
		.how = how, .store = &w->store, .now = 1700000000, .nonce = 0x1234567890ABCDEF};

	if (how == XW_COMMIT_INSIDE)
		return commit_inside(w, o, &opts, info);
	return xw_commit(o, &opts, &w->diag, info);
}

/* Recover through a second handle, and close it: the state found. */
char world_recover(struct world *w, unsigned flags, bool log, struct xw_recover_info *info)
{
	struct xw_dev *d = crash_dev_dup(w->img);
	char state;
	int rc = xw_recover_dev(&d, &w->store, flags | XW_RECOVER_JOURNAL, &w->diag, info);

	if (rc)
		ck_abort_msg("recovery: %d, %s", rc, w->diag.text);
	state = world_state(w, d, log);
	xw_dev_close(d);
	return state;
}

void world_check_settled(struct world *w, bool log, char state)
{
	struct xw_recover_info info;
	uint64_t steps = w->crash.steps;

	ck_assert_int_eq(world_recover(w, XW_RECOVER_RDONLY, log, &info), state);
	ck_assert(!info.redo_applied && !info.super_fixed && !info.journal.needed);
	ck_assert_int_eq(world_recover(w, 0, log, &info), state);
	ck_assert(!info.redo_applied && !info.redo_dropped && !info.journal.needed);
	ck_assert_ptr_null(w->pub);
	/* nothing but the removal of left-over temporary files */
	ck_assert_uint_le(w->crash.steps - steps, 1);
}

/* The state between commit point and end: half of the blocks in place. */
static void half_done(struct world *w, const struct world_spec *spec, enum xw_commit_how how,
		      uint64_t before_end)
{
	struct xw_dev *o;
	uint64_t steps;

	world_open(w, spec);
	o = world_change(w);
	ck_assert_int_eq(world_commit(w, o, how, NULL), 0);
	xw_dev_close(o);
	steps = w->crash.steps;
	world_close(w);

	world_open(w, spec);
	o = world_change(w);
	w->crash.fail_at = steps - before_end;
	w->crash.seed = 77;
	ck_assert_int_lt(world_commit(w, o, how, NULL), 0);
	xw_dev_close(o);
	world_revive(w);
}

void world_half_done(struct world *w, const struct world_spec *spec)
{
	half_done(w, spec, XW_COMMIT_FILE, 12);
	ck_assert_ptr_nonnull(w->pub);
}

void world_half_inside(struct world *w, const struct world_spec *spec)
{
	/* at the end: flushes, two superblocks, ten runs that become zeros, and as many holes */
	half_done(w, spec, XW_COMMIT_INSIDE, 30);
	ck_assert_ptr_null(w->pub);
}

void world_get_super(struct world *w, uint8_t super[XW_SUPER_SIZE])
{
	ck_assert_int_eq(xw_dev_pread(w->img, super, XW_SUPER_SIZE, XW_SUPER_OFFSET), 0);
}

void world_put_super(struct world *w, const uint8_t *super)
{
	ck_assert_int_eq(xw_dev_pwrite(w->img, super, XW_SUPER_SIZE, XW_SUPER_OFFSET), 0);
}

void world_edit_super(struct xw_dev *d, unsigned off, uint8_t flip)
{
	uint8_t super[XW_SUPER_SIZE];

	ck_assert_int_eq(xw_dev_pread(d, super, sizeof(super), XW_SUPER_OFFSET), 0);
	super[off] ^= flip;
	xw_super_bytes_incompat(super, 0, 0);
	ck_assert_int_eq(xw_dev_pwrite(d, super, sizeof(super), XW_SUPER_OFFSET), 0);
}
