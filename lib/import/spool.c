/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "import/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/write.h"

#define PIECE ((size_t)256 << 10)
#define USUAL_DIR "/var/tmp"
#define CHECK_BYTES ((uint64_t)1 << 20)
/* Space left free in the filesystem: a 16th of its size, up to 1 GiB. */
#define RESERVE_PART 16
#define RESERVE_MAX ((uint64_t)1 << 30)

/* Open a temporary file without a name, by O_TMPFILE where it is supported. */
static int open_nameless(const char *dir)
{
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char *name;

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	if (asprintf(&name, "%s/xw-spool.XXXXXX", dir) < 0)
		return -1;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	free(name);
	return fd;
}

struct spool {
	const struct xw_spool_opts *o;
	const char *dir, *name;
	struct xw_diag *diag;
	int fd;
	uint64_t size;
	uint64_t room; /* may be written before free space is checked again */
};

/* `why` is followed by a number of bytes; `what` is a further option that would help. */
static int too_large(const struct spool *s, const char *why, uint64_t bytes, const char *what)
{
	struct statfs st;
	const bool memory = !fstatfs(s->fd, &st) && (uint64_t)st.f_type == TMPFS_MAGIC;

	return xw_fail(s->diag, XW_ERR_HOSTFULL,
		       "%s: a piped or compressed container image is spooled to a "
		       "temporary file in %s%s: %s %llu bytes (--tmpdir DIR selects another "
		       "directory%s)",
		       s->name, s->dir, memory ? " (tmpfs, memory)" : "", why,
		       (unsigned long long)bytes, what);
}

/*
 * Check that n more bytes may be written. Filesystems that do not report their size have no
 * reserve. Free space is checked once per CHECK_BYTES, since statvfs() is slow on a network.
 */
static int check_room(struct spool *s, size_t n)
{
	struct statvfs v;
	uint64_t reserve, avail;

	if (s->o->limited)
		return s->size + n <= s->o->limit
			       ? 0
			       : too_large(s, "it is larger than --spool-limit,", s->o->limit, "");
	if (n <= s->room) {
		s->room -= n;
		return 0;
	}
	if (fstatvfs(s->fd, &v) || !v.f_blocks)
		return 0;
	reserve = n + XW_MIN((uint64_t)v.f_blocks * v.f_frsize / RESERVE_PART, RESERVE_MAX);
	avail = (uint64_t)v.f_bavail * v.f_frsize;
	if (avail < reserve)
		return too_large(s, "the filesystem is nearly full after", s->size,
				 ", --spool-limit SIZE fills it nevertheless");
	s->room = XW_MIN(avail - reserve, CHECK_BYTES);
	return 0;
}

static int write_piece(struct spool *s, const char *buf, size_t n)
{
	const int rc = check_room(s, n);
	int err;

	if (rc)
		return rc;
	err = xw_write_all(s->fd, buf, n);
	if (err == ENOSPC || err == EDQUOT || err == EFBIG)
		return too_large(s,
				 err == EDQUOT  ? "the disk quota is exceeded after"
				 : err == EFBIG ? "the file size limit is reached after"
						: "no space is left after",
				 s->size, "");
	if (err)
		return xw_fail_errno(s->diag, XW_ERR_IO, err,
				     "%s: cannot write a temporary file in %s", s->name, s->dir);
	s->size += n;
	return 0;
}

static int copy(struct xw_feed *f, struct spool *s)
{
	auto_free char *buf = malloc(PIECE);
	ssize_t n;

	if (!buf)
		return xw_fail_nomem(s->diag, "read buffers");
	while ((n = xw_feed_read(f, buf, PIECE)) > 0) {
		const int rc = write_piece(s, buf, (size_t)n);

		if (rc)
			return rc;
	}
	return n ? xw_fail(s->diag, (int)n, "%s: %s", s->name, f->err) : 0;
}

int xw_spool(struct xw_feed *f, const struct xw_spool_opts *o, const char *name,
	     struct xw_diag *diag, int *fd, uint64_t *size)
{
	struct spool s = {
		.o = o, .dir = o->dir && *o->dir ? o->dir : USUAL_DIR, .name = name, .diag = diag};
	int rc;

	s.fd = open_nameless(s.dir);
	if (s.fd < 0)
		return xw_fail_errno(diag, XW_ERR_IO, errno,
				     "%s: cannot create a temporary file in %s (--tmpdir DIR "
				     "selects another directory)",
				     name, s.dir);
	rc = copy(f, &s);
	if (rc)
		close(s.fd);
	*fd = rc ? -1 : s.fd;
	*size = s.size;
	return rc;
}
