/* SPDX-License-Identifier: MIT */
/*
 * A directory of redo files, for images that cannot have one beside them: block devices, and
 * filesystems in a part of a larger file.
 *
 * Each file is called UUID-NONCE.xw-redo, so that changes of several filesystems, and of copies of
 * one, do not conflict. The header of a file, not its name, tells which image it belongs to: the
 * UUID of an image changes with `xw-tune -U`, and a lost superblock has none.
 *
 * Until the superblock of the commit point is written, a file is called UUID-NONCE.new.xw-redo, so
 * that a killed process does not leave a file that could belong to a copy of its image. (A kill
 * between that write and the renaming leaves this name as well; both names are searched for.)
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/same.h"
#include "commit/commit_internal.h"
#include "commit/store.h"

#define SUFFIX ".xw-redo"
#define NEW ".new" SUFFIX
#define TMP ".tmp"

enum { UUID_CHARS = 36, NONCE_CHARS = 16 };

struct dir_store {
	struct xw_redo_store store;
	struct xw_diag *diag;
	char *image, *dir; /* owned; dir without a slash at its end */
	struct dirent **files; /* the files of the directory, by name (scandir) */
	int n_files; /* -1: not listed yet */
	struct xw_redo_store *one; /* the file that was selected or named; NULL: none */
};

static struct dir_store *ds(struct xw_redo_store *s)
{
	return (struct dir_store *)s;
}

static bool ends_in(const char *name, const char *suffix)
{
	const size_t n = strlen(name), m = strlen(suffix);

	return n > m && !strcmp(name + n - m, suffix);
}

static int is_redo(const struct dirent *d)
{
	return ends_in(d->d_name, SUFFIX);
}

static int is_tmp(const struct dirent *d)
{
	return ends_in(d->d_name, SUFFIX TMP);
}

static void free_list(struct dirent **files, int n)
{
	for (int i = 0; i < n; i++)
		free(files[i]);
	if (n >= 0)
		free(files);
}

static void deselect_file(struct dir_store *d)
{
	xw_redo_store_close(d->one);
	d->one = NULL;
	d->store.name = d->dir;
}

/* Select the file DIR/NAME. */
static int select_file(struct dir_store *d, const char *name)
{
	auto_free char *path = NULL;
	int rc;

	deselect_file(d);
	if (asprintf(&path, "%s/%s", d->dir, name) < 0)
		return xw_fail_nomem(d->diag, "a redo file's name");
	rc = xw_redo_store_file(d->image, path, 0, d->diag, &d->one);
	if (!rc)
		d->store.name = d->one->name;
	d->store.undecided = ends_in(name, NEW);
	return rc;
}

static int dir_select(struct xw_redo_store *s, size_t n)
{
	struct dir_store *d = ds(s);

	if (d->n_files < 0) {
		d->n_files = scandir(d->dir, &d->files, is_redo, alphasort);
		if (d->n_files < 0 && errno != ENOENT && errno != ENOTDIR)
			return xw_fail_errno(d->diag, XW_ERR_IO, errno, "%s: cannot read", d->dir);
	}
	if (d->n_files >= 0 && n < (size_t)d->n_files)
		return select_file(d, d->files[n]->d_name);
	deselect_file(d);
	return XW_ERR_NOTFOUND;
}

static int fail_dir(const struct dir_store *d)
{
	return xw_fail_errno(d->diag, xw_err_of_errno(errno), errno,
			     "%s: cannot create the directory for redo files", d->dir);
}

/* Create the directory and its parents, accessible only to the owner. */
static int make_dir(const struct dir_store *d)
{
	auto_free char *path = strdup(d->dir);

	if (!path)
		return xw_fail_nomem(d->diag, "a redo file's name");
	for (char *at = path; *at; at++) {
		if (*at != '/' || at == path)
			continue;
		*at = '\0';
		if (mkdir(path, 0700) && errno != EEXIST && access(path, F_OK))
			return fail_dir(d);
		*at = '/';
	}
	if (mkdir(path, 0700) && errno != EEXIST)
		return fail_dir(d);
	return 0;
}

/* Remove an unpublished file whose writer has died: its lock is gone. */
static void remove_unpublished(const struct dir_store *d, const char *name)
{
	auto_free char *path = NULL;
	auto_fd int fd = -1;
	struct stat st, named;

	if (asprintf(&path, "%s/%s", d->dir, name) < 0) {
		path = NULL;
		return;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	    !lstat(path, &named) && xw_same_file(&st, &named))
		(void)unlink(path);
}

