/* SPDX-License-Identifier: MIT */
/*
 * Preloaded, this records what a process does to files whose path begins with XW_RECORD_PATH, and
 * to block devices: every write, hole, size change, sync and change of a name, in order, with its
 * contents, in the file XW_RECORD_LOG. tests/fsck/cut.py makes from it the states that a kill or a
 * power failure could have left.
 *
 * A record is a line, then the bytes that it announces; inode 0 is any block device:
 *
 *	W INODE OFFSET LENGTH	a write; LENGTH bytes follow
 *	Z INODE OFFSET LENGTH	zeros
 *	T INODE SIZE		truncated or extended
 *	S INODE			synced
 *	D			the directory was synced
 *	C INODE LENGTH		a file created; its name follows
 *	N INODE LENGTH		a name added, likewise
 *	R LENGTH LENGTH		a name changed; both follow
 *	U LENGTH		a name removed; it follows
 */
#undef _FILE_OFFSET_BITS /* or the names below are others */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int is_ours(const char *path)
{
	const char *want = getenv("XW_RECORD_PATH");

	return want && !strncmp(path, want, strlen(want));
}

/* Of a descriptor that is watched: 'F' file, 'B' block device, 'D' directory; else 0. */
static int kind_of(int fd, unsigned long *ino)
{
	char link[64], path[4096];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st))
		return 0;
	*ino = S_ISBLK(st.st_mode) ? 0 : (unsigned long)st.st_ino;
	if (S_ISBLK(st.st_mode))
		return 'B';
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return 0;
	path[n] = 0;
	if (S_ISDIR(st.st_mode))
		return 'D';
	return S_ISREG(st.st_mode) && is_ours(path) ? 'F' : 0;
}

/* One record: a line, and what comes behind it. */
static void record(const char *line, const struct iovec *iov, int n, size_t len)
{
	const char *name = getenv("XW_RECORD_LOG");
	const int before = errno;
	int fd = name ? REAL(open)(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

	if (fd >= 0) {
		(void)!write(fd, line, strlen(line));
		for (int i = 0; i < n && len; i++) {
			const size_t part = iov[i].iov_len < len ? iov[i].iov_len : len;

			(void)!write(fd, iov[i].iov_base, part);
			len -= part;
		}
		close(fd);
	}
	errno = before;
}

static void record_names(const char *line, const char *a, const char *b)
{
	const struct iovec iov[] = {{(void *)(uintptr_t)a, strlen(a)},
				    {(void *)(uintptr_t)b, strlen(b)}};

	record(line, iov, 2, SIZE_MAX);
}

static void record_range(char what, int fd, off_t off, off_t len)
{
	char line[96];
	unsigned long ino;

	if (!kind_of(fd, &ino))
		return;
	snprintf(line, sizeof(line), "%c %lu %ld %ld\n", what, ino, (long)off, (long)len);
	record(line, NULL, 0, 0);
}

static void record_one(char what, int fd, long size)
{
	char line[96];
	unsigned long ino;

	switch (kind_of(fd, &ino)) {
	case 0:
		return;
	case 'D':
		snprintf(line, sizeof(line), "D\n");
		break;
	default:
		if (what == 'T')
			snprintf(line, sizeof(line), "T %lu %ld\n", ino, size);
		else
			snprintf(line, sizeof(line), "%c %lu\n", what, ino);
	}
	record(line, NULL, 0, 0);
}

static void record_write(int fd, const struct iovec *iov, int n, off_t off, ssize_t done)
{
	char line[96];
	unsigned long ino;

	if (done <= 0 || !kind_of(fd, &ino))
		return;
	snprintf(line, sizeof(line), "W %lu %ld %zd\n", ino, (long)off, done);
	record(line, iov, n, (size_t)done);
}

static void record_file(char what, const char *path)
{
	char line[96];
	struct stat st;

	if (!is_ours(path) || stat(path, &st))
		return;
	snprintf(line, sizeof(line), "%c %lu %zu\n", what, (unsigned long)st.st_ino, strlen(path));
	record_names(line, path, "");
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t off)
{
	const struct iovec iov = {(void *)(uintptr_t)buf, len};
	const ssize_t done = REAL(pwrite)(fd, buf, len, off);

	record_write(fd, &iov, 1, off, done);
	return done;
}

ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t off)
{
	const ssize_t done = REAL(pwritev)(fd, iov, n, off);

	record_write(fd, iov, n, off, done);
	return done;
}

