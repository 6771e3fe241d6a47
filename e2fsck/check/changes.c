// SPDX-License-Identifier: MIT
/*
 * Notes what the repairs change, finding by finding, and gives findings their paths: a name that is
 * removed can be read only before that.
 *
 * Memory: some hundred bytes for each change. Names are removed, and inodes connected, without a
 * limit, so all are noted: from the name that an inode had follows where it came from.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts/paths.h"
#include "check/changes.h"

/* The index of a change, by kind and inode. */
struct place {
	uint64_t key;
	size_t at;
};

static const struct xw_table_kind place_kind = XW_TABLE_BY_U64(struct place);

struct notes {
	struct fsck_changes all; /* must be the first member */
	struct fsck_paths *paths;
	struct xw_table places;
	/* of the current finding */
	char path[FSCK_PATH_MAX], dir_path[FSCK_PATH_MAX], other_path[FSCK_PATH_MAX];
};

/* ---- kinds ---- */

static const struct {
	enum fsck_id id;
	enum fsck_change_kind kind;
} kinds[] = {
	{FSCK_DIR_UNCONNECTED, FSCK_CHANGE_CONNECTED},
	{FSCK_INODE_UNATTACHED, FSCK_CHANGE_CONNECTED},
	{FSCK_GARBAGE, FSCK_CHANGE_CLEARED},
	{FSCK_INODE_MISPLACED, FSCK_CHANGE_CLEARED},
	{FSCK_MODE, FSCK_CHANGE_CLEARED},
	{FSCK_ENCRYPT_CONTEXT, FSCK_CHANGE_CLEARED},
	{FSCK_SYMLINK, FSCK_CHANGE_CLEARED},
	{FSCK_DIR_EMPTY, FSCK_CHANGE_CLEARED},
	{FSCK_INODE_EMPTY, FSCK_CHANGE_CLEARED},
	{FSCK_CONTESTED_NOSPC, FSCK_CHANGE_CLEARED},
	{FSCK_EXTENT_HEADER, FSCK_CHANGE_SHORTENED},
	{FSCK_EXTENT_ENTRIES, FSCK_CHANGE_SHORTENED},
	{FSCK_EXTENT_DEPTH, FSCK_CHANGE_SHORTENED},
	{FSCK_EXTENT_LENGTH, FSCK_CHANGE_SHORTENED},
	{FSCK_EXTENT_LONG, FSCK_CHANGE_SHORTENED},
	{FSCK_EXTENT_ORDER, FSCK_CHANGE_SHORTENED},
	{FSCK_MAP_BLOCK_READ, FSCK_CHANGE_SHORTENED},
	{FSCK_MAP_BLOCK_RANGE, FSCK_CHANGE_SHORTENED},
	{FSCK_MAP_BLOCK_TWICE, FSCK_CHANGE_SHORTENED},
	{FSCK_MAP_BLOCK_FOREIGN, FSCK_CHANGE_SHORTENED},
	{FSCK_MAP_BLOCK_METADATA, FSCK_CHANGE_SHORTENED},
	{FSCK_BLOCK_RANGE, FSCK_CHANGE_SHORTENED},
	{FSCK_BLOCK_WRAP, FSCK_CHANGE_SHORTENED},
	{FSCK_BLOCK_PAST_SIZE, FSCK_CHANGE_SHORTENED},
	{FSCK_MAP_BUDGET, FSCK_CHANGE_SHORTENED},
	{FSCK_DIR_TOO_BIG, FSCK_CHANGE_SHORTENED},
	{FSCK_SIZE, FSCK_CHANGE_SHORTENED},
	{FSCK_INLINE_NO_DATA, FSCK_CHANGE_SHORTENED},
	{FSCK_DIR_HOLE, FSCK_CHANGE_SHORTENED},
	{FSCK_DIR_READ, FSCK_CHANGE_SHORTENED},
	{FSCK_DIR_REC_LEN, FSCK_CHANGE_SHORTENED},
	{FSCK_DIR_NAME_LEN, FSCK_CHANGE_SHORTENED},
	{FSCK_CONTESTED, FSCK_CHANGE_COPIED},
	{FSCK_DIR_NAME_EMPTY, FSCK_CHANGE_UNNAMED},
	{FSCK_DIR_NAME_ENCRYPTED, FSCK_CHANGE_UNNAMED},
	{FSCK_DIR_NOT_ENCRYPTED, FSCK_CHANGE_UNNAMED},
	{FSCK_DIR_OTHER_POLICY, FSCK_CHANGE_UNNAMED},
	{FSCK_DIR_BAD_INO, FSCK_CHANGE_UNNAMED},
	{FSCK_DIR_LINK_ROOT, FSCK_CHANGE_UNNAMED},
	{FSCK_DIR_LINK_SELF, FSCK_CHANGE_UNNAMED},
	{FSCK_DIR_UNUSED_INODE, FSCK_CHANGE_UNNAMED},
	{FSCK_DIR_EA_INODE, FSCK_CHANGE_UNNAMED},
	{FSCK_DIR_HARD_LINK, FSCK_CHANGE_UNNAMED},
	{FSCK_LPF_NOT_DIR, FSCK_CHANGE_UNNAMED},
	{FSCK_LPF_ENCRYPTED, FSCK_CHANGE_UNNAMED},
	{FSCK_DIR_NAME_BYTES, FSCK_CHANGE_RENAMED},
	{FSCK_DIR_NAME_UTF8, FSCK_CHANGE_RENAMED},
	{FSCK_DIR_TWICE, FSCK_CHANGE_RENAMED},
	{FSCK_XATTR_ENTRY, FSCK_CHANGE_ATTRIBUTE},
	{FSCK_XATTR_NAME, FSCK_CHANGE_ATTRIBUTE},
	{FSCK_XATTR_VALUE, FSCK_CHANGE_ATTRIBUTE},
	{FSCK_XATTR_SIZE, FSCK_CHANGE_ATTRIBUTE},
	{FSCK_XATTR_OVERLAP, FSCK_CHANGE_ATTRIBUTE},
	{FSCK_EA_INODE_BAD, FSCK_CHANGE_ATTRIBUTE},
	{FSCK_XATTR_BLOCK_RANGE, FSCK_CHANGE_ATTRIBUTE},
	{FSCK_XATTR_BLOCK_BAD, FSCK_CHANGE_ATTRIBUTE},
	{FSCK_JOURNAL_LOST_DATA, FSCK_CHANGE_SETTING},
	{FSCK_JOURNAL_INODE, FSCK_CHANGE_SETTING},
	{FSCK_JOURNAL_YIELDS, FSCK_CHANGE_SETTING},
	{FSCK_JOURNAL_SUPER, FSCK_CHANGE_SETTING},
	{FSCK_JOURNAL_STRAY, FSCK_CHANGE_SETTING},
	{FSCK_JOURNAL_RECOVER, FSCK_CHANGE_SETTING},
	{FSCK_JOURNAL_MADE, FSCK_CHANGE_SETTING},
	{FSCK_JOURNAL_BOTH, FSCK_CHANGE_SETTING},
	{FSCK_MMP_BLOCK, FSCK_CHANGE_SETTING},
	{FSCK_ORPHAN_FILE, FSCK_CHANGE_SETTING},
	{FSCK_ORPHAN_NO_JOURNAL, FSCK_CHANGE_SETTING},
	{FSCK_ORPHAN_FEATURE, FSCK_CHANGE_SETTING},
	{FSCK_RESIZE_STRAY, FSCK_CHANGE_SETTING},
	{FSCK_EXTENTS_FEATURE, FSCK_CHANGE_SETTING},
	{FSCK_BIGALLOC_MAP, FSCK_CHANGE_SETTING},
	{FSCK_INLINE_FEATURE, FSCK_CHANGE_SETTING},
	{FSCK_LARGE_FILE, FSCK_CHANGE_SETTING},
	{FSCK_EA_INODE_FEATURE, FSCK_CHANGE_SETTING},
	{FSCK_XATTR_NO_FEATURE, FSCK_CHANGE_SETTING},
	{FSCK_ITREE_FEATURE, FSCK_CHANGE_SETTING},
	{FSCK_ENCODING, FSCK_CHANGE_SETTING},
	{FSCK_ENCODING_NONE, FSCK_CHANGE_SETTING},
	{FSCK_CASEFOLD_FEATURE, FSCK_CHANGE_SETTING},
	{FSCK_QUOTA_INUM, FSCK_CHANGE_SETTING},
	{FSCK_QUOTA_LOST, FSCK_CHANGE_SETTING},
};

