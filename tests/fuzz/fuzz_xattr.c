/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target over lib/xattr: ACLs as text, as the kernel's value and as stored, areas in inodes
 * and blocks, names. Byte 0 of the input chooses one, bytes 1 to 3 sizes; the rest is XORed into a
 * valid object, or, for text, chooses words. Objects live in exact allocations.
 *
 * Properties, besides no crash: what is accepted survives each encoding; sets stay sorted; what is
 * decoded from an area can be placed, encoded and decoded again.
 */
#include "base/endian.h"
#include "base/err.h"
#include "disk/xattrblk.h"
#include "xattr/acl.h"
#include "xattr/layout.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(x)                                                                                    \
	do {                                                                                       \
		if (!(x))                                                                          \
			abort();                                                                   \
	} while (0)

struct input {
	const uint8_t *data;
	size_t size;
	uint8_t a, b, c;
};

static uint8_t *exact(const void *p, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);

	MUST(copy);
	if (n)
		memcpy(copy, p, n);
	return copy;
}

static void disturb(const struct input *in, uint8_t *p, size_t n)
{
	for (size_t i = 0; i < XW_MIN(n, in->size); i++)
		p[i] ^= in->data[i];
}

/* Words of the grammar, chosen by the input's bytes; bytes from 0xc0 on stand for themselves. */
static size_t words(const struct input *in, char *out, size_t cap)
{
	static const char *const text[] = {
		"user",
		"group",
		"mask",
		"other",
		":",
		"::",
		"rwx",
		"r--",
		",",
		"\n",
		" ",
		"#",
		"u",
		"g",
		"m",
		"o",
		"d:",
		"1001",
		"default:",
		"lisa",
		"-",
		"\\134",
		"\\",
		"user::rwx,",
		"group::r-x,",
		"other::---,",
		"mask::rw-,",
		"user:5:r--,",
		"group:6:-w-,",
		"4294967294",
		"4294967295",
		"99999999999",
	};
	size_t n = 0;

	for (size_t i = 0; i < in->size && n + 16 < cap; i++) {
		if (in->data[i] >= 0xc0) {
			out[n++] = (char)in->data[i];
		} else {
			const char *w = text[in->data[i] % XW_ARRAY_SIZE(text)];

			memcpy(out + n, w, strlen(w));
			n += strlen(w);
		}
	}
	return n;
}

static void same_acl(const struct xw_acl *a, const struct xw_acl *b)
{
	MUST(a->e.n == b->e.n);
	MUST(!a->e.n || !memcmp(a->e.v, b->e.v, a->e.n * sizeof(a->e.v[0])));
}

/* A decoded ACL goes through all encodings. */
static void check_acl(const struct xw_acl *acl)
{
	size_t disk_len = xw_acl_to_disk(acl, NULL), xattr_len = xw_acl_to_xattr(acl, NULL);
	uint8_t *disk = malloc(disk_len), *xattr = malloc(xattr_len);
	char *text = malloc(XW_ACL_TEXT_MAX(acl->e.n));
	struct xw_acl back = {0};

	MUST(disk && xattr && text);
	MUST(acl->e.n == 0 || acl->e.n >= 3);
	for (size_t i = 1; i < acl->e.n; i++)
		MUST(acl->e.v[i - 1].tag <= acl->e.v[i].tag);
	MUST(xw_acl_to_xattr(acl, xattr) == xattr_len);
	MUST(!xw_acl_from_xattr(&back, xattr, xattr_len, "x", NULL));
	same_acl(acl, &back);
	MUST(!xw_acl_from_text(&back, text, xw_acl_to_text(acl, text), false, NULL, "x", NULL));
	same_acl(acl, &back);
	if (acl->e.n) {
		MUST(xw_acl_to_disk(acl, disk) == disk_len);
		MUST(!xw_acl_from_disk(&back, disk, disk_len, "x", NULL));
		same_acl(acl, &back);
	}
	xw_acl_free(&back);
	free(disk);
	free(xattr);
	free(text);
}

static int any_id(void *arg, bool group, const char *name, uint32_t *id)
{
	(void)arg;
	*id = (uint32_t)strlen(name) + group;
	return name[0] == 'x';
}

