/* SPDX-License-Identifier: MIT */
/*
 * Parses the header blocks of a member into a struct xw_entry.
 *
 * A member consists of optional x (pax records), L and K (GNU long names) headers, in any order,
 * and the member's own header; g headers change the defaults for all following members. Precedence
 * of duplicate information: sparse name, pax record, GNU long name, header field. Headers of other
 * vendors are skipped.
 *
 * Writers disagree about which types have payload. Directories, symlinks and devices have none,
 * whatever their size field, unless the next block is neither a header nor the end. Hard links have
 * payload according to their size in pax (POSIX.1-2001), in ustar only if no header follows, and
 * never in GNU and v7.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "import/tar.h"

#define FIELD(f) (f), sizeof(f)

/*
 * Read one block into t->hdr: 1, or 0 at the end of the input. An input that ends within a block
 * was cut off, unless a digest says that it was written so, or the end mark has begun.
 */
static int read_block(struct xw_tar *t, bool zero)
{
	uint64_t got;
	int rc = xw_input_copy(t->in, &t->hdr, XW_TAR_BLOCK, &got);

	if (rc)
		return xw_tar_fail_input(t, rc);
	if (got == XW_TAR_BLOCK)
		return 1;
	if (!got)
		return 0;
	memset((char *)&t->hdr + got, 0, XW_TAR_BLOCK - got);
	return (t->verified || zero) && xw_tar_is_zero(&t->hdr) ? 0 : xw_tar_fail_input(t, 0);
}

static int number(struct xw_tar *t, const char *what, const char *field, size_t size, int64_t min,
		  int64_t max, int64_t *out)
{
	if (xw_tar_number(field, size, out))
		return xw_tar_fail(t, XW_ERR_INPUT, "the %s in its header is malformed", what);
	if (*out < min || *out > max)
		return xw_tar_fail(t, XW_ERR_INPUT, "the %s in its header, %lld, is out of range",
				   what, (long long)*out);
	return 0;
}

/* Read the body of an x, g, L or K header, size bytes, and append a NUL. */
static int read_body(struct xw_tar *t, struct xw_tar_buf *b, uint64_t size, uint64_t max)
{
	uint64_t got;
	int rc;

	if (size > max)
		return xw_tar_fail(t, XW_ERR_INPUT, "an extended header of %llu bytes is too long",
				   (unsigned long long)size);
	if (xw_vec_reserve(b, (size_t)size + 1))
		return xw_tar_fail(t, XW_ERR_NOMEM, "out of memory");
	rc = xw_input_copy(t->in, b->v, size, &got);
	if (rc || got < size)
		return xw_tar_fail_input(t, rc);
	b->v[size] = '\0';
	b->n = (size_t)size;
	b->set = true;
	xw_tar_payload(t, size, 0, false);
	t->left = 0;
	return xw_tar_finish(t);
}

static int read_globals(struct xw_tar *t, uint64_t size)
{
	auto_free char *body = NULL;
	struct xw_tar_buf b = {0};
	const char *why = "";
	int rc = read_body(t, &b, size, XW_PAX_BODY_MAX);

	body = b.v;
	if (rc)
		return rc;
	rc = xw_pax_globals_add(&t->globals, b.v, b.n, &why);
	return rc ? xw_tar_fail(t, rc, "global extended header: %s", why) : 0;
}

static int apply_records(struct xw_tar *t)
{
	struct xw_pax_rec r;
	const char *why = "";
	size_t pos = 0;
	int rc, n;

	for (size_t i = 0; i < t->globals.recs.n; i++) {
		rc = xw_pax_apply(&t->pax, &t->globals.recs.v[i], &why);
		if (rc)
			return xw_tar_fail(t, rc, "%s", why);
	}
	if (!t->records.set)
		return 0;
	while ((n = xw_pax_next(t->records.v, t->records.n, &pos, &r)) == 1) {
		rc = xw_pax_apply(&t->pax, &r, &why);
		if (rc)
			return xw_tar_fail(t, rc, "%s", why);
	}
	return n ? xw_tar_fail(t, n, "malformed record in its extended header (byte %zu of it)",
			       pos)
		 : 0;
}

