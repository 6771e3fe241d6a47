// SPDX-License-Identifier: MIT
/* -E: a list of words, some with a value. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "plan/parse.h"

#include "check/check.h"

typedef int extended_setter(struct fsck_opts *o, const char *value, struct xw_diag *diag);

static int refuse_value(struct xw_diag *diag, const char *word, const char *value,
			const char *wanted)
{
	return FSCK_REFUSE(FSCK_EXIT_USAGE, diag, "-E %s=%s: must be %s", word, value ? value : "",
			   wanted);
}

static int set_offset(struct fsck_opts *o, const char *value, struct xw_diag *diag)
{
	return xw_parse_offset(value, &o->offset, diag) ? FSCK_EXIT_USAGE : 0;
}

static int set_itree(struct fsck_opts *o, const char *value, struct xw_diag *diag)
{
	if (value && !strcmp(value, "build"))
		o->itree = FSCK_ITREE_BUILD;
	else if (value && !strcmp(value, "drop"))
		o->itree = FSCK_ITREE_DROP;
	else
		return refuse_value(diag, "itree", value, "build or drop");
	return 0;
}

static int set_readahead(struct fsck_opts *o, const char *value, struct xw_diag *diag)
{
	uint64_t n;

	(void)o; /* tables are always read in large runs */
	if (value && !xw_parse_u64(value, &n))
		return 0;
	return refuse_value(diag, "readahead_kb", value, "a number of KiB");
}

/* Both versions are read, as the magic number says; version 2 is written. */
static int set_ea_ver(struct fsck_opts *o, const char *value, struct xw_diag *diag)
{
	(void)o;
	if (value && (!strcmp(value, "1") || !strcmp(value, "2")))
		return 0;
	return refuse_value(diag, "ea_ver", value, "1 or 2");
}

#define SET(member) FLAG, offsetof(struct fsck_opts, member)
#define CLEAR(member) NO_FLAG, offsetof(struct fsck_opts, member)
static const struct extended {
	const char *word;
	enum { FLAG, NO_FLAG, DEFAULT, SETTER } kind; /* DEFAULT: behavior that is the default */
	size_t flag; /* offset in struct fsck_opts */
	extended_setter *set;
} words[] = {
	{"bmap2extent", SET(bmap2extent)},
	{"check_encoding", SET(check_encoding)},
	{"discard", SET(discard)},
	{"fixes_only", SET(fixes_only)},
	{"fragcheck", SET(fragcheck)},
	{"journal_only", SET(journal_only)},
	{"optimize_extents", SET(optimize_extents)},
	{"share_xattrs", SET(share_xattrs)},
	{"unshare_blocks", SET(unshare_blocks)},
	{"ea_ver", SETTER, 0, set_ea_ver},
	{"inode_count_fullmap", DEFAULT},
	{"itree", SETTER, 0, set_itree},
	{"no_inode_count_fullmap", DEFAULT},
	{"no_optimize_extents", CLEAR(optimize_extents)},
	{"nodiscard", CLEAR(discard)},
	{"offset", SETTER, 0, set_offset},
	{"readahead_kb", SETTER, 0, set_readahead},
};
#undef SET
#undef CLEAR

static int set_one(struct fsck_opts *o, char *word, struct xw_diag *diag)
{
	char *const value = strchr(word, '=');

	if (value)
		*value = '\0';
	for (size_t i = 0; i < XW_ARRAY_SIZE(words); i++) {
		const struct extended *e = &words[i];

		if (strcmp(e->word, word) != 0)
			continue;
		if (e->kind == SETTER)
			return e->set(o, value ? value + 1 : NULL, diag);
		if (e->kind == FLAG && value)
			return FSCK_REFUSE(FSCK_EXIT_USAGE, diag, "-E %s takes no value", word);
		if (e->kind != DEFAULT)
			*(bool *)((char *)o + e->flag) = e->kind == FLAG;
		return 0;
	}
	o->refused_word = true;
	return FSCK_REFUSE(FSCK_EXIT_USAGE, diag, "unknown extended option '%s'", word);
}

const char *xw_fsck_extended_words(void)
{
	return "bmap2extent, check_encoding, [no]discard, ea_ver=1|2, fixes_only, fragcheck, "
	       "[no_]inode_count_fullmap, itree=build|drop, journal_only, [no_]optimize_extents, "
	       "offset=BYTES, readahead_kb=KIB, share_xattrs, unshare_blocks";
}

int fsck_opts_extended(struct fsck_opts *o, const char *list, struct xw_diag *diag)
{
	auto_free char *copy = strdup(list);
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
	return status;
}
