// SPDX-License-Identifier: MIT
/*
 * Reads the regular files of an uncompressed tar archive (ustar, GNU and pax long names and sizes)
 * and hashes their contents. Other members are skipped; a sparse file has the size of its stored
 * data.
 */
#include "config.h"

#include "age/git.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "plan/parse.h"

#define BLOCK 512
#define LONG_MAX_LEN (1 << 20) /* maximum size of an extended header */

struct tar {
	int fd;
	const char *name;
	struct xw_diag *diag;
	const struct xw_commit_watch *watch;
	uint8_t head[BLOCK];
	char *path; /* from an extended header; owned */
	uint64_t size;
	bool has_size;
};

static int damaged(const struct tar *t, const char *why)
{
	return xw_fail(t->diag, XW_ERR_INPUT, "%s: %s", t->name, why);
}

/* 1: len bytes were read; 0: end of the file. */
static int read_all(const struct tar *t, void *buf, size_t len)
{
	size_t done = 0;

	while (done < len) {
		const ssize_t n = read(t->fd, (char *)buf + done, len - done);

		if (n < 0 && errno != EINTR)
			return xw_fail_errno(t->diag, XW_ERR_IO, errno, "%s", t->name);
		if (!n)
			return done ? damaged(t, "the archive ends within a member") : 0;
		done += n > 0 ? (size_t)n : 0;
	}
	return 1;
}

/* A numeric field: octal, or base 256 if the top bit is set. */
static bool number(const uint8_t *p, size_t len, uint64_t *out)
{
	*out = 0;
	if (*p & 0x80) {
		for (size_t i = 1; i < len; i++) {
			if (*out >> 56)
				return false;
			*out = *out << 8 | p[i];
		}
		return !(*p & 0x7f);
	}
	while (len && *p == ' ')
		p++, len--;
	for (; len && *p >= '0' && *p <= '7'; p++, len--) {
		if (*out >> 60)
			return false;
		*out = *out * 8 + (*p - '0');
	}
	return true;
}

bool xw_age_is_tar(const void *head)
{
	return !memcmp((const char *)head + 257, "ustar", 5);
}

/* Parse the records "LENGTH KEY=VALUE\n" of a pax header; only path and size are used. */
static int pax(struct tar *t, char *p, size_t len)
{
	while (len) {
		char *end, *key, *value;
		const unsigned long n = strtoul(p, &end, 10);

		if (*end != ' ' || n > len || n <= (size_t)(end - p) + 1 || p[n - 1] != '\n')
			return damaged(t, "invalid pax header");
		p[n - 1] = 0;
		key = end + 1;
		value = strchr(key, '=');
		if (value && !strncmp(key, "path=", 5)) {
			free(t->path);
			t->path = strdup(value + 1);
			if (!t->path)
				return xw_fail_nomem(t->diag, "archive");
		} else if (value && !strncmp(key, "size=", 5)) {
			if (xw_parse_u64(value + 1, &t->size))
				return damaged(t, "invalid pax header");
			t->has_size = true;
		}
		p += n;
		len -= n;
	}
	return 0;
}

/* Read an extended header, which applies to the next member. */
static int extended(struct tar *t, uint64_t size, char type)
{
	auto_free char *text = NULL;
	size_t whole;
	int rc;

	if (size > LONG_MAX_LEN)
		return damaged(t, "extended header too large");
	whole = (size_t)xw_round_up(size, BLOCK);
	text = calloc(1, whole + 1);
	if (!text)
		return xw_fail_nomem(t->diag, "archive");
	rc = whole ? read_all(t, text, whole) : 1;
	if (rc <= 0)
		return rc ? rc : damaged(t, "the archive ends within a header");
	text[size] = 0;
	if (type == 'x')
		return pax(t, text, (size_t)size);
	if (type == 'L') {
		free(t->path);
		t->path = steal(text);
	}
	return 0;
}

static int contents(struct tar *t, uint64_t size, uint64_t *hash)
{
	auto_free uint8_t *buf = malloc(1 << 16);
	const struct xw_hash_key key = xw_hash_process_key();
	uint64_t left = xw_round_up(size, BLOCK);

	if (!buf)
		return xw_fail_nomem(t->diag, "archive");
	*hash = 0;
	while (left) {
		const size_t part = (size_t)XW_MIN(left, 1 << 16);
		int rc = xw_commit_check_canceled(t->watch, t->name, t->diag);

		if (!rc)
			rc = read_all(t, buf, part);
		if (rc <= 0)
			return rc ? rc : damaged(t, "the archive ends within a member");
		*hash = xw_hash_secret(&key, *hash + 1, buf, part);
		left -= part;
	}
	return 0;
}

/* The member's path without a leading "./"; not validated. */
static const char *path_of(struct tar *t, char name[BLOCK])
{
	const char *p = t->path;

	if (!p) {
		const int prefix = t->head[345] && !memcmp(t->head + 257, "ustar\0", 6) ? 155 : 0;

		snprintf(name, BLOCK, "%.*s%s%.100s", prefix, (const char *)t->head + 345,
			 prefix ? "/" : "", (const char *)t->head);
		p = name;
	}
	while (p[0] == '.' && p[1] == '/')
		for (p += 2; *p == '/';)
			p++;
	return p;
}

static int member(struct tar *t, xw_age_tar_fn *fn, void *arg)
{
	const char type = (char)t->head[156];
	char name[BLOCK];
	uint64_t size, hash = 0;
	int rc;

	if (!xw_age_is_tar(t->head) || !number(t->head + 124, 12, &size))
		return damaged(t, "invalid tar header");
	if (type == 'x' || type == 'L' || type == 'g' || type == 'K')
		return extended(t, size, type);
	if (t->has_size)
		size = t->size;
	if (size >> 44)
		return damaged(t, "member too large");
	rc = contents(t, type == '1' || type == '2' || type == '5' ? 0 : size, &hash);
	if (!rc && (type == '0' || !type || type == '7'))
		rc = fn(arg, path_of(t, name), size, hash);
	free(t->path);
	t->path = NULL;
	t->has_size = false;
	return rc;
}

static void free_path(struct tar *t)
{
	free(t->path);
}

int xw_age_read_tar(int fd, const char *name, const struct xw_commit_watch *watch,
		    xw_age_tar_fn *fn, void *arg, struct xw_diag *diag)
{
	auto_end(free_path) struct tar t = {.fd = fd, .name = name, .watch = watch, .diag = diag};
	int rc;

	while ((rc = read_all(&t, t.head, BLOCK)) > 0 && !xw_all_zero(t.head, BLOCK)) {
		rc = member(&t, fn, arg);
		if (rc)
			return rc;
	}
	return XW_MIN(rc, 0);
}
