/* SPDX-License-Identifier: MIT */
/*
 * Opening: formats and compressions are found, and the entries do not depend on how the bytes come
 * (file, pipe in odd pieces, thread or not). Archives are made by libarchive here, in memory.
 */
#include "config.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/hash.h"
#include "tarmake.h"
#include "tmp.h"

#define FILES 60
#define BIG 300000 /* larger than a unit */

enum { CAN_ALL = 1, CAN_LINKS = 2, CAN_XATTRS = 4, CAN_PIPE = 8, UNKNOWN_SIZE = 16 };

static const struct format {
	const char *name;
	int code;
	unsigned can;
} formats[] = {
	{"pax", ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE, CAN_LINKS | CAN_XATTRS | CAN_PIPE},
	{"gnutar", ARCHIVE_FORMAT_TAR_GNUTAR, CAN_LINKS | CAN_PIPE},
	{"ustar", ARCHIVE_FORMAT_TAR_USTAR, CAN_LINKS | CAN_PIPE},
	{"v7", 0, CAN_LINKS | CAN_PIPE},
	{"cpio newc", ARCHIVE_FORMAT_CPIO_SVR4_NOCRC, CAN_LINKS | CAN_PIPE},
	{"cpio odc", ARCHIVE_FORMAT_CPIO_POSIX, CAN_LINKS | CAN_PIPE},
	{"zip", ARCHIVE_FORMAT_ZIP, CAN_PIPE | UNKNOWN_SIZE},
	{"7zip", ARCHIVE_FORMAT_7ZIP, 0},
};

static const int filters[] = {ARCHIVE_FILTER_NONE, ARCHIVE_FILTER_GZIP,    ARCHIVE_FILTER_BZIP2,
			      ARCHIVE_FILTER_XZ,   ARCHIVE_FILTER_ZSTD,    ARCHIVE_FILTER_LZ4,
			      ARCHIVE_FILTER_LZMA, ARCHIVE_FILTER_COMPRESS};

struct bytes {
	unsigned char *p;
	size_t n, cap;
};

static la_ssize_t put(struct archive *a, void *arg, const void *buf, size_t len)
{
	struct bytes *b = arg;

	(void)a;
	if (b->n + len > b->cap) {
		b->cap = 2 * (b->n + len);
		b->p = realloc(b->p, b->cap);
	}
	if (len)
		memcpy(b->p + b->n, buf, len);
	b->n += len;
	return (la_ssize_t)len;
}

static size_t file_size(int i)
{
	return i == 7 ? BIG : (size_t)i * 37 % 1500;
}

static unsigned char *file_data(int i)
{
	unsigned char *p = malloc(file_size(i) + 1);

	for (size_t k = 0; k < file_size(i); k++)
		p[k] = (unsigned char)(xw_hash_fixed(&k, sizeof(k), (uint64_t)i) >> 3);
	return p;
}

static void write_entry(struct archive *a, int i, const struct format *f)
{
	struct archive_entry *e = archive_entry_new();
	unsigned char *data = file_data(i);
	char name[200];

	snprintf(name, sizeof(name), i % 5 ? "dir/f%d-n\xc3\xafve%.*s" : "dir/%d%.*s", i, i % 60,
		 "long-long-long-long-long-long-long-long-long-long-long-long-long");
	archive_entry_copy_pathname(e, i ? name : "dir/");
	archive_entry_set_filetype(e, i ? AE_IFREG : AE_IFDIR);
	archive_entry_set_perm(e, 0640);
	archive_entry_set_uid(e, 1000 + i);
	archive_entry_set_gid(e, 100);
	archive_entry_set_mtime(e, 1600000000 + i * 2, 0);
	archive_entry_set_size(e, i ? (la_int64_t)file_size(i) : 0);
	if (i && f->can & CAN_XATTRS)
		archive_entry_xattr_add_entry(e, "user.k", data, file_size(i) % 50);
	ck_assert_int_ge(archive_write_header(a, e), ARCHIVE_WARN);
	if (i)
		archive_write_data(a, data, file_size(i));
	archive_entry_free(e);
	free(data);
}

