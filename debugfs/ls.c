/* SPDX-License-Identifier: MIT */
/* Verbs about directories: listing, changing the current one, searching. */
#include "config.h"

#include "print.h"
#include "read/dirs.h"
#include "walk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"

/* ---- ls ---- */

/* options -l, -d, -p, -r, -c */
enum { LS_LONG = 0x1, LS_REMOVED = 0x2, LS_PARSABLE = 0x4, LS_RAW = 0x8, LS_CSUM = 0x10 };

struct listing {
	struct dbg *d;
	unsigned flags;
	bool encrypted;
	unsigned col;
};

/* A name as printed, in malloc'd memory. */
static char *shown_name(const struct listing *l, const struct dbg_entry *e)
{
	const struct xw_dirent *n = &e->e;
	const bool dots = n->name_len && n->name_len <= 2 && !memcmp(n->name, "..", n->name_len);
	char *name = NULL;

	if (e->is_csum)
		return asprintf(&name, "(dirblock checksum: 0x%08" PRIx32 ")", e->csum) < 0 ? NULL
											    : name;
	if (l->encrypted && !dots && !(l->flags & LS_RAW))
		return asprintf(&name, "<encrypted (%d)>", n->name_len) < 0 ? NULL : name;
	return dbg_shown_name(n->name, n->name_len);
}

static void list_parsable(const struct listing *l, const struct dbg_entry *e, xw_ino ino,
			  const struct xw_inode *in)
{
	FILE *out = l->d->out;

	fprintf(out, "/%" PRIu32 "/%06o/%" PRIu32 "/%" PRIu32 "/", ino, in->mode, in->uid, in->gid);
	if (!e->is_csum)
		dbg_put(l->d, e->e.name, e->e.name_len);
	fputc('/', out);
	if ((in->mode & XW_S_IFMT) != XW_S_IFDIR)
		fprintf(out, "%" PRIu64, in->size);
	fputs("/\n", out);
}

static void list_long(const struct listing *l, const struct dbg_entry *e, const char *name)
{
	static const char no_time[] = "                 ";
	const char open = e->removed ? '<' : ' ', close = e->removed ? '>' : ' ';
	const xw_ino ino = e->removed || e->is_csum ? 0 : e->e.ino;
	struct xw_inode in = {0};
	struct dbg_text when;
	int rc = ino ? dbg_read_inode(l->d, ino, &in, NULL) : 0;

	if (rc)
		dbg_complain_diag(l->d, rc);
	if (l->flags & LS_PARSABLE) {
		list_parsable(l, e, ino, &in);
		return;
	}
	fprintf(l->d->out, "%c%6" PRIu32 "%c %6o ", open, ino, close, in.mode);
	if (e->is_csum) {
		fprintf(l->d->out, "%s\n", name);
		return;
	}
	when = dbg_short_time(in.mtime.sec);
	fprintf(l->d->out, "(%d)  %5" PRIu32 "  %5" PRIu32 "   %5" PRIu64 " %s %s\n", e->e.ftype,
		in.uid, in.gid, in.size, ino ? when.s : no_time, name);
}

static void list_short(struct listing *l, const struct dbg_entry *e, const char *name)
{
	if (e->is_csum)
		dbg_wrap(l->d, &l->col, " 0  %s   ", name);
	else
		dbg_wrap(l->d, &l->col, "%c%" PRIu32 "%c (%" PRIu32 ") %s   ",
			 e->removed ? '<' : ' ', e->e.ino, e->removed ? '>' : ' ', e->e.rec_len,
			 name);
}

static void list_json(const struct listing *l, const struct dbg_entry *e)
{
	struct xw_json *j = &l->d->js;
	struct xw_inode in = {0};

	xw_json_object(j, NULL);
	if (e->is_csum) {
		xw_json_u64(j, "dirblock_checksum", e->csum);
	} else {
		xw_json_str(j, "name", e->e.name, e->e.name_len);
		xw_json_u64(j, "inode", e->e.ino);
		xw_json_u64(j, "rec_len", e->e.rec_len);
		xw_json_u64(j, "file_type", e->e.ftype);
		xw_json_bool(j, "removed", e->removed);
	}
	if (l->flags & LS_LONG && !e->removed && !e->is_csum && e->e.ino &&
	    !dbg_read_inode(l->d, e->e.ino, &in, NULL)) {
		xw_json_u64(j, "mode", in.mode);
		xw_json_u64(j, "uid", in.uid);
		xw_json_u64(j, "gid", in.gid);
		xw_json_u64(j, "size_bytes", in.size);
		xw_json_i64(j, "mtime", in.mtime.sec);
	}
	xw_json_end(j, '}');
}

static int on_entry(void *arg, const struct dbg_entry *e)
{
	struct listing *l = arg;
	auto_free char *name = NULL;

	if ((e->removed && !(l->flags & LS_REMOVED)) || (e->is_csum && !(l->flags & LS_CSUM)))
		return 0;
	if (l->d->json) {
		list_json(l, e);
		return 0;
	}
	name = shown_name(l, e);
	if (!name)
		return xw_fail_nomem(&l->d->diag, "name");
	if (l->flags & (LS_LONG | LS_PARSABLE))
		list_long(l, e, name);
	else
		list_short(l, e, name);
	return 0;
}

