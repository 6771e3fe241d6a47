/* SPDX-License-Identifier: MIT */
/* The number of set bits of a buffer. */
#ifndef XW_BASE_POPCOUNT_H
#define XW_BASE_POPCOUNT_H

#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

uint64_t xw_popcount(const void *buf, size_t len);
/* The portable implementation, exported so that tests can compare both. */
uint64_t xw_popcount_sw(const void *buf, size_t len);

/* Does the CPU have the instruction? For callers with a counting loop of their own. */
static inline int xw_has_popcnt(void)
{
#if defined(__x86_64__)
	return XW_CPU_HAS(POPCNT, "popcnt") != 0;
#else
	return 0;
#endif
}

#endif
