/* SPDX-License-Identifier: MIT */
/* All devices against one set of rules, then what is special about files and block devices. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/types.h"
#include "dev/dev.h"
#include "dev/overlay.h"
#include "faultdev.h"
#include "memdev.h"
#include "tmp.h"
#include "unit.h"

#define SIZE 100000

static char dir[64], path[80];
static struct xw_diag diag;

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(tmp_template(dir, sizeof(dir), "xw_t_dev")));
	snprintf(path, sizeof(path), "%s/image", dir);
	memset(&diag, 0, sizeof(diag));
}

static void teardown(void)
{
	unlink(path);
	rmdir(dir);
}

enum kind {
	FILE_DEV,
	MEM_DEV,
	FILE_WINDOW,
	MEM_WINDOW,
	DIRECT_FILE, /* where the host has it */
	DIRECT_MEM,
	OVERLAY,
	FAULT_DEV,
	KINDS,
};

/* Memory that takes whole blocks only: what direct I/O rests on. */
static const struct xw_dev_ops *strict_ops;

static int strict_pread(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	ck_assert(!((uintptr_t)buf % 4096 || len % 4096 || off % 4096));
	return strict_ops->pread(d, buf, len, off);
}

static int strict_pwritev(struct xw_dev *d, const struct iovec *iov, int n, uint64_t off)
{
	ck_assert(!(off % 4096));
	for (int i = 0; i < n; i++)
		ck_assert(!((uintptr_t)iov[i].iov_base % 4096 || iov[i].iov_len % 4096));
	return strict_ops->pwritev(d, iov, n, off);
}

static int strict_zero(struct xw_dev *d, uint64_t off, uint64_t len)
{
	ck_assert(!(off % 4096 || len % 4096));
	return strict_ops->zero(d, off, len);
}

static struct xw_dev *open_direct(bool file)
{
	static struct xw_dev_ops ops;
	struct xw_dev *d, *w;

	if (!file || xw_dev_open_file(path, XW_DEV_CREATE | XW_DEV_DIRECT, &diag, &d)) {
		xw_diag_clear(&diag);
		ck_assert_int_eq(xw_dev_open_mem(0, &diag, &d), 0);
		strict_ops = d->ops;
		ops = *d->ops;
		ops.pread = strict_pread;
		ops.pwritev = strict_pwritev;
		ops.zero = strict_zero;
		d->ops = &ops;
	}
	ck_assert_int_eq(xw_dev_open_direct(d, d->align ? d->align : 4096, &w), 0);
	return w;
}

static struct xw_dev *open_kind(int kind)
{
	struct xw_dev *d, *w;

	if (kind == DIRECT_FILE || kind == DIRECT_MEM)
		return open_direct(kind == DIRECT_FILE);
	if (kind == FAULT_DEV)
		return &faultdev_open_mem(0, &diag)->dev;
	if (kind == FILE_DEV || kind == FILE_WINDOW)
		ck_assert_int_eq(xw_dev_open_file(path, XW_DEV_CREATE, &diag, &d), 0);
	else
		ck_assert_int_eq(xw_dev_open_mem(0, &diag, &d), 0);
	if (kind == FILE_DEV || kind == MEM_DEV)
		return d;
	if (kind == OVERLAY) {
		ck_assert_int_eq(xw_overlay_open(d, 1024, &diag, &w), 0);
		return w;
	}
	ck_assert_int_eq(xw_dev_open_offset(d, 12345, &w), 0);
	return w;
}

static uint32_t rnd(uint32_t *x)
{
	return (*x = *x * 1664525u + 1013904223u) >> 8;
}

static void check_same(struct xw_dev *d, const unsigned char *model, uint64_t size)
{
	unsigned char *got = malloc(SIZE);
	char past;

	ck_assert_uint_eq(d->size, size);
	ck_assert_int_eq(xw_dev_pread(d, got, size, 0), 0);
	ck_assert(memcmp(got, model, size) == 0);
	ck_assert_int_eq(xw_dev_pread(d, &past, 1, size), XW_ERR_TRUNCATED);
	xw_diag_clear(&diag);
	free(got);
}