static void write_links(struct archive *a)
{
	struct archive_entry *e = archive_entry_new();

	archive_entry_copy_pathname(e, "dir/sym");
	archive_entry_set_filetype(e, AE_IFLNK);
	archive_entry_set_perm(e, 0777);
	archive_entry_set_mtime(e, 5, 0);
	archive_entry_set_size(e, 0);
	archive_entry_copy_symlink(e, "../to/d\xc3\xb6rt");
	ck_assert_int_ge(archive_write_header(a, e), ARCHIVE_WARN);
	archive_entry_free(e);
}

/* The same tree in any format; a fixed one by hand where libarchive writes none (v7). */
static struct bytes make(const struct format *f, int filter)
{
	/* the writer's locale, so that names can be what they are; the reader must do without */
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	locale_t old = uselocale(utf8);
	struct archive *a = archive_write_new();
	struct bytes b = {0};

	ck_assert_int_ge(archive_write_add_filter(a, filter), ARCHIVE_WARN);
	ck_assert_int_eq(f->code ? archive_write_set_format(a, f->code)
				 : archive_write_set_format_v7tar(a),
			 ARCHIVE_OK);
	if (f->code == ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE)
		archive_write_set_options(a, "hdrcharset=BINARY");
	archive_write_set_bytes_in_last_block(a, 1);
	ck_assert_int_eq(archive_write_open(a, &b, NULL, put, NULL), ARCHIVE_OK);
	for (int i = 0; i < FILES; i++)
		write_entry(a, i, f);
	if (f->can & CAN_LINKS)
		write_links(a);
	ck_assert_int_eq(archive_write_close(a), ARCHIVE_OK);
	archive_write_free(a);
	uselocale(old);
	if (utf8)
		freelocale(utf8);
	return b;
}

static uint64_t mix(uint64_t h, struct xw_slice s)
{
	return xw_hash_fixed(s.len ? s.p : "", s.len, h ^ s.len);
}

/* A digest of everything a source yields. sizes: and modes too (a zip from a pipe has neither). */
static uint64_t digest(struct xw_source *s, struct xw_diag *diag, int *entries, bool sizes)
{
	const struct xw_entry *e;
	uint64_t h = 0;
	int r;

	*entries = 0;
	while ((r = xw_source_next(s, &e)) == 1) {
		uint64_t nums[] = {e->type,       sizes ? e->mode : 0, e->uid,
				   e->gid,        sizes ? e->size : 0, (uint64_t)e->mtime.sec,
				   e->mtime.nsec, e->link_data};
		const void *p;
		uint64_t off, end = 0;
		size_t len;

		++*entries;
		h = xw_hash_fixed(nums, sizeof(nums), mix(mix(h, e->path), e->link));
		for (size_t i = 0; i < e->n_xattrs; i++)
			h = mix(mix(h, e->xattrs[i].name), e->xattrs[i].value);
		while ((r = xw_source_read(s, &p, &len, &off)) == 1) {
			ck_assert_uint_eq(off, end);
			for (size_t i = 0; i < len; i++) /* pieces differ from reader to reader */
				h = (h ^ ((const unsigned char *)p)[i]) * 0x100000001b3;
			end += len;
		}
		ck_assert_msg(r == 0, "%s", diag->text);
		if (e->size != XW_SIZE_UNKNOWN)
			ck_assert_uint_eq(end, e->size);
	}
	ck_assert_msg(r == 0, "%s", diag->text);
	return h;
}

struct writer {
	const struct bytes *b;
	int fd;
	size_t chunk;
};

static void *writer(void *arg)
{
	struct writer *w = arg;
	size_t at = 0, step = w->chunk;

	while (at < w->b->n) {
		size_t n = XW_MIN(step, w->b->n - at);
		ssize_t k = write(w->fd, w->b->p + at, n);

		if (k <= 0)
			break;
		at += (size_t)k;
		step = w->chunk + at % 7;
	}
	close(w->fd);
	return NULL;
}

