/* SPDX-License-Identifier: MIT */
/* Loop devices: the way a regular file comes to be mounted. Linux tells of them in /sys/block. */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "dev/dev.h"

bool xw_dev_behind_loop(const char *path, char *loop, size_t size)
{
	auto_free char *real = realpath(path, NULL);
	DIR *d = opendir("/sys/block");
	const struct dirent *e;
	bool found = false;

	while (d && real && !found && (e = readdir(d))) {
		char name[PATH_MAX + 64], backing[PATH_MAX + 1];
		auto_fd int fd = -1;
		ssize_t n;

		if (strncmp(e->d_name, "loop", 4))
			continue;
		snprintf(name, sizeof(name), "/sys/block/%s/loop/backing_file", e->d_name);
		fd = open(name, O_RDONLY | O_CLOEXEC);
		n = fd >= 0 ? read(fd, backing, sizeof(backing) - 1) : -1;
		if (n <= 0)
			continue;
		backing[n] = 0;
		backing[strcspn(backing, "\n")] = 0;
		if (!strcmp(backing, real)) {
			snprintf(loop, size, "/dev/%.16s", e->d_name);
			found = true;
		}
	}
	if (d)
		closedir(d);
	return found;
}
