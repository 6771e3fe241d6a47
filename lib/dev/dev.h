/* SPDX-License-Identifier: MIT */
/*
 * A device: the storage of an image. A vtable, so that an overlay can take the place of a file. All
 * offsets and lengths are bytes.
 *
 * Devices accept calls from several threads at once (the writer thread of the
 * batcher beside readers); other threads may read `size` only while no writer runs.
 */
#ifndef XW_DEV_DEV_H
#define XW_DEV_DEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/err.h"

struct xw_dev;
struct xw_partitions;

/* Operations of hold(). */
enum xw_dev_hold {
	XW_HOLD_QUERY, /* is it held, without a process waiting for it? */
	XW_HOLD_ACQUIRE, /* keep other processes from opening it */
	XW_HOLD_RELEASE, /* release it */
};

/* Properties of a device that change when another process writes to it. */
struct xw_dev_stamp {
	uint64_t size; /* current size on the host, in bytes */
	int64_t mtime; /* time of the last write, nanoseconds since 1970; 0: unknown */
	uint64_t room; /* bytes that the host has allocated; 0: unknown */
};

struct xw_dev_ops {
	/* Exactly len bytes, or an error; reading past the end is XW_ERR_TRUNCATED. */
	int (*pread)(struct xw_dev *d, void *buf, size_t len, uint64_t off);
	/* All bytes of all vectors, or an error. Writing past the end grows the device. */
	int (*pwritev)(struct xw_dev *d, const struct iovec *iov, int n, uint64_t off);
	/*
	 * Make the range read as zeros: a hole where the host can punch one, zeros elsewhere. Past
	 * the end it grows the device.
	 */
	int (*zero)(struct xw_dev *d, uint64_t off, uint64_t len);
	int (*flush)(struct xw_dev *d);
	int (*set_size)(struct xw_dev *d, uint64_t size);
	void (*close)(struct xw_dev *d); /* frees d */
	/*
	 * Optional, NULL where it has no meaning: start writing the range back to the medium now,
	 * so that the final flush has little left to wait for.
	 */
	void (*writeback)(struct xw_dev *d, uint64_t off, uint64_t len);
	/* Optional: start reading the range ahead. */
	void (*ahead)(struct xw_dev *d, uint64_t off, uint64_t len);
	/*
	 * Optional: let the host discard the range, whose contents are undefined afterwards.
	 * XW_ERR_UNSUPPORTED, without a message, if the host cannot.
	 */
	int (*discard)(struct xw_dev *d, uint64_t off, uint64_t len);
	/*
	 * Optional: let the host allocate space for the range; contents and size are unchanged.
	 * XW_ERR_UNSUPPORTED, without a message, if the host cannot.
	 */
	int (*reserve)(struct xw_dev *d, uint64_t off, uint64_t len);
	/*
	 * Optional: XW_ERR_HOSTFULL if the file size limit of this process is below `end`. Called
	 * before the first write, so that an operation does not fail halfway.
	 */
	int (*check_end)(struct xw_dev *d, uint64_t end);
	/* Optional: XW_ERR_BUSY if the file is attached to a loop device, which may be mounted. */
	int (*check_unused)(struct xw_dev *d);
	/*
	 * Optional: exclusive use. True: no other process can open the device (a regular file: for
	 * as long as the host blocks other processes, see hold.c; a block device: with O_EXCL, as
	 * mounts do).
	 */
	bool (*hold)(struct xw_dev *d, enum xw_dev_hold what);
	/* Optional. */
	int (*stamp)(struct xw_dev *d, struct xw_dev_stamp *out);
	/* Optional: as pread, but from the medium where a cache of this host may be stale. */
	int (*pread_fresh)(struct xw_dev *d, void *buf, size_t len, uint64_t off);
	/*
	 * Optional: find the first range at or after off that is not a hole of the host's file;
	 * false if none exists. *end may be beyond the end of the device.
	 */
	bool (*data)(struct xw_dev *d, uint64_t off, uint64_t *start, uint64_t *end);
	/* Optional: the partition table of the whole file or device, as xw_partitions_read(). */
	int (*partitions)(struct xw_dev *d, struct xw_partitions *out);
};

struct xw_dev {
	const struct xw_dev_ops *ops;
	uint64_t size; /* maintained by the implementation */
	const char *name; /* for messages; owned by the device */
	struct xw_diag *diag; /* receives failures; may be NULL */
	bool fresh; /* a regular file that we created: unwritten ranges are holes */
	bool is_block; /* a block device: fixed size, zeros must be written or discarded */
	bool is_window; /* part of a larger device, which may hold more than one filesystem */
	bool fixed; /* its size cannot change: a block device, a window of a disk */
	bool rdonly; /* opened with RDONLY */
	uint32_t align; /* block size in bytes of a file opened with DIRECT; else 0 */
	bool keep; /* zero() must not release space to the host; set by the opener of the device */
};

/* open_file flags */
#define XW_DEV_RDONLY 0x1
#define XW_DEV_CREATE 0x2 /* create; an existing regular file is truncated to zero length */
#define XW_DEV_EXCL 0x4 /* with CREATE: refuse an existing file */
#define XW_DEV_DIRECT 0x8 /* bypass the page cache: only whole blocks, see xw_dev_open_direct */
#define XW_DEV_SHARED 0x10 /* with RDONLY: ignore locks of other processes */
#define XW_DEV_MOUNTED 0x20 /* a block device that may be mounted: open it without O_EXCL */

