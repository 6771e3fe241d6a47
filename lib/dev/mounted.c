// SPDX-License-Identifier: MIT
/*
 * Mounts are listed in /proc/self/mountinfo, swap space in /proc/swaps, and stacked devices (device
 * mapper, RAID) in the directory `holders` of the lower device in /sys. A program that has opened
 * the device with O_EXCL, as fsck and mkfs do, is listed nowhere; nor is a mount in another mount
 * namespace, or a filesystem that uses the device as its external journal.
 */
#include "config.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/auto.h"
#include "base/err.h"
#include "dev/mounted.h"

/* A line of /proc/self/mountinfo; see proc_pid_mountinfo(5). */
struct mount {
	dev_t dev;
	bool root; /* mounted at / */
	bool rdonly; /* the filesystem, not only this mount of it */
};

static bool parse(const char *line, struct mount *m)
{
	const char *tail = strstr(line, " - ");
	unsigned major, minor;
	char where[3];
	int super = 0;

	if (sscanf(line, "%*u %*u %u:%u %*s %2s", &major, &minor, where) != 3 || !tail)
		return false;
	m->dev = makedev(major, minor);
	m->root = !strcmp(where, "/");
	(void)sscanf(tail, " - %*s %*s %n", &super);
	tail += super;
	m->rdonly = super && !strncmp(tail, "ro", 2) && strchr(",\n", tail[2]);
	return true;
}

/* Is `part` a partition of the device? */
static bool is_partition(dev_t part, dev_t whole)
{
	char path[80];
	unsigned major, minor;
	FILE *f;
	bool same;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/../dev", major(part), minor(part));
	f = fopen(path, "re");
	if (!f)
		return false;
	same = fscanf(f, "%u:%u", &major, &minor) == 2 && makedev(major, minor) == whole;
	(void)fclose(f);
	return same;
}

/* *partition (may be NULL) is set to true if a partition of the device is mounted. */
static enum xw_mounted find_mount(dev_t dev, bool *partition)
{
	enum xw_mounted how = XW_NOT_MOUNTED;
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	auto_free char *line = NULL;
	struct mount m;
	size_t size = 0;

	while (mounts && how != XW_MOUNTED && getline(&line, &size, mounts) > 0) {
		if (!parse(line, &m))
			continue;
		if (m.dev != dev) {
			if (partition && !*partition)
				*partition = is_partition(m.dev, dev);
			continue;
		}
		if (!m.rdonly)
			how = XW_MOUNTED;
		else if (m.root || how == XW_MOUNTED_RDONLY_ROOT)
			how = XW_MOUNTED_RDONLY_ROOT;
		else
			how = XW_MOUNTED_RDONLY;
	}
	if (mounts)
		(void)fclose(mounts);
	return how;
}

enum xw_mounted xw_dev_mounted(const char *path)
{
	struct stat st;

	if (stat(path, &st) || !S_ISBLK(st.st_mode))
		return XW_NOT_MOUNTED;
	return find_mount(st.st_rdev, NULL);
}

/* The first device stacked on this one (device mapper, RAID). */
static bool find_holder(dev_t dev, char *name, size_t size)
{
	const struct dirent *e;
	bool found = false;
	char path[80];
	DIR *d;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/holders", major(dev), minor(dev));
	d = opendir(path);
	while (d && !found && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(name, size, "/dev/%.64s", e->d_name);
		found = true;
	}
	if (d)
		closedir(d);
	return found;
}

static bool is_swap(dev_t dev)
{
	FILE *swaps = fopen("/proc/swaps", "re");
	auto_free char *line = NULL;
	bool found = false;
	struct stat st;
	size_t size = 0;

	while (swaps && !found && getline(&line, &size, swaps) > 0) {
		line[strcspn(line, " \t\n")] = 0;
		found = *line == '/' && !stat(line, &st) && S_ISBLK(st.st_mode) &&
			st.st_rdev == dev;
	}
	if (swaps)
		(void)fclose(swaps);
	return found;
}

int xw_dev_fail_busy(struct xw_diag *diag, const char *path)
{
	bool partition = false;
	char holder[80];
	struct stat st;

	if (stat(path, &st))
		return xw_fail(diag, XW_ERR_BUSY, "%s is in use", path);
	if (find_mount(st.st_rdev, &partition) != XW_NOT_MOUNTED)
		return xw_fail(diag, XW_ERR_BUSY, "%s is mounted; unmount it first", path);
	if (partition)
		return xw_fail(diag, XW_ERR_BUSY, "%s is in use: a partition of it is mounted",
			       path);
	if (find_holder(st.st_rdev, holder, sizeof(holder)))
		return xw_fail(diag, XW_ERR_BUSY, "%s is in use by %s", path, holder);
	if (is_swap(st.st_rdev))
		return xw_fail(diag, XW_ERR_BUSY, "%s is in use as swap space", path);
	return xw_fail(diag, XW_ERR_BUSY,
		       "%s is in use by another program, or by a filesystem mounted elsewhere",
		       path);
}
