/* SPDX-License-Identifier: MIT */
/* All verbs: the families, one file each, and lookup by name. */
#include "config.h"

#include "debugfs.h"

#include <string.h>

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

static bool is_called(const struct dbg_verb *v, const char *name)
{
	if (!strcmp(v->name, name))
		return true;
	for (size_t i = 0; i < XW_ARRAY_SIZE(v->alias) && v->alias[i]; i++) {
		if (!strcmp(v->alias[i], name))
			return true;
	}
	return false;
}

const struct dbg_verb *dbg_find_verb(const char *name)
{
	for (const struct dbg_family *const *f = dbg_families; *f; f++) {
		for (size_t i = 0; i < (*f)->n; i++) {
			if (is_called(&(*f)->verbs[i], name))
				return &(*f)->verbs[i];
		}
	}
	return NULL;
}
