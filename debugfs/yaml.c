/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "yaml.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static bool in_block(const struct yaml *y)
{
	return !y->depth || y->block[y->depth - 1];
}

/* Print what precedes a value. */
static void begin(struct yaml *y, const char *key)
{
	if (in_block(y)) {
		for (unsigned i = 0; i < y->indented; i++)
			fputs(y->indent, y->out);
		if (y->depth && y->close[y->depth - 1] == ']')
			fputs("- ", y->out);
	} else if (y->comma) {
		fputs(", ", y->out);
	}
	y->comma = true;
	if (key)
		fprintf(y->out, "%s:", key);
}

/* Print the blank between the key and a value on the same line. */
static void put_blank(const struct yaml *y, const char *key)
{
	if (key)
		fputc(' ', y->out);
}

static void end_value(struct yaml *y)
{
	if (in_block(y))
		fputc('\n', y->out);
}

static void open_level(struct yaml *y, const char *key, bool flow, char open, char close)
{
	const bool outermost = !y->depth && !key;

	assert(y->depth < YAML_DEPTH);
	if (!y->out) {
		(open == '{' ? xw_json_object : xw_json_array)(y->js, key);
	} else if (flow || !in_block(y)) {
		flow = true;
		begin(y, key);
		put_blank(y, key);
		fputc(open, y->out);
		y->comma = false;
	} else if (!outermost) {
		begin(y, key);
		fputc('\n', y->out);
		y->indented++;
	}
	y->close[y->depth] = close;
	y->block[y->depth++] = !flow;
}

void yaml_map(struct yaml *y, const char *key, bool flow)
{
	open_level(y, key, flow, '{', '}');
}

void yaml_list(struct yaml *y, const char *key, bool flow)
{
	open_level(y, key, flow, '[', ']');
}

void yaml_end(struct yaml *y)
{
	const unsigned level = --y->depth;

	if (!y->out) {
		xw_json_end(y->js, y->close[level]);
	} else if (y->block[level]) {
		y->indented -= y->indented > 0;
	} else {
		fputc(y->close[level], y->out);
		y->comma = true;
		end_value(y);
	}
}

void yaml_u64(struct yaml *y, const char *key, uint64_t v)
{
	if (!y->out) {
		xw_json_u64(y->js, key, v);
		return;
	}
	begin(y, key);
	put_blank(y, key);
	fprintf(y->out, "%" PRIu64, v);
	end_value(y);
}

void yaml_word(struct yaml *y, const char *key, const char *word)
{
	if (!y->out) {
		xw_json_str(y->js, key, word, strlen(word));
		return;
	}
	begin(y, key);
	put_blank(y, key);
	fputs(word, y->out);
	end_value(y);
}

void yaml_bool(struct yaml *y, const char *key, bool v)
{
	if (y->out)
		yaml_word(y, key, v ? "true" : "false");
	else
		xw_json_bool(y->js, key, v);
}

void yaml_null(struct yaml *y, const char *key)
{
	if (y->out)
		yaml_word(y, key, "null");
	else
		xw_json_null(y->js, key);
}
