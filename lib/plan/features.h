/* SPDX-License-Identifier: MIT */
/* Feature names and bits, and which combinations make sense. */
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
 * The names of all, with a blank between two, as dumpe2fs prints them: FEATURE_C4 is the name of an
 * unknown one.
 */
#define XW_FEATURE_WORDS (96 * 24)
void xw_feature_words(const struct xw_features *f, char list[XW_FEATURE_WORDS]);
/*
 * Name or alias ("extents" for extent, "gdt_csum" and "uninit_groups" for uninit_bg), any case. 0
 * and *word, *bit; XW_ERR_NOTFOUND for an unknown name.
 */
int xw_feature_find(const char *name, size_t len, enum xw_feature_word *word, uint32_t *bit);
/*
 * Apply a -O list ("a,^b,none") to *f in order. XW_ERR_USAGE names an unknown feature,
 * XW_ERR_UNSUPPORTED a known one that this build cannot create. `none` clears all earlier ones.
 */
int xw_features_apply(struct xw_features *f, const char *list, struct xw_diag *diag);
/*
 * Refuse impossible combinations and resolve implied ones as mke2fs does (metadata_csum turns
 * uninit_bg off, 64bit needs extent, resize_inode with meta_bg is refused ...). XW_ERR_USAGE with
 * both names.
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
