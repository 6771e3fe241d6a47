// SPDX-License-Identifier: MIT
/*
 * /lost+found: created if it is needed and missing or unusable, and filled with unattached inodes.
 * If it cannot be created, for lack of an inode or block, the root directory may be used instead.
 *
 * Names are added with the directory code of all tools, so that the directory grows if necessary.
 * The blocks of lost+found have been checked and repaired before.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/auto.h"
#include "dir/build.h"
#include "facts/dirs.h"
#include "repairs/repairs.h"
#include "read/dirs.h"
#include "edit/dir.h"
#include "edit/edit.h"

enum { LPF_MODE = XW_S_IFDIR | 0700, NAME_BYTES = 32, TRIES = 100, MANY = 100 };

static const char lpf_name[] = "lost+found";

static bool is_left_to_the_user(int rc)
{
	return rc == XW_ERR_NOSPC || rc == XW_ERR_NOINODES || rc == XW_ERR_LIMIT ||
	       rc == XW_ERR_CORRUPT || rc == XW_ERR_CHECKSUM || rc == XW_ERR_UNSUPPORTED ||
	       rc == XW_ERR_EXISTS;
}

/* Add the facts of a new directory. */
static int add_facts(struct fsck *f, xw_ino ino)
{
	struct fsck_dir *root;
	struct fsck_inode *in;
	size_t at;
	int rc = fsck_inode_make(f, ino, &in);

	if (rc)
		return rc;
	*in = (struct fsck_inode){.links = 2, .names = 1, .ftype = XW_FT_DIR, .flags = FSCK_I_USED};
	if (xw_vec_push(&f->facts.dirs, (struct fsck_dir){0}))
		return xw_fail_nomem(&f->ses.diag, "directories");
	for (at = f->facts.dirs.n - 1; at && f->facts.dirs.v[at - 1].ino > ino; at--)
		f->facts.dirs.v[at] = f->facts.dirs.v[at - 1];
	f->facts.dirs.v[at] = (struct fsck_dir){
		.ino = ino, .parent = XW_INO_ROOT, .dotdot = XW_INO_ROOT, .attached = true};
	root = fsck_dir(f, XW_INO_ROOT);
	root->subdirs++;
	in = fsck_inode(f, XW_INO_ROOT);
	if (in)
		in->links++;
	return 0;
}

static int create(struct fsck *f, xw_ino *ino)
{
	const struct xw_update_new new = {.mode = LPF_MODE, .parent = XW_INO_ROOT};
	struct xw_update *u;
	int rc = fsck_update(f, &u);

	if (rc)
		return rc;
	rc = xw_update_create(u, &new, ino);
	if (rc)
		return rc;
	rc = xw_update_uninline(u, *ino);
	if (!rc)
		rc = xw_update_link(u, XW_INO_ROOT, lpf_name, strlen(lpf_name), *ino, XW_FT_DIR);
	if (!rc)
		rc = xw_update_add_links(u, XW_INO_ROOT, 1);
	return rc ? rc : fsck_update_keep(f);
}

static int make(struct fsck *f, xw_ino *ino)
{
	const int rc = create(f, ino);

	if (!rc)
		return add_facts(f, *ino);
	fsck_update_drop(f);
	*ino = 0;
	if (!is_left_to_the_user(rc))
		return rc;
	xw_diag_clear(&f->ses.diag);
	if (FSCK_FOUND(f, LPF_NO_SPACE, .ino = XW_INO_ROOT))
		*ino = XW_INO_ROOT;
	return 0;
}

/* Remove the directory entry; its inode becomes unattached. */
static int remove_name(struct fsck *f, xw_ino ino)
{
	struct fsck_inode *in = fsck_inode(f, ino);
	struct fsck_dir *d = fsck_dir(f, ino), *root = fsck_dir(f, XW_INO_ROOT);
	const int rc = fsck_dir_clear_names(f, XW_INO_ROOT, ino, lpf_name);

	if (rc)
		return rc;
	if (in && in->names)
		in->names--;
	if (d && d->parent == XW_INO_ROOT) {
		d->parent = 0;
		root->subdirs -= root->subdirs != 0;
	}
	return 0;
}

int fsck_lost_found_check(struct fsck *f)
{
	const struct fsck_inode *in =
		f->facts.lost_found ? fsck_inode(f, f->facts.lost_found) : NULL;
	bool gone;
	int rc;

	if (!in || (in->ftype == XW_FT_DIR && !(in->flags & FSCK_I_ENCRYPT)))
		return 0;
	gone = in->ftype == XW_FT_DIR ? FSCK_FOUND(f, LPF_ENCRYPTED, .ino = f->facts.lost_found)
				      : FSCK_FOUND(f, LPF_NOT_DIR, .ino = f->facts.lost_found);
	rc = gone ? remove_name(f, f->facts.lost_found) : 0;
	f->facts.lost_found = 0;
	return rc;
}

