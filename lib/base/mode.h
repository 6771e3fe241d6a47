/* SPDX-License-Identifier: MIT */
/*
 * Changes of a mode as by chmod(1), in octal or symbolic:
 *
 *   mode   = octal | clause {"," clause}
 *   clause = {"u" | "g" | "o" | "a"} change {change}
 *   change = ("+" | "-" | "=") (octal | "u" | "g" | "o" | {"r" | "w" | "x" | "X" | "s" | "t"})
 *
 * An octal change has no "u", "g", "o" or "a" in front, and ends its clause. A clause without these
 * means all three, as under a umask of 0: what a build makes does not depend on the umask.
 */
#ifndef XW_BASE_MODE_H
#define XW_BASE_MODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct xw_mode_change {
	char op; /* '+', '-', '=' */
	bool x_if_any; /* X: execute as well, for directories and if an execute bit is set */
	uint16_t who; /* bits that may change */
	uint16_t bits; /* to be set, or with `copy` the mask of those to be copied to all three */
	bool copy;
	/* setuid and setgid bits of directories that the text names; others of these are kept */
	uint16_t named;
};

struct xw_mode {
	XW_VEC(struct xw_mode_change) v; /* empty: no change */
};

/* Replace *m. XW_ERR_USAGE: not a mode, *m is empty; XW_ERR_NOMEM. */
int xw_mode_parse(const char *text, struct xw_mode *m);
void xw_mode_free(struct xw_mode *m);
/* The permission bits (07777) after the change. */
uint32_t xw_mode_apply(const struct xw_mode *m, uint32_t mode, bool directory);

/* Permission bits in a table: octal up to 7777. */
bool xw_mode_octal(const char *text, uint32_t *out);

#endif