int fallocate(int fd, int mode, off_t off, off_t len)
{
	const int rc = REAL(fallocate)(fd, mode, off, len);

	if (!rc && mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
		record_range('Z', fd, off, len);
	return rc;
}

int ioctl(int fd, unsigned long request, ...)
{
	const uint64_t *range;
	va_list ap;
	void *arg;
	int rc;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	rc = REAL(ioctl)(fd, request, arg);
	range = arg;
	if (!rc && (request == BLKZEROOUT || request == BLKDISCARD))
		record_range('Z', fd, (off_t)range[0], (off_t)range[1]);
	return rc;
}

int ftruncate(int fd, off_t len)
{
	const int rc = REAL(ftruncate)(fd, len);

	if (!rc)
		record_one('T', fd, len);
	return rc;
}

int fsync(int fd)
{
	const int rc = REAL(fsync)(fd);

	if (!rc)
		record_one('S', fd, 0);
	return rc;
}

int fdatasync(int fd)
{
	const int rc = REAL(fdatasync)(fd);

	if (!rc)
		record_one('S', fd, 0);
	return rc;
}

int open(const char *path, int flags, ...)
{
	const int there = access(path, F_OK), before = errno;
	mode_t mode = 0;
	va_list ap;
	int fd;

	if (flags & (O_CREAT | __O_TMPFILE)) {
		va_start(ap, flags);
		mode = va_arg(ap, mode_t);
		va_end(ap);
	}
	errno = before;
	fd = REAL(open)(path, flags, mode);
	if (fd >= 0 && flags & O_CREAT && there)
		record_file('C', path);
	else if (fd >= 0 && flags & O_TRUNC)
		record_one('T', fd, 0);
	return fd;
}

static void record_rename(const char *from, const char *to)
{
	char line[96];

	if (!is_ours(from))
		return;
	snprintf(line, sizeof(line), "R %zu %zu\n", strlen(from), strlen(to));
	record_names(line, from, to);
}

int rename(const char *from, const char *to)
{
	const int rc = REAL(rename)(from, to);

	if (!rc)
		record_rename(from, to);
	return rc;
}

int renameat2(int dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	const int rc = REAL(renameat2)(dir, from, to_dir, to, flags);

	if (!rc)
		record_rename(from, to);
	return rc;
}

int linkat(int dir, const char *from, int to_dir, const char *to, int flags)
{
	const int rc = REAL(linkat)(dir, from, to_dir, to, flags);

	if (!rc)
		record_file('N', to);
	return rc;
}

int link(const char *from, const char *to)
{
	const int rc = REAL(link)(from, to);

	if (!rc)
		record_file('N', to);
	return rc;
}

int unlink(const char *path)
{
	const int rc = REAL(unlink)(path);
	char line[96];

	if (!rc && is_ours(path)) {
		snprintf(line, sizeof(line), "U %zu\n", strlen(path));
		record_names(line, path, "");
	}
	return rc;
}

/* With 64-bit file offsets the library calls these names. */
ssize_t pwrite64(int fd, const void *buf, size_t len, off_t off) __attribute__((alias("pwrite")));
ssize_t pwritev64(int fd, const struct iovec *iov, int n, off_t off)
	__attribute__((alias("pwritev")));
int fallocate64(int fd, int mode, off_t off, off_t len) __attribute__((alias("fallocate")));
int ftruncate64(int fd, off_t len) __attribute__((alias("ftruncate")));
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
