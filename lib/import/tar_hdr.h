/* SPDX-License-Identifier: MIT */
/* The 512-byte tar header: v7, ustar (also under pax) and GNU. Pure functions on buffers. */
#ifndef XW_IMPORT_TAR_HDR_H
#define XW_IMPORT_TAR_HDR_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/types.h"

#define XW_TAR_BLOCK 512

struct xw_tar_sp { /* entry of an old GNU sparse map */
	char off[12], len[12];
};

struct xw_tar_hdr {
	char name[100];
	char mode[8], uid[8], gid[8];
	char size[12], mtime[12];
	char chksum[8];
	char type;
	char linkname[100];
	char magic[8]; /* with the version: "ustar\0" "00", GNU: "ustar  \0" */
	char uname[32], gname[32];
	char devmajor[8], devminor[8];
	union {
		char prefix[155]; /* ustar */
		struct {
			char atime[12], ctime[12], offset[12], longnames[4], unused;
			struct xw_tar_sp sp[4];
			char extended, realsize[12];
		} gnu;
	};
	char pad[12]; /* star: the last four bytes are "tar\0" */
};
static_assert(sizeof(struct xw_tar_hdr) == XW_TAR_BLOCK, "tar header is one block");
static_assert(offsetof(struct xw_tar_hdr, type) == 156, "");
static_assert(offsetof(struct xw_tar_hdr, magic) == 257, "");
static_assert(offsetof(struct xw_tar_hdr, devmajor) == 329, "");
static_assert(offsetof(struct xw_tar_hdr, gnu.sp) == 386, "");
static_assert(offsetof(struct xw_tar_hdr, gnu.extended) == 482, "");
static_assert(offsetof(struct xw_tar_hdr, gnu.realsize) == 483, "");

struct xw_tar_ext { /* continuation block of an old GNU sparse map */
	struct xw_tar_sp sp[21];
	char extended, pad[7];
};
static_assert(sizeof(struct xw_tar_ext) == XW_TAR_BLOCK, "sparse extension is one block");

enum xw_tar_magic { XW_TAR_V7, XW_TAR_USTAR, XW_TAR_GNU };
enum xw_tar_magic xw_tar_magic(const struct xw_tar_hdr *h);

bool xw_tar_is_zero(const void *block);
/* Is the checksum the sum of all bytes, as unsigned or (old writers) signed values? */
bool xw_tar_checksum_ok(const void *block);

/*
 * Does a file with these first bytes look like a tar archive? len: XW_TAR_LOOK, or the file's size.
 */
bool xw_tar_begins(const unsigned char *p, size_t len);
#define XW_ISO_MAGIC_AT 32769u /* ISO 9660 starts with 32 KiB that are usually zeros */
#define XW_TAR_LOOK (XW_ISO_MAGIC_AT + 5u)

/*
 * Decode a numeric field: octal with leading blanks, terminated by NUL, blank or the end of the
 * field; or base-256 (first bit set), two's complement in the remaining bits. An empty field is 0.
 * XW_ERR_INPUT: malformed, or more than 63 bits.
 */
int xw_tar_number(const char *field, size_t size, int64_t *out);

/* Length of a text field, which ends at a NUL or the end of the field. */
size_t xw_tar_text(const char *field, size_t size);

#endif
