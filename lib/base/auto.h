/* SPDX-License-Identifier: MIT */
/* Scope-bound ownership: declare `auto_free char *p`, return early anywhere, steal() to keep. */
#ifndef XW_BASE_AUTO_H
#define XW_BASE_AUTO_H

#include <stdlib.h>
#include <unistd.h>

static inline void xw_auto_free_(void *p)
{
	free(*(void **)p);
}

static inline void xw_auto_close_(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define auto_free __attribute__((cleanup(xw_auto_free_)))
#define auto_fd __attribute__((cleanup(xw_auto_close_)))
/* Call end(&variable) at the end of the scope: for iterators, vectors and sets. */
#define auto_end(end) __attribute__((cleanup(end)))
#define steal(p)                                                                                   \
	__extension__({                                                                            \
		__typeof__(p) taken_ = (p);                                                        \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})

#endif