/* Random writes, zeros and sizes against an array. */
START_TEST(like_an_array)
{
	static unsigned char model[SIZE], src[SIZE];
	struct xw_dev *d = open_kind(_i % KINDS);
	uint32_t x = (uint32_t)_i;
	uint64_t size = 0;

	memset(model, 0, SIZE);
	for (int step = 0; step < 400; step++) {
		uint32_t op = rnd(&x) % 10;
		uint64_t off = rnd(&x) % SIZE, len = rnd(&x) % (step % 3 ? 5000 : SIZE), cut;
		struct iovec v[3];

		len = XW_MIN(len, SIZE - off);
		cut = len / 3;
		if (op < 5) {
			memset(src, (int)(step % 255 + 1), len);
			v[0] = (struct iovec){src, cut};
			v[1] = (struct iovec){src, 0};
			v[2] = (struct iovec){src + cut, len - cut};
			ck_assert_int_eq(xw_dev_pwritev(d, v, 3, off), 0);
			memcpy(model + off, src, len);
		} else if (op < 9) {
			ck_assert_int_eq(xw_dev_zero(d, off, len), 0);
			memset(model + off, 0, len);
		} else {
			ck_assert_int_eq(xw_dev_set_size(d, off), 0);
			memset(model + off, 0, SIZE - off);
			size = off;
			len = 0;
		}
		if (len)
			size = XW_MAX(size, off + len);
		if (step % 10 == 0)
			check_same(d, model, size);
	}
	ck_assert_int_eq(xw_dev_flush(d), 0);
	check_same(d, model, size);
	xw_dev_close(d);
}
END_TEST

START_TEST(more_vectors_than_a_call_takes)
{
	enum { N = 3 * IOV_MAX + 5 };
	static unsigned char src[N * 3], got[N * 3];
	static struct iovec v[N];
	struct xw_dev *d = open_kind(_i);

	for (int i = 0; i < N; i++) {
		v[i] = (struct iovec){src + 3 * i, 3};
		memset(src + 3 * i, i % 251, 3);
	}
	ck_assert_int_eq(xw_dev_pwritev(d, v, N, 7), 0);
	ck_assert_uint_eq(d->size, sizeof(src) + 7);
	ck_assert_int_eq(xw_dev_pread(d, got, sizeof(got), 7), 0);
	ck_assert_mem_eq(got, src, sizeof(src));
	ck_assert_int_eq(xw_dev_pwritev(d, v, 0, 7), 0);
	xw_dev_close(d);
}
END_TEST

START_TEST(past_the_end)
{
	struct xw_dev *d = open_kind(_i);
	char buf[100];

	ck_assert_int_eq(xw_dev_set_size(d, 1000), 0);
	ck_assert_int_eq(xw_dev_pread(d, buf, 100, 900), 0);
	ck_assert_int_eq(xw_dev_pread(d, buf, 0, 1000), 0);
	ck_assert_int_eq(xw_dev_pread(d, buf, 100, 901), XW_ERR_TRUNCATED);
	ck_assert_int_eq(diag.code, XW_ERR_TRUNCATED);
	ck_assert_ptr_nonnull(strstr(diag.text, "past the end"));
	/* Numbers as an image may claim them. */
	ck_assert_int_lt(xw_dev_pread(d, buf, 100, UINT64_MAX - 10), 0);
	ck_assert_int_lt(xw_dev_pread(d, buf, 100, INT64_MAX), 0);
	ck_assert_int_lt(xw_dev_pwrite(d, buf, 100, UINT64_MAX - 10), 0);
	ck_assert_int_lt(xw_dev_pwrite(d, buf, 100, INT64_MAX - 10), 0);
	ck_assert_int_lt(xw_dev_zero(d, UINT64_MAX - 10, 100), 0);
	ck_assert_int_lt(xw_dev_zero(d, 10, UINT64_MAX), 0);
	ck_assert_int_lt(xw_dev_set_size(d, UINT64_MAX), 0);
	ck_assert_uint_eq(d->size, 1000);
	xw_dev_close(d);
}
END_TEST

