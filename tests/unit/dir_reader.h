/* SPDX-License-Identifier: MIT */
/*
 * For the tests of the directory builder: making directories of many names, and a reader of its own
 * that knows only the format's bytes.
 */
#ifndef XW_TESTS_DIR_READER_H
#define XW_TESTS_DIR_READER_H

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "base/endian.h"
#include "base/err.h"
#include "dir/build.h"

#define SEED 0x12345678u
#define SELF 77
#define PARENT 2
#define FIRST_INO 100

struct dir {
	struct xw_dir_format f;
	struct xw_dir_shape shape;
	struct xw_dir_entry *entries;
	size_t n;
	uint8_t *blocks;
	uint32_t emitted;
	struct leaf {
		uint32_t lblk;
		uint32_t bound; /* of its index entry, bit 0 included; 0 for the first */
	} * leaves;
	uint32_t n_leaves;
	uint8_t *referenced; /* by block: how often an index entry names it */
};

/* ---- making directories ---- */

enum names { SHORT, MIXED, LONG, TWELVE };

static inline uint64_t rnd(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* Distinct names: the number is in each, random bytes (no NUL, no '/') fill the rest. */
static inline void make_names(struct dir *d, enum names kind, size_t n)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
	uint64_t state = 5;

	d->n = n;
	d->entries = calloc(n + 1, sizeof(*d->entries));
	ck_assert_ptr_nonnull(d->entries);
	for (size_t i = 0; i < n; i++) {
		char buf[256];
		unsigned len = 5;
		char *name;

		if (kind == SHORT) {
			len = (unsigned)snprintf(buf, sizeof(buf), "f%zu", i);
		} else {
			len = kind == LONG     ? 255
			      : kind == TWELVE ? 12
					       : 5 + (unsigned)rnd(&state) % 251;
			for (unsigned k = 0; k < 5; k++)
				buf[k] = digits[i >> (6 * k) & 63];
			for (unsigned k = 5; k < len; k++)
				do
					buf[k] = (char)rnd(&state);
				while (buf[k] == '\0' || buf[k] == '/');
		}
		name = malloc(len);
		ck_assert_ptr_nonnull(name);
		memcpy(name, buf, len);
		d->entries[i] = (struct xw_dir_entry){
			.name = name,
			.name_len = (uint8_t)len,
			.ftype = (uint8_t)(1 + i % 7),
			.ino = (xw_ino)(FIRST_INO + i),
		};
	}
}

static inline int keep_block(void *arg, uint32_t lblk, const void *block)
{
	struct dir *d = arg;

	ck_assert_uint_eq(lblk, d->emitted);
	ck_assert_uint_lt(lblk, d->shape.blocks);
	memcpy(d->blocks + (size_t)lblk * d->f.block_size, block, d->f.block_size);
	d->emitted++;
	return 0;
}

static inline void emit(struct dir *d)
{
	const struct xw_dir_self self = {.ino = SELF, .parent = PARENT, .inode_seed = SEED};

	d->blocks = malloc((size_t)d->shape.blocks * d->f.block_size);
	d->referenced = calloc(d->shape.blocks, 1);
	d->leaves = calloc((size_t)d->shape.blocks, sizeof(*d->leaves));
	ck_assert(d->blocks && d->referenced && d->leaves);
	ck_assert_int_eq(xw_dir_emit(&d->f, &d->shape, d->entries, d->n, &self, keep_block, d), 0);
	ck_assert_uint_eq(d->emitted, d->shape.blocks);
}

static inline void build(struct dir *d, enum names kind, size_t n, uint32_t min_blocks)
{
	make_names(d, kind, n);
	ck_assert_int_eq(xw_dir_shape(&d->f, d->entries, d->n, min_blocks, &d->shape), 0);
	emit(d);
}

static inline void free_dir(struct dir *d)
{
	for (size_t i = 0; i < d->n; i++)
		free((char *)d->entries[i].name);
	free(d->entries);
	free(d->blocks);
	free(d->leaves);
	free(d->referenced);
}

