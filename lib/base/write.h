/* SPDX-License-Identifier: MIT */
/* Write a whole buffer to a file other than an image; short writes and EINTR are retried. */
#ifndef XW_BASE_WRITE_H
#define XW_BASE_WRITE_H

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

/* Write len bytes of buf at the file's position. 0, or the errno of the write that failed. */
static inline int xw_write_all(int fd, const void *buf, size_t len)
{
	const char *p = buf;

	while (len) {
		const ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

#endif
