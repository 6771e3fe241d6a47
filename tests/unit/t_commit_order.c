/* SPDX-License-Identifier: MIT */
/*
 * Commits through the journal in which one flush fails: whatever the commit does then, the
 * superblock is written only when the start of the log is on the medium.
 */
#include "config.h"

#include <sys/stat.h>

#include "commit/super.h"
#include "faultdev.h"
#include "journal/log.h"
#include "steps_world.h"

/* The same contents in memory, with nothing recorded yet. */
static struct faultdev *copy_of(struct xw_dev *dev)
{
	uint8_t *buf = malloc(dev->size);
	struct faultdev *f;

	ok(xw_dev_pread(dev, buf, dev->size, 0));
	f = faultdev_open_mem(dev->size, &diag);
	ok(xw_dev_pwrite(&f->dev, buf, dev->size, 0));
	free(buf);
	f->changes = f->writes = f->flushes = 0;
	f->record = true;
	return f;
}

static struct faultdev *open_recorded(void)
{
	struct faultdev *f;
	struct xw_dev *file;

	ok(xw_dev_open_file(path, XW_DEV_RDONLY, &diag, &file));
	f = copy_of(file);
	xw_dev_close(file);
	return f;
}

/* Byte offset of the log's superblock. */
static uint64_t find_log(struct xw_dev *dev)
{
	struct xw_image *img;
	struct xw_log *log;
	uint64_t off;

	ok(xw_image_open(dev, 0, &diag, &img));
	ok(xw_log_open_image(img, &log));
	ok(xw_log_where(log, 0, &off));
	xw_log_close(log);
	xw_image_close(img);
	return off;
}

/* A label, committed: what came of it, and what reached the device until then. */
static int change(struct faultdev *f, uint64_t *log, char seen[256])
{
	const struct xw_edit_opts o = {.how = XW_COMMIT_JOURNAL, .now = 1700000000};
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_super sb;
	struct xw_edit *e;
	int rc;

	ok(xw_edit_begin_dev(&f->dev, NULL, &o, &diag, &e));
	*log = find_log(xw_edit_dev(e));
	ok(xw_dev_pread(xw_edit_dev(e), buf, sizeof(buf), XW_SUPER_OFFSET));
	ok(xw_super_decode(buf, &sb));
	memcpy(sb.volume_name, "changed", 8);
	xw_super_encode(&sb, buf);
	ok(xw_dev_pwrite(xw_edit_dev(e), buf, sizeof(buf), XW_SUPER_OFFSET));
	rc = xw_edit_commit(e, NULL);
	xw_diag_clear(&diag);
	for (size_t i = 0; i < f->events.n && strlen(seen) < 250; i++) {
		const struct fault_event *v = &f->events.v[i];
		const char c = v->kind == FAULT_FLUSH                   ? 'S'
			       : v->kind != FAULT_WRITE                 ? 'Z'
			       : v->off == XW_SUPER_OFFSET              ? 'P'
			       : v->off >= *log && v->off < *log + 1024 ? 'L'
									: 'W';

		seen[strlen(seen)] = c;
	}
	xw_edit_end(e);
	return rc;
}

START_TEST(one_flush_fails)
{
	uint64_t flushes = 1, log, failed = 0;

	make(1);
	for (uint64_t k = 0; k <= flushes; k++) {
		struct faultdev *f = open_recorded();
		char seen[257] = "";
		bool start_unflushed = false;
		int rc;

		f->fail_flush = k;
		rc = change(f, &log, seen);
		if (!k) {
			ck_assert_int_eq(rc, 0);
			for (const char *c = seen; *c; c++)
				flushes += *c == 'S';
			ck_assert_uint_gt(flushes, 5);
		}
		failed += rc != 0;
		for (const char *c = seen; *c; c++) {
			start_unflushed |= *c == 'L';
			start_unflushed &= *c != 'S';
			if (*c == 'P' && start_unflushed)
				ck_abort_msg("flush %d fails: %s", (int)k, seen);
		}
	}
	ck_assert_uint_ge(failed, 4);
}
END_TEST

#define COPY (UINT64_C(8193) * 1024)

/* What these commits change: the label, and the first copy of the superblock. */
#define COPY (UINT64_C(8193) * 1024)

