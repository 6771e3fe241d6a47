// SPDX-License-Identifier: MIT
/* The lists of -E, -J, -o, -O and -Q. */
#include "config.h"

#include "cli/term.h"
#include "disk/mmp.h"
#include "plan/parse.h"
#include "tune/tool.h"

#include <stdlib.h>
#include <string.h>

#define ENCODING_UTF8_12_1 1
#define ENCODING_STRICT 0x0001u
#define JOURNAL_MODE 0x0060u /* of s_default_mount_opts */

/* One word of a list: NUL-terminated, and split at the '=' if there is one. */
typedef int word_fn(struct tune_args *args, char *word, char *value);

static int each_word(struct tune_args *args, const char *list, word_fn *fn)
{
	char *copy = strdup(list), *save = NULL;
	int status = 0;

	if (!copy) {
		cli_line_failf(&args->line, "out of memory");
		return EXIT_FAILED;
	}
	for (char *word = strtok_r(copy, ",", &save); word && !status;
	     word = strtok_r(NULL, ",", &save)) {
		char *value = strchr(word, '=');

		if (value)
			*value++ = '\0';
		status = fn(args, word, value);
	}
	free(copy);
	return status;
}

/* ---- -E ---- */

static int bad_key(const struct tune_args *args, const char *what, const char *value)
{
	cli_line_failf(&args->line, "Invalid %s: %s", what, value ? value : "");
	return EXIT_FAILED;
}

static int set_stride(struct tune_args *args, const char *value)
{
	uint64_t n;

	if (xw_parse_u64(value, &n) || !n || n > UINT16_MAX)
		return bad_key(args, "RAID stride", value);
	args->want.stride = (uint32_t)n;
	args->want.set |= XW_TUNE_STRIDE;
	return 0;
}

static int set_stripe_width(struct tune_args *args, const char *value)
{
	uint64_t n;

	if (xw_parse_u64(value, &n) || !n || n > UINT32_MAX)
		return bad_key(args, "RAID stripe-width", value);
	args->want.stripe_width = (uint32_t)n;
	args->want.set |= XW_TUNE_STRIPE_WIDTH;
	return 0;
}

static int set_hash_alg(struct tune_args *args, const char *value)
{
	static const char *const names[] = {"legacy", "half_md4", "tea"};

	for (uint8_t i = 0; i < XW_ARRAY_SIZE(names); i++) {
		if (strcmp(value, names[i]) != 0)
			continue;
		args->want.hash_version = i;
		args->hash_name = names[i];
		args->want.set |= XW_TUNE_HASH_ALG;
		return 0;
	}
	return bad_key(args, "hash algorithm", value);
}

static int set_mmp_interval(struct tune_args *args, const char *value)
{
	uint64_t n;

	if (xw_parse_u64(value, &n) || n > XW_MMP_INTERVAL_MAX)
		return bad_key(args, "mmp_update_interval", value);
	args->want.mmp_interval = (uint16_t)n;
	args->want.set |= XW_TUNE_MMP_INTERVAL;
	return 0;
}

static int set_default_opts(struct tune_args *args, const char *value)
{
	if (strlen(value) > sizeof(args->want.mount_opts) - 2) {
		cli_line_failf(&args->line, "Extended mount options too long");
		return EXIT_FAILED;
	}
	memset(args->want.mount_opts, 0, sizeof(args->want.mount_opts));
	memcpy(args->want.mount_opts, value, strlen(value));
	args->want.set |= XW_TUNE_MOUNT_OPTS;
	return 0;
}

static int set_encoding(struct tune_args *args, const char *value)
{
	if (strcmp(value, "utf8") != 0 && strcmp(value, "utf8-12.1") != 0)
		return bad_key(args, "encoding", value);
	args->want.encoding = ENCODING_UTF8_12_1;
	args->encoding_name = strcmp(value, "utf8") ? "utf8-12.1" : "utf8";
	xw_tune_want_features(&args->want, "casefold", NULL);
	return 0;
}

static int set_encoding_flags(struct tune_args *args, const char *value)
{
	if (strcmp(value, "strict") != 0)
		return bad_key(args, "encoding flags", value);
	args->want.encoding_flags = ENCODING_STRICT;
	return 0;
}

static int set_orphan_size(struct tune_args *args, const char *value)
{
	if (xw_parse_u64(value, &args->want.orphan_blocks) || !args->want.orphan_blocks ||
	    args->want.orphan_blocks > UINT32_MAX)
		return bad_key(args, "size of orphan file", value);
	xw_tune_want_features(&args->want, "orphan_file", NULL);
	return 0;
}

static int set_offset(struct tune_args *args, const char *value)
{
	if (xw_parse_size(value, 1, &args->opts.offset) || args->opts.offset > INT64_MAX / 2)
		return bad_key(args, "offset", value);
	return 0;
}

static int set_clear_mmp(struct tune_args *args, const char *value)
{
	(void)value;
	args->want.set |= XW_TUNE_CLEAR_MMP;
	return 0;
}

static int set_clear_pending(struct tune_args *args, const char *value)
{
	(void)value;
	args->clear_pending = true;
	return 0;
}

static int set_force_fsck(struct tune_args *args, const char *value)
{
	(void)value;
	args->want.set |= XW_TUNE_FORCE_FSCK;
	return 0;
}

static int set_test_fs(struct tune_args *args, const char *value)
{
	(void)value;
	args->want.set |= XW_TUNE_TEST_FS;
	args->want.test_fs = true;
	return 0;
}

