/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "dev/archive.h"

#include <string.h>

#include "base/types.h"

static const struct {
	unsigned at, len;
	const char *magic, *what;
} kinds[] = {
	{0, 2, "\x1f\x8b", "gzip data"},
	{0, 6,
	 "\xfd"
	 "7zXZ",
	 "xz data"},
	{0, 4, "\x28\xb5\x2f\xfd", "zstd data"},
	{0, 3, "BZh", "bzip2 data"},
	{0, 4, "\x04\x22\x4d\x18", "lz4 data"},
	{0, 4, "PK\3\4", "a zip archive"},
	{0, 6, "7z\xbc\xaf\x27\x1c", "a 7z archive"},
	{0, 5, "07070", "a cpio archive"},
	{257, 5, "ustar", "a tar archive"},
};

const char *xw_archive_kind(const void *buf, size_t len)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(kinds); i++)
		if (kinds[i].at + kinds[i].len <= len &&
		    !memcmp((const char *)buf + kinds[i].at, kinds[i].magic, kinds[i].len))
			return kinds[i].what;
	return NULL;
}
