/* SPDX-License-Identifier: MIT */
/*
 * Unpacking beside the pure parts: directories by path without following links, what names of
 * archives ask for, and walks that are larger than a window.
 */
#include "config.h"

#include "tmp.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/compress.h"
#include "export/extract.h"
#include "read/extract_dir.h"
#include "read_fix.h"

/* ---- a directory of the host ---- */

struct host {
	char top[64];
};

static void host_make(struct host *h)
{
	ck_assert_ptr_nonnull(mkdtemp(tmp_template(h->top, sizeof(h->top), "t_extract")));
}

static int unlink_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void host_drop(struct host *h)
{
	ck_assert_int_eq(nftw(h->top, unlink_one, 64, FTW_DEPTH | FTW_PHYS), 0);
}

/* The file that `path` below top is, looked at by its last component. */
static bool host_has(struct host *h, const char *path, struct stat *st)
{
	char full[512];

	snprintf(full, sizeof(full), "%s/%s", h->top, path);
	return !lstat(full, st);
}

/* ---- places ---- */

static int parent_of(struct xw_extract_dirs *p, const char *path, int *fd, const char **name)
{
	return xw_extract_dirs_parent(p, path, strlen(path), fd, name);
}

/*
 * Deeper than the levels that stay open, and back: always the directory of the path. With few
 * levels, too.
 */
START_TEST(deep_places)
{
	static const unsigned levels[] = {XW_EXTRACT_LEVELS, 2, 5};
	char path[XW_EXTRACT_LEVELS * 6 + 64] = "";
	struct stat by_fd, by_path;
	struct xw_extract_dirs p;
	struct host h;
	const char *name;
	size_t len = 0;
	int fd;

	host_make(&h);
	ck_assert_int_eq(xw_extract_dirs_open(&p, h.top), 0);
	ck_assert_uint_eq(p.max, XW_EXTRACT_LEVELS);
	p.max = levels[_i];
	for (unsigned i = 0; i < 2 * XW_EXTRACT_LEVELS; i++)
		len += (size_t)sprintf(path + len, "d/");
	strcpy(path + len, "last");
	for (int round = 0; round < 2; round++) {
		for (size_t at = 0; at <= len; at += 2) {
			/* forth one level at a time, then back, and far away in between */
			const size_t cut = round ? len - at : at;
			char part[sizeof(path)];

			snprintf(part, sizeof(part), "%.*slast", (int)cut, path);
			ck_assert_int_eq(parent_of(&p, part, &fd, &name), 0);
			ck_assert_str_eq(name, "last");
			ck_assert_int_eq(fstat(fd, &by_fd), 0);
			snprintf(part, sizeof(part), "%.*s.", (int)cut, path);
			ck_assert(host_has(&h, part, &by_path));
			ck_assert_uint_eq(by_fd.st_ino, by_path.st_ino);
			if (at % 10 == 0) {
				ck_assert_int_eq(parent_of(&p, "e/f/x", &fd, &name), 0);
				ck_assert_str_eq(name, "x");
			}
		}
	}
	ck_assert_uint_le(p.n, p.max);
	xw_extract_dirs_close(&p);
	host_drop(&h);
}
END_TEST

START_TEST(places_follow_no_links)
{
	char link[96];
	struct xw_extract_dirs p;
	struct host h;
	struct stat st;
	const char *name;
	int fd;

	host_make(&h);
	ck_assert_int_eq(xw_extract_dirs_open(&p, h.top), 0);
	snprintf(link, sizeof(link), "%s/to-tmp", h.top);
	ck_assert_int_eq(symlink("/tmp", link), 0);
	snprintf(link, sizeof(link), "%s/dangling", h.top);
	ck_assert_int_eq(symlink("made", link), 0);
	ck_assert_int_eq(parent_of(&p, "to-tmp/x", &fd, &name), -ENOTDIR);
	ck_assert_int_eq(parent_of(&p, "to-tmp/a/x", &fd, &name), -ENOTDIR);
	ck_assert_int_eq(parent_of(&p, "dangling/x", &fd, &name), -ENOTDIR);
	ck_assert(!host_has(&h, "made", &st));
	ck_assert_int_eq(parent_of(&p, "a/b", &fd, &name), 0);
	/* the name alone is nobody's to follow or not */
	ck_assert_int_eq(parent_of(&p, "to-tmp", &fd, &name), 0);
	xw_extract_dirs_close(&p);
	host_drop(&h);
}
END_TEST

