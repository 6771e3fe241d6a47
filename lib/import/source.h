/* SPDX-License-Identifier: MIT */
/*
 * A source of files: a tar stream (our own reader), another archive (libarchive), a directory, or a
 * container image. It returns entries in order; payload is read in pieces that point into the
 * buffers of the source.
 */
#ifndef XW_IMPORT_SOURCE_H
#define XW_IMPORT_SOURCE_H

#include "base/err.h"
#include "base/types.h"
#include "import/feed.h"
#include "import/slice.h"
#include "import/spool.h"

enum xw_etype {
	XW_ET_REG,
	XW_ET_DIR,
	XW_ET_LNK,
	XW_ET_CHR,
	XW_ET_BLK,
	XW_ET_FIFO,
	XW_ET_SOCK,
	XW_ET_HARDLINK
};

struct xw_entry_xattr {
	struct xw_slice name; /* full name with prefix; not empty, without NUL */
	struct xw_slice value; /* at most 64 KiB; may be empty */
};

/*
 * A data segment of a sparse file. Segments ascend, are disjoint and not empty; the rest is holes.
 */
struct xw_segment {
	uint64_t off, len;
};

#define XW_SIZE_UNKNOWN UINT64_MAX

/*
 * Pointers are valid until the next xw_source_next() or xw_source_close(), those to payload until
 * any next call.
 */
struct xw_entry {
	struct xw_slice path; /* as stored: not normalized; not empty, without NUL */
	struct xw_slice link; /* target of a symlink or hard link; likewise */
	enum xw_etype type;
	uint32_t mode; /* permission bits, 07777 */
	uint32_t uid, gid;
	/*
	 * File size in bytes, including holes; XW_SIZE_UNKNOWN: known when read() reports the end;
	 * 0 without payload.
	 */
	uint64_t size;
	struct xw_time mtime, atime;
	struct xw_time ctime; /* host directories only */
	bool has_atime, has_ctime;
	uint16_t chattr; /* XW_BN_CHATTR flags; files and directories of the host only */
	uint32_t dev_major, dev_minor; /* devices only */
	/* Hard links: payload of `size` bytes replaces the contents of the target (cpio, pax). */
	bool link_data;
	bool single; /* the source has no hard link to this name */
	/*
	 * segs is the data map; payload pieces have file offsets. If false, gaps between pieces
	 * (libarchive) are holes, too.
	 */
	bool sparse;
	const struct xw_segment *segs;
	size_t n_segs;
	/* distinct names; may include raw system.posix_acl_* */
	const struct xw_entry_xattr *xattrs;
	size_t n_xattrs;
	struct xw_slice acl_access, acl_default; /* ACLs in text form (SCHILY.acl); len 0: none */
	/*
	 * Line number in a device table, or 0. An existing file of the same type keeps contents,
	 * times and xattrs, but gets mode and owner. A missing file is created, unless optional.
	 */
	unsigned long listed;
	bool optional;
	/* offset of the member's first header in the uncompressed stream, for messages */
	uint64_t pos;
};

struct xw_source;

struct xw_source_ops {
	/* Read the next entry: 1 and *e, 0 at the end, or a failure. Skips unread payload. */
	int (*next)(struct xw_source *s, const struct xw_entry **e);
	/*
	 * Read payload of the current entry: 1 and a piece at file offset *off, or 0 at its end.
	 * Pieces ascend, are disjoint and not empty, and end within a known size.
	 */
	int (*read)(struct xw_source *s, const void **buf, size_t *len, uint64_t *off);
	void (*close)(struct xw_source *s);
	/* Number of input bytes consumed, for progress; in the same unit as `total`. NULL: 0. */
	uint64_t (*consumed)(const struct xw_source *s);
	/*
	 * Container images: start the next layer, the lowest first, and set s->name to its name: 1,
	 * 0 after the last one, or a failure. NULL: a single layer, already started.
	 */
	int (*layer)(struct xw_source *s);
	/*
	 * Is the payload of the current entry, none of which was read, stored unchanged in a
	 * regular file? Then *fd, which stays open until the next layer or the end of the source,
	 * and the offset in it; with a data map only the segments are stored. NULL: no.
	 */
	bool (*stored)(const struct xw_source *s, int *fd, uint64_t *off);
};

