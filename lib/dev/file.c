/* SPDX-License-Identifier: MIT */
/*
 * Regular files and block devices.
 *
 * Invariants:
 * 1. A call transfers the whole range or fails: short transfers and EINTR are retried here.
 * 2. Each failure is one message that names the file, the byte and the host's reason; a host
 *    without space (ENOSPC, EDQUOT, EFBIG) has its own error code.
 * 3. After zero() the range reads as zeros. Zeroing by the host is only the fast path: if that
 *    fails, zeros are written instead, and only a failure of that write is reported.
 * 4. size never lags behind a completed write.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/types.h"
#include "dev/dev.h"
#include "dev/file.h"
#include "dev/mounted.h"
#include "dev/partition.h"

#define OFF_MAX ((uint64_t)INT64_MAX)
#define ZEROS_LEN 4096
#define ZEROS_IOV 64
#define AHEAD_STEP (128u << 10)
#define LEASE_STEPS 20u
#define LEASE_STEP_NS 10000000

struct file_dev {
	struct xw_dev dev;
	int fd;
	bool mounted; /* opened with XW_DEV_MOUNTED: other processes can open it, too */
	char name[];
};

/* aligned so that direct I/O can use it, too */
static const unsigned char zeros[ZEROS_LEN] __attribute__((aligned(ZEROS_LEN)));

static struct file_dev *file(struct xw_dev *d)
{
	return (struct file_dev *)d;
}

static uint64_t size_now(struct xw_dev *d)
{
	return __atomic_load_n(&d->size, __ATOMIC_RELAXED);
}

