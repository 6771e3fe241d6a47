/* SPDX-License-Identifier: MIT */
/* All verbs: the families, one file each. */
#include "config.h"

#include "debugfs.h"

/* One family per line, so that lines can be added independently. */
/* clang-format off */
const struct dbg_family *const dbg_families[] = {
	&dbg_session_verbs,
	&dbg_stats_verbs,
	&dbg_fs_verbs,
	&dbg_dir_verbs,
	&dbg_index_verbs,
	&dbg_inode_verbs,
	&dbg_block_verbs,
	&dbg_xattr_verbs,
	&dbg_content_verbs,
	&dbg_bit_verbs,
	&dbg_scan_verbs,
	&dbg_orphan_verbs,
	&dbg_init_verbs,
	&dbg_journal_verbs,
	&dbg_write_verbs,
	&dbg_remove_verbs,
	&dbg_ea_verbs,
	&dbg_set_verbs,
	&dbg_poke_verbs,
	&dbg_extent_verbs,
	&dbg_journal_write_verbs,
	NULL,
};
/* clang-format on */
