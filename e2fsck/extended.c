// SPDX-License-Identifier: MIT
/* -E: a list of words, some with a value. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "cli/term.h"
#include "plan/parse.h"

#include "tool.h"

typedef int extended_setter(struct fsck_opts *o, const char *value);

static int set_ea_ver(struct fsck_opts *o, const char *value)
{
	uint64_t n;

	if (!value || xw_parse_u64(value, &n) || n < 1 || n > 2) {
		cli_error("-E ea_ver=%s: must be 1 or 2", value ? value : "");
		return FSCK_EXIT_USAGE;
	}
	o->ea_ver = (int)n;
	return 0;
}

static int set_offset(struct fsck_opts *o, const char *value)
{
	if (value && !xw_parse_u64(value, &o->offset))
		return 0;
	cli_error("-E offset=%s: must be a number of bytes", value ? value : "");
	return FSCK_EXIT_USAGE;
}

static int set_itree(struct fsck_opts *o, const char *value)
{
	if (value && !strcmp(value, "build"))
		o->itree = FSCK_ITREE_BUILD;
	else if (value && !strcmp(value, "drop"))
		o->itree = FSCK_ITREE_DROP;
	else {
		cli_error("-E itree=%s: must be build or drop", value ? value : "");
		return FSCK_EXIT_USAGE;
	}
	return 0;
}

static int set_readahead(struct fsck_opts *o, const char *value)
{
	uint64_t n;

	(void)o; /* tables are always read in large runs */
	if (value && !xw_parse_u64(value, &n))
		return 0;
	cli_error("-E readahead_kb=%s: must be a number of KiB", value ? value : "");
	return FSCK_EXIT_USAGE;
}

#define FLAG(word, member, to)                                                                     \
	{                                                                                          \
		word, offsetof(struct fsck_opts, member), to, NULL                                 \
	}
static const struct extended {
	const char *word;
	size_t flag; /* where in struct fsck_opts, when there is no setter */
	bool to;
	extended_setter *set;
} words[] = {
	FLAG("bmap2extent", bmap2extent, true),
	FLAG("check_encoding", check_encoding, true),
	FLAG("discard", discard, true),
	FLAG("nodiscard", discard, false),
	FLAG("fixes_only", fixes_only, true),
	FLAG("fragcheck", fragcheck, true),
	FLAG("inode_count_fullmap", inode_count_fullmap, true),
	FLAG("no_inode_count_fullmap", inode_count_fullmap, false),
	FLAG("journal_only", journal_only, true),
	FLAG("no_optimize_extents", no_optimize_extents, true),
	FLAG("optimize_extents", no_optimize_extents, false),
	FLAG("share_xattrs", share_xattrs, true),
	FLAG("unshare_blocks", unshare_blocks, true),
	{"ea_ver", 0, true, set_ea_ver},
	{"itree", 0, true, set_itree},
	{"offset", 0, true, set_offset},
	{"readahead_kb", 0, true, set_readahead},
};
#undef FLAG

static int set_one(struct fsck_opts *o, char *word)
{
	char *const value = strchr(word, '=');

	if (value)
		*value = '\0';
	for (size_t i = 0; i < XW_ARRAY_SIZE(words); i++) {
		const struct extended *e = &words[i];

		if (strcmp(e->word, word) != 0)
			continue;
		if (e->set)
			return e->set(o, value ? value + 1 : NULL);
		if (value) {
			cli_error("-E %s takes no value", word);
			return FSCK_EXIT_USAGE;
		}
		*(bool *)((char *)o + e->flag) = e->to;
		return 0;
	}
	cli_error("unknown extended option '%s'", word);
	cli_hint("known are bmap2extent, check_encoding, [no]discard, ea_ver=1|2, fixes_only, "
		 "fragcheck, [no_]inode_count_fullmap, itree=build|drop, journal_only, "
		 "offset=BYTES, [no_]optimize_extents, readahead_kb=KIB, share_xattrs, "
		 "unshare_blocks");
	return FSCK_EXIT_USAGE;
}

int fsck_args_extended(struct fsck_opts *o, const char *list)
{
	char *const copy = strdup(list);
	char *rest = copy;
	int status = 0;

	if (!copy) {
		cli_error("out of memory reading the command line");
		return FSCK_EXIT_ERROR;
	}
	while (rest && !status) {
		char *const word = strsep(&rest, ",");

		status = *word ? set_one(o, word) : 0;
	}
	free(copy);
	return status;
}
