/* SPDX-License-Identifier: MIT */
/* Windows: no byte outside of them is read or changed, and where a partition table ends them. */
#include "config.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/endian.h"
#include "base/types.h"
#include "dev/dev.h"
#include "dev/partition.h"
#include "tmp.h"
#include "unit.h"

#define KIB UINT64_C(1024)
#define SIZE (64 * KIB)
#define FROM (16 * KIB)
#define TO (48 * KIB)
#define LEN (TO - FROM)
#define MARK 0x5A

static char dir[64], path[80];
static struct xw_diag diag;
static uint8_t image[SIZE], got[SIZE];

static void put_file(void)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ck_assert(fd >= 0 && write(fd, image, SIZE) == (ssize_t)SIZE);
	close(fd);
}

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(tmp_template(dir, sizeof(dir), "xw_t_window")));
	snprintf(path, sizeof(path), "%s/disk", dir);
	memset(&diag, 0, sizeof(diag));
	memset(image, MARK, SIZE);
	put_file();
}

static void teardown(void)
{
	unlink(path);
	rmdir(dir);
}

static struct xw_dev *open_disk(void)
{
	struct xw_dev *d = NULL;

	ck_assert_int_eq(xw_dev_open_file(path, 0, &diag, &d), 0);
	return d;
}

static struct xw_dev *open_window(uint64_t from, uint64_t to)
{
	struct xw_dev *d = open_disk();

	ck_assert_int_eq(xw_dev_open_window(d, from, to, &d), 0);
	return d;
}

/* ---- each operation at, across and behind the end ---- */

enum op { READ, READ_FRESH, WRITE, WRITE_TWO, ZERO, DISCARD, RESERVE, CHECK_END, OPS };

static int run(struct xw_dev *d, enum op op, uint64_t off, uint64_t len)
{
	static uint8_t buf[2 * SIZE];
	const size_t n = (size_t)XW_MIN(len, sizeof(buf));
	const struct iovec two[2] = {{buf, n / 2}, {buf, n - n / 2}};
	int rc;

	xw_diag_clear(&diag);
	memset(buf, 0, sizeof(buf));
	switch (op) {
	case READ:
		return xw_dev_pread(d, buf, (size_t)len, off);
	case READ_FRESH:
		return xw_dev_pread_fresh(d, buf, (size_t)len, off);
	case WRITE:
		return xw_dev_pwrite(d, buf, n, off);
	case WRITE_TWO:
		return xw_dev_pwritev(d, two, 2, off);
	case ZERO:
		return xw_dev_zero(d, off, len);
	case DISCARD:
		rc = xw_dev_discard(d, off, len);
		return rc == XW_ERR_UNSUPPORTED ? 0 : rc;
	case RESERVE:
		rc = xw_dev_reserve(d, off, len);
		return rc == XW_ERR_UNSUPPORTED ? 0 : rc;
	default:
		return xw_dev_check_end(d, off > UINT64_MAX - len ? UINT64_MAX : off + len);
	}
}

static const struct {
	uint64_t off, len;
	bool inside;
} ranges[] = {
	{0, LEN, true},
	{0, 1, true},
	{LEN - 1, 1, true},
	{LEN / 2, LEN / 2, true},
	{0, LEN + 1, false},
	{LEN - 1, 2, false},
	{LEN / 2, LEN / 2 + 1, false},
	{LEN, 1, false},
	{LEN + 1, 1, false},
	{SIZE, 4096, false},
	{1, UINT64_MAX, false},
	{UINT64_MAX, 1, false},
	{UINT64_MAX, UINT64_MAX, false},
	{UINT64_MAX - FROM, 1, false},
	{UINT64_MAX - FROM + 1, FROM, false},
	{UINT64_MAX - 4095, 4096, false},
};

/* The file has its size, and outside of [FROM, TO) every byte it had. */
static void check_outside(enum op op, size_t i)
{
	struct stat st;
	int fd = open(path, O_RDONLY);

	ck_assert(fd >= 0 && !fstat(fd, &st) && read(fd, got, SIZE) == (ssize_t)SIZE);
	close(fd);
	ck_assert_msg(st.st_size == (off_t)SIZE, "op %d, range %zu: %lld bytes", op, i,
		      (long long)st.st_size);
	for (size_t at = 0; at < SIZE; at++)
		ck_assert_msg((at >= FROM && at < TO) || got[at] == MARK,
			      "op %d, range %zu: byte %zu", op, i, at);
}

