/* SPDX-License-Identifier: MIT */
/*
 * Preloaded by tests of bad blocks: a medium with bad blocks. Reads and writes of descriptors
 * above standard error that touch one of the blocks in XW_BAD_BLOCKS ("17,18,4000", of XW_BAD_SIZE
 * bytes) fail with EIO. Files up to 1 MiB are sources, and good.
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* With XW_BAD_HEAL a bad block can be written, and be read from then on, as a medium does that has
 * spare blocks. */
static unsigned long long healed[64];
static size_t n_healed;

static bool is_healed(unsigned long long blk, bool writes)
{
	for (size_t i = 0; i < n_healed; i++)
		if (healed[i] == blk)
			return true;
	if (!writes || !getenv("XW_BAD_HEAL") || n_healed == sizeof(healed) / sizeof(*healed))
		return false;
	healed[n_healed++] = blk;
	return true;
}

static bool touches_bad(int fd, off_t off, size_t len, bool writes)
{
	const char *list = getenv("XW_BAD_BLOCKS"), *size = getenv("XW_BAD_SIZE");
	unsigned long long bs = size ? strtoull(size, NULL, 10) : 0;
	unsigned long long from = (unsigned long long)off, to = from + len;
	struct stat st;

	if (!list || !bs || fd <= 2 || fstat(fd, &st) ||
	    (S_ISREG(st.st_mode) && st.st_size <= 1 << 20))
		return false;
	while (*list) {
		char *end;
		unsigned long long blk = strtoull(list, &end, 10);

		if (end == list)
			break;
		if (blk * bs < to && from < (blk + 1) * bs && !is_healed(blk, writes))
			return true;
		list = end + (*end == ',');
	}
	return false;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define FAIL_IF_BAD(fd, off, len, writes)                                                          \
	do {                                                                                       \
		if (touches_bad(fd, off, len, writes)) {                                           \
			errno = EIO;                                                               \
			return -1;                                                                 \
		}                                                                                  \
	} while (0)

static size_t total(const struct iovec *iov, int n)
{
	size_t len = 0;

	for (int i = 0; i < n; i++)
		len += iov[i].iov_len;
	return len;
}

ssize_t pread(int fd, void *buf, size_t len, off_t off)
{
	FAIL_IF_BAD(fd, off, len, false);
	return REAL(pread)(fd, buf, len, off);
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t off)
{
	FAIL_IF_BAD(fd, off, len, true);
	return REAL(pwrite)(fd, buf, len, off);
}

ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t off)
{
	FAIL_IF_BAD(fd, off, total(iov, n), true);
	return REAL(pwritev)(fd, iov, n, off);
}

/* As libblkid reads. */
ssize_t read(int fd, void *buf, size_t len)
{
	const off_t off = lseek(fd, 0, SEEK_CUR);

	if (off >= 0)
		FAIL_IF_BAD(fd, off, len, false);
	return REAL(read)(fd, buf, len);
}

ssize_t pread64(int fd, void *buf, size_t len, off_t off) __attribute__((alias("pread")));
ssize_t pwrite64(int fd, const void *buf, size_t len, off_t off) __attribute__((alias("pwrite")));
ssize_t pwritev64(int fd, const struct iovec *iov, int n, off_t off)
	__attribute__((alias("pwritev")));
