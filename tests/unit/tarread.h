/* SPDX-License-Identifier: MIT */
/* For the tests of exporting: an archive in memory, and a plain reader of its members. */
#ifndef XW_TESTS_TARREAD_H
#define XW_TESTS_TARREAD_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/types.h"

/* ---- an archive in memory, and one member of it ---- */

struct sink {
	uint8_t *v;
	size_t n;
	size_t fail_at; /* bytes after which writing fails; 0 = never */
};

static inline int to_sink(void *arg, const void *buf, size_t len)
{
	struct sink *s = arg;

	if (s->fail_at && s->n + len > s->fail_at)
		return XW_ERR_HOSTFULL;
	s->v = realloc(s->v, s->n + len);
	ck_assert_ptr_nonnull(s->v);
	memcpy(s->v + s->n, buf, len);
	s->n += len;
	return 0;
}

struct member {
	char path[5000], link[5000], sparse_name[300], records[20000];
	size_t records_len;
	char type, mtime[40], atime[40];
	uint64_t size, real_size;
	uint32_t mode, uid, gid, major, minor;
	bool binary;
	size_t payload; /* where it begins */
};

static inline uint64_t octal(const uint8_t *p, size_t n)
{
	uint64_t v = 0;

	for (; n-- && *p >= '0' && *p <= '7'; p++)
		v = v << 3 | (uint64_t)(*p - '0');
	return v;
}

/* The value of a record, NULL when there is none. */
static inline const char *find_record(const struct member *m, const char *key, size_t *len)
{
	size_t at = 0;

	while (at < m->records_len) {
		char *end;
		size_t n = strtoul(m->records + at, &end, 10);
		const char *eq = memchr(end, '=', m->records + at + n - end);

		ck_assert(n > 4 && at + n <= m->records_len && *end == ' ' && eq);
		ck_assert_int_eq(m->records[at + n - 1], '\n');
		if ((size_t)(eq - end - 1) == strlen(key) && !memcmp(end + 1, key, strlen(key))) {
			*len = (size_t)(m->records + at + n - 1 - (eq + 1));
			return eq + 1;
		}
		at += n;
	}
	return NULL;
}

static inline bool text_record(const struct member *m, const char *key, char *out, size_t size)
{
	size_t len;
	const char *v = find_record(m, key, &len);

	if (!v)
		return false;
	ck_assert_uint_lt(len, size);
	memcpy(out, v, len);
	out[len] = '\0';
	return true;
}

static inline void number_record(const struct member *m, const char *key, uint64_t *out)
{
	char text[40];

	if (text_record(m, key, text, sizeof(text)))
		*out = strtoull(text, NULL, 10);
}

static inline void apply_records(struct member *m)
{
	uint64_t uid = m->uid, gid = m->gid;
	char text[40];

	text_record(m, "path", m->path, sizeof(m->path));
	text_record(m, "linkpath", m->link, sizeof(m->link));
	text_record(m, "GNU.sparse.name", m->sparse_name, sizeof(m->sparse_name));
	text_record(m, "mtime", m->mtime, sizeof(m->mtime));
	text_record(m, "atime", m->atime, sizeof(m->atime));
	m->binary = text_record(m, "hdrcharset", text, sizeof(text));
	number_record(m, "size", &m->size);
	number_record(m, "uid", &uid);
	number_record(m, "gid", &gid);
	number_record(m, "GNU.sparse.realsize", &m->real_size);
	m->uid = (uint32_t)uid;
	m->gid = (uint32_t)gid;
}

/* The member at *at of the archive; false at its end. *at moves behind its headers. */
static inline bool next_member(const struct sink *s, size_t *at, struct member *m)
{
	memset(m, 0, sizeof(*m));
	for (;;) {
		const uint8_t *h = s->v + *at;
		unsigned sum = 0;

		ck_assert_uint_le(*at + 512, s->n);
		for (unsigned i = 0; i < 512; i++)
			sum += i >= 148 && i < 156 ? ' ' : h[i];
		if (sum == 8 * ' ')
			return false;
		ck_assert_uint_eq(sum, octal(h + 148, 8));
		ck_assert_mem_eq(h + 257,
				 "ustar\0"
				 "00",
				 8);
		m->size = octal(h + 124, 12);
		*at += 512;
		if (h[156] == 'x') {
			ck_assert_uint_le(m->size, sizeof(m->records));
			m->records_len = m->size;
			memcpy(m->records, s->v + *at, m->size);
			*at += xw_round_up(m->size, 512);
			continue;
		}
		m->type = (char)h[156];
		snprintf(m->path, sizeof(m->path), "%.155s%s%.100s", (const char *)h + 345,
			 h[345] ? "/" : "", (const char *)h);
		snprintf(m->link, sizeof(m->link), "%.100s", (const char *)h + 157);
		snprintf(m->mtime, sizeof(m->mtime), "%llu",
			 (unsigned long long)octal(h + 136, 12));
		m->mode = (uint32_t)octal(h + 100, 8);
		m->uid = (uint32_t)octal(h + 108, 8);
		m->gid = (uint32_t)octal(h + 116, 8);
		m->major = (uint32_t)octal(h + 329, 8);
		m->minor = (uint32_t)octal(h + 337, 8);
		m->payload = *at;
		apply_records(m);
		return true;
	}
}

#endif
