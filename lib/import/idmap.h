/* SPDX-License-Identifier: MIT */
/* Maps of user and group IDs: --owner-map and --group-map. */
#ifndef XW_IMPORT_IDMAP_H
#define XW_IMPORT_IDMAP_H

#include "base/err.h"
#include "base/vec.h"
#include "xattr/acl.h"

struct xw_idmap_pair {
	uint32_t from, to;
	uint32_t line; /* its number in all files of the map */
};

struct xw_idmap {
	XW_VEC(struct xw_idmap_pair) v; /* sorted by `from`, which are distinct */
	uint32_t lines; /* read so far */
};

/*
 * Read a map in the format of tar(1): lines of "OLD NEW", where OLD is a name or +NUMBER, and NEW a
 * name, +NUMBER or NAME:NUMBER; "#" starts a comment. 0, XW_ERR_IO or XW_ERR_USAGE.
 */
int xw_idmap_read(struct xw_idmap *m, const char *option, const char *file, bool group,
		  const struct xw_acl_names *names, struct xw_diag *diag);
/* Map *id. false: it is not in the map. */
bool xw_idmap_apply(const struct xw_idmap *m, uint32_t *id);
void xw_idmap_free(struct xw_idmap *m);

#endif
