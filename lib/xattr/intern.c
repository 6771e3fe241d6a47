/* SPDX-License-Identifier: MIT */
/*
 * Sets are found by a hash over their attributes in order and compared by `raw`, the concatenated
 * attributes; EA values likewise. Placed sets and values are allocated in one arena and live as
 * long as the interner, so tree nodes may point to them.
 */
#include "config.h"

#include "base/table.h"
#include "xattr/intern.h"

#include "base/arena.h"
#include "base/endian.h"
#include "base/hash.h"
#include "disk/xattrblk.h"
#include "xattr/layout.h"

#include <stdlib.h>
#include <string.h>

struct slot {
	uint64_t key;
	uint64_t value; /* 0: unused */
};

struct xw_xintern {
	struct xw_xintern_opts o;
	struct xw_arena arena;
	uint64_t lookups;
	uint8_t *ibody, *block; /* scratch */
	XW_VEC(struct xw_xattr_slot) slots;
	XW_VEC(struct xw_ea_value) ea;
	struct xw_table sets; /* values: addresses of struct xw_xplaced */
	struct xw_table values; /* values: ids */
};

static bool slot_used(const void *slot)
{
	return ((const struct slot *)slot)->value;
}

static uint64_t slot_hash(const struct xw_table *t, const void *arg, const void *slot)
{
	(void)t;
	(void)arg;
	return ((const struct slot *)slot)->key;
}

/* Before each attribute in raw: value_len (4 bytes), index, name_len. */
#define RAW_HEAD 6u

int xw_xintern_new(const struct xw_xintern_opts *opts, struct xw_xintern **out)
{
	struct xw_xintern *x = calloc(1, sizeof(*x));

	if (!x)
		return XW_ERR_NOMEM;
	x->o = *opts;
	x->ibody = malloc(opts->ibody + 1u);
	x->block = malloc(opts->block_size);
	if (!x->ibody || !x->block) {
		xw_xintern_free(x);
		return XW_ERR_NOMEM;
	}
	*out = x;
	return 0;
}

void xw_xintern_free(struct xw_xintern *x)
{
	if (!x)
		return;
	xw_arena_free(&x->arena);
	free(x->ibody);
	free(x->block);
	xw_table_free(&x->sets);
	xw_table_free(&x->values);
	xw_vec_free(&x->slots);
	xw_vec_free(&x->ea);
	free(x);
}

static void put_head(uint8_t *p, const struct xw_xattr *x)
{
	memcpy(p, &x->value_len, 4);
	p[4] = x->index;
	p[5] = x->name_len;
}

static uint64_t key_of(const struct xw_table *t, const struct xw_xattr_set *set)
{
	uint64_t key = set->a.n;

	for (size_t i = 0; i < set->a.n; i++) {
		const struct xw_xattr *x = &set->a.v[i];
		uint8_t head[RAW_HEAD];

		put_head(head, x);
		key = xw_hash_secret(&t->key, key, head, sizeof(head));
		key = xw_hash_secret(&t->key, key, x->name, x->name_len);
		key = xw_hash_secret(&t->key, key, x->value, x->value_len);
	}
	return key;
}

static size_t raw_size(const struct xw_xattr_set *set)
{
	size_t n = 0;

	for (size_t i = 0; i < set->a.n; i++)
		n += RAW_HEAD + set->a.v[i].name_len + set->a.v[i].value_len;
	return n;
}

static void put_raw(const struct xw_xattr_set *set, uint8_t *p)
{
	for (size_t i = 0; i < set->a.n; i++) {
		const struct xw_xattr *x = &set->a.v[i];

		put_head(p, x);
		p += RAW_HEAD;
		memcpy(p, x->name, x->name_len);
		p += x->name_len;
		memcpy(p, x->value, x->value_len);
		p += x->value_len;
	}
}

