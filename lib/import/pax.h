/* SPDX-License-Identifier: MIT */
/*
 * pax extended headers: record syntax, values, and the combined records of a member. Pure functions
 * on buffers; slices in struct xw_pax point into the records, or into its own arena if a value had
 * to be decoded.
 */
#ifndef XW_IMPORT_PAX_H
#define XW_IMPORT_PAX_H

#include "base/arena.h"
#include "base/vec.h"
#include "import/source.h"

#define XW_PAX_BODY_MAX (16u << 20) /* maximum size of one extended header */
#define XW_PAX_GLOBAL_MAX (1u << 20) /* maximum total size of global records */
#define XW_PAX_GLOBALS_MAX 4096
#define XW_PAX_XATTRS_MAX 4096 /* per member; Linux limits the list of names to 64 KiB */
#define XW_PAX_XATTR_VALUE_MAX (64u << 10)

struct xw_pax_rec {
	struct xw_slice key, value;
};

/*
 * Read the record at *pos and advance *pos: 1; 0 at the end of the body or at NUL padding;
 * XW_ERR_INPUT: malformed.
 */
int xw_pax_next(const char *body, size_t len, size_t *pos, struct xw_pax_rec *r);

/*
 * Parse decimal seconds with an optional sign and fraction. Digits after the ninth are dropped
 * before the sign is applied, and the result is rounded down: "-1.25" is {-2, 750000000}.
 * XW_ERR_INPUT: malformed or out of range.
 */
int xw_pax_time(struct xw_slice v, struct xw_time *out);
/* Parse decimal digits of a number up to max. XW_ERR_INPUT: malformed or out of range. */
int xw_pax_number(struct xw_slice v, uint64_t max, uint64_t *out);

/* Bits of struct xw_pax.has: values that are present. */
enum {
	XW_PAX_UID = 1 << 0,
	XW_PAX_GID = 1 << 1,
	XW_PAX_SIZE = 1 << 2,
	XW_PAX_MTIME = 1 << 3,
	XW_PAX_ATIME = 1 << 4,
	XW_PAX_DEVMAJOR = 1 << 5,
	XW_PAX_DEVMINOR = 1 << 6,
	XW_PAX_REALSIZE = 1 << 7, /* SCHILY.realsize */
	XW_PAX_SPARSE_MAJOR = 1 << 8,
	XW_PAX_SPARSE_MINOR = 1 << 9,
	XW_PAX_SPARSE_SIZE = 1 << 10, /* GNU.sparse.size, 0.x */
	XW_PAX_SPARSE_REAL = 1 << 11, /* GNU.sparse.realsize, 1.0 */
	/* GNU.volume.offset: not 0 in a continuation of the file */
	XW_PAX_VOLUME_OFFSET = 1 << 12,
	/* not a value, but the reason for a warning */
	XW_PAX_SAW_NFS4_ACL = 1 << 16
};

struct xw_pax {
	unsigned has;
	struct xw_slice path, link, acl_access, acl_default; /* len 0: absent */
	struct xw_slice sparse_name, sparse_map;
	uint32_t uid, gid, devmajor, devminor;
	uint64_t size, realsize, sparse_major, sparse_minor, sparse_size, sparse_real;
	uint64_t volume_offset;
	struct xw_time mtime, atime;
	XW_VEC(struct xw_entry_xattr) xattrs;
	XW_VEC(unsigned char) ranks; /* rank of each xattr, see pax.c */
	XW_VEC(struct xw_segment) sparse; /* GNU.sparse.offset/numbytes pairs, 0.0 */
	bool sparse_half; /* the last segment has no length yet */
	struct xw_arena decoded;
};

/* Clear all values, but keep allocated memory. */
void xw_pax_reset(struct xw_pax *p);
/*
 * Apply one record. A later record overrides an earlier one with the same key; an empty value
 * removes it, except for xattrs, which may be empty. Unknown keys are ignored. 0, or XW_ERR_NOMEM
 * or XW_ERR_INPUT with the reason in *why.
 */
int xw_pax_apply(struct xw_pax *p, const struct xw_pax_rec *r, const char **why);
void xw_pax_free(struct xw_pax *p);

/* Records of global headers. They apply to all following members. */
struct xw_pax_globals {
	XW_VEC(struct xw_pax_rec) recs; /* key and value in one allocation, key.p */
	size_t bytes;
};

/*
 * Copy the records of a global header. 0, or XW_ERR_NOMEM or XW_ERR_INPUT with the reason in *why.
 */
int xw_pax_globals_add(struct xw_pax_globals *g, const char *body, size_t len, const char **why);
void xw_pax_globals_free(struct xw_pax_globals *g);

#endif
