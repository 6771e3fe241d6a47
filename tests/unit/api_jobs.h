/* SPDX-License-Identifier: MIT */
/* Jobs for the public handles, one handle each, and the files that they work on. */
#ifndef XW_TESTS_API_JOBS_H
#define XW_TESTS_API_JOBS_H

#include <ftw.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>

#include "api/xw.h"
#include "base/hash.h"
#include "base/types.h"
#include "tmp.h"
#include "unit.h"

#define NOW "1700000000"
#define UUID "11111111-2222-3333-4444-555555555555"

enum { DIRS = 6, FILES = 20, FILE_MAX = 40000, BLOCK = 1024 };

static char top[64], source[80], base[80], archive[80], damaged[80];

struct worker;
struct option {
	const char *name, *value;
};
struct job {
	const char *name;
	void (*run)(struct worker *w, const struct job *job);
	const char *source; /* a file or directory to read */
	struct option options[5];
};

struct worker {
	char image[96];
	pthread_t self; /* the thread that calls the library */
	bool cancel;
	unsigned calls; /* of callbacks */
	uint64_t sum; /* of the result */
	char failed[512]; /* the first failure; "": none */
	/* of a thread */
	pthread_t thread;
	const struct job *job;
	pthread_barrier_t *start;
	uint64_t wanted;
};

/* Check is not made for assertions in other threads. */
static void __attribute__((format(printf, 2, 3)))
complain(struct worker *w, const char *format, ...)
{
	va_list ap;

	if (w->failed[0])
		return;
	va_start(ap, format);
	if (vsnprintf(w->failed, sizeof(w->failed), format, ap) <= 0)
		strcpy(w->failed, "a failure without a message");
	va_end(ap);
}

/* A failure ends the job, and the program with it: what it leaves open does not matter. */
#define NEED(w, condition, ...)                                                                    \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			complain(w, __VA_ARGS__);                                                  \
			return;                                                                    \
		}                                                                                  \
	} while (0)

static void begin(struct worker *w, const char *name)
{
	*w = (struct worker){.self = pthread_self()};
	snprintf(w->image, sizeof(w->image), "%s/%s", top, name);
}

/* ---- callbacks ---- */

static void called(struct worker *w)
{
	w->calls++;
	if (!pthread_equal(pthread_self(), w->self))
		complain(w, "a callback on another thread");
}

static void on_log(void *arg, enum xw_severity severity, const char *line)
{
	called(arg);
	if (severity == XW_WARNING)
		complain(arg, "warning: %s", line);
}

static int on_progress(void *arg, const struct xw_progress *p)
{
	struct worker *w = arg;

	called(w);
	if (!p->phase)
		complain(w, "progress without a phase");
	return w->cancel;
}

static void add(struct worker *w, const void *bytes, size_t len)
{
	w->sum = xw_hash_fixed(bytes, len, w->sum);
}

static int on_bytes(void *arg, const void *bytes, size_t len)
{
	called(arg);
	add(arg, bytes, len);
	return 0;
}

static void on_finding(void *arg, const struct xw_finding *f)
{
	called(arg);
	add(arg, f->text, strlen(f->text));
}

static int on_entry(void *arg, const struct xw_export_entry *e)
{
	called(arg);
	add(arg, e->path, strlen(e->path));
	add(arg, &e->size, sizeof(e->size));
	return 0;
}

/* ---- files ---- */

static void add_file(struct worker *w, const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *buf = malloc(1 << 16);
	size_t n;

	NEED(w, f && buf, "%s: cannot read", path);
	while ((n = fread(buf, 1, 1 << 16, f)))
		add(w, buf, n);
	fclose(f);
	free(buf);
}

static void copy_file(struct worker *w, const char *from)
{
	FILE *in = fopen(from, "rb"), *out = fopen(w->image, "wb");
	uint8_t *buf = malloc(1 << 16);
	size_t n;

	NEED(w, in && out && buf, "%s: cannot copy %s", w->image, from);
	while ((n = fread(buf, 1, 1 << 16, in)))
		NEED(w, fwrite(buf, 1, n, out) == n, "%s: cannot write", w->image);
	fclose(in);
	NEED(w, !fclose(out), "%s: cannot write", w->image);
	free(buf);
}

static int64_t read_file(void *arg, void *buf, size_t len)
{
	return (int64_t)fread(buf, 1, len, arg);
}

