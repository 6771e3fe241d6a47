/* SPDX-License-Identifier: MIT */
/* Verbs about inodes: contents, location, raw bytes. */
#include "config.h"

#include "inode.h"
#include "plan/params.h"
#include "print.h"
#include "show/show.h"
#include "read/file.h"
#include "read/map.h"
#include "read/xattrs.h"
#include "walk.h"
#include "xattr.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/endian.h"

/* Offsets of fields that the decoder combines with others. */
enum {
	AT_ATIME = 0x08,
	AT_CTIME = 0x0C,
	AT_MTIME = 0x10,
	AT_DTIME = 0x14,
	AT_VERSION = 0x24,
	AT_CTIME_EXTRA = 0x84,
	AT_MTIME_EXTRA = 0x88,
	AT_ATIME_EXTRA = 0x8C,
	AT_CRTIME = 0x90,
	AT_CRTIME_EXTRA = 0x94,
	AT_VERSION_HI = 0x98,
	EXTRA_TIMES = 24, /* value of i_extra_isize that covers all times */
};

static const char *type_name(const struct xw_inode *in)
{
	static const char *const names[16] = {
		[XW_S_IFREG >> 12] = "regular",           [XW_S_IFDIR >> 12] = "directory",
		[XW_S_IFCHR >> 12] = "character special", [XW_S_IFBLK >> 12] = "block special",
		[XW_S_IFLNK >> 12] = "symlink",           [XW_S_IFIFO >> 12] = "FIFO",
		[XW_S_IFSOCK >> 12] = "socket",
	};
	const char *name = names[in->mode >> 12];

	return name ? name : "bad type";
}

/* extra_at: offset of the extra field; 0: none. */
static void print_time(struct dbg *d, const char *prefix, const char *name, const uint8_t *raw,
		       unsigned at, unsigned extra_at, int64_t sec)
{
	if (extra_at)
		fprintf(d->out, "%s%6s: 0x%08" PRIx32 ":%08" PRIx32 " -- %s\n", prefix, name,
			peek32(raw + at), peek32(raw + extra_at), xw_show_when(sec).s);
	else
		fprintf(d->out, "%s%s: 0x%08" PRIx32 " -- %s\n", prefix, name, peek32(raw + at),
			xw_show_when(sec).s);
}

static void print_times(struct dbg *d, const char *prefix, const struct xw_inode *in,
			const uint8_t *raw)
{
	const bool extra = in->extra_isize >= EXTRA_TIMES;

	print_time(d, prefix, "ctime", raw, AT_CTIME, extra ? AT_CTIME_EXTRA : 0, in->ctime.sec);
	print_time(d, prefix, "atime", raw, AT_ATIME, extra ? AT_ATIME_EXTRA : 0, in->atime.sec);
	print_time(d, prefix, "mtime", raw, AT_MTIME, extra ? AT_MTIME_EXTRA : 0, in->mtime.sec);
	if (extra)
		print_time(d, prefix, "crtime", raw, AT_CRTIME, AT_CRTIME_EXTRA, in->crtime.sec);
	if (in->dtime && extra)
		/* dtime has no extra field: the stock debugger shows that of ctime */
		fprintf(d->out, "%s dtime: 0x%08" PRIx32 ":(%08" PRIx32 ") -- %s\n", prefix,
			in->dtime, peek32(raw + AT_CTIME_EXTRA), xw_show_when(in->dtime).s);
	else if (in->dtime)
		print_time(d, prefix, "dtime", raw, AT_DTIME, 0, in->dtime);
}

