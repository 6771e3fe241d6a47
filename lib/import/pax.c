/* SPDX-License-Identifier: MIT */
/*
 * Decodes pax extended header records (POSIX.1-2001 pax, "pax Extended Header") and the vendors'
 * keys whose values ext4 can store: SCHILY.xattr.*, LIBARCHIVE.xattr.* (name URL-quoted, value
 * base64), RHT.security.selinux, SCHILY.acl.*, SCHILY.devmajor/minor, GNU.sparse.*.
 *
 * An xattr may be present under several keys (bsdtar writes two). As in GNU tar, a key that needs
 * no decoding takes precedence, whatever the order: keys have ranks.
 *
 * Names and values are bytes. hdrcharset only affects how to display them.
 */
#include "config.h"

#include <string.h>

#include "import/pax.h"

enum { RANK_RHT = 1, RANK_LIBARCHIVE, RANK_SCHILY };

int xw_pax_next(const char *body, size_t len, size_t *pos, struct xw_pax_rec *r)
{
	size_t i = *pos, start = i, n = 0;
	const char *eq;

	if (i >= len || !body[i])
		return 0;
	for (; i < len && body[i] >= '0' && body[i] <= '9' && n < len; i++)
		n = n * 10 + (size_t)(body[i] - '0');
	/* the shortest record is "5 k=\n" */
	if (i == start || i >= len || body[i] != ' ' || n > len - start || n < i - start + 4 ||
	    body[start + n - 1] != '\n')
		return XW_ERR_INPUT;
	i++;
	n -= i - start + 1;
	eq = memchr(body + i, '=', n);
	if (!eq || eq == body + i)
		return XW_ERR_INPUT;
	r->key = (struct xw_slice){body + i, (size_t)(eq - (body + i))};
	r->value = (struct xw_slice){eq + 1, n - r->key.len - 1};
	*pos = i + n + 1;
	return 1;
}

int xw_pax_number(struct xw_slice v, uint64_t max, uint64_t *out)
{
	uint64_t n = 0;

	if (!v.len)
		return XW_ERR_INPUT;
	for (size_t i = 0; i < v.len; i++) {
		unsigned d = (unsigned)(v.p[i] - '0');

		if (d > 9 || n > (max - XW_MIN(max, d)) / 10)
			return XW_ERR_INPUT;
		n = n * 10 + d;
	}
	if (n > max)
		return XW_ERR_INPUT;
	*out = n;
	return 0;
}

int xw_pax_time(struct xw_slice v, struct xw_time *out)
{
	size_t i = 0, point;
	uint64_t sec = 0;
	uint32_t nsec = 0;
	bool minus;

	minus = v.len && v.p[0] == '-';
	if (v.len && (minus || v.p[0] == '+'))
		i++;
	for (point = i; point < v.len && v.p[point] != '.';)
		point++;
	if (point == i && v.len - point < 2) /* no digit on either side */
		return XW_ERR_INPUT;
	if (point > i && xw_pax_number((struct xw_slice){v.p + i, point - i}, INT64_MAX - 1, &sec))
		return XW_ERR_INPUT;
	for (i = point + 1; i < v.len; i++)
		if (v.p[i] < '0' || v.p[i] > '9')
			return XW_ERR_INPUT;
	for (i = 0; i < 9; i++)
		nsec = nsec * 10 +
		       (point + 1 + i < v.len ? (uint32_t)(v.p[point + 1 + i] - '0') : 0);
	out->sec = minus ? -(int64_t)sec : (int64_t)sec;
	out->nsec = nsec;
	if (minus && nsec) {
		out->sec--;
		out->nsec = 1000000000 - nsec;
	}
	return 0;
}

