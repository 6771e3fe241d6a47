/* SPDX-License-Identifier: MIT */
/*
 * Nothing is written to the image for an entry that is left out: freed blocks in the middle of a
 * stream would enlarge an image whose size is not given. Contents are read again from an archive
 * that is an uncompressed file; those of other sources are copied to a temporary file. The archive
 * is read once.
 *
 * Names are those in the archive, before --transform and --strip-components: hard links refer to
 * them.
 */
#include "config.h"

#include "import/unselected.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "disk/inode.h"

#define PIECE ((size_t)256 << 10)

/* ---- names ---- */

struct name {
	struct xw_slice path; /* p NULL: unused slot */
	struct xw_unselected_file *file; /* NULL: an entry of this name was selected later */
};

static bool name_used(const void *slot)
{
	return ((const struct name *)slot)->path.p;
}

static bool name_same(const void *arg, const void *slot, const void *key)
{
	(void)arg;
	return xw_slice_same(((const struct name *)slot)->path, *(const struct xw_slice *)key);
}

static uint64_t name_hash(const struct xw_table *t, const void *arg, const void *slot)
{
	const struct name *n = slot;

	(void)arg;
	return xw_table_bytes(t, n->path.p, n->path.len);
}

static const struct xw_table_kind by_path = {sizeof(struct name), name_used, name_same, name_hash};

/* The path without empty components and ".", in scratch memory; len 0: the root. */
static int normalize(struct xw_unselected *u, struct xw_slice path, struct xw_slice *out)
{
	struct xw_slice part;

	u->key.n = 0;
	if (xw_vec_reserve(&u->key, path.len + 1))
		return XW_ERR_NOMEM;
	while ((part = xw_slice_component(&path)).len) {
		if (u->key.n)
			u->key.v[u->key.n++] = '/';
		memcpy(u->key.v + u->key.n, part.p, part.len);
		u->key.n += part.len;
	}
	*out = (struct xw_slice){u->key.v, u->key.n};
	return 0;
}

/* The slot of a name, or NULL. */
static int find(struct xw_unselected *u, struct xw_slice path, struct name **out)
{
	struct xw_slice key;

	*out = NULL;
	if (!u || !u->names.n)
		return 0;
	if (normalize(u, path, &key))
		return XW_ERR_NOMEM;
	*out = xw_table_get(&u->names, &by_path, NULL, xw_table_bytes(&u->names, key.p, key.len),
			    &key);
	return 0;
}

static int fail_nomem(const struct xw_fill *f)
{
	return xw_fail_nomem(f->diag, "names of entries that are left out");
}

int xw_unselected_find(struct xw_fill *f, struct xw_slice path, struct xw_unselected_file **out)
{
	struct name *n;
	const int rc = find(f->unselected, path, &n);

	*out = n ? n->file : NULL;
	return rc ? fail_nomem(f) : 0;
}

int xw_unselected_forget(struct xw_fill *f, struct xw_slice path)
{
	struct name *n;
	const int rc = find(f->unselected, path, &n);

	if (n)
		n->file = NULL;
	return rc ? fail_nomem(f) : 0;
}

static int set_name(struct xw_unselected *u, struct xw_slice path, struct xw_unselected_file *file)
{
	struct xw_slice key;
	struct name *n;

	if (xw_table_room(&u->names, &by_path, NULL) || normalize(u, path, &key))
		return XW_ERR_NOMEM;
	n = xw_table_slot(&u->names, &by_path, NULL, xw_table_bytes(&u->names, key.p, key.len),
			  &key);
	if (!n->path.p) {
		/* one more byte: a name of the root is empty, but not unused */
		char *copy = xw_arena_alloc(&u->arena, key.len + 1, 1);

		if (!copy)
			return XW_ERR_NOMEM;
		memcpy(copy, key.p, key.len);
		n->path = (struct xw_slice){copy, key.len};
		u->names.n++;
	}
	n->file = file;
	return 0;
}

void xw_unselected_free(struct xw_fill *f)
{
	struct xw_unselected *u = f->unselected;

	if (!u)
		return;
	if (u->spooling)
		close(u->spool.fd);
	xw_table_free(&u->names);
	xw_arena_free(&u->arena);
	xw_vec_free(&u->key);
	free(u);
	f->unselected = NULL;
}

/* ---- entries ---- */

static void *copy_bytes(struct xw_unselected *u, const void *p, size_t n, size_t align)
{
	void *copy = xw_arena_alloc(&u->arena, XW_MAX(n, (size_t)1), align);

	if (copy && n)
		memcpy(copy, p, n);
	return copy;
}

/* Replace *s by a copy of the string. */
static int copy_slice(struct xw_unselected *u, struct xw_slice *s)
{
	s->p = copy_bytes(u, s->p, s->len, 1);
	return s->p ? 0 : XW_ERR_NOMEM;
}

/* Copy the data map, if there is one. */
static int copy_map(struct xw_unselected *u, struct xw_entry *e)
{
	if (e->sparse)
		e->segs = copy_bytes(u, e->segs, e->n_segs * sizeof(*e->segs),
				     _Alignof(struct xw_segment));
	return e->sparse && !e->segs ? XW_ERR_NOMEM : 0;
}