static struct xw_slice header_name(struct xw_tar *t)
{
	const struct xw_tar_hdr *h = &t->hdr;
	size_t n = xw_tar_text(FIELD(h->name)), p = 0;

	if (xw_tar_magic(h) == XW_TAR_USTAR)
		p = xw_tar_text(FIELD(h->prefix));
	if (!p)
		return (struct xw_slice){h->name, n};
	memcpy(t->ustar_name, h->prefix, p);
	t->ustar_name[p] = '/';
	memcpy(t->ustar_name + p + 1, h->name, n);
	return (struct xw_slice){t->ustar_name, p + 1 + n};
}

static int set_names(struct xw_tar *t)
{
	struct xw_entry *e = &t->e;
	const struct xw_pax *p = &t->pax;
	bool has_link = e->type == XW_ET_LNK || e->type == XW_ET_HARDLINK;

	if (p->sparse_name.len)
		e->path = p->sparse_name;
	else if (p->path.len)
		e->path = p->path;
	else
		e->path = t->name.set ? xw_slice_of(t->name.v) : header_name(t);
	if (!e->path.len)
		return xw_tar_fail(t, XW_ERR_INPUT, "empty name");
	if (memchr(e->path.p, '\0', e->path.len))
		return xw_tar_fail(t, XW_ERR_INPUT, "its name holds a NUL byte");
	if (!has_link)
		return 0;
	if (p->link.len)
		e->link = p->link;
	else if (t->link.set)
		e->link = xw_slice_of(t->link.v);
	else
		e->link = (struct xw_slice){t->hdr.linkname, xw_tar_text(FIELD(t->hdr.linkname))};
	if (!e->link.len)
		return xw_tar_fail(t, XW_ERR_INPUT, "it links to an empty name");
	if (memchr(e->link.p, '\0', e->link.len))
		return xw_tar_fail(t, XW_ERR_INPUT, "its link target holds a NUL byte");
	return 0;
}

/* A number of 32 bits from the pax record, if it is present, or from the header field. */
static int set_u32(struct xw_tar *t, const char *what, unsigned bit, uint32_t record,
		   const char *field, size_t size, uint32_t *out)
{
	int64_t v = record;

	if (!(t->pax.has & bit) && number(t, what, field, size, 0, UINT32_MAX, &v))
		return t->failed;
	*out = (uint32_t)v;
	return 0;
}

static int set_numbers(struct xw_tar *t)
{
	const struct xw_tar_hdr *h = &t->hdr;
	const struct xw_pax *p = &t->pax;
	struct xw_entry *e = &t->e;
	int64_t v = 0;

	if (number(t, "mode", FIELD(h->mode), 0, INT64_MAX, &v))
		return t->failed;
	e->mode = (uint32_t)v & 07777;
	if (set_u32(t, "user ID", XW_PAX_UID, p->uid, FIELD(h->uid), &e->uid) ||
	    set_u32(t, "group ID", XW_PAX_GID, p->gid, FIELD(h->gid), &e->gid))
		return t->failed;
	if (p->has & XW_PAX_MTIME)
		e->mtime = p->mtime;
	else if (number(t, "time", FIELD(h->mtime), INT64_MIN, INT64_MAX, &e->mtime.sec))
		return t->failed;
	e->has_atime = p->has & XW_PAX_ATIME;
	if (e->has_atime)
		e->atime = p->atime;
	else if (xw_tar_magic(h) == XW_TAR_GNU && h->gnu.atime[0])
		e->has_atime = !xw_tar_number(FIELD(h->gnu.atime), &e->atime.sec);
	if (xw_entry_is_device(e) && (set_u32(t, "device major", XW_PAX_DEVMAJOR, p->devmajor,
					      FIELD(h->devmajor), &e->dev_major) ||
				      set_u32(t, "device minor", XW_PAX_DEVMINOR, p->devminor,
					      FIELD(h->devminor), &e->dev_minor)))
		return t->failed;
	return 0;
}

