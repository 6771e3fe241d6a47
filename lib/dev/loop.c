/* SPDX-License-Identifier: MIT */
/*
 * Loop devices: the way a regular file comes to be mounted. Linux tells of them in /sys/block.
 *
 * A file has many names: hard links, bind mounts, other mount namespaces, and none once it is
 * removed. So it is the file that is asked for, not a name: the loop device says which it has open.
 * Where it may not be asked, the name that /sys has for it is looked at, which is of whoever set
 * the device up.
 */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "dev/dev.h"

#define LEAVE_STEPS 40u
#define LEAVE_NS 10000000

/* 1: it has this file open; 0: it has not; -1: it does not say. */
static int ask_device(const char *loop, const struct stat *st)
{
	struct loop_info64 info = {0};
	auto_fd int fd = open(loop, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, LOOP_GET_STATUS64, &info))
		return -1;
	return info.lo_device == st->st_dev && info.lo_inode == st->st_ino;
}

/* The name of the file below a loop device, as /sys has it. */
static bool read_name(const char *dev, char name[PATH_MAX + 1])
{
	char path[NAME_MAX + 64];
	auto_fd int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/block/%s/loop/backing_file", dev);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, name, PATH_MAX) : -1;
	if (n <= 0)
		return false;
	name[n] = 0;
	name[strcspn(name, "\n")] = 0;
	return true;
}

/* Does that name lead to the file? Where it leads nowhere, is it the one that fd has? */
static bool is_named(const char *name, int fd, const struct stat *st)
{
	char proc[40], ours[PATH_MAX + 1];
	struct stat named;
	ssize_t n;

	if (!stat(name, &named))
		return named.st_dev == st->st_dev && named.st_ino == st->st_ino;
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	n = readlink(proc, ours, sizeof(ours) - 1);
	if (n < 0)
		return false;
	ours[n] = 0;
	return !strcmp(name, ours);
}

static bool find_loop(int fd, char *loop, size_t size)
{
	DIR *d = opendir("/sys/block");
	const struct dirent *e;
	bool found = false;
	struct stat st;

	while (d && !fstat(fd, &st) && S_ISREG(st.st_mode) && !found && (e = readdir(d))) {
		char name[PATH_MAX + 1];
		int says;

		if (strncmp(e->d_name, "loop", 4) || !read_name(e->d_name, name))
			continue;
		snprintf(loop, size, "/dev/%.16s", e->d_name);
		says = ask_device(loop, &st);
		found = says < 0 ? is_named(name, fd, &st) : says;
	}
	if (d)
		closedir(d);
	return found;
}

/* Whether the device lets go of its file when the last one closes it, as after umount(8). */
static bool is_temporary(const char *loop)
{
	char path[NAME_MAX + 64], answer = '0';
	auto_fd int fd = -1;

	snprintf(path, sizeof(path), "/sys/block/%s/loop/autoclear", loop + strlen("/dev/"));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, &answer, 1) == 1 && answer == '1';
}

bool xw_dev_behind_loop(int fd, char *loop, size_t size)
{
	const struct timespec step = {.tv_nsec = LEAVE_NS};

	/* who only looks at the device, as above, keeps it for a moment behind an umount */
	for (unsigned i = 0; find_loop(fd, loop, size); i++) {
		if (i == LEAVE_STEPS || !is_temporary(loop))
			return true;
		nanosleep(&step, NULL);
	}
	return false;
}