/* Through a pipe (chunk > 0) or a file. */
static uint64_t through(const struct bytes *b, size_t chunk, bool threaded, int *entries,
			bool sizes)
{
	struct xw_source_opts o = {.threaded = threaded};
	struct xw_diag diag = {0};
	char path[64];
	struct writer w = {b, -1, chunk};
	struct xw_source *s;
	pthread_t t;
	uint64_t h;
	int p[2], fd;

	if (chunk) {
		ck_assert_int_eq(pipe(p), 0);
		w.fd = p[1];
		pthread_create(&t, NULL, writer, &w);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", p[0]);
	} else {
		fd = mkstemp(tmp_template(path, sizeof(path), "xw-t-source"));
		ck_assert_int_eq(write(fd, b->p, b->n), (ssize_t)b->n);
		close(fd);
	}
	ck_assert_msg(!xw_source_open(path, &o, &diag, &s), "%s", diag.text);
	h = digest(s, &diag, entries, sizes);
	ck_assert_uint_ge(xw_source_consumed(s) * 10 + 40960, b->n * 9);
	ck_assert_uint_eq(s->total, chunk ? 0 : b->n);
	ck_assert_uint_eq(diag.warnings, chunk && !sizes); /* of just that */
	xw_source_close(s);
	if (chunk) {
		pthread_join(t, NULL);
		close(p[0]);
	} else {
		unlink(path);
	}
	return h;
}

START_TEST(format)
{
	const struct format *f = &formats[_i];
	struct bytes b = make(f, ARCHIVE_FILTER_NONE);
	int entries, again;
	bool sizes = !(f->can & UNKNOWN_SIZE);
	uint64_t h = through(&b, 0, false, &entries, sizes);

	ck_assert_int_eq(entries, FILES + !!(f->can & CAN_LINKS));
	ck_assert_uint_eq(through(&b, 0, true, &again, sizes), h);
	for (size_t chunk = 1000003; f->can & CAN_PIPE && chunk > 500; chunk /= 6) {
		ck_assert_uint_eq(through(&b, chunk, chunk % 2, &again, sizes), h);
		ck_assert_int_eq(again, entries);
	}
	free(b.p);
}
END_TEST

START_TEST(compression)
{
	struct bytes plain = make(&formats[0], ARCHIVE_FILTER_NONE);
	struct bytes b = make(&formats[0], filters[_i]);
	struct bytes cpio = make(&formats[4], filters[_i]), plain_cpio = make(&formats[4], 0);
	int n, m;
	uint64_t h = through(&plain, 0, false, &n, true);

	ck_assert(filters[_i] == ARCHIVE_FILTER_NONE || b.n != plain.n);
	ck_assert_uint_eq(through(&b, 0, false, &m, true), h);
	ck_assert_int_eq(n, m);
	ck_assert_uint_eq(through(&b, 4093, true, &m, true), h);
	h = through(&plain_cpio, 0, false, &n, true);
	ck_assert_uint_eq(through(&cpio, 0, false, &m, true), h);
	ck_assert_uint_eq(through(&cpio, 65537, true, &m, true), h);
	ck_assert_int_eq(n, m);
	free(plain.p);
	free(b.p);
	free(cpio.p);
	free(plain_cpio.p);
}
END_TEST

/* Everything short of an archive, from a pipe and from a file. */
static int open_and_walk(const void *p, size_t n, bool pipe_, bool threaded, struct xw_diag *diag)
{
	struct bytes b = {.p = (unsigned char *)p, .n = n};
	struct writer w = {&b, -1, 777};
	struct xw_source_opts o = {.threaded = threaded};
	struct xw_source *s;
	char path[64];
	pthread_t t;
	int fds[2], r;

	memset(diag, 0, sizeof(*diag));
	if (pipe_) {
		ck_assert_int_eq(pipe(fds), 0);
		w.fd = fds[1];
		pthread_create(&t, NULL, writer, &w);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
	} else {
		fds[0] = mkstemp(tmp_template(path, sizeof(path), "xw-t-source"));
		ck_assert_int_eq(write(fds[0], p, n), (ssize_t)n);
	}
	r = xw_source_open(path, &o, diag, &s);
	if (!pipe_)
		unlink(path);
	if (!r) {
		r = tm_walk(s);
		xw_source_close(s);
	}
	if (pipe_) {
		close(fds[0]);
		pthread_join(t, NULL);
	} else {
		close(fds[0]);
	}
	ck_assert_msg(r >= 0 || (strstr(diag->text, path) && diag->code == r), "%s", diag->text);
	return r;
}

