/* SPDX-License-Identifier: MIT */
/*
 * Instructions that the CPU may have, decided at run time: the C library's record of the CPU, or
 * libgcc's, both filled before main: no state of ours. That of libgcc executes CPUID some twenty
 * times in each process, and in a virtual machine each of them is an exit to the host.
 */
#ifndef XW_BASE_CPU_H
#define XW_BASE_CPU_H

#if defined(__x86_64__)
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#endif

#if defined(CPU_FEATURE_ACTIVE)
#define XW_CPU_HAS(glibc_name, gcc_name) CPU_FEATURE_ACTIVE(glibc_name)
#else
#define XW_CPU_HAS(glibc_name, gcc_name) __builtin_cpu_supports(gcc_name)
#endif
#endif

#endif
