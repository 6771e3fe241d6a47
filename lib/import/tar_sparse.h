/* SPDX-License-Identifier: MIT */
/* Maps of sparse tar members: old GNU blocks, pax 0.0 pairs, 0.1 text, 1.0 in the payload. */
#ifndef XW_IMPORT_TAR_SPARSE_H
#define XW_IMPORT_TAR_SPARSE_H

#include "base/vec.h"
#include "import/source.h"
#include "import/tar_hdr.h"

#define XW_SPARSE_MAX (1u << 22) /* maximum number of segments of one file: 64 MiB of map */

struct xw_sparse {
	XW_VEC(struct xw_segment) map;
	/* while a 1.0 map is read */
	uint64_t want, num; /* number of numbers to read; the current number */
	bool counted, digits; /* the count was read; `num` has digits */
};

void xw_sparse_reset(struct xw_sparse *s);
void xw_sparse_free(struct xw_sparse *s);

/* The following functions return 0, XW_ERR_NOMEM or XW_ERR_INPUT. */
int xw_sparse_add(struct xw_sparse *s, uint64_t off, uint64_t len);
/* Add n entries of a header or extension block; the first empty one ends the map. */
int xw_sparse_old(struct xw_sparse *s, const struct xw_tar_sp *sp, size_t n);
/* Add the map in the text "off,len,off,len". */
int xw_sparse_text(struct xw_sparse *s, struct xw_slice v);
/*
 * Parse one payload block of a 1.0 map (a count, then as many pairs, one number per line): 1 when
 * the map is complete, 0 if it continues in the next block.
 */
int xw_sparse_block(struct xw_sparse *s, const void *block);

/*
 * Check a complete map against the sizes of file and payload, and normalize it: empty segments are
 * removed, adjacent ones merged. *mapped: size of the payload that it covers. XW_ERR_INPUT with the
 * reason in *why.
 */
int xw_sparse_check(struct xw_sparse *s, uint64_t size, uint64_t payload, uint64_t *mapped,
		    const char **why);

#endif
