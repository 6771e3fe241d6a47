/* SPDX-License-Identifier: MIT */
/*
 * The syntax of mke2fs.conf(5): sections of relations, "tag = value" or "tag = { ... }". A pure
 * function from text; what the relations mean is usage.h's.
 */
#ifndef XW_PLAN_PROFILE_H
#define XW_PLAN_PROFILE_H

#include "base/err.h"
#include "base/types.h"
#include "base/vec.h"

#define XW_PROFILE_MAX (1u << 20) /* bytes of text */

struct xw_relation {
	const char *section, *tag;
	const char *value; /* NULL: opens a stanza */
	size_t stanza; /* index of the relation that opened its stanza, + 1; 0: the section's own */
	uint32_t line; /* from 1 */
};

struct xw_profile {
	char *name, *text; /* for messages; what all strings below point into */
	XW_VEC(struct xw_relation) relations; /* in the order of the text */
};

/*
 * name: the file, for messages. Stanzas inside stanzas are read and dropped: nothing knows any.
 * XW_ERR_USAGE: "NAME:LINE: what is wrong". *out is the caller's.
 */
int xw_profile_parse(const char *name, const char *text, size_t len, struct xw_diag *diag,
		     struct xw_profile **out);
void xw_profile_free(struct xw_profile *p);

/*
 * The stanza `tag` of a section, NULL when there is none. Sections of one name count as one; of
 * stanzas or relations of one name the first counts, as in mke2fs.
 */
const struct xw_relation *xw_profile_stanza(const struct xw_profile *p, const char *section,
					    const char *tag, size_t tag_len);
/* The relation `tag` in a stanza, or with stanza NULL right in the section. */
const struct xw_relation *xw_profile_find(const struct xw_profile *p, const char *section,
					  const struct xw_relation *stanza, const char *tag);

#endif
