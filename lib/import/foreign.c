// SPDX-License-Identifier: MIT
/*
 * Recognizes filesystem images, which are not archives. Many begin with zeros, which mark the end
 * of a tar archive: nothing would be imported, without any message. Others match no format of
 * libarchive, or one for which it would run a program (libarchive.c).
 */
#include "config.h"

#include "import/foreign.h"

#include <string.h>

#include "base/endian.h"
#include "disk/super.h"

#define SUPER_AT 1024u

static const struct {
	uint32_t at;
	uint8_t len;
	const char *magic, *what;
} magics[] = {
	{0, 4, "LRZI", "a file of lrzip (decompress it first)"},
	{0, 7, "GRZipII", "a file of grzip (decompress it first)"},
	{0, 9, "\x89LZO\0\r\n\x1a\n", "a file of lzop (decompress it first)"},
	{0, 4, "hsqs", "a squashfs image"},
	{0, 4, "sqsh", "a squashfs image"},
	{0, 4, "XFSB", "an XFS image"},
	{0, 4, "\x45\x3d\xcd\x28", "a cramfs image"},
	{0, 8, "-rom1fs-", "a romfs image"},
	{0, 6, "LUKS\xba\xbe", "an encrypted (LUKS) image"},
	{0, 4, "QFI\xfb", "a qcow2 image"},
	{3, 8, "NTFS    ", "an NTFS image"},
	{3, 8, "EXFAT   ", "an exFAT image"},
	{54, 5, "FAT12", "a FAT image"},
	{54, 5, "FAT16", "a FAT image"},
	{82, 5, "FAT32", "a FAT image"},
	{512, 8, "EFI PART", "a disk image with partitions"},
	{1024, 4, "\xe2\xe1\xf5\xe0", "an EROFS image"},
	{1024, 4, "\x10\x20\xf5\xf2", "an F2FS image"},
	{0, 6, "#mtree", "an mtree specification, whose files are elsewhere"},
	{4086, 10, "SWAPSPACE2", "a swap image"},
	{65600, 8, "_BHRfS_M", "a Btrfs image"},
};

static uint32_t at32(const unsigned char *p, size_t off)
{
	return get32(*(const le32 *)(p + off));
}

/* A magic of 16 bits is weak evidence: other fields must be plausible, too. */
static const char *extended(const unsigned char *p)
{
	const uint32_t compat = at32(p, 92), incompat = at32(p, 96), ro = at32(p, 100);
	const uint32_t ext3_ro = XW_RO_SPARSE_SUPER | XW_RO_LARGE_FILE;

	if ((at32(p, 56) & 0xFFFF) != XW_SUPER_MAGIC || !at32(p, 0) || !at32(p, 32) ||
	    at32(p, 24) > 6 || at32(p, 76) > 1)
		return NULL;
	if (incompat & XW_INCOMPAT_JOURNAL_DEV)
		return "a journal of ext4";
	if (at32(p, 76) &&
	    (incompat & ~(XW_INCOMPAT_FILETYPE | XW_INCOMPAT_RECOVER | XW_INCOMPAT_META_BG) ||
	     ro & ~ext3_ro))
		return "an ext4 image";
	return at32(p, 76) && compat & XW_COMPAT_HAS_JOURNAL ? "an ext3 image" : "an ext2 image";
}

const char *xw_foreign_kind(const unsigned char *p, size_t len)
{
	/* an ISO 9660 image may contain other structures as well */
	if (len >= 32774 && !memcmp(p + 32769, "CD001", 5))
		return NULL;
	for (size_t i = 0; i < XW_ARRAY_SIZE(magics); i++)
		if (len >= magics[i].at + magics[i].len &&
		    !memcmp(p + magics[i].at, magics[i].magic, magics[i].len))
			return magics[i].what;
	return len >= SUPER_AT + 1024 ? extended(p + SUPER_AT) : NULL;
}
