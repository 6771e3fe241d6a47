/* SPDX-License-Identifier: MIT */
/*
 * Blobs of a container image: parts of regular files, as feeds whose digest is computed while they
 * are read. A wrong one is a failure of the read that would return the end.
 */
#ifndef XW_IMPORT_BLOB_H
#define XW_IMPORT_BLOB_H

#include "import/feed.h"
#include "oci/digest.h"

/* Where a blob is. */
struct xw_blob {
	int fd; /* of a regular file; not moved by reading */
	uint64_t off, size;
	bool own; /* fd belongs to the blob */
};
void xw_blob_close(struct xw_blob *b);

enum xw_verify_state {
	XW_VERIFY_READING,
	XW_VERIFY_RIGHT, /* also if nothing is verified */
	XW_VERIFY_WRONG, /* `is` has the digest of the data */
};

/* A digest to be verified. */
struct xw_verify {
	struct xw_digest want, is; /* want none: nothing is verified */
	struct xw_hasher *hasher;
	enum xw_verify_state state;
};
/* XW_ERR_NOMEM. */
int xw_verify_begin(struct xw_verify *v, const struct xw_digest *want);
void xw_verify_free(struct xw_verify *v);
/* The end of the data: false if the digest is another one, with the reason in err. Repeatable. */
bool xw_verify_end(struct xw_verify *v, char *err, size_t room);

/* A blob being read. The structure must outlive its feed. */
struct xw_blob_read {
	struct xw_blob blob;
	struct xw_verify verify;
	uint64_t at; /* bytes read */
};
/* NULL: out of memory. */
struct xw_feed *xw_feed_blob(struct xw_blob_read *r, struct xw_feed_tick tick);
/*
 * When the feed was closed: what nobody asked for is read, and the digest verified. 0, the code of
 * a tick, or XW_ERR_IO or XW_ERR_INPUT with the reason in err.
 */
int xw_blob_finish(struct xw_blob_read *r, struct xw_feed_tick tick, char *err, size_t room);
/* Verifies what passes through. Owns lower, unless NULL is returned (out of memory). */
struct xw_feed *xw_feed_verified(struct xw_feed *lower, struct xw_verify *v);

#endif