void dbg_print_inode_head(struct dbg *d, const char *prefix, xw_ino ino, const struct xw_inode *in,
			  const uint8_t *raw)
{
	FILE *out = d->out;

	fprintf(out, "%sInode: %" PRIu32 "   Type: %s%s    Mode:  0%03o   Flags: 0x%" PRIx32 "\n",
		prefix, ino, type_name(in), prefix, in->mode & 07777, in->flags);
	fprintf(out, "%sGeneration: %" PRIu32 "    Version: 0x", prefix, in->generation);
	if (in->extra_isize >= EXTRA_TIMES)
		fprintf(out, "%08" PRIx32 ":", peek32(raw + AT_VERSION_HI));
	fprintf(out, "%08" PRIx32 "\n%sUser: %5" PRIu32 "   Group: %5" PRIu32 "   ",
		peek32(raw + AT_VERSION), prefix, in->uid, in->gid);
	if (in->extra_isize >= XW_INODE_EXTRA_WANTED)
		fprintf(out, "Project: %5" PRIu32 "   ", in->projid);
	fprintf(out, "Size: %" PRIu64 "\n%sFile ACL: %" PRIu64, in->size, prefix, in->file_acl);
	if (d->img->sb.creator_os == XW_OS_HURD)
		fprintf(out, " Translator: %" PRIu32, peek32(raw + AT_VERSION));
	fputc('\n', out);
	fprintf(out, "%sLinks: %u   Blockcount: %" PRIu64 "\n", prefix, in->links, in->blocks);
	fprintf(out, "%sFragment:  Address: %" PRIu32 "    Number: 0    Size: 0\n", prefix,
		in->faddr);
	print_times(d, prefix, in, raw);
}

/* ---- the list of blocks ---- */

struct blocks {
	struct dbg *d;
	bool some; /* something was printed */
	uint64_t total;
	struct dbg_piece run; /* pending run of a block map, to be merged; len 0: none */
};

static void print_run(struct blocks *b, const struct dbg_piece *p)
{
	const char *u = p->unwritten ? "[u]" : "";

	fputs(b->some ? ", " : "", b->d->out);
	b->some = true;
	if (p->len == 1)
		fprintf(b->d->out, "(%" PRIu64 "%s):%" PRIu64, p->lblk, u, p->pblk);
	else
		fprintf(b->d->out, "(%" PRIu64 "-%" PRIu64 "%s):%" PRIu64 "-%" PRIu64, p->lblk,
			p->lblk + p->len - 1, u, p->pblk, p->pblk + p->len - 1);
}

static void end_run(struct blocks *b)
{
	if (b->run.len)
		print_run(b, &b->run);
	b->run.len = 0;
}

static void print_node(struct blocks *b, const struct dbg_piece *p)
{
	static const char *const names[] = {"", "IND", "DIND", "TIND"};

	fputs(b->some ? ", " : "", b->d->out);
	b->some = true;
	if (p->extents)
		fprintf(b->d->out, "(ETB%u):%" PRIu64, p->level, p->pblk);
	else
		fprintf(b->d->out, "(%s):%" PRIu64, names[p->level], p->pblk);
}

static int on_piece(void *arg, const struct dbg_piece *p)
{
	struct blocks *b = arg;

	b->total += p->kind == DBG_DATA ? p->len : 1;
	if (p->kind == DBG_NODE) {
		end_run(b);
		print_node(b, p);
	} else if (p->extents) {
		print_run(b, p);
	} else if (b->run.len && p->lblk == b->run.lblk + b->run.len &&
		   p->pblk == b->run.pblk + b->run.len) {
		b->run.len += p->len;
	} else {
		end_run(b);
		b->run = *p;
	}
	return 0;
}

static int print_blocks(struct dbg *d, xw_ino ino, const struct xw_inode *in)
{
	const bool extents = in->flags & XW_FL_EXTENTS;
	struct blocks b = {.d = d};
	int rc;

	fputs(extents ? "EXTENTS:\n" : "BLOCKS:\n", d->out);
	rc = dbg_walk(d, ino, in, on_piece, &b);
	end_run(&b);
	if (b.some)
		fputc('\n', d->out);
	if (!extents && b.total)
		fprintf(d->out, "TOTAL: %" PRIu64 "\n", b.total);
	if (!extents)
		fputc('\n', d->out);
	return rc;
}

/* ---- stat ---- */

