/* SPDX-License-Identifier: MIT */
/*
 * Scripts of single changes on images of several kinds. Wanted is, word for word, what each change
 * returns and says, the map and counts of the files it leaves, and the contents of the whole image;
 * the image is consistent afterwards. The limits: each number once where it fits, once one more.
 */
#include "config.h"

#include "digest.h"
#include "said.h"
#include "steps_world.h"

/* ---- the machine: inodes have names of one letter; / is the root, lost+found is L ---- */

struct machine {
	struct xw_steps s;
	struct xw_edit *e;
	xw_ino ino[128];
	uint64_t left; /* bytes of the file being created */
	uint64_t hole; /* of them, a hole at the beginning */
	int fail; /* what its reader fails with at the end */
	xw_blk last; /* result of map */
};

static int read_some(void *arg, void *buf, size_t len, size_t *got)
{
	struct machine *m = arg;

	*got = XW_MIN(len, m->left);
	memset(buf, 'r', *got);
	if (m->hole) { /* zeros that are read */
		const size_t n = XW_MIN(*got, m->hole);

		memset(buf, 0, n);
		m->hole -= n;
	}
	m->left -= *got;
	return m->left ? 0 : m->fail;
}

static int create(struct machine *m, struct xw_update *u, char var, const char *what, uint64_t a,
		  uint64_t b)
{
	struct xw_update_new new = {.parent = XW_INO_ROOT, .uid = 7, .gid = 70000};
	char target[5000];

	m->left = a;
	m->hole = 0;
	m->fail = 0;
	if (!strcmp(what, "file") || !strcmp(what, "whole") || !strcmp(what, "bad")) {
		new.mode = XW_S_IFREG | 0640;
		new.read = read_some;
		new.arg = m;
		new.whole = *what == 'w';
		m->hole = b;
		m->fail = *what == 'b' ? XW_ERR_IO : 0;
	} else if (!strcmp(what, "dir")) {
		new.mode = XW_S_IFDIR | 0750;
	} else if (!strcmp(what, "link")) {
		new.mode = XW_S_IFLNK | 0777;
		memset(target, 't', a);
		target[a] = 0;
		new.target = target;
	} else if (!strcmp(what, "chr")) {
		new.mode = XW_S_IFCHR | 0600;
		new.major = (uint32_t)a;
		new.minor = (uint32_t)b;
	} else { /* "at": an inode from number a on */
		new.mode = XW_S_IFIFO | 0600;
		new.goal = (xw_ino)a;
	}
	return xw_update_create(u, &new, &m->ino[(int)var]);
}

static uint8_t type_of(const char *word)
{
	return *word == 'd' ? XW_FT_DIR : XW_FT_REG;
}

static int set_field(struct xw_update *u, xw_ino ino, const char *field, uint64_t value)
{
	struct xw_inode in;
	uint8_t *raw;
	int rc = xw_update_get(u, ino, &in, &raw);

	if (rc)
		return rc;
	if (!strcmp(field, "links"))
		in.links = (uint16_t)value;
	else if (!strcmp(field, "size"))
		in.size = value;
	else if (!strcmp(field, "dtime"))
		in.dtime = (uint32_t)value;
	else if (!strcmp(field, "flags"))
		in.flags ^= (uint32_t)value;
	else if (!strcmp(field, "isize"))
		in.extra_isize = (uint16_t)value;
	else
		ck_abort_msg("%s", field);
	return xw_update_put(u, ino, &in, raw);
}

static int link_many(struct xw_update *u, xw_ino in_dir, xw_ino ino, uint64_t from, uint64_t n,
		     bool unlink_them)
{
	char name[64];
	int rc = 0;

	for (uint64_t i = from; i < from + n && !rc; i++) {
		snprintf(name, sizeof(name), "a-name-of-some-length-%" PRIu64, i);
		rc = unlink_them ? xw_update_unlink(u, in_dir, name, strlen(name))
				 : xw_update_link(u, in_dir, name, strlen(name), ino, XW_FT_REG);
	}
	return rc;
}

static int set_value(struct xw_update *u, xw_ino ino, const char *name, const char *len, bool raw)
{
	static uint8_t value[70000];
	struct xw_update_xattr x = {.name = name, .raw = raw};

	memset(value, name[strlen(name) - 1], sizeof(value));
	if (*len != '-') {
		x.value = value;
		x.len = strtoul(len, NULL, 0);
	}
	return xw_update_set_xattr(u, ino, &x);
}

