/* SPDX-License-Identifier: MIT */
/*
 * Reads archives through libarchive: zip, 7z, iso9660, ar, rar, xar, cab, lha, warc.
 *
 * mtree is excluded: its reader reads contents from host files that the archive names. raw is
 * excluded: it would accept any file as an archive with one member.
 *
 * libarchive converts names and fails where the locale cannot represent them, so each call runs
 * with a UTF-8 LC_CTYPE, set for this thread only and restored afterwards. Formats whose names are
 * bytes return them unchanged.
 *
 * Invariants:
 * 1. libarchive holds one input block: the unit is consumed, or buf refilled, only when libarchive
 *    requests the next block.
 * 2. Returned pieces ascend and stay within a known size, whatever libarchive returns.
 * 3. After a failure every call returns the same code.
 */
#include "config.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "import/libarchive.h"
#include "import/libarchive_err.h"

#define FILE_BYTES ((size_t)1 << 20)
#define XATTR_VALUE_MAX ((size_t)64 << 10)
#define SHOWN 256 /* maximum length of a member's name in a message, in bytes */

struct la {
	struct xw_source src;
	struct archive *a;
	struct archive_entry *first; /* header that was read by open, but not returned yet */
	locale_t utf8;
	bool compressed, drain, done;
	int failed;
	unsigned warned;
	struct xw_entry e;
	XW_VEC(struct xw_entry_xattr) xattrs;
	XW_VEC(struct xw_segment) segs;
	char *acl_access, *acl_default; /* libarchive's allocations */
	bool data;
	uint64_t off; /* end of the last piece */

	struct xw_input *in; /* stream input */
	size_t held;
	int fd; /* file input, if `in` is NULL */
	/* file offset of the archive; offset of the next read, relative to it */
	int64_t base, pos;
	unsigned char *buf;
	int in_err; /* code of an input error */
	char in_text[256];
};

static int la_fail(struct la *l, int code, const char *why)
{
	size_t n = XW_MIN(l->e.path.len, SHOWN);

	l->failed = code;
	if (!n)
		return xw_fail(l->src.diag, code, "%s: %s", l->src.name, why);
	return xw_fail(l->src.diag, code, "%s: member '%.*s%s': %s", l->src.name, (int)n,
		       l->e.path.p, n < l->e.path.len ? "..." : "", why);
}

/* Report the failure of the last libarchive call. */
static int la_fail_archive(struct la *l)
{
	const char *text = xw_la_text(l->a);

	if (l->in_err)
		return la_fail(l, l->in_err, l->in_text);
	if (text && strstr(text, "support seeking"))
		return la_fail(
			l, XW_ERR_UNSUPPORTED,
			"this format cannot be read from a stream: specify it as a regular file");
	return la_fail(l, xw_la_code(l->a), text ? text : "malformed archive");
}

static la_ssize_t stream_read(struct archive *a, void *arg, const void **buf)
{
	struct la *l = arg;
	const unsigned char *p;
	size_t len;
	int rc;

	xw_input_consume(l->in, l->held);
	l->held = 0;
	rc = xw_input_get(l->in, &p, &len);
	if (rc) {
		l->in_err = rc;
		strncpy(l->in_text, xw_input_error(l->in), sizeof(l->in_text) - 1);
		archive_set_error(a, EIO, "%s", l->in_text);
		return ARCHIVE_FATAL;
	}
	l->held = len;
	*buf = p;
	return (la_ssize_t)len;
}

static la_ssize_t file_read(struct archive *a, void *arg, const void **buf)
{
	struct la *l = arg;
	ssize_t n;

	do
		n = pread(l->fd, l->buf, FILE_BYTES, l->base + l->pos);
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		l->in_err = XW_ERR_IO;
		snprintf(l->in_text, sizeof(l->in_text), "read error at byte %lld: %s",
			 (long long)l->pos, strerror(errno));
		archive_set_error(a, EIO, "%s", l->in_text);
		return ARCHIVE_FATAL;
	}
	l->pos += n;
	*buf = l->buf;
	return n;
}

static la_int64_t file_seek(struct archive *a, void *arg, la_int64_t off, int whence)
{
	struct la *l = arg;
	int64_t from = 0, to;

	if (whence == SEEK_CUR)
		from = l->pos;
	else if (whence == SEEK_END)
		from = (int64_t)l->src.total;
	if (__builtin_add_overflow(from, off, &to) || to < 0 || to > INT64_MAX - l->base) {
		archive_set_error(a, EINVAL, "seek outside the file");
		return ARCHIVE_FATAL;
	}
	l->pos = to;
	return to;
}

