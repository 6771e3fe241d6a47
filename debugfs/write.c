/* SPDX-License-Identifier: MIT */
/*
 * Verbs that change files as a filesystem does: names, inodes, space and all counts together. Each
 * verb is one step that happens completely or not at all.
 */
#include "config.h"

#include "cli/env.h"
#include "disk/dirent.h"
#include "path.h"
#include "read/dirs.h"
#include "edit/edit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"

int dbg_split_path(struct dbg *d, const char *path, struct dbg_path *p)
{
	const char *slash = strrchr(path, '/');
	auto_free char *dir = NULL;

	p->name = slash ? slash + 1 : path;
	p->dir = d->cwd;
	if (!*p->name)
		return xw_fail(&d->diag, XW_ERR_INPUT, "%s: no final component", path);
	if (!slash)
		return 0;
	dir = strndup(path, slash == path ? 1 : (size_t)(slash - path));
	if (!dir)
		return xw_fail_nomem(&d->diag, "path");
	return dbg_inode_number(d, dir, &p->dir);
}

static int link_at(struct xw_update *u, const struct dbg_path *p, xw_ino ino, uint16_t mode)
{
	return xw_update_link(u, p->dir, p->name, strlen(p->name), ino,
			      (uint8_t)xw_ftype_of_mode(mode));
}

/* ---- new inodes ---- */

static int make(struct dbg *d, const char *path, struct xw_update_new *new, xw_ino *ino)
{
	struct xw_update *u;
	struct dbg_path p;
	int rc = dbg_split_path(d, path, &p);

	if (rc || (rc = dbg_step_begin(d, &u)))
		return rc;
	new->parent = p.dir;
	rc = xw_update_create(u, new, ino);
	if (!rc)
		rc = link_at(u, &p, *ino, new->mode);
	if (!rc && (new->mode &XW_S_IFMT) == XW_S_IFDIR)
		rc = xw_update_add_links(u, p.dir, 1);
	return dbg_step_end(d, rc);
}

struct host_file {
	struct dbg *d;
	const char *path;
	int fd;
	bool sparse; /* a regular file, which may have holes */
	off_t size; /* its size */
};

/* Checks for interrupts between reads, since a read of a file may never block. */
static int read_host(void *arg, void *buf, size_t len, size_t *got)
{
	const struct host_file *f = arg;
	ssize_t n;

	for (*got = 0; *got < len; *got += (size_t)n) {
		if (cli_interrupted())
			return xw_fail(&f->d->diag, XW_ERR_CANCELED, "%s: interrupted", f->path);
		n = read(f->fd, (char *)buf + *got, len - *got);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n < 0)
			return xw_fail_errno(&f->d->diag, XW_ERR_IO, errno, "%s", f->path);
		else if (!n)
			break;
	}
	return 0;
}

/* Returns 0 at the end of the file, and if the host does not report holes. */
static uint64_t skip_hole(void *arg, uint64_t unit)
{
	const struct host_file *f = arg;
	const off_t at = f->sparse ? lseek(f->fd, 0, SEEK_CUR) : -1;
	uint64_t len = 0;
	off_t data;

	if (at < 0)
		return 0;
	data = lseek(f->fd, at, SEEK_DATA);
	if (data < 0 && errno == ENXIO)
		data = f->size;
	if (data > at)
		len = (uint64_t)(data - at) / unit * unit;
	return lseek(f->fd, at + (off_t)len, SEEK_SET) < 0 ? 0 : len;
}

