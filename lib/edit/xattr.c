// SPDX-License-Identifier: MIT
/*
 * Sets or removes one attribute of an inode: the whole set is read, changed and encoded again.
 *
 * A block is never modified: an existing block with equal entries gets a reference, or a new block
 * is written, and the old block loses a reference, shared or not. Unchanged values in EA inodes
 * keep their inode. References are taken before old ones are dropped, so that no count reaches zero
 * in between.
 */
#include "config.h"

#include "edit/edit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/xattrblk.h"
#include "read/file.h"
#include "read/xattrs.h"
#include "edit/edit_internal.h"
#include "update/xattrs.h"
#include "xattr/ea_inode.h"
#include "xattr/layout.h"

/* An attribute of the old set whose value is in an EA inode. */
struct held {
	uint8_t index, name_len;
	char name[XW_XATTR_NAME_MAX];
	xw_ino ino;
};

struct job {
	struct xw_update *u;
	xw_ino ino;
	struct xw_inode in;
	uint8_t *raw;
	uint32_t off, room; /* of the area in the record */
	struct xw_xattr_set set;
	XW_VEC(struct held) held;
	struct xw_xattr_slot *slots;
	xw_blk block; /* new xattr block; 0: none */
	uint64_t ea, ea_clusters; /* number of values in EA inodes, and their clusters */
};

static void free_job(struct job *j)
{
	free(j->slots);
	xw_vec_free(&j->held);
	xw_xattr_set_free(&j->set);
	free(j->raw);
}

static int add_attribute(struct job *j, const struct xw_xattr_ref *a)
{
	struct held h = {.index = a->index, .name_len = a->name_len, .ino = a->value_ino};

	if (a->value_ino) {
		memcpy(h.name, a->name, a->name_len);
		if (xw_vec_push(&j->held, h))
			return xw_fail_nomem(j->u->diag, "attributes");
	}
	if (xw_xattr_set_find(&j->set, a->index, a->name, a->name_len))
		return 0; /* an attribute in the record takes precedence over one in the block */
	return xw_xattr_set_put_raw(&j->set, a->index, a->name, a->name_len, a->value, a->value_len,
				    j->u->diag);
}

static int read_set(struct job *j)
{
	auto_end(xw_xattr_end) struct xw_xattr_iter it;
	struct xw_xattr_ref a;
	int rc = xw_xattr_begin(j->u->img, j->ino, &j->in, j->raw, &it);

	while (!rc && (rc = xw_xattr_next(&it, &a)) == 1)
		rc = add_attribute(j, &a);
	return rc;
}

/* Apply the change. */
static int change(struct job *j, const struct xw_update_xattr *x)
{
	const size_t len = strlen(x->name);
	uint8_t index;
	size_t rest;
	int rc = xw_xattr_split_name(x->name, len, &index, &rest);

	if (rc)
		return xw_fail(j->u->diag, rc, "'%s' is not a valid attribute name", x->name);
	if (index == XW_XI_SYSTEM && !strcmp(x->name + rest, "data"))
		return xw_update_fail(j->u, j->ino, XW_ERR_INPUT,
				      "system.data is its contents, not an attribute");
	if (!x->value)
		return xw_xattr_set_remove(&j->set, index, x->name + rest, len - rest)
			       ? 0
			       : XW_ERR_NOTFOUND;
	rc = x->raw ? xw_xattr_set_put_raw(&j->set, index, x->name + rest, len - rest, x->value,
					   x->len, j->u->diag)
		    : xw_xattr_set_put(&j->set, x->name, len, x->value, x->len, j->u->diag);
	return rc ? xw_fail(j->u->diag, rc, "attribute '%s': %s", x->name, xw_err_text(rc)) : 0;
}

/* ---- placement ---- */

/* Inline contents stay in the inode, and the other attributes use the remaining space. */
static int layout_around(struct job *j, size_t data)
{
	const struct xw_xattr d = j->set.a.v[data];
	const uint32_t takes = (uint32_t)xw_xattr_entry_len(d.name_len) + ((d.value_len + 3) & ~3u);
	auto_end(xw_xattr_set_free) struct xw_xattr_set rest = {0};
	int rc = 0;

	if (takes > j->room)
		return xw_update_fail(j->u, j->ino, XW_ERR_CORRUPT,
				      "its inline data is larger than its space");
	for (size_t i = 0; i < j->set.a.n && !rc; i++) {
		const struct xw_xattr *a = &j->set.a.v[i];

		if (i != data)
			rc = xw_xattr_set_put_raw(&rest, a->index, a->name, a->name_len, a->value,
						  a->value_len, j->u->diag);
	}
	if (!rc)
		rc = xw_xattr_layout(&rest, j->room - takes, j->u->img->block_size,
				     j->u->img->sb.feature_incompat & XW_INCOMPAT_EA_INODE,
				     j->slots, j->u->diag);
	if (rc)
		return rc;
	memmove(j->slots + data + 1, j->slots + data, (rest.a.n - data) * sizeof(*j->slots));
	j->slots[data] = (struct xw_xattr_slot){0};
	return 0;
}

