// SPDX-License-Identifier: MIT
#include "config.h"

#include "import/slice.h"

struct xw_slice xw_slice_component(struct xw_slice *path)
{
	while (path->len) {
		const char *slash = memchr(path->p, '/', path->len);
		const size_t n = slash ? (size_t)(slash - path->p) : path->len;
		const struct xw_slice part = {path->p, n};

		path->p += n + (slash != NULL);
		path->len -= n + (slash != NULL);
		if (n && !xw_slice_is(part, "."))
			return part;
	}
	return (struct xw_slice){path->p, 0};
}

/* Looks for dots, not for components: each entry of a deep tree has a long path. */
bool xw_slice_has_dotdot(struct xw_slice path)
{
	const char *p = path.p, *const end = path.p + path.len;

	while (p < end && (p = memchr(p, '.', (size_t)(end - p)))) {
		const bool begins = p == path.p || p[-1] == '/';

		if (begins && end - p >= 2 && p[1] == '.' && (end - p == 2 || p[2] == '/'))
			return true;
		p++;
	}
	return false;
}