static void fuzz_acl_text(const struct input *in)
{
	static const struct xw_acl_names names = {any_id, NULL};
	struct xw_diag d = {0};
	struct xw_acl acl = {0};
	char whole[4096];
	size_t len = words(in, whole, sizeof(whole));
	char *text = (char *)exact(whole, len);

	if (xw_acl_from_text(&acl, text, len, in->a & 1, in->a & 2 ? &names : NULL, "acl", &d))
		MUST(d.code && d.text[0] && !acl.e.n);
	else
		check_acl(&acl);
	xw_acl_free(&acl);
	free(text);
}

/* A valid ACL of some entries, in either binary form. */
static size_t valid_acl(const struct input *in, bool disk, uint8_t *out)
{
	struct xw_acl acl = {0};
	char text[1024] = "user::rwx,group::r--,mask::rwx,other::---";
	unsigned n = in->b % 20;
	size_t len;

	for (unsigned i = 0; i < n; i++)
		strcat(text, i % 2 ? ",user:70000:r--" : ",group:1:-w-");
	MUST(!xw_acl_from_text(&acl, text, strlen(text), false, NULL, "x", NULL));
	len = disk ? xw_acl_to_disk(&acl, out) : xw_acl_to_xattr(&acl, out);
	xw_acl_free(&acl);
	return len - in->c % 16;
}

static void fuzz_acl_binary(const struct input *in)
{
	struct xw_acl acl = {0};
	bool disk = in->a & 1;
	uint8_t whole[512], *p;
	size_t len = valid_acl(in, disk, whole);
	int err;

	p = exact(whole, len);
	disturb(in, p, len);
	err = disk ? xw_acl_from_disk(&acl, p, len, "acl", NULL)
		   : xw_acl_from_xattr(&acl, p, len, "acl", NULL);
	if (err)
		MUST(!acl.e.n);
	else
		check_acl(&acl);
	xw_acl_free(&acl);
	free(p);
}

static void check_sorted(const struct xw_xattr_set *s)
{
	for (size_t i = 1; i < s->a.n; i++) {
		const struct xw_xattr *x = &s->a.v[i - 1], *y = &s->a.v[i];

		MUST(xw_xattr_compare(x->index, x->name, x->name_len, y->index, y->name,
				      y->name_len) < 0);
	}
}

static xw_ino keep(void *arg, xw_ino inum)
{
	MUST(inum);
	++*(size_t *)arg;
	return inum;
}

/*
 * Place, encode and decode a set: it is the same set. With ea_inode it always fits, but for
 * entries.
 */
static void check_set(const struct xw_xattr_set *s, uint32_t ibody, uint32_t bs, bool ea)
{
	struct xw_xattr_slot *slots = calloc(s->a.n + 1, sizeof(*slots));
	uint8_t *body = malloc(ibody + 1), *block = malloc(bs);
	struct xw_xattr_set back = {0};
	struct xw_xattr_span span;
	size_t n_ea = 0, mapped = 0;

	MUST(slots && body && block);
	check_sorted(s);
	if (xw_xattr_layout(s, ibody, bs, ea, slots, NULL))
		goto out;
	for (size_t i = 0; i < s->a.n; i++) {
		slots[i].value_inum = slots[i].ea ? (xw_ino)i + 1 : 0;
		n_ea += slots[i].ea;
	}
	if (xw_xattr_encode_ibody(s, slots, ibody, body)) {
		MUST(!xw_xattr_map_inums(body, ibody, XW_XATTR_IBODY_OFFS, keep, &mapped));
		MUST(!xw_xattr_decode_ibody(body, ibody, &back, NULL));
	}
	if (xw_xattr_encode_block(s, slots, bs, block, &span)) {
		MUST(span.head + span.tail <= bs);
		MUST(!xw_xattr_map_inums(block, bs, XW_XATTR_BLOCK_OFFS, keep, &mapped));
		MUST(!xw_xattr_decode_block(block, bs, &back, NULL));
	}
	MUST(mapped == n_ea);
	MUST(back.a.n == s->a.n);
	for (size_t i = 0; i < s->a.n; i++) {
		const struct xw_xattr *x = &s->a.v[i], *y = &back.a.v[i];

		MUST(!xw_xattr_compare(x->index, x->name, x->name_len, y->index, y->name,
				       y->name_len));
		MUST(x->value_len == y->value_len && y->value_inum == slots[i].value_inum);
		MUST(slots[i].ea || !x->value_len || !memcmp(x->value, y->value, x->value_len));
	}
out:
	xw_xattr_set_free(&back);
	free(slots);
	free(body);
	free(block);
}