/* A second lock: who lists a directory gives no such names. */
START_TEST(places_lead_down)
{
	static const char *const bad[] = {"..",    "../x", "a/..", "a/../x", ".", "a/.",
					  "a/./x", "/x",   "a//x", "a/",     "/", "b/../../x"};
	struct xw_extract_dirs p;
	const char *name;
	struct host h;
	struct stat st;
	int fd;

	host_make(&h);
	ck_assert_int_eq(xw_extract_dirs_open(&p, h.top), 0);
	ck_assert_int_eq(parent_of(&p, "a/x", &fd, &name), 0);
	for (size_t i = 0; i < XW_ARRAY_SIZE(bad); i++)
		ck_assert_int_eq(parent_of(&p, bad[i], &fd, &name), -EINVAL);
	ck_assert(!host_has(&h, "b", &st));
	ck_assert_int_eq(parent_of(&p, "", &fd, &name), 0);
	ck_assert_int_eq(parent_of(&p, "a/...", &fd, &name), 0);
	ck_assert_str_eq(name, "...");
	xw_extract_dirs_close(&p);
	host_drop(&h);
}
END_TEST

/* ---- names of archives ---- */

START_TEST(suffixes)
{
	static const struct {
		const char *name;
		bool known;
		enum xw_compression c;
		const char *format;
	} cases[] = {
		{"a.tar", true, XW_COMPRESS_NONE, NULL},
		{"a.tar.gz", true, XW_COMPRESS_GZIP, NULL},
		{"a.tgz", true, XW_COMPRESS_GZIP, NULL},
		{"dir.xz/a.tbz2", true, XW_COMPRESS_BZIP2, NULL},
		{"a.b.tar.xz", true, XW_COMPRESS_XZ, NULL},
		{"a.tzst", true, XW_COMPRESS_ZSTD, NULL},
		{"a.lz4", true, XW_COMPRESS_LZ4, NULL},
		{"a.cpio", true, XW_COMPRESS_NONE, "newc"},
		{"a.cpio.zst", true, XW_COMPRESS_ZSTD, "newc"},
		{"a", false, XW_COMPRESS_NONE, NULL},
		{".gz", false, XW_COMPRESS_NONE, NULL},
		{"gz", false, XW_COMPRESS_NONE, NULL},
		{"a.gz.old", false, XW_COMPRESS_NONE, NULL},
	};

	for (unsigned i = 0; i < XW_ARRAY_SIZE(cases); i++) {
		struct xw_archive_opts o = {0};

		ck_assert_int_eq(xw_archive_by_suffix(cases[i].name, &o), cases[i].known);
		ck_assert_int_eq(o.compression, cases[i].c);
		ck_assert_int_eq(o.format != NULL, cases[i].format != NULL);
		if (o.format)
			ck_assert_str_eq(o.format->name, cases[i].format);
	}
}
END_TEST

/* ---- whole images ---- */

struct seen {
	unsigned n, directories_late;
};

static int note_item(void *arg, const struct xw_export_item *item)
{
	struct seen *s = arg;
	const bool is_dir = (item->at->inode.mode & XW_S_IFMT) == XW_S_IFDIR;

	s->n++;
	if (is_dir && s->n > 1)
		s->directories_late++;
	return 0;
}

/* More names than a window holds: each comes once. */
START_TEST(many_windows)
{
	enum { NAMES = 70000 };
	struct xw_inode inode = {.mode = XW_S_IFREG | 0644, .links = 60000};
	struct xw_export_opts opts = {.order = (enum xw_export_order)_i};
	struct xw_export_stats stats;
	struct seen seen = {0};
	struct fixture fx;

	make_image(&fx, true);
	make_dir(&fx, 2, 2, NAMES, NULL, NULL, true);
	put_inode(&fx, 11, &inode, NULL, 0);
	open_it(&fx, 0);
	ck_assert_int_eq(xw_image_to_list(fx.img, &opts, note_item, &seen, &stats), 0);
	ck_assert_uint_eq(seen.n, NAMES + 1);
	ck_assert_uint_eq(seen.directories_late, 0);
	/* the link count lies: after 60,000 names the file begins anew */
	ck_assert_uint_eq(stats.files, 2);
	ck_assert_uint_eq(stats.hardlinks, NAMES - 2);
	drop(&fx);
}
END_TEST

static const char out_of_reach[] = "../out";

