/* SPDX-License-Identifier: MIT */
/* An image of an archive that the program reads itself:  source_cb IMAGE SIZE <ARCHIVE */
#include <stdio.h>
#include <xw.h>

/* Here a file; a socket, a decoder or a generator would do as well. */
static int64_t read_file(void *arg, void *buf, size_t len)
{
	const size_t n = fread(buf, 1, len, arg);

	return ferror(arg) ? -1 : (int64_t)n;
}

int main(int argc, char **argv)
{
	struct xw_mkfs *m;
	int rc = argc == 3 ? xw_mkfs_new(&m) : XW_E_USAGE;

	if (rc)
		return 2;
	rc = xw_mkfs_set(m, "SIZE", argv[2]);
	if (!rc)
		rc = xw_mkfs_add_source_cb(m, read_file, stdin, "the archive");
	if (!rc)
		rc = xw_mkfs_run(m, argv[1]);
	if (rc)
		fprintf(stderr, "%s\n", xw_mkfs_error(m));
	else
		printf("%d files\n", (int)xw_mkfs_result(m)->files);
	xw_mkfs_free(m);
	return rc != 0;
}
