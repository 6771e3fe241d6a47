/* SPDX-License-Identifier: MIT */
/*
 * Adds entries of sources to the tree, and writes their contents through the sink. Later entries
 * take precedence, as if root unpacked them in order; no entry is created outside of the image.
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
	XW_WHITEOUTS_KEEP, /* stored as regular files */
	XW_WHITEOUTS_OVERLAY, /* converted to the format of overlayfs */
};

/* What to do if the name of an entry exists in the image. Existing directories are merged. */
enum xw_fill_existing {
	XW_FILL_REPLACE, /* replace the file; a directory gets the entry's attributes */
	XW_FILL_KEEP, /* fail with XW_ERR_EXISTS */
	XW_FILL_SKIP, /* skip the entry */
};

struct xw_unselected;

struct xw_fill {
	/* set by the caller */
	struct xw_tree *tree;
	struct xw_sink *sink;
	struct xw_share *share;
	struct xw_xintern *intern;
	const struct xw_select *select;
	struct xw_labels *labels; /* NULL: no labels */
	struct xw_diag *diag;
	enum xw_whiteouts whiteouts; /* resolved, not AUTO */
	/* `whiteouts` was not set by the user: apply them in container images */
	bool whiteouts_default;
	bool keep_images; /* no warning about container images stored as files */
	enum xw_fill_existing existing;
	bool xattrs_allowed; /* the feature ext_attr is enabled */
	int64_t latest; /* latest time that an inode can store, for a warning; 0: no warning */
	const char *root_selinux; /* -E root_selinux; NULL = none */
	bool keep_root_owner, keep_root_perms; /* -E root_owner / root_perms were specified */
	/*
	 * A source directory on the host is a container of entries, as with mke2fs -d: a new root
	 * gets its times and xattrs, but not its owner, mode and ACLs, and an existing directory
	 * stays as it is. false: -E root_from_source.
	 */
	bool plain_root;
	struct xw_spool_opts spool; /* limits for temporary files */
	bool no_overwrite_dir; /* existing directories keep owner, mode and xattrs */
	/* Called before each entry is added; `entries` includes it. Non-zero ends the run. */
	int (*tick)(void *arg, uint64_t entries);
	void *tick_arg;
	/* names of the layers read so far, in the order of tree->layer; owned */
	XW_VEC(char *) layers;
	/* internal */
	const char *source; /* name of the current source; NULL before the first one */
	bool from_host_dir; /* is_host_dir of the current source */
	bool image_layer; /* the current source is a container image */
	const struct xw_entry *entry; /* the entry being added */
	struct xw_slice path; /* path of the entry below --directory, after --transform */
	/* inode of --directory, or the root; ".." does not lead above it */
	struct xw_binode *top;
	uint64_t made_before; /* number of inodes in the tree when the source was opened */
	/* new and existing attributes of an inode */
	struct xw_xattr_set set, old;
	/* Adds the attributes of an existing inode to *set. NULL: the image is new. */
	int (*old_xattrs)(void *arg, const struct xw_binode *n, struct xw_xattr_set *set);
	void *old_xattrs_arg;
	struct xw_acl_names names; /* resolves names in ACLs on this host */
	uint64_t entries, dotdots; /* outward: number of paths with ".." */
	uint64_t merged_acls, root_caps; /* warnings that are given once */
	bool large_file; /* a file of 2 GiB or more was added */
	/* internal directories of union filesystems, see whiteout.c */
	XW_VEC(struct xw_blink *) internal_dirs;
	struct xw_unselected *unselected; /* files that are left out; NULL: none */
	struct xw_table origins; /* archive members by name, see renamed.c */
	struct xw_table labeled; /* inodes with a line of a table, see label_links.c */
};

/* Add all entries of the source, with all of its layers. */
int xw_fill_source(struct xw_fill *f, struct xw_source *s);
/*
 * Set the xattrs of n to the selected ones of the entry that ext4 can store. As in tar, other
 * existing attributes of a directory are kept, except ACLs; in a container image, those from lower
 * layers are not.
 */
int xw_fill_xattrs(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n);
/* Label all directories that are new or that an entry has changed. Called after the sources. */
int xw_fill_label_directories(struct xw_fill *f);
/* Apply options for the root directory. Called before the sources. */
int xw_fill_root(struct xw_fill *f);
/*
 * Register callbacks of the tree for implied directories and dropped inodes. To be called when all
 * fields above are set.
 */
void xw_fill_set_callbacks(struct xw_fill *f);

/* ---- internal to the filling code ---- */

/*
 * fill_messages.c: fail or warn with a message that names the source and the entry. A failure
 * replaces an earlier message.
 */