static int add_xattr(struct xw_pax *p, struct xw_slice name, struct xw_slice value, int rank,
		     const char **why)
{
	struct xw_entry_xattr x = {name, value};
	size_t i = 0;

	if (!name.len || memchr(name.p, '\0', name.len)) {
		*why = "an extended attribute's name is empty or holds a NUL byte";
		return XW_ERR_INPUT;
	}
	if (value.len > XW_PAX_XATTR_VALUE_MAX) {
		*why = "the value of an extended attribute is over 64 KiB";
		return XW_ERR_INPUT;
	}
	while (i < p->xattrs.n && !xw_slice_same(p->xattrs.v[i].name, name))
		i++;
	if (i < p->xattrs.n) {
		if (rank >= p->ranks.v[i]) {
			p->xattrs.v[i] = x;
			p->ranks.v[i] = (unsigned char)rank;
		}
		return 0;
	}
	if (i == XW_PAX_XATTRS_MAX) {
		*why = "too many extended attributes";
		return XW_ERR_INPUT;
	}
	*why = "out of memory";
	if (xw_vec_push(&p->xattrs, x))
		return XW_ERR_NOMEM;
	return xw_vec_push(&p->ranks, (unsigned char)rank);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decode %XX; any other % is literal. dst has room for src.len bytes. */
static size_t url_unquote(char *dst, struct xw_slice src)
{
	size_t n = 0;

	for (size_t i = 0; i < src.len; i++) {
		int hi = -1, lo = -1;

		if (src.p[i] == '%' && src.len - i > 2) {
			hi = hex_digit(src.p[i + 1]);
			lo = hex_digit(src.p[i + 2]);
		}
		if (hi >= 0 && lo >= 0) {
			dst[n++] = (char)(hi << 4 | lo);
			i += 2;
		} else {
			dst[n++] = src.p[i];
		}
	}
	return n;
}

/*
 * Decode base64 up to '='; bytes outside the alphabet are skipped. dst has room for src.len bytes.
 */
static size_t base64_decode(char *dst, struct xw_slice src)
{
	uint32_t acc = 0;
	unsigned bits = 0;
	size_t n = 0;

	for (size_t i = 0; i < src.len && src.p[i] != '='; i++) {
		char c = src.p[i];
		int d = -1;

		if (c >= 'A' && c <= 'Z')
			d = c - 'A';
		else if (c >= 'a' && c <= 'z')
			d = c - 'a' + 26;
		else if (c >= '0' && c <= '9')
			d = c - '0' + 52;
		else if (c == '+' || c == '/')
			d = c == '+' ? 62 : 63;
		if (d < 0)
			continue;
		acc = acc << 6 | (uint32_t)d;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			dst[n++] = (char)(acc >> bits);
		}
	}
	return n;
}

static int add_libarchive_xattr(struct xw_pax *p, struct xw_slice name, struct xw_slice value,
				const char **why)
{
	char *buf = xw_arena_alloc(&p->decoded, name.len + value.len + 1, 1);
	struct xw_slice n, v;

	if (!buf) {
		*why = "out of memory";
		return XW_ERR_NOMEM;
	}
	n = (struct xw_slice){buf, url_unquote(buf, name)};
	v = (struct xw_slice){buf + name.len, base64_decode(buf + name.len, value)};
	return add_xattr(p, n, v, RANK_LIBARCHIVE, why);
}

enum kind { TEXT, NUM32, NUM64, TIME };

static const struct key {
	struct xw_slice name;
	enum kind kind;
	unsigned bit;
	size_t where; /* offset of the value in struct xw_pax */
} keys[] = {
#define K(name, kind, bit, field)                                                                  \
	{                                                                                          \
		{name, sizeof(name) - 1}, kind, bit, offsetof(struct xw_pax, field)                \
	}
	K("path", TEXT, 0, path),
	K("linkpath", TEXT, 0, link),
	K("mtime", TIME, XW_PAX_MTIME, mtime),
	K("atime", TIME, XW_PAX_ATIME, atime),
	K("uid", NUM32, XW_PAX_UID, uid),
	K("gid", NUM32, XW_PAX_GID, gid),
	K("size", NUM64, XW_PAX_SIZE, size),
	K("SCHILY.acl.access", TEXT, 0, acl_access),
	K("SCHILY.acl.default", TEXT, 0, acl_default),
	K("SCHILY.devmajor", NUM32, XW_PAX_DEVMAJOR, devmajor),
	K("SCHILY.devminor", NUM32, XW_PAX_DEVMINOR, devminor),
	K("SCHILY.realsize", NUM64, XW_PAX_REALSIZE, realsize),
	K("GNU.sparse.name", TEXT, 0, sparse_name),
	K("GNU.sparse.map", TEXT, 0, sparse_map),
	K("GNU.sparse.major", NUM64, XW_PAX_SPARSE_MAJOR, sparse_major),
	K("GNU.sparse.minor", NUM64, XW_PAX_SPARSE_MINOR, sparse_minor),
	K("GNU.sparse.size", NUM64, XW_PAX_SPARSE_SIZE, sparse_size),
	K("GNU.sparse.realsize", NUM64, XW_PAX_SPARSE_REAL, sparse_real),
	K("GNU.volume.offset", NUM64, XW_PAX_VOLUME_OFFSET, volume_offset),
#undef K
};

static int apply_value(struct xw_pax *p, const struct key *k, struct xw_slice v, const char **why)
{
	void *at = (char *)p + k->where;
	uint64_t n = 0;
	int rc;

	if (k->kind == TEXT) {
		*(struct xw_slice *)at = v;
		return 0;
	}
	if (!v.len) {
		p->has &= ~k->bit;
		return 0;
	}
	p->has |= k->bit;
	if (k->kind == TIME) {
		*why = "a time in its extended header is not a number or out of range";
		return xw_pax_time(v, at);
	}
	*why = "a number in its extended header is malformed, negative or out of range";
	rc = xw_pax_number(v, k->kind == NUM32 ? UINT32_MAX : INT64_MAX, &n);
	if (k->kind == NUM32)
		*(uint32_t *)at = (uint32_t)n;
	else
		*(uint64_t *)at = n;
	return rc;
}