/* A file, a second name of it, a link that leads out, and a directory with a file of the same name
 * as that link's target. */
static void make_unpack_image(struct fixture *fx)
{
	static const char *const root[] = {"d", "f", "g", "l", "p"};
	static const xw_ino root_to[] = {12, 13, 13, 14, 15};
	static const char *const d[] = {"f"};
	static const xw_ino d_to[] = {16};
	static const struct xw_extent e[] = {{0, 1, 1000, false}, {3, 1, 1001, false}};
	struct xw_inode inode = {.mode = XW_S_IFREG | 0640,
				 .size = 5 * BS,
				 .links = 2,
				 .mtime = {1000000000, 123456789},
				 .atime = {-5, 500000000}};

	make_image(fx, true);
	make_dir(fx, 2, 2, 5, root, root_to, true);
	make_dir(fx, 12, 2, 1, d, d_to, true);
	paint(fx, 1000, 2);
	root_leaf(&inode, e, 2);
	put_inode(fx, 13, &inode, NULL, 0);
	put_link(fx, 14, out_of_reach);
	inode = (struct xw_inode){.mode = XW_S_IFIFO | 0604};
	put_inode(fx, 15, &inode, NULL, 0);
	inode = (struct xw_inode){.mode = XW_S_IFREG | 0444};
	put_inode(fx, 16, &inode, NULL, 0);
}

START_TEST(unpacked)
{
	const struct xw_export_opts opts = {0};
	struct xw_extract_opts eo = {.umask = 027, .same_modes = _i};
	struct xw_export_stats stats;
	struct fixture fx;
	struct stat st, link;
	struct host h;

	host_make(&h);
	eo.dir = h.top;
	make_unpack_image(&fx);
	open_it(&fx, 0);
	/* the second round replaces what the first made */
	for (unsigned round = 0; round < 2; round++) {
		ck_assert_int_eq(xw_image_to_dir(fx.img, &opts, &eo, &stats), 0);
		ck_assert_uint_eq(stats.files, 2);
		ck_assert_uint_eq(stats.hardlinks, 1);
		ck_assert(host_has(&h, "f", &st) && S_ISREG(st.st_mode));
		ck_assert_int_eq(st.st_mode & 07777, 0640);
		ck_assert_int_eq(st.st_size, 5 * BS);
		ck_assert_int_eq(st.st_mtim.tv_sec, 1000000000);
		ck_assert_int_eq(st.st_mtim.tv_nsec, 123456789);
		ck_assert_int_eq(st.st_atim.tv_sec, -5);
		ck_assert(host_has(&h, "g", &link));
		ck_assert_uint_eq(st.st_ino, link.st_ino);
		ck_assert(host_has(&h, "p", &st) && S_ISFIFO(st.st_mode));
		ck_assert_int_eq(st.st_mode & 07777, _i ? 0604 : 0600);
		ck_assert(host_has(&h, "d/f", &st));
		ck_assert_int_eq(st.st_mode & 07777, _i ? 0444 : 0440);
		ck_assert(host_has(&h, "l", &st) && S_ISLNK(st.st_mode));
		ck_assert_int_eq(st.st_size, (off_t)strlen(out_of_reach));
		ck_assert(host_has(&h, "d", &st));
		ck_assert_int_eq(st.st_mode & 07777, _i ? 0755 : 0750);
	}
	eo.existing = XW_EXISTING_KEEP;
	ck_assert_int_eq(xw_image_to_dir(fx.img, &opts, &eo, &stats), XW_ERR_IO);
	ck_assert_uint_eq(stats.failed, 5);
	xw_diag_clear(&fx.diag);
	eo.existing = XW_EXISTING_SKIP;
	ck_assert_int_eq(xw_image_to_dir(fx.img, &opts, &eo, &stats), 0);
	ck_assert_uint_eq(stats.files, 0);
	drop(&fx);
	host_drop(&h);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("extract");
	TCase *tc = tcase_create("extract");

	tcase_set_timeout(tc, 300);
	unit_add_cases(tc, deep_places, "all levels", "two levels", "five levels");
	tcase_add_test(tc, places_follow_no_links);
	tcase_add_test(tc, places_lead_down);
	tcase_add_test(tc, suffixes);
	tcase_add_loop_test(tc, many_windows, 0, 3);
	unit_add_cases(tc, unpacked, "umask", "same modes");
	suite_add_tcase(s, tc);
	return unit_main(s);
}
