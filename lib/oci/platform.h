/* SPDX-License-Identifier: MIT */
/* Platforms of container images: os/arch[/variant], with Go's names. */
#ifndef XW_OCI_PLATFORM_H
#define XW_OCI_PLATFORM_H

#include "base/arena.h"
#include "base/err.h"

/* NULL members are unknown. */
struct xw_oci_platform {
	const char *os, *arch, *variant;
};

/*
 * Parse "os/arch[/variant]". Strings are allocated in the arena. XW_ERR_USAGE with a message,
 * XW_ERR_NOMEM.
 */
int xw_oci_platform_parse(const char *text, struct xw_arena *arena, struct xw_diag *diag,
			  struct xw_oci_platform *p);
/* The platform of this machine, with Linux. XW_ERR_NOMEM. */
int xw_oci_platform_here(struct xw_arena *arena, struct xw_diag *diag, struct xw_oci_platform *p);
/*
 * How well `have` matches `want`; 0: it does not. The default variants are v8 of arm64, v7 of arm
 * and v1 of amd64. arm also runs images of lower variants.
 */
unsigned xw_oci_platform_rank(const struct xw_oci_platform *have,
			      const struct xw_oci_platform *want);
#define XW_OCI_PLATFORM_TEXT 96
/* Print a platform for a message, truncated to fit. */
void xw_oci_platform_text(const struct xw_oci_platform *p, char text[XW_OCI_PLATFORM_TEXT]);

#endif