/* Each event as one letter; repeated ones as one. T: blocks of the log behind its superblock. */
static void order_of(const struct faultdev *f, uint64_t log, char seen[256])
{
	size_t n = 0;

	for (size_t i = 0; i < f->events.n; i++) {
		const struct fault_event *v = &f->events.v[i];
		const char c = v->kind == FAULT_FLUSH                 ? 'S'
			       : v->kind != FAULT_WRITE               ? 'Z'
			       : v->off == XW_SUPER_OFFSET            ? 'P'
			       : v->off == COPY                       ? 'W'
			       : v->off >= log && v->off < log + 1024 ? 'L'
			       : v->off > log                         ? 'T'
								      : '?';

		ck_assert_uint_lt(n, 250);
		if (!n || seen[n - 1] != c)
			seen[n++] = c;
	}
	seen[n] = 0;
}

/*
 * Commit both, cut at change `cut`, or with a read of the commit that fails; 0: none. What has
 * reached the device then is *after.
 */
static int commit_two(uint64_t cut, uint64_t bad_read, char seen[256], struct faultdev **after,
		      uint64_t *log)
{
	const struct xw_edit_opts o = {.how = XW_COMMIT_JOURNAL, .now = 1700000000};
	struct faultdev *f = open_recorded();
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_commit_info info;
	struct xw_super sb;
	struct xw_edit *e;
	int rc;

	memset(&info, 1, sizeof(info));
	f->fail_change = cut;
	f->mode = FAULT_CUT;
	ok(xw_edit_begin_dev(&f->dev, NULL, &o, &diag, &e));
	*log = find_log(xw_edit_dev(e));
	ok(xw_dev_pread(xw_edit_dev(e), buf, sizeof(buf), XW_SUPER_OFFSET));
	ok(xw_super_decode(buf, &sb));
	memcpy(sb.volume_name, "changed", 8);
	xw_super_encode(&sb, buf);
	ok(xw_dev_pwrite(xw_edit_dev(e), buf, sizeof(buf), XW_SUPER_OFFSET));
	ok(xw_dev_pwrite(xw_edit_dev(e), buf, sizeof(buf), COPY));
	f->fail_read = bad_read ? f->reads + bad_read : 0;
	rc = xw_edit_commit(e, &info);
	if (f->fail_read > f->reads)
		rc = 1; /* there are fewer */
	f->fail_read = 0;
	order_of(f, *log, seen);
	if (!seen[0] || !rc)
		ck_assert(!info.undecided);
	xw_diag_clear(&diag);
	*after = copy_of(f->under);
	xw_edit_end(e);
	return rc;
}

/* RECOVER, the transaction, the commit point, blocks in place, the log is empty, no RECOVER. */
START_TEST(order_of_a_commit)
{
	struct faultdev *after;
	char seen[256];
	uint64_t log;

	make(1);
	ok(commit_two(0, 0, seen, &after, &log));
	ck_assert_str_eq(seen, "PSTSLSPWSLSPS");
	xw_dev_close(&after->dev);
}
END_TEST

static bool has_label(struct xw_dev *dev, uint64_t off)
{
	uint8_t buf[XW_SUPER_SIZE];
	struct xw_super sb;

	ok(xw_dev_pread(dev, buf, sizeof(buf), off));
	ok(xw_super_decode(buf, &sb));
	return !strcmp((const char *)sb.volume_name, "changed");
}

/* Each read of a commit fails once: the commit is complete, or there was none. */
START_TEST(one_read_fails)
{
	const struct xw_edit_opts o = {.now = 1700000000};
	unsigned failed = 0, done = 0;
	struct faultdev *f;
	char seen[256];
	uint64_t log;
	int rc;

	make(1);
	for (uint64_t k = 1; (rc = commit_two(0, k, seen, &f, &log)) <= 0; k++) {
		struct xw_edit *e;
		bool changed;

		ok(xw_edit_begin_dev(&f->dev, NULL, &o, &diag, &e));
		changed = has_label(&f->dev, XW_SUPER_OFFSET);
		if (changed != has_label(&f->dev, COPY))
			ck_abort_msg("read %u: %d, half a change", (unsigned)k, rc);
		if (!rc)
			ck_assert(changed);
		failed += rc != 0;
		done += changed;
		xw_edit_end(e);
	}
	xw_dev_close(&f->dev);
	ck_assert_uint_gt(failed, 3);
	ck_assert_uint_gt(done, 0);
}
END_TEST

