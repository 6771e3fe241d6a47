/* SPDX-License-Identifier: MIT */
/* Forms of output that several verbs share. */
#ifndef XW_DEBUGFS_PRINT_H
#define XW_DEBUGFS_PRINT_H

#include "debugfs.h"

/* 16 bytes a line, offsets in octal counted from 0; lines that repeat the one before are a star. An
 * empty line at the end. */
void dbg_hexdump(struct dbg *d, const uint8_t *buf, size_t len);
/* The same; as JSON an object whose "bytes_hex" has them. */
void dbg_print_bytes(struct dbg *d, const uint8_t *buf, size_t len);
/* Names of entries: printable as they are, other bytes as \xNN. */
void dbg_print_name(struct dbg *d, const char *name, size_t len);
/* The same, and a backslash as \x5c, in malloc'd memory; NULL: out of memory. */
char *dbg_shown_name(const char *name, size_t len);
/* Decimal digits of n, at least `least`. */
int dbg_width(uint64_t n, int least);
struct dbg_text {
	char s[40];
};
/* "21-Nov-2026 07:23" */
struct dbg_text dbg_short_time(int64_t sec);

/*
 * Words on lines of at most 80 columns: `col` is what the line has, 0 at first.
 */
void dbg_wrap(struct dbg *d, unsigned *col, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
