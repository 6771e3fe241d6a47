/* SPDX-License-Identifier: MIT */
/*
 * The public handle of a check: an image with a wrong link count is found, left, repaired; what a
 * caller does wrong is an error with a line, and nothing is ever printed.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/xw.h"
#include "base/types.h"
#include "tmp.h"
#include "unit.h"

enum { BLOCK = 1024, SIZE = 8 << 20, LOST_FOUND = 11, INODE_SIZE = 256 };
#define RIGHT_LINKS 2
#define WRONG_LINKS 7

struct world {
	char path[64];
	struct xw_check *c;
	/* heard */
	unsigned findings, lines, ticks, cancel_at; /* of ticks, from 1; 0: never */
	struct xw_finding last;
	char file[64]; /* its path */
	char id[64], text[256], phases[256];
	uint64_t done, total;
};

static struct world world;

/* ---- images ---- */

static void make(const char *path)
{
	struct xw_mkfs *m;

	ck_assert_int_eq(xw_mkfs_new(&m), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "SIZE", "8M"), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "-b", "1024"), 0);
	ck_assert_int_eq(xw_mkfs_set(m, "-O", "^metadata_csum"), 0);
	ck_assert_msg(!xw_mkfs_run(m, path), "%s", xw_mkfs_error(m));
	xw_mkfs_free(m);
}

/* Where the image has the link count of lost+found. */
static long links_at(FILE *file, long start)
{
	unsigned char b[4];

	ck_assert_int_eq(fseek(file, start + 2L * BLOCK + 8, SEEK_SET), 0);
	ck_assert_uint_eq(fread(b, 1, 4, file), 4);
	return start + (long)(b[0] | b[1] << 8 | b[2] << 16) * BLOCK +
	       (LOST_FOUND - 1L) * INODE_SIZE + 26;
}

static int links_of(const char *path, long start)
{
	FILE *file = fopen(path, "rb");
	int links;

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fseek(file, links_at(file, start), SEEK_SET), 0);
	links = fgetc(file);
	fclose(file);
	return links;
}

static void damage(const char *path)
{
	FILE *file = fopen(path, "r+b");

	ck_assert_int_eq(links_of(path, 0), RIGHT_LINKS);
	ck_assert_int_eq(fseek(file, links_at(file, 0), SEEK_SET), 0);
	ck_assert_int_eq(fputc(WRONG_LINKS, file), WRONG_LINKS);
	ck_assert_int_eq(fclose(file), 0);
}

static char *bytes_of(const char *path)
{
	FILE *file = fopen(path, "rb");
	char *bytes = malloc(SIZE);

	ck_assert(file && bytes);
	ck_assert_uint_eq(fread(bytes, 1, SIZE, file), SIZE);
	fclose(file);
	return bytes;
}

/* ---- what is heard ---- */

static void on_finding(void *arg, const struct xw_finding *f)
{
	struct world *w = arg;

	if (f->severity == XW_FINDING_NOTE)
		return;
	w->findings++;
	w->last = *f;
	snprintf(w->id, sizeof(w->id), "%s", f->id);
	snprintf(w->text, sizeof(w->text), "%s", f->text);
	snprintf(w->file, sizeof(w->file), "%s", f->path ? f->path : "");
}

static void on_log(void *arg, enum xw_severity severity, const char *line)
{
	(void)severity;
	ck_assert_ptr_null(strchr(line, '\n'));
	((struct world *)arg)->lines++;
}

static int on_progress(void *arg, const struct xw_progress *p)
{
	struct world *w = arg;

	if (!strstr(w->phases, p->phase) && strlen(w->phases) + 16 < sizeof(w->phases))
		strcat(strcat(w->phases, p->phase), " ");
	ck_assert_uint_le(p->done, p->total);
	ck_assert_uint_ge(p->done, w->done);
	w->done = p->done;
	return ++w->ticks == w->cancel_at;
}

