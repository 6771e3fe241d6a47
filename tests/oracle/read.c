/* SPDX-License-Identifier: MIT */
/*
 * Oracle test: images filled by stock mke2fs -d and, as root, by the kernel, read with lib/read and
 * compared with the tree they were filled from; and a walk over the damaged images of the
 * acceptance corpus, which must end, whatever it finds. An everyday run takes the cases that have
 * every feature once, and each twelfth image of the corpus; XW_ALL=1: all of them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/auto.h"
#include "tmp.h"
#include "walk.h"

static const struct {
	const char *label, *mke2fs;
	bool by_kernel;
	bool long_form; /* only with XW_ALL */
} cases[] = {
	{"mke2fs -d, ext4", "-t ext4 -b 4096", false, true},
	{"mke2fs -d, ext4 1k blocks", "-t ext4 -b 1024", false},
	{"mke2fs -d, ext2", "-t ext2 -b 1024", false},
	{"mke2fs -d, ext3 4k blocks, 256-byte inodes", "-t ext3 -b 4096 -I 256", false},
	{"mke2fs -d, inline_data", "-t ext4 -O inline_data -I 512", false},
	{"mke2fs -d, bigalloc", "-t ext4 -O bigalloc -C 16384", false},
	{"mke2fs -d, meta_bg", "-t ext4 -b 1024 -O meta_bg,^resize_inode -g 1024", false},
	{"kernel, ext4", "-t ext4 -b 4096", true, true},
	{"kernel, ext4 1k blocks", "-t ext4 -b 1024", true},
	{"kernel, ext2", "-t ext2 -b 1024 -I 256", true, true},
	{"kernel, ext3", "-t ext3 -b 2048", true},
	{"kernel, inline_data", "-t ext4 -O inline_data -I 512", true},
	{"kernel, ea_inode", "-t ext4 -O ea_inode", true},
	{"kernel, no checksums, meta_bg", "-t ext4 -O ^metadata_csum,meta_bg,^resize_inode", true},
};

static char workdir[64];
static char img_path[128], src_path[128], mnt_path[128];
static unsigned complaints;
static bool all;