static int layout(struct job *j)
{
	j->slots = calloc(j->set.a.n + 1, sizeof(*j->slots));
	if (!j->slots)
		return xw_fail_nomem(j->u->diag, "attributes");
	for (size_t i = 0; i < j->set.a.n; i++)
		if (j->set.a.v[i].index == XW_XI_SYSTEM && j->set.a.v[i].name_len == 4 &&
		    !memcmp(j->set.a.v[i].name, "data", 4))
			return layout_around(j, i);
	return xw_xattr_layout(&j->set, j->room, j->u->img->block_size,
			       j->u->img->sb.feature_incompat & XW_INCOMPAT_EA_INODE, j->slots,
			       j->u->diag);
}

/* ---- values in inodes ---- */

struct memory {
	const uint8_t *p;
	size_t len;
};

static int read_memory(void *arg, void *buf, size_t len, size_t *got)
{
	struct memory *m = arg;

	*got = XW_MIN(len, m->len);
	memcpy(buf, m->p, *got);
	m->p += *got;
	m->len -= *got;
	return 0;
}

/* Create an EA inode. The owners of the value are charged for it; the EA inode itself is not. */
static int new_value(struct job *j, const struct xw_xattr *a, uint32_t hash, xw_ino *ino)
{
	struct memory m = {a->value, a->value_len};
	const struct xw_update_new new = {
		.mode = XW_EA_MODE,
		.uid = j->in.uid,
		.gid = j->in.gid,
		.read = read_memory,
		.arg = &m,
		.whole = true,
		.parent = j->ino,
	};
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc = xw_update_create(j->u, &new, ino);

	if (!rc)
		rc = xw_update_get(j->u, *ino, &in, &raw);
	if (!rc)
		rc = xw_update_charge(j->u, &in, -1, -(int64_t)xw_update_bytes(j->u, &in));
	if (rc)
		return rc;
	xw_ea_inode_set(&in, hash, 1);
	return xw_update_put(j->u, *ino, &in, steal(raw));
}

static int one_more_ref(struct job *j, xw_ino ino)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc = xw_update_get(j->u, ino, &in, &raw);

	if (rc)
		return rc;
	xw_inode_set_ea_refs(&in, xw_inode_ea_refs(&in) + 1);
	return xw_update_put(j->u, ino, &in, steal(raw));
}

/*
 * Does EA inode `ino` hold the value? Stored hash and size only decide whether it is read: two
 * values can be crafted to have one hash, and the image may store any.
 */
static int holds(struct job *j, xw_ino ino, const struct xw_xattr *a, uint32_t hash, bool *same)
{
	auto_free uint8_t *value = NULL;
	struct xw_inode in;
	int rc = xw_image_inode(j->u->img, ino, &in, NULL);

	*same = !rc && in.size == a->value_len && xw_inode_ea_hash(&in) == hash;
	if (!*same)
		return rc;
	value = malloc(XW_MAX(a->value_len, 1u));
	if (!value)
		return xw_fail_nomem(j->u->diag, "attributes");
	rc = xw_mapped_pread(j->u->img, ino, &in, 0, value, a->value_len);
	*same = !rc && !memcmp(value, a->value, a->value_len);
	return rc;
}

/* Find an EA inode with this value, among those of the old set. */
static int find_held(struct job *j, const struct xw_xattr *a, uint32_t hash, xw_ino *ino)
{
	*ino = 0;
	for (size_t i = 0; i < j->held.n; i++) {
		const struct held *h = &j->held.v[i];
		bool same;
		int rc;

		if (h->index != a->index || h->name_len != a->name_len ||
		    memcmp(h->name, a->name, a->name_len))
			continue;
		rc = holds(j, h->ino, a, hash, &same);
		if (rc)
			return rc;
		if (same) {
			*ino = h->ino;
			break;
		}
	}
	return 0;
}

