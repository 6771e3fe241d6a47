/* SPDX-License-Identifier: MIT */
/*
 * The format of a redo record: written sequentially, verified completely before it is used.
 *
 * Invariant: a record accepted by xw_redo_load() is complete. Every part has a checksum, and the
 * header contains the size of each part.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/crc.h"
#include "base/types.h"
#include "commit/inside.h"
#include "commit/redo.h"
#include "commit/super.h"

#define SEQUENCE 1

/* ---- sizes of the image ---- */

struct sizes {
	const uint8_t *old_super, *new_super;
	uint64_t old_size, new_size; /* sizes of the image in bytes */
	uint64_t blocks; /* number of blocks in the change */
	uint32_t block_size;
};

/* Size of the filesystem in bytes; 0: the superblock is invalid. */
static uint64_t fs_bytes(const uint8_t super[XW_SUPER_SIZE], struct xw_super *sb)
{
	if (xw_super_decode(super, sb) ||
	    sb->blocks_count > (uint64_t)INT64_MAX / xw_super_block_size(sb))
		return 0;
	return sb->blocks_count * xw_super_block_size(sb);
}

/* If the filesystem grows, the change must include the descriptors of the new groups. */
static bool has_descriptors(const struct sizes *s, const struct xw_super *sb, uint64_t before)
{
	const uint64_t bs = xw_super_block_size(sb), groups = xw_super_groups(sb);
	const uint64_t had = before / (bs * sb->blocks_per_group);

	return groups <= had || (groups - had) * xw_super_desc_size(sb) / bs <= s->blocks;
}

/*
 * The image may grow only to the size of its filesystem, before or after the change, and never
 * becomes shorter than it: forged sizes in a redo file are rejected.
 */
static bool sizes_agree(const struct sizes *s)
{
	struct xw_super sb;
	const uint64_t before = XW_MAX(fs_bytes(s->old_super, &sb), s->old_size);
	const uint64_t after = fs_bytes(s->new_super, &sb);

	if (s->new_size < s->old_size)
		return after && s->new_size >= after;
	if (after > before && has_descriptors(s, &sb, before))
		return s->new_size <= xw_round_up(after, s->block_size);
	return s->new_size <= xw_round_up(before, s->block_size);
}

/*
 * Number of blocks of the record's size that a change of this filesystem can write: the last one
 * ends where the filesystem ends, before or after the change, and where the image ends. If neither
 * superblock is valid, the image alone limits it.
 */
static uint64_t limit_of(const uint8_t *old_super, const uint8_t *new_super, uint64_t size,
			 uint32_t block_size)
{
	struct xw_super sb;
	const uint64_t fs = XW_MAX(fs_bytes(old_super, &sb), fs_bytes(new_super, &sb));

	return xw_div_up(fs ? XW_MIN(fs, size) : size, block_size);
}

static int write_hashes(struct xw_dev *dev, const struct xw_change *c, struct xw_redo_header *h)
{
	const size_t bytes = xw_redo_hash_bytes(c->n, c->block_size);
	auto_free uint64_t *table = malloc(bytes);

	if (!table)
		return xw_fail_nomem(c->diag, "a redo file");
	memcpy(table, c->hashes, bytes);
	xw_redo_hashes_encode(table, bytes / sizeof(*table));
	h->hashes_csum = xw_crc32c(~0u, table, bytes);
	return xw_dev_pwrite(dev, table, bytes, XW_REDO_HEADER_SIZE);
}

static int write_log(struct xw_dev *dev, const struct xw_change *c, const struct xw_redo_header *h,
		     int64_t now)
{
	struct xw_jsb jsb = {
		.blocktype = XW_JBD2_SUPER_V2,
		.blocksize = c->block_size,
		.maxlen = (uint32_t)h->log_blocks,
		.first = 1,
		.start = 1,
		.sequence = SEQUENCE,
		.feature_incompat = XW_JBD2_INCOMPAT_64BIT | XW_JBD2_INCOMPAT_CSUM_V3,
		.checksum_type = 4,
		.nr_users = 1,
	};
	struct xw_change with_new = *c; /* a copy with a superblock page of its own */
	auto_free uint8_t *page = malloc(c->block_size);
	struct xw_block_source src;
	auto_log struct xw_log *log = NULL;
	int rc;

	if (!page)
		return xw_fail_nomem(c->diag, "a redo file");
	with_new.super_page = page;
	memcpy(with_new.super_page, c->super_page, c->block_size);
	xw_change_set_super(&with_new, c->new_super);
	src = xw_change_source(&with_new);
	memcpy(jsb.uuid, h->uuid, sizeof(jsb.uuid));
	rc = xw_dev_set_size(dev, h->log_offset + h->log_blocks * c->block_size);
	if (!rc)
		rc = xw_log_create_flat(dev, h->log_offset, &jsb, c->diag, &log);
	if (!rc)
		rc = xw_txn_write(log, 1, SEQUENCE, &src, (uint64_t)XW_MAX(now, 0), 0);
	return rc;
}

