/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "xattr/access.h"

#include "base/endian.h"

#define CAPS_V3 0x03000000u
#define CAPS_VERSION 0xff000000u
#define CAPS_V3_SIZE 24u

static struct xw_acl_entry *find(const struct xw_acl *acl, unsigned tag)
{
	for (size_t i = 0; i < acl->e.n; i++)
		if (acl->e.v[i].tag == tag)
			return &acl->e.v[i];
	return NULL;
}

/* The entry that the group bits of a mode stand for. */
static struct xw_acl_entry *group_class(const struct xw_acl *acl)
{
	struct xw_acl_entry *mask = find(acl, XW_ACL_MASK);

	return mask ? mask : find(acl, XW_ACL_GROUP_OBJ);
}

static uint32_t perm_of(const struct xw_acl_entry *e)
{
	return e ? e->perm : 0;
}

uint32_t xw_acl_mode(const struct xw_acl *acl)
{
	return perm_of(find(acl, XW_ACL_USER_OBJ)) << 6 | perm_of(group_class(acl)) << 3 |
	       perm_of(find(acl, XW_ACL_OTHER));
}

static bool set_perm(struct xw_acl_entry *e, uint32_t perm)
{
	const bool changes = e && e->perm != (perm & 7);

	if (changes)
		e->perm = perm & 7;
	return changes;
}

bool xw_acl_chmod(struct xw_acl *acl, uint32_t mode)
{
	bool changed = set_perm(find(acl, XW_ACL_USER_OBJ), mode >> 6);

	changed |= set_perm(group_class(acl), mode >> 3);
	changed |= set_perm(find(acl, XW_ACL_OTHER), mode);
	return changed;
}

/* Change one id. Returns whether the entry had to be restricted. */
static bool map_entry(const struct xw_acl *acl, const struct xw_acl_ids *ids,
		      struct xw_acl_entry *e)
{
	const bool group = e->tag == XW_ACL_GROUP;
	const bool was_owner = e->id == (group ? ids->gid : ids->uid);
	const uint32_t perm = e->perm;

	e->id = ids->map(ids->arg, group, e->id);
	if (was_owner || e->id != (group ? ids->new_gid : ids->new_uid))
		return false;
	e->perm &= perm_of(find(acl, group ? XW_ACL_GROUP_OBJ : XW_ACL_USER_OBJ));
	return e->perm != perm;
}

/* Merge neighbors of the same tag and id. */
static bool merge_entries(struct xw_acl *acl)
{
	size_t n = 0;

	for (size_t i = 0; i < acl->e.n; i++) {
		const struct xw_acl_entry *e = &acl->e.v[i];

		if (n && acl->e.v[n - 1].tag == e->tag && acl->e.v[n - 1].id == e->id)
			acl->e.v[n - 1].perm &= e->perm;
		else
			acl->e.v[n++] = *e;
	}
	if (n == acl->e.n)
		return false;
	acl->e.n = n;
	return true;
}

int xw_acl_map(struct xw_acl *acl, const struct xw_acl_ids *ids, bool *merged, const char *what,
	       struct xw_diag *diag)
{
	int rc;

	*merged = false;
	for (size_t i = 0; i < acl->e.n; i++) {
		struct xw_acl_entry *e = &acl->e.v[i];

		if (e->tag == XW_ACL_USER || e->tag == XW_ACL_GROUP)
			*merged |= map_entry(acl, ids, e);
	}
	rc = acl->e.n ? xw_acl_finish(acl, XW_ERR_INPUT, what, diag) : 0;
	*merged |= merge_entries(acl);
	return rc;
}

bool xw_caps_rootid(const void *value, size_t len, uint32_t *rootid)
{
	if (len != CAPS_V3_SIZE || (peek32(value) & CAPS_VERSION) != CAPS_V3)
		return false;
	*rootid = peek32((const uint8_t *)value + XW_CAPS_ROOTID);
	return true;
}
