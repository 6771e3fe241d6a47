/* SPDX-License-Identifier: MIT */
/*
 * Archive formats and compression methods by name, and libarchive as their writer. Compression
 * alone uses libarchive's format "raw": a stream of one member without headers.
 *
 * The output must not depend on the number of threads. With threads, xz and zstd split their input
 * at places that do not depend on that number; without threads they split it elsewhere or not at
 * all. So they are always used with threads.
 */
#include "config.h"

#include "export/compress.h"

#include <archive.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/pool.h"
#include "export/laout.h"

static const struct method {
	const char *name;
	const char *suffix; /* of a compressed file */
	const char *tar_suffixes[3]; /* short forms for a tar archive, as those of tar -a */
	int (*add)(struct archive *a);
	unsigned threads_min; /* 0: the method has no threads */
} methods[] = {
	[XW_COMPRESS_NONE] = {"none", "", {".tar"}, NULL, 0},
	[XW_COMPRESS_BZIP2] =
		{"bzip2", ".bz2", {".tbz2", ".tbz", ".tz2"}, archive_write_add_filter_bzip2, 0},
	[XW_COMPRESS_GZIP] = {"gzip", ".gz", {".tgz", ".taz"}, archive_write_add_filter_gzip, 0},
	[XW_COMPRESS_LZ4] = {"lz4", ".lz4", {".tlz4"}, archive_write_add_filter_lz4, 0},
	[XW_COMPRESS_XZ] = {"xz", ".xz", {".txz"}, archive_write_add_filter_xz, 2},
	[XW_COMPRESS_ZSTD] = {"zstd", ".zst", {".tzst"}, archive_write_add_filter_zstd, 1},
};

#define ANY_SIZE INT64_MAX
static const struct xw_archive_format formats[] = {
	{"gnu", ARCHIVE_FORMAT_TAR_GNUTAR, true, UINT32_MAX, INT64_MIN, INT64_MAX, ANY_SIZE},
	{"ustar", ARCHIVE_FORMAT_TAR_USTAR, true, 07777777, 0, 077777777777, 077777777777},
	{"newc", ARCHIVE_FORMAT_CPIO_SVR4_NOCRC, false, UINT32_MAX, 0, UINT32_MAX, UINT32_MAX},
	{"odc", ARCHIVE_FORMAT_CPIO_POSIX, false, 0777777, 0, 077777777777, 077777777777},
};

bool xw_archive_format_by_name(const char *name, const struct xw_archive_format **f)
{
	static const char *const aliases[][2] = {
		{"gnutar", "gnu"}, {"oldgnu", "gnu"}, {"cpio", "newc"}, {"posix", "pax"}};

	for (unsigned i = 0; i < XW_ARRAY_SIZE(aliases); i++) {
		if (!strcmp(name, aliases[i][0]))
			name = aliases[i][1];
	}
	*f = NULL;
	for (unsigned i = 0; i < XW_ARRAY_SIZE(formats); i++) {
		if (!strcmp(name, formats[i].name))
			*f = &formats[i];
	}
	return *f || !strcmp(name, "pax");
}

bool xw_compression_by_name(const char *name, enum xw_compression *c)
{
	for (unsigned i = 0; i < XW_ARRAY_SIZE(methods); i++) {
		if (!strcmp(name, methods[i].name)) {
			*c = (enum xw_compression)i;
			return true;
		}
	}
	return false;
}

/* Remove the suffix from the name of *n bytes. false: the name does not end in it, or equals it. */
static bool cut_suffix(const char *name, size_t *n, const char *suffix)
{
	const size_t len = strlen(suffix);

	if (!len || *n <= len || memcmp(name + *n - len, suffix, len))
		return false;
	*n -= len;
	return true;
}

/* The same for any suffix of a method. */
static bool cut_method(const char *name, size_t *n, const struct method *m)
{
	for (unsigned i = 0; i < XW_ARRAY_SIZE(m->tar_suffixes) && m->tar_suffixes[i]; i++)
		if (cut_suffix(name, n, m->tar_suffixes[i]))
			return true;
	return cut_suffix(name, n, m->suffix);
}

bool xw_archive_by_suffix(const char *file, struct xw_archive_opts *o)
{
	size_t n = strlen(file);

	for (unsigned i = 0; i < XW_ARRAY_SIZE(methods); i++) {
		if (!cut_method(file, &n, &methods[i]))
			continue;
		o->compression = (enum xw_compression)i;
		if (cut_suffix(file, &n, ".cpio"))
			xw_archive_format_by_name("cpio", &o->format);
		return true;
	}
	return cut_suffix(file, &n, ".cpio") && xw_archive_format_by_name("cpio", &o->format);
}

