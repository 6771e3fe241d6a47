/* SPDX-License-Identifier: MIT */
/*
 * Structured results in formats of our own: YAML, or the same as JSON.
 *
 * A map or list is written in block style, one value per line, until one is opened in flow style:
 * its contents stay on one line. An empty list cannot be written in block style; use flow style for
 * a list that may be empty.
 */
#ifndef XW_DEBUGFS_YAML_H
#define XW_DEBUGFS_YAML_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"

enum { YAML_DEPTH = 8 };

struct yaml {
	FILE *out; /* NULL: write to js */
	struct xw_json *js;
	const char *indent; /* indentation of one level */
	unsigned indented; /* number of open levels in block style */
	/* from here on internal; initially zero */
	unsigned depth;
	char close[YAML_DEPTH]; /* '}' or ']' of each open level */
	bool block[YAML_DEPTH]; /* by level: in block style */
	bool comma; /* a value precedes, in flow style */
};

/* key is NULL in a list, and for the outermost map, which is not indented. */
void yaml_map(struct yaml *y, const char *key, bool flow);
void yaml_list(struct yaml *y, const char *key, bool flow);
void yaml_end(struct yaml *y);
void yaml_u64(struct yaml *y, const char *key, uint64_t v);
void yaml_bool(struct yaml *y, const char *key, bool v);
void yaml_word(struct yaml *y, const char *key, const char *word); /* without quotes */
void yaml_null(struct yaml *y, const char *key);

#endif
