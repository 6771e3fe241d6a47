/* SPDX-License-Identifier: MIT */
/* Extended attributes as Linux presents them: names with their prefix, ACLs in its encoding. */
#include "read/xattrs.h"

#include <stdlib.h>
#include <string.h>

bool xw_xattr_is_internal(const struct xw_xattr_ref *a)
{
	return a->index == XW_XI_ENCRYPTION ||
	       (a->index == XW_XI_SYSTEM && a->name_len == 4 && !memcmp(a->name, "data", 4));
}

static int convert_acl(const struct xw_xattr_ref *a, struct xw_diag *diag,
		       struct xw_xattr_linux *out)
{
	const char *what = a->index == XW_XI_ACL_DEFAULT ? "default ACL" : "access ACL";
	int rc = xw_acl_from_stored(&out->acl, a->value, a->value_len, what, diag);

	if (rc)
		return rc;
	out->own = malloc(xw_acl_to_xattr(&out->acl, NULL));
	if (!out->own)
		return xw_fail_nomem(diag, "ACL");
	out->value = out->own;
	out->value_len = (uint32_t)xw_acl_to_xattr(&out->acl, out->own);
	return 0;
}

int xw_xattr_to_linux(const struct xw_xattr_ref *a, struct xw_diag *diag,
		      struct xw_xattr_linux *out)
{
	out->value = a->value;
	out->value_len = a->value_len;
	out->acl = (struct xw_acl){0};
	out->own = NULL;
	out->name_len = xw_xattr_full_name(a->index, a->name, a->name_len, out->name);
	if (!out->name_len)
		return xw_fail(diag, XW_ERR_CORRUPT, "extended attribute with unknown prefix %u",
			       a->index);
	if (memchr(out->name, '\0', out->name_len))
		return xw_fail(diag, XW_ERR_CORRUPT, "extended attribute with a NUL in its name");
	if (a->index == XW_XI_ACL_ACCESS || a->index == XW_XI_ACL_DEFAULT)
		return convert_acl(a, diag, out);
	return 0;
}

void xw_xattr_linux_free(struct xw_xattr_linux *x)
{
	xw_acl_free(&x->acl);
	free(x->own);
	x->own = NULL;
}