/* One change, in a step of its own: its words and what they are. */
static int change(struct machine *m, struct xw_update *u, char **w)
{
	const xw_ino ino = m->ino[(int)w[1][0]];
	const uint64_t a = strtoull(w[2], NULL, 0), b = strtoull(w[3], NULL, 0);

	if (!strcmp(w[0], "new"))
		return create(m, u, w[1][0], w[2], b, strtoull(w[4], NULL, 0));
	if (!strcmp(w[0], "link"))
		return xw_update_link(u, ino, w[2], strlen(w[2]), m->ino[(int)w[3][0]],
				      type_of(w[4]));
	if (!strcmp(w[0], "unlink"))
		return xw_update_unlink(u, ino, w[2], strlen(w[2]));
	if (!strcmp(w[0], "many"))
		return link_many(u, ino, m->ino[(int)w[2][0]], b, strtoull(w[4], NULL, 0), false);
	if (!strcmp(w[0], "few"))
		return link_many(u, ino, 0, a, b, true);
	if (!strcmp(w[0], "links"))
		return xw_update_add_links(u, ino, (int)strtol(w[2], NULL, 0));
	if (!strcmp(w[0], "kill"))
		return xw_update_kill(u, ino, a);
	if (!strcmp(w[0], "revive"))
		return xw_update_revive(u, ino);
	if (!strcmp(w[0], "empty"))
		return xw_update_check_empty(u, ino);
	if (!strcmp(w[0], "expand"))
		return xw_update_expand_dir(u, ino);
	if (!strcmp(w[0], "itree"))
		return xw_update_build_itree(u, ino);
	if (!strcmp(w[0], "punch"))
		return xw_update_punch(u, ino, (xw_lblk)a, (xw_lblk)b);
	if (!strcmp(w[0], "alloc"))
		return xw_update_fallocate(u, ino, (xw_lblk)a, (xw_lblk)b, *w[4]);
	if (!strcmp(w[0], "map")) {
		m->last = b;
		return xw_update_map_block(u, ino, (xw_lblk)a, &m->last);
	}
	if (!strcmp(w[0], "out"))
		return xw_update_uninline(u, ino);
	if (!strcmp(w[0], "ea") || !strcmp(w[0], "raw"))
		return set_value(u, ino, w[2], w[3], *w[0] == 'r');
	if (!strcmp(w[0], "set"))
		return set_field(u, ino, w[2], b);
	if (!strcmp(w[0], "block"))
		return xw_update_mark_block(u, a, b);
	if (!strcmp(w[0], "inode"))
		return xw_update_mark_inode(u, (xw_ino)a, b);
	ck_abort_msg("%s", w[0]);
	return 0;
}

static const char *without_dir(const char *text)
{
	const char *at = strstr(text, dir);

	return at ? at + strlen(dir) + 1 : text;
}

/* Inode, i_blocks, its block of attributes, its map. */
static void show(struct machine *m, char var)
{
	struct xw_image *img;
	struct xw_map_iter it;
	struct xw_map_run run;
	struct xw_inode in;
	const xw_ino ino = m->ino[(int)var];

	ok(xw_image_open(m->s.dev, 0, &diag, &img));
	ok(xw_image_inode(img, ino, &in, NULL));
	add("  %c: %u size=%" PRIu64 " links=%u blocks=%" PRIu64 " flags=%x", var, ino, in.size,
	    in.links, xw_inode_fs_blocks_512(&in, &img->sb), in.flags);
	if (in.file_acl)
		add(" acl=%" PRIu64, (uint64_t)in.file_acl);
	if (xw_inode_has_map(&in)) {
		ok(xw_map_begin(img, ino, &in, 0, &it));
		while (xw_map_next(&it, &run) == 1)
			add(" %" PRIu64 "+%" PRIu64 "@%" PRIu64 "%s", (uint64_t)run.lblk,
			    (uint64_t)run.len, (uint64_t)run.pblk, run.unwritten ? "u" : "");
		xw_map_end(&it);
	}
	add("\n");
	xw_image_close(img);
}

static void run_line(struct machine *m, char *line)
{
	char *w[6] = {"", "", "", "", "", ""}, *word, *rest = line;
	struct xw_update *u;
	int rc, n = 0;

	while (n < 6 && (word = strtok_r(rest, " ", &rest)))
		w[n++] = word;
	if (!strcmp(w[0], "show")) {
		show(m, w[1][0]);
		return;
	}
	ok(xw_step_begin(&m->s, &u));
	rc = change(m, u, w);
	if (!rc) {
		ok(xw_step_keep(&m->s));
		return;
	}
	add("  %s %s: %d %s\n", w[0], w[1], rc, without_dir(diag.text));
	xw_step_drop(&m->s);
	xw_diag_clear(&diag);
}