/*
 * Overwrite the log, which is in one piece, and the number of KiB written: a block that could not
 * be compared is logged and counted, too.
 */
static void clear_log(struct xw_dev *dev, uint8_t *image)
{
	const uint64_t log = find_log(dev);
	struct xw_super sb;
	struct xw_jsb jsb;

	ok(xw_super_decode(image + XW_SUPER_OFFSET, &sb));
	sb.kbytes_written = 0;
	xw_super_encode(&sb, image + XW_SUPER_OFFSET);
	ok(xw_jsb_decode(image + log, &jsb));
	ck_assert_uint_gt(jsb.maxlen, 100);
	memset(image + log, 0, (size_t)jsb.maxlen * jsb.blocksize);
}

/* A directory with an inode of its own, made and committed, with a read that fails; 0: none. */
static int make_directory(uint64_t bad_read, uint8_t *after)
{
	static const struct xw_update_new new = {.mode = XW_S_IFDIR | 0755, .parent = XW_INO_ROOT};
	const struct xw_edit_opts o = {.how = XW_COMMIT_JOURNAL, .now = 1700000000};
	struct faultdev *f = open_recorded();
	struct xw_update *u = NULL;
	struct xw_steps s;
	struct xw_edit *e;
	xw_ino ino;
	int rc;

	ok(xw_edit_begin_dev(&f->dev, NULL, &o, &diag, &e));
	xw_steps_init(&s, xw_edit_dev(e), &diag);
	s.now = o.now;
	f->fail_read = bad_read ? f->reads + bad_read : 0;
	rc = xw_step_begin(&s, &u);
	if (!rc)
		rc = xw_update_create(u, &new, &ino);
	if (!rc)
		rc = xw_update_link(u, XW_INO_ROOT, "d", 1, ino, XW_FT_DIR);
	if (!rc)
		rc = xw_update_add_links(u, XW_INO_ROOT, 1);
	if (!rc)
		rc = xw_step_keep(&s);
	xw_step_drop(&s);
	if (!rc)
		rc = xw_edit_commit(e, NULL);
	if (f->fail_read > f->reads)
		rc = 1; /* there are fewer */
	xw_diag_clear(&diag);
	ok(xw_dev_pread(f->under, after, f->under->size, 0));
	if (!rc)
		clear_log(f->under, after);
	xw_edit_end(e);
	return rc;
}

/* Each read of a change fails once: who says that the change was made has made all of it. */
START_TEST(one_read_of_a_change_fails)
{
	uint8_t *want, *got;
	unsigned failed = 0;
	struct stat st;
	int rc;

	make(1);
	ck_assert_int_eq(stat(path, &st), 0);
	want = malloc((size_t)st.st_size);
	got = malloc((size_t)st.st_size);
	ok(make_directory(0, want));
	for (uint64_t k = 1; (rc = make_directory(k, got)) <= 0; k += unit_stride()) {
		if (!rc && memcmp(got, want, (size_t)st.st_size))
			ck_abort_msg("read %u: half a change, and no failure", (unsigned)k);
		failed += rc != 0;
	}
	free(want);
	free(got);
	ck_assert_uint_gt(failed, 0);
}
END_TEST

/* Cut at every change: what a recovery writes then, and that it leaves nothing for a commit. */
START_TEST(order_of_a_recovery)
{
	const struct xw_edit_opts o = {.now = 1700000000};
	uint64_t cut = 1, log;
	struct faultdev *f;
	char seen[256];
	char all[512] = "";

	make(1);
	for (; commit_two(cut, 0, seen, &f, &log); cut++) {
		struct xw_edit *e;
		uint64_t *blocks;
		size_t n;

		ok(xw_edit_begin_dev(&f->dev, NULL, &o, &diag, &e));
		ok(xw_overlay_dirty(xw_edit_dev(e), &blocks, &n));
		free(blocks);
		ck_assert_uint_eq(n, 0);
		order_of(f, log, seen);
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%u:%s ",
			 (unsigned)xw_edit_recovered(e)->journal.blocks, seen);
		xw_edit_end(e);
	}
	xw_dev_close(&f->dev);
	/* by blocks replayed: nothing, RECOVER over an empty log, a log, the same emptied */
	ck_assert_str_eq(all, "0: 0:PS 0:PS 2:WSPSLSPS 2:WSPSLSPS 2:WSPSLSPS 0:PS ");
}
END_TEST

