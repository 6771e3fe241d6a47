/* SPDX-License-Identifier: MIT */
/* One cpio archive: headers of every format, links, checksums, and what is refused. */
#include "config.h"

#include <stdarg.h>

#include "disk/inode.h"
#include "import/cpio_hdr.h"
#include "import/cpio_part.h"
#include "memfeed.h"
#include "unit.h"

struct bytes {
	unsigned char p[8192];
	size_t n;
};

static void add(struct bytes *b, const void *p, size_t n)
{
	ck_assert_uint_le(b->n + n, sizeof(b->p));
	memcpy(b->p + b->n, p, n);
	b->n += n;
}

__attribute__((format(printf, 2, 3))) static void print(struct bytes *b, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	add(b, text, (size_t)vsnprintf(text, sizeof(text), fmt, ap));
	va_end(ap);
}

static void align(struct bytes *b, size_t to)
{
	while (b->n % to)
		add(b, "", 1);
}

struct made {
	unsigned ino, mode, links, rdev; /* rdev: for the formats with one number */
	const char *name, *data;
	unsigned sum; /* added to the right one */
};

static void add_new(struct bytes *b, const struct made *m, const char *magic)
{
	const size_t n = strlen(m->data);
	unsigned sum = m->sum;

	for (size_t i = 0; i < n; i++)
		sum += (unsigned char)m->data[i];
	print(b, "%s%08x%08X%08x%08x%08x%08x%08zx%08x%08x%08x%08x%08zx%08x", magic, m->ino, m->mode,
	      70000u, 5u, m->links, 1600000000u, n, 3u, 9u, m->rdev >> 8, m->rdev & 0xFF,
	      strlen(m->name) + 1, sum);
	add(b, m->name, strlen(m->name) + 1);
	align(b, 4);
	add(b, m->data, n);
	align(b, 4);
}

static void add_newc(struct bytes *b, const struct made *m)
{
	add_new(b, m, "070701");
}

static void add_crc(struct bytes *b, const struct made *m)
{
	add_new(b, m, "070702");
}

static void add_odc(struct bytes *b, const struct made *m)
{
	print(b, "070707%06o%06o%06o%06o%06o%06o%06o%011o%06zo%011zo", 9u, m->ino, m->mode, 70000u,
	      5u, m->links, m->rdev, 1600000000u, strlen(m->name) + 1, strlen(m->data));
	add(b, m->name, strlen(m->name) + 1);
	add(b, m->data, strlen(m->data));
}

static void add_afio(struct bytes *b, const struct made *m)
{
	print(b, "070727%08x%016xm%06o%08x%08x%08x%08x%016xn%04zx%04x%04xs%016zx:", 9u, m->ino,
	      m->mode, 70000u, 5u, m->links, m->rdev, 1600000000u, strlen(m->name) + 1, 0u, 0u,
	      strlen(m->data));
	add(b, m->name, strlen(m->name) + 1);
	add(b, m->data, strlen(m->data));
}

static void add_binary(struct bytes *b, const struct made *m, bool little)
{
	const unsigned words[] = {070707,
				  9,
				  m->ino,
				  m->mode,
				  70000 & 0xFFFF,
				  5,
				  m->links,
				  m->rdev,
				  1600000000u >> 16,
				  1600000000u & 0xFFFF,
				  (unsigned)strlen(m->name) + 1,
				  0,
				  (unsigned)strlen(m->data)};

	for (size_t i = 0; i < XW_ARRAY_SIZE(words); i++) {
		const unsigned char w[] = {(unsigned char)words[i], (unsigned char)(words[i] >> 8)};

		add(b, little ? &w[0] : &w[1], 1);
		add(b, little ? &w[1] : &w[0], 1);
	}
	add(b, m->name, strlen(m->name) + 1);
	align(b, 2);
	add(b, m->data, strlen(m->data));
	align(b, 2);
}

static void add_little(struct bytes *b, const struct made *m)
{
	add_binary(b, m, true);
}

static void add_big(struct bytes *b, const struct made *m)
{
	add_binary(b, m, false);
}

static const struct {
	const char *name;
	void (*add)(struct bytes *b, const struct made *m);
	unsigned uid;
} formats[] = {
	{"newc", add_newc, 70000},    {"crc", add_crc, 70000},
	{"odc", add_odc, 70000},      {"afio", add_afio, 70000},
	{"binary", add_little, 4464}, {"binary, big-endian", add_big, 4464},
};

