/* SPDX-License-Identifier: MIT */
/* Threads of the library. */
#ifndef XW_BASE_THREAD_H
#define XW_BASE_THREAD_H

#include <pthread.h>

/*
 * Start a thread that receives no signals, which are delivered to the program's own threads, and
 * whose stack does not depend on `ulimit -s`. Returns 0 or an errno value.
 */
int xw_thread_start(pthread_t *out, void *(*fn)(void *arg), void *arg);

#endif
