/* SPDX-License-Identifier: MIT */
/* Verbs that scan all inodes: the owner of a block, the names of an inode, deleted inodes. */
#include "config.h"

#include "bits.h"
#include "cli/env.h"
#include "print.h"
#include "show/show.h"
#include "walk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/search.h"
#include "base/vec.h"

int dbg_each_inode(struct dbg *d, dbg_inode_fn *fn, void *arg)
{
	auto_end(xw_inode_scan_end) struct xw_inode_scan scan = {0};
	const uint8_t *raw;
	xw_ino ino;
	int rc = xw_inode_scan_begin(d->img, 0, xw_image_groups_here(d->img), &scan);

	while (!rc) {
		struct xw_inode in;

		if (cli_interrupted())
			return DBG_SAID;
		rc = xw_inode_scan_next(&scan, &ino, &raw);
		if (!rc || rc == XW_ERR_NOMEM)
			return rc;
		if (rc < 0) {
			dbg_complain_diag(d, rc);
			rc = 0;
			continue;
		}
		(void)xw_inode_decode(raw, &d->img->sb, &in);
		rc = fn(arg, ino, &in, raw);
	}
	return rc;
}

/* ---- icheck ---- */

struct owner {
	xw_blk blk;
	xw_ino ino; /* 0: not found yet */
	size_t at; /* in the request */
};

struct icheck {
	struct dbg *d;
	struct owner *v; /* ascending */
	size_t n, left;
	xw_ino ino;
};

enum { ALL_FOUND = 1000 };

static int claim(struct icheck *c, xw_blk blk, uint64_t len)
{
	size_t i = XW_LOWER_BOUND(k, c->n, c->v[k].blk >= blk);

	for (; i < c->n && c->v[i].blk - blk < len; i++) {
		if (!c->v[i].ino) {
			c->v[i].ino = c->ino;
			c->left--;
		}
	}
	return c->left ? 0 : ALL_FOUND;
}

