/* SPDX-License-Identifier: MIT */
/*
 * Files of an archive that an option leaves out, as --exclude, --strip-components, --transform and
 * --newer do: a hard link that is selected may refer to one, and then becomes its first name.
 * Internal to the filling code.
 */
#ifndef XW_IMPORT_UNSELECTED_H
#define XW_IMPORT_UNSELECTED_H

#include "base/arena.h"
#include "base/table.h"
#include "import/fill.h"
#include "import/spool.h"

/* A file without a selected name so far. */
struct xw_unselected_file {
	/*
	 * Type, attributes, size and data map; without a name. XW_ET_HARDLINK: the names that were
	 * left out are further names of `node`, a selected file.
	 */
	struct xw_entry e;
	/* the parts of the file that are stored, one after the other, in fd from `at` on */
	const struct xw_segment *parts;
	size_t n_parts;
	int fd;
	uint64_t at;
	bool lost; /* its contents are not stored */
	struct xw_binode *node; /* the inode once a hard link was selected; NULL: none yet */
};

struct xw_unselected {
	struct xw_table names; /* of files, by normalized path */
	struct xw_arena arena;
	struct xw_spool_file spool; /* contents that the source does not keep */
	bool spooling, no_spool; /* the file is open; it could not be created */
	const char *why; /* why contents are lost, the first reason; NULL: none */
	XW_VEC(char) key; /* scratch for a normalized path */
};

/*
 * An entry was left out: remember it under its name in the archive, with its contents. Only a
 * failure to read the source, to change the image or to allocate memory is one: contents that
 * cannot be stored matter only if a hard link to them is selected.
 */
int xw_unselected_add(struct xw_fill *f, struct xw_source *s, const struct xw_entry *e);
/* An entry with this name was selected: it replaces one that was left out before. */
int xw_unselected_forget(struct xw_fill *f, struct xw_slice path);
/* The file that was left out under this name; *out NULL: none. 0 or XW_ERR_NOMEM. */
int xw_unselected_find(struct xw_fill *f, struct xw_slice path, struct xw_unselected_file **out);
/* Forget all names at the end of an archive or layer. */
void xw_unselected_free(struct xw_fill *f);

/* The stored contents of a file as a source, from which only payload is read. */
struct xw_unselected_read {
	struct xw_source src;
	const struct xw_unselected_file *file;
	size_t part; /* index of the part being read */
	uint64_t off, done; /* offset in that part, and bytes read of all parts */
	unsigned char *buf; /* owned */
};
int xw_unselected_open(const struct xw_fill *f, const struct xw_unselected_file *file,
		       struct xw_unselected_read *r);

#endif
