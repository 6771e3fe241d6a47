/* SPDX-License-Identifier: MIT */
/*
 * The syntax of mke2fs.conf(5): sections of relations, "tag = value" or "tag = { ... }". A pure
 * function of the text; usage.h interprets the relations.
 */
#ifndef XW_PLAN_PROFILE_H
#define XW_PLAN_PROFILE_H

#include "base/err.h"
#include "base/types.h"
#include "base/vec.h"

#define XW_PROFILE_MAX (1u << 20) /* maximum size of the text in bytes */

struct xw_relation {
	const char *section, *tag;
	const char *value; /* NULL: starts a stanza */
	/* 1 + index of the relation that starts its stanza; 0: directly in the section */
	size_t stanza;
	uint32_t line; /* starting at 1 */
};

struct xw_profile {
	char *name, *text; /* file name for messages; buffer of all strings below */
	XW_VEC(struct xw_relation) relations; /* in the order of the text */
};

/*
 * `name` is the file name for messages. Stanzas inside stanzas are parsed and ignored, since no
 * section uses them. XW_ERR_USAGE: "NAME:LINE: reason". The caller frees *out.
 */
int xw_profile_parse(const char *name, const char *text, size_t len, struct xw_diag *diag,
		     struct xw_profile **out);
void xw_profile_free(struct xw_profile *p);

/*
 * The stanza `tag` of a section, or NULL. Sections with the same name are merged; if several
 * stanzas or relations have the same name, the first is used, as in mke2fs.
 */
const struct xw_relation *xw_profile_stanza(const struct xw_profile *p, const char *section,
					    const char *tag, size_t tag_len);
/* The relation `tag` in a stanza, or with stanza NULL directly in the section. */
const struct xw_relation *xw_profile_find(const struct xw_profile *p, const char *section,
					  const struct xw_relation *stanza, const char *tag);

#endif