uint64_t xw_redo_bytes(const struct xw_change *c)
{
	return xw_redo_log_offset(c->n, c->block_size) +
	       xw_redo_log_blocks(c->n, c->block_size) * c->block_size;
}

int xw_redo_write(struct xw_dev *dev, const struct xw_change *c, uint64_t nonce,
		  const uint8_t pending[XW_SUPER_SIZE], const struct xw_redo_location *place,
		  int64_t now, struct xw_diag *diag)
{
	const uint64_t log_blocks = xw_redo_log_blocks(c->n, c->block_size);
	const struct sizes sizes = {c->old_super, c->new_super, c->old_size,
				    c->new_size,  c->n,         c->block_size};
	struct xw_redo_header h = {
		.block_size = c->block_size,
		.nonce = nonce,
		.old_size = c->old_size,
		.new_size = c->new_size,
		.blocks = c->n,
		.log_offset = xw_redo_log_offset(c->n, c->block_size),
		.log_blocks = log_blocks,
		.place = *place,
	};
	auto_free uint8_t *header = malloc(XW_REDO_HEADER_SIZE);
	struct xw_super sb;
	int rc;

	if (!sizes_agree(&sizes))
		return xw_fail(diag, XW_ERR_INTERNAL,
			       "%s: the image would change from %" PRIu64 " to %" PRIu64
			       " bytes, but its filesystem has another size",
			       c->base->name, c->old_size, c->new_size);
	if (c->blocks[c->n - 1] >= limit_of(c->old_super, c->new_super, c->new_size, c->block_size))
		return xw_fail(diag, XW_ERR_INTERNAL,
			       "%s: block %" PRIu64 " of a change is beyond its filesystem",
			       c->base->name, c->blocks[c->n - 1]);
	if (log_blocks > UINT32_MAX)
		return xw_fail(diag, XW_ERR_LIMIT, "%s: a change of %zu blocks is too large",
			       dev->name, c->n);
	if (!header)
		return xw_fail_nomem(diag, "a redo record");
	(void)xw_super_decode(pending, &sb);
	memcpy(h.uuid, sb.uuid, sizeof(h.uuid));
	memcpy(h.old_super, c->old_super, XW_SUPER_SIZE);
	memcpy(h.pending_super, pending, XW_SUPER_SIZE);
	memcpy(h.new_super, c->new_super, XW_SUPER_SIZE);
	rc = xw_dev_check_end(dev, xw_redo_bytes(c));
	/*
	 * The magic is written at once, so that the file is identified as ours from its first byte
	 * on.
	 */
	if (!rc)
		rc = xw_dev_pwrite(dev, XW_REDO_MAGIC, XW_REDO_MAGIC_LEN, 0);
	if (!rc)
		rc = write_hashes(dev, c, &h);
	if (!rc)
		rc = write_log(dev, c, &h, now);
	xw_redo_header_encode(&h, header);
	return rc ? rc : xw_dev_pwrite(dev, header, XW_REDO_HEADER_SIZE, 0);
}

static int damaged(const struct xw_redo *r, int code, const char *what)
{
	return xw_fail(r->diag, code, "%s: damaged redo file: %s", r->dev->name, what);
}

/* Checksums prove that a record is complete, not who made it. */
static int forged(struct xw_redo *r, const char *what)
{
	r->forged = true;
	return xw_fail(r->diag, XW_ERR_CORRUPT, "%s: forged redo record: %s; not applied",
		       r->dev->name, what);
}

static int read_header(struct xw_redo *r)
{
	uint8_t header[XW_REDO_HEADER_SIZE];
	int rc;

	if (r->dev->size < sizeof(header))
		return xw_fail(r->diag, XW_ERR_INPUT, "%s: not a redo file", r->dev->name);
	rc = xw_dev_pread(r->dev, header, sizeof(header), 0);
	if (rc)
		return rc;
	rc = xw_redo_header_decode(header, &r->h);
	r->left_size = r->h.old_size;
	switch (rc) {
	case 0:
		return 0;
	case XW_ERR_INPUT:
		return xw_fail(r->diag, rc, "%s: not a redo file", r->dev->name);
	case XW_ERR_CHECKSUM:
		return damaged(r, rc, "header checksum mismatch");
	case XW_ERR_UNSUPPORTED:
		return xw_fail(r->diag, rc, "%s: a redo file of version %" PRIu32, r->dev->name,
			       r->h.version);
	default:
		return damaged(r, rc,
			       xw_redo_block_size_ok(r->h.block_size) ? "impossible sizes"
								      : "impossible block size");
	}
}