static int by_request(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static int on_piece(void *arg, const struct dbg_piece *p)
{
	return claim(arg, p->pblk, p->kind == DBG_DATA ? p->len : 1);
}

static int on_icheck(void *arg, xw_ino ino, const struct xw_inode *in, const uint8_t *raw)
{
	struct icheck *c = arg;
	int rc = 0;

	(void)raw;
	if (!in->links)
		return 0;
	c->ino = ino;
	if (in->file_acl)
		rc = claim(c, in->file_acl, 1);
	return rc ? rc : dbg_walk(c->d, ino, in, on_piece, c);
}

static void icheck_report(struct dbg *d, const struct owner *v, size_t n)
{
	if (!dbg_list_begin(d))
		fputs("Block\tInode number\n", d->out);
	for (size_t i = 0; i < n; i++) {
		if (d->json) {
			xw_json_object(&d->js, NULL);
			xw_json_u64(&d->js, "block", v[i].blk);
			xw_json_u64(&d->js, "inode", v[i].ino);
			xw_json_end(&d->js, '}');
		} else if (v[i].ino) {
			fprintf(d->out, "%" PRIu64 "\t%" PRIu32 "\n", v[i].blk, v[i].ino);
		} else {
			fprintf(d->out, "%" PRIu64 "\t<block not found>\n", v[i].blk);
		}
	}
	dbg_list_end(d);
}

static int verb_icheck(struct dbg *d, int argc, char **argv)
{
	struct icheck c = {.d = d, .n = (size_t)argc - 1};
	auto_free struct owner *v = calloc((size_t)argc, sizeof(*v));
	int rc = 0;

	if (argc < 2)
		return DBG_USAGE;
	if (!v)
		return xw_fail_nomem(&d->diag, "blocks");
	for (size_t i = 0; i < c.n && !rc; i++) {
		v[i].at = i;
		rc = dbg_number(d, argv[i + 1], "block number", &v[i].blk);
	}
	if (rc || d->complaints)
		return rc ? rc : DBG_SAID;
	qsort(v, c.n, sizeof(*v), xw_by_u64);
	c.v = v;
	c.left = c.n;
	rc = dbg_each_inode(d, on_icheck, &c);
	if (rc && rc != ALL_FOUND)
		return rc;
	qsort(v, c.n, sizeof(*v), by_request);
	icheck_report(d, v, c.n);
	return 0;
}

/* ---- ncheck ---- */

struct ncheck {
	struct dbg *d;
	const xw_ino *v; /* ascending */
	size_t n;
	unsigned check_type; /* -c */
	xw_ino dir;
	char *path; /* path of dir, computed on demand */
};

static void check_type(struct ncheck *c, const struct dbg_entry *e)
{
	struct xw_inode in;
	int rc = dbg_read_inode(c->d, e->e.ino, &in, NULL);

	if (rc)
		dbg_complain_diag(c->d, rc);
	else if (e->e.ftype != xw_ftype_of_mode(in.mode))
		dbg_complain(c->d, "%s/%.*s: file type %u in the directory, %u by inode %" PRIu32,
			     c->path, e->e.name_len, e->e.name, e->e.ftype,
			     xw_ftype_of_mode(in.mode), e->e.ino);
}

static int on_name(void *arg, const struct dbg_entry *e)
{
	struct ncheck *c = arg;
	struct dbg *d = c->d;

	if (!e->e.ino || !e->e.name_len || xw_name_is_dots(e->e.name, e->e.name_len))
		return 0;
	for (size_t i = XW_LOWER_BOUND(k, c->n, c->v[k] >= e->e.ino);
	     i < c->n && c->v[i] == e->e.ino; i++) {
		if (!c->path)
			c->path = dbg_path_of(d, c->dir);
		if (!c->path)
			return xw_fail_nomem(&d->diag, "path");
		if (d->json) {
			auto_free char *full = NULL;
			int len = asprintf(&full, "%s/%.*s", c->path[1] ? c->path : "",
					   e->e.name_len, e->e.name);

			if (len < 0)
				return xw_fail_nomem(&d->diag, "path");
			xw_json_object(&d->js, NULL);
			xw_json_u64(&d->js, "inode", e->e.ino);
			xw_json_str(&d->js, "path", full, (size_t)len);
			xw_json_end(&d->js, '}');
		} else {
			fprintf(d->out, "%" PRIu32 "\t", e->e.ino);
			dbg_print_name(d, c->path, strlen(c->path));
			fputc('/', d->out);
			dbg_print_name(d, e->e.name, e->e.name_len);
			fputc('\n', d->out);
		}
		if (c->check_type && d->img->sb.feature_incompat & XW_INCOMPAT_FILETYPE)
			check_type(c, e);
	}
	return 0;
}

static int on_ncheck(void *arg, xw_ino ino, const struct xw_inode *in, const uint8_t *raw)
{
	struct ncheck *c = arg;
	int rc;

	if (!in->links || (in->mode & XW_S_IFMT) != XW_S_IFDIR)
		return 0;
	c->dir = ino;
	rc = dbg_walk_dir(c->d, ino, in, raw, false, on_name, c);
	free(c->path);
	c->path = NULL;
	return rc;
}

static int verb_ncheck(struct dbg *d, int argc, char **argv)
{
	auto_free xw_ino *v = calloc((size_t)argc, sizeof(*v));
	struct ncheck c = {.d = d};
	uint64_t n;
	int rc = 0;

	if (dbg_flags(argc, argv, "c", &c.check_type) || optind == argc)
		return DBG_USAGE;
	if (!v)
		return xw_fail_nomem(&d->diag, "inodes");
	for (; optind < argc && !rc; optind++) {
		rc = dbg_number(d, argv[optind], "inode number", &n);
		if (!rc && (!n || n > d->img->sb.inodes_count))
			dbg_complain(d, "there is no inode %" PRIu64, n);
		else if (!rc)
			v[c.n++] = (xw_ino)n;
	}
	if (rc)
		return rc;
	if (c.n)
		qsort(v, c.n, sizeof(*v), xw_by_u32);
	c.v = v;
	if (!dbg_list_begin(d))
		fputs("Inode\tPathname\n", d->out);
	rc = dbg_each_inode(d, on_ncheck, &c);
	dbg_list_end(d);
	return rc;
}

/* ---- lsdel ---- */

struct deleted {
	xw_ino ino;
	uint32_t uid, dtime;
	uint16_t mode;
	uint64_t size, blocks, free_blocks;
};

struct lsdel {
	struct dbg *d;
	struct dbg_bits bits;
	int64_t since; /* minimum dtime; INT64_MIN: all */
	struct deleted at;
	XW_VEC(struct deleted) found;
};

static int on_deleted_piece(void *arg, const struct dbg_piece *p)
{
	struct lsdel *l = arg;
	const uint64_t n = p->kind == DBG_DATA ? p->len : 1;
	bool used;
	int rc = 0;

	for (uint64_t i = 0; i < n && !rc; i++) {
		rc = dbg_bits_test(&l->bits, p->pblk + i, &used);
		l->at.blocks++;
		l->at.free_blocks += !rc && !used;
	}
	return rc;
}

static int on_lsdel(void *arg, xw_ino ino, const struct xw_inode *in, const uint8_t *raw)
{
	struct lsdel *l = arg;
	int rc;

	(void)raw;
	/* for an orphan, i_dtime is the next orphan's number; its blocks are still allocated */
	if (!in->dtime || (int64_t)in->dtime < l->since)
		return 0;
	l->at = (struct deleted){
		.ino = ino, .uid = in->uid, .dtime = in->dtime, .mode = in->mode, .size = in->size};
	rc = dbg_walk(l->d, ino, in, on_deleted_piece, l);
	if (rc || (!l->at.free_blocks && !(in->flags & XW_FL_INLINE_DATA)))
		return rc;
	if (xw_vec_push(&l->found, l->at))
		return xw_fail_nomem(&l->d->diag, "deleted inodes");
	return 0;
}

static int by_dtime(const void *a, const void *b)
{
	const struct deleted *x = a, *y = b;

	if (x->dtime != y->dtime)
		return x->dtime < y->dtime ? -1 : 1;
	return (x->ino > y->ino) - (x->ino < y->ino);
}

static void lsdel_report(struct dbg *d, const struct deleted *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct deleted *f = &v[i];

		fprintf(d->out,
			"%6" PRIu32 " %6" PRIu32 " %6o %6" PRIu64 " %6" PRIu64 "/%6" PRIu64 " %s\n",
			f->ino, f->uid, f->mode, f->size, f->free_blocks, f->blocks,
			xw_show_when(f->dtime).s);
	}
	fprintf(d->out, "%zu deleted inodes found.\n", n);
}

