/* SPDX-License-Identifier: MIT */
/*
 * A byte stream in large units, optionally read ahead by a thread. Units are always full except the
 * last, so what the consumer sees depends only on the bytes, not on threads or on how a pipe was
 * fed.
 */
#ifndef XW_IMPORT_INPUT_H
#define XW_IMPORT_INPUT_H

#include "import/feed.h"

/* A multiple of 512: a tar header never crosses two units. */
#define XW_INPUT_UNIT ((size_t)256 << 10)
#define XW_INPUT_UNITS 8

struct xw_input;

/*
 * Owns feed, also on failure. NULL when out of memory. Without a thread (or if none can be created)
 * the consumer reads itself.
 */
struct xw_input *xw_input_new(struct xw_feed *feed, bool threaded);
void xw_input_free(struct xw_input *in);
/*
 * As xw_input_free(), but *feed is returned, and continues behind what was consumed. After a
 * failure it is closed: XW_ERR_NOMEM, or the code of a tick.
 */
int xw_input_release(struct xw_input *in, struct xw_feed **feed);
/*
 * The rest of the current unit, without consuming it: *len > 0, or 0 at the end of the input. *p is
 * valid until the next call after it was consumed. 0 or a negative code, see xw_input_error.
 */
int xw_input_get(struct xw_input *in, const unsigned char **p, size_t *len);
/* Consume n bytes, at most the last *len of xw_input_get. */
void xw_input_eat(struct xw_input *in, size_t n);
/* Copy (dst NULL: skip) and consume up to n bytes; *got < n only at the end. */
int xw_input_copy(struct xw_input *in, void *dst, uint64_t n, uint64_t *got);
/*
 * The end of an archive was consumed: the position up to which the rest is read. All of it if it
 * comes out of a decompressor, whose checksums are at its end; otherwise limited, since a writer
 * may never end.
 */
uint64_t xw_input_enough(const struct xw_input *in, bool compressed);
/* Bytes consumed so far. */
uint64_t xw_input_pos(const struct xw_input *in);
/* Bytes read from the outermost input (before decompression), including read-ahead. */
uint64_t xw_input_raw(const struct xw_input *in);
/* After the end: compressed data was followed by more than zeros, which were ignored. */
bool xw_input_has_trailing(const struct xw_input *in);
/* Reason of the last failure, without the name of the source. */
const char *xw_input_error(const struct xw_input *in);

#endif
