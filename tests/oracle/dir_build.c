/* SPDX-License-Identifier: MIT */
/*
 * Oracle test: directories made by the bulk builder, put into images that stock mke2fs filled,
 * judged by stock e2fsck and, as root, by the kernel: every name is found by lookup, readdir gives
 * every name once, and new names can be made.
 *
 * mke2fs -d makes linear directories; their blocks are grown with debugfs, and then rewritten as an
 * htree of the same entries.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/endian.h"
#include "base/vec.h"
#include "dir/build.h"
#include "read/dirs.h"
#include "tmp.h"

static const struct {
	const char *label, *mke2fs, *tune2fs;
	unsigned names, min_len, max_len;
	unsigned levels;
	bool by_kernel; /* made on a mounted image, so that the kernel's own htree is checked as
			   well */
} cases[] = {
	{"4k half_md4", "-t ext4 -b 4096", NULL, 3000, 5, 60, 0, false},
	{"4k tea", "-t ext4 -b 4096", "-E hash_alg=tea", 2000, 5, 255, 0, false},
	{"1k legacy", "-t ext4 -b 1024", "-E hash_alg=legacy", 1500, 5, 40, 0, false},
	{"1k without checksums", "-t ext4 -b 1024 -O ^metadata_csum", NULL, 3000, 5, 20, 0, false},
	{"1k with dx_nodes", "-t ext4 -b 1024", NULL, 2500, 200, 255, 1, false},
	{"1k with dx_nodes, no checksums", "-t ext4 -b 1024 -O ^metadata_csum", NULL, 2500, 200,
	 255, 1, false},
	{"1k without file types", "-t ext4 -b 1024 -O ^filetype", NULL, 1200, 5, 100, 0, false},
	{"2k block-mapped", "-t ext3 -b 2048 -I 256", NULL, 2500, 5, 100, 0, false},
	{"4k, kernel's htree", "-t ext4 -b 4096", NULL, 20000, 5, 100, 0, true},
	{"1k, kernel's htree with dx_nodes", "-t ext4 -b 1024", NULL, 4000, 100, 255, 1, true},
	{"1k, kernel's htree, legacy hash", "-t ext4 -b 1024", "-E hash_alg=legacy", 4000, 100, 255,
	 1, true},
	{"1k large_dir, two levels", "-t ext4 -b 1024 -O large_dir", NULL, 48000, 255, 255, 2,
	 true},
};

struct names {
	struct xw_dir_entry *v;
	size_t n, cap;
};

static char workdir[64];
static char img_path[128];

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

static bool complain(const char *what)
{
	printf("# %s\n", what);
	return false;
}

/*
 * Read-only first: a program that calls unshare(2) copies the mounts of its namespace, and after an
 * unmount the filesystem stays mounted in its own one, with a journal that was not written back.
 */
static bool unmount(const char *mnt)
{
	if (sh("mount -o remount,ro %s", mnt))
		return complain("cannot make the mount read-only");
	if (sh("umount %s", mnt))
		return complain("cannot unmount");
	/* the loop device of that mount may stay, and keeps its file from being mounted again */
	return sh("cp --sparse=always %s %s.copy && mv %s.copy %s", img_path, img_path, img_path,
		  img_path)
		       ? complain("cannot copy the image")
		       : true;
}

/* Files with distinct names, any bytes in them, in directory top/d. */
static bool make_files(const char *top, unsigned n, unsigned min_len, unsigned max_len)
{
	uint64_t state = n;
	char name[256], path[512];

	if (sh("mkdir -p %s/d", top))
		return complain("mkdir");
	for (unsigned i = 0; i < n; i++) {
		unsigned len;
		int fd;

		state = state * 6364136223846793005u + 1442695040888963407u;
		len = min_len + (unsigned)(state >> 33) % (max_len - min_len + 1);
		snprintf(name, sizeof(name), "%05x", i);
		for (unsigned k = 5; k < len; k++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			name[k] = (char)(state >> 56);
			if (!name[k] || name[k] == '/')
				name[k] = '_';
		}
		name[len] = '\0';
		snprintf(path, sizeof(path), "%s/d/%s", top, name);
		fd = open(path, O_CREAT | O_WRONLY, 0644);
		if (fd < 0)
			return complain("cannot make a source file");
		close(fd);
	}
	return true;
}

