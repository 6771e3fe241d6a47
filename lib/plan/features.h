/* SPDX-License-Identifier: MIT */
/* Feature names and bits, and their valid combinations. */
#ifndef XW_PLAN_FEATURES_H
#define XW_PLAN_FEATURES_H

#include "base/err.h"
#include "base/types.h"

enum xw_feature_word { XW_FW_COMPAT, XW_FW_INCOMPAT, XW_FW_RO_COMPAT, XW_FW_COUNT };

struct xw_features {
	uint32_t w[XW_FW_COUNT];
};

/*
 * The next word of a list of names separated by commas and blanks: returns it with its length, and
 * moves *list after it. NULL: end.
 */
const char *xw_list_word(const char **list, size_t *len);
/* Name as dumpe2fs prints it; NULL when unknown. Static storage. */
const char *xw_feature_name(enum xw_feature_word word, uint32_t bit);
/*
 * The names of all features in f, separated by blanks, as dumpe2fs prints them. An unknown feature
 * is named by its word and bit: FEATURE_C4.
 */
#define XW_FEATURE_WORDS (96 * 24)
void xw_feature_words(const struct xw_features *f, char list[XW_FEATURE_WORDS]);
/*
 * Fail with XW_ERR_UNSUPPORTED because the filesystem `name` has these features: the message names
 * them, and the command that removes them, if there is one.
 */
int xw_features_refuse(const char *name, const struct xw_features *f, struct xw_diag *diag);
/*
 * Find a feature by its name or an alias ("extents" for extent, "gdt_csum" and "uninit_groups" for
 * uninit_bg), ignoring case. XW_ERR_NOTFOUND: unknown name.
 */
int xw_feature_find(const char *name, size_t len, enum xw_feature_word *word, uint32_t *bit);
/*
 * Apply a -O list ("a,^b,none") to *f in order. XW_ERR_USAGE names an unknown feature,
 * XW_ERR_UNSUPPORTED a known one that this build cannot create. `none` clears all features.
 */
int xw_features_apply(struct xw_features *f, const char *list, struct xw_diag *diag);
/*
 * Refuse invalid combinations (64bit needs extent, resize_inode excludes meta_bg ...), and clear
 * features replaced by others (uninit_bg by metadata_csum), as mke2fs does. XW_ERR_USAGE: the
 * message names both features.
 */
int xw_features_check(struct xw_features *f, struct xw_diag *diag);

static inline bool xw_has_compat(const struct xw_features *f, uint32_t bit)
{
	return f->w[XW_FW_COMPAT] & bit;
}

static inline bool xw_has_incompat(const struct xw_features *f, uint32_t bit)
{
	return f->w[XW_FW_INCOMPAT] & bit;
}

static inline bool xw_has_ro(const struct xw_features *f, uint32_t bit)
{
	return f->w[XW_FW_RO_COMPAT] & bit;
}

#endif