static void begin(struct world *w)
{
	w->findings = w->lines = w->ticks = w->cancel_at = 0;
	w->done = 0;
	w->phases[0] = w->id[0] = w->text[0] = '\0';
	ck_assert_int_eq(xw_check_new(&w->c), 0);
	xw_check_on_finding(w->c, on_finding, w);
	xw_check_on_log(w->c, on_log, w);
	xw_check_on_progress(w->c, on_progress, w);
	ck_assert_int_eq(xw_check_set(w->c, "now", "1700000000"), 0);
}

static void set(struct world *w, const char *option, const char *value)
{
	ck_assert_msg(!xw_check_set(w->c, option, value), "%s", xw_check_error(w->c));
}

static const struct xw_check_result *run(struct world *w)
{
	ck_assert_msg(!xw_check_run(w->c, w->path), "%s", xw_check_error(w->c));
	return xw_check_result(w->c);
}

static void make_path(struct world *w)
{
	const int fd = mkstemp(tmp_template(w->path, sizeof(w->path), "xw-t-check"));

	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(unlink(w->path), 0);
}

static void setup(void)
{
	make_path(&world);
	make(world.path);
	damage(world.path);
	begin(&world);
}

static void teardown(void)
{
	xw_check_free(world.c);
	unlink(world.path);
}

/* ---- checks ---- */

/* Nothing is changed, whether that is asked for or nothing is. */
START_TEST(only_checked)
{
	struct world *const w = &world;
	char *const before = bytes_of(w->path);
	const struct xw_check_result *r;
	char *after;

	set(w, "-f", NULL);
	if (_i)
		set(w, "-n", NULL);
	ck_assert_ptr_null(xw_check_json(w->c));
	r = run(w);
	ck_assert_uint_eq(w->findings, 1);
	ck_assert_str_eq(w->id, "link-count");
	ck_assert_str_eq(w->text, "Inode 11 (/lost+found) has link count 7, should be 2");
	ck_assert_int_eq(w->last.severity, XW_FINDING_MINOR);
	ck_assert_int_eq(w->last.inode, LOST_FOUND);
	ck_assert_str_eq(w->file, "/lost+found");
	ck_assert(!w->last.directory_path && !w->last.from);
	ck_assert_uint_eq(w->last.count, 1);
	ck_assert_int_eq(w->last.group, -1);
	ck_assert_int_eq(w->last.block, -1);
	ck_assert(!w->last.repaired && !w->last.follows);
	ck_assert_uint_eq(w->last.round, 1);
	ck_assert_int_eq(r->status, XW_CHECK_LEFT);
	ck_assert(r->found == 1 && r->left == 1 && !r->repaired && !r->clean && !r->modified);
	ck_assert(!r->skipped && !r->pending && !r->completed && !r->reboot);
	ck_assert_uint_eq(r->block_size, BLOCK);
	ck_assert_uint_eq(r->blocks, SIZE / BLOCK);
	ck_assert(r->used_inodes == LOST_FOUND && r->directories == 2 && !r->regular_files);
	ck_assert_ptr_nonnull(strstr(xw_check_json(w->c), "\"found\":1,\"repaired\":0,\"left\":1"));
	ck_assert_ptr_nonnull(strstr(xw_check_json(w->c), "\"exit_status\":4"));
	/* "open " before, where that took long */
	ck_assert_ptr_nonnull(strstr(w->phases, "pass 1 pass 2 pass 3 pass 4 pass 5 "));
	after = bytes_of(w->path);
	ck_assert(!memcmp(before, after, SIZE));
	free(before);
	free(after);
}
END_TEST

START_TEST(repaired)
{
	struct world *const w = &world;
	const struct xw_check_result *r;

	set(w, _i ? "-p" : "-y", NULL);
	set(w, "-f", NULL);
	r = run(w);
	ck_assert_int_eq(r->status, XW_CHECK_REPAIRED);
	ck_assert(r->found == 1 && r->repaired == 1 && !r->left && r->clean && r->modified);
	ck_assert(w->findings == 1 && w->last.repaired);
	ck_assert_uint_ge(r->rounds, 2);
	ck_assert_int_eq(links_of(w->path, 0), RIGHT_LINKS);
	/* the same handle again: nothing of the first run is left in it */
	w->done = 0;
	r = run(w);
	ck_assert_int_eq(r->status, 0);
	ck_assert(!r->found && !r->repaired && r->clean && !r->skipped);
	ck_assert_str_eq(xw_check_error(w->c), "");
	ck_assert_ptr_nonnull(strstr(xw_check_json(w->c), "\"clean\":true"));
}
END_TEST