static struct xw_image *open_image(unsigned flags, struct xw_dev **dev, struct xw_diag *diag)
{
	struct xw_image *img = NULL;

	if (xw_dev_open_file(img_path, flags, diag, dev) || xw_image_open(*dev, 0, diag, &img))
		printf("# %s\n", diag->text);
	return img;
}

static bool read_names(struct xw_image *img, xw_ino dir, const struct xw_inode *inode,
		       struct names *out)
{
	struct xw_dir_iter it;
	struct xw_dirent e;
	int rc = xw_dir_begin(img, dir, inode, NULL, &it);

	while (!rc && (rc = xw_dir_next(&it, &e, NULL)) == 1) {
		rc = 0;
		if (e.name[0] == '.' && (e.name_len == 1 || (e.name_len == 2 && e.name[1] == '.')))
			continue;
		rc = xw_vec_push(out, ((struct xw_dir_entry){
					      .name = strndup(e.name, e.name_len),
					      .name_len = e.name_len,
					      .ftype = e.ftype,
					      .ino = e.ino,
				      }));
	}
	xw_dir_end(&it);
	return rc ? complain(img->diag->text) : true;
}

static void free_names(struct names *n)
{
	for (size_t i = 0; i < n->n; i++)
		free((char *)n->v[i].name);
	xw_vec_free(n);
}

struct putter {
	struct xw_image *img;
	xw_ino ino;
	const struct xw_inode *inode;
};

static int put_block(void *arg, uint32_t lblk, const void *block)
{
	const struct putter *p = arg;
	struct xw_map_run run;
	int rc = xw_map_lookup(p->img, p->ino, p->inode, lblk, &run);

	if (!rc && !run.len)
		rc = XW_ERR_NOSPC;
	return rc ? rc
		  : xw_dev_pwrite(p->img->dev, block, p->img->block_size,
				  run.pblk * p->img->block_size);
}

static struct xw_dir_format format_of(const struct xw_image *img)
{
	const struct xw_super *sb = &img->sb;
	struct xw_dir_format f = {
		.block_size = img->block_size,
		.filetype = sb->feature_incompat & XW_INCOMPAT_FILETYPE,
		.csum = xw_super_has_csum(sb),
		.dir_index = true,
		.large_dir = sb->feature_incompat & XW_INCOMPAT_LARGEDIR,
		.hash_version = (enum xw_dx_version)(sb->def_hash_version +
						     (sb->flags & XW_FLAG_UNSIGNED_HASH ? 3u : 0u)),
	};

	for (unsigned i = 0; i < 4; i++)
		f.hash_seed[i] = peek32(sb->hash_seed + 4 * i);
	return f;
}

/* ---- leaves hold the hashes that their index entries say ---- */

struct bounds {
	struct xw_image *img;
	xw_ino ino;
	const struct xw_inode *inode;
	uint32_t *low; /* by logical block: 1 + hash of the index entry, 0 = not a leaf */
	uint32_t *high; /* of the following entry */
	uint64_t blocks;
	uint32_t last; /* leaf visited last */
};

static bool index_bounds(struct bounds *b, uint32_t lblk, unsigned level, unsigned levels,
			 uint32_t hash)
{
	const bool csum = xw_super_has_csum(&b->img->sb);
	const unsigned off = level ? XW_DX_NODE_ENTRIES : XW_DX_ROOT_ENTRIES;
	uint8_t *buf = malloc(b->img->block_size);
	unsigned limit, count, i = 0;
	struct xw_dx_info info;
	struct xw_map_run run;
	bool ok = true;

	if (xw_map_lookup(b->img, b->ino, b->inode, lblk, &run) || !run.len ||
	    xw_image_meta(b->img, run.pblk, 0, buf, b->img->block_size) ||
	    (level ? xw_dx_node_decode(buf, b->img->block_size, csum, &limit, &count)
		   : xw_dx_root_decode(buf, b->img->block_size, csum, &info, &limit, &count))) {
		printf("# index block %" PRIu32 " is damaged\n", lblk);
		ok = false;
	}
	if (!level)
		levels = info.indirect_levels;
	for (; ok && i < count; i++) {
		struct xw_dx_entry e;

		xw_dx_entry_decode(buf, off, i, &e);
		if (i)
			hash = e.hash;
		if (e.lblk >= b->blocks) {
			printf("# index block %" PRIu32 ": entry %u is behind the end\n", lblk, i);
			ok = false;
		} else if (level < levels) {
			ok = index_bounds(b, e.lblk, level + 1, levels, hash);
		} else {
			b->high[b->last] = hash;
			b->low[e.lblk] = 1 + hash;
			b->last = e.lblk;
		}
	}
	free(buf);
	return ok;
}

