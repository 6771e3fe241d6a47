/* SPDX-License-Identifier: MIT */
/*
 * Finds the files of a container image by path. An archive is indexed by the tar reader, which
 * skips payload by reading it, and is therefore reopened after each large member.
 */
#include "config.h"

#include "import/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/auto.h"
#include "base/hash.h"
#include "base/table.h"
#include "import/beneath.h"
#include "import/tar.h"

#define LARGE ((uint64_t)4 * XW_INPUT_UNIT)
#define LINKS_MAX 8u

struct member {
	char *name; /* NULL: unused slot */
	size_t len;
	char *link; /* normalized link target; NULL: a regular file */
	size_t link_len;
	uint64_t off, size;
};

struct xw_store {
	int fd;
	bool dir;
	const char *name; /* for messages; in arena */
	struct xw_arena arena;
	struct xw_table members;
};

/* ---- the members of an archive ---- */

static bool member_used(const void *slot)
{
	return ((const struct member *)slot)->name;
}

static bool member_same(const void *arg, const void *slot, const void *key)
{
	const struct member *m = slot;
	const struct xw_slice *name = key;

	(void)arg;
	return m->len == name->len && !memcmp(m->name, name->p, m->len);
}

static uint64_t member_hash(const struct xw_table *t, const void *arg, const void *slot)
{
	const struct member *m = slot;

	(void)arg;
	return xw_table_bytes(t, m->name, m->len);
}

static const struct xw_table_kind kind = {sizeof(struct member), member_used, member_same,
					  member_hash};

/*
 * Append the normalized components of a path to `to`, which is large enough. Returns the new
 * length, or SIZE_MAX if ".." leads out of the root.
 */
static size_t append(char *to, size_t len, struct xw_slice path)
{
	struct xw_slice part;

	while ((part = xw_slice_component(&path)).len) {
		if (xw_slice_is(part, "..")) {
			const char *slash = len ? memrchr(to, '/', len) : NULL;

			if (!len)
				return SIZE_MAX;
			len = slash ? (size_t)(slash - to) : 0;
			continue;
		}
		if (len)
			to[len++] = '/';
		memcpy(to + len, part.p, part.len);
		len += part.len;
	}
	return len;
}

static struct xw_slice dirname_of(struct xw_slice path)
{
	while (path.len && path.p[path.len - 1] != '/')
		path.len--;
	return path;
}

/*
 * The normalized path of `path` relative to `base`; NULL when out of memory. *len is SIZE_MAX if
 * the path leads out of the root.
 */
static char *normalize(struct xw_store *s, struct xw_slice base, struct xw_slice path, size_t *len)
{
	char *to = xw_arena_alloc(&s->arena, base.len + path.len + 2, 1);

	*len = 0;
	if (!to)
		return NULL;
	*len = append(to, 0, base);
	if (*len != SIZE_MAX)
		*len = append(to, *len, path);
	return to;
}

static int add_member(struct xw_store *s, const struct xw_entry *e, uint64_t off,
		      struct xw_diag *diag)
{
	const bool symlink = e->type == XW_ET_LNK;
	struct member m = {.off = off, .size = e->size}, *slot;
	struct xw_slice key;

	if (e->type != XW_ET_REG && e->type != XW_ET_HARDLINK && !symlink)
		return 0;
	m.name = normalize(s, (struct xw_slice){0}, e->path, &m.len);
	if (m.name && e->type != XW_ET_REG)
		m.link = normalize(s, symlink ? dirname_of(e->path) : (struct xw_slice){0}, e->link,
				   &m.link_len);
	if (!m.name || (e->type != XW_ET_REG && !m.link) || xw_table_room(&s->members, &kind, NULL))
		return xw_fail_nomem(diag, "the members of an archive");
	if (m.len == SIZE_MAX || m.link_len == SIZE_MAX || e->sparse)
		return 0;
	key = (struct xw_slice){m.name, m.len};
	slot = xw_table_slot(&s->members, &kind, NULL, xw_table_bytes(&s->members, m.name, m.len),
			     &key);
	s->members.n += !slot->name;
	*slot = m; /* a later member replaces an earlier one */
	return 0;
}

/* Index members from *at on, up to a large one, or to the end (*done). */
static int index_some(struct xw_store *s, struct xw_blob_read *r, struct xw_feed_tick tick,
		      struct xw_diag *diag, uint64_t *at, bool *done)
{
	const struct xw_archive_params p = {.name = s->name, .diag = diag};
	const uint64_t end = r->blob.size;
	auto_source struct xw_source *src = NULL;
	const struct xw_entry *e;
	struct xw_input *in;
	int rc;