/* The log is pending, and the bit in the superblock did not arrive together with its checksum. */
START_TEST(order_with_a_torn_bit)
{
	const struct xw_edit_opts o = {.now = 1700000000};
	uint8_t super[XW_SUPER_SIZE], sum[4];
	struct faultdev *f;
	char seen[256];
	uint64_t log;
	struct xw_edit *e;

	make(1);
	ck_assert_int_ne(commit_two(5, 0, seen, &f, &log), 0);
	ok(xw_dev_pread(&f->dev, super, sizeof(super), XW_SUPER_OFFSET));
	memcpy(sum, super + XW_SUPER_SIZE - 4, 4);
	xw_super_bytes_incompat(super, 0, XW_INCOMPAT_RECOVER);
	memcpy(super + XW_SUPER_SIZE - 4, sum, 4);
	ok(xw_dev_pwrite(f->under, super, sizeof(super), XW_SUPER_OFFSET));
	ok(xw_edit_begin_dev(&f->dev, NULL, &o, &diag, &e));
	ck_assert(xw_edit_recovered(e)->super_fixed);
	ck_assert_uint_eq(xw_edit_recovered(e)->journal.blocks, 2);
	order_of(f, log, seen);
	ck_assert_str_eq(seen, "PSWSPSLSPS");
	xw_edit_end(e);
}
END_TEST

/*
 * The log has recorded an error: with transactions, and empty. The superblock then says that there
 * are errors, and the log does not any more.
 */
START_TEST(error_in_the_log)
{
	const struct xw_edit_opts o = {.now = 1700000000};
	uint8_t super[XW_SUPER_SIZE], block[1024];
	struct faultdev *f, *after;
	struct xw_super sb;
	struct xw_edit *e;
	struct xw_jsb jsb;
	char seen[256];
	uint64_t log;

	make(1);
	/* as order_of_a_recovery lists them: RECOVER alone at 2, transactions at 5 */
	ck_assert_int_ne(commit_two(_i ? 2 : 5, 0, seen, &f, &log), 0);
	ok(xw_dev_pread(&f->dev, block, sizeof(block), log));
	ok(xw_jsb_decode(block, &jsb));
	ck_assert_int_eq(jsb.start != 0, !_i);
	jsb.err = 5;
	xw_jsb_encode(&jsb, block);
	ok(xw_dev_pwrite(f->under, block, sizeof(block), log));
	ok(xw_edit_begin_dev(&f->dev, NULL, &o, &diag, &e));
	ck_assert_int_eq(xw_edit_recovered(e)->journal.err, 5);
	ck_assert_uint_eq(xw_edit_recovered(e)->journal.blocks, _i ? 0 : 2);
	after = copy_of(f->under);
	xw_edit_end(e);
	ok(xw_dev_pread(&after->dev, super, sizeof(super), XW_SUPER_OFFSET));
	ok(xw_super_decode(super, &sb));
	ck_assert_uint_eq(sb.state & XW_STATE_ERROR, XW_STATE_ERROR);
	ck_assert(!(sb.feature_incompat & XW_INCOMPAT_RECOVER));
	ok(xw_dev_pread(&after->dev, block, sizeof(block), log));
	ok(xw_jsb_decode(block, &jsb));
	ck_assert_uint_eq(jsb.err, 0);
	ck_assert_uint_eq(jsb.start, 0);
	xw_dev_close(&after->dev);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("commit_order");
	TCase *t = tcase_create("commit_order");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, one_flush_fails);
	tcase_add_test(t, order_of_a_commit);
	tcase_add_test(t, one_read_fails);
	tcase_add_test(t, one_read_of_a_change_fails);
	tcase_add_test(t, order_of_a_recovery);
	tcase_add_test(t, order_with_a_torn_bit);
	tcase_add_loop_test(t, error_in_the_log, 0, 2);
	suite_add_tcase(s, t);
	return unit_main(s);
}