/* An entry's hash is at least its leaf's, and at most the next one's; equal to that only when it is
 * marked as a continuation. */
static bool names_in_bounds(struct bounds *b, const struct xw_dir_format *f)
{
	struct xw_dir_iter it;
	struct xw_dir_pos pos;
	struct xw_dirent e;
	struct xw_dx_hash h;
	bool ok = true;
	int rc = xw_dir_begin(b->img, b->ino, b->inode, NULL, &it);

	while (!rc && ok && (rc = xw_dir_next(&it, &e, &pos)) == 1) {
		rc = 0;
		if (pos.lblk == 0)
			continue;
		if (xw_dx_hash(f->hash_version, f->hash_seed, e.name, e.name_len, &h) ||
		    !b->low[pos.lblk] || h.major < (b->low[pos.lblk] - 1) >> 1 << 1 ||
		    h.major >= b->high[pos.lblk]) {
			printf("# block %" PRIu64 ": hash 0x%" PRIx32 " in 0x%" PRIx32
			       " .. 0x%" PRIx32 "\n",
			       pos.lblk, h.major, b->low[pos.lblk] - 1, b->high[pos.lblk]);
			ok = false;
		}
	}
	xw_dir_end(&it);
	return ok && !rc;
}

/* The index of /d, whose inode is *inode. NULL, or what is wrong. */
static const char *hash_flaw(struct xw_image *img, const struct xw_inode *inode, xw_ino ino)
{
	const struct xw_dir_format f = format_of(img);
	struct bounds b = {.img = img, .ino = ino, .inode = inode};
	const char *flaw = NULL;

	b.blocks = inode->size / img->block_size;
	b.low = calloc(b.blocks, sizeof(*b.low));
	b.high = calloc(b.blocks, sizeof(*b.high));
	if (!b.low || !b.high)
		flaw = "out of memory";
	else if (!index_bounds(&b, 0, 0, 0, 0))
		flaw = "the index of /d cannot be read";
	if (!flaw) {
		b.high[b.last] = UINT32_MAX;
		if (!names_in_bounds(&b, &f))
			flaw = "hashes are not within bounds";
	}
	free(b.low);
	free(b.high);
	return flaw;
}

static bool hashes_in_bounds(void)
{
	struct xw_diag diag = {0};
	struct xw_dev *dev = NULL;
	struct xw_image *img = open_image(XW_DEV_RDONLY, &dev, &diag);
	const char *flaw = NULL;
	struct xw_inode inode;
	xw_ino ino;

	if (!img)
		flaw = "the image cannot be opened";
	else if (img->sb.feature_incompat & XW_INCOMPAT_RECOVER)
		flaw = "the journal was not written back: is it mounted elsewhere?";
	else if (xw_path_resolve(img, XW_INO_ROOT, "/d", false, &ino))
		flaw = "there is no /d";
	else if (xw_image_inode(img, ino, &inode, NULL))
		flaw = "the inode of /d cannot be read";
	else if (!(inode.flags & XW_FL_INDEX))
		flaw = "/d has no index";
	else
		flaw = hash_flaw(img, &inode, ino);
	xw_image_close(img);
	xw_dev_close(dev);
	if (flaw && *diag.text)
		printf("# %s\n", diag.text);
	return flaw ? complain(flaw) : true;
}