static enum xw_etype entry_type(struct xw_tar *t, char type)
{
	/* D: GNU incremental dump, a directory with a list of its names */
	static const struct {
		char letter;
		enum xw_etype type;
	} types[] = {
		{'0', XW_ET_REG},      {'\0', XW_ET_REG}, {'5', XW_ET_DIR}, {'2', XW_ET_LNK},
		{'1', XW_ET_HARDLINK}, {'3', XW_ET_CHR},  {'4', XW_ET_BLK}, {'6', XW_ET_FIFO},
		{'7', XW_ET_REG},      {'S', XW_ET_REG},  {'D', XW_ET_DIR},
	};

	for (size_t i = 0; i < XW_ARRAY_SIZE(types); i++)
		if (type == types[i].letter)
			return types[i].type;
	xw_tar_warn(t, XW_TAR_WARN_TYPE, "unknown member type '%c', read as a file", type);
	return XW_ET_REG; /* as POSIX requires */
}

/* Is the next block neither a header nor the end mark nor the end of the input? */
static bool payload_follows(struct xw_tar *t)
{
	const unsigned char *p;
	size_t len;

	if (xw_input_get(t->in, &p, &len) || len < XW_TAR_BLOCK)
		return false; /* reading the next header reports a failure */
	return !xw_tar_is_zero(p) && !xw_tar_checksum_ok(p);
}

/* Old GNU format: the map starts in the header and continues in blocks before the payload. */
static int sparse_old(struct xw_tar *t)
{
	struct xw_tar_ext ext;
	int64_t real;
	bool more = t->hdr.gnu.extended;
	int rc;

	if (xw_tar_magic(&t->hdr) == XW_TAR_USTAR)
		return xw_tar_fail(t, XW_ERR_UNSUPPORTED, "star's sparse format is not supported");
	if (number(t, "real size", FIELD(t->hdr.gnu.realsize), 0, INT64_MAX, &real))
		return t->failed;
	t->e.size = (uint64_t)real;
	rc = xw_sparse_old(&t->sparse, t->hdr.gnu.sp, XW_ARRAY_SIZE(t->hdr.gnu.sp));
	while (more && !rc) {
		uint64_t got;

		rc = xw_input_copy(t->in, &ext, sizeof(ext), &got);
		if (rc || got < sizeof(ext))
			return xw_tar_fail_input(t, rc);
		rc = xw_sparse_old(&t->sparse, ext.sp, XW_ARRAY_SIZE(ext.sp));
		more = ext.extended;
	}
	return rc ? xw_tar_fail(t, rc, "its sparse map is malformed") : 0;
}

/* Format 1.0: the map is in the first blocks of the payload, which has *stored bytes. */
static int sparse_one(struct xw_tar *t, uint64_t *stored)
{
	char block[XW_TAR_BLOCK];
	uint64_t got;
	int complete = 0, rc;

	if (t->pax.sparse_major != 1 || (t->pax.has & XW_PAX_SPARSE_MINOR && t->pax.sparse_minor))
		return xw_tar_fail(t, XW_ERR_UNSUPPORTED, "unknown sparse format %llu.%llu",
				   (unsigned long long)t->pax.sparse_major,
				   (unsigned long long)t->pax.sparse_minor);
	if (!(t->pax.has & XW_PAX_SPARSE_REAL))
		return xw_tar_fail(t, XW_ERR_INPUT, "a sparse file without its size");
	t->e.size = t->pax.sparse_real;
	while (!complete) {
		if (*stored < sizeof(block))
			return xw_tar_fail(t, XW_ERR_INPUT, "its sparse map is truncated");
		rc = xw_input_copy(t->in, block, sizeof(block), &got);
		if (rc || got < sizeof(block))
			return xw_tar_fail_input(t, rc);
		*stored -= sizeof(block);
		complete = xw_sparse_block(&t->sparse, block);
	}
	return complete < 0 ? xw_tar_fail(t, complete, "its sparse map is malformed") : 0;
}

