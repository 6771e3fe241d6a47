/* SPDX-License-Identifier: MIT */
/*
 * The extent verbs: one inode is opened with extent_open; then a cursor moves in its extent tree
 * and entries are edited at it. Outputs are those of the stock debugger.
 */
#include "config.h"

#include "exttree.h"
#include "print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"

static void close_extents(struct dbg *d)
{
	free(d->extents);
	d->extents = NULL;
}

static void print_entry(struct dbg *d, const struct ext_entry *e)
{
	if (d->json) {
		xw_json_object(&d->js, NULL);
		xw_json_u64(&d->js, "lblk", e->lblk);
		xw_json_u64(&d->js, "length_blocks", e->len);
		xw_json_u64(&d->js, "pblk", e->pblk);
		xw_json_bool(&d->js, "leaf", e->leaf);
		xw_json_bool(&d->js, "unwritten", e->unwritten);
		xw_json_bool(&d->js, "second_visit", e->visited);
		xw_json_end(&d->js, '}');
		return;
	}
	fprintf(d->out,
		"extent: lblk %" PRIu64 "--%" PRIu64 ", len %" PRIu64 ", pblk %" PRIu64 ", flags: ",
		e->lblk, e->lblk + e->len - 1, e->len, e->pblk);
	fprintf(d->out, "%s%s%s%s\n", e->leaf ? "LEAF " : "", e->unwritten ? "UNINIT " : "",
		e->visited ? "2ND_VISIT " : "",
		e->leaf || e->unwritten || e->visited ? "" : "(none)");
}

/* ---- the handle ---- */

static int verb_open(struct dbg *d, int argc, char **argv)
{
	auto_free struct dbg_extents *x = NULL;
	struct ext_tree t;
	xw_ino ino;
	int rc;

	if (argc == 1) {
		if (!d->extents)
			fputs("No current inode\n", d->out);
		else
			fprintf(d->out, "Current inode is %" PRIu32 "\n", d->extents->ino);
		return 0;
	}
	if (argc != 2)
		return DBG_USAGE;
	if (d->extents)
		return xw_fail(&d->diag, XW_ERR_STATE,
			       "extent handle is already open for inode %" PRIu32, d->extents->ino);
	rc = dbg_inode_number(d, argv[1], &ino);
	if (rc)
		return rc;
	x = calloc(1, sizeof(*x));
	if (!x)
		return xw_fail_nomem(&d->diag, "extent handle");
	x->ino = ino;
	rc = ext_load(d, NULL, x, &t);
	ext_unload(&t);
	if (!rc)
		d->extents = steal(x);
	return rc;
}

static int verb_close(struct dbg *d, int argc, char **argv)
{
	(void)argv;
	if (argc != 1)
		return DBG_USAGE;
	close_extents(d);
	return 0;
}

/* ---- moving ---- */

/* The move of a verb that was called by any of its names. */
static enum ext_move move_of(const struct dbg *d, const char *name)
{
	static const struct {
		const char *name;
		enum ext_move move;
	} moves[] = {
		{"root_node", EXT_ROOT},
		{"last_leaf", EXT_LAST_LEAF},
		{"first_sib", EXT_FIRST_SIB},
		{"last_sib", EXT_LAST_SIB},
		{"next_sib", EXT_NEXT_SIB},
		{"prev_sib", EXT_PREV_SIB},
		{"next_leaf", EXT_NEXT_LEAF},
		{"prev_leaf", EXT_PREV_LEAF},
		{"next", EXT_NEXT},
		{"prev", EXT_PREV},
		{"up", EXT_UP},
		{"down", EXT_DOWN},
	};
	const struct dbg_verb *v = dbg_find_verb(d, name);
	size_t i = 0;

	while (!dbg_is_called(v, moves[i].name) && i + 1 < XW_ARRAY_SIZE(moves))
		i++;
	return moves[i].move;
}

