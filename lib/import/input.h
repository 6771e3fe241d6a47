/* SPDX-License-Identifier: MIT */
/*
 * A byte stream in large units, read ahead by a thread when asked. Units are always full except the
 * last, so what the consumer sees depends on the bytes only: not on threads, not on how a pipe was
 * fed.
 */
#ifndef XW_IMPORT_INPUT_H
#define XW_IMPORT_INPUT_H

#include "import/feed.h"

/* A multiple of 512: a tar header never straddles two units. */
#define XW_INPUT_UNIT ((size_t)256 << 10)
#define XW_INPUT_UNITS 8

struct xw_input;

/* Owns feed, also on failure. NULL when out of memory. Without a thread (or when one cannot be
 * made) the consumer reads for itself. */
struct xw_input *xw_input_new(struct xw_feed *feed, bool threaded);
void xw_input_free(struct xw_input *in);
/*
 * What is left of the current unit, not consumed by this: *len > 0, or 0 at the end of the input.
 * *p is valid until the next call after it was eaten. 0 or a negative code, see xw_input_error.
 */
int xw_input_get(struct xw_input *in, const unsigned char **p, size_t *len);
/* Consume n bytes, at most what the last xw_input_get gave. */
void xw_input_eat(struct xw_input *in, size_t n);
/* Copy (dst NULL: drop) and consume up to n bytes; *got < n only at the end. */
int xw_input_copy(struct xw_input *in, void *dst, uint64_t n, uint64_t *got);
/*
 * The end of an archive has been consumed: up to which position what follows is read. All of it
 * where it comes out of a decompressor, whose checksums are at its end; else a writer may go on for
 * ever, and has had room enough for padding.
 */
uint64_t xw_input_enough(const struct xw_input *in, bool compressed);
/* Bytes consumed so far. */
uint64_t xw_input_pos(const struct xw_input *in);
/* Bytes taken from the outermost input (before decompression), read-ahead included. */
uint64_t xw_input_raw(const struct xw_input *in);
/* After the end: compressed data had more than zeros behind it, which were left out. */
bool xw_input_behind(const struct xw_input *in);
/* Reason of the failure that was returned, without the source's name. */
const char *xw_input_error(const struct xw_input *in);

#endif