struct xw_source {
	const struct xw_source_ops *ops;
	char *name; /* for messages; owned */
	uint64_t total; /* size of the input, or 0 if unknown */
	struct xw_diag *diag;
	bool is_host_dir; /* a directory of the host, not an archive */
	const void *config; /* configuration of a container image (JSON), or NULL */
	size_t config_len;
};

/* Identifies a file of the host. */
struct xw_file_id {
	uint64_t dev, ino;
};

struct xw_source_opts {
	bool threaded; /* read (and decompress) ahead in a thread */
	bool one_file_system; /* directory source: do not descend into mounts */
	bool ignore_unreadable; /* directory source: skip unreadable files with a warning */
	bool no_atime; /* directory source: do not report access times */
	/*
	 * Directory source: files to be skipped with a warning (the image itself, and a file that
	 * it replaces); ino 0: none.
	 */
	struct xw_file_id skip[2];
	/*
	 * Directory source: returns 1 for paths to be skipped with everything below them, 0, or
	 * XW_ERR_NOMEM. Skipped paths are not accessed, and the contents of a file with several
	 * names belong to the first name that is not skipped. NULL: none.
	 */
	int (*excluded)(const void *arg, struct xw_slice path);
	const void *excluded_arg;
	struct xw_feed_tick tick; /* called while waiting for input */
	bool by_libarchive; /* for tests: read tar and cpio by libarchive, too */
	bool no_oci; /* treat container images as plain directories and archives */
	const char *platform; /* for container images: OS/ARCH[/VARIANT]; NULL: this machine */
	struct xw_spool_opts spool; /* limits for temporary files */
};

/*
 * Open a source. path: a directory, an archive file, "-" for standard input (which stays open), or
 * a container image: an OCI layout or an archive of `docker save`, with or without a prefix
 * (import/oci.h). Format and compression are detected from the first bytes: tar and cpio are read
 * by our own readers, everything else by libarchive. diag must outlive the source. Failures:
 * XW_ERR_IO (cannot open, cannot read), XW_ERR_INPUT (empty, unknown format), XW_ERR_TRUNCATED.
 */
int xw_source_open(const char *path, const struct xw_source_opts *o, struct xw_diag *diag,
		   struct xw_source **out);

/* Report, by errno, that a source could not be opened. */
int xw_source_fail_open(const char *name, struct xw_diag *diag);

/*
 * The file, directory or "-" of a source: `path` without prefix and reference of a container image.
 * To be freed; NULL: out of memory.
 */
char *xw_source_file(const char *path, bool no_oci);
/* Open an archive that is read by a callback, in the caller's thread. name: for messages. */
int xw_source_open_call(struct xw_feed_call call, const char *name, const struct xw_source_opts *o,
			struct xw_diag *diag, struct xw_source **out);

static inline bool xw_entry_is_device(const struct xw_entry *e)
{
	return e->type == XW_ET_CHR || e->type == XW_ET_BLK;
}

static inline int xw_source_next(struct xw_source *s, const struct xw_entry **e)
{
	return s->ops->next(s, e);
}

static inline int xw_source_read(struct xw_source *s, const void **buf, size_t *len, uint64_t *off)
{
	return s->ops->read(s, buf, len, off);
}

static inline bool xw_source_stored(const struct xw_source *s, int *fd, uint64_t *off)
{
	return s->ops->stored && s->ops->stored(s, fd, off);
}

static inline void xw_source_close(struct xw_source *s)
{
	if (s)
		s->ops->close(s);
}

static inline void xw_source_end(struct xw_source **s)
{
	xw_source_close(*s);
}
#define auto_source __attribute__((cleanup(xw_source_end)))

static inline uint64_t xw_source_consumed(const struct xw_source *s)
{
	return s->ops->consumed ? s->ops->consumed(s) : 0;
}

#endif