const char *xw_archive_foreign_suffix(const char *file)
{
	static const char *const suffixes[] = {
		".7z",   ".apk",  ".ar",   ".br",       ".cab",  ".deb", ".dmg",   ".erofs",
		".iso",  ".jar",  ".lrz",  ".lz",       ".lzma", ".lzo", ".qcow2", ".rar",
		".rpm",  ".sfs",  ".sqfs", ".squashfs", ".tlz",  ".tzo", ".vdi",   ".vhd",
		".vhdx", ".vmdk", ".war",  ".wim",      ".xar",  ".z",   ".zip",
	};
	const char *dot = strrchr(file, '.');

	for (unsigned i = 0; dot && i < XW_ARRAY_SIZE(suffixes); i++)
		if (dot > file && dot[-1] != '/' && !strcasecmp(dot, suffixes[i]))
			return dot;
	return NULL;
}

/* ---- libarchive callbacks ---- */

static la_ssize_t on_write(struct archive *a, void *arg, const void *buf, size_t len)
{
	struct xw_laout *l = arg;

	if (!l->failed)
		l->failed = l->write(l->arg, buf, len);
	if (!l->failed) {
		l->bytes += len;
		return (la_ssize_t)len;
	}
	archive_set_error(a, EIO, "writing failed");
	return -1;
}

int xw_laout_fail(struct xw_laout *l, int code)
{
	const char *text = archive_error_string(l->a);

	if (l->failed)
		return l->failed;
	l->failed = code;
	return xw_fail(l->diag, code, "libarchive: %s", text ? text : "unknown error");
}

static int set_level(struct xw_laout *l, const struct method *m, int level)
{
	char text[16];

	if (level == XW_LEVEL_DEFAULT)
		return 0;
	snprintf(text, sizeof(text), "%d", level);
	if (archive_write_set_filter_option(l->a, m->name, "compression-level", text) == ARCHIVE_OK)
		return 0;
	return xw_fail(l->diag, XW_ERR_USAGE, "--level: %s has no level %d", m->name, level);
}

static int add_filter(struct xw_laout *l, const struct xw_archive_opts *o)
{
	const struct method *m = &methods[o->compression];
	char text[16];
	int rc;

	if (o->compression == XW_COMPRESS_NONE)
		return archive_write_add_filter_none(l->a) == ARCHIVE_OK
			       ? 0
			       : xw_laout_fail(l, XW_ERR_INTERNAL);
	rc = m->add(l->a);
	/* on a warning libarchive would run an external program, whose output may differ */
	if (rc != ARCHIVE_OK)
		return xw_fail(l->diag, XW_ERR_UNSUPPORTED, "libarchive was built without %s",
			       m->name);
	/* by default the gzip header stores the current time */
	if (o->compression == XW_COMPRESS_GZIP)
		archive_write_set_filter_option(l->a, m->name, "timestamp", NULL);
	if (m->threads_min) {
		snprintf(text, sizeof(text), "%u",
			 XW_MAX(o->jobs ? o->jobs : xw_pool_processors(), m->threads_min));
		/* a failure is ignored: older versions of libarchive have no threads */
		archive_write_set_filter_option(l->a, m->name, "threads", text);
	}
	return set_level(l, m, o->level);
}

int xw_laout_begin(struct xw_laout *l, const struct xw_archive_opts *o, int format, int unit,
		   xw_output_fn *write, void *arg, struct xw_diag *diag)
{
	int rc;

	*l = (struct xw_laout){.a = archive_write_new(), .write = write, .arg = arg, .diag = diag};
	if (!l->a)
		return xw_fail_nomem(diag, "libarchive");
	rc = add_filter(l, o);
	if (rc)
		return rc;
	if (archive_write_set_format(l->a, format) != ARCHIVE_OK ||
	    archive_write_set_bytes_per_block(l->a, BLOCK_BYTES) != ARCHIVE_OK ||
	    archive_write_set_bytes_in_last_block(l->a, unit) != ARCHIVE_OK ||
	    archive_write_open(l->a, l, NULL, on_write, NULL) != ARCHIVE_OK)
		return xw_laout_fail(l, XW_ERR_INTERNAL);
	return 0;
}

int xw_laout_finish(struct xw_laout *l)
{
	return archive_write_close(l->a) == ARCHIVE_OK ? 0 : xw_laout_fail(l, XW_ERR_IO);
}

void xw_laout_free(struct xw_laout *l)
{
	if (!l->a)
		return;
	/* closing the archive must not write anything after an aborted run */
	if (!l->failed)
		l->failed = XW_ERR_IO;
	archive_write_free(l->a);
	l->a = NULL;
}
