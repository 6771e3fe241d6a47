/* SPDX-License-Identifier: MIT */
/* Output formats shared by several verbs. */
#ifndef XW_DEBUGFS_PRINT_H
#define XW_DEBUGFS_PRINT_H

#include "debugfs.h"

/*
 * 16 bytes per line, offsets in octal starting at 0; repeated lines are replaced by a star. An
 * empty line at the end.
 */
void dbg_hexdump(struct dbg *d, const uint8_t *buf, size_t len);
/* dbg_hexdump(), or with --json an object with the member "bytes_hex". */
void dbg_print_bytes(struct dbg *d, const uint8_t *buf, size_t len);
/*
 * Print lines, or bytes, that may contain names as the user typed them or as the image has them:
 * unchanged, but without control characters if the reader is a terminal or a pager.
 */
void dbg_printf(struct dbg *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void dbg_put(struct dbg *d, const void *bytes, size_t len);
/* Print a name: printable characters unchanged, other bytes as \xNN. */
void dbg_print_name(struct dbg *d, const char *name, size_t len);
/*
 * A name as dbg_print_name() prints it, but with a backslash as \x5c, in malloc'd memory; NULL: out
 * of memory.
 */
char *dbg_shown_name(const char *name, size_t len);
/* Number of decimal digits of n, at least `least`. */
int dbg_width(uint64_t n, int least);
struct dbg_text {
	char s[40];
};
/* "21-Nov-2026 07:23" */
struct dbg_text dbg_short_time(int64_t sec);

/* With --json: begin or end a list of results. False: results are text. */
bool dbg_list_begin(struct dbg *d);
bool dbg_list_end(struct dbg *d);

/* Print words on lines of at most 80 columns: `col` is the current column, initially 0. */
void dbg_wrap(struct dbg *d, unsigned *col, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
