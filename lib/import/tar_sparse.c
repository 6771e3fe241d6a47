/* SPDX-License-Identifier: MIT */
/*
 * Sparse maps. All formats are converted to the same list, which is checked when it is complete:
 * segments must ascend, be disjoint, lie within the file, and not exceed the payload. Users of a
 * checked map need no further tests. As in GNU tar, payload after the last segment is skipped.
 */
#include "config.h"

#include <string.h>

#include "base/err.h"
#include "import/pax.h"
#include "import/tar_sparse.h"

void xw_sparse_reset(struct xw_sparse *s)
{
	s->map.n = 0;
	s->want = s->num = 0;
	s->counted = s->digits = false;
}

void xw_sparse_free(struct xw_sparse *s)
{
	xw_vec_free(&s->map);
}

int xw_sparse_add(struct xw_sparse *s, uint64_t off, uint64_t len)
{
	if (s->map.n == XW_SPARSE_MAX)
		return XW_ERR_INPUT;
	return xw_vec_push(&s->map, ((struct xw_segment){off, len}));
}

int xw_sparse_old(struct xw_sparse *s, const struct xw_tar_sp *sp, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int64_t off, len;
		int rc;

		if (!sp[i].off[0] && !sp[i].len[0])
			break;
		if (xw_tar_number(sp[i].off, sizeof(sp[i].off), &off) ||
		    xw_tar_number(sp[i].len, sizeof(sp[i].len), &len) || off < 0 || len < 0)
			return XW_ERR_INPUT;
		rc = xw_sparse_add(s, (uint64_t)off, (uint64_t)len);
		if (rc)
			return rc;
	}
	return 0;
}

/* Parse and remove the number before the next comma of v. */
static int text_number(struct xw_slice *v, uint64_t *out)
{
	const char *comma = v->len ? memchr(v->p, ',', v->len) : NULL;
	size_t n = comma ? (size_t)(comma - v->p) : v->len;
	int rc = xw_pax_number((struct xw_slice){v->p, n}, INT64_MAX, out);

	n += comma != NULL;
	v->p += n;
	v->len -= n;
	return rc;
}

int xw_sparse_text(struct xw_sparse *s, struct xw_slice v)
{
	while (v.len) {
		uint64_t off, len;
		int rc;

		if (text_number(&v, &off) || text_number(&v, &len))
			return XW_ERR_INPUT;
		rc = xw_sparse_add(s, off, len);
		if (rc)
			return rc;
	}
	return 0;
}

/* Process one number of a 1.0 map: the count, an offset or a length. */
static int block_number(struct xw_sparse *s)
{
	if (!s->counted) {
		if (s->num > XW_SPARSE_MAX)
			return XW_ERR_INPUT;
		s->counted = true;
		s->want = 2 * s->num;
		return 0;
	}
	if (s->want-- % 2 == 0)
		return xw_sparse_add(s, s->num, 0);
	s->map.v[s->map.n - 1].len = s->num;
	return 0;
}

int xw_sparse_block(struct xw_sparse *s, const void *block)
{
	const char *b = block;

	for (size_t i = 0; i < XW_TAR_BLOCK; i++) {
		if (b[i] == '\n' && s->digits) {
			int rc = block_number(s);

			if (rc)
				return rc;
			s->num = 0;
			s->digits = false;
			if (!s->want)
				return 1; /* the rest of the block is padding */
			continue;
		}
		if (b[i] < '0' || b[i] > '9' || s->num > INT64_MAX / 10 - 1)
			return XW_ERR_INPUT;
		s->num = s->num * 10 + (uint64_t)(b[i] - '0');
		s->digits = true;
	}
	return 0;
}

int xw_sparse_check(struct xw_sparse *s, uint64_t size, uint64_t payload, uint64_t *mapped,
		    const char **why)
{
	uint64_t end = 0, sum = 0;
	size_t n = 0;

	*why = "its sparse map overlaps, descends or exceeds the file's size";
	for (size_t i = 0; i < s->map.n; i++) {
		struct xw_segment g = s->map.v[i];

		if (g.off < end || g.off > size || g.len > size - g.off)
			return XW_ERR_INPUT;
		end = g.off + g.len;
		sum += g.len;
		if (!g.len)
			continue;
		if (n && s->map.v[n - 1].off + s->map.v[n - 1].len == g.off)
			s->map.v[n - 1].len += g.len;
		else
			s->map.v[n++] = g;
	}
	s->map.n = n;
	*why = "its sparse map exceeds its payload";
	if (sum > payload)
		return XW_ERR_INPUT;
	*mapped = sum;
	return 0;
}
