/* SPDX-License-Identifier: MIT */
/*
 * What tables say of files by their path: owner, mode and capabilities (fs_config of Android), and
 * the SELinux label (file_contexts).
 */
#ifndef XW_IMPORT_LABELS_H
#define XW_IMPORT_LABELS_H

#include "base/err.h"
#include "base/types.h"
#include "base/vec.h"

struct xw_label_config {
	char *path; /* without slashes at its ends; owned */
	uint32_t uid, gid, mode;
	uint64_t capabilities; /* 0: none */
	unsigned table; /* which --fs-config, counted from 1 */
	unsigned long line;
};

struct xw_labels {
	XW_VEC(struct xw_label_config) config; /* sorted by path */
	unsigned tables; /* number of --fs-config read */
	void *contexts; /* a handle of libselinux; NULL: none */
	char *contexts_file; /* for messages, owned */
	char *mount_point; /* in front of all paths, without slashes at its ends; NULL: none */
	XW_VEC(char) path; /* of the last lookup */
};

/* Options "--fs-config", "--file-contexts", "--mount-point". XW_ERR_NOTFOUND: none of these. */
int xw_labels_set(struct xw_labels *l, const char *option, const char *value, struct xw_diag *diag);
void xw_labels_free(struct xw_labels *l);
bool xw_labels_any(const struct xw_labels *l);

/* The full path of dir/name, with one leading slash: valid until the next call. NULL: no memory. */
const char *xw_labels_path(struct xw_labels *l, const char *dir, const char *name, size_t len);
/* What --fs-config says of it, or NULL. */
const struct xw_label_config *xw_labels_config(const struct xw_labels *l, const char *path);
/* Its label, to be freed: 1; 0: it has none. Negative: a failure. */
int xw_labels_context(const struct xw_labels *l, const char *path, uint32_t mode, char **context,
		      struct xw_diag *diag);
/* The value of security.capability. */
#define XW_LABEL_CAPS 20
void xw_labels_caps(uint64_t capabilities, uint8_t out[XW_LABEL_CAPS]);

#endif
