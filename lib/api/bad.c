// SPDX-License-Identifier: MIT
/* Bad blocks: read the list of -l, and search the target for -c. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "api/run.h"
#include "base/auto.h"
#include "dev/scan.h"
#include "plan/bad.h"

#define LIST_MAX (64u << 20) /* bytes */

static int read_list(struct xw_mkfs *m)
{
	const char *path = m->bad_list;
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	auto_free char *text = NULL;
	size_t len = 0, room = 0;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return xw_fail_errno(&m->diag, XW_ERR_IO, errno, "-l %s: cannot open", path);
	if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
		return xw_fail(&m->diag, XW_ERR_INPUT, "-l %s: not a regular file or pipe", path);
	for (;;) {
		ssize_t n;

		if (len == room) {
			char *p;

			if (len > LIST_MAX)
				return xw_fail(&m->diag, XW_ERR_USAGE, "-l %s: more than %u MiB",
					       path, LIST_MAX >> 20);
			room = room ? 2 * room : 4096;
			p = realloc(text, room);
			if (!p)
				return xw_fail_nomem(&m->diag, "bad blocks");
			text = p;
		}
		n = read(fd, text + len, room - len);
		if (n < 0 && errno != EINTR)
			return xw_fail_errno(&m->diag, XW_ERR_IO, errno, "-l %s: cannot read",
					     path);
		if (n == 0)
			break;
		len += n > 0 ? (size_t)n : 0;
	}
	return xw_bad_parse(path, text, len, &m->params, &m->diag);
}

int xw_bad_load(struct xw_mkfs *m)
{
	int rc;

	if (!m->bad_list && !m->check)
		return 0;
	if (xw_has_incompat(&m->params.features, XW_INCOMPAT_JOURNAL_DEV))
		return xw_fail(&m->diag, XW_ERR_USAGE, "%s: not with -O journal_dev",
			       m->bad_list ? "-l" : "-c");
	if (!m->bad_list)
		return 0;
	if (!m->params.size_bytes)
		return xw_fail(&m->diag, XW_ERR_USAGE, "-l: needs SIZE for a new image");
	rc = read_list(m);
	return rc ? rc : xw_bad_finish(&m->params, &m->diag);
}

static int add(void *arg, uint64_t block)
{
	const struct xw_bad_scan *b = arg;

	return xw_vec_push(&b->m->params.bad, block) ? xw_fail_nomem(&b->m->diag, "bad blocks") : 0;
}

static int tick(void *arg, uint64_t done, uint64_t total)
{
	const struct xw_bad_scan *b = arg;

	return b->progress(b->arg, done, total);
}

int xw_bad_find(const struct xw_bad_scan *b, const struct xw_target *t)
{
	struct xw_mkfs *m = b->m;
	struct xw_target probe = *t;
	const struct xw_scan s = {
		.block_size = m->params.block_size,
		.blocks = m->params.size_bytes / m->params.block_size,
		.write = m->check > 1,
		.tick = tick,
		.bad = add,
		.arg = (void *)(uintptr_t)b,
	};
	const size_t before = m->params.bad.n;
	int rc;

	if (!t->exists || !s.blocks) {
		xw_log(&m->diag, XW_LOG_INFO, "%s: new, nothing to check", t->path);
		return 0;
	}
	rc = xw_target_open_check(m, &probe);
	if (!rc)
		rc = xw_dev_scan(probe.dev, &s);
	xw_dev_close(probe.dev);
	if (rc)
		return rc;
	rc = xw_bad_finish(&m->params, &m->diag);
	xw_log(&m->diag, m->params.bad.n > before ? XW_LOG_WARN : XW_LOG_INFO,
	       "%s: %zu bad blocks found", t->path, m->params.bad.n - before);
	return rc;
}
