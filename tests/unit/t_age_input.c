/* SPDX-License-Identifier: MIT */
/* What xw-age reads: options, paths, operation files, lists of trees, and tar archives. */
#include "config.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "age/git.h"
#include "age/options.h"
#include "age/source.h"
#include "tarmake.h"
#include "unit.h"

static struct xw_diag diag;
static char said[4096];

static void setup(void)
{
	memset(&diag, 0, sizeof(diag));
	said[0] = 0;
}

/* Compare what a case has printed, or its message, with what is expected of it. */
static void expect(const char *name, const char *got, const char *want)
{
	ck_assert_msg(!strcmp(got, want), "%s: \"%s\" instead of \"%s\"", name, got, want);
}

/* ---- options ---- */

#define AT(member) offsetof(struct xw_age_opts, member)
static const struct {
	const char *option, *value, *complaint; /* NULL: accepted */
	size_t at; /* member that is set */
	uint64_t want;
	size_t bytes;
} options[] = {
	{"--files", "17", NULL, AT(files), 17, 8},
	{"--files", "0", "--files 0: must be a number from 1 to 4294967295", 0, 0, 0},
	{"--files", NULL, "--files: needs a value", 0, 0, 0},
	{"--fast", NULL, NULL, AT(fast), true, sizeof(bool)},
	{"--fast", "yes", "--fast: takes no value", 0, 0, 0},
	{"--seed", "18446744073709551615", NULL, AT(seed), UINT64_MAX, 8},
	{"--seed", "18446744073709551616",
	 "--seed 18446744073709551616: must be a number from 0 to 18446744073709551615", 0, 0, 0},
	{"--util", "80%", NULL, AT(util), 8000, 4},
	{"--util", "0.01%", NULL, AT(util), 1, 4},
	{"--util", "100%", NULL, AT(util), 10000, 4},
	{"--util", "0%", "--util 0%: must be a share above 0% and up to 100%", 0, 0, 0},
	{"--util", "101%", "--util 101%: must be a share above 0% and up to 100%", 0, 0, 0},
	{"--util", "80", "--util 80: must be a share above 0% and up to 100%", 0, 0, 0},
	{"--util", "%", "--util %: must be a share above 0% and up to 100%", 0, 0, 0},
	{"--size", "4k-1M", NULL, AT(size_min), 4096, 8},
	{"--size", "4k-1M", NULL, AT(size_max), 1 << 20, 8},
	{"--size", "3", NULL, AT(size_max), 3, 8},
	{"--size", "x-1M", "--size x: must be a size, such as 64k or 1M", 0, 0, 0},
	{"--until", "util=50%", NULL, AT(until.util), 5000, 4},
	{"--until", "layout=0.75", NULL, AT(until.layout), 7500, 4},
	{"--until", "layout=1", "--until layout=1: must be layout=SCORE, above 0 and below 1", 0, 0,
	 0},
	{"--until", "no-run=2M", NULL, AT(until.no_run), 2 << 20, 8},
	{"--until", "no-run=0", "--until no-run=0: must be no-run=SIZE", 0, 0, 0},
	{"--until", "ops=9", NULL, AT(until.ops), 9, 8},
	{"--until", "ops=0", "--until ops=0: must be a number from 1 to 18446744073709551615", 0, 0,
	 0},
	{"--until", "overwrites=3", NULL, AT(until.overwrites), 3, 8},
	{"--until", "full", "--until full: must be util=, no-run=, layout=, ops= or overwrites=", 0,
	 0, 0},
	{"--profile", "alternate:64k,1M", NULL, AT(used), 65536, 8},
	{"--profile", "alternate:64k,1M", NULL, AT(free), 1 << 20, 8},
	{"--profile", "alternate:64k,0",
	 "--profile alternate:64k,0: must be alternate:USED,FREE with two sizes above 0, together "
	 "below 16 EiB",
	 0, 0, 0},
	{"--profile", "pazdera", NULL, AT(profile), XW_AGE_PAZDERA, sizeof(enum xw_age_profile)},
	{"--profile", "git:list", NULL, AT(profile), XW_AGE_GIT, sizeof(enum xw_age_profile)},
	{"--profile", "trace:",
	 "--profile trace:: must be pazdera, geriatrix[:MODEL], alternate:USED,FREE, trace:FILE or "
	 "git:LIST",
	 0, 0, 0},
	{"--allocator", "own", NULL, AT(allocator), XW_AGE_OWN, sizeof(enum xw_age_allocator)},
	{"--allocator", "best", "--allocator best: must be linux or own", 0, 0, 0},
	{"-E", "offset=4096", NULL, AT(offset), 4096, 8},
	{"-E", "size=1", "-E size=1: must be offset=BYTES", 0, 0, 0},
	{"now", "-1", "now=-1: must be a number from 0 to 9223372036854775807", 0, 0, 0},
};

