/* SPDX-License-Identifier: MIT */
/* Members of a pax archive: a ustar header, and pax records for values that do not fit there. */
#ifndef XW_EXPORT_HEADER_H
#define XW_EXPORT_HEADER_H

#include "base/vec.h"
#include "export/output.h"

enum xw_tar_type {
	XW_TAR_REG = '0',
	XW_TAR_HARDLINK = '1',
	XW_TAR_SYMLINK = '2',
	XW_TAR_CHR = '3',
	XW_TAR_BLK = '4',
	XW_TAR_DIR = '5',
	XW_TAR_FIFO = '6',
	XW_TAR_PAX = 'x', /* records for the next member */
};

struct xw_tar_member {
	const char *path; /* terminated; without a trailing slash; "" is the top */
	const char *link; /* or NULL */
	enum xw_tar_type type;
	uint32_t mode, uid, gid; /* mode: permission bits */
	uint64_t size; /* size of the payload that follows */
	struct xw_time mtime;
	bool has_atime;
	struct xw_time atime;
	uint32_t dev_major, dev_minor;
	bool sparse; /* GNU.sparse 1.0: the payload starts with the map */
	uint64_t real_size; /* size of the sparse file */
};

/* The pax records of one member. */
struct xw_tar_records {
	XW_VEC(char) v;
	bool binary; /* a path is not UTF-8 */
};

/* Add the record "LEN key=value" and a newline; LEN counts all of it. 0 or XW_ERR_NOMEM. */
int xw_tar_record(struct xw_tar_records *r, const char *key, size_t key_len, const void *value,
		  size_t value_len);
/* Write the headers of a member: the records in *r and those that m needs. Empties *r. */
int xw_tar_put_member(struct xw_output *o, const struct xw_tar_member *m, struct xw_tar_records *r);
/* End the archive: write two zero blocks and pad it to 10,240 bytes, as tar(1) does. */
int xw_tar_put_end(struct xw_output *o);

#endif