static int print_link(struct dbg *d, xw_ino ino, const struct xw_inode *in, const uint8_t *raw)
{
	auto_free char *target = malloc(d->img->block_size + 1);
	size_t len;
	int rc;

	if (!target)
		return xw_fail_nomem(&d->diag, "symbolic link");
	rc = xw_symlink_read(d->img, ino, in, raw, target, &len);
	if (rc) {
		dbg_complain_diag(d, rc);
		return 0;
	}
	fputs("Fast link dest: \"", d->out);
	dbg_print_name(d, target, len);
	fputs("\"\n", d->out);
	return 0;
}

static void print_device(struct dbg *d, const struct xw_inode *in)
{
	const bool is_new = !xw_inode_slot(in, 0) && xw_inode_slot(in, 1);
	uint32_t major, minor;

	xw_inode_get_rdev(in, &major, &minor);
	fprintf(d->out,
		"%sDevice major/minor number: %02" PRIu32 ":%02" PRIu32 " (hex %02" PRIx32
		":%02" PRIx32 ")\n",
		is_new ? "(New-style) " : "", major, minor, major, minor);
}

static int print_inline(struct dbg *d, xw_ino ino, const struct xw_inode *in, const uint8_t *raw)
{
	auto_free uint8_t *value = NULL;
	uint32_t len = 0;
	int rc = xw_xattr_get(d->img, ino, in, raw, XW_XI_SYSTEM, "data", &value, &len);

	if (rc)
		dbg_complain(d, "inode %" PRIu32 ": inline data without its attribute", ino);
	xw_diag_clear(&d->diag);
	fprintf(d->out, "Size of inline data: %zu\n", sizeof(in->block) + len);
	return 0;
}

static int print_contents(struct dbg *d, xw_ino ino, const struct xw_inode *in, const uint8_t *raw)
{
	const unsigned type = in->mode & XW_S_IFMT;

	if (type == XW_S_IFLNK && (in->flags & XW_FL_INLINE_DATA || !xw_inode_has_map(in)))
		return print_link(d, ino, in, raw);
	if (type == XW_S_IFCHR || type == XW_S_IFBLK) {
		print_device(d, in);
		return 0;
	}
	if (in->flags & XW_FL_INLINE_DATA)
		return print_inline(d, ino, in, raw);
	return print_blocks(d, ino, in);
}

void dbg_print_inode_tail(struct dbg *d, const struct xw_inode *in)
{
	if (d->img->inode_size > XW_INODE_BODY)
		fprintf(d->out, "Size of extra inode fields: %u\n", in->extra_isize);
}

static void inode_json(struct dbg *d, xw_ino ino, const struct xw_inode *in)
{
	const struct {
		const char *name;
		const struct xw_time *t;
	} times[] = {{"atime", &in->atime},
		     {"ctime", &in->ctime},
		     {"mtime", &in->mtime},
		     {"crtime", &in->crtime}};
	struct xw_json *j = &d->js;

	xw_json_object(j, NULL);
	xw_json_u64(j, "inode", ino);
	xw_json_str(j, "type", type_name(in), strlen(type_name(in)));
	xw_json_u64(j, "mode", in->mode);
	xw_json_u64(j, "flags", in->flags);
	xw_json_u64(j, "generation", in->generation);
	xw_json_u64(j, "version", in->version);
	xw_json_u64(j, "uid", in->uid);
	xw_json_u64(j, "gid", in->gid);
	xw_json_u64(j, "project", in->projid);
	xw_json_u64(j, "size_bytes", in->size);
	xw_json_u64(j, "links", in->links);
	xw_json_u64(j, "blockcount", in->blocks);
	xw_json_u64(j, "file_acl", in->file_acl);
	xw_json_u64(j, "extra_isize_bytes", in->extra_isize);
	xw_json_u64(j, "dtime", in->dtime);
	xw_json_u64(j, "checksum", in->checksum);
	for (size_t i = 0; i < XW_ARRAY_SIZE(times); i++) {
		xw_json_object(j, times[i].name);
		xw_json_i64(j, "sec", times[i].t->sec);
		xw_json_u64(j, "nsec", times[i].t->nsec);
		xw_json_end(j, '}');
	}
	xw_json_end(j, '}');
}

