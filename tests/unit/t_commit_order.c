/* SPDX-License-Identifier: MIT */
/*
 * Commits through the journal in which one flush fails: whatever the commit does then, the
 * superblock is written only when the start of the log is on the medium.
 */
#include "config.h"

#include "faultdev.h"
#include "journal/log.h"
#include "steps_world.h"

static struct faultdev *open_recorded(void)
{
	struct faultdev *f;
	struct xw_dev *file;
	uint8_t *buf;

	ok(xw_dev_open_file(path, XW_DEV_RDONLY, &diag, &file));
	buf = malloc(file->size);
	ok(xw_dev_pread(file, buf, file->size, 0));
	f = faultdev_open_mem(file->size, &diag);
	ok(xw_dev_pwrite(&f->dev, buf, file->size, 0));
	free(buf);
	xw_dev_close(file);
	f->changes = f->writes = f->flushes = 0;
	f->record = true;
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

int main(void)
{
	Suite *s = suite_create("commit_order");
	TCase *t = tcase_create("commit_order");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, one_flush_fails);
	suite_add_tcase(s, t);
	return unit_main(s);
}