static void warn_once(struct la *l, unsigned bit, const char *what)
{
	if (!(l->warned & 1u << bit))
		xw_log(l->src.diag, XW_LOG_WARN, "%s: %s", l->src.name, what);
	l->warned |= 1u << bit;
}

static int set_names(struct la *l, struct archive_entry *ae)
{
	const char *path = archive_entry_pathname(ae), *link = archive_entry_hardlink(ae);

	l->e.path = xw_slice_of(path ? path : archive_entry_pathname_utf8(ae));
	if (!l->e.path.len)
		return la_fail(l, XW_ERR_INPUT,
			       path ? "a member's name is empty" : "a member's name is unreadable");
	if (!link)
		link = archive_entry_hardlink_utf8(ae);
	if (link) {
		l->e.type = XW_ET_HARDLINK;
		l->e.link = xw_slice_of(link);
	} else if (archive_entry_filetype(ae) == AE_IFLNK) {
		link = archive_entry_symlink(ae);
		l->e.link = xw_slice_of(link ? link : archive_entry_symlink_utf8(ae));
	} else {
		return 0;
	}
	return l->e.link.len ? 0 : la_fail(l, XW_ERR_INPUT, "it links to an empty name");
}

static int set_type(struct la *l, struct archive_entry *ae)
{
	static const struct {
		unsigned mode;
		enum xw_etype type;
	} types[] = {
		{AE_IFREG, XW_ET_REG}, {0, XW_ET_REG}, /* 0: no type in this format */
		{AE_IFDIR, XW_ET_DIR}, {AE_IFLNK, XW_ET_LNK},  {AE_IFCHR, XW_ET_CHR},
		{AE_IFBLK, XW_ET_BLK}, {AE_IFIFO, XW_ET_FIFO}, {AE_IFSOCK, XW_ET_SOCK},
	};
	const unsigned mode = archive_entry_filetype(ae);
	size_t i = 0;

	while (i < XW_ARRAY_SIZE(types) && types[i].mode != mode)
		i++;
	if (i == XW_ARRAY_SIZE(types))
		return la_fail(l, XW_ERR_INPUT, "unknown file type");
	l->e.type = types[i].type;
	if (l->e.type == XW_ET_REG && l->e.path.p[l->e.path.len - 1] == '/')
		l->e.type = XW_ET_DIR;
	return 0;
}

static int set_numbers(struct la *l, struct archive_entry *ae)
{
	struct xw_entry *e = &l->e;
	int64_t uid = archive_entry_uid(ae), gid = archive_entry_gid(ae);
	long ns = archive_entry_mtime_nsec(ae), ans = archive_entry_atime_nsec(ae);

	e->mode = archive_entry_perm(ae) & 07777;
	if (uid < 0 || uid > UINT32_MAX || gid < 0 || gid > UINT32_MAX)
		return la_fail(l, XW_ERR_INPUT, "its user or group ID is out of range");
	e->uid = (uint32_t)uid;
	e->gid = (uint32_t)gid;
	if (ns < 0 || ns > 999999999 || ans < 0 || ans > 999999999)
		return la_fail(l, XW_ERR_INPUT, "a time is out of range");
	e->mtime = (struct xw_time){archive_entry_mtime(ae), (uint32_t)ns};
	e->atime = (struct xw_time){archive_entry_atime(ae), (uint32_t)ans};
	e->has_atime = archive_entry_atime_is_set(ae);
	if (xw_entry_is_device(e)) {
		e->dev_major = (uint32_t)archive_entry_rdevmajor(ae);
		e->dev_minor = (uint32_t)archive_entry_rdevminor(ae);
	}
	return 0;
}

static int set_xattrs(struct la *l, struct archive_entry *ae)
{
	const char *name;
	const void *value;
	size_t len;

	l->xattrs.n = 0;
	archive_entry_xattr_reset(ae);
	while (archive_entry_xattr_next(ae, &name, &value, &len) == ARCHIVE_OK) {
		struct xw_entry_xattr x = {xw_slice_of(name), {value, len}};
		size_t i = 0;

		if (!x.name.len || len > XATTR_VALUE_MAX)
			return la_fail(l, XW_ERR_INPUT,
				       "an extended attribute has no name or is over 64 KiB");
		while (i < l->xattrs.n && strcmp(l->xattrs.v[i].name.p, name) != 0)
			i++;
		if (i < l->xattrs.n)
			l->xattrs.v[i] = x;
		else if (xw_vec_push(&l->xattrs, x))
			return la_fail(l, XW_ERR_NOMEM, "out of memory");
	}
	l->e.xattrs = l->xattrs.v;
	l->e.n_xattrs = l->xattrs.n;
	return 0;
}

