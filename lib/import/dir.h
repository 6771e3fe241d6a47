/* SPDX-License-Identifier: MIT */
/* A directory tree as a source. Internal to lib/import. */
#ifndef XW_IMPORT_DIR_H
#define XW_IMPORT_DIR_H

#include "import/source.h"

/* Read the tree below the directory fd. own: close fd, also on failure. */
int xw_dir_open(int fd, bool own, const char *name, const struct xw_source_opts *o,
		struct xw_diag *diag, struct xw_source **out);

/* Extended attributes of one file (dir_xattr.c). */
struct xw_dir_xattrs {
	struct xw_entry_xattr *v;
	size_t n, cap;
	char *names, *values;
	size_t names_cap, values_len, values_cap;
};
/*
 * Read the xattrs of the open file fd (name NULL), or of `name` in the directory fd without
 * following a symlink: user., trusted., security. and POSIX ACLs; others belong to the host
 * filesystem. Returns 0, or an errno value with the attribute in *what, or "" if listing failed.
 * ENOENT for an existing name: /proc is not mounted.
 */
int xw_dir_xattrs_read(struct xw_dir_xattrs *x, int fd, const char *name, const char **what);
void xw_dir_xattrs_free(struct xw_dir_xattrs *x);

/* Finds hard links: maps device and inode number to the first name of the file (dir_links.c). */
struct xw_dir_links;
struct xw_dir_links *xw_dir_links_new(void);
void xw_dir_links_free(struct xw_dir_links *l);
/* 1: *first is the file's first name; 0: path was recorded as the first name; XW_ERR_NOMEM. */
int xw_dir_links_add(struct xw_dir_links *l, uint64_t dev, uint64_t ino, struct xw_slice path,
		     struct xw_slice *first);

#endif
