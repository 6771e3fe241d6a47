/* SPDX-License-Identifier: MIT */
/*
 * Detects container images. In a directory, two files are checked. A tar archive is indexed, which
 * reads every header, if a name at its start or end suggests an image. A pipe or a compressed
 * archive, which cannot be read in arbitrary order, is spooled first: the order of layers is known
 * only after the last one was read.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "import/layout.h"
#include "import/oci.h"
#include "import/oci_image.h"
#include "import/spool.h"
#include "import/tar_hdr.h"

/* Duplicate fd; -1 with a message on failure. */
static int duplicate(int fd, const struct xw_oci_open *p)
{
	const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0)
		xw_fail_errno(p->diag, XW_ERR_IO, errno, "%s: cannot reopen", p->name);
	return copy;
}

static bool has_layout(struct xw_store *s)
{
	return xw_store_has(s, "oci-layout") && xw_store_has(s, "index.json");
}

static int open_store(struct xw_store *s, const struct xw_oci_open *p, struct xw_source **out)
{
	const int rc = xw_oci_open(s, p, out);

	return rc ? rc : 1;
}

int xw_oci_try_dir(int fd, const struct xw_oci_open *p, struct xw_source **out)
{
	const int copy = duplicate(fd, p);
	struct xw_store *s;
	int rc = copy < 0 ? XW_ERR_IO : xw_store_open_dir(copy, p->name, p->diag, &s);

	if (rc)
		return rc;
	if (p->spec || has_layout(s))
		return open_store(s, p, out);
	xw_store_close(s);
	return 0;
}

/* Do the last bytes of the file suggest an image? */
static bool ends_as_layout(int file, uint64_t size)
{
	auto_free unsigned char *tail = malloc(XW_LAYOUT_TAIL);
	const uint64_t from = size > XW_LAYOUT_TAIL ? (size - XW_LAYOUT_TAIL) & ~511ull : 0;
	const ssize_t n = tail ? pread(file, tail, XW_LAYOUT_TAIL, (off_t)from) : 0;

	return n > 0 && xw_layout_ends(tail, (size_t)n);
}

/* Try an archive in a regular file. Owns file. */
static int try_file(int file, uint64_t size, const struct xw_oci_open *p, struct xw_source **out)
{
	struct xw_store *s;
	int rc = xw_store_open_archive(file, size, p->name, p->o->tick, p->spec ? p->diag : NULL,
				       &s);

	if (rc) /* reading a damaged archive reports the damage */
		return p->spec ? rc : 0;
	if (p->spec || has_layout(s) || xw_oci_image_is_docker(s))
		return open_store(s, p, out);
	xw_store_close(s);
	return 0;
}

/* Spool *f and try the copy. *f becomes NULL, or a feed of the same bytes. */
static int try_spooled(struct xw_feed **f, const struct xw_oci_open *p, struct xw_source **out)
{
	uint64_t size;
	int fd, copy, rc;

	rc = xw_spool(*f, &p->o->spool, p->name, p->diag, &fd, &size);
	xw_feed_close(*f);
	*f = NULL;
	if (rc)
		return rc;
	copy = duplicate(fd, p);
	rc = copy < 0 ? XW_ERR_IO : try_file(copy, size, p, out);
	if (!rc && lseek(fd, 0, SEEK_SET))
		rc = xw_fail_errno(p->diag, XW_ERR_IO, errno, "%s: cannot reread", p->name);
	if (rc) {
		close(fd);
		return rc;
	}
	*f = xw_feed_fd(fd, true, p->o->tick);
	if (*f)
		return 0;
	close(fd);
	return xw_fail_nomem(p->diag, "the input");
}

int xw_oci_try_tar(struct xw_feed **f, int file, uint64_t size, const struct xw_oci_open *p,
		   struct xw_source **out)
{
	const ssize_t n = xw_feed_peek(*f, XW_TAR_LOOK);
	int copy;

	if (n < 0)
		return xw_fail(p->diag, (int)n, "%s: %s", p->name, (*f)->err);
	if (!p->spec && !xw_layout_begins(xw_feed_head(*f), (size_t)n) &&
	    (file < 0 || !ends_as_layout(file, size)))
		return 0;
	if (file < 0)
		return try_spooled(f, p, out);
	copy = duplicate(file, p);
	return copy < 0 ? XW_ERR_IO : try_file(copy, size, p, out);
}