static int clear_test_fs(struct tune_args *args, const char *value)
{
	(void)value;
	args->want.set |= XW_TUNE_TEST_FS;
	args->want.test_fs = false;
	return 0;
}

static const struct {
	const char *name;
	bool has_value;
	tune_setter *set;
} extended[] = {
	{"clear_mmp", false, set_clear_mmp},
	{"clear_pending", false, set_clear_pending},
	{"mmp_update_interval", true, set_mmp_interval},
	{"stride", true, set_stride},
	{"stripe_width", true, set_stripe_width},
	{"stripe-width", true, set_stripe_width},
	{"hash_alg", true, set_hash_alg},
	{"mount_opts", true, set_default_opts},
	{"force_fsck", false, set_force_fsck},
	{"test_fs", false, set_test_fs},
	{"^test_fs", false, clear_test_fs},
	{"encoding", true, set_encoding},
	{"encoding_flags", true, set_encoding_flags},
	{"orphan_file_size", true, set_orphan_size},
	{"offset", true, set_offset},
};

static int extended_word(struct tune_args *args, char *word, char *value)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(extended); i++)
		if (!strcmp(extended[i].name, word) && extended[i].has_value == (value != NULL))
			return extended[i].set(args, value);
	cli_line_failf(&args->line, "Bad options specified: -E %s", word);
	return EXIT_FAILED;
}

int tune_set_extended(struct tune_args *args, const char *value)
{
	return each_word(args, value, extended_word);
}

/* ---- -J ---- */

static int journal_word(struct tune_args *args, char *word, char *value)
{
	uint64_t n = 0;

	/* alone it is about a journal that another option makes, if any does, as in tune2fs */
	if (!strcmp(word, "fast_commit_size")) {
		if (!value || xw_parse_u64(value, &n) || n > UINT32_MAX)
			return bad_key(args, "fast commit size", value);
		args->want.fast_commit_kib = n;
		return 0;
	}
	if (strcmp(word, "size") != 0) {
		cli_line_failf(&args->line, "Bad journal options specified: -J %s is not supported",
			       word);
		return EXIT_FAILED;
	}
	/* In MiB, unless it has a suffix. */
	if (!value || xw_parse_size(value, 1u << 20, &n) || !n || n > UINT64_C(1) << 48)
		return bad_key(args, "journal size", value);
	args->want.journal_bytes = n;
	args->want.set |= XW_TUNE_JOURNAL;
	return 0;
}

int tune_set_journal(struct tune_args *args, const char *value)
{
	return each_word(args, value, journal_word);
}

/* ---- -o ---- */

static const struct {
	const char *name;
	uint32_t bit, mask; /* mask: bits to clear, for one of several modes */
} mount_options[] = {
	{"debug", 0x0001, 0x0001},
	{"bsdgroups", 0x0002, 0x0002},
	{"user_xattr", 0x0004, 0x0004},
	{"acl", 0x0008, 0x0008},
	{"uid16", 0x0010, 0x0010},
	{"journal_data", 0x0020, JOURNAL_MODE},
	{"journal_data_ordered", 0x0040, JOURNAL_MODE},
	{"journal_data_writeback", 0x0060, JOURNAL_MODE},
	{"nobarrier", 0x0100, 0x0100},
	{"block_validity", 0x0200, 0x0200},
	{"discard", 0x0400, 0x0400},
	{"nodelalloc", 0x0800, 0x0800},
};

static int mount_word(struct tune_args *args, char *word, char *value)
{
	const bool clear = *word == '^' || *word == '-';
	const char *name = word + (clear || *word == '+');
	struct xw_tune_want *w = &args->want;

	for (size_t i = 0; i < XW_ARRAY_SIZE(mount_options) && !value; i++) {
		if (strcmp(mount_options[i].name, name) != 0)
			continue;
		w->default_opts_off |= mount_options[i].mask;
		w->default_opts_on &= ~mount_options[i].mask;
		w->default_opts_on |= clear ? 0 : mount_options[i].bit;
		return 0;
	}
	cli_line_failf(&args->line, "Invalid mount option set: %s", word);
	return EXIT_FAILED;
}

int tune_set_mount_opts(struct tune_args *args, const char *value)
{
	return each_word(args, value, mount_word);
}

/* ---- -O and -Q ---- */

int tune_set_features(struct tune_args *args, const char *value)
{
	if (!xw_tune_want_features(&args->want, value, &args->diag))
		return 0;
	cli_line_failf(&args->line, "%s", args->diag.text);
	return EXIT_FAILED;
}

static int quota_word(struct tune_args *args, char *word, char *value)
{
	static const char *const names[XW_QUOTA_TYPES][2] = {
		[XW_QUOTA_USER] = {"usr", "usrquota"},
		[XW_QUOTA_GROUP] = {"grp", "grpquota"},
		[XW_QUOTA_PROJECT] = {"prj", "prjquota"},
	};
	const bool clear = *word == '^';
	struct xw_tune_want *w = &args->want;

	for (unsigned i = 0; i < XW_QUOTA_TYPES && !value; i++) {
		if (strcmp(names[i][0], word + clear) != 0 &&
		    strcmp(names[i][1], word + clear) != 0)
			continue;
		w->quota_on &= ~(1u << i);
		w->quota_off &= ~(1u << i);
		*(clear ? &w->quota_off : &w->quota_on) |= 1u << i;
		return 0;
	}
	cli_line_failf(&args->line, "Bad quota options specified: -Q %s", word);
	return EXIT_FAILED;
}

int tune_set_quota(struct tune_args *args, const char *value)
{
	return each_word(args, value, quota_word);
}
