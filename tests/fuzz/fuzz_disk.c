/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target over all decoders of lib/disk. Byte 0 of the input chooses the object, bytes 1 to 3
 * features and sizes; the rest is XORed into a valid object from a real image
 * (tests/unit/disk_fix.h), so that the empty input is valid and short inputs are nearly so. Objects
 * live in exact allocations: a step outside is a sanitizer's finding.
 *
 * Properties, besides no crash: what was encoded decodes and encodes to itself; what got a checksum
 * verifies; entries, names and values that decode lie inside their area; walks end.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/disk_fix.h"
#include "base/endian.h"
#include "base/err.h"
#include "disk/dirent.h"
#include "disk/e2image.h"
#include "disk/extent.h"
#include "disk/group.h"
#include "disk/indirect.h"
#include "disk/inode.h"
#include "disk/itree.h"
#include "disk/jblock.h"
#include "disk/mmp.h"
#include "disk/orphan.h"
#include "disk/quota.h"
#include "disk/redo.h"
#include "disk/redo_list.h"
#include "disk/super.h"
#include "disk/xattrblk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

struct input {
	const uint8_t *data;
	size_t size;
	uint8_t a, b, c;
};

/* An object of n bytes: the template's first, then zeroes, the input XORed over. */
static uint8_t *object(const struct input *in, size_t n, const struct fix_run *runs, size_t n_runs)
{
	uint8_t whole[1024], *p = calloc(1, n);

	MUST(p);
	fix_fill(whole, sizeof(whole), runs, n_runs);
	memcpy(p, whole, XW_MIN(n, sizeof(whole)));
	for (size_t i = 0; i < XW_MIN(n, in->size); i++)
		p[i] ^= in->data[i];
	return p;
}

#define OBJECT(in, n, name) object(in, n, fix_##name, XW_ARRAY_SIZE(fix_##name))

/* Does every byte of [p, p + n) exist? The compiler must not know that nobody looks at the sum. */
static void touch(const void *p, size_t n)
{
	volatile uint8_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum = (uint8_t)(sum + ((const uint8_t *)p)[i]);
}

static struct xw_super any_super(const struct input *in)
{
	struct xw_super sb = {.log_block_size = in->b % 7};

	sb.inode_size = (uint16_t)(128u << in->a % 4);
	sb.desc_size = (uint16_t)(64u << (in->a >> 2) % 3);
	sb.feature_incompat =
		(in->b & 0x08 ? XW_INCOMPAT_64BIT : 0) | (in->b & 0x10 ? XW_INCOMPAT_LARGEDIR : 0);
	sb.feature_ro_compat = (in->b & 0x20 ? XW_RO_METADATA_CSUM : 0) |
			       (in->b & 0x40 ? XW_RO_HUGE_FILE : 0) |
			       (in->b & 0x80 ? XW_RO_GDT_CSUM : 0);
	sb.creator_os = in->c % 5 == 4;
	return sb;
}

static void fuzz_super(const struct input *in)
{
	uint8_t *p = in->a & 1 ? OBJECT(in, 1024, super_uninit) : OBJECT(in, 1024, super_csum),
		*q = malloc(1024);
	struct xw_super sb, again;
	int err = xw_super_decode(p, &sb);

	MUST(q);
	xw_super_verify(p);
	xw_super_csum_seed(&sb);
	MUST(xw_super_block_size(&sb) >= 1024 && xw_super_block_size(&sb) <= 65536);
	MUST(xw_super_desc_size(&sb) >= 32);
	xw_super_groups(&sb);
	xw_super_encode(&sb, p);
	MUST(!xw_super_verify(p));
	MUST(xw_super_decode(p, &again) == err);
	xw_super_encode(&again, q);
	MUST(!memcmp(p, q, 1024));
	free(p);
	free(q);
}

