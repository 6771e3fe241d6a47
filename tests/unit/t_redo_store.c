/* SPDX-License-Identifier: MIT */
/* The redo file as a file, and opening an image by its path. */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/types.h"
#include "commit/commit.h"
#include "session/recover.h"
#include "commit/super.h"
#include "commit_world.h"
#include "dev/overlay.h"
#include "tmp.h"
#include "unit.h"

static char dir[64], img[96], redo[128], tmp[128];
static struct xw_diag diag;

static const struct world_spec spec = {1024, true, true, 0x12, 0, false};

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(tmp_template(dir, sizeof(dir), "xw_t_redo")));
	snprintf(img, sizeof(img), "%s/image", dir);
	snprintf(redo, sizeof(redo), "%s.xw-redo", img);
	snprintf(tmp, sizeof(tmp), "%s.xw-redo.tmp", img);
	memset(&diag, 0, sizeof(diag));
}

static void teardown(void)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", dir);
	ck_assert_int_eq(system(cmd), 0);
}

static bool there(const char *path)
{
	return access(path, F_OK) == 0;
}

static void put_file(const char *path, const void *data, size_t len)
{
	FILE *f = fopen(path, "wb");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(data, 1, len, f), len);
	ck_assert_int_eq(fclose(f), 0);
}

static void put_dev(const char *path, struct xw_dev *d)
{
	char *buf = malloc(d->size + 1);

	ck_assert_int_eq(xw_dev_pread(d, buf, d->size, 0), 0);
	put_file(path, buf, d->size);
	free(buf);
}

/* A world whose commit was cut behind the commit point, as files. */
static void cut_world(struct world *w, const char *redo_path)
{
	const struct xw_commit_opts opts = {.how = XW_COMMIT_FILE, .store = &w->store};
	struct xw_dev *o;

	world_open(w, &spec);
	o = world_change(w);
	w->crash.fail_at = 25;
	w->crash.seed = 5;
	ck_assert_int_lt(xw_commit(o, &opts, &w->diag, NULL), 0);
	xw_dev_close(o);
	world_revive(w);
	ck_assert_ptr_nonnull(w->pub);
	put_dev(img, w->img);
	put_dev(redo_path, w->pub);
}

