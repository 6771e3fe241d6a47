/* SPDX-License-Identifier: MIT */
/* The public handles that change an image: tune and age. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/handle.h"
#include "api/xw.h"
#include "base/types.h"
#include "tmp.h"
#include "unit.h"

#define IMAGES 2
#define NOW "1700000000"
#define RESUID (1024 + 0x50) /* s_def_resuid, 16 bits */

static char dir[64], images[IMAGES][80];
static struct xw_tune *t;
static struct xw_age *a;

static void make(const char *image)
{
	struct xw_mkfs *m;

	ck_assert_int_eq(xw_mkfs_new(&m), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "SIZE", "8M"), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "-U", "11111111-2222-3333-4444-555555555555"), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "-E", "hash_seed=11111111-2222-3333-4444-555555555555"), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "now", NOW), 0);
	ck_assert_msg(!xw_mkfs_run(m, image), "%s", xw_mkfs_error(m));
	xw_mkfs_free(m);
}

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(tmp_template(dir, sizeof(dir), "xw-t-change")));
	for (unsigned i = 0; i < IMAGES; i++) {
		snprintf(images[i], sizeof(images[i]), "%s/%u", dir, i);
		make(images[i]);
	}
	ck_assert_int_eq(xw_tune_new(&t), 0);
	ck_assert_int_eq(xw_age_new(&a), 0);
}

static void teardown(void)
{
	xw_tune_free(t);
	xw_age_free(a);
	for (unsigned i = 0; i < IMAGES; i++)
		unlink(images[i]);
	ck_assert_int_eq(rmdir(dir), 0); /* nothing else is left */
}

static char *contents(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	char *p;

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fstat(fileno(f), &st), 0);
	p = malloc((size_t)st.st_size);
	*len = fread(p, 1, (size_t)st.st_size, f);
	ck_assert_uint_eq(*len, (uint64_t)st.st_size);
	fclose(f);
	return p;
}

static bool same(const char *one, const char *two)
{
	size_t n, m;
	char *p = contents(one, &n), *q = contents(two, &m);
	const bool is = n == m && !memcmp(p, q, n);

	free(p);
	free(q);
	return is;
}

struct pair {
	const char *option, *value;
};

static void tune_all(struct xw_tune *h, const struct pair *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ck_assert_msg(!xw_tune_set(h, p[i].option, p[i].value), "%s", xw_tune_error(h));
}

static void age_all(struct xw_age *h, const struct pair *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ck_assert_msg(!xw_age_set(h, p[i].option, p[i].value), "%s", xw_age_error(h));
}

/* ---- tune ---- */

