/* SPDX-License-Identifier: MIT */
/*
 * gzip through the decompressing feed: libarchive does not check a member's CRC and length, we do.
 * Nothing sound may be refused, in any number of members; no damage to data may pass.
 */
#include "config.h"

#include <archive.h>
#include <archive_entry.h>

#include "base/hash.h"
#include "import/feed.h"
#include "tarmake.h"

#ifdef HAVE_ISAL
#define READS_PART 0
#else
#define READS_PART 1 /* of a header, to verify its checksum */
#endif

struct bytes {
	unsigned char *p;
	size_t n, cap;
	bool behind; /* what was decompressed had more than padding behind it */
};

static void add(struct bytes *b, const void *p, size_t n)
{
	if (b->n + n > b->cap) {
		b->cap = 2 * (b->n + n) + 64;
		b->p = realloc(b->p, b->cap);
	}
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
}

static la_ssize_t put(struct archive *a, void *arg, const void *buf, size_t n)
{
	(void)a;
	add(arg, buf, n);
	return (la_ssize_t)n;
}

/* One member behind what z has. */
static void member(struct bytes *z, const void *p, size_t n, const char *level)
{
	struct archive *a = archive_write_new();
	struct archive_entry *e = archive_entry_new();

	archive_write_add_filter_gzip(a);
	archive_write_set_format_raw(a);
	archive_write_set_filter_option(a, "gzip", "compression-level", level);
	archive_write_set_bytes_in_last_block(a, 1);
	ck_assert_int_eq(archive_write_open(a, z, NULL, put, NULL), ARCHIVE_OK);
	archive_entry_set_filetype(e, AE_IFREG);
	archive_write_header(a, e);
	ck_assert_int_eq(archive_write_data(a, p, n), (la_ssize_t)n);
	archive_write_close(a);
	archive_write_free(a);
	archive_entry_free(e);
}

/* Bytes that compress a little (kind 0) or not at all. */
static unsigned char *plain(size_t n, unsigned seed, int kind)
{
	unsigned char *p = malloc(n + 8);

	for (size_t i = 0; i < n; i += 8) {
		uint64_t h = xw_hash_fixed(&i, sizeof(i), seed);

		if (!kind)
			h &= 0x0f0f0f0f0f0f0f0f;
		memcpy(p + i, &h, 8);
	}
	return p;
}

/* The decompressed bytes; 0, or 1: it is not compressed, or the failure. */
static int gunzip(const struct bytes *z, size_t chunk, size_t room, struct bytes *out)
{
	struct xw_feed *lower = mem_feed(z->p, z->n, chunk), *f;
	unsigned char *buf = malloc(room);
	ssize_t n;
	int r = xw_feed_decompress(lower, &f);

	out->n = 0;
	if (r == 1) {
		while ((n = xw_feed_read(f, buf, room)) > 0)
			add(out, buf, (size_t)n);
		ck_assert(n == 0 || f->err[0]);
		r = (int)n;
		out->behind = f->trailing;
		lower = f;
	} else {
		ck_assert(r == 0 || lower->err[0]);
		r = r ? r : 1;
	}
	xw_feed_close(lower);
	free(buf);
	return r;
}

static void must_give(const struct bytes *z, const struct bytes *want, bool behind)
{
	static const size_t chunks[] = {0, 1, 7, 1000, 262144}, rooms[] = {262144, 1000, 65536};
	struct bytes out = {0};

	for (size_t i = 0; i < XW_ARRAY_SIZE(chunks); i++) {
		if (chunks[i] == 1 && z->n > 300000)
			continue;
		ck_assert_int_eq(gunzip(z, chunks[i], rooms[i % 3], &out), 0);
		ck_assert_uint_eq(out.n, want->n);
		ck_assert(!out.n || !memcmp(out.p, want->p, out.n));
		ck_assert_int_eq(out.behind, behind && out.n);
	}
	free(out.p);
}

static const struct {
	size_t sizes[8];
	size_t n;
	const char *level;
	int kind;
} files[] = {
	{{0}, 1, "6", 0},
	{{1}, 1, "6", 0},
	{{100000}, 1, "6", 0},
	{{0, 0, 0}, 3, "6", 0},
	{{5, 0, 7}, 3, "6", 0},
	{{100, 3000000, 1, 70000, 65536, 262144, 0}, 7, "1", 0},
	{{100, 3000000, 1, 70000, 65536, 262144, 0}, 7, "6", 1},
	{{1000000, 1000000}, 2, "9", 1},
};