const char *xw_fsck_change_name(enum fsck_change_kind kind)
{
	static const char *const names[FSCK_CHANGE_KINDS] = {
		[FSCK_CHANGE_CONNECTED] = "connected", [FSCK_CHANGE_CLEARED] = "cleared",
		[FSCK_CHANGE_SHORTENED] = "shortened", [FSCK_CHANGE_COPIED] = "copied",
		[FSCK_CHANGE_UNNAMED] = "unnamed",     [FSCK_CHANGE_RENAMED] = "renamed",
		[FSCK_CHANGE_ATTRIBUTE] = "attribute", [FSCK_CHANGE_SETTING] = "setting",
	};

	return names[kind];
}

bool xw_fsck_is_loss(const struct fsck_changes *all)
{
	return all->n[FSCK_CHANGE_CONNECTED] || all->n[FSCK_CHANGE_CLEARED] ||
	       all->n[FSCK_CHANGE_SHORTENED] || all->n[FSCK_CHANGE_UNNAMED] ||
	       all->n[FSCK_CHANGE_ATTRIBUTE];
}

/* FSCK_CHANGE_KINDS: the finding changes nothing that is listed. */
static enum fsck_change_kind kind_of(const struct fsck_about *a)
{
	if (a->id >= FSCK_SUPER_LOST && a->id <= FSCK_SUPER_QUOTA && a->id != FSCK_SUPER_CSUM &&
	    xw_fsck_row(a->id)->severity != FSCK_NOTE)
		return FSCK_CHANGE_SETTING;
	if (a->id == FSCK_SIZE && a->num2 >= a->num)
		return FSCK_CHANGE_KINDS;
	for (size_t i = 0; i < XW_ARRAY_SIZE(kinds); i++)
		if (kinds[i].id == a->id)
			return kinds[i].kind;
	return FSCK_CHANGE_KINDS;
}