static bool has_word(const char *list, const char *word)
{
	const size_t len = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += len)
		if ((at == list || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
			return true;
	return false;
}

START_TEST(label_and_features)
{
	static const struct pair all[] = {
		{"-L", "a label"}, {"-O", "^has_journal,itree"},
		{"-I", "512"},     {"-r", "17"},
		{"-U", "clear"},   {"now", NOW},
	};
	static const uint8_t none[16];
	const struct xw_tune_result *r = xw_tune_result(t);

	tune_all(t, all, XW_ARRAY_SIZE(all));
	ck_assert_msg(!xw_tune_run(t, images[0]), "%s", xw_tune_error(t));
	ck_assert(has_word(r->before.features, "has_journal") &&
		  !has_word(r->before.features, "itree"));
	ck_assert(has_word(r->after.features, "itree") &&
		  !has_word(r->after.features, "has_journal"));
	ck_assert_str_eq(r->before.label, "");
	ck_assert_str_eq(r->after.label, "a label");
	ck_assert_mem_ne(r->before.uuid, none, sizeof(none));
	ck_assert_mem_eq(r->after.uuid, none, sizeof(none));
	ck_assert_uint_eq(r->after.block_size * r->after.blocks, 8u << 20);
	ck_assert_uint_eq(r->before.inode_size, 256);
	ck_assert_uint_eq(r->after.inode_size, 512);
	ck_assert_uint_eq(r->after.reserved_blocks, 17);
	ck_assert_uint_gt(r->before.journal_blocks, 0);
	ck_assert_uint_eq(r->after.journal_blocks, 0);
	ck_assert_uint_gt(r->commit_blocks, 0);
	ck_assert_str_ne(r->commit, "auto");
	ck_assert_ptr_null(r->pending);
	ck_assert_ptr_nonnull(strstr(xw_tune_json(t), "\"commit\":\"inside\""));

	ck_assert_int_eq(xw_tune_run(t, images[0]), XW_E_RAN);
	ck_assert_int_eq(xw_tune_set(t, "-L", "late"), XW_E_RAN);
	ck_assert_ptr_nonnull(strstr(xw_tune_error(t), "-L"));
	ck_assert_str_eq(r->after.label, "a label");
}
END_TEST

static const struct {
	struct pair is;
	int rc;
} refused[] = {
	{{"-c", "12x"}, XW_E_USAGE},        {{"-C", "99999"}, XW_E_USAGE},
	{{"-e", "ignore"}, XW_E_USAGE},     {{"-E", "stride=x"}, XW_E_USAGE},
	{{"-E", "colour=red"}, XW_E_USAGE}, {{"-i", "99999999999"}, XW_E_USAGE},
	{{"-I", "300"}, XW_E_USAGE},        {{"-J", "size=x"}, XW_E_USAGE},
	{{"-m", "51"}, XW_E_USAGE},         {{"-o", "fast"}, XW_E_USAGE},
	{{"-O", "bogus"}, XW_E_USAGE},      {{"-O", "bigalloc"}, XW_E_UNSUPPORTED},
	{{"-Q", "wheel"}, XW_E_USAGE},      {{"-r", "x"}, XW_E_USAGE},
	{{"-T", "2024-01-01"}, XW_E_USAGE}, {{"-u", "somebody"}, XW_E_USAGE},
	{{"-U", "xyz"}, XW_E_USAGE},        {{"--commit", "never"}, XW_E_USAGE},
	{{"--jobs", "0"}, XW_E_USAGE},      {{"now", "tomorrow"}, XW_E_USAGE},
	{{"-L", NULL}, XW_E_USAGE},         {{"-z", ""}, XW_E_USAGE},
	{{"-l", NULL}, XW_E_USAGE}, /* of the tool alone */
	{{"--no-such", "x"}, XW_E_USAGE},
};

START_TEST(tune_refuses)
{
	const char *value = refused[_i].is.value;

	ck_assert_int_eq(xw_tune_set(t, refused[_i].is.option, value), refused[_i].rc);
	ck_assert_ptr_nonnull(strstr(xw_tune_error(t), refused[_i].is.option));
	/* of a key, its own value */
	if (value && strcmp(refused[_i].is.option, "--no-such") != 0)
		ck_assert_ptr_nonnull(strstr(xw_tune_error(t), value));
	ck_assert_int_eq(xw_tune_set(t, "-L", "other"), 0);
	ck_assert_str_eq(xw_tune_error(t), "");
}
END_TEST

START_TEST(tune_needs_a_change)
{
	ck_assert_int_eq(xw_tune_run(t, images[0]), XW_E_USAGE);
	ck_assert_str_ne(xw_tune_error(t), "");
	xw_tune_free(t);
	ck_assert_int_eq(xw_tune_new(&t), 0);
	ck_assert_int_eq(xw_tune_set(t, "-E", "clear_mmp"), 0);
	ck_assert_int_eq(xw_tune_run(t, images[0]), XW_E_USAGE);
	ck_assert_ptr_nonnull(strstr(xw_tune_error(t), "clear_mmp"));
	ck_assert(same(images[0], images[1]));
}
END_TEST

START_TEST(clear_pending)
{
	ck_assert_int_eq(xw_tune_set(t, "-E", "clear_pending"), 0);
	ck_assert_int_eq(xw_tune_set(t, "-f", NULL), 0);
	ck_assert_msg(!xw_tune_run(t, images[0]), "%s", xw_tune_error(t));
	ck_assert_str_eq(xw_tune_result(t)->pending, "none");
	ck_assert_str_eq(xw_tune_json(t), "{\"pending\":\"none\"}");
	ck_assert_str_eq(xw_tune_result(t)->after.label, "");
	ck_assert(same(images[0], images[1]));
}
END_TEST

/* What is not there, and what is no filesystem: by its name, with the code of the other handles. */
START_TEST(no_image)
{
	char other[96];
	struct xw_import *x;
	FILE *f;
	int missing;

	snprintf(other, sizeof(other), "%s/other", dir);
	ck_assert_int_eq(xw_import_new(&x), 0);
	missing = xw_import_run(x, other);
	ck_assert_int_lt(missing, 0);
	xw_import_free(x);
	ck_assert_int_eq(xw_tune_set(t, "-L", "x"), 0);
	ck_assert_int_eq(xw_tune_run(t, other), missing);
	ck_assert_ptr_nonnull(strstr(xw_tune_error(t), other));
	ck_assert_int_eq(xw_age_measure(a, other), missing);
	ck_assert_ptr_nonnull(strstr(xw_age_error(a), other));
	ck_assert_ptr_null(xw_age_json(a));

	f = fopen(other, "w");
	ck_assert_int_eq(fputs("no filesystem", f) < 0 || fclose(f), 0);
	ck_assert_int_lt(xw_age_measure(a, other), 0);
	ck_assert_ptr_nonnull(strstr(xw_age_error(a), other));
	unlink(other);
}
END_TEST

static int resolve(void *arg, int group, const char *name, uint32_t *id)
{
	*id = 77;
	++*(unsigned *)arg;
	return strcmp(name, group ? "staff" : "bob");
}

START_TEST(names)
{
	unsigned calls = 0;
	size_t n;
	char *p;

	xw_tune_on_names(t, resolve, &calls);
	ck_assert_int_eq(xw_tune_set(t, "-u", "bob"), 0);
	ck_assert_int_eq(xw_tune_set(t, "-g", "staff"), 0);
	ck_assert_int_eq(xw_tune_set(t, "-g", "bob"), XW_E_USAGE);
	ck_assert_uint_eq(calls, 3);
	ck_assert_msg(!xw_tune_run(t, images[0]), "%s", xw_tune_error(t));
	p = contents(images[0], &n);
	ck_assert_int_eq(p[RESUID], 77);
	ck_assert_int_eq(p[RESUID + 2], 77);
	free(p);
}
END_TEST

static void count_warnings(void *arg, enum xw_severity severity, const char *line)
{
	*(unsigned *)arg += severity == XW_WARNING && strstr(line, "label too long");
}

START_TEST(warns)
{
	unsigned warnings = 0;

	xw_tune_on_log(t, count_warnings, &warnings);
	ck_assert_int_eq(xw_tune_set(t, "-L", "a label of many characters"), 0);
	ck_assert_uint_eq(warnings, 1);
	ck_assert_msg(!xw_tune_run(t, images[0]), "%s", xw_tune_error(t));
	ck_assert_str_eq(xw_tune_result(t)->after.label, "a label of many ");
}
END_TEST

struct asked {
	pthread_t thread;
	unsigned calls;
	int answer;
};

static int ask(void *arg, const struct xw_progress *p)
{
	struct asked *s = arg;

	ck_assert(pthread_equal(pthread_self(), s->thread));
	ck_assert_ptr_nonnull(p->phase);
	s->calls++;
	return s->answer;
}

START_TEST(canceled)
{
	struct asked s = {.thread = pthread_self(), .answer = 1};

	xw_tune_on_progress(t, ask, &s);
	ck_assert_int_eq(xw_tune_set(t, "-O", "^has_journal,mmp"), 0);
	ck_assert_int_eq(xw_tune_run(t, images[0]), XW_E_CANCELED);
	ck_assert_ptr_nonnull(strstr(xw_tune_error(t), "interrupted"));
	ck_assert_uint_ge(s.calls, 1);
	ck_assert(same(images[0], images[1]));

	s.calls = 0;
	xw_age_on_progress(a, ask, &s);
	ck_assert_int_eq(xw_age_set(a, "--profile", "pazdera"), 0);
	ck_assert_int_eq(xw_age_set(a, "--files", "50"), 0);
	ck_assert_int_eq(xw_age_run(a, images[0]), XW_E_CANCELED);
	ck_assert_ptr_nonnull(strstr(xw_age_error(a), "interrupted"));
	ck_assert_uint_ge(s.calls, 1);
	ck_assert_ptr_null(xw_age_json(a));
	ck_assert(same(images[0], images[1]));
}
END_TEST

START_TEST(told_and_continued)
{
	struct asked s = {.thread = pthread_self()};

	xw_tune_on_progress(t, ask, &s);
	ck_assert_int_eq(xw_tune_set(t, "-O", "itree"), 0);
	ck_assert_msg(!xw_tune_run(t, images[0]), "%s", xw_tune_error(t));
	ck_assert_uint_ge(s.calls, 1);
}
END_TEST

/* ---- age ---- */

static const struct pair few[] = {
	{"--profile", "pazdera"}, {"--ops", "150"}, {"--seed", "5"}, {"--size", "1k-64k"}};

START_TEST(age_and_measure)
{
	const struct xw_age_result *r = xw_age_result(a);
	struct xw_age_fragmentation after;
	uint64_t blocks = 0;
	char *json;

	age_all(a, few, XW_ARRAY_SIZE(few));
	ck_assert_ptr_null(xw_age_json(a));
	ck_assert_msg(!xw_age_measure(a, images[0]), "%s", xw_age_error(a));
	ck_assert_ptr_nonnull(strstr(xw_age_json(a), "\"measured\":{"));
	ck_assert_uint_eq(r->after.files, 0);
	ck_assert_str_eq(r->ended_by, "");
	ck_assert_msg(!xw_age_run(a, images[0]), "%s", xw_age_error(a));
	ck_assert_uint_eq(r->operations, 150);
	ck_assert_uint_eq(r->created - r->removed, r->after.files);
	ck_assert_str_eq(r->ended_by, "profile");
	ck_assert_int_eq(r->missed, 0);
	ck_assert_uint_eq(r->before.files, 0);
	ck_assert_double_eq(r->before.layout_score, 1);
	ck_assert_uint_gt(r->after.used_blocks, r->before.used_blocks);
	for (unsigned i = 0; i < XW_AGE_CLASSES; i++)
		blocks += r->after.free_blocks[i];
	ck_assert_uint_eq(blocks + r->after.used_blocks, r->after.blocks);
	json = strdup(xw_age_json(a));

	/* A handle runs once; the same image and options give the same bytes. */
	ck_assert_int_eq(xw_age_run(a, images[1]), XW_E_RAN);
	ck_assert_int_eq(xw_age_set(a, "--seed", "6"), XW_E_RAN);
	after = r->after;
	ck_assert_msg(!xw_age_measure(a, images[0]), "%s", xw_age_error(a));
	ck_assert_mem_eq(&after, &r->after, sizeof(after));
	xw_age_free(a);
	ck_assert_int_eq(xw_age_new(&a), 0);
	age_all(a, few, XW_ARRAY_SIZE(few));
	ck_assert_msg(!xw_age_run(a, images[1]), "%s", xw_age_error(a));
	ck_assert(same(images[0], images[1]));
	ck_assert_str_eq(strchr(xw_age_json(a), ','), strchr(json, ','));
	free(json);
}
END_TEST

START_TEST(age_misses)
{
	static const struct pair all[] = {
		{"--profile", "pazdera"}, {"--until", "layout=0.01"}, {"--size", "4k-4k"}};
	const struct xw_age_result *r = xw_age_result(a);

	age_all(a, all, XW_ARRAY_SIZE(all));
	ck_assert_int_eq(xw_age_run(a, images[0]), XW_E_MISSED);
	ck_assert_int_eq(r->missed, 1);
	ck_assert_uint_gt(r->operations, 0);
	ck_assert_uint_gt(r->after.files, 0);
	ck_assert_ptr_nonnull(strstr(xw_age_json(a), "\"achieved\":{"));
}
END_TEST

static const struct pair age_refused[] = {
	{"--profile", "normal"},  {"--profile", "alternate:1k"},
	{"--until", "util=5"},    {"--until", "when=1"},
	{"--files", "0"},         {"--seed", "x"},
	{"--size", "4x"},         {"--util", "0%"},
	{"--allocator", "first"}, {"--step", "0"},
	{"--jobs", "0"},          {"--commit", "never"},
	{"-E", "stride=4"},       {"-E", "offset=x"},
	{"now", "tomorrow"},      {"--dir", NULL},
	{"--measure", NULL},      {"--no-such", NULL},
};

START_TEST(age_refuses)
{
	const char *value = age_refused[_i].value, *last;

	ck_assert_int_eq(xw_age_set(a, age_refused[_i].option, value), XW_E_USAGE);
	ck_assert_ptr_nonnull(strstr(xw_age_error(a), age_refused[_i].option));
	if (value) {
		last = strchr(value, '=');
		ck_assert_ptr_nonnull(strstr(xw_age_error(a), last ? last + 1 : value));
	}
	ck_assert_int_eq(xw_age_run(a, images[0]), XW_E_USAGE);
	ck_assert_ptr_nonnull(strstr(xw_age_error(a), "--profile"));
	ck_assert(same(images[0], images[1]));
}
END_TEST

/* ---- two at once ---- */

static void *change_one(void *arg)
{
	static const struct pair all[] = {
		{"-L", "same"}, {"-O", "itree,mmp"}, {"-U", "clear"}, {"now", NOW}};
	struct xw_tune *h;
	struct xw_age *g;

	ck_assert_int_eq(xw_tune_new(&h), 0);
	tune_all(h, all, XW_ARRAY_SIZE(all));
	ck_assert_msg(!xw_tune_run(h, arg), "%s", xw_tune_error(h));
	xw_tune_free(h);
	ck_assert_int_eq(xw_age_new(&g), 0);
	age_all(g, few, XW_ARRAY_SIZE(few));
	ck_assert_msg(!xw_age_run(g, arg), "%s", xw_age_error(g));
	xw_age_free(g);
	return NULL;
}

/* A run may get over a failure, such as no memory for what makes it faster. */
START_TEST(success_has_no_message)
{
	struct xw_handle h = {0};

	ck_assert_int_eq(xw_handle_begin(&h, "image"), 0);
	(void)xw_fail_nomem(&h.diag, "a cache");
	ck_assert_int_eq(xw_handle_end(&h, 0, "image"), 0);
	ck_assert_str_eq(h.diag.text, "");
}
END_TEST

START_TEST(threads)
{
	pthread_t other;

	ck_assert_int_eq(pthread_create(&other, NULL, change_one, images[1]), 0);
	change_one(images[0]);
	ck_assert_int_eq(pthread_join(other, NULL), 0);
	ck_assert(same(images[0], images[1]));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("api_change");
	TCase *tc = tcase_create("api_change");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, label_and_features);
	unit_add_table(tc, tune_refuses, refused);
	tcase_add_test(tc, tune_needs_a_change);
	tcase_add_test(tc, clear_pending);
	tcase_add_test(tc, no_image);
	tcase_add_test(tc, names);
	tcase_add_test(tc, warns);
	tcase_add_test(tc, canceled);
	tcase_add_test(tc, told_and_continued);
	tcase_add_test(tc, age_and_measure);
	tcase_add_test(tc, age_misses);
	unit_add_rows(tc, age_refuses, age_refused, option);
	tcase_add_test(tc, success_has_no_message);
	tcase_add_test(tc, threads);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
