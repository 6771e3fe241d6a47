// SPDX-License-Identifier: MIT
/* -E: a list of words, some with a value. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "plan/parse.h"

#include "check/check.h"

typedef int extended_setter(struct fsck_opts *o, const char *value, struct xw_diag *diag);

static int set_offset(struct fsck_opts *o, const char *value, struct xw_diag *diag)
{
	if (value && !xw_parse_u64(value, &o->offset))
		return 0;
	(void)xw_fail(diag, XW_ERR_USAGE, "-E offset=%s: must be a number of bytes",
		      value ? value : "");
	return FSCK_EXIT_USAGE;
}

static int set_itree(struct fsck_opts *o, const char *value, struct xw_diag *diag)
{
	if (value && !strcmp(value, "build"))
		o->itree = FSCK_ITREE_BUILD;
	else if (value && !strcmp(value, "drop"))
		o->itree = FSCK_ITREE_DROP;
	else {
		(void)xw_fail(diag, XW_ERR_USAGE, "-E itree=%s: must be build or drop",
			      value ? value : "");
		return FSCK_EXIT_USAGE;
	}
	return 0;
}

static int set_readahead(struct fsck_opts *o, const char *value, struct xw_diag *diag)
{
	uint64_t n;

	(void)o; /* tables are always read in large runs */
	if (value && !xw_parse_u64(value, &n))
		return 0;
	(void)xw_fail(diag, XW_ERR_USAGE, "-E readahead_kb=%s: must be a number of KiB",
		      value ? value : "");
	return FSCK_EXIT_USAGE;
}

/* Both versions are read, as the magic number says; version 2 is written. */
static int set_ea_ver(struct fsck_opts *o, const char *value, struct xw_diag *diag)
{
	(void)o;
	if (value && (!strcmp(value, "1") || !strcmp(value, "2")))
		return 0;
	(void)xw_fail(diag, XW_ERR_USAGE, "-E ea_ver=%s: must be 1 or 2", value ? value : "");
	return FSCK_EXIT_USAGE;
}

/* Options for behavior that is the default. */
static int set_nothing(struct fsck_opts *o, const char *value, struct xw_diag *diag)
{
	(void)o;
	(void)value;
	(void)diag;
	return 0;
}

static int set_no_optimize(struct fsck_opts *o, const char *value, struct xw_diag *diag)
{
	(void)value;
	(void)diag;
	o->optimize_extents = false;
	return 0;
}

static int set_no_discard(struct fsck_opts *o, const char *value, struct xw_diag *diag)
{
	(void)value;
	(void)diag;
	o->discard = false;
	return 0;
}

#define FLAG(word, member)                                                                         \
	{                                                                                          \
		word, offsetof(struct fsck_opts, member), NULL                                     \
	}
static const struct extended {
	const char *word;
	size_t flag; /* offset in struct fsck_opts, if there is no setter */
	extended_setter *set;
} words[] = {
	FLAG("bmap2extent", bmap2extent),
	FLAG("check_encoding", check_encoding),
	FLAG("discard", discard),
	FLAG("fixes_only", fixes_only),
	FLAG("fragcheck", fragcheck),
	FLAG("journal_only", journal_only),
	FLAG("optimize_extents", optimize_extents),
	FLAG("share_xattrs", share_xattrs),
	FLAG("unshare_blocks", unshare_blocks),
	{"ea_ver", 0, set_ea_ver},
	{"inode_count_fullmap", 0, set_nothing},
	{"itree", 0, set_itree},
	{"no_inode_count_fullmap", 0, set_nothing},
	{"no_optimize_extents", 0, set_no_optimize},
	{"nodiscard", 0, set_no_discard},
	{"offset", 0, set_offset},
	{"readahead_kb", 0, set_readahead},
};
#undef FLAG

static int set_one(struct fsck_opts *o, char *word, struct xw_diag *diag)
{
	char *const value = strchr(word, '=');

	if (value)
		*value = '\0';
	for (size_t i = 0; i < XW_ARRAY_SIZE(words); i++) {
		const struct extended *e = &words[i];

		if (strcmp(e->word, word) != 0)
			continue;
		if (e->set)
			return e->set(o, value ? value + 1 : NULL, diag);
		if (value) {
			(void)xw_fail(diag, XW_ERR_USAGE, "-E %s takes no value", word);
			return FSCK_EXIT_USAGE;
		}
		*(bool *)((char *)o + e->flag) = true;
		return 0;
	}
	o->refused_word = true;
	(void)xw_fail(diag, XW_ERR_USAGE, "unknown extended option '%s'", word);
	return FSCK_EXIT_USAGE;
}

const char *xw_fsck_extended_words(void)
{
	return "bmap2extent, check_encoding, [no]discard, ea_ver=1|2, fixes_only, fragcheck, "
	       "[no_]inode_count_fullmap, itree=build|drop, journal_only, [no_]optimize_extents, "
	       "offset=BYTES, readahead_kb=KIB, share_xattrs, unshare_blocks";
}

int fsck_opts_extended(struct fsck_opts *o, const char *list, struct xw_diag *diag)
{
	char *const copy = strdup(list);
	char *rest = copy;
	int status = 0;

	if (!copy) {
		(void)xw_fail(diag, XW_ERR_NOMEM, "out of memory reading the command line");
		return FSCK_EXIT_ERROR;
	}
	while (rest && !status) {
		char *const word = strsep(&rest, ",");

		status = *word ? set_one(o, word, diag) : 0;
	}
	free(copy);
	return status;
}
