/* SPDX-License-Identifier: MIT */
/*
 * A device: what an image lives on. A few calls behind a vtable, so that tests and overlays use
 * memory where tools use a file. All offsets and lengths are bytes.
 *
 * File and memory devices take calls from several threads at once (the batcher's writer beside
 * readers); `size` may be read by others only while no writer runs.
 */
#ifndef XW_DEV_DEV_H
#define XW_DEV_DEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/err.h"

#pragma GCC visibility push(default)

struct xw_dev;

/* What hold() is asked for. */
enum xw_dev_hold {
	XW_HOLD_ASK, /* is it held, and does nobody wait for it? */
	XW_HOLD_TAKE, /* keep other processes from opening it */
	XW_HOLD_DROP, /* let them */
};

/* What changes when another process writes to a device. */
struct xw_dev_stamp {
	uint64_t size; /* as the host has it now, bytes */
	int64_t mtime; /* of the last write, nanoseconds since 1970; 0: the host does not say */
	uint64_t room; /* that the host has allocated, bytes; 0: it does not say */
};

struct xw_dev_ops {
	/* Exactly len bytes, or an error; reading past the end is XW_ERR_TRUNCATED. */
	int (*pread)(struct xw_dev *d, void *buf, size_t len, uint64_t off);
	/* All bytes of all vectors, or an error. Writing past the end grows the device. */
	int (*pwritev)(struct xw_dev *d, const struct iovec *iov, int n, uint64_t off);
	/* The range reads as zeros afterwards: a hole where the host can punch, zeros elsewhere.
	 * Past the end it grows the device. */
	int (*zero)(struct xw_dev *d, uint64_t off, uint64_t len);
	int (*flush)(struct xw_dev *d);
	int (*set_size)(struct xw_dev *d, uint64_t size);
	void (*close)(struct xw_dev *d); /* frees d */
	/* Optional, NULL where it means nothing: begin to write the range back to the medium now,
	 * so that the flush at the end has little left to wait for. */
	void (*writeback)(struct xw_dev *d, uint64_t off, uint64_t len);
	/* Optional likewise: the range will be read soon; begin to fetch it. */
	void (*ahead)(struct xw_dev *d, uint64_t off, uint64_t len);
	/* Optional: the host may forget the range, which reads as anything then.
	 * XW_ERR_UNSUPPORTED, without a line, when it does not. */
	int (*discard)(struct xw_dev *d, uint64_t off, uint64_t len);
	/* Optional likewise: contents and size stay, and the host has room for whatever is written
	 * to the range. XW_ERR_UNSUPPORTED, without a line, when it cannot promise that. */
	int (*reserve)(struct xw_dev *d, uint64_t off, uint64_t len);
	/* Optional likewise: XW_ERR_HOSTFULL when this process may not write as far as byte `end`,
	 * which each such write would say, too late. */
	int (*check_end)(struct xw_dev *d, uint64_t end);
	/* Optional likewise: XW_ERR_BUSY when now a loop device stands on it, which may be mounted.
	 */
	int (*check_unused)(struct xw_dev *d);
	/*
	 * Optional: exclusive use. True: no other process can open it (a regular file: for as long
	 * as the host lets others wait, see hold.c; a block device: with O_EXCL, as mounts do).
	 */
	bool (*hold)(struct xw_dev *d, enum xw_dev_hold what);
	/* Optional likewise. */
	int (*stamp)(struct xw_dev *d, struct xw_dev_stamp *out);
	/* Optional: as pread, but from the medium where a cache of this host may be stale. */
	int (*pread_fresh)(struct xw_dev *d, void *buf, size_t len, uint64_t off);
};

struct xw_dev {
	const struct xw_dev_ops *ops;
	uint64_t size; /* kept true by the implementation */
	const char *name; /* for messages; owned by the device */
	struct xw_diag *diag; /* where failures are described; may be NULL */
	bool fresh; /* a regular file made by us: unwritten ranges are holes */
	bool is_block; /* a block device: fixed size, zeros must be written or discarded */
	uint32_t align; /* of a file opened with DIRECT: its blocks in bytes; else 0 */
	bool keep; /* zero() gives no room back to the host: set by who opened it */
};

/* open_file flags */
#define XW_DEV_RDONLY 0x1
#define XW_DEV_CREATE 0x2 /* create; an existing regular file is truncated to zero length */
#define XW_DEV_EXCL 0x4 /* with CREATE: refuse an existing file */
#define XW_DEV_DIRECT 0x8 /* past the page cache: only whole blocks, see xw_dev_open_direct */
#define XW_DEV_SHARED 0x10 /* with RDONLY: no matter who has it locked */

/*
 * A regular file or block device, taken with an advisory exclusive lock (shared when RDONLY); a
 * block device also with O_EXCL when writing, which a mounted one refuses.
 * XW_ERR_NOTFOUND, XW_ERR_EXISTS (there under EXCL), XW_ERR_BUSY, XW_ERR_USAGE (other file type),
 * XW_ERR_HOSTFULL, XW_ERR_IO. Writes: XW_ERR_HOSTFULL when the host has no room or cannot hold
 * files of this size, else XW_ERR_IO. With DIRECT: XW_ERR_UNSUPPORTED where the host has no such
 * thing, and whatever it needs is in d->align.
 */
int xw_dev_open_file(const char *path, unsigned flags, struct xw_diag *diag, struct xw_dev **out);
/*
 * Any range and memory on a device that takes only blocks of `align` bytes (a power of two, 512 to
 * 65536) from aligned memory. Owns `under` once it succeeds; closes it.
 */
int xw_dev_open_direct(struct xw_dev *under, uint32_t align, struct xw_dev **out);
/* Memory, in sparse pages; size bytes of zeros at first. */
int xw_dev_open_mem(uint64_t size, struct xw_diag *diag, struct xw_dev **out);
/* Nowhere: what is written is forgotten but for the size it made, what is read are zeros. name: for
 * messages, constant. */
int xw_dev_open_null(const char *name, struct xw_diag *diag, struct xw_dev **out);
/* `off` bytes into `under` (mkfs -E offset=). Owns `under` once it succeeds; closes it. Messages
 * name offsets in `under`. */
int xw_dev_open_offset(struct xw_dev *under, uint64_t off, struct xw_dev **out);

/* Does a loop device, which may be mounted, stand on this regular file, by whatever name? Then
 * *loop (of size bytes) is the device's path. */
bool xw_dev_behind_loop(int fd, char *loop, size_t size);

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

/* Where the host does not say: the size that the device has itself. */
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

#pragma GCC visibility pop

#endif