#define TRAILER                                                                                    \
	{                                                                                          \
		0, 0, 1, 0, "TRAILER!!!", "", 0                                                    \
	}
static const struct made trailer = TRAILER;

static struct xw_source *open_part(const struct bytes *b, struct xw_diag *diag)
{
	const struct xw_archive_params p = {.name = "a.cpio", .diag = diag};
	struct xw_source *s = NULL;

	ck_assert_int_eq(xw_cpio_part_open(xw_input_new(mem_feed(b->p, b->n, 7), false), &p, &s),
			 0);
	return s;
}

/* The entries as text: type, name, target and contents. Returns the last result of the source. */
static int list(struct xw_source *s, char *out, size_t size)
{
	static const char letters[] = "-dlcbpsh";
	const struct xw_entry *e;
	int rc;

	*out = '\0';
	while ((rc = xw_source_next(s, &e)) > 0) {
		const void *p;
		uint64_t off;
		size_t len;

		snprintf(out + strlen(out), size - strlen(out), "%c%.*s>%.*s=", letters[e->type],
			 (int)e->path.len, e->path.p, (int)e->link.len,
			 e->link.len ? e->link.p : "");
		while ((rc = xw_source_read(s, &p, &len, &off)) > 0)
			snprintf(out + strlen(out), size - strlen(out), "%.*s", (int)len,
				 (const char *)p);
		if (rc)
			break;
		snprintf(out + strlen(out), size - strlen(out), ";");
	}
	return rc;
}

START_TEST(members)
{
	static const struct made made[] = {
		{1, 040755, 2, 0, "d", "", 0},
		{2, 0104751, 3, 0, "d/a", "", 0},
		{2, 0104751, 3, 0, "d/b", "", 0},
		{3, 0120777, 1, 0, "link", "d/a", 0},
		{2, 0104751, 3, 0, "c", "contents", 0},
		{2, 0100644, 2, 0, "again", "x", 0}, /* all names of inode 2 have come */
		{2, 0100644, 2, 0, "again2", "", 0},
		{5, 0020600, 1, 0x405, "dev", "", 0},
		{6, 0100600, 9, 0, "others are elsewhere", "12", 0},
		{6, 0010600, 9, 0, "same number, other type", "", 0},
		TRAILER,
	};
	const struct xw_entry *e;
	struct xw_diag diag = {0};
	struct bytes b = {.n = 0};
	struct xw_source *s;
	char text[1024];

	for (size_t i = 0; i < XW_ARRAY_SIZE(made); i++)
		formats[_i].add(&b, &made[i]);
	add(&b, "behind", 6);
	s = open_part(&b, &diag);
	ck_assert_int_eq(list(s, text, sizeof(text)), 0);
	ck_assert_str_eq(text, "dd>=;-d/a>=;hd/b>d/a=;llink>d/a=;hc>d/a=contents;-again>=x;"
			       "hagain2>again=;cdev>=;-others are elsewhere>=12;"
			       "psame number, other type>=;");
	ck_assert_int_eq(xw_source_next(s, &e), 0);
	{
		struct xw_feed *rest;
		char tail[10];

		ck_assert_int_eq(xw_cpio_part_release(s, &rest), 0);
		ck_assert_int_eq(xw_feed_read(rest, tail, 3), 3);
		ck_assert_mem_eq(tail, "beh", 3);
		xw_feed_close(rest);
	}
	s = open_part(&b, &diag);
	for (size_t i = 0; i < 2; i++)
		ck_assert_int_eq(xw_source_next(s, &e), 1);
	ck_assert_uint_eq(e->mode, 04751);
	ck_assert_uint_eq(e->uid, formats[_i].uid);
	ck_assert_uint_eq(e->gid, 5);
	ck_assert_int_eq(e->mtime.sec, 1600000000);
	for (size_t i = 0; i < 6; i++)
		ck_assert_int_eq(xw_source_next(s, &e), 1);
	ck_assert_uint_eq(e->dev_major, 4);
	ck_assert_uint_eq(e->dev_minor, 5);
	xw_source_close(s);
}
END_TEST

