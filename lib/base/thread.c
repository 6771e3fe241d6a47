/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "base/thread.h"

#include <signal.h>

/*
 * The C library's default is the soft limit of the stack, which may be 64 KiB or unlimited. No
 * function of ours has more than 8 KiB of locals; the compression libraries keep their state in the
 * heap. Memory is used only for pages that were touched.
 */
#define STACK_BYTES ((size_t)1 << 20)

int xw_thread_start(pthread_t *out, void *(*fn)(void *arg), void *arg)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int err = pthread_attr_init(&attr);

	if (err)
		return err;
	err = pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (!err) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		err = pthread_create(out, &attr, fn, arg);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	pthread_attr_destroy(&attr);
	return err;
}
