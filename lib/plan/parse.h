/* SPDX-License-Identifier: MIT */
/* Setters that several files of options share. */
#ifndef XW_PLAN_PARSE_H
#define XW_PLAN_PARSE_H

#include "base/parse.h"
#include "plan/params.h"

/*
 * As xw_parse_u64, with bounds and a message that names the option as the user typed it: "-N
 * VALUE", or "-E KEY=VALUE" if name is "-E KEY".
 */
int xw_parse_ranged(const char *name, const char *text, uint64_t min, uint64_t max, uint64_t *out,
		    struct xw_diag *diag);
/* Record the message "NAME VALUE: why", or "-E KEY=VALUE: why", and return XW_ERR_USAGE. */
int xw_bad_value(struct xw_diag *diag, const char *name, const char *value, const char *why);
/* Replace *text, which is owned, with a copy of value. */
int xw_set_text(char **text, const char *value, struct xw_diag *diag);

/* params_feature.c: setters of keys that belong to one feature; `name` is the full "-E key". */
typedef int xw_key_setter(struct xw_mkfs_params *p, const char *name, const char *value,
			  struct xw_diag *diag);
xw_key_setter xw_set_quotatype, xw_set_mmp_update_interval, xw_set_encoding, xw_set_encoding_flags,
	xw_set_orphan_file_size, xw_set_fast_commit_size, xw_set_journal_location,
	xw_set_journal_device, xw_set_num_backup_sb;
/*
 * Check these options against the features and set defaults, before and after the sizes are known.
 */
int xw_params_imply_features(struct xw_mkfs_params *p, struct xw_diag *diag);
int xw_params_finish_features(struct xw_mkfs_params *p, struct xw_diag *diag);

int xw_params_set_extended(struct xw_mkfs_params *p, const char *list, struct xw_diag *diag);
int xw_params_set_journal(struct xw_mkfs_params *p, const char *list, struct xw_diag *diag);

#endif