/* The text of an ACL in *text, libarchive's allocation, unless ae has none of this type. */
static int acl_text(struct la *l, struct archive_entry *ae, int type, char **text)
{
	const int style =
		ARCHIVE_ENTRY_ACL_STYLE_SEPARATOR_COMMA | ARCHIVE_ENTRY_ACL_STYLE_EXTRA_ID;

	free(*text);
	*text = NULL;
	if (!(archive_entry_acl_types(ae) & type))
		return 0;
	*text = archive_entry_acl_to_text(ae, NULL, style | type);
	return *text ? 0 : la_fail(l, XW_ERR_INPUT, "its ACL is unreadable");
}

static int set_acls(struct la *l, struct archive_entry *ae)
{
	archive_entry_acl_reset(ae, ARCHIVE_ENTRY_ACL_TYPE_ACCESS);
	if (acl_text(l, ae, ARCHIVE_ENTRY_ACL_TYPE_ACCESS, &l->acl_access) ||
	    acl_text(l, ae, ARCHIVE_ENTRY_ACL_TYPE_DEFAULT, &l->acl_default))
		return l->failed;
	if (archive_entry_acl_types(ae) & ARCHIVE_ENTRY_ACL_TYPE_NFS4)
		warn_once(l, 0, "NFSv4 ACLs are ignored");
	l->e.acl_access = xw_slice_of(l->acl_access);
	l->e.acl_default = xw_slice_of(l->acl_default);
	return 0;
}

/*
 * The data map, if the format stores one before the data. Otherwise gaps between pieces are holes.
 */
static int set_sparse(struct la *l, struct archive_entry *ae)
{
	la_int64_t off, len;
	uint64_t end = 0;

	l->segs.n = 0;
	if (l->e.type != XW_ET_REG || archive_entry_sparse_reset(ae) <= 0)
		return 0;
	while (archive_entry_sparse_next(ae, &off, &len) == ARCHIVE_OK) {
		if (off < 0 || len < 0 || (uint64_t)off < end || (uint64_t)off > l->e.size ||
		    (uint64_t)len > l->e.size - (uint64_t)off)
			return la_fail(l, XW_ERR_INPUT, "its sparse map is malformed");
		end = (uint64_t)off + (uint64_t)len;
		if (len &&
		    xw_vec_push(&l->segs, ((struct xw_segment){(uint64_t)off, (uint64_t)len})))
			return la_fail(l, XW_ERR_NOMEM, "out of memory");
	}
	l->e.sparse = true;
	l->e.segs = l->segs.v;
	l->e.n_segs = l->segs.n;
	return 0;
}

static int set_size(struct la *l, struct archive_entry *ae)
{
	int64_t size = archive_entry_size(ae);

	if (l->e.type == XW_ET_HARDLINK)
		l->e.link_data = archive_entry_size_is_set(ae) && size > 0;
	l->data = l->e.type == XW_ET_REG || l->e.link_data;
	if (!l->data)
		return 0;
	if (!archive_entry_size_is_set(ae))
		l->e.size = XW_SIZE_UNKNOWN;
	else if (size < 0)
		return la_fail(l, XW_ERR_INPUT, "its size is negative");
	else
		l->e.size = (uint64_t)size;
	return set_sparse(l, ae);
}

/* Has the format no hard links? */
static bool is_linkless(struct archive *a)
{
	switch (archive_format(a) & ARCHIVE_FORMAT_BASE_MASK) {
	case ARCHIVE_FORMAT_7ZIP:
	case ARCHIVE_FORMAT_AR:
	case ARCHIVE_FORMAT_CAB:
	case ARCHIVE_FORMAT_LHA:
	case ARCHIVE_FORMAT_WARC:
	case ARCHIVE_FORMAT_ZIP:
		return true;
	default:
		return false;
	}
}

static int set_entry(struct la *l, struct archive_entry *ae)
{
	memset(&l->e, 0, sizeof(l->e));
	l->off = 0;
	l->e.pos = (uint64_t)archive_read_header_position(l->a);
	l->e.single = is_linkless(l->a);
	if (set_names(l, ae))
		return l->failed;
	if (archive_entry_is_encrypted(ae))
		return la_fail(l, XW_ERR_UNSUPPORTED, "it is encrypted");
	if (l->e.type != XW_ET_HARDLINK && set_type(l, ae))
		return l->failed;
	if (set_numbers(l, ae) || set_size(l, ae) || set_xattrs(l, ae) || set_acls(l, ae))
		return l->failed;
	return 1;
}

