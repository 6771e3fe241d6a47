/* SPDX-License-Identifier: MIT */
/*
 * Loop devices, through which a regular file can be mounted. Linux lists them in /sys/block.
 *
 * A file can have many names (hard links, bind mounts, other mount namespaces), or none once it is
 * removed, so files are compared by inode, which the loop device reports. Without permission to
 * query the device, the name of its backing file in /sys is compared. With many loop devices this
 * takes longer than the check of a small image; it is not needed under a write lease (hold.c).
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

/* Is the loop device attached to this file? 1: yes; 0: no; -1: unknown. */
static int is_attached(const char *loop, const struct stat *st)
{
	struct loop_info64 info = {0};
	auto_fd int fd = open(loop, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, LOOP_GET_STATUS64, &info))
		return -1;
	return info.lo_device == st->st_dev && info.lo_inode == st->st_ino;
}

/* The name of the backing file of a loop device, from /sys. */
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

/* Does the name refer to the file? If the name does not exist, is it the last name of fd? */
static bool is_named(const char *name, int fd, const struct stat *st)
{
	auto_free char *ours = NULL;
	struct stat named;
	char proc[40];
	ssize_t n;

	if (!stat(name, &named))
		return named.st_dev == st->st_dev && named.st_ino == st->st_ino;
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	ours = malloc(PATH_MAX);
	n = ours ? readlink(proc, ours, PATH_MAX) : -1;
	return n >= 0 && (size_t)n == strlen(name) && !memcmp(name, ours, (size_t)n);
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
		says = is_attached(loop, &st);
		found = says < 0 ? is_named(name, fd, &st) : says;
	}
	if (d)
		closedir(d);
	return found;
}

/* Does the device detach from its file on last close, as after umount(8)? */
static bool is_temporary(const char *loop)
{
	char path[NAME_MAX + 64], answer = '0';
	auto_fd int fd = -1;

	snprintf(path, sizeof(path), "/sys/block/%s/loop/autoclear", loop + strlen("/dev/"));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, &answer, 1) == 1 && answer == '1';
}

bool xw_dev_backs_loop(int fd, char *loop, size_t size)
{
	const struct timespec step = {.tv_nsec = LEAVE_NS};

	/* Under a write lease, no other process has the file open. */
	if (fcntl(fd, F_GETLEASE) == F_WRLCK)
		return false;
	/* After umount, a process that queries the device keeps it attached for a moment. */
	for (unsigned i = 0; find_loop(fd, loop, size); i++) {
		if (i == LEAVE_STEPS || !is_temporary(loop))
			return true;
		nanosleep(&step, NULL);
	}
	return false;
}