static int verb_stat(struct dbg *d, int argc, char **argv)
{
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	xw_ino ino;
	int rc;

	if (argc != 2)
		return DBG_USAGE;
	rc = dbg_inode(d, argv[1], &ino, &in, &raw);
	if (rc)
		return rc;
	if (d->json) {
		inode_json(d, ino, &in);
		return 0;
	}
	dbg_print_inode_head(d, "", ino, &in, raw);
	dbg_print_inode_tail(d, &in);
	rc = dbg_print_xattrs(d, ino, &in, raw);
	if (xw_super_has_csum(&d->img->sb))
		fprintf(d->out, "Inode checksum: 0x%08" PRIx32 "\n", in.checksum);
	return rc ? rc : print_contents(d, ino, &in, raw);
}

/* ---- imap ---- */

static int verb_imap(struct dbg *d, int argc, char **argv)
{
	struct dbg_record r;
	xw_ino ino;
	int rc;

	if (argc != 2)
		return DBG_USAGE;
	rc = dbg_inode_number(d, argv[1], &ino);
	if (!rc)
		rc = dbg_find_record(d, ino, &r);
	if (rc)
		return rc;
	if (d->json) {
		xw_json_object(&d->js, NULL);
		xw_json_u64(&d->js, "inode", ino);
		xw_json_u64(&d->js, "group", r.group);
		xw_json_u64(&d->js, "block", r.blk);
		xw_json_u64(&d->js, "offset_bytes", r.off);
		xw_json_end(&d->js, '}');
		return 0;
	}
	fprintf(d->out,
		"Inode %" PRIu32 " is part of block group %" PRIu64 "\n\tlocated at block %" PRIu64
		", offset 0x%04" PRIx32 "\n",
		ino, r.group, r.blk, r.off);
	return 0;
}

/* ---- inode_dump ---- */

static int verb_inode_dump(struct dbg *d, int argc, char **argv)
{
	auto_free uint8_t *raw = NULL;
	enum { BLOCK = 1, EXTRA = 2, XATTRS = 4 };
	unsigned extra = d->img->inode_size, what;
	struct xw_inode in;
	xw_ino ino;
	int rc;

	if (dbg_flags(argc, argv, "bex", &what) || what & (what - 1) || optind + 1 != argc)
		return DBG_USAGE;
	rc = dbg_inode(d, argv[optind], &ino, &in, &raw);
	if (rc)
		return rc;
	if (extra > XW_INODE_BODY)
		extra = XW_MIN(extra, XW_INODE_BODY + (unsigned)in.extra_isize);
	switch (what) {
	case BLOCK:
		dbg_print_bytes(d, in.block, sizeof(in.block));
		return 0;
	case EXTRA:
		if (extra < d->img->inode_size)
			dbg_print_bytes(d, raw + extra, d->img->inode_size - extra);
		return 0;
	case XATTRS:
		dbg_dump_xattr_inode(d, raw + extra, d->img->inode_size - extra);
		return 0;
	default:
		dbg_print_bytes(d, raw, d->img->inode_size);
		return 0;
	}
}

static const struct dbg_verb verbs[] = {
	{"show_inode_info, stat", DBG_OPEN | DBG_PAGED, verb_stat, "FILE",
	 "an inode with its attributes and blocks"},
	{"imap", DBG_OPEN, verb_imap, "FILE", "location of an inode's record"},
	{"inode_dump, idump, id", DBG_OPEN, verb_inode_dump, "[-b|-e|-x] FILE",
	 "the bytes of a record; -b: of i_block, -e: after the fields, -x: as attributes"},
};

const struct dbg_family dbg_inode_verbs = {"Inodes", verbs, XW_ARRAY_SIZE(verbs)};
