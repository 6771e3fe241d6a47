// SPDX-License-Identifier: MIT
/* Attributes that an archive may contain and ext4 can store, but that Linux never returns. */
#include "config.h"

#include <string.h>

#include "base/endian.h"
#include "xattr/set.h"

#define FULL_NAME_MAX 255u /* XATTR_NAME_MAX of Linux, with the prefix */

/*
 * The capabilities of a program: a revision with flags, then two or four 32-bit masks, then the ID
 * of the root user in revision 3. getxattr(2) fails for revision 1, but programs get its
 * capabilities.
 */
static bool is_capability(const uint8_t *value, size_t len)
{
	enum { EFFECTIVE = 1, REVISION_SHIFT = 24 };
	static const uint8_t sizes[] = {[1] = 12, [2] = 20, [3] = 24};
	uint32_t head;

	if (len < sizeof(head))
		return false;
	head = peek32(value) & ~(uint32_t)EFFECTIVE;
	for (uint32_t i = 1; i < XW_ARRAY_SIZE(sizes); i++) {
		if (head == i << REVISION_SHIFT)
			return len == sizes[i];
	}
	return false;
}

const char *xw_xattr_unusable(const char *full_name, size_t len, const void *value,
			      size_t value_len)
{
	static const char capability[] = "security.capability";

	if (len > FULL_NAME_MAX)
		return "its name is longer than 255 bytes";
	if (len == sizeof(capability) - 1 && !memcmp(full_name, capability, len) &&
	    !is_capability(value, value_len))
		return "its value is not a capability set";
	return NULL;
}
