/* SPDX-License-Identifier: MIT */
/*
 * Handles of every kind at once, each used by a thread of its own: what libextwright(3) says about
 * threads. Each job is done once alone. Its result, a sum of all bytes that it has made, is what
 * every thread must get each time, because the same input gives the same bytes: state that two
 * handles share would change it. A build with --enable-sanitize=thread (build-aux/thread-check)
 * also reports shared state that changes nothing.
 */
#include "config.h"

#include "api_jobs.h"

enum { ROUNDS = 3 };

/* ---- all at once ---- */

static void once(struct worker *w, const struct job *job)
{
	w->sum = 0;
	w->calls = 0;
	job->run(w, job);
}

static void *rounds(void *arg)
{
	struct worker *w = arg;

	w->self = pthread_self();
	for (unsigned i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(w->start);
		if (w->failed[0])
			continue;
		once(w, w->job);
		if (w->sum != w->wanted)
			complain(w, "round %u: another result than alone", i);
	}
	return NULL;
}

START_TEST(all_at_once)
{
	struct worker workers[XW_ARRAY_SIZE(jobs)];
	pthread_barrier_t start;

	ck_assert_int_eq(pthread_barrier_init(&start, NULL, XW_ARRAY_SIZE(jobs)), 0);
	for (size_t i = 0; i < XW_ARRAY_SIZE(jobs); i++) {
		struct worker *w = &workers[i];
		char name[16];

		snprintf(name, sizeof(name), "%zu", i);
		begin(w, name);
		w->job = &jobs[i];
		w->start = &start;
		once(w, w->job);
		ck_assert_msg(!w->failed[0], "%s, alone: %s", w->job->name, w->failed);
		w->wanted = w->sum;
	}
	for (size_t i = 0; i < XW_ARRAY_SIZE(jobs); i++)
		ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, rounds, &workers[i]), 0);
	for (size_t i = 0; i < XW_ARRAY_SIZE(jobs); i++)
		ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);
	for (size_t i = 0; i < XW_ARRAY_SIZE(jobs); i++)
		ck_assert_msg(!workers[i].failed[0], "%s: %s", jobs[i].name, workers[i].failed);
	pthread_barrier_destroy(&start);
}
END_TEST

/* ---- four handles on their way from thread to thread ---- */

struct handed {
	struct worker w;
	struct xw_mkfs *mkfs;
	struct xw_import *import;
	struct xw_export *export;
	struct xw_check *check;
	int rc;
};

/* A handle's callbacks are called on the thread that runs it, wherever it was made. */
static void *run_it(void *arg)
{
	struct handed *h = arg;

	h->w.self = pthread_self();
	if (h->mkfs)
		h->rc = xw_mkfs_run(h->mkfs, h->w.image);
	else if (h->import)
		h->rc = xw_import_run(h->import, h->w.image);
	else if (h->export)
		h->rc = xw_export_run(h->export, base, on_bytes, &h->w);
	else
		h->rc = xw_check_run(h->check, damaged);
	return NULL;
}

enum { MKFS, IMPORT, EXPORT, CHECK, HANDLES };

static void make_handles(struct handed h[HANDLES])
{
	memset(h, 0, HANDLES * sizeof(*h));
	begin(&h[MKFS].w, "made");
	ck_assert(!xw_mkfs_new(&h[MKFS].mkfs) && !xw_mkfs_add_source(h[MKFS].mkfs, source));
	ck_assert(!xw_mkfs_set(h[MKFS].mkfs, "SIZE", "8M"));
	xw_mkfs_on_progress(h[MKFS].mkfs, on_progress, &h[MKFS].w);
	begin(&h[IMPORT].w, "imported");
	copy_file(&h[IMPORT].w, base);
	ck_assert(!xw_import_new(&h[IMPORT].import));
	ck_assert(!xw_import_add_source(h[IMPORT].import, archive));
	xw_import_on_progress(h[IMPORT].import, on_progress, &h[IMPORT].w);
	begin(&h[EXPORT].w, "unused");
	ck_assert(!xw_export_new(&h[EXPORT].export));
	ck_assert(!xw_export_set(h[EXPORT].export, "--gzip", NULL));
	begin(&h[CHECK].w, "unused");
	ck_assert(!xw_check_new(&h[CHECK].check) && !xw_check_set(h[CHECK].check, "-f", NULL));
	xw_check_on_finding(h[CHECK].check, on_finding, &h[CHECK].w);
}

