/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target over what writes to an image by block numbers that it has read: redo records in files
 * and in the image, undo files, and logs. All have right checksums; the input says which numbers in
 * them are wild. The image is a window, which ends with the filesystem or behind it: there lies a
 * neighbor that nobody may change.
 *
 * Byte 0 of the input is the kind, byte 1 the geometry; then each record of 10 bytes sets a number:
 * which one, how, and eight bytes of the value.
 *
 * Properties, besides no crash: what is refused says why and has written nothing; what is accepted
 * has written within the window only, whose size does not change.
 */
#include "config.h"

#include "../unit/memdev.h"
#include "../unit/plain.h"
#include "base/crc.h"
#include "base/endian.h"
#include "commit/commit.h"
#include "commit/inside.h"
#include "commit/super.h"
#include "commit/undo_apply.h"
#include "commit/undo_file.h"
#include "dev/overlay.h"
#include "journal/replay.h"
#include "journal/txn.h"
#include "session/recover.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BLOCKS 200u
#define NEIGHBOR 64u /* blocks */
#define ROOM_FIRST 100u /* free blocks, for a record in the image */
#define ROOM_BLOCKS 60u
#define MARK 0xA5

enum { FILE_RECORD, INSIDE_RECORD, UNDO, LOG, KINDS };

/* ---- a window with a neighbor ---- */

struct window {
	struct xw_dev dev;
	struct xw_dev *under; /* owned by the world, not by its windows */
	uint64_t writes;
};

static struct window *window_of(struct xw_dev *d)
{
	return (struct window *)d;
}

static int window_pread(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	if (off > d->size || len > d->size - off)
		return xw_fail(d->diag, XW_ERR_TRUNCATED, "window: read behind its end");
	return xw_dev_pread(window_of(d)->under, buf, len, off);
}

/* Not bounded: a write behind the window must show in the neighbor. */
static int window_pwritev(struct xw_dev *d, const struct iovec *iov, int n, uint64_t off)
{
	window_of(d)->writes++;
	return xw_dev_pwritev(window_of(d)->under, iov, n, off);
}

static int window_zero(struct xw_dev *d, uint64_t off, uint64_t len)
{
	window_of(d)->writes++;
	return xw_dev_zero(window_of(d)->under, off, len);
}

static int window_flush(struct xw_dev *d)
{
	(void)d;
	return 0;
}

static int window_set_size(struct xw_dev *d, uint64_t size)
{
	(void)size;
	return xw_fail(d->diag, XW_ERR_IO, "window: has a fixed size");
}

static int window_check_end(struct xw_dev *d, uint64_t end)
{
	return end <= d->size ? 0 : xw_fail(d->diag, XW_ERR_HOSTFULL, "window: has a fixed size");
}

static void window_close(struct xw_dev *d)
{
	free(d);
}

static struct xw_dev *open_part(const struct xw_dev_ops *ops, struct xw_dev *under, uint64_t size,
				struct xw_diag *diag)
{
	struct window *w = calloc(1, sizeof(*w));

	ck_assert(w);
	w->under = under;
	w->dev = (struct xw_dev){.ops = ops, .name = "window", .size = size, .diag = diag};
	return &w->dev;
}

static struct xw_dev *open_window(struct xw_dev *under, uint64_t size, struct xw_diag *diag)
{
	static const struct xw_dev_ops ops = {
		.pread = window_pread,
		.pwritev = window_pwritev,
		.zero = window_zero,
		.flush = window_flush,
		.set_size = window_set_size,
		.close = window_close,
		.check_end = window_check_end,
	};
	struct xw_dev *d = open_part(&ops, under, size, diag);

	d->is_window = true;
	return d;
}

/* ---- the world ---- */

struct world {
	struct xw_redo_store store;
	struct xw_diag diag;
	uint32_t bs;
	struct xw_dev *disk, *file; /* the redo or undo file, or NULL */
	bool wide; /* the window ends behind the filesystem */
	uint64_t number; /* of the record in the image */
};

static struct world *world_of(struct xw_redo_store *s)
{
	return (struct world *)s; /* store is the first member */
}

/* ---- the redo or undo file: handles that do not close it ---- */

static int file_pwritev(struct xw_dev *d, const struct iovec *iov, int n, uint64_t off)
{
	const int rc = xw_dev_pwritev(window_of(d)->under, iov, n, off);

	d->size = window_of(d)->under->size;
	return rc;
}

