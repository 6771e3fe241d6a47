/* SPDX-License-Identifier: MIT */
/*
 * `docker save` and OCI layouts hold the files of a container as archives. A user who gives one as
 * a source most likely wants these files, and would miss them only when nothing boots.
 */
#include "config.h"

#include "import/layout.h"

#include <string.h>

enum { OCI_LAYOUT = 1, MANIFEST = 2, LAYERS = 4 };

static bool is(struct xw_slice s, const char *text)
{
	return s.len == strlen(text) && !memcmp(s.p, text, s.len);
}

static bool begins(struct xw_slice s, const char *text)
{
	return s.len > strlen(text) && !memcmp(s.p, text, strlen(text));
}

static bool ends(struct xw_slice s, const char *text)
{
	const size_t len = strlen(text);

	return s.len > len && !memcmp(s.p + s.len - len, text, len);
}

unsigned xw_layout_mark(const struct xw_entry *e)
{
	struct xw_slice p = e->path;

	if (e->type != XW_ET_REG)
		return 0;
	if (begins(p, "./")) {
		p.p += 2;
		p.len -= 2;
	}
	if (is(p, "oci-layout"))
		return OCI_LAYOUT;
	if (is(p, "manifest.json"))
		return MANIFEST;
	return begins(p, "blobs/sha256/") || ends(p, "/layer.tar") ? LAYERS : 0;
}

const char *xw_layout_kind(unsigned marks)
{
	if (!(marks & LAYERS))
		return NULL;
	return marks & MANIFEST     ? "an archive of docker save"
	       : marks & OCI_LAYOUT ? "an OCI image layout"
				    : NULL;
}
