/* SPDX-License-Identifier: MIT */
/* The directory walk: order, types, links, holes, xattrs, deep trees, files that change. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tarmake.h"
#include "tmp.h"

static char root[64];

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(tmp_template(root, sizeof(root), "xw-t-dir")));
}

/* Removes trees deeper than PATH_MAX too. */
static void teardown(void)
{
	char cmd[256];

	snprintf(cmd, sizeof(cmd), "chmod -R u+rwx %s 2>/dev/null; rm -rf %s", root, root);
	ck_assert_int_eq(system(cmd), 0);
}

static const char *in_root(const char *name)
{
	static char path[4][300];
	static int n;

	n = (n + 1) % 4;
	snprintf(path[n], sizeof(path[n]), "%.63s/%s", root, name);
	return path[n];
}

static void make_file(const char *name, const char *text)
{
	int fd = open(in_root(name), O_CREAT | O_WRONLY | O_TRUNC, 0644);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static struct xw_source *open_root(struct xw_diag *diag)
{
	struct xw_source_opts o = {0};
	struct xw_source *s;

	ck_assert_msg(!xw_source_open(root, &o, diag, &s), "%s", diag->text);
	return s;
}

/* Names in order, blank between; a hard link as "name>target". */
static void listing(struct xw_source *s, struct xw_diag *diag, char *out)
{
	const struct xw_entry *e;
	int r;

	*out = 0;
	while ((r = xw_source_next(s, &e)) == 1) {
		out += sprintf(out, "%.*s", (int)e->path.len, e->path.p);
		if (e->type == XW_ET_HARDLINK)
			out += sprintf(out, ">%.*s", (int)e->link.len, e->link.p);
		*out++ = ' ';
		*out = 0;
	}
	ck_assert_msg(r == 0, "%s", diag->text);
}

START_TEST(order)
{
	struct xw_diag diag = {0};
	struct xw_source *s;
	char out[1000];

	ck_assert_int_eq(mkdir(in_root("b"), 0755), 0);
	ck_assert_int_eq(mkdir(in_root("a"), 0755), 0);
	make_file("a/z", "");
	make_file("a/\xff", "");
	make_file("a.b", "x");
	make_file("Z", "");
	make_file("b/1", "");
	ck_assert_int_eq(link(in_root("a/z"), in_root("b/2")), 0);
	ck_assert_int_eq(link(in_root("a/z"), in_root("A")), 0);
	ck_assert_int_eq(mkdir(in_root("b/empty"), 0), 0);
	s = open_root(&diag);
	listing(s, &diag, out);
	ck_assert_str_eq(out, ". A Z a a/z>A a/\xff a.b b b/1 b/2>A b/empty ");
	xw_source_close(s);
}
END_TEST

static int is_excluded(const void *arg, struct xw_slice path)
{
	return path.len == strlen(arg) && !memcmp(path.p, arg, path.len);
}

/* What is excluded is not even opened, and a file keeps its content under its other names. */
START_TEST(exclusion)
{
	struct xw_source_opts o = {.excluded = is_excluded, .excluded_arg = "a"};
	struct xw_diag diag = {0};
	struct xw_source *s;
	char out[1000];

	ck_assert_int_eq(mkdir(in_root("a"), 0755), 0);
	make_file("a/1", "x");
	ck_assert_int_eq(link(in_root("a/1"), in_root("b")), 0);
	ck_assert_int_eq(link(in_root("a/1"), in_root("c")), 0);
	ck_assert_msg(!xw_source_open(root, &o, &diag, &s), "%s", diag.text);
	listing(s, &diag, out);
	ck_assert_str_eq(out, ". b c>b ");
	xw_source_close(s);
}
END_TEST

START_TEST(attributes)
{
	static const struct timespec when[2] = {{-5, 250000000}, {-1000000, 999999999}};
	static const char *const names[] = {".", "dir", "fifo", "file", "long", "socket", "sym"};
	static const enum xw_etype want[] = {XW_ET_DIR, XW_ET_DIR,  XW_ET_FIFO, XW_ET_REG,
					     XW_ET_LNK, XW_ET_SOCK, XW_ET_LNK};
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	struct xw_diag diag = {0};
	const struct xw_entry *e;
	struct xw_source *s;
	char target[3001], text[16];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memset(target, 't', 3000);
	target[3000] = 0;
	snprintf(un.sun_path, sizeof(un.sun_path), "%s", in_root("socket"));
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
	close(fd);
	make_file("file", "content");
	ck_assert_int_eq(mkdir(in_root("dir"), 0755), 0);
	ck_assert_int_eq(mkfifo(in_root("fifo"), 0600), 0);
	ck_assert_int_eq(symlink("../to nowhere", in_root("sym")), 0);
	ck_assert_int_eq(symlink(target, in_root("long")), 0);
	ck_assert_int_eq(chmod(in_root("dir"), 03751), 0);
	ck_assert_int_eq(chmod(in_root("file"), 04640), 0);
	for (size_t i = 1; i < XW_ARRAY_SIZE(names); i++)
		ck_assert_int_eq(utimensat(AT_FDCWD, in_root(names[i]), when, AT_SYMLINK_NOFOLLOW),
				 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, root, when, 0), 0);
	s = open_root(&diag);
	for (size_t i = 0; i < XW_ARRAY_SIZE(names); i++) {
		ck_assert_int_eq(xw_source_next(s, &e), 1);
		tm_assert_slice(e->path, names[i]);
		ck_assert_int_eq(e->type, want[i]);
		ck_assert_int_eq(e->mtime.sec, -1000000);
		ck_assert_uint_eq(e->mtime.nsec, 999999999);
		ck_assert(e->has_atime);
		ck_assert_int_eq(e->atime.sec, -5);
		ck_assert_uint_eq(e->atime.nsec, 250000000);
		ck_assert_uint_eq(e->uid, getuid());
		ck_assert_uint_eq(e->gid, getgid());
		ck_assert(!e->sparse);
		if (i == 1)
			ck_assert_uint_eq(e->mode, 03751);
		if (i == 3) {
			ck_assert_uint_eq(e->mode, 04640);
			ck_assert_uint_eq(e->size, 7);
			ck_assert_int_eq(tm_read(s, text, sizeof(text)), 7);
			ck_assert_mem_eq(text, "content", 7);
		} else {
			ck_assert_uint_eq(e->size, 0);
			ck_assert_int_eq(tm_read(s, text, sizeof(text)), 0);
		}
		tm_assert_slice(e->link, i == 4 ? target : i == 6 ? "../to nowhere" : "");
	}
	ck_assert_int_eq(xw_source_next(s, &e), 0);
	ck_assert_uint_eq(xw_source_consumed(s), 7);
	xw_source_close(s);
}
END_TEST

