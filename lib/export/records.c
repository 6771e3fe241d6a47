/* SPDX-License-Identifier: MIT */
/*
 * Extended attributes as pax records. SCHILY.xattr.NAME=VALUE is read by star, GNU tar and
 * libarchive; it cannot represent a name that contains '=', so such a name is stored as
 * LIBARCHIVE.xattr, quoted, with its value in base64.
 */
#include "export/records.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "xattr/acl.h"
#include "xattr/set.h"

#define FULL_NAME_MAX 300 /* see xw_xattr_full_name() */

/*
 * An ACL is stored as text, which every reader of ACLs in archives supports, and as its value on
 * Linux, which preserves entries that the text cannot express (several of one id).
 */
static int add_acl(struct xw_tar_records *r, const struct xw_xattr_ref *a, struct xw_diag *diag)
{
	const bool is_default = a->index == XW_XI_ACL_DEFAULT;
	const char *key = is_default ? "SCHILY.acl.default" : "SCHILY.acl.access";
	const char *raw_key = is_default ? "SCHILY.xattr.system.posix_acl_default"
					 : "SCHILY.xattr.system.posix_acl_access";
	auto_free char *text = NULL;
	auto_free uint8_t *raw = NULL;
	struct xw_acl acl = {0};
	int rc;

	rc = xw_acl_from_stored(&acl, a->value, a->value_len,
				is_default ? "default ACL" : "access ACL", diag);
	if (!rc && acl.e.n) {
		text = malloc(XW_ACL_TEXT_MAX(acl.e.n));
		raw = malloc(xw_acl_to_xattr(&acl, NULL));
		rc = text && raw ? 0 : XW_ERR_NOMEM;
		if (!rc)
			rc = xw_tar_record(r, raw_key, strlen(raw_key), raw,
					   xw_acl_to_xattr(&acl, raw));
		if (!rc)
			rc = xw_tar_record(r, key, strlen(key), text, xw_acl_to_text(&acl, text));
		if (rc)
			xw_fail_nomem(diag, "ACL");
	}
	xw_acl_free(&acl);
	return rc;
}

static size_t quote_name(const char *name, size_t len, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		uint8_t c = (uint8_t)name[i];

		if (c > ' ' && c < 0x7F && c != '%' && c != '=')
			out[n++] = (char)c;
		else
			n += (size_t)sprintf(out + n, "%%%02X", c);
	}
	return n;
}

/* Without padding, as libarchive writes it. */
static size_t base64(const uint8_t *p, size_t len, char *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t n = 0;

	for (size_t i = 0; i < len; i += 3) {
		size_t have = XW_MIN(len - i, 3u);
		uint32_t v = (uint32_t)p[i] << 16 | (have > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
			     (have > 2 ? p[i + 2] : 0u);

		for (size_t k = 0; k <= have; k++)
			out[n++] = digits[v >> (18 - 6 * k) & 63];
	}
	return n;
}

static int add_quoted(struct xw_tar_records *r, const char *full, size_t len,
		      const struct xw_xattr_ref *a)
{
	char key[32 + 3 * FULL_NAME_MAX] = "LIBARCHIVE.xattr.";
	auto_free char *value = malloc((size_t)a->value_len / 3 * 4 + 4);
	size_t key_len = strlen(key);

	if (!value)
		return XW_ERR_NOMEM;
	key_len += quote_name(full, len, key + key_len);
	return xw_tar_record(r, key, key_len, value, base64(a->value, a->value_len, value));
}

int xw_records_add(struct xw_tar_records *r, const struct xw_xattr_ref *a, struct xw_diag *diag,
		   struct xw_record_counts *counts)
{
	static const char prefix[] = "SCHILY.xattr.";
	char key[sizeof(prefix) + FULL_NAME_MAX];
	char *full = key + sizeof(prefix) - 1;
	size_t len;
	int rc;

	if (a->index == XW_XI_ACL_ACCESS || a->index == XW_XI_ACL_DEFAULT) {
		rc = add_acl(r, a, diag);
		counts->acls += !rc;
		return rc;
	}
	memcpy(key, prefix, sizeof(prefix) - 1);
	len = xw_xattr_full_name(a->index, a->name, a->name_len, full);
	if (!len)
		return xw_fail(diag, XW_ERR_CORRUPT, "extended attribute with unknown prefix %u",
			       a->index);
	if (memchr(full, '\0', len))
		return xw_fail(diag, XW_ERR_CORRUPT, "extended attribute with a NUL in its name");
	if (memchr(full, '=', len))
		rc = add_quoted(r, full, len, a);
	else
		rc = xw_tar_record(r, key, sizeof(prefix) - 1 + len, a->value, a->value_len);
	counts->xattrs += !rc;
	return rc ? xw_fail_nomem(diag, "extended attributes") : 0;
}