START_TEST(whole_life)
{
	struct xw_redo_store *s;
	struct xw_dev *d;
	struct stat st;

	put_file(img, "image", 5);
	ck_assert_int_eq(chmod(img, 0640), 0);
	if (!geteuid())
		ck_assert_int_eq(chown(img, 12345, 23456), 0);
	put_file(tmp, "left over", 9);
	ck_assert_int_eq(xw_redo_store_open(img, NULL, 0, &diag, &s), 0);
	ck_assert_str_eq(s->name, redo);
	ck_assert_int_eq(s->ops->open(s, &d), XW_ERR_NOTFOUND);
	ck_assert_int_eq(diag.code, 0);
	ck_assert_int_eq(s->ops->create(s, 0, &d), 0);
	ck_assert_int_eq(stat(tmp, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0640);
	ck_assert_uint_eq(st.st_uid, geteuid() ? geteuid() : 12345);
	ck_assert_uint_eq(st.st_gid, geteuid() ? getegid() : 23456);
	ck_assert_int_eq(st.st_size, 0);
	ck_assert_int_eq(xw_dev_pwrite(d, XW_REDO_MAGIC "rest", 12, 0), 0);
	xw_dev_close(d);
	ck_assert(!there(redo));
	ck_assert_int_eq(s->ops->publish(s), 0);
	ck_assert(there(redo) && !there(tmp));
	ck_assert_int_eq(s->ops->open(s, &d), 0);
	ck_assert_uint_eq(d->size, 12);
	xw_dev_close(d);
	/* over a published one */
	ck_assert_int_eq(s->ops->create(s, 0, &d), 0);
	ck_assert(there(redo));
	xw_dev_close(d);
	ck_assert_int_eq(s->ops->remove(s), 0);
	ck_assert(!there(redo) && !there(tmp));
	ck_assert_int_eq(s->ops->remove(s), 0);
	xw_redo_store_close(s);
}
END_TEST

/* A file that is not ours is neither overwritten nor removed; it is as if there were none. */
START_TEST(in_the_way)
{
	struct xw_redo_store *s;
	struct xw_dev *d;
	char precious[] = "somebody's only copy";

	put_file(img, "image", 5);
	if (_i == 0)
		put_file(redo, precious, sizeof(precious));
	else if (_i == 1)
		ck_assert_int_eq(mkdir(redo, 0777), 0);
	else
		ck_assert_int_eq(symlink("image", redo), 0);
	ck_assert_int_eq(xw_redo_store_open(img, NULL, 0, &diag, &s), 0);
	ck_assert_int_eq(s->ops->create(s, 0, &d), XW_ERR_EXISTS);
	xw_diag_clear(&diag);
	ck_assert_int_eq(s->ops->remove(s), XW_ERR_EXISTS);
	ck_assert_ptr_nonnull(strstr(diag.text, "not a redo file"));
	ck_assert(there(redo));
	xw_redo_store_close(s);
}
END_TEST

/* A redo file of another filesystem gets another name, unless that is taken. */
START_TEST(set_aside)
{
	struct xw_redo_store *s;
	char other[136];
	struct xw_dev *d;
	struct world w;

	snprintf(other, sizeof(other), "%s.other", redo);
	cut_world(&w, redo);
	ck_assert_int_eq(xw_redo_store_open(img, NULL, 0, &diag, &s), 0);
	ck_assert_int_eq(s->ops->set_aside(s), 0);
	ck_assert(!there(redo) && there(other));
	ck_assert_int_eq(s->ops->set_aside(s), 0); /* there is none now */
	ck_assert(there(other));
	ck_assert_int_eq(s->ops->create(s, 0, &d), 0);
	ck_assert_int_eq(xw_dev_pwrite(d, XW_REDO_MAGIC "rest", 12, 0), 0);
	xw_dev_close(d);
	ck_assert_int_eq(s->ops->publish(s), 0);
	ck_assert(there(redo));
	ck_assert_int_eq(s->ops->set_aside(s), XW_ERR_BUSY); /* by this store itself */
	xw_diag_clear(&diag);
	xw_redo_store_close(s);
	ck_assert_int_eq(xw_redo_store_open(img, NULL, 0, &diag, &s), 0);
	ck_assert_int_eq(s->ops->set_aside(s), XW_ERR_IO);
	ck_assert_ptr_nonnull(strstr(diag.text, "cannot rename to"));
	xw_diag_clear(&diag);
	ck_assert(there(redo) && there(other));
	ck_assert_int_eq(s->ops->remove(s), 0);
	ck_assert(!there(redo) && there(other));
	xw_redo_store_close(s);
	world_close(&w);
}
END_TEST

static void put_magic(struct xw_dev *d)
{
	ck_assert_int_eq(xw_dev_pwrite(d, XW_REDO_MAGIC "rest", 12, 0), 0);
	xw_dev_close(d);
}

/* Two images share the name of their redo files; each step of one while the other has a file. */
START_TEST(shared_name)
{
	struct xw_redo_store *a, *b;
	struct xw_dev *d;
	char other[96];

	snprintf(other, sizeof(other), "%s/other", dir);
	put_file(img, "image", 5);
	put_file(other, "other", 5);
	ck_assert_int_eq(xw_redo_store_open(img, redo, 0, &diag, &a), 0);
	ck_assert_int_eq(xw_redo_store_open(other, redo, 0, &diag, &b), 0);
	ck_assert_int_eq(a->ops->create(a, 0, &d), 0);
	put_magic(d);
	ck_assert_int_eq(b->ops->open(b, &d), XW_ERR_NOTFOUND);
	ck_assert_int_eq(b->ops->remove(b), 0);
	ck_assert(there(tmp));
	ck_assert_int_eq(b->ops->create(b, 0, &d), XW_ERR_BUSY);
	ck_assert_ptr_nonnull(strstr(diag.text, "in use by another process"));
	ck_assert_int_eq(a->ops->publish(a), 0);
	xw_diag_clear(&diag);
	ck_assert_int_eq(b->ops->open(b, &d), XW_ERR_BUSY);
	ck_assert_int_eq(b->ops->remove(b), XW_ERR_BUSY);
	ck_assert(there(redo) && !there(tmp));
	/* created meanwhile: it has another temporary file, but not the name */
	ck_assert_int_eq(b->ops->create(b, 0, &d), 0);
	put_magic(d);
	xw_diag_clear(&diag);
	ck_assert_int_eq(b->ops->publish(b), XW_ERR_BUSY);
	ck_assert_int_eq(b->ops->remove(b), XW_ERR_BUSY);
	ck_assert(there(redo));
	ck_assert_int_eq(a->ops->remove(a), 0);
	ck_assert(!there(redo));
	ck_assert_int_eq(b->ops->remove(b), 0);
	xw_redo_store_close(b);
	xw_redo_store_close(a);
}
END_TEST

/* The other one was killed, and its file appeared after this one had looked. */
START_TEST(shared_name_appears)
{
	struct xw_redo_store *a, *b;
	struct xw_dev *d;

	put_file(img, "image", 5);
	ck_assert_int_eq(xw_redo_store_open(img, redo, 0, &diag, &a), 0);
	ck_assert_int_eq(a->ops->open(a, &d), XW_ERR_NOTFOUND);
	ck_assert_int_eq(xw_redo_store_open(img, redo, 0, &diag, &b), 0);
	ck_assert_int_eq(b->ops->create(b, 0, &d), 0);
	put_magic(d);
	ck_assert_int_eq(b->ops->publish(b), 0);
	xw_redo_store_close(b);
	ck_assert_int_eq(a->ops->create(a, 0, &d), 0);
	put_magic(d);
	ck_assert_int_eq(a->ops->publish(a), XW_ERR_EXISTS);
	ck_assert_ptr_nonnull(strstr(diag.text, "created by another process"));
	ck_assert_int_eq(a->ops->remove(a), 0);
	ck_assert(there(redo) && !there(tmp));
	/* once it was looked at it is replaced */
	ck_assert_int_eq(a->ops->open(a, &d), 0);
	xw_dev_close(d);
	ck_assert_int_eq(a->ops->create(a, 0, &d), 0);
	put_magic(d);
	ck_assert_int_eq(a->ops->publish(a), 0);
	ck_assert_int_eq(a->ops->remove(a), 0);
	ck_assert(!there(redo) && !there(tmp));
	xw_redo_store_close(a);
}
END_TEST

/* Beside the image itself, whatever it is called by. */
START_TEST(names)
{
	struct xw_redo_store *s;
	char link[128], sub[100];

	put_file(img, "image", 5);
	snprintf(sub, sizeof(sub), "%s/sub", dir);
	ck_assert_int_eq(mkdir(sub, 0777), 0);
	snprintf(link, sizeof(link), "%s/link", sub);
	ck_assert_int_eq(symlink("../image", link), 0);
	ck_assert_int_eq(xw_redo_store_open(link, NULL, 0, &diag, &s), 0);
	ck_assert_str_eq(s->name, redo);
	xw_redo_store_close(s);
	ck_assert_int_eq(xw_redo_store_open(img, "elsewhere", 0, &diag, &s), 0);
	ck_assert_str_eq(s->name, "elsewhere");
	xw_redo_store_close(s);
	snprintf(link, sizeof(link), "%s/none", dir);
	ck_assert_int_eq(xw_redo_store_open(link, NULL, 0, &diag, &s), XW_ERR_NOTFOUND);
	ck_assert_ptr_null(s);
}
END_TEST

static char state_of(const struct world *w, struct xw_dev *d)
{
	return world_state(w, d, false);
}

START_TEST(open_completes)
{
	struct xw_recover_info info;
	char elsewhere[128];
	const char *name = redo;
	struct xw_dev *d;
	struct world w;

	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", dir);
	if (_i)
		name = elsewhere;
	cut_world(&w, name);
	if (_i) {
		ck_assert_int_eq(xw_recover_open(img, NULL, 0, 0, &diag, &d, &info), XW_ERR_STATE);
		xw_diag_clear(&diag);
	}
	ck_assert_int_eq(chmod(img, 0444), 0);
	ck_assert_int_eq(
		xw_recover_open(img, _i ? name : NULL, 0, XW_RECOVER_RDONLY, &diag, &d, &info), 0);
	ck_assert(info.redo_applied);
	ck_assert_int_eq(state_of(&w, d), 'n');
	xw_dev_close(d);
	ck_assert(there(name));
	ck_assert_int_eq(chmod(img, 0644), 0);
	ck_assert_int_eq(xw_recover_open(img, _i ? name : NULL, 0, 0, &diag, &d, &info), 0);
	ck_assert(info.redo_applied);
	ck_assert_int_eq(state_of(&w, d), 'n');
	xw_dev_close(d);
	ck_assert(!there(name));
	ck_assert_int_eq(xw_recover_open(img, NULL, 0, 0, &diag, &d, &info), 0);
	ck_assert(!info.redo_applied && !info.redo_dropped);
	ck_assert_int_eq(state_of(&w, d), 'n');
	xw_dev_close(d);
	world_close(&w);
}
END_TEST

/* A directory with files of others: the one that belongs to the image is found, and goes. */
START_TEST(in_a_directory)
{
	char files[128], foreign[160], damaged[160], own[160];
	struct xw_recover_info info;
	struct xw_dev *d;
	struct world w, other;

	snprintf(files, sizeof(files), "%s/files", dir);
	snprintf(foreign, sizeof(foreign), "%s/a.xw-redo", files);
	snprintf(damaged, sizeof(damaged), "%s/b.xw-redo", files);
	snprintf(own, sizeof(own), "%s/c.xw-redo", files);
	ck_assert_int_eq(mkdir(files, 0700), 0);
	cut_world(&other, foreign); /* with another nonce */
	cut_world(&w, own);
	put_file(damaged, XW_REDO_MAGIC "damaged", 15);
	ck_assert_int_eq(
		xw_recover_open(img, files, 0, _i ? XW_RECOVER_RDONLY : 0, &diag, &d, &info), 0);
	ck_assert(info.redo_applied);
	ck_assert_int_eq(state_of(&w, d), 'n');
	xw_dev_close(d);
	ck_assert(there(foreign) && there(damaged) && there(own) == (_i == 1));
	if (!_i) { /* once more, beside a file that is nobody's */
		ck_assert_int_eq(rename(foreign, redo), 0);
		ck_assert_int_eq(xw_recover_open(img, files, 0, 0, &diag, &d, &info), 0);
		ck_assert(!info.redo_applied && !info.redo_dropped && !info.stuck);
		xw_dev_close(d);
		ck_assert(there(damaged));
		ck_assert_int_eq(rename(redo, foreign), 0);
	}
	unlink(own);
	put_dev(img, w.img);
	ck_assert_int_eq(xw_recover_open(img, files, 0, 0, &diag, &d, &info), XW_ERR_STATE);
	ck_assert_ptr_nonnull(strstr(diag.text, "no redo file in"));
	xw_diag_clear(&diag);
	ck_assert(there(foreign) && there(damaged));
	unlink(foreign);
	unlink(damaged);
	ck_assert_int_eq(rmdir(files), 0);
	world_close(&w);
	world_close(&other);
}
END_TEST

/* The image begins somewhere in its file. */
START_TEST(at_an_offset)
{
	const uint64_t offset = 1 << 20;
	struct xw_recover_info info;
	struct xw_dev *d;
	struct world w;
	char *buf, at[160];

	snprintf(at, sizeof(at), "%s@1048576.xw-redo", img);
	cut_world(&w, at);
	put_file(redo, XW_REDO_MAGIC "of the one at 0", 23);
	buf = calloc(1, offset + w.img->size);
	ck_assert_int_eq(xw_dev_pread(w.img, buf + offset, w.img->size, 0), 0);
	put_file(img, buf, offset + w.img->size);
	free(buf);
	ck_assert_int_eq(xw_recover_open(img, NULL, offset, 0, &diag, &d, &info), 0);
	ck_assert(info.redo_applied);
	ck_assert_int_eq(state_of(&w, d), 'n');
	xw_dev_close(d);
	ck_assert(there(redo) && !there(at));
	world_close(&w);
}
END_TEST

/* Commits on real files, several in a row; a left-over temporary file goes when it is opened. */
START_TEST(commit_on_files)
{
	struct xw_commit_opts opts = {.how = _i ? XW_COMMIT_JOURNAL : XW_COMMIT_FILE};
	struct xw_commit_info info;
	struct xw_dev *d, *o;
	struct world w;
	char c[1024];

	world_open(&w, &spec);
	put_dev(img, w.img);
	put_file(tmp, XW_REDO_MAGIC, 8);
	ck_assert_int_eq(xw_recover_open(img, NULL, 0, 0, &diag, &d, NULL), 0);
	ck_assert(!there(tmp));
	ck_assert_int_eq(xw_redo_store_open(img, NULL, 0, &diag, &opts.store), 0);
	ck_assert_int_eq(xw_overlay_open(d, 1024, &diag, &o), 0);
	for (int i = 1; i < 5; i++) {
		memset(c, i, sizeof(c));
		ck_assert_int_eq(xw_dev_pwrite(o, c, sizeof(c), (uint64_t)(20 + i) * 1024), 0);
		if (xw_commit(o, &opts, &diag, &info))
			ck_abort_msg("%s", diag.text);
		ck_assert_int_eq(info.how, opts.how);
		ck_assert_uint_eq(info.blocks, 2);
		ck_assert(!there(redo) && !there(tmp));
		ck_assert_int_eq(xw_dev_pread(d, w.new_img, w.old_size, 0), 0);
		for (int k = 1; k <= i; k++)
			ck_assert_int_eq(w.new_img[(20 + k) * 1024 + 1023], k);
	}
	xw_dev_close(o);
	xw_redo_store_close(opts.store);
	world_close(&w);
}
END_TEST

/* The limit that there was. */
static rlim_t limit_files(rlim_t bytes)
{
	struct rlimit lim;
	rlim_t old;

	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &lim), 0);
	old = lim.rlim_cur;
	lim.rlim_cur = bytes;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &lim), 0);
	return old;
}

