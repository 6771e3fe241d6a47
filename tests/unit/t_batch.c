/* SPDX-License-Identifier: MIT */
/* The batcher over a recording device: same bytes and same writes, threaded or not. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/types.h"
#include "dev/batch.h"
#include "faultdev.h"
#include "tmp.h"
#include "unit.h"

static struct xw_diag diag;

static void setup(void)
{
	memset(&diag, 0, sizeof(diag));
}

static struct xw_batch *new_batch(struct faultdev *f, size_t unit, bool threaded)
{
	struct xw_batch *b;

	ck_assert_int_eq(xw_batch_new(&f->dev, unit, threaded, &diag, &b), 0);
	return b;
}

static uint32_t rnd(uint32_t *x)
{
	return (*x = *x * 1664525u + 1013904223u) >> 8;
}

#define SPACE (1 << 20)

static const size_t units[] = {512, 4096, 10000, 131072};

/* Some thousand calls of all kinds, mostly in sequence, into `model` too when it is given. */
static int play(struct xw_batch *b, uint32_t x, size_t unit, unsigned char *model)
{
	static unsigned char src[SPACE];
	uint64_t at = 0;

	for (int step = 0; step < 1500; step++) {
		uint32_t op = rnd(&x) % 16, how = rnd(&x) % 8;
		size_t len = rnd(&x) % (how == 0 ? 3 * unit : how < 3 ? unit : 600);
		uint64_t off = op < 12 ? at : rnd(&x) % SPACE;
		int value = step % 255 + 1, err;
		void *buf;

		off = off >= SPACE ? 0 : off;
		len = XW_MIN(len, SPACE - off);
		if (how % 3 == 0) {
			len = XW_MIN(len, unit);
			err = xw_batch_reserve(b, off, len, &buf);
			if (!err) {
				ck_assert(!len || (*(char *)buf == 0 &&
						   memcmp(buf, (char *)buf + 1, len - 1) == 0));
				memset(buf, value, len / 2); /* the rest stays zeros */
			}
			if (model) {
				memset(model + off, value, len / 2);
				memset(model + off + len / 2, 0, len - len / 2);
			}
		} else if (how % 3 == 1) {
			err = xw_batch_zeros(b, off, len);
			if (model)
				memset(model + off, 0, len);
		} else {
			memset(src, value, len);
			err = xw_batch_write(b, off, src, len);
			memset(src, 0xee, len); /* it was copied */
			if (model)
				memset(model + off, value, len);
		}
		if (!err && step % 400 == 399)
			err = xw_batch_drain(b);
		if (err)
			return err;
		at = off + len;
	}
	return xw_batch_drain(b);
}

static void check_stats(const struct faultdev *f, const struct xw_batch *b)
{
	struct xw_batch_stats want = {0}, got;
	const struct fault_event *e = f->events.v;

	for (size_t i = 0; i < f->events.n; i++, e++) {
		want.writes++;
		want.bytes += e->len;
		want.sequential += i && e->off == e[-1].off + e[-1].len;
		want.backward += i && e->off < e[-1].off + e[-1].len;
	}
	xw_batch_stats(b, &got);
	ck_assert_uint_eq(got.writes, want.writes);
	ck_assert_uint_eq(got.bytes, want.bytes);
	ck_assert_uint_eq(got.sequential, want.sequential);
	ck_assert_uint_eq(got.backward, want.backward);
}

START_TEST(same_with_and_without_thread)
{
	static unsigned char model[SPACE], got[SPACE];
	size_t unit = units[_i % 4];
	struct faultdev *f[2];

	memset(model, 0, SPACE);
	for (int k = 0; k < 2; k++) {
		struct xw_batch *b;

		f[k] = faultdev_open_mem(SPACE, &diag);
		f[k]->record = true;
		b = new_batch(f[k], unit, k == 1);
		ck_assert_int_eq(play(b, (uint32_t)_i, unit, model), 0);
		check_stats(f[k], b);
		xw_batch_free(b);
		ck_assert_int_eq(xw_dev_pread(&f[k]->dev, got, SPACE, 0), 0);
		ck_assert(memcmp(got, model, SPACE) == 0);
	}
	ck_assert_uint_eq(f[0]->events.n, f[1]->events.n);
	for (size_t i = 0; i < f[0]->events.n; i++) {
		const struct fault_event *x = &f[0]->events.v[i], *y = &f[1]->events.v[i];

		ck_assert(x->off == y->off && x->len == y->len);
		ck_assert(memcmp(x->data, y->data, x->len) == 0);
		ck_assert_uint_le(x->len, unit);
	}
	xw_dev_close(&f[0]->dev);
	xw_dev_close(&f[1]->dev);
}
END_TEST

