/* SPDX-License-Identifier: MIT */
/* Bytes of unknown origin seen as UTF-8. */
#ifndef XW_BASE_UTF8_H
#define XW_BASE_UTF8_H

#include <stddef.h>

#pragma GCC visibility push(default)

/* Length of the well-formed sequence at s (RFC 3629: no surrogates, no long forms), or 0. left:
 * bytes there, at least 1. */
size_t xw_utf8_len(const char *s, size_t left);
/* The same, but 0 for control characters too (C0, DEL, C1): what may go to a terminal as it is. */
size_t xw_utf8_shown(const char *s, size_t left);

#pragma GCC visibility pop

#endif