static int place_values(struct job *j)
{
	int rc = 0;

	for (size_t i = 0; i < j->set.a.n && !rc; i++) {
		const struct xw_xattr *a = &j->set.a.v[i];
		struct xw_xattr_slot *s = &j->slots[i];

		if (!s->ea)
			continue;
		s->value_hash = xw_xattr_value_hash(j->u->img->csum_seed, a->value, a->value_len);
		rc = find_held(j, a, s->value_hash, &s->value_inum);
		if (!rc && s->value_inum)
			rc = one_more_ref(j, s->value_inum);
		else if (!rc)
			rc = new_value(j, a, s->value_hash, &s->value_inum);
		j->ea++;
		j->ea_clusters += xw_div_up(a->value_len, (uint64_t)j->u->img->block_size
								  << j->u->place.enc.cluster_bits);
	}
	return rc;
}

/* ---- writing ---- */

/* Blocks with values in EA inodes are never shared. */
static bool may_share(const struct job *j)
{
	for (size_t i = 0; i < j->set.a.n; i++)
		if (j->slots[i].ea && j->slots[i].in_block)
			return false;
	return true;
}

static int write_block(struct job *j)
{
	const uint32_t bs = j->u->img->block_size;
	const uint64_t group = (j->ino - 1) / j->u->img->sb.inodes_per_group;
	const bool share = may_share(j);
	const struct xw_alloc_req req = {.goal = j->u->img->sb.first_data_block +
						 group * j->u->img->sb.blocks_per_group,
					 .len = 1};
	auto_free uint8_t *buf = calloc(1, bs);
	struct xw_xattr_span span;
	struct xw_run run;
	int rc;

	if (!buf)
		return xw_fail_nomem(j->u->diag, "attribute block");
	if (!xw_xattr_encode_block(&j->set, j->slots, bs, buf, &span))
		return 0;
	if (share) {
		rc = xw_update_share_xattr(j->u, buf, &j->block);
		if (rc || j->block)
			return rc;
	}
	rc = xw_space_alloc(j->u->space, &req, &run);
	if (rc)
		return xw_update_fail(j->u, j->ino, rc, "no free block for its attributes");
	j->block = run.start;
	rc = xw_update_write_xattrs(j->u, run.start, buf, 1);
	return rc || !share ? rc : xw_update_share_add(j->u, buf, run.start);
}

static int set_blocks(struct job *j, uint64_t contents)
{
	const uint64_t held = (j->block != 0) + j->ea_clusters;

	j->in.flags &= ~XW_FL_HUGE_FILE;
	if (!xw_inode_set_blocks(&j->in, &j->u->img->sb,
				 contents + (held << j->u->place.enc.cluster_bits)))
		return 0;
	return xw_update_fail(j->u, j->ino, XW_ERR_LIMIT,
			      "more blocks than a file may have with these features");
}

static int put_set(struct job *j)
{
	const uint64_t before = xw_update_bytes(j->u, &j->in);
	uint64_t other, old_ea;
	int rc = xw_update_other_blocks(j->u, j->ino, &j->in, &other);

	if (!rc)
		rc = place_values(j);
	if (!rc)
		rc = write_block(j);
	if (!rc)
		rc = xw_update_free_xattrs(j->u, j->ino, &j->in, j->raw, &old_ea);
	if (rc)
		return rc;
	if (j->room) {
		memset(j->raw + j->off, 0, j->room);
		xw_xattr_encode_ibody(&j->set, j->slots, j->room, j->raw + j->off);
	}
	j->in.file_acl = j->block;
	rc = set_blocks(j, before / j->u->img->block_size - other);
	if (!rc)
		rc = xw_update_charge(j->u, &j->in, (int64_t)j->ea - (int64_t)old_ea,
				      (int64_t)(xw_update_bytes(j->u, &j->in) - before));
	return rc ? rc : xw_update_put(j->u, j->ino, &j->in, steal(j->raw));
}

int xw_update_set_xattr(struct xw_update *u, xw_ino ino, const struct xw_update_xattr *x)
{
	auto_end(free_job) struct job j = {.u = u, .ino = ino};
	int rc = xw_update_get(u, ino, &j.in, &j.raw);

	xw_image_drop_cache(u->img);
	if (rc)
		return rc;
	j.off = xw_inode_xattr_off(&j.in, &u->img->sb);
	j.room = j.off ? u->img->inode_size - j.off : 0;
	rc = read_set(&j);
	if (!rc)
		rc = change(&j, x);
	if (!rc)
		rc = layout(&j);
	return rc ? rc : put_set(&j);
}