static const struct {
	const char *what;
	int filter; /* of what `data` is wrapped into as raw bytes, or 0 */
	const char *data;
	size_t zeros;
	int rc;
	const char *text;
} odd[] = {
	{"nothing", 0, "", 0, XW_ERR_INPUT, "empty"},
	{"compressed nothing", ARCHIVE_FILTER_GZIP, "", 0, XW_ERR_INPUT, "empty"},
	{"compressed nothing", ARCHIVE_FILTER_ZSTD, "", 0, XW_ERR_INPUT, "empty"},
	{"zeros", 0, "", 10240, 0, ""},
	{"more zeros than an ISO's system area", 0, "", 65536, 0, ""},
	{"one block of zeros", 0, "", 512, 0, ""},
	{"compressed zeros", ARCHIVE_FILTER_XZ, "", 1024, 0, ""},
	{"text", 0, "hello, world\n", 0, XW_ERR_INPUT, ""},
	{"compressed text", ARCHIVE_FILTER_BZIP2, "hello, world\n", 0, XW_ERR_INPUT, ""},
	{"mtree, which would read host files", 0, "#mtree\n./etc type=dir\n", 0, XW_ERR_INPUT, ""},
	{"one byte", 0, "x", 0, XW_ERR_INPUT, ""},
	{"half a magic", 0, "\x1f\x8b", 0, XW_ERR_INPUT, ""},
};

START_TEST(oddity)
{
	struct bytes b = {0};
	struct xw_diag diag;
	char zeros[65536] = {0};
	int nowarn = 0;

	if (odd[_i].filter) {
		struct archive *a = archive_write_new();
		struct archive_entry *e = archive_entry_new();

		archive_write_add_filter(a, odd[_i].filter);
		archive_write_set_format_raw(a);
		archive_write_set_bytes_in_last_block(a, 1);
		archive_write_open(a, &b, NULL, put, NULL);
		archive_entry_set_filetype(e, AE_IFREG);
		archive_write_header(a, e);
		archive_write_data(a, odd[_i].data, strlen(odd[_i].data));
		archive_write_data(a, zeros, odd[_i].zeros);
		archive_write_close(a);
		archive_write_free(a);
		archive_entry_free(e);
	} else {
		put(NULL, &b, odd[_i].data, strlen(odd[_i].data));
		put(NULL, &b, zeros, odd[_i].zeros);
	}
	for (int k = 0; k < 4; k++) {
		ck_assert_msg(open_and_walk(b.p ? b.p : (unsigned char *)"", b.n, k & 1, k & 2,
					    &diag) == odd[_i].rc,
			      "%s: %s", odd[_i].what, diag.text);
		ck_assert_msg(strstr(diag.text, odd[_i].text), "%s", diag.text);
		nowarn += (int)diag.warnings;
	}
	ck_assert_int_eq(nowarn, 0);
	free(b.p);
}
END_TEST

/* Cut and damaged archives of every format and compression: an orderly end, with a line. */
START_TEST(damage)
{
	size_t nf = XW_ARRAY_SIZE(formats);
	const struct format *f = &formats[(size_t)_i < nf ? _i : 0];
	int filter = (size_t)_i < nf ? 0 : filters[(size_t)_i - nf + 1];
	struct bytes b = make(f, filter);
	unsigned char *copy = malloc(b.n);
	int cut_fails = 0;

	for (unsigned i = 0; i < 40; i++) {
		uint64_t rnd = xw_hash_fixed(&i, sizeof(i), (uint64_t)_i);
		size_t n = i < 20 ? (size_t)(rnd % b.n) : b.n;
		struct xw_diag diag;
		int r;

		memcpy(copy, b.p, b.n);
		for (int k = 0; i >= 20 && k < 3; k++)
			copy[(rnd >> (8 * k)) % b.n] ^= (unsigned char)(1 + (rnd >> 40));
		r = open_and_walk(copy, n, i & 1, i & 2, &diag);
		ck_assert_int_ne(r, XW_ERR_INTERNAL);
		ck_assert_msg(r >= 0 || diag.text[0], "%d without a word", r);
		cut_fails += i < 20 && r < 0;
	}
	/* a tar cut between two members cannot be told; all else can */
	ck_assert_int_ge(cut_fails, 18);
	free(copy);
	free(b.p);
}
END_TEST

