// SPDX-License-Identifier: MIT
/* Setters of the options with lists: -E, -J, -o, -O and -Q. */
#include "config.h"

#include "base/auto.h"
#include "disk/mmp.h"
#include "plan/mntopts.h"
#include "plan/parse.h"
#include "tune/options_internal.h"

#include <stdlib.h>
#include <string.h>

#define ENCODING_UTF8_12_1 1
#define ENCODING_STRICT 0x0001u

/* Handles one word of a list; value is the part after '=', or NULL. */
typedef int word_fn(struct xw_tune_options *o, char *word, char *value);

static int each_word(struct xw_tune_options *o, const char *list, word_fn *fn)
{
	auto_free char *copy = strdup(list);
	char *save = NULL;

	if (!copy)
		return xw_fail_nomem(o->diag, "option");
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		char *value = strchr(word, '=');
		int rc;

		if (value)
			*value++ = '\0';
		rc = fn(o, word, value);
		if (rc)
			return rc;
	}
	return 0;
}

/* ---- -E ---- */

static int bad_key(struct xw_tune_options *o, const char *what, const char *value)
{
	return xw_fail(o->diag, XW_ERR_USAGE, "Invalid %s: %s", what, value ? value : "");
}

static int set_stride(struct xw_tune_options *o, const char *value)
{
	uint64_t n;

	if (xw_parse_u64(value, &n) || !n || n > UINT16_MAX)
		return bad_key(o, "RAID stride", value);
	o->want.stride = (uint32_t)n;
	return 0;
}

static int set_stripe_width(struct xw_tune_options *o, const char *value)
{
	uint64_t n;

	if (xw_parse_u64(value, &n) || !n || n > UINT32_MAX)
		return bad_key(o, "RAID stripe-width", value);
	o->want.stripe_width = (uint32_t)n;
	return 0;
}

static int set_hash_alg(struct xw_tune_options *o, const char *value)
{
	static const char *const names[] = {"legacy", "half_md4", "tea"};

	for (uint8_t i = 0; i < XW_ARRAY_SIZE(names); i++) {
		if (strcmp(value, names[i]) != 0)
			continue;
		o->want.hash_version = i;
		o->hash_name = names[i];
		return 0;
	}
	return bad_key(o, "hash algorithm", value);
}

static int set_mmp_interval(struct xw_tune_options *o, const char *value)
{
	uint64_t n;

	if (xw_parse_u64(value, &n) || n > XW_MMP_INTERVAL_MAX)
		return bad_key(o, "mmp_update_interval", value);
	o->want.mmp_interval = (uint16_t)n;
	return 0;
}

static int set_default_opts(struct xw_tune_options *o, const char *value)
{
	if (strlen(value) > sizeof(o->want.mount_opts) - 2)
		return xw_fail(o->diag, XW_ERR_USAGE, "Extended mount options too long");
	memset(o->want.mount_opts, 0, sizeof(o->want.mount_opts));
	memcpy(o->want.mount_opts, value, strlen(value));
	return 0;
}

static int set_encoding(struct xw_tune_options *o, const char *value)
{
	if (strcmp(value, "utf8") != 0 && strcmp(value, "utf8-12.1") != 0)
		return bad_key(o, "encoding", value);
	o->want.encoding = ENCODING_UTF8_12_1;
	o->encoding_name = strcmp(value, "utf8") ? "utf8-12.1" : "utf8";
	xw_tune_want_features(&o->want, "casefold", NULL);
	return 0;
}

static int set_encoding_flags(struct xw_tune_options *o, const char *value)
{
	if (strcmp(value, "strict") != 0)
		return bad_key(o, "encoding flags", value);
	o->want.encoding_flags = ENCODING_STRICT;
	return 0;
}

static int set_orphan_size(struct xw_tune_options *o, const char *value)
{
	if (xw_parse_u64(value, &o->want.orphan_blocks) || !o->want.orphan_blocks ||
	    o->want.orphan_blocks > UINT32_MAX)
		return bad_key(o, "size of orphan file", value);
	xw_tune_want_features(&o->want, "orphan_file", NULL);
	return 0;
}

static int set_offset(struct xw_tune_options *o, const char *value)
{
	return xw_parse_offset(value, &o->opts.offset, o->diag);
}

static int set_clear_pending(struct xw_tune_options *o, const char *value)
{
	(void)value;
	o->clear_pending = true;
	return 0;
}

static int set_test_fs(struct xw_tune_options *o, const char *value)
{
	(void)value;
	o->want.test_fs = true;
	return 0;
}

static int clear_test_fs(struct xw_tune_options *o, const char *value)
{
	(void)value;
	o->want.test_fs = false;
	return 0;
}