/* ---- jobs: one handle each ---- */

#define SET_ALL(w, kind, handle, list)                                                             \
	do {                                                                                       \
		for (const struct option *o_ = (list); o_->name; o_++)                             \
			NEED(w, !xw_##kind##_set(handle, o_->name, o_->value), "%s",               \
			     xw_##kind##_error(handle));                                           \
	} while (0)

static void make(struct worker *w, const struct job *job)
{
	static const struct option fixed[] = {
		{"SIZE", "8M"}, {"-b", "1024"},          {"-U", UUID}, {"-E", "hash_seed=" UUID},
		{"now", NOW},   {"--clamp-mtime", NULL}, {NULL, NULL}};
	FILE *in = NULL;
	struct xw_mkfs *m;
	uint64_t files;
	int rc;

	NEED(w, !xw_mkfs_new(&m), "no handle");
	xw_mkfs_on_log(m, on_log, w);
	xw_mkfs_on_progress(m, on_progress, w);
	SET_ALL(w, mkfs, m, fixed);
	SET_ALL(w, mkfs, m, job->options);
	unlink(w->image);
	if (job->source == archive)
		rc = (in = fopen(archive, "rb")) ? xw_mkfs_add_source_cb(m, read_file, in, "tar")
						 : XW_E_IO;
	else
		rc = xw_mkfs_add_source(m, job->source);
	NEED(w, !rc && !xw_mkfs_run(m, w->image), "%s", xw_mkfs_error(m));
	files = xw_mkfs_result(m)->files;
	NEED(w, files == DIRS * FILES, "made %" PRIu64 " files", files);
	NEED(w, xw_mkfs_json(m), "no JSON");
	xw_mkfs_free(m);
	if (in)
		fclose(in);
	add_file(w, w->image);
}

static void import(struct worker *w, const struct job *job)
{
	struct xw_import *x;

	copy_file(w, base);
	NEED(w, !xw_import_new(&x), "no handle");
	xw_import_on_log(x, on_log, w);
	xw_import_on_progress(x, on_progress, w);
	SET_ALL(w, import, x, job->options);
	NEED(w,
	     !xw_import_set(x, "now", NOW) && !xw_import_add_source(x, job->source) &&
		     !xw_import_run(x, w->image),
	     "%s", xw_import_error(x));
	NEED(w, xw_import_result(x)->files == DIRS * FILES, "other files");
	NEED(w, xw_import_json(x), "no JSON");
	xw_import_free(x);
	add_file(w, w->image);
}

static void export(struct worker *w, const struct job *job)
{
	struct xw_export *x;
	uint64_t files;

	NEED(w, !xw_export_new(&x), "no handle");
	xw_export_on_log(x, on_log, w);
	xw_export_on_progress(x, on_progress, w);
	SET_ALL(w, export, x, job->options);
	NEED(w, !xw_export_run(x, job->source, on_bytes, w), "%s", xw_export_error(x));
	files = xw_export_result(x)->files;
	NEED(w, files == DIRS * FILES, "exported %" PRIu64 " files", files);
	/* the same handle again */
	NEED(w, !xw_export_list(x, job->source, on_entry, w), "%s", xw_export_error(x));
	NEED(w, xw_export_json(x), "no JSON");
	xw_export_free(x);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void path_of(char *path, size_t size, const char *root, unsigned i)
{
	snprintf(path, size, "%s/d%u/f%u", root, i / FILES, i % FILES);
}

static void extract(struct worker *w, const struct job *job)
{
	struct xw_export *x;
	char path[128];

	NEED(w, !xw_export_new(&x), "no handle");
	xw_export_on_log(x, on_log, w);
	xw_export_on_entry(x, on_entry, w);
	SET_ALL(w, export, x, job->options);
	NEED(w, !xw_export_extract(x, job->source, w->image), "%s", xw_export_error(x));
	xw_export_free(x);
	for (unsigned i = 0; i < DIRS * FILES; i++) {
		path_of(path, sizeof(path), w->image, i);
		add_file(w, path);
	}
	NEED(w, !nftw(w->image, remove_one, 16, FTW_DEPTH | FTW_PHYS), "cannot remove");
}

/* Two handles read one damaged image, or each repairs its own. */
static void check(struct worker *w, const struct job *job)
{
	const bool repairs = !strcmp(job->options[0].name, "-y");
	const struct xw_check_result *r;
	struct xw_check *c;

	if (repairs)
		copy_file(w, job->source);
	NEED(w, !xw_check_new(&c), "no handle");
	xw_check_on_log(c, on_log, w);
	xw_check_on_progress(c, on_progress, w);
	xw_check_on_finding(c, on_finding, w);
	SET_ALL(w, check, c, job->options);
	NEED(w,
	     !xw_check_set(c, "-f", NULL) && !xw_check_set(c, "now", NOW) &&
		     !xw_check_run(c, repairs ? w->image : job->source),
	     "%s", xw_check_error(c));
	r = xw_check_result(c);
	NEED(w, r->status == (repairs ? XW_CHECK_REPAIRED : XW_CHECK_LEFT), "status %d", r->status);
	NEED(w, r->found && r->left == (repairs ? 0 : r->found), "other errors");
	NEED(w, xw_check_json(c), "no JSON");
	xw_check_free(c);
	if (repairs)
		add_file(w, w->image);
}

/* A directory's names, one after the other, as an argument of the callback that reads them. */
struct reading {
	struct worker *w;
	struct xw_fs *fs;
	uint32_t dirs[16];
	size_t n;
};

static int on_xattr(void *arg, const struct xw_fs_xattr *x)
{
	called(arg);
	add(arg, x->name, strlen(x->name));
	add(arg, x->value, x->len);
	return 0;
}

static int on_extent(void *arg, const struct xw_fs_extent *e)
{
	called(arg);
	add(arg, &e->physical, sizeof(e->physical));
	return 0;
}

static int on_name(void *arg, const struct xw_fs_name *n)
{
	struct reading *r = arg;
	const char *target;
	struct xw_fs_stat st;
	static const size_t room = 1 << 16;
	uint8_t *buf;
	int64_t got;

	called(r->w);
	add(r->w, n->name, n->len);
	if (xw_fs_stat_ino(r->fs, n->ino, &st) || xw_fs_xattrs(r->fs, n->ino, on_xattr, r->w))
		return XW_E_IO;
	add(r->w, &st, sizeof(st));
	if (S_ISDIR(st.mode) && r->n < XW_ARRAY_SIZE(r->dirs))
		r->dirs[r->n++] = n->ino;
	if (S_ISLNK(st.mode))
		return xw_fs_readlink(r->fs, n->ino, &target);
	if (!S_ISREG(st.mode))
		return 0;
	buf = malloc(room);
	got = buf ? xw_fs_pread(r->fs, n->ino, 0, buf, room) : XW_E_NOMEM;
	if (got >= 0)
		add(r->w, buf, (size_t)got);
	free(buf);
	return got < 0 ? (int)got : xw_fs_extents(r->fs, n->ino, on_extent, r->w);
}

static void read_all(struct worker *w, const struct job *job)
{
	struct reading r = {.w = w, .dirs = {2}, .n = 1};
	int rc;

	NEED(w, !xw_fs_new(&r.fs), "no handle");
	xw_fs_on_log(r.fs, on_log, w);
	SET_ALL(w, fs, r.fs, job->options);
	NEED(w, !xw_fs_open(r.fs, job->source), "%s", xw_fs_error(r.fs));
	for (size_t i = 0; i < r.n; i++) {
		rc = xw_fs_list(r.fs, r.dirs[i], on_name, &r);
		NEED(w, !rc, "%d: %s", rc, xw_fs_error(r.fs));
	}
	NEED(w, r.n == DIRS + 2, "other directories"); /* the root and lost+found */
	NEED(w, xw_fs_json(r.fs), "no JSON");
	xw_fs_free(r.fs);
}

static void tune(struct worker *w, const struct job *job)
{
	struct xw_tune *t;

	copy_file(w, job->source);
	NEED(w, !xw_tune_new(&t), "no handle");
	xw_tune_on_log(t, on_log, w);
	xw_tune_on_progress(t, on_progress, w);
	SET_ALL(w, tune, t, job->options);
	NEED(w, !xw_tune_set(t, "now", NOW) && !xw_tune_run(t, w->image), "%s", xw_tune_error(t));
	NEED(w, xw_tune_json(t), "no JSON");
	xw_tune_free(t);
	add_file(w, w->image);
}

static void age(struct worker *w, const struct job *job)
{
	struct xw_age *a;

	copy_file(w, job->source);
	NEED(w, !xw_age_new(&a), "no handle");
	xw_age_on_log(a, on_log, w);
	xw_age_on_progress(a, on_progress, w);
	SET_ALL(w, age, a, job->options);
	NEED(w, !xw_age_run(a, w->image), "%s", xw_age_error(a));
	NEED(w, xw_age_json(a), "no JSON");
	xw_age_free(a);
	add_file(w, w->image);
}

static void measure(struct worker *w, const struct job *job)
{
	struct xw_age *a;

	NEED(w, !xw_age_new(&a), "no handle");
	xw_age_on_log(a, on_log, w);
	SET_ALL(w, age, a, job->options);
	NEED(w, !xw_age_measure(a, job->source), "%s", xw_age_error(a));
	add(w, &xw_age_result(a)->after, sizeof(xw_age_result(a)->after));
	xw_age_free(a);
}

/* A failure is told to the handle that has failed. */
static void run_short(struct worker *w, const struct job *job)
{
	struct xw_mkfs *m;
	int rc;

	NEED(w, !xw_mkfs_new(&m), "no handle");
	xw_mkfs_on_log(m, on_log, w);
	SET_ALL(w, mkfs, m, job->options);
	unlink(w->image);
	NEED(w, !xw_mkfs_add_source(m, job->source), "%s", xw_mkfs_error(m));
	rc = xw_mkfs_run(m, w->image);
	NEED(w, rc == XW_E_NOSPC, "%d: %s", rc, xw_mkfs_error(m));
	NEED(w, strstr(xw_mkfs_error(m), w->image), "another message: %s", xw_mkfs_error(m));
	NEED(w, access(w->image, F_OK), "a file is left");
	xw_mkfs_free(m);
}

static int64_t read_slowly(void *arg, void *buf, size_t len)
{
	const struct timespec moment = {.tv_nsec = 120000000}; /* until progress is due */

	nanosleep(&moment, NULL);
	return read_file(arg, buf, len);
}

/* Canceled: a change leaves the image alone; a compressor may go on for a while. */
static void cancel(struct worker *w, const struct job *job)
{
	FILE *in = fopen(job->source, "rb");
	struct xw_import *x;
	struct xw_export *e;
	int rc;

	w->cancel = true;
	copy_file(w, base);
	NEED(w, in && !xw_import_new(&x), "no handle");
	xw_import_on_progress(x, on_progress, w);
	rc = xw_import_add_source_cb(x, read_slowly, in, "tar");
	rc = rc ? rc : xw_import_run(x, w->image);
	NEED(w, rc == XW_E_CANCELED, "import: %d: %s", rc, xw_import_error(x));
	xw_import_free(x);
	fclose(in);
	NEED(w, !xw_export_new(&e), "no handle");
	xw_export_on_progress(e, on_progress, w);
	SET_ALL(w, export, e, job->options);
	rc = xw_export_run(e, base, on_bytes, w);
	NEED(w, !rc || rc == XW_E_CANCELED, "export: %d: %s", rc, xw_export_error(e));
	xw_export_free(e);
	w->cancel = false;
	w->sum = 0;
	export(w, &(struct job){.source = w->image}); /* not compared: free blocks */
}

static const struct job jobs[] = {
	{"mkfs, from a directory", make, source, {{"--jobs", "3"}, {"-O", "inline_data"}}},
	{"mkfs, from an archive", make, archive, {{"--jobs", "2"}, {"-O", "itree"}}},
	{"import, an archive", import, archive, {{"--jobs", "3"}, {"--directory", "new"}}},
	{"import, by the journal", import, source, {{"--commit", "journal"}}},
	{"export, zstd", export, base, {{"--zstd", NULL}, {"--jobs", "2"}, {"--order", "name"}}},
	{"export, gzip", export, base, {{"--gzip", NULL}}},
	{"export, files", extract, base, {{"--jobs", "2"}}},
	{"check", check, damaged, {{"-n", NULL}, {"--jobs", "3"}}},
	{"check, repairs", check, damaged, {{"-y", NULL}, {"--jobs", "2"}}},
	{"fs", read_all, base, {{NULL, NULL}}},
	{"fs, without checksums", read_all, base, {{"--ignore-checksums", NULL}}},
	{"tune, checksums", tune, base, {{"-O", "^metadata_csum"}, {"--jobs", "3"}}},
	{"tune, larger inodes", tune, base, {{"-I", "512"}, {"-O", "itree"}}},
	{"age",
	 age,
	 base,
	 {{"--profile", "pazdera"}, {"--ops", "60"}, {"--seed", "5"}, {"--size", "1k-64k"}}},
	{"age, measured", measure, base, {{"--jobs", "2"}}},
	{"mkfs, without room", run_short, source, {{"SIZE", "1M"}, {"-N", "256"}}},
	{"canceled", cancel, archive, {{"--xz", NULL}}},
};

/* ---- what they work on ---- */

static void make_file(const char *path, unsigned i)
{
	static char text[FILE_MAX];
	FILE *f = fopen(path, "wb");
	const size_t len = i * 7919 % FILE_MAX / (i % 3 ? 1 : 100);

	for (size_t k = 0; k < len; k++)
		text[k] = (char)('a' + (k * (i + 1) + k / 100) % 26);
	ck_assert(f && fwrite(text, 1, len, f) == len && !fclose(f));
	if (i % 5 == 0) /* where the host has such attributes */
		(void)setxattr(path, "user.test", text, XW_MIN(len, (size_t)i * 2), 0);
}

static void make_source(void)
{
	char path[128], other[128];

	ck_assert_int_eq(mkdir(source, 0755), 0);
	for (unsigned i = 0; i < DIRS; i++) {
		snprintf(path, sizeof(path), "%s/d%u", source, i);
		ck_assert_int_eq(mkdir(path, 0750), 0);
	}
	for (unsigned i = 0; i < DIRS * FILES; i++) {
		path_of(path, sizeof(path), source, i);
		make_file(path, i);
	}
	snprintf(other, sizeof(other), "%s/hard", source);
	ck_assert_int_eq(link(path, other), 0);
	snprintf(other, sizeof(other), "%s/symbolic", source);
	ck_assert_int_eq(symlink("d0/f1", other), 0);
}

static int write_file(void *arg, const void *bytes, size_t len)
{
	return fwrite(bytes, 1, len, arg) == len ? 0 : XW_E_IO;
}

static void make_archive(void)
{
	FILE *out = fopen(archive, "wb");
	struct xw_export *x;

	ck_assert(out && !xw_export_new(&x) && !xw_export_set(x, "--gzip", NULL));
	ck_assert_msg(!xw_export_run(x, base, write_file, out), "%s", xw_export_error(x));
	ck_assert_int_eq(fclose(out), 0);
	xw_export_free(x);
}

static int keep_extent(void *arg, const struct xw_fs_extent *e)
{
	*(uint64_t *)arg = e->physical;
	return 1;
}

/* A copy of the base whose directory d3 has lost its block. */
static void make_damaged(void)
{
	static const char zeros[BLOCK];
	struct worker w;
	struct xw_fs_stat st;
	struct xw_fs *fs;
	uint64_t at = 0;
	FILE *f;

	begin(&w, "damaged");
	copy_file(&w, base);
	ck_assert_str_eq(w.failed, "");
	ck_assert(!xw_fs_new(&fs) && !xw_fs_open(fs, base) && !xw_fs_stat(fs, "d3", 0, &st));
	ck_assert_int_eq(xw_fs_extents(fs, st.ino, keep_extent, &at), 1);
	xw_fs_free(fs);
	f = fopen(damaged, "r+b");
	ck_assert(f && !fseek(f, (long)at, SEEK_SET));
	ck_assert_uint_eq(fwrite(zeros, 1, BLOCK, f), BLOCK);
	ck_assert_int_eq(fclose(f), 0);
}

static void setup(void)
{
	static const struct job plain = {.source = source};
	struct worker w;

	ck_assert_ptr_nonnull(mkdtemp(tmp_template(top, sizeof(top), "xw-t-threads")));
	snprintf(source, sizeof(source), "%s/source", top);
	snprintf(base, sizeof(base), "%s/base", top);
	snprintf(archive, sizeof(archive), "%s/archive", top);
	snprintf(damaged, sizeof(damaged), "%s/damaged", top);
	make_source();
	begin(&w, "base");
	make(&w, &plain);
	ck_assert_str_eq(w.failed, "");
	make_archive();
	make_damaged();
}

static void teardown(void)
{
	ck_assert_int_eq(nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

#endif
