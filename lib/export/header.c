/* SPDX-License-Identifier: MIT */
/*
 * Encoding of tar headers. Values that do not fit a ustar field are stored as pax records, with 0
 * or a truncated text in the field; a member without such values has no pax header. All values of
 * a header come from the image, so the same image gives the same archive.
 *
 * pax paths are UTF-8 unless hdrcharset is BINARY, so that record is added if a path is not UTF-8.
 */
#include "export/header.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/utf8.h"

#define BLOCK 512
#define NAME_MAX_LEN 100
#define PREFIX_MAX_LEN 155
#define OCTAL7_MAX 07777777u
#define OCTAL11_MAX 077777777777ull

struct ustar {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], chksum[8];
	char typeflag, linkname[100], magic[6], version[2], uname[32], gname[32];
	char devmajor[8], devminor[8], prefix[155], pad[12];
};
_Static_assert(sizeof(struct ustar) == BLOCK, "ustar header");

/* Write v in decimal to text (20 bytes), not terminated. Returns the number of digits. */
static size_t decimal(char *text, uint64_t v)
{
	char rev[20];
	size_t n = 0, len = 0;

	do
		rev[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		text[len++] = rev[--n];
	return len;
}

int xw_tar_record(struct xw_tar_records *r, const char *key, size_t key_len, const void *value,
		  size_t value_len)
{
	const size_t body = key_len + value_len + 3; /* space, '=', newline */
	size_t len = body + 1, n;
	char digits[20], *p;

	/* counting the digits of the length may add one digit */
	while ((n = decimal(digits, len)), n + body > len)
		len = n + body;
	if (xw_vec_reserve(&r->v, r->v.n + len))
		return XW_ERR_NOMEM;
	p = r->v.v + r->v.n;
	memcpy(p, digits, n);
	p[n++] = ' ';
	memcpy(p + n, key, key_len);
	n += key_len;
	p[n++] = '=';
	if (value_len)
		memcpy(p + n, value, value_len);
	p[len - 1] = '\n';
	r->v.n += len;
	return 0;
}

static int record(struct xw_tar_records *r, const char *key, const char *value)
{
	return xw_tar_record(r, key, strlen(key), value, strlen(value));
}

static int record_u64(struct xw_tar_records *r, const char *key, uint64_t v)
{
	char text[20];

	return xw_tar_record(r, key, strlen(key), text, decimal(text, v));
}

/* A time is written in decimal seconds. t is {-2, 750000000} for -1.25. */
static int record_time(struct xw_tar_records *r, const char *key, struct xw_time t)
{
	uint64_t sec = (uint64_t)t.sec;
	uint32_t nsec = t.nsec;
	char text[40];
	size_t n = 0;

	if (t.sec < 0) {
		text[n++] = '-';
		sec = 0 - sec;
		if (nsec) {
			sec--;
			nsec = 1000000000 - nsec;
		}
	}
	n += decimal(text + n, sec);
	if (nsec) {
		text[n++] = '.';
		for (uint32_t unit = 100000000; nsec; unit /= 10) {
			text[n++] = (char)('0' + nsec / unit);
			nsec %= unit;
		}
	}
	return xw_tar_record(r, key, strlen(key), text, n);
}

static bool is_utf8(const char *s)
{
	for (size_t left = strlen(s), n; left; s += n, left -= n) {
		n = xw_utf8_len(s, left);
		if (!n)
			return false;
	}
	return true;
}

static int record_path(struct xw_tar_records *r, const char *key, const char *path)
{
	r->binary |= !is_utf8(path);
	return record(r, key, path);
}

/* Fill the field with octal digits and a terminator. Values that do not fit are in a record. */
static void octal(char *field, size_t size, uint64_t v, uint64_t max)
{
	if (v > max)
		v = 0;
	for (size_t i = size - 1; i--; v >>= 3)
		field[i] = (char)('0' + (v & 7));
}

/* Copy as much of s as fits; not terminated if it fills the field. */
static void text_field(char *field, size_t size, const char *s)
{
	memcpy(field, s, strnlen(s, size));
}

/* Store the path as name, or as prefix and name, split at a slash. false: it does not fit. */
static bool split_path(struct ustar *h, const char *path)
{
	const size_t len = strlen(path);
	const char *cut;

	if (len <= NAME_MAX_LEN) {
		text_field(h->name, sizeof(h->name), path);
		return true;
	}
	if (len > PREFIX_MAX_LEN + 1 + NAME_MAX_LEN)
		return false;
	/* the leftmost slash after which the name fits gives the shortest prefix */
	cut = strchr(path + len - NAME_MAX_LEN - 1, '/');
	if (!cut || cut == path || cut - path > PREFIX_MAX_LEN || !cut[1])
		return false;
	memcpy(h->prefix, path, (size_t)(cut - path));
	text_field(h->name, sizeof(h->name), cut + 1);
	return true;
}

static int put_header(struct xw_output *o, struct ustar *h, const struct xw_tar_member *m)
{
	const uint64_t mtime = m->mtime.sec < 0 ? 0 : (uint64_t)m->mtime.sec;
	unsigned sum = 0;

	h->typeflag = (char)m->type;
	octal(h->mode, sizeof(h->mode), m->mode & 07777, OCTAL7_MAX);
	octal(h->uid, sizeof(h->uid), m->uid, OCTAL7_MAX);
	octal(h->gid, sizeof(h->gid), m->gid, OCTAL7_MAX);
	octal(h->size, sizeof(h->size), m->size, OCTAL11_MAX);
	octal(h->mtime, sizeof(h->mtime), mtime, OCTAL11_MAX);
	memcpy(h->magic, "ustar", 6);
	memcpy(h->version, "00", 2);
	memset(h->chksum, ' ', sizeof(h->chksum));
	for (size_t i = 0; i < sizeof(*h); i++)
		sum += ((const uint8_t *)h)[i];
	octal(h->chksum, 7, sum, OCTAL7_MAX);
	h->chksum[6] = '\0';
	return xw_output_put(o, h, sizeof(*h));
}

/* Write the pax header, a member of its own that precedes the member it describes. */
static int put_records(struct xw_output *o, const struct xw_tar_member *m, struct xw_tar_records *r)
{
	const struct xw_tar_member pax = {
		.type = XW_TAR_PAX, .mode = 0644, .size = r->v.n, .mtime = m->mtime};
	const char *base = strrchr(m->path, '/');
	struct ustar h = {0};
	char name[NAME_MAX_LEN + 1];
	int rc;

	base = base ? base + 1 : m->path;
	snprintf(name, sizeof(name), "PaxHeaders/%.80s", *base ? base : ".");
	text_field(h.name, sizeof(h.name), name);
	rc = put_header(o, &h, &pax);
	rc = rc ? rc : xw_output_put(o, r->v.v, r->v.n);
	return rc ? rc : xw_output_pad(o, BLOCK);
}

/* Set name and prefix, and add records for the values of m that ustar fields cannot hold. */
static int own_records(struct ustar *h, const struct xw_tar_member *m, const char *path,
		       struct xw_tar_records *r)
{
	int rc = 0;

	if (m->sparse) {
		rc = record(r, "GNU.sparse.major", "1");
		rc = rc ? rc : record(r, "GNU.sparse.minor", "0");
		rc = rc ? rc : record_path(r, "GNU.sparse.name", path);
		rc = rc ? rc : record_u64(r, "GNU.sparse.realsize", m->real_size);
	} else if (!split_path(h, path)) {
		rc = record_path(r, "path", path);
		text_field(h->name, sizeof(h->name), path);
	}
	if (!rc && m->link && strlen(m->link) > sizeof(h->linkname))
		rc = record_path(r, "linkpath", m->link);
	if (!rc && m->size > OCTAL11_MAX)
		rc = record_u64(r, "size", m->size);
	if (!rc && m->uid > OCTAL7_MAX)
		rc = record_u64(r, "uid", m->uid);
	if (!rc && m->gid > OCTAL7_MAX)
		rc = record_u64(r, "gid", m->gid);
	if (!rc && (m->mtime.nsec || m->mtime.sec < 0 || (uint64_t)m->mtime.sec > OCTAL11_MAX))
		rc = record_time(r, "mtime", m->mtime);
	if (!rc && m->has_atime)
		rc = record_time(r, "atime", m->atime);
	return rc;
}

/* Insert the hdrcharset record before all others. */
static int mark_binary(struct xw_tar_records *r)
{
	struct xw_tar_records all = {0};
	int rc = record(&all, "hdrcharset", "BINARY");

	if (!rc)
		rc = xw_vec_reserve(&all.v, all.v.n + r->v.n);
	if (rc) {
		xw_vec_free(&all.v);
		return XW_ERR_NOMEM;
	}
	memcpy(all.v.v + all.v.n, r->v.v, r->v.n);
	all.v.n += r->v.n;
	xw_vec_free(&r->v);
	*r = all;
	return 0;
}

int xw_tar_put_member(struct xw_output *o, const struct xw_tar_member *m, struct xw_tar_records *r)
{
	struct ustar h = {0};
	const size_t len = strlen(m->path);
	auto_free char *path = malloc(len + 3);
	int rc;

	if (!path)
		return XW_ERR_NOMEM;
	/* the stored path: "." for the top, and a slash after directories */
	memcpy(path, len ? m->path : ".", len ? len + 1 : 2);
	if (m->type == XW_TAR_DIR)
		strcat(path, "/");
	rc = own_records(&h, m, path, r);
	if (!rc && r->binary)
		rc = mark_binary(r);
	if (!rc && r->v.n)
		rc = put_records(o, m, r);
	if (m->sparse) {
		/* readers that do not know GNU.sparse extract the map and the data to this name */
		const char *base = strrchr(path, '/');
		char name[NAME_MAX_LEN + 1];

		snprintf(name, sizeof(name), "GNUSparseFile.0/%.84s", base ? base + 1 : path);
		text_field(h.name, sizeof(h.name), name);
	}
	r->v.n = 0;
	r->binary = false;
	if (rc)
		return rc;
	if (m->link)
		text_field(h.linkname, sizeof(h.linkname), m->link);
	octal(h.devmajor, sizeof(h.devmajor), m->dev_major, OCTAL7_MAX);
	octal(h.devminor, sizeof(h.devminor), m->dev_minor, OCTAL7_MAX);
	return put_header(o, &h, m);
}

int xw_tar_put_end(struct xw_output *o)
{
	int rc = xw_output_zeros(o, 2 * BLOCK);

	/* a tar record has 20 blocks */
	while (!rc && o->total % (20 * BLOCK))
		rc = xw_output_zeros(o, BLOCK);
	return rc;
}