/* A move can fail halfway; its position is kept, as in the stock debugger. */
static int moved(struct dbg *d, struct ext_tree *t, int rc)
{
	struct ext_entry e;

	if (!rc)
		rc = ext_current(t, &e);
	if (!rc)
		print_entry(d, &e);
	d->extents->pos = t->pos;
	ext_unload(t);
	return rc;
}

static int verb_move(struct dbg *d, int argc, char **argv)
{
	struct ext_tree t;
	int rc;

	if (argc != 1)
		return DBG_USAGE;
	rc = ext_load(d, NULL, d->extents, &t);
	if (!rc)
		rc = ext_move(&t, move_of(d, argv[0]));
	return moved(d, &t, rc);
}

static int verb_current(struct dbg *d, int argc, char **argv)
{
	struct ext_tree t;
	int rc;

	(void)argv;
	if (argc != 1)
		return DBG_USAGE;
	rc = ext_load(d, NULL, d->extents, &t);
	return moved(d, &t, rc);
}

static int verb_info(struct dbg *d, int argc, char **argv)
{
	auto_end(ext_unload) struct ext_tree t = {0};
	const struct ext_node *n;
	struct ext_entry e;
	int rc;

	(void)argv;
	if (argc != 1)
		return DBG_USAGE;
	rc = ext_load(d, NULL, d->extents, &t);
	if (!rc)
		rc = ext_current(&t, &e);
	if (rc)
		return rc;
	print_entry(d, &e);
	if (d->json)
		return 0;
	n = &t.node[t.pos.level];
	fprintf(d->out,
		"Current handle location: %u/%u (max: %u, bytes %u), level %u/%u\n"
		"\tmax lblk: %" PRIu32 ", max pblk: %" PRIu64 "\n"
		"\tmax_len: %u, max_uninit_len: %u\n",
		t.pos.at[t.pos.level] + 1, n->h.entries, n->h.max, (n->h.max - n->h.entries) * 12u,
		t.pos.level, t.pos.depth, UINT32_MAX, (UINT64_C(1) << 48) - 1, XW_EXT_MAX_LEN,
		XW_EXT_MAX_UNINIT);
	return 0;
}

/* Print every entry of the tree, index entries before and after their children. */
static int verb_all(struct dbg *d, int argc, char **argv)
{
	enum ext_move first = EXT_ROOT, move = EXT_NEXT;
	struct ext_entry e;
	struct ext_tree t;
	int rc;

	if (argc > 2)
		return DBG_USAGE;
	if (argc == 2 && !strcmp(argv[1], "--leaf-only")) {
		move = EXT_NEXT_LEAF;
	} else if (argc == 2 && !strcmp(argv[1], "--reverse")) {
		first = EXT_LAST_LEAF;
		move = EXT_PREV;
	} else if (argc == 2 && !strcmp(argv[1], "--reverse-leaf")) {
		first = EXT_LAST_LEAF;
		move = EXT_PREV_LEAF;
	} else if (argc == 2) {
		return DBG_USAGE;
	}
	dbg_list_begin(d);
	rc = ext_load(d, NULL, d->extents, &t);
	if (!rc)
		rc = ext_move(&t, first);
	while (!rc) {
		rc = ext_current(&t, &e);
		if (rc)
			break;
		print_entry(d, &e);
		rc = ext_move(&t, move);
		if (rc == XW_ERR_NOTFOUND) {
			xw_diag_clear(&d->diag);
			rc = 0;
			break;
		}
	}
	dbg_list_end(d);
	d->extents->pos = t.pos;
	ext_unload(&t);
	return rc;
}

static int verb_goto(struct dbg *d, int argc, char **argv)
{
	uint64_t lblk, level = 0;
	struct ext_tree t;
	int rc;

	if (argc < 2 || argc > 3)
		return DBG_USAGE;
	rc = dbg_number(d, argv[1], "block number", &lblk);
	if (!rc && argc == 3)
		rc = dbg_number(d, argv[2], "level", &level);
	if (rc)
		return rc;
	rc = ext_load(d, NULL, d->extents, &t);
	if (!rc)
		rc = ext_goto(&t, lblk, (unsigned)XW_MIN(level, UINT64_C(1000)));
	return moved(d, &t, rc);
}

