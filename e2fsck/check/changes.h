/* SPDX-License-Identifier: MIT */
/*
 * What the repairs of a check change for the user of the filesystem: files that are lost or moved,
 * names, settings. With -n: what they would change, as far as the first round can tell.
 */
#ifndef XW_FSCK_CHANGES_H
#define XW_FSCK_CHANGES_H

#include "base/json.h"
#include "report/report.h"

enum fsck_change_kind {
	FSCK_CHANGE_CONNECTED, /* to lost+found */
	FSCK_CHANGE_CLEARED, /* an inode */
	FSCK_CHANGE_SHORTENED, /* blocks of a file or directory are lost, or may be */
	FSCK_CHANGE_COPIED, /* blocks that it shared */
	FSCK_CHANGE_UNNAMED, /* a name was removed */
	FSCK_CHANGE_RENAMED,
	FSCK_CHANGE_ATTRIBUTE, /* extended attributes were removed */
	FSCK_CHANGE_SETTING, /* of the superblock */
	FSCK_CHANGE_KINDS
};

/* Strings are owned, and NULL if they are not known or do not apply. */
struct fsck_change {
	enum fsck_change_kind kind;
	bool undone; /* a later finding says that it was not possible */
	xw_ino ino; /* 0: none */
	xw_ino other; /* COPIED: another inode that has the blocks; 0: none */
	char *path; /* of the inode; UNNAMED, RENAMED: the name */
	char *from; /* CONNECTED: the directory, or the name, that it had */
	char *other_path;
	char *text; /* SETTING: the text of the finding */
};

struct fsck_changes {
	XW_VEC(struct fsck_change) v;
	uint64_t n[FSCK_CHANGE_KINDS]; /* how many are not undone */
};

/* Begin: paths of findings are filled in from here on. XW_ERR_NOMEM. */
int fsck_changes_begin(struct fsck *f);
void fsck_changes_end(struct fsck *f);
/* Valid until xw_fsck_end(); empty if there was no memory for them. */
const struct fsck_changes *xw_fsck_changes(const struct fsck *f);
/* The kind as a permanent word: "connected" ... */
const char *xw_fsck_change_name(enum fsck_change_kind kind);
/* Were files, names or attributes lost? */
bool xw_fsck_is_loss(const struct fsck_changes *all);
void xw_fsck_changes_json(const struct fsck_changes *all, struct xw_json *j, const char *key);

#endif