int xw_redo_open(struct xw_dev *dev, struct xw_diag *diag, struct xw_redo **out)
{
	struct xw_redo *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return xw_fail_nomem(diag, "a redo file");
	r->dev = dev;
	r->diag = diag;
	rc = read_header(r);
	if (rc)
		free(r);
	else
		*out = r;
	return rc;
}

void xw_redo_set_inside(struct xw_redo *r, struct xw_redo_store *s)
{
	const uint64_t bs = r->h.block_size, size = XW_MAX(r->h.old_size, r->h.new_size);

	r->inside = s;
	if (s->end != xw_round_up(size, bs) + xw_round_up(r->dev->size, bs) + bs)
		s->end = 0;
	if (s->end)
		r->left_size = s->end;
}

void xw_redo_close(struct xw_redo *r)
{
	if (!r)
		return;
	xw_replay_free(&r->plan);
	xw_log_close(r->log);
	free(r->hashes);
	xw_dev_close(r->dev);
	free(r);
}

static int load_hashes(struct xw_redo *r)
{
	const size_t bytes = xw_redo_hash_bytes(r->h.blocks, r->h.block_size);
	int rc;

	r->hashes = malloc(bytes);
	if (!r->hashes)
		return xw_fail_nomem(r->diag, "a redo file");
	rc = xw_dev_pread(r->dev, r->hashes, bytes, XW_REDO_HEADER_SIZE);
	if (rc)
		return rc;
	if (xw_crc32c(~0u, r->hashes, bytes) != r->h.hashes_csum)
		return damaged(r, XW_ERR_CHECKSUM, "hash table checksum mismatch");
	xw_redo_hashes_decode(r->hashes, bytes / sizeof(*r->hashes));
	return 0;
}

/* The image has neither the size before nor the one after the change. */
static int other_size(struct xw_redo *r, const struct xw_dev *image)
{
	/* earlier versions took a partition to end with its disk */
	if (image->is_window && image->fixed && r->h.old_size == r->h.new_size &&
	    r->h.old_size > image->size)
		return xw_fail(r->diag, XW_ERR_STATE,
			       "%s: the partition has %" PRIu64 " bytes; the interrupted change in "
			       "%s is for an image of %" PRIu64 " bytes, as an earlier version "
			       "records it, to the end of the disk: complete it with that version, "
			       "or xw-fsck -y checks the filesystem without the change",
			       image->name, image->size, r->dev->name, r->h.old_size);
	return xw_fail(r->diag, XW_ERR_STATE,
		       "%s: has %" PRIu64 " bytes; the interrupted change in %s is for an "
		       "image of %" PRIu64 " bytes",
		       image->name, image->size, r->dev->name, r->h.old_size);
}

/* Check the sizes in the header before memory is allocated for them and the image is resized. */
static int check_sizes(struct xw_redo *r, const struct xw_dev *image)
{
	const struct sizes s = {r->h.old_super, r->h.new_super, r->h.old_size,
				r->h.new_size,  r->h.blocks,    r->h.block_size};

	if (!sizes_agree(&s))
		return forged(r, "its sizes are not those of the filesystem");
	if (r->dev->size != r->h.log_offset + r->h.log_blocks * r->h.block_size)
		return damaged(r, XW_ERR_CORRUPT, "length differs from the header");
	if (r->h.blocks > xw_div_up(XW_MAX(r->h.new_size, image->size), r->h.block_size))
		return damaged(r, XW_ERR_CORRUPT, "more blocks than the image has");
	/* An image inside a larger file or device keeps its size. */
	if (!r->inside && image->size != r->h.old_size && image->size != r->h.new_size &&
	    (image->size < r->h.new_size || r->h.new_size < r->h.old_size))
		return other_size(r, image);
	return 0;
}

/* Plan the replay of the record's log, within the filesystem. */
static int plan_blocks(struct xw_redo *r, const struct xw_dev *image)
{
	const bool fixed = image->is_block || (image->is_window && r->h.new_size <= r->h.old_size);
	const uint64_t size = fixed ? XW_MIN(r->h.new_size, image->size) : r->h.new_size;
	const uint64_t limit = limit_of(r->h.old_super, r->h.new_super, size, r->h.block_size);
	const struct xw_diag before = r->diag ? *r->diag : (struct xw_diag){0};
	char text[96];
	int rc = xw_replay_plan(r->log, 0, limit, &r->plan);

	if (r->plan.outside) {
		if (r->diag)
			*r->diag = before;
		snprintf(text, sizeof(text),
			 "it writes block %" PRIu64 ", but the filesystem ends at block %" PRIu64,
			 r->plan.outside_blk, limit);
		return forged(r, text);
	}
	if (!rc && r->inside && xw_inside_overlaps(r->inside, &r->plan, r->h.block_size))
		rc = forged(r, "it overwrites itself");
	return rc;
}

