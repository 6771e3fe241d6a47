/* SPDX-License-Identifier: MIT */
/*
 * For itree.sh: directories of an image changed by the library.
 *
 *   o_dir on IMAGE, o_dir off IMAGE
 *	the feature itree set, with a tree for each directory that can have one, or all dropped;
 *	prints their number
 *   o_dir churn IMAGE DIRECTORY COUNT SEED
 *	COUNT times a hard link to a file that is in the directory comes or goes
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "read/dirs.h"
#include "session/edit.h"
#include "edit/dir.h"

struct file {
	xw_ino ino;
	int32_t links; /* gained */
};

struct churn {
	struct xw_update *u;
	XW_VEC(struct file) files;
	struct {
		uint32_t id, file;
	} * names;
	uint32_t n_names, next_id;
	uint64_t state;
};

static uint32_t rnd(struct churn *c, uint32_t below)
{
	c->state = c->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((c->state >> 33) % below);
}

static int collect(void *arg, const struct xw_dirent *e)
{
	struct churn *c = arg;
	struct xw_inode in;
	int rc;

	if (e->name[0] == '.')
		return 0;
	rc = xw_image_inode(c->u->img, e->ino, &in, NULL);
	if (rc || (in.mode & XW_S_IFMT) != XW_S_IFREG || in.links > 1)
		return rc;
	return xw_vec_push(&c->files, ((struct file){.ino = e->ino}));
}

static unsigned name_of(char *buf, uint32_t id)
{
	return (unsigned)sprintf(buf, "churned-%u%.*s", id, (int)(id % 23),
				 "-----------------------");
}

static int one(struct churn *c, struct xw_dir *d)
{
	const uint32_t f = rnd(c, (uint32_t)c->files.n), k = c->n_names ? rnd(c, c->n_names) : 0;
	char name[64];
	int rc;

	if (!c->n_names || rnd(c, 10) < 6) {
		if (c->files.v[f].links > 200)
			return 0;
		rc = xw_dir_insert(d, name, name_of(name, c->next_id), c->files.v[f].ino,
				   XW_FT_REG);
		c->names[c->n_names].id = c->next_id++;
		c->names[c->n_names++].file = f;
		c->files.v[f].links++;
		return rc;
	}
	rc = xw_dir_delete(d, name, name_of(name, c->names[k].id), NULL);
	c->files.v[c->names[k].file].links--;
	c->names[k] = c->names[--c->n_names];
	return rc;
}

static int put_links(struct churn *c)
{
	int rc = 0;

	for (size_t i = 0; i < c->files.n && !rc; i++) {
		auto_free uint8_t *raw = NULL;
		struct xw_inode in;

		if (!c->files.v[i].links)
			continue;
		rc = xw_update_get(c->u, c->files.v[i].ino, &in, &raw);
		in.links = (uint16_t)(in.links + c->files.v[i].links);
		if (!rc)
			rc = xw_update_put(c->u, c->files.v[i].ino, &in, steal(raw));
	}
	return rc;
}

static int churn(struct xw_update *u, const char *path, uint32_t count, uint32_t seed)
{
	struct churn c = {.u = u, .state = seed, .next_id = seed * 1000000};
	struct xw_update_dir ud = {.u = u};
	xw_ino ino;
	int rc = xw_path_resolve(u->img, XW_INO_ROOT, path, true, &ino);

	if (!rc)
		rc = xw_update_dir_begin(u, ino, &ud);

	c.names = calloc(count + 1, sizeof(*c.names));
	if (!rc)
		rc = xw_dir_each(&ud.d, collect, &c);
	for (uint32_t i = 0; i < count && !rc && c.files.n; i++)
		rc = one(&c, &ud.d);
	if (!rc)
		rc = put_links(&c);
	if (!rc)
		rc = xw_update_dir_put(&ud);
	printf("%u names, %u blocks, itree %d\n", c.n_names, ud.d.now.blocks, ud.d.now.itree);
	xw_update_dir_end(&ud);
	xw_vec_free(&c.files);
	free(c.names);
	return rc;
}

int main(int argc, char **argv)
{
	const struct xw_update_opts opts = {
		.now = 1700000000, .jobs = 1, .mb = {-1, -1, -1, -1, -1, -1}};
	struct xw_diag diag = {0};
	const struct xw_edit_opts eo = {.now = opts.now, .hold = true};
	struct xw_update *u = NULL;
	struct xw_edit *e = NULL;
	uint64_t count = 0;
	int rc;

	if (argc < 3 || (!strcmp(argv[1], "churn") && argc < 6))
		return 2;
	rc = xw_edit_begin(argv[2], &eo, &diag, &e);
	if (!rc)
		rc = xw_update_begin(xw_edit_dev(e), &opts, &diag, &u);
	if (!rc && !strcmp(argv[1], "churn"))
		rc = churn(u, argv[3], (uint32_t)atoi(argv[4]), (uint32_t)atoi(argv[5]));
	else if (!rc)
		rc = strcmp(argv[1], "on") ? xw_update_itree_drop(u, &count)
					   : xw_update_itree_build(u, &count);
	if (!rc)
		rc = xw_update_flush(u);
	if (!rc)
		rc = xw_edit_commit(e, NULL);
	xw_update_close(u);
	xw_edit_end(e);
	if (rc)
		printf("# %s\n", diag.text);
	else
		printf("%" PRIu64 "\n", count);
	return rc != 0;
}
