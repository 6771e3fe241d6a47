/* SPDX-License-Identifier: MIT */
/* The growth step behind every XW_VEC: by half, from at least 64 bytes, overflow checked. */
#include "config.h"

#include <stdint.h>

#include "base/vec.h"

int xw_vec_reserve_(void **v, size_t *cap, size_t want, size_t size)
{
	size_t n = *cap + *cap / 2;
	void *p;

	if (want <= *cap)
		return 0;
	if (n < 64 / size)
		n = 64 / size;
	if (n < want)
		n = want;
	if (n > PTRDIFF_MAX / size)
		/* growing by half is optional; the requested size may still fit */
		n = want;
	if (n > PTRDIFF_MAX / size)
		return XW_ERR_NOMEM;
	p = realloc(*v, n * size);
	if (!p)
		return XW_ERR_NOMEM;
	*v = p;
	*cap = n;
	return 0;
}
