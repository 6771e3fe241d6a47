/* SPDX-License-Identifier: MIT */
/* Replaces oci*.c in builds without jansson and nettle. */
#include "config.h"

#include "import/oci.h"

static int unsupported(const struct xw_oci_open *p)
{
	if (!p->spec)
		return 0; /* stored as files, with a warning */
	return xw_fail(p->diag, XW_ERR_UNSUPPORTED,
		       "%s: container images are not supported: built without jansson and nettle",
		       p->name);
}

int xw_oci_try_dir(int fd, const struct xw_oci_open *p, struct xw_source **out)
{
	(void)fd;
	*out = NULL;
	return unsupported(p);
}

int xw_oci_try_tar(struct xw_feed **f, int file, uint64_t size, const struct xw_oci_open *p,
		   struct xw_source **out)
{
	(void)f;
	(void)file;
	(void)size;
	*out = NULL;
	return unsupported(p);
}