static const struct {
	const char *name;
	bool has_value;
	xw_tune_setter *set; /* NULL: only a bit */
	uint32_t bit; /* XW_TUNE_* of want.set; 0: none */
} extended[] = {
	{"clear_mmp", false, NULL, XW_TUNE_CLEAR_MMP},
	{"clear_pending", false, set_clear_pending, 0},
	{"mmp_update_interval", true, set_mmp_interval, XW_TUNE_MMP_INTERVAL},
	{"stride", true, set_stride, XW_TUNE_STRIDE},
	{"stripe_width", true, set_stripe_width, XW_TUNE_STRIPE_WIDTH},
	{"stripe-width", true, set_stripe_width, XW_TUNE_STRIPE_WIDTH},
	{"hash_alg", true, set_hash_alg, XW_TUNE_HASH_ALG},
	{"mount_opts", true, set_default_opts, XW_TUNE_MOUNT_OPTS},
	{"force_fsck", false, NULL, XW_TUNE_FORCE_FSCK},
	{"test_fs", false, set_test_fs, XW_TUNE_TEST_FS},
	{"^test_fs", false, clear_test_fs, XW_TUNE_TEST_FS},
	{"encoding", true, set_encoding, 0},
	{"encoding_flags", true, set_encoding_flags, 0},
	{"orphan_file_size", true, set_orphan_size, 0},
	{"offset", true, set_offset, 0},
};

static int extended_word(struct xw_tune_options *o, char *word, char *value)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(extended); i++) {
		int rc;

		if (strcmp(extended[i].name, word) || extended[i].has_value != (value != NULL))
			continue;
		rc = extended[i].set ? extended[i].set(o, value) : 0;
		o->want.set |= rc ? 0 : extended[i].bit;
		return rc;
	}
	return xw_fail(o->diag, XW_ERR_USAGE, "Bad options specified: -E %s", word);
}

int xw_tune_set_extended(struct xw_tune_options *o, const char *value)
{
	return each_word(o, value, extended_word);
}

/* ---- -J ---- */

static int journal_word(struct xw_tune_options *o, char *word, char *value)
{
	uint64_t n = 0;

	/* as in tune2fs, does not create a journal without another option */
	if (!strcmp(word, "fast_commit_size")) {
		if (!value || xw_parse_u64(value, &n) || n > UINT32_MAX)
			return bad_key(o, "fast commit size", value);
		o->want.fast_commit_kib = n;
		return 0;
	}
	if (strcmp(word, "size") != 0)
		return xw_fail(o->diag, XW_ERR_USAGE,
			       "Bad journal options specified: -J %s is not supported", word);
	if (!value || xw_parse_size(value, 1u << 20, &n) || !n || n > UINT64_C(1) << 48)
		return bad_key(o, "journal size", value);
	o->want.journal_bytes = n;
	o->want.set |= XW_TUNE_JOURNAL;
	return 0;
}

int xw_tune_set_journal(struct xw_tune_options *o, const char *value)
{
	return each_word(o, value, journal_word);
}

/* ---- -o ---- */

static int mount_word(struct xw_tune_options *o, char *word, char *value)
{
	const bool clear = *word == '^' || *word == '-';
	const char *name = word + (clear || *word == '+');
	struct xw_tune_want *w = &o->want;
	uint32_t bits, mask;

	if (value || xw_mntopt_find(name, strlen(name), &bits, &mask))
		return xw_fail(o->diag, XW_ERR_USAGE, "Invalid mount option set: %s", word);
	w->default_opts_off |= mask;
	w->default_opts_on = (w->default_opts_on & ~mask) | (clear ? 0 : bits);
	return 0;
}

int xw_tune_set_mount_opts(struct xw_tune_options *o, const char *value)
{
	return each_word(o, value, mount_word);
}

/* ---- -O and -Q ---- */

int xw_tune_set_features(struct xw_tune_options *o, const char *value)
{
	return xw_tune_want_features(&o->want, value, o->diag);
}

static int quota_word(struct xw_tune_options *o, char *word, char *value)
{
	static const char *const names[XW_QUOTA_TYPES][2] = {
		[XW_QUOTA_USER] = {"usr", "usrquota"},
		[XW_QUOTA_GROUP] = {"grp", "grpquota"},
		[XW_QUOTA_PROJECT] = {"prj", "prjquota"},
	};
	const bool clear = *word == '^';
	struct xw_tune_want *w = &o->want;

	for (unsigned i = 0; i < XW_QUOTA_TYPES && !value; i++) {
		if (strcmp(names[i][0], word + clear) != 0 &&
		    strcmp(names[i][1], word + clear) != 0)
			continue;
		w->quota_on &= ~(1u << i);
		w->quota_off &= ~(1u << i);
		*(clear ? &w->quota_off : &w->quota_on) |= 1u << i;
		return 0;
	}
	return xw_fail(o->diag, XW_ERR_USAGE, "Bad quota options specified: -Q %s", word);
}

int xw_tune_set_quota(struct xw_tune_options *o, const char *value)
{
	return each_word(o, value, quota_word);
}
