/* SPDX-License-Identifier: MIT */
/*
 * Filling: entries of a source become names and inodes of the tree, payload goes to the sink. Later
 * entries take precedence, as if unpacked in order by root; nothing leaves the image.
 */
#ifndef XW_IMPORT_FILL_H
#define XW_IMPORT_FILL_H

#include "import/labels.h"
#include "import/select.h"
#include "import/sink.h"
#include "import/source.h"
#include "tree/tree.h"
#include "xattr/intern.h"
#include "xattr/set.h"
#include "xattr/share.h"

enum xw_whiteouts {
	XW_WHITEOUTS_AUTO, /* APPLY if there are several sources, else KEEP */
	XW_WHITEOUTS_APPLY, /* .wh.NAME removes NAME from the layers below */
	XW_WHITEOUTS_KEEP, /* they are treated as ordinary files */
	XW_WHITEOUTS_OVERLAY, /* they are converted to the representation of overlayfs */
};

/*
 * What to do with an entry whose name existed in the image before; existing directories are merged.
 */
enum xw_fill_existing {
	XW_FILL_REPLACE, /* the entry replaces it; a directory gets the entry's attributes */
	XW_FILL_KEEP, /* XW_ERR_EXISTS */
	XW_FILL_SKIP, /* the entry is skipped */
};

struct xw_fill {
	/* set by the caller */
	struct xw_tree *tree;
	struct xw_sink *sink;
	struct xw_share *share;
	struct xw_xintern *intern;
	const struct xw_select *select;
	struct xw_labels *labels; /* NULL: none */
	struct xw_diag *diag;
	enum xw_whiteouts whiteouts; /* not AUTO */
	/* nobody asked for that: the layers of a container image are applied */
	bool whiteouts_default;
	bool keep_images; /* they are stored as files on purpose: no warning */
	enum xw_fill_existing existing;
	bool xattrs_allowed; /* ext_attr */
	int64_t latest; /* last second that an inode can store, for a warning; 0: no warning */
	const char *root_selinux; /* -E root_selinux; NULL = none */
	bool keep_root_owner, keep_root_perms; /* -E root_owner / root_perms were specified */
	/* The root of the image does not get owner and mode of a host directory: as mke2fs -d. */
	bool plain_root;
	/*
	 * Called before each entry is added, which `entries` includes already; non-zero ends the
	 * run.
	 */
	int (*tick)(void *arg, uint64_t entries);
	void *tick_arg;
	/* names of the layers read so far, in the order of tree->layer; owned */
	XW_VEC(char *) layers;
	/* internal */
	const char *source; /* name of the source being read; NULL outside */
	bool from_host_dir; /* is_host_dir of the source being read */
	bool image_layer; /* it is a container image */
	const struct xw_entry *entry; /* the entry being added */
	struct xw_slice path; /* where it is added, below --directory */
	/* the inode of --directory, else the root: no path leads out of it */
	struct xw_binode *top;
	uint64_t made_before; /* inodes in the tree when the source was started */
	/* new attributes of an inode; attributes of an existing one */
	struct xw_xattr_set set, old;
	/*
	 * Add the attributes of an inode of an existing image to *set. NULL: there is no existing
	 * image.
	 */
	int (*old_xattrs)(void *arg, const struct xw_binode *n, struct xw_xattr_set *set);
	void *old_xattrs_arg;
	struct xw_acl_names names; /* resolves ACL names on this host */
	uint64_t entries, outward; /* outward: number of paths with ".." */
	bool large_file; /* there is a file of 2 GiB or more */
	XW_VEC(struct xw_blink *) notes; /* directories for the source alone; see whiteout.c */
	struct xw_table origins; /* which member has which name; see renamed.c */
};

/* Read the source to its end, with all of its layers. */
int xw_fill_source(struct xw_fill *f, struct xw_source *s);
/*
 * Set the xattrs of n: those of the entry that ext4 can store and that are selected. Existing
 * attributes of a directory are kept, as with tar, except its ACLs; not those that a lower layer
 * of a container image has given it.
 */
int xw_fill_xattrs(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n);
/* After the sources: labels of all directories that are new or that an entry has changed. */
int xw_fill_label_directories(struct xw_fill *f);
/* Before the sources: what options say of the root directory. */
int xw_fill_root(struct xw_fill *f);
/*
 * To be called when all fields above are set: f is notified by the tree of implied directories and
 * dropped inodes.
 */
void xw_fill_listen(struct xw_fill *f);

/* ---- internal to the filling code ---- */

/* whiteout.c: is this the name of a whiteout marker (".wh.*")? */
bool xw_whiteout_named(const char *name, size_t len);
/* Is this a whiteout of overlayfs? */
bool xw_whiteout_is_device(const struct xw_binode *n);
/* Apply the marker whose last path component is at->name. */
int xw_whiteout_apply(struct xw_fill *f, const struct xw_entry *e, const struct xw_path_at *at);
/* An entry with this path was added: is it below a directory of a union filesystem's own? */
int xw_whiteout_note(struct xw_fill *f, struct xw_slice path);
/* The end of a source: remove such directories. */
int xw_whiteout_end(struct xw_fill *f);
/* existing.c: must this name be kept according to `existing`? */
bool xw_fill_stays(const struct xw_fill *f, const struct xw_blink *l);
/* XW_FILL_KEEP: XW_ERR_EXISTS, with a message; else 0. */
int xw_fill_refuse(struct xw_fill *f, const struct xw_blink *l);
/* XW_ERR_EXISTS, with a message. */
int xw_fill_exists(struct xw_fill *f, const struct xw_blink *l);
/* S_IFMT bits of a type. */
uint32_t xw_fill_type_bits(enum xw_etype t);
/* label.c: an inode by the path that labels have for it; a new file, whose entry is being added. */
int xw_fill_label(struct xw_fill *f, struct xw_binode *n, const char *path);
int xw_fill_label_entry(struct xw_fill *f, struct xw_binode *n);
/* attrs.c: add an attribute; path is for messages. */
int xw_fill_put_xattr(struct xw_fill *f, const char *path, struct xw_binode *n,
		      struct xw_slice name, struct xw_slice value);
/*
 * renamed.c: an entry was added, in the place of `was` if that is of the same source (else NULL):
 * warn if another member lost its name to it. 0 or XW_ERR_NOMEM.
 */
int xw_fill_renamed(struct xw_fill *f, const struct xw_entry *e, const struct xw_path_at *at,
		    const struct xw_binode *was);
/* listed.c: an entry of a table. */
int xw_fill_listed(struct xw_fill *f, const struct xw_entry *e);
/* attrs.c: n->flags changed the xattrs that it must have (XW_BN_OPAQUE). */
int xw_fill_renew_xattrs(struct xw_fill *f, struct xw_binode *n);
void xw_fill_free(struct xw_fill *f);

#endif
