/* SPDX-License-Identifier: MIT */
/*
 * A source of files: a tar stream (own reader), any other archive (libarchive), a directory. It
 * hands out entries in order; payload is pulled in pieces that point into the source's own buffers.
 */
#ifndef XW_IMPORT_SOURCE_H
#define XW_IMPORT_SOURCE_H

#include "base/err.h"
#include "base/types.h"
#include "import/feed.h"

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

/* Of a sparse file: data at off; everything else is a hole. Ascending, disjoint, len > 0. */
struct xw_segment {
	uint64_t off, len;
};

#define XW_SIZE_UNKNOWN UINT64_MAX

/*
 * All pointers stay valid until the next xw_source_next or xw_source_close; a payload piece only
 * until the next call of any kind.
 */
struct xw_entry {
	struct xw_slice path; /* as stored: not normalised; not empty, no NUL inside */
	struct xw_slice link; /* symlink text or hard link target; likewise */
	enum xw_etype type;
	uint32_t mode; /* permission bits, 07777 */
	uint32_t uid, gid;
	uint64_t size; /* bytes of the file, holes included; XW_SIZE_UNKNOWN: until
					   read says end; 0 where there is no payload */
	struct xw_time mtime, atime;
	bool has_atime;
	uint32_t dev_major, dev_minor; /* of CHR and BLK */
	bool link_data; /* HARDLINK: payload of `size` bytes follows and replaces the
					   target's content (cpio, pax) */
	bool sparse; /* segs is the data map; payload pieces carry absolute
					   offsets. Without it a gap between pieces (libarchive)
					   is a hole too */
	const struct xw_segment *segs;
	size_t n_segs;
	const struct xw_entry_xattr *xattrs; /* distinct names; raw system.posix_acl_* included */
	size_t n_xattrs;
	struct xw_slice acl_access, acl_default; /* SCHILY.acl text; len 0 = none */
	uint64_t pos; /* byte offset of the member's first header in the
					   (uncompressed) stream, for messages; 0 for a directory */
};

struct xw_source;

struct xw_source_ops {
	/* 1: *e is the next entry; 0: end; negative: failure. Skips what was not read of the last
	 * payload. */
	int (*next)(struct xw_source *s, const struct xw_entry **e);
	/* Payload of the current entry: 1 and a piece at file offset *off; 0 at its end. Pieces
	 * ascend, do not overlap, are not empty and end within a known size. */
	int (*read)(struct xw_source *s, const void **buf, size_t *len, uint64_t *off);
	void (*close)(struct xw_source *s);
	/* Bytes of input consumed so far, for progress; the same bytes that `total` counts. */
	uint64_t (*consumed)(const struct xw_source *s);
};

struct xw_source {
	const struct xw_source_ops *ops;
	char *name; /* for messages; owned */
	uint64_t total; /* input bytes when known, else 0 */
	struct xw_diag *diag;
	bool is_host_dir; /* a directory of the host, not an archive */
};

/* A file of the host. */
struct xw_file_id {
	uint64_t dev, ino;
};

struct xw_source_opts {
	bool threaded; /* read (and decompress) ahead in a thread */
	bool one_file_system; /* directory source: do not descend into mounts */
	bool no_atime; /* directory source: no access times, which reading changes */
	/*
	 * Directory source: leave these files out with a warning (the image itself, when it lies
	 * inside, and one that it will replace); ino 0: none.
	 */
	struct xw_file_id skip[2];
	/*
	 * Directory source: true for paths that are left out, with all below them. They are not
	 * looked at, and of a file with several names the first one left is the file. NULL: none.
	 */
	bool (*excluded)(const void *arg, struct xw_slice path);
	const void *excluded_arg;
	struct xw_feed_tick tick; /* while input is waited for */
	bool by_libarchive; /* tests: give tar to libarchive too */
};

/*
 * path: a directory, an archive file, "-" for fd 0 (which stays open). Format and compression are
 * found from the first bytes. tar goes to the own reader (through libarchive's decompressor when
 * compressed), everything else to libarchive. diag must outlive the source. Failures: XW_ERR_IO
 * (cannot open, cannot read), XW_ERR_INPUT (empty, no known format), XW_ERR_TRUNCATED.
 */
int xw_source_open(const char *path, const struct xw_source_opts *o, struct xw_diag *diag,
		   struct xw_source **out);

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
