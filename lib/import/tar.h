/* SPDX-License-Identifier: MIT */
/* Our own tar reader. Internal to lib/import: other rooms call xw_source_open(). */
#ifndef XW_IMPORT_TAR_H
#define XW_IMPORT_TAR_H

#include "import/input.h"
#include "import/pax.h"
#include "import/source.h"
#include "import/tar_hdr.h"
#include "import/tar_sparse.h"

#define XW_TAR_NAME_MAX (1u << 20) /* maximum size of a GNU long name */

struct xw_tar_buf {
	char *v;
	size_t n, cap;
	bool set;
};

struct xw_tar {
	struct xw_source src;
	struct xw_input *in;
	bool compressed;
	/* the archive in a file, as in struct xw_archive_params */
	bool in_file;
	int fd;
	uint64_t file_off;
	bool drain; /* read on after the end of the archive, see xw_input_read_limit() */
	bool verified; /* verified by a digest: a missing end mark does not mean truncation */
	int failed; /* code that all further calls return */
	bool done;
	unsigned warned; /* bits: warnings that were logged */
	bool saw_pax; /* x or g headers exist: this is pax interchange format */
	struct xw_pax_globals globals;

	/* the current member */
	struct xw_entry e;
	struct xw_tar_hdr hdr;
	struct xw_tar_buf records, name, link; /* bodies of the x, L, K headers before it */
	char ustar_name[sizeof(((struct xw_tar_hdr *)0)->prefix) + 1 + 100];
	struct xw_pax pax;
	struct xw_sparse sparse;

	/*
	 * Its payload: `left` bytes, then `tail` bytes that the sparse map does not cover, then
	 * `pad`, up to the next header.
	 */
	bool data; /* the consumer may read `left` */
	uint64_t left;
	uint64_t tail;
	unsigned pad;
	uint64_t off; /* offset in the file, or within segment seg */
	size_t seg;
};

/* Open a tar archive. Owns in, also on failure. */
int xw_tar_open(struct xw_input *in, const struct xw_archive_params *p, struct xw_source **out);

/*
 * tar_member.c: read headers up to and including that of the next member: 1 and t->e, or 0 at the
 * end.
 */
int xw_tar_member(struct xw_tar *t);

/* Fail with a message that names the current member. */
int xw_tar_fail(struct xw_tar *t, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Fail because of rc of the input, or because it ended (0) within the current member. */
int xw_tar_fail_input(struct xw_tar *t, int rc);
/* Warn once for each bit. */
enum { XW_TAR_WARN_ACE, XW_TAR_WARN_ACL, XW_TAR_WARN_TYPE, XW_TAR_WARN_SKIPPED, XW_TAR_WARN_ZERO };
void xw_tar_warn(struct xw_tar *t, unsigned bit, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Set the payload of the current member to n + tail bytes. data: the consumer may read n bytes. */
void xw_tar_payload(struct xw_tar *t, uint64_t n, uint64_t tail, bool data);
/* Skip the unread payload. */
int xw_tar_finish(struct xw_tar *t);

#endif