START_TEST(sound)
{
	struct bytes z = {0}, want = {0};

	for (size_t i = 0; i < files[_i].n; i++) {
		unsigned char *p = plain(files[_i].sizes[i], (unsigned)i, files[_i].kind);

		member(&z, p, files[_i].sizes[i], files[_i].level);
		add(&want, p, files[_i].sizes[i]);
		free(p);
	}
	must_give(&z, &want, false);
	/* padding and garbage behind it is not data, as gzip(1) has it */
	for (size_t i = 0; i < 30; i++) {
		add(&z, i < 15 ? "\0" : "x", 1);
		if (i % 5 == 0)
			must_give(&z, &want, i >= 15);
	}
	/* more of both than is read at once */
	for (size_t i = 0; i < 2; i++) {
		unsigned char *p = calloc(1, 700000);

		p[699999] = (unsigned char)i;
		z.n -= i ? 700000 : 15; /* the garbage */
		add(&z, p, 700000);
		free(p);
		must_give(&z, &want, i);
	}
	free(z.p);
	free(want.p);
}
END_TEST

/* A member for every few bytes, as eStargz has them. */
START_TEST(many_members)
{
	struct bytes z = {0}, want = {0};
	unsigned char *p = plain(4000, 1, 0);

	for (size_t i = 0; i < 3000; i++) {
		member(&z, p, i % 40, "1");
		add(&want, p, i % 40);
	}
	must_give(&z, &want, false);
	free(p);
	free(z.p);
	free(want.p);
}
END_TEST

#define HEADER "\x1f\x8b\x08\0\0\0\0\0\0\x03"

/* gzip files inside, stored as they are: hundreds of headers that are none. */
START_TEST(nested)
{
	struct bytes z = {0}, in = {0};

	add(&in, "x", 1); /* or libarchive decompresses twice */
	for (unsigned i = 0; i < 300; i++) {
		unsigned char *p = plain(i * 10, i, 1);

		member(&in, p, i * 10, "6");
		free(p);
	}
	member(&z, in.p, in.n, "6");
	must_give(&z, &in, false);
	/* a stored block with what looks like a trailer and a header, at a likely distance */
	z.n = in.n = 0;
	add(&in, "\x12\x34\x56\x78\x08\0\0\0" HEADER, 18);
	for (unsigned i = 0; i < 200; i++)
		add(&in, "\x12\x34\x56\x78\x40\x01\0\0" HEADER, 18);
	member(&z, in.p, in.n, "0");
	member(&z, in.p, in.n, "0");
	add(&in, in.p, in.n);
	must_give(&z, &in, false);
	free(z.p);
	free(in.p);
}
END_TEST

/* Every byte changed, in a file of three members: what is not noticed has changed nothing. */
START_TEST(damaged)
{
	struct bytes z = {0}, want = {0}, out = {0};
	size_t noticed = 0;

	for (unsigned i = 0; i < 3; i++) {
		unsigned char *p = plain(700, i, 0);

		member(&z, p, 700, _i ? "6" : "0");
		add(&want, p, 700);
		free(p);
	}
	for (size_t i = 0; i < z.n; i++) {
		unsigned char old = z.p[i];
		int r;

		z.p[i] ^= (unsigned char)(1u << i % 8);
		r = gunzip(&z, 0, 65536, &out);
		ck_assert_msg(r == 0 || r == XW_ERR_INPUT || r == XW_ERR_TRUNCATED ||
				      (r == 1 && i < 4), /* not gzip any more */
			      "byte %zu: %d", i, r);
		/* a broken header of a later member makes the rest garbage behind the end */
		ck_assert_msg(r || (out.n % 700 == 0 && !memcmp(out.p, want.p, out.n)),
			      "byte %zu of %zu", i, z.n);
		noticed += r < 0;
		z.p[i] = old;
	}
	ck_assert_uint_gt(noticed, z.n - 100);
	for (size_t n = 20; n < z.n; n++) {
		struct bytes cut = {z.p, n, 0};
		int r = gunzip(&cut, 0, 65536, &out);

		ck_assert(r < 0 || out.n % 700 == 0);
	}
	free(z.p);
	free(want.p);
	free(out.p);
}
END_TEST

