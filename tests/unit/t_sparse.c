/* SPDX-License-Identifier: MIT */
/* Sparse maps: judging them, and one file in each of the formats. */
#include "config.h"

#include "import/tar_sparse.h"
#include "tarmake.h"

static const struct {
	const char *map; /* as pax 0.1 has it */
	uint64_t size, payload;
	int parse, check;
	const char *tidy;
} maps[] = {
	{"0,5,10,5", 15, 10, 0, 0, "0,5,10,5,"},
	{"0,5,10,5,20,0", 20, 10, 0, 0, "0,5,10,5,"},
	{"0,5,5,5", 10, 10, 0, 0, "0,10,"},
	{"0,5,5,0,5,5", 10, 10, 0, 0, "0,10,"},
	{"", 100, 0, 0, 0, ""},
	{"100,0", 100, 0, 0, 0, ""},
	{"0,9223372036854775807", INT64_MAX, INT64_MAX, 0, 0, "0,9223372036854775807,"},
	{"0,5,4,5", 100, 10, 0, XW_ERR_INPUT, NULL}, /* overlap */
	{"10,5,0,5", 100, 10, 0, XW_ERR_INPUT, NULL}, /* descends */
	{"10,0,0,5", 100, 5, 0, XW_ERR_INPUT, NULL}, /* also when empty */
	{"0,5,96,5", 100, 10, 0, XW_ERR_INPUT, NULL}, /* beyond the size */
	{"101,0", 100, 0, 0, XW_ERR_INPUT, NULL},
	{"0,5", 100, 6, 0, 0, "0,5,"}, /* behind the last piece: skipped, as by GNU tar */
	{"0,5", 100, 4, 0, XW_ERR_INPUT, NULL},
	{"9223372036854775807,9223372036854775807", INT64_MAX, 5, 0, XW_ERR_INPUT, NULL},
	{"0,5,10", 100, 5, XW_ERR_INPUT, 0, NULL},
	{"0", 100, 5, XW_ERR_INPUT, 0, NULL},
	{"0,,5", 100, 5, XW_ERR_INPUT, 0, NULL},
	{"-1,5", 100, 5, XW_ERR_INPUT, 0, NULL},
	{"0,5,x,1", 100, 5, XW_ERR_INPUT, 0, NULL},
	{"9223372036854775808,5", UINT64_MAX, 5, XW_ERR_INPUT, 0, NULL},
};

START_TEST(judge)
{
	struct xw_sparse s = {0};
	const char *why = NULL;
	char text[256] = "";
	uint64_t mapped = 0, sum = 0;

	ck_assert_msg(xw_sparse_text(&s, xw_slice_of(maps[_i].map)) == maps[_i].parse, "%s",
		      maps[_i].map);
	if (!maps[_i].parse)
		ck_assert_int_eq(
			xw_sparse_check(&s, maps[_i].size, maps[_i].payload, &mapped, &why),
			maps[_i].check);
	for (size_t i = 0; maps[_i].tidy && i < s.map.n; i++)
		sprintf(text + strlen(text), "%llu,%llu,", (unsigned long long)s.map.v[i].off,
			(unsigned long long)s.map.v[i].len);
	for (size_t i = 0; maps[_i].tidy && i < s.map.n; i++)
		sum += s.map.v[i].len;
	ck_assert_uint_eq(mapped, sum);
	if (maps[_i].tidy)
		ck_assert_str_eq(text, maps[_i].tidy);
	xw_sparse_free(&s);
}
END_TEST

static const struct {
	const char *text; /* the map's first block */
	int rc;
	size_t n;
} blocks[] = {
	{"0\n", 1, 0},
	{"1\n0\n5\n", 1, 1},
	{"2\n0\n5\n10\n5\ngarbage in the padding", 1, 2},
	{"1\n0\n", XW_ERR_INPUT, 1}, /* NUL where a number is due */
	{"\n", XW_ERR_INPUT, 0},
	{"1\n\n", XW_ERR_INPUT, 0},
	{"1 2\n", XW_ERR_INPUT, 0},
	{"-1\n", XW_ERR_INPUT, 0},
	{"4194305\n", XW_ERR_INPUT, 0},
	{"1\n99999999999999999999\n1\n", XW_ERR_INPUT, 0},
};

START_TEST(block)
{
	struct xw_sparse s = {0};
	char b[512] = "";

	memcpy(b, blocks[_i].text, strlen(blocks[_i].text));
	ck_assert_msg(xw_sparse_block(&s, b) == blocks[_i].rc && s.map.n == blocks[_i].n, "%s",
		      blocks[_i].text);
	xw_sparse_free(&s);
}
END_TEST