/* ---- editing ---- */

enum edit { INSERT, INSERT_AFTER, REPLACE, SET_BMAP, DELETE, SPLIT, FIX_PARENTS };

/* Read the operands LBLK [LEN] PBLK; the length is already set if `one_block`. */
static int read_entry(struct dbg *d, char **argv, bool one_block, struct ext_entry *e)
{
	int rc = dbg_number(d, *argv++, "logical block", &e->lblk);

	if (!rc && !one_block)
		rc = dbg_number(d, *argv++, "length", &e->len);
	if (!rc)
		rc = dbg_number(d, *argv, "physical block", &e->pblk);
	if (!rc && (e->lblk > UINT32_MAX || e->pblk >> 48 || !e->len || e->len > UINT32_MAX))
		rc = xw_fail(&d->diag, XW_ERR_USAGE, "numbers out of range for an extent");
	return rc;
}

static int check_length(struct dbg *d, const struct ext_tree *t, const struct ext_entry *e)
{
	const uint64_t most = e->unwritten ? XW_EXT_MAX_UNINIT : XW_EXT_MAX_LEN;

	if (t->pos.placed && t->pos.level < t->pos.depth)
		return 0; /* the length of an index entry is not stored */
	if (e->len > most)
		return xw_fail(&d->diag, XW_ERR_USAGE, "length %" PRIu64 ": at most %" PRIu64,
			       e->len, most);
	return 0;
}

static int edit_tree(struct ext_tree *t, enum edit what, const struct ext_entry *e)
{
	const int rc = what <= REPLACE ? check_length(t->d, t, e) : 0;

	if (rc)
		return rc;
	switch (what) {
	case INSERT:
	case INSERT_AFTER:
		return ext_insert(t, e, what == INSERT_AFTER);
	case REPLACE:
		return ext_replace(t, e);
	case SET_BMAP:
		return ext_set_bmap(t, (xw_lblk)e->lblk, e->pblk, e->unwritten);
	case DELETE:
		return ext_delete(t);
	case SPLIT:
		return ext_split(t);
	default:
		return ext_fix_parents(t);
	}
}

/* Edit the tree in a step, and print the entry that is current after it. */
static int edit(struct dbg *d, enum edit what, const struct ext_entry *e)
{
	struct xw_update *u;
	struct ext_entry now;
	struct ext_tree t;
	bool left = false;
	int rc = dbg_step_begin(d, &u);

	if (rc)
		return rc;
	rc = ext_load(d, u, d->extents, &t);
	if (!rc)
		rc = edit_tree(&t, what, e);
	if (!rc)
		rc = ext_save(&t);
	if (!rc && t.pos.placed)
		left = !ext_current(&t, &now);
	ext_unload(&t);
	rc = dbg_step_end(d, rc);
	if (rc)
		return rc;
	d->extents->pos = t.pos;
	if (left && what != FIX_PARENTS)
		print_entry(d, &now);
	return 0;
}

/* The words are "[--after] [--uninit] LBLK [LEN] PBLK"; --after only for INSERT. */
static int edit_entry(struct dbg *d, int argc, char **argv, enum edit what)
{
	struct ext_entry e = {.leaf = true, .len = 1};
	const bool one_block = what == SET_BMAP;
	int i = 1, rc;

	for (; i < argc; i++) {
		if (!strcmp(argv[i], "--uninit"))
			e.unwritten = true;
		else if (what <= INSERT_AFTER && !strcmp(argv[i], "--after"))
			what = INSERT_AFTER;
		else
			break;
	}
	if (argc - i != (one_block ? 2 : 3))
		return DBG_USAGE;
	rc = read_entry(d, argv + i, one_block, &e);
	return rc ? rc : edit(d, what, &e);
}

static int verb_insert(struct dbg *d, int argc, char **argv)
{
	return edit_entry(d, argc, argv, INSERT);
}

static int verb_replace(struct dbg *d, int argc, char **argv)
{
	return edit_entry(d, argc, argv, REPLACE);
}