/* What repairs change, or with -n would, is listed: lost+found without links is not in use. */
START_TEST(changes)
{
	struct world *const w = &world;
	FILE *const file = fopen(w->path, "r+b");
	const struct xw_check_result *r;

	ck_assert_int_eq(fseek(file, links_at(file, 0), SEEK_SET), 0);
	ck_assert_int_eq(fputc(0, file), 0);
	ck_assert_int_eq(fclose(file), 0);
	set(w, _i ? "-y" : "-n", NULL);
	set(w, "-f", NULL);
	r = run(w);
	ck_assert_int_eq(r->status, _i ? XW_CHECK_REPAIRED : XW_CHECK_LEFT);
	ck_assert_uint_eq(r->n_changes, 1);
	ck_assert_str_eq(r->changes->kind, "unnamed");
	ck_assert_int_eq(r->changes->inode, LOST_FOUND);
	ck_assert_str_eq(r->changes->path, "/lost+found");
	ck_assert_int_eq(r->changes->other_inode, -1);
	ck_assert(!r->changes->from && !r->changes->other_path && !r->changes->text);
	ck_assert_ptr_nonnull(strstr(xw_check_json(w->c),
				     "\"changes\":[{\"kind\":\"unnamed\",\"inode\":11,"
				     "\"path\":\"/lost+found\"}]"));
	w->done = 0;
	r = run(w);
	ck_assert_uint_eq(r->n_changes, !_i);
}
END_TEST

/* With -p a finding that needs an administrator ends the check: no failure, nothing is written. */
START_TEST(ended)
{
	struct world *const w = &world;
	FILE *const file = fopen(w->path, "r+b");
	const struct xw_check_result *r;
	char *before, *after;

	/* the block bitmap of group 0 in block 0 */
	ck_assert(!fseek(file, 2 * BLOCK, SEEK_SET) && fwrite("\0\0\0", 1, 4, file) == 4);
	ck_assert_int_eq(fclose(file), 0);
	before = bytes_of(w->path);
	set(w, "-p", NULL);
	set(w, "-f", NULL);
	r = run(w);
	ck_assert_int_eq(r->status, XW_CHECK_LEFT);
	ck_assert(r->left && !r->repaired && !r->clean && !r->modified && !w->last.repaired);
	ck_assert_str_eq(w->id, "group-block-bitmap-place");
	ck_assert(!w->last.group && w->last.inode == -1 && !w->last.block);
	after = bytes_of(w->path);
	ck_assert(!memcmp(before, after, SIZE));
	free(before);
	free(after);
}
END_TEST

/* What is marked clean is not looked at, as by e2fsck. */
START_TEST(skipped)
{
	const struct xw_check_result *r = run(&world);

	ck_assert(r->skipped && !r->status && r->clean && !r->found && !world.findings);
	ck_assert(r->blocks == SIZE / BLOCK && !r->directories);
}
END_TEST

START_TEST(at_an_offset)
{
	struct world *const w = &world;
	char *const bytes = bytes_of(w->path);
	FILE *const file = fopen(w->path, "wb");

	ck_assert(!fseek(file, 1 << 20, SEEK_SET) && fwrite(bytes, 1, SIZE, file) == SIZE);
	ck_assert_int_eq(fclose(file), 0);
	free(bytes);
	set(w, "-E", "offset=1048576");
	set(w, "-y", NULL);
	set(w, "-f", NULL);
	ck_assert_int_eq(run(w)->status, XW_CHECK_REPAIRED);
	ck_assert_int_eq(links_of(w->path, 1 << 20), RIGHT_LINKS);
}
END_TEST

