/* SPDX-License-Identifier: MIT */
/* The handle behind struct xw_fs: fs.c opens it, fs_read.c reads. */
#ifndef XW_API_FS_H
#define XW_API_FS_H

#include "api/tell.h"
#include "api/xw.h"
#include "base/json.h"
#include "plan/features.h"
#include "read/image.h"

struct xw_fs {
	struct xw_diag diag;
	char *redo_file; /* redo file or directory of redo files; owned, or NULL */
	uint64_t offset;
	uint64_t super; /* block of a backup superblock; 0: the primary one */
	uint32_t block_size; /* in bytes; 0: detect it */
	unsigned flags;
	struct xw_log_to log;
	struct xw_dev *dev;
	struct xw_image *img; /* NULL: no image is open */
	struct xw_fs_info info;
	char label[sizeof(((struct xw_super *)0)->volume_name) + 1];
	char last_mounted_on[sizeof(((struct xw_super *)0)->last_mounted) + 1];
	char features[XW_FEATURE_WORDS];
	char *target; /* result of the last xw_fs_readlink(); owned */
	struct xw_json json;
};

#endif