/*
 * Open a regular file or block device and take an advisory exclusive lock (shared when RDONLY). A
 * block device is opened with O_EXCL as well when writing, which fails if it is mounted, unless
 * MOUNTED is given.
 * XW_ERR_NOTFOUND, XW_ERR_EXISTS (exists, with EXCL), XW_ERR_BUSY, XW_ERR_INPUT (other file type),
 * XW_ERR_HOSTFULL, XW_ERR_IO. Writes: XW_ERR_HOSTFULL when the host is full or cannot store files
 * of this size, else XW_ERR_IO. With DIRECT: XW_ERR_UNSUPPORTED where the host has no direct I/O;
 * its alignment is stored in d->align.
 */
int xw_dev_open_file(const char *path, unsigned flags, struct xw_diag *diag, struct xw_dev **out);
/*
 * Allow any range and memory on a device that accepts only blocks of `align` bytes (a power of two,
 * 512 to 65536) from aligned memory. Owns `under` once it succeeds; closes it.
 */
int xw_dev_open_direct(struct xw_dev *under, uint32_t align, struct xw_dev **out);
/*
 * A null device: writes are discarded and only grow the size, reads return zeros. name: for
 * messages, constant.
 */
int xw_dev_open_null(const char *name, struct xw_diag *diag, struct xw_dev **out);
/*
 * The place of a filesystem that begins at byte `off` of `under` (-E offset=, --partition): a
 * window from there to the end of its partition, see xw_partitions_end(). Without a partition table
 * it ends with the device, and a regular file can grow through it. Owns `under` once it succeeds,
 * and closes it. Messages give offsets in `under`.
 *
 * Where the partitions are unknown, since the table is damaged (XW_ERR_INPUT) or cannot be read
 * (XW_ERR_IO), nothing may be changed. A device opened with RDONLY can be read up to its end.
 *
 * Reading past the end is XW_ERR_TRUNCATED, every change of a byte past the end of a fixed window
 * XW_ERR_HOSTFULL, with nothing changed.
 */
int xw_dev_open_offset(struct xw_dev *under, uint64_t off, struct xw_dev **out);
/* The same for a filesystem that exists: XW_ERR_INPUT if `off` is beyond the end of `under`. */
int xw_dev_open_existing(struct xw_dev *under, uint64_t off, struct xw_dev **out);
/* Likewise the bytes [start, end) of `under`; end UINT64_MAX: to the end, growing with a file. */
int xw_dev_open_window(struct xw_dev *under, uint64_t start, uint64_t end, struct xw_dev **out);

/*
 * Is this regular file, under any name, attached to a loop device, which may be mounted? If so,
 * *loop (of size bytes) is set to the path of the device.
 */
bool xw_dev_backs_loop(int fd, char *loop, size_t size);

static inline int xw_dev_pread(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	return d->ops->pread(d, buf, len, off);
}

static inline int xw_dev_pwritev(struct xw_dev *d, const struct iovec *iov, int n, uint64_t off)
{
	return d->ops->pwritev(d, iov, n, off);
}

int xw_dev_pwrite(struct xw_dev *d, const void *buf, size_t len, uint64_t off);

static inline int xw_dev_zero(struct xw_dev *d, uint64_t off, uint64_t len)
{
	return d->ops->zero(d, off, len);
}

static inline int xw_dev_flush(struct xw_dev *d)
{
	return d->ops->flush(d);
}

static inline int xw_dev_set_size(struct xw_dev *d, uint64_t size)
{
	return d->ops->set_size(d, size);
}

static inline void xw_dev_writeback(struct xw_dev *d, uint64_t off, uint64_t len)
{
	if (d->ops->writeback)
		d->ops->writeback(d, off, len);
}

static inline void xw_dev_ahead(struct xw_dev *d, uint64_t off, uint64_t len)
{
	if (d->ops->ahead)
		d->ops->ahead(d, off, len);
}

static inline int xw_dev_discard(struct xw_dev *d, uint64_t off, uint64_t len)
{
	return d->ops->discard ? d->ops->discard(d, off, len) : XW_ERR_UNSUPPORTED;
}

/* A device that does not know its holes reports all as data. */
static inline bool xw_dev_data(struct xw_dev *d, uint64_t off, uint64_t *start, uint64_t *end)
{
	if (d->ops->data)
		return d->ops->data(d, off, start, end);
	*start = off;
	*end = UINT64_MAX;
	return true;
}

static inline int xw_dev_reserve(struct xw_dev *d, uint64_t off, uint64_t len)
{
	return d->ops->reserve ? d->ops->reserve(d, off, len) : 0;
}

static inline int xw_dev_check_end(struct xw_dev *d, uint64_t end)
{
	return d->ops->check_end ? d->ops->check_end(d, end) : 0;
}

static inline int xw_dev_check_unused(struct xw_dev *d)
{
	return d->ops->check_unused ? d->ops->check_unused(d) : 0;
}

static inline bool xw_dev_hold(struct xw_dev *d, enum xw_dev_hold what)
{
	return d->ops->hold && d->ops->hold(d, what);
}

/* The default is the size that the device maintains. */
static inline int xw_dev_stamp(struct xw_dev *d, struct xw_dev_stamp *out)
{
	*out = (struct xw_dev_stamp){.size = d->size};
	return d->ops->stamp ? d->ops->stamp(d, out) : 0;
}

static inline int xw_dev_pread_fresh(struct xw_dev *d, void *buf, size_t len, uint64_t off)
{
	return d->ops->pread_fresh ? d->ops->pread_fresh(d, buf, len, off)
				   : d->ops->pread(d, buf, len, off);
}

/* d may be NULL */
static inline void xw_dev_close(struct xw_dev *d)
{
	if (d)
		d->ops->close(d);
}

#endif
