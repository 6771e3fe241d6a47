/* SPDX-License-Identifier: MIT */
/*
 * A sorted array of attributes over one byte buffer.
 *
 * Insertion keeps the order (a binary search and a memmove of a few KiB), so thousands of
 * attributes of one file, in a hostile archive, need no quadratic search. Pointers refer to `bytes`
 * and are adjusted when it is reallocated. Bytes of replaced values remain until the buffer has to
 * grow, when live bytes are copied to a new one.
 */
#include "config.h"

#include "base/auto.h"
#include "base/search.h"
#include "xattr/set.h"

#include "disk/xattrblk.h"

#include <stdint.h>
#include <string.h>

void xw_xattr_set_clear(struct xw_xattr_set *s)
{
	s->a.n = 0;
	s->bytes.n = 0;
}

void xw_xattr_set_free(struct xw_xattr_set *s)
{
	xw_vec_free(&s->a);
	xw_vec_free(&s->bytes);
}

int xw_xattr_compare(uint8_t index_a, const char *name_a, size_t len_a, uint8_t index_b,
		     const char *name_b, size_t len_b)
{
	if (index_a != index_b)
		return index_a < index_b ? -1 : 1;
	if (len_a != len_b)
		return len_a < len_b ? -1 : 1;
	return len_a ? memcmp(name_a, name_b, len_a) : 0;
}

/* The position of (index, name) if *found, else where to insert it. */
static size_t position(const struct xw_xattr_set *s, uint8_t index, const char *name,
		       size_t name_len, bool *found)
{
	const struct xw_xattr *x = s->a.v;
	const size_t at = XW_LOWER_BOUND(
		i, s->a.n,
		xw_xattr_compare(x[i].index, x[i].name, x[i].name_len, index, name, name_len) >= 0);

	*found = at < s->a.n &&
		 !xw_xattr_compare(x[at].index, x[at].name, x[at].name_len, index, name, name_len);
	return at;
}

const struct xw_xattr *xw_xattr_set_find(const struct xw_xattr_set *s, uint8_t index,
					 const char *name, size_t name_len)
{
	bool found;
	size_t i = position(s, index, name, name_len, &found);

	return found ? &s->a.v[i] : NULL;
}

bool xw_xattr_set_remove(struct xw_xattr_set *s, uint8_t index, const char *name, size_t name_len)
{
	bool found;
	size_t i = position(s, index, name, name_len, &found);

	if (!found)
		return false;
	s->a.n--;
	memmove(&s->a.v[i], &s->a.v[i + 1], (s->a.n - i) * sizeof(s->a.v[0]));
	return true;
}

static size_t live_bytes(const struct xw_xattr_set *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->a.n; i++)
		n += s->a.v[i].name_len + (s->a.v[i].value ? s->a.v[i].value_len : 0);
	return n;
}

/* Copy the live bytes to a new buffer of `cap` bytes. */
static int rebuild(struct xw_xattr_set *s, size_t cap)
{
	uint8_t *fresh = malloc(cap);
	size_t n = 0;

	if (!fresh)
		return XW_ERR_NOMEM;
	for (size_t i = 0; i < s->a.n; i++) {
		struct xw_xattr *x = &s->a.v[i];

		if (x->name_len)
			memcpy(fresh + n, x->name, x->name_len);
		x->name = (const char *)fresh + n;
		n += x->name_len;
		if (!x->value)
			continue;
		if (x->value_len)
			memcpy(fresh + n, x->value, x->value_len);
		x->value = fresh + n;
		n += x->value_len;
	}
	free(s->bytes.v);
	s->bytes.v = fresh;
	s->bytes.n = n;
	s->bytes.cap = cap;
	return 0;
}

/* Make room for `more` bytes, which append() then adds without moving the buffer. */
static int make_room(struct xw_xattr_set *s, size_t more)
{
	size_t live;

	if (s->bytes.v && s->bytes.cap - s->bytes.n >= more)
		return 0;
	live = live_bytes(s);
	return rebuild(s, XW_MAX(2 * (live + more), 256u));
}

static const uint8_t *append(struct xw_xattr_set *s, const void *p, size_t len)
{
	uint8_t *at = s->bytes.v + s->bytes.n;

	if (len)
		memcpy(at, p, len);
	s->bytes.n += len;
	return at;
}

static int check_limits(const struct xw_xattr_set *s, uint8_t index, const char *name,
			size_t name_len, size_t value_len, struct xw_diag *diag)
{
	int shown = (int)XW_MIN(name_len, 60u);

	/* ext4 could not distinguish such an entry from the end of the entries. */
	if (index == 0 && name_len == 0)
		return xw_fail(diag, XW_ERR_INPUT, "extended attribute without any name");
	if (name_len > XW_XATTR_NAME_MAX)
		return xw_fail(diag, XW_ERR_LIMIT,
			       "extended attribute %.*s...: name of %zu bytes, the limit is %u",
			       shown, name, name_len, XW_XATTR_NAME_MAX);
	if (value_len > XW_XATTR_VALUE_MAX)
		return xw_fail(diag, XW_ERR_LIMIT,
			       "extended attribute %.*s: value of %zu bytes, the limit is %u",
			       shown, name, value_len, XW_XATTR_VALUE_MAX);
	if (s->a.n >= XW_XATTR_COUNT_MAX)
		return xw_fail(diag, XW_ERR_LIMIT,
			       "extended attribute %.*s: more than %u attributes", shown, name,
			       XW_XATTR_COUNT_MAX);
	return 0;
}