/* A set in the input's proportions; names and values may repeat. */
static void any_set(const struct input *in, struct xw_xattr_set *s)
{
	static const char *const prefix[] = {"user.", "trusted.", "security.", "system.",
					     "gnu.",  "",         "btrfs.",    "user"};
	size_t off = 0;

	while (off + 4 <= in->size && s->a.n < 200) {
		const uint8_t *p = in->data + off;
		size_t n = strlen(prefix[p[0] % 8]), rest = p[1] % 40,
		       len = (size_t)p[2] * (p[3] % 8 ? 1 : 40);
		static uint8_t value[256 * 40];
		char name[64];

		memcpy(name, prefix[p[0] % 8], n);
		rest = XW_MIN(rest, in->size - off - 4);
		if (rest)
			memcpy(name + n, p + 4, rest);
		memset(value, p[3], len);
		xw_xattr_set_put(s, name, n + rest, value, len, NULL);
		off += 4 + rest;
	}
}

static void fuzz_set(const struct input *in)
{
	struct xw_xattr_set s = {0};

	any_set(in, &s);
	check_set(&s, in->a % 4 ? 96 : in->b * 4u, 1024u << in->c % 4, in->a & 16);
	xw_xattr_set_free(&s);
}

/* A valid area with a few attributes, disturbed. */
static void fuzz_area(const struct input *in)
{
	static const struct input seed = {(const uint8_t *)"\0\1\5\1a\0\1\3\1b\2\1\4\1c\1\2\0\1de",
					  22, 0, 0, 0};
	uint32_t bs = 1024u << in->a % 3, ibody = 96 + in->b % 64 * 4u;
	uint8_t *body = malloc(ibody), *block = malloc(bs);
	struct xw_xattr_set s = {0}, back = {0};
	struct xw_xattr_slot slots[32];
	struct xw_xattr_span span;
	size_t mapped = 0, n_ea = 0;
	int err;

	MUST(body && block);
	any_set(&seed, &s);
	MUST(s.a.n >= 3 && s.a.n < 32 &&
	     !xw_xattr_layout(&s, in->c & 1 ? ibody : 0, bs, false, slots, NULL));
	if (in->c & 1) {
		MUST(xw_xattr_encode_ibody(&s, slots, ibody, body));
		disturb(in, body + XW_XATTR_IHDR, ibody - XW_XATTR_IHDR);
		err = xw_xattr_decode_ibody(body, ibody, &back, NULL);
		MUST(!xw_xattr_map_inums(body, ibody, XW_XATTR_IBODY_OFFS, keep, &mapped) || err);
	} else {
		MUST(xw_xattr_encode_block(&s, slots, bs, block, &span));
		disturb(in, block + XW_XATTR_BHDR, bs - XW_XATTR_BHDR);
		err = xw_xattr_decode_block(block, bs, &back, NULL);
		MUST(!xw_xattr_map_inums(block, bs, XW_XATTR_BLOCK_OFFS, keep, &mapped) || err);
	}
	MUST(err == 0 || err == XW_ERR_CORRUPT || err == XW_ERR_LIMIT);
	check_sorted(&back);
	for (size_t i = 0; i < back.a.n; i++)
		n_ea += back.a.v[i].value_inum != 0;
	MUST(err || n_ea <= mapped); /* fewer where a duplicate name */
	if (!n_ea)
		check_set(&back, ibody, 4096, true);
	xw_xattr_set_free(&s);
	xw_xattr_set_free(&back);
	free(body);
	free(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const targets[])(const struct input *) = {
		fuzz_acl_text, fuzz_acl_text, fuzz_acl_binary, fuzz_set, fuzz_area, fuzz_area,
	};
	uint8_t head[4] = {0};
	size_t n = XW_MIN(size, sizeof(head));
	struct input in;

	if (n)
		memcpy(head, data, n);
	in = (struct input){data, size - n, head[1], head[2], head[3]};
	if (n)
		in.data += n;
	targets[head[0] % XW_ARRAY_SIZE(targets)](&in);
	return 0;
}