/* Read the next header: 1 and *ae, 0 at the end, or a failure. Warnings are logged. */
static int read_header(struct la *l, struct archive_entry **ae)
{
	int status;

	l->e.path.len = 0;
	do
		status = archive_read_next_header(l->a, ae);
	while (status == ARCHIVE_RETRY && !l->in_err);
	if (status == ARCHIVE_EOF)
		return 0;
	if (status < ARCHIVE_WARN)
		return la_fail_archive(l);
	if (status == ARCHIVE_WARN) {
		const char *path = archive_entry_pathname(*ae);

		xw_log(l->src.diag, XW_LOG_WARN, "%s: member '%s': %s", l->src.name,
		       path ? path : "?", xw_la_text(l->a));
	}
	return 1;
}

/*
 * Read on after the end of the archive: the writer of a pipe must not get SIGPIPE, and the
 * checksums of compressed data are at its end.
 */
static int drain(struct la *l)
{
	const uint64_t enough = xw_input_read_limit(l->in, l->compressed);
	const unsigned char *p;
	size_t len = l->held;
	int rc = 0;

	while (len && !rc && xw_input_pos(l->in) < enough) {
		xw_input_consume(l->in, len);
		rc = xw_input_get(l->in, &p, &len);
	}
	l->held = 0;
	if (rc)
		return la_fail(l, rc, xw_input_error(l->in));
	if (l->compressed && xw_input_has_trailing(l->in))
		xw_log(l->src.diag, XW_LOG_WARN,
		       "%s: trailing data after the compressed stream is ignored", l->src.name);
	return 0;
}

static int la_next(struct xw_source *s, const struct xw_entry **e)
{
	struct la *l = (struct la *)s;
	struct archive_entry *ae = l->first;
	locale_t old;
	int rc = 1;

	if (l->failed || l->done)
		return l->failed;
	old = uselocale(l->utf8);
	if (!l->first)
		rc = read_header(l, &ae);
	l->first = NULL;
	if (rc == 1)
		rc = set_entry(l, ae);
	uselocale(old);
	if (rc == 1)
		*e = &l->e;
	l->done = rc == 0;
	return rc == 0 && l->drain ? drain(l) : rc;
}

static int la_read(struct xw_source *s, const void **buf, size_t *len, uint64_t *off)
{
	struct la *l = (struct la *)s;
	locale_t old;
	int status;

	if (l->failed || !l->data)
		return l->failed;
	old = uselocale(l->utf8);
	do {
		la_int64_t at = 0;

		*len = 0;
		status = archive_read_data_block(l->a, buf, len, &at);
		*off = (uint64_t)at;
	} while (status == ARCHIVE_RETRY || (status == ARCHIVE_OK && !*len));
	uselocale(old);
	if (status == ARCHIVE_EOF) {
		l->data = false;
		return 0;
	}
	if (status != ARCHIVE_OK) /* a warning at this point means damaged data */
		return la_fail_archive(l);
	if (*off < l->off || *len > l->e.size || *off > l->e.size - *len)
		return la_fail(l, XW_ERR_INPUT, "its content does not fit its size");
	l->off = *off + *len;
	return 1;
}

static uint64_t la_consumed(const struct xw_source *s)
{
	const struct la *l = (const struct la *)s;

	if (!l->in) /* formats with a directory at their end seek */
		return l->done ? l->src.total : (uint64_t)XW_MIN(l->pos, (int64_t)l->src.total);
	return l->compressed ? xw_input_raw(l->in) : xw_input_pos(l->in);
}

static void la_close(struct xw_source *s)
{
	struct la *l = (struct la *)s;

	if (l->a)
		archive_read_free(l->a);
	if (l->in)
		xw_input_free(l->in);
	else if (l->fd >= 0)
		close(l->fd);
	if (l->utf8)
		freelocale(l->utf8);
	free(l->acl_access);
	free(l->acl_default);
	xw_vec_free(&l->xattrs);
	xw_vec_free(&l->segs);
	free(l->buf);
	free(l->src.name);
	free(l);
}

/*
 * Register decompressors that are built into libarchive. For others it would register an external
 * program from PATH (indicated by a warning), but input must not cause programs to run.
 */