START_TEST(option)
{
	struct xw_age_options o;
	uint64_t got = 0;
	char name[64];
	int rc;

	xw_age_options_init(&o, &diag);
	snprintf(name, sizeof(name), "%s %s", options[_i].option,
		 options[_i].value ? options[_i].value : "");
	rc = xw_age_option(&o, options[_i].option, options[_i].value);
	expect(name, diag.text, options[_i].complaint ? options[_i].complaint : "");
	ck_assert_msg(rc == (options[_i].complaint ? XW_ERR_USAGE : 0), "%s: %d", name, rc);
	if (!rc) {
		memcpy(&got, (const char *)&o.opts + options[_i].at, options[_i].bytes);
		ck_assert_msg(got == options[_i].want, "%s: %" PRIu64, name, got);
	}
	ck_assert_int_eq(xw_age_option(&o, "--no-such", "1"), XW_ERR_NOTFOUND);
	xw_age_options_free(&o);
}
END_TEST

/* ---- paths ---- */

static const struct {
	const char *path;
	bool ok;
} paths[] = {
	{"a", true},   {"a/b", true},  {"a b/c\xff", true}, {"...", true},     {"a/.b", true},
	{"", false},   {"/a", false},  {"a/", false},       {"a//b", false},   {".", false},
	{"..", false}, {"a/.", false}, {"../a", false},     {"a/../b", false},
};

START_TEST(path)
{
	char deep[2 * XW_AGE_DEPTH_MAX + 2], name[300];

	for (size_t i = 0; i < XW_ARRAY_SIZE(paths); i++)
		ck_assert_msg(xw_age_path_ok(paths[i].path) == paths[i].ok, "\"%s\"",
			      paths[i].path);
	memset(name, 'n', sizeof(name));
	name[255] = 0;
	ck_assert(xw_age_path_ok(name));
	name[255] = 'n';
	name[256] = 0;
	ck_assert(!xw_age_path_ok(name));
	for (size_t i = 0; i < XW_AGE_DEPTH_MAX + 1; i++)
		memcpy(deep + 2 * i, "d/", 2);
	deep[2 * XW_AGE_DEPTH_MAX - 1] = 0;
	ck_assert(xw_age_path_ok(deep));
	deep[2 * XW_AGE_DEPTH_MAX - 1] = '/';
	deep[2 * XW_AGE_DEPTH_MAX + 1] = 0;
	ck_assert(!xw_age_path_ok(deep));
}
END_TEST

/* ---- operations of a file ---- */