START_TEST(every_operation)
{
	struct xw_dev *d = open_window(FROM, TO);
	const enum op op = (enum op)_i;

	ck_assert(d->is_window && d->fixed && d->size == LEN);
	for (size_t i = 0; i < XW_ARRAY_SIZE(ranges); i++) {
		const int rc = run(d, op, ranges[i].off, ranges[i].len);
		const int wanted = ranges[i].inside                 ? 0
				   : op == READ || op == READ_FRESH ? XW_ERR_TRUNCATED
								    : XW_ERR_HOSTFULL;

		ck_assert_msg(rc == wanted, "range %zu: %d, %s", i, rc, diag.text);
		ck_assert_msg(!rc || strstr(diag.text, path), "range %zu: %s", i, diag.text);
		ck_assert_uint_eq(d->size, LEN);
		check_outside(op, i);
	}
	xw_dev_close(d);
}
END_TEST

/* A failed write changes nothing inside, either. */
START_TEST(all_or_nothing)
{
	struct xw_dev *d = open_window(FROM, TO);

	ck_assert_int_eq(run(d, WRITE, LEN - 100, 101), XW_ERR_HOSTFULL);
	ck_assert_int_eq(run(d, ZERO, 0, LEN + 1), XW_ERR_HOSTFULL);
	ck_assert_int_eq(xw_dev_pread(d, got, LEN, 0), 0);
	for (size_t i = 0; i < LEN; i++)
		ck_assert_uint_eq(got[i], MARK);
	xw_dev_close(d);
}
END_TEST

START_TEST(size_is_fixed)
{
	struct xw_dev *d = open_window(FROM, TO);
	struct xw_dev_stamp stamp;
	uint64_t start, end;

	ck_assert_int_eq(xw_dev_set_size(d, LEN), 0);
	ck_assert_int_eq(xw_dev_set_size(d, 0), 0);
	ck_assert_uint_eq(d->size, LEN);
	ck_assert_int_eq(xw_dev_set_size(d, LEN + 1), XW_ERR_HOSTFULL);
	ck_assert_int_eq(xw_dev_set_size(d, UINT64_MAX), XW_ERR_HOSTFULL);
	check_outside(OPS, 0);
	ck_assert(!xw_dev_stamp(d, &stamp) && stamp.size == LEN);
	ck_assert(xw_dev_data(d, 0, &start, &end) && start == 0 && end == LEN);
	ck_assert(!xw_dev_data(d, LEN, &start, &end));
	ck_assert(!xw_dev_data(d, UINT64_MAX, &start, &end));
	/* hints reach no farther, and do no harm */
	xw_dev_ahead(d, 0, UINT64_MAX);
	xw_dev_ahead(d, UINT64_MAX, UINT64_MAX);
	xw_dev_writeback(d, LEN, SIZE);
	ck_assert_int_eq(xw_dev_flush(d), 0);
	check_outside(OPS, 1);
	xw_dev_close(d);
}
END_TEST

/* A window of a window ends with the outer one, and does not grow through it. */
START_TEST(nested)
{
	struct xw_dev *d = open_window(FROM, TO);

	ck_assert_int_eq(xw_dev_open_offset(d, 4096, &d), 0);
	ck_assert_uint_eq(d->size, LEN - 4096);
	ck_assert_int_eq(run(d, WRITE, LEN - 4096 - 1, 1), 0);
	ck_assert_int_eq(run(d, WRITE, LEN - 4096, 1), XW_ERR_HOSTFULL);
	ck_assert_int_eq(xw_dev_set_size(d, LEN), XW_ERR_HOSTFULL);
	check_outside(WRITE, 0);
	xw_dev_close(d);
	/* nothing is behind the end of a disk */
	d = open_window(SIZE + 1, SIZE + 2);
	ck_assert_uint_eq(d->size, 0);
	ck_assert_int_eq(run(d, READ, 0, 1), XW_ERR_TRUNCATED);
	xw_dev_close(d);
	d = open_window(TO, FROM);
	ck_assert_uint_eq(d->size, 0);
	ck_assert_int_eq(run(d, WRITE, 0, 1), XW_ERR_HOSTFULL);
	check_outside(WRITE, 1);
	xw_dev_close(d);
}
END_TEST