START_TEST(holes)
{
	struct xw_diag diag = {0};
	const struct xw_entry *e;
	struct xw_source *s;
	size_t size = (8 << 20) + 77;
	char *got = malloc(size), *want = calloc(1, size);
	int fd = open(in_root("sparse"), O_CREAT | O_RDWR, 0644);
	bool punched;

	for (size_t off = 0; off < size; off += 3 << 20) {
		memset(want + off, 'd', 5000);
		ck_assert_int_eq(pwrite(fd, want + off, 5000, (off_t)off), 5000);
	}
	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	punched = lseek(fd, 0, SEEK_HOLE) < (off_t)size;
	close(fd);
	fd = open(in_root("void"), O_CREAT | O_RDWR, 0644);
	ck_assert_int_eq(ftruncate(fd, 1 << 20), 0);
	close(fd);
	s = open_root(&diag);
	ck_assert_int_eq(xw_source_next(s, &e), 1);
	ck_assert_int_eq(xw_source_next(s, &e), 1);
	ck_assert_uint_eq(e->size, size);
	ck_assert_int_eq(e->sparse, punched);
	if (punched) {
		uint64_t sum = 0;

		for (size_t i = 0; i < e->n_segs; i++)
			sum += e->segs[i].len;
		ck_assert_uint_ge(sum, 3 * 5000);
		ck_assert_uint_lt(sum, size / 2);
	}
	ck_assert_int_gt(tm_read(s, got, size), 0);
	for (size_t i = 0; i < size; i++)
		ck_assert(got[i] == want[i] || (got[i] == '.' && !want[i]));
	ck_assert_int_eq(xw_source_next(s, &e), 1);
	ck_assert_uint_eq(e->size, 1 << 20);
	if (punched) {
		ck_assert(e->sparse);
		ck_assert_uint_eq(e->n_segs, 0);
		ck_assert_int_eq(tm_read(s, got, size), 0);
	}
	ck_assert_int_eq(xw_source_next(s, &e), 0);
	xw_source_close(s);
	free(got);
	free(want);
}
END_TEST

