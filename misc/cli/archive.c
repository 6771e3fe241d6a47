/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "cli/archive.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "cli/term.h"

static const struct {
	unsigned at, len;
	const char *magic, *what;
} kinds[] = {
	{257, 5, "ustar", "a tar archive"},
	{0, 4, "0707", "a cpio archive"},
	{0, 4, "PK\3\4", "a zip archive"},
	{0, 3, "\x1f\x8b\x08", "compressed by gzip"},
	{0, 3, "BZh", "compressed by bzip2"},
	{0, 6,
	 "\xFD"
	 "7zXZ",
	 "compressed by xz"},
	{0, 4, "\x28\xB5\x2F\xFD", "compressed by zstd"},
	{0, 4, "\x04\x22\x4D\x18", "compressed by lz4"},
};

void cli_archive_hint(const char *image)
{
	const int fd = open(image, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char head[512] = "";
	const ssize_t n = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);

	if (fd >= 0)
		close(fd);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && n > 0; i++) {
		if (memcmp(head + kinds[i].at, kinds[i].magic, kinds[i].len))
			continue;
		cli_hint("it is %s: xw-mkfs -d makes an image of an archive, xw-import adds one to "
			 "the IMAGE before it",
			 kinds[i].what);
		return;
	}
}