/* Without a partition table the window of a file grows with it. */
START_TEST(plain_file)
{
	struct xw_dev *d = open_disk();

	ck_assert_int_eq(xw_dev_open_offset(d, FROM, &d), 0);
	ck_assert(d->is_window && !d->fixed && d->size == SIZE - FROM);
	ck_assert_int_eq(run(d, WRITE, SIZE - FROM, 100), 0);
	ck_assert_uint_eq(d->size, SIZE - FROM + 100);
	ck_assert_int_eq(xw_dev_set_size(d, SIZE), 0);
	ck_assert_uint_eq(d->size, SIZE);
	ck_assert_int_eq(run(d, WRITE, UINT64_MAX - FROM, 100), XW_ERR_LIMIT);
	ck_assert_int_eq(run(d, ZERO, UINT64_MAX - 10, 100), XW_ERR_LIMIT);
	ck_assert_int_eq(run(d, READ, UINT64_MAX - 10, 100), XW_ERR_TRUNCATED);
	xw_dev_close(d);
}
END_TEST

/* ---- the end that a partition table gives ---- */

static void put_entry(unsigned i, uint8_t type, uint32_t start, uint32_t sectors)
{
	uint8_t *p = image + 446 + 16 * i;

	p[4] = type;
	poke32(p + 8, start);
	poke32(p + 12, sectors);
	image[510] = 0x55;
	image[511] = 0xAA;
}

START_TEST(file_with_a_table)
{
	static const struct {
		uint64_t off, end;
	} cases[] = {{FROM, TO},       {FROM + 512, TO}, {8 * KIB, FROM}, {TO, 56 * KIB},
		     {60 * KIB, SIZE}, {56 * KIB, SIZE}, {SIZE, SIZE}};
	struct xw_dev *d;

	memset(image, 0, 512);
	put_entry(0, 0x83, FROM / 512, LEN / 512);
	put_entry(1, 0x83, 56 * 2, 1000); /* ends behind the file */
	put_file();
	for (size_t i = 0; i < XW_ARRAY_SIZE(cases); i++) {
		d = open_disk();
		ck_assert_int_eq(xw_dev_open_offset(d, cases[i].off, &d), 0);
		ck_assert(d->fixed);
		ck_assert_msg(d->size == cases[i].end - cases[i].off, "case %zu: %llu", i,
			      (unsigned long long)d->size);
		ck_assert_int_eq(run(d, WRITE, d->size, 1), XW_ERR_HOSTFULL);
		ck_assert_int_eq(xw_dev_set_size(d, d->size + 1), XW_ERR_HOSTFULL);
		xw_dev_close(d);
	}
	/* the table is found through direct I/O, too */
	if (!xw_dev_open_file(path, XW_DEV_DIRECT, &diag, &d)) {
		ck_assert_int_eq(xw_dev_open_direct(d, d->align, &d), 0);
		ck_assert_int_eq(xw_dev_open_offset(d, FROM, &d), 0);
		ck_assert_uint_eq(d->size, LEN);
		xw_dev_close(d);
	}
}
END_TEST

/* Where partitions are unknown, what is there can be read up to the end, and not changed. */
static void check_unknown(const struct xw_dev_ops *ops, int why)
{
	struct xw_dev *d, *w;

	for (int rdonly = 0; rdonly < 2; rdonly++) {
		ck_assert_int_eq(xw_dev_open_file(path, rdonly ? XW_DEV_RDONLY : 0, &diag, &d), 0);
		d->ops = ops ? ops : d->ops;
		ck_assert_int_eq(xw_dev_open_offset(d, FROM, &w), rdonly ? 0 : why);
		if (rdonly)
			ck_assert(w->fixed && w->size == SIZE - FROM);
		xw_dev_close(rdonly ? w : d);
	}
}

