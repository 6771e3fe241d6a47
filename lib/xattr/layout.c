/* SPDX-License-Identifier: MIT */
/*
 * Placement of attributes in the inode or in the block.
 *
 * Space in the inode is private to a file; a block is shared by all files with the same block
 * contents. So the block should hold the attributes that many files have in common: a single value
 * that is specific to a file prevents sharing. The rules, in order:
 *
 *  1. If everything fits in the inode, no block is used.
 *  2. Else the inode is filled with the attributes that are most likely specific to the file: by
 *     class (classes[] below: integrity signatures, user.*, ..., labels and ACLs last), within a
 *     class longer values first (more bytes, more ways to differ), then in set order; each
 *     attribute that still fits is placed in the inode. With 96 bytes in a 256-byte inode, a
 *     comment is placed in the inode and the SELinux label (50 different ones) in the block; if the
 *     ACL (20 different ones) is too large for the inode, the label is in the inode: 20 blocks, not
 *     1,000.
 *  3. If the rest does not fit in a block: the subset that fills the inode best (exact, by dynamic
 *     programming).
 *  4. If that does not fit either, with ea_inode: the minimum number of values, longest first, are
 *     stored in EA inodes, and rules 1-3 place the rest. Linux keeps some space of the block in
 *     reserve and uses EA inodes earlier; it reads both.
 *
 * Sizes are counted in units of 4 bytes, the alignment of entries and values. Both areas end
 * their entries with a zero word.
 */
#include "config.h"

#include "xattr/layout.h"

#include "base/auto.h"
#include "disk/xattrblk.h"

#include <stdlib.h>
#include <string.h>

#define UNIT 4u
#define TERMINATOR 4u

/* The properties of an attribute that determine its placement. */
struct item {
	uint32_t i; /* index in the set */
	uint32_t entry; /* size of the entry in units */
	uint32_t value; /* size of the value in units, 0 if it is in an EA inode */
	uint32_t value_len; /* in bytes, as in the set */
	uint8_t class; /* lower: more likely specific to a file */
};

struct job {
	const struct xw_xattr_set *s;
	struct xw_xattr_slot *slots;
	struct item *items; /* in the order of rule 2 */
	uint32_t *by_length; /* into items: longest value first, for rule 4 */
	uint64_t inode, block; /* units for entries and values */
	uint64_t missing; /* units that did not fit in the last attempt */
};

/* Classes by name index, with exceptions by name; see rule 2. */
static const struct {
	uint8_t index, class;
	const char *name; /* NULL: all others */
} classes[] = {
	{XW_XI_SECURITY, 0, "ima"}, {XW_XI_SECURITY, 0, "evm"},        {XW_XI_USER, 1, NULL},
	{XW_XI_TRUSTED, 2, NULL},   {XW_XI_SECURITY, 3, "capability"}, {XW_XI_SECURITY, 4, NULL},
};
#define CLASS_REST 5

static uint8_t class_of(const struct xw_xattr *x)
{
	for (size_t i = 0; i < XW_ARRAY_SIZE(classes); i++) {
		const char *name = classes[i].name;

		if (x->index == classes[i].index &&
		    (!name || (x->name_len == strlen(name) && !memcmp(x->name, name, x->name_len))))
			return classes[i].class;
	}
	return CLASS_REST;
}

static int by_privacy(const void *pa, const void *pb)
{
	const struct item *a = pa, *b = pb;

	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	if (a->value_len != b->value_len)
		return a->value_len > b->value_len ? -1 : 1;
	return a->i < b->i ? -1 : a->i > b->i;
}

struct length_rank {
	uint32_t len, item;
};

