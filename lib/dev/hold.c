/* SPDX-License-Identifier: MIT */
/*
 * Exclusive use of an open file, and reading past the page cache.
 *
 * Regular files: a write lease, fcntl(2). The lease is granted only while no other process has the
 * file open. While it is held, open(2) and truncate(2) in other processes, including those of a
 * loop device, block for at most /proc/sys/fs/lease-break-time (45 seconds); with O_NONBLOCK they
 * fail instead. The lease is not granted on filesystems without leases (some network filesystems),
 * nor to a process that neither owns the file nor has CAP_LEASE.
 *
 * The kernel signals a waiting process to the holder, by default with SIGIO, which would kill it.
 * SIGURG, which is ignored by default, is set instead, each time the lease is taken.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/fs.h>

#include "base/auto.h"
#include "dev/file.h"

#define DIRECT_ALIGN 4096u
#define DIRECT_MAX (64u << 10)

bool xw_dev_lease(int fd, enum xw_dev_hold what)
{
	const bool held = fcntl(fd, F_GETLEASE) == F_WRLCK;

	if (what == XW_HOLD_ACQUIRE && !held)
		return !fcntl(fd, F_SETSIG, SIGURG) && !fcntl(fd, F_SETLEASE, F_WRLCK) &&
		       fcntl(fd, F_GETLEASE) == F_WRLCK;
	if (what == XW_HOLD_RELEASE)
		(void)fcntl(fd, F_SETLEASE, F_UNLCK);
	return held && what != XW_HOLD_RELEASE;
}

/* Read all sectors that the range touches, in one aligned read. */
bool xw_dev_read_direct(int fd, void *buf, size_t len, uint64_t off)
{
	auto_free uint8_t *page = NULL;
	auto_fd int direct = -1;
	char path[40];
	int sector = 512;
	uint64_t from;
	size_t span;
	ssize_t n;

	if (ioctl(fd, BLKSSZGET, &sector) || sector < 512 || (unsigned)sector > DIRECT_ALIGN)
		return false;
	from = off & ~((uint64_t)sector - 1);
	span = (size_t)((off + len - from + (unsigned)sector - 1) & ~((uint64_t)sector - 1));
	if (len > DIRECT_MAX ||
	    !(page = aligned_alloc(DIRECT_ALIGN, DIRECT_MAX + DIRECT_ALIGN * 2)))
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	direct = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	do
		n = direct >= 0 ? pread(direct, page, span, (off_t)from) : -1;
	while (n < 0 && direct >= 0 && errno == EINTR);
	if (n != (ssize_t)span)
		return false;
	memcpy(buf, page + (off - from), len);
	return true;
}
