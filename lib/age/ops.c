// SPDX-License-Identifier: MIT
/* Sizes, paths and files of operations, for several profiles. */
#include "config.h"

#include "age/source.h"

#include <errno.h>
#include <string.h>

#include "disk/dirent.h"

uint64_t xw_age_log_uniform(struct xw_age_rng *r, uint64_t min, uint64_t max)
{
	uint64_t low, high;
	unsigned first, last, k;

	if (min >= max)
		return min;
	first = 63 - (unsigned)__builtin_clzll(min | 1);
	last = 63 - (unsigned)__builtin_clzll(max);
	k = first + (unsigned)xw_age_below(r, last - first + 1);
	low = XW_MAX(min, k ? UINT64_C(1) << k : 0);
	high = XW_MIN(max, (UINT64_C(2) << k) - 1);
	return low + xw_age_below(r, high - low + 1);
}

int xw_age_fopen(const char *path, struct xw_diag *diag, FILE **f)
{
	*f = fopen(path, "re");
	return *f ? 0
		  : xw_fail_errno(diag, errno == ENOENT ? XW_ERR_NOTFOUND : XW_ERR_IO, errno, "%s",
				  path);
}

bool xw_age_path_ok(const char *path)
{
	for (unsigned n = 0; n < XW_AGE_DEPTH_MAX; n++) {
		const size_t len = strcspn(path, "/");

		if (!len || len > XW_NAME_MAX || xw_name_is_dots(path, len))
			return false;
		if (!path[len])
			return true;
		path += len + 1;
	}
	return false;
}
