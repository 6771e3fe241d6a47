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

static const char *dir_of(const struct xw_spool_file *s)
{
	return s->o->dir && *s->o->dir ? s->o->dir : USUAL_DIR;
}

/* `why` is followed by a number of bytes; `what` is a further option that would help. */
static int too_large(const struct xw_spool_file *s, struct xw_diag *diag, const char *why,
		     uint64_t bytes, const char *what)
{
	struct statfs st;
	const bool memory = !fstatfs(s->fd, &st) && (uint64_t)st.f_type == TMPFS_MAGIC;

	return xw_fail(diag, XW_ERR_HOSTFULL,
		       "%s: %s spooled to a temporary file in %s%s: %s %llu bytes (--tmpdir DIR "
		       "selects another directory%s)",
		       s->name, s->what, dir_of(s), memory ? " (tmpfs, memory)" : "", why,
		       (unsigned long long)bytes, what);
}

int xw_spool_limit(const struct xw_spool_file *s, uint64_t n, struct xw_diag *diag)
{
	if (!s->o->limited || (n <= s->o->limit && s->size <= s->o->limit - n))
		return 0;
	return too_large(s, diag, "it is larger than --spool-limit,", s->o->limit, "");
}

/*
 * Check that n more bytes may be written. Filesystems that do not report their size have no
 * reserve. Free space is checked once per CHECK_BYTES, since statvfs() is slow on a network.
 */
static int check_room(struct xw_spool_file *s, size_t n, struct xw_diag *diag)
{
	struct statvfs v;
	uint64_t reserve, avail;

	if (s->o->limited)
		return xw_spool_limit(s, n, diag);
	if (n <= s->room) {
		s->room -= n;
		return 0;
	}
	if (fstatvfs(s->fd, &v) || !v.f_blocks)
		return 0;
	reserve = n + XW_MIN((uint64_t)v.f_blocks * v.f_frsize / RESERVE_PART, RESERVE_MAX);
	avail = (uint64_t)v.f_bavail * v.f_frsize;
	if (avail < reserve)
		return too_large(s, diag, "the filesystem is nearly full after", s->size,
				 ", --spool-limit SIZE fills it nevertheless");
	s->room = XW_MIN(avail - reserve, CHECK_BYTES);
	return 0;
}

int xw_spool_open(struct xw_spool_file *s, struct xw_diag *diag)
{
	s->size = s->room = 0;
	s->fd = open_nameless(dir_of(s));
	if (s->fd >= 0)
		return 0;
	return xw_fail_errno(diag, XW_ERR_IO, errno,
			     "%s: cannot create a temporary file in %s (--tmpdir DIR selects "
			     "another directory)",
			     s->name, dir_of(s));
}

static int fail_write(const struct xw_spool_file *s, int err, struct xw_diag *diag)
{
	return xw_fail_errno(diag, XW_ERR_IO, err, "%s: cannot write a temporary file in %s",
			     s->name, dir_of(s));
}

int xw_spool_write(struct xw_spool_file *s, const void *buf, size_t n, struct xw_diag *diag)
{
	const int rc = check_room(s, n, diag);
	int err;

	if (rc)
		return rc;
	err = xw_write_all(s->fd, buf, n);
	if (err == ENOSPC || err == EDQUOT || err == EFBIG)
		return too_large(s, diag,
				 err == EDQUOT  ? "the disk quota is exceeded after"
				 : err == EFBIG ? "the file size limit is reached after"
						: "no space is left after",
				 s->size, "");
	if (err)
		return fail_write(s, err, diag);
	s->size += n;
	return 0;
}

int xw_spool_cut(struct xw_spool_file *s, uint64_t size, struct xw_diag *diag)
{
	if (ftruncate(s->fd, (off_t)size) || lseek(s->fd, (off_t)size, SEEK_SET) < 0)
		return fail_write(s, errno, diag);
	s->size = size;
	return 0;
}

static int copy(struct xw_feed *f, struct xw_spool_file *s, struct xw_diag *diag)
{
	auto_free char *buf = malloc(PIECE);
	ssize_t n;

	if (!buf)
		return xw_fail_nomem(diag, "read buffers");
	while ((n = xw_feed_read(f, buf, PIECE)) > 0) {
		const int rc = xw_spool_write(s, buf, (size_t)n, diag);

		if (rc)
			return rc;
	}
	return n ? xw_fail(diag, (int)n, "%s: %s", s->name, f->err) : 0;
}

int xw_spool(struct xw_feed *f, const struct xw_spool_opts *o, const char *name,
	     struct xw_diag *diag, int *fd, uint64_t *size)
{
	struct xw_spool_file s = {
		.o = o, .name = name, .what = "a piped or compressed container image is"};
	int rc = xw_spool_open(&s, diag);

	if (rc)
		return rc;
	rc = copy(f, &s, diag);
	if (rc)
		close(s.fd);
	*fd = rc ? -1 : s.fd;
	*size = s.size;
	return rc;
}