/* Canceled at any call, nothing is repaired; what has all of them is. */
START_TEST(canceled)
{
	struct world *const w = &world;
	unsigned at = 1;

	for (;; at++) {
		char *const before = bytes_of(w->path);
		char *after;
		int rc;

		xw_check_free(w->c);
		begin(w);
		w->cancel_at = at;
		set(w, "-y", NULL);
		set(w, "-f", NULL);
		rc = xw_check_run(w->c, w->path);
		after = bytes_of(w->path);
		if (!rc) {
			ck_assert_uint_lt(w->ticks, at);
			ck_assert_int_eq(xw_check_result(w->c)->status, XW_CHECK_REPAIRED);
			free(before);
			free(after);
			break;
		}
		ck_assert_int_eq(rc, XW_E_CANCELED);
		ck_assert_ptr_nonnull(strstr(xw_check_error(w->c), "interrupted"));
		ck_assert_int_eq(xw_check_result(w->c)->status, XW_CHECK_CANCELED);
		ck_assert(!xw_check_result(w->c)->repaired && !xw_check_result(w->c)->modified);
		ck_assert_uint_eq(w->ticks, at); /* not called again */
		ck_assert(!memcmp(before, after, SIZE));
		free(before);
		free(after);
	}
	ck_assert_uint_gt(at, 5); /* each pass */
}
END_TEST

static void *repair(void *arg)
{
	struct world *w = arg;

	for (int i = 0; i < 5; i++) {
		damage(w->path);
		begin(w);
		set(w, "-y", NULL);
		set(w, "-f", NULL);
		ck_assert_int_eq(run(w)->status, XW_CHECK_REPAIRED);
		ck_assert_uint_eq(w->findings, 1);
		xw_check_free(w->c);
	}
	return NULL;
}

START_TEST(two_threads)
{
	struct world both[2];
	pthread_t threads[2];

	for (int i = 0; i < 2; i++) {
		make_path(&both[i]);
		make(both[i].path);
		ck_assert_int_eq(pthread_create(&threads[i], NULL, repair, &both[i]), 0);
	}
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
		ck_assert_int_eq(links_of(both[i].path, 0), RIGHT_LINKS);
		unlink(both[i].path);
	}
}
END_TEST

/* ---- what a caller does wrong ---- */

static const struct {
	const char *option, *value, *says;
} refused_options[] = {
	{"--no-such", NULL, "unknown option --no-such"},
	{"-v", NULL, "unknown option -v"},
	{"--json", NULL, "unknown option --json"},
	{"-C", "0", "unknown option -C"},
	{"-b", NULL, "option -b needs a value"},
	{"-z", NULL, "option -z needs a value"},
	{"-b", "x", "option -b: invalid number 'x'"},
	{"now", "x", "option now: invalid number 'x'"},
	{"--jobs", "0", "--jobs 0: must be 1 to 1024"},
	{"--commit", "x", "--commit: \"x\" is not auto, journal, inside or file"},
	{"-E", "x", "-E x: unknown extended option 'x'"},
	{"-E", "offset=x", "-E offset=x: must be a number of bytes, or one with s K M G T"},
	{"-E", "discard=1", "-E discard takes no value"},
};

START_TEST(refused_option)
{
	struct xw_check *const c = world.c;

	ck_assert_int_eq(xw_check_set(c, refused_options[_i].option, refused_options[_i].value),
			 XW_E_USAGE);
	ck_assert_str_eq(xw_check_error(c), refused_options[_i].says);
	ck_assert_int_eq(xw_check_set(c, "-f", NULL), 0);
	ck_assert_str_eq(xw_check_error(c), "");
}
END_TEST

