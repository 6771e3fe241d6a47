/* SPDX-License-Identifier: MIT */
/*
 * Name indexes: ext4 stores a byte for the prefix of a name. Three indexes represent a whole name;
 * these precede their prefix "system." in the table.
 */
#include "config.h"

#include "disk/xattrblk.h"
#include "xattr/set.h"

#include <string.h>

static const struct prefix {
	uint8_t index, len;
	bool whole;
	const char *text;
} prefixes[] = {
	{XW_XI_USER, 5, false, "user."},
	{XW_XI_SECURITY, 9, false, "security."},
	{XW_XI_TRUSTED, 8, false, "trusted."},
	{XW_XI_ACL_ACCESS, 23, true, "system.posix_acl_access"},
	{XW_XI_ACL_DEFAULT, 24, true, "system.posix_acl_default"},
	{XW_XI_RICHACL, 14, true, "system.richacl"},
	{XW_XI_SYSTEM, 7, false, "system."},
	{XW_XI_HURD, 4, false, "gnu."},
};

int xw_xattr_split_name(const char *full_name, size_t len, uint8_t *index, size_t *rest)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(prefixes); i++) {
		const struct prefix *p = &prefixes[i];

		if (len < p->len || memcmp(full_name, p->text, p->len) ||
		    (p->whole && len != p->len))
			continue;
		*index = p->index;
		*rest = p->len;
		return p->whole || len > p->len ? 0 : XW_ERR_INPUT;
	}
	return len ? XW_ERR_UNSUPPORTED : XW_ERR_INPUT;
}

size_t xw_xattr_full_name(uint8_t index, const char *name, size_t name_len, char *buf)
{
	if (name_len > XW_XATTR_NAME_MAX)
		return 0;
	for (size_t i = 0; i < XW_ARRAY_SIZE(prefixes); i++) {
		const struct prefix *p = &prefixes[i];

		if (p->index != index)
			continue;
		memcpy(buf, p->text, p->len);
		if (name_len)
			memcpy(buf + p->len, name, name_len);
		buf[p->len + name_len] = '\0';
		return p->len + name_len;
	}
	return 0;
}