/* ---- an independent reader ---- */

static inline const uint8_t *block_at(const struct dir *d, uint32_t lblk)
{
	ck_assert_uint_lt(lblk, d->shape.blocks);
	return d->blocks + (size_t)lblk * d->f.block_size;
}

static inline uint32_t rec_len_at(const struct dir *d, const uint8_t *e)
{
	uint32_t v = peek16(e + 4);

	if (d->f.block_size < 65536)
		return v;
	return v == 0xFFFF || v == 0 ? 65536 : (v & 0xFFFC) | (v & 3) << 16;
}

static inline uint32_t room(const struct dir *d)
{
	return d->f.block_size - (d->f.csum ? 12 : 0);
}

static inline void check_tail(const struct dir *d, const uint8_t *b)
{
	static const uint8_t head[8] = {0, 0, 0, 0, 12, 0, 0, 0xDE};

	if (!d->f.csum)
		return;
	ck_assert_mem_eq(b + d->f.block_size - 12, head, 8);
	ck_assert_uint_eq(peek32(b + d->f.block_size - 4),
			  xw_crc32c(SEED, b, d->f.block_size - 12));
}

static inline void check_dx_tail(const struct dir *d, const uint8_t *b, unsigned off)
{
	unsigned limit = peek16(b + off), count = peek16(b + off + 2);
	uint32_t crc = xw_crc32c(SEED, b, off + 8 * count);

	ck_assert_uint_eq(limit, (d->f.block_size - off - (d->f.csum ? 8 : 0)) / 8);
	ck_assert_uint_ge(count, 1);
	ck_assert_uint_le(count, limit);
	if (!d->f.csum)
		return;
	crc = xw_crc32c(crc, "\0\0\0\0\0\0\0", 8);
	ck_assert_uint_eq(peek32(b + off + 8 * limit + 4), crc);
}

/* "." and ".."; returns the offset behind them. */
static inline uint32_t check_dots(const struct dir *d, const uint8_t *b)
{
	uint8_t ft = d->f.filetype ? 2 : 0;

	ck_assert_uint_eq(peek32(b), SELF);
	ck_assert_uint_eq(rec_len_at(d, b), 12);
	ck_assert_uint_eq(b[6], 1);
	ck_assert_uint_eq(b[7], ft);
	ck_assert_mem_eq(b + 8, ".\0\0", 4);
	ck_assert_uint_eq(peek32(b + 12), PARENT);
	ck_assert_uint_eq(b[18], 2);
	ck_assert_uint_eq(b[19], ft);
	ck_assert_mem_eq(b + 20, "..\0", 4);
	return 12 + rec_len_at(d, b + 12);
}

static inline const struct xw_dir_entry *entry_of_ino(const struct dir *d, const uint32_t *where,
						      uint32_t ino)
{
	ck_assert_uint_ge(ino, FIRST_INO);
	ck_assert_uint_lt(ino, FIRST_INO + d->n);
	return &d->entries[where[ino - FIRST_INO]];
}

/* Walk a leaf from `off`: rules, contents, and marks in seen[]. *used gets the bytes its names
 * need. */
static inline unsigned check_leaf(const struct dir *d, const uint8_t *b, uint32_t off,
				  const uint32_t *where, uint8_t *seen, uint32_t *used)
{
	unsigned names = 0;

	*used = off;
	while (off < room(d)) {
		uint32_t len = rec_len_at(d, b + off), ino = peek32(b + off);
		const struct xw_dir_entry *e;

		ck_assert_uint_ge(len, 12);
		ck_assert_uint_eq(len % 4, 0);
		ck_assert_uint_le(off + len, room(d));
		if (!ino) {
			ck_assert_uint_eq(len, room(d));
			ck_assert_uint_eq(peek16(b + off + 6), 0);
			break;
		}
		e = entry_of_ino(d, where, ino);
		ck_assert_uint_eq(seen[ino - FIRST_INO], 0);
		seen[ino - FIRST_INO] = 1;
		ck_assert_uint_eq(b[off + 6], e->name_len);
		ck_assert_uint_eq(b[off + 7], d->f.filetype ? e->ftype : 0);
		ck_assert_mem_eq(b + off + 8, e->name, e->name_len);
		*used += (8u + e->name_len + 3) & ~3u;
		if (off + len < room(d))
			ck_assert_uint_eq(len, (8u + e->name_len + 3) & ~3u);
		off += len;
		names++;
	}
	check_tail(d, b);
	return names;
}

