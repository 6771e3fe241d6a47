/* SPDX-License-Identifier: MIT */
/*
 * image_sums STAMP: checksums, by cksum(1), of the images in the current directory whose status has
 * changed since the last call with the same stamp file. An image is a regular file of up to 64 MiB
 * whose superblock has the UUID 01234567-89ab-cdef-0123-456789abcdef. For tests/cli/transcripts.sh,
 * which asks after every command of a tool: one process instead of a pipeline.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UUID_OFFSET (1024 + 104)
#define MAX_SIZE (64 << 20)

static struct timespec since;

/* Is A not earlier than B? Timestamps are coarse: a later change may have the time of the stamp. */
static bool not_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec >= b->tv_nsec;
}

static int is_changed_image(const struct dirent *e)
{
	static const uint8_t uuid[16] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
					 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
	uint8_t found[sizeof(uuid)];
	struct stat st;
	int fd;
	bool same;

	if (lstat(e->d_name, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 1024 ||
	    st.st_size > MAX_SIZE || !not_before(&st.st_ctim, &since))
		return 0;
	fd = open(e->d_name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	same = pread(fd, found, sizeof(found), UUID_OFFSET) == (ssize_t)sizeof(found) &&
	       memcmp(found, uuid, sizeof(uuid)) == 0;
	close(fd);
	return same;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int main(int argc, char **argv)
{
	struct dirent **list;
	struct stat st;
	char **args;
	int fd, n;

	if (argc != 2)
		return 2;
	/* Set before reading, so that files which change meanwhile are read again next time. */
	fd = open(argv[1], O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 || fstat(fd, &st) != 0 || write(fd, "\n", 1) != 1 || futimens(fd, NULL) != 0) {
		perror(argv[1]);
		return 1;
	}
	close(fd);
	if (st.st_size > 0) /* not the first call */
		since = st.st_mtim;
	n = scandir(".", &list, is_changed_image, by_bytes);
	if (n <= 0)
		return n < 0;
	args = calloc((size_t)n + 3, sizeof(*args));
	if (!args)
		return 1;
	args[0] = (char[]){"cksum"};
	args[1] = (char[]){"--"};
	for (int i = 0; i < n; i++)
		args[i + 2] = list[i]->d_name;
	execvp(args[0], args);
	perror(args[0]);
	return 1;
}
