// SPDX-License-Identifier: MIT
/* Encrypted inodes have a context, in an attribute of its own, that says how. */
#include "config.h"

#include <stdlib.h>

#include "base/auto.h"
#include "inodes.h"
#include "read/xattrs.h"

/* Sizes of the two versions of a context; its first byte is the version. */
enum { CONTEXT_V1 = 28, CONTEXT_V2 = 40 };

static bool is_context(const uint8_t *value, uint32_t len)
{
	return (len == CONTEXT_V1 && value[0] == 1) || (len == CONTEXT_V2 && value[0] == 2);
}

int fsck_look_encrypted(struct fsck_look *l)
{
	struct fsck *f = l->f;
	auto_free uint8_t *value = NULL;
	uint32_t len = 0;
	int rc;

	if (!(l->in.flags & XW_FL_ENCRYPT))
		return 0;
	rc = xw_xattr_get(f->img, l->ino, &l->in, l->raw, XW_XI_ENCRYPTION, "c", &value, &len);
	if (rc == XW_ERR_NOMEM)
		return rc;
	if (rc == XW_ERR_NOTFOUND) {
		if (FSCK_FOUND(f, ENCRYPT_NO_CONTEXT, .ino = l->ino)) {
			l->in.flags &= ~XW_FL_ENCRYPT;
			l->dirty = true;
		}
	} else if (!rc && !is_context(value, len)) {
		l->clear = FSCK_FOUND(f, ENCRYPT_CONTEXT, .ino = l->ino);
	}
	xw_diag_clear(&f->diag);
	return 0;
}
