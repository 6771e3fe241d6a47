/* SPDX-License-Identifier: MIT */
/*
 * Run-time detection of optional CPU instructions, from the record that the C library or libgcc
 * fills before main. The C library's is preferred: libgcc executes CPUID some twenty times in each
 * process, and in a virtual machine each CPUID is an exit to the host.
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
