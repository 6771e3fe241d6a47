/* SPDX-License-Identifier: MIT */
/*
 * One table, one row per feature: its names, its bit, whether this build can create it, and its
 * dependencies. Adding a feature means adding a row. Names and bits: the kernel's "ext4 Data
 * Structures" and the output of dumpe2fs; the rules between features were observed with mke2fs
 * 1.47.0, which refuses or resolves the same combinations.
 */
#include "plan/features.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "disk/super.h"

struct row {
	const char *name, *alias[2];
	enum xw_feature_word word;
	uint32_t bit;
	bool make; /* this build can create it */
	const char *needs[2]; /* features that must be set too */
	const char *conflicts; /* feature that must be clear */
	const char *replaces; /* feature that this one clears */
	const char *removal; /* for a message: the command that removes it; NULL: none */
};

#define C XW_FW_COMPAT
#define I XW_FW_INCOMPAT
#define R XW_FW_RO_COMPAT

static const struct row rows[] = {
	{"dir_prealloc", {0}, C, XW_COMPAT_DIR_PREALLOC, false, {0}, 0, 0},
	{"imagic_inodes", {0}, C, 0x0002, false, {0}, 0, 0},
	{"has_journal", {0}, C, XW_COMPAT_HAS_JOURNAL, true, {0}, 0, 0},
	{"ext_attr", {0}, C, XW_COMPAT_EXT_ATTR, true, {0}, 0, 0},
	{"resize_inode", {0}, C, XW_COMPAT_RESIZE_INODE, true, {"sparse_super"}, "meta_bg", 0},
	{"dir_index", {0}, C, XW_COMPAT_DIR_INDEX, true, {0}, 0, 0},
	{"lazy_bg", {0}, C, 0x0040, false, {0}, 0, 0},
	{"snapshot_bitmap", {0}, C, 0x0100, false, {0}, 0, 0},
	{"sparse_super2", {0}, C, XW_COMPAT_SPARSE_SUPER2, true, {0}, 0, 0},
	{"fast_commit", {0}, C, XW_COMPAT_FAST_COMMIT, true, {0}, 0, 0},
	{"stable_inodes", {0}, C, XW_COMPAT_STABLE_INODES, true, {0}, 0, 0},
	{"orphan_file", {0}, C, XW_COMPAT_ORPHAN_FILE, true, {"has_journal"}, 0, 0},

	{"compression", {0}, I, 0x00001, false, {0}, 0, 0},
	{"filetype", {0}, I, XW_INCOMPAT_FILETYPE, true, {0}, 0, 0},
	{"needs_recovery", {0}, I, XW_INCOMPAT_RECOVER, false, {0}, 0, 0},
	{"journal_dev", {0}, I, XW_INCOMPAT_JOURNAL_DEV, true, {0}, 0, 0},
	{"meta_bg", {0}, I, XW_INCOMPAT_META_BG, true, {0}, 0, 0},
	{"extent", {"extents"}, I, XW_INCOMPAT_EXTENTS, true, {0}, 0, 0},
	{"64bit", {0}, I, XW_INCOMPAT_64BIT, true, {"extent"}, 0, 0},
	{"mmp", {0}, I, XW_INCOMPAT_MMP, true, {0}, 0, 0},
	{"flex_bg", {0}, I, XW_INCOMPAT_FLEX_BG, true, {0}, 0, 0},
	{"ea_inode", {0}, I, XW_INCOMPAT_EA_INODE, true, {0}, 0, 0},
	{"dirdata", {0}, I, 0x01000, false, {0}, 0, 0},
	{"metadata_csum_seed", {0}, I, XW_INCOMPAT_CSUM_SEED, true, {"metadata_csum"}, 0, 0},
	{"large_dir", {"largedir"}, I, XW_INCOMPAT_LARGEDIR, true, {0}, 0, 0},
	{"inline_data", {0}, I, XW_INCOMPAT_INLINE_DATA, true, {0}, 0, 0},
	{"encrypt", {0}, I, XW_INCOMPAT_ENCRYPT, true, {0}, 0, 0},
	{"casefold", {0}, I, XW_INCOMPAT_CASEFOLD, true, {0}, 0, 0},

	{"sparse_super", {0}, R, XW_RO_SPARSE_SUPER, true, {0}, 0, 0},
	{"large_file", {0}, R, XW_RO_LARGE_FILE, true, {0}, 0, 0},
	{"huge_file", {0}, R, XW_RO_HUGE_FILE, true, {0}, 0, 0},
	{"uninit_bg", {"gdt_csum", "uninit_groups"}, R, XW_RO_GDT_CSUM, true, {0}, 0, 0},
	{"dir_nlink", {0}, R, XW_RO_DIR_NLINK, true, {0}, 0, 0},
	{"extra_isize", {0}, R, XW_RO_EXTRA_ISIZE, true, {0}, 0, 0},
	{"quota", {0}, R, XW_RO_QUOTA, true, {0}, 0, 0},
	{"bigalloc", {0}, R, XW_RO_BIGALLOC, true, {"extent"}, 0, 0},
	{"metadata_csum", {0}, R, XW_RO_METADATA_CSUM, true, {0}, 0, "uninit_bg"},
	{"replica", {0}, R, 0x00800, false, {0}, 0, 0},
	{"read-only", {"readonly"}, R, XW_RO_READONLY, false, {0}, 0, 0},
	{"project", {0}, R, XW_RO_PROJECT, true, {0}, 0, 0},
	{"shared_blocks",
	 {0},
	 R,
	 XW_RO_SHARED_BLOCKS,
	 false,
	 {0},
	 0,
	 0,
	 "xw-fsck -f -E unshare_blocks removes shared_blocks"},
	{"verity", {0}, R, XW_RO_VERITY, true, {0}, 0, 0},
	{"orphan_present", {0}, R, XW_RO_ORPHAN_PRESENT, false, {0}, 0, 0},
	{"itree", {0}, R, XW_RO_ITREE, true, {"dir_index"}, "bigalloc", 0},
};

