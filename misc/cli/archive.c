/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/archive.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/auto.h"
#include "cli/term.h"
#include "dev/archive.h"

void cli_archive_hint(const char *image)
{
	auto_fd int fd = open(image, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char head[XW_ARCHIVE_LOOK];
	const ssize_t n = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);
	const char *kind = n > 0 ? xw_archive_kind(head, (size_t)n) : NULL;

	if (kind)
		cli_hint("it is %s: xw-mkfs -d makes an image of an archive, xw-import adds one to "
			 "the IMAGE before it",
			 kind);
}
