/* SPDX-License-Identifier: MIT */
/* The operands of a request: files by number or path, blocks, counts. */
#include "config.h"

#include "debugfs.h"
#include "base/auto.h"
#include "base/parse.h"
#include "disk/indirect.h"
#include "read/dirs.h"
#include "walk.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void dbg_getopt_reset(void)
{
	optind = 0; /* GNU: scan from the start and reset all state */
	opterr = 0;
}

int dbg_options(struct dbg *d, int argc, char **argv, const struct dbg_option *options)
{
	char letters[2 * 16 + 1], *end = letters;
	int key, rc = 0;

	for (const struct dbg_option *o = options; o->letter; o++) {
		*end++ = o->letter;
		if (o->text || o->number)
			*end++ = ':';
	}
	*end = '\0';
	dbg_getopt_reset();
	while (!rc && (key = getopt(argc, argv, letters)) != -1) {
		const struct dbg_option *o = options;

		while (o->letter && o->letter != key)
			o++;
		if (!o->letter)
			return DBG_USAGE;
		if (o->given)
			*o->given = true;
		if (o->text)
			*o->text = optarg;
		if (o->number)
			rc = dbg_number(d, optarg, o->what, o->number);
	}
	return rc;
}

int dbg_flags(int argc, char **argv, const char *letters, unsigned *set)
{
	int key;

	dbg_getopt_reset();
	for (*set = 0; (key = getopt(argc, argv, letters)) != -1;) {
		if (key == '?')
			return DBG_USAGE;
		*set |= 1u << (strchr(letters, key) - letters);
	}
	return 0;
}

int dbg_number(struct dbg *d, const char *text, const char *what, uint64_t *out)
{
	const char *end;

	if (xw_parse_c_digits(text, out, &end) || *end)
		return xw_fail(&d->diag, XW_ERR_USAGE, "bad %s '%s'", what, text);
	return 0;
}

int dbg_block(struct dbg *d, const char *text, xw_blk *out)
{
	const struct xw_super *sb = &d->img->sb;
	int rc = dbg_number(d, text, "block number", out);

	if (rc)
		return rc;
	if (*out < sb->first_data_block || *out >= sb->blocks_count)
		return xw_fail(&d->diag, XW_ERR_USAGE,
			       "block %" PRIu64 " is not in the filesystem (%" PRIu32 " .. %" PRIu64
			       ")",
			       *out, sb->first_data_block, sb->blocks_count - 1);
	return 0;
}

int dbg_logical(struct dbg *d, const char *text, uint64_t *out)
{
	int rc = dbg_number(d, text, "logical block", out);

	if (!rc && *out > UINT32_MAX)
		rc = xw_fail(&d->diag, XW_ERR_USAGE, "logical block %s: too large", text);
	return rc;
}

uint64_t dbg_map_end(const struct dbg *d, const struct xw_inode *in)
{
	return in->flags & XW_FL_EXTENTS ? UINT32_MAX : xw_indirect_max_lblk(d->img->block_size);
}

int dbg_logical_fits(struct dbg *d, const struct xw_inode *in, uint64_t lblk)
{
	const uint64_t end = dbg_map_end(d, in);

	if (lblk < end)
		return 0;
	return xw_fail(&d->diag, XW_ERR_LIMIT,
		       "logical block %" PRIu64 ": file too big: the last block that its map can "
		       "have is %" PRIu64,
		       lblk, end - 1);
}

int dbg_count(struct dbg *d, int argc, char **argv, int i, uint64_t *out)
{
	int rc;

	*out = 1;
	if (i >= argc)
		return 0;
	rc = dbg_number(d, argv[i], "count", out);
	if (!rc && !*out)
		rc = xw_fail(&d->diag, XW_ERR_USAGE, "bad count '%s'", argv[i]);
	return rc;
}

static int parse_inode_number(struct dbg *d, const char *spec, bool *is_number, xw_ino *out)
{
	const size_t len = strlen(spec);
	const char *end;
	uint64_t n;

	*is_number = len > 2 && spec[0] == '<' && spec[len - 1] == '>' &&
		     !xw_parse_c_digits(spec + 1, &n, &end) && end == spec + len - 1;
	if (!*is_number)
		return 0;
	if (!n || n > d->img->sb.inodes_count)
		return xw_fail(&d->diag, XW_ERR_NOTFOUND,
			       "there is no inode %" PRIu64 " (1 .. %" PRIu32 ")", n,
			       d->img->sb.inodes_count);
	*out = (xw_ino)n;
	return 0;
}

int dbg_inode_number(struct dbg *d, const char *spec, xw_ino *out)
{
	xw_ino from = d->cwd;
	const char *path = spec;
	bool is_number;
	int rc = parse_inode_number(d, spec, &is_number, out);

	if (rc || is_number)
		return rc;
	if (*path == '/')
		from = d->root;
	while (*path == '/')
		path++;
	if (!*path) {
		*out = from;
		return 0;
	}
	rc = xw_path_resolve(d->img, from, path, false, out);
	if (rc == XW_ERR_NOTFOUND)
		rc = xw_fail(&d->diag, rc, "%s" DBG_NO_FILE, spec);
	return rc;
}