static void grow_to(struct xw_dev *d, uint64_t end)
{
	uint64_t size = size_now(d);

	while (size < end && !__atomic_compare_exchange_n(&d->size, &size, end, false,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* Does a limit of the process forbid a file of `size` bytes? Devices have no limit. */
static bool over_limit(const struct xw_dev *d, uint64_t size, unsigned long long *limit)
{
	struct rlimit r;

	if (d->is_block || getrlimit(RLIMIT_FSIZE, &r) || r.rlim_cur == RLIM_INFINITY)
		return false;
	*limit = r.rlim_cur;
	return size > r.rlim_cur;
}

static int fail_at(struct xw_dev *d, const char *verb, uint64_t off, int err)
{
	unsigned long long at = off, limit;

	if (err == EFBIG && over_limit(d, off + 1, &limit))
		return xw_fail(d->diag, XW_ERR_HOSTFULL,
			       "%s: cannot %s at byte %llu: files may have %llu bytes here, by the "
			       "file size limit (ulimit -f)",
			       d->name, verb, at, limit);
	if (err == EFBIG)
		return xw_fail(d->diag, XW_ERR_HOSTFULL,
			       "%s: cannot %s at byte %llu: the host filesystem does not allow "
			       "files of this size",
			       d->name, verb, at);
	return xw_fail_errno(d->diag, xw_err_of_errno(err), err, "%s: cannot %s at byte %llu",
			     d->name, verb, at);
}

static int file_pread(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	unsigned char *p = buf;
	ssize_t n;

	while (len) {
		if (off > OFF_MAX - len)
			n = 0;
		else
			n = pread(file(d)->fd, p, len, (off_t)off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_at(d, "read", off, errno);
		if (n == 0)
			return xw_fail(d->diag, XW_ERR_TRUNCATED,
				       "%s: cannot read %zu bytes at byte %llu: past the end",
				       d->name, len, (unsigned long long)off);
		p += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

/* Write the rest of one vector after a short write. */
static int write_all(struct xw_dev *d, const void *buf, size_t len, uint64_t off)
{
	const unsigned char *p = buf;

	while (len) {
		ssize_t n = pwrite(file(d)->fd, p, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail_at(d, "write", off, n ? errno : EIO);
		p += n;
		off += (uint64_t)n;
		len -= (size_t)n;
		grow_to(d, off);
	}
	return 0;
}

static int check_write(struct xw_dev *d, uint64_t off, uint64_t len)
{
	if (off > OFF_MAX || len > OFF_MAX - off)
		return fail_at(d, "write", off, EFBIG);
	if (d->is_block && (off > d->size || len > d->size - off))
		return xw_fail(d->diag, XW_ERR_HOSTFULL,
			       "%s: cannot write %llu bytes at byte %llu: the device ends at %llu",
			       d->name, (unsigned long long)len, (unsigned long long)off,
			       (unsigned long long)d->size);
	return 0;
}

static int file_pwritev(struct xw_dev *d, const struct iovec *iov, int n, uint64_t off)
{
	uint64_t len = 0;
	int rc;

	for (int i = 0; i < n; i++)
		if (__builtin_add_overflow(len, iov[i].iov_len, &len))
			return fail_at(d, "write", off, EFBIG);
	rc = check_write(d, off, len);
	while (!rc && len) {
		ssize_t put = pwritev(file(d)->fd, iov, n < IOV_MAX ? n : IOV_MAX, (off_t)off);
		size_t left;

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return fail_at(d, "write", off, put ? errno : EIO);
		off += (uint64_t)put;
		len -= (uint64_t)put;
		grow_to(d, off);
		for (left = (size_t)put; n && left >= iov->iov_len; iov++, n--)
			left -= iov->iov_len;
		if (left) {
			size_t rest = iov->iov_len - left;

			rc = write_all(d, (const char *)iov->iov_base + left, rest, off);
			off += rest;
			len -= rest;
			iov++;
			n--;
		}
	}
	return rc;
}

static int write_zeros(struct xw_dev *d, uint64_t off, uint64_t len)
{
	struct iovec iov[ZEROS_IOV];
	int rc = 0;

	while (len && !rc) {
		uint64_t n = 0;
		int k = 0;

		for (; k < ZEROS_IOV && n < len; k++) {
			iov[k].iov_base = (void *)(uintptr_t)zeros;
			iov[k].iov_len = XW_MIN(len - n, ZEROS_LEN);
			n += iov[k].iov_len;
		}
		rc = file_pwritev(d, iov, k, off);
		off += n;
		len -= n;
	}
	return rc;
}

/* Zero the range by fallocate() or BLKZEROOUT; false if the host cannot. */
static bool zero_by_host(struct xw_dev *d, uint64_t off, uint64_t len)
{
	int how = d->keep ? FALLOC_FL_ZERO_RANGE : FALLOC_FL_PUNCH_HOLE;
	uint64_t range[2] = {off, len};
	int fd = file(d)->fd, r;

	/* On a block device punching a hole means "unmap, if that yields zeros". */
	do
		r = fallocate(fd, how | FALLOC_FL_KEEP_SIZE, (off_t)off, (off_t)len);
	while (r && errno == EINTR);
	if (r && d->is_block)
		r = ioctl(fd, BLKZEROOUT, range);
	return r == 0;
}

static int file_set_size(struct xw_dev *d, uint64_t size)
{
	int r;

	if (d->is_block)
		return size > d->size ? check_write(d, 0, size) : 0;
	if (size > OFF_MAX)
		return fail_at(d, "set the size", size, EFBIG);
	do
		r = ftruncate(file(d)->fd, (off_t)size);
	while (r && errno == EINTR);
	if (r) /* EINVAL: some filesystems report a size limit this way */
		return fail_at(d, "set the size", size, errno == EINVAL ? EFBIG : errno);
	__atomic_store_n(&d->size, size, __ATOMIC_RELAXED);
	return 0;
}

static int file_zero(struct xw_dev *d, uint64_t off, uint64_t len)
{
	uint64_t size = size_now(d), inside;
	int rc = check_write(d, off, len);

	if (rc || !len)
		return rc;
	inside = off >= size ? 0 : XW_MIN(len, size - off);
	if (inside && !zero_by_host(d, off, inside))
		rc = write_zeros(d, off, inside);
	if (!rc && inside < len)
		rc = file_set_size(d, off + len);
	return rc;
}

static int file_flush(struct xw_dev *d)
{
	int r;

	do
		r = fdatasync(file(d)->fd);
	while (r && errno == EINTR);
	if (!r)
		return 0;
	return xw_fail_errno(d->diag, xw_err_of_errno(errno), errno,
			     "%s: cannot flush to the medium", d->name);
}

/* A hint only: errors are reported by flush. */
static void file_writeback(struct xw_dev *d, uint64_t off, uint64_t len)
{
	if (off <= OFF_MAX && len <= OFF_MAX - off)
		(void)sync_file_range(file(d)->fd, (off_t)off, (off_t)len, SYNC_FILE_RANGE_WRITE);
}

/* In steps: one call on Linux reads no more than one request of the device. */
static void file_ahead(struct xw_dev *d, uint64_t off, uint64_t len)
{
	if (off > OFF_MAX || len > OFF_MAX - off)
		return;
	while (len) {
		const uint64_t n = XW_MIN(len, AHEAD_STEP);

		(void)posix_fadvise(file(d)->fd, (off_t)off, (off_t)n, POSIX_FADV_WILLNEED);
		off += n;
		len -= n;
	}
}

static int file_discard(struct xw_dev *d, uint64_t off, uint64_t len)
{
	uint64_t range[2] = {off, len};
	int r;

	if (off > OFF_MAX || len > OFF_MAX - off)
		return XW_ERR_UNSUPPORTED;
	do {
		if (d->is_block)
			r = ioctl(file(d)->fd, BLKDISCARD, range);
		else
			r = fallocate(file(d)->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				      (off_t)off, (off_t)len);
	} while (r && errno == EINTR);
	return r ? XW_ERR_UNSUPPORTED : 0;
}

static bool file_data(struct xw_dev *d, uint64_t off, uint64_t *start, uint64_t *end)
{
	off_t at, hole;

	*start = off;
	*end = UINT64_MAX;
	if (d->is_block || off > OFF_MAX)
		return true;
	at = lseek(file(d)->fd, (off_t)off, SEEK_DATA);
	if (at < 0)
		return errno != ENXIO;
	hole = lseek(file(d)->fd, at, SEEK_HOLE);
	*start = (uint64_t)at;
	*end = hole < 0 ? UINT64_MAX : (uint64_t)hole;
	return true;
}

static int file_reserve(struct xw_dev *d, uint64_t off, uint64_t len)
{
	int rc = check_write(d, off, len), r;

	if (rc || d->is_block || !len)
		return rc;
	do
		r = fallocate(file(d)->fd, FALLOC_FL_KEEP_SIZE, (off_t)off, (off_t)len);
	while (r && errno == EINTR);
	if (r && (errno == EOPNOTSUPP || errno == ENOSYS))
		return XW_ERR_UNSUPPORTED;
	return r ? fail_at(d, "reserve space", off, errno) : 0;
}

static int file_check_end(struct xw_dev *d, uint64_t end)
{
	unsigned long long limit;

	if (!over_limit(d, end, &limit))
		return 0;
	return xw_fail(d->diag, XW_ERR_HOSTFULL,
		       "%s: has to be written up to byte %llu, but the file size limit (ulimit -f) "
		       "is %llu bytes",
		       d->name, (unsigned long long)end, limit);
}

/* A block device is opened with O_EXCL, which prevents mounting. */
static int file_check_unused(struct xw_dev *d)
{
	char loop[64];

	if (d->is_block || !xw_dev_backs_loop(file(d)->fd, loop, sizeof(loop)))
		return 0;
	return xw_fail(d->diag, XW_ERR_BUSY, "%s: in use by %s", d->name, loop);
}

static bool file_hold(struct xw_dev *d, enum xw_dev_hold what)
{
	return d->is_block ? !file(d)->mounted : xw_dev_lease(file(d)->fd, what);
}

static int file_stamp(struct xw_dev *d, struct xw_dev_stamp *out)
{
	uint64_t bytes;
	struct stat st;

	if (fstat(file(d)->fd, &st))
		return xw_fail_errno(d->diag, XW_ERR_IO, errno, "%s: cannot stat", d->name);
	out->size = (uint64_t)st.st_size;
	out->mtime = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	out->room = (uint64_t)st.st_blocks * 512;
	if (!d->is_block)
		return 0;
	out->mtime = 0;
	out->room = 0;
	out->size = ioctl(file(d)->fd, BLKGETSIZE64, &bytes) ? d->size : bytes;
	return 0;
}

/* The cache of a regular file belongs to this host; that of a shared device may be stale. */
static int file_pread_fresh(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	if (d->is_block && xw_dev_read_direct(file(d)->fd, buf, len, off))
		return 0;
	return file_pread(d, buf, len, off);
}

/* Opened again, since direct I/O would not allow libblkid's reads. */
static int file_partitions(struct xw_dev *d, struct xw_partitions *out)
{
	char path[40];
	auto_fd int fd = -1;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", file(d)->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return xw_partitions_read(fd < 0 ? file(d)->fd : fd, out);
}

static void file_close(struct xw_dev *d)
{
	close(file(d)->fd);
	free(d);
}

static const struct xw_dev_ops file_ops = {
	.pread = file_pread,
	.pwritev = file_pwritev,
	.zero = file_zero,
	.flush = file_flush,
	.set_size = file_set_size,
	.close = file_close,
	.writeback = file_writeback,
	.discard = file_discard,
	.data = file_data,
	.reserve = file_reserve,
	.ahead = file_ahead,
	.check_end = file_check_end,
	.check_unused = file_check_unused,
	.hold = file_hold,
	.stamp = file_stamp,
	.pread_fresh = file_pread_fresh,
	.partitions = file_partitions,
};

int xw_dev_fail_open(struct xw_diag *diag, const char *path, int err)
{
	int code = XW_ERR_IO;

	if (err == ENOENT || err == ENOTDIR)
		code = XW_ERR_NOTFOUND;
	else if (err == EEXIST)
		code = XW_ERR_EXISTS;
	else if (err == EWOULDBLOCK)
		return xw_fail(diag, XW_ERR_BUSY, "%s: in use by another process", path);
	else if (err == EBUSY || err == ETXTBSY)
		code = XW_ERR_BUSY;
	else if (err == EISDIR || err == ENAMETOOLONG)
		code = XW_ERR_USAGE;
	else if (err == ENOSPC || err == EDQUOT)
		code = XW_ERR_HOSTFULL;
	return xw_fail_errno(diag, code, err, "%s: cannot open", path);
}

static bool can_hold_image(const struct stat *st)
{
	return S_ISREG(st->st_mode) || S_ISBLK(st->st_mode);
}

/*
 * Another process may hold a lease (hold.c): retry for a moment, but not until the host breaks it.
 */
static int open_patiently(const char *path, int mode)
{
	const struct timespec step = {.tv_nsec = LEASE_STEP_NS};
	unsigned tries = 0;
	int fd;

	do {
		fd = open(path, mode, 0666);
		if (fd < 0 && errno == EWOULDBLOCK && ++tries < LEASE_STEPS) {
			nanosleep(&step, NULL);
			errno = EINTR;
		}
	} while (fd < 0 && errno == EINTR);
	return fd;
}

static int open_fd(const char *path, unsigned flags, struct xw_diag *diag, int *out)
{
	int mode = flags & XW_DEV_RDONLY ? O_RDONLY : O_RDWR, fd;
	struct stat st;

	/* stat first: opening a fifo would block, and a block device must not see O_CREAT. */
	if (stat(path, &st) == 0) {
		if (!can_hold_image(&st))
			return xw_fail(diag, XW_ERR_INPUT, "%s: not a regular file or block device",
				       path);
		if (S_ISBLK(st.st_mode) && mode == O_RDWR && !(flags & XW_DEV_MOUNTED))
			mode |= O_EXCL;
		if (S_ISREG(st.st_mode))
			mode |= O_NONBLOCK;
	}
	if (flags & XW_DEV_DIRECT)
		mode |= O_DIRECT;
	if (flags & XW_DEV_CREATE) {
		if (!(mode & O_EXCL))
			mode |= O_CREAT;
		if (flags & XW_DEV_EXCL)
			mode |= O_CREAT | O_EXCL;
	}
	fd = open_patiently(path, mode | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 && errno == EINVAL && flags & XW_DEV_DIRECT)
		return xw_fail(diag, XW_ERR_UNSUPPORTED, "%s: direct I/O is not supported", path);
	if (fd < 0 && errno == EBUSY && mode & O_EXCL && !(mode & O_CREAT))
		return xw_dev_fail_busy(diag, path);
	if (fd < 0)
		return xw_dev_fail_open(diag, path, errno);
	*out = fd;
	return 0;
}

/*
 * On a block device a held lock is ignored: systemd-repart and udevadm lock hold it while they call
 * mkfs for the device. O_EXCL excludes other writers of block devices.
 */
static int lock_fd(int fd, const char *path, unsigned flags, struct xw_diag *diag)
{
	struct stat st;
	int r;

	do
		r = flock(fd, (flags & XW_DEV_RDONLY ? LOCK_SH : LOCK_EX) | LOCK_NB);
	while (r && errno == EINTR);
	/* A host without locks is accepted: the lock is only advisory among these tools. */
	if (r && errno == EWOULDBLOCK && !(flags & XW_DEV_SHARED) &&
	    !(fstat(fd, &st) == 0 && S_ISBLK(st.st_mode)))
		return xw_fail(diag, XW_ERR_BUSY, "%s: in use by another process", path);
	return 0;
}

static int probe_size(struct file_dev *f, unsigned flags)
{
	struct xw_dev *d = &f->dev;
	struct stat st;
	uint64_t bytes;
	int sector, locked;

	if (fstat(f->fd, &st))
		return xw_fail_errno(d->diag, XW_ERR_IO, errno, "%s: cannot stat", d->name);
	if (!can_hold_image(&st))
		return xw_fail(d->diag, XW_ERR_INPUT, "%s: not a regular file or block device",
			       d->name);
	d->is_block = d->fixed = S_ISBLK(st.st_mode);
	d->rdonly = flags & XW_DEV_RDONLY;
	if (flags & XW_DEV_DIRECT)
		d->align = d->is_block && !ioctl(f->fd, BLKSSZGET, &sector) && sector >= 512
				   ? (uint32_t)sector
				   : ZEROS_LEN;
	if (d->is_block && !(flags & XW_DEV_RDONLY) && !ioctl(f->fd, BLKROGET, &locked) && locked)
		return xw_fail(d->diag, XW_ERR_IO, "%s: the device is read-only", d->name);
	if (d->is_block) {
		if (ioctl(f->fd, BLKGETSIZE64, &bytes))
			return xw_fail_errno(d->diag, XW_ERR_IO, errno,
					     "%s: cannot get the size of the device", d->name);
		d->size = bytes;
		return 0;
	}
	d->size = (uint64_t)st.st_size;
	if (!(flags & XW_DEV_CREATE))
		return 0;
	d->fresh = true;
	return d->size ? file_set_size(d, 0) : 0;
}

int xw_dev_open_fd(int fd, const char *path, unsigned flags, struct xw_diag *diag,
		   struct xw_dev **out)
{
	size_t len = strlen(path) + 1;
	auto_free struct file_dev *f = calloc(1, sizeof(*f) + len);
	int rc;

	if (!f)
		return xw_fail_nomem(diag, "a device");
	rc = lock_fd(fd, path, flags, diag);
	if (rc)
		return rc;
	memcpy(f->name, path, len);
	f->fd = fd;
	f->mounted = flags & XW_DEV_MOUNTED;
	f->dev = (struct xw_dev){.ops = &file_ops, .name = f->name, .diag = diag};
	rc = probe_size(f, flags);
	if (rc)
		return rc;
	*out = &steal(f)->dev;
	return 0;
}

int xw_dev_open_file(const char *path, unsigned flags, struct xw_diag *diag, struct xw_dev **out)
{
	auto_fd int fd = -1;
	int rc;

	if ((flags & XW_DEV_RDONLY) && (flags & XW_DEV_CREATE))
		return xw_fail(diag, XW_ERR_USAGE, "%s: cannot create a file to read only", path);
	rc = open_fd(path, flags, diag, &fd);
	if (!rc)
		rc = xw_dev_open_fd(fd, path, flags, diag, out);
	if (!rc)
		fd = -1;
	return rc;
}