static void fuzz_group(const struct input *in)
{
	struct xw_super sb = any_super(in);
	unsigned size = xw_super_desc_size(&sb);
	uint8_t *p = OBJECT(in, size, desc_csum), *q = malloc(size);
	struct xw_group_desc gd;

	MUST(q);
	xw_group_decode(p, size, &gd);
	xw_group_verify(p, &sb, in->c, in->a);
	memcpy(q, p, size);
	xw_group_encode(&gd, &sb, in->c, in->a, q);
	MUST(!xw_group_verify(q, &sb, in->c, in->a));
	memcpy(q + 0x1E, p + 0x1E, 2);
	MUST(!memcmp(p, q, size));
	xw_bitmap_csum(&sb, in->c, p, size);
	free(p);
	free(q);
}

static void walk_xattrs(const uint8_t *area, size_t size, size_t off, size_t base)
{
	struct xw_xattr_entry e;
	size_t next, steps = 0;

	for (; !xw_xattr_entry_decode(area, size, off, base, &e, &next) && next; off = next) {
		MUST(next > off && next <= size && ++steps <= size / XW_XATTR_ENTRY);
		touch(e.name, e.name_len);
		xw_xattr_entry_hash_inum_ok(e.hash, e.name, e.name_len, e.hash);
		if (e.value_inum || !e.value_size)
			continue;
		MUST(base + e.value_offs + e.value_size <= size);
		touch(area + base + e.value_offs, e.value_size);
		xw_xattr_entry_hash_ok(e.hash, e.name, e.name_len, area + base + e.value_offs,
				       e.value_size);
	}
}

static void fuzz_inode(const struct input *in)
{
	struct xw_super sb = any_super(in);
	unsigned size = sb.inode_size, off;
	uint8_t *p = OBJECT(in, size, inode_a), *q = malloc(size);
	struct xw_inode i, again;
	uint32_t major, minor;

	MUST(q);
	xw_inode_verify(p, &sb, in->c, 12);
	if (!xw_inode_decode(p, &sb, &i)) {
		off = xw_inode_xattr_off(&i, &sb);
		MUST(off + 4 < size);
		if (off)
			walk_xattrs(p + off + 4, size - off - 4, 0, 0);
		memcpy(q, p, size);
		xw_inode_encode(&i, &sb, q);
		MUST(!xw_inode_decode(q, &sb, &again));
		MUST(again.size == i.size && again.blocks == i.blocks &&
		     again.file_acl == i.file_acl);
		MUST(again.mtime.sec == i.mtime.sec && again.mtime.nsec == i.mtime.nsec);
		xw_inode_set_csum(q, &sb, in->c, 12);
		MUST(!xw_inode_verify(q, &sb, in->c, 12));
	}
	xw_inode_get_rdev(&i, &major, &minor);
	MUST(!xw_inode_put_rdev(&i, major, minor));
	xw_inode_set_blocks(&i, &sb, i.size);
	xw_inode_fs_blocks_512(&i, &sb);
	xw_inode_set_ea_refs(&i, i.size);
	MUST(xw_inode_ea_refs(&i) == i.size);
	free(p);
	free(q);
}

static void fuzz_extent(const struct input *in)
{
	uint32_t size = in->a & 1 ? 60 : 1024u << in->b % 3;
	uint8_t *p = OBJECT(in, size, extent_block);
	struct xw_extent_hdr h;

	if (size == 60)
		poke16(p + 4, 4 ^ (in->size > 4 ? in->data[4] : 0));
	if (size > 60)
		xw_extent_block_verify(p, size, in->c);
	if (!xw_extent_hdr_decode(p, size, &h)) {
		xw_extent_hdr_encode(p, &h);
		for (unsigned i = 0; i < h.entries; i++) {
			struct xw_extent_idx x;
			struct xw_extent e;

			xw_extent_leaf_decode(p, i, &e);
			MUST(e.len <= XW_EXT_MAX_LEN && e.pblk < XW_BLK_MAX);
			xw_extent_leaf_encode(p, i, &e);
			xw_extent_idx_decode(p, i, &x);
			xw_extent_idx_encode(p, i, &x);
		}
		if (size > 60) {
			int err = xw_extent_block_verify(p, size, in->c);

			xw_extent_block_set_csum(p, size, in->c);
			MUST(xw_extent_block_verify(p, size, in->c) ==
			     (err == XW_ERR_CORRUPT ? err : 0));
		}
	}
	free(p);
}

