/* SPDX-License-Identifier: MIT */
/* Tests put files below TMPDIR, where runtests finds and removes the files of a killed test. */
#ifndef XW_TESTS_UNIT_TMP_H
#define XW_TESTS_UNIT_TMP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A template for mkdtemp() or mkstemp(): $TMPDIR/NAME.XXXXXX, or /tmp/NAME.XXXXXX if TMPDIR is not
 * set or too long for `size` bytes.
 */
static inline char *tmp_template(char *path, size_t size, const char *name)
{
	const char *dir = getenv("TMPDIR");

	if (!dir || strlen(dir) + strlen(name) + sizeof("/.XXXXXX") > size)
		dir = "/tmp";
	snprintf(path, size, "%s/%s.XXXXXX", dir, name);
	return path;
}

#endif
