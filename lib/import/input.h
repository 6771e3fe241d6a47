/* SPDX-License-Identifier: MIT */
/*
 * A byte stream in large units, optionally read ahead by a thread. All units except the last are
 * full, so the consumer's view depends only on the data, not on threads or the timing of a pipe.
 */
#ifndef XW_IMPORT_INPUT_H
#define XW_IMPORT_INPUT_H

#include "base/err.h"
#include "import/feed.h"

/* A multiple of 512, so that a tar header never crosses two units. */
#define XW_INPUT_UNIT ((size_t)256 << 10)
#define XW_INPUT_UNITS 8

/* How an archive is read. */
struct xw_archive_params {
	const char *name; /* for messages */
	struct xw_diag *diag;
	uint64_t total; /* size of the input if known, else 0 */
	bool compressed; /* progress is counted in compressed bytes */
	bool drain; /* read a stream on after the end of the archive, see xw_input_read_limit() */
	/* tar: the input is this regular file from file_off on, not compressed */
	bool in_file;
	int fd;
	uint64_t file_off;
	bool verified; /* tar: verified by a digest, so a missing end mark is not truncation */
};

struct xw_input;

/*
 * Owns feed, also on failure. NULL when out of memory. Without a thread (or if none can be created)
 * the feed is read by the consumer.
 */
struct xw_input *xw_input_new(struct xw_feed *feed, bool threaded);
void xw_input_free(struct xw_input *in);
/*
 * Like xw_input_free(), but return the feed, which continues after the consumed bytes. On failure
 * the feed is closed: XW_ERR_NOMEM, or the code of a tick.
 */
int xw_input_release(struct xw_input *in, struct xw_feed **feed);
/*
 * Get the rest of the current unit without consuming it: *len > 0, or 0 at the end of the input. *p
 * is valid until the next call after all of it was consumed. 0 or a negative code, see
 * xw_input_error().
 */
int xw_input_get(struct xw_input *in, const unsigned char **p, size_t *len);
/* Consume n bytes, at most *len of the last xw_input_get(). */
void xw_input_consume(struct xw_input *in, size_t n);
/* Copy (dst NULL: skip) and consume n bytes; *got < n only at the end of the input. */
int xw_input_copy(struct xw_input *in, void *dst, uint64_t n, uint64_t *got);
/*
 * The position up to which the input is read after the end of an archive. Compressed input is read
 * to its end, where its checksums are; other input up to a limit, since it may be endless.
 */
uint64_t xw_input_read_limit(const struct xw_input *in, bool compressed);
/* Number of bytes consumed. */
uint64_t xw_input_pos(const struct xw_input *in);
/* Number of bytes read from the outermost input (before decompression), including read-ahead. */
uint64_t xw_input_raw(const struct xw_input *in);
/* At the end: was trailing data other than zeros ignored after a compressed stream? */
bool xw_input_has_trailing(const struct xw_input *in);
/* The reason for the last failure, without the name of the source. */
const char *xw_input_error(const struct xw_input *in);

#endif
