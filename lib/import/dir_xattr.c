/* SPDX-License-Identifier: MIT */
/*
 * Extended attributes of host files.
 *
 * Open files are accessed by descriptor. Symlinks, devices, FIFOs and sockets are not opened, but
 * accessed by name through /proc/self/fd, which keeps the path short at any depth.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "base/vec.h"
#include "import/dir.h"

#define VALUE_MAX ((size_t)64 << 10) /* XATTR_SIZE_MAX */

static ssize_t list(int fd, const char *path, char *buf, size_t cap)
{
	return path ? llistxattr(path, buf, cap) : flistxattr(fd, buf, cap);
}

static bool kept(const char *name)
{
	return !strncmp(name, "user.", 5) || !strncmp(name, "trusted.", 8) ||
	       !strncmp(name, "security.", 9) || !strcmp(name, "system.posix_acl_access") ||
	       !strcmp(name, "system.posix_acl_default");
}

static int grow(char **p, size_t *cap, size_t want)
{
	return xw_vec_reserve_((void **)p, cap, want, 1) ? ENOMEM : 0;
}

/* List the attributes: names terminated by NUL, of *len bytes. 0 or an errno value. */
static int list_all(struct xw_dir_xattrs *x, int fd, const char *path, size_t *len)
{
	for (;;) {
		const ssize_t n = list(fd, path, x->names, x->names_cap);
		size_t want = 0;

		if (n < 0 && errno == ERANGE)
			want = x->names_cap * 2 + 256;
		else if (n < 0 && errno != ENOTSUP)
			return errno;
		else if (n > 0 && (size_t)n > x->names_cap)
			want = (size_t)n; /* with a buffer of size 0 the call returns the size */
		if (!want) {
			*len = n < 0 ? 0 : (size_t)n;
			return 0;
		}
		if (grow(&x->names, &x->names_cap, want))
			return ENOMEM;
	}
}

/* Append one value to x->values: 0 or an errno value. */
static int get_one(struct xw_dir_xattrs *x, int fd, const char *path, const char *name)
{
	struct xw_entry_xattr a = {.name = {name, strlen(name)}};
	ssize_t n;

	if (grow(&x->values, &x->values_cap, x->values_len + VALUE_MAX))
		return ENOMEM;
	n = path ? lgetxattr(path, name, x->values + x->values_len, VALUE_MAX)
		 : fgetxattr(fd, name, x->values + x->values_len, VALUE_MAX);
	if (n < 0)
		/* removed in the meantime, or not supported */
		return errno == ENODATA || errno == ENOTSUP ? 0 : errno;
	a.value.len = (size_t)n;
	x->values_len += (size_t)n;
	return xw_vec_push(x, a) ? ENOMEM : 0;
}

int xw_dir_xattrs_read(struct xw_dir_xattrs *x, int fd, const char *name, const char **what)
{
	char path[32 + 256]; /* NAME_MAX is 255 */
	const char *at = name ? path : NULL;
	size_t len = 0, done = 0;
	int err;

	x->n = x->values_len = 0;
	*what = "";
	if (name &&
	    (size_t)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", fd, name) >= sizeof(path))
		return ENAMETOOLONG;
	err = list_all(x, fd, at, &len);
	for (size_t i = 0; i < len && !err; i += strlen(x->names + i) + 1) {
		if (!kept(x->names + i))
			continue;
		*what = x->names + i;
		err = get_one(x, fd, at, *what);
	}
	/* set pointers now that the buffer no longer moves */
	for (size_t i = 0; i < x->n; i++) {
		x->v[i].value.p = x->values + done;
		done += x->v[i].value.len;
	}
	return err;
}

void xw_dir_xattrs_free(struct xw_dir_xattrs *x)
{
	xw_vec_free(x);
	free(x->names);
	free(x->values);
}