/* Small pieces in sequence become writes of exactly one unit, cut at its multiples. */
START_TEST(pieces_are_merged)
{
	struct faultdev *f = faultdev_open_mem(0, &diag);
	struct xw_batch *b = new_batch(f, 128 << 10, _i);
	static char piece[1000];
	struct xw_batch_stats s;
	const uint64_t start = 100 * 1024, total = 20 << 20;

	f->record = true;
	for (uint64_t at = 0; at < total; at += 1000)
		ck_assert_int_eq(xw_batch_write(b, start + at, piece, XW_MIN(1000, total - at)), 0);
	ck_assert_int_eq(xw_batch_drain(b), 0);
	xw_batch_stats(b, &s);
	ck_assert_uint_eq(s.bytes, total);
	ck_assert_uint_eq(s.sequential, s.writes - 1);
	ck_assert_uint_eq(s.backward, 0);
	ck_assert_uint_eq(f->events.v[0].off, start);
	ck_assert_uint_eq(f->events.v[0].len, (128 - 100) * 1024);
	for (size_t i = 1; i + 1 < f->events.n; i++)
		ck_assert_uint_eq(f->events.v[i].len, 128 * 1024);
	/* Nearly all of it has been sent to write-back before the flush. */
	ck_assert_uint_ge(f->sent_back, total - (256 << 10));
	ck_assert_uint_le(f->sent_back, total);
	xw_batch_free(b);
	xw_dev_close(&f->dev);
}
END_TEST

/* Whatever write fails: the error comes back, stays, and no later write is made. */
START_TEST(errors_stick)
{
	static const int codes[] = {XW_ERR_IO, XW_ERR_HOSTFULL};
	bool threaded = _i % 2;
	struct faultdev *f = faultdev_open_mem(SPACE, &diag), *all;
	struct xw_batch *b = new_batch(f, 4096, threaded);
	int code = codes[_i / 2 % 2];
	void *buf;

	f->record = true;
	f->fail_change = (uint64_t)(_i / 4) * 9 + 1;
	f->code = code;
	ck_assert_int_eq(play(b, 5, 4096, NULL), code);
	ck_assert_int_eq(diag.code, code);
	ck_assert_ptr_nonnull(strstr(diag.text, "planned failure"));
	ck_assert_int_eq(xw_batch_write(b, 0, "x", 1), code);
	ck_assert_int_eq(xw_batch_zeros(b, 0, 1), code);
	ck_assert_int_eq(xw_batch_reserve(b, 0, 1, &buf), code);
	ck_assert_int_eq(xw_batch_drain(b), code);
	ck_assert_int_eq(xw_batch_drain(b), code);
	xw_batch_free(b);
	/* FAULT_ONCE: the device would have taken more; it was not asked. */
	ck_assert_uint_eq(f->changes, f->fail_change);

	all = faultdev_open_mem(SPACE, NULL);
	all->record = true;
	b = new_batch(all, 4096, threaded);
	ck_assert_int_eq(play(b, 5, 4096, NULL), 0);
	ck_assert_uint_eq(f->events.n, f->fail_change - 1);
	for (size_t i = 0; i < f->events.n; i++)
		ck_assert(f->events.v[i].off == all->events.v[i].off &&
			  f->events.v[i].len == all->events.v[i].len);
	xw_batch_free(b);
	xw_dev_close(&f->dev);
	xw_dev_close(&all->dev);
}
END_TEST

