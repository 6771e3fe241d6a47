/* SPDX-License-Identifier: MIT */
/*
 * Opens a source by its type: a directory; tar, which has no magic at its start, but a checksummed
 * header; compressed data, if a libarchive filter recognizes it; or an archive of another format.
 * Decompressed data is examined in the same way. Directories and tar archives may be container
 * images.
 *
 * A file of zeros is a tar archive without members, unless it is a filesystem image or has an ISO
 * 9660 volume descriptor after 32 KiB of zeros.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/bytes.h"
#include "disk/foreign.h"
#include "import/cpio.h"
#include "import/dir.h"
#include "import/libarchive.h"
#include "import/oci.h"
#include "import/tar.h"

#define LOOK XW_TAR_LOOK

struct opening {
	const char *name;
	const struct xw_source_opts *o;
	struct xw_diag *diag;
	struct stat st;
	int fd;
	bool own;
	off_t start; /* initial offset of a regular file's descriptor */
	uint64_t total;
	const struct xw_oci_spec *spec; /* the user specified a container image */
};

/* Let libarchive read a regular file, in which it can seek. */
static int open_file(struct opening *op, struct xw_source **out)
{
	struct xw_archive_params p = {.name = op->name, .diag = op->diag, .total = op->total};
	auto_fd int fd = -1;
	const int copy = fcntl(op->fd, F_DUPFD_CLOEXEC, 0);

	if (copy >= 0 && lseek(copy, op->start, SEEK_SET) >= 0)
		return xw_la_open_file(copy, &p, out);
	fd = copy;
	return xw_fail_errno(op->diag, XW_ERR_IO, errno, "%s: cannot reopen", op->name);
}

/* Refuse what is neither an archive nor compressed, even if an archive format matches it. */
static int refuse_foreign(struct opening *op, struct xw_feed *f)
{
	const ssize_t have = xw_feed_peek(f, XW_FOREIGN_LOOK);
	const struct xw_foreign *kind;
	const char *ext;

	if (have < 0)
		return xw_fail(op->diag, (int)have, "%s: %s", op->name, f->err);
	kind = xw_foreign_find(xw_feed_head(f), (size_t)have);
	if (kind && kind->role == XW_FOREIGN_OTHER)
		return xw_fail(op->diag, XW_ERR_INPUT, "%s: is %s, not an archive%s%s", op->name,
			       kind->what, kind->advice ? "; " : "",
			       kind->advice ? kind->advice : "");
	ext = kind ? NULL : xw_foreign_ext(xw_feed_head(f), (size_t)have);
	return ext ? xw_fail(op->diag, XW_ERR_INPUT,
			     "%s: is %s, not an archive; convert it with xw-export", op->name, ext)
		   : 0;
}

static struct xw_oci_open oci_open(const struct opening *op)
{
	return (struct xw_oci_open){
		.name = op->name, .spec = op->spec, .o = op->o, .diag = op->diag};
}

/* Is the data that of a regular file from its beginning on, not compressed? */
static bool is_file(const struct opening *op, unsigned depth)
{
	return !depth && S_ISREG(op->st.st_mode) && !op->start;
}

/* 1: *out is a container image; 0: *f is not one; negative: a failure. */
static int try_image(struct opening *op, struct xw_feed **f, unsigned depth, bool tar,
		     struct xw_source **out)
{
	const struct xw_oci_open p = oci_open(op);

	if (op->o->no_oci)
		return 0;
	if (tar)
		return xw_oci_try_tar(f, is_file(op, depth) ? op->fd : -1, op->total, &p, out);
	return op->spec ? xw_fail(op->diag, XW_ERR_INPUT,
				  "%s: is not an archive of a container image", op->name)
			: 0;
}

/* Choose a reader for data that is not (or no longer) compressed. Owns feed. */
static int open_plain(struct opening *op, struct xw_feed *feed, unsigned depth,
		      struct xw_source **out)
{
	auto_feed struct xw_feed *f = feed;
	const bool compressed = depth != 0;
	/* the data of a device may be endless */
	bool drain = compressed || S_ISFIFO(op->st.st_mode) || S_ISSOCK(op->st.st_mode);
	const struct xw_archive_params p = {.name = op->name,
					    .diag = op->diag,
					    .total = op->total,
					    .compressed = compressed,
					    .in_file = is_file(op, depth),
					    .fd = op->fd,
					    .drain = drain};
	ssize_t have = xw_feed_peek(f, LOOK);
	struct xw_input *in;
	bool tar;
	int rc;

	if (have < 0)
		return xw_fail(op->diag, (int)have, "%s: %s", op->name, f->err);
	if (!have)
		return xw_fail(op->diag, XW_ERR_INPUT, "%s: empty, not an archive", op->name);
	tar = xw_tar_begins(xw_feed_head(f), (size_t)have);
	rc = try_image(op, &f, depth, tar, out);
	if (rc)
		return rc > 0 ? 0 : rc;
	have = xw_feed_peek(f, LOOK);
	if (f->text && xw_all_zero(xw_feed_head(f), XW_MIN((size_t)have, XW_TAR_BLOCK)))
		return xw_fail(op->diag, XW_ERR_INPUT,
			       "%s: is a text, not an archive: the data encoded in it begins with "
			       "zeros",
			       op->name);
	if (!tar || (have >= XW_TAR_BLOCK && xw_tar_is_zero(xw_feed_head(f)))) {
		rc = refuse_foreign(op, f);
		if (rc)
			return rc;
	}
	tar = tar && !op->o->by_libarchive;
	if (!op->o->by_libarchive && !tar && xw_cpio_begins(xw_feed_head(f), (size_t)have))
		return xw_cpio_open(steal(f), &p, depth, op->o->threaded, out);
	f->leaves_rest = false;
	if (!tar && !compressed && S_ISREG(op->st.st_mode))
		return open_file(op, out);
	in = xw_input_new(steal(f), op->o->threaded);
	if (!in)
		return xw_fail_nomem(op->diag, "read buffers");
	return tar ? xw_tar_open(in, &p, out) : xw_la_open(in, &p, out);
}

