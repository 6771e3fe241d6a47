/* SPDX-License-Identifier: MIT */
/*
 * Error codes and the diagnostic slot.
 *
 * Every function that can fail returns 0 or one of these negative codes. The first function that
 * knows *which file, which object and why* writes one line into the caller's struct xw_diag;
 * callers above pass the code on and add nothing. The library never prints.
 */
#ifndef XW_BASE_ERR_H
#define XW_BASE_ERR_H

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>

/*
 * One table: code, value, default text. Values are part of the ABI: append only. Those that are
 * close to each other:
 * USAGE     the caller asks for something invalid, whatever the files contain
 * INPUT     a source, image or other file is not in the expected format
 * CORRUPT   an ext filesystem violates its format; CHECKSUM: possibly only a checksum is wrong
 * TRUNCATED a file or device ends before its format says
 * IO        a system call failed on a file or device
 * EXISTS    something exists that must not be overwritten
 * BUSY      another process or a mount uses it
 * STATE     a valid request that an image or session does not allow now
 */
#define XW_ERRORS(X)                                                                               \
	X(NOMEM, -1, "out of memory")                                                              \
	X(USAGE, -2, "invalid option or argument")                                                 \
	X(IO, -3, "input/output error")                                                            \
	X(NOSPC, -4, "no space left in the image")                                                 \
	X(NOINODES, -5, "no inodes left in the image")                                             \
	X(HOSTFULL, -6, "no space left on the host filesystem")                                    \
	X(CORRUPT, -7, "corrupt structure")                                                        \
	X(CHECKSUM, -8, "checksum mismatch")                                                       \
	X(UNSUPPORTED, -9, "unsupported feature")                                                  \
	X(INPUT, -10, "malformed input")                                                           \
	X(TRUNCATED, -11, "input ends early")                                                      \
	X(EXISTS, -12, "already exists or holds data")                                             \
	X(LIMIT, -13, "format limit exceeded")                                                     \
	X(NOTFOUND, -14, "not found")                                                              \
	X(STATE, -15, "not possible in the current state")                                         \
	X(INTERNAL, -16, "internal error")                                                         \
	X(BUSY, -17, "target is in use")                                                           \
	X(CANCELED, -18, "interrupted")                                                            \
	X(RAN, -19, "the handle was run already")                                                  \
	X(MISSED, -20, "goal not reached")

enum xw_err {
#define X(name, value, text) XW_ERR_##name = value,
	XW_ERRORS(X)
#undef X
};

/* NOTE: information for every user although nothing is wrong; only -q hides it. */
enum xw_log_level { XW_LOG_WARN = 1, XW_LOG_INFO = 2, XW_LOG_DEBUG = 3, XW_LOG_NOTE = 4 };

/* Receives one line without a newline, on the thread that called the library. */
typedef void xw_log_fn(void *arg, enum xw_log_level level, const char *line);

/* The first failure of one handle, and its log callback. Zero-initialized: nothing is logged. */
struct xw_diag {
	int code; /* code of the first failure, 0 = none */
	char text[768]; /* the message of that failure */
	xw_log_fn *log; /* may be NULL */
	void *log_arg;
	unsigned warnings; /* number of lines logged at XW_LOG_WARN */
};

/* Default text of a code; "unknown error" for anything else. Never NULL. */
const char *xw_err_text(int code);

/*
 * Record a failure and return `code`. The first message wins: later calls keep it, since the
 * innermost function has the most detail. Control characters and bytes of the formatted message
 * that are not UTF-8 are written as \ooo. d may be NULL.
 */
int xw_fail(struct xw_diag *d, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* As xw_fail, with ": strerror(err)" appended. */
int xw_fail_errno(struct xw_diag *d, int code, int err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The code of a failed write or creation on the host. */
static inline int xw_err_of_errno(int err)
{
	return err == ENOSPC || err == EDQUOT ? XW_ERR_HOSTFULL : XW_ERR_IO;
}

/* Append an explanation to the recorded message. No other thread may be writing to d. */
void xw_fail_add(struct xw_diag *d, const char *text);

/*
 * If the recorded failure is damage of the image, append the advice to run xw-fsck, unless the
 * message gives it already. Called when the failure ends the run of a tool. d may be NULL.
 */
void xw_fail_repair(struct xw_diag *d);

/* xw_fail(d, XW_ERR_NOMEM, ...) with a standard message that names the allocated object. */
int xw_fail_nomem(struct xw_diag *d, const char *what);

/* Forget the recorded failure. */
void xw_diag_clear(struct xw_diag *d);

/* Pass a message to the log callback, if there is one. */
void xw_log(struct xw_diag *d, enum xw_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