START_TEST(order_is_kept)
{
	struct faultdev *f = faultdev_open_mem(0, &diag);
	struct xw_batch *b = new_batch(f, 4096, _i);
	char got;

	for (int i = 0; i < 1000; i++) {
		char c = (char)('a' + i % 26);

		ck_assert_int_eq(xw_batch_write(b, 77, &c, 1), 0);
		if (i % 100 == 7) {
			ck_assert_int_eq(xw_batch_drain(b), 0);
			ck_assert_int_eq(xw_dev_pread(&f->dev, &got, 1, 77), 0);
			ck_assert_int_eq(got, c);
		}
	}
	ck_assert_int_eq(xw_batch_drain(b), 0);
	ck_assert_int_eq(xw_dev_pread(&f->dev, &got, 1, 77), 0);
	ck_assert_int_eq(got, 'a' + 999 % 26);
	xw_batch_free(b);
	xw_dev_close(&f->dev);
}
END_TEST

START_TEST(limits)
{
	struct faultdev *f = faultdev_open_mem(0, &diag);
	struct xw_batch *b;
	void *buf;

	ck_assert_int_eq(xw_batch_new(&f->dev, (size_t)1 << 40, _i, &diag, &b), XW_ERR_USAGE);
	xw_diag_clear(&diag);
	b = new_batch(f, 4096, _i);
	ck_assert_int_eq(xw_batch_reserve(b, 0, 4097, &buf), XW_ERR_INTERNAL);
	xw_diag_clear(&diag);
	ck_assert_int_eq(xw_batch_zeros(b, UINT64_MAX - 5, 10), XW_ERR_LIMIT);
	xw_diag_clear(&diag);
	ck_assert_int_eq(xw_batch_write(b, 5, NULL, 0), 0);
	ck_assert_int_eq(xw_batch_drain(b), 0);
	ck_assert_uint_eq(f->writes, 0);
	/* A reservation over a multiple of the unit lies in one piece all the same. */
	ck_assert_int_eq(xw_batch_write(b, 4000, "x", 1), 0);
	ck_assert_int_eq(xw_batch_reserve(b, 4001, 4000, &buf), 0);
	memset(buf, 'y', 4000);
	ck_assert_int_eq(xw_batch_drain(b), 0);
	ck_assert_uint_eq(f->writes, 1);
	ck_assert_uint_eq(f->dev.size, 8001);
	/* Freed with work under way: nothing hangs, nothing leaks. */
	for (uint64_t i = 0; i < 5000; i++)
		ck_assert_int_eq(xw_batch_write(b, i * 10000, "x", 1), 0);
	xw_batch_free(b);
	xw_batch_free(NULL);
	xw_dev_close(&f->dev);
}
END_TEST

/* The real thing once: a file, the default unit, a jump back at the end. */
START_TEST(onto_a_file)
{
	char path[64];
	enum { N = 3000 };
	struct xw_dev *d;
	struct xw_batch *b;
	uint64_t v;

	close(mkstemp(tmp_template(path, sizeof(path), "xw_t_batch")));
	ck_assert_int_eq(xw_dev_open_file(path, XW_DEV_CREATE, &diag, &d), 0);
	ck_assert_int_eq(xw_batch_new(d, 0, _i, &diag, &b), 0);
	for (uint64_t i = 1; i < N; i++) {
		void *buf;

		ck_assert_int_eq(xw_batch_reserve(b, i * 4096, 4096, &buf), 0);
		memcpy(buf, &i, 8);
	}
	v = N;
	ck_assert_int_eq(xw_batch_write(b, 0, &v, 8), 0);
	ck_assert_int_eq(xw_batch_drain(b), 0);
	ck_assert_int_eq(xw_dev_flush(d), 0);
	ck_assert_uint_eq(d->size, (uint64_t)N * 4096);
	for (uint64_t i = 0; i < N; i++) {
		ck_assert_int_eq(xw_dev_pread(d, &v, 8, i * 4096), 0);
		ck_assert_uint_eq(v, i ? i : N);
	}
	xw_batch_free(b);
	xw_dev_close(d);
	unlink(path);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("batch");
	TCase *t = tcase_create("batch");

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_loop_test(t, same_with_and_without_thread, 0, 16);
	unit_add_cases(t, pieces_are_merged, "same thread", "own thread");
	tcase_add_loop_test(t, errors_stick, 0, 40);
	unit_add_cases(t, order_is_kept, "same thread", "own thread");
	unit_add_cases(t, limits, "same thread", "own thread");
	unit_add_cases(t, onto_a_file, "same thread", "own thread");
	tcase_set_timeout(t, 120);
	suite_add_tcase(s, t);
	return unit_main(s);
}