static int verb_write(struct dbg *d, int argc, char **argv)
{
	struct host_file f = {.d = d};
	struct xw_update_new new = {.read = read_host, .hole = skip_hole, .arg = &f};
	struct stat st;
	xw_ino ino;
	auto_fd int fd = -1;
	int rc;

	if (argc != 3)
		return DBG_USAGE;
	f.path = argv[1];
	f.fd = fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return xw_fail_errno(&d->diag, XW_ERR_NOTFOUND, errno, "%s", argv[1]);
	if (S_ISDIR(st.st_mode))
		return xw_fail(&d->diag, XW_ERR_INPUT, "%s: is a directory", argv[1]);
	f.sparse = S_ISREG(st.st_mode);
	f.size = st.st_size;
	/* some devices never end: their zeros are allocated, so that the copy ends with ENOSPC */
	new.whole = S_ISCHR(st.st_mode);
	new.mode = (uint16_t)(XW_S_IFREG | (st.st_mode & 07777));
	rc = make(d, argv[2], &new, &ino);
	if (!rc)
		fprintf(d->out, "Allocated inode: %" PRIu32 "\n", ino);
	return rc;
}

static int verb_mkdir(struct dbg *d, int argc, char **argv)
{
	struct xw_update_new new = {.mode = XW_S_IFDIR | 0755};
	xw_ino ino;

	return argc == 2 ? make(d, argv[1], &new, &ino) : DBG_USAGE;
}

static int verb_symlink(struct dbg *d, int argc, char **argv)
{
	struct xw_update_new new = {.mode = XW_S_IFLNK | 0777};
	xw_ino ino;

	if (argc != 3)
		return DBG_USAGE;
	new.target = argv[2];
	return make(d, argv[1], &new, &ino);
}

static int device_number(struct dbg *d, const char *text, uint32_t *out)
{
	uint64_t n;
	int rc = dbg_number(d, text, "device number", &n);

	*out = (uint32_t)XW_MIN(n, UINT32_MAX);
	return rc;
}

static int verb_mknod(struct dbg *d, int argc, char **argv)
{
	struct xw_update_new new = {0};
	xw_ino ino;
	int rc = 0;

	if (argc < 3 || strlen(argv[2]) != 1)
		return DBG_USAGE;
	if (*argv[2] == 'p' && argc == 3)
		new.mode = XW_S_IFIFO;
	else if ((*argv[2] == 'b' || *argv[2] == 'c') && argc == 5)
		new.mode = *argv[2] == 'b' ? XW_S_IFBLK : XW_S_IFCHR;
	else
		return DBG_USAGE;
	if (argc == 5)
		rc = device_number(d, argv[3], &new.major);
	if (!rc && argc == 5)
		rc = device_number(d, argv[4], &new.minor);
	if (!rc)
		rc = make(d, argv[1], &new, &ino);
	if (!rc)
		fprintf(d->out, "Allocated inode: %" PRIu32 "\n", ino);
	return rc;
}

/* ---- names ---- */

static int verb_link(struct dbg *d, int argc, char **argv)
{
	struct xw_update *u;
	struct xw_inode in;
	struct dbg_path p;
	xw_ino ino;
	int rc;

	if (argc != 3)
		return DBG_USAGE;
	rc = dbg_inode(d, argv[1], &ino, &in, NULL);
	if (!rc)
		rc = dbg_split_path(d, argv[2], &p);
	if (rc || (rc = dbg_step_begin(d, &u)))
		return rc;
	return dbg_step_end(d, link_at(u, &p, ino, in.mode));
}

static int verb_unlink(struct dbg *d, int argc, char **argv)
{
	struct xw_update *u;
	struct dbg_path p;
	int rc;

	if (argc != 2)
		return DBG_USAGE;
	rc = dbg_split_path(d, argv[1], &p);
	if (rc || (rc = dbg_step_begin(d, &u)))
		return rc;
	return dbg_step_end(d, xw_update_unlink(u, p.dir, p.name, strlen(p.name)));
}

static int remove_dir(struct xw_update *u, const struct dbg_path *p, xw_ino ino)
{
	int rc = xw_update_check_empty(u, ino);

	if (!rc)
		rc = xw_update_unlink(u, p->dir, p->name, strlen(p->name));
	if (!rc)
		rc = xw_update_kill(u, ino, true);
	return rc ? rc : xw_update_add_links(u, p->dir, -1);
}

