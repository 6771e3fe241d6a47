// SPDX-License-Identifier: MIT
/*
 * Checks the context of encrypted inodes, which is stored in an attribute. Everything except the
 * nonce at its end is the policy. Inodes in an encrypted directory have the directory's policy.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/hash.h"
#include "phases/inodes.h"
#include "read/xattrs.h"
#include "walk/xattr.h"

/* Sizes of the two known versions of a context; its first byte is the version. */
enum { CONTEXT_V1 = 28, CONTEXT_V2 = 40, NONCE = 16, CONTEXT_FLAGS = 0x1F };
/* The hash for contexts of unknown versions, which are not changed. */
enum { POLICY_UNKNOWN = 1 };

struct policy {
	xw_ino ino;
	uint64_t hash; /* of its policy; secret: the comparison relies on it */
};

static const struct xw_table_kind policy_kind = XW_TABLE_BY_U32(struct policy);

/* Hash the policy of a context. False: the context is damaged. */
static bool context_policy(const uint8_t *value, uint32_t len, uint64_t *hash)
{
	const struct xw_hash_key key = xw_hash_process_key();
	const uint8_t version = len ? value[0] : 0;

	if (!version || (version == 1 && len != CONTEXT_V1) || (version == 2 && len != CONTEXT_V2))
		return false;
	*hash = version > 2 ? POLICY_UNKNOWN : xw_hash_secret(&key, 0, value, len - NONCE);
	return true;
}

/* Could Linux have written this context? Only key and nonce may have any value. */
static bool is_context(const uint8_t *value, uint32_t len)
{
	static const uint8_t modes[] = {1, 4, 5, 6, 7, 8, 9, 10};

	return ((len == CONTEXT_V1 && value[0] == 1) ||
		(len == CONTEXT_V2 && value[0] == 2 && !value[5] && !value[6] && !value[7])) &&
	       memchr(modes, value[1], sizeof(modes)) && memchr(modes, value[2], sizeof(modes)) &&
	       !(value[3] & ~CONTEXT_FLAGS);
}

/* Look for a context under another attribute name, and rename it. True: found. */
static bool name_context(struct fsck_look *l)
{
	const size_t size = l->f->ses.img->inode_size, at = XW_INODE_BODY + l->in.extra_isize;
	auto_free struct xw_walk_xattr *it = malloc(sizeof(*it));
	auto_free uint8_t *copy = malloc(size);
	struct xw_walk_xattr_item item;
	size_t off = 0;
	int more;

	if (!it || !copy || at + XW_XATTR_IHDR >= size ||
	    xw_xattr_magic(l->raw + at) != XW_XATTR_MAGIC)
		return false;
	memcpy(copy, l->raw, size);
	xw_walk_xattr_inode(it, copy + at, size - at);
	while (!off && (more = xw_walk_xattr_next(it, &item)))
		if (more == 1 && item.value && is_context(item.value, item.e.value_size))
			off = item.off;
	if (!off)
		return false;
	item.e.name = "c";
	item.e.name_len = 1;
	item.e.name_index = XW_XI_ENCRYPTION;
	xw_xattr_entry_encode(copy + at, off, &item.e);
	xw_walk_xattr_inode(it, copy + at, size - at);
	while ((more = xw_walk_xattr_next(it, &item)) == 1)
		;
	if (more)
		return false;
	if (LOOK_REPAIR(l, ENCRYPT_NAME))
		memcpy(l->raw, copy, size);
	return true;
}

static int remember(struct fsck *f, xw_ino ino, uint64_t hash)
{
	struct policy *slot;

	if (xw_table_room(&f->facts.policies, &policy_kind, NULL))
		return xw_fail_nomem(&f->ses.diag, "encryption policies");
	slot = xw_table_slot(&f->facts.policies, &policy_kind, NULL,
			     xw_table_number(&f->facts.policies, ino), &ino);
	f->facts.policies.n += !slot->ino;
	*slot = (struct policy){ino, hash};
	return 0;
}

bool fsck_same_policy(const struct fsck *f, xw_ino dir, xw_ino ino)
{
	const struct policy *a = xw_table_get(&f->facts.policies, &policy_kind, NULL,
					      xw_table_number(&f->facts.policies, dir), &dir);
	const struct policy *b = xw_table_get(&f->facts.policies, &policy_kind, NULL,
					      xw_table_number(&f->facts.policies, ino), &ino);

	return !a || !b || a->hash == b->hash;
}

int fsck_look_encrypted(struct fsck_look *l)
{
	struct fsck *f = l->f;
	auto_free uint8_t *value = NULL;
	uint64_t policy = 0;
	uint32_t len = 0;
	int rc;

	if (!(l->in.flags & XW_FL_ENCRYPT))
		return 0;
	rc = xw_xattr_get(f->ses.img, l->ino, &l->in, l->raw, XW_XI_ENCRYPTION, "c", &value, &len);
	if (rc == XW_ERR_NOMEM)
		return rc;
	if (rc == XW_ERR_NOTFOUND) {
		/* The policy of a renamed context is checked in the next round. */
		if (!name_context(l) && LOOK_REPAIR(l, ENCRYPT_NO_CONTEXT))
			l->in.flags &= ~XW_FL_ENCRYPT;
	} else if (!rc && context_policy(value, len, &policy)) {
		return remember(f, l->ino, policy);
	} else if (!rc) {
		l->clear = LOOK_FOUND(l, ENCRYPT_CONTEXT);
	}
	xw_diag_clear(&f->ses.diag);
	return 0;
}