/* has_value false: the value is in an EA inode. */
static int put(struct xw_xattr_set *s, const struct xw_xattr *x, bool has_value,
	       struct xw_diag *diag)
{
	size_t need = x->name_len + (has_value ? x->value_len : 0);
	struct xw_xattr *slot;
	bool found;
	size_t i;

	i = position(s, x->index, x->name, x->name_len, &found);
	/* This may move the buffer: x->name is invalid afterwards if it is a name in the set. */
	if (xw_vec_reserve(&s->a, s->a.n + 1) || make_room(s, need))
		return xw_fail_nomem(diag, "extended attributes");
	slot = &s->a.v[i];
	if (!found) {
		memmove(slot + 1, slot, (s->a.n - i) * sizeof(*slot));
		s->a.n++;
		*slot = *x;
		slot->name = (const char *)append(s, x->name, x->name_len);
	}
	slot->value_len = x->value_len;
	slot->value_inum = x->value_inum;
	slot->value = has_value ? append(s, x->value, x->value_len) : NULL;
	return 0;
}

int xw_xattr_set_put_raw(struct xw_xattr_set *s, uint8_t index, const char *name, size_t name_len,
			 const void *value, size_t value_len, struct xw_diag *diag)
{
	int rc = check_limits(s, index, name, name_len, value_len, diag);
	struct xw_xattr x = {.index = index, .name = name, .value = value};

	if (rc)
		return rc;
	x.name_len = (uint8_t)name_len;
	x.value_len = (uint32_t)value_len;
	return put(s, &x, true, diag);
}

int xw_xattr_set_put_inum(struct xw_xattr_set *s, uint8_t index, const char *name, size_t name_len,
			  xw_ino inum, uint32_t value_len, struct xw_diag *diag)
{
	int rc = check_limits(s, index, name, name_len, value_len, diag);
	struct xw_xattr x = {
		.index = index, .name = name, .value_len = value_len, .value_inum = inum};

	if (rc)
		return rc;
	x.name_len = (uint8_t)name_len;
	return put(s, &x, false, diag);
}

int xw_xattr_set_put_acl(struct xw_xattr_set *s, bool is_default, const struct xw_acl *acl,
			 struct xw_diag *diag)
{
	uint8_t index = is_default ? XW_XI_ACL_DEFAULT : XW_XI_ACL_ACCESS;
	auto_free uint8_t *disk = NULL;
	size_t len;

	if (acl->e.n == 0 || (!is_default && xw_acl_is_minimal(acl))) {
		xw_xattr_set_remove(s, index, NULL, 0);
		return 0;
	}
	len = xw_acl_to_disk(acl, NULL);
	disk = malloc(len);
	if (!disk)
		return xw_fail_nomem(diag, "an ACL");
	xw_acl_to_disk(acl, disk);
	return xw_xattr_set_put_raw(s, index, "", 0, disk, len, diag);
}

static const char *acl_name(bool is_default)
{
	return is_default ? "system.posix_acl_default" : "system.posix_acl_access";
}

int xw_xattr_set_put_acl_text(struct xw_xattr_set *s, bool is_default, const char *text, size_t len,
			      const struct xw_acl_names *names, struct xw_diag *diag)
{
	auto_end(xw_acl_free) struct xw_acl acl = {0};
	int rc = xw_acl_from_text(&acl, text, len, is_default, names, acl_name(is_default), diag);

	return rc ? rc : xw_xattr_set_put_acl(s, is_default, &acl, diag);
}

int xw_xattr_set_put(struct xw_xattr_set *s, const char *full_name, size_t len, const void *value,
		     size_t value_len, struct xw_diag *diag)
{
	int shown = (int)XW_MIN(len, 80u);
	auto_end(xw_acl_free) struct xw_acl acl = {0};
	uint8_t index;
	size_t rest;
	int rc;

	if (len && memchr(full_name, '\0', len))
		return xw_fail(diag, XW_ERR_INPUT, "extended attribute %.*s: NUL in the name",
			       shown, full_name);
	rc = xw_xattr_split_name(full_name, len, &index, &rest);
	if (rc == XW_ERR_UNSUPPORTED)
		return xw_fail(diag, rc, "extended attribute %.*s: not supported by ext4", shown,
			       full_name);
	if (rc)
		return xw_fail(diag, rc, "extended attribute %.*s: empty name", shown, full_name);
	if (index == XW_XI_SYSTEM && len - rest == 4 && !memcmp(full_name + rest, "data", 4))
		return xw_fail(
			diag, XW_ERR_UNSUPPORTED,
			"extended attribute system.data: inline data is the filesystem's own");
	if (index != XW_XI_ACL_ACCESS && index != XW_XI_ACL_DEFAULT)
		return xw_xattr_set_put_raw(s, index, full_name + rest, len - rest, value,
					    value_len, diag);
	rc = xw_acl_from_xattr(&acl, value, value_len, acl_name(index == XW_XI_ACL_DEFAULT), diag);
	return rc ? rc : xw_xattr_set_put_acl(s, index == XW_XI_ACL_DEFAULT, &acl, diag);
}
