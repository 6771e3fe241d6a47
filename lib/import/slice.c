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

bool xw_slice_has_dotdot(struct xw_slice path)
{
	struct xw_slice part;

	while ((part = xw_slice_component(&path)).len)
		if (xw_slice_is(part, ".."))
			return true;
	return false;
}