int dbg_find_record(struct dbg *d, xw_ino ino, struct dbg_record *r)
{
	const uint32_t per = d->img->sb.inodes_per_group, bs = d->img->block_size;
	const uint64_t at = (uint64_t)((ino - 1) % per) * d->img->inode_size;
	struct xw_group_desc gd;
	int rc = xw_image_group(d->img, (ino - 1) / per, &gd);

	if (!rc)
		*r = (struct dbg_record){(ino - 1) / per, gd.inode_table, gd.inode_table + at / bs,
					 (uint32_t)(at % bs)};
	return rc;
}

/* Verify a record's checksum: the image is opened without verification (session.c). */
static void check_csum(struct dbg *d, xw_ino ino, const struct xw_inode *in, uint8_t *record)
{
	const struct xw_image *img = d->img;
	struct xw_inode right;

	if (d->how.no_csum || !xw_inode_verify(record, &img->sb, img->csum_seed, ino))
		return;
	xw_inode_set_csum(record, &img->sb, img->csum_seed, ino);
	if (!xw_inode_decode(record, &img->sb, &right))
		dbg_complain(d,
			     "inode %" PRIu32 ": checksum mismatch: 0x%08" PRIx32
			     " stored, 0x%08" PRIx32 " computed",
			     ino, in->checksum, right.checksum);
}

int dbg_read_inode(struct dbg *d, xw_ino ino, struct xw_inode *in, uint8_t *raw)
{
	auto_free uint8_t *record = malloc(d->img->inode_size);
	int rc =
		record ? xw_image_inode(d->img, ino, in, record) : xw_fail_nomem(&d->diag, "inode");

	if (raw && record)
		memcpy(raw, record, d->img->inode_size);
	if (!rc)
		check_csum(d, ino, in, record);
	if (rc == XW_ERR_CHECKSUM || (rc == XW_ERR_CORRUPT && in->mode)) {
		dbg_complain_diag(d, rc);
		rc = 0;
	}
	return rc;
}

int dbg_inode(struct dbg *d, const char *spec, xw_ino *ino, struct xw_inode *in, uint8_t **raw)
{
	int rc = dbg_inode_number(d, spec, ino);

	if (raw) {
		*raw = malloc(d->img->inode_size);
		if (!*raw)
			return xw_fail_nomem(&d->diag, "inode");
	}
	return rc ? rc : dbg_read_inode(d, *ino, in, raw ? *raw : NULL);
}

int dbg_directory(struct dbg *d, const char *spec, xw_ino *ino, struct xw_inode *in, uint8_t **raw)
{
	int rc = dbg_inode(d, spec, ino, in, raw);

	if (!rc && (in->mode & XW_S_IFMT) != XW_S_IFDIR)
		rc = xw_fail(&d->diag, XW_ERR_INPUT, "%s" DBG_NO_DIR, spec);
	return rc;
}

char *dbg_absolute(const char *path)
{
	auto_free char *here = *path == '/' ? strdup("") : getcwd(NULL, 0);
	char *s;

	if (!here || asprintf(&s, "%s%s%s", here, *path == '/' ? "" : "/", path) < 0)
		return NULL;
	return s;
}

/* ---- paths of directories ---- */

struct found_name {
	xw_ino ino;
	char *name; /* malloc'd */
};

enum { FOUND = 1, DEEPEST = 4096 };

static int on_parent_entry(void *arg, const struct dbg_entry *e)
{
	struct found_name *f = arg;

	if (e->e.ino != f->ino || !e->e.name_len ||
	    (e->e.name_len <= 2 && !memcmp(e->e.name, "..", e->e.name_len)))
		return 0;
	f->name = strndup(e->e.name, e->e.name_len);
	return f->name ? FOUND : XW_ERR_NOMEM;
}

/* Find the name of `ino` in directory `parent`; NULL: unknown. XW_ERR_NOMEM, otherwise 0. */
static int find_name(struct dbg *d, xw_ino parent, xw_ino ino, char **name)
{
	struct found_name f = {.ino = ino};
	auto_free uint8_t *raw = malloc(d->img->inode_size);
	struct xw_inode in;
	int rc = raw ? xw_image_inode(d->img, parent, &in, raw) : XW_ERR_NOMEM;

	if (!rc && (in.mode & XW_S_IFMT) == XW_S_IFDIR)
		rc = dbg_walk_dir(d, parent, &in, raw, false, on_parent_entry, &f);
	xw_diag_clear(&d->diag);
	*name = f.name;
	return rc == XW_ERR_NOMEM ? rc : 0;
}

char *dbg_path_of(struct dbg *d, xw_ino dir)
{
	char *path = strdup("");

	for (unsigned depth = 0; path && dir != XW_INO_ROOT; depth++) {
		auto_free char *below = path, *name = NULL;
		xw_ino parent;
		int rc = XW_ERR_LIMIT;

		if (depth < DEEPEST)
			rc = xw_dir_lookup(d->img, dir, "..", 2, &parent, NULL);
		xw_diag_clear(&d->diag);
		if (!rc && parent)
			rc = find_name(d, parent, dir, &name);
		if (rc == XW_ERR_NOMEM)
			return NULL;
		if (!name) {
			/* the name is unknown: the path starts with the inode number */
			if (asprintf(&path, "<%" PRIu32 ">%s", dir, below) < 0)
				path = NULL;
			return path;
		}
		if (asprintf(&path, "/%s%s", name, below) < 0)
			path = NULL;
		dir = parent;
	}
	if (path && !*path) {
		free(path);
		path = strdup("/");
	}
	return path;
}
