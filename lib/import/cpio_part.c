/* SPDX-License-Identifier: MIT */
/*
 * One cpio archive, up to the member TRAILER!!!.
 *
 * A file with several links is stored as several members with the same device and inode number. The
 * first one is returned as a file, the others as hard links to it. Writers of the formats "new"
 * store the contents with the last name, others with every name.
 *
 * Invariants:
 * 1. Between calls the input is at a header, or exactly left + pad bytes before the next one.
 * 2. After a failure every call returns the same code.
 */
#include "config.h"

#include "import/cpio_part.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/table.h"
#include "base/vec.h"
#include "disk/inode.h"
#include "import/cpio_hdr.h"

#define NAME_BYTES_MAX ((uint64_t)1 << 20) /* of a name or the target of a symlink */

/* A file with more names to come; `missing` 0: its inode number may be used again. */
struct file {
	uint64_t dev, ino;
	uint32_t type; /* bits of XW_S_IFMT; 0: unused slot */
	uint32_t missing; /* names */
	struct xw_slice name; /* the first name, in the arena */
};

struct part {
	struct xw_source src;
	struct xw_input *in;
	bool compressed, done;
	int failed;
	struct xw_table files;
	struct xw_arena names;

	/* the current member */
	struct xw_cpio_hdr h;
	struct xw_entry e;
	XW_VEC(char) name, target;
	bool data; /* the consumer may read the payload */
	uint64_t left, off;
	unsigned pad;
	uint32_t sum; /* of the bytes read */
};

/* ---- messages ---- */

static int fail(struct part *c, int code, const char *why)
{
	c->failed = code;
	if (!c->e.path.len)
		return xw_fail(c->src.diag, code, "%s: byte %llu: %s", c->src.name,
			       (unsigned long long)c->e.pos, why);
	return xw_fail(c->src.diag, code, "%s: member '%.*s' at byte %llu: %s", c->src.name,
		       XW_SHOWN(c->e.path), (unsigned long long)c->e.pos, why);
}

/* Fail because of rc of the input, or because it ended (0). */
static int fail_input(struct part *c, int rc)
{
	if (rc)
		return fail(c, rc, xw_input_error(c->in));
	return fail(c, XW_ERR_TRUNCATED,
		    c->e.path.len ? "the archive ends inside it"
				  : "the archive ends without its last member (TRAILER!!!)");
}

static int read_bytes(struct part *c, void *buf, uint64_t n)
{
	uint64_t got;
	const int rc = xw_input_copy(c->in, buf, n, &got);

	return rc || got < n ? fail_input(c, rc) : 0;
}

/* ---- hard links ---- */

static bool is_used(const void *slot)
{
	return ((const struct file *)slot)->type;
}

static bool is_same(const void *arg, const void *slot, const void *key)
{
	const struct file *a = slot, *b = key;

	(void)arg;
	return a->ino == b->ino && a->dev == b->dev && a->type == b->type;
}

static uint64_t hash(const struct xw_table *t, const void *arg, const void *slot)
{
	const struct file *f = slot;
	const uint64_t id[] = {f->dev, f->ino};

	(void)arg;
	return xw_table_bytes(t, id, sizeof(id));
}

static const struct xw_table_kind by_inode = {sizeof(struct file), is_used, is_same, hash};

/* Turn a member into a hard link if an earlier one is the same file. */
static int set_hardlink(struct part *c)
{
	const struct file key = {.dev = c->h.dev, .ino = c->h.ino, .type = c->h.mode & XW_S_IFMT};
	struct file *f;

	if (c->h.links < 2 || key.type == XW_S_IFDIR)
		return 0;
	if (xw_table_room(&c->files, &by_inode, NULL))
		return fail(c, XW_ERR_NOMEM, "out of memory");
	f = xw_table_slot(&c->files, &by_inode, NULL, hash(&c->files, NULL, &key), &key);
	if (f->missing) {
		f->missing--;
		c->e.type = XW_ET_HARDLINK;
		c->e.link = f->name;
		c->e.link_data = c->data;
		return 0;
	}
	c->files.n += !f->type;
	*f = key;
	f->missing = c->h.links - 1;
	f->name = (struct xw_slice){xw_arena_dup(&c->names, c->e.path.p, c->e.path.len),
				    c->e.path.len};
	return f->name.p ? 0 : fail(c, XW_ERR_NOMEM, "out of memory");
}

