/* SPDX-License-Identifier: MIT */
/*
 * A source of files: a tar stream (own reader), any other archive (libarchive), a directory. It hands out entries in order; payload is pulled in pieces
 * that point into the source's own buffers.
 */
#ifndef XW_IMPORT_SOURCE_H
#define XW_IMPORT_SOURCE_H

#include "base/err.h"
#include "base/types.h"

enum xw_etype { XW_ET_REG, XW_ET_DIR, XW_ET_LNK, XW_ET_CHR, XW_ET_BLK, XW_ET_FIFO, XW_ET_SOCK, XW_ET_HARDLINK };

struct xw_slice {
	const char *p;
	size_t len;
};

struct xw_entry_xattr {
	struct xw_slice name;           /* full, with prefix */
	struct xw_slice value;
};

struct xw_segment {                     /* of a sparse file: data at off; everything else is a hole */
	uint64_t off, len;
};

#define XW_SIZE_UNKNOWN UINT64_MAX

/* All pointers are valid until the next call on the source. */
struct xw_entry {
	struct xw_slice path;           /* as stored; not normalised */
	struct xw_slice link;           /* symlink text or hard link target */
	enum xw_etype type;
	uint32_t mode;                  /* permission bits, 07777 */
	uint32_t uid, gid;
	uint64_t size;                  /* bytes of the file, holes included; XW_SIZE_UNKNOWN: until read says end */
	struct xw_time mtime, atime;
	bool has_atime;
	uint32_t dev_major, dev_minor;
	bool link_data;                 /* HARDLINK: payload follows and replaces the target's content (cpio, pax) */
	uint64_t host_links;            /* directory source: st_nlink > 1, keyed by host_dev/host_ino */
	bool sparse;                    /* segs is the data map; payload pieces carry absolute offsets */
	const struct xw_segment *segs;
	size_t n_segs;
	const struct xw_entry_xattr *xattrs;
	size_t n_xattrs;
	struct xw_slice acl_access, acl_default;        /* SCHILY.acl text; len 0 = none */
	uint64_t pos;                   /* byte offset in the archive stream, for messages; 0 unknown */
};

struct xw_source;

struct xw_source_ops {
	/* 1: *e is the next entry; 0: end; negative: failure. Skips what was not read of the last payload. */
	int (*next)(struct xw_source *s, const struct xw_entry **e);
	/* Payload of the current entry: 1 and a piece at file offset *off; 0 at its end. Pieces ascend and do not overlap. */
	int (*read)(struct xw_source *s, const void **buf, size_t *len, uint64_t *off);
	void (*close)(struct xw_source *s);
	/* Bytes of input consumed so far, for progress. */
	uint64_t (*consumed)(const struct xw_source *s);
};

struct xw_source {
	const struct xw_source_ops *ops;
	const char *name;               /* for messages; owned */
	uint64_t total;                 /* input bytes when known, else 0 */
	struct xw_diag *diag;
};

struct xw_source_opts {
	bool threaded;                  /* read (and decompress) ahead in a thread */
	bool one_file_system;           /* directory source */
};

/*
 * path: a directory, an archive file, "-" for fd 0. Format and compression are found from the first bytes. tar goes to
 * the own reader (through libarchive's decompressor when compressed), everything else to libarchive.
 */
int xw_source_open(const char *path, const struct xw_source_opts *o, struct xw_diag *diag, struct xw_source **out);

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

#endif