static int file_set_size(struct xw_dev *d, uint64_t size)
{
	const int rc = xw_dev_set_size(window_of(d)->under, size);

	d->size = window_of(d)->under->size;
	return rc;
}

static struct xw_dev *share(struct xw_dev *file)
{
	static const struct xw_dev_ops ops = {
		.pread = window_pread,
		.pwritev = file_pwritev,
		.zero = window_zero,
		.flush = window_flush,
		.set_size = file_set_size,
		.close = window_close,
	};

	return open_part(&ops, file, file->size, file->diag);
}

static int store_create(struct xw_redo_store *s, uint64_t bytes, struct xw_dev **out)
{
	struct world *w = world_of(s);

	(void)bytes;
	ck_assert(!xw_dev_open_mem(0, &w->diag, &w->file));
	*out = share(w->file);
	return 0;
}

static int store_publish(struct xw_redo_store *s)
{
	(void)s;
	return 0;
}

static int store_open(struct xw_redo_store *s, struct xw_dev **out)
{
	struct world *w = world_of(s);

	if (!w->file)
		return XW_ERR_NOTFOUND;
	*out = share(w->file);
	return 0;
}

static int store_remove(struct xw_redo_store *s)
{
	struct world *w = world_of(s);

	if (w->file)
		xw_dev_close(w->file);
	w->file = NULL;
	return 0;
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

static void make_super(const struct world *w, uint8_t super[XW_SUPER_SIZE])
{
	struct xw_super sb = {
		.magic = XW_SUPER_MAGIC,
		.rev_level = 1,
		.inodes_count = 64,
		.inodes_per_group = 64,
		.inode_size = 256,
		.first_ino = 11,
		.blocks_count = BLOCKS,
		.blocks_per_group = 8 * w->bs,
		.clusters_per_group = 8 * w->bs,
		.first_data_block = w->bs == 1024,
		.state = XW_STATE_VALID,
		.uuid = "the window's own",
		.feature_ro_compat = XW_RO_METADATA_CSUM,
		.checksum_type = 1,
	};

	for (uint32_t n = 1024; n < w->bs; n *= 2)
		sb.log_cluster_size = ++sb.log_block_size;
	memset(super, 0, XW_SUPER_SIZE);
	xw_super_encode(&sb, super);
	ck_assert(xw_super_bytes_valid(super));
}

static void open_world(struct world *w, uint32_t bs)
{
	uint8_t super[XW_SUPER_SIZE], *mark = malloc((size_t)NEIGHBOR * bs);

	*w = (struct world){.bs = bs};
	w->store = (struct xw_redo_store){.ops = &store_ops, .name = "redo file"};
	ck_assert(mark && !xw_dev_open_mem((uint64_t)(BLOCKS + NEIGHBOR) * bs, NULL, &w->disk));
	make_super(w, super);
	ck_assert(!xw_dev_pwrite(w->disk, super, sizeof(super), XW_SUPER_OFFSET));
	memset(mark, MARK, (size_t)NEIGHBOR * bs);
	ck_assert(!xw_dev_pwrite(w->disk, mark, (size_t)NEIGHBOR * bs, (uint64_t)BLOCKS * bs));
	free(mark);
}

static void close_world(struct world *w)
{
	(void)store_remove(&w->store);
	xw_dev_close(w->disk);
}

static struct xw_dev *window(struct world *w)
{
	const uint64_t blocks = BLOCKS + (w->wide ? NEIGHBOR / 2 : 0);

	return open_window(w->disk, blocks * w->bs, &w->diag);
}

static void check_neighbor(const struct world *w)
{
	const uint64_t len = (uint64_t)NEIGHBOR * w->bs;
	uint8_t *now = malloc(len);

	ck_assert(now && w->disk->size == (uint64_t)(BLOCKS + NEIGHBOR) * w->bs);
	ck_assert(!xw_dev_pread(w->disk, now, len, (uint64_t)BLOCKS * w->bs));
	for (uint64_t i = 0; i < len; i++)
		ck_assert(now[i] == MARK);
	free(now);
}

/* ---- values ---- */

/* A record of the input: a number near one that matters, or any. */
static uint64_t value_of(const uint8_t *p)
{
	const uint64_t any = peek64(p + 2);

	switch (p[1] % 6) {
	case 0:
		return BLOCKS + any % (NEIGHBOR + 2);
	case 1:
		return any % (BLOCKS + 2);
	case 2:
		return any % 4;
	case 3:
		return UINT64_C(1) << any % 64;
	case 4:
		return UINT64_MAX / (1 + any % 4096);
	default:
		return any;
	}
}

/* ---- logs ---- */

/* Set the number of tag i in the first descriptor of a log with checksums of version 3. */
static void set_tag(struct xw_log *log, unsigned i, xw_blk blk)
{
	uint8_t *block = malloc(log->block_size);
	struct xw_jtag_iter it = {.f = &log->fmt, .blk = block};
	uint32_t at = XW_JBD2_HDR, n;
	struct xw_jtag tag;
	uint64_t off;

	ck_assert(block && !xw_log_read(log, 1, block) && !xw_log_where(log, 1, &off));
	n = xw_jtag_count(&log->fmt, block);
	for (i = n ? i % n : 0; i && xw_jtag_next(&it, &tag) == 1; i--)
		at = it.off;
	if (n) {
		*(be32 *)(block + at) = putbe32((uint32_t)blk);
		*(be32 *)(block + at + 8) = putbe32((uint32_t)(blk >> 32));
		xw_jblock_set_tail(&log->fmt, block);
		ck_assert(!xw_dev_pwrite(log->dev, block, log->block_size, off));
	}
	free(block);
}

/* ---- redo records ---- */

static int find_room(void *arg, uint32_t block_size, uint64_t bytes, struct xw_runs *out)
{
	(void)arg;
	(void)block_size;
	(void)bytes;
	for (xw_blk at = ROOM_FIRST; at < ROOM_FIRST + ROOM_BLOCKS; at += 8)
		if (xw_vec_push(&out->list, ((struct xw_run){at, 7})))
			return XW_ERR_NOMEM;
	return 0;
}

/* Stops a commit behind its commit point: its state is what another tool finds. */
struct cut {
	struct xw_dev dev;
	struct xw_dev *under;
	bool dead;
};

static int cut_pread(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	return xw_dev_pread(((struct cut *)d)->under, buf, len, off);
}

static int cut_pwritev(struct xw_dev *d, const struct iovec *iov, int n, uint64_t off)
{
	struct cut *c = (struct cut *)d;
	int rc;

	if (c->dead)
		return xw_fail(d->diag, XW_ERR_IO, "cut");
	rc = xw_dev_pwritev(c->under, iov, n, off);
	/* the superblock alone: the commit point */
	c->dead = off == XW_SUPER_OFFSET && n == 1 && iov[0].iov_len == XW_SUPER_SIZE;
	return rc;
}

static int cut_zero(struct xw_dev *d, uint64_t off, uint64_t len)
{
	struct cut *c = (struct cut *)d;

	return c->dead ? xw_fail(d->diag, XW_ERR_IO, "cut") : xw_dev_zero(c->under, off, len);
}

static void cut_close(struct xw_dev *d)
{
	xw_dev_close(((struct cut *)d)->under);
	free(d);
}

static struct xw_dev *open_cut(struct xw_dev *under)
{
	static const struct xw_dev_ops ops = {
		.pread = cut_pread,
		.pwritev = cut_pwritev,
		.zero = cut_zero,
		.flush = window_flush,
		.set_size = window_set_size,
		.close = cut_close,
	};
	struct cut *c = calloc(1, sizeof(*c));

	ck_assert(c);
	c->under = under;
	c->dev = *under;
	c->dev.ops = &ops;
	return &c->dev;
}

/* A change that is interrupted at its commit point. */
static void make_record(struct world *w, bool inside)
{
	struct xw_commit_opts opts = {.how = inside ? XW_COMMIT_INSIDE : XW_COMMIT_FILE,
				      .store = &w->store,
				      .now = 1700000000,
				      .nonce = 77};
	uint8_t super[XW_SUPER_SIZE];
	struct xw_dev *o;

	ck_assert(!xw_overlay_open(open_cut(window(w)), w->bs, &w->diag, &o));
	for (unsigned i = 0; i < 6; i++)
		ck_assert(!xw_dev_pwrite(o, "changed", 7, (10 + 3 * i) * w->bs));
	ck_assert(!xw_dev_pread(o, super, sizeof(super), XW_SUPER_OFFSET));
	memcpy(super + 0x78, "new", 3);
	xw_super_bytes_incompat(super, 0, 0);
	ck_assert(!xw_dev_pwrite(o, super, sizeof(super), XW_SUPER_OFFSET));
	if (inside)
		ck_assert(!xw_inside_new(xw_overlay_base(o), w->bs, find_room, NULL, &w->diag,
					 &opts.inside[0]));
	ck_assert(xw_commit(o, &opts, &w->diag, NULL));
	xw_diag_clear(&w->diag);
	xw_redo_store_close(opts.inside[0]);
	xw_dev_close(o);
	ck_assert(!xw_dev_pread(w->disk, super, sizeof(super), XW_SUPER_OFFSET));
	ck_assert(xw_super_bytes_has(super, XW_INCOMPAT_PENDING));
	w->number = xw_super_bytes_number(super, 0);
	ck_assert(!inside == !w->number && !inside == !!w->file);
}

/* Set a number in the header of the record on d. */
static void set_header(const struct world *w, struct xw_dev *d, unsigned which, uint64_t value)
{
	static const unsigned at[] = {0x28, 0x30, 0x38, 0x40, 0x48};
	uint8_t header[4096];

	ck_assert(!xw_dev_pread(d, header, sizeof(header), 0));
	if (which % 8 < XW_ARRAY_SIZE(at)) {
		poke64(header + at[which % 8], value);
	} else if (!w->wide) { /* the size of the filesystem itself */
		poke32(header + 0xC00 + 4, (uint32_t)value);
		xw_super_bytes_incompat(header + 0xC00, 0, 0);
	}
	poke32(header + 0x3FC, 0);
	poke32(header + 0x3FC, xw_crc32c(~0u, header, sizeof(header)));
	ck_assert(!xw_dev_pwrite(d, header, sizeof(header), 0));
}

/* Set a number in the list of the record in the image. */
static void set_list(struct world *w, unsigned which, uint64_t value)
{
	static const unsigned at[] = {0x28, 0x30, 0x40, 0x50, 0x58, 0x60, 0x68, 0x70};
	uint8_t *list = malloc(w->bs);

	ck_assert(list);
	ck_assert(!xw_dev_pread(w->disk, list, w->bs, w->number * 1024));
	poke64(list + at[which % XW_ARRAY_SIZE(at)], value);
	poke32(list + 0x0C, 0);
	poke32(list + 0x0C, xw_crc32c(~0u, list, w->bs));
	ck_assert(!xw_dev_pwrite(w->disk, list, w->bs, w->number * 1024));
	free(list);
}

/* The record before its list is changed. Its store and image, if any, are closed after it. */
static struct xw_dev *open_record(struct world *w, bool inside, struct xw_redo_store **s,
				  struct xw_dev **image)
{
	struct xw_dev *d = NULL;

	*s = NULL;
	*image = NULL;
	if (!inside)
		return share(w->file);
	*image = window(w);
	ck_assert(!xw_inside_at(*image, w->number, UINT64_MAX, NULL, s));
	ck_assert(!(*s)->ops->open(*s, &d));
	return d;
}

static void forge_record(struct world *w, bool inside, const uint8_t *data, size_t size)
{
	struct xw_redo_store *s;
	struct xw_dev *image, *d = open_record(w, inside, &s, &image);
	struct xw_log *log;
	uint8_t header[0x50];
	uint64_t off;

	ck_assert(!xw_dev_pread(d, header, sizeof(header), 0));
	off = peek64(header + 0x40);
	ck_assert(!xw_log_open_flat(d, off, w->bs, peek64(header + 0x48), NULL, &log));
	for (; size >= 10; data += 10, size -= 10)
		if (data[0] % 3 == 0)
			set_tag(log, data[0] / 3, value_of(data));
		else if (data[0] % 3 == 1)
			set_header(w, d, data[0] / 3, value_of(data));
		else if (inside)
			set_list(w, data[0] / 3, value_of(data));
	xw_log_close(log);
	xw_dev_close(d);
	xw_redo_store_close(s);
	xw_dev_close(image);
}

static void fuzz_record(struct world *w, bool inside, const uint8_t *data, size_t size)
{
	const unsigned flags =
		(data[1] & 0x80 ? XW_RECOVER_FORCE : 0) | (data[1] & 0x40 ? XW_RECOVER_RDONLY : 0);
	struct xw_recover_info info;
	struct xw_dev *dev, *base;
	int rc;

	make_record(w, inside);
	forge_record(w, inside, data + 2, size - 2);
	dev = base = window(w);
	rc = xw_recover_dev(&dev, &w->store, flags, &w->diag, &info);
	ck_assert(!rc == !w->diag.code);
	/* refused, or to be written to memory */
	if (rc || info.stuck || flags & XW_RECOVER_RDONLY)
		ck_assert(!window_of(base)->writes);
	xw_dev_close(dev);
}

/* ---- undo files ---- */

static void fuzz_undo(struct world *w, const uint8_t *data, size_t size)
{
	uint8_t super[XW_SUPER_SIZE], *buf = calloc(1, w->bs);
	struct xw_undo_file f = {.diag = &w->diag};
	struct xw_dev *dev = window(w);
	struct xw_undo *u = NULL;
	int rc;

	ck_assert(buf && !xw_dev_open_mem(0, &w->diag, &w->file));
	f.dev = w->file;
	ck_assert(!xw_undo_file_begin(&f, w->bs));
	if (data[1] & 0x80) { /* the superblock before the change */
		make_super(w, super);
		memcpy(buf + XW_SUPER_OFFSET % w->bs, super, w->bs == 1024 ? 1024 : XW_SUPER_SIZE);
		ck_assert(!xw_undo_file_put(&f, XW_SUPER_OFFSET / w->bs * w->bs, buf, 1, w->bs));
	}
	for (data += 2, size -= 2; size >= 10; data += 10, size -= 10)
		ck_assert(!xw_undo_file_put(&f, value_of(data) % (UINT64_C(1) << 50) * w->bs, buf,
					    1, w->bs - data[0] % w->bs));
	make_super(w, super);
	ck_assert(!xw_undo_file_finish(&f, super));
	rc = xw_undo_open_dev(share(w->file), false, &w->diag, &u);
	ck_assert(!rc);
	rc = xw_undo_apply(u, dev, NULL, NULL);
	ck_assert(!rc == !w->diag.code);
	ck_assert(!rc || !window_of(dev)->writes);
	xw_undo_close(u);
	xw_dev_close(dev);
	free(f.keys);
	free(buf);
}

/* ---- logs of an image ---- */

static int get_block(void *arg, size_t i, xw_blk *blk, const void **out)
{
	*blk = 10 + i;
	*out = arg;
	return 0;
}

static void fuzz_log(struct world *w, const uint8_t *data, size_t size)
{
	const struct xw_jsb jsb = {
		.blocktype = XW_JBD2_SUPER_V2,
		.blocksize = w->bs,
		.maxlen = ROOM_BLOCKS,
		.first = 1,
		.start = 1,
		.sequence = 1,
		.feature_incompat = XW_JBD2_INCOMPAT_64BIT | XW_JBD2_INCOMPAT_CSUM_V3,
		.checksum_type = 4,
		.nr_users = 1,
	};
	const unsigned flags = data[1] & 0x80 ? XW_REPLAY_SALVAGE : 0;
	uint8_t *buf = calloc(1, w->bs);
	const struct xw_block_source src = {.n = 8, .arg = buf, .get = get_block};
	struct xw_dev *dev = window(w);
	struct xw_replay plan;
	struct xw_log *log;
	int rc;

	ck_assert(buf);
	ck_assert(!xw_log_create_flat(dev, (uint64_t)ROOM_FIRST * w->bs, &jsb, &w->diag, &log));
	ck_assert(!xw_txn_write(log, 1, 1, &src, 0, 0));
	for (data += 2, size -= 2; size >= 10; data += 10, size -= 10)
		set_tag(log, data[0], value_of(data));
	window_of(dev)->writes = 0;
	rc = xw_replay_plan(log, flags, BLOCKS, &plan);
	ck_assert(!rc == !w->diag.code);
	for (size_t i = 0; i < plan.blocks.n; i++)
		ck_assert(plan.blocks.v[i].blk < BLOCKS);
	if (!rc)
		rc = xw_replay_apply(log, &plan, UINT64_MAX, dev);
	ck_assert(!rc || !window_of(dev)->writes);
	xw_replay_free(&plan);
	xw_log_close(log);
	xw_dev_close(dev);
	free(buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w;

	if (size < 2)
		return 0;
	open_world(&w, 1024u << data[1] % 3);
	/* an undo file of an unknown filesystem is limited by the window alone */
	w.wide = data[1] & 0x20 && (data[0] % KINDS != UNDO || data[1] & 0x80);
	switch (data[0] % KINDS) {
	case FILE_RECORD:
	case INSIDE_RECORD:
		fuzz_record(&w, data[0] % KINDS == INSIDE_RECORD, data, size);
		break;
	case UNDO:
		fuzz_undo(&w, data, size);
		break;
	default:
		fuzz_log(&w, data, size);
	}
	check_neighbor(&w);
	close_world(&w);
	return 0;
}