/* ---- headers ---- */

static unsigned padding(const struct xw_cpio_hdr *h, uint64_t n)
{
	return (unsigned)(-n % h->align);
}

static int read_header(struct part *c)
{
	unsigned char buf[XW_CPIO_HDR_MAX];
	size_t n;
	int rc = read_bytes(c, buf, XW_CPIO_MAGIC);

	if (rc)
		return rc;
	n = xw_cpio_hdr_size(buf);
	if (!n)
		return fail(c, XW_ERR_INPUT, "not a cpio header");
	rc = read_bytes(c, buf + XW_CPIO_MAGIC, n - XW_CPIO_MAGIC);
	if (rc)
		return rc;
	return xw_cpio_hdr_decode(buf, &c->h)
		       ? fail(c, XW_ERR_INPUT, "a number in a cpio header is malformed")
		       : 0;
}

static int read_name(struct part *c)
{
	const uint64_t n = c->h.name_size;
	int rc;

	if (!n || n > NAME_BYTES_MAX)
		return fail(c, XW_ERR_INPUT,
			    n ? "a member's name is too long" : "a member's name is empty");
	if (xw_vec_reserve(&c->name, n + 1))
		return fail(c, XW_ERR_NOMEM, "out of memory");
	rc = read_bytes(c, c->name.v, n);
	if (!rc)
		rc = read_bytes(c, NULL, padding(&c->h, c->h.bytes + n));
	if (rc)
		return rc;
	/* some writers align the contents by additional NULs after the name */
	c->name.v[n] = '\0';
	c->e.path = xw_slice_of(c->name.v);
	return c->e.path.len ? 0 : fail(c, XW_ERR_INPUT, "a member's name is empty");
}

static int set_type(struct part *c)
{
	static const struct {
		uint32_t bits;
		enum xw_etype type;
	} types[] = {
		{XW_S_IFREG, XW_ET_REG},   {XW_S_IFDIR, XW_ET_DIR}, {XW_S_IFLNK, XW_ET_LNK},
		{XW_S_IFCHR, XW_ET_CHR},   {XW_S_IFBLK, XW_ET_BLK}, {XW_S_IFIFO, XW_ET_FIFO},
		{XW_S_IFSOCK, XW_ET_SOCK},
	};
	size_t i = 0;

	if (!(c->h.mode & XW_S_IFMT))
		c->h.mode |= XW_S_IFREG;
	while (i < XW_ARRAY_SIZE(types) && types[i].bits != (c->h.mode & XW_S_IFMT))
		i++;
	if (i == XW_ARRAY_SIZE(types))
		return fail(c, XW_ERR_INPUT, "unknown file type");
	c->e.type = types[i].type;
	return 0;
}

/* The payload of a symlink is its target. */
static int read_target(struct part *c)
{
	const uint64_t n = c->left;
	int rc;

	if (n > NAME_BYTES_MAX)
		return fail(c, XW_ERR_INPUT, "the target of the symlink is too long");
	if (xw_vec_reserve(&c->target, n + 1))
		return fail(c, XW_ERR_NOMEM, "out of memory");
	rc = read_bytes(c, c->target.v, n);
	if (rc)
		return rc;
	c->target.v[n] = '\0';
	c->left = 0;
	c->e.link = xw_slice_of(c->target.v);
	return 0;
}

static int set_entry(struct part *c)
{
	const struct xw_cpio_hdr *h = &c->h;
	struct xw_entry *e = &c->e;
	int rc = set_type(c);

	if (rc)
		return rc;
	if (h->size > INT64_MAX)
		return fail(c, XW_ERR_INPUT, "its size is out of range");
	e->mode = h->mode & 07777;
	e->uid = h->uid;
	e->gid = h->gid;
	e->mtime.sec = (int64_t)XW_MIN(h->mtime, (uint64_t)INT64_MAX);
	if (xw_entry_is_device(e)) {
		e->dev_major = h->rdev_major;
		e->dev_minor = h->rdev_minor;
	}
	c->left = h->size;
	c->pad = padding(h, h->size);
	c->off = c->sum = 0;
	c->data = e->type == XW_ET_REG && h->size;
	e->size = c->data ? h->size : 0;
	e->single = h->links < 2;
	if (e->type == XW_ET_LNK)
		rc = read_target(c);
	if (!rc)
		rc = set_hardlink(c);
	if (!rc && e->type == XW_ET_LNK && !e->link.len)
		return fail(c, XW_ERR_INPUT, "it links to an empty name");
	return rc;
}

