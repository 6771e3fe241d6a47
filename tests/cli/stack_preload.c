/* SPDX-License-Identifier: MIT */
/*
 * One fault for each way into the system: preloaded into a tool, this counts its allocations
 * (XW_FAULT_WHAT=alloc), its reads of files whose path begins with XW_FAULT_PATH (read), or its
 * writes, size changes and flushes of those (write), from 1. Number XW_FAULT_AT fails. With "flip",
 * which counts the reads of images, it succeeds, and a bit in each 128 bytes is wrong.
 *
 * XW_FAULT_LOG: for each call stack the number of the first call that came from it goes into that
 * file, a line each. Calls with one stack end in one error branch; so failing each of these numbers
 * takes every error branch that the run can take. Only frames of the tool and its library count,
 * and only allocations that these ask for themselves.
 */
#undef _FILE_OFFSET_BITS /* or the names below are others */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define DEPTH 5 /* frames of ours that tell two stacks apart */
#define STACKS (1 << 16)

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	uintptr_t from, to;
} ours[4];
static int n_ours;
static uint64_t seen[STACKS]; /* hashes of stacks */
static unsigned long calls, fail_at;
static char what;
static const char *prefix;
static int log_fd = -1;
static __thread bool inside; /* in here: what backtrace() does is not counted */

static int add_object(struct dl_phdr_info *o, size_t size, void *arg)
{
	bool *first = arg;

	(void)size;
	if ((*first || strstr(o->dlpi_name, "libextwright")) && n_ours < 4) {
		for (int i = 0; i < o->dlpi_phnum; i++) {
			const ElfW(Phdr) *p = &o->dlpi_phdr[i];

			if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
				continue;
			ours[n_ours].from = o->dlpi_addr + p->p_vaddr;
			ours[n_ours].to = o->dlpi_addr + p->p_vaddr + p->p_memsz;
		}
		n_ours++;
	}
	*first = false;
	return 0;
}

static void __attribute__((constructor)) start(void)
{
	const char *log = getenv("XW_FAULT_LOG"), *at = getenv("XW_FAULT_AT"),
		   *kind = getenv("XW_FAULT_WHAT");
	bool first = true;
	void *frame[2];

	if (log) {
		inside = true;
		(void)backtrace(frame, 2); /* loads what it needs now */
		inside = false;
	}
	prefix = getenv("XW_FAULT_PATH");
	fail_at = at ? strtoul(at, NULL, 10) : 0;
	if (log)
		log_fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	dl_iterate_phdr(add_object, &first);
	what = kind ? kind[0] : 0;
}

static bool is_ours(const void *at)
{
	for (int i = 0; i < n_ours; i++)
		if ((uintptr_t)at >= ours[i].from && (uintptr_t)at < ours[i].to)
			return true;
	return false;
}

static uint64_t stack_hash(void)
{
	void *frame[24];
	const int n = backtrace(frame, 24);
	uint64_t h = 14695981039346656037u;
	int depth = 0;

	for (int i = 0; i < n && depth < DEPTH; i++) {
		if (!is_ours(frame[i]))
			continue;
		h = (h ^ (uintptr_t)frame[i]) * 1099511628211u;
		depth++;
	}
	return h ? h : 1;
}

/* With the lock held. */
static void note_stack(unsigned long number)
{
	const uint64_t h = stack_hash();
	size_t i = h % STACKS;
	char line[24];

	while (seen[i] && seen[i] != h)
		i = (i + 1) % STACKS;
	if (seen[i])
		return;
	seen[i] = h;
	(void)!write(log_fd, line, (size_t)snprintf(line, sizeof(line), "%lu\n", number));
}

static bool fails(void)
{
	unsigned long number;

	inside = true;
	pthread_mutex_lock(&lock);
	number = ++calls;
	if (log_fd >= 0)
		note_stack(number);
	pthread_mutex_unlock(&lock);
	inside = false;
	return number == fail_at;
}

static bool fails_alloc(const void *caller)
{
	if (what != 'a' || inside || !is_ours(caller) || !fails())
		return false;
	errno = ENOMEM;
	return true;
}

static bool fails_fd(char kind, int fd)
{
	char link[64], path[4096];
	ssize_t n;

	if (what != kind || !prefix)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return false;
	path[n] = 0;
	if (strncmp(path, prefix, strlen(prefix)) != 0 || !fails())
		return false;
	errno = EIO;
	return true;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

void *malloc(size_t n)
{
	return fails_alloc(__builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return fails_alloc(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return fails_alloc(__builtin_return_address(0)) ? NULL : __libc_realloc(p, n);
}

ssize_t read(int fd, void *buf, size_t len)
{
	return fails_fd('r', fd) ? -1 : REAL(read)(fd, buf, len);
}

static ssize_t flip(uint8_t *buf, ssize_t n)
{
	for (ssize_t i = 37; i < n; i += 128)
		buf[i] ^= 8;
	return n;
}

ssize_t pread(int fd, void *buf, size_t len, off_t off)
{
	if (fails_fd('r', fd))
		return -1;
	if (fails_fd('f', fd))
		return flip(buf, REAL(pread)(fd, buf, len, off));
	return REAL(pread)(fd, buf, len, off);
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t off)
{
	return fails_fd('w', fd) ? -1 : REAL(pwrite)(fd, buf, len, off);
}

ssize_t pwritev(int fd, const struct iovec *iov, int n, off_t off)
{
	return fails_fd('w', fd) ? -1 : REAL(pwritev)(fd, iov, n, off);
}

int ftruncate(int fd, off_t len)
{
	return fails_fd('w', fd) ? -1 : REAL(ftruncate)(fd, len);
}

int fsync(int fd)
{
	return fails_fd('w', fd) ? -1 : REAL(fsync)(fd);
}

int fdatasync(int fd)
{
	return fails_fd('w', fd) ? -1 : REAL(fdatasync)(fd);
}

/* The same calls under the names that programs with 64-bit offsets use. */
ssize_t pread64(int fd, void *buf, size_t len, off64_t off)
{
	if (fails_fd('r', fd))
		return -1;
	if (fails_fd('f', fd))
		return flip(buf, REAL(pread64)(fd, buf, len, off));
	return REAL(pread64)(fd, buf, len, off);
}

ssize_t pwrite64(int fd, const void *buf, size_t len, off64_t off)
{
	return fails_fd('w', fd) ? -1 : REAL(pwrite64)(fd, buf, len, off);
}

ssize_t pwritev64(int fd, const struct iovec *iov, int n, off64_t off)
{
	return fails_fd('w', fd) ? -1 : REAL(pwritev64)(fd, iov, n, off);
}

int ftruncate64(int fd, off64_t len)
{
	return fails_fd('w', fd) ? -1 : REAL(ftruncate64)(fd, len);
}