/* Collect leaves below an index block in order, checking the block and the order of its hashes. */
static inline void walk_index(struct dir *d, uint32_t lblk, unsigned level, uint32_t bound)
{
	const uint8_t *b = block_at(d, lblk);
	const unsigned off = level ? 8 : 32;
	const unsigned count = peek16(b + off + 2);
	uint32_t last = bound & ~1u;

	if (level) {
		ck_assert_uint_eq(peek32(b), 0);
		ck_assert_uint_eq(rec_len_at(d, b), d->f.block_size);
		ck_assert_uint_eq(peek16(b + 6), 0);
	}
	check_dx_tail(d, b, off);
	for (unsigned i = 0; i < count; i++) {
		uint32_t hash = i ? peek32(b + off + 8 * i) : bound;
		uint32_t child = peek32(b + off + 8 * i + 4);

		ck_assert_uint_lt(child, d->shape.blocks);
		ck_assert_uint_eq(d->referenced[child]++, 0);
		ck_assert_uint_ge(hash & ~1u, last);
		if (i && (hash & ~1u) == last)
			ck_assert_uint_eq(hash & 1, 1);
		last = hash & ~1u;
		if (level < d->shape.levels)
			walk_index(d, child, level + 1, hash);
		else
			d->leaves[d->n_leaves++] = (struct leaf){.lblk = child, .bound = hash};
	}
}

/* The leaf the hash leads to, as an index into leaves[]. */
static inline uint32_t descend(const struct dir *d, uint32_t hash)
{
	uint32_t lblk = 0, i = 0;

	for (unsigned level = 0; level <= d->shape.levels; level++) {
		const uint8_t *b = block_at(d, lblk);
		const unsigned off = level ? 8 : 32;
		unsigned lo = 0, hi = peek16(b + off + 2);

		while (hi - lo > 1) {
			unsigned mid = (lo + hi) / 2;

			if (peek32(b + off + 8 * mid) <= hash)
				lo = mid;
			else
				hi = mid;
		}
		lblk = peek32(b + off + 8 * lo + 4);
	}
	/* bulk-built leaves follow each other in the file, others are looked for */
	i = lblk - d->leaves[0].lblk;
	if (i >= d->n_leaves || d->leaves[i].lblk != lblk) {
		for (i = 0; i < d->n_leaves && d->leaves[i].lblk != lblk; i++)
			;
	}
	ck_assert_uint_lt(i, d->n_leaves);
	ck_assert_uint_eq(d->leaves[i].lblk, lblk);
	return i;
}

static inline uint32_t find_in_leaf(const struct dir *d, uint32_t lblk, const char *name,
				    unsigned len)
{
	const uint8_t *b = block_at(d, lblk);

	for (uint32_t off = 0; off < room(d); off += rec_len_at(d, b + off)) {
		if (peek32(b + off) && b[off + 6] == len && !memcmp(b + off + 8, name, len))
			return peek32(b + off);
	}
	return 0;
}

static inline uint32_t lookup(const struct dir *d, uint32_t hash, const char *name, unsigned len)
{
	uint32_t i = descend(d, hash);
	uint32_t ino = find_in_leaf(d, d->leaves[i].lblk, name, len);

	while (!ino && ++i < d->n_leaves && d->leaves[i].bound == (hash | 1))
		ino = find_in_leaf(d, d->leaves[i].lblk, name, len);
	return ino;
}

#endif