static int skip_payload(struct part *c)
{
	const uint64_t n = c->left + c->pad;

	c->left = c->pad = 0;
	return n ? read_bytes(c, NULL, n) : 0;
}

static int part_next(struct xw_source *s, const struct xw_entry **e)
{
	struct part *c = (struct part *)s;
	int rc;

	if (c->failed || c->done)
		return c->failed;
	rc = skip_payload(c);
	if (rc)
		return rc;
	c->e = (struct xw_entry){.pos = xw_input_pos(c->in)};
	c->data = false;
	rc = read_header(c);
	if (!rc)
		rc = read_name(c);
	if (!rc && !strcmp(c->name.v, "TRAILER!!!")) {
		c->done = true;
		c->left = c->h.size;
		c->pad = padding(&c->h, c->h.size);
		return c->left <= NAME_BYTES_MAX
			       ? skip_payload(c)
			       : fail(c, XW_ERR_INPUT, "the last member has contents");
	}
	if (!rc)
		rc = set_entry(c);
	if (rc)
		return rc;
	*e = &c->e;
	return 1;
}

/* ---- payload ---- */

static int check_sum(struct part *c)
{
	return !c->h.has_sum || c->sum == c->h.sum
		       ? 0
		       : fail(c, XW_ERR_CHECKSUM,
			      "its contents do not match the checksum in its header");
}

static int part_read(struct xw_source *s, const void **buf, size_t *len, uint64_t *off)
{
	struct part *c = (struct part *)s;
	const unsigned char *p;
	size_t n;
	int rc;

	if (c->failed || !c->data)
		return c->failed;
	if (!c->left) {
		c->data = false;
		return check_sum(c);
	}
	rc = xw_input_get(c->in, &p, &n);
	if (rc || !n)
		return fail_input(c, rc);
	n = (size_t)XW_MIN(n, c->left);
	for (size_t i = 0; i < n && c->h.has_sum; i++)
		c->sum += p[i];
	*off = c->off;
	c->off += n;
	c->left -= n;
	xw_input_consume(c->in, n);
	*buf = p;
	*len = n;
	return 1;
}

static uint64_t part_consumed(const struct xw_source *s)
{
	const struct part *c = (const struct part *)s;

	return c->compressed ? xw_input_raw(c->in) : xw_input_pos(c->in);
}

static void part_close(struct xw_source *s)
{
	struct part *c = (struct part *)s;

	xw_input_free(c->in);
	xw_table_free(&c->files);
	xw_arena_free(&c->names);
	xw_vec_free(&c->name);
	xw_vec_free(&c->target);
	free(c->src.name);
	free(c);
}

int xw_cpio_part_release(struct xw_source *s, struct xw_feed **feed)
{
	struct part *c = (struct part *)s;
	const int rc = xw_input_release(c->in, feed);

	c->in = NULL;
	if (rc)
		xw_fail(s->diag, rc, "%s: %s", s->name, xw_err_text(rc));
	part_close(s);
	return rc;
}

int xw_cpio_part_open(struct xw_input *in, const struct xw_archive_params *p,
		      struct xw_source **out)
{
	static const struct xw_source_ops ops = {.next = part_next,
						 .read = part_read,
						 .close = part_close,
						 .consumed = part_consumed};
	struct part *c = calloc(1, sizeof(*c));

	if (c)
		c->src.name = strdup(p->name);
	if (!c || !c->src.name) {
		free(c);
		xw_input_free(in);
		return xw_fail_nomem(p->diag, "the cpio reader");
	}
	c->src.ops = &ops;
	c->src.total = p->total;
	c->src.diag = p->diag;
	c->in = in;
	c->compressed = p->compressed;
	*out = &c->src;
	return 0;
}
