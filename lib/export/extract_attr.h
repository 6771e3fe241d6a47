/* SPDX-License-Identifier: MIT */
/* Owner, attributes, mode and times of extracted files. */
#ifndef XW_EXPORT_EXTRACT_ATTR_H
#define XW_EXPORT_EXTRACT_ATTR_H

#include "export/exporter.h"
#include "export/extract.h"

/* Conditions that are reported once, not for each file. */
struct xw_attr_notes {
	bool unsupported; /* the host does not support (some) extended attributes */
	uint64_t privileged; /* number of attributes skipped because only root may set them */
};

struct xw_attr_target {
	struct xw_exporter *x;
	const struct xw_extract_opts *o;
	struct xw_attr_notes *notes;
	const struct xw_export_item *item;
	int fd; /* the file */
	bool by_path; /* fd is an O_PATH descriptor, since the file cannot be opened */
	bool inherits; /* new files in its directory inherit ACLs, which must be removed */
};

/*
 * Set owner, attributes, mode and times. A failure is logged and counted by xw_export_failed(),
 * once per item, and does not stop the following steps. 0, or a failure that ends the run.
 */
int xw_extract_attributes(struct xw_attr_target *t);

#endif