/* Every proper beginning of an archive is refused, also if the contents are not read. */
START_TEST(cut)
{
	static const struct made made[] = {{2, 0100644, 1, 0, "file", "some contents", 0},
					   {3, 0120777, 1, 0, "link", "target", 0}};
	struct bytes all = {.n = 0};
	char text[1024];

	for (size_t i = 0; i < XW_ARRAY_SIZE(made); i++)
		formats[_i].add(&all, &made[i]);
	formats[_i].add(&all, &trailer);
	for (size_t n = 0; n < all.n; n++) {
		struct bytes b = all;
		struct xw_diag diag = {0};
		const struct xw_entry *e;
		struct xw_source *s;
		int rc;

		b.n = n;
		s = open_part(&b, &diag);
		ck_assert_int_eq(list(s, text, sizeof(text)), XW_ERR_TRUNCATED);
		ck_assert_int_eq(xw_source_next(s, &e), XW_ERR_TRUNCATED);
		ck_assert_msg(strstr(diag.text, "a.cpio: "), "%s", diag.text);
		xw_source_close(s);
		s = open_part(&b, &diag);
		do
			rc = xw_source_next(s, &e);
		while (rc > 0);
		ck_assert_int_eq(rc, XW_ERR_TRUNCATED);
		xw_source_close(s);
	}
}
END_TEST

static const struct {
	const char *what;
	size_t at; /* of a byte of the first header that is replaced */
	char byte;
	int code;
	const char *text;
} damages[] = {
	{"magic", 3, 'x', XW_ERR_INPUT, "byte 0: not a cpio header"},
	{"digit", 60, 'g', XW_ERR_INPUT, "byte 0: a number in a cpio header is malformed"},
	{"NUL digit", 10, 0, XW_ERR_INPUT, "byte 0: a number in a cpio header is malformed"},
	{"type", 18, '7', XW_ERR_INPUT, "member 'f' at byte 0: unknown file type"},
	{"empty name", 110, 0, XW_ERR_INPUT, "a member's name is empty"},
	{"no name", 101, '0', XW_ERR_INPUT, "a member's name is empty"},
	{"long name", 94, '1', XW_ERR_INPUT, "a member's name is too long"},
	{"sum", 109, '0', XW_ERR_CHECKSUM, "member 'f' at byte 0: its contents do not match"},
	{"contents", 112, 'c', XW_ERR_CHECKSUM, "member 'f' at byte 0: its contents do not match"},
};

START_TEST(damage)
{
	static const struct made made = {2, 0100644, 1, 0, "f", "bytes", 0};
	struct xw_diag diag = {0};
	struct bytes b = {.n = 0};
	struct xw_source *s;
	char text[1024];

	add_crc(&b, &made);
	add_crc(&b, &trailer);
	ck_assert_int_ne(b.p[damages[_i].at], damages[_i].byte);
	b.p[damages[_i].at] = (unsigned char)damages[_i].byte;
	s = open_part(&b, &diag);
	ck_assert_int_eq(list(s, text, sizeof(text)), damages[_i].code);
	ck_assert_msg(strstr(diag.text, damages[_i].text), "%s", diag.text);
	xw_source_close(s);
}
END_TEST

/* A checksum that differs is not an error of names without contents, nor of what is skipped. */
START_TEST(unread)
{
	static const struct made made[] = {{2, 0100644, 2, 0, "a", "", 1},
					   {2, 0100644, 2, 0, "b", "contents", 0},
					   {3, 0120777, 1, 0, "s", "a", 1}};
	struct xw_diag diag = {0};
	struct bytes b = {.n = 0};
	struct xw_source *s;
	char text[1024];

	for (size_t i = 0; i < XW_ARRAY_SIZE(made); i++)
		add_crc(&b, &made[i]);
	add_crc(&b, &trailer);
	s = open_part(&b, &diag);
	ck_assert_int_eq(list(s, text, sizeof(text)), 0);
	ck_assert_str_eq(text, "-a>=;hb>a=contents;ls>a=;");
	xw_source_close(s);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cpio");
	TCase *tc = tcase_create("cpio");

	tcase_set_timeout(tc, 60);
	unit_add_rows(tc, members, formats, name);
	unit_add_rows(tc, cut, formats, name);
	unit_add_rows(tc, damage, damages, what);
	tcase_add_test(tc, unread);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