static void fuzz_dir(const struct input *in)
{
	uint32_t size = in->a & 1 ? 56 : 1024u << in->b % 7;
	uint8_t *p = OBJECT(in, size, dir_block), *q = malloc(size);
	struct xw_dirent e;
	uint32_t steps = 0;

	MUST(q);
	memcpy(q, p, size);
	for (uint32_t off = 0; off < size && !xw_dirent_decode(p, size, off, &e);
	     off += e.rec_len) {
		MUST(e.rec_len >= 12 && off + e.rec_len <= size && ++steps <= size / 12);
		touch(e.name, e.name_len);
		xw_dirent_encode(q, size, off, &e);
	}
	if (size < 65536) /* 0 is read as 65536 and written as 0xFFFF */
		MUST(!memcmp(p, q, size));
	if (size >= 1024) {
		xw_dir_block_verify(p, size, in->c);
		xw_dir_tail_init(p, size);
		xw_dir_block_set_csum(p, size, in->c);
		MUST(!xw_dir_block_verify(p, size, in->c));
	}
	free(p);
	free(q);
}

static void walk_dx(uint8_t *p, uint32_t size, unsigned off, unsigned count, uint32_t seed)
{
	int err = xw_dx_block_verify(p, size, off, seed);

	for (unsigned i = 0; i < count; i++) {
		struct xw_dx_entry e;

		xw_dx_entry_decode(p, off, i, &e);
		MUST(e.lblk <= XW_DX_LBLK_MASK);
		xw_dx_entry_encode(p, off, i, &e);
	}
	xw_dx_block_set_csum(p, size, off, seed);
	MUST(xw_dx_block_verify(p, size, off, seed) == (err == XW_ERR_CORRUPT ? err : 0));
}

static void fuzz_dx(const struct input *in)
{
	uint32_t size = 1024u << in->b % 7;
	bool csum = in->a & 2, root = in->a & 1;
	uint8_t *p = root ? OBJECT(in, size, dx_root) : OBJECT(in, size, dx_node);
	unsigned limit, count;
	struct xw_dx_info info;

	if (root && !xw_dx_root_decode(p, size, csum, &info, &limit, &count)) {
		xw_dx_info_encode(p, &info);
		walk_dx(p, size, XW_DX_ROOT_ENTRIES, count, in->c);
	}
	if (!root && !xw_dx_node_decode(p, size, csum, &limit, &count))
		walk_dx(p, size, XW_DX_NODE_ENTRIES, count, in->c);
	xw_dx_block_verify(p, size, in->a & 4 ? XW_DX_ROOT_ENTRIES : XW_DX_NODE_ENTRIES, in->c);
	free(p);
}

static void fuzz_xattr_block(const struct input *in)
{
	uint32_t size = 1024u << in->b % 7;
	uint8_t *p = OBJECT(in, size, xattr_block);
	struct xw_xattr_bhdr h;

	xw_xattr_block_verify(p, size, in->c, in->a);
	if (!xw_xattr_bhdr_decode(p, &h)) {
		walk_xattrs(p, size, XW_XATTR_BHDR, 0);
		xw_xattr_bhdr_encode(p, &h);
		xw_xattr_block_set_csum(p, size, in->c, in->a);
		MUST(!xw_xattr_block_verify(p, size, in->c, in->a));
	}
	walk_xattrs(p, size, in->a, in->c);
	free(p);
}