static int by_length(const void *pa, const void *pb)
{
	const struct length_rank *a = pa, *b = pb;

	if (a->len != b->len)
		return a->len > b->len ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

static uint32_t units(const struct item *it)
{
	return it->entry + it->value;
}

static uint64_t total_units(const struct job *j)
{
	uint64_t sum = 0;

	for (size_t k = 0; k < j->s->a.n; k++)
		sum += units(&j->items[k]);
	return sum;
}

static bool fits_block(struct job *j, uint64_t outside)
{
	j->missing = outside > j->block ? outside - j->block : 0;
	return !j->missing;
}

/* Rules 1 and 2. */
static bool place_greedy(struct job *j)
{
	uint64_t room = j->inode, outside = 0;

	for (size_t k = 0; k < j->s->a.n; k++) {
		const struct item *it = &j->items[k];
		bool in = units(it) <= room;

		j->slots[it->i].in_block = !in;
		if (in)
			room -= units(it);
		else
			outside += units(it);
	}
	return fits_block(j, outside);
}

/*
 * Rule 3: the subset with the largest sum that fits in the inode. last[u] is 1 + the first item
 * with which the sum u can be reached, or 0. The subset follows by going back from the best sum,
 * since the remainder is reached by earlier items.
 */
static int place_exact(struct job *j, bool *fits)
{
	size_t n = j->s->a.n;
	uint64_t best = j->inode, outside;
	auto_free uint32_t *last = calloc(j->inode + 1, sizeof(*last));

	if (!last)
		return XW_ERR_NOMEM;
	last[0] = UINT32_MAX;
	for (size_t k = 0; k < n; k++)
		for (uint64_t u = j->inode, w = units(&j->items[k]); u >= w; u--)
			if (!last[u] && last[u - w])
				last[u] = (uint32_t)k + 1;
	while (!last[best])
		best--;
	outside = total_units(j) - best;
	for (size_t k = 0; k < n; k++)
		j->slots[j->items[k].i].in_block = true;
	while (best) {
		const struct item *it = &j->items[last[best] - 1];

		j->slots[it->i].in_block = false;
		best -= units(it);
	}
	*fits = fits_block(j, outside);
	return 0;
}

/* Place with the longest `ea` values in EA inodes. */
static int place(struct job *j, size_t ea, bool *fits)
{
	size_t n = j->s->a.n;

	for (size_t k = 0; k < n; k++) {
		struct item *it = &j->items[j->by_length[k]];

		j->slots[it->i].ea = k < ea;
		it->value = k < ea ? 0 : (uint32_t)xw_div_up(it->value_len, UNIT);
	}
	*fits = place_greedy(j);
	return *fits ? 0 : place_exact(j, fits);
}

/*
 * Rule 4: if a set fits with k values outside it also fits with k + 1, so the minimum is found by
 * bisection.
 */
static int place_ea(struct job *j, size_t max, bool *fits)
{
	size_t lo = 0, hi = max;
	int rc = place(j, max, fits);

	while (!rc && *fits && hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		rc = place(j, mid, fits);
		if (*fits)
			hi = mid;
		else
			lo = mid;
		*fits = true;
	}
	return rc || !*fits ? rc : place(j, hi, fits);
}

static int prepare(struct job *j)
{
	size_t n = j->s->a.n;
	auto_free struct length_rank *rank = calloc(n, sizeof(*rank));

	if (!rank)
		return XW_ERR_NOMEM;
	for (size_t k = 0; k < n; k++) {
		const struct xw_xattr *x = &j->s->a.v[k];

		j->slots[k] = (struct xw_xattr_slot){0};
		j->items[k] = (struct item){
			.i = (uint32_t)k,
			.entry = (uint32_t)xw_xattr_entry_len(x->name_len) / UNIT,
			.value_len = x->value_len,
			.class = class_of(x),
		};
	}
	qsort(j->items, n, sizeof(*j->items), by_privacy);
	for (size_t k = 0; k < n; k++)
		rank[k] = (struct length_rank){j->items[k].value_len, (uint32_t)k};
	qsort(rank, n, sizeof(*rank), by_length);
	for (size_t k = 0; k < n; k++)
		j->by_length[k] = rank[k].item;
	return 0;
}

static int too_large(const struct job *j, bool ea_inode, struct xw_diag *diag)
{
	const struct item *it = &j->items[j->by_length[0]];
	const struct xw_xattr *x = &j->s->a.v[it->i];
	char name[XW_XATTR_FULL_NAME_MAX] = "";

	xw_xattr_full_name(x->index, x->name, x->name_len, name);
	return xw_fail(diag, XW_ERR_LIMIT,
		       "extended attributes exceed inode and block by %llu bytes (the largest of "
		       "%zu is %.80s, %u bytes)%s",
		       (unsigned long long)(j->missing * UNIT), j->s->a.n, name, it->value_len,
		       ea_inode ? "" : "; the feature ea_inode allows more");
}

int xw_xattr_layout(const struct xw_xattr_set *s, uint32_t ibody, uint32_t block_size,
		    bool ea_inode, struct xw_xattr_slot *slots, struct xw_diag *diag)
{
	size_t n = s->a.n, values = 0;
	auto_free struct item *items = NULL;
	auto_free uint32_t *order = NULL;
	struct job j = {.s = s, .slots = slots};
	bool fits = false;
	int rc;

	if (n == 0)
		return 0;
	items = calloc(n, sizeof(*items));
	order = calloc(n, sizeof(*order));
	if (!items || !order)
		return xw_fail_nomem(diag, "extended attributes");
	j.items = items;
	j.by_length = order;
	if (ibody > XW_XATTR_IHDR + TERMINATOR)
		j.inode = (ibody - XW_XATTR_IHDR - TERMINATOR) / UNIT;
	if (block_size > XW_XATTR_BHDR + TERMINATOR)
		j.block = (block_size - XW_XATTR_BHDR - TERMINATOR) / UNIT;
	for (size_t i = 0; i < n; i++) {
		if (!s->a.v[i].value)
			return xw_fail(
				diag, XW_ERR_STATE,
				"extended attributes: a value was not read from its EA inode");
		values += s->a.v[i].value_len > 0;
	}
	rc = prepare(&j);
	if (!rc)
		rc = place(&j, 0, &fits);
	if (!rc && !fits && ea_inode)
		rc = place_ea(&j, values, &fits);
	if (rc)
		return xw_fail_nomem(diag, "extended attributes");
	return fits ? 0 : too_large(&j, ea_inode, diag);
}