/* Remove the unpublished files of killed changes of the same filesystem. */
static void remove_left_overs(const struct dir_store *d, const char *uuid)
{
	struct dirent **files = NULL;
	const int n = scandir(d->dir, &files, is_tmp, NULL);

	for (int i = 0; i < n; i++)
		if (!strncmp(files[i]->d_name, uuid, UUID_CHARS))
			remove_unpublished(d, files[i]->d_name);
	free_list(files, n);
}

static void print_uuid(const uint8_t uuid[16], char out[UUID_CHARS + 1])
{
	size_t at = 0;

	for (int i = 0; i < 16; i++)
		at += (size_t)snprintf(out + at, UUID_CHARS + 1 - at, "%s%02x",
				       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

static void dir_sweep(struct xw_redo_store *s, const uint8_t uuid[16])
{
	char text[UUID_CHARS + 1];

	print_uuid(uuid, text);
	remove_left_overs(ds(s), text);
}

static int dir_name_new(struct xw_redo_store *s, const uint8_t uuid[16], uint64_t nonce)
{
	char text[UUID_CHARS + 1], name[UUID_CHARS + 1 + NONCE_CHARS + sizeof(NEW)];
	struct dir_store *d = ds(s);
	int rc = make_dir(d);

	if (rc)
		return rc;
	print_uuid(uuid, text);
	remove_left_overs(d, text);
	snprintf(name, sizeof(name), "%s-%016" PRIx64 NEW, text, nonce);
	return select_file(d, name);
}

static void dir_decided(struct xw_redo_store *s)
{
	struct dir_store *d = ds(s);
	auto_free char *path = d->one ? strdup(d->one->name) : NULL;

	if (!path || !ends_in(path, NEW))
		return;
	memcpy(path + strlen(path) - strlen(NEW), SUFFIX, sizeof(SUFFIX));
	xw_redo_store_rename(d->one, path);
	s->name = d->one->name;
	s->undecided = false;
}

static int dir_create(struct xw_redo_store *s, uint64_t bytes, struct xw_dev **out)
{
	struct xw_redo_store *one = ds(s)->one;

	return one ? one->ops->create(one, bytes, out)
		   : xw_fail(ds(s)->diag, XW_ERR_INTERNAL, "%s: a redo file has no name yet",
			     ds(s)->dir);
}

static int dir_publish(struct xw_redo_store *s)
{
	struct xw_redo_store *one = ds(s)->one;

	return one->ops->publish(one);
}

static int dir_open(struct xw_redo_store *s, struct xw_dev **out)
{
	struct xw_redo_store *one = ds(s)->one;

	return one ? one->ops->open(one, out) : XW_ERR_NOTFOUND;
}

static int dir_remove(struct xw_redo_store *s)
{
	struct xw_redo_store *one = ds(s)->one;

	return one ? one->ops->remove(one) : 0;
}

static void dir_close(struct xw_redo_store *s)
{
	struct dir_store *d = ds(s);

	deselect_file(d);
	xw_redo_store_close(d->store.beside);
	free_list(d->files, d->n_files);
	free(d->image);
	free(d->dir);
	free(d);
}

static const struct xw_redo_store_ops dir_ops = {
	.create = dir_create,
	.publish = dir_publish,
	.open = dir_open,
	.remove = dir_remove,
	.select = dir_select,
	.name_new = dir_name_new,
	.decided = dir_decided,
	.sweep = dir_sweep,
	.close = dir_close,
};

int xw_redo_store_dir(const char *image, const char *dir, uint64_t offset, struct xw_diag *diag,
		      struct xw_redo_store **out)
{
	struct dir_store *d = calloc(1, sizeof(*d));
	size_t n;

	if (!d)
		return xw_fail_nomem(diag, "a redo file's name");
	d->store.ops = &dir_ops;
	d->diag = diag;
	d->n_files = -1;
	d->image = strdup(image);
	d->dir = strdup(dir);
	if (!d->image || !d->dir) {
		dir_close(&d->store);
		return xw_fail_nomem(diag, "a redo file's name");
	}
	for (n = strlen(d->dir); n > 1 && d->dir[n - 1] == '/'; n--)
		d->dir[n - 1] = '\0';
	d->store.name = d->dir;
	xw_redo_location_of(image, offset, &d->store.place);
	*out = &d->store;
	return 0;
}