/* Rewrite directory /d of the image as an htree. */
static bool rebuild(unsigned want_levels, struct names *names)
{
	struct xw_diag diag = {0};
	struct xw_dev *dev = NULL;
	struct xw_image *img = open_image(XW_DEV_RDONLY, &dev, &diag);
	struct xw_dir_shape shape;
	struct xw_dir_format f;
	struct xw_inode inode;
	struct xw_dir_self self = {.parent = XW_INO_ROOT};
	struct putter p;
	uint64_t have;
	int rc;

	if (!img || xw_path_resolve(img, XW_INO_ROOT, "/d", false, &self.ino) ||
	    xw_image_inode(img, self.ino, &inode, NULL) ||
	    !read_names(img, self.ino, &inode, names))
		return complain("cannot read /d");
	f = format_of(img);
	have = inode.size / img->block_size;
	rc = xw_dir_shape(&f, names->v, names->n, 0, &shape);
	xw_image_close(img);
	xw_dev_close(dev);
	if (rc || !shape.indexed || shape.levels != want_levels || shape.blocks > have)
		return complain("the shape is not what was expected");
	if (have > shape.blocks && sh("debugfs -w -R 'punch /d %u %" PRIu64 "' %s >/dev/null 2>&1",
				      shape.blocks, have - 1, img_path))
		return complain("debugfs punch");
	if (sh("debugfs -w -R 'sif /d size %" PRIu64 "' %s >/dev/null 2>&1",
	       (uint64_t)shape.blocks * f.block_size, img_path) ||
	    sh("debugfs -w -R 'sif /d flags %u' %s >/dev/null 2>&1", inode.flags | XW_FL_INDEX,
	       img_path))
		return complain("debugfs set_inode_field");

	img = open_image(0, &dev, &diag);
	if (!img || xw_image_inode(img, self.ino, &inode, NULL))
		return complain("cannot open the changed image");
	self.generation = inode.generation;
	self.inode_seed = xw_image_inode_seed(img, self.ino, &inode);
	p = (struct putter){.img = img, .ino = self.ino, .inode = &inode};
	rc = xw_dir_emit(&f, &shape, names->v, names->n, &self, put_block, &p);
	xw_image_close(img);
	xw_dev_close(dev);
	return rc ? complain("cannot write the directory") : true;
}

/* Our own reader sees the same names in what was written. */
static bool read_back(const struct names *want)
{
	struct xw_diag diag = {0};
	struct xw_dev *dev = NULL;
	struct xw_image *img = open_image(XW_DEV_RDONLY, &dev, &diag);
	struct names got = {0};
	struct xw_inode inode;
	xw_ino ino;
	bool same = false;

	if (img && !xw_path_resolve(img, XW_INO_ROOT, "/d", false, &ino) &&
	    !xw_image_inode(img, ino, &inode, NULL) && read_names(img, ino, &inode, &got)) {
		same = got.n == want->n;
		for (size_t i = 0; same && i < got.n; i++)
			same = got.v[i].ino == want->v[i].ino &&
			       got.v[i].name_len == want->v[i].name_len &&
			       !memcmp(got.v[i].name, want->v[i].name, got.v[i].name_len);
	}
	xw_image_close(img);
	xw_dev_close(dev);
	free_names(&got);
	return same ? true : complain("reading back gives other names");
}

static bool stock_is_content(void)
{
	if (sh("e2fsck -fn %s >%s/fsck 2>&1", img_path, workdir) ||
	    !sh("grep '? no$' %s/fsck | grep -vq 'Optimize? no$'", workdir)) {
		sh("sed 's/^/# /' %s/fsck | head -20", workdir);
		return complain("e2fsck is not content");
	}
	return true;
}

/* On the mounted image: lookups, readdir, additions and removals. */
static bool kernel_agrees(const char *mnt, const struct names *want)
{
	char path[600];
	struct stat st;
	struct dirent *de;
	size_t seen = 0;
	DIR *d;

	for (size_t i = 0; i < want->n; i++) {
		snprintf(path, sizeof(path), "%s/d/%s", mnt, want->v[i].name);
		if (lstat(path, &st) || st.st_ino != want->v[i].ino)
			return complain("a lookup by the kernel fails");
	}
	snprintf(path, sizeof(path), "%s/d", mnt);
	d = opendir(path);
	if (!d)
		return complain("opendir");
	errno = 0;
	while ((de = readdir(d)))
		seen++;
	closedir(d);
	if (errno || seen != want->n + 2)
		return complain("readdir gives another number of names");
	for (unsigned i = 0; i < 500; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/d/new-%u", mnt, i);
		fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);
		if (fd < 0)
			return complain("a name cannot be added");
		close(fd);
		snprintf(path, sizeof(path), "%s/d/%s", mnt, want->v[i].name);
		if (unlink(path))
			return complain("a name cannot be removed");
	}
	return true;
}