static int verb_rmdir(struct dbg *d, int argc, char **argv)
{
	struct xw_update *u;
	struct xw_inode in;
	struct dbg_path p;
	xw_ino ino;
	int rc;

	if (argc != 2)
		return DBG_USAGE;
	rc = dbg_split_path(d, argv[1], &p);
	if (!rc)
		rc = xw_dir_lookup(d->img, p.dir, p.name, strlen(p.name), &ino, NULL);
	if (rc == XW_ERR_NOTFOUND)
		return xw_fail(&d->diag, rc, "%s" DBG_NO_FILE, argv[1]);
	if (!rc)
		rc = dbg_read_inode(d, ino, &in, NULL);
	if (rc)
		return rc;
	if ((in.mode & XW_S_IFMT) != XW_S_IFDIR)
		return xw_fail(&d->diag, XW_ERR_INPUT, "%s" DBG_NO_DIR, argv[1]);
	if (ino == d->cwd || ino == d->root || ino == p.dir)
		return xw_fail(&d->diag, XW_ERR_BUSY,
			       "%s: is the current directory of this session", argv[1]);
	rc = dbg_step_begin(d, &u);
	if (rc)
		return rc;
	return dbg_step_end(d, remove_dir(u, &p, ino));
}

/* ---- one inode ---- */

/* Run fn on the inode that is the verb's only operand. */
static int with_inode(struct dbg *d, int argc, char **argv, int (*fn)(struct xw_update *, xw_ino))
{
	struct xw_update *u;
	xw_ino ino;
	int rc;

	if (argc != 2)
		return DBG_USAGE;
	rc = dbg_inode_number(d, argv[1], &ino);
	if (rc || (rc = dbg_step_begin(d, &u)))
		return rc;
	return dbg_step_end(d, fn(u, ino));
}

static int kill_only(struct xw_update *u, xw_ino ino)
{
	return xw_update_kill(u, ino, false);
}

static int verb_kill(struct dbg *d, int argc, char **argv)
{
	return with_inode(d, argc, argv, kill_only);
}

static int verb_expand(struct dbg *d, int argc, char **argv)
{
	return with_inode(d, argc, argv, xw_update_expand_dir);
}

static int verb_itree(struct dbg *d, int argc, char **argv)
{
	return with_inode(d, argc, argv, xw_update_build_itree);
}

static int verb_undel(struct dbg *d, int argc, char **argv)
{
	struct xw_update *u;
	struct dbg_path p = {0};
	struct xw_inode in;
	xw_ino ino;
	int rc;

	if (argc < 2 || argc > 3 || *argv[1] != '<')
		return DBG_USAGE;
	rc = dbg_inode(d, argv[1], &ino, &in, NULL);
	if (!rc && argc > 2)
		rc = dbg_split_path(d, argv[2], &p);
	if (rc || (rc = dbg_step_begin(d, &u)))
		return rc;
	rc = xw_update_revive(u, ino);
	if (!rc && argc > 2)
		rc = link_at(u, &p, ino, in.mode);
	return dbg_step_end(d, rc);
}

/* ---- maps ---- */

/* Blocks are allocated and freed in regular files only: those of other types have a structure. */
static int has_contents(struct dbg *d, const char *file, xw_ino *ino)
{
	struct xw_inode in;
	int rc = dbg_inode(d, file, ino, &in, NULL);

	if (rc)
		return rc;
	if ((in.mode & XW_S_IFMT) == XW_S_IFDIR)
		return xw_fail(&d->diag, XW_ERR_INPUT, "%s: is a directory; use expand_dir", file);
	if (*ino < d->img->sb.first_ino || (in.mode & XW_S_IFMT) != XW_S_IFREG)
		return xw_fail(&d->diag, XW_ERR_INPUT, "%s: not a file with contents", file);
	return 0;
}

/* Parse "FILE FIRST [LAST]". */
static int range(struct dbg *d, int argc, char **argv, xw_ino *ino, uint64_t lblk[2])
{
	int rc;

	if (argc < 3 || argc > 4)
		return DBG_USAGE;
	lblk[1] = UINT32_MAX;
	rc = has_contents(d, argv[1], ino);
	if (!rc)
		rc = dbg_logical(d, argv[2], &lblk[0]);
	if (!rc && argc > 3)
		rc = dbg_logical(d, argv[3], &lblk[1]);
	if (!rc && lblk[1] < lblk[0])
		rc = xw_fail(&d->diag, XW_ERR_USAGE, "%s .. %s: end before start", argv[2],
			     argv[3]);
	return rc;
}

