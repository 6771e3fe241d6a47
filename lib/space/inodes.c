/* SPDX-License-Identifier: MIT */
/*
 * Free inodes. As with blocks, a group has a bitmap only if necessary: a group whose used inodes
 * are 0..n-1, as all groups of a new image, is described by n, and unused groups are not even in
 * memory (chunks of 256). All other groups of an existing image are read again when they are
 * accessed.
 *
 * Invariants:
 * 1. Without words and TO_READ, the first `used` inodes are used, and end == used.
 * 2. With words, `used` and `end` (highest used + 1) are exact, and no inode below `low` is free.
 * 3. The bit of a group in `full` is set if the group is full, the bit of a word of `full` in
 *    `full_words` if all its bits are set.
 */
#include "config.h"

#include "space/inodes.h"

#include <stdlib.h>
#include <string.h>

#include "space/bits.h"

#define CHUNK 256

enum { G_TOUCHED = 1, G_TO_READ = 2 };

struct igroup {
	uint64_t *words;
	uint32_t used, end, low, dirs;
	uint32_t flags;
};

struct xw_ispace {
	uint32_t groups, ipg;
	int (*bitmap)(void *arg, uint32_t group, uint8_t *bits);
	void *arg;
	uint64_t free;
	struct igroup **chunks;
	uint64_t *full, *full_words;
};

static const struct igroup empty_group;

static uint32_t nwords(const struct xw_ispace *s)
{
	return (s->ipg + 63) / 64;
}

static const struct igroup *group_of(const struct xw_ispace *s, uint32_t g)
{
	const struct igroup *chunk = s->chunks[g / CHUNK];

	return chunk ? &chunk[g % CHUNK] : &empty_group;
}

static struct igroup *group_for_change(struct xw_ispace *s, uint32_t g)
{
	struct igroup **chunk = &s->chunks[g / CHUNK];

	if (!*chunk)
		*chunk = calloc(CHUNK, sizeof(**chunk));
	return *chunk ? &(*chunk)[g % CHUNK] : NULL;
}

static int read_words(struct xw_ispace *s, uint32_t g, uint64_t *words)
{
	int rc;

	memset(words, 0xff, nwords(s) * sizeof(*words));
	rc = s->bitmap(s->arg, g, (uint8_t *)words);
	if (rc)
		return rc;
	xw_bits_from_le(words, nwords(s));
	xw_bits_fill(words, s->ipg, nwords(s) * 64, true);
	return 0;
}

static void mark_full(struct xw_ispace *s, uint32_t g, bool full)
{
	uint32_t w = g / 64;

	xw_bits_fill(s->full, g, g + 1, full);
	xw_bits_fill(s->full_words, w, w + 1, s->full[w] == UINT64_MAX);
}

/* Initialize one group from the bitmap of the source. */
static int read_group(struct xw_ispace *s, uint32_t g, uint64_t *words)
{
	uint32_t nfree, fragments, used, end;
	struct igroup *gr;
	int rc = read_words(s, g, words);

	if (rc)
		return rc;
	xw_bits_count(words, s->ipg, &nfree, &fragments);
	used = s->ipg - nfree;
	if (!used)
		return 0;
	end = xw_bits_run_start(words, s->ipg);
	gr = group_for_change(s, g);
	if (!gr)
		return XW_ERR_NOMEM;
	gr->used = used;
	gr->end = end;
	gr->low = xw_bits_next_free(words, 0, s->ipg);
	gr->flags = used == end ? 0 : G_TO_READ;
	s->free -= used;
	mark_full(s, g, !nfree);
	return 0;
}

int xw_ispace_new(uint32_t groups, uint32_t inodes_per_group,
		  int (*bitmap)(void *arg, uint32_t group, uint8_t *bits), void *arg,
		  struct xw_ispace **out)
{
	uint32_t words = groups / 64 + 1;
	uint64_t *scratch = NULL;
	struct xw_ispace *s;
	int rc = 0;

