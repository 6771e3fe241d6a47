// SPDX-License-Identifier: MIT
/*
 * One attribute of an inode set or removed: the whole set is read, changed and laid out anew.
 *
 * A block is never changed: what goes into one goes into a new one, and the old one loses a
 * reference, shared or not. Values in inodes of their own keep theirs where they stay as they are;
 * references are taken before old ones are given up, so that none falls to zero in between.
 */
#include "config.h"

#include "update/edit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "disk/xattrblk.h"
#include "read/xattrs.h"
#include "update/update_internal.h"
#include "xattr/ea_inode.h"
#include "xattr/layout.h"

/* Where the value of an attribute was, outside the set. */
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
	xw_blk block; /* new; 0: none */
	uint64_t ea, ea_clusters; /* values in inodes, and what they take */
};

static int fail_ino(struct job *j, int code, const char *why)
{
	return xw_fail(j->u->diag, code, "%s: inode %" PRIu32 ": %s", j->u->img->dev->name, j->ino,
		       why);
}

static int take(struct job *j, const struct xw_xattr_ref *a)
{
	struct held h = {.index = a->index, .name_len = a->name_len, .ino = a->value_ino};

	if (a->value_ino) {
		memcpy(h.name, a->name, a->name_len);
		if (xw_vec_push(&j->held, h))
			return xw_fail_nomem(j->u->diag, "attributes");
	}
	if (xw_xattr_set_find(&j->set, a->index, a->name, a->name_len))
		return 0; /* the record's counts, not the block's */
	return xw_xattr_set_put_raw(&j->set, a->index, a->name, a->name_len, a->value, a->value_len,
				    j->u->diag);
}

static int read_set(struct job *j)
{
	struct xw_xattr_iter it;
	struct xw_xattr_ref a;
	int more, ret = xw_xattr_begin(j->u->img, j->ino, &j->in, j->raw, &it);

	while (!ret && (more = xw_xattr_next(&it, &a)) != 0)
		ret = more < 0 ? more : take(j, &a);
	xw_xattr_end(&it);
	return ret;
}

/* The change itself. */
static int change(struct job *j, const struct xw_update_xattr *x)
{
	const size_t len = strlen(x->name);
	uint8_t index;
	size_t rest;
	int ret = xw_xattr_split_name(x->name, len, &index, &rest);

	if (ret)
		return xw_fail(j->u->diag, ret, "'%s' is no name for an attribute", x->name);
	if (index == XW_XI_SYSTEM && !strcmp(x->name + rest, "data"))
		return fail_ino(j, XW_ERR_INPUT, "system.data is its contents, not an attribute");
	if (!x->value)
		return xw_xattr_set_remove(&j->set, index, x->name + rest, len - rest)
			       ? 0
			       : XW_ERR_NOTFOUND;
	ret = x->raw ? xw_xattr_set_put_raw(&j->set, index, x->name + rest, len - rest, x->value,
					    x->len, j->u->diag)
		     : xw_xattr_set_put(&j->set, x->name, len, x->value, x->len, j->u->diag);
	return ret ? xw_fail(j->u->diag, ret, "attribute '%s': %s", x->name, xw_err_text(ret)) : 0;
}

/* ---- placing ---- */

/*
 * Contents that are in the inode stay there, and the others are placed around them: laid out
 * without them in what room they leave.
 */
static int layout_around(struct job *j, size_t data)
{
	const struct xw_xattr d = j->set.a.v[data];
	const uint32_t takes = (uint32_t)xw_xattr_entry_len(d.name_len) + ((d.value_len + 3) & ~3u);
	struct xw_xattr_set rest = {0};
	int ret = 0;

	if (takes > j->room)
		return fail_ino(j, XW_ERR_CORRUPT, "its inline data is larger than it");
	for (size_t i = 0; i < j->set.a.n && !ret; i++) {
		const struct xw_xattr *a = &j->set.a.v[i];

		if (i != data)
			ret = xw_xattr_set_put_raw(&rest, a->index, a->name, a->name_len, a->value,
						   a->value_len, j->u->diag);
	}
	if (!ret)
		ret = xw_xattr_layout(&rest, j->room - takes, j->u->img->block_size,
				      j->u->img->sb.feature_incompat & XW_INCOMPAT_EA_INODE,
				      j->slots, j->u->diag);
	if (!ret) {
		memmove(j->slots + data + 1, j->slots + data,
			(rest.a.n - data) * sizeof(*j->slots));
		j->slots[data] = (struct xw_xattr_slot){0};
	}
	xw_xattr_set_free(&rest);
	return ret;
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

/* An EA inode; its owners are charged for it, it is not. */
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
	int ret = xw_update_create(j->u, &new, ino);

	if (!ret)
		ret = xw_update_get(j->u, *ino, &in, &raw);
	if (!ret)
		ret = xw_update_charge(j->u, &in, -1, -(int64_t)xw_update_bytes(j->u, &in));
	if (ret)
		return ret;
	xw_ea_inode_set(&in, hash, 1);
	return xw_update_put(j->u, *ino, &in, steal(raw));
}