static void fuzz_jsb(const struct input *in)
{
	uint8_t *p = OBJECT(in, 1024, jsb), *q = malloc(1024);
	struct xw_jsb j, again;
	int err = xw_jsb_decode(p, &j);

	MUST(q);
	xw_jsb_verify(p);
	xw_jsb_encode(&j, p);
	MUST(!xw_jsb_verify(p));
	if (!err) {
		MUST(!xw_jsb_decode(p, &again));
		xw_jsb_encode(&again, q);
		MUST(!memcmp(p, q, 1024));
	}
	free(p);
	free(q);
}

static int put_quota(void *arg, uint32_t index, const uint8_t *block)
{
	memcpy((uint8_t *)arg + (size_t)index * XW_QUOTA_BLOCK, block, XW_QUOTA_BLOCK);
	return 0;
}

struct quota_seen {
	uint64_t n;
	uint32_t last;
};

static int see_quota(void *arg, const struct xw_quota_entry *e)
{
	struct quota_seen *s = arg;

	MUST(!s->n || e->id > s->last);
	s->last = e->id;
	s->n++;
	return 0;
}

/* The input falls on every block in turn: header, tree and data are all within reach. */
static void fuzz_quota(const struct input *in)
{
	struct xw_quota_entry e[40] = {{0}};
	struct quota_seen seen = {0};
	struct xw_quota_shape shape;
	struct xw_quota_info info;
	size_t n = in->a % 41, len;
	uint8_t *p;

	for (size_t i = 0; i < n; i++)
		e[i] = (struct xw_quota_entry){.id = (uint32_t)i << in->b % 26, .inodes = 1};
	MUST(!xw_quota_shape(e, n, &shape));
	len = (size_t)shape.blocks * XW_QUOTA_BLOCK;
	p = malloc(len);
	MUST(p);
	MUST(!xw_quota_emit(XW_QUOTA_USER, e, n, &shape, put_quota, p));
	for (size_t i = 0; i < in->size; i++)
		p[(i % shape.blocks * XW_QUOTA_BLOCK + i / shape.blocks + in->c) % len] ^=
			in->data[i];
	if (!xw_quota_decode(p, len, XW_QUOTA_USER, &info, see_quota, &seen))
		MUST(info.blocks <= shape.blocks);
	MUST(seen.n <= (uint64_t)shape.blocks * 256);
	free(p);
}

static void fuzz_hidden(const struct input *in)
{
	uint32_t size = 1024u << in->b % 7;
	uint8_t *p = OBJECT(in, size, jsb), *q = malloc(XW_MMP_SIZE);
	struct xw_mmp m, again;

	MUST(q);
	xw_orphan_verify(p, size, in->a & 1, in->c, in->a);
	xw_mmp_verify(p, in->c);
	xw_mmp_decode(p, &m);
	xw_mmp_encode(&m, true, in->c, q);
	MUST(!xw_mmp_decode(q, &again) && !xw_mmp_verify(q, in->c));
	MUST(again.seq == m.seq && again.time == m.time && !strcmp(again.node, m.node) &&
	     !strcmp(again.device, m.device) && again.check_interval == m.check_interval);
	for (uint32_t i = 0; i < xw_orphan_slots(size); i++)
		xw_orphan_set_slot(p, i, xw_orphan_slot(p, i));
	xw_orphan_seal(p, size, in->a & 1, in->c, in->a);
	MUST(!xw_orphan_verify(p, size, in->a & 1, in->c, in->a));
	free(p);
	free(q);
}

static void fuzz_indirect(const struct input *in)
{
	uint32_t size = 1024u << in->b % 7;
	uint8_t bytes[8] = {0};
	unsigned path[4], depth;

	memcpy(bytes, in->data, XW_MIN(in->size, sizeof(bytes)));
	if (xw_indirect_path(size, peek64(bytes) >> in->a % 64, path, &depth))
		return;
	MUST(depth <= 3 && path[0] < 15);
	for (unsigned i = 1; i <= depth; i++)
		MUST(path[i] < size / 4);
}