#undef C
#undef I
#undef R

static bool same(const char *name, const char *text, size_t len)
{
	return name && strlen(name) == len && !strncasecmp(name, text, len);
}

static const struct row *row_find(const char *text, size_t len)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		if (same(rows[i].name, text, len) || same(rows[i].alias[0], text, len) ||
		    same(rows[i].alias[1], text, len))
			return &rows[i];
	}
	return NULL;
}

static bool row_set(const struct xw_features *f, const struct row *row)
{
	return f->w[row->word] & row->bit;
}

const char *xw_feature_name(enum xw_feature_word word, uint32_t bit)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		if (rows[i].word == word && rows[i].bit == bit)
			return rows[i].name;
	}
	return NULL;
}

void xw_feature_words(const struct xw_features *f, char list[XW_FEATURE_WORDS])
{
	size_t len = 0;

	*list = 0;
	for (unsigned w = 0; w < XW_FW_COUNT; w++) {
		for (unsigned bit = 0; bit < 32; bit++) {
			const char *name = xw_feature_name(w, UINT32_C(1) << bit);
			char unknown[16];

			if (!(f->w[w] >> bit & 1))
				continue;
			snprintf(unknown, sizeof(unknown), "FEATURE_%c%u", "CIR"[w], bit);
			len += (size_t)snprintf(list + len, XW_FEATURE_WORDS - len, "%s%s",
						len ? " " : "", name ? name : unknown);
		}
	}
}

static const char *find_removal(const struct xw_features *f)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		if (row_set(f, &rows[i]) && rows[i].removal)
			return rows[i].removal;
	}
	return "a newer version or another tool is needed";
}

int xw_features_refuse(const char *name, const struct xw_features *f, struct xw_diag *diag)
{
	char list[XW_FEATURE_WORDS];

	xw_feature_words(f, list);
	return xw_fail(diag, XW_ERR_UNSUPPORTED, "%s: unsupported feature%s %.400s; %s", name,
		       strchr(list, ' ') ? "s" : "", list, find_removal(f));
}

int xw_feature_find(const char *name, size_t len, enum xw_feature_word *word, uint32_t *bit)
{
	const struct row *row = row_find(name, len);

	if (!row)
		return XW_ERR_NOTFOUND;
	*word = row->word;
	*bit = row->bit;
	return 0;
}

/* Apply one word of a list: a name, which may begin with ^, - or +; or "none". */
static int apply_word(struct xw_features *f, const char *text, size_t len, struct xw_diag *diag)
{
	bool clear = len > 0 && (*text == '^' || *text == '-');
	size_t sign = clear || (len > 0 && *text == '+') ? 1 : 0;
	const struct row *row = row_find(text + sign, len - sign);

	if (same("none", text, len)) {
		memset(f, 0, sizeof(*f));
		return 0;
	}
	if (!row)
		return xw_fail(diag, XW_ERR_USAGE, "-O %.*s: no such feature", (int)XW_MIN(len, 80),
			       text);
	if (clear) {
		f->w[row->word] &= ~row->bit;
		return 0;
	}
	if (!row->make)
		return xw_fail(diag, XW_ERR_UNSUPPORTED, "-O %s: not supported by this version",
			       row->name);
	f->w[row->word] |= row->bit;
	return 0;
}

const char *xw_list_word(const char **list, size_t *len)
{
	static const char separators[] = ", \t";
	const char *word = *list + strspn(*list, separators);

	*len = strcspn(word, separators);
	*list = word + *len;
	return *len ? word : NULL;
}

int xw_features_apply(struct xw_features *f, const char *list, struct xw_diag *diag)
{
	const char *word;
	size_t len;

	while ((word = xw_list_word(&list, &len))) {
		int rc = apply_word(f, word, len, diag);

		if (rc)
			return rc;
	}
	return 0;
}

static int check_row(struct xw_features *f, const struct row *row, struct xw_diag *diag)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(row->needs) && row->needs[i]; i++) {
		const char *need = row->needs[i];

		if (!row_set(f, row_find(need, strlen(need))))
			return xw_fail(diag, XW_ERR_USAGE,
				       "feature %s needs %s: add -O %s or -O ^%s", row->name, need,
				       need, row->name);
	}
	if (row->conflicts && row_set(f, row_find(row->conflicts, strlen(row->conflicts))))
		return xw_fail(diag, XW_ERR_USAGE,
			       "features %s and %s exclude each other: add -O ^%s or -O ^%s",
			       row->name, row->conflicts, row->name, row->conflicts);
	if (row->replaces) {
		const struct row *old = row_find(row->replaces, strlen(row->replaces));

		f->w[old->word] &= ~old->bit;
	}
	return 0;
}

int xw_features_check(struct xw_features *f, struct xw_diag *diag)
{
	/* an external journal is not a filesystem: only metadata_csum remains */
	if (f->w[XW_FW_INCOMPAT] & XW_INCOMPAT_JOURNAL_DEV) {
		f->w[XW_FW_COMPAT] = 0;
		f->w[XW_FW_INCOMPAT] = XW_INCOMPAT_JOURNAL_DEV;
		f->w[XW_FW_RO_COMPAT] &= XW_RO_METADATA_CSUM;
		return 0;
	}
	for (size_t i = 0; i < XW_ARRAY_SIZE(rows); i++) {
		int rc = row_set(f, &rows[i]) ? check_row(f, &rows[i], diag) : 0;

		if (rc)
			return rc;
	}
	return 0;
}