/* ---- memory ---- */

START_TEST(mem_is_sparse)
{
	const uint64_t tib = (uint64_t)1 << 40;
	struct xw_dev *d;
	uint64_t v;

	ck_assert_int_eq(xw_dev_open_mem(1000 * tib, &diag, &d), 0);
	for (uint64_t i = 0; i < 1000; i++)
		ck_assert_int_eq(xw_dev_pwrite(d, &i, 8, i * tib + 4092),
				 0); /* over a page's end */
	ck_assert_int_eq(xw_dev_zero(d, 100 * tib, 300 * tib), 0);
	ck_assert_int_eq(xw_dev_set_size(d, 900 * tib), 0);
	ck_assert_int_eq(xw_dev_set_size(d, 1000 * tib), 0);
	for (uint64_t i = 0; i < 1000; i++) {
		bool gone = (i >= 100 && i < 400) || i >= 900;

		ck_assert_int_eq(xw_dev_pread(d, &v, 8, i * tib + 4092), 0);
		ck_assert_uint_eq(v, gone ? 0 : i);
	}
	ck_assert(d->fresh && !d->is_block);
	xw_dev_close(d);
}
END_TEST

struct stripe {
	struct xw_dev *d;
	uint64_t first;
};

static void *write_stripe(void *arg)
{
	struct stripe *s = arg;
	uint64_t v;
	int err = 0;

	for (uint64_t i = s->first; i < 40000; i += 4) {
		err |= xw_dev_pwrite(s->d, &i, 8, i * 4096);
		err |= xw_dev_pread(s->d, &v, 8, i * 4096);
		err |= v != i;
	}
	return err ? s : NULL;
}