#define STEP 600
#define SEG_LEN 7

/* n segments of 7 bytes, one every 600; the file ends in a hole. */
static size_t content(char *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < SEG_LEN; k++)
			out[i * SEG_LEN + k] = (char)('a' + (i + k) % 26);
	return n * SEG_LEN;
}

static void put_sp(struct xw_tar_sp *sp, uint64_t off, uint64_t len)
{
	snprintf(sp->off, sizeof(sp->off), "%011llo", (unsigned long long)off);
	snprintf(sp->len, sizeof(sp->len), "%011llo", (unsigned long long)len);
}

static void make_old(struct tm_tar *t, size_t n, const char *data, size_t len, size_t size)
{
	struct xw_tar_hdr *h = tm_hdr(t, 'S', "sp", "", len);
	struct xw_tar_ext *x = NULL;
	size_t k = 0;

	memcpy(h->magic, "ustar  ", 8);
	snprintf(h->gnu.realsize, sizeof(h->gnu.realsize), "%011llo", (unsigned long long)size);
	for (size_t i = 0; i <= n; i++) {
		size_t off = i < n ? i * STEP : size, seg = i < n ? SEG_LEN : 0;

		if (i < 4) {
			put_sp(&tm_last(t)->gnu.sp[i], off, seg);
			continue;
		}
		if (k == 0 || k == 21) {
			if (k)
				x->extended = 1;
			else
				tm_last(t)->gnu.extended = 1;
			x = (struct xw_tar_ext *)tm_add(t, NULL, 512);
			k = 0;
		}
		put_sp(&x->sp[k++], off, seg);
	}
	tm_sum(tm_last(t));
	tm_add(t, data, len);
}

static void make_pax(struct tm_tar *t, int kind, size_t n, const char *data, size_t len,
		     size_t size)
{
	static char rec[1 << 20], map[1 << 18];
	char num[32];
	size_t r = 0, m = 0;

	snprintf(num, sizeof(num), "%zu", size);
	if (kind == 0)
		r += tm_rec(rec + r, "GNU.sparse.size", num, strlen(num));
	if (kind == 2)
		m += (size_t)sprintf(map, "%zu\n", n + 1);
	for (size_t i = 0; i <= n; i++) {
		size_t off = i < n ? i * STEP : size, seg = i < n ? SEG_LEN : 0;
		char a[32], b[32];

		snprintf(a, sizeof(a), "%zu", off);
		snprintf(b, sizeof(b), "%zu", seg);
		if (kind == 0) {
			r += tm_rec(rec + r, "GNU.sparse.offset", a, strlen(a));
			r += tm_rec(rec + r, "GNU.sparse.numbytes", b, strlen(b));
		} else {
			m += (size_t)sprintf(map + m, kind == 1 ? "%s%s,%s" : "%.0s%s\n%s\n",
					     i ? "," : "", a, b);
		}
	}
	if (kind > 0)
		r += tm_rec(rec + r, "GNU.sparse.name", "sp", 2);
	if (kind == 1) {
		r += tm_rec(rec + r, "GNU.sparse.size", num, strlen(num));
		r += tm_rec(rec + r, "GNU.sparse.map", map, m);
	}
	if (kind == 2) {
		r += tm_rec(rec + r, "GNU.sparse.major", "1", 1);
		r += tm_rec(rec + r, "GNU.sparse.minor", "0", 1);
		r += tm_rec(rec + r, "GNU.sparse.realsize", num, strlen(num));
	}
	tm_file(t, 'x', "PaxHeaders/x", "", rec, r);
	m = kind == 2 ? (m + 511) / 512 * 512 : 0;
	tm_hdr(t, '0', kind ? "GNUSparseFile.0/sp" : "sp", "", m + len);
	if (m)
		memcpy(tm_add(t, NULL, m), map, strlen(map));
	tm_add(t, data, len);
}

static const size_t counts[] = {0, 1, 3, 4, 5, 24, 25, 26, 100, 5000};

