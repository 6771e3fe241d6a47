/* SPDX-License-Identifier: MIT */
/* Messages about members of a tar archive, and skipping of payload. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>

#include "import/tar.h"

#define SHOWN 256 /* maximum length of a member's name in a message, in bytes */

int xw_tar_fail(struct xw_tar *t, int code, const char *fmt, ...)
{
	size_t n = XW_MIN(t->e.path.len, SHOWN);
	char why[384];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	t->failed = code;
	if (!n)
		return xw_fail(t->src.diag, code, "%s: byte %llu: %s", t->src.name,
			       (unsigned long long)t->e.pos, why);
	return xw_fail(t->src.diag, code, "%s: member '%.*s%s' at byte %llu: %s", t->src.name,
		       (int)n, t->e.path.p, n < t->e.path.len ? "..." : "",
		       (unsigned long long)t->e.pos, why);
}

int xw_tar_fail_input(struct xw_tar *t, int rc)
{
	if (rc)
		return xw_tar_fail(t, rc, "%s", xw_input_error(t->in));
	return xw_tar_fail(t, XW_ERR_TRUNCATED, "the archive ends inside %s, at byte %llu",
			   t->e.path.len ? "it" : "a header",
			   (unsigned long long)xw_input_pos(t->in));
}

void xw_tar_warn(struct xw_tar *t, unsigned bit, const char *fmt, ...)
{
	char what[384];
	va_list ap;

	if (t->warned & 1u << bit)
		return;
	t->warned |= 1u << bit;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	xw_log(t->src.diag, XW_LOG_WARN, "%s: byte %llu: %s", t->src.name,
	       (unsigned long long)t->e.pos, what);
}

void xw_tar_payload(struct xw_tar *t, uint64_t n, uint64_t tail, bool data)
{
	t->left = n;
	t->tail = tail;
	t->pad = (unsigned)(-(n + tail) % XW_TAR_BLOCK);
	t->data = data;
	t->off = 0;
	t->seg = 0;
}

int xw_tar_finish(struct xw_tar *t)
{
	uint64_t n = t->left + t->tail, got;
	int rc;

	if (!n && !t->pad)
		return 0;
	rc = xw_input_copy(t->in, NULL, n + t->pad, &got);
	/* a layer whose digest is verified was written without padding and end mark */
	if (rc || got < n + (t->verified ? 0 : t->pad))
		return xw_tar_fail_input(t, rc);
	t->left = t->tail = 0;
	t->pad = 0;
	return 0;
}