/* Completing a change is not begun where it cannot end. */
START_TEST(limit_of_recovery)
{
	struct xw_recover_info info;
	struct xw_dev *d;
	struct world w;
	rlim_t old;

	cut_world(&w, redo);
	old = limit_files(w.img->size - 1);
	ck_assert_int_eq(xw_recover_open(img, NULL, 0, 0, &diag, &d, &info), XW_ERR_HOSTFULL);
	ck_assert_ptr_nonnull(strstr(diag.text, "file size limit"));
	xw_diag_clear(&diag);
	ck_assert_int_eq(xw_recover_open(img, NULL, 0, XW_RECOVER_RDONLY, &diag, &d, &info), 0);
	ck_assert_int_eq(state_of(&w, d), 'n');
	xw_dev_close(d);
	(void)limit_files(old);
	ck_assert(there(redo));
	ck_assert_int_eq(xw_recover_open(img, NULL, 0, 0, &diag, &d, &info), 0);
	ck_assert(info.redo_applied);
	xw_dev_close(d);
	world_close(&w);
}
END_TEST

/* The redo file has no room under the limit, or (1) the image that the change makes larger. */
START_TEST(limit_of_commit)
{
	const struct world_spec grown = {1024, true, true, 0x12, 1 << 20, false};
	struct xw_commit_opts opts = {.how = XW_COMMIT_FILE};
	struct xw_commit_info info;
	struct xw_dev *o, *d = NULL;
	struct world w;
	rlim_t old;
	char *was;

	world_open(&w, _i ? &grown : &spec);
	put_dev(img, w.img);
	o = world_change(&w);
	if (_i) { /* the same change, over the file */
		char page[1024];

		ck_assert_int_eq(xw_dev_pread(o, page, sizeof(page), 1024), 0);
		xw_dev_close(o);
		ck_assert_int_eq(xw_dev_open_file(img, 0, &diag, &d), 0);
		ck_assert_int_eq(xw_overlay_open(d, 1024, &diag, &o), 0);
		ck_assert_int_eq(xw_dev_set_size(o, w.new_size), 0);
		ck_assert_int_eq(xw_dev_pwrite(o, page, sizeof(page), 1024), 0);
	}
	was = malloc(w.old_size);
	ck_assert_int_eq(xw_redo_store_open(img, NULL, 0, &diag, &opts.store), 0);
	old = limit_files(_i ? w.new_size - 1 : 4096);
	ck_assert_int_eq(xw_commit(o, &opts, &diag, &info), XW_ERR_HOSTFULL);
	(void)limit_files(old);
	ck_assert_ptr_nonnull(strstr(diag.text, _i ? img : tmp));
	ck_assert_ptr_nonnull(strstr(diag.text, "has to be written up to byte"));
	ck_assert(!info.undecided && !there(redo) && !there(tmp));
	ck_assert_uint_eq(xw_overlay_base(o)->size, w.old_size);
	ck_assert_int_eq(xw_dev_pread(xw_overlay_base(o), was, w.old_size, 0), 0);
	ck_assert_mem_eq(was, w.old_img, w.old_size);
	free(was);
	xw_dev_close(o);
	xw_redo_store_close(opts.store);
	world_close(&w);
}
END_TEST