START_TEST(handed_over)
{
	struct handed h[HANDLES];

	make_handles(h);
	for (int i = 0; i < HANDLES; i++)
		ck_assert_int_eq(pthread_create(&h[i].w.thread, NULL, run_it, &h[i]), 0);
	for (int i = 0; i < HANDLES; i++)
		ck_assert_int_eq(pthread_join(h[i].w.thread, NULL), 0);
	ck_assert_msg(!h[MKFS].rc, "%s", xw_mkfs_error(h[MKFS].mkfs));
	ck_assert_msg(!h[IMPORT].rc, "%s", xw_import_error(h[IMPORT].import));
	ck_assert_msg(!h[EXPORT].rc, "%s", xw_export_error(h[EXPORT].export));
	ck_assert_msg(!h[CHECK].rc, "%s", xw_check_error(h[CHECK].check));
	for (int i = 0; i < HANDLES; i++) {
		ck_assert_str_eq(h[i].w.failed, "");
		ck_assert_uint_gt(h[i].w.calls, 0);
	}
	ck_assert_uint_eq(xw_mkfs_result(h[MKFS].mkfs)->files, DIRS * FILES);
	ck_assert_uint_eq(xw_import_result(h[IMPORT].import)->files, DIRS * FILES);
	ck_assert_uint_eq(xw_export_result(h[EXPORT].export)->files, DIRS * FILES);
	ck_assert_int_eq(xw_check_result(h[CHECK].check)->status, XW_CHECK_LEFT);
	xw_mkfs_free(h[MKFS].mkfs);
	xw_import_free(h[IMPORT].import);
	xw_export_free(h[EXPORT].export);
	xw_check_free(h[CHECK].check);
}
END_TEST

/* ---- several changes of one image ---- */

/* The image belongs to one change at a time; the others are told so, and come again. */
static bool again(int rc)
{
	const struct timespec moment = {.tv_nsec = 1000000};

	if (rc == XW_E_BUSY)
		nanosleep(&moment, NULL);
	return rc == XW_E_BUSY;
}

static void *import_into(void *arg)
{
	struct worker *w = arg;
	struct xw_import *x;
	int rc;

	do {
		rc = xw_import_new(&x);
		rc = rc ? rc : xw_import_set(x, "--directory", w->job->name);
		rc = rc ? rc : xw_import_add_source(x, archive);
		rc = rc ? rc : xw_import_run(x, w->image);
		if (rc && rc != XW_E_BUSY)
			complain(w, "%s: %s", w->job->name, xw_import_error(x));
		xw_import_free(x);
	} while (again(rc));
	return NULL;
}

static void *label(void *arg)
{
	struct worker *w = arg;
	struct xw_tune *t;
	int rc;

	do {
		rc = xw_tune_new(&t);
		rc = rc ? rc : xw_tune_set(t, "-L", "label");
		rc = rc ? rc : xw_tune_run(t, w->image);
		if (rc && rc != XW_E_BUSY)
			complain(w, "%s", xw_tune_error(t));
		xw_tune_free(t);
	} while (again(rc));
	return NULL;
}

static void *list(void *arg)
{
	struct worker *w = arg;
	struct xw_export *x;
	int rc;

	w->self = pthread_self();
	do {
		rc = xw_export_new(&x);
		rc = rc ? rc : xw_export_run(x, w->image, on_bytes, w);
		if (rc && rc != XW_E_BUSY)
			complain(w, "%s", xw_export_error(x));
		else if (!rc && xw_export_result(x)->files % (DIRS * FILES))
			complain(w, "half a change is seen");
		xw_export_free(x);
	} while (again(rc));
	return NULL;
}

static void *repair(void *arg)
{
	struct worker *w = arg;
	struct xw_check *c;
	int rc;

	do {
		rc = xw_check_new(&c);
		rc = rc ? rc : xw_check_set(c, "-y", NULL);
		rc = rc ? rc : xw_check_set(c, "-f", NULL);
		rc = rc ? rc : xw_check_run(c, w->image);
		if (rc && rc != XW_E_BUSY)
			complain(w, "%s", xw_check_error(c));
		else if (!rc && xw_check_result(c)->found)
			complain(w, "errors were found");
		xw_check_free(c);
	} while (again(rc));
	return NULL;
}

START_TEST(one_image)
{
	static void *(*const runs[])(void *) = {import_into, import_into, label, list, repair};
	static const struct job names[] = {{.name = "one"},
					   {.name = "two"},
					   {.name = "label"},
					   {.name = "list"},
					   {.name = "repair"}};
	struct worker workers[XW_ARRAY_SIZE(runs)];
	struct xw_fs_stat st;
	struct xw_fs *fs;

	for (size_t i = 0; i < XW_ARRAY_SIZE(runs); i++) {
		begin(&workers[i], "shared");
		workers[i].job = &names[i];
	}
	copy_file(&workers[0], base);
	for (size_t i = 0; i < XW_ARRAY_SIZE(runs); i++)
		ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, runs[i], &workers[i]), 0);
	for (size_t i = 0; i < XW_ARRAY_SIZE(runs); i++)
		ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);
	for (size_t i = 0; i < XW_ARRAY_SIZE(runs); i++)
		ck_assert_str_eq(workers[i].failed, "");
	repair(&workers[0]);
	ck_assert_str_eq(workers[0].failed, "");
	ck_assert(!xw_fs_new(&fs) && !xw_fs_open(fs, workers[0].image));
	ck_assert_str_eq(xw_fs_info(fs)->label, "label");
	ck_assert(!xw_fs_stat(fs, "one/d5/f19", 0, &st) && !xw_fs_stat(fs, "two/hard", 0, &st));
	xw_fs_free(fs);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("api_threads");
	TCase *tc = tcase_create("api_threads");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, all_at_once);
	tcase_add_test(tc, handed_over);
	tcase_add_test(tc, one_image);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