START_TEST(xattrs)
{
	struct xw_diag diag = {0};
	const struct xw_entry *e;
	struct xw_source *s;
	char big[3000];

	memset(big, 'b', sizeof(big));
	make_file("file", "");
	ck_assert_int_eq(symlink("x", in_root("link")), 0);
	if (setxattr(in_root("file"), "trusted.a", "1", 1, 0) < 0)
		goto skip; /* not root, or not on this filesystem */
	ck_assert_int_eq(setxattr(in_root("file"), "trusted.big", big, sizeof(big), 0), 0);
	ck_assert_int_eq(setxattr(in_root("file"), "security.empty", "", 0, 0), 0);
	ck_assert_int_eq(lsetxattr(in_root("link"), "trusted.l", "link", 4, 0), 0);
	ck_assert_int_eq(setxattr(root, "trusted.root", "dir", 3, 0), 0);
	s = open_root(&diag);
	ck_assert_int_eq(xw_source_next(s, &e), 1);
	ck_assert_uint_eq(e->n_xattrs, 1);
	tm_assert_slice(e->xattrs[0].value, "dir");
	ck_assert_int_eq(xw_source_next(s, &e), 1);
	ck_assert_uint_eq(e->n_xattrs, 3);
	for (size_t i = 0; i < 3; i++) {
		struct xw_slice v = e->xattrs[i].value;

		if (tm_eq(e->xattrs[i].name, "trusted.big"))
			ck_assert(v.len == sizeof(big) && !memcmp(v.p, big, v.len));
		else if (tm_eq(e->xattrs[i].name, "trusted.a"))
			tm_assert_slice(v, "1");
		else
			tm_assert_slice(v, "");
	}
	ck_assert_int_eq(xw_source_next(s, &e), 1);
	ck_assert_int_eq(e->type, XW_ET_LNK);
	ck_assert_uint_eq(e->n_xattrs, 1);
	tm_assert_slice(e->xattrs[0].name, "trusted.l");
	tm_assert_slice(e->xattrs[0].value, "link");
	ck_assert_int_eq(xw_source_next(s, &e), 0);
	xw_source_close(s);
	return;
skip:
	ck_assert_int_ne(errno, 0);
}
END_TEST

/* 300 levels of 20-byte names: 6,300 bytes of path, and more levels than descriptors. */
START_TEST(deep)
{
	struct xw_diag diag = {0};
	const struct xw_entry *e;
	struct xw_source *s;
	int fd = open(root, O_RDONLY | O_DIRECTORY), n = 0, files = 0, r;
	struct rlimit few = {100, 100}, old;
	size_t longest = 0;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	few.rlim_max = old.rlim_max;
	for (int i = 0; i < 300; i++) {
		int up = fd, f;

		ck_assert_int_eq(mkdirat(up, "level-level-level-lv", 0755), 0);
		f = openat(up, "z", O_CREAT | O_WRONLY, 0644); /* visited on the way back */
		ck_assert_int_ge(f, 0);
		close(f);
		fd = openat(up, "level-level-level-lv", O_RDONLY | O_DIRECTORY);
		ck_assert_int_ge(fd, 0);
		close(up);
	}
	close(fd);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	s = open_root(&diag);
	while ((r = xw_source_next(s, &e)) == 1) {
		n++;
		files += e->type == XW_ET_REG;
		longest = XW_MAX(longest, e->path.len);
	}
	ck_assert_msg(r == 0, "%s", diag.text);
	ck_assert_int_eq(n, 601);
	ck_assert_int_eq(files, 300);
	ck_assert_uint_eq(longest, 300 * 21 - 1);
	xw_source_close(s);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
}
END_TEST

START_TEST(changes)
{
	struct xw_diag diag = {0};
	const struct xw_entry *e;
	struct xw_source *s;
	char text[128];

	make_file("a-grows", "0123456789");
	make_file("b-shrinks", "0123456789");
	s = open_root(&diag);
	ck_assert_int_eq(xw_source_next(s, &e), 1);
	ck_assert_int_eq(xw_source_next(s, &e), 1);
	make_file("a-grows", "0123456789abcdef");
	ck_assert_int_eq(tm_read(s, text, sizeof(text)), 10);
	ck_assert_uint_eq(diag.warnings, 1);
	ck_assert_int_eq(xw_source_next(s, &e), 1);
	make_file("b-shrinks", "01234");
	ck_assert_int_eq(tm_read(s, text, sizeof(text)), XW_ERR_IO);
	snprintf(text, sizeof(text), "%s/b-shrinks: shrank while it was read", root);
	ck_assert_str_eq(diag.text, text);
	ck_assert_int_eq(xw_source_next(s, &e), XW_ERR_IO);
	xw_source_close(s);
}
END_TEST

START_TEST(vanishes)
{
	struct xw_diag diag = {0};
	const struct xw_entry *e;
	struct xw_source *s;
	char text[128];

	make_file("a", "x");
	make_file("b", "x");
	s = open_root(&diag);
	ck_assert_int_eq(xw_source_next(s, &e), 1); /* reads the names */
	ck_assert_int_eq(xw_source_next(s, &e), 1);
	ck_assert_int_eq(unlink(in_root("b")), 0);
	ck_assert_int_eq(xw_source_next(s, &e), XW_ERR_IO);
	snprintf(text, sizeof(text), "%s/b: cannot stat: No such file or directory", root);
	ck_assert_str_eq(diag.text, text);
	xw_source_close(s);
}
END_TEST

