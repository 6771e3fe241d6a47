/* SPDX-License-Identifier: MIT */
/* Byte strings without a terminating NUL: names, link targets and attribute values. */
#ifndef XW_IMPORT_SLICE_H
#define XW_IMPORT_SLICE_H

#include <string.h>

#include "base/types.h"

struct xw_slice {
	const char *p;
	size_t len;
};

/* The two arguments of "%.*s" in a message, which shows only the start of a long string. */
#define XW_SHOWN(s) (int)XW_MIN((s).len, 300), (s).p

/* The string as a slice; NULL is empty. */
static inline struct xw_slice xw_slice_of(const char *text)
{
	return (struct xw_slice){text, text ? strlen(text) : 0};
}

static inline bool xw_slice_same(struct xw_slice a, struct xw_slice b)
{
	return a.len == b.len && !memcmp(a.p, b.p, a.len);
}

static inline bool xw_slice_is(struct xw_slice s, const char *text)
{
	return s.len == strlen(text) && !memcmp(s.p, text, s.len);
}

/* If s starts with `prefix`, set *rest to the part after it. */
static inline bool xw_slice_after(struct xw_slice s, const char *prefix, struct xw_slice *rest)
{
	const size_t n = strlen(prefix);

	if (s.len < n || memcmp(s.p, prefix, n))
		return false;
	*rest = (struct xw_slice){s.p + n, s.len - n};
	return true;
}

/* The path without trailing slashes. */
static inline struct xw_slice xw_slice_trim(struct xw_slice path)
{
	while (path.len && path.p[path.len - 1] == '/')
		path.len--;
	return path;
}

/* Remove and return the first component of *path that is neither empty nor "."; len 0: none. */
struct xw_slice xw_slice_component(struct xw_slice *path);
/* Is any component ".."? */
bool xw_slice_has_dotdot(struct xw_slice path);

#endif
