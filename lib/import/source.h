/* SPDX-License-Identifier: MIT */
/*
 * A source of files: a tar stream (own reader), any other archive (libarchive), a directory. It
 * returns entries in order; payload is read in pieces that point into the buffers of the source.
 */
#ifndef XW_IMPORT_SOURCE_H
#define XW_IMPORT_SOURCE_H

#include "base/err.h"
#include "base/types.h"
#include "import/feed.h"
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

struct xw_slice {
	const char *p;
	size_t len;
};

struct xw_entry_xattr {
	struct xw_slice name; /* full, with prefix; not empty, no NUL inside */
	struct xw_slice value; /* at most 64 KiB; may be empty */
};

/* Data of a sparse file at off; all else is a hole. Ascending, disjoint, len > 0. */
struct xw_segment {
	uint64_t off, len;
};

#define XW_SIZE_UNKNOWN UINT64_MAX

/*
 * All pointers stay valid until the next xw_source_next or xw_source_close; a payload piece only
 * until the next call of any kind.
 */
struct xw_entry {
	struct xw_slice path; /* as stored: not normalized; not empty, no NUL inside */
	struct xw_slice link; /* symlink target or hard link target; likewise */
	enum xw_etype type;
	uint32_t mode; /* permission bits, 07777 */
	uint32_t uid, gid;
	/*
	 * size of the file in bytes, including holes; XW_SIZE_UNKNOWN: until read reports the end;
	 * 0 without payload
	 */
	uint64_t size;
	struct xw_time mtime, atime;
	struct xw_time ctime; /* of a host directory only */
	bool has_atime, has_ctime;
	uint16_t chattr; /* of files and directories of the host: XW_BN_CHATTR */
	uint32_t dev_major, dev_minor; /* of CHR and BLK */
	/*
	 * HARDLINK: payload of `size` bytes follows and replaces the contents of the target (cpio,
	 * pax)
	 */
	bool link_data;
	/*
	 * segs is the data map; payload pieces have absolute offsets. Without it a gap between
	 * pieces (libarchive) is a hole, too
	 */
	bool sparse;
	const struct xw_segment *segs;
	size_t n_segs;
	const struct xw_entry_xattr *xattrs; /* distinct names; includes raw system.posix_acl_* */
	size_t n_xattrs;
	struct xw_slice acl_access, acl_default; /* SCHILY.acl text; len 0 = none */
	/*
	 * of a table of files, from this line: what has that name and type keeps contents, time and
	 * attributes, and gets mode and owner; what is missing is made, unless it is optional
	 */
	unsigned long listed; /* 0: not of a table */
	bool optional;
	uint64_t pos; /* byte offset of the member's first header in the
					   (uncompressed) stream, for messages; 0 for a directory */
};

struct xw_source;

struct xw_source_ops {
	/*
	 * 1: *e is the next entry; 0: end; negative: failure. Skips the unread part of the last
	 * payload.
	 */
	int (*next)(struct xw_source *s, const struct xw_entry **e);
	/*
	 * Payload of the current entry: 1 and a piece at file offset *off; 0 at its end. Pieces are
	 * ascending, disjoint, not empty and end within a known size.
	 */
	int (*read)(struct xw_source *s, const void **buf, size_t *len, uint64_t *off);
	void (*close)(struct xw_source *s);
	/* Bytes of input consumed so far, for progress; in the same units as `total`. */
	uint64_t (*consumed)(const struct xw_source *s);
	/*
	 * A source of layers (a container image), the lowest first: begin the next one, which
	 * s->name then names. 1, 0 at the end, or a failure. NULL: there is one layer, and it has
	 * begun.
	 */
	int (*layer)(struct xw_source *s);
};

struct xw_source {
	const struct xw_source_ops *ops;
	char *name; /* for messages; owned */
	uint64_t total; /* size of the input if known, else 0 */
	struct xw_diag *diag;
	bool is_host_dir; /* a directory of the host, not an archive */
	const void *config; /* of a container image, as stored: JSON, config_len bytes; else NULL */
	size_t config_len;
};

/* A file of the host. */
struct xw_file_id {
	uint64_t dev, ino;
};

struct xw_source_opts {
	bool threaded; /* read (and decompress) ahead in a thread */
	bool one_file_system; /* directory source: do not descend into mounts */
	bool ignore_unreadable; /* directory source: leave out what may not be read, and say so */
	bool no_atime; /* directory source: do not update access times when reading */
	/*
	 * Directory source: skip these files with a warning (the image itself, if it is inside, and
	 * one that it replaces); ino 0: none.
	 */
	struct xw_file_id skip[2];
	/*
	 * Directory source: true for paths to be skipped, with everything below them. They are not
	 * accessed, and the contents of a file with several names belong to the first name that is
	 * not skipped. NULL: none.
	 */
	bool (*excluded)(const void *arg, struct xw_slice path);
	const void *excluded_arg;
	struct xw_feed_tick tick; /* called while waiting for input */
	bool by_libarchive; /* tests: use libarchive for tar, too */
	bool no_oci; /* container images are directories and archives as others */
	const char *platform; /* of container images: OS/ARCH[/VARIANT]; NULL: of this machine */
	struct xw_spool_opts spool; /* for temporary files */
};

/*
 * path: a directory, an archive file, "-" for fd 0 (which stays open), or a container image: an OCI
 * layout or the archive of `docker save`, with or without a prefix (import/oci.h). Format and
 * compression are detected from the first bytes. tar is read by our own reader (through
 * libarchive's decompressor if compressed), everything else by libarchive. diag must outlive the
 * source. Failures: XW_ERR_IO (cannot open, cannot read), XW_ERR_INPUT (empty, unknown format),
 * XW_ERR_TRUNCATED.
 */
int xw_source_open(const char *path, const struct xw_source_opts *o, struct xw_diag *diag,
		   struct xw_source **out);

/* The failure, by errno, to open a source. */
int xw_source_fail_open(const char *name, struct xw_diag *diag);

/* The file, directory or "-" of a source: `path` without the words for container images. Owned. */
char *xw_source_file(const char *path, bool no_oci);
/* The same for an archive that a function supplies, on the caller's thread; name: for messages. */
int xw_source_open_call(struct xw_feed_call call, const char *name, const struct xw_source_opts *o,
			struct xw_diag *diag, struct xw_source **out);

static inline int xw_source_next(struct xw_source *s, const struct xw_entry **e)
{
	return s->ops->next(s, e);
}

static inline int xw_source_read(struct xw_source *s, const void **buf, size_t *len, uint64_t *off)
{
	return s->ops->read(s, buf, len, off);
}

static inline void xw_source_close(struct xw_source *s)
{
	if (s)
		s->ops->close(s);
}

static inline uint64_t xw_source_consumed(const struct xw_source *s)
{
	return s->ops->consumed(s);
}

#endif