int xw_fill_fail(struct xw_fill *f, const struct xw_entry *e, int code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void xw_fill_warn(struct xw_fill *f, const struct xw_entry *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* whiteout.c: is `name` a whiteout marker (".wh.*")? */
bool xw_whiteout_named(const char *name, size_t len);
/* Is n a whiteout of overlayfs? */
bool xw_whiteout_is_device(const struct xw_binode *n);
/* Apply the marker at->name. */
int xw_whiteout_apply(struct xw_fill *f, const struct xw_entry *e, const struct xw_path_at *at);
/* An entry with this path was added: remember a ".wh..wh.*" directory in the path. */
int xw_whiteout_remember(struct xw_fill *f, struct xw_slice path);
/* At the end of a source: remove these directories. */
int xw_whiteout_end(struct xw_fill *f);
/* existing.c: does `existing` protect this name? */
bool xw_fill_is_protected(const struct xw_fill *f, const struct xw_blink *l);
/* XW_ERR_EXISTS with a message if `existing` is KEEP, else 0. */
int xw_fill_check_existing(struct xw_fill *f, const struct xw_blink *l);
/* Fails with XW_ERR_EXISTS and a message. */
int xw_fill_fail_exists(struct xw_fill *f, const struct xw_blink *l);
/* S_IFMT bits of a type. */
uint32_t xw_fill_type_bits(enum xw_etype t);
/* label.c: label an inode by its path, or a new file by f->path. */
int xw_fill_label(struct xw_fill *f, struct xw_binode *n, const char *path);
int xw_fill_label_entry(struct xw_fill *f, struct xw_binode *n);
/* label_links.c: the line was applied to n. */
int xw_fill_note_label(struct xw_fill *f, const struct xw_binode *n,
		       const struct xw_label_config *c);
/* Hard link e of n was added: warn if its line of --fs-config has other values. */
int xw_fill_label_link(struct xw_fill *f, const struct xw_entry *e, const struct xw_binode *n);
/* The line of a device table is about to be applied to n: warn about an earlier one. */
int xw_fill_note_table(struct xw_fill *f, const struct xw_entry *e, const struct xw_binode *n);
/* attrs.c: add an attribute; path is for messages. */
int xw_fill_put_xattr(struct xw_fill *f, const char *path, struct xw_binode *n,
		      struct xw_slice name, struct xw_slice value);
/*
 * renamed.c: an entry was added. Warn if another member of the same source, whose inode is `was`
 * (NULL: none), loses its name. 0 or XW_ERR_NOMEM.
 */
int xw_fill_check_renamed(struct xw_fill *f, const struct xw_entry *e, const struct xw_path_at *at,
			  const struct xw_binode *was);
/*
 * entry.c: add an entry that is neither a directory nor a hard link, in the place of `old`, which
 * may be NULL.
 */
int xw_fill_add_file(struct xw_fill *f, struct xw_source *s, const struct xw_entry *e,
		     const struct xw_path_at *at, struct xw_blink *old);
/* Write the payload of the entry as the contents of n, which has none. */
int xw_fill_contents(struct xw_fill *f, struct xw_source *s, const struct xw_entry *e,
		     struct xw_binode *n);
/* Set mode, owner, times and extended attributes; the times only. */
int xw_fill_set_attributes(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n);
void xw_fill_set_times(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n);
/* The inode in the tree to which a hard link refers. XW_ERR_NOTFOUND, without a message: none. */
int xw_fill_link_target(struct xw_fill *f, const struct xw_entry *e, struct xw_binode **target);
/* Replace the contents of n, if it is a regular file, by the payload of a hard link, if any. */
int xw_fill_link_data(struct xw_fill *f, struct xw_source *s, const struct xw_entry *e,
		      struct xw_binode *n);
/* hardlink.c: add a hard link in the place of `old`. */
int xw_fill_add_hardlink(struct xw_fill *f, struct xw_source *s, const struct xw_entry *e,
			 const struct xw_path_at *at, struct xw_blink *old);
/* table_entry.c: add an entry of a device table. */
int xw_fill_table_entry(struct xw_fill *f, const struct xw_entry *e);
/*
 * attrs.c: load the current attributes of n into f->set, and into f->old those stored in the image;
 * store f->set, which modifies an existing inode only if they differ. A failure of loading has no
 * message but *why.
 */
bool xw_fill_may_have_xattrs(const struct xw_fill *f, const struct xw_binode *n);
int xw_fill_load_xattrs(struct xw_fill *f, const struct xw_binode *n, struct xw_diag *why);
int xw_fill_store_xattrs(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n);
/*
 * access.c: add an ACL of an entry to f->set, with the ids that options give, and set the mode of
 * the inode, whose owner is set, by it; add capabilities.
 */
int xw_fill_put_acl(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n,
		    bool is_default, struct xw_acl *acl, struct xw_diag *why);
int xw_fill_put_caps(struct xw_fill *f, const struct xw_entry *e, struct xw_slice value,
		     struct xw_diag *why);
/* chmod.c: give n an explicit mode, which also changes its ACL, as chmod(2) does. */
int xw_fill_chmod(struct xw_fill *f, const struct xw_entry *e, struct xw_binode *n, uint32_t perms);
/* access.c: is n the directory in the image into which a source directory is unpacked? */
bool xw_fill_is_container(const struct xw_fill *f, const struct xw_binode *n);
/* attrs.c: update the xattrs after XW_BN_OPAQUE was set in n->flags. */
int xw_fill_update_xattrs(struct xw_fill *f, struct xw_binode *n);
void xw_fill_free(struct xw_fill *f);

#endif
