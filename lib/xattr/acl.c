/* SPDX-License-Identifier: MIT */
/*
 * ACL entries, their order and validity, and the two binary encodings.
 *
 * Validity is what Linux enforces on setxattr (observed): one each of USER_OBJ, GROUP_OBJ and
 * OTHER, at most one MASK, a MASK when there are named entries, no other tags, no permission bits
 * beyond rwx, no id of -1; ids of all other entries are ignored. Linux requires the order of tags
 * but not of ids. Entries are sorted here so that equal ACLs have equal bytes and share a block.
 */
#include "config.h"

#include "xattr/acl.h"

#include "base/endian.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define DISK_VERSION 1u
#define XATTR_VERSION 2u

struct XW_ON_DISK disk_short {
	le16 tag, perm;
};

struct XW_ON_DISK disk_long {
	le16 tag, perm;
	le32 id;
};

static_assert(sizeof(struct disk_short) == 4, "short ACL entry");
static_assert(sizeof(struct disk_long) == 8, "long ACL entry");

void xw_acl_free(struct xw_acl *acl)
{
	xw_vec_free(&acl->e);
}

static bool has_id(unsigned tag)
{
	return tag == XW_ACL_USER || tag == XW_ACL_GROUP;
}

/* Merge sort by (tag, id): stable, and without a quadratic worst case. */
static void merge(struct xw_acl_entry *v, size_t n, struct xw_acl_entry *tmp)
{
	size_t half = n / 2, i = 0, j = half, k = 0;

	if (n < 2)
		return;
	merge(v, half, tmp);
	merge(v + half, n - half, tmp);
	while (i < half || j < n) {
		bool left = j == n || (i < half && (v[i].tag < v[j].tag ||
						    (v[i].tag == v[j].tag && v[i].id <= v[j].id)));

		tmp[k++] = left ? v[i++] : v[j++];
	}
	memcpy(v, tmp, n * sizeof(*v));
}

/* Returns why the entries are not a valid ACL, or NULL. */
static const char *invalid(const struct xw_acl *acl)
{
	size_t count[XW_ACL_OTHER + 1] = {0};

	for (size_t i = 0; i < acl->e.n; i++) {
		const struct xw_acl_entry *e = &acl->e.v[i];

		if (e->tag > XW_ACL_OTHER || e->tag == 0 || (e->tag & (e->tag - 1)))
			return "unknown entry tag";
		if (e->perm & ~7u)
			return "permission bits beyond rwx";
		if (has_id(e->tag) && e->id == XW_ACL_NO_ID)
			return "named entry without an id";
		count[e->tag]++;
	}
	if (count[XW_ACL_USER_OBJ] != 1)
		return "needs exactly one entry for the owner";
	if (count[XW_ACL_GROUP_OBJ] != 1)
		return "needs exactly one entry for the owning group";
	if (count[XW_ACL_OTHER] != 1)
		return "needs exactly one entry for others";
	if (count[XW_ACL_MASK] > 1)
		return "more than one mask";
	if (count[XW_ACL_USER] + count[XW_ACL_GROUP] > 0 && count[XW_ACL_MASK] == 0)
		return "named entries need a mask";
	return NULL;
}

int xw_acl_finish(struct xw_acl *acl, int code, const char *what, struct xw_diag *diag)
{
	const char *why = invalid(acl);
	struct xw_acl_entry *tmp;

	if (why) {
		acl->e.n = 0;
		return xw_fail(diag, code, "%s: invalid ACL: %s", what, why);
	}
	for (size_t i = 0; i < acl->e.n; i++)
		if (!has_id(acl->e.v[i].tag))
			acl->e.v[i].id = XW_ACL_NO_ID;
	tmp = malloc(acl->e.n * sizeof(*tmp));
	if (!tmp) {
		acl->e.n = 0;
		return xw_fail_nomem(diag, "an ACL");
	}
	merge(acl->e.v, acl->e.n, tmp);
	free(tmp);
	return 0;
}

int xw_acl_from_xattr(struct xw_acl *acl, const void *value, size_t len, const char *what,
		      struct xw_diag *diag)
{
	const uint8_t *p = value;
	size_t n;