/* ---- paths ---- */

/* Paths are known from pass 1 on. Before that, hardly a finding is about a file. */
static bool has_paths(const struct fsck *f)
{
	return f->ses.img && f->ses.dev && f->round.pass;
}

static const struct fsck_change *get_change(const struct notes *n, enum fsck_change_kind kind,
					    xw_ino ino)
{
	const uint64_t key = (uint64_t)ino << 8 | (kind + 1);
	const struct place *at =
		xw_table_get(&n->places, &place_kind, NULL, xw_table_number(&n->places, key), &key);

	return at ? &n->all.v.v[at->at] : NULL;
}

/* Where an inode without a name comes from: the name that was removed, or a directory. */
static const char *find_former(struct fsck *f, struct notes *n, xw_ino ino)
{
	const struct fsck_change *was = get_change(n, FSCK_CHANGE_UNNAMED, ino);
	const xw_ino dir = was && was->path ? 0 : fsck_path_removed(f, n->paths, ino);

	if (was && was->path)
		return was->path;
	return dir ? fsck_path(f, n->paths, dir, n->other_path) : NULL;
}

static void fill_paths(struct fsck *f, struct notes *n, struct fsck_about *a)
{
	a->dir_path = fsck_path(f, n->paths, a->dir, n->dir_path);
	a->path = a->name && a->dir ? NULL : fsck_path(f, n->paths, a->ino, n->path);
	if (a->other)
		a->other_path = fsck_path(f, n->paths, a->other, n->other_path);
	if (a->id == FSCK_INODE_UNATTACHED)
		a->from = find_former(f, n, a->ino);
}

/* ---- changes ---- */

static void free_change(struct fsck_change *c)
{
	free(c->path);
	free(c->from);
	free(c->other_path);
	free(c->text);
}

/* The name of a directory entry, as a path; malloc'd. */
static char *entry_path(const struct fsck_about *a)
{
	const size_t len = a->name_len ? a->name_len : strlen(a->name);
	char number[16], *path;
	const char *dir = a->dir_path;
	size_t n;

	if (!dir) {
		snprintf(number, sizeof(number), "<%u>", a->dir);
		dir = number;
	}
	n = strcmp(dir, "/") ? strlen(dir) : 0;
	path = malloc(n + 1 + len + 1);
	if (!path)
		return NULL;
	memcpy(path, dir, n);
	path[n++] = '/';
	for (size_t i = 0; i < len; i++)
		path[n + i] = a->name[i] && a->name[i] != '/' ? a->name[i] : '?';
	path[n + len] = '\0';
	return path;
}

/* Add a change, which is lost without memory: it is a report only. */
static void add(struct notes *n, struct fsck_change *c)
{
	const uint64_t key = (uint64_t)c->ino << 8 | (c->kind + 1);
	struct place *at;

	if (xw_table_room(&n->places, &place_kind, NULL) || xw_vec_push(&n->all.v, *c)) {
		free_change(c);
		return;
	}
	n->all.n[c->kind]++;
	at = xw_table_slot(&n->places, &place_kind, NULL, xw_table_number(&n->places, key), &key);
	n->places.n += !at->key;
	*at = (struct place){key, n->all.v.n - 1};
}

/* Several findings may be about one file; an inode may have lost several names. */
static bool is_noted(const struct notes *n, enum fsck_change_kind kind, xw_ino ino)
{
	return kind != FSCK_CHANGE_UNNAMED && kind != FSCK_CHANGE_RENAMED &&
	       kind != FSCK_CHANGE_SETTING && get_change(n, kind, ino);
}