int xw_redo_load(struct xw_redo *r, const struct xw_dev *image)
{
	size_t i;
	int rc;

	if (r->log)
		return 0;
	rc = check_sizes(r, image);
	if (!rc)
		rc = xw_log_open_flat(r->dev, r->h.log_offset, r->h.block_size, r->h.log_blocks,
				      r->diag, &r->log);
	if (!rc)
		rc = plan_blocks(r, image);
	if (!rc && (r->plan.transactions != 1 || r->plan.blocks.n != r->h.blocks ||
		    !xw_replay_find(&r->plan, XW_SUPER_OFFSET / r->h.block_size, &i)))
		rc = damaged(r, XW_ERR_CORRUPT, "blocks are missing");
	if (!rc)
		rc = load_hashes(r);
	if (rc) {
		xw_log_close(r->log);
		r->log = NULL;
	}
	return rc;
}

/* Does each sector of block i have either its old or its new contents? */
static bool block_matches(const struct xw_redo *r, size_t i, const uint8_t *has,
			  const uint8_t *becomes)
{
	const size_t per = r->h.block_size / XW_CHANGE_SECTOR;

	for (size_t k = 0; k < per; k++, has += XW_CHANGE_SECTOR, becomes += XW_CHANGE_SECTOR)
		if (memcmp(has, becomes, XW_CHANGE_SECTOR) != 0 &&
		    xw_change_hash(has) != r->hashes[i * per + k])
			return false;
	return true;
}

int xw_redo_matches(struct xw_redo *r, struct xw_dev *image)
{
	const uint64_t bs = r->h.block_size, super_blk = XW_SUPER_OFFSET / bs;
	auto_free uint8_t *has = malloc(bs), *becomes = malloc(bs);
	int rc = 0;

	if (!has || !becomes)
		return xw_fail_nomem(r->diag, "a redo file");
	for (size_t i = 0; i < r->plan.blocks.n && !rc; i++) {
		const uint64_t off = r->plan.blocks.v[i].blk * bs;
		uint64_t there = off < image->size ? XW_MIN(bs, image->size - off) : 0;

		if (r->plan.blocks.v[i].blk == super_blk)
			continue;
		memset(has, 0, bs);
		rc = there ? xw_dev_pread(image, has, there, off) : 0;
		if (!rc)
			rc = xw_replay_read(r->log, &r->plan, i, becomes);
		if (!rc && !block_matches(r, i, has, becomes))
			return 0;
	}
	return rc ? rc : 1;
}

/* Write the superblock's block with the pending superblock in it, and flush. */
static int put_super_page(struct xw_redo *r, struct xw_dev *image)
{
	const uint64_t bs = r->h.block_size, off = XW_SUPER_OFFSET / bs * bs;
	auto_free uint8_t *page = malloc(bs);
	size_t i;
	int rc;

	if (!page)
		return xw_fail_nomem(r->diag, "a redo file");
	if (!xw_replay_find(&r->plan, XW_SUPER_OFFSET / bs, &i))
		return damaged(r, XW_ERR_CORRUPT, "the superblock is missing");
	rc = xw_replay_read(r->log, &r->plan, i, page);
	memcpy(page + XW_SUPER_OFFSET % bs, r->h.pending_super, XW_SUPER_SIZE);
	if (!rc)
		rc = xw_dev_pwrite(image, page, XW_MIN(bs, r->h.new_size - off), off);
	return rc ? rc : xw_dev_flush(image);
}

int xw_redo_remove_inside(struct xw_redo_store *inside, struct xw_dev *image, uint64_t new_size,
			  const uint8_t done[XW_SUPER_SIZE])
{
	const int rc = xw_commit_put_super(image, done);

	inside->size = new_size;
	return rc ? rc : inside->ops->remove(inside);
}

int xw_redo_apply(struct xw_redo *r, struct xw_dev *image, struct xw_redo_store *inside)
{
	uint8_t done[XW_SUPER_SIZE];
	int rc = 0;

	if (r->h.new_size > image->size)
		rc = xw_dev_set_size(image, r->h.new_size);
	if (!rc)
		rc = put_super_page(r, image);
	if (!rc)
		rc = xw_replay_apply(r->log, &r->plan, XW_SUPER_OFFSET / r->h.block_size, image);
	if (!rc)
		rc = xw_dev_flush(image);
	if (!rc && r->h.new_size < image->size &&
	    (!inside || !xw_redo_is_after_end(inside, r->h.new_size)) &&
	    xw_redo_may_cut(image, r->left_size))
		rc = xw_dev_set_size(image, r->h.new_size);
	if (!rc && inside) {
		xw_super_bytes_done(r->h.new_super, r->h.nonce, inside->number, done);
		rc = xw_redo_remove_inside(inside, image, r->h.new_size, done);
	}
	return rc ? rc : xw_commit_put_super(image, r->h.new_super);
}
