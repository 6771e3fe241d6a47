/* SPDX-License-Identifier: MIT */
/* Trees of the profile git stored as tar archives. */
#ifndef XW_AGE_GIT_H
#define XW_AGE_GIT_H

#include "base/err.h"
#include "base/types.h"
#include "commit/commit.h"

typedef int xw_age_tar_fn(void *arg, const char *path, uint64_t size, uint64_t hash);

/* Is this the first block (512 bytes) of a tar archive? */
bool xw_age_is_tar(const void *head);
/*
 * Call fn for each regular file; a non-zero result ends the call and is returned. XW_ERR_INPUT,
 * XW_ERR_IO; XW_ERR_CANCELED: the watch, which may be NULL, has canceled it.
 */
int xw_age_read_tar(int fd, const char *name, const struct xw_commit_watch *watch,
		    xw_age_tar_fn *fn, void *arg, struct xw_diag *diag);

#endif