/* Offset or length of a segment in sparse format 0.0. */
static int apply_pair(struct xw_pax *p, bool length, struct xw_slice v, const char **why)
{
	uint64_t n;

	*why = "its sparse map is malformed";
	if (length != p->sparse_half || xw_pax_number(v, INT64_MAX, &n))
		return XW_ERR_INPUT;
	p->sparse_half = !length;
	if (length) {
		p->sparse.v[p->sparse.n - 1].len = n;
		return 0;
	}
	*why = "out of memory";
	return xw_vec_push(&p->sparse, ((struct xw_segment){n, 0}));
}

int xw_pax_apply(struct xw_pax *p, const struct xw_pax_rec *r, const char **why)
{
	struct xw_slice rest;

	if (xw_slice_after(r->key, "SCHILY.xattr.", &rest))
		return add_xattr(p, rest, r->value, RANK_SCHILY, why);
	for (size_t i = 0; i < XW_ARRAY_SIZE(keys); i++)
		if (xw_slice_same(keys[i].name, r->key))
			return apply_value(p, &keys[i], r->value, why);
	if (xw_slice_after(r->key, "GNU.sparse.", &rest)) {
		if (xw_slice_is(rest, "offset"))
			return apply_pair(p, false, r->value, why);
		if (xw_slice_is(rest, "numbytes"))
			return apply_pair(p, true, r->value, why);
		return 0; /* GNU.sparse.numblocks is redundant */
	}
	if (xw_slice_after(r->key, "LIBARCHIVE.xattr.", &rest))
		return add_libarchive_xattr(p, rest, r->value, why);
	if (xw_slice_is(r->key, "RHT.security.selinux"))
		return add_xattr(p, (struct xw_slice){"security.selinux", 16}, r->value, RANK_RHT,
				 why);
	if (xw_slice_is(r->key, "SCHILY.acl.ace") && r->value.len)
		p->has |= XW_PAX_SAW_NFS4_ACL;
	return 0;
}

void xw_pax_reset(struct xw_pax *p)
{
	p->has = 0;
	p->path = p->link = p->acl_access = p->acl_default = (struct xw_slice){NULL, 0};
	p->sparse_name = p->sparse_map = (struct xw_slice){NULL, 0};
	p->xattrs.n = p->ranks.n = p->sparse.n = 0;
	p->sparse_half = false;
	if (p->decoded.head)
		xw_arena_free(&p->decoded);
}

void xw_pax_free(struct xw_pax *p)
{
	xw_vec_free(&p->xattrs);
	xw_vec_free(&p->ranks);
	xw_vec_free(&p->sparse);
	xw_arena_free(&p->decoded);
}

static int global_set(struct xw_pax_globals *g, const struct xw_pax_rec *r, const char **why)
{
	size_t i = 0, size = r->key.len + r->value.len;
	struct xw_pax_rec copy;
	char *mem;

	while (i < g->recs.n && !xw_slice_same(g->recs.v[i].key, r->key))
		i++;
	if (i < g->recs.n) {
		g->bytes -= g->recs.v[i].key.len + g->recs.v[i].value.len;
		free((char *)g->recs.v[i].key.p);
		g->recs.v[i] = g->recs.v[--g->recs.n];
	}
	if (!r->value.len)
		return 0;
	*why = "too many global extended header records";
	if (g->recs.n == XW_PAX_GLOBALS_MAX || size > XW_PAX_GLOBAL_MAX - g->bytes)
		return XW_ERR_INPUT;
	*why = "out of memory";
	mem = malloc(size);
	if (!mem)
		return XW_ERR_NOMEM;
	memcpy(mem, r->key.p, r->key.len);
	memcpy(mem + r->key.len, r->value.p, r->value.len);
	copy.key = (struct xw_slice){mem, r->key.len};
	copy.value = (struct xw_slice){mem + r->key.len, r->value.len};
	if (xw_vec_push(&g->recs, copy)) {
		free(mem);
		return XW_ERR_NOMEM;
	}
	g->bytes += size;
	return 0;
}

int xw_pax_globals_add(struct xw_pax_globals *g, const char *body, size_t len, const char **why)
{
	struct xw_pax_rec r;
	struct xw_slice rest;
	size_t pos = 0;
	int n;

	while ((n = xw_pax_next(body, len, &pos, &r)) == 1) {
		int rc;

		/* a sparse map belongs to one file; comments are ignored */
		if (xw_slice_after(r.key, "GNU.sparse.", &rest) || xw_slice_is(r.key, "comment"))
			continue;
		rc = global_set(g, &r, why);
		if (rc)
			return rc;
	}
	*why = "malformed record";
	return n;
}

void xw_pax_globals_free(struct xw_pax_globals *g)
{
	for (size_t i = 0; i < g->recs.n; i++)
		free((char *)g->recs.v[i].key.p);
	xw_vec_free(&g->recs);
	g->bytes = 0;
}