static char *copy_of(const char *s)
{
	return s ? strdup(s) : NULL;
}

static void note(struct fsck *f, struct notes *n, const struct fsck_about *a,
		 enum fsck_change_kind kind)
{
	const bool of_dir = kind == FSCK_CHANGE_SHORTENED && !a->ino;
	const xw_ino first = of_dir ? a->dir : a->ino, last = a->last ? a->last : first;

	for (uint64_t ino = first; ino <= last; ino++) {
		struct fsck_change c = {.kind = kind, .ino = (xw_ino)ino, .other = a->other};

		if (is_noted(n, kind, c.ino))
			continue;
		if (kind == FSCK_CHANGE_SETTING)
			c.text = xw_fsck_text_made(a);
		else if (kind == FSCK_CHANGE_CONNECTED)
			c.from = copy_of(a->id == FSCK_DIR_UNCONNECTED ? a->dir_path : a->from);
		else if (a->name && a->dir)
			c.path = entry_path(a);
		else if (ino == first)
			c.path = copy_of(of_dir ? a->dir_path : a->path);
		else if (has_paths(f))
			c.path = copy_of(fsck_path(f, n->paths, c.ino, n->path));
		c.other_path = copy_of(a->other_path);
		add(n, &c);
	}
}

/* An inode could not be connected after all. */
static void undo(struct notes *n, xw_ino ino)
{
	const struct fsck_change *was = get_change(n, FSCK_CHANGE_CONNECTED, ino);

	if (!was || was->undone)
		return;
	n->all.v.v[was - n->all.v.v].undone = true;
	n->all.n[FSCK_CHANGE_CONNECTED]--;
}

/* Is the finding repaired, or with -n: would it be? */
static bool is_done(const struct fsck *f, const struct fsck_told *t)
{
	if (f->opts.mode != FSCK_NO)
		return t->repaired;
	return !f->ses.report_only && t->row->offer && t->row->preen != FSCK_P_REPORT &&
	       t->row->preen != FSCK_P_CANNOT;
}

static void describe(void *arg, struct fsck *f, struct fsck_about *a, const struct fsck_told *t)
{
	struct notes *n = arg;
	const enum fsck_change_kind kind = kind_of(a);

	if (has_paths(f))
		fill_paths(f, n, a);
	if (t && a->id == FSCK_LPF_FULL)
		undo(n, a->ino);
	if (t && kind != FSCK_CHANGE_KINDS && is_done(f, t))
		note(f, n, a, kind);
}

int fsck_changes_begin(struct fsck *f)
{
	struct notes *n = calloc(1, sizeof(*n));

	if (n)
		n->paths = fsck_paths_new();
	if (!n || !n->paths) {
		free(n);
		return xw_fail_nomem(&f->ses.diag, "findings");
	}
	f->ses.describe = describe;
	f->ses.describe_arg = n;
	return 0;
}

void fsck_changes_end(struct fsck *f)
{
	struct notes *n = f->ses.describe_arg;

	if (!n)
		return;
	for (size_t i = 0; i < n->all.v.n; i++)
		free_change(&n->all.v.v[i]);
	xw_vec_free(&n->all.v);
	xw_table_free(&n->places);
	fsck_paths_free(n->paths);
	free(n);
	f->ses.describe = NULL;
	f->ses.describe_arg = NULL;
}

const struct fsck_changes *xw_fsck_changes(const struct fsck *f)
{
	static const struct fsck_changes none;
	const struct notes *n = f->ses.describe_arg;

	return n ? &n->all : &none;
}

/* ---- JSON ---- */

static void put_str(struct xw_json *j, const char *key, const char *s)
{
	if (s)
		xw_json_str(j, key, s, strlen(s));
}

void xw_fsck_changes_json(const struct fsck_changes *all, struct xw_json *j, const char *key)
{
	xw_json_array(j, key);
	for (size_t i = 0; i < all->v.n; i++) {
		const struct fsck_change *c = &all->v.v[i];

		if (c->undone)
			continue;
		xw_json_object(j, NULL);
		put_str(j, "kind", xw_fsck_change_name(c->kind));
		if (c->ino)
			xw_json_u64(j, "inode", c->ino);
		put_str(j, "path", c->path);
		put_str(j, "from", c->from);
		if (c->other)
			xw_json_u64(j, "other_inode", c->other);
		put_str(j, "other_path", c->other_path);
		put_str(j, "text", c->text);
		xw_json_end(j, '}');
	}
	xw_json_end(j, ']');
}