static uint64_t run_script(int kind, const char *script)
{
	struct machine m = {.ino = {['/'] = XW_INO_ROOT, ['L'] = 11, ['0'] = 0, ['9'] = 9999999}};
	char *text = strdup(script), *rest = text, *line;
	uint64_t sum;

	said[0] = 0;
	make(kind);
	m.e = begin(&m.s);
	while ((line = strtok_r(rest, ";", &rest)))
		run_line(&m, line + strspn(line, " \n"));
	free(text);
	xw_step_drop(&m.s);
	ok(xw_edit_commit(m.e, NULL));
	sum = digest(xw_edit_dev(m.e));
	xw_edit_end(m.e);
	return sum;
}

/* ---- the scripts ---- */

static const struct {
	int kind;
	bool lies; /* the image is left inconsistent */
	const char *script, *want;
} scripts[] = {
	/* what is created, and what cannot be */
	{1, false,
	 "new a file 0; show a; new b file 1; show b; new c file 1024; show c; new d file 1025; "
	 "show d",
	 "  a: 12 size=0 links=1 blocks=0 flags=80000\n  b: 13 size=1 links=1 blocks=2 flags=80000 "
	 "0+1@2196\n  c: 14 size=1024 links=1 blocks=2 flags=80000 0+1@2197\n  d: 15 size=1025 "
	 "links=1 blocks=4 flags=80000 0+2@2198\n989a3f255781b64e"},
	{1, false,
	 "new a file 5000 1024; show a; new b file 5000 1025; show b; new c file 3000 3000; show c",
	 "  a: 12 size=5000 links=1 blocks=8 flags=80000 1+4@2197\n  b: 13 size=5000 links=1 "
	 "blocks=8 flags=80000 1+4@2201\n  c: 14 size=3000 links=1 blocks=0 "
	 "flags=80000\nff49e2242e0f610b"},
	{1, false, "new a whole 5000 2048; show a; new b bad 3000; new c file 3000; show c",
	 "  a: 12 size=5000 links=1 blocks=10 flags=80000 0+5@2196\n  new b: -3 \n  c: 13 "
	 "size=3000 links=1 blocks=6 flags=80000 0+3@2201\n33905995deda197b"},
	{3, false,
	 "new a file 59; show a; new b file 161; show b; new c file 5000; show c; new d dir; show "
	 "d",
	 "  a: 13 size=59 links=1 blocks=0 flags=10000000\n  b: 14 size=161 links=1 blocks=8 "
	 "flags=80000 0+1@11\n  c: 15 size=5000 links=1 blocks=16 flags=80000 0+2@18\n  d: 16 "
	 "size=60 links=2 blocks=0 flags=10000000\n2efa0dbb94709d36"},
	{3, false,
	 "new a file 60; new b file 128; show b; new c file 129; show c; new e file 132; show e; "
	 "new f file 133; show f; new d whole 5; show d",
	 "  b: 14 size=128 links=1 blocks=0 flags=10000000\n  c: 15 size=129 links=1 blocks=8 "
	 "flags=80000 0+1@17\n  e: 16 size=132 links=1 blocks=8 flags=80000 0+1@9\n  f: 17 "
	 "size=133 links=1 blocks=8 flags=80000 0+1@16\n  d: 18 size=5 links=1 blocks=8 "
	 "flags=80000 0+1@10\na441f6f01bc28635"},
	{1, false,
	 "new a link 1; show a; new b link 59; show b; new c link 60; show c; new d link 1023; "
	 "show d",
	 "  a: 12 size=1 links=1 blocks=0 flags=0\n  b: 13 size=59 links=1 blocks=0 flags=0\n  c: "
	 "14 size=60 links=1 blocks=2 flags=80000 0+1@2196\n  d: 15 size=1023 links=1 blocks=2 "
	 "flags=80000 0+1@2197\nefc8276b9fc75e3e"},
	{1, false, "new a link 0; new a link 1024",
	 "  new a: -10 image: a symlink target must have 1 to 1023 bytes\n  new a: -10 image: a "
	 "symlink target must have 1 to 1023 bytes\n4bdf0e5bcceebd3e"},
	{2, false, "new a link 4095; show a; new b link 4096",
	 "  a: 12 size=4095 links=1 blocks=8 flags=80000 0+1@5\n  new b: -10 image: a symlink "
	 "target must have 1 to 4095 bytes\nabcf67d7ec1c5910"},
	{1, false, "new a chr 4095 1048575; show a; new b chr 4096 0; new b chr 0 1048576",
	 "  a: 12 size=0 links=1 blocks=0 flags=0\n  new b: -13 image: device 4096:0 has numbers "
	 "that are too large\n  new b: -13 image: device 0:1048576 has numbers that are too "
	 "large\n3bf721f9dd2c5e1d"},
	{1, false,
	 "new a at 100; show a; new b at 100; show b; new c at 4096; show c; new d at 9999999",
	 "  a: 100 size=0 links=1 blocks=0 flags=0\n  b: 101 size=0 links=1 blocks=0 flags=0\n  c: "
	 "4096 size=0 links=1 blocks=0 flags=0\nc8c25a328594bb58"},
	{0, false, "new a file 12288; show a; new b file 12289; show b; new c file 280000; show c",
	 "  a: 12 size=12288 links=1 blocks=24 flags=0 0+12@594\n  b: 13 size=12289 links=1 "
	 "blocks=28 flags=0 0+13@606\n  c: 14 size=280000 links=1 blocks=554 flags=0 "
	 "0+274@620\n940cf11f761a37e6"},
	{0, false, "new a file 600000 300000; show a; new b file 20000000",
	 "  a: 12 size=600000 links=1 blocks=594 flags=0 292+294@594\n  new b: -4 image: no space "
	 "left for the file\n8a6a9f2327e781c9"},
	{5, false,
	 "new a file 1; show a; new b file 65536; show b; new c file 65537; show c; new d dir; "
	 "show d",
	 "  a: 12 size=1 links=1 blocks=128 flags=80000 0+1@1184\n  b: 13 size=65536 links=1 "
	 "blocks=128 flags=80000 0+16@1200\n  c: 14 size=65537 links=1 blocks=256 flags=80000 "
	 "0+17@1216\n  d: 15 size=4096 links=2 blocks=128 flags=80000 0+1@1248\n645f10e6cbe36d1e"},
	/* links */
	{1, false,
	 "new a file 0; link / a a f; links a 64999; show a; links a 1; links a -64999; show a",
	 "  a: 12 size=0 links=65000 blocks=0 flags=80000\n  links a: -13 image: inode 12: has too "
	 "many links\n  a: 12 size=0 links=1 blocks=0 flags=80000\ndb9be8329a47a549"},
	{1, false,
	 "new d dir; link / d d d; links d 64998; show d; links d 1; show d; links d 5; show d",
	 "  d: 12 size=1024 links=65000 blocks=2 flags=80000 0+1@2196\n  d: 12 size=1024 links=1 "
	 "blocks=2 flags=80000 0+1@2196\n  d: 12 size=1024 links=1 blocks=2 flags=80000 "
	 "0+1@2196\n2fe1115e76fc16ad"},
	{0, false, "new d dir; link / d d d; links d 64998; show d; links d 1",
	 "  d: 12 size=1024 links=65000 blocks=2 flags=0 0+1@594\n  links d: -13 image: inode 12: "
	 "has too many links\nb141ab82abe47a62"},
	{1, false, "new a file 0; links a -2; show a; links 9 1",
	 "  a: 12 size=0 links=0 blocks=0 flags=80000\n  links 9: -7 image: there is no inode "
	 "9999999\nada432d3ffeadeaa"},
	/* names */
	{1, false,
	 "new a file 0; link / a a f; link / a a f; link / a/b a f; link a x a f; link 9 x a f; "
	 "unlink / none; unlink / a",
	 "  link /: -12 image: 'a': already exists\n  link /: -10 image: 'a/b': not a valid name "
	 "for a directory entry\n  link a: -10 image: directory inode 12: not a directory\n  link "
	 "9: -7 image: there is no inode 9999999\n  unlink /: -14 image: 'none': not "
	 "found\n8f1e04e517464fc2"},
	{1, false,
	 "new d dir; link / d d d; links / 1; empty d; new a file 0; link d a a f; empty d; unlink "
	 "d a; empty d; empty a",
	 "  empty d: -15 image: directory inode 12: not empty\n  empty a: -10 image: inode 13 is "
	 "not a directory\na08cf6de1621953a"},
	{1, false,
	 "new d dir; link / d d d; links / 1; new a file 0; many d a 0 30; show d; many d a 30 1; "
	 "show d; few d 0 31; show d; empty d",
	 "  d: 12 size=1024 links=2 blocks=2 flags=80000 0+1@2196\n  d: 12 size=2048 links=2 "
	 "blocks=4 flags=81000 0+2@2196\n  d: 12 size=2048 links=2 blocks=4 flags=81000 "
	 "0+2@2196\n516e2bc100572bfb"},
	{1, false,
	 "new d dir; link / d d d; links / 1; expand d; show d; expand d; show d; itree d; expand "
	 "9",
	 "  d: 12 size=2048 links=2 blocks=4 flags=80000 0+2@2196\n  d: 12 size=3072 links=2 "
	 "blocks=6 flags=80000 0+3@2196\n  itree d: -9 image: the feature itree is not set "
	 "(xw-tune -O itree)\n  expand 9: -7 image: there is no inode 9999999\n749d0219dd5e637e"},
	{4, false,
	 "new d dir; link / d d d; links / 1; itree d; new a file 0; many d a 0 200; show d; itree "
	 "d; show d; expand d; few d 10 150; show d; itree d; show d",
	 "  itree d: -13 image: directory inode 12: cannot have an itree: it has no index, or its "
	 "root is full\n  d: 12 size=10240 links=2 blocks=48 flags=8081000 0+2@1172 2+1@1177 "
	 "3+2@1179 5+4@1184 9+1@1194\n  d: 12 size=10240 links=2 blocks=40 flags=8081000 0+2@1172 "
	 "2+1@1177 3+2@1179 5+4@1184 9+1@1194\n  expand d: -9 image: directory inode 12: has an "
	 "index\n  d: 12 size=10240 links=2 blocks=34 flags=8081000 0+2@1172 2+1@1177 3+2@1179 "
	 "5+4@1184 9+1@1194\n  d: 12 size=10240 links=2 blocks=28 flags=8081000 0+2@1172 2+1@1177 "
	 "3+2@1179 5+4@1184 9+1@1194\nbf12211f0dced2a7"},
	{3, false,
	 "new d dir; show d; new a file 0; link d x a f; show d; unlink d x; out d; show d; out d; "
	 "out a",
	 "  d: 13 size=60 links=2 blocks=0 flags=10000000\n  d: 13 size=4096 links=2 blocks=8 "
	 "flags=80000 0+1@17\n  d: 13 size=4096 links=2 blocks=8 flags=80000 "
	 "0+1@17\nccfd39b6d88ace2a"},
	{3, false,
	 "new d dir; link / d d d; links / 1; new a file 0; many d a 0 100; show d; expand d; few "
	 "d 0 99; show d",
	 "  d: 13 size=4096 links=2 blocks=8 flags=80000 0+1@17\n  d: 13 size=8192 links=2 "
	 "blocks=16 flags=80000 0+1@17 1+1@9\n913791477d6d6260"},
	/* deleted and restored */
	{1, true,
	 "new a file 9000; show a; kill a 1; show a; revive a; show a; revive a; kill a 0; show a",
	 "  a: 12 size=9000 links=1 blocks=18 flags=80000 0+9@2196\n  a: 12 size=9000 links=0 "
	 "blocks=18 flags=80000 0+9@2196\n  a: 12 size=9000 links=1 blocks=18 flags=80000 "
	 "0+9@2196\n  revive a: -15 image: inode 12: is not marked as deleted\n  a: 12 size=9000 "
	 "links=1 blocks=18 flags=80000 0+9@2196\n571aad1e7f81ce2f"},
	{1, true,
	 "new a file 9000; kill a 1; inode x 12 1; revive a; inode x 12 0; new c file 9000; revive "
	 "a; show c",
	 "  revive a: -12 image: inode 12: is in use again\n  revive a: -15 image: inode 12: is "
	 "not marked as deleted\n  c: 12 size=9000 links=1 blocks=18 flags=80000 "
	 "0+9@2196\nff54e912d5824b56"},
	{1, true,
	 "new a file 9000; kill a 1; block x 2199 1; revive a; block x 2199 0; revive a; show a",
	 "  revive a: -12 image: inode 12: one of its blocks is in use again\n  a: 12 size=9000 "
	 "links=1 blocks=18 flags=80000 0+9@2196\nff54e912d5824b56"},
	{1, true,
	 "new a file 3000; ea a user.a 500; show a; kill a 1; block x 2199 1; revive a; show a; "
	 "block x 2199 0",
	 "  a: 12 size=3000 links=1 blocks=8 flags=80000 acl=2199 0+3@2196\n  a: 12 size=3000 "
	 "links=1 blocks=6 flags=80000 0+3@2196\n370df27fdd5444ba"},
	{5, false,
	 "new a file 3000; ea a user.a 9000; show a; kill a 1; revive a; show a; kill 9 1",
	 "  a: 12 size=3000 links=1 blocks=256 flags=80000 0+1@1184\n  a: 12 size=3000 links=1 "
	 "blocks=256 flags=80000 0+1@1184\n  kill 9: -7 image: there is no inode "
	 "9999999\n000e18034f298153"},
	/* maps */
	{1, false,
	 "new a file 10240; punch a 3 4; show a; punch a 0 0; show a; punch a 9 4294967295; show "
	 "a; punch a 5 4; show a; punch a 0 4294967295; show a",
	 "  a: 12 size=10240 links=1 blocks=16 flags=80000 0+3@2196 5+5@2201\n  a: 12 size=10240 "
	 "links=1 blocks=14 flags=80000 1+2@2197 5+5@2201\n  a: 12 size=10240 links=1 blocks=12 "
	 "flags=80000 1+2@2197 5+4@2201\n  a: 12 size=10240 links=1 blocks=12 flags=80000 1+2@2197 "
	 "5+4@2201\n  a: 12 size=10240 links=1 blocks=0 flags=80000\n7b998e5814b81a06"},
	{1, false,
	 "new a file 0; alloc a 2 3; show a; alloc a 0 9; show a; alloc a 5 4294967294; alloc a "
	 "4294967295 4294967295; alloc a 2 4294967294 y; show a; new b file 1024; alloc b 0 3; "
	 "show b",
	 "  a: 12 size=0 links=1 blocks=4 flags=80000 2+2@2196u\n  a: 12 size=0 links=1 blocks=20 "
	 "flags=80000 0+2@2198u 2+2@2196u 4+6@2200u\n  alloc a: -4 image: no space: 4294953236 "
	 "blocks are missing\n  alloc a: -13 image: inode 12: beyond the range of its map\n  a: 12 "
	 "size=0 links=1 blocks=28110 flags=80000 0+2@2198u 2+2@2196u 4+6@2200u 10+8062@8322u "
	 "8072+5982@2206u\n  b: 13 size=1024 links=1 blocks=8 flags=80000 0+1@8189 "
	 "1+3@8190u\n8282b01014a11d4d"},
	{0, false,
	 "new a file 0; alloc a 2 3; show a; alloc a 10 14; show a; alloc a 16843019 16843019; "
	 "show a; alloc a 16843020 16843020; punch a 12 16843019; show a",
	 "  a: 12 size=0 links=1 blocks=4 flags=0 2+2@594\n  a: 12 size=0 links=1 blocks=16 "
	 "flags=0 2+2@594 10+5@596\n  a: 12 size=0 links=1 blocks=24 flags=0 2+2@594 10+5@596 "
	 "16843019+1@602\n  alloc a: -13 image: inode 12: beyond the range of its map\n  a: 12 "
	 "size=0 links=1 blocks=8 flags=0 2+2@594 10+2@596\nc1223c443e6c2fa1"},
	{5, false,
	 "new a file 70000; alloc a 0 40; show a; punch a 0 0; show a; punch a 0 14; show a; punch "
	 "a 15 15; show a; alloc a 40 50; show a; punch a 20 50; show a",
	 "  a: 12 size=70000 links=1 blocks=384 flags=80000 0+18@1184 18+23@1202u\n  a: 12 "
	 "size=70000 links=1 blocks=384 flags=80000 1+17@1185 18+23@1202u\n  a: 12 size=70000 "
	 "links=1 blocks=384 flags=80000 15+3@1199 18+23@1202u\n  a: 12 size=70000 links=1 "
	 "blocks=256 flags=80000 16+2@1200 18+23@1202u\n  a: 12 size=70000 links=1 blocks=384 "
	 "flags=80000 16+2@1200 18+33@1202u\n  a: 12 size=70000 links=1 blocks=128 flags=80000 "
	 "16+2@1200 18+2@1202u\n73560c3a024326ec"},
	{1, true,
	 "new a file 3000; map a 1 0; show a; map a 7 0; show a; map a 1 5000; show a; map a 0 "
	 "5001; show a; map a 9 16384; map a 9 16383; show a; map a 4294967294 0; map 9 0 0",
	 "  a: 12 size=3000 links=1 blocks=6 flags=80000 0+3@2196\n  a: 12 size=3000 links=1 "
	 "blocks=8 flags=80000 0+3@2196 7+1@2199\n  a: 12 size=3000 links=1 blocks=8 flags=80000 "
	 "0+1@2196 1+1@5000 2+1@2198 7+1@2199\n  a: 12 size=3000 links=1 blocks=8 flags=80000 "
	 "0+1@5001 1+1@5000 2+1@2198 7+1@2199\n  map a: -10 image: inode 12: no such block\n  a: "
	 "12 size=3000 links=1 blocks=8 flags=80000 0+1@5001 1+1@5000 2+1@2198 7+1@2199 "
	 "9+1@16383\n  map 9: -7 image: there is no inode 9999999\nb11f1dcdb91243a0"},
	{0, true, "new a file 3000; map a 12 0; show a; map a 300 0; show a; map a 16843020 0",
	 "  a: 12 size=3000 links=1 blocks=10 flags=0 0+3@594 12+1@597\n  a: 12 size=3000 links=1 "
	 "blocks=16 flags=0 0+3@594 12+1@597 300+1@599\n  map a: -13 image: inode 12: beyond the "
	 "range of its map\n9c7967ff4938fa61"},
	{5, true,
	 "new a file 65536; map a 17 0; show a; map a 31 0; show a; map a 32 0; show a; punch a 16 "
	 "17; show a",
	 "  a: 12 size=65536 links=1 blocks=256 flags=80000 0+16@1184 17+1@1201\n  a: 12 "
	 "size=65536 links=1 blocks=256 flags=80000 0+16@1184 17+1@1201 31+1@1215\n  a: 12 "
	 "size=65536 links=1 blocks=384 flags=80000 0+16@1184 17+1@1201 31+2@1215\n  a: 12 "
	 "size=65536 links=1 blocks=384 flags=80000 0+16@1184 31+2@1215\n0adf430d8697524a"},
	{1, false, "new a link 10; punch a 0 1; alloc a 0 1; new b chr 1 2; map b 0 0",
	 "  punch a: -10 image: inode 12: has no blocks\n  alloc a: -10 image: inode 12: has no "
	 "blocks\n  map b: -10 image: inode 13: has no blocks\nf1874160b35d66b9"},
	{3, false,
	 "new a file 50; punch a 0 0; show a; new b file 50; alloc b 0 2; show b; new c file 50; "
	 "map c 3 0; show c",
	 "  a: 13 size=50 links=1 blocks=0 flags=80000\n  b: 14 size=50 links=1 blocks=24 "
	 "flags=80000 0+1@17 1+2@18u\n  c: 15 size=50 links=1 blocks=16 flags=80000 0+1@5 "
	 "3+1@6\nd937c61038b8fe92"},
	/* attributes */
	{1, false,
	 "new a file 0; ea a user.a 1; show a; ea a user.b 40; show a; ea a user.c 100; show a; ea "
	 "a user.b -; show a; ea a user.c -; show a; ea a user.a -; show a; ea a user.a -",
	 "  a: 12 size=0 links=1 blocks=0 flags=80000\n  a: 12 size=0 links=1 blocks=0 "
	 "flags=80000\n  a: 12 size=0 links=1 blocks=2 flags=80000 acl=2196\n  a: 12 size=0 "
	 "links=1 blocks=2 flags=80000 acl=2196\n  a: 12 size=0 links=1 blocks=0 flags=80000\n  a: "
	 "12 size=0 links=1 blocks=0 flags=80000\n  ea a: -14 \n8f1e04e517464fc2"},
	{1, false,
	 "new a file 0; new b file 0; ea a user.x 300; ea b user.x 300; show a; show b; ea a "
	 "user.x 301; show a; ea b user.x -; show b; ea a user.x -; show a",
	 "  a: 12 size=0 links=1 blocks=2 flags=80000 acl=2196\n  b: 13 size=0 links=1 blocks=2 "
	 "flags=80000 acl=2196\n  a: 12 size=0 links=1 blocks=2 flags=80000 acl=2197\n  b: 13 "
	 "size=0 links=1 blocks=0 flags=80000\n  a: 12 size=0 links=1 blocks=0 "
	 "flags=80000\n5dbbc28d9eef98bd"},
	{1, false,
	 "new a file 0; ea a user.x 952; ea a user.x 968; show a; ea a user.x 969; ea a user.x "
	 "1025; ea a none 1; ea a user. 1; ea a system.data 1; ea a trusted.t 0; show a; ea 9 "
	 "user.x 1",
	 "  a: 12 size=0 links=1 blocks=2 flags=80000 acl=2197\n  ea a: -13 extended attributes "
	 "exceed inode and block by 4 bytes (the largest of 1 is user.x, 969 bytes); the feature "
	 "ea_inode allows more\n  ea a: -13 extended attributes exceed inode and block by 60 bytes "
	 "(the largest of 1 is user.x, 1025 bytes); the feature ea_inode allows more\n  ea a: -9 "
	 "'none' is not a valid attribute name\n  ea a: -10 'user.' is not a valid attribute "
	 "name\n  ea a: -10 image: inode 12: system.data is its contents, not an attribute\n  a: "
	 "12 size=0 links=1 blocks=2 flags=80000 acl=2197\n  ea 9: -7 image: there is no inode "
	 "9999999\n7254149b06680de2"},
	{1, false,
	 "new a file 0; raw a system.posix_acl_access 28; ea a system.posix_acl_access 28; show a",
	 "  ea a: -10 system.posix_acl_access: ACL version 1936946035, expected 2\n  a: 12 size=0 "
	 "links=1 blocks=0 flags=80000\n0399a32e21bc6e53"},
	{3, false,
	 "new a file 0; ea a user.big 5000; show a; ea a user.big 5000; show a; ea a user.two "
	 "5000; show a; ea a user.big 65536; ea a user.big 65537; show a; ea a user.big -; ea a "
	 "user.two -; show a",
	 "  a: 13 size=0 links=1 blocks=16 flags=10000000\n  a: 13 size=0 links=1 blocks=16 "
	 "flags=10000000\n  a: 13 size=0 links=1 blocks=32 flags=10000000\n  ea a: -13 extended "
	 "attribute big: value of 65537 bytes, the limit is 65536\n  a: 13 size=0 links=1 "
	 "blocks=144 flags=10000000\n  a: 13 size=0 links=1 blocks=0 "
	 "flags=10000000\nae2ee5f69d9d9f48"},
	{3, false,
	 "new a file 50; ea a user.x 20; show a; ea a user.y 30; show a; ea a user.z 3000; show a; "
	 "out a; show a",
	 "  a: 13 size=50 links=1 blocks=0 flags=10000000\n  a: 13 size=50 links=1 blocks=8 "
	 "flags=10000000 acl=11\n  a: 13 size=50 links=1 blocks=8 flags=10000000 acl=18\n  a: 13 "
	 "size=50 links=1 blocks=16 flags=80000 acl=18 0+1@19\nca7769d196ca0858"},
	{5, false,
	 "new a file 0; ea a user.big 5000; show a; ea a user.small 200; show a; ea a user.big -; "
	 "show a",
	 "  a: 12 size=0 links=1 blocks=128 flags=80000\n  a: 12 size=0 links=1 blocks=256 "
	 "flags=80000 acl=1200\n  a: 12 size=0 links=1 blocks=128 flags=80000 "
	 "acl=1200\n50461bd8af1f1c96"},
	{0, false,
	 "new a file 0; ea a user.a 1; show a; new b file 0; ea b user.a 1; show b; ea a user.b 1; "
	 "show a; ea b user.a -; show b",
	 "  a: 12 size=0 links=1 blocks=0 flags=0\n  b: 13 size=0 links=1 blocks=0 flags=0\n  a: "
	 "12 size=0 links=1 blocks=0 flags=0\n  b: 13 size=0 links=1 blocks=0 "
	 "flags=0\nae84b4b1463598d3"},
	/* bits */
	{1, true,
	 "block x 0 1; block x 1 1; block x 16383 1; block x 16383 1; block x 16384 1; block x "
	 "16383 0; block x 16383 0; inode x 4096 1; inode x 4096 1; inode x 4097 1; inode x 0 1; "
	 "inode x 4096 0",
	 "  block x: -12 \n  block x: -12 \n  block x: -12 \n  block x: -12 \n  block x: -12 \n  "
	 "inode x: -12 \n  inode x: -12 \n  inode x: -12 \nce194d095eb8220b"},
	/* inodes that lie */
	{3, true,
	 "new a file 50; set a size 4294967296; out a; punch a 0 0; ea a user.a 1; set a size 50; "
	 "out a; show a",
	 "  out a: -7 image: inode 13: 4294967296 bytes of inline data\n  punch a: -7 image: inode "
	 "13: 4294967296 bytes of inline data\n  a: 13 size=50 links=1 blocks=8 flags=80000 "
	 "0+1@11\n34f422b8340dbdf6"},
	{1, true,
	 "new a file 3000; set a flags 0x10000000; show a; ea a user.a 10; punch a 0 0; alloc a 0 "
	 "0; new b file 0; set b dtime 5; revive b; set b isize 500; ea b user.x 5",
	 "  a: 12 size=3000 links=1 blocks=6 flags=10080000\n  revive b: -12 image: inode 13: is "
	 "in use again\n  ea b: -7 image: inode 13: cannot be decoded\ndf27cddc339643da"},
};

START_TEST(script)
{
	const uint64_t sum = run_script(scripts[_i].kind, scripts[_i].script);

	if (!scripts[_i].lies)
		check();
	add("%016" PRIx64, sum);
	ck_assert_str_eq(said, scripts[_i].want);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("update_steps");
	TCase *t = tcase_create("steps");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	unit_add_rows(t, script, scripts, script);
	suite_add_tcase(s, t);
	return unit_main(s);
}
