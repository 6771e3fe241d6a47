/* SPDX-License-Identifier: MIT */
/*
 * Filling: entries of a source become names and inodes of the tree, payload goes to the sink. Later
 * entries win, as if unpacked in order by root; nothing leaves the image.
 */
#ifndef XW_IMPORT_FILL_H
#define XW_IMPORT_FILL_H

#include "import/select.h"
#include "import/sink.h"
#include "import/source.h"
#include "tree/tree.h"
#include "xattr/intern.h"
#include "xattr/set.h"
#include "xattr/share.h"

enum xw_whiteouts {
	XW_WHITEOUTS_AUTO, /* APPLY with several sources, else KEEP */
	XW_WHITEOUTS_APPLY, /* .wh.NAME removes NAME from the layers below */
	XW_WHITEOUTS_KEEP, /* they are files like others */
	XW_WHITEOUTS_OVERLAY, /* they become what overlayfs understands */
};

/* An entry whose name the image had before it was filled; directories stay what they are. */
enum xw_fill_existing {
	XW_FILL_REPLACE, /* it wins; a directory gets its attributes */
	XW_FILL_KEEP, /* XW_ERR_EXISTS */
	XW_FILL_SKIP, /* it is left out */
};

struct xw_fill {
	/* given */
	struct xw_tree *tree;
	struct xw_sink *sink;
	struct xw_share *share;
	struct xw_xintern *intern;
	const struct xw_select *select;
	struct xw_diag *diag;
	enum xw_whiteouts whiteouts; /* not AUTO */
	enum xw_fill_existing existing;
	bool xattrs_allowed; /* ext_attr */
	int64_t latest; /* second that an inode holds, for a warning; 0: no warning */
	const char *root_selinux; /* -E root_selinux; NULL = none */
	bool keep_root_owner, keep_root_perms; /* -E root_owner / root_perms were given */
	/* The root of the image does not take owner and mode of a host directory: mke2fs -d. */
	bool plain_root;
	/* Before each entry is added, which `entries` counts already; non-zero ends the run. */
	int (*tick)(void *arg, uint64_t entries);
	void *tick_arg;
	/* kept */
	const char *source; /* name of the source being read; NULL outside */
	bool from_host_dir; /* is_host_dir of the source being read */
	const struct xw_entry *entry; /* that is being added */
	struct xw_binode *top; /* of --directory, else the root: no path leads out of it */
	uint64_t made_before; /* inodes that the tree had when the source began */
	struct xw_xattr_set set, old; /* what an inode gets; what one of the image has */
	/*
	 * Add what an inode of an existing image has to *set. NULL: there is no existing image.
	 */
	int (*old_xattrs)(void *arg, const struct xw_binode *n, struct xw_xattr_set *set);
	void *old_xattrs_arg;
	struct xw_acl_names names; /* resolves ACL names on this host */
	uint64_t entries, outward; /* outward: paths with ".." */
	bool large_file; /* some file is 2 GiB or more */
};

/* Read the source to its end. */
int xw_fill_source(struct xw_fill *f, struct xw_source *s);
/*
 * Give n's xattrs: those of the entry that ext4 can hold and the selection lets through. What a
 * directory has already stays beside them, as with tar, but for its ACLs.
 */
int xw_fill_xattrs(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n);
/* Before the sources: what options say of the root directory. */
int xw_fill_root(struct xw_fill *f);
/* Given all of the above: the tree reports to f what walks make and what goes. */
void xw_fill_listen(struct xw_fill *f);

/* ---- between the files of filling ---- */

/* whiteout.c: is this the name of a whiteout marker (".wh.")? */
bool xw_whiteout_named(const char *name, size_t len);
/* What overlayfs takes for a whiteout. */
bool xw_whiteout_is_device(const struct xw_binode *n);
/* Carry out the marker whose last path component is at->name. */
int xw_whiteout_apply(struct xw_fill *f, const struct xw_entry *e, const struct xw_path_at *at);
/* fill.c: is this a name that `existing` says is to stay? */
bool xw_fill_stays(const struct xw_fill *f, const struct xw_blink *l);
/* XW_FILL_KEEP: XW_ERR_EXISTS, with a line about it; else 0. */
int xw_fill_refuse(struct xw_fill *f, const struct xw_blink *l);
/* attrs.c: n->flags changed what xattrs it must have (XW_BN_OPAQUE). */
int xw_fill_renew_xattrs(struct xw_fill *f, struct xw_binode *n);
void xw_fill_free(struct xw_fill *f);

#endif
