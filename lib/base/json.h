/* SPDX-License-Identifier: MIT */
/* A streaming JSON writer into a growing buffer. It takes care of commas, escapes and nesting. */
#ifndef XW_BASE_JSON_H
#define XW_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct xw_json {
	char *buf; /* NUL-terminated text so far; freed by xw_json_free */
	size_t len, cap;
	unsigned depth;
	bool comma; /* the next value at this level needs a comma before it */
	bool nomem; /* sticky: memory ran out */
};

/*
 * key is NULL inside arrays and for the outermost value. Control characters, also U+007F to U+009F,
 * are written as \uNNNN: JSON may be shown on a terminal. A string that is not UTF-8 loses nothing:
 * its invalid bytes are written as U+FFFD, and a following member KEY_hex holds all of its bytes
 * (except in arrays, whose elements have no keys).
 */
void xw_json_object(struct xw_json *j, const char *key);
void xw_json_array(struct xw_json *j, const char *key);
void xw_json_end(struct xw_json *j, char close); /* '}' or ']' */
void xw_json_str(struct xw_json *j, const char *key, const char *s, size_t len);
/* A string of hexadecimal digits, two for each byte. */
void xw_json_hex(struct xw_json *j, const char *key, const void *bytes, size_t len);
void xw_json_u64(struct xw_json *j, const char *key, uint64_t v);
void xw_json_i64(struct xw_json *j, const char *key, int64_t v);
void xw_json_f64(struct xw_json *j, const char *key, double v, int decimals);
void xw_json_bool(struct xw_json *j, const char *key, bool v);
void xw_json_null(struct xw_json *j, const char *key);
/* The text, or NULL when memory ran out while it was written. Owned by j. */
const char *xw_json_text(struct xw_json *j);
void xw_json_free(struct xw_json *j);

#endif
