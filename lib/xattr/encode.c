/* SPDX-License-Identifier: MIT */
/*
 * Encoding of a placed set into xattr areas, and decoding of areas into a set.
 *
 * Entries are stored in set order from the front, values in the same order from the end downwards,
 * each padded to 4 bytes with zeros; an empty value has offset 0. As in Linux, e_hash is 0 for
 * values in the inode. Linux requires the order only in blocks.
 */
#include "config.h"

#include "disk/xattrblk.h"
#include "xattr/layout.h"

#include <assert.h>
#include <string.h>

static_assert(XW_XATTR_IHDR == 4 && XW_XATTR_BHDR == 32, "XW_XATTR_*_OFFS use these values");

static void put_magic(uint8_t *p)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(XW_XATTR_MAGIC >> (8 * i));
}

struct writer {
	uint8_t *area;
	size_t base; /* base of value_offs */
	size_t front, end;
};

/* Append an entry with this e_hash, and its value unless that is in an EA inode. */
static void write_entry(struct writer *w, const struct xw_xattr *x,
			const struct xw_xattr_slot *slot, uint32_t hash)
{
	struct xw_xattr_entry e = {
		.name_len = x->name_len,
		.name_index = x->index,
		.value_size = x->value_len,
		.hash = hash,
		.name = x->name,
	};

	if (slot->ea) {
		e.value_inum = slot->value_inum;
	} else if (x->value_len) {
		w->end -= xw_round_up(x->value_len, 4);
		memcpy(w->area + w->end, x->value, x->value_len);
		e.value_offs = (uint16_t)(w->end - w->base);
	}
	xw_xattr_entry_encode(w->area, w->front, &e);
	w->front += xw_xattr_entry_len(x->name_len);
}

uint32_t xw_xattr_encode_ibody(const struct xw_xattr_set *s, const struct xw_xattr_slot *slots,
			       uint32_t ibody, uint8_t *out)
{
	struct writer w = {out, XW_XATTR_IHDR, XW_XATTR_IHDR, ibody & ~3u};

	memset(out, 0, ibody);
	for (size_t i = 0; i < s->a.n; i++) {
		const struct xw_xattr *x = &s->a.v[i];

		if (slots[i].in_block)
			continue;
		write_entry(&w, x, &slots[i],
			    slots[i].ea ? xw_xattr_entry_hash_inum(x->name, x->name_len,
								   slots[i].value_hash)
					: 0);
	}
	if (w.front == XW_XATTR_IHDR)
		return 0;
	put_magic(out);
	while (out[ibody - 1] == 0)
		ibody--;
	return ibody;
}

bool xw_xattr_encode_block(const struct xw_xattr_set *s, const struct xw_xattr_slot *slots,
			   uint32_t block_size, uint8_t *out, struct xw_xattr_span *span)
{
	struct writer w = {out, 0, XW_XATTR_BHDR, block_size};
	struct xw_xattr_bhdr h = {.refcount = 1, .blocks = 1};
	bool any = false, unhashed = false;

	for (size_t i = 0; i < s->a.n; i++) {
		const struct xw_xattr *x = &s->a.v[i];
		uint32_t hash;

		if (!slots[i].in_block)
			continue;
		if (!any)
			memset(out, 0, block_size);
		if (slots[i].ea)
			hash = xw_xattr_entry_hash_inum(x->name, x->name_len, slots[i].value_hash);
		else
			hash = xw_xattr_entry_hash(x->name, x->name_len, x->value, x->value_len);
		any = true;
		unhashed |= !hash;
		h.hash = xw_xattr_block_hash_add(h.hash, hash);
		write_entry(&w, x, &slots[i], hash);
	}
	if (!any)
		return false;
	if (unhashed)
		h.hash = 0;
	xw_xattr_bhdr_encode(out, &h);
	span->head = (uint32_t)w.front + 4;
	span->tail = block_size - (uint32_t)w.end;
	return true;
}

int xw_xattr_decode(const void *area, size_t size, size_t entries_off, size_t value_base,
		    struct xw_xattr_set *out, struct xw_diag *diag)
{
	const uint8_t *p = area;

	for (size_t off = entries_off, next; off; off = next) {
		struct xw_xattr_entry e;
		int rc = xw_xattr_entry_decode(area, size, off, value_base, &e, &next);

		if (rc || (next && next <= off))
			return xw_fail(diag, XW_ERR_CORRUPT,
				       "extended attribute entry at byte %zu leaves its area", off);
		if (!next)
			break;
		if (!e.name_index && !e.name_len)
			return xw_fail(diag, XW_ERR_CORRUPT,
				       "extended attribute entry at byte %zu has no name", off);
		if (xw_xattr_set_find(out, e.name_index, e.name, e.name_len))
			continue;
		if (e.value_inum)
			rc = xw_xattr_set_put_inum(out, e.name_index, e.name, e.name_len,
						   e.value_inum, e.value_size, diag);
		else
			rc = xw_xattr_set_put_raw(out, e.name_index, e.name, e.name_len,
						  e.value_size ? p + value_base + e.value_offs
							       : NULL,
						  e.value_size, diag);
		if (rc)
			return rc;
	}
	return 0;
}

int xw_xattr_decode_ibody(const void *area, size_t size, struct xw_xattr_set *out,
			  struct xw_diag *diag)
{
	uint8_t magic[XW_XATTR_IHDR];

	put_magic(magic);
	if (size < 2 * XW_XATTR_IHDR || memcmp(area, magic, sizeof(magic)))
		return 0;
	return xw_xattr_decode(area, size, XW_XATTR_IBODY_OFFS, out, diag);
}

int xw_xattr_decode_block(const void *block, uint32_t block_size, struct xw_xattr_set *out,
			  struct xw_diag *diag)
{
	struct xw_xattr_bhdr h;
	int rc = xw_xattr_bhdr_decode(block, &h);

	if (rc)
		return xw_fail(diag, rc, "extended attribute block without a valid header");
	return xw_xattr_decode(block, block_size, XW_XATTR_BLOCK_OFFS, out, diag);
}

int xw_xattr_map_inums(void *area, size_t size, size_t entries_off, size_t value_base,
		       xw_ino (*map)(void *arg, xw_ino inum), void *arg)
{
	for (size_t off = entries_off, next; off; off = next) {
		struct xw_xattr_entry e;
		char name[256];
		int rc = xw_xattr_entry_decode(area, size, off, value_base, &e, &next);

		if (rc || (next && next <= off))
			return XW_ERR_CORRUPT;
		if (!next || !e.value_inum)
			continue;
		memcpy(name, e.name, e.name_len);
		e.name = name; /* a copy, since encoding overwrites the name */
		e.value_inum = map(arg, e.value_inum);
		xw_xattr_entry_encode(area, off, &e);
	}
	return 0;
}