int fsck_lost_found(struct fsck *f)
{
	if (f->facts.lost_found || !FSCK_FOUND(f, LPF_MISSING, .ino = XW_INO_ROOT))
		return 0;
	return make(f, &f->facts.lost_found);
}

/* The name that an inode gets; if `tries` names exist already, one with a suffix. Its length. */
static int name_of(char name[NAME_BYTES], xw_ino ino, unsigned tries)
{
	return tries ? snprintf(name, NAME_BYTES, "#%u~%u", ino, tries)
		     : snprintf(name, NAME_BYTES, "#%u", ino);
}

static int add_name(struct fsck *f, struct xw_update *u, xw_ino ino)
{
	const struct fsck_inode *in = fsck_inode(f, ino);
	char name[NAME_BYTES];
	int rc = XW_ERR_EXISTS;

	for (unsigned i = 0; i < TRIES && rc == XW_ERR_EXISTS; i++) {
		const int n = name_of(name, ino, i);

		xw_diag_clear(&f->ses.diag);
		rc = xw_update_link(u, f->facts.lost_found, name, (size_t)n, ino,
				    in ? in->ftype : 0);
	}
	return rc;
}

static void follow(struct fsck *f, xw_ino ino)
{
	struct fsck_inode *in = fsck_inode(f, ino);
	struct fsck_dir *d = fsck_dir(f, ino), *lpf = fsck_dir(f, f->facts.lost_found);

	if (in)
		in->names++;
	if (d)
		d->parent = f->facts.lost_found;
	if (d && lpf)
		lpf->subdirs++;
	if (lpf)
		lpf->links_follow = true;
}

/* ---- large numbers of inodes ---- */

struct names {
	XW_VEC(struct xw_dir_entry) e;
	XW_VEC(struct xw_dir_entry) sorted; /* of those that are tried */
	size_t old; /* entries that lost+found has already; these come first */
	struct xw_arena text;
};

static void names_free(struct names *v)
{
	xw_vec_free(&v->e);
	xw_vec_free(&v->sorted);
	xw_arena_free(&v->text);
}

static int push_name(struct names *v, xw_ino ino, uint8_t ftype, const char *name, size_t len)
{
	const char *copy = xw_arena_dup(&v->text, name, len);
	const struct xw_dir_entry e = {
		.name = copy, .name_len = (uint8_t)len, .ino = ino, .ftype = ftype};

	return copy && !xw_vec_push(&v->e, e) ? 0 : XW_ERR_NOMEM;
}

static int read_names(struct fsck *f, struct xw_update *u, struct names *v)
{
	auto_free uint8_t *raw = malloc(u->img->inode_size);
	auto_end(xw_dir_end) struct xw_dir_iter it = {0};
	struct xw_dirent e;
	struct xw_inode in;
	int more = 0, rc = raw ? fsck_inode_read(f, f->facts.lost_found, &in, raw) : XW_ERR_NOMEM;

	if (rc)
		return rc;
	rc = xw_dir_begin(u->img, f->facts.lost_found, &in, raw, &it);
	while (!rc && (more = xw_dir_next(&it, &e, NULL)) == 1)
		if (!xw_name_is_dots(e.name, e.name_len))
			rc = push_name(v, e.ino, e.ftype, e.name, e.name_len);
	v->old = v->e.n;
	if (v->old)
		qsort(v->e.v, v->old, sizeof(*v->e.v), fsck_by_name);
	return rc ? rc : more;
}

/* Append a name for the inode, unless too many of its names exist already. */
static int choose_name(const struct fsck *f, struct names *v, xw_ino ino)
{
	const struct fsck_inode *in = fsck_inode(f, ino);
	char name[NAME_BYTES];

	for (unsigned i = 0; i < TRIES; i++) {
		const int n = name_of(name, ino, i);
		const struct xw_dir_entry e = {.name = name, .name_len = (uint8_t)n};

		if (!v->old || !bsearch(&e, v->e.v, v->old, sizeof(e), fsck_by_name))
			return push_name(v, ino, in ? in->ftype : 0, name, (size_t)n);
	}
	return 0;
}

static int choose_names(struct fsck *f, const struct fsck_lost *lost, struct names *v)
{
	struct xw_update *u;
	int rc = fsck_update(f, &u);

	if (!rc)
		rc = read_names(f, u, v);
	for (size_t i = 0; i < lost->inos.n && !rc; i++)
		rc = choose_name(f, v, lost->inos.v[i]);
	return rc;
}

