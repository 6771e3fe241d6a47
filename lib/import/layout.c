/* SPDX-License-Identifier: MIT */
/*
 * `docker save` and OCI layouts contain the files of a container as archives. A user who specifies
 * one as a source most likely wants these files, and would notice their absence only when the
 * system does not boot. Every archive that may be an image is therefore examined (oci_detect.c),
 * and storing one as files is reported.
 */
#include "config.h"

#include "import/layout.h"

#include <string.h>

#include "import/tar_hdr.h"

enum { OCI_LAYOUT = 1, MANIFEST = 2, LAYERS = 4, REPOSITORIES = 8 };

/* ---- layouts that are stored as files ---- */

static bool begins(struct xw_slice s, const char *text)
{
	return s.len > strlen(text) && !memcmp(s.p, text, strlen(text));
}

static bool ends(struct xw_slice s, const char *text)
{
	const size_t len = strlen(text);

	return s.len > len && !memcmp(s.p + s.len - len, text, len);
}

static struct xw_slice without_dot(struct xw_slice p)
{
	while (p.len >= 2 && p.p[0] == '.' && p.p[1] == '/') {
		p.p += 2;
		p.len -= 2;
	}
	return p;
}

unsigned xw_layout_mark(const struct xw_entry *e)
{
	const struct xw_slice p = without_dot(e->path);

	if (e->type != XW_ET_REG)
		return 0;
	if (xw_slice_is(p, "oci-layout"))
		return OCI_LAYOUT;
	if (xw_slice_is(p, "manifest.json"))
		return MANIFEST;
	if (xw_slice_is(p, "repositories"))
		return REPOSITORIES;
	return begins(p, "blobs/sha256/") || ends(p, "/layer.tar") ? LAYERS : 0;
}

const char *xw_layout_kind(unsigned marks)
{
	if (!(marks & LAYERS))
		return NULL;
	return marks & MANIFEST       ? "an archive of docker save"
	       : marks & OCI_LAYOUT   ? "an OCI image layout"
	       : marks & REPOSITORIES ? "an archive of docker save before 1.10"
				      : NULL;
}

const char *xw_layout_advice(unsigned marks)
{
	return marks & (MANIFEST | OCI_LAYOUT)
		       ? "to unpack them, prefix its name with docker-archive: or oci:, use the "
			 "output of docker export, or specify its layers as sources, lowest first"
		       : XW_LAYOUT_OLD;
}

/* ---- detection before reading ---- */

/* Is it the name of a blob: HEX, HEX/..., HEX.json or HEX.tar.gz, with or without "sha256:"? */
static bool is_hash(struct xw_slice p)
{
	if (begins(p, "sha256:")) {
		p.p += 7;
		p.len -= 7;
	}
	if (p.len < 64 || (p.len > 64 && p.p[64] != '/' && p.p[64] != '.'))
		return false;
	for (size_t i = 0; i < 64; i++)
		if (!memchr("0123456789abcdef", p.p[i], 16))
			return false;
	return true;
}

static bool is_index(struct xw_slice p)
{
	return xw_slice_is(p, "oci-layout") || xw_slice_is(p, "index.json") ||
	       xw_slice_is(p, "manifest.json") || xw_slice_is(p, "repositories");
}

static struct xw_slice name_of(const struct xw_tar_hdr *h)
{
	return without_dot((struct xw_slice){h->name, xw_tar_text(h->name, sizeof(h->name))});
}

bool xw_layout_begins(const unsigned char *p, size_t len)
{
	for (size_t at = 0; at + XW_TAR_BLOCK <= len;) {
		const struct xw_tar_hdr *h = (const struct xw_tar_hdr *)(p + at);
		const struct xw_slice name = name_of(h);
		const bool extension = h->type == 'x' || h->type == 'g' || h->type == 'L';
		int64_t size;

		if (!extension && name.len && !xw_slice_is(name, "."))
			return is_index(name) || is_hash(name) || xw_slice_is(name, "blobs") ||
			       xw_slice_is(name, "blobs/") || begins(name, "blobs/") ||
			       ends(name, "/layer.tar") || xw_slice_is(name, "config.json");
		if (xw_tar_number(h->size, sizeof(h->size), &size) || size < 0 ||
		    (uint64_t)size > len)
			return false;
		at += XW_TAR_BLOCK + xw_round_up((uint64_t)size, XW_TAR_BLOCK);
	}
	return false;
}

bool xw_layout_ends(const unsigned char *p, size_t len)
{
	for (size_t at = 0; at + XW_TAR_BLOCK <= len; at += XW_TAR_BLOCK) {
		const struct xw_tar_hdr *h = (const struct xw_tar_hdr *)(p + at);

		if (xw_tar_magic(h) != XW_TAR_V7 && is_index(name_of(h)) && xw_tar_checksum_ok(h))
			return true;
	}
	return false;
}