START_TEST(no_file)
{
	struct xw_source_opts o = {0};
	struct xw_diag diag = {0};
	struct xw_source *s;

	ck_assert_int_eq(xw_source_open("/nonexistent/x.tar", &o, &diag, &s), XW_ERR_IO);
	ck_assert_str_eq(diag.text, "/nonexistent/x.tar: cannot open: No such file or directory");
	xw_diag_clear(&diag);
	ck_assert_int_eq(xw_source_open("/dev/null", &o, &diag, &s), XW_ERR_INPUT);
	ck_assert_str_eq(diag.text, "/dev/null: empty, not an archive");
}
END_TEST

/* 7z has its directory at the end: refused from a pipe, with the reason. */
START_TEST(seven_in_a_pipe)
{
	struct bytes b = make(&formats[XW_ARRAY_SIZE(formats) - 1], ARCHIVE_FILTER_NONE);
	struct xw_diag diag;

	ck_assert_int_eq(open_and_walk(b.p, b.n, true, _i, &diag), XW_ERR_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(diag.text, "specify it as a regular file"));
	free(b.p);
}
END_TEST

/* Closing while the other end of a pipe says nothing must not wait for it. */
START_TEST(close_early)
{
	struct tm_tar t = {0};
	struct xw_source_opts o = {.threaded = true};
	struct xw_diag diag = {0};
	const struct xw_entry *e;
	struct xw_source *s;
	char path[64];
	int p[2], n = 0;

	for (int i = 0; i < 1200; i++)
		tm_hdr(&t, '5', "d", "", 0);
	ck_assert_int_eq(pipe(p), 0);
	fcntl(p[1], F_SETPIPE_SZ, 1 << 20);
	ck_assert_int_eq(write(p[1], t.p, t.n), (ssize_t)t.n);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", p[0]);
	ck_assert_int_eq(xw_source_open(path, &o, &diag, &s), 0);
	while (n < 500 && xw_source_next(s, &e) == 1)
		n++;
	ck_assert_int_eq(n, 500);
	xw_source_close(s); /* the thread waits for the rest of the second unit */
	close(p[0]);
	close(p[1]);
	free(t.p);
}
END_TEST

/* A read error in the middle is reported as such, after what came before it. */
static ssize_t failing_read(struct xw_feed *f, void *buf, size_t len)
{
	size_t *left = (size_t *)(f + 1);

	if (!*left) {
		snprintf(f->err, sizeof(f->err), "read error at byte 1024: Input/output error");
		return XW_ERR_IO;
	}
	len = XW_MIN(len, *left);
	memset(buf, 0, len);
	*left -= len;
	return (ssize_t)len;
}

START_TEST(read_error)
{
	static const struct xw_feed_ops ops = {.read = failing_read, .close = xw_feed_free};
	struct xw_diag diag = {0};
	struct xw_archive_params tp = {.name = "tape", .diag = &diag, .drain = true};
	struct xw_feed *f = calloc(1, sizeof(*f) + sizeof(size_t));
	struct tm_tar t = {0};
	struct xw_source *s;

	xw_feed_init(f, &ops, (struct xw_feed_tick){0});
	*(size_t *)(f + 1) = 100;
	tm_hdr(&t, '0', "f", "", 5000);
	tm_add(&t, NULL, 512);
	ck_assert_int_eq(xw_feed_peek(f, 10), 10);
	free(f->head);
	f->head = t.p; /* a header, and 612 bytes of its payload, then the error */
	f->head_len = f->head_cap = t.n;
	ck_assert_int_eq(xw_tar_open(xw_input_new(f, _i), &tp, &s), 0);
	ck_assert_int_eq(tm_walk(s), XW_ERR_IO);
	ck_assert_str_eq(diag.text,
			 "tape: member 'f' at byte 0: read error at byte 1024: Input/output error");
	xw_source_close(s);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("source");
	TCase *tc = tcase_create("source");
	int n_damage = (int)(XW_ARRAY_SIZE(formats) + XW_ARRAY_SIZE(filters) - 1);

	signal(SIGPIPE, SIG_IGN);
	tcase_set_timeout(tc, 120);
	unit_add_rows(tc, format, formats, name);
	unit_add_table(tc, compression, filters);
	unit_add_rows(tc, oddity, odd, what);
	tcase_add_loop_test(tc, damage, 0, n_damage);
	tcase_add_test(tc, no_file);
	tcase_add_loop_test(tc, seven_in_a_pipe, 0, 2);
	tcase_add_test(tc, close_early);
	tcase_add_loop_test(tc, read_error, 0, 2);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
