/* SPDX-License-Identifier: MIT */
#include "config.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/bytes.h"
#include "commit/location.h"

/* Linux 5.15 and later: a unique number of each disk, and of each backing file of a loop device. */
#ifndef BLKGETDISKSEQ
#define BLKGETDISKSEQ _IOR(0x12, 128, uint64_t)
#endif

static bool read_boot_id(uint8_t out[16])
{
	auto_fd int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	static const char digits[] = "0123456789abcdef";
	char text[64];
	const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	size_t have = 0;

	memset(out, 0, 16);
	for (ssize_t i = 0; i < n && have < 32; i++) {
		const char *at = isxdigit((unsigned char)text[i]) ? strchr(digits, text[i]) : NULL;

		if (at)
			out[have / 2] = (uint8_t)(out[have / 2] << 4 | (at - digits));
		have += at != NULL;
	}
	return have == 32;
}

/* Read the first line of a file. */
static bool read_line(const char *path, char *out, size_t size)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	out[n > 0 ? n : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return *out;
}

static bool find_disk(int fd, const struct statx *st, struct xw_redo_location *out)
{
	out->device = makedev(st->stx_rdev_major, st->stx_rdev_minor);
	return !ioctl(fd, BLKGETDISKSEQ, &out->number) && out->number;
}

/* Inode numbers are reused; inode number and creation time together are unique. */
static bool find_file(const struct statx *st, struct xw_redo_location *out)
{
	out->device = makedev(st->stx_dev_major, st->stx_dev_minor);
	out->number = st->stx_ino;
	out->born = (uint64_t)st->stx_btime.tv_sec * 1000000000u + st->stx_btime.tv_nsec;
	return st->stx_mask & STATX_BTIME && out->born;
}

/* A loop device, or a partition of one, is identified by its backing file, even if reattached. */
static bool find_loop(int fd, const struct statx *st, struct xw_redo_location *out)
{
	struct loop_info64 info = {0};
	struct xw_redo_location found = {0};
	char path[80], text[PATH_MAX + 1];
	uint64_t start = 0;
	struct statx file;
	int end;

	end = snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/", st->stx_rdev_major,
		       st->stx_rdev_minor);
	strcpy(path + end, "start");
	if (read_line(path, text, sizeof(text))) {
		start = strtoull(text, NULL, 10) * 512;
		end += sprintf(path + end, "../");
	}
	strcpy(path + end, "loop/backing_file");
	if (!read_line(path, text, sizeof(text)) || ioctl(fd, LOOP_GET_STATUS64, &info) ||
	    statx(AT_FDCWD, text, 0, STATX_BASIC_STATS | STATX_BTIME, &file) ||
	    !find_file(&file, &found) || found.device != info.lo_device ||
	    found.number != info.lo_inode)
		return false;
	found.offset = out->offset + start + info.lo_offset;
	*out = found;
	return true;
}

void xw_redo_location_of(const char *path, uint64_t offset, struct xw_redo_location *out)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct statx st;
	bool known;

	*out = (struct xw_redo_location){.offset = offset};
	known = fd >= 0 && !statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st) &&
		(S_ISBLK(st.stx_mode) ? find_loop(fd, &st, out) || find_disk(fd, &st, out)
				      : find_file(&st, out)) &&
		read_boot_id(out->boot);
	if (!known)
		*out = (struct xw_redo_location){0};
}

static bool is_known(const struct xw_redo_location *p)
{
	return !xw_all_zero(p->boot, sizeof(p->boot));
}

static bool is_of_boot(const struct xw_redo_location *a, const struct xw_redo_location *b)
{
	return !memcmp(a->boot, b->boot, sizeof(a->boot));
}

bool xw_redo_location_same(const struct xw_redo_location *a, const struct xw_redo_location *b)
{
	return is_known(a) && is_of_boot(a, b) && a->device == b->device &&
	       a->number == b->number && a->born == b->born && a->offset == b->offset;
}

bool xw_redo_location_differs(const struct xw_redo_location *a, const struct xw_redo_location *b)
{
	if (!is_known(a) || !is_known(b))
		return false;
	if (is_of_boot(a, b))
		return !xw_redo_location_same(a, b);
	return a->born && b->born && (a->born != b->born || a->offset != b->offset);
}