	acl->e.n = 0;
	if (len == 0)
		return 0;
	if (len < 4 || (len - 4) % sizeof(struct disk_long))
		return xw_fail(diag, XW_ERR_INPUT, "%s: ACL of %zu bytes has a partial entry", what,
			       len);
	if (peek32(p) != XATTR_VERSION)
		return xw_fail(diag, XW_ERR_INPUT, "%s: ACL version %u, expected 2", what,
			       peek32(p));
	n = (len - 4) / sizeof(struct disk_long);
	if (n == 0)
		return 0;
	if (n > XW_ACL_ENTRIES_MAX)
		return xw_fail(diag, XW_ERR_LIMIT, "%s: ACL of %zu entries, the limit is %u", what,
			       n, XW_ACL_ENTRIES_MAX);
	if (xw_vec_reserve(&acl->e, n))
		return xw_fail_nomem(diag, "an ACL");
	for (size_t i = 0; i < n; i++) {
		const uint8_t *q = p + 4 + i * sizeof(struct disk_long);

		acl->e.v[i] = (struct xw_acl_entry){peek16(q), peek16(q + 2), peek32(q + 4)};
	}
	acl->e.n = n;
	return xw_acl_finish(acl, XW_ERR_INPUT, what, diag);
}

int xw_acl_from_disk(struct xw_acl *acl, const void *value, size_t len, const char *what,
		     struct xw_diag *diag)
{
	const uint8_t *p = value;

	acl->e.n = 0;
	if (len < 4 || peek32(p) != DISK_VERSION)
		return xw_fail(diag, XW_ERR_CORRUPT, "%s: not an ACL of version 1", what);
	for (size_t off = 4, size; off < len; off += size) {
		struct xw_acl_entry e = {0, 0, XW_ACL_NO_ID};

		size = sizeof(struct disk_short);
		if (len - off >= size)
			e.tag = peek16(p + off);
		if (has_id(e.tag))
			size = sizeof(struct disk_long);
		if (len - off < size) {
			acl->e.n = 0;
			return xw_fail(diag, XW_ERR_CORRUPT, "%s: ACL ends inside an entry", what);
		}
		e.perm = peek16(p + off + 2);
		if (has_id(e.tag))
			e.id = peek32(p + off + 4);
		if (acl->e.n >= XW_ACL_ENTRIES_MAX) {
			acl->e.n = 0;
			return xw_fail(diag, XW_ERR_CORRUPT, "%s: ACL of more than %u entries",
				       what, XW_ACL_ENTRIES_MAX);
		}
		if (xw_vec_push(&acl->e, e)) {
			acl->e.n = 0;
			return xw_fail_nomem(diag, "an ACL");
		}
	}
	return xw_acl_finish(acl, XW_ERR_CORRUPT, what, diag);
}

int xw_acl_from_stored(struct xw_acl *acl, const void *value, size_t len, const char *what,
		       struct xw_diag *diag)
{
	int rc;

	if (len < 4 || peek32(value) != XATTR_VERSION)
		return xw_acl_from_disk(acl, value, len, what, diag);
	rc = xw_acl_from_xattr(acl, value, len, what, diag);
	if (rc == XW_ERR_INPUT && diag)
		diag->code = XW_ERR_CORRUPT;
	return rc == XW_ERR_INPUT ? XW_ERR_CORRUPT : rc;
}

bool xw_acl_is_minimal(const struct xw_acl *acl)
{
	for (size_t i = 0; i < acl->e.n; i++)
		if (has_id(acl->e.v[i].tag) || acl->e.v[i].tag == XW_ACL_MASK)
			return false;
	return true;
}

size_t xw_acl_to_disk(const struct xw_acl *acl, uint8_t *buf)
{
	size_t off = 4;

	if (buf)
		poke32(buf, DISK_VERSION);
	for (size_t i = 0; i < acl->e.n; i++) {
		const struct xw_acl_entry *e = &acl->e.v[i];

		if (buf) {
			poke16(buf + off, e->tag);
			poke16(buf + off + 2, e->perm);
			if (has_id(e->tag))
				poke32(buf + off + 4, e->id);
		}
		off += has_id(e->tag) ? sizeof(struct disk_long) : sizeof(struct disk_short);
	}
	return off;
}

size_t xw_acl_to_xattr(const struct xw_acl *acl, uint8_t *buf)
{
	if (buf)
		poke32(buf, XATTR_VERSION);
	for (size_t i = 0; buf && i < acl->e.n; i++) {
		const struct xw_acl_entry *e = &acl->e.v[i];
		uint8_t *q = buf + 4 + i * sizeof(struct disk_long);

		poke16(q, e->tag);
		poke16(q + 2, e->perm);
		poke32(q + 4, e->id);
	}
	return 4 + acl->e.n * sizeof(struct disk_long);
}
