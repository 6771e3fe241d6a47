/* SPDX-License-Identifier: MIT */
/*
 * Results that are trees of our own design: YAML, or the same as JSON.
 *
 * A map or list stands in block style, one value a line, until one is opened as flow: what is in
 * that stays on its line. A list has no empty block style; open one that may be empty as flow.
 */
#ifndef XW_DEBUGFS_YAML_H
#define XW_DEBUGFS_YAML_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"

enum { YAML_DEPTH = 8 };

struct yaml {
	FILE *out; /* NULL: into js */
	struct xw_json *js;
	const char *indent; /* of a level */
	unsigned indented; /* levels of it, maps and lists in block style */
	/* from here on its own; zero at first */
	unsigned depth;
	char close[YAML_DEPTH]; /* '}' or ']' of each open level */
	bool block[YAML_DEPTH]; /* in block style */
	bool comma; /* something stands in front, in flow style */
};

/* key is NULL in a list, and for the outermost map, which needs no indentation. */
void yaml_map(struct yaml *y, const char *key, bool flow);
void yaml_list(struct yaml *y, const char *key, bool flow);
void yaml_end(struct yaml *y);
void yaml_u64(struct yaml *y, const char *key, uint64_t v);
void yaml_bool(struct yaml *y, const char *key, bool v);
void yaml_word(struct yaml *y, const char *key, const char *word); /* a plain one */
void yaml_null(struct yaml *y, const char *key);

#endif