	*out = NULL;
	if (!groups || !inodes_per_group || inodes_per_group % 8)
		return XW_ERR_USAGE;
	if ((uint64_t)groups * inodes_per_group > UINT32_MAX)
		return XW_ERR_LIMIT;
	s = calloc(1, sizeof(*s));
	if (!s)
		return XW_ERR_NOMEM;
	s->groups = groups;
	s->ipg = inodes_per_group;
	s->bitmap = bitmap;
	s->arg = arg;
	s->free = (uint64_t)groups * inodes_per_group;
	s->chunks = calloc(groups / CHUNK + 1, sizeof(*s->chunks));
	s->full = calloc(words, sizeof(*s->full));
	s->full_words = calloc(words / 64 + 1, sizeof(*s->full_words));
	scratch = malloc(nwords(s) * sizeof(*scratch));
	if (!s->chunks || !s->full || !s->full_words || !scratch)
		rc = XW_ERR_NOMEM;
	else
		xw_bits_fill(s->full, groups, words * 64, true);
	for (uint32_t g = 0; !rc && bitmap && g < groups; g++)
		rc = read_group(s, g, scratch);
	free(scratch);
	if (rc) {
		xw_ispace_free(s);
		return rc;
	}
	*out = s;
	return 0;
}

void xw_ispace_free(struct xw_ispace *s)
{
	if (!s)
		return;
	for (uint32_t c = 0; s->chunks && c <= s->groups / CHUNK; c++) {
		for (uint32_t i = 0; s->chunks[c] && i < CHUNK; i++)
			free(s->chunks[c][i].words);
		free(s->chunks[c]);
	}
	free(s->chunks);
	free(s->full);
	free(s->full_words);
	free(s);
}

/* Allocate a bitmap for the group. */
static int expand(struct xw_ispace *s, uint32_t g, struct igroup *gr)
{
	uint64_t *words;
	int rc = 0;

	if (gr->words)
		return 0;
	words = malloc(nwords(s) * sizeof(*words));
	if (!words)
		return XW_ERR_NOMEM;
	if (gr->flags & G_TO_READ) {
		rc = read_words(s, g, words);
	} else {
		memset(words, 0, nwords(s) * sizeof(*words));
		xw_bits_fill(words, 0, gr->used, true);
		xw_bits_fill(words, s->ipg, nwords(s) * 64, true);
	}
	if (rc) {
		free(words);
		return rc;
	}
	gr->words = words;
	gr->flags &= ~(uint32_t)G_TO_READ;
	return 0;
}

/* Drop the bitmap when the used inodes are a prefix again. */
static void collapse(struct igroup *gr)
{
	if (gr->used != gr->end)
		return;
	free(gr->words);
	gr->words = NULL;
	gr->low = gr->used;
}

static bool is_prefix(const struct igroup *gr)
{
	return !gr->words && !(gr->flags & G_TO_READ);
}

/*
 * First free inode of the group at or after `at`; ipg if none. The group must be a prefix or have
 * words.
 */
static uint32_t next_free(const struct xw_ispace *s, const struct igroup *gr, uint32_t at)
{
	if (is_prefix(gr))
		return XW_MAX(at, gr->used);
	return xw_bits_next_free(gr->words, XW_MAX(at, gr->low), s->ipg);
}

/* Mark inode `at`, which is free, as used. */
static int use(struct xw_ispace *s, uint32_t g, struct igroup *gr, uint32_t at, bool dir)
{
	if (!is_prefix(gr) || at != gr->used) {
		int rc = expand(s, g, gr);

		if (rc)
			return rc;
		xw_bits_fill(gr->words, at, at + 1, true);
	}
	gr->used++;
	gr->end = XW_MAX(gr->end, at + 1);
	if (at == gr->low)
		gr->low++;
	gr->dirs += dir;
	gr->flags |= G_TOUCHED;
	s->free--;
	collapse(gr);
	if (gr->used == s->ipg)
		mark_full(s, g, true);
	return 0;
}

/* First group at or after g that is not full; s->groups if none. */
static uint32_t next_group(const struct xw_ispace *s, uint32_t g)
{
	uint32_t word = g / 64, words = s->groups / 64 + 1;
	uint32_t r = xw_bits_next_free(s->full, g, XW_MIN((word + 1) * 64, s->groups));

	if (r < s->groups && r < (word + 1) * 64)
		return r;
	word = xw_bits_next_free(s->full_words, word + 1, words);
	return word < words ? xw_bits_next_free(s->full, word * 64, s->groups) : s->groups;
}