int xw_xintern_unpack(const struct xw_xplaced *placed, struct xw_xattr_set *set,
		      struct xw_diag *diag)
{
	const uint8_t *p = placed->raw, *end = p + placed->raw_len;

	while (p < end) {
		uint32_t value_len = peek32(p);
		uint8_t index = p[4], name_len = p[5];
		const uint8_t *name = p + RAW_HEAD;

		int rc = xw_xattr_set_put_raw(set, index, (const char *)name, name_len,
					      name + name_len, value_len, diag);

		if (rc)
			return rc;
		p = name + name_len + value_len;
	}
	return 0;
}

static struct xw_xplaced *placed_of(const struct slot *slot)
{
	return (struct xw_xplaced *)(uintptr_t)slot->value;
}

struct want {
	uint64_t key;
	const struct xw_xattr_set *set;
	size_t raw_len;
};

static bool same_set(const void *arg, const void *slot, const void *key)
{
	const struct want *w = key;
	const struct xw_xplaced *placed = placed_of(slot);
	const uint8_t *p = placed->raw;

	(void)arg;
	if (((const struct slot *)slot)->key != w->key || placed->raw_len != w->raw_len)
		return false;
	/* Comparing the head first, with both lengths, keeps the comparison within raw_len. */
	for (size_t i = 0; i < w->set->a.n; i++) {
		const struct xw_xattr *x = &w->set->a.v[i];
		uint8_t head[RAW_HEAD];

		put_head(head, x);
		if (memcmp(p, head, RAW_HEAD) || memcmp(p + RAW_HEAD, x->name, x->name_len) ||
		    memcmp(p + RAW_HEAD + x->name_len, x->value, x->value_len))
			return false;
		p += RAW_HEAD + x->name_len + x->value_len;
	}
	return true;
}

static const struct xw_table_kind set_kind = {sizeof(struct slot), slot_used, same_set, slot_hash};

static bool same_value(const void *arg, const void *slot, const void *key)
{
	const struct xw_xattr *a = key;
	const struct xw_ea_value *v =
		xw_xintern_ea(arg, (uint32_t)((const struct slot *)slot)->value);

	return v->len == a->value_len && !memcmp(v->value, a->value, v->len);
}

static const struct xw_table_kind value_kind = {sizeof(struct slot), slot_used, same_value,
						slot_hash};

/* The id of a value, assigning a new one if necessary. */
static int ea_intern(struct xw_xintern *x, const struct xw_xattr *a, uint32_t *id)
{
	uint64_t key;
	struct xw_ea_value v = {.len = a->value_len};
	struct slot *slot;

	if (xw_table_room(&x->values, &value_kind, x))
		return XW_ERR_NOMEM;
	key = xw_table_bytes(&x->values, a->value, a->value_len);
	slot = xw_table_slot(&x->values, &value_kind, x, key, a);
	if (!slot->value) {
		v.value = xw_arena_dup(&x->arena, a->value, a->value_len);
		v.hash = xw_xattr_value_hash(x->o.csum_seed, a->value, a->value_len);
		if (!v.value || xw_vec_push(&x->ea, v))
			return XW_ERR_NOMEM;
		*slot = (struct slot){key, x->ea.n};
		x->values.n++;
	}
	*id = (uint32_t)slot->value;
	return 0;
}

static int place_values(struct xw_xintern *x, const struct xw_xattr_set *set,
			struct xw_xplaced *placed)
{
	for (size_t i = 0; i < set->a.n; i++) {
		struct xw_xattr_slot *slot = &x->slots.v[i];

		if (!slot->ea)
			continue;
		if (ea_intern(x, &set->a.v[i], &slot->value_inum))
			return XW_ERR_NOMEM;
		slot->value_hash = x->ea.v[slot->value_inum - 1].hash;
		placed->n_ea++;
		placed->ea_clusters += (uint32_t)xw_div_up(set->a.v[i].value_len,
							   x->o.cluster_size ? x->o.cluster_size
									     : x->o.block_size);
	}
	return 0;
}