/*
 * Read the map of a sparse file, if the member is one. *stored becomes the size of the payload that
 * the map covers, *tail the size of the rest.
 */
static int set_sparse(struct xw_tar *t, uint64_t *stored, uint64_t *tail)
{
	const struct xw_pax *p = &t->pax;
	const char *why = "its sparse map is malformed";
	uint64_t mapped = 0;
	int rc = 0;

	t->e.size = *stored;
	if (t->hdr.type == 'S') {
		rc = sparse_old(t);
	} else if (p->has & XW_PAX_SPARSE_MAJOR && p->sparse_major) {
		rc = sparse_one(t, stored);
	} else if (p->has & XW_PAX_SPARSE_SIZE) {
		t->e.size = p->sparse_size;
		rc = p->sparse_half ? XW_ERR_INPUT : xw_sparse_text(&t->sparse, p->sparse_map);
		for (size_t i = 0; i < p->sparse.n && !p->sparse_map.len && !rc; i++)
			rc = xw_sparse_add(&t->sparse, p->sparse.v[i].off, p->sparse.v[i].len);
	} else if (p->sparse_map.len || p->sparse.n) {
		return xw_tar_fail(t, XW_ERR_INPUT, "a sparse file without its size");
	} else if (p->has & XW_PAX_REALSIZE && p->realsize != *stored) {
		t->e.size = p->realsize;
		rc = xw_sparse_add(&t->sparse, 0, *stored);
	} else {
		return 0;
	}
	if (!rc)
		rc = xw_sparse_check(&t->sparse, t->e.size, *stored, &mapped, &why);
	if (rc)
		return t->failed ? t->failed : xw_tar_fail(t, rc, "%s", why);
	*tail = *stored - mapped;
	*stored = mapped;
	t->e.sparse = true;
	t->e.segs = t->sparse.map.v;
	t->e.n_segs = t->sparse.map.n;
	return 0;
}

static int set_payload(struct xw_tar *t, uint64_t stored)
{
	struct xw_entry *e = &t->e;
	uint64_t tail = 0;

	if (t->pax.has & XW_PAX_SIZE)
		stored = t->pax.size;
	if (e->type == XW_ET_REG) {
		if (set_sparse(t, &stored, &tail))
			return t->failed;
	} else if (e->type == XW_ET_HARDLINK) {
		e->link_data = stored && xw_tar_magic(&t->hdr) == XW_TAR_USTAR &&
			       (t->saw_pax || payload_follows(t));
		stored = e->size = e->link_data ? stored : 0;
	} else if (t->hdr.type != 'D' && stored && !payload_follows(t)) {
		stored = 0;
	}
	xw_tar_payload(t, stored, tail, e->type == XW_ET_REG || e->link_data);
	return 0;
}

/* Set t->e from t->hdr, the member's own header, and the headers before it. */
static int make_entry(struct xw_tar *t, uint64_t size)
{
	struct xw_entry *e = &t->e;

	e->path = header_name(t); /* for messages, until the name is known */
	if (apply_records(t))
		return t->failed;
	e->type = entry_type(t, t->hdr.type);
	if (set_names(t))
		return t->failed;
	if (t->hdr.type == 'M' || (t->pax.has & XW_PAX_VOLUME_OFFSET && t->pax.volume_offset))
		return xw_tar_fail(t, XW_ERR_UNSUPPORTED,
				   "it continues from another volume of a multi-volume archive");
	if (e->type == XW_ET_REG && t->hdr.type != 'S' && e->path.p[e->path.len - 1] == '/')
		e->type = XW_ET_DIR;
	if (set_numbers(t) || set_payload(t, size))
		return t->failed;
	e->xattrs = t->pax.xattrs.v;
	e->n_xattrs = t->pax.xattrs.n;
	e->acl_access = t->pax.acl_access;
	e->acl_default = t->pax.acl_default;
	if (t->pax.has & XW_PAX_SAW_NFS4_ACL)
		xw_tar_warn(t, XW_TAR_WARN_ACE, "NFSv4 ACLs (SCHILY.acl.ace) are ignored");
	return 1;
}