static uint64_t room_of(const char *path)
{
	const int fd = open(path, O_RDONLY);
	struct stat st;

	ck_assert(fd >= 0 && !fsync(fd) && !fstat(fd, &st));
	close(fd);
	return (uint64_t)st.st_blocks;
}

/* A commit makes sure of room for blocks that are holes; where it fails they are holes again. */
START_TEST(holes_stay)
{
	struct xw_commit_opts opts = {.how = XW_COMMIT_FILE};
	char page[1024];
	struct xw_dev *o, *d = NULL;
	struct world w;
	uint64_t room;

	world_open(&w, &spec);
	put_dev(img, w.img);
	ck_assert_int_eq(truncate(img, (off_t)w.old_size + 1000000), 0);
	room = room_of(img);
	ck_assert_int_eq(xw_dev_open_file(img, 0, &diag, &d), 0);
	ck_assert_int_eq(xw_overlay_open(d, 1024, &diag, &o), 0);
	memset(page, 'x', sizeof(page));
	for (unsigned i = 0; i < 200; i++)
		ck_assert_int_eq(xw_dev_pwrite(o, page, sizeof(page), (600 + i) << 10), 0);
	/* less than a page of the host each; only two, since every extent takes room as well */
	for (unsigned i = 0; i < 4; i += 2)
		ck_assert_int_eq(xw_dev_pwrite(o, page, sizeof(page), (501 + i) << 10), 0);
	ck_assert_int_eq(xw_redo_store_open(img, NULL, 0, &diag, &opts.store), 0);
	ck_assert_int_eq(mkdir(tmp, 0777), 0); /* reserved, and then no redo file can be made */
	ck_assert_int_ne(xw_commit(o, &opts, &diag, NULL), 0);
	ck_assert_uint_eq(room_of(img), room);
	xw_dev_close(o);
	xw_redo_store_close(opts.store);
	world_close(&w);
}
END_TEST