/* True, too, where mounting is not possible. */
static bool try_kernel(const struct names *names)
{
	char mnt[128];
	bool ok;

	if (geteuid())
		return true;
	snprintf(mnt, sizeof(mnt), "%s/mnt", workdir);
	mkdir(mnt, 0755);
	if (sh("mount -o loop %s %s 2>/dev/null", img_path, mnt)) {
		printf("# not mounted here\n");
		return true;
	}
	ok = kernel_agrees(mnt, names);
	return unmount(mnt) && ok;
}

/* An image whose /d holds the files of case c, in more blocks than the builder will need. */
static bool make_by_stock(size_t c)
{
	unsigned room = 20 + cases[c].names / 20;
	char path[128];
	FILE *cmds;

	snprintf(path, sizeof(path), "%s/src", workdir);
	sh("rm -rf %s", path);
	if (!make_files(path, cases[c].names, cases[c].min_len, cases[c].max_len))
		return false;
	snprintf(path, sizeof(path), "%s/cmds", workdir);
	cmds = fopen(path, "w");
	if (!cmds)
		return complain("no command file");
	while (room--)
		fprintf(cmds, "expand_dir /d\n");
	fclose(cmds);
	if (sh("mke2fs -q -F %s -N %u -d %s/src %s 64M >/dev/null 2>&1", cases[c].mke2fs,
	       cases[c].names + 2000, workdir, img_path) ||
	    (cases[c].tune2fs && sh("tune2fs %s %s >/dev/null 2>&1", cases[c].tune2fs, img_path)) ||
	    sh("debugfs -w -f %s %s >/dev/null 2>&1", path, img_path))
		return complain("cannot make the image");
	return true;
}

static bool make_by_kernel(size_t c)
{
	char mnt[128];
	bool ok;

	snprintf(mnt, sizeof(mnt), "%s/mnt", workdir);
	mkdir(mnt, 0755);
	if (sh("mke2fs -q -F %s -N %u %s 128M >/dev/null 2>&1", cases[c].mke2fs,
	       cases[c].names + 2000, img_path) ||
	    (cases[c].tune2fs && sh("tune2fs %s %s >/dev/null 2>&1", cases[c].tune2fs, img_path)) ||
	    sh("mount -o loop %s %s 2>/dev/null", img_path, mnt))
		return complain("cannot make the image");
	ok = make_files(mnt, cases[c].names, cases[c].min_len, cases[c].max_len);
	return unmount(mnt) && ok && hashes_in_bounds();
}

static bool run_case(size_t c)
{
	struct names names = {0};
	bool ok;

	unlink(img_path);
	ok = (cases[c].by_kernel ? make_by_kernel(c) : make_by_stock(c)) &&
	     rebuild(cases[c].levels, &names) && read_back(&names) && hashes_in_bounds() &&
	     stock_is_content() && try_kernel(&names) && stock_is_content();
	free_names(&names);
	return ok;
}

/* Whether ext4 images can be mounted here. */
static bool can_mount(void)
{
	if (geteuid())
		return false;
	return !sh("cd %s && mke2fs -q -F -t ext4 probe 8M >/dev/null 2>&1 && mkdir -p mnt && "
		   "mount -o loop probe mnt 2>/dev/null && umount mnt; s=$?; rm -f probe; exit $s",
		   workdir);
}

int main(void)
{
	bool mounts;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (setenv("PATH", "/usr/sbin:/sbin:/usr/bin:/bin", 1))
		return 99;
	if (sh("command -v mke2fs tune2fs debugfs e2fsck >/dev/null 2>&1")) {
		puts("1..0 # SKIP e2fsprogs is not installed");
		return 0;
	}
	if (!mkdtemp(tmp_template(workdir, sizeof(workdir), "xw-dirbuild")))
		return 99;
	snprintf(img_path, sizeof(img_path), "%s/img", workdir);
	mounts = can_mount();
	printf("1..%zu\n", XW_ARRAY_SIZE(cases));
	for (size_t c = 0; c < XW_ARRAY_SIZE(cases); c++) {
		if (cases[c].by_kernel && !mounts)
			printf("ok %zu - %s # SKIP no loop mounts here\n", c + 1, cases[c].label);
		else
			printf("%s %zu - %s\n", run_case(c) ? "ok" : "not ok", c + 1,
			       cases[c].label);
	}
	sh("rm -rf %s", workdir);
	return 0;
}