static int copy_xattrs(struct xw_unselected *u, struct xw_entry *e)
{
	struct xw_entry_xattr *x =
		copy_bytes(u, e->xattrs, e->n_xattrs * sizeof(*x), _Alignof(struct xw_entry_xattr));

	if (!x)
		return XW_ERR_NOMEM;
	e->xattrs = x;
	for (size_t i = 0; i < e->n_xattrs; i++)
		if (copy_slice(u, &x[i].name) || copy_slice(u, &x[i].value))
			return XW_ERR_NOMEM;
	return 0;
}

/* A copy of the entry, which outlives the next one; NULL: out of memory. */
static struct xw_unselected_file *copy_entry(struct xw_unselected *u, const struct xw_entry *e)
{
	struct xw_unselected_file *file = XW_ARENA_NEW(&u->arena, struct xw_unselected_file);

	if (!file)
		return NULL;
	file->e = *e;
	file->e.path = (struct xw_slice){0};
	if ((e->type == XW_ET_LNK && copy_slice(u, &file->e.link)) ||
	    (e->n_xattrs && copy_xattrs(u, &file->e)) ||
	    (e->acl_access.len && copy_slice(u, &file->e.acl_access)) ||
	    (e->acl_default.len && copy_slice(u, &file->e.acl_default)))
		return NULL;
	return file;
}

/* ---- contents ---- */

/* Contents cannot be stored, which fails only if a hard link to them is selected. */
static int lose(struct xw_unselected *u, struct xw_unselected_file *file,
		const struct xw_diag *reason)
{
	file->lost = true;
	if (!u->why)
		u->why = copy_bytes(u, reason->text, strlen(reason->text) + 1, 1);
	return u->why ? 0 : XW_ERR_NOMEM;
}

/* Remember where the contents begin in the archive. */
static int refer(struct xw_unselected *u, struct xw_unselected_file *file)
{
	const struct xw_segment whole = {0, file->e.size};

	file->parts = file->e.sparse
			      ? file->e.segs
			      : copy_bytes(u, &whole, sizeof(whole), _Alignof(struct xw_segment));
	file->n_parts = file->e.sparse ? file->e.n_segs : 1;
	return file->parts ? 0 : XW_ERR_NOMEM;
}

/* Open the temporary file, and check the limit: XW_ERR_HOSTFULL or XW_ERR_IO with *reason. */
static int open_spool(const struct xw_fill *f, const struct xw_entry *e, struct xw_diag *reason)
{
	struct xw_unselected *u = f->unselected;
	int rc;

	u->spool.o = &f->spool;
	u->spool.name = f->source;
	u->spool.what = "the contents of files that are left out and may have other names are";
	if (!u->spooling)
		u->spool.fd = -1;
	rc = e->size == XW_SIZE_UNKNOWN ? 0 : xw_spool_limit(&u->spool, e->size, reason);
	if (rc || u->spooling)
		return rc;
	if (u->no_spool)
		return XW_ERR_IO;
	rc = xw_spool_open(&u->spool, reason);
	u->spooling = !rc;
	u->no_spool = rc;
	return rc;
}

struct parts {
	struct xw_segment *v;
	size_t n, cap;
};

/* Append the payload of the current entry to the temporary file. *written: the code of writing. */
static int spool_payload(struct xw_fill *f, struct xw_source *s, struct parts *parts,
			 struct xw_diag *reason, int *written)
{
	const void *buf;
	uint64_t off;
	size_t len;
	int more, rc;

	while ((more = xw_source_read(s, &buf, &len, &off)) > 0) {
		struct xw_segment *last = parts->n ? &parts->v[parts->n - 1] : NULL;

		*written = xw_spool_write(&f->unselected->spool, buf, len, reason);
		if (*written)
			return 0;
		if (last && last->off + last->len == off)
			last->len += len;
		else if (xw_vec_push(parts, ((struct xw_segment){off, len})))
			return fail_nomem(f);
		rc = f->sink->tick ? f->sink->tick(f->sink->tick_arg) : 0;
		if (rc)
			return rc;
	}
	return more;
}

/* Make the parts that were spooled those of the file, whose size they may decide. */
static int set_parts(struct xw_unselected *u, struct xw_unselected_file *file,
		     const struct parts *parts)
{
	const struct xw_segment *last = parts->n ? &parts->v[parts->n - 1] : NULL;

	file->parts =
		copy_bytes(u, parts->v, parts->n * sizeof(*parts->v), _Alignof(struct xw_segment));
	file->n_parts = parts->n;
	if (file->e.size == XW_SIZE_UNKNOWN) {
		file->e.size = last ? last->off + last->len : 0;
		file->e.sparse = true;
		file->e.segs = file->parts;
		file->e.n_segs = parts->n;
	}
	return file->parts ? 0 : XW_ERR_NOMEM;
}

