/* SPDX-License-Identifier: MIT */
/*
 * Extended attributes as pax records. star, GNU tar and libarchive read SCHILY.xattr.NAME=VALUE.
 * That form does not allow a '=' in the name; such attributes are stored as LIBARCHIVE.xattr, with
 * a quoted name and a value in base64.
 */
#include "export/records.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "xattr/acl.h"

/*
 * The text of an ACL, which every reader of ACLs in archives supports. The Linux xattr value is
 * stored, too: it keeps entries that the text cannot express (several entries with the same id).
 */
static int add_acl_text(struct xw_tar_records *r, bool is_default, const struct xw_acl *acl)
{
	const char *key = is_default ? "SCHILY.acl.default" : "SCHILY.acl.access";
	auto_free char *text = malloc(XW_ACL_TEXT_MAX(acl->e.n));

	if (!text)
		return XW_ERR_NOMEM;
	return xw_tar_record(r, key, strlen(key), text, xw_acl_to_text(acl, text));
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

/* base64 without padding, as libarchive writes it. Returns the length. */
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

static int add_quoted(struct xw_tar_records *r, const struct xw_xattr_linux *a)
{
	char key[32 + 3 * XW_XATTR_FULL_NAME_MAX] = "LIBARCHIVE.xattr.";
	auto_free char *value = malloc((size_t)a->value_len / 3 * 4 + 4);
	size_t key_len = strlen(key);

	if (!value)
		return XW_ERR_NOMEM;
	key_len += quote_name(a->name, a->name_len, key + key_len);
	return xw_tar_record(r, key, key_len, value, base64(a->value, a->value_len, value));
}

static int add_plain(struct xw_tar_records *r, const struct xw_xattr_linux *a)
{
	char key[32 + XW_XATTR_FULL_NAME_MAX];
	const int len = snprintf(key, sizeof(key), "SCHILY.xattr.%s", a->name);

	return xw_tar_record(r, key, (size_t)len, a->value, a->value_len);
}

int xw_records_add(struct xw_tar_records *r, const struct xw_xattr_ref *a, struct xw_diag *diag,
		   struct xw_record_counts *counts)
{
	const bool is_acl = a->index == XW_XI_ACL_ACCESS || a->index == XW_XI_ACL_DEFAULT;
	auto_end(xw_xattr_linux_free) struct xw_xattr_linux x;
	int rc = xw_xattr_to_linux(a, diag, &x);

	if (rc)
		return rc;
	if (!is_acl || x.acl.e.n)
		rc = memchr(x.name, '=', x.name_len) ? add_quoted(r, &x) : add_plain(r, &x);
	if (!rc && is_acl && x.acl.e.n)
		rc = add_acl_text(r, a->index == XW_XI_ACL_DEFAULT, &x.acl);
	if (rc)
		return xw_fail_nomem(diag, "extended attributes");
	*(is_acl ? &counts->acls : &counts->xattrs) += 1;
	return 0;
}