static int verb_set_bmap(struct dbg *d, int argc, char **argv)
{
	return edit_entry(d, argc, argv, SET_BMAP);
}

static int verb_delete(struct dbg *d, int argc, char **argv)
{
	(void)argv;
	return argc == 1 ? edit(d, DELETE, NULL) : DBG_USAGE;
}

static int verb_split(struct dbg *d, int argc, char **argv)
{
	(void)argv;
	return argc == 1 ? edit(d, SPLIT, NULL) : DBG_USAGE;
}

static int verb_fix(struct dbg *d, int argc, char **argv)
{
	(void)argv;
	return argc == 1 ? edit(d, FIX_PARENTS, NULL) : DBG_USAGE;
}

static const struct dbg_verb verbs[] = {
	{"extent_open, eo", DBG_OPEN, verb_open, "[FILE]",
	 "open an inode for the verbs below; alone: print the open one"},
	{"current_node, current", DBG_EXTENTS, verb_current, "", "the current entry"},
	{"root_node, root", DBG_EXTENTS, verb_move, "", "go to the first entry of the root"},
	{"last_leaf", DBG_EXTENTS, verb_move, "", "go down to the last leaf entry"},
	{"first_sibling, first_sib", DBG_EXTENTS, verb_move, "",
	 "go to the first entry of the node"},
	{"last_sibling, last_sib", DBG_EXTENTS, verb_move, "", "go to the last entry of the node"},
	{"next_sibling, next_sib, ns", DBG_EXTENTS, verb_move, "",
	 "go to the next entry of the node"},
	{"prev_sibling, prev_sib, ps", DBG_EXTENTS, verb_move, "",
	 "go to the previous entry of the node"},
	{"next_leaf, nl", DBG_EXTENTS, verb_move, "", "go to the next leaf entry"},
	{"prev_leaf, pl", DBG_EXTENTS, verb_move, "", "go to the previous leaf entry"},
	{"next, n", DBG_EXTENTS, verb_move, "", "go to the next entry, up and down"},
	{"previous, prev, p", DBG_EXTENTS, verb_move, "", "go to the previous entry, up and down"},
	{"up_node, up, u", DBG_EXTENTS, verb_move, "", "go to the parent"},
	{"down_node, down, d", DBG_EXTENTS, verb_move, "", "go to the first child"},
	{"goto_block, goto", DBG_EXTENTS, verb_goto, "LBLK [LEVEL]",
	 "go to the entry that holds a logical block; levels count from the leaves"},
	{"print_all, all", DBG_EXTENTS | DBG_PAGED, verb_all,
	 "[--leaf-only|--reverse|--reverse-leaf]", "all entries of the tree"},
	{"info", DBG_EXTENTS, verb_info, "", "the current entry, its node, and limits"},
	{"delete_node, delete", DBG_EXTENTS | DBG_WRITE, verb_delete, "",
	 "delete the current entry"},
	{"insert_node, insert", DBG_EXTENTS | DBG_WRITE, verb_insert,
	 "[--after] [--uninit] LBLK LEN PBLK",
	 "insert an entry before the current one, or after it"},
	{"split_node, split", DBG_EXTENTS | DBG_WRITE, verb_split, "", "split the current node"},
	{"fix_parents, fixp", DBG_EXTENTS | DBG_WRITE, verb_fix, "",
	 "set the parents' logical blocks to that of the current entry"},
	{"set_bmap", DBG_EXTENTS | DBG_WRITE, verb_set_bmap, "[--uninit] LBLK PBLK",
	 "map a logical block; PBLK 0 unmaps it"},
	{"replace_node, replace", DBG_EXTENTS | DBG_WRITE, verb_replace, "[--uninit] LBLK LEN PBLK",
	 "replace the current entry"},
	{"extent_close, ec", DBG_EXTENTS, verb_close, "", "close the inode"},
};

const struct dbg_family dbg_extent_verbs = {
	.title = "Extent trees",
	.verbs = verbs,
	.n = XW_ARRAY_SIZE(verbs),
	.closed = close_extents,
};
