/* SPDX-License-Identifier: MIT */
/*
 * Faults for a tool as it is installed: preloaded, this counts what a process does to files whose
 * path begins with XW_FAULT_PATH (writes, holes, size changes, syncs, renames, removals, from 1),
 * and at step XW_FAULT_AT does as XW_FAULT_MODE says:
 *
 *	cut	the process ends before the step
 *	torn	it ends with half of that write done, in sectors
 *	eio, enospc	the step fails, others do not
 *	dead	it and all later steps fail
 *	int	a SIGINT, and all goes on
 *	twice	two of them
 *	stop	it stops (SIGSTOP) until somebody continues it, and all goes on
 *
 * XW_FAULT_LOG: the number of steps goes into that file in the end.
 * XW_FAULT_TRACE: a line for each call on these files goes there: write PATH OFFSET LENGTH, zero
 * and size likewise, sync PATH, remove PATH, and name PATH for a file that gets this name by link
 * or rename.
 */
#undef _FILE_OFFSET_BITS /* or the names below are others */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define ENDED 9
#define SECTOR 512

/* Constants once the first step has come; the tool under test does not change its environment. */
static atomic_ulong steps;

static int is_ours(const char *path)
{
	const char *want = getenv("XW_FAULT_PATH");

	return want && !strncmp(path, want, strlen(want));
}

static void trace(const char *what, const char *path, long long off, long long len)
{
	const char *name = getenv("XW_FAULT_TRACE");
	char line[5000];
	int fd, n;

	if (!name || !is_ours(path))
		return;
	fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	n = off < 0 ? snprintf(line, sizeof(line), "%s %s\n", what, path)
		    : snprintf(line, sizeof(line), "%s %s %lld %lld\n", what, path, off, len);
	if (fd >= 0 && n > 0)
		(void)!write(fd, line, (size_t)n);
	if (fd >= 0)
		close(fd);
}

static int is_ours_fd(int fd, const char *what, long long off, long long len)
{
	char link[64], path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return 0;
	path[n] = 0;
	trace(what, path, off, len);
	return is_ours(path);
}

enum verdict { GO_ON, FAIL, TEAR };

static enum verdict step(void)
{
	const char *at = getenv("XW_FAULT_AT"), *mode = getenv("XW_FAULT_MODE");
	const unsigned long k = atomic_fetch_add(&steps, 1) + 1,
			    want = at ? strtoul(at, NULL, 10) : 0;

	if (!want || !mode || k < want || (k > want && strcmp(mode, "dead")))
		return GO_ON;
	if (!strcmp(mode, "cut"))
		_exit(ENDED);
	if (!strcmp(mode, "int") || !strcmp(mode, "twice")) {
		for (int n = strcmp(mode, "int") ? 2 : 1; n; n--)
			raise(SIGINT);
		return GO_ON;
	}
	if (!strcmp(mode, "stop")) {
		raise(SIGSTOP);
		return GO_ON;
	}
	if (!strcmp(mode, "torn"))
		return TEAR;
	errno = strcmp(mode, "enospc") ? EIO : ENOSPC;
	return FAIL;
}

/* The step of a call that cannot be half done. */
static int fails(int ours)
{
	enum verdict v = ours ? step() : GO_ON;

	if (v == TEAR)
		_exit(ENDED);
	return v == FAIL;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite(int fd, const void *buf, size_t len, off_t off)
{
	switch (is_ours_fd(fd, "write", off, (long long)len) ? step() : GO_ON) {
	case TEAR:
		(void)!REAL(pwrite)(fd, buf, len / 2 / SECTOR * SECTOR, off);
		_exit(ENDED);
	case FAIL:
		return -1;
	default:
		return REAL(pwrite)(fd, buf, len, off);
	}
}

ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t off)
{
	size_t half = 0;
	long long len = 0;

	for (int i = 0; i < n; i++)
		len += (long long)iov[i].iov_len;
	switch (is_ours_fd(fd, "write", off, len) ? step() : GO_ON) {
	case TEAR:
		for (int i = 0; i < n; i++)
			half += iov[i].iov_len;
		half = half / 2 / SECTOR * SECTOR;
		for (int i = 0; i < n && half; i++) {
			const size_t part = half < iov[i].iov_len ? half : iov[i].iov_len;

			(void)!REAL(pwrite)(fd, iov[i].iov_base, part, off);
			off += (off_t)part;
			half -= part;
		}
		_exit(ENDED);
	case FAIL:
		return -1;
	default:
		return REAL(pwritev)(fd, iov, n, off);
	}
}

int fallocate(int fd, int mode, off_t off, off_t len)
{
	return fails(is_ours_fd(fd, "zero", off, len)) ? -1 : REAL(fallocate)(fd, mode, off, len);
}

int ftruncate(int fd, off_t len)
{
	return fails(is_ours_fd(fd, "size", len, 0)) ? -1 : REAL(ftruncate)(fd, len);
}

int fsync(int fd)
{
	return fails(is_ours_fd(fd, "sync", -1, 0)) ? -1 : REAL(fsync)(fd);
}

int fdatasync(int fd)
{
	return fails(is_ours_fd(fd, "sync", -1, 0)) ? -1 : REAL(fdatasync)(fd);
}

int rename(const char *from, const char *to)
{
	trace("name", to, -1, 0);
	return fails(is_ours(from)) ? -1 : REAL(rename)(from, to);
}

/* No steps: what a cut before these leaves is what a cut before the next one leaves. */
int renameat2(int dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	trace("name", to, -1, 0);
	return REAL(renameat2)(dir, from, to_dir, to, flags);
}

int linkat(int dir, const char *from, int to_dir, const char *to, int flags)
{
	trace("name", to, -1, 0);
	return REAL(linkat)(dir, from, to_dir, to, flags);
}

int link(const char *from, const char *to)
{
	trace("name", to, -1, 0);
	return REAL(link)(from, to);
}

int unlink(const char *path)
{
	trace("remove", path, -1, 0);
	return fails(is_ours(path)) ? -1 : REAL(unlink)(path);
}

/* With 64-bit file offsets the library calls these names. */
ssize_t pwrite64(int fd, const void *buf, size_t len, off_t off) __attribute__((alias("pwrite")));
ssize_t pwritev64(int fd, const struct iovec *iov, int n, off_t off)
	__attribute__((alias("pwritev")));
int fallocate64(int fd, int mode, off_t off, off_t len) __attribute__((alias("fallocate")));
int ftruncate64(int fd, off_t len) __attribute__((alias("ftruncate")));

static void __attribute__((destructor)) report(void)
{
	const char *name = getenv("XW_FAULT_LOG");
	FILE *f = name ? fopen(name, "w") : NULL;

	if (!f)
		return;
	fprintf(f, "%lu\n", atomic_load(&steps));
	fclose(f);
}