START_TEST(formats)
{
	size_t n = counts[_i], size = n * STEP + 12345, len;
	char *data = malloc(n * SEG_LEN + 1), *got = malloc(size), *want = malloc(size);

	len = content(data, n);
	memset(want, '.', size);
	for (size_t i = 0; i < n; i++)
		memcpy(want + i * STEP, data + i * SEG_LEN, SEG_LEN);
	for (int kind = -1; kind < 3; kind++) {
		struct xw_diag diag = {0};
		struct tm_tar t = {0};
		const struct xw_entry *e;
		struct xw_source *s;

		if (kind < 0)
			make_old(&t, n, data, len, size);
		else
			make_pax(&t, kind, n, data, len, size);
		tm_hdr(&t, '5', "next", "", 0);
		tm_end(&t);
		s = tm_open(t.p, t.n, &diag);
		ck_assert_msg(xw_source_next(s, &e) == 1, "kind %d: %s", kind, diag.text);
		tm_assert_slice(e->path, "sp");
		ck_assert_int_eq(e->type, XW_ET_REG);
		ck_assert(e->sparse);
		ck_assert_uint_eq(e->size, size);
		ck_assert_uint_eq(e->n_segs, n);
		for (size_t i = 0; i < n; i++)
			ck_assert(e->segs[i].off == i * STEP && e->segs[i].len == SEG_LEN);
		ck_assert_int_ge(tm_read(s, got, size), 0);
		ck_assert_mem_eq(got, want, size);
		ck_assert_int_eq(xw_source_next(s, &e), 1);
		tm_assert_slice(e->path, "next");
		ck_assert(!e->sparse && !e->n_segs);
		ck_assert_int_eq(xw_source_next(s, &e), 0);
		xw_source_close(s);
		/* and left unread */
		s = tm_open(t.p, t.n, &diag);
		ck_assert_int_eq(xw_source_next(s, &e), 1);
		ck_assert_int_eq(xw_source_next(s, &e), 1);
		tm_assert_slice(e->path, "next");
		xw_source_close(s);
		free(t.p);
	}
	free(data);
	free(got);
	free(want);
}
END_TEST

static const struct {
	const char *kv[6];
	const char *payload;
	int code;
	const char *text;
} lies[] = {
	{{"GNU.sparse.map=0,5"}, "hello", XW_ERR_INPUT, "without its size"},
	{{"GNU.sparse.size=9", "GNU.sparse.offset=0"}, "hello", XW_ERR_INPUT, "malformed"},
	{{"GNU.sparse.numbytes=5", "GNU.sparse.size=9"}, "hello", XW_ERR_INPUT, "malformed"},
	{{"GNU.sparse.size=9", "GNU.sparse.map=0,4"}, "hello", 1, ""},
	{{"GNU.sparse.size=9", "GNU.sparse.map=0,6"}, "hello", XW_ERR_INPUT, "exceeds its payload"},
	{{"GNU.sparse.size=4", "GNU.sparse.map=0,5"}, "hello", XW_ERR_INPUT, "exceeds"},
	{{"GNU.sparse.major=1", "GNU.sparse.minor=0"}, "hello", XW_ERR_INPUT, "without its size"},
	{{"GNU.sparse.major=1", "GNU.sparse.realsize=9"}, "1\n0\n5\n", XW_ERR_INPUT, "truncated"},
	{{"GNU.sparse.major=2", "GNU.sparse.realsize=9"}, "hello", XW_ERR_UNSUPPORTED, "2.0"},
	{{"GNU.sparse.size=9", "GNU.sparse.map=0,5"}, "hello", 1, ""},
	{{"SCHILY.realsize=9"}, "hello", 1, ""},
	{{"SCHILY.realsize=5"}, "hello", 1, ""},
	{{"SCHILY.realsize=4"}, "hello", XW_ERR_INPUT, "exceeds"},
	{{"GNU.sparse.major=0", "GNU.sparse.minor=1", "GNU.sparse.size=9", "GNU.sparse.map=4,5"},
	 "hello",
	 1,
	 ""},
};

START_TEST(lie)
{
	struct xw_diag diag = {0};
	struct tm_tar t = {0};
	struct xw_source *s;

	tm_pax(&t, 'x', lies[_i].kv);
	tm_file(&t, '0', "f", "", lies[_i].payload, strlen(lies[_i].payload));
	tm_end(&t);
	s = tm_open(t.p, t.n, &diag);
	ck_assert_int_eq(tm_walk(s), lies[_i].code);
	ck_assert_msg(strstr(diag.text, lies[_i].text), "%s", diag.text);
	if (lies[_i].code < 0)
		ck_assert_msg(strstr(diag.text, "a.tar: member 'f' at byte 0"), "%s", diag.text);
	xw_source_close(s);
	free(t.p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sparse");
	TCase *tc = tcase_create("sparse");

	tcase_set_timeout(tc, 60);
	unit_add_rows(tc, judge, maps, map);
	unit_add_rows(tc, block, blocks, text);
	unit_add_table(tc, formats, counts);
	unit_add_rows(tc, lie, lies, payload);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
