/* SPDX-License-Identifier: MIT */
/* Owner, attributes, mode and times of what was extracted. */
#ifndef XW_EXPORT_EXTRACT_ATTR_H
#define XW_EXPORT_EXTRACT_ATTR_H

#include "export/exporter.h"
#include "export/extract.h"

/* What is not said for each file again. */
struct xw_attr_notes {
	bool unsupported; /* the host has no extended attributes, or not these */
	uint64_t privileged; /* attributes that were left out, since only root may set them */
};

struct xw_attr_target {
	struct xw_exporter *x;
	const struct xw_extract_opts *o;
	struct xw_attr_notes *notes;
	const struct xw_export_item *item;
	int fd; /* of the file; O_PATH for what cannot be opened (`by_path`) */
	bool by_path;
	bool inherits; /* it was made where new files get ACLs: those are not the image's */
};

/*
 * Give it all. Each thing that cannot be set is told and counted by xw_export_failed(), once an
 * item; the rest is set all the same. 0, or a failure that ends the run.
 */
int xw_extract_attributes(struct xw_attr_target *t);
/* The permission bits that the item is to have. */
uint32_t xw_extract_mode(const struct xw_extract_opts *o, uint32_t mode);

#endif