static int sh(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int sh(const char *fmt, ...)
{
	char cmd[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	return system(cmd);
}

static bool complain(const char *what, const char *path)
{
	if (++complaints <= 20)
		printf("# %s: %s\n", path, what);
	return false;
}

/* ---- the tree ---- */

static void write_at(const char *name, uint64_t off, size_t len, unsigned salt)
{
	auto_free uint8_t *buf = malloc(len + 1);
	char path[512];
	int fd;

	for (size_t i = 0; i < len; i++)
		buf[i] = (uint8_t)((off + i) * 2654435761u >> 13 ^ salt);
	snprintf(path, sizeof(path), "%s/%s", src_path, name);
	fd = open(path, O_CREAT | O_WRONLY, 0640);
	if (fd < 0 || pwrite(fd, buf, len, (off_t)off) != (ssize_t)len)
		printf("# cannot write %s: %s\n", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

static void add_xattr(const char *name, const char *attr, size_t len)
{
	auto_free char *value = malloc(len + 1);
	char path[512];

	for (size_t i = 0; i < len; i++)
		value[i] = (char)(i * 31 + len);
	snprintf(path, sizeof(path), "%s/%s", src_path, name);
	lsetxattr(path, attr, value, len, 0); /* not every host can */
}

static void make_source(void)
{
	static const unsigned sizes[] = {0,   1,   59,   60,   61,   100,  159,
					 160, 200, 1024, 4095, 4096, 4097, 70000};
	char name[300], text[300];

	mkdir(src_path, 0755);
	for (unsigned i = 0; i < XW_ARRAY_SIZE(sizes); i++) {
		snprintf(name, sizeof(name), "size%u", sizes[i]);
		write_at(name, 0, sizes[i], i);
	}
	write_at("big", 0, 9000000, 77);
	/* With blocks of 1 KiB its end is in the third level of indirect blocks. */
	for (uint64_t i = 0; i < 100; i++)
		write_at("sparse", i * i * 8192, 5000, 5);
	sh("cd %s && ln size100 hard1 && ln size100 hard2 && mkfifo -m 600 fifo && mkdir -p "
	   "a/b/c/d empty many && "
	   "touch -d '1960-02-03 04:05:06.123456789' size1 && touch -d '2100-02-03 04:05:06.7' "
	   "size59 && "
	   "chmod 4751 size200 && chmod 1777 empty",
	   src_path);
	for (unsigned len = 1; len < 250; len += 11) {
		memset(text, 't', len);
		text[len] = '\0';
		snprintf(name, sizeof(name), "%s/link%u", src_path, len);
		if (symlink(text, name))
			printf("# symlink: %s\n", strerror(errno));
	}
	memset(text, 'n', 255);
	memcpy(text, "a/", 2);
	text[257] = '\0';
	memset(text + 2, '\xe4', 255);
	write_at(text, 0, 10, 1);
	for (unsigned i = 0; i < 700; i++) {
		snprintf(name, sizeof(name), "many/entry-with-some-length-%u", i);
		write_at(name, 0, i % 3, i);
	}
	for (unsigned i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "user.a%u", i);
		add_xattr("size4096", name, i * 9);
		add_xattr("a", name, i * 30);
	}
	add_xattr("size60", "user.large", 500);
	if (!geteuid())
		sh("cd %s && mknod c c 5 300 && mknod b b 300 70000 && chown 70000:100000 size61",
		   src_path);
}

/* What mke2fs refuses to copy in some of its cases; the kernel takes what fits. */
static void add_large_xattrs(void)
{
	add_xattr("size61", "user.larger", 3000);
	add_xattr("empty", "user.largest", 20000); /* only with ea_inode */
}

/* ---- comparison ---- */

static struct xw_image *img;
static bool filled_by_kernel;

static bool same_data(const char *path, const struct stat *st, xw_ino ino,
		      const struct xw_inode *inode, const uint8_t *raw)
{
	static const size_t step = 1 << 20;
	auto_free uint8_t *a = malloc(step), *b = malloc(step);
	auto_fd int fd = open(path, O_RDONLY);

	for (uint64_t off = 0; off <= (uint64_t)st->st_size; off += step) {
		ssize_t n = pread(fd, a, step, (off_t)off);
		size_t got;

		if (n < 0 || xw_file_pread(img, ino, inode, raw, off, b, step, &got) ||
		    got != (size_t)n || memcmp(a, b, got))
			return false;
	}
	return true;
}

static bool same_link(const char *path, xw_ino ino, const struct xw_inode *inode,
		      const uint8_t *raw)
{
	auto_free char *text = malloc(img->block_size + 1u);
	char want[4096];
	ssize_t n = readlink(path, want, sizeof(want));
	size_t len;

	return !xw_symlink_read(img, ino, inode, raw, text, &len) && (ssize_t)len == n &&
	       !memcmp(text, want, len);
}

/* Every user.* attribute of the host's file; ones that the image has too many of are counted at the
 * end. */
static bool same_xattrs(const char *path, xw_ino ino, const struct xw_inode *inode,
			const uint8_t *raw)
{
	char list[4096], value[65536];
	ssize_t n = llistxattr(path, list, sizeof(list));
	unsigned want = 0, got = 0;
	struct xw_xattr_iter it;
	struct xw_xattr_ref a;
	int rc;

	for (char *p = list; n > 0 && p < list + n; p += strlen(p) + 1) {
		auto_free uint8_t *v = NULL;
		ssize_t len = lgetxattr(path, p, value, sizeof(value));
		uint32_t have;

		if (strncmp(p, "user.", 5))
			continue;
		if (xw_xattr_get(img, ino, inode, raw, XW_XI_USER, p + 5, &v, &have) ||
		    (ssize_t)have != len || memcmp(v, value, have))
			return false;
		want++;
	}
	rc = xw_xattr_begin(img, ino, inode, raw, &it);
	while (!rc && (rc = xw_xattr_next(&it, &a)) == 1) {
		got += a.index == XW_XI_USER;
		rc = 0;
	}
	xw_xattr_end(&it);
	return !rc && got == want;
}

static bool same_inode(const char *path, const struct stat *st, xw_ino ino)
{
	auto_free uint8_t *raw = malloc(img->inode_size);
	struct xw_inode inode;
	uint32_t major, minor;

	if (xw_image_inode(img, ino, &inode, raw))
		return complain(img->diag->text, path);
	if (inode.mode != st->st_mode || inode.uid != st->st_uid || inode.gid != st->st_gid)
		return complain("mode or owner", path);
	/* mke2fs 1.47.0 keeps 32 bits of a time and no nanoseconds */
	if (!filled_by_kernel
		    ? (uint32_t)inode.mtime.sec != (uint32_t)st->st_mtim.tv_sec
		    : inode.mtime.sec != st->st_mtim.tv_sec ||
			      (img->inode_size > 128 && inode.mtime.nsec != st->st_mtim.tv_nsec))
		return complain("mtime", path);
	if (!S_ISDIR(st->st_mode) && inode.links != st->st_nlink)
		return complain("link count", path);
	if (S_ISREG(st->st_mode) &&
	    (inode.size != (uint64_t)st->st_size || !same_data(path, st, ino, &inode, raw)))
		return complain("contents", path);
	if (S_ISLNK(st->st_mode) && !same_link(path, ino, &inode, raw))
		return complain("link text", path);
	xw_inode_get_rdev(&inode, &major, &minor);
	if ((S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode)) &&
	    (major != major(st->st_rdev) || minor != minor(st->st_rdev)))
		return complain("device number", path);
	if (!same_xattrs(path, ino, &inode, raw))
		return complain("attributes", path);
	return true;
}

/* How many names the image's directory has, apart from "." and "..". */
static long count_names(xw_ino ino)
{
	auto_free uint8_t *raw = malloc(img->inode_size);
	struct xw_dir_iter it;
	struct xw_inode inode;
	struct xw_dirent e;
	long n = -2;
	int rc = xw_image_inode(img, ino, &inode, raw);

	if (rc)
		return -1;
	rc = xw_dir_begin(img, ino, &inode, raw, &it);
	while (!rc && (rc = xw_dir_next(&it, &e, NULL)) == 1) {
		n++;
		rc = 0;
	}
	xw_dir_end(&it);
	return rc ? -1 : n;
}

static bool same_tree(const char *path, xw_ino ino)
{
	DIR *d = opendir(path);
	struct dirent *de;
	bool ok = true;
	long n = 0;

	if (!d)
		return complain("opendir", path);
	while ((de = readdir(d))) {
		char child[8192];
		struct stat st;
		xw_ino at;

		if (!strcmp(de->d_name, ".") || !strcmp(de->d_name, "..") ||
		    !strcmp(de->d_name, "lost+found"))
			continue;
		n++;
		snprintf(child, sizeof(child), "%s/%s", path, de->d_name);
		if (lstat(child, &st) ||
		    xw_dir_lookup(img, ino, de->d_name, strlen(de->d_name), &at, NULL))
			ok = complain("not in the image", child);
		else if (!same_inode(child, &st, at) ||
			 (S_ISDIR(st.st_mode) && !same_tree(child, at)))
			ok = false;
	}
	closedir(d);
	if (count_names(ino) != n + (ino == XW_INO_ROOT))
		ok = complain("another number of names", path);
	return ok;
}

static bool compare_image(const char *tree)
{
	struct xw_diag diag = {0};
	struct xw_dev *dev = NULL;
	struct walk_stats st;
	bool ok;

	complaints = 0;
	if (xw_dev_open_file(img_path, XW_DEV_RDONLY, &diag, &dev) ||
	    xw_image_open(dev, 0, &diag, &img)) {
		xw_dev_close(dev);
		return complain(diag.text, img_path);
	}
	ok = same_tree(tree, XW_INO_ROOT);
	walk_image(img, &st);
	if (st.errors > 1)
		ok = complain(diag.text, "the walk");
	xw_image_close(img);
	xw_dev_close(dev);
	return ok;
}

static bool run_case(size_t c)
{
	bool ok;

	unlink(img_path);
	filled_by_kernel = cases[c].by_kernel;
	if (!filled_by_kernel) {
		if (sh("mke2fs -q -F %s -d %s %s 96M >%s/log 2>&1", cases[c].mke2fs, src_path,
		       img_path, workdir))
			return complain("mke2fs fails", cases[c].mke2fs);
		return compare_image(src_path);
	}
	/* the tree on the mounted image is what is compared: what could not be copied is not our
	 * business */
	if (sh("mke2fs -q -F %s %s 96M >/dev/null && mount -o loop,user_xattr %s %s && { "
	       "cp -a %s/. %s/ 2>/dev/null; mv %s/many %s/many2; rm -f %s/many2/*[13579]; "
	       "umount %s && mount -o loop,ro %s %s; }",
	       cases[c].mke2fs, img_path, img_path, mnt_path, src_path, mnt_path, mnt_path,
	       mnt_path, mnt_path, mnt_path, img_path, mnt_path))
		return complain("cannot fill an image", cases[c].mke2fs);
	ok = compare_image(mnt_path);
	return !sh("umount %s", mnt_path) && ok;
}

static bool can_mount(void)
{
	if (geteuid())
		return false;
	return !sh("cd %s && mke2fs -q -F -t ext4 probe 8M >/dev/null 2>&1 && mount -o loop probe "
		   "mnt 2>/dev/null && "
		   "umount mnt; s=$?; rm -f probe; exit $s",
		   workdir);
}

/* ---- the corpus ---- */

/* Walk one image with and without checking checksums; a crash or a time-out is the failure. */
static void walk_file(const char *path)
{
	for (unsigned pass = 0; pass < 2; pass++) {
		struct xw_diag diag = {0};
		struct xw_image *im = NULL;
		struct xw_dev *dev = NULL;
		struct walk_stats st;

		if (!xw_dev_open_file(path, XW_DEV_RDONLY, &diag, &dev) &&
		    !xw_image_open(dev, pass ? XW_IMAGE_NOCSUM | XW_IMAGE_ANY_FEATURES : 0, &diag,
				   &im))
			walk_image(im, &st);
		xw_image_close(im);
		xw_dev_close(dev);
	}
}

/* Whether there were images, and all of them could be unpacked. */
static bool walk_corpus(const char *corpus)
{
	DIR *d = opendir(corpus);
	struct dirent *de;
	unsigned n = 0, seen = 0, unreadable = 0;

	while (d && (de = readdir(d))) {
		if (de->d_name[0] == '.' || (seen++ % 12 && !all))
			continue;
		n++;
		if (sh("zcat %s/%s/image.gz > %s 2>/dev/null", corpus, de->d_name, img_path)) {
			complain("cannot be unpacked", de->d_name);
			unreadable++;
			continue;
		}
		alarm(600);
		walk_file(img_path);
		alarm(0);
	}
	if (d)
		closedir(d);
	return n && !unreadable;
}

int main(int argc, char **argv)
{
	const char *accept = getenv("XW_ACCEPT");
	char corpus[512];
	bool mounts;
	size_t c;

	if (argc > 1) {
		for (int i = 1; i < argc; i++)
			walk_file(argv[i]);
		return 0;
	}
	all = getenv("XW_ALL") && *getenv("XW_ALL");
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (setenv("PATH", "/usr/sbin:/sbin:/usr/bin:/bin", 1))
		return 99;
	if (sh("command -v mke2fs >/dev/null 2>&1")) {
		puts("1..0 # SKIP e2fsprogs is not installed");
		return 0;
	}
	if (!mkdtemp(tmp_template(workdir, sizeof(workdir), "xw-read")))
		return 99;
	snprintf(img_path, sizeof(img_path), "%s/img", workdir);
	snprintf(src_path, sizeof(src_path), "%s/src", workdir);
	snprintf(mnt_path, sizeof(mnt_path), "%s/mnt", workdir);
	mkdir(mnt_path, 0755);
	make_source();
	mounts = can_mount();
	snprintf(corpus, sizeof(corpus), "%s/corpus-open", accept ? accept : "");
	if (!accept || access(corpus, R_OK))
		*corpus = 0;
	printf("1..%zu\n", XW_ARRAY_SIZE(cases) + 1);
	for (c = 0; c < XW_ARRAY_SIZE(cases); c++) {
		if (cases[c].by_kernel)
			add_large_xattrs();
		if (cases[c].long_form && !all)
			printf("ok %zu - %s # SKIP only with XW_ALL=1\n", c + 1, cases[c].label);
		else if (cases[c].by_kernel && !mounts)
			printf("ok %zu - %s # SKIP no loop mounts here\n", c + 1, cases[c].label);
		else
			printf("%s %zu - %s\n", run_case(c) ? "ok" : "not ok", c + 1,
			       cases[c].label);
	}
	if (*corpus)
		printf("%s %zu - damaged images\n", walk_corpus(corpus) ? "ok" : "not ok", c + 1);
	else
		printf("ok %zu - damaged images # SKIP XW_ACCEPT is not set\n", c + 1);
	sh("rm -rf %s", workdir);
	return 0;
}
