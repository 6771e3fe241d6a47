/* SPDX-License-Identifier: MIT */
/*
 * Digests of container images, "sha256:HEX": parsed, and computed by nettle, which libarchive loads
 * on most systems, too. It uses the processor's SHA instructions (1.8 GB/s on one core, where
 * base/sha256.c, which is for little, computes 0.14 GB/s).
 */
#ifndef XW_OCI_DIGEST_H
#define XW_OCI_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

#define XW_DIGEST_TEXT (7 + 128 + 1) /* "sha512:" and its digits */

/* Lower case, NUL-terminated; "": none. Only xw_digest_parse() makes others. */
struct xw_digest {
	char text[XW_DIGEST_TEXT];
};

/* sha256 and sha512, with digits of the right number in lower case. False: *d is none. */
bool xw_digest_parse(const char *text, size_t len, struct xw_digest *d);
bool xw_digest_is_set(const struct xw_digest *d);
bool xw_digest_same(const struct xw_digest *a, const struct xw_digest *b);
/* The digits, without the algorithm. */
const char *xw_digest_hex(const struct xw_digest *d);
/* The file of an OCI layout that holds the blob: "blobs/sha256/HEX". */
#define XW_DIGEST_PATH (XW_DIGEST_TEXT + 8)
void xw_digest_path(const struct xw_digest *d, char path[XW_DIGEST_PATH]);

struct xw_hasher;

/* For the algorithm of `like`, which is set. NULL: out of memory. */
struct xw_hasher *xw_hasher_new(const struct xw_digest *like);
void xw_hasher_add(struct xw_hasher *h, const void *buf, size_t len);
/* Once: no more can be added. */
void xw_hasher_end(struct xw_hasher *h, struct xw_digest *d);
void xw_hasher_free(struct xw_hasher *h); /* NULL: nothing */

#endif
