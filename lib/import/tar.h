/* SPDX-License-Identifier: MIT */
/* Our own tar reader. Internal to lib/import: others use xw_source_open. */
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
	bool drain; /* read on after the end of the archive, see xw_input_enough */
	bool verified; /* its digest is: an archive that just ends is not a truncated one */
	int failed; /* sticky */
	bool done;
	unsigned warned; /* bits: warnings that were given */
	bool saw_pax; /* there was an x or g header: this is the pax interchange format */
	struct xw_pax_globals globals;

	/* the current member */
	struct xw_entry e;
	struct xw_tar_hdr hdr;
	struct xw_tar_buf records, name, link; /* the x, L, K headers before it */
	char ustar_name[sizeof(((struct xw_tar_hdr *)0)->prefix) + 1 + 100];
	struct xw_pax pax;
	struct xw_sparse sparse;

	/*
	 * its payload: left bytes, then those that its sparse map leaves out, then pad, up to the
	 * next header
	 */
	bool data; /* left is payload for the consumer */
	uint64_t left;
	uint64_t tail;
	unsigned pad;
	uint64_t off; /* offset in the file, or within segment seg */
	size_t seg;
};

struct xw_tar_params {
	const char *name;
	struct xw_diag *diag;
	uint64_t total;
	bool compressed, drain, verified;
};

/* Owns in, also on failure. */
int xw_tar_open(struct xw_input *in, const struct xw_tar_params *p, struct xw_source **out);

/*
 * tar_member.c: read headers up to and including that of the next member: 1 and t->e, 0 at the end.
 */
int xw_tar_member(struct xw_tar *t);

/* Record a failure of the current member. */
int xw_tar_fail(struct xw_tar *t, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The input failed with err, or ended (0) inside the current member. */
int xw_tar_fail_input(struct xw_tar *t, int err);
/* Warn once per bit. */
enum { XW_TAR_WARN_ACE, XW_TAR_WARN_TYPE, XW_TAR_WARN_SKIPPED, XW_TAR_WARN_ZERO };
void xw_tar_warn(struct xw_tar *t, unsigned bit, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Set up the payload of n bytes of the current member; data: the consumer may read it. */
void xw_tar_payload(struct xw_tar *t, uint64_t n, uint64_t tail, bool data);
/* Skip the rest of it. */
int xw_tar_finish(struct xw_tar *t);

#endif