/* Decompress and detect the format. Owns f. */
static int open_feed(struct opening *op, struct xw_feed *f, struct xw_source **out)
{
	unsigned depth;

	for (depth = 0; depth < XW_CPIO_DEPTH_MAX; depth++) {
		const ssize_t have = xw_feed_peek(f, LOOK);
		struct xw_feed *inner;
		int rc;

		if (have <= 0 || xw_tar_begins(xw_feed_head(f), (size_t)have) ||
		    xw_cpio_begins(xw_feed_head(f), (size_t)have))
			break; /* open_plain() reports a failure */
		rc = xw_feed_decompress(f, &inner);
		if (rc < 0) {
			xw_fail(op->diag, rc, "%s: %s", op->name, f->err);
			xw_feed_close(f);
			return rc;
		}
		if (!rc)
			break;
		inner->leaves_rest = true;
		f = inner;
	}
	return open_plain(op, f, depth, out);
}

/* Open op->fd, which is owned if op->own. */
static int open_stream(struct opening *op, struct xw_source **out)
{
	struct xw_feed *f = xw_feed_fd(op->fd, op->own, op->o->tick);
	const int err = errno;

	if (f)
		return open_feed(op, f, out);
	if (op->own)
		close(op->fd);
	return xw_fail_errno(op->diag, err == ENOMEM ? XW_ERR_NOMEM : XW_ERR_IO, err,
			     "%s: cannot read", op->name);
}

int xw_source_open_call(struct xw_feed_call call, const char *name, const struct xw_source_opts *o,
			struct xw_diag *diag, struct xw_source **out)
{
	/* the callback is called in the caller's thread only */
	struct xw_source_opts here = *o;
	struct opening op = {
		.name = name, .o = &here, .diag = diag, .fd = -1, .st = {.st_mode = S_IFIFO}};
	struct xw_feed *f = xw_feed_call(call, o->tick);

	here.threaded = false;
	return f ? open_feed(&op, f, out) : xw_fail_nomem(diag, "the input");
}

static int open_dir(struct opening *op, struct xw_source **out)
{
	const struct xw_oci_open p = oci_open(op);
	int rc = op->o->no_oci ? 0 : xw_oci_try_dir(op->fd, &p, out);

	if (!rc)
		return xw_dir_open(op->fd, op->own, op->name, op->o, op->diag, out);
	if (op->own)
		close(op->fd);
	return rc > 0 ? 0 : rc;
}

int xw_source_fail_open(const char *name, struct xw_diag *diag)
{
	if (errno == ENOENT && xw_oci_is_remote(name))
		return xw_fail(
			diag, XW_ERR_INPUT,
			"%.200s: no such file; fetch the image from its registry or container "
			"engine with 'skopeo copy %.200s oci:PATH' first",
			name, name);
	return xw_fail_errno(diag, XW_ERR_IO, errno, "%s: cannot open", name);
}

static int open_path(const char *path, const struct xw_oci_spec *spec,
		     const struct xw_source_opts *o, struct xw_diag *diag, struct xw_source **out)
{
	bool is_stdin = !strcmp(path, "-");
	struct opening op = {.name = is_stdin ? "standard input" : path,
			     .spec = spec,
			     .o = o,
			     .diag = diag,
			     .fd = is_stdin ? 0 : open(path, O_RDONLY | O_CLOEXEC),
			     .own = !is_stdin};

	if (op.fd < 0)
		return xw_source_fail_open(op.name, diag);
	if (fstat(op.fd, &op.st) < 0) {
		const int rc = xw_fail_errno(diag, XW_ERR_IO, errno, "%s: cannot stat", op.name);

		if (op.own)
			close(op.fd);
		return rc;
	}
	if (S_ISDIR(op.st.st_mode) && is_stdin)
		return xw_fail(diag, XW_ERR_INPUT, "%s: a directory, not an archive", op.name);
	if (S_ISDIR(op.st.st_mode))
		return open_dir(&op, out);
	if (S_ISREG(op.st.st_mode)) {
		op.start = lseek(op.fd, 0, SEEK_CUR);
		op.total = op.st.st_size > op.start ? (uint64_t)(op.st.st_size - op.start) : 0;
	}
	return open_stream(&op, out);
}

char *xw_source_file(const char *path, bool no_oci)
{
	struct xw_oci_spec spec;
	const int rc = no_oci ? 0 : xw_oci_spec_parse(path, &spec);

	return rc < 0 ? NULL : rc ? spec.path : strdup(path);
}

int xw_source_open(const char *path, const struct xw_source_opts *o, struct xw_diag *diag,
		   struct xw_source **out)
{
	struct xw_oci_spec spec;
	int rc = o->no_oci ? 0 : xw_oci_spec_parse(path, &spec);

	if (rc < 0)
		return xw_fail_nomem(diag, "source");
	if (!rc)
		return open_path(path, NULL, o, diag, out);
	rc = open_path(spec.path, &spec, o, diag, out);
	free(spec.path);
	return rc;
}