static void lsdel_json(struct xw_json *j, const struct deleted *v, size_t n)
{
	xw_json_array(j, NULL);
	for (size_t i = 0; i < n; i++) {
		xw_json_object(j, NULL);
		xw_json_u64(j, "inode", v[i].ino);
		xw_json_u64(j, "uid", v[i].uid);
		xw_json_u64(j, "mode", v[i].mode);
		xw_json_u64(j, "size_bytes", v[i].size);
		xw_json_u64(j, "free_blocks", v[i].free_blocks);
		xw_json_u64(j, "blocks", v[i].blocks);
		xw_json_u64(j, "dtime", v[i].dtime);
		xw_json_end(j, '}');
	}
	xw_json_end(j, ']');
}

static int verb_lsdel(struct dbg *d, int argc, char **argv)
{
	struct lsdel l = {.d = d, .bits = {.d = d}, .since = INT64_MIN};
	uint64_t ago = 0;
	int rc = 0;

	if (argc > 2)
		return DBG_USAGE;
	if (argc == 2) {
		rc = dbg_number(d, argv[1], "time", &ago);
		if (rc)
			return rc;
		l.since = d->now - (int64_t)XW_MIN(ago, (uint64_t)INT32_MAX * 16);
	}
	if (!d->json)
		fputs(" Inode  Owner  Mode    Size      Blocks   Time deleted\n", d->out);
	rc = dbg_each_inode(d, on_lsdel, &l);
	if (l.found.n)
		qsort(l.found.v, l.found.n, sizeof(*l.found.v), by_dtime);
	if (d->json)
		lsdel_json(&d->js, l.found.v, l.found.n);
	else
		lsdel_report(d, l.found.v, l.found.n);
	xw_vec_free(&l.found);
	dbg_bits_end(&l.bits);
	return rc;
}

static const struct dbg_verb verbs[] = {
	{"icheck", DBG_OPEN, verb_icheck, "BLOCK...", "inodes that own these blocks"},
	{"ncheck", DBG_OPEN, verb_ncheck, "[-c] INODE...",
	 "all names of these inodes; -c: check the file types in the entries"},
	{"list_deleted_inodes, lsdel", DBG_OPEN | DBG_PAGED, verb_lsdel, "[SECONDS]",
	 "deleted inodes (in the last SECONDS) that still have block numbers"},
};

const struct dbg_family dbg_scan_verbs = {"Searches", verbs, XW_ARRAY_SIZE(verbs)};