/* A node of as many entries as fit before the input falls on it. */
static void make_node(const struct input *in, uint8_t *p, uint32_t size)
{
	struct xw_itree_hdr h = {.level = in->a % 5, .dir = 12, .self = 99};
	unsigned n = in->c % 64;

	for (unsigned i = 0; i < n; i++) {
		struct xw_itree_entry e = {
			{12 + i / 2, 2 * i}, (uint8_t)(1 + i % 9), 1, "namenamen"};
		struct xw_itree_idx x = {e.key, 100 + i, i % 4};

		if (h.used + 2u * XW_ITREE_IDX > xw_itree_cap(size))
			break;
		if (h.level)
			xw_itree_idx_encode(p, i, &x);
		h.used = (uint16_t)(h.used +
				    (h.level ? XW_ITREE_IDX : xw_itree_leaf_encode(p, h.used, &e)));
		h.count++;
	}
	xw_itree_hdr_encode(p, size, &h);
}

static void walk_node(const uint8_t *p, uint8_t *q, const struct xw_itree_hdr *h)
{
	uint32_t off = 0, at = 0;

	for (unsigned i = 0; i < h->count; i++) {
		struct xw_itree_entry e;
		struct xw_itree_idx x;

		if (h->level) {
			MUST(!xw_itree_idx_decode(p, i, &x));
			xw_itree_idx_encode(q, i, &x);
			continue;
		}
		MUST(!xw_itree_leaf_decode(p, h->used, off, &e, &off));
		MUST(e.key.ino && e.name_len);
		touch(e.name, e.name_len);
		at += xw_itree_leaf_encode(q, at, &e);
	}
	MUST(off == at);
}

/* A node that passes the check has one encoding: what it decodes to gives its bytes again. */
static void fuzz_itree(const struct input *in)
{
	uint32_t size = 1024u << in->b % 7;
	uint8_t *p = calloc(1, size), *q = calloc(1, size);
	struct xw_itree_flaw flaw = {0};
	struct xw_itree_hdr h;
	xw_blk root;

	MUST(p && q);
	make_node(in, p, size);
	for (size_t i = 0; i < XW_MIN(size, in->size); i++)
		p[i] ^= in->data[i];
	xw_itree_slot_get(p, size, in->a & 8, &root);
	xw_itree_verify(p, size, true, in->c);
	if (xw_itree_node_check(p, size, in->b & 8, &h, &flaw)) {
		MUST(flaw.rule && flaw.what);
	} else {
		walk_node(p, q, &h);
		xw_itree_hdr_encode(q, size, &h);
		xw_itree_set_csum(p, size, true, in->c);
		xw_itree_set_csum(q, size, true, in->c);
		MUST(!memcmp(p, q, size) && !xw_itree_verify(q, size, true, in->c));
	}
	free(p);
	free(q);
}

/* ---- redo records, logs, e2image files ---- */

static void fuzz_redo(const struct input *in)
{
	const uint32_t bs = 1024u << in->b % 7;
	struct xw_redo_header h = {.block_size = bs, .blocks = 1u + in->c};
	uint8_t *p = malloc(XW_REDO_HEADER_SIZE), *q = malloc(XW_REDO_HEADER_SIZE);

	MUST(p && q);
	h.log_offset = xw_redo_log_offset(h.blocks, bs);
	h.log_blocks = xw_redo_log_blocks(h.blocks, bs);
	xw_redo_header_encode(&h, p);
	for (size_t i = 0; i < XW_MIN(in->size, XW_REDO_HEADER_SIZE); i++)
		p[i] ^= in->data[i];
	(void)xw_redo_header_decode(p, &h);
	xw_redo_header_encode(&h, q); /* with a right checksum */
	if (!xw_redo_header_decode(q, &h)) {
		MUST(xw_redo_block_size_ok(h.block_size) && h.blocks);
		MUST(h.log_offset >=
		     XW_REDO_HEADER_SIZE + xw_redo_hash_bytes(h.blocks, h.block_size));
		MUST(h.log_blocks > h.blocks);
		xw_redo_header_encode(&h, p);
		MUST(!memcmp(p, q, XW_REDO_HEADER_SIZE));
	}
	free(p);
	free(q);
}

