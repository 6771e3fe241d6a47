/* SPDX-License-Identifier: MIT */
/*
 * Feeds over the blobs of a container image, which are ranges of regular files. Their digests are
 * computed while they are read: after a mismatch, the read at the end of the blob fails.
 */
#ifndef XW_IMPORT_BLOB_H
#define XW_IMPORT_BLOB_H

#include "import/feed.h"
#include "oci/digest.h"

/* The location of a blob. */
struct xw_blob {
	int fd; /* regular file; its offset is not used */
	uint64_t off, size;
	bool own; /* close fd with the blob */
};
void xw_blob_close(struct xw_blob *b);

enum xw_verify_state {
	XW_VERIFY_READING,
	XW_VERIFY_MATCH, /* also if no digest is expected */
	XW_VERIFY_MISMATCH, /* mismatch: `actual` contains the actual digest */
};

/* Verification of a digest. */
struct xw_verify {
	struct xw_digest want, actual; /* expected (may be unset) and actual digest */
	struct xw_hasher *hasher;
	enum xw_verify_state state;
};
/* 0 or XW_ERR_NOMEM. */
int xw_verify_begin(struct xw_verify *v, const struct xw_digest *want);
void xw_verify_free(struct xw_verify *v);
/* Compare the digests after all data: false on a mismatch, with the reason in why. Repeatable. */
bool xw_verify_end(struct xw_verify *v, char *why, size_t room);

/* A blob being read. The structure must outlive its feed. */
struct xw_blob_read {
	struct xw_blob blob;
	struct xw_verify verify;
	uint64_t at; /* bytes read */
};
/* Returns NULL when out of memory. */
struct xw_feed *xw_feed_blob(struct xw_blob_read *r, struct xw_feed_tick tick);
/*
 * Read the rest of the blob after its feed was closed, and verify the digest. Returns 0, the code
 * of a tick, or XW_ERR_IO or XW_ERR_INPUT with the reason in why.
 */
int xw_blob_finish(struct xw_blob_read *r, struct xw_feed_tick tick, char *why, size_t room);
/*
 * Returns a feed that reads `lower` and verifies its data. Owns lower unless NULL is returned (out
 * of memory).
 */
struct xw_feed *xw_feed_verified(struct xw_feed *lower, struct xw_verify *v);

#endif