static int one_more_ref(struct job *j, xw_ino ino)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int ret = xw_update_get(j->u, ino, &in, &raw);

	if (ret)
		return ret;
	xw_inode_set_ea_refs(&in, xw_inode_ea_refs(&in) + 1);
	return xw_update_put(j->u, ino, &in, steal(raw));
}

/* The inode that has this value already, of those the old set named. */
static int find_held(struct job *j, const struct xw_xattr *a, uint32_t hash, xw_ino *ino)
{
	*ino = 0;
	for (size_t i = 0; i < j->held.n && !*ino; i++) {
		const struct held *h = &j->held.v[i];
		struct xw_inode in;
		int ret;

		if (h->index != a->index || h->name_len != a->name_len ||
		    memcmp(h->name, a->name, a->name_len))
			continue;
		ret = xw_image_inode(j->u->img, h->ino, &in, NULL);
		if (ret)
			return ret;
		if (in.size == a->value_len && xw_inode_ea_hash(&in) == hash)
			*ino = h->ino;
	}
	return 0;
}

static int place_values(struct job *j)
{
	int ret = 0;

	for (size_t i = 0; i < j->set.a.n && !ret; i++) {
		const struct xw_xattr *a = &j->set.a.v[i];
		struct xw_xattr_slot *s = &j->slots[i];

		if (!s->ea)
			continue;
		s->value_hash = xw_xattr_value_hash(j->u->img->csum_seed, a->value, a->value_len);
		ret = find_held(j, a, s->value_hash, &s->value_inum);
		if (!ret && s->value_inum)
			ret = one_more_ref(j, s->value_inum);
		else if (!ret)
			ret = new_value(j, a, s->value_hash, &s->value_inum);
		j->ea++;
		j->ea_clusters += xw_div_up(a->value_len, (uint64_t)j->u->img->block_size
								  << j->u->place.enc.cluster_bits);
	}
	return ret;
}

/* ---- writing ---- */

static int write_block(struct job *j)
{
	const uint32_t bs = j->u->img->block_size;
	const uint64_t group = (j->ino - 1) / j->u->img->sb.inodes_per_group;
	const struct xw_alloc_req req = {.goal = j->u->img->sb.first_data_block +
						 group * j->u->img->sb.blocks_per_group,
					 .len = 1};
	auto_free uint8_t *buf = calloc(1, bs);
	struct xw_xattr_span span;
	struct xw_run run;
	int ret;

	if (!buf)
		return xw_fail_nomem(j->u->diag, "attribute block");
	if (!xw_xattr_encode_block(&j->set, j->slots, bs, buf, &span))
		return 0;
	ret = xw_space_alloc(j->u->space, &req, &run);
	if (ret)
		return fail_ino(j, ret, "no block is left for its attributes");
	if (xw_super_has_csum(&j->u->img->sb))
		xw_xattr_block_set_csum(buf, bs, j->u->img->csum_seed, run.start);
	j->block = run.start;
	return xw_dev_pwrite(j->u->img->dev, buf, bs, run.start * bs);
}

static int set_blocks(struct job *j, uint64_t contents)
{
	const uint64_t held = (j->block != 0) + j->ea_clusters;

	j->in.flags &= ~XW_FL_HUGE_FILE;
	if (!xw_inode_set_blocks(&j->in, &j->u->img->sb,
				 contents + (held << j->u->place.enc.cluster_bits)))
		return 0;
	return fail_ino(j, XW_ERR_LIMIT, "more blocks than the features allow a file");
}

static int put_set(struct job *j)
{
	const uint64_t before = xw_update_bytes(j->u, &j->in);
	uint64_t other, old_ea;
	int ret = xw_update_other_blocks(j->u, j->ino, &j->in, &other);

	if (!ret)
		ret = place_values(j);
	if (!ret)
		ret = write_block(j);
	if (!ret)
		ret = xw_update_free_xattrs(j->u, j->ino, &j->in, j->raw, &old_ea);
	if (ret)
		return ret;
	if (j->room) {
		memset(j->raw + j->off, 0, j->room);
		xw_xattr_encode_ibody(&j->set, j->slots, j->room, j->raw + j->off);
	}
	j->in.file_acl = j->block;
	ret = set_blocks(j, before / j->u->img->block_size - other);
	if (!ret)
		ret = xw_update_charge(j->u, &j->in, (int64_t)j->ea - (int64_t)old_ea,
				       (int64_t)(xw_update_bytes(j->u, &j->in) - before));
	return ret ? ret : xw_update_put(j->u, j->ino, &j->in, steal(j->raw));
}

int xw_update_set_xattr(struct xw_update *u, xw_ino ino, const struct xw_update_xattr *x)
{
	struct job j = {.u = u, .ino = ino};
	int ret = xw_update_get(u, ino, &j.in, &j.raw);

	xw_image_forget(u->img);
	if (!ret) {
		j.off = xw_inode_xattr_off(&j.in, &u->img->sb);
		j.room = j.off ? u->img->inode_size - j.off : 0;
		ret = read_set(&j);
	}
	if (!ret)
		ret = change(&j, x);
	if (!ret)
		ret = layout(&j);
	if (!ret)
		ret = put_set(&j);
	free(j.slots);
	xw_vec_free(&j.held);
	xw_xattr_set_free(&j.set);
	free(j.raw);
	return ret;
}
