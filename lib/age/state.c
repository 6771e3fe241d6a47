// SPDX-License-Identifier: MIT
#include "config.h"

#include "age/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "age/place.h"
#include "base/auto.h"
#include "base/hash.h"
#include "read/map.h"
#include "update/inode.h"

#define NAME XW_AGE_STATE_NAME
#define NAME_LEN (sizeof(NAME) - 1)
#define FIELDS 12

uint64_t xw_age_options_hash(const struct xw_age_opts *o)
{
	char text[512];
	const int n =
		snprintf(text, sizeof(text),
			 "%" PRIu64 " %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			 " %" PRIu64 " %" PRIu64 " %" PRIu32 " %d%d%d %s %d%d %" PRIu64 " %d",
			 o->seed, (int)o->profile, o->ops, o->files, o->dirs, o->size_min,
			 o->size_max, o->used, o->free, o->util, o->ages != NULL, o->sizes != NULL,
			 o->depths != NULL, o->model ? o->model : "", o->fast,
			 xw_age_until_any(&o->until), o->step, o->fast ? 0 : (int)o->allocator);
	const uint64_t h = xw_hash64(text, (size_t)n, 1);

	return xw_hash64(o->dir, strlen(o->dir), h);
}

/* ---- text ---- */

static void fields_of(struct xw_age_state *s, uint64_t *v[FIELDS])
{
	struct xw_age_counts *c = &s->counts;
	uint64_t *const all[] = {&s->options,   &s->base.blocks, &s->base.free, &c->ops,
				 &c->created,   &c->removed,     &c->changed,   &c->skipped,
				 &c->shortened, &c->written,     &c->steps,     &s->writing};

	memcpy(v, all, sizeof(all));
}

/*
 * Print the state of the allocator model: of each CPU the group of the last request, and the
 * preallocations. All of it fits in a block of 1 KiB.
 */
static size_t print_memory(const struct xw_age_memory *m, char *text, size_t size)
{
	size_t n = 0;

	for (unsigned c = 0; c < XW_AGE_CPUS; c++) {
		n += (size_t)snprintf(text + n, size - n, " %" PRIu32 " %" PRIu32, m->stream[c],
				      m->pools[c].n);
		for (uint32_t i = 0; i < m->pools[c].n; i++)
			n += (size_t)snprintf(text + n, size - n, " %" PRIu64 "+%" PRIu64,
					      m->pools[c].run[i].start, m->pools[c].run[i].len);
	}
	return n;
}

static bool parse_memory(const char *text, struct xw_age_memory *m)
{
	int n = 0;

	for (unsigned c = 0; c < XW_AGE_CPUS; c++) {
		struct xw_age_pools *p = &m->pools[c];

		if (sscanf(text, " %" SCNu32 " %" SCNu32 "%n", &m->stream[c], &p->n, &n) != 2 ||
		    p->n > XW_AGE_POOLS)
			return false;
		text += n;
		for (uint32_t i = 0; i < p->n; i++, text += n)
			if (sscanf(text, " %" SCNu64 "+%" SCNu64 "%n", &p->run[i].start,
				   &p->run[i].len, &n) != 2 ||
			    !p->run[i].len || p->run[i].len > UINT16_MAX)
				return false;
	}
	return true;
}

static void print_state(const struct xw_age_state *s, char *text, size_t size)
{
	struct xw_age_state copy = *s;
	uint64_t *v[FIELDS];
	size_t n;

	fields_of(&copy, v);
	n = (size_t)snprintf(text, size, "xw-age 2 %" PRIu32 " %" PRId64 " %d", s->base.block_size,
			     s->base.now, s->ended);
	for (size_t i = 0; i < FIELDS; i++)
		n += (size_t)snprintf(text + n, size - n, " %" PRIu64, *v[i]);
	n += print_memory(&s->memory, text + n, size - n);
	snprintf(text + n, size - n, "\n");
}

static bool parse_state(const char *text, struct xw_age_state *s)
{
	uint64_t *v[FIELDS];
	int at = 0;

	*s = (struct xw_age_state){0};
	fields_of(s, v);
	if (sscanf(text, "xw-age 2 %" SCNu32 " %" SCNd64 " %d%n", &s->base.block_size, &s->base.now,
		   &s->ended, &at) != 3)
		return false;
	for (size_t i = 0; i < FIELDS; i++) {
		int n = 0;

		if (sscanf(text + at, " %" SCNu64 "%n", v[i], &n) != 1)
			return false;
		at += n;
	}
	return parse_memory(text + at, &s->memory);
}