/* A GPT that libblkid refuses has no partitions, and no byte outside of them. */
START_TEST(damaged_gpt)
{
	static const unsigned sectors[] = {512, 1024, 2048, 4096};
	struct xw_partitions t;
	int fd;

	memset(image, 0, SIZE);
	if (_i < (int)XW_ARRAY_SIZE(sectors))
		memcpy(image + sectors[_i], "EFI PART", 8);
	else
		put_entry(0, 0xEE, 1, SIZE / 512 - 1); /* only the protective MBR is left */
	put_file();
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(xw_partitions_read(fd, &t), 0);
	close(fd);
	ck_assert(t.damaged && !t.n && !strcmp(t.type, "gpt"));
	ck_assert_uint_eq(xw_partitions_end(&t, FROM, SIZE), FROM);
	xw_partitions_free(&t);
	check_unknown(NULL, XW_ERR_INPUT);
}
END_TEST

static int failing_partitions(struct xw_dev *d, struct xw_partitions *out)
{
	(void)d;
	*out = (struct xw_partitions){.n = 0};
	return XW_ERR_IO;
}

/* A table that cannot be read is not the same as no table. */
START_TEST(unreadable_table)
{
	struct xw_dev_ops ops;
	struct xw_partitions t;
	struct xw_dev *d;
	int fd;

	put_file();
	fd = open(path, O_WRONLY | O_CLOEXEC); /* read() fails */
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(xw_partitions_read(fd, &t), XW_ERR_IO);
	ck_assert(!t.n && !t.v && !*t.type);
	close(fd);
	d = open_disk();
	ops = *d->ops;
	xw_dev_close(d);
	ops.partitions = failing_partitions;
	check_unknown(&ops, XW_ERR_IO);
}
END_TEST

START_TEST(end_by_table)
{
	/* 1 and 2 overlap; 5 lies in the extended 3, 6 begins where 5 does and is shorter */
	struct xw_partition v[] = {
		{.start = 10, .size = 20, .number = 1},
		{.start = 25, .size = 15, .number = 2},
		{.start = 50, .size = 40, .number = 3, .container = true},
		{.start = 55, .size = 10, .number = 5},
		{.start = 55, .size = 5, .number = 6},
		{.start = 80, .size = 100, .number = 7},
	};
	struct xw_partitions t = {
		.type = "dos", .n = XW_ARRAY_SIZE(v), .v = v, .first = 1, .last_end = UINT64_MAX};
	static const struct {
		uint64_t start, end;
	} cases[] = {{0, 0},    {5, 10},    {10, 30},         {12, 30},  {25, 40},  {27, 30},
		     {35, 40},  {40, 50},   {50, 50},         {52, 52},  {55, 60},  {57, 60},
		     {62, 65},  {65, 65},   {70, 70},         {80, 100}, {95, 100}, {100, 100},
		     {99, 100}, {200, 100}, {UINT64_MAX, 100}};

	for (size_t i = 0; i < XW_ARRAY_SIZE(cases); i++)
		ck_assert_msg(xw_partitions_end(&t, cases[i].start, 100) == cases[i].end,
			      "case %zu: %llu", i,
			      (unsigned long long)xw_partitions_end(&t, cases[i].start, 100));
	/* an extended partition has boot records between its logical ones, a GPT its two tables */
	t.n = 3;
	ck_assert_uint_eq(xw_partitions_end(&t, 60, 100), 60);
	ck_assert_uint_eq(xw_partitions_end(&t, 92, 100), 100);
	t.first = 4;
	t.last_end = 95;
	ck_assert_uint_eq(xw_partitions_end(&t, 3, 100), 3);
	ck_assert_uint_eq(xw_partitions_end(&t, 4, 100), 10);
	ck_assert_uint_eq(xw_partitions_end(&t, 92, 100), 95);
	ck_assert_uint_eq(xw_partitions_end(&t, 95, 100), 95);
	t.n = 0;
	ck_assert_uint_eq(xw_partitions_end(&t, 92, 100), 95);
	ck_assert_uint_eq(xw_partitions_end(&t, 97, 100), 97);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("window");
	TCase *t = tcase_create("window");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, every_operation, 0, OPS);
	tcase_add_test(t, all_or_nothing);
	tcase_add_test(t, size_is_fixed);
	tcase_add_test(t, nested);
	tcase_add_test(t, plain_file);
	tcase_add_test(t, file_with_a_table);
	tcase_add_loop_test(t, damaged_gpt, 0, 5);
	tcase_add_test(t, unreadable_table);
	tcase_add_test(t, end_by_table);
	suite_add_tcase(s, t);
	return unit_main(s);
}
