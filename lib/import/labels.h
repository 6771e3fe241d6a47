/* SPDX-License-Identifier: MIT */
/*
 * Tables of file attributes by path: owner, mode and capabilities (Android's fs_config), and
 * SELinux contexts (file_contexts).
 */
#ifndef XW_IMPORT_LABELS_H
#define XW_IMPORT_LABELS_H

#include "base/err.h"
#include "base/types.h"
#include "base/vec.h"

struct xw_label_config {
	char *path; /* without leading and trailing slashes; owned */
	uint32_t uid, gid, mode;
	uint64_t capabilities; /* 0: none */
	unsigned table; /* number of the --fs-config option, from 1 */
	unsigned long line;
};

struct xw_labels {
	XW_VEC(struct xw_label_config) config; /* sorted by path */
	unsigned tables; /* number of --fs-config options */
	void *contexts; /* libselinux handle; NULL: none */
	char *contexts_file; /* for messages, owned */
	/* prefix of all paths, without leading and trailing slashes; NULL: none */
	char *mount_point;
	XW_VEC(char) path; /* result of the last xw_labels_path() */
};

/*
 * Set the option "--fs-config", "--file-contexts" or "--mount-point". XW_ERR_NOTFOUND: another
 * option.
 */
int xw_labels_set(struct xw_labels *l, const char *option, const char *value, struct xw_diag *diag);
void xw_labels_free(struct xw_labels *l);
bool xw_labels_any(const struct xw_labels *l);

/*
 * The full path of dir/name, with one leading slash; valid until the next call. NULL: out of
 * memory.
 */
const char *xw_labels_path(struct xw_labels *l, const char *dir, const char *name, size_t len);
/* The --fs-config entry for a path, or NULL. */
const struct xw_label_config *xw_labels_config(const struct xw_labels *l, const char *path);
/* The SELinux context of a path: 1 and *context, to be freed; 0: none; negative: a failure. */
int xw_labels_context(const struct xw_labels *l, const char *path, uint32_t mode, char **context,
		      struct xw_diag *diag);
/* Encode the value of security.capability. */
#define XW_LABEL_CAPS 20
void xw_labels_caps(uint64_t capabilities, uint8_t out[XW_LABEL_CAPS]);

#endif
