/* SPDX-License-Identifier: MIT */
/*
 * Growable arrays. A vector of T is `struct { T *v; size_t n, cap; }`; XW_VEC(T) declares one, a
 * zero-initialized one is empty, and xw_vec_push(&vec, value) returns 0 or XW_ERR_NOMEM.
 */
#ifndef XW_BASE_VEC_H
#define XW_BASE_VEC_H

#include <stddef.h>
#include <stdlib.h>

#include "base/err.h"

#define XW_VEC(T)                                                                                  \
	struct {                                                                                   \
		T *v;                                                                              \
		size_t n, cap;                                                                     \
	}

/* Make room for `want` elements of `size` bytes: 0 or XW_ERR_NOMEM. Grows by half. */
int xw_vec_reserve_(void **v, size_t *cap, size_t want, size_t size);

#define xw_vec_reserve(vec, want)                                                                  \
	xw_vec_reserve_((void **)&(vec)->v, &(vec)->cap, (want), sizeof(*(vec)->v))

#define xw_vec_push(vec, value)                                                                    \
	(xw_vec_reserve((vec), (vec)->n + 1) ? XW_ERR_NOMEM : ((vec)->v[(vec)->n++] = (value), 0))

#define xw_vec_free(vec) (free((vec)->v), (vec)->v = NULL, (vec)->n = (vec)->cap = 0)

#endif
