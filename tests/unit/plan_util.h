/* SPDX-License-Identifier: MIT */
/*
 * What the tests of lib/plan share: options from text, a small deterministic random source, a map
 * of used blocks.
 */
#ifndef XW_TESTS_PLAN_UTIL_H
#define XW_TESTS_PLAN_UTIL_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plan/geometry.h"
#include "unit.h"

/*
 * ck_assert_msg for what is claimed of every group or block: Check tells its parent about each
 * assertion passed, which by the hundred thousand takes minutes.
 */
#define hold(claim, ...)                                                                           \
	do {                                                                                       \
		if (!(claim))                                                                      \
			ck_abort_msg(__VA_ARGS__);                                                 \
	} while (0)

struct rnd {
	uint64_t s;
};

/* splitmix64 */
static inline uint64_t rnd_u64(struct rnd *r)
{
	uint64_t z = (r->s += 0x9e3779b97f4a7c15ull);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline uint64_t rnd_below(struct rnd *r, uint64_t n)
{
	return rnd_u64(r) % n;
}

static inline bool rnd_chance(struct rnd *r, unsigned percent)
{
	return rnd_below(r, 100) < percent;
}

/* 1 .. max, every magnitude equally likely */
static inline uint64_t rnd_magnitude(struct rnd *r, unsigned max_bits)
{
	uint64_t n = 1ull << rnd_below(r, max_bits);

	return n + rnd_below(r, n);
}

static const char *const plan_option_names[] = {
#define X(name, text) [XW_MKFS_##name] = text,
	XW_MKFS_OPTIONS(X)
#undef X
};

/*
 * "-b 1024 -O ^flex_bg SIZE 10M": names and values in turn, blanks between. The first failure, or
 * 0.
 */
static inline int plan_set(struct xw_mkfs_params *p, const char *options, struct xw_diag *diag)
{
	char *copy = strdup(options), *save = NULL;
	int err = 0;

	for (char *name = strtok_r(copy, " ", &save); name && !err;
	     name = strtok_r(NULL, " ", &save)) {
		unsigned o = 0;

		while (o < XW_MKFS_OPTION_COUNT && strcmp(plan_option_names[o], name))
			o++;
		ck_assert_msg(o < XW_MKFS_OPTION_COUNT, "test uses unknown option %s", name);
		err = xw_params_set(p, (enum xw_mkfs_option)o,
				    o == XW_MKFS_ADD_JOURNAL ? NULL : strtok_r(NULL, " ", &save),
				    diag);
	}
	free(copy);
	return err;
}

/* Set and finish. */
static inline int plan_params(struct xw_mkfs_params *p, const char *options, uint64_t dev_bytes,
			      struct xw_diag *diag)
{
	int err;

	xw_params_init(p);
	err = plan_set(p, options, diag);
	return err ? err : xw_params_finish(p, dev_bytes, diag);
}

/* A run of blocks with a name, for overlap checks. */
struct owned_run {
	uint64_t start, len;
	const char *what;
	uint32_t group;
};

struct owned {
	struct owned_run *v;
	size_t n, cap;
};

static inline void owned_add(struct owned *o, uint64_t start, uint64_t len, const char *what,
			     uint32_t group)
{
	if (!len)
		return;
	if (o->n == o->cap) {
		o->cap = o->cap ? o->cap * 2 : 64;
		o->v = realloc(o->v, o->cap * sizeof(*o->v));
		ck_assert_ptr_nonnull(o->v);
	}
	o->v[o->n++] = (struct owned_run){start, len, what, group};
}

static inline int owned_cmp(const void *a, const void *b)
{
	const struct owned_run *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* What the format says stands at the start of a group. */
static inline uint32_t head_of(const struct xw_geo *geo, uint32_t group)
{
	uint32_t in_meta_group = group % (geo->block_size / geo->desc_size);
	bool super = xw_geo_has_super(geo, group);

	if (!xw_has_incompat(&geo->features, XW_INCOMPAT_META_BG))
		return super ? 1 + geo->desc_blocks + geo->reserved_gdt : 0;
	return super + (in_meta_group == 0 || in_meta_group == 1 ||
			in_meta_group == geo->block_size / geo->desc_size - 1);
}

static inline uint64_t heads_of(const struct xw_geo *geo)
{
	uint64_t n = 0;

	for (uint32_t g = 0; g < geo->groups; g++) {
		hold((head_of(geo, g) != 0) == (xw_geo_next_head(geo, g) == g), "next_head(%u): %u",
		     g, xw_geo_next_head(geo, g));
		n += head_of(geo, g);
	}
	hold(xw_geo_next_head(geo, geo->groups) == geo->groups, "next_head at the end");
	return n;
}

/* Heads, bitmaps and tables of all groups. */
static inline void owned_metadata(struct owned *o, const struct xw_geo *geo)
{
	for (uint32_t g = 0; g < geo->groups; g++) {
		struct xw_group_place place;

		xw_geo_group(geo, g, &place);
		hold(place.has_super == xw_geo_has_super(geo, g) && place.head == head_of(geo, g) &&
			     place.start ==
				     geo->first_data_block + (uint64_t)g * geo->blocks_per_group,
		     "group %u: superblock %d, head %u, start %llu", g, place.has_super, place.head,
		     (unsigned long long)place.start);
		owned_add(o, place.start, place.head, "head", g);
		owned_add(o, place.block_bitmap, 1, "block bitmap", g);
		owned_add(o, place.inode_bitmap, 1, "inode bitmap", g);
		owned_add(o, place.inode_table, geo->itable_blocks, "inode table", g);
	}
}

/* Sorts; nothing overlaps, nothing outside the filesystem. Returns the blocks owned. */
static inline uint64_t owned_check(struct owned *o, const struct xw_geo *geo, const char *context)
{
	uint64_t end = geo->first_data_block, sum = 0;

	qsort(o->v, o->n, sizeof(*o->v), owned_cmp);
	for (size_t i = 0; i < o->n; i++) {
		hold(o->v[i].start >= end, "%s: %s %u at %llu overlaps %s %u", context,
		     o->v[i].what, o->v[i].group, (unsigned long long)o->v[i].start,
		     i ? o->v[i - 1].what : "start", i ? o->v[i - 1].group : 0);
		end = o->v[i].start + o->v[i].len;
		sum += o->v[i].len;
	}
	hold(end <= geo->blocks, "%s: metadata ends at %llu of %llu", context,
	     (unsigned long long)end, (unsigned long long)geo->blocks);
	return sum;
}

/* xw_geo_group_bitmap and _summary of every group say what the sorted list says. */
static inline void owned_check_bitmaps(const struct owned *o, const struct xw_geo *geo,
				       const char *context)
{
	uint32_t bpg = geo->blocks_per_group;
	uint8_t *bits = malloc(bpg / 8 + 1), *want = malloc(bpg / 8 + 1);
	size_t first = 0;

	for (uint32_t g = 0; g < geo->groups; g++) {
		uint64_t start = geo->first_data_block + (uint64_t)g * bpg, end = start + bpg;
		uint32_t nfree = 0, longest = 0, fragments = 0, first_free = 0, run = 0, sum[4];

		memset(want, 0, bpg / 8 + 1);
		while (first < o->n && o->v[first].start + o->v[first].len <= start)
			first++;
		for (size_t i = first; i < o->n && o->v[i].start < end; i++) {
			uint64_t from = XW_MAX(o->v[i].start, start);

			for (; from < XW_MIN(o->v[i].start + o->v[i].len, end); from++)
				want[(from - start) / 8] |= (uint8_t)(1 << (from - start) % 8);
		}
		for (uint64_t b = XW_MAX(start, XW_MIN(geo->blocks, end)); b < end; b++)
			want[(b - start) / 8] |= (uint8_t)(1 << (b - start) % 8);
		bits[bpg / 8] = 0x5a; /* canary */
		xw_geo_group_bitmap(geo, g, bits);
		hold(!memcmp(bits, want, bpg / 8), "%s: bitmap of group %u", context, g);
		hold(bits[bpg / 8] == 0x5a, "%s: group %u: written past the bitmap", context, g);
		for (uint32_t b = 0; b < bpg; b++) {
			if (want[b / 8] >> b % 8 & 1) {
				run = 0;
				continue;
			}
			if (!nfree++)
				first_free = b;
			fragments += !run++;
			longest = XW_MAX(longest, run);
		}
		xw_geo_group_summary(geo, g, &sum[0], &sum[1], &sum[2], &sum[3]);
		hold(sum[0] == nfree && sum[1] == longest && sum[2] == fragments &&
			     sum[3] == first_free,
		     "%s: summary of group %u is %u %u %u %u, not %u %u %u %u", context, g, sum[0],
		     sum[1], sum[2], sum[3], nfree, longest, fragments, first_free);
	}
	free(bits);
	free(want);
}

#endif
