/* SPDX-License-Identifier: MIT */
/*
 * What the kernel's file systems take for what bench_itree measures: plain system calls.
 *
 *   bench_visit fill DIR N BYTES fresh|aged	files in DIR (see ager.h)
 *   bench_visit stat DIR		readdir and stat of every name, in readdir's order
 *   bench_visit copy DIR		and its contents read
 *   bench_visit delete DIR		and unlinked
 *
 * Prints seconds.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ager.h"

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void fill(uint64_t n, size_t bytes, bool aged)
{
	char name[64], *data = calloc(1, bytes + 1);
	struct ager_op op;
	struct ager a;

	memset(data, 'x', bytes);
	ager_init(&a, n, aged);
	while (ager_next(&a, &op)) {
		int fd;

		ager_name(name, op.name);
		if (!op.create) {
			must(!unlink(name), name);
			continue;
		}
		fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0644);
		must(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes && !close(fd), name);
	}
	ager_free(&a);
	free(data);
}

static void visit(char what)
{
	static char buf[1 << 16];
	struct dirent *e;
	struct stat st;
	DIR *d = opendir(".");

	must(d, "opendir");
	while ((e = readdir(d))) {
		int fd;

		if (e->d_name[0] == '.')
			continue;
		if (what == 'd') {
			must(!unlink(e->d_name), e->d_name);
			continue;
		}
		must(!fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW), e->d_name);
		if (what != 'c' || !st.st_size)
			continue;
		fd = open(e->d_name, O_RDONLY);
		must(fd >= 0, e->d_name);
		while (read(fd, buf, sizeof(buf)) > 0)
			continue;
		close(fd);
	}
	closedir(d);
}

int main(int argc, char **argv)
{
	double t = now();

	if (argc < 3 || (argv[1][0] == 'f' && argc < 6))
		return 2;
	must(!chdir(argv[2]), argv[2]);
	if (argv[1][0] == 'f')
		fill(strtoull(argv[3], NULL, 0), strtoul(argv[4], NULL, 0), argv[5][0] == 'a');
	else
		visit(argv[1][0]);
	printf("%.3f\n", now() - t);
	return 0;
}