int xw_ispace_alloc(struct xw_ispace *s, xw_ino goal, bool dir, xw_ino *out)
{
	uint64_t inodes = (uint64_t)s->groups * s->ipg;
	uint32_t at, g;

	if (!s->free)
		return XW_ERR_NOINODES;
	if (!goal || goal > inodes)
		goal = 1;
	g = (goal - 1) / s->ipg;
	at = (goal - 1) % s->ipg;
	/*
	 * The goal's group is searched from the goal on first and, after wrapping, from its start.
	 */
	for (;;) {
		struct igroup *gr;
		int rc;

		g = next_group(s, g);
		if (g == s->groups) {
			g = 0;
			at = 0;
			continue;
		}
		if (g != (goal - 1) / s->ipg)
			at = 0;
		gr = group_for_change(s, g);
		if (!gr)
			return XW_ERR_NOMEM;
		rc = is_prefix(gr) ? 0 : expand(s, g, gr);
		if (rc)
			return rc;
		at = next_free(s, gr, at);
		if (at < s->ipg) {
			*out = g * s->ipg + at + 1;
			return use(s, g, gr, at, dir);
		}
		g++;
		if (g == s->groups) {
			g = 0;
			at = 0;
		}
	}
}

static bool is_used(const struct igroup *gr, uint32_t at)
{
	return is_prefix(gr) ? at < gr->used : gr->words[at / 64] >> at % 64 & 1;
}

/* The group of an inode, ready for a change. */
static int find(struct xw_ispace *s, xw_ino ino, uint32_t *g, uint32_t *at, struct igroup **gr)
{
	if (!ino || ino > (uint64_t)s->groups * s->ipg)
		return XW_ERR_CORRUPT;
	*g = (ino - 1) / s->ipg;
	*at = (ino - 1) % s->ipg;
	*gr = group_for_change(s, *g);
	if (!*gr)
		return XW_ERR_NOMEM;
	return is_prefix(*gr) ? 0 : expand(s, *g, *gr);
}

int xw_ispace_claim(struct xw_ispace *s, xw_ino ino, bool dir)
{
	struct igroup *gr;
	uint32_t g, at;
	int rc = find(s, ino, &g, &at, &gr);

	if (rc)
		return rc;
	return is_used(gr, at) ? XW_ERR_CORRUPT : use(s, g, gr, at, dir);
}

int xw_ispace_release(struct xw_ispace *s, xw_ino ino, bool dir)
{
	struct igroup *gr;
	uint32_t g, at;
	int rc = find(s, ino, &g, &at, &gr);

	if (rc)
		return rc;
	if (!is_used(gr, at) || (dir && !gr->dirs))
		return XW_ERR_CORRUPT;
	if (!is_prefix(gr) || at + 1 != gr->used) {
		rc = expand(s, g, gr);
		if (rc)
			return rc;
		xw_bits_fill(gr->words, at, at + 1, false);
	}
	if (gr->used == s->ipg)
		mark_full(s, g, false);
	gr->used--;
	if (at + 1 == gr->end)
		gr->end = gr->words ? xw_bits_run_start(gr->words, at) : at;
	gr->low = XW_MIN(gr->low, at);
	gr->dirs -= dir;
	gr->flags |= G_TOUCHED;
	s->free++;
	collapse(gr);
	return 0;
}

int xw_ispace_set_dirs(struct xw_ispace *s, uint32_t group, uint32_t dirs)
{
	struct igroup *gr;

	if (group >= s->groups || dirs > group_of(s, group)->used)
		return XW_ERR_CORRUPT;
	if (!dirs && !group_of(s, group)->dirs)
		return 0;
	gr = group_for_change(s, group);
	if (!gr)
		return XW_ERR_NOMEM;
	gr->dirs = dirs;
	return 0;
}

void xw_ispace_group(const struct xw_ispace *s, uint32_t group, struct xw_igroup_summary *out)
{
	const struct igroup *gr = group_of(s, group);

	out->free = s->ipg - gr->used;
	out->used_dirs = gr->dirs;
	out->unused = s->ipg - gr->end;
	out->touched = gr->flags & G_TOUCHED;
}

int xw_ispace_group_bitmap(struct xw_ispace *s, uint32_t group, uint8_t *bits, size_t size)
{
	const struct igroup *gr = group_of(s, group);
	uint32_t nbytes = s->ipg / 8;

	if (size < nbytes)
		return XW_ERR_USAGE;
	memset(bits, 0xff, size);
	if (gr->flags & G_TO_READ)
		return s->bitmap(s->arg, group, bits);
	if (!gr->words) {
		memset(bits, 0, nbytes);
		memset(bits, 0xff, gr->used / 8);
		if (gr->used % 8)
			bits[gr->used / 8] = (uint8_t)((1u << gr->used % 8) - 1);
		return 0;
	}
	xw_bits_to_le(gr->words, bits, nbytes);
	return 0;
}

uint64_t xw_ispace_free_count(const struct xw_ispace *s)
{
	return s->free;
}