static int verb_punch(struct dbg *d, int argc, char **argv)
{
	struct xw_update *u;
	uint64_t lblk[2];
	xw_ino ino;
	int rc = range(d, argc, argv, &ino, lblk);

	if (rc || (rc = dbg_step_begin(d, &u)))
		return rc;
	return dbg_step_end(d, xw_update_punch(u, ino, (xw_lblk)lblk[0], (xw_lblk)lblk[1]));
}

/*
 * Only extents can be unwritten, and so be allocated behind the end of a file: without them, end at
 * the file's last block, or refuse if more is wanted.
 */
static int end_with_file(struct dbg *d, const char *name, xw_ino ino, bool open, uint64_t lblk[2])
{
	struct xw_inode in;
	uint64_t blocks;
	int rc;

	if (d->img->sb.feature_incompat & XW_INCOMPAT_EXTENTS)
		return 0;
	rc = dbg_read_inode(d, ino, &in, NULL);
	if (rc)
		return rc;
	blocks = xw_div_up(in.size, d->img->block_size);
	if (lblk[open ? 0 : 1] >= blocks)
		return xw_fail(&d->diag, XW_ERR_UNSUPPORTED,
			       "%s: has %" PRIu64 " blocks, and without extents none can be "
			       "allocated behind its end; set a larger size first",
			       name, blocks);
	lblk[1] = XW_MIN(lblk[1], blocks - 1);
	return 0;
}

static int verb_fallocate(struct dbg *d, int argc, char **argv)
{
	struct xw_update *u;
	uint64_t lblk[2];
	xw_ino ino;
	int rc = range(d, argc, argv, &ino, lblk);

	if (!rc)
		rc = end_with_file(d, argv[1], ino, argc == 3, lblk);
	if (rc || (rc = dbg_step_begin(d, &u)))
		return rc;
	return dbg_step_end(
		d, xw_update_fallocate(u, ino, (xw_lblk)lblk[0], (xw_lblk)lblk[1], argc == 3));
}

static const struct dbg_verb verbs[] = {
	{"write", DBG_WRITE, verb_write, "HOSTFILE FILE",
	 "copy a file from the host into the image"},
	{"mkdir", DBG_WRITE, verb_mkdir, "DIR", "make a directory"},
	{"symlink", DBG_WRITE, verb_symlink, "FILE TARGET", "make a symbolic link"},
	{"mknod", DBG_WRITE, verb_mknod, "FILE p | FILE c|b MAJOR MINOR",
	 "make a pipe or a device"},
	{"link, ln", DBG_WRITE, verb_link, "FILE NAME",
	 "add a directory entry without changing the link count"},
	{"unlink", DBG_WRITE, verb_unlink, "NAME",
	 "remove a directory entry without changing the link count"},
	{"rmdir", DBG_WRITE, verb_rmdir, "DIR", "remove an empty directory"},
	{"kill_file", DBG_WRITE, verb_kill, "FILE", "free an inode and its blocks; names are kept"},
	{"undelete, undel", DBG_WRITE, verb_undel, "<INODE> [NAME]", "restore a deleted inode"},
	{"expand_dir, expand", DBG_WRITE, verb_expand, "DIR",
	 "append an empty block to a directory"},
	{"itree_build", DBG_WRITE, verb_itree, "DIR", "rebuild the itree of a directory"},
	{"punch, truncate", DBG_WRITE, verb_punch, "FILE FIRST [LAST]", "free blocks of a file"},
	{"fallocate", DBG_WRITE, verb_fallocate, "FILE FIRST [LAST]",
	 "allocate missing blocks; without LAST: as much as there is space"},
};

const struct dbg_family dbg_write_verbs = {"Changing files", verbs, XW_ARRAY_SIZE(verbs)};
