/* SPDX-License-Identifier: MIT */
/* All names in an image: mode, size, inode and path of each:  list IMAGE */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <xw.h>

struct dir {
	struct xw_fs *fs;
	unsigned char *seen; /* a bit for each inode: a damaged image may have circles */
	const char *path;
};

static int print_name(void *arg, const struct xw_fs_name *n)
{
	const struct dir *up = arg;
	struct xw_fs_stat st;
	char path[4096];
	struct dir d = {up->fs, up->seen, path};

	if (snprintf(path, sizeof(path), "%s/%s", up->path, n->name) >= (int)sizeof(path))
		return 0;
	if (xw_fs_stat_ino(up->fs, n->ino, &st)) {
		fprintf(stderr, "%s: %s\n", path, xw_fs_error(up->fs));
		return 0;
	}
	printf("%06" PRIo32 " %" PRIu64 " %" PRIu32 " %s\n", st.mode, st.size, st.ino, path);
	if (!S_ISDIR(st.mode) || up->seen[st.ino / 8] >> st.ino % 8 & 1)
		return 0;
	up->seen[st.ino / 8] |= 1 << st.ino % 8;
	if (xw_fs_list(up->fs, st.ino, print_name, &d))
		fprintf(stderr, "%s: %s\n", path, xw_fs_error(up->fs));
	return 0;
}

int main(int argc, char **argv)
{
	struct dir root = {.path = ""};
	int rc = argc == 2 ? xw_fs_new(&root.fs) : XW_E_USAGE;

	if (rc)
		return 2;
	rc = xw_fs_open(root.fs, argv[1]);
	if (!rc)
		root.seen = calloc(xw_fs_info(root.fs)->inodes / 8 + 1, 1);
	if (root.seen)
		rc = xw_fs_list(root.fs, 2, print_name, &root); /* 2: the root directory */
	if (rc)
		fprintf(stderr, "%s\n", xw_fs_error(root.fs));
	free(root.seen);
	xw_fs_free(root.fs);
	return rc != 0;
}
