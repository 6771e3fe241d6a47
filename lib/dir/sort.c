/* SPDX-License-Identifier: MIT */
/*
 * Sorting of directory entries: an in-place radix sort (American flag) over the 64 bits of both
 * hashes, a byte at a time from the top, with insertion sort below a few dozen entries. Directories
 * reach millions of names, so there is no second copy of the array, and names are compared only
 * where both hashes are equal. Names can be chosen to collide: a run of equal hashes is sorted by
 * qsort, never by insertion.
 */
#include "config.h"

#include "dir/sort.h"

#include <stdlib.h>
#include <string.h>

#define SMALL 32
#define TOP_SHIFT 56

static inline uint64_t entry_key(const struct xw_dir_entry *e)
{
	return (uint64_t)e->hash.major << 32 | e->hash.minor;
}

/* A total order over distinct names. */
static int cmp_entries(const void *x, const void *y)
{
	const struct xw_dir_entry *a = x, *b = y;
	const uint64_t ka = entry_key(a), kb = entry_key(b);
	int c;

	if (ka != kb)
		return ka < kb ? -1 : 1;
	c = memcmp(a->name, b->name, XW_MIN(a->name_len, b->name_len));
	return c ? c : (int)a->name_len - (int)b->name_len;
}

static void insertion_sort(struct xw_dir_entry *e, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct xw_dir_entry x = e[i];
		size_t j = i;

		for (; j > 0 && cmp_entries(&x, &e[j - 1]) < 0; j--)
			e[j] = e[j - 1];
		e[j] = x;
	}
}

static inline unsigned digit(const struct xw_dir_entry *e, int shift)
{
	return (unsigned)(entry_key(e) >> shift) & 0xFF;
}

/* Move every entry into the bucket of its digit; end[d] is the end of bucket d. */
static void permute(struct xw_dir_entry *e, size_t next[256], const size_t end[256], int shift)
{
	for (unsigned b = 0; b < 256; b++) {
		while (next[b] < end[b]) {
			struct xw_dir_entry x = e[next[b]];
			unsigned d = digit(&x, shift);

			while (d != b) {
				struct xw_dir_entry y = e[next[d]];

				e[next[d]++] = x;
				x = y;
				d = digit(&x, shift);
			}
			e[next[b]++] = x;
		}
	}
}

/* Recursion is at most eight deep: one level per byte of the key. */
static void sort_from(struct xw_dir_entry *e, size_t n, int shift)
{
	size_t next[256], end[256], at = 0;

	if (n <= SMALL) {
		insertion_sort(e, n);
		return;
	}
	if (shift < 0) {
		qsort(e, n, sizeof(*e), cmp_entries);
		return;
	}
	memset(end, 0, sizeof(end));
	for (size_t i = 0; i < n; i++)
		end[digit(&e[i], shift)]++;
	for (unsigned b = 0; b < 256; b++) {
		next[b] = at;
		at += end[b];
		end[b] = at;
	}
	permute(e, next, end, shift);
	at = 0;
	for (unsigned b = 0; b < 256; b++) {
		if (end[b] - at > 1)
			sort_from(e + at, end[b] - at, shift - 8);
		at = end[b];
	}
}

void xw_dir_sort(struct xw_dir_entry *entries, size_t n)
{
	sort_from(entries, n, TOP_SHIFT);
}
