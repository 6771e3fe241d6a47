/* SPDX-License-Identifier: MIT */
/* filefrag: number of extents of a file, or of each file in a directory. */
#include "config.h"

#include "print.h"
#include "walk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/blockset.h"
#include "base/vec.h"
#include "cli/env.h"

enum { FRAG_DIR = 0x1, FRAG_VERBOSE = 0x2, FRAG_RECURSE = 0x4 }; /* -d, -v, -r */

struct queued_dir {
	char *path; /* owned */
	xw_ino ino;
};

struct frag {
	struct dbg *d;
	unsigned options;
	/* of the file */
	int lwidth, pwidth;
	uint64_t extents;
	xw_lblk lblk; /* the extent being merged */
	xw_blk pblk;
	uint64_t len;
	xw_lblk next_lblk; /* end of the previous one */
	xw_blk next_pblk;
	XW_VEC(struct queued_dir) dirs; /* found so far; visited in this order */
	const struct queued_dir *dir; /* being visited */
	struct xw_blockset *seen; /* inode numbers of all that were queued */
};

static void end_extent(struct frag *f)
{
	if (!f->len)
		return;
	if (f->options & FRAG_VERBOSE && f->d->json) {
		xw_json_object(&f->d->js, NULL);
		xw_json_u64(&f->d->js, "logical", f->lblk);
		xw_json_u64(&f->d->js, "physical", f->pblk);
		xw_json_u64(&f->d->js, "length_blocks", f->len);
		xw_json_end(&f->d->js, '}');
	} else if (f->options & FRAG_VERBOSE) {
		fprintf(f->d->out, "%4" PRIu64 " %*" PRIu64 " %*" PRIu64 " ", f->extents, f->lwidth,
			f->lblk, f->pwidth, f->pblk);
		if (f->extents && f->lblk == f->next_lblk && f->pblk != f->next_pblk)
			fprintf(f->d->out, "%*" PRIu64, f->pwidth, f->next_pblk);
		else
			fprintf(f->d->out, "%*s", f->pwidth, "");
		fprintf(f->d->out, " %*" PRIu64 "\n", f->lwidth, f->len);
	}
	f->extents++;
	f->next_lblk = f->lblk + f->len;
	f->next_pblk = f->pblk + f->len;
	f->len = 0;
}

static int on_piece(void *arg, const struct dbg_piece *p)
{
	struct frag *f = arg;

	if (p->kind != DBG_DATA)
		return 0;
	if (f->len && p->lblk == f->lblk + f->len && p->pblk == f->pblk + f->len) {
		f->len += p->len;
		return 0;
	}
	end_extent(f);
	f->lblk = p->lblk;
	f->pblk = p->pblk;
	f->len = p->len;
	return 0;
}

static int file_json(struct frag *f, const char *path, xw_ino ino, const struct xw_inode *in)
{
	const uint32_t bs = f->d->img->block_size;
	struct xw_json *j = &f->d->js;
	int rc;

	xw_json_object(j, NULL);
	xw_json_str(j, "path", path, strlen(path));
	xw_json_bool(j, "directory", (in->mode & XW_S_IFMT) == XW_S_IFDIR);
	xw_json_u64(j, "size_bytes", in->size);
	xw_json_u64(j, "blocks", xw_inode_fs_blocks_512(in, &f->d->img->sb) / (bs / 512));
	if (f->options & FRAG_VERBOSE)
		xw_json_array(j, "list");
	rc = dbg_walk(f->d, ino, in, on_piece, f);
	end_extent(f);
	if (f->options & FRAG_VERBOSE)
		xw_json_end(j, ']');
	xw_json_u64(j, "extents", f->extents);
	xw_json_end(j, '}');
	return rc;
}

static int one_file(struct frag *f, const char *path, xw_ino ino, const struct xw_inode *in)
{
	const struct xw_image *img = f->d->img;
	const bool is_dir = (in->mode & XW_S_IFMT) == XW_S_IFDIR;
	FILE *out = f->d->out;
	int rc;

	f->extents = f->len = f->next_lblk = f->next_pblk = 0;
	if (f->d->json)
		return file_json(f, path, ino, in);
	if (f->options & FRAG_VERBOSE) {
		f->lwidth = dbg_width(xw_div_up(in->size, img->block_size), 7);
		f->pwidth = dbg_width(img->sb.blocks_count, 8);
		fputc('\n', out);
		dbg_print_name(f->d, path, strlen(path));
		fprintf(out,
			" has %" PRIu64 " block(s), i_size is %" PRIu64 "\n ext %*s %*s %*s %*s\n",
			xw_inode_fs_blocks_512(in, &img->sb) / (img->block_size / 512), in->size,
			f->lwidth, "logical", f->pwidth, "physical", f->pwidth, "expected",
			f->lwidth, "length");
	}
	rc = dbg_walk(f->d, ino, in, on_piece, f);
	end_extent(f);
	dbg_print_name(f->d, path, strlen(path));
	fprintf(out, ": %" PRIu64 " contiguous extents%s\n", f->extents, is_dir ? " (dir)" : "");
	return rc;
}