	r->at = *at;
	in = xw_input_new(xw_feed_blob(r, tick), false);
	if (!in)
		return xw_fail_nomem(diag, "read buffers");
	rc = xw_tar_open(in, &p, &src);
	if (rc)
		return rc;
	while ((rc = xw_source_next(src, &e)) > 0) {
		const uint64_t off = *at + xw_input_pos(in);

		if (e->size > end - off && !e->sparse)
			return xw_fail(diag, XW_ERR_TRUNCATED, "%s: ends inside %.*s", s->name,
				       XW_SHOWN(e->path));
		rc = add_member(s, e, off, diag);
		if (rc)
			return rc;
		if (e->size >= LARGE && !e->sparse) {
			*at = off + xw_round_up(e->size, XW_TAR_BLOCK);
			return 0;
		}
	}
	*done = true;
	return rc;
}

/* Create a store. Owns fd, also on failure. */
static int new_store(int fd, const char *name, struct xw_diag *diag, struct xw_store **out)
{
	struct xw_store *s = calloc(1, sizeof(*s));

	if (s)
		s->name = xw_arena_dup(&s->arena, name, strlen(name) + 1);
	if (!s || !s->name) {
		free(s);
		close(fd);
		return xw_fail_nomem(diag, "a container image");
	}
	s->fd = fd;
	*out = s;
	return 0;
}

int xw_store_open_archive(int fd, uint64_t size, const char *name, struct xw_feed_tick tick,
			  struct xw_diag *diag, struct xw_store **out)
{
	struct xw_blob_read r = {.blob = {.fd = fd, .size = size}, .verify.state = XW_VERIFY_MATCH};
	struct xw_store *s;
	bool done = false;
	uint64_t at = 0;
	int rc = new_store(fd, name, diag, &s);

	if (rc)
		return rc;
	while (!rc && !done && at < size)
		rc = index_some(s, &r, tick, diag, &at, &done);
	if (rc)
		xw_store_close(s);
	else
		*out = s;
	return rc;
}

static int find_member(struct xw_store *s, const char *path, struct xw_blob *b)
{
	struct xw_slice key;
	const struct member *m;
	size_t len;
	char *name = normalize(s, (struct xw_slice){0}, xw_slice_of(path), &len);

	if (!name)
		return XW_ERR_NOMEM;
	key = (struct xw_slice){name, len};
	for (unsigned links = 0; key.len != SIZE_MAX && links <= LINKS_MAX; links++) {
		m = xw_table_get(&s->members, &kind, NULL,
				 xw_table_bytes(&s->members, key.p, key.len), &key);
		if (!m)
			break;
		if (!m->link) {
			*b = (struct xw_blob){.fd = s->fd, .off = m->off, .size = m->size};
			return 0;
		}
		key = (struct xw_slice){m->link, m->link_len};
	}
	return XW_ERR_NOTFOUND;
}

/* ---- a directory ---- */

static int find_file(struct xw_store *s, const char *path, bool checked, struct xw_diag *diag,
		     struct xw_blob *b)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	auto_fd int fd = -1;
	struct stat st;

	if (path[0] == '/' || xw_slice_has_dotdot(xw_slice_of(path)))
		return xw_fail(diag, XW_ERR_INPUT, "%s: \"%.300s\" is not inside the image",
			       s->name, path);
	fd = checked ? openat(s->fd, path, flags) : xw_open_beneath(s->fd, path, flags);
	if (fd < 0 && errno == EXDEV)
		return xw_fail(diag, XW_ERR_INPUT,
			       "%s: %.300s: symlink leads out of the image, and no digest "
			       "verifies its contents",
			       s->name, path);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return XW_ERR_NOTFOUND;
	if (fd < 0 || fstat(fd, &st))
		return xw_fail_errno(diag, XW_ERR_IO, errno, "%s: %.300s: cannot open", s->name,
				     path);
	if (!S_ISREG(st.st_mode))
		return XW_ERR_NOTFOUND;
	*b = (struct xw_blob){.fd = fd, .size = (uint64_t)st.st_size, .own = true};
	fd = -1;
	return 0;
}

int xw_store_open_dir(int fd, const char *name, struct xw_diag *diag, struct xw_store **out)
{
	const int rc = new_store(fd, name, diag, out);

	if (!rc)
		(*out)->dir = true;
	return rc;
}

/* ---- archives and directories ---- */

void xw_store_close(struct xw_store *s)
{
	if (!s)
		return;
	close(s->fd);
	xw_table_free(&s->members);
	xw_arena_free(&s->arena);
	free(s);
}

int xw_store_find(struct xw_store *s, const char *path, bool checked, struct xw_diag *diag,
		  struct xw_blob *b)
{
	int rc = s->dir ? find_file(s, path, checked, diag, b) : find_member(s, path, b);

	return rc == XW_ERR_NOMEM ? xw_fail_nomem(diag, "a container image") : rc;
}

bool xw_store_has(struct xw_store *s, const char *path)
{
	struct xw_blob b = {.fd = -1};
	const bool has = !xw_store_find(s, path, true, NULL, &b);

	xw_blob_close(&b);
	return has;
}