START_TEST(contradictions)
{
	struct world *const w = &world;

	set(w, "-n", NULL);
	ck_assert_int_eq(xw_check_set(w->c, "-y", NULL), XW_E_USAGE);
	set(w, "-n", NULL);
	set(w, "-D", NULL); /* known to be one only when all are set */
	ck_assert_int_eq(xw_check_run(w->c, w->path), XW_E_USAGE);
	ck_assert_str_eq(xw_check_error(w->c), "options -n and -D are incompatible");
	ck_assert_int_eq(xw_check_result(w->c)->status, XW_CHECK_FAILED);
	xw_check_free(w->c);
	begin(w);
	set(w, "-c", NULL); /* nobody has said that something may be written */
	ck_assert_int_eq(xw_check_run(w->c, w->path), XW_E_USAGE);
	xw_check_free(w->c);
	begin(w);
	set(w, "-y", NULL);
	set(w, "-z", w->path);
	ck_assert_int_eq(xw_check_run(w->c, w->path), XW_E_USAGE);
	ck_assert_ptr_nonnull(strstr(xw_check_error(w->c), "is the image itself"));
	ck_assert_int_eq(links_of(w->path, 0), WRONG_LINKS);
}
END_TEST

START_TEST(no_image)
{
	struct world *const w = &world;

	ck_assert_int_eq(truncate(w->path, 0), 0);
	ck_assert_int_eq(truncate(w->path, SIZE), 0);
	ck_assert_int_eq(xw_check_run(w->c, w->path), XW_E_INPUT);
	ck_assert_ptr_nonnull(strstr(xw_check_error(w->c), w->path));
	ck_assert_int_eq(xw_check_result(w->c)->status & XW_CHECK_FAILED, XW_CHECK_FAILED);
	ck_assert_ptr_nonnull(strstr(xw_check_json(w->c), "\"error\":\""));
	ck_assert_int_eq(unlink(w->path), 0);
	ck_assert_int_lt(xw_check_run(w->c, w->path), 0);
	ck_assert_ptr_nonnull(strstr(xw_check_error(w->c), "No such file"));
	ck_assert_int_eq(xw_check_result(w->c)->status, XW_CHECK_FAILED);
}
END_TEST

/* Neither of the streams has anything, whatever is found, asked for, or fails. */
START_TEST(silent)
{
	static const char *const options[][3] = {
		{"-n", "-f", "fragcheck"},    {"-y", "-f", "fragcheck"}, {"-p", "-f", "discard"},
		{"-n", "-F", "journal_only"}, {"-y", "-D", "nodiscard"}, {"-y", "-c", "nodiscard"},
	};
	struct world *const w = &world;
	const int out = dup(1), err = dup(2);
	FILE *const file = tmpfile();

	fflush(NULL);
	ck_assert(out >= 0 && err >= 0 && file && dup2(fileno(file), 1) == 1 &&
		  dup2(fileno(file), 2) == 2);
	xw_check_free(w->c);
	for (size_t i = 0; i < XW_ARRAY_SIZE(options); i++) {
		begin(w);
		xw_check_set(w->c, options[i][0], NULL);
		xw_check_set(w->c, options[i][1], NULL);
		xw_check_set(w->c, "-E", options[i][2]);
		xw_check_run(w->c, w->path);
		xw_check_run(w->c, "/nonexistent");
		xw_check_free(w->c);
	}
	begin(w);
	fflush(NULL);
	dup2(out, 1);
	dup2(err, 2);
	close(out);
	close(err);
	ck_assert(!fseek(file, 0, SEEK_END));
	ck_assert_int_eq(ftell(file), 0);
	fclose(file);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("api_check");
	TCase *tc = tcase_create("check");

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, only_checked, 0, 2);
	unit_add_cases(tc, repaired, "-y", "-p");
	tcase_add_loop_test(tc, changes, 0, 2);
	tcase_add_test(tc, ended);
	tcase_add_test(tc, skipped);
	tcase_add_test(tc, at_an_offset);
	tcase_add_test(tc, canceled);
	tcase_add_test(tc, two_threads);
	unit_add_rows(tc, refused_option, refused_options, option);
	tcase_add_test(tc, contradictions);
	tcase_add_test(tc, no_image);
	tcase_add_test(tc, silent);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
