/* SPDX-License-Identifier: MIT */
/* A directory tree as a source. Internal to lib/import. */
#ifndef XW_IMPORT_DIR_H
#define XW_IMPORT_DIR_H

#include "import/source.h"

/* Walks the directory fd. own: close fd, also on failure. */
int xw_dir_open(int fd, bool own, const char *name, const struct xw_source_opts *o,
		struct xw_diag *diag, struct xw_source **out);

/* dir_xattr.c: the extended attributes of one file. */
struct xw_dir_xattrs {
	struct xw_entry_xattr *v;
	size_t n, cap;
	char *names, *values;
	size_t names_cap, values_len, values_cap;
};
/*
 * Read all xattrs of the open file fd (name NULL), or of `name` in the directory fd, not following
 * a symlink. Kept: user., trusted., security. and the two POSIX ACLs; others belong to the host
 * filesystem. 0, or an errno value with *what the attribute or "" for the list. ENOENT with name
 * set, if the file exists: /proc is not mounted.
 */
int xw_dir_xattrs_read(struct xw_dir_xattrs *x, int fd, const char *name, const char **what);
void xw_dir_xattrs_free(struct xw_dir_xattrs *x);

/* dir_links.c: first names of files with several links, by device and inode. */
struct xw_dir_links;
struct xw_dir_links *xw_dir_links_new(void);
void xw_dir_links_free(struct xw_dir_links *l);
/* 1: known, *first is its first name; 0: new, path is recorded as its first name; XW_ERR_NOMEM. */
int xw_dir_links_add(struct xw_dir_links *l, uint64_t dev, uint64_t ino, struct xw_slice path,
		     struct xw_slice *first);

#endif
