/* SPDX-License-Identifier: MIT */
/* Private to lib/tune: setters of options in option_values.c and option_lists.c. */
#ifndef XW_TUNE_OPTIONS_INTERNAL_H
#define XW_TUNE_OPTIONS_INTERNAL_H

#include "tune/options.h"

/* 0, or a code and a message in o->diag. */
typedef int xw_tune_setter(struct xw_tune_options *o, const char *value);
xw_tune_setter xw_tune_set_max_mounts, xw_tune_set_mounts, xw_tune_set_errors, xw_tune_set_interval,
	xw_tune_set_group, xw_tune_set_user, xw_tune_set_percent, xw_tune_set_blocks,
	xw_tune_set_label, xw_tune_set_last_mounted, xw_tune_set_lastcheck, xw_tune_set_uuid,
	xw_tune_set_inode_size;
xw_tune_setter xw_tune_set_extended, xw_tune_set_journal, xw_tune_set_mount_opts,
	xw_tune_set_features, xw_tune_set_quota;

#endif