START_TEST(left_out)
{
	struct xw_source_opts o = {0};
	struct xw_diag diag = {0};
	struct xw_source *s;
	struct stat st;
	char out[200];

	make_file("a", "x");
	make_file("image", "x");
	ck_assert_int_eq(stat(in_root("image"), &st), 0);
	o.skip[1] = (struct xw_file_id){st.st_dev, st.st_ino};
	ck_assert_int_eq(xw_source_open(root, &o, &diag, &s), 0);
	listing(s, &diag, out);
	ck_assert_str_eq(out, ". a ");
	ck_assert_uint_eq(diag.warnings, 1);
	xw_source_close(s);
}
END_TEST

/* As another user where we are root, who may read everything. */
static void unreadable(const char *name)
{
	struct xw_diag diag = {0};
	struct xw_source *s = open_root(&diag);
	const struct xw_entry *e;
	char text[200];
	int r;

	while ((r = xw_source_next(s, &e)) == 1)
		;
	snprintf(text, sizeof(text), "%s/%s: cannot open", root, name);
	if (r != XW_ERR_IO || strncmp(diag.text, text, strlen(text)) != 0 ||
	    !strstr(diag.text, "Permission denied")) {
		fprintf(stderr, "%d: %s\n", r, diag.text);
		_exit(1);
	}
	_exit(0);
}

START_TEST(permission)
{
	int status;
	pid_t pid;

	make_file("open", "x");
	if (_i) {
		make_file("secret", "x");
		ck_assert_int_eq(chmod(in_root("secret"), 0), 0);
	} else {
		ck_assert_int_eq(mkdir(in_root("secret"), 0), 0);
	}
	ck_assert_int_eq(chmod(root, 0755), 0);
	pid = fork();
	if (!pid) {
		if (!getuid() && (setgid(65534) || setuid(65534)))
			_exit(2);
		unreadable("secret");
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* Without search permission a directory shows its names, and then we cannot go on; but an empty one
 * that may only be read is fine at any depth. */
START_TEST(only_readable)
{
	int status;
	pid_t pid;

	ck_assert_int_eq(mkdir(in_root("d"), 0755), 0);
	ck_assert_int_eq(mkdir(in_root("d/e"), 0444), 0);
	make_file("d/f", "x");
	ck_assert_int_eq(chmod(root, 0755), 0);
	pid = fork();
	if (!pid) {
		struct xw_diag diag = {0};
		struct xw_source *s;

		if (!getuid() && (setgid(65534) || setuid(65534)))
			_exit(2);
		s = open_root(&diag);
		status = tm_walk(s);
		xw_source_close(s);
		_exit(status == 4 ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(many)
{
	struct xw_diag diag = {0};
	const struct xw_entry *e;
	struct xw_source *s;
	char name[32], last[32] = "";
	int n = 0, links = 0, r;

	for (int i = 0; i < 900; i++) {
		snprintf(name, sizeof(name), "f%d", i * 7919 % 900);
		make_file(name, "");
		if (i % 3 == 0) {
			char other[40];

			snprintf(other, sizeof(other), "%s.l", name);
			ck_assert_int_eq(link(in_root(name), in_root(other)), 0);
		}
	}
	s = open_root(&diag);
	ck_assert_int_eq(xw_source_next(s, &e), 1);
	while ((r = xw_source_next(s, &e)) == 1) {
		snprintf(name, sizeof(name), "%.*s", (int)e->path.len, e->path.p);
		ck_assert_int_lt(strcmp(last, name), 0);
		strcpy(last, name);
		n++;
		if (e->type == XW_ET_HARDLINK) {
			links++;
			name[strlen(name) - 2] = 0;
			tm_assert_slice(e->link, name);
		}
	}
	ck_assert_int_eq(r, 0);
	ck_assert_int_eq(n, 1200);
	ck_assert_int_eq(links, 300);
	xw_source_close(s);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("dirsource");
	TCase *tc = tcase_create("dirsource");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, order);
	tcase_add_test(tc, exclusion);
	tcase_add_test(tc, attributes);
	tcase_add_test(tc, holes);
	tcase_add_test(tc, xattrs);
	tcase_add_test(tc, deep);
	tcase_add_test(tc, changes);
	tcase_add_test(tc, vanishes);
	tcase_add_test(tc, left_out);
	tcase_add_loop_test(tc, permission, 0, 2);
	tcase_add_test(tc, only_readable);
	tcase_add_test(tc, many);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