static const char *file_of(const char *text)
{
	static char names[4][64];
	static unsigned n;
	char *name = names[n++ % XW_ARRAY_SIZE(names)];
	const int fd = memfd_create("input", 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq((int)write(fd, text, strlen(text)), (int)strlen(text));
	snprintf(name, sizeof(names[0]), "/proc/self/fd/%d", fd);
	return name;
}

/* "WHAT path to value bytes;" for each operation, then the message of a failure. */
static void print_ops(enum xw_age_profile profile, const char *file, uint64_t ops)
{
	static const char letters[] = {
		[XW_AGE_CREATE] = 'C',    [XW_AGE_APPEND] = 'A', [XW_AGE_TRUNCATE] = 'T',
		[XW_AGE_OVERWRITE] = 'O', [XW_AGE_DELETE] = 'D', [XW_AGE_RENAME] = 'R',
		[XW_AGE_MKDIR] = 'M',     [XW_AGE_RMDIR] = 'X',  [XW_AGE_SETXATTR] = 'S',
	};
	const struct xw_age_base base = {.blocks = 4096, .free = 4000, .block_size = 4096};
	struct xw_age_opts o = {.profile = profile, .ops = ops};
	struct xw_age_source src;
	struct xw_age_op op;
	size_t n = 0;
	int more;

	o.trace = file;
	ck_assert_int_eq(xw_age_source_open(&o, &base, &diag, &src), 0);
	while ((more = src.next(src.state, &op)) > 0)
		n += (size_t)snprintf(said + n, sizeof(said) - n, "%c %s%s%s%s%s %" PRIu64 ";",
				      letters[op.what], op.path, op.to ? " " : "",
				      op.to ? op.to : "", op.value ? " " : "",
				      op.value ? op.value : "", op.bytes);
	src.close(src.state);
	if (more < 0) {
		ck_assert_ptr_nonnull(strstr(diag.text, ": "));
		snprintf(said + n, sizeof(said) - n, "%s", strstr(diag.text, ": ") + 2);
	}
}

static const struct {
	const char *name, *text, *want;
	uint64_t ops;
} traces[] = {
	{"all operations",
	 "create a 1\nappend a 2\ntruncate a 3\noverwrite a 4\nrename a b\ndelete b\nmkdir d\n"
	 "rmdir d\nsetxattr b user.x v\n",
	 "C a 1;A a 2;T a 3;O a 4;R a b 0;D b 0;M d 0;X d 0;S b user.x v 0;", 0},
	{"comments and blanks", "# c\n\n \t \n  create\ta  5  \r\n", "C a 5;", 0},
	{"quoted", "create a\\ b\\\\c 5\ncreate \\#x 6\n", "C a b\\c 5;C #x 6;", 0},
	{"no end of line", "mkdir d", "M d 0;", 0},
	{"--ops", "mkdir a\nmkdir b\nmkdir c\n", "M a 0;M b 0;", 2},
	{"largest", "create a 17592186044415\n", "C a 17592186044415;", 0},
	{"too large", "create a 17592186044416\n",
	 "line 1: the size must be a number of bytes below 16 TiB", 0},
	{"second path", "rename a ../b\n",
	 "line 1: paths are relative, and have at most 256 components of 1 to 255 bytes, none of "
	 "them . or ..",
	 0},
	{"attribute", "setxattr a trusted.x v\nsetxattr a security.x v\n",
	 "S a trusted.x v 0;line 2: attributes are user.NAME or trusted.NAME", 0},
	{"words", "rmdir a b\n", "line 1: wrong number of words for this operation", 0},
};

START_TEST(trace)
{
	print_ops(XW_AGE_TRACE, file_of(traces[_i].text), traces[_i].ops);
	expect(traces[_i].name, said, traces[_i].want);
}
END_TEST

/* ---- lists of trees ---- */

#define BLOB(hash, size, path) "100644 blob " hash " " size "\t" path "\n"

static const struct {
	const char *name, *first, *second, *want;
} lists[] = {
	{"same", BLOB("aa", "5", "x"), BLOB("aa", "5", "x"), "C x 5;"},
	{"removed, added, changed", BLOB("aa", "5", "x") BLOB("bb", "6", "d/y"),
	 BLOB("cc", "5", "x") BLOB("bb", "6", "e/y"), "C d/y 6;C x 5;D d/y 0;D x 0;C e/y 6;C x 5;"},
	{"order", BLOB("aa", "1", "b") BLOB("aa", "2", "a"), "", "C a 2;C b 1;D a 0;D b 0;"},
	{"only regular files",
	 "120000 blob aa      9\tlink\n160000 commit bb       -\tsub\n100755 blob cc       "
	 "7\trun\n",
	 "", "C run 7;D run 0;"},
	{"invalid line", "100644 blob aa\n", "", "line 1: must be a line of git ls-tree -r -l"},
	{"invalid path", BLOB("aa", "5", "x") BLOB("aa", "5", "../x"), "",
	 "line 2: must be a line of git ls-tree -r -l"},
};

START_TEST(list)
{
	char text[160];

	snprintf(text, sizeof(text), "# trees\n%s\n\n%s\n", file_of(lists[_i].first),
		 file_of(lists[_i].second));
	print_ops(XW_AGE_GIT, file_of(text), 0);
	expect(lists[_i].name, said, lists[_i].want);
}
END_TEST

/* ---- tar archives ---- */

static void big_size(struct tm_tar *t)
{
	unsigned char *size = (unsigned char *)tm_last(t)->size;

	memset(size, 0, 12);
	size[0] = 0x80;
	size[11] = 3;
	tm_add(t, "abc", 3);
}

static void make_tar(const char *name, struct tm_tar *t)
{
	char rec[200];

	if (!strcmp(name, "plain")) {
		tm_file(t, '0', "./a", "", "12345", 5);
		tm_hdr(t, '5', "dir/", "", 0);
		tm_hdr(t, '2', "link", "a", 0);
		tm_file(t, '7', "dir/b", "", NULL, 0);
	} else if (!strcmp(name, "prefix")) {
		tm_hdr(t, '0', "name", "", 0);
		memcpy(tm_last(t)->prefix, "long/prefix", 11);
	} else if (!strcmp(name, "pax")) {
		const size_t n = tm_rec(rec, "path", "from/pax", 8);

		tm_file(t, 'x', "x", "", rec, n + tm_rec(rec + n, "size", "4", 1));
		tm_file(t, '0', "short", "", "1234", 4);
		tm_hdr(t, '0', "next", "", 0);
	} else if (!strcmp(name, "gnu")) {
		tm_file(t, 'L', "@", "", "a/long/name", 12);
		tm_hdr(t, '0', "a/lo", "", 0);
	} else if (!strcmp(name, "base 256")) {
		tm_hdr(t, '0', "big", "", 0);
		big_size(t);
	} else if (!strcmp(name, "ends in a member")) {
		tm_hdr(t, '0', "cut", "", 2000);
		tm_add(t, NULL, 512);
	} else if (!strcmp(name, "ends in a header")) {
		tm_hdr(t, 'x', "x", "", 100);
	} else if (!strcmp(name, "bad pax")) {
		tm_file(t, 'x', "x", "", "99 path=a\n", 10);
	} else if (!strcmp(name, "bad header")) {
		tm_hdr(t, '0', "a", "", 0);
		memset(tm_last(t)->magic, 'x', 5);
	} else if (!strcmp(name, "too large")) {
		tm_hdr(t, '0', "a", "", 0);
		memcpy(tm_last(t)->size, "\x80\0\0\0\0\0\x10\0\0\0\0", 11);
	} else {
		ck_abort_msg("%s", name);
	}
}

static const struct {
	const char *name, *want;
} tars[] = {
	{"plain", "a 5;dir/b 0;"},
	{"prefix", "long/prefix/name 0;"},
	{"pax", "from/pax 4;next 0;"},
	{"gnu", "a/long/name 0;"},
	{"base 256", "big 3;"},
	{"ends in a member", "t.tar: the archive ends within a member"},
	{"ends in a header", "t.tar: the archive ends within a header"},
	{"bad pax", "t.tar: invalid pax header"},
	{"bad header", "t.tar: invalid tar header"},
	{"too large", "t.tar: member too large"},
};

static int print_member(void *arg, const char *member, uint64_t size, uint64_t hash)
{
	const size_t n = strlen(said);

	(void)arg;
	ck_assert_int_eq(hash != 0, size != 0);
	snprintf(said + n, sizeof(said) - n, "%s %" PRIu64 ";", member, size);
	return 0;
}

START_TEST(tar)
{
	struct tm_tar t = {0};
	const int fd = memfd_create("tar", 0);
	int rc;

	make_tar(tars[_i].name, &t);
	ck_assert_int_eq((int)write(fd, t.p, t.n), (int)t.n);
	ck_assert_int_eq((int)lseek(fd, 0, SEEK_SET), 0);
	rc = xw_age_read_tar(fd, "t.tar", NULL, print_member, NULL, &diag);
	expect(tars[_i].name, rc ? diag.text : said, tars[_i].want);
	close(fd);
	free(t.p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("age_input");
	TCase *tc = tcase_create("age_input");

	tcase_add_checked_fixture(tc, setup, NULL);
	unit_add_rows(tc, option, options, option);
	tcase_add_test(tc, path);
	unit_add_rows(tc, trace, traces, name);
	unit_add_rows(tc, list, lists, name);
	unit_add_rows(tc, tar, tars, name);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