static int verb_ls(struct dbg *d, int argc, char **argv)
{
	struct listing l = {.d = d};
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	xw_ino ino;
	int rc;

	if (dbg_flags(argc, argv, "ldprc", &l.flags) || argc - optind > 1)
		return DBG_USAGE;
	rc = dbg_directory(d, optind < argc ? argv[optind] : ".", &ino, &in, &raw);
	if (rc)
		return rc;
	l.encrypted = in.flags & XW_FL_ENCRYPT;
	dbg_list_begin(d);
	if (l.flags & (LS_LONG | LS_PARSABLE) && !(l.flags & (LS_REMOVED | LS_CSUM)))
		rc = dbg_walk_dir_in_order(d, ino, &in, raw, on_entry, &l);
	else
		rc = dbg_walk_dir(d, ino, &in, raw, l.flags & (LS_REMOVED | LS_CSUM), on_entry, &l);
	if (!dbg_list_end(d))
		fputc('\n', d->out);
	return rc;
}

/* ---- current directory ---- */

/* cd and chroot: set *place to the named directory. */
static int go_to(struct dbg *d, int argc, char **argv, xw_ino *place)
{
	struct xw_inode in;
	xw_ino ino;
	int rc;

	if (argc != 2)
		return DBG_USAGE;
	rc = dbg_directory(d, argv[1], &ino, &in, NULL);
	if (!rc)
		*place = ino;
	return rc;
}

static int verb_cd(struct dbg *d, int argc, char **argv)
{
	return go_to(d, argc, argv, &d->cwd);
}

static int verb_chroot(struct dbg *d, int argc, char **argv)
{
	return go_to(d, argc, argv, &d->root);
}

static void pwd_json(struct xw_json *j, const char *which, xw_ino ino, const char *path)
{
	xw_json_object(j, which);
	xw_json_u64(j, "inode", ino);
	xw_json_str(j, "path", path, strlen(path));
	xw_json_end(j, '}');
}

static void pwd_text(struct dbg *d, const char *label, xw_ino ino, const char *path)
{
	fprintf(d->out, "%s  INODE: %6" PRIu32 "  PATH: ", label, ino);
	dbg_print_name(d, path, strlen(path));
	fputc('\n', d->out);
}

static int verb_pwd(struct dbg *d, int argc, char **argv)
{
	auto_free char *cwd = NULL, *root = NULL;

	(void)argv;
	if (argc > 1)
		return DBG_USAGE;
	cwd = dbg_path_of(d, d->cwd);
	root = dbg_path_of(d, d->root);
	if (!cwd || !root)
		return xw_fail_nomem(&d->diag, "path");
	if (d->json) {
		xw_json_object(&d->js, NULL);
		pwd_json(&d->js, "cwd", d->cwd, cwd);
		pwd_json(&d->js, "root", d->root, root);
		xw_json_end(&d->js, '}');
		return 0;
	}
	pwd_text(d, "[pwd] ", d->cwd, cwd);
	pwd_text(d, "[root]", d->root, root);
	return 0;
}

/* ---- dirsearch ---- */

struct search {
	struct dbg *d;
	const char *name;
	size_t len;
};

enum { FOUND = 1 };

static int on_searched(void *arg, const struct dbg_entry *e)
{
	const struct search *s = arg;
	struct xw_json *j = &s->d->js;

	if (!e->e.ino || e->e.name_len != s->len || memcmp(e->e.name, s->name, s->len))
		return 0;
	if (s->d->json) {
		xw_json_object(j, NULL);
		xw_json_u64(j, "inode", e->e.ino);
		xw_json_u64(j, "logical", e->lblk);
		xw_json_u64(j, "block", e->pblk);
		xw_json_u64(j, "offset_bytes", e->off);
		xw_json_end(j, '}');
		return FOUND;
	}
	/* The stock debugger prints the offset twice; scripts may use either. */
	fprintf(s->d->out,
		"Entry found at logical block %" PRIu64 ", phys %" PRIu64 ", offset %" PRIu32
		"\noffset %" PRIu32 "\n",
		e->lblk, e->pblk, e->off, e->off);
	return FOUND;
}

static int verb_dirsearch(struct dbg *d, int argc, char **argv)
{
	struct search s = {.d = d};
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	xw_ino ino;
	int rc;

	if (argc != 3)
		return DBG_USAGE;
	s.name = argv[2];
	s.len = strlen(argv[2]);
	rc = dbg_directory(d, argv[1], &ino, &in, &raw);
	if (!rc)
		rc = dbg_walk_dir(d, ino, &in, raw, false, on_searched, &s);
	if (!rc && d->json)
		xw_json_null(&d->js, NULL);
	return rc == FOUND ? 0 : rc;
}

static const struct dbg_verb verbs[] = {
	{"list_directory, ls", DBG_OPEN | DBG_PAGED, verb_ls, "[-l] [-c] [-d] [-p] [-r] [DIR]",
	 "list a directory; -l: long, -c: checksums, -d: removed entries, -p: parsable, -r: raw "
	 "names"},
	{"change_working_directory, cd", DBG_OPEN, verb_cd, "DIR", "change the current directory"},
	{"change_root_directory, chroot", DBG_OPEN, verb_chroot, "DIR",
	 "change the root directory of absolute paths"},
	{"print_working_directory, pwd", DBG_OPEN, verb_pwd, "", "print the current directory"},
	{"dirsearch", DBG_OPEN, verb_dirsearch, "DIR NAME", "location of a directory entry"},
};

const struct dbg_family dbg_dir_verbs = {"Directories", verbs, XW_ARRAY_SIZE(verbs)};