static int encode(struct xw_xintern *x, const struct xw_xattr_set *set, struct xw_xplaced *placed)
{
	uint32_t len = xw_xattr_encode_ibody(set, x->slots.v, x->o.ibody, x->ibody);
	struct xw_xattr_span span;
	uint8_t *bytes;

	if (len) {
		placed->ibody = xw_arena_dup(&x->arena, x->ibody, len);
		placed->ibody_len = (uint16_t)len;
		if (!placed->ibody)
			return XW_ERR_NOMEM;
	}
	if (!xw_xattr_encode_block(set, x->slots.v, x->o.block_size, x->block, &span))
		return 0;
	bytes = xw_arena_alloc(&x->arena, span.head + span.tail, 1);
	if (!bytes)
		return XW_ERR_NOMEM;
	memcpy(bytes, x->block, span.head);
	memcpy(bytes + span.head, x->block + x->o.block_size - span.tail, span.tail);
	placed->block = (struct xw_share_content){
		.bytes = bytes,
		.key = xw_share_key(bytes, span.head + span.tail),
		.head_len = span.head,
		.tail_len = span.tail,
		.stable = true,
		.hint = &placed->last,
	};
	return 0;
}

static int place(struct xw_xintern *x, const struct xw_xattr_set *set, size_t raw_len,
		 struct xw_diag *diag, struct xw_xplaced **out)
{
	struct xw_xplaced *placed;
	uint8_t *raw;
	int rc;

	if (xw_vec_reserve(&x->slots, set->a.n))
		return xw_fail_nomem(diag, "extended attributes");
	rc = xw_xattr_layout(set, x->o.ibody, x->o.block_size, x->o.ea_inode, x->slots.v, diag);
	if (rc)
		return rc;
	placed = XW_ARENA_NEW(&x->arena, struct xw_xplaced);
	raw = xw_arena_alloc(&x->arena, raw_len, 1);
	if (!placed || !raw || place_values(x, set, placed) || encode(x, set, placed))
		return xw_fail_nomem(diag, "extended attributes");
	put_raw(set, raw);
	placed->raw = raw;
	placed->raw_len = (uint32_t)raw_len;
	*out = placed;
	return 0;
}

int xw_xintern_get(struct xw_xintern *x, const struct xw_xattr_set *set, struct xw_diag *diag,
		   const struct xw_xplaced **out)
{
	struct want w = {.set = set};
	struct xw_xplaced *placed = NULL;
	struct slot *slot;
	int rc;

	*out = NULL;
	if (set->a.n == 0)
		return 0;
	for (size_t i = 0; i < set->a.n; i++)
		if (!set->a.v[i].value)
			return xw_fail(
				diag, XW_ERR_STATE,
				"extended attributes: a value was not read from its EA inode");
	if (xw_table_room(&x->sets, &set_kind, NULL))
		return xw_fail_nomem(diag, "extended attributes");
	x->lookups++;
	w.raw_len = raw_size(set);
	w.key = key_of(&x->sets, set);
	slot = xw_table_slot(&x->sets, &set_kind, NULL, w.key, &w);
	if (!slot->value) {
		rc = place(x, set, w.raw_len, diag, &placed);
		if (rc)
			return rc;
		*slot = (struct slot){w.key, (uintptr_t)placed};
		x->sets.n++;
	}
	*out = placed_of(slot);
	return 0;
}

uint32_t xw_xintern_ea_count(const struct xw_xintern *x)
{
	return (uint32_t)x->ea.n;
}

const struct xw_ea_value *xw_xintern_ea(const struct xw_xintern *x, uint32_t id)
{
	return &x->ea.v[id - 1];
}

void xw_xintern_stats(const struct xw_xintern *x, struct xw_xintern_stats *out)
{
	out->lookups = x->lookups;
	out->sets = x->sets.n;
	out->bytes = x->arena.total;
}
