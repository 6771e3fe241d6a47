/* SPDX-License-Identifier: MIT */
/*
 * Numbers and sizes in text that a person or a table gives. strtoull() and strtod() are not used,
 * because they accept signs, blanks, "inf" and the decimal point of the locale, and saturate.
 *
 * All functions take a whole text: 0, or XW_ERR_USAGE without a message, and then *out is
 * unchanged.
 */
#ifndef XW_BASE_PARSE_H
#define XW_BASE_PARSE_H

#include <stdint.h>

#include "base/err.h"
#include "base/types.h"

/* Plain decimal, no sign, no blanks. */
int xw_parse_u64(const char *text, uint64_t *out);
int xw_parse_u32(const char *text, uint32_t *out);
/* Decimal, with an optional "-" in front. */
int xw_parse_i64(const char *text, int64_t *out);
/* As in C: decimal, octal with a leading 0, or hexadecimal with a leading 0x. */
int xw_parse_c(const char *text, uint64_t *out);
/* The same at the start of the text; sets *end behind it. */
int xw_parse_c_digits(const char *text, uint64_t *out, const char **end);
/* Octal digits. */
int xw_parse_octal(const char *text, uint64_t *out);
/*
 * Parse the digits at the start of the text in a base of 8, 10 or 16, and set *end behind them.
 * XW_ERR_USAGE: no digit, or over 64 bits.
 */
int xw_parse_digits(const char *text, unsigned base, uint64_t *out, const char **end);
/* A decimal number with fraction; no exponent, no locale. */
int xw_parse_decimal(const char *text, size_t len, double *out);
/*
 * "4096", "64k", "64KiB", "1.5G", "10s" (512-byte sectors), "100MB" (thousands) -> bytes; unit:
 * that of a plain number, in bytes. A fraction needs a suffix, and partial bytes are dropped.
 */
int xw_parse_size(const char *text, uint64_t unit, uint64_t *out);
/*
 * The value of -E offset= and IMAGE?offset=, as xw_parse_size(): where in a file or device a
 * filesystem begins. XW_ERR_USAGE with a message.
 */
int xw_parse_offset(const char *value, uint64_t *out, struct xw_diag *diag);
/* Does the text end in a suffix that xw_parse_size() accepts? */
bool xw_size_has_suffix(const char *text);

#endif