static int on_entry(void *arg, const struct dbg_entry *e)
{
	struct frag *f = arg;
	auto_free char *path = NULL;
	uint64_t had = 0;
	struct xw_inode in;
	int rc;

	if (!e->e.ino || !e->e.name_len ||
	    (e->e.name_len <= 2 && !memcmp(e->e.name, "..", e->e.name_len)))
		return 0;
	if (cli_interrupted())
		return DBG_SAID;
	if (asprintf(&path, "%s/%.*s", f->dir->path, e->e.name_len, e->e.name) < 0)
		return xw_fail_nomem(&f->d->diag, "path");
	rc = dbg_read_inode(f->d, e->e.ino, &in, NULL);
	if (rc) {
		dbg_complain_diag(f->d, rc);
		return 0;
	}
	rc = one_file(f, path, e->e.ino, &in);
	if (rc || !(f->options & FRAG_RECURSE) || (in.mode & XW_S_IFMT) != XW_S_IFDIR)
		return rc;
	if (xw_blockset_add(f->seen, e->e.ino, 1, &had))
		return xw_fail_nomem(&f->d->diag, "directories");
	if (had) { /* in a damaged image, perhaps inside itself */
		dbg_complain(f->d, "%s: a directory with another name", path);
		return 0;
	}
	if (xw_vec_push(&f->dirs, ((struct queued_dir){path, e->e.ino})))
		return xw_fail_nomem(&f->d->diag, "directories");
	path = NULL;
	return 0;
}

/* Visit the directories in f->dirs; those found on the way are appended. */
static int all_dirs(struct frag *f)
{
	auto_free uint8_t *raw = malloc(f->d->img->inode_size);
	int rc = raw ? 0 : xw_fail_nomem(&f->d->diag, "inode");

	for (size_t i = 0; i < f->dirs.n && !rc; i++) {
		const struct queued_dir dir = f->dirs.v[i]; /* the vector may move */
		struct xw_inode in;

		f->dir = &dir;
		rc = xw_image_inode(f->d->img, dir.ino, &in, raw);
		if (!rc)
			rc = dbg_walk_dir_in_order(f->d, dir.ino, &in, raw, on_entry, f);
		free(dir.path);
		f->dirs.v[i].path = NULL;
	}
	return rc;
}

static int from_dir(struct frag *f, const char *name, xw_ino ino)
{
	char *path = strdup(name);

	if (path && !xw_blockset_new((uint64_t)f->d->img->sb.inodes_count + 1, &f->seen) &&
	    !xw_blockset_add(f->seen, ino, 1, NULL) &&
	    !xw_vec_push(&f->dirs, ((struct queued_dir){path, ino})))
		return all_dirs(f);
	free(path);
	return xw_fail_nomem(&f->d->diag, "path");
}

int dbg_verb_filefrag(struct dbg *d, int argc, char **argv)
{
	struct frag f = {.d = d};
	const char *name;
	struct xw_inode in;
	xw_ino ino;
	int rc;

	if (dbg_flags(argc, argv, "dvr", &f.options) || argc - optind > 1)
		return DBG_USAGE;
	name = optind < argc ? argv[optind] : ".";
	rc = dbg_inode(d, name, &ino, &in, NULL);
	if (rc)
		return rc;
	dbg_list_begin(d);
	if ((in.mode & XW_S_IFMT) != XW_S_IFDIR || f.options & FRAG_DIR)
		rc = one_file(&f, name, ino, &in);
	else
		rc = from_dir(&f, name, ino);
	if (!dbg_list_end(d))
		fputc('\n', d->out);
	for (size_t i = 0; i < f.dirs.n; i++)
		free(f.dirs.v[i].path);
	xw_vec_free(&f.dirs);
	xw_blockset_free(f.seen);
	return rc;
}
