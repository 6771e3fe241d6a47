/* SPDX-License-Identifier: MIT */
/* Hand-made tar archives in memory, and the own reader over them. */
#ifndef XW_TESTS_TARMAKE_H
#define XW_TESTS_TARMAKE_H

#include <stdio.h>
#include <string.h>

#include "import/tar.h"
#include "memfeed.h"
#include "unit.h"

struct tm_tar {
	unsigned char *p;
	size_t n;
	size_t last; /* offset of the last header */
};

/* All archives of a test program are small and die with it. */
static inline unsigned char *tm_add(struct tm_tar *t, const void *data, size_t len)
{
	unsigned char *at;

	t->p = realloc(t->p, t->n + len + XW_TAR_BLOCK);
	at = t->p + t->n;
	memset(at, 0, len + XW_TAR_BLOCK);
	if (data && len)
		memcpy(at, data, len);
	t->n += (len + XW_TAR_BLOCK - 1) / XW_TAR_BLOCK * XW_TAR_BLOCK;
	return at;
}

static inline void tm_sum(struct xw_tar_hdr *h)
{
	unsigned sum = 0;
	char text[8];

	memset(h->chksum, ' ', sizeof(h->chksum));
	for (size_t i = 0; i < sizeof(*h); i++)
		sum += ((unsigned char *)h)[i];
	snprintf(text, sizeof(text), "%06o", sum & 0777777);
	memcpy(h->chksum, text, 7);
}

static inline struct xw_tar_hdr *tm_last(struct tm_tar *t)
{
	return (struct xw_tar_hdr *)(t->p + t->last);
}

/* A header without its payload. */
static inline struct xw_tar_hdr *tm_hdr(struct tm_tar *t, char type, const char *name,
					const char *link, uint64_t size)
{
	struct xw_tar_hdr *h = (struct xw_tar_hdr *)tm_add(t, NULL, XW_TAR_BLOCK);

	t->last = (size_t)((unsigned char *)h - t->p);
	memcpy(h->name, name, XW_MIN(strlen(name), sizeof(h->name)));
	memcpy(h->linkname, link, XW_MIN(strlen(link), sizeof(h->linkname)));
	memcpy(h->mode, "0000644", 8);
	memcpy(h->uid, "0001750", 8);
	memcpy(h->gid, "0000144", 8);
	snprintf(h->size, sizeof(h->size), "%011llo", (unsigned long long)size);
	memcpy(h->mtime, "14524770400", 12); /* 1700000000 */
	h->type = type;
	memcpy(h->magic, "ustar\00000", 8);
	tm_sum(h);
	return h;
}

static inline void tm_file(struct tm_tar *t, char type, const char *name, const char *link,
			   const void *data, size_t len)
{
	tm_hdr(t, type, name, link, len);
	if (len)
		tm_add(t, data, len);
}

/* One pax record in front of what text holds. Values may hold NULs. */
static inline size_t tm_rec(char *out, const char *key, const void *value, size_t len)
{
	size_t body = strlen(key) + len + 3, n = body + 1;
	char num[24];

	while (body + (size_t)snprintf(num, sizeof(num), "%zu", n) > n)
		n++;
	memcpy(out + sprintf(out, "%zu %s=", n, key), value, len);
	out[n - 1] = '\n';
	return n;
}

/* An x (or g) header with "key=value" strings up to NULL. */
static inline void tm_pax(struct tm_tar *t, char type, const char *const *kv)
{
	char buf[65536];
	size_t n = 0;

	for (; *kv; kv++) {
		const char *eq = strchr(*kv, '=');
		char key[256];

		snprintf(key, sizeof(key), "%.*s", (int)(eq - *kv), *kv);
		n += tm_rec(buf + n, key, eq + 1, strlen(eq + 1));
	}
	tm_file(t, type, "PaxHeaders/x", "", buf, n);
}

#define TM_PAX(t, ...) tm_pax((t), 'x', (const char *const[]){__VA_ARGS__, NULL})

static inline void tm_end(struct tm_tar *t)
{
	tm_add(t, NULL, 1024);
}

static inline struct xw_source *tm_open(const void *p, size_t n, struct xw_diag *diag)
{
	struct xw_archive_params tp = {.name = "a.tar", .diag = diag, .drain = true};
	struct xw_source *s;

	ck_assert_int_eq(xw_tar_open(xw_input_new(mem_feed(p, n, 0), false), &tp, &s), 0);
	return s;
}

static inline bool tm_eq(struct xw_slice s, const char *text)
{
	return s.len == strlen(text) && (!s.len || !memcmp(s.p, text, s.len));
}

#define tm_assert_slice(s, text)                                                                   \
	ck_assert_msg(tm_eq((s), (text)), "'%.*s' is not '%s'", (int)(s).len, (s).p, (text))

/* Payload as a string of the whole file, holes as '.'; -1 or its length. */
static inline int tm_read(struct xw_source *s, char *out, size_t room)
{
	const void *p;
	uint64_t off, end = 0;
	size_t len;
	int r;

	memset(out, '.', room);
	while ((r = xw_source_read(s, &p, &len, &off)) == 1) {
		ck_assert_uint_gt(len, 0);
		ck_assert_uint_ge(off, end);
		ck_assert_uint_le(off + len, room);
		memcpy(out + off, p, len);
		end = off + len;
	}
	return r < 0 ? r : (int)end;
}

/* Read everything: the number of entries or the failure's code. */
static inline int tm_walk(struct xw_source *s)
{
	const struct xw_entry *e;
	int r, n = 0;

	while ((r = xw_source_next(s, &e)) == 1) {
		const void *p;
		uint64_t off;
		size_t len;

		n++;
		while ((r = xw_source_read(s, &p, &len, &off)) == 1)
			;
		if (r < 0)
			return r;
	}
	return r < 0 ? r : n;
}

#endif
