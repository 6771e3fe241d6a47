// SPDX-License-Identifier: MIT
/*
 * Recognizes what is neither an image nor, for the most part, an archive. Many filesystems begin
 * with zeros, which mark the end of a tar archive: nothing would be imported, without any message.
 * Others match no format of libarchive, or one for which it would run a program.
 */
#include "config.h"

#include "disk/foreign.h"

#include <string.h>

#include "base/endian.h"
#include "disk/super.h"

#define SUPER_AT 1024u

#define OTHER XW_FOREIGN_OTHER
#define ARCHIVE XW_FOREIGN_ARCHIVE
#define COMPRESSED XW_FOREIGN_COMPRESSED
#define QEMU "'qemu-img convert -O raw FILE RAW' converts it"

/*
 * The order matters: an ISO 9660 image may contain other structures as well, and a disk image a
 * partition table.
 */
static const struct xw_foreign kinds[] = {
	{32769, 5, ARCHIVE, "CD001", "an ISO 9660 image", NULL},
	{0, 4, OTHER, "LRZI", "a file of lrzip (decompress it first)", NULL},
	{0, 7, OTHER, "GRZipII", "a file of grzip (decompress it first)", NULL},
	{0, 9, OTHER, "\x89LZO\0\r\n\x1a\n", "a file of lzop (decompress it first)", NULL},
	{0, 2, COMPRESSED, "\x1f\x8b", "gzip data", NULL},
	{0, 6, COMPRESSED, "\xfd\67zXZ", "xz data", NULL},
	{0, 4, COMPRESSED, "\x28\xb5\x2f\xfd", "zstd data", NULL},
	{0, 3, COMPRESSED, "BZh", "bzip2 data", NULL},
	{0, 4, COMPRESSED, "\x04\x22\x4d\x18", "lz4 data", NULL},
	{0, 4, ARCHIVE, "PK\3\4", "a zip archive", NULL},
	{0, 6, ARCHIVE, "7z\xbc\xaf\x27\x1c", "a 7z archive", NULL},
	{0, 5, ARCHIVE, "07070", "a cpio archive", NULL},
	{257, 5, ARCHIVE, "ustar", "a tar archive", NULL},
	{0, 6, OTHER, "#mtree", "an mtree specification, whose files are elsewhere",
	 "convert it with 'bsdtar -cf - @FILE'"},

	{0, 4, OTHER, "QFI\xfb", "a qcow2 image", QEMU},
	{0, 4, OTHER, "QED", "a QED image", QEMU},
	{0, 4, OTHER, "KDMV", "a VMDK image", QEMU},
	{0, 4, OTHER, "COWD", "a VMDK image", QEMU},
	{0, 21, OTHER, "# Disk DescriptorFile", "the description of a VMDK image", QEMU},
	{64, 4, OTHER, "\x7f\x10\xda\xbe", "a VDI image (VirtualBox)", QEMU},
	{0, 8, OTHER, "vhdxfile", "a VHDX image", QEMU},
	{0, 8, OTHER, "conectix", "a VHD image", QEMU},
	{0, 16, OTHER, "WithoutFreeSpace", "a Parallels image", QEMU},
	{0, 16, OTHER, "WithouFreSpacExt", "a Parallels image", QEMU},
	{0, 4, OTHER, "\x3a\xff\x26\xed", "an Android sparse image",
	 "'simg2img FILE RAW' converts it"},
	{0, 6, OTHER, "LUKS\xba\xbe", "an encrypted (LUKS) image",
	 "'cryptsetup open FILE NAME' opens it as /dev/mapper/NAME"},
	{3, 8, OTHER, "-FVE-FS-", "an encrypted (BitLocker) image",
	 "'cryptsetup open --type bitlk FILE NAME' opens it as /dev/mapper/NAME"},
	{536, 8, OTHER, "LVM2 001", "a physical volume of LVM",
	 "'vgchange -ay' provides its logical volumes, also after 'losetup -f FILE'"},
	{0, 4, OTHER, "\xfc\x4e\x2b\xa9", "a member of an md array",
	 "'mdadm --assemble' provides the array"},
	{4096, 4, OTHER, "\xfc\x4e\x2b\xa9", "a member of an md array",
	 "'mdadm --assemble' provides the array"},
	{0, 4, OTHER, "UBI#", "a UBI image", NULL},

	{0, 4, OTHER, "hsqs", "a squashfs image",
	 "'unsquashfs FILE' unpacks it, or 'sqfs2tar FILE' for a pipe to xw-mkfs -d -"},
	{0, 4, OTHER, "sqsh", "a squashfs image", NULL},
	{0, 4, OTHER, "XFSB", "an XFS image", NULL},
	{0, 4, OTHER, "\x45\x3d\xcd\x28", "a cramfs image", NULL},
	{0, 8, OTHER, "-rom1fs-", "a romfs image", NULL},
	{0, 4, OTHER, "\x31\x18\x10\x06", "a UBIFS image", NULL},
	{3, 8, OTHER, "NTFS    ", "an NTFS image", NULL},
	{3, 8, OTHER, "EXFAT   ", "an exFAT image", NULL},
	{54, 5, OTHER, "FAT12", "a FAT image", NULL},
	{54, 5, OTHER, "FAT16", "a FAT image", NULL},
	{82, 5, OTHER, "FAT32", "a FAT image", NULL},
	{32, 4, OTHER, "NXSB", "an APFS image", NULL},
	{1024, 4, OTHER, "\xe2\xe1\xf5\xe0", "an EROFS image",
	 "'fsck.erofs --extract=DIR FILE' unpacks it"},
	{1024, 4, OTHER, "\x10\x20\xf5\xf2", "an F2FS image", NULL},
	{4086, 10, OTHER, "SWAPSPACE2", "a swap image", NULL},
	{32768, 4, OTHER, "JFS1", "a JFS image", NULL},
	{65588, 8, OTHER, "ReIsErFs", "a ReiserFS image", NULL},
	{65588, 9, OTHER, "ReIsEr2Fs", "a ReiserFS image", NULL},
	{65600, 8, OTHER, "_BHRfS_M", "a Btrfs image", NULL},
	{512, 8, OTHER, "EFI PART", "a disk image with partitions", NULL},
	{4096, 8, OTHER, "EFI PART", "a disk image with partitions", NULL},
};

const struct xw_foreign *xw_foreign_find(const void *p, size_t len)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(kinds); i++)
		if (len >= kinds[i].at + kinds[i].len &&
		    !memcmp((const uint8_t *)p + kinds[i].at, kinds[i].magic, kinds[i].len))
			return &kinds[i];
	return NULL;
}

static uint32_t at32(const uint8_t *p, size_t off)
{
	return peek32(p + off);
}

/* A magic of 16 bits is weak evidence: other fields must be plausible, too. */
static const char *extended(const uint8_t *p)
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

const char *xw_foreign_ext(const void *p, size_t len)
{
	return len >= SUPER_AT + 1024 ? extended((const uint8_t *)p + SUPER_AT) : NULL;
}
