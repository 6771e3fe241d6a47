/* SPDX-License-Identifier: MIT */
/* The contents of a file in an image, on standard output:  read IMAGE PATH */
#include <stdio.h>
#include <xw.h>

static int copy(struct xw_fs *fs, const char *path)
{
	char buf[65536];
	struct xw_fs_stat st;
	uint64_t at = 0;
	int64_t n = xw_fs_stat(fs, path, 1, &st);

	if (!n)
		n = xw_fs_pread(fs, st.ino, at, buf, sizeof(buf));
	for (; n > 0; n = xw_fs_pread(fs, st.ino, at, buf, sizeof(buf))) {
		fwrite(buf, 1, (size_t)n, stdout);
		at += (uint64_t)n;
	}
	return (int)n;
}

int main(int argc, char **argv)
{
	struct xw_fs *fs;
	int rc = argc == 3 ? xw_fs_new(&fs) : XW_E_USAGE;

	if (rc)
		return 2;
	rc = xw_fs_open(fs, argv[1]);
	if (!rc)
		rc = copy(fs, argv[2]);
	if (rc)
		fprintf(stderr, "%s\n", xw_fs_error(fs));
	xw_fs_free(fs);
	return rc != 0 || fflush(stdout);
}