static void fuzz_redo_list(const struct input *in)
{
	const uint32_t bs = 1024u << in->b % 7;
	uint8_t *p = OBJECT(in, bs, jsb), *q = calloc(1, bs);
	struct xw_run *runs = calloc(xw_redo_list_max(bs), sizeof(*runs));
	struct xw_redo_list l, again;
	uint32_t peeked;

	MUST(q && runs);
	(void)xw_redo_list_peek(p, &peeked);
	(void)xw_redo_list_decode(p, bs, &l);
	l.block_size = bs;
	l.n %= (uint32_t)xw_redo_list_max(bs) + 1;
	for (size_t i = 0; i < l.n; i++)
		runs[i] = xw_redo_list_run(p, i);
	xw_redo_list_encode(&l, runs, q);
	MUST(xw_redo_list_peek(q, &peeked) && peeked == bs);
	MUST(!xw_redo_list_decode(q, bs, &again) && again.n == l.n && again.next == l.next);
	for (size_t i = 0; i < l.n; i++) {
		const struct xw_run run = xw_redo_list_run(q, i);

		MUST(run.start == runs[i].start && run.len == runs[i].len);
	}
	free(p);
	free(q);
	free(runs);
}

static void fuzz_log_block(const struct input *in)
{
	const struct xw_jsb jsb = {.blocksize = 1024u << in->b % 7,
				   .feature_compat = in->c & 1,
				   .feature_incompat = in->c};
	uint8_t *p = OBJECT(in, jsb.blocksize, jsb);
	uint32_t type, sequence, n;
	struct xw_jcommit c;
	struct xw_jfmt f;

	xw_jfmt_init(&jsb, &f);
	(void)xw_jblock_header(p, &type, &sequence);
	MUST(xw_jtag_count(&f, p) <= jsb.blocksize / f.tag_bytes);
	if (!xw_jrevoke_count(&f, p, &n)) {
		MUST(n <= xw_jrevoke_capacity(&f));
		for (uint32_t i = 0; i < n; i++)
			(void)xw_jrevoke_get(&f, p, i);
	}
	xw_jcommit_decode(p, &c);
	(void)xw_jcommit_verify(&f, p, c.csum);
	xw_jblock_set_tail(&f, p);
	MUST(xw_jblock_verify_tail(&f, p));
	xw_jcommit_encode(&f, sequence, &c, p);
	MUST(xw_jcommit_verify(&f, p, c.csum));
	free(p);
}

static void fuzz_e2image(const struct input *in)
{
	uint8_t *p = calloc(1, XW_E2IMAGE_HEADER);
	struct xw_e2image e;

	MUST(p);
	memcpy(p, in->data, XW_MIN(in->size, XW_E2IMAGE_HEADER));
	(void)xw_e2image_decode(p, &e);
	free(p);
}

static void fuzz_records(const struct input *in)
{
	static void (*const targets[])(const struct input *) = {fuzz_redo, fuzz_redo_list,
								fuzz_log_block, fuzz_e2image};

	targets[in->a % XW_ARRAY_SIZE(targets)](in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const targets[])(const struct input *) = {
		fuzz_super, fuzz_group,   fuzz_inode,       fuzz_extent, fuzz_dir,
		fuzz_dx,    fuzz_records, fuzz_xattr_block, fuzz_jsb,    fuzz_indirect,
		fuzz_quota, fuzz_hidden,  fuzz_itree,
	};
	uint8_t head[4] = {0};
	size_t n = XW_MIN(size, sizeof(head));
	struct input in;

	if (n)
		memcpy(head, data, n);
	in = (struct input){data, size - n, head[1], head[2], head[3]};
	if (n)
		in.data += n;
	targets[head[0] % XW_ARRAY_SIZE(targets)](&in);
	return 0;
}