void xw_la_support_filters(struct archive *a)
{
	static int (*const filters[])(struct archive *) = {
		archive_read_support_filter_bzip2, archive_read_support_filter_compress,
		archive_read_support_filter_gzip,  archive_read_support_filter_lz4,
		archive_read_support_filter_lzip,  archive_read_support_filter_lzma,
		archive_read_support_filter_lzop,  archive_read_support_filter_rpm,
		archive_read_support_filter_uu,    archive_read_support_filter_xz,
		archive_read_support_filter_zstd,
	};
	struct archive *trial = archive_read_new(); /* registrations cannot be undone */

	for (size_t i = 0; trial && i < XW_ARRAY_SIZE(filters); i++)
		if (filters[i](trial) == ARCHIVE_OK)
			filters[i](a);
	archive_read_free(trial);
}

/*
 * xar is linked statically only if another object needs it, since it depends on libxml2 and ICU,
 * which are ten times as large as the rest.
 */
#pragma weak archive_read_support_format_xar

/*
 * tar and cpio are needed for filters that xw_feed_decompress() does not recognize, and for tests.
 */
static void support_formats(struct archive *a)
{
	xw_la_support_filters(a);
	archive_read_support_format_7zip(a);
	archive_read_support_format_ar(a);
	archive_read_support_format_cab(a);
	archive_read_support_format_cpio(a);
	archive_read_support_format_iso9660(a);
	archive_read_support_format_lha(a);
	archive_read_support_format_rar(a);
	archive_read_support_format_rar5(a);
	archive_read_support_format_warc(a);
	if (archive_read_support_format_xar)
		archive_read_support_format_xar(a);
	archive_read_support_format_zip(a);
	archive_read_support_format_tar(a);
}

/* Open the archive and read the first header, which fails if this is not an archive. */
static int la_start(struct la *l)
{
	int rc;

	archive_read_set_callback_data(l->a, l);
	archive_read_set_read_callback(l->a, l->in ? stream_read : file_read);
	if (!l->in)
		archive_read_set_seek_callback(l->a, file_seek);
	if (archive_read_open1(l->a) < ARCHIVE_WARN)
		return la_fail_archive(l);
	rc = read_header(l, &l->first);
	if (rc == 1 && l->in && archive_format(l->a) == ARCHIVE_FORMAT_ZIP)
		warn_once(l, 2,
			  "zip stores modes and symlinks at its end, out of reach in a stream: "
			  "specify it as a regular file");
	l->done = rc == 0;
	return rc < 0 ? rc : 0;
}

/* Owns in (or NULL) and fd (or -1), also on failure. */
static int la_new(struct xw_input *in, int fd, const struct xw_archive_params *p,
		  struct xw_source **out)
{
	static const struct xw_source_ops ops = {
		.next = la_next, .read = la_read, .close = la_close, .consumed = la_consumed};
	static const char *const locales[] = {"C.UTF-8", "C.utf8", "en_US.UTF-8"};
	struct la *l = calloc(1, sizeof(*l));
	locale_t old;
	int rc;

	if (!l) {
		xw_input_free(in);
		if (fd >= 0)
			close(fd);
		return xw_fail_nomem(p->diag, "the archive reader");
	}
	l->in = in;
	l->fd = fd;
	l->base = in ? 0 : lseek(fd, 0, SEEK_CUR);
	l->src.ops = &ops;
	l->src.diag = p->diag;
	l->src.total = p->total;
	l->src.name = strdup(p->name);
	l->compressed = p->compressed;
	l->drain = p->drain;
	l->a = archive_read_new();
	for (size_t i = 0; i < XW_ARRAY_SIZE(locales) && !l->utf8; i++)
		l->utf8 = newlocale(LC_CTYPE_MASK, locales[i], (locale_t)0);
	if (!l->in)
		l->buf = malloc(FILE_BYTES);
	if (!l->src.name || !l->a || (!l->in && !l->buf)) {
		la_close(&l->src);
		return xw_fail_nomem(p->diag, "the archive reader");
	}
	if (!l->utf8)
		warn_once(l, 1, "no UTF-8 locale on this machine: names may be refused");
	support_formats(l->a);
	old = uselocale(l->utf8);
	rc = la_start(l);
	uselocale(old);
	if (rc) {
		la_close(&l->src);
		return rc;
	}
	*out = &l->src;
	return 0;
}

int xw_la_open(struct xw_input *in, const struct xw_archive_params *p, struct xw_source **out)
{
	return la_new(in, -1, p, out);
}

int xw_la_open_file(int fd, const struct xw_archive_params *p, struct xw_source **out)
{
	return la_new(NULL, fd, p, out);
}