/* ---- the file ---- */

static int bad(struct xw_age_world *w, const char *why)
{
	return xw_fail(w->u->diag, XW_ERR_INPUT, "%s: /" NAME ": %s", w->u->img->dev->name, why);
}

static int find(struct xw_age_world *w, struct xw_age_dir **root, xw_ino *ino)
{
	const int rc = xw_age_world_root(w, root);

	return rc ? rc : xw_dir_find(&(*root)->ud.d, NAME, NAME_LEN, ino, NULL);
}

static int block_of(struct xw_age_world *w, xw_ino ino, xw_blk *blk)
{
	struct xw_update_map m = {0};
	auto_free uint8_t *raw = NULL;
	struct xw_inode in;
	int rc = xw_update_get(w->u, ino, &in, &raw);

	if (!rc && (in.mode & XW_S_IFMT) != XW_S_IFREG)
		return bad(w, "not a file of xw-age");
	if (!rc)
		rc = xw_update_map_read(w->u, ino, &in, &m);
	if (!rc && (!m.e.n || m.e.v[0].lblk || m.e.v[0].unwritten))
		rc = bad(w, "not a file of xw-age");
	*blk = rc ? 0 : m.e.v[0].pblk;
	xw_update_map_end(&m);
	return rc;
}

int xw_age_state_read(struct xw_age_world *w, struct xw_age_state *s)
{
	const uint32_t bs = w->u->img->block_size;
	auto_free char *buf = calloc(1, (size_t)bs + 1);
	struct xw_age_dir *root;
	xw_ino ino;
	xw_blk blk;
	int rc = buf ? find(w, &root, &ino) : xw_fail_nomem(w->u->diag, "state");

	if (!rc)
		rc = block_of(w, ino, &blk);
	if (!rc)
		rc = xw_dev_pread(w->u->img->dev, buf, bs, blk * bs);
	if (!rc && (!parse_state(buf, s) || s->base.block_size != bs || s->ended < 0 ||
		    s->ended > 1 + XW_AGE_END_OVERWRITES))
		rc = bad(w, "not a file of xw-age");
	return rc;
}

static int make(struct xw_age_world *w, struct xw_age_dir *root, xw_ino *ino)
{
	const struct xw_update_new n = {
		.mode = XW_S_IFREG | 0600,
		.parent = XW_INO_ROOT,
		.goal = xw_age_place_file(w->u, XW_INO_ROOT),
	};
	struct xw_age_counts none = {0}, *const counts = w->counts;
	int rc = xw_update_create(w->u, &n, ino);

	w->counts = &none;
	if (!rc)
		rc = xw_age_world_resize(w, *ino, w->u->img->block_size, true);
	w->counts = counts;
	if (!rc && none.shortened)
		rc = xw_fail(w->u->diag, XW_ERR_NOSPC, "%s: no space left", w->u->img->dev->name);
	return rc ? rc : xw_dir_insert(&root->ud.d, NAME, NAME_LEN, *ino, XW_FT_REG);
}

int xw_age_state_write(struct xw_age_world *w, const struct xw_age_state *s)
{
	const uint32_t bs = w->u->img->block_size;
	auto_free char *buf = calloc(1, bs);
	struct xw_age_dir *root;
	xw_ino ino;
	xw_blk blk;
	int rc = buf ? find(w, &root, &ino) : xw_fail_nomem(w->u->diag, "state");

	if (rc == XW_ERR_NOTFOUND)
		rc = make(w, root, &ino);
	if (!rc)
		rc = block_of(w, ino, &blk);
	if (rc)
		return rc;
	print_state(s, buf, bs);
	return xw_dev_pwrite(w->u->img->dev, buf, bs, blk * bs);
}

int xw_age_state_remove(struct xw_age_world *w)
{
	struct xw_age_dir *root;
	xw_ino ino;
	int rc = find(w, &root, &ino);

	if (rc)
		return rc == XW_ERR_NOTFOUND ? 0 : rc;
	rc = xw_dir_delete(&root->ud.d, NAME, NAME_LEN, NULL);
	return rc ? rc : xw_update_drop(w->u, ino);
}
