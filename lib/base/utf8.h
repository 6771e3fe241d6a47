/* SPDX-License-Identifier: MIT */
/* Bytes of unknown origin interpreted as UTF-8. */
#ifndef XW_BASE_UTF8_H
#define XW_BASE_UTF8_H

#include <stddef.h>

/*
 * Length of the well-formed sequence at s (RFC 3629: no surrogates, no overlong forms), or 0. left:
 * number of bytes available, at least 1.
 */
size_t xw_utf8_len(const char *s, size_t left);
/*
 * The control character at s, a well-formed sequence of `len` bytes: C0, DEL, C1, or one that
 * controls the direction of text, which can make a name look like another one. 0: another
 * character, or NUL.
 */
unsigned xw_utf8_control(const char *s, size_t len);
/*
 * The length, but 0 for control characters and NUL too: the sequences that may be sent to a
 * terminal unchanged.
 */
size_t xw_utf8_shown(const char *s, size_t left);

#endif