/* CRC-32 as gzip has it. */
static uint32_t crc_of(const unsigned char *p, size_t n)
{
	uint32_t crc = ~0u;

	for (size_t i = 0; i < n; i++) {
		crc ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

/* All that a header can have, with its checksum, shorter and longer than what is read at once. */
START_TEST(long_headers)
{
	enum { FHCRC = 2, FEXTRA = 4, FNAME = 8, FCOMMENT = 16 };
	static const size_t lengths[] = {0, 5, 65535};
	const size_t len = lengths[_i];
	unsigned char *p = plain(70000, 1, 0), *text = plain(65536, 2, 1);
	struct bytes z = {0}, one = {0}, want = {0}, out = {0};
	size_t end;

	add(&want, p, 70000);
	member(&one, p, 70000, "6");
	for (size_t i = 0; i < len; i++)
		text[i] |= 1; /* a name has no NUL */
	for (unsigned flags = 0; flags < 32; flags += 2) {
		z.n = 0;
		add(&z, one.p, 10);
		z.p[3] = (unsigned char)flags;
		if (flags & FEXTRA) {
			const unsigned char two[] = {len & 255, len >> 8};

			add(&z, two, 2);
			add(&z, text, len);
		}
		for (unsigned bit = FNAME; bit <= FCOMMENT; bit *= 2) {
			if (!(flags & bit))
				continue;
			add(&z, text, len);
			add(&z, "", 1);
		}
		end = z.n;
		if (flags & FHCRC) {
			const uint32_t crc = crc_of(z.p, z.n);
			const unsigned char two[] = {crc & 255, crc >> 8 & 255};

			add(&z, two, 2);
		}
		add(&z, one.p + 10, one.n - 10);
		must_give(&z, &want, false);
		if (flags & FHCRC && (!READS_PART || end < 65536)) {
			z.p[end + flags / 4 % 2] ^= (unsigned char)(1u << flags / 8);
			ck_assert_int_eq(gunzip(&z, 0, 65536, &out), XW_ERR_INPUT);
			ck_assert_int_eq(gunzip(&z, 1000, 65536, &out), XW_ERR_INPUT);
		}
	}
	free(out.p);
	free(p);
	free(text);
	free(z.p);
	free(one.p);
	free(want.p);
}
END_TEST

/* As gzip(1) has it: a member, not something behind the last one. */
START_TEST(cut_in_header)
{
	struct bytes z = {0}, out = {0};

	for (size_t n = 1; n < 10; n++) {
		z.n = 0;
		member(&z, "data", 4, "6");
		add(&z, HEADER, n);
		ck_assert_int_eq(gunzip(&z, 0, 65536, &out), XW_ERR_TRUNCATED);
		ck_assert_int_eq(gunzip(&z, 1, 1, &out), XW_ERR_TRUNCATED);
	}
	free(z.p);
	free(out.p);
}
END_TEST

#ifdef HAVE_ISAL
/* The header of a later member, and a method that does not exist. */
START_TEST(later_header)
{
	struct bytes z = {0}, one = {0}, out = {0};

	member(&one, "data", 4, "6");
	for (int i = 0; i < 3; i++) {
		const unsigned flags = i == 2 ? 0x20 : 2;
		uint32_t crc;

		z.n = 0;
		add(&z, one.p, one.n);
		add(&z, one.p, 10);
		z.p[one.n + 3] = (unsigned char)flags;
		crc = crc_of(z.p + one.n, 10) ^ (i == 1);
		add(&z, (unsigned char[]){crc & 255, crc >> 8 & 255}, 2);
		add(&z, one.p + 10, one.n - 10);
		ck_assert_int_eq(gunzip(&z, 0, 65536, &out), i ? XW_ERR_INPUT : 0);
		ck_assert_uint_eq(out.n, i ? 4 : 8);
	}
	free(z.p);
	free(one.p);
	free(out.p);
}
END_TEST
#endif

/* A read of nothing is no end, and no failure, wherever it happens. */
START_TEST(read_nothing)
{
	struct bytes z = {0};
	struct xw_feed *f;
	char c;

	member(&z, "data", 4, "6");
	ck_assert_int_eq(xw_feed_decompress(mem_feed(z.p, z.n, 0), &f), 1);
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(xw_feed_read(f, &c, 0), 0);
		ck_assert_int_eq(xw_feed_read(f, &c, 1), 1);
		ck_assert_int_eq(c, "data"[i]);
	}
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(xw_feed_read(f, &c, 0), 0);
		ck_assert_int_eq(xw_feed_read(f, &c, 1), 0);
	}
	xw_feed_close(f);
	free(z.p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gzip");
	TCase *tc = tcase_create("gzip");

	tcase_set_timeout(tc, 120);
	unit_add_rows(tc, sound, files, level);
	tcase_add_test(tc, many_members);
	tcase_add_test(tc, nested);
	tcase_add_loop_test(tc, damaged, 0, 2);
	tcase_add_loop_test(tc, long_headers, 0, 3);
	tcase_add_test(tc, cut_in_header);
#ifdef HAVE_ISAL
	tcase_add_test(tc, later_header);
#endif
	tcase_add_test(tc, read_nothing);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