static int spool(struct xw_fill *f, struct xw_source *s, const struct xw_entry *e,
		 struct xw_unselected_file *file)
{
	struct xw_unselected *u = f->unselected;
	struct xw_diag reason = {0};
	struct parts parts = {0};
	int rc = 0, written = open_spool(f, e, &reason);

	file->fd = u->spool.fd;
	file->at = u->spool.size;
	if (!written)
		rc = spool_payload(f, s, &parts, &reason, &written);
	if (!rc && (written ? lose(u, file, &reason) : set_parts(u, file, &parts)))
		rc = fail_nomem(f);
	xw_vec_free(&parts);
	if (!rc && written && u->spooling && xw_spool_cut(&u->spool, file->at, &reason)) {
		/* the files before this one are complete */
		u->spooling = false;
		u->no_spool = true;
	}
	return rc;
}

/* Store the payload of the current entry as the contents of the file. */
static int keep_contents(struct xw_fill *f, struct xw_source *s, const struct xw_entry *e,
			 struct xw_unselected_file *file)
{
	int rc;

	file->lost = false;
	file->e.size = e->size;
	file->e.sparse = e->sparse;
	file->e.segs = e->segs;
	file->e.n_segs = e->n_segs;
	file->parts = NULL;
	file->n_parts = 0;
	if (!e->size)
		return 0;
	rc = copy_map(f->unselected, &file->e);
	if (!rc && xw_source_stored(s, &file->fd, &file->at))
		rc = refer(f->unselected, file);
	else if (!rc)
		return spool(f, s, e, file);
	return rc ? fail_nomem(f) : 0;
}

/* ---- entries that are left out ---- */

/* A hard link: a further name of a file, whose contents may come with it. */
static int add_link(struct xw_fill *f, struct xw_source *s, const struct xw_entry *e,
		    struct xw_unselected_file **out)
{
	struct xw_unselected_file *file;
	struct xw_binode *target = NULL;
	int rc = xw_unselected_find(f, e->link, &file);

	*out = file;
	if (!rc && !file)
		rc = xw_fill_link_target(f, e, &target);
	if (rc) /* which fails only if it is selected */
		return rc == XW_ERR_NOTFOUND ? 0 : rc;
	if (!file) {
		*out = file = copy_entry(f->unselected, e);
		if (!file)
			return fail_nomem(f);
		file->node = target;
	}
	if (!e->link_data)
		return 0;
	if (file->node && !(file->node->flags & XW_BN_DEAD))
		return xw_fill_link_data(f, s, e, file->node);
	return file->e.type == XW_ET_REG ? keep_contents(f, s, e, file) : 0;
}

int xw_unselected_add(struct xw_fill *f, struct xw_source *s, const struct xw_entry *e)
{
	struct xw_unselected_file *file = NULL;
	int rc = 0;

	if (e->type == XW_ET_DIR || e->single)
		return xw_unselected_forget(f, e->path);
	if (!f->unselected)
		f->unselected = calloc(1, sizeof(*f->unselected));
	if (!f->unselected)
		return fail_nomem(f);
	if (e->type == XW_ET_HARDLINK) {
		rc = add_link(f, s, e, &file);
		if (!rc && !file)
			return xw_unselected_forget(f, e->path);
	} else {
		file = copy_entry(f->unselected, e);
		if (!file)
			return fail_nomem(f);
		if (e->type == XW_ET_REG)
			rc = keep_contents(f, s, e, file);
	}
	if (!rc && set_name(f->unselected, e->path, file))
		return fail_nomem(f);
	return rc;
}

/* ---- reading ---- */

static int part_read(struct xw_source *s, const void **buf, size_t *len, uint64_t *off)
{
	struct xw_unselected_read *r = (struct xw_unselected_read *)s;
	const struct xw_unselected_file *file = r->file;
	const struct xw_segment *p = &file->parts[r->part];
	ssize_t n;

	if (r->part == file->n_parts)
		return 0;
	do
		n = pread(file->fd, r->buf, (size_t)XW_MIN(PIECE, p->len - r->off),
			  (off_t)(file->at + r->done));
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n ? xw_fail_errno(s->diag, XW_ERR_IO, errno, "%s: read error", s->name)
			 : xw_fail(s->diag, XW_ERR_TRUNCATED, "%s: truncated while it was read",
				   s->name);
	*buf = r->buf;
	*len = (size_t)n;
	*off = p->off + r->off;
	r->off += (uint64_t)n;
	r->done += (uint64_t)n;
	if (r->off == p->len) {
		r->part++;
		r->off = 0;
	}
	return 1;
}

static void part_close(struct xw_source *s)
{
	free(((struct xw_unselected_read *)s)->buf);
}

int xw_unselected_open(const struct xw_fill *f, const struct xw_unselected_file *file,
		       struct xw_unselected_read *r)
{
	static const struct xw_source_ops ops = {.read = part_read, .close = part_close};

	*r = (struct xw_unselected_read){
		.src = {.ops = &ops, .name = f->layers.v[f->layers.n - 1], .diag = f->diag},
		.file = file,
		.buf = malloc(PIECE),
	};
	return r->buf ? 0 : xw_fail_nomem(f->diag, "read buffers");
}