/* WITH_INDEX: if it can have one; PACKED: since an index takes space; TRY: packed, and dropped. */
enum how { WITH_INDEX, PACKED, TRY };

/* Rewrite lost+found with its old names and the first n new ones. */
static int rewrite(struct fsck *f, const struct fsck_dir *d, struct names *v, size_t n,
		   enum how how)
{
	struct xw_update_rebuild o = {.ino = f->facts.lost_found};
	struct xw_update *u;
	int rc = fsck_update(f, &u);

	if (rc)
		return rc;
	v->sorted.n = v->old + n;
	if (xw_vec_reserve(&v->sorted, v->sorted.n))
		return XW_ERR_NOMEM;
	memcpy(v->sorted.v, v->e.v, v->sorted.n * sizeof(*v->e.v));
	o.parent = d->parent ? d->parent : XW_INO_ROOT;
	o.entries = v->sorted.v;
	o.n = v->sorted.n;
	o.no_index = how != WITH_INDEX;
	rc = xw_update_rebuild_dir(u, &o);
	if (!rc && how != TRY)
		rc = fsck_update_step(f);
	fsck_update_drop(f);
	return rc;
}

static bool has_no_room(int rc)
{
	return rc == XW_ERR_NOSPC || rc == XW_ERR_LIMIT;
}

/*
 * There is no room for all new names: find out for how many of the first, with a cost that depends
 * on this number only. Inodes are in order, so that shorter names come first.
 */
static int how_many_fit(struct fsck *f, const struct fsck_dir *d, struct names *v, size_t *n)
{
	const size_t beyond = v->e.n - v->old + 1;
	size_t fit = 0, end = beyond, at = MANY / 2;
	int rc = 0;

	while (fit + 1 < end && (!rc || has_no_room(rc))) {
		at = end == beyond && 2 * at < end ? 2 * at : fit + (end - fit) / 2;
		rc = rewrite(f, d, v, at, TRY);
		xw_diag_clear(&f->ses.diag);
		if (rc)
			end = at;
		else
			fit = at;
	}
	*n = fit;
	return has_no_room(rc) ? 0 : rc;
}

static void report_full(struct fsck *f, xw_ino ino)
{
	FSCK_FOUND(f, LPF_FULL, .ino = ino, .dir = f->facts.lost_found);
}

/* The first n of the new names exist now; the other inodes stay without. */
static void follow_names(struct fsck *f, const struct fsck_lost *lost, const struct names *v,
			 size_t n)
{
	size_t at = v->old;

	for (size_t i = 0; i < lost->inos.n; i++) {
		if (at < v->old + n && v->e.v[at].ino == lost->inos.v[i]) {
			follow(f, lost->inos.v[i]);
			at++;
		} else {
			report_full(f, lost->inos.v[i]);
		}
	}
}

/*
 * Give all inodes their names at once: in a directory of several blocks without an index every
 * addition would search all blocks, also to find that there is no room. False: no inode has got a
 * name.
 */
static bool reconnect_all(struct fsck *f, const struct fsck_lost *lost)
{
	const struct fsck_dir *d = fsck_dir(f, f->facts.lost_found);
	auto_end(names_free) struct names v = {0};
	size_t n;
	int rc;

	if (lost->inos.n < MANY || !d || d->itree)
		return false;
	rc = choose_names(f, lost, &v);
	n = v.e.n - v.old;
	if (!rc)
		rc = rewrite(f, d, &v, n, WITH_INDEX);
	if (has_no_room(rc)) {
		rc = how_many_fit(f, d, &v, &n);
		if (!rc && n)
			rc = rewrite(f, d, &v, n, PACKED);
	}
	fsck_update_drop(f);
	xw_diag_clear(&f->ses.diag);
	if (!rc)
		follow_names(f, lost, &v, n);
	return !rc;
}

int fsck_reconnect(struct fsck *f, struct fsck_lost *lost)
{
	struct xw_update *u;
	int rc = 0;

	if (reconnect_all(f, lost))
		return 0;
	for (size_t i = 0; i < lost->inos.n && !rc && !f->ses.stop; i++) {
		rc = fsck_update(f, &u);
		if (!rc)
			rc = add_name(f, u, lost->inos.v[i]);
		if (!rc)
			rc = fsck_update_step(f);
		if (!rc) {
			follow(f, lost->inos.v[i]);
			continue;
		}
		fsck_update_drop(f);
		if (!is_left_to_the_user(rc))
			return rc;
		xw_diag_clear(&f->ses.diag);
		report_full(f, lost->inos.v[i]);
		rc = 0;
	}
	fsck_update_drop(f);
	return rc;
}
