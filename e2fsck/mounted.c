// SPDX-License-Identifier: MIT
/*
 * A device that is mounted read-only, as the root filesystem is when a boot script checks it. As
 * e2fsck(8), it is repaired if it is the root filesystem, or with -f.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/auto.h"
#include "tool.h"

/* A line of /proc/self/mountinfo; see proc_pid_mountinfo(5). */
struct mount {
	unsigned major, minor;
	bool root; /* mounted at / */
	bool rdonly; /* the filesystem, not only this mount of it */
};

static bool parse(const char *line, struct mount *m)
{
	const char *tail = strstr(line, " - ");
	char where[3];
	int super = 0;

	if (sscanf(line, "%*u %*u %u:%u %*s %2s", &m->major, &m->minor, where) != 3 || !tail)
		return false;
	m->root = !strcmp(where, "/");
	(void)sscanf(tail, " - %*s %*s %n", &super);
	tail += super;
	m->rdonly = super && !strncmp(tail, "ro", 2) && strchr(",\n", tail[2]);
	return true;
}

enum fsck_mounted fsck_mounted(const char *image)
{
	enum fsck_mounted how = FSCK_NOT_MOUNTED;
	auto_free char *line = NULL;
	FILE *mounts = NULL;
	struct mount m;
	struct stat st;
	size_t size = 0;

	if (stat(image, &st) || !S_ISBLK(st.st_mode))
		return how;
	mounts = fopen("/proc/self/mountinfo", "re");
	while (mounts && getline(&line, &size, mounts) > 0) {
		if (!parse(line, &m) || makedev(m.major, m.minor) != st.st_rdev)
			continue;
		if (!m.rdonly) {
			how = FSCK_MOUNTED;
			break;
		}
		how = m.root || how == FSCK_RDONLY_ROOT ? FSCK_RDONLY_ROOT : FSCK_RDONLY;
	}
	if (mounts)
		(void)fclose(mounts);
	return how;
}
