/* SPDX-License-Identifier: MIT */
/* Files below a directory: by the kernel, by walking, and where openat2(2) is refused. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/types.h"
#include "import/beneath.h"
#include "tmp.h"
#include "unit.h"

#define FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK)

/* A path below "in", and what it leads to: a letter that the file holds, or a failure. */
static const struct {
	const char *path;
	char holds;
	int err;
} cases[] = {
	{"a", 'a', 0},
	{"./d//../a", 'a', 0},
	{"d/b", 'b', 0},
	{"to-a", 'a', 0},
	{"d/up-a", 'a', 0},
	{"to-d/b", 'b', 0},
	{"to-d/../a", 'a', 0},
	{"d/deep/to-top/d/b", 'b', 0},
	{"chain3", 'a', 0},
	{"dotted", 'b', 0},
	{"missing", 0, ENOENT},
	{"d/missing/b", 0, ENOENT},
	{"dangling", 0, ENOENT},
	{"a/b", 0, ENOTDIR},
	{"to-a/b", 0, ENOTDIR},
	{"../out", 0, EXDEV},
	{"d/../../out", 0, EXDEV},
	{"/a", 0, EXDEV},
	{"to-out", 0, EXDEV},
	{"absolute", 0, EXDEV},
	{"d/far", 0, EXDEV},
	{"to-parent/in/a", 0, EXDEV},
	{"loop", 0, ELOOP},
	{"loop/b", 0, ELOOP},
};

static void put(int dir, const char *path, char c)
{
	const int fd = openat(dir, path, O_WRONLY | O_CREAT | O_EXCL, 0666);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, &c, 1), 1);
	close(fd);
}

/* The directory "in". */
static int make_tree(char *top)
{
	static const char *const links[][2] = {
		{"a", "to-a"},
		{"../a", "d/up-a"},
		{"d", "to-d"},
		{"../..", "d/deep/to-top"},
		{"a", "chain1"},
		{"./chain1", "chain2"},
		{"chain2", "chain3"},
		{"./d/deep/../b", "dotted"},
		{"nowhere", "dangling"},
		{"../out", "to-out"},
		{"/etc/passwd", "absolute"},
		{"../../out", "d/far"},
		{"..", "to-parent"},
		{"loop", "loop"},
	};
	int at;

	ck_assert_ptr_nonnull(mkdtemp(top));
	at = open(top, O_RDONLY | O_DIRECTORY);
	put(at, "out", 'o');
	ck_assert_int_eq(mkdirat(at, "in", 0777), 0);
	close(at);
	strcat(top, "/in");
	at = open(top, O_RDONLY | O_DIRECTORY);
	ck_assert_int_ge(at, 0);
	top[strlen(top) - 3] = '\0';
	ck_assert_int_eq(mkdirat(at, "d", 0777) | mkdirat(at, "d/deep", 0777), 0);
	put(at, "a", 'a');
	put(at, "d/b", 'b');
	for (size_t i = 0; i < XW_ARRAY_SIZE(links); i++)
		ck_assert_int_eq(symlinkat(links[i][0], at, links[i][1]), 0);
	return at;
}

static void remove_tree(char *top, int at)
{
	char command[200];

	close(at);
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	ck_assert_int_eq(system(command), 0);
}

/* Number of cases that `opener` gets wrong. */
static int count_wrong(int at, int (*opener)(int dir, const char *path, int flags))
{
	int wrong = 0;

	for (size_t i = 0; i < XW_ARRAY_SIZE(cases); i++) {
		const int fd = opener(at, cases[i].path, FLAGS);
		const int err = fd < 0 ? errno : 0;
		char c = 0;

		if (fd >= 0 && read(fd, &c, 1) != 1)
			c = '?';
		if (fd >= 0)
			close(fd);
		if (c != cases[i].holds || err != cases[i].err) {
			fprintf(stderr, "%s: %d %c\n", cases[i].path, err, c ? c : '-');
			wrong++;
		}
	}
	return wrong;
}

static int count_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 200; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

START_TEST(walked)
{
	char top[120];
	int at = make_tree(tmp_template(top, sizeof(top) - 4, "beneath")), before;

	before = count_descriptors();
	ck_assert_int_eq(count_wrong(at, xw_walk_beneath), 0);
	ck_assert_int_eq(count_wrong(at, xw_open_beneath), 0);
	ck_assert_int_eq(count_descriptors(), before);
	remove_tree(top, at);
}
END_TEST

/* openat2 fails with `err` from now on. */
static bool refuse_openat2(unsigned err)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = {XW_ARRAY_SIZE(filter), filter};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

/* As in containers of old engines, and with old kernels. */
START_TEST(refused)
{
	static const unsigned errs[] = {ENOSYS, EPERM};
	char top[120];
	int at = make_tree(tmp_template(top, sizeof(top) - 4, "beneath")), status;
	const pid_t child = fork();

	ck_assert_int_ge(child, 0);
	if (!child)
		_exit(refuse_openat2(errs[_i]) ? count_wrong(at, xw_open_beneath) : 100);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	remove_tree(top, at);
	ck_assert(WIFEXITED(status));
	if (WEXITSTATUS(status) != 100) /* filters are not allowed here */
		ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("beneath");
	TCase *tc = tcase_create("beneath");

	tcase_add_test(tc, walked);
	tcase_add_loop_test(tc, refused, 0, 2);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
