/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "oci/digest.h"

#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"

static const struct {
	const char *prefix;
	size_t len, digits;
} algorithms[] = {
	{"sha256:", 7, 2 * SHA256_DIGEST_SIZE},
	{"sha512:", 7, 2 * SHA512_DIGEST_SIZE},
};

bool xw_digest_parse(const char *text, size_t len, struct xw_digest *d)
{
	d->text[0] = '\0';
	for (size_t i = 0; i < XW_ARRAY_SIZE(algorithms); i++) {
		const size_t skip = algorithms[i].len;

		if (len != skip + algorithms[i].digits || memcmp(text, algorithms[i].prefix, skip))
			continue;
		for (size_t at = skip; at < len; at++)
			if (!memchr("0123456789abcdef", text[at], 16))
				return false;
		memcpy(d->text, text, len);
		d->text[len] = '\0';
		return true;
	}
	return false;
}

bool xw_digest_is_set(const struct xw_digest *d)
{
	return d->text[0] != '\0';
}

bool xw_digest_same(const struct xw_digest *a, const struct xw_digest *b)
{
	return !strcmp(a->text, b->text);
}

void xw_digest_path(const struct xw_digest *d, char path[XW_DIGEST_PATH])
{
	snprintf(path, XW_DIGEST_PATH, "blobs/%s", d->text);
	path[strcspn(path, ":")] = '/';
}

struct xw_hasher {
	bool wide; /* SHA-512 */
	union {
		struct sha256_ctx narrow;
		struct sha512_ctx wide;
	} ctx;
};

struct xw_hasher *xw_hasher_new(const struct xw_digest *like)
{
	struct xw_hasher *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->wide = !strncmp(like->text, "sha512:", 7);
	if (h->wide)
		sha512_init(&h->ctx.wide);
	else
		sha256_init(&h->ctx.narrow);
	return h;
}

void xw_hasher_add(struct xw_hasher *h, const void *buf, size_t len)
{
	if (h->wide)
		sha512_update(&h->ctx.wide, len, buf);
	else
		sha256_update(&h->ctx.narrow, len, buf);
}

void xw_hasher_end(struct xw_hasher *h, struct xw_digest *d)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t sum[SHA512_DIGEST_SIZE];
	const size_t n = h->wide ? SHA512_DIGEST_SIZE : SHA256_DIGEST_SIZE;
	char *p;

	if (h->wide)
		sha512_digest(&h->ctx.wide, n, sum);
	else
		sha256_digest(&h->ctx.narrow, n, sum);
	memcpy(d->text, h->wide ? "sha512:" : "sha256:", 7);
	p = d->text + 7;
	for (size_t i = 0; i < n; i++) {
		*p++ = digits[sum[i] >> 4];
		*p++ = digits[sum[i] & 15];
	}
	*p = '\0';
}

void xw_hasher_free(struct xw_hasher *h)
{
	free(h);
}