/* Process the valid header t->hdr: 1 and t->e for a member's own header, 0 for others. */
static int one_header(struct xw_tar *t)
{
	int64_t size;

	t->e.path = header_name(t);
	if (number(t, "size", FIELD(t->hdr.size), 0, INT64_MAX, &size))
		return t->failed;
	switch (t->hdr.type) {
	case 'x':
	case 'X': /* Solaris, before POSIX */
		t->saw_pax = true;
		return read_body(t, &t->records, (uint64_t)size, XW_PAX_BODY_MAX);
	case 'g':
		t->saw_pax = true;
		return read_globals(t, (uint64_t)size);
	case 'L':
		return read_body(t, &t->name, (uint64_t)size, XW_TAR_NAME_MAX);
	case 'K':
		return read_body(t, &t->link, (uint64_t)size, XW_TAR_NAME_MAX);
	case 'A': /* Solaris: an ACL of POSIX or NFSv4 */
		xw_tar_warn(t, XW_TAR_WARN_ACL,
			    "the ACL of '%.*s' is lost: a header of type 'A' (Solaris); further "
			    "ones are not reported",
			    XW_SHOWN(t->e.path));
		xw_tar_payload(t, (uint64_t)size, 0, false);
		return xw_tar_finish(t);
	case 'E': /* Solaris extended attributes */
	case 'I': /* star: an inode without contents */
	case 'N': /* old GNU: list of renames */
		xw_tar_warn(t, XW_TAR_WARN_SKIPPED, "skipping a header of type '%c'", t->hdr.type);
		__attribute__((fallthrough));
	case 'V': /* GNU volume label */
		xw_tar_payload(t, (uint64_t)size, 0, false);
		return xw_tar_finish(t);
	default:
		return make_entry(t, (uint64_t)size);
	}
}

static void reset_member(struct xw_tar *t)
{
	memset(&t->e, 0, sizeof(t->e));
	t->records.set = t->name.set = t->link.set = false;
	xw_pax_reset(&t->pax);
	xw_sparse_reset(&t->sparse);
}

/* The input ended without an end mark (two blocks of zeros; zero: one was read). */
static int input_ended(struct xw_tar *t, bool zero)
{
	const uint64_t pos = xw_input_pos(t->in);

	/* umoci never writes the mark, but an empty layer deserves a warning */
	if (!zero)
		xw_log(t->src.diag, t->verified && pos ? XW_LOG_INFO : XW_LOG_WARN,
		       "%s: byte %llu: the end-of-archive mark is missing%s", t->src.name,
		       (unsigned long long)pos,
		       t->verified ? "" : "; if the archive was cut off, entries are missing, too");
	return 0;
}

int xw_tar_member(struct xw_tar *t)
{
	bool zero = false;

	reset_member(t);
	for (;;) {
		bool begun = t->records.set || t->name.set || t->link.set;
		uint64_t pos = xw_input_pos(t->in);
		int rc;

		t->e.path.len = 0;
		if (!begun)
			t->e.pos = pos;
		rc = read_block(t, zero);
		if (rc < 0)
			return rc;
		if (begun && (!rc || xw_tar_is_zero(&t->hdr)))
			return xw_tar_fail(t, XW_ERR_TRUNCATED,
					   "an extended header without its member");
		if (!rc)
			return input_ended(t, zero);
		if (xw_tar_is_zero(&t->hdr)) {
			if (zero)
				return 0;
			zero = true;
			continue;
		}
		if (!xw_tar_checksum_ok(&t->hdr)) {
			t->e.pos = pos;
			return xw_tar_fail(t, XW_ERR_INPUT, "not a tar header (bad checksum)");
		}
		if (zero)
			xw_tar_warn(t, XW_TAR_WARN_ZERO, "a single block of zeros, continuing");
		zero = false;
		rc = one_header(t);
		if (rc)
			return rc;
	}
}