START_TEST(threads_share_a_device)
{
	struct xw_dev *d = open_kind(_i);
	struct stripe s[4];
	pthread_t t[4];
	uint64_t v;

	for (uint64_t i = 0; i < 4; i++) {
		s[i] = (struct stripe){d, i};
		ck_assert_int_eq(pthread_create(&t[i], NULL, write_stripe, &s[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		void *err;

		pthread_join(t[i], &err);
		ck_assert_ptr_null(err);
	}
	for (uint64_t i = 0; i < 40000; i++) {
		ck_assert(xw_dev_pread(d, &v, 8, i * 4096) == 0);
		ck_assert(v == i);
	}
	ck_assert_uint_eq(d->size, (uint64_t)39999 * 4096 + 8);
	xw_dev_close(d);
}
END_TEST

/* ---- files ---- */

START_TEST(file_opening)
{
	struct xw_dev *d, *e;

	ck_assert_int_eq(xw_dev_open_file(path, 0, &diag, &d), XW_ERR_NOTFOUND);
	ck_assert_ptr_nonnull(strstr(diag.text, path));
	ck_assert_int_eq(xw_dev_open_file(dir, 0, NULL, &d), XW_ERR_INPUT);
	ck_assert_int_eq(xw_dev_open_file("/dev/null", 0, NULL, &d), XW_ERR_INPUT);
	ck_assert_int_eq(xw_dev_open_file(path, XW_DEV_CREATE | XW_DEV_RDONLY, NULL, &d),
			 XW_ERR_USAGE);
	ck_assert_int_eq(xw_dev_open_file(path, XW_DEV_CREATE | XW_DEV_EXCL, NULL, &d), 0);
	ck_assert(d->fresh && d->size == 0);
	ck_assert_int_eq(xw_dev_pwrite(d, "abc", 3, 0), 0);
	/* The lock. */
	ck_assert_int_eq(xw_dev_open_file(path, 0, NULL, &e), XW_ERR_BUSY);
	ck_assert_int_eq(xw_dev_open_file(path, XW_DEV_RDONLY, NULL, &e), XW_ERR_BUSY);
	ck_assert_int_eq(xw_dev_open_file(path, XW_DEV_CREATE, NULL, &e), XW_ERR_BUSY);
	xw_dev_close(d);
	ck_assert_int_eq(xw_dev_open_file(path, XW_DEV_CREATE | XW_DEV_EXCL, NULL, &d),
			 XW_ERR_EXISTS);
	ck_assert_int_eq(xw_dev_open_file(path, XW_DEV_RDONLY, NULL, &d), 0);
	ck_assert_uint_eq(d->size, 3); /* who was refused has not truncated it */
	ck_assert(!d->fresh && !d->is_block);
	ck_assert_int_eq(xw_dev_open_file(path, XW_DEV_RDONLY, NULL, &e), 0);
	ck_assert_int_eq(xw_dev_pwrite(d, "x", 1, 0), XW_ERR_IO);
	xw_dev_close(d);
	xw_dev_close(e);
	ck_assert_int_eq(xw_dev_open_file(path, XW_DEV_CREATE, NULL, &d), 0);
	ck_assert(d->fresh && d->size == 0);
	xw_dev_close(d);
	xw_dev_close(NULL);
}
END_TEST

START_TEST(fifo_does_not_hang)
{
	struct xw_dev *d;

	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(xw_dev_open_file(path, XW_DEV_RDONLY, &diag, &d), XW_ERR_INPUT);
}
END_TEST

START_TEST(zero_gives_space_back)
{
	struct xw_dev *d = open_kind(FILE_DEV);
	char *mib = malloc(1 << 20), *got = calloc(1, 1 << 20);
	struct stat before, after;

	memset(mib, 'x', 1 << 20);
	ck_assert_int_eq(xw_dev_pwrite(d, mib, 1 << 20, 0), 0);
	ck_assert_int_eq(xw_dev_flush(d), 0);
	ck_assert_int_eq(stat(path, &before), 0);
	ck_assert_int_eq(xw_dev_zero(d, 4096, (1 << 20) - 8192), 0);
	ck_assert_int_eq(xw_dev_flush(d), 0);
	ck_assert_int_eq(stat(path, &after), 0);
	ck_assert_int_eq(after.st_size, 1 << 20);
	memset(mib + 4096, 0, (1 << 20) - 8192);
	ck_assert_int_eq(xw_dev_pread(d, got, 1 << 20, 0), 0);
	ck_assert(memcmp(got, mib, 1 << 20) == 0);
	/* Filesystems that cannot punch hold the same bytes; most can. */
	ck_assert(after.st_blocks <= before.st_blocks);
	free(mib);
	free(got);
	xw_dev_close(d);
}
END_TEST

/* keep: zeros, but the room stays; discard: the room goes, through a window too. */
START_TEST(keep_and_discard)
{
	struct xw_dev *d;
	static unsigned char buf[1 << 20];
	struct stat full, st;

	memset(buf, 'x', sizeof(buf));
	ck_assert_int_eq(xw_dev_open_file(path, XW_DEV_CREATE, &diag, &d), 0);
	ck_assert_int_eq(xw_dev_pwrite(d, buf, sizeof(buf), 0), 0);
	ck_assert_int_eq(xw_dev_flush(d), 0);
	ck_assert_int_eq(stat(path, &full), 0);
	d->keep = true;
	ck_assert_int_eq(xw_dev_zero(d, 4096, 900000), 0);
	ck_assert_int_eq(xw_dev_flush(d), 0);
	ck_assert_int_eq(xw_dev_pread(d, buf, sizeof(buf), 0), 0);
	for (size_t i = 0; i < sizeof(buf); i++) {
		if (buf[i] != (i >= 4096 && i < 904096 ? 0 : 'x'))
			ck_abort_msg("byte %zu is %d", i, buf[i]);
	}
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_ge(st.st_blocks, full.st_blocks);
	ck_assert_int_eq(xw_dev_open_offset(d, 65536, &d), 0);
	ck_assert(d->keep);
	if (!xw_dev_discard(d, 0, 524288)) {
		ck_assert_int_eq(stat(path, &st), 0);
		ck_assert_int_lt(st.st_blocks, full.st_blocks);
		ck_assert_int_eq(xw_dev_pread(d, buf, 1, 524288), 0);
	}
	ck_assert_int_eq(xw_dev_discard(d, UINT64_MAX - 65536, 10), XW_ERR_LIMIT);
	xw_diag_clear(&diag);
	xw_dev_close(d);
	ck_assert_int_eq(xw_dev_open_mem(4096, &diag, &d), 0);
	ck_assert_int_eq(xw_dev_discard(d, 0, 4096), XW_ERR_UNSUPPORTED);
	ck_assert_int_eq(diag.code, 0);
	xw_dev_close(d);
}
END_TEST

/* What the file has in the end is what was written, whatever the blocks; nothing is in memory. */
START_TEST(direct_file)
{
	struct xw_dev *d = open_kind(DIRECT_FILE);
	struct stat st;
	char got[10];

	ck_assert_int_eq(xw_dev_pwrite(d, "0123456789", 10, 4090), 0);
	ck_assert_uint_eq(d->size, 4100);
	ck_assert_int_eq(xw_dev_pread(d, got, 10, 4090), 0);
	ck_assert_mem_eq(got, "0123456789", 10);
	ck_assert_int_eq(xw_dev_flush(d), 0);
	if (!stat(path, &st))
		ck_assert_int_eq(st.st_size, 4100);
	ck_assert_int_eq(xw_dev_pwrite(d, "x", 1, 4100), 0);
	/* cut and grown again: zeros */
	ck_assert_int_eq(xw_dev_set_size(d, 4093), 0);
	ck_assert_int_eq(xw_dev_set_size(d, 5000), 0);
	ck_assert_int_eq(xw_dev_pread(d, got, 10, 4091), 0);
	ck_assert_mem_eq(got, "12\0\0\0\0\0\0\0\0", 10);
	xw_dev_close(d);
	if (!stat(path, &st))
		ck_assert_int_eq(st.st_size, 5000);
}
END_TEST

START_TEST(size_limit)
{
	struct rlimit lim = {1 << 20, RLIM_INFINITY}, old;
	struct xw_dev *d = open_kind(FILE_DEV);
	char *buf = calloc(1, 3 << 20);

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	setrlimit(RLIMIT_FSIZE, &lim);
	ck_assert_int_eq(xw_dev_set_size(d, 2 << 20), XW_ERR_HOSTFULL);
	ck_assert_ptr_nonnull(strstr(diag.text, "file size limit"));
	xw_diag_clear(&diag);
	/* The part that fits is written first: the line names the byte where it ended. */
	ck_assert_int_eq(xw_dev_pwrite(d, buf, 3 << 20, 4096), XW_ERR_HOSTFULL);
	ck_assert_ptr_nonnull(strstr(diag.text, "byte 1048576"));
	ck_assert_ptr_nonnull(strstr(diag.text, path));
	ck_assert_uint_eq(d->size, 1 << 20);
	/* and it can be asked before */
	xw_diag_clear(&diag);
	ck_assert_int_eq(xw_dev_check_end(d, 1 << 20), 0);
	ck_assert_int_eq(xw_dev_open_offset(d, 4096, &d), 0);
	ck_assert_int_eq(xw_dev_check_end(d, (1 << 20) - 4096), 0);
	ck_assert_int_eq(xw_dev_check_end(d, (1 << 20) - 4095), XW_ERR_HOSTFULL);
	ck_assert_ptr_nonnull(strstr(diag.text, "is 1048576 bytes"));
	ck_assert_ptr_nonnull(strstr(diag.text, path));
	ck_assert_int_eq(xw_dev_check_end(d, UINT64_MAX), XW_ERR_LIMIT);
	setrlimit(RLIMIT_FSIZE, &old);
	free(buf);
	xw_dev_close(d);
}
END_TEST

/* A child so that its mounts end with it. Its exit status: 0 passed, 77 cannot be tried here. */
static int in_child(int (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(fn());
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int on_full_host(void)
{
	static char buf[1 << 20];
	char file[128];
	struct xw_dev *d;

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, "size=256k"))
		return 77;
	snprintf(file, sizeof(file), "%s/full", dir);
	if (xw_dev_open_file(file, XW_DEV_CREATE, &diag, &d))
		return 1;
	memset(buf, 'x', sizeof(buf));
	if (xw_dev_pwrite(d, buf, sizeof(buf), 0) != XW_ERR_HOSTFULL)
		return 2;
	if (!strstr(diag.text, file) || !strstr(diag.text, "byte 262144: No space left"))
		return 3;
	/* 60 TiB of nothing, used at both ends: more than ext4 as a host holds in a file. */
	if (xw_dev_set_size(d, 0) || xw_dev_set_size(d, (uint64_t)60 << 40))
		return 4;
	if (xw_dev_pwrite(d, buf, 4096, ((uint64_t)60 << 40) - 4096) ||
	    xw_dev_pread(d, buf, 8192, ((uint64_t)60 << 40) - 8192))
		return 5;
	if (buf[4095] != 0 || buf[4096] != 'x')
		return 6;
	if (xw_dev_zero(d, 4096, ((uint64_t)60 << 40) - 4096))
		return 7;
	xw_dev_close(d);
	return 0;
}

START_TEST(full_host)
{
	int status = in_child(on_full_host);

	if (status != 77)
		ck_assert_int_eq(status, 0);
}
END_TEST

static int on_loop_device(void)
{
	static char buf[65536], got[65536];
	char cmd[256], name[64] = "";
	struct xw_dev *d, *e;
	FILE *p;
	int step = 0;

	snprintf(cmd, sizeof(cmd), "truncate -s 1M %s && losetup -f --show %s 2>/dev/null", path,
		 path);
	p = popen(cmd, "r");
	if (!p || !fgets(name, sizeof(name), p) || pclose(p))
		return 77;
	name[strcspn(name, "\n")] = '\0';
	snprintf(cmd, sizeof(cmd), "losetup -d %s", name);
	memset(buf, 'x', sizeof(buf));
	if (xw_dev_open_file(name, XW_DEV_CREATE, &diag, &d)) {
		(void)!system(cmd);
		return 1;
	}
	if (!d->is_block || d->fresh || d->size != 1 << 20)
		step = 2;
	else if (xw_dev_open_file(name, 0, NULL, &e) != XW_ERR_BUSY)
		step = 3;
	else if (xw_dev_pwrite(d, buf, 65536, (1 << 20) - 65536) || xw_dev_pwrite(d, buf, 65536, 0))
		step = 4;
	else if (xw_dev_pwrite(d, buf, 65536, (1 << 20) - 65535) != XW_ERR_HOSTFULL)
		step = 5;
	else if (xw_dev_zero(d, 4096, 8192) || xw_dev_zero(d, 20001, 1003))
		step = 6;
	else if (xw_dev_flush(d) || xw_dev_pread(d, got, 65536, 0))
		step = 7;
	else if (xw_dev_set_size(d, 4096) || d->size != 1 << 20)
		step = 8;
	else if (xw_dev_set_size(d, 2 << 20) != XW_ERR_HOSTFULL)
		step = 9;
	memset(buf + 4096, 0, 8192);
	memset(buf + 20001, 0, 1003);
	if (!step && memcmp(buf, got, 65536))
		step = 10;
	xw_dev_close(d);
	return system(cmd) ? 11 : step;
}

START_TEST(block_device)
{
	int status = in_child(on_loop_device);

	if (status != 77)
		ck_assert_int_eq(status, 0);
}
END_TEST

/* ---- windows and faults ---- */

START_TEST(window_is_an_offset)
{
	struct xw_dev *d, *w;
	char got[4];

	ck_assert_int_eq(xw_dev_open_mem(1000, &diag, &d), 0);
	ck_assert_int_eq(xw_dev_open_offset(d, 600, &w), 0);
	ck_assert_uint_eq(w->size, 400);
	ck_assert_int_eq(xw_dev_pwrite(w, "abc", 3, 399), 0);
	ck_assert_uint_eq(w->size, 402);
	ck_assert_uint_eq(d->size, 1002);
	ck_assert_int_eq(xw_dev_pread(d, got, 3, 999), 0);
	ck_assert_mem_eq(got, "abc", 3);
	ck_assert_int_eq(xw_dev_set_size(w, 0), 0);
	ck_assert_uint_eq(d->size, 600);
	xw_dev_close(w);
	ck_assert_int_eq(xw_dev_open_mem(100, &diag, &d), 0);
	ck_assert_int_eq(xw_dev_open_offset(d, 600, &w), 0);
	ck_assert_uint_eq(w->size, 0);
	xw_dev_close(w);
}
END_TEST

START_TEST(planned_faults)
{
	struct faultdev *f = faultdev_open_mem(100, &diag);
	struct xw_dev *copy;
	char a[8], b[8];

	f->record = true;
	f->fail_change = 2;
	f->mode = _i;
	f->tear = 3;
	f->code = XW_ERR_HOSTFULL;
	ck_assert_int_eq(xw_dev_pwrite(&f->dev, "11111111", 8, 0), 0);
	ck_assert_int_eq(xw_dev_pwrite(&f->dev, "22222222", 8, 0), XW_ERR_HOSTFULL);
	ck_assert_int_eq(xw_dev_zero(&f->dev, 7, 1), f->mode == FAULT_ONCE ? 0 : XW_ERR_HOSTFULL);
	ck_assert_int_eq(xw_dev_flush(&f->dev), f->mode == FAULT_ONCE ? 0 : XW_ERR_HOSTFULL);
	ck_assert_uint_eq(f->changes, 3);
	faultdev_revive(f);
	ck_assert_int_eq(xw_dev_pread(&f->dev, a, 8, 0), 0);
	ck_assert_mem_eq(a,
			 f->mode == FAULT_ONCE  ? "1111111"
			 : f->mode == FAULT_CUT ? "11111111"
						: "22211111",
			 8);
	ck_assert_int_eq(xw_dev_open_mem(100, &diag, &copy), 0);
	ck_assert_int_eq(faultdev_replay(f, f->events.n, copy), 0);
	ck_assert_int_eq(xw_dev_pread(copy, b, 8, 0), 0);
	ck_assert_mem_eq(a, b, 8);
	xw_dev_close(copy);
	xw_dev_close(&f->dev);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("dev");
	TCase *t = tcase_create("dev");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, like_an_array, 0, 4 * KINDS);
	tcase_add_loop_test(t, more_vectors_than_a_call_takes, 0, KINDS);
	tcase_add_loop_test(t, past_the_end, 0, KINDS - 1);
	tcase_add_test(t, mem_is_sparse);
	tcase_add_loop_test(t, threads_share_a_device, FILE_DEV, MEM_DEV + 1);
	tcase_add_loop_test(t, threads_share_a_device, DIRECT_FILE, DIRECT_MEM + 1);
	tcase_add_test(t, file_opening);
	tcase_add_test(t, fifo_does_not_hang);
	tcase_add_test(t, zero_gives_space_back);
	tcase_add_test(t, keep_and_discard);
	tcase_add_test(t, direct_file);
	tcase_add_test(t, size_limit);
	tcase_add_test(t, full_host);
	tcase_add_test(t, block_device);
	tcase_add_test(t, window_is_an_offset);
	tcase_add_loop_test(t, planned_faults, FAULT_ONCE, FAULT_TEAR + 1);
	tcase_set_timeout(t, 120);
	suite_add_tcase(s, t);
	return unit_main(s);
}