/* A copy, a file that has replaced another one, and another boot are other places. */
START_TEST(places)
{
	struct xw_redo_location a, b;

	put_file(img, "an image", 8);
	put_file(redo, "an image", 8);
	xw_redo_location_of(img, 0, &a);
	if (!a.boot[0] && !a.number)
		return; /* the host does not know when files are created */
	xw_redo_location_of(img, 0, &b);
	ck_assert(xw_redo_location_same(&a, &b) && !xw_redo_location_differs(&a, &b));
	xw_redo_location_of(img, 1024, &b);
	ck_assert(!xw_redo_location_same(&a, &b) && xw_redo_location_differs(&a, &b));
	xw_redo_location_of(redo, 0, &b);
	ck_assert(!xw_redo_location_same(&a, &b) && xw_redo_location_differs(&a, &b));
	ck_assert_int_eq(unlink(img), 0);
	put_file(img, "an image", 8);
	xw_redo_location_of(img, 0, &b);
	ck_assert(!xw_redo_location_same(&a, &b));
	b = a;
	b.boot[15] ^= 1;
	ck_assert(!xw_redo_location_same(&a, &b) && !xw_redo_location_differs(&a, &b));
	b.born++;
	ck_assert(xw_redo_location_differs(&a, &b));
	b.born = 0; /* a device, whose number means nothing after a boot */
	ck_assert(!xw_redo_location_differs(&a, &b));
	xw_redo_location_of(dir, 0, &a);
	xw_redo_location_of(tmp, 0, &b); /* there is none */
	ck_assert(!xw_redo_location_same(&a, &b) && !xw_redo_location_differs(&a, &b));
	ck_assert(!xw_redo_location_same(&b, &b));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("redo store");
	TCase *tc = tcase_create("redo store");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, whole_life);
	tcase_add_loop_test(tc, in_the_way, 0, 3);
	tcase_add_test(tc, shared_name);
	tcase_add_test(tc, shared_name_appears);
	tcase_add_test(tc, names);
	tcase_add_loop_test(tc, open_completes, 0, 2);
	tcase_add_test(tc, at_an_offset);
	unit_add_cases(tc, in_a_directory, "for writing", "read-only");
	unit_add_cases(tc, commit_on_files, "redo file", "journal");
	tcase_add_test(tc, limit_of_recovery);
	tcase_add_loop_test(tc, limit_of_commit, 0, 2);
	tcase_add_test(tc, holes_stay);
	tcase_add_test(tc, set_aside);
	tcase_add_test(tc, places);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
